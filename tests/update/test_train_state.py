import functools
import re

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support.trees import assert_close

import haiku_state as hs
from haiku_state import errors

PAIR = hk.transform_with_state(lambda x: hs.Classifier([4], 3)(x, is_training=True))
INPUTS = np.ones((8, 5), np.float32)


@functools.cache
def make(seed=0):
    return hs.init_train_state(PAIR.init, optax.sgd(0.1, 0.9), jax.random.key(seed), INPUTS)


def init_with_key(rng, *inputs):
    params, state = PAIR.init(rng, *inputs)
    return params, {**state, "given": {"key": jax.random.key_data(rng)}}


def test_init_train_state__holds_what_init_and_the_optimizer_gave():
    optimizer = optax.sgd(0.1, 0.9)
    train_state = hs.init_train_state(init_with_key, optimizer, jax.random.key(0), INPUTS)
    rng = jax.random.wrap_key_data(train_state.state["given"]["key"])
    params, state = init_with_key(rng, INPUTS)
    # compiled as one program, the initial params may be rounded in another place
    assert_close(train_state[:3], (params, state, optimizer.init(params)))


def test_init_train_state__the_key_of_init_the_carried_and_the_given_differ():
    given = jax.random.key(0)
    train_state = hs.init_train_state(init_with_key, optax.sgd(0.1), given, INPUTS)
    keys = [train_state.state["given"]["key"], *map(jax.random.key_data, (given, train_state.rng))]
    assert len({tuple(key.tolist()) for key in keys}) == 3


def test_init_train_state__is_one_program(caplog):
    key = jax.random.key(0)
    with jax.log_compiles():
        hs.init_train_state(PAIR.init, optax.adam(0.1), key, INPUTS)
    assert re.findall(r"Finished XLA compilation of (?:jit\()?(\w+)", caplog.text) == [
        "initialized"
    ]


def test_init_train_state__starts_at_step_zero_of_dtype_int32():
    step = make().step
    assert (step, step.shape, step.dtype) == (0, (), jnp.int32)


def test_init_train_state__the_seed_decides():
    again = make.__wrapped__()
    jax.tree.map(np.testing.assert_array_equal, make()._replace(rng=None), again._replace(rng=None))
    one, other = (make(seed).params["classifier/linear"]["w"] for seed in (0, 1))
    assert not np.allclose(one, other)


def test_trainstate__is_a_pytree_with_named_paths():
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(make())]
    assert ".step" in paths
    assert ".params['classifier/linear']['w']" in paths
    assert ".state['classifier/batch_norm/~/mean_ema']['average']" in paths


@pytest.mark.parametrize(
    ("rng", "shown"),
    [
        (42, "42"),
        (None, "None"),
        ("seed", "'seed'"),
        (np.float32(2), "float32[]"),
        (jax.random.split(jax.random.key(0)), "key<fry>[2]"),
    ],
)
def test_init_train_state__refuses_what_is_not_a_single_key(rng, shown):
    with pytest.raises(errors.ArgumentError) as caught:
        hs.init_train_state(PAIR.init, optax.sgd(0.1), rng, INPUTS)
    assert caught.value.what == f"rng is {shown}, but it must be a single random key."


def test_init_train_state__copies_aliases_in_the_initial_state():
    # both optimizers keep the initial params themselves, and one array of zeros twice
    for optimizer in (
        optax.contrib.sam(optax.sgd(0.1), optax.sgd(0.1)),
        optax.scale_by_lbfgs(memory_size=2),
    ):
        train_state = hs.init_train_state(PAIR.init, optimizer, jax.random.key(0), INPUTS)
        leaves = jax.tree.leaves(train_state)
        assert len({id(leaf) for leaf in leaves}) == len(leaves)
        # donated, as the runners do it
        jax.jit(lambda train_state: train_state, donate_argnums=0, keep_unused=True)(train_state)
        plain = optimizer.init(PAIR.init(jax.random.key(0), INPUTS)[0])
        assert jax.tree.structure(train_state.opt_state) == jax.tree.structure(plain)


def test_init_train_state__a_flag_is_part_of_the_program_and_an_array_is_not(caplog):
    def init(rng, x, is_training):
        assert is_training is True
        assert isinstance(x, jax.core.Tracer)
        return {"a": {"w": jnp.sum(x)}}, {}

    train_state = hs.init_train_state(init, optax.sgd(0.1), jax.random.key(0), INPUTS, True)
    assert train_state.params["a"]["w"] == INPUTS.sum()


@pytest.mark.parametrize("result", [({}, {}, 1), [{}, {}], {"params": {}, "state": {}}, {}, ({},)])
def test_init_train_state__names_an_init_that_returns_no_pair(result):
    with pytest.raises(errors.ArgumentError, match=r"\(params, state\)"):
        hs.init_train_state(lambda rng: result, optax.sgd(0.1), jax.random.key(0))
