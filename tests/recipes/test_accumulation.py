import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support import oracles
from support.runners import RUNNERS

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
MEAN, VAR = (f"normalized/batch_norm/~/{name}_ema" for name in ("mean", "var"))


class Normalized(hk.Module):
    """A normalized linear layer: it has params and state, and its inputs are what it averages."""

    def __init__(self, axis=None, name=None):
        super().__init__(name=name)
        self.axis = axis

    def __call__(self, inputs, is_training=True):
        norm = hs.BatchNorm(True, True, DECAY, cross_replica_axis=self.axis)
        return hk.Linear(1)(norm(inputs, is_training))[:, 0]


def pair_of(axis=None, is_training=True):
    return hk.transform_with_state(lambda x: Normalized(axis)(x, is_training))


def squared_error(pair):
    def loss_fn(params, state, rng, batch):
        prediction, state = pair.apply(params, state, rng, batch["inputs"])
        error = jnp.square(prediction - batch["targets"])
        return jnp.mean(error), (state, {"worst": jnp.max(error)})

    return loss_fn


def data(rows=32, features=3):
    rng = np.random.default_rng(0)
    return {
        "inputs": rng.normal(2, 3, (rows, features)).astype(np.float32),
        "targets": rng.normal(0, 1, rows).astype(np.float32),
    }


def start(pair, batch, optimizer=SGD):
    return hs.init_train_state(pair.init, optimizer, jax.random.key(0), batch["inputs"])


def microbatch(batch, index, count):
    return {name: values[index::count] for name, values in batch.items()}


def close(tree, expected, atol=1e-6):
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, atol=atol, rtol=1e-5), tree, expected
    )


@pytest.mark.parametrize(("count", "statistics"), [(1, "once"), (8, "each"), (8, "once")])
def test_without_normalization_the_update_is_that_of_the_whole_batch(count, statistics):
    batch = data()
    pair = hk.transform_with_state(lambda x: hs.LinearRegression()(x, is_training=True))
    loss_fn = accumulate(squared_error(pair), count, statistics=statistics)
    run = hs.jit_update(hs.make_update(loss_fn, SGD))
    w, b = np.zeros(3), 0.0
    train_state = start(pair, batch)
    for _ in range(3):
        expected_loss = np.square(np.float64(batch["inputs"]) @ w + b - batch["targets"]).mean()
        by_w, by_b = oracles.squared_error_gradient(batch["inputs"], batch["targets"], w, b)
        w, b = w - 0.1 * by_w, b - 0.1 * by_b
        train_state, metrics = run(train_state, batch)
        np.testing.assert_allclose(metrics["loss"], expected_loss, rtol=1e-5)
    params = train_state.params["linear_regression"]
    np.testing.assert_allclose(params["w"], w, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(params["b"], b, rtol=1e-5, atol=1e-6)
    assert run.trace_count == 1


def test_the_gradient_alone_is_that_of_the_whole_batch_to_the_last_digits():
    batch = data()
    w, b = np.float32([0.3, -0.2, 0.1]), np.float32(0.5)

    def loss_fn(params, state, rng, batch):
        prediction = batch["inputs"] @ params["w"] + params["b"]
        return jnp.mean(jnp.square(prediction - batch["targets"])), (state, {})

    function = accumulate(loss_fn, 4, statistics="once")
    by_w, by_b = oracles.squared_error_gradient(batch["inputs"], batch["targets"], w, b)
    for times in (1.0, -3.0):
        grads = jax.grad(lambda p, k=times: k * function(p, {}, None, batch)[0])({"w": w, "b": b})
        np.testing.assert_allclose(grads["w"], times * by_w, rtol=1e-6)
        np.testing.assert_allclose(grads["b"], times * by_b, rtol=1e-6)


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
@pytest.mark.parametrize("runner", ["jit", "scan", "pmap", "shard", "shard_map"])
def test_a_padded_batch_is_split_by_its_real_rows(runner, statistics, real):
    """Loss, gradient and statistics against NumPy in float64, also of microbatches without rows."""
    count, devices = 4, 4 if "map" in runner else 1
    whole = data(16)
    padded = dict(whole, mask=np.float32(np.arange(16) < real))
    padded["inputs"] = np.where(padded["mask"][:, None] > 0, whole["inputs"], np.float32(1e6))
    pair, loss_fn = masked("devices" if devices > 1 else None)
    size = lambda batch: batch["mask"].sum()  # noqa: E731
    loss_fn = accumulate(loss_fn, count, statistics=statistics, weight=size)
    run = RUNNERS[runner](hs.make_update(loss_fn, SGD, weight=size))
    train_state = hs.init_train_state(
        pair.init, SGD, jax.random.key(0), whole["inputs"], np.ones(16, np.float32)
    )
    params = jax.tree.map(np.float64, train_state.params["linear"])
    new, metrics = run(run.place(train_state), run.feed(padded))
    new = run.one(new)

    parts = [rows for rows in own_rows(padded, devices, count) if len(rows)]
    loss, by_w, by_b, means, variances = 0.0, 0.0, 0.0, [], []
    for rows in parts:
        x = np.float64(whole["inputs"][rows])
        means, variances = [*means, x.mean(0)], [*variances, x.var(0)]
        x = (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5)
        error = x @ params["w"][:, 0] + params["b"] - whole["targets"][rows]
        loss += (error**2).sum() / real
        by_w, by_b = by_w + 2 * error @ x / real, by_b + 2 * error.sum() / real
    np.testing.assert_allclose(np.squeeze(metrics["loss"]), loss, rtol=1e-4)
    np.testing.assert_allclose(np.squeeze(metrics["size"]), loss, rtol=1e-4)
    np.testing.assert_allclose(
        new.params["linear"]["w"][:, 0], params["w"][:, 0] - 0.1 * by_w, rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(new.params["linear"]["b"], params["b"] - 0.1 * by_b, atol=1e-5)
    for name, values in (("mean", means), ("var", variances)):
        own = new.state[f"norm/~/{name}_ema"]
        assert own["counter"] == (len(parts) if statistics == "each" else 1)
        truth = np.mean(values, 0)
        if statistics == "each":
            truth = oracles.exponential_average(values, DECAY)
        np.testing.assert_allclose(own["average"][0], truth, rtol=1e-4, atol=1e-5)


def test_each_lets_the_running_statistics_advance_once_per_microbatch():
    batch, pair = data(), pair_of()
    update = hs.make_update(accumulate(squared_error(pair), 4, statistics="each"), SGD)
    train_state, _ = hs.jit_update(update)(start(pair, batch), batch)
    parts = [np.float64(batch["inputs"][i::4]) for i in range(4)]
    state = train_state.state
    for name, values in ((MEAN, [x.mean(0) for x in parts]), (VAR, [x.var(0) for x in parts])):
        assert state[name]["counter"] == 4
        expected = oracles.exponential_average(values, DECAY)
        np.testing.assert_allclose(state[name]["average"][0], expected, rtol=1e-5)


def test_once_lets_the_running_statistics_advance_once_per_update():
    batch, pair = data(), pair_of()
    run = hs.jit_update(hs.make_update(accumulate(squared_error(pair), 4, statistics="once"), SGD))
    train_state = start(pair, batch)
    batches = [batch, {**batch, "inputs": batch["inputs"] + 5}]
    means, variances = [], []
    for step, rows in enumerate(batches, 1):
        train_state, _ = run(train_state, rows)
        parts = [np.float64(rows["inputs"][i::4]) for i in range(4)]
        means.append(np.mean([x.mean(0) for x in parts], 0))
        variances.append(np.mean([x.var(0) for x in parts], 0))
        for name, values in ((MEAN, means), (VAR, variances)):
            assert train_state.state[name]["counter"] == step
            expected = oracles.exponential_average(values, DECAY)
            np.testing.assert_allclose(train_state.state[name]["average"][0], expected, rtol=1e-5)


def test_each_microbatch_is_normalized_by_its_own_statistics():
    batch, pair = data(), pair_of()
    loss_fn = squared_error(pair)
    train_state = start(pair, batch)
    params = jax.tree.map(lambda p: p + 0.3, train_state.params)

    def grads_of(function, rows):
        with jax.debug_key_reuse(False):
            return jax.jit(jax.value_and_grad(function, has_aux=True))(
                params, train_state.state, train_state.rng, rows
            )

    (loss, (_, metrics)), grads = grads_of(accumulate(loss_fn, 4, statistics="once"), batch)
    parts = [grads_of(loss_fn, microbatch(batch, i, 4)) for i in range(4)]
    mean = jax.tree.map(lambda *leaves: np.mean(np.float64(leaves), 0), *parts)
    close((loss, grads), (mean[0][0], mean[1]))
    close(metrics, mean[0][1][1])
    _, whole = grads_of(loss_fn, batch)
    assert jnp.abs(whole["normalized/linear"]["w"] - grads["normalized/linear"]["w"]).max() > 1e-3


def test_it_takes_the_steps_of_multi_steps(standard_promotion):
    batch, pair = data(), pair_of()
    loss_fn, count = squared_error(pair), 4
    run = hs.jit_update(hs.make_update(accumulate(loss_fn, count, statistics="each"), SGD))
    steps = optax.MultiSteps(SGD, count).gradient_transformation()
    single = hs.jit_update(hs.make_update(loss_fn, steps))
    ours, theirs = start(pair, batch), start(pair, batch, steps)
    for _ in range(2):
        ours, _ = run(ours, batch)
        for index in range(count):
            theirs, _ = single(theirs, microbatch(batch, index, count))
    close(ours.params, theirs.params)
    close(ours.state, theirs.state)
    assert ours.step == 2


def drawing_loss(params, state, rng, batch):
    draws = state["drawn"]["draws"].at[state["drawn"]["index"]].set(jax.random.uniform(rng))
    state = {"drawn": {"draws": draws, "index": state["drawn"]["index"] + 1}}
    return jnp.sum(params["w"]) * jnp.mean(batch["x"]), (state, {"x": jnp.mean(batch["x"])})


def test_each_microbatch_draws_its_own_numbers_and_metrics_are_means():
    state = {"drawn": {"draws": jnp.zeros(4), "index": jnp.int32(0)}}
    loss_fn = accumulate(drawing_loss, 4, statistics="each")
    batch = {"x": np.arange(8, dtype=np.float32)}
    for function in (loss_fn, jax.value_and_grad(loss_fn, has_aux=True)):
        result = function({"w": jnp.ones(2)}, state, jax.random.key(0), batch)
        (loss, (after, metrics)) = result if function is loss_fn else result[0]
        assert len({*after["drawn"]["draws"].tolist(), 0.0}) == 5
        assert after["drawn"]["index"] == 4
        assert (loss, metrics["x"]) == (7.0, 3.5)


def test_integers_of_the_metrics_become_means_and_no_key_is_needed():
    def loss_fn(params, state, rng, batch):
        assert rng is None
        return jnp.sum(params["w"]), (state, {"correct": jnp.sum(batch["x"])})

    function = accumulate(loss_fn, 2, statistics="once")
    _, (_, metrics) = function({"w": jnp.ones(1)}, {}, None, {"x": np.int32([1, 2, 4, 8])})
    assert metrics["correct"] == 7.5


def test_four_devices_take_the_step_of_one():
    batch, four = data(), jax.devices()[:4]
    alone, replicated = pair_of(), pair_of("devices")

    def update(pair):
        return hs.make_update(accumulate(squared_error(pair), 4, statistics="each"), SGD)

    expected, expected_metrics = hs.jit_update(update(alone))(start(alone, batch), batch)
    run = hs.pmap_update(update(replicated), four)
    train_state, metrics = run(
        hs.replicate(start(replicated, batch), four), hs.split_batch(batch, 4)
    )
    hs.assert_replicas_equal(train_state)
    train_state = hs.unreplicate(train_state)
    close(train_state.params, expected.params)
    close(train_state.state, expected.state, 1e-5)
    np.testing.assert_allclose(metrics["loss"], expected_metrics["loss"], rtol=1e-5)


def wide_model(rows, layers):
    pair = hk.transform_with_state(lambda x: hs.Classifier([64] * layers, 10)(x, is_training=True))
    rng = np.random.default_rng(0)
    batch = {
        "inputs": rng.normal(0, 1, (rows, 64)).astype(np.float32),
        "targets": rng.integers(0, 10, rows).astype(np.int32),
    }

    def loss_fn(params, state, rng, batch):
        logits, state = pair.apply(params, state, rng, batch["inputs"])
        labels = jax.nn.one_hot(batch["targets"], 10)
        return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * labels, axis=-1)), (state, {})

    return pair, loss_fn, batch


@pytest.mark.usefixtures("compiled_anew")
def test_it_needs_the_memory_of_a_microbatch():
    pair, loss_fn, batch = wide_model(4096, layers=3)
    shapes = jax.eval_shape(lambda: start(pair, batch))

    def temporary(function):
        update = hs.make_update(function, SGD)
        return jax.jit(update).lower(shapes, batch).compile().memory_analysis().temp_size_in_bytes

    # measured: 0.20 to 0.25 on JAX 0.4.30 to 0.12, of which half is the batch, cut anew
    assert temporary(accumulate(loss_fn, 16, statistics="once")) < 0.4 * temporary(loss_fn)


def test_a_sharded_batch_stays_where_it_is():
    pair, loss_fn, batch = wide_model(64, layers=1)
    mesh = hs.data_mesh(jax.devices()[:4], "rows")
    whole, split = (
        jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*axes))
        for axes in ((), ("rows",))
    )
    train_state = jax.device_put(start(pair, batch), whole)
    update = hs.make_update(accumulate(loss_fn, 4, statistics="once"), SGD)
    compiled = jax.jit(update).lower(train_state, jax.device_put(batch, split)).compile()
    program = compiled.as_text()
    assert "all-reduce" in program
    assert not any(moved in program for moved in ("all-gather", "all-to-all", "collective-permute"))


def test_the_gradients_of_half_precision_params_are_summed_in_float32():
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
def test_rows_that_do_not_divide_are_named(batch, rows):
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
def test_wrong_arguments_are_named(count, statistics, message):
    with pytest.raises(ArgumentError) as caught:
        accumulate(drawing_loss, count, statistics=statistics)
    assert caught.value.what == message


def test_a_choice_must_be_made():
    with pytest.raises(TypeError, match="statistics"):
        accumulate(drawing_loss, 2)


def test_a_model_that_is_not_training_is_named():
    batch, pair = data(), pair_of()
    train_state = start(pair, batch)
    evaluating = squared_error(pair_of(is_training=False))
    with pytest.raises(CounterStoppedError):
        hs.make_update(accumulate(evaluating, 2, statistics="once"), SGD)(train_state, batch)
    loss_fn = accumulate(evaluating, 2, statistics="once", strict=False)
    with jax.debug_key_reuse(False):
        after, _ = hs.make_update(loss_fn, SGD, strict=False)(train_state, batch)
    close(after.state, train_state.state, 0)


@pytest.mark.parametrize("statistics", ["each", "once"])
def test_what_a_microbatch_returns_is_checked(statistics):
    def wider(params, state, rng, batch):
        return jnp.sum(params["w"]), ({"s": {"n": state["s"]["n"] + 1.0}}, {})

    def alone(params, state, rng, batch):
        return jnp.sum(params["w"]), state

    arguments = {"w": jnp.ones(2)}, {"s": {"n": jnp.int32(0)}}, None, {"x": np.zeros(4)}
    with jax.numpy_dtype_promotion("standard"), pytest.raises(StateDtypeError):
        accumulate(wider, 2, statistics=statistics)(*arguments)
    with pytest.raises(LossFunctionError, match=r"\(float32\[\], \{'s': \{'n': int32\[\]\}\}\)"):
        accumulate(alone, 2, statistics=statistics)(*arguments)


def test_metrics_have_a_gradient_too():
    def loss_fn(params, state, rng, batch):
        loss = jnp.mean(params["w"] * batch["x"])
        return loss, (state, {"penalty": loss**2})

    function = accumulate(loss_fn, 2, statistics="once")

    def penalty(params):
        return function(params, {}, None, {"x": jnp.arange(4.0)})[1][1]["penalty"]

    # microbatches of means 1 and 2: the penalty is (w² + 4 w²) / 2
    assert jax.grad(penalty)({"w": jnp.float32(3)})["w"] == 15
