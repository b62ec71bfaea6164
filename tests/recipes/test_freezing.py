import functools

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support import models, oracles
from support.models import cross_entropy, line, squared_error, start_from
from support.tolerances import FEW_ROUNDINGS, MANY_ROUNDINGS
from support.trees import assert_close

import haiku_state as hs
from haiku_state.errors import CounterStoppedError, LossFunctionError, NothingFrozenError
from haiku_state.recipes import freeze_params, freeze_state

MODEL = hs.pure_pair(lambda x: hs.Classifier([8, 8], 10)(x, True))
loss_fn = cross_entropy(MODEL)
BATCH = {"inputs": models.rows()["inputs"], "targets": np.arange(16, dtype=np.int32) % 10}


@functools.cache
def initial():
    return jax.jit(MODEL.init)(jax.random.key(0), BATCH["inputs"])


def start(optimizer):
    return start_from(*jax.tree.map(jnp.copy, initial()), optimizer)


def first_layer(module, name, value):
    return module in ("classifier/linear", "classifier/batch_norm")


def bits(params, frozen):
    return {
        (module, name): np.asarray(value).tobytes()
        for module, name, value in hk.data_structures.traverse(params)
        if first_layer(module, name, value) == frozen
    }


def test_freeze_params__keeps_every_bit_and_trains_the_others(standard_promotion):
    optimizer = freeze_params(optax.adamw(0.1, weight_decay=0.1), first_layer)
    run, train_state = hs.jit_update(hs.make_update(loss_fn, optimizer)), start(optimizer)
    frozen, trained = bits(train_state.params, True), bits(train_state.params, False)
    assert set(frozen) == {
        ("classifier/linear", "w"),
        ("classifier/batch_norm", "scale"),
        ("classifier/batch_norm", "offset"),
    }
    for _ in range(3):
        train_state, _ = run(train_state, BATCH)
    params = train_state.params
    assert bits(params, True) == frozen
    assert not set(bits(params, False).values()) & set(trained.values())
    assert run.trace_count == 1


def test_freeze_params__no_weight_decay_touches_what_is_frozen():
    optimizer = freeze_params(
        optax.chain(optax.add_decayed_weights(0.5), optax.sgd(0.1)), lambda m, n, v: n == "w"
    )
    params = {"linear": {"w": jnp.full(2, 3.0), "b": jnp.full(2, 3.0)}}
    grads = jax.tree.map(lambda p: p - 1, params)
    updates, _ = optimizer.update(grads, optimizer.init(params), params)
    np.testing.assert_array_equal(updates["linear"]["w"], [0, 0])
    np.testing.assert_allclose(updates["linear"]["b"], -0.1 * (2 + 0.5 * 3), rtol=FEW_ROUNDINGS)


def test_freeze_params__keeps_no_moments_of_what_is_frozen():
    params, _ = initial()
    trained = sum(
        value.size
        for module, name, value in hk.data_structures.traverse(params)
        if not first_layer(module, name, value)
    )
    opt_state = freeze_params(optax.adam(0.1), first_layer).init(params)
    assert sum(leaf.size for leaf in jax.tree.leaves(opt_state)) == 2 * trained + 1


def test_freeze_params__two_groups_may_be_frozen_one_after_the_other():
    params = {"a": {"w": jnp.ones(())}, "b": {"w": jnp.ones(())}, "c": {"w": jnp.ones(())}}
    inner = freeze_params(optax.sgd(1.0), lambda module, name, value: module == "a")
    optimizer = freeze_params(inner, lambda module, name, value: module == "b")
    updates, _ = optimizer.update(params, optimizer.init(params), params)
    assert jax.tree.map(float, updates) == {"a": {"w": 0.0}, "b": {"w": 0.0}, "c": {"w": -1.0}}


def test_freeze_params__names_a_predicate_that_holds_for_no_param():
    optimizer = freeze_params(optax.sgd(0.1), lambda module, name, value: module == "lineer")
    with pytest.raises(NothingFrozenError) as caught:
        optimizer.init({"linear": {"w": jnp.ones(2), "b": jnp.ones(2)}})
    assert caught.value.what == (
        "the predicate does not match any leaf. The leaves are:\n"
        "    params['linear']['b']\n"
        "    params['linear']['w']"
    )


def first_norm(module, name, value):
    return module.startswith("classifier/batch_norm/")


def run_frozen(strict):
    optimizer = optax.sgd(0.1)
    update = hs.make_update(freeze_state(loss_fn, first_norm), optimizer, strict=strict)
    return hs.jit_update(update)(start(optimizer), BATCH)[0]


def test_freeze_state__what_is_frozen_stays_and_the_rest_moves():
    rng = np.random.default_rng(1)
    params, state = initial()
    before = jax.tree.map(
        lambda leaf: jnp.asarray(rng.integers(1, 9, leaf.shape), leaf.dtype), state
    )
    _, (after, _) = freeze_state(loss_fn, first_norm)(params, before, None, BATCH)
    _, (expected, _) = loss_fn(params, before, None, BATCH)
    hs.check_state(before, after)
    for module, name, value in hk.data_structures.traverse(after):
        source = before if first_norm(module, name, value) else expected
        np.testing.assert_array_equal(value, source[module][name])
    mean = "classifier/batch_norm_1/~/mean_ema"
    assert after[mean]["counter"] == before[mean]["counter"] + 1


def test_freeze_state__frozen_counters_need_an_update_that_is_not_strict():
    with pytest.raises(CounterStoppedError, match="batch_norm/~/mean_ema"):
        run_frozen(strict=True)
    state = run_frozen(strict=False).state
    assert state["classifier/batch_norm/~/mean_ema"]["counter"] == 0
    assert state["classifier/batch_norm_1/~/mean_ema"]["counter"] == 1


def test_freeze_state__one_leaf_may_be_frozen_by_its_name():
    def function(params, state, rng, batch):
        return jnp.float32(0), (jax.tree.map(lambda leaf: leaf + 1, state), {})

    state = {"a": {"mean": jnp.ones(2), "count": jnp.int32(0)}}
    _, (after, _) = freeze_state(function, lambda m, n, v: n == "count")({}, state, None, {})
    assert after["a"]["count"] == 0
    np.testing.assert_array_equal(after["a"]["mean"], [2, 2])


def test_freeze_state__names_a_predicate_that_holds_for_no_state():
    function = freeze_state(loss_fn, lambda module, name, value: module == "batchnorm")
    train_state = start(optax.sgd(0.1))
    with pytest.raises(NothingFrozenError) as caught:
        function(train_state.params, train_state.state, None, BATCH)
    assert "\n    state['classifier/batch_norm/~/mean_ema']['average']" in caught.value.what


def test_freeze_state__has_the_gradient_of_the_loss_function():
    batch, pair = models.rows(), line(True)
    params, state = pair.init(None, batch["inputs"])
    function = freeze_state(squared_error(pair), lambda module, name, value: True)
    by_w, by_b = oracles.squared_error_gradient(
        oracles.batch_norm(batch["inputs"], 0)[0], batch["targets"], np.zeros(3), 0
    )
    grads, _ = jax.grad(function, has_aux=True)(params, state, None, batch)
    assert_close(grads["linear_regression"], {"w": by_w, "b": by_b}, MANY_ROUNDINGS)


def test_freeze_state__a_wrong_result_of_the_loss_function_is_still_named():
    function = freeze_state(lambda p, state, rng, batch: state, lambda m, n, v: True)
    train_state = start_from({"w": jnp.ones(())}, {"a": {"n": jnp.ones(2)}}, optax.sgd(1))
    with pytest.raises(LossFunctionError):
        hs.make_update(function, optax.sgd(1))(train_state, {})
