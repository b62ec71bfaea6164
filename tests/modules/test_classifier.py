import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import oracles
from support.tolerances import FEW_ROUNDINGS, MANY_ROUNDINGS
from support.trees import assert_close

import haiku_state as hs

INPUTS = np.random.default_rng(0).normal(1, 2, (16, 6)).astype(np.float32)


def pair_of(*arguments, **options):
    return hk.transform_with_state(
        lambda x, training: hs.Classifier(*arguments, **options)(x, training)
    )


def init(pair):
    return jax.jit(pair.init, static_argnums=2)(jax.random.key(0), INPUTS, True)


def logits(params, inputs, layers):
    """What the layers give in float64, normalized by the batch."""
    params = jax.tree.map(np.float64, params)
    x = np.float64(inputs)
    for layer in range(layers):
        suffix = f"_{layer}" if layer else ""
        norm = params[f"classifier/batch_norm{suffix}"]
        x = x @ params[f"classifier/linear{suffix}"]["w"]
        x = np.maximum(oracles.batch_norm(x, (0,), **norm)[0], 0)
    last = params[f"classifier/linear_{layers}" if layers else "classifier/linear"]
    return x @ last["w"] + last["b"]


@pytest.mark.parametrize("hidden_sizes", [[], (8, 4)])
@pytest.mark.parametrize("is_training", [True, False])
def test_classifier__logits_are_those_of_the_layers(hidden_sizes, is_training):
    pair = pair_of(hidden_sizes, 10)
    apply = jax.jit(pair.apply, static_argnums=4)
    params, state = init(pair)
    params = jax.tree.map(lambda leaf: leaf + 0.25, params)
    # after one batch the running statistics are the batch's
    _, state = apply(params, state, None, INPUTS, True)
    output, _ = apply(params, state, None, INPUTS, is_training)
    expected = logits(params, INPUTS, len(hidden_sizes))
    assert_close(output, expected, 2 * MANY_ROUNDINGS)


def test_classifier__only_the_last_layer_has_a_bias():
    params, _ = init(pair_of([8, 4], 10))
    assert [name for name in params if "b" in params[name]] == ["classifier/linear_2"]


def test_classifier__scores_every_row_for_itself_in_evaluation():
    pair = pair_of([8], 10)
    apply, (params, state) = jax.jit(pair.apply, static_argnums=4), init(pair)
    _, state = apply(params, state, None, INPUTS, True)
    together, _ = apply(params, state, None, INPUTS, False)
    alone = [apply(params, state, None, row[None], False)[0][0] for row in INPUTS]
    assert_close(together, np.array(alone), MANY_ROUNDINGS)


def test_classifier__decay_rate_and_axis_name_reach_each_normalization():
    pair = pair_of([8, 4], 10, decay_rate=0.5, cross_replica_axis="devices")
    params, state = init(pair)
    with pytest.raises(NameError, match="'devices'"):
        pair.apply(params, state, None, INPUTS, True)
    split = jnp.reshape(INPUTS, (4, 4, 6))
    apply = jax.vmap(
        lambda x, state: pair.apply(params, state, None, x, True)[1],
        in_axes=(0, None),
        out_axes=None,
        axis_name="devices",
    )
    state = apply(split, apply(split, state))
    hidden = state["classifier/batch_norm/~/mean_ema"]
    # two steps of weight 1/2 and 1/4 for the same batch
    np.testing.assert_allclose(hidden["hidden"], 0.75 * hidden["average"], rtol=FEW_ROUNDINGS)
    whole = np.float64(INPUTS) @ np.float64(params["classifier/linear"]["w"])
    assert_close(hidden["average"], whole.mean(0)[None], MANY_ROUNDINGS)


@pytest.mark.parametrize(
    "make",
    [lambda name: hs.Classifier([2], 3, name=name), lambda name: hs.LinearRegression(name=name)],
)
def test_modules__have_the_name_that_they_are_given(make):
    pair = hk.transform_with_state(lambda x: make("mine")(x, True))
    params, _ = pair.init(jax.random.key(0), jnp.ones((4, 2)))
    assert {path.split("/")[0] for path in params} == {"mine"}
