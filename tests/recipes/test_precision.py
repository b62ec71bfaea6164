import haiku as hk
import jax
import jax.numpy as jnp
import jmp
import numpy as np
import optax
import pytest
from support import oracles

import haiku_state as hs
from haiku_state.errors import (
    ArgumentError,
    LossFunctionError,
    LossScaleError,
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

BFLOAT16 = "params=float32,compute=bfloat16,output=float32"
FLOAT16 = "params=float32,compute=float16,output=float32"
NORM = "classifier/batch_norm/~/{}_ema".format


def classifier_loss(model):
    def loss_fn(params, state, rng, batch):
        logits, state = model.apply(params, state, rng, batch["inputs"], True)
        seen.append(logits.dtype)
        scores = jax.nn.log_softmax(logits.astype(jnp.float32))
        picked = jnp.take_along_axis(scores, batch["targets"][:, None], 1)
        return -jnp.mean(picked), (state, {})

    seen = loss_fn.seen = []
    return loss_fn


def digits_like(rows=64, seed=0):
    rng = np.random.default_rng(seed)
    targets = rng.integers(0, 10, rows).astype(np.int32)
    centers = np.random.default_rng(1).normal(0, 1, (10, 8))
    inputs = 2 + centers[targets] + rng.normal(0, 0.5, (rows, 8))
    return {"inputs": inputs.astype(np.float32), "targets": targets}


def start(model, optimizer):
    return hs.init_train_state(
        model.init, optimizer, jax.random.key(0), digits_like()["inputs"], is_training=True
    )


def dtypes(tree):
    return {leaf.dtype for leaf in jax.tree.leaves(tree)}


def dynamic(scale, **arguments):
    return jmp.DynamicLossScale(jnp.float32(scale), **arguments)


def test_bfloat16_learns_and_params_and_state_stay_as_they_are():
    model = hs.pure_pair(hs.Classifier, [16], 10)
    loss_fn = classifier_loss(model)
    run = hs.jit_update(hs.make_update(mixed_precision(loss_fn, BFLOAT16), optax.sgd(0.5)))
    train_state, losses, batch = start(model, optax.sgd(0.5)), [], digits_like()
    expected = jax.tree.map(lambda leaf: leaf.dtype, train_state)
    for _ in range(30):
        train_state, metrics = run(train_state, batch)
        losses.append(float(metrics["loss"]))
    assert losses[-1] < 0.3 * losses[0]
    assert set(loss_fn.seen) == {jnp.dtype(jnp.bfloat16)}
    assert jax.tree.map(lambda leaf: leaf.dtype, train_state) == expected
    assert dtypes(train_state.params) == {jnp.dtype(jnp.float32)}
    assert metrics["loss"].dtype == jnp.float32
    assert run.trace_count == 1


@pytest.mark.parametrize("norm", [hs.BatchNorm, hk.BatchNorm])
def test_running_statistics_keep_the_digits_of_float32(norm, standard_promotion):
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


def test_a_policy_of_ones_own_for_the_normalization_stays(standard_promotion):
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


def test_what_is_cast_and_what_is_not():
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


def test_a_number_is_not_a_loss_scale():
    with pytest.raises(ArgumentError) as caught:
        scale_loss(optax.sgd(0.1), 2.0**15)
    assert caught.value.what == "loss_scale is 32768.0, but it must be a jmp loss scale."


def test_a_text_that_is_no_policy_is_refused_by_jmp():
    with pytest.raises(ValueError, match="Unknown dtype 'bf61'"):
        mixed_precision(classifier_loss(None), "params=float32,compute=bf61")


def test_a_module_that_writes_state_in_half_precision_is_named():
    def loss_fn(params, state, rng, batch):
        loss = params["a"]["w"] * batch["x"]
        return loss, ({"a": {"last": loss}}, {})

    train_state = hs.init_train_state(
        lambda rng: ({"a": {"w": jnp.ones(())}}, {"a": {"last": jnp.ones(())}}),
        optax.sgd(1),
        jax.random.key(0),
    )
    update = hs.make_update(mixed_precision(loss_fn, BFLOAT16), optax.sgd(1))
    with pytest.raises(StateDtypeError, match=r"\['last'\]: float32\[\] -> bfloat16\[\]"):
        update(train_state, {"x": jnp.ones(())})


def test_params_of_another_dtype_are_named():
    function = mixed_precision(classifier_loss(None), BFLOAT16)
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
def test_a_wrong_result_of_the_loss_function_is_still_named(is_scaled, result, error):
    optimizer = scale_loss(optax.sgd(0.1), dynamic(8)) if is_scaled else optax.sgd(0.1)
    make = make_scaled_update if is_scaled else hs.make_update
    train_state = hs.init_train_state(
        lambda rng: ({"a": {"w": jnp.ones(())}}, {"a": {"n": jnp.ones(2)}}),
        optimizer,
        jax.random.key(0),
    )
    function = mixed_precision(lambda p, state, rng, batch: result(p["a"]["w"], state), BFLOAT16)
    with pytest.raises(error):
        make(function, optimizer)(train_state, {})


def product(params, state, rng, batch):
    """Its gradient by w is the mean of x."""
    loss = jnp.mean(params["a"]["w"] * batch["x"])
    return loss, ({"a": {"steps": state["a"]["steps"] + 1}}, {})


def product_state(optimizer, dtype=jnp.float32):
    return hs.init_train_state(
        lambda rng: ({"a": {"w": jnp.ones((), dtype)}}, {"a": {"steps": jnp.int32(0)}}),
        optimizer,
        jax.random.key(0),
    )


# float16 ends at 65504, so 4 * 2**15 and 4 * 2**14 overflow: (steps taken, scale after the step)
OVERFLOWING = [(0, 2**14), (0, 2**13), (1, 2**13), (2, 2**14), (2, 2**13), (3, 2**13)]


def test_the_scale_halves_on_overflow_and_doubles_after_good_steps():
    optimizer = scale_loss(optax.sgd(0.25, momentum=0.5), dynamic(2.0**15, period=2))
    run = hs.jit_update(make_scaled_update(mixed_precision(product, FLOAT16), optimizer))
    train_state = product_state(optimizer)
    w, momentum, before = 1.0, 0.0, 0
    for steps, scale in OVERFLOWING:
        train_state, metrics = run(train_state, {"x": np.full(2, 4, np.float32)})
        np.testing.assert_allclose(metrics["loss"], 4 * w, rtol=1e-3)
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


def test_all_devices_decide_the_same_although_one_alone_overflows():
    optimizer = scale_loss(optax.sgd(0.25), dynamic(2.0**13))
    update = make_scaled_update(mixed_precision(product, FLOAT16), optimizer)
    run = hs.pmap_update(update, devices=jax.devices()[:4])
    train_state = hs.replicate(product_state(optimizer), jax.devices()[:4])
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
    model = hs.pure_pair(hs.LinearRegression, True)

    def loss_fn(params, state, rng, batch):
        prediction, state = model.apply(params, state, rng, batch["inputs"], True)
        return jnp.mean(jnp.square(prediction - batch["targets"])), (state, {})

    run, train_state = hs.jit_update(make(loss_fn, optimizer)), start(model, optimizer)
    for seed in range(5):
        batch = digits_like(seed=seed)
        train_state, metrics = run(train_state, {**batch, "targets": np.float32(batch["targets"])})
    return train_state, metrics


@pytest.mark.parametrize("make_scale", SCALES.values(), ids=SCALES)
def test_in_float32_a_scale_changes_nothing(make_scale):
    loss_scale = make_scale()
    plain, metrics = five_steps(hs.make_update, optax.sgd(0.1))
    scaled, same = five_steps(make_scaled_update, scale_loss(optax.sgd(0.1), loss_scale))
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6),
        (scaled.params, scaled.state, same),
        (plain.params, plain.state, metrics),
    )
    assert scaled.opt_state.loss_scale == getattr(loss_scale, "loss_scale", 1)


def test_the_scale_saves_gradients_that_float16_cannot_hold():
    x = np.full(1024, 2.0**-16, np.float32)
    by_w = {}
    for scale in (1.0, 2.0**12):
        optimizer = scale_loss(optax.sgd(1.0), jmp.StaticLossScale(scale))
        update = make_scaled_update(mixed_precision(product, FLOAT16), optimizer)
        train_state, _ = update(product_state(optimizer), {"x": x.reshape(1024, 1)})
        by_w[scale] = 1 - float(train_state.params["a"]["w"])
    # 2**-16 / 1024 = 2**-26 is below the smallest float16, 2**-24
    assert by_w[1.0] == 0
    np.testing.assert_allclose(by_w[2.0**12], 2.0**-16, rtol=1e-3)


def test_the_smallest_scale_and_the_counter_are_those_that_were_given():
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


def test_gradients_in_half_precision_are_divided_in_float32():
    optimizer = scale_loss(optax.sgd(1.0), jmp.StaticLossScale(3e5))
    params = {"a": {"w": jnp.ones((), jnp.float16)}}
    grads = {"a": {"w": jnp.float16(30000)}}
    updates, _ = optimizer.update(grads, optimizer.init(params), params, is_scaled=True)
    assert updates["a"]["w"].dtype == jnp.float16
    np.testing.assert_allclose(updates["a"]["w"], -0.1, rtol=1e-3)


def test_the_opt_state_holds_arrays_that_any_tree_function_may_replace():
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


def both_frozen(module, name, value):
    return module == "b"


@pytest.mark.parametrize(
    "around",
    [
        lambda scaling: optax.chain(optax.clip(1.0), scaling),
        lambda scaling: average_params(scaling, 0.9),
        lambda scaling: freeze_params(scaling, both_frozen),
        lambda scaling: optax.sgd(0.1),
    ],
)
def test_what_is_around_the_scale_would_see_scaled_gradients_and_is_refused(around):
    optimizer = around(scale_loss(optax.sgd(0.1), jmp.StaticLossScale(8.0)))
    params = {"a": {"w": jnp.ones(())}, "b": {"w": jnp.ones(())}}
    train_state = hs.TrainState(params, {}, optimizer.init(params), jax.random.key(0), jnp.int32(0))
    with pytest.raises(LossScaleError, match="from scale_loss as the outermost optimizer"):
        make_scaled_update(product, optimizer)(train_state, {"x": jnp.ones(2)})


def test_two_scales_are_named():
    once = scale_loss(optax.sgd(0.1), jmp.StaticLossScale(8.0))
    for inside in (once, optax.chain(optax.clip(1.0), once)):
        with pytest.raises(LossScaleError, match="the loss would be scaled twice"):
            scale_loss(inside, jmp.StaticLossScale(8.0)).init({"a": {"w": jnp.ones(2)}})


def test_a_scale_without_a_scaled_loss_is_named():
    optimizer = scale_loss(optax.sgd(0.1), jmp.StaticLossScale(8.0))
    with pytest.raises(LossScaleError) as caught:
        hs.make_update(product, optimizer)(product_state(optimizer), {"x": jnp.ones(2)})
    assert caught.value.what == (
        "the loss must be scaled exactly once, but the gradients do not come from a scaled loss."
    )


def test_extra_arguments_reach_the_optimizer_inside():
    def update(updates, state, params=None, *, factor, **_):
        return jax.tree.map(lambda u: u * factor, updates), state

    inner = optax.GradientTransformationExtraArgs(lambda params: optax.EmptyState(), update)
    optimizer = scale_loss(inner, jmp.StaticLossScale(2.0))
    params = {"a": {"w": jnp.ones(())}}
    updates, _ = optimizer.update(params, optimizer.init(params), factor=-3.0, is_scaled=True)
    assert updates["a"]["w"] == -1.5


def together(axis=None):
    """All pieces in one update: two hidden layers, of which the first is frozen."""
    model = hs.pure_pair(hs.Classifier, [16, 16], 10, 0.9, axis)
    loss_fn = accumulate(mixed_precision(classifier_loss(model), FLOAT16), 2, statistics="once")
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


def test_all_pieces_together_take_the_same_steps_on_one_device_and_on_four():
    batch, steps, four = digits_like(), 4, jax.devices()[:4]
    model, optimizer, update = together()
    initial = start(model, optimizer)
    run, alone, losses = hs.jit_update(update), start(model, optimizer), []
    for _ in range(steps):
        alone, metrics = run(alone, batch)
        losses.append(float(metrics["loss"]))
    check_together(alone, initial, steps)
    assert run.trace_count == 1
    assert losses[-1] < losses[0]

    model, optimizer, update = together("devices")
    mapped = hs.pmap_update(update, four)
    replicas = hs.replicate(start(model, optimizer), four)
    for _ in range(steps):
        replicas, metrics = mapped(replicas, hs.split_batch(batch, 4))
    hs.assert_replicas_equal(replicas)
    one = hs.unreplicate(replicas)
    check_together(one, initial, steps)
    assert mapped.trace_count == 1
    np.testing.assert_allclose(metrics["loss"], losses[-1], rtol=1e-2)
    close = dict(rtol=1e-2, atol=2e-3)  # float16 rounds each part by 0.05 %
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, **close),
        one.params,
        alone.params,
    )
