import functools

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support import oracles

import haiku_state as hs
from haiku_state.errors import CounterStoppedError, LossFunctionError, NothingFrozenError
from haiku_state.recipes import freeze_params, freeze_state

MODEL = hs.pure_pair(hs.Classifier, [8, 8], 10)


def loss_fn(params, state, rng, batch):
    logits, state = MODEL.apply(params, state, rng, batch["inputs"], True)
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), batch["targets"][:, None], 1)
    return -jnp.mean(picked), (state, {})


def data(rows=16):
    rng = np.random.default_rng(0)
    inputs = rng.normal(1, 2, (rows, 6)).astype(np.float32)
    return {"inputs": inputs, "targets": rng.integers(0, 10, rows).astype(np.int32)}


@functools.cache
def initial():
    return jax.jit(functools.partial(MODEL.init, is_training=True))(
        jax.random.key(0), data()["inputs"]
    )


def start(optimizer):
    made = initial()
    return hs.init_train_state(
        lambda rng: jax.tree.map(jnp.copy, made), optimizer, jax.random.key(0)
    )


def first_layer(module, name, value):
    return module in ("classifier/linear", "classifier/batch_norm")


def bits(params, frozen):
    return {
        (module, name): np.asarray(value).tobytes()
        for module, name, value in hk.data_structures.traverse(params)
        if first_layer(module, name, value) == frozen
    }


def test_frozen_params_keep_every_bit_and_the_others_change(standard_promotion):
    optimizer = freeze_params(optax.adamw(0.1, weight_decay=0.1), first_layer)
    update, train_state, batch = hs.make_update(loss_fn, optimizer), start(optimizer), data()
    frozen, trained = bits(train_state.params, True), bits(train_state.params, False)
    assert set(frozen) == {
        ("classifier/linear", "w"),
        ("classifier/batch_norm", "scale"),
        ("classifier/batch_norm", "offset"),
    }
    run = hs.jit_update(update)
    for _ in range(3):
        train_state, _ = run(train_state, batch)
    params = train_state.params
    assert bits(params, True) == frozen
    assert not set(bits(params, False).values()) & set(trained.values())
    assert run.trace_count == 1


def test_weight_decay_does_not_touch_what_is_frozen_and_the_rest_takes_its_step():
    optimizer = freeze_params(
        optax.chain(optax.add_decayed_weights(0.5), optax.sgd(0.1)), lambda m, n, v: n == "w"
    )
    params = {"linear": {"w": jnp.full(2, 3.0), "b": jnp.full(2, 3.0)}}
    grads = jax.tree.map(lambda p: p - 1, params)
    updates, _ = optimizer.update(grads, optimizer.init(params), params)
    np.testing.assert_array_equal(updates["linear"]["w"], [0, 0])
    np.testing.assert_allclose(updates["linear"]["b"], -0.1 * (2 + 0.5 * 3), rtol=1e-6)


def test_the_optimizer_keeps_no_moments_of_what_is_frozen():
    params, _ = initial()
    trained = sum(
        value.size
        for module, name, value in hk.data_structures.traverse(params)
        if not first_layer(module, name, value)
    )
    opt_state = freeze_params(optax.adam(0.1), first_layer).init(params)
    assert sum(leaf.size for leaf in jax.tree.leaves(opt_state)) == 2 * trained + 1


def test_two_groups_may_be_frozen_one_after_the_other():
    params = {"a": {"w": jnp.ones(())}, "b": {"w": jnp.ones(())}, "c": {"w": jnp.ones(())}}
    inner = freeze_params(optax.sgd(1.0), lambda module, name, value: module == "a")
    optimizer = freeze_params(inner, lambda module, name, value: module == "b")
    updates, _ = optimizer.update(params, optimizer.init(params), params)
    assert jax.tree.map(float, updates) == {"a": {"w": 0.0}, "b": {"w": 0.0}, "c": {"w": -1.0}}


def test_extra_arguments_reach_the_optimizer_inside():
    def update(updates, state, params=None, *, factor, **_):
        return jax.tree.map(lambda u: u * factor, updates), state

    inner = optax.GradientTransformationExtraArgs(lambda params: optax.EmptyState(), update)
    optimizer = freeze_params(inner, lambda module, name, value: name == "w")
    params = {"linear": {"w": jnp.ones(()), "b": jnp.ones(())}}
    updates, _ = optimizer.update(params, optimizer.init(params), params, factor=-3.0)
    assert jax.tree.map(float, updates) == {"linear": {"w": 0.0, "b": -3.0}}


def test_a_predicate_that_holds_for_no_param_is_named():
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
    return hs.jit_update(update)(start(optimizer), data())[0]


def test_frozen_state_stays_and_the_rest_moves():
    rng = np.random.default_rng(1)
    params, state = initial()
    before = jax.tree.map(
        lambda leaf: jnp.asarray(rng.integers(1, 9, leaf.shape), leaf.dtype), state
    )
    _, (after, _) = freeze_state(loss_fn, first_norm)(params, before, None, data())
    _, (expected, _) = loss_fn(params, before, None, data())
    hs.check_state(before, after)
    for module, name, value in hk.data_structures.traverse(after):
        source = before if first_norm(module, name, value) else expected
        np.testing.assert_array_equal(value, source[module][name])
    mean = "classifier/batch_norm_1/~/mean_ema"
    assert after[mean]["counter"] == before[mean]["counter"] + 1


def test_frozen_counters_need_an_update_that_is_not_strict():
    with pytest.raises(CounterStoppedError, match="batch_norm/~/mean_ema"):
        run_frozen(strict=True)
    state = run_frozen(strict=False).state
    assert state["classifier/batch_norm/~/mean_ema"]["counter"] == 0
    assert state["classifier/batch_norm_1/~/mean_ema"]["counter"] == 1


def test_one_leaf_may_be_frozen_by_its_name():
    def function(params, state, rng, batch):
        return jnp.float32(0), (jax.tree.map(lambda leaf: leaf + 1, state), {})

    state = {"a": {"mean": jnp.ones(2), "count": jnp.int32(0)}}
    _, (after, _) = freeze_state(function, lambda m, n, v: n == "count")({}, state, None, {})
    assert after["a"]["count"] == 0
    np.testing.assert_array_equal(after["a"]["mean"], [2, 2])


def test_a_predicate_that_holds_for_no_state_is_named():
    function = freeze_state(loss_fn, lambda module, name, value: module == "batchnorm")
    train_state = start(optax.sgd(0.1))
    with pytest.raises(NothingFrozenError) as caught:
        function(train_state.params, train_state.state, None, data())
    assert "\n    state['classifier/batch_norm/~/mean_ema']['average']" in caught.value.what


def test_the_gradient_is_that_of_the_loss_function():
    inputs, targets = data()["inputs"], np.float32(data()["targets"])
    pair = hk.transform_with_state(lambda x: hs.LinearRegression()(x, is_training=True))

    def squared_error(params, state, rng, batch):
        prediction, _ = pair.apply(params, {}, rng, inputs)
        return jnp.mean(jnp.square(prediction - targets)), (state, {})

    params, _ = pair.init(None, inputs)
    function = freeze_state(squared_error, lambda module, name, value: True)
    state = {"a": {"mean": jnp.ones(2)}}
    by_w, by_b = oracles.squared_error_gradient(inputs, targets, np.zeros(6), 0)
    grads = jax.grad(lambda p: function(p, state, None, {})[0])(params)
    np.testing.assert_allclose(grads["linear_regression"]["w"], by_w, rtol=1e-5)
    np.testing.assert_allclose(grads["linear_regression"]["b"], by_b, rtol=1e-5)


def test_a_wrong_result_of_the_loss_function_is_still_named():
    function = freeze_state(lambda p, state, rng, batch: state, lambda m, n, v: True)
    train_state = hs.init_train_state(
        lambda rng: ({"w": jnp.ones(())}, {"a": {"n": jnp.ones(2)}}),
        optax.sgd(1),
        jax.random.key(0),
    )
    with pytest.raises(LossFunctionError):
        hs.make_update(function, optax.sgd(1))(train_state, {})
