import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from support import oracles
from support.models import (
    cross_entropy,
    line,
    padded,
    real_rows,
    rows,
    squared_error,
    start,
)
from support.runners import AXIS, RUNNERS, four, mesh, train
from support.tolerances import CANCELLED, FEW_ROUNDINGS, MANY_ROUNDINGS
from support.trees import assert_close, assert_same_bits, distance

import haiku_state as hs
from haiku_state.errors import (
    ArgumentError,
    BatchDivisionError,
    CounterStoppedError,
    LossFunctionError,
    StateDtypeError,
)
from haiku_state.recipes import accumulate

SGD = optax.sgd(0.1)
DECAY = 0.9
MEAN, VAR = (f"linear_regression/batch_norm/~/{name}_ema" for name in ("mean", "var"))
BATCH = rows(32, mean=2, spread=3)


def microbatch(batch, index, count):
    return {name: values[index::count] for name, values in batch.items()}


@pytest.mark.parametrize(("count", "statistics"), [(1, "once"), (8, "each"), (8, "once")])
def test_accumulate__without_normalization_is_the_update_of_the_whole_batch(count, statistics):
    batch, pair = BATCH, line()
    loss_fn = accumulate(squared_error(pair), count, statistics=statistics)
    run = hs.jit_update(hs.make_update(loss_fn, SGD))
    w, b = np.zeros(3), 0.0
    train_state = start(pair, SGD, batch)
    for _ in range(3):
        expected_loss = np.square(np.float64(batch["inputs"]) @ w + b - batch["targets"]).mean()
        by_w, by_b = oracles.squared_error_gradient(batch["inputs"], batch["targets"], w, b)
        w, b = w - 0.1 * by_w, b - 0.1 * by_b
        train_state, metrics = run(train_state, batch)
        np.testing.assert_allclose(metrics["loss"], expected_loss, rtol=MANY_ROUNDINGS)
    assert_close(train_state.params["linear_regression"], {"w": w, "b": b}, MANY_ROUNDINGS)
    assert run.trace_count == 1


def test_accumulate__has_the_gradient_of_the_whole_batch_to_the_last_digits():
    batch = BATCH
    w, b = np.float32([0.3, -0.2, 0.1]), np.float32(0.5)

    def loss_fn(params, state, rng, batch):
        prediction = batch["inputs"] @ params["w"] + params["b"]
        return jnp.mean(jnp.square(prediction - batch["targets"])), (state, {})

    function = accumulate(loss_fn, 4, statistics="once")
    by_w, by_b = oracles.squared_error_gradient(batch["inputs"], batch["targets"], w, b)
    for times in (1.0, -3.0):
        grads = jax.grad(lambda p, k=times: k * function(p, {}, None, batch)[0])({"w": w, "b": b})
        np.testing.assert_allclose(grads["w"], times * by_w, rtol=FEW_ROUNDINGS)
        np.testing.assert_allclose(grads["b"], times * by_b, rtol=FEW_ROUNDINGS)


def masked(axis=None):
    def apply(x, mask):
        norm = hs.BatchNorm(False, False, DECAY, cross_replica_axis=axis, name="norm")
        return hk.Linear(1)(norm(x, True, mask=mask))[:, 0]

    pair = hk.transform_with_state(apply)

    def loss_fn(params, state, rng, batch):
        mask = batch["mask"]
        prediction, state = pair.apply(params, state, rng, batch["inputs"], mask)
        error = jnp.square(prediction - batch["targets"])
        return hs.example_mean(error, mask), (state, {"size": hs.example_mean(error, mask)})

    return pair, loss_fn


def own_rows(batch, devices, count):
    """The real rows of each microbatch, of all devices together."""
    index = np.arange(len(batch["mask"])).reshape(devices, -1)
    parts = [index[:, i::count].ravel() for i in range(count)]
    return [part[batch["mask"][part] > 0] for part in parts]


@pytest.mark.parametrize("real", [13, 5, 2])
@pytest.mark.parametrize("statistics", ["each", "once"])
@pytest.mark.parametrize(
    "runner", ["jit_update", "scan_update", "pmap_update", "shard_update", "shard_map_update"]
)
def test_accumulate__splits_a_padded_batch_by_its_real_rows(runner, statistics, real):
    """Loss, gradient and statistics against NumPy in float64, also of microbatches without rows."""
    count, devices = 4, 4 if "map" in runner else 1
    whole = rows(16, mean=2, spread=3)
    batch = padded({name: values[:real] for name, values in whole.items()}, 16, fill=1e6)
    pair, loss_fn = masked(AXIS if devices > 1 else None)
    loss_fn = accumulate(loss_fn, count, statistics=statistics, weight=real_rows)
    run = RUNNERS[runner](hs.make_update(loss_fn, SGD, weight=real_rows))
    train_state = hs.init_train_state(
        pair.init, SGD, jax.random.key(0), whole["inputs"], np.ones(16, np.float32)
    )
    params = jax.tree.map(np.float64, train_state.params["linear"])
    new, metrics = train(run, train_state, [batch])

    parts = [part for part in own_rows(batch, devices, count) if len(part)]
    loss, by_w, by_b, means, variances = 0.0, 0.0, 0.0, [], []
    for part in parts:
        x, mean, var = oracles.batch_norm(whole["inputs"][part], 0)
        means, variances = [*means, mean], [*variances, var]
        error = x @ params["w"][:, 0] + params["b"] - whole["targets"][part]
        loss += (error**2).sum() / real
        by_w, by_b = by_w + 2 * error @ x / real, by_b + 2 * error.sum() / real
    found = [np.squeeze(metrics[name]) for name in ("loss", "size")]
    assert_close(found, [loss, loss], CANCELLED)
    w, b = params["w"] - 0.1 * by_w[:, None], params["b"] - 0.1 * by_b
    assert_close(new.params["linear"], {"w": w, "b": b}, CANCELLED)
    for name, values in (("mean", means), ("var", variances)):
        own = new.state[f"norm/~/{name}_ema"]
        assert own["counter"] == (len(parts) if statistics == "each" else 1)
        truth = np.mean(values, 0)
        if statistics == "each":
            truth = oracles.exponential_average(values, DECAY)
        assert_close(own["average"], truth, CANCELLED)


def test_accumulate__once_advances_the_running_statistics_once_per_update():
    batch, pair = BATCH, line(True)
    run = hs.jit_update(hs.make_update(accumulate(squared_error(pair), 4, statistics="once"), SGD))
    train_state = start(pair, SGD, batch)
    batches = [batch, {**batch, "inputs": batch["inputs"] + 5}]
    means, variances = [], []
    for step, whole in enumerate(batches, 1):
        train_state, _ = run(train_state, whole)
        parts = [np.float64(whole["inputs"][i::4]) for i in range(4)]
        means.append(np.mean([x.mean(0) for x in parts], 0))
        variances.append(np.mean([x.var(0) for x in parts], 0))
        for name, values in ((MEAN, means), (VAR, variances)):
            assert train_state.state[name]["counter"] == step
            expected = oracles.exponential_average(values, DECAY)
            average = train_state.state[name]["average"][0]
            np.testing.assert_allclose(average, expected, rtol=MANY_ROUNDINGS)


def test_accumulate__normalizes_each_microbatch_by_its_own_statistics():
    batch, pair = BATCH, line(True)
    loss_fn = squared_error(pair)
    train_state = start(pair, SGD, batch)
    params = jax.tree.map(lambda p: p + 0.3, train_state.params)

    def grads_of(function, rows):
        with jax.debug_key_reuse(False):
            return jax.jit(jax.value_and_grad(function, has_aux=True))(
                params, train_state.state, train_state.rng, rows
            )

    (loss, (_, metrics)), grads = grads_of(accumulate(loss_fn, 4, statistics="once"), batch)
    parts = [grads_of(loss_fn, microbatch(batch, i, 4)) for i in range(4)]
    mean = jax.tree.map(lambda *leaves: np.mean(np.float64(leaves), 0), *parts)
    assert_close((loss, grads), (mean[0][0], mean[1]), MANY_ROUNDINGS)
    assert_close(metrics, mean[0][1][1], MANY_ROUNDINGS)
    _, whole = grads_of(loss_fn, batch)
    assert distance(whole, grads) > 1e-3  # far more than rounding


def test_accumulate__takes_the_steps_of_multi_steps(standard_promotion):
    batch, pair = BATCH, line(True)
    loss_fn, count = squared_error(pair), 4
    run = hs.jit_update(hs.make_update(accumulate(loss_fn, count, statistics="each"), SGD))
    steps = optax.MultiSteps(SGD, count).gradient_transformation()
    single = hs.jit_update(hs.make_update(loss_fn, steps))
    ours, theirs = start(pair, SGD, batch), start(pair, steps, batch)
    for _ in range(2):
        ours, _ = run(ours, batch)
        for index in range(count):
            theirs, _ = single(theirs, microbatch(batch, index, count))
    assert_close(ours[:2], theirs[:2], MANY_ROUNDINGS)
    assert ours.step == 2


def drawing_loss(params, state, rng, batch):
    draws = state["drawn"]["draws"].at[state["drawn"]["index"]].set(jax.random.uniform(rng))
    state = {"drawn": {"draws": draws, "index": state["drawn"]["index"] + 1}}
    return jnp.sum(params["w"]) * jnp.mean(batch["x"]), (state, {"x": jnp.mean(batch["x"])})


def test_accumulate__each_microbatch_draws_its_own_numbers_and_metrics_are_means():
    state = {"drawn": {"draws": jnp.zeros(4), "index": jnp.int32(0)}}
    loss_fn = accumulate(drawing_loss, 4, statistics="each")
    batch = {"x": np.arange(8, dtype=np.float32)}
    for function in (loss_fn, jax.value_and_grad(loss_fn, has_aux=True)):
        result = function({"w": jnp.ones(2)}, state, jax.random.key(0), batch)
        (loss, (after, metrics)) = result if function is loss_fn else result[0]
        assert len({*after["drawn"]["draws"].tolist(), 0.0}) == 5
        assert after["drawn"]["index"] == 4
        assert (loss, metrics["x"]) == (7.0, 3.5)


def test_accumulate__integer_metrics_become_means_and_no_key_is_needed():
    def loss_fn(params, state, rng, batch):
        assert rng is None
        return jnp.sum(params["w"]), (state, {"correct": jnp.sum(batch["x"])})

    function = accumulate(loss_fn, 2, statistics="once")
    _, (_, metrics) = function({"w": jnp.ones(1)}, {}, None, {"x": np.int32([1, 2, 4, 8])})
    assert metrics["correct"] == 7.5


def test_accumulate__four_devices_take_the_step_of_one():
    def update(pair):
        return hs.make_update(accumulate(squared_error(pair), 4, statistics="each"), SGD)

    one, several = line(True), line(True, AXIS)
    expected, losses = hs.jit_update(update(one))(start(one, SGD, BATCH), BATCH)
    run = hs.pmap_update(update(several), four())
    train_state, metrics = run(run.place(start(several, SGD, BATCH)), run.feed(BATCH))
    hs.assert_replicas_equal(train_state)
    assert_close(run.one(train_state)[:2], expected[:2], MANY_ROUNDINGS)
    assert_close(metrics, losses, MANY_ROUNDINGS)


def wide_model(rows, layers):
    pair = hk.transform_with_state(lambda x: hs.Classifier([64] * layers, 10)(x, is_training=True))
    rng = np.random.default_rng(0)
    batch = {
        "inputs": rng.normal(0, 1, (rows, 64)).astype(np.float32),
        "targets": rng.integers(0, 10, rows).astype(np.int32),
    }
    return pair, cross_entropy(pair), batch


@pytest.mark.usefixtures("compiled_anew")
def test_accumulate__needs_the_memory_of_a_microbatch():
    pair, loss_fn, batch = wide_model(4096, layers=3)
    shapes = jax.eval_shape(lambda: start(pair, SGD, batch))

    def temporary(function):
        update = hs.make_update(function, SGD)
        return jax.jit(update).lower(shapes, batch).compile().memory_analysis().temp_size_in_bytes

    # measured: 0.20 to 0.25 on JAX 0.4.30 to 0.12, of which half is the batch, cut anew
    assert temporary(accumulate(loss_fn, 16, statistics="once")) < 0.4 * temporary(loss_fn)


def test_accumulate__a_sharded_batch_stays_where_it_is():
    pair, loss_fn, batch = wide_model(64, layers=1)
    whole, split = (NamedSharding(mesh(), P(*axes)) for axes in ((), (AXIS,)))
    train_state = jax.device_put(start(pair, SGD, batch), whole)
    update = hs.make_update(accumulate(loss_fn, 4, statistics="once"), SGD)
    compiled = jax.jit(update).lower(train_state, jax.device_put(batch, split)).compile()
    program = compiled.as_text()
    assert "all-reduce" in program
    assert not any(moved in program for moved in ("all-gather", "all-to-all", "collective-permute"))


def test_accumulate__sums_gradients_of_half_precision_in_float32():
    def loss_fn(params, state, rng, batch):
        return jnp.sum(params["w"].astype(jnp.float32) * batch["x"]), (state, {})

    count = 512
    function = accumulate(loss_fn, count, statistics="once")
    batch = {"x": np.ones(count, np.float32)}
    grads = jax.grad(lambda p: count * function(p, {}, None, batch)[0])({"w": jnp.bfloat16(1)})
    assert grads["w"] == count  # in bfloat16, 256 + 1 is 256


@pytest.mark.parametrize(
    ("batch", "rows"),
    [
        ({"x": np.zeros((30, 2), np.float32)}, 30),
        ({"x": np.zeros((0, 2), np.float32)}, 0),
    ],
)
def test_accumulate__names_rows_that_do_not_divide(batch, rows):
    with pytest.raises(BatchDivisionError) as caught:
        accumulate(drawing_loss, 4, statistics="each")({"w": jnp.ones(2)}, {}, None, batch)
    assert (
        caught.value.what
        == f"a batch of {rows} rows cannot be divided equally among 4 microbatches."
    )


@pytest.mark.parametrize(
    ("count", "statistics", "message"),
    [
        (0, "each", "count is 0, but it must be an integer of at least 1."),
        (2.0, "each", "count is 2.0, but it must be an integer of at least 1."),
        (2, "every", 'statistics is \'every\', but it must be "each" or "once".'),
    ],
)
def test_accumulate__names_wrong_arguments(count, statistics, message):
    with pytest.raises(ArgumentError) as caught:
        accumulate(drawing_loss, count, statistics=statistics)
    assert caught.value.what == message


def test_accumulate__a_choice_of_statistics_must_be_made():
    with pytest.raises(TypeError, match="statistics"):
        accumulate(drawing_loss, 2)


def test_accumulate__names_a_model_that_is_not_training():
    batch = BATCH
    train_state = start(line(True), SGD, batch)
    evaluating = squared_error(line(True, is_training=False))
    with pytest.raises(CounterStoppedError):
        hs.make_update(accumulate(evaluating, 2, statistics="once"), SGD)(train_state, batch)
    loss_fn = accumulate(evaluating, 2, statistics="once", strict=False)
    with jax.debug_key_reuse(False):
        after, _ = hs.make_update(loss_fn, SGD, strict=False)(train_state, batch)
    assert_same_bits(after.state, train_state.state)


@pytest.mark.parametrize("statistics", ["each", "once"])
def test_accumulate__checks_what_a_microbatch_returns(statistics):
    def wider(params, state, rng, batch):
        return jnp.sum(params["w"]), ({"s": {"n": state["s"]["n"] + 1.0}}, {})

    def alone(params, state, rng, batch):
        return jnp.sum(params["w"]), state

    arguments = {"w": jnp.ones(2)}, {"s": {"n": jnp.int32(0)}}, None, {"x": np.zeros(4)}
    with jax.numpy_dtype_promotion("standard"), pytest.raises(StateDtypeError):
        accumulate(wider, 2, statistics=statistics)(*arguments)
    with pytest.raises(LossFunctionError, match=r"\(float32\[\], \{'s': \{'n': int32\[\]\}\}\)"):
        accumulate(alone, 2, statistics=statistics)(*arguments)


def test_accumulate__metrics_have_a_gradient_too():
    def loss_fn(params, state, rng, batch):
        loss = jnp.mean(params["w"] * batch["x"])
        return loss, (state, {"penalty": loss**2})

    function = accumulate(loss_fn, 2, statistics="once")

    def penalty(params):
        return function(params, {}, None, {"x": jnp.arange(4.0)})[1][1]["penalty"]

    # microbatches of means 1 and 2: the penalty is (w² + 4 w²) / 2
    assert jax.grad(penalty)({"w": jnp.float32(3)})["w"] == 15


def test_accumulate__names_a_compiled_model_that_is_not_training():
    """The state that comes out of the scan is another tracer, although it has the same values."""
    evaluating = squared_error(line(True, is_training=False))
    update = hs.make_update(accumulate(evaluating, 2, statistics="each"), SGD)
    with pytest.raises(CounterStoppedError):
        jax.eval_shape(update, start(line(True), SGD, BATCH), BATCH)
