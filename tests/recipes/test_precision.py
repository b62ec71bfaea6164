import haiku as hk
import jax
import jax.numpy as jnp
import jmp
import numpy as np
import optax
import pytest
from support import oracles
from support.models import FLOAT16, cross_entropy, line, rows, squared_error, start, start_from
from support.runners import AXIS, four, train
from support.tolerances import MANY_ROUNDINGS
from support.trees import assert_close

import haiku_state as hs
from haiku_state.errors import (
    ArgumentError,
    CounterStoppedError,
    LossFunctionError,
    StateDtypeError,
    StateStructureError,
)
from haiku_state.recipes import (
    accumulate,
    average_params,
    averaged_params,
    freeze_params,
    make_scaled_update,
    mixed_precision,
    scale_loss,
)
from haiku_state.recipes.loss_scale import LossScaleState

BFLOAT16 = FLOAT16.replace("float16", "bfloat16")
NORM = "classifier/batch_norm/~/{}_ema".format


def digits_like(rows=64, seed=0):
    rng = np.random.default_rng(seed)
    targets = rng.integers(0, 10, rows).astype(np.int32)
    centers = np.random.default_rng(1).normal(0, 1, (10, 8))
    inputs = 2 + centers[targets] + rng.normal(0, 0.5, (rows, 8))
    return {"inputs": inputs.astype(np.float32), "targets": targets}


def dtypes(tree):
    return {leaf.dtype for leaf in jax.tree.leaves(tree)}


def dynamic(scale, **arguments):
    return jmp.DynamicLossScale(jnp.float32(scale), **arguments)


def test_mixed_precision__learns_in_bfloat16_and_keeps_params_and_state():
    def call(x):
        logits = hs.Classifier([16], 10)(x, True)
        seen.append(logits.dtype)
        return logits

    model, sgd, batch, seen, losses = hs.pure_pair(call), optax.sgd(0.5), digits_like(), [], []
    run = hs.jit_update(hs.make_update(mixed_precision(cross_entropy(model), BFLOAT16), sgd))
    train_state = start(model, sgd, batch)
    seen.clear()
    expected = jax.tree.map(lambda leaf: leaf.dtype, train_state)
    for _ in range(30):
        train_state, metrics = run(train_state, batch)
        losses.append(float(metrics["loss"]))
    assert losses[-1] < 0.3 * losses[0]
    assert set(seen) == {jnp.dtype(jnp.bfloat16)}
    assert jax.tree.map(lambda leaf: leaf.dtype, train_state) == expected
    assert dtypes(train_state.params) == {jnp.dtype(jnp.float32)}
    assert metrics["loss"].dtype == jnp.float32
    assert run.trace_count == 1


@pytest.mark.parametrize("norm", [hs.BatchNorm, hk.BatchNorm])
def test_mixed_precision__running_statistics_keep_the_digits_of_float32(norm, standard_promotion):
    """In bfloat16 they would stop moving: a step of 1 % of the way is below half a digit."""
    pair = hk.transform_with_state(lambda x: norm(True, True, 0.99)(x, is_training=True))

    def loss_fn(params, state, rng, batch):
        output, state = pair.apply(params, state, rng, batch["x"])
        assert output.dtype == jnp.bfloat16
        return jnp.mean(output), (state, {})

    rows = [2 + np.random.default_rng(i).normal(0, 1, (32, 2)) for i in range(60)]
    # what bfloat16 holds, so that it makes no difference whether XLA leaves the rounding out
    rows = [np.float32(jnp.bfloat16(x + 0.05 * i)) for i, x in enumerate(rows)]
    params, state = pair.init(None, rows[0])
    function = jax.jit(mixed_precision(loss_fn, BFLOAT16))
    for x in rows:
        _, (state, _) = function(params, state, None, {"x": x})
    assert dtypes(state) == {jnp.dtype(jnp.float32), jnp.dtype(jnp.int32)}
    for name, values in (
        ("mean", [np.float64(x).mean(0) for x in rows]),
        ("var", [np.float64(x).var(0) for x in rows]),
    ):
        average = state[f"batch_norm/~/{name}_ema"]["average"][0]
        # hk.BatchNorm takes the mean of squares less the squared mean, which costs some digits
        expected = oracles.exponential_average(values, 0.99)
        np.testing.assert_allclose(average, expected, rtol=2e-5)


def test_mixed_precision__keeps_a_policy_of_ones_own_for_the_normalization(standard_promotion):
    pair = hk.transform_with_state(lambda x: hk.BatchNorm(True, True, 0.9)(x, is_training=True))
    own = jmp.get_policy("params=float32,compute=float16,output=float16")

    def loss_fn(params, state, rng, batch):
        output, state = pair.apply(params, state, rng, batch["x"])
        seen.append(output.dtype)
        return jnp.mean(output), (state, {})

    def fits_float16():
        _, (after, _) = mixed_precision(loss_fn, BFLOAT16)(params, state, None, {"x": x})
        mean = np.asarray(after["batch_norm/~/mean_ema"]["average"])
        return bool(np.all(mean == np.float16(mean)))

    # a third of a digit of bfloat16, which float16 must round too
    seen, x = [], np.float32([[1], [1], [1 + 2**-7]])
    params, state = pair.init(None, x)
    with hk.mixed_precision.push_policy(hk.BatchNorm, own):
        assert fits_float16()
    assert not fits_float16()
    assert seen == [jnp.float16, jnp.bfloat16]


def test_mixed_precision__what_is_cast_and_what_is_not():
    def loss_fn(params, state, rng, batch):
        seen.update(params=dtypes(params), batch=dtypes(batch), state=dtypes(state))
        loss = jnp.sum(params["linear"]["w"])
        return loss, (state, {"half": loss})

    seen = {}
    params = {"linear": {"w": jnp.ones(2)}}
    batch = {"x": np.ones(2, np.float32), "y": np.ones(2, np.int32)}
    function = mixed_precision(loss_fn, jmp.get_policy(BFLOAT16))
    (loss, (state, metrics)), grads = jax.value_and_grad(function, has_aux=True)(
        params, {"s": {"x": jnp.ones(2)}}, None, batch
    )
    assert seen == {
        "params": {jnp.dtype(jnp.bfloat16)},
        "batch": {jnp.dtype(jnp.bfloat16), jnp.dtype(jnp.int32)},
        "state": {jnp.dtype(jnp.float32)},
    }
    assert dtypes((loss, state, metrics, grads)) == {jnp.dtype(jnp.float32)}


def test_scale_loss__refuses_a_number():
    with pytest.raises(ArgumentError) as caught:
        scale_loss(optax.sgd(0.1), 2.0**15)
    assert caught.value.what == "loss_scale is 32768.0, but it must be a jmp loss scale."


def test_mixed_precision__jmp_refuses_a_text_that_is_no_policy():
    with pytest.raises(ValueError, match="Unknown dtype 'bf61'"):
        mixed_precision(product, "params=float32,compute=bf61")


def test_mixed_precision__names_a_module_that_writes_state_in_half_precision():
    def loss_fn(params, state, rng, batch):
        loss = params["a"]["w"] * batch["x"]
        return loss, ({"a": {"last": loss}}, {})

    sgd = optax.sgd(1)
    train_state = start_from({"a": {"w": jnp.ones(())}}, {"a": {"last": jnp.ones(())}}, sgd)
    update = hs.make_update(mixed_precision(loss_fn, BFLOAT16), sgd)
    with pytest.raises(StateDtypeError, match=r"\['last'\]: float32\[\] -> bfloat16\[\]"):
        update(train_state, {"x": jnp.ones(())})


def test_mixed_precision__names_params_of_another_dtype():
    function = mixed_precision(product, BFLOAT16)
    params = {"linear": {"w": jnp.ones(2, jnp.bfloat16), "b": jnp.ones(2)}}
    with pytest.raises(ArgumentError) as caught:
        function(params, {}, None, {})
    assert caught.value.what == (
        "params is params['linear']['w']: bfloat16, but it must be float32."
    )


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (lambda loss, state: (loss, state), LossFunctionError),
        (lambda loss, state: loss, LossFunctionError),
        (lambda loss, state: (loss, ({}, {})), StateStructureError),
    ],
)
@pytest.mark.parametrize("is_scaled", [False, True])
def test_mixed_precision__still_names_a_wrong_result_of_the_loss_function(is_scaled, result, error):
    optimizer = scale_loss(optax.sgd(0.1), dynamic(8)) if is_scaled else optax.sgd(0.1)
    make = make_scaled_update if is_scaled else hs.make_update
    train_state = start_from({"a": {"w": jnp.ones(())}}, {"a": {"n": jnp.ones(2)}}, optimizer)
    function = mixed_precision(lambda p, state, rng, batch: result(p["a"]["w"], state), BFLOAT16)
    with pytest.raises(error):
        make(function, optimizer)(train_state, {})


def product(params, state, rng, batch):
    """Its gradient by w is the mean of x."""
    loss = jnp.mean(params["a"]["w"] * batch["x"])
    return loss, ({"a": {"steps": state["a"]["steps"] + 1}}, {})


def product_state(optimizer):
    return start_from({"a": {"w": jnp.ones(())}}, {"a": {"steps": jnp.int32(0)}}, optimizer)


# float16 has 11 bits
HALF = 2.0**-11


# float16 ends at 65504, so 4 * 2**15 and 4 * 2**14 overflow: (steps taken, scale after the step)
OVERFLOWING = [(0, 2**14), (0, 2**13), (1, 2**13), (2, 2**14), (2, 2**13), (3, 2**13)]


def test_scale_loss__halves_on_overflow_and_doubles_after_good_steps():
    optimizer = scale_loss(optax.sgd(0.25, momentum=0.5), dynamic(2.0**15, period=2))
    run = hs.jit_update(make_scaled_update(mixed_precision(product, FLOAT16), optimizer))
    train_state = product_state(optimizer)
    w, momentum, before = 1.0, 0.0, 0
    for steps, scale in OVERFLOWING:
        train_state, metrics = run(train_state, {"x": np.full(2, 4, np.float32)})
        np.testing.assert_allclose(metrics["loss"], 4 * w, rtol=HALF)
        if steps > before:
            momentum = 0.5 * momentum + 4
            w -= 0.25 * momentum
        assert train_state.opt_state.last_finite == (steps > before)
        assert train_state.opt_state.loss_scale == scale
        assert train_state.state["a"]["steps"] == steps
        assert train_state.params["a"]["w"] == w
        assert jax.tree.leaves(train_state.opt_state.inner) == [momentum]
        before = steps
    assert train_state.step == len(OVERFLOWING)
    assert run.trace_count == 1


def test_make_scaled_update__all_devices_decide_the_same_although_one_overflows():
    optimizer = scale_loss(optax.sgd(0.25), dynamic(2.0**13))
    update = make_scaled_update(mixed_precision(product, FLOAT16), optimizer)
    run = hs.pmap_update(update, devices=four())
    train_state = run.place(product_state(optimizer))
    x = np.full((4, 2), 4, np.float32)
    x[2] = 16
    train_state, _ = run(train_state, {"x": x})
    assert train_state.opt_state.last_finite.tolist() == [False] * 4
    assert train_state.opt_state.loss_scale.tolist() == [2.0**12] * 4
    assert train_state.params["a"]["w"].tolist() == [1.0] * 4
    assert train_state.state["a"]["steps"].tolist() == [0] * 4
    train_state, _ = run(train_state, {"x": x / 2})
    assert train_state.opt_state.last_finite.tolist() == [True] * 4
    assert train_state.params["a"]["w"].tolist() == [1 - 0.25 * 3.5] * 4


SCALES = {
    "static": lambda: jmp.StaticLossScale(1000.0),
    "none": jmp.NoOpLossScale,
    "dynamic": lambda: dynamic(1000),
}


def five_steps(make, optimizer):
    model, batches = line(True), [rows(seed=seed) for seed in range(5)]
    run = hs.jit_update(make(squared_error(model), optimizer))
    return train(run, start(model, optimizer, batches[0]), batches)


@pytest.mark.parametrize("make_scale", SCALES.values(), ids=SCALES)
def test_scale_loss__changes_nothing_in_float32(make_scale):
    loss_scale = make_scale()
    plain, metrics = five_steps(hs.make_update, optax.sgd(0.1))
    scaled, same = five_steps(make_scaled_update, scale_loss(optax.sgd(0.1), loss_scale))
    assert_close((*scaled[:2], same), (*plain[:2], metrics), MANY_ROUNDINGS)
    assert scaled.opt_state.loss_scale == getattr(loss_scale, "loss_scale", 1)


def test_scale_loss__saves_gradients_that_float16_cannot_hold():
    x = np.full(1024, 2.0**-16, np.float32)
    by_w = {}
    for scale in (1.0, 2.0**12):
        optimizer = scale_loss(optax.sgd(1.0), jmp.StaticLossScale(scale))
        update = make_scaled_update(mixed_precision(product, FLOAT16), optimizer)
        train_state, _ = update(product_state(optimizer), {"x": x.reshape(1024, 1)})
        by_w[scale] = 1 - float(train_state.params["a"]["w"])
    # 2**-16 / 1024 = 2**-26 is below the smallest float16, 2**-24
    assert by_w[1.0] == 0
    np.testing.assert_allclose(by_w[2.0**12], 2.0**-16, rtol=HALF)


def test_scale_loss__has_the_given_smallest_scale_and_counter():
    optimizer = scale_loss(
        optax.sgd(1.0), dynamic(8, factor=4, min_loss_scale=np.float32(0.125), counter=np.int32(3))
    )
    params = {"a": {"w": jnp.ones(())}}
    opt_state = optimizer.init(params)
    assert opt_state.good_steps == 3
    scales = []
    for _ in range(4):
        _, opt_state = optimizer.update(
            {"a": {"w": jnp.float32(np.nan)}}, opt_state, params, is_scaled=True
        )
        scales.append(float(opt_state.loss_scale))
    assert scales == [2, 0.5, 0.125, 0.125]
    assert opt_state.good_steps == 0


def test_scale_loss__divides_gradients_of_half_precision_in_float32():
    optimizer = scale_loss(optax.sgd(1.0), jmp.StaticLossScale(3e5))
    params = {"a": {"w": jnp.ones((), jnp.float16)}}
    grads = {"a": {"w": jnp.float16(30000)}}
    updates, _ = optimizer.update(grads, optimizer.init(params), params, is_scaled=True)
    assert updates["a"]["w"].dtype == jnp.float16
    np.testing.assert_allclose(updates["a"]["w"], -0.1, rtol=HALF)


def test_scale_loss__its_opt_state_holds_arrays_that_may_be_replaced():
    optimizer = scale_loss(optax.sgd(0.1, momentum=0.9), dynamic(8))
    opt_state = optimizer.init({"a": {"w": jnp.ones(2)}})
    leaves = jax.tree.leaves(opt_state)
    assert all(isinstance(leaf, jax.Array) and not leaf.weak_type for leaf in leaves)
    # jmp.DynamicLossScale itself would refuse
    assert jax.tree.leaves(jax.tree.map(lambda leaf: "text", opt_state)) == ["text"] * 4
    _, after = optimizer.update({"a": {"w": jnp.ones(2)}}, opt_state, is_scaled=True)
    assert jax.tree.map(lambda x: (x.shape, x.dtype), after) == jax.tree.map(
        lambda x: (x.shape, x.dtype), opt_state
    )


def together(axis=None):
    """All pieces in one update: two hidden layers, of which the first is frozen."""
    model = hs.pure_pair(lambda x: hs.Classifier([16, 16], 10, 0.9, axis)(x, True))
    loss_fn = accumulate(mixed_precision(cross_entropy(model), FLOAT16), 2, statistics="once")
    inner = freeze_params(optax.sgd(0.1, momentum=0.9), is_first)
    optimizer = scale_loss(average_params(inner, 0.8), dynamic(2.0**10, period=2))
    return model, optimizer, make_scaled_update(loss_fn, optimizer)


def is_first(module, name, value):
    return module == "classifier/linear"


def check_together(train_state, initial, steps):
    first = "classifier/linear"
    np.testing.assert_array_equal(train_state.params[first]["w"], initial.params[first]["w"])
    average = averaged_params(train_state)
    np.testing.assert_array_equal(average[first]["w"], initial.params[first]["w"])
    assert dtypes(train_state.params) == {jnp.dtype(jnp.float32)}
    assert train_state.state[NORM("mean")]["counter"] == steps
    assert isinstance(train_state.opt_state, LossScaleState)
    assert train_state.opt_state.loss_scale == 2.0 ** (10 + steps // 2)
    moved = train_state.params["classifier/linear_2"]["w"]
    behind = average["classifier/linear_2"]["w"]
    start = initial.params["classifier/linear_2"]["w"]
    assert jnp.abs(moved - start).max() > jnp.abs(behind - start).max() > 0


def test_recipes__all_together_take_the_same_steps_on_one_device_and_on_four():
    batch, steps = digits_like(), 4
    model, optimizer, update = together()
    initial = start(model, optimizer, batch)
    run, alone, losses = hs.jit_update(update), start(model, optimizer, batch), []
    for _ in range(steps):
        alone, metrics = run(alone, batch)
        losses.append(float(metrics["loss"]))
    check_together(alone, initial, steps)
    assert run.trace_count == 1
    assert losses[-1] < losses[0]

    model, optimizer, update = together(AXIS)
    mapped = hs.pmap_update(update, four())
    replicas = mapped.place(start(model, optimizer, batch))
    for _ in range(steps):
        replicas, metrics = mapped(replicas, mapped.feed(batch))
    hs.assert_replicas_equal(replicas)
    one = mapped.one(replicas)
    check_together(one, initial, steps)
    assert mapped.trace_count == 1
    # each device has another part, and float16 rounds each by up to 0.05 % in each layer and step
    np.testing.assert_allclose(metrics["loss"], losses[-1], rtol=20 * HALF)
    assert_close(one.params, alone.params, 20 * HALF)


def test_make_scaled_update__a_frozen_counter_may_stop():
    def loss_fn(params, state, rng, batch):
        return params["w"] * batch, (state, {})

    optimizer = scale_loss(optax.sgd(0.25), jmp.StaticLossScale(8.0))
    state = {"a": {"counter": jnp.int32(0), "hidden": jnp.ones(()), "average": jnp.ones(())}}
    train_state = hs.init_train_state(
        lambda rng: ({"w": jnp.ones(())}, state), optimizer, jax.random.key(0)
    )
    update = make_scaled_update(loss_fn, optimizer, frozen=lambda module, name, value: True)
    with pytest.raises(CounterStoppedError):
        jax.eval_shape(make_scaled_update(loss_fn, optimizer), train_state, jnp.float32(4))
    assert update(train_state, jnp.float32(4))[0].params["w"] == 0


def test_make_scaled_update__devices_count_by_their_weight():
    optimizer, devices = scale_loss(optax.sgd(0.25), jmp.StaticLossScale(8.0)), jax.devices()[:2]
    update = make_scaled_update(product, optimizer, weight=lambda batch: jnp.sum(batch["real"]))
    run = hs.pmap_update(update, devices=devices)
    batch = {"x": np.float32([1, 1, 5, 5]), "real": np.float32([1, 0, 2, 1])}
    train_state, metrics = run(run.place(product_state(optimizer)), run.feed(batch))
    assert run.one(train_state).params["a"]["w"] == 1 - 0.25 * (1 * 1 + 3 * 5) / 4
    np.testing.assert_array_equal(metrics["loss"], 4)


def test_scale_loss__a_line_search_is_told_the_loss_without_the_scale():
    def update(updates, state, params=None, *, value, value_fn, **_):
        return updates, {"value": value, "again": value_fn(params)}

    told = dict.fromkeys(("value", "again"), jnp.float32(0))
    inner = optax.GradientTransformationExtraArgs(lambda params: told, update)
    optimizer = scale_loss(inner, jmp.StaticLossScale(8.0))
    train_state = product_state(optimizer)
    assert train_state.opt_state.last_finite
    train_state, _ = make_scaled_update(product, optimizer)(train_state, {"x": jnp.full(2, 4.0)})
    assert train_state.opt_state.inner == {"value": 4, "again": 4}
