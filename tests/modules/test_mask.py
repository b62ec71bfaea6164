"""Padded rows enter neither the statistics nor the running averages: NumPy, float64, real rows."""

import haiku as hk
import jax
import jax.numpy as jnp
import jmp
import numpy as np
import optax
import pytest
from support.runners import RUNNERS

import haiku_state as hs
from haiku_state.errors import ArgumentError
from haiku_state.recipes import make_scaled_update, mixed_precision, reestimate_state, scale_loss

RATE, EPS, CHANNELS = 0.9, 1e-5, 3


def norm(axis=None, **options):
    def apply(x, is_training, mask=None):
        module = hs.BatchNorm(True, True, RATE, cross_replica_axis=axis, **options)
        return module(x, is_training, mask=mask)

    return hk.transform_with_state(apply)


def expected(batches, axes=(0,)):
    """The outputs of the last batch, and the averages after all of them; of real rows only."""
    hidden, out = np.zeros((2, CHANNELS)), None
    for rows in batches:
        rows = np.float64(rows)
        mean, var = rows.mean(axes), rows.var(axes)
        hidden = RATE * hidden + (1 - RATE) * np.stack([mean, var])
        out = (rows - mean) / np.sqrt(var + EPS)
    return out, hidden / (1 - RATE ** len(batches))


def averages(state):
    return [np.squeeze(state[f"batch_norm/~/{name}_ema"]["average"]) for name in ("mean", "var")]


def padded(rows, size, fill):
    extra = np.full((size - len(rows), *rows.shape[1:]), fill, rows.dtype)
    return np.concatenate([rows, extra]), np.float32(np.arange(size) < len(rows))


def some_rows(seed, count, *shape, mean=2.0):
    rng = np.random.default_rng(seed)
    return rng.normal(mean, 3, (count, *shape, CHANNELS)).astype(np.float32)


@pytest.mark.parametrize("fill", [0.0, 1e6, np.nan])
@pytest.mark.parametrize("mean", [0.0, 1e3, 1e4])
@pytest.mark.parametrize("kind", [np.float32, bool, np.int32])
def test_padded_rows_count_for_nothing(fill, mean, kind):
    model, counts = norm(), [3, 8, 1, 5]
    batches = [some_rows(seed, count, mean=mean) for seed, count in enumerate(counts)]
    params, state = model.init(None, padded(batches[0], 8, 0.0)[0], True)
    for rows in batches:
        x, mask = padded(rows, 8, fill)
        out, state = jax.jit(model.apply, static_argnums=4)(
            params, state, None, x, True, mask.astype(kind)
        )
    truth, (mean_average, var_average) = expected(batches)
    np.testing.assert_allclose(out[: len(rows)], truth, atol=2e-6 + 4e-7 * mean)
    np.testing.assert_allclose(averages(state)[0], mean_average, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(averages(state)[1], var_average, rtol=2e-5)


@pytest.mark.parametrize("counts", [(2, 2, 1, 0), (4, 4, 4, 4), (1, 0, 0, 0), (4, 1, 2, 3)])
def test_devices_count_by_their_rows(counts):
    model, rows = norm("i"), some_rows(0, sum(counts))
    parts = np.split(rows, np.cumsum(counts)[:-1])
    x, mask = (np.stack(part) for part in zip(*[padded(p, 4, np.nan) for p in parts], strict=True))
    params, state = model.init(None, np.ones((4, CHANNELS), np.float32), True)
    apply = jax.vmap(lambda x, mask: model.apply(params, state, None, x, True, mask), axis_name="i")
    out, state = apply(x, mask)
    truth, found = expected([rows])
    np.testing.assert_allclose(np.asarray(out)[mask > 0], truth, atol=2e-6)
    for device in range(4):
        own = jax.tree.map(lambda leaf, d=device: leaf[d], state)
        np.testing.assert_allclose(averages(own), found, rtol=1e-5)


def test_a_mask_over_rows_and_time():
    model, x = norm(), some_rows(0, 4, 5)
    lengths = np.array([5, 3, 1, 0])
    mask = np.arange(5) < lengths[:, None]
    params, state = model.init(None, x, True)
    out, state = model.apply(params, state, None, np.where(mask[..., None], x, np.nan), True, mask)
    truth, found = expected([x[mask]])
    np.testing.assert_allclose(np.asarray(out)[mask], truth, atol=2e-6)
    np.testing.assert_allclose(averages(state), found, rtol=1e-5)


def test_a_batch_without_rows_leaves_the_averages_and_the_counter():
    model, x = norm(), some_rows(0, 4)
    params, state = model.init(None, x, True)
    _, state = model.apply(params, state, None, x, True)
    out, after = jax.jit(model.apply, static_argnums=4)(
        params, state, None, np.full_like(x, 7), True, np.zeros(4)
    )
    jax.tree.map(np.testing.assert_array_equal, after, state)
    assert np.isfinite(out).all()


def test_all_real_is_as_without_a_mask():
    model, x = norm(), some_rows(0, 8)
    params, state = model.init(None, x, True)
    for one, other in zip(
        jax.tree.leaves(model.apply(params, state, None, x, True, np.ones(8))),
        jax.tree.leaves(model.apply(params, state, None, x, True)),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def test_the_features_are_not_the_rows():
    with pytest.raises(ArgumentError, match=r"^mask is float32\[3\], but it must be \[8\]"):
        norm().init(None, some_rows(0, 8), True, np.ones(3, np.float32))


def loss_of(model, axis=None):
    def loss_fn(params, state, rng, batch):
        mask = batch.get("mask")
        out, state = model.apply(params, state, rng, batch["x"], True, mask)
        values = jnp.sum(jnp.sin(out) * batch["x"] ** 2, -1)
        return hs.example_mean(values, mask), (state, {})

    return loss_fn


@pytest.mark.parametrize("runner", ["jit", "scan", "pmap", "shard", "shard_map"])
def test_a_step_on_a_padded_batch_is_that_on_its_rows(runner):
    """Params, statistics and loss; on four devices one of them has no row at all."""
    rows = some_rows(0, 5)
    x, mask = padded(rows, 8, 0.5)
    sgd = optax.sgd(0.1)
    axis = "devices" if "map" in runner else None

    def start():
        return hs.init_train_state(norm().init, sgd, jax.random.key(0), rows, True)

    alone, metrics = hs.make_update(loss_of(norm()), sgd)(start(), {"x": rows})
    update = hs.make_update(loss_of(norm(axis)), sgd, weight=lambda batch: batch["mask"].sum())
    run = RUNNERS[runner](update)
    together, found = run(run.place(start()), run.feed({"x": x, "mask": mask}))
    together = run.one(together)
    for one, other in zip(jax.tree.leaves(together[:2]), jax.tree.leaves(alone[:2]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.squeeze(found["loss"]), metrics["loss"], rtol=1e-5)


def of_inputs(state):
    """The running mean and variance of the module whose inputs are the rows themselves."""
    return [
        np.squeeze(average["average"])
        for name, average in sorted(state.items())
        if average["average"].shape == (1, CHANNELS)
    ]


@pytest.mark.parametrize("fill", [1e6, np.nan])
def test_regression_passes_the_mask_on(fill):
    pair, rows = hs.pure_pair(hs.LinearRegression, True, RATE), some_rows(0, 5)
    x, mask = padded(rows, 8, fill)
    params, state = pair.init(None, rows, True)
    for apply in (pair.apply, jax.jit(pair.apply, static_argnums=4)):
        _, after = apply(params, state, None, x, True, mask)
        np.testing.assert_allclose(of_inputs(after), expected([rows])[1], rtol=1e-5)


@pytest.mark.parametrize("fill", [1e6, np.nan])
def test_every_layer_of_the_classifier_gets_the_mask(fill):
    """As with the real rows alone: outputs of theirs, and the statistics of all layers."""
    pair, rows = hs.pure_pair(hs.Classifier, [4, 3], 2), some_rows(0, 5)
    x, mask = padded(rows, 8, fill)
    params, state = pair.init(jax.random.key(0), rows, True)
    out, after = pair.apply(params, state, None, x, True, mask=mask)
    alone, found = pair.apply(params, state, None, rows, True)
    np.testing.assert_allclose(out[:5], alone, rtol=1e-4, atol=1e-5)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), after, found)
    assert len(after) == 4


@pytest.mark.parametrize("module", [hs.MovingAverage, lambda: hs.ExponentialMovingAverage(RATE)])
def test_an_average_of_padded_batches_counts_those_with_rows(module):
    """Of the means of real rows, in float64; a batch without any leaves the average alone."""

    def step(x, mask):
        return module()(hs.example_mean(x, mask), mask.any())

    model, batches = hk.transform_with_state(step), [[1.0, 4.0], [], [6.0], [], [2.0, 0.0, 4.0]]
    x, mask = np.full((5, 4), np.nan, np.float32), np.zeros((5, 4), np.float32)
    for index, rows in enumerate(batches):
        x[index, : len(rows)], mask[index, : len(rows)] = rows, 1
    _, state = model.init(None, x[0], mask[0])
    for one in zip(x, mask, strict=True):
        average, state = jax.jit(model.apply)({}, state, None, *one)
    means = [np.mean(rows) for rows in batches if rows]
    truth = np.mean(means)
    if module is not hs.MovingAverage:
        weights = RATE ** np.arange(len(means))[::-1]
        truth = np.average(means, weights=weights)
    np.testing.assert_allclose(average, truth, rtol=1e-6)
    [own] = state.values()
    assert own["count" if module is hs.MovingAverage else "counter"] == 3


@pytest.mark.parametrize("kind", [bool, np.bool_])
@pytest.mark.parametrize("module", [hs.MovingAverage, lambda: hs.ExponentialMovingAverage(RATE)])
def test_a_flag_of_numpy_is_a_flag(module, kind):
    model = hk.transform_with_state(lambda x, keep: module()(x, keep))
    _, state = model.init(None, np.float32(0), True)

    @jax.jit
    def apply(state, x):
        _, state = model.apply({}, state, None, x, kind(True))
        _, after = model.apply({}, state, None, x, kind(False))
        hs.check_state(state, after, is_training=False)
        return after

    [own] = apply(state, np.float32(8)).values()
    assert own["count" if module is hs.MovingAverage else "counter"] == 1


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_a_mask_in_half_precision_rounds_nothing_else(dtype):
    """mixed_precision casts the mask of a batch; inputs that are float32 stay what they are."""
    model, rows = norm(), some_rows(0, 5)
    x, mask = padded(rows, 8, np.nan)
    params, state = model.init(None, rows, True)

    def loss_fn(params, state, rng, batch):
        out, state = model.apply(params, state, None, x, True, batch["mask"])
        return jnp.sum(jnp.where(mask[:, None] > 0, out, 0) ** 3), (state, {})

    half = f"params=float32,compute={jnp.dtype(dtype).name},output=float32"
    loss, (after, _) = mixed_precision(loss_fn, half)(params, state, None, {"mask": mask})
    truth, found = expected([rows])
    np.testing.assert_allclose(loss, np.sum(truth**3), rtol=1e-4)
    np.testing.assert_allclose(averages(after), found, rtol=1e-5)


def test_padded_batches_reestimate_the_statistics_of_their_rows():
    """The mean of the means of 4 and of 2 real rows, each batch with equal weight."""
    model, batches = norm(), [some_rows(0, 4), some_rows(1, 2)]
    params, state = model.init(None, batches[0], True)

    given = (padded(rows, 4, 1e6) for rows in batches)
    apply = jax.jit(lambda p, s, rng, batch: model.apply(p, s, None, batch[0], True, batch[1]))
    after = reestimate_state(apply, params, state, given)
    means = np.mean([np.float64(rows).mean(0) for rows in batches], 0)
    variances = np.mean([np.float64(rows).var(0) for rows in batches], 0)
    np.testing.assert_allclose(averages(after), [means, variances], rtol=1e-5)


def test_evaluation_with_a_mask_reads_the_running_statistics():
    model, rows = norm(), some_rows(0, 5)
    x, mask = padded(rows, 8, 1e6)
    params, state = model.init(None, rows, True)
    _, state = model.apply(params, state, None, x, True, mask)
    out, after = model.apply(params, state, None, x, False, mask)
    jax.tree.map(np.testing.assert_array_equal, after, state)
    np.testing.assert_allclose(out[:5], expected([rows])[0], atol=1e-5)


@pytest.mark.parametrize("runner", ["jit", "pmap", "shard", "shard_map"])
def test_a_scaled_step_on_a_padded_batch_is_that_on_its_rows(runner):
    rows, sgd = some_rows(0, 5), optax.sgd(0.1)
    x, mask = padded(rows, 8, 0.5)
    scaled = scale_loss(sgd, jmp.StaticLossScale(jnp.float32(64)))

    def start(optimizer):
        return hs.init_train_state(norm().init, optimizer, jax.random.key(0), rows, True)

    alone, metrics = hs.make_update(loss_of(norm()), sgd)(start(sgd), {"x": rows})
    axis = "devices" if "map" in runner else None
    run = RUNNERS[runner](
        make_scaled_update(loss_of(norm(axis)), scaled, weight=lambda batch: batch["mask"].sum())
    )
    together, found = run(run.place(start(scaled)), run.feed({"x": x, "mask": mask}))
    for one, other in zip(
        jax.tree.leaves(run.one(together)[:2]), jax.tree.leaves(alone[:2]), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found["loss"], metrics["loss"], rtol=1e-5)


def test_init_takes_a_mask():
    x, mask = jnp.ones((4, CHANNELS)), jnp.array([1, 1, 0, 0])
    made, plain = norm().init(None, x, True, mask), norm().init(None, x, True)
    assert jax.tree.structure(made) == jax.tree.structure(plain)
    jax.tree.map(np.testing.assert_array_equal, made, plain)
    norm().apply(*made, None, x, True, [1, 1, 0, 0])  # a list is a mask too


ROWS = np.float32([1, 1, 1, 1, 1, 0, 0, 0])  # two rows on each of four devices: 2, 2, 1 and none


def behind_params(optimizer):
    """A normalization of what params have made, so that the gradient passes through its means."""

    def model(x, mask):
        w = hk.get_parameter("w", (2, 1), init=hk.initializers.Constant(0.5))
        norm = hs.BatchNorm(False, False, 0.9, cross_replica_axis=name[0])
        return norm(x @ w, True, mask=mask)[:, 0]

    def loss_fn(params, state, rng, batch):
        out, state = pair.apply(params, state, rng, batch["x"], batch["mask"])
        return hs.example_mean((jnp.sin(out) - batch["y"]) ** 2, batch["mask"]), (state, {})

    name = [None]
    pair, draw = hs.pure_pair(model), np.random.default_rng(3)
    x, y = draw.normal(size=(8, 2)).astype(np.float32), draw.normal(size=8).astype(np.float32)
    batch = {"x": x, "y": y, "mask": ROWS}
    train_state = hs.init_train_state(pair.init, optimizer, jax.random.key(0), x, ROWS)
    update = hs.make_update(loss_fn, optimizer, weight=lambda batch: batch["mask"].sum())
    return name, update, train_state, batch


def steps(runner, optimizer, count):
    name, update, train_state, batch = behind_params(optimizer)
    run = RUNNERS[runner](update)
    name[0] = run.axis_name
    train_state = run.place(train_state)
    for _ in range(count):
        train_state, _metrics = run(train_state, run.feed(batch))
    return np.float64(run.one(train_state).params["~"]["w"][:, 0]), batch


@pytest.mark.parametrize("runner", ["jit", "pmap", "shard", "shard_map"])
def test_the_gradient_through_the_statistics_of_all_devices_is_that_of_all_rows(runner):
    def loss(w):
        h = x @ w
        return np.mean((np.sin((h - h.mean()) / np.sqrt(h.var() + EPS)) - y) ** 2)

    found, batch = steps(runner, optax.sgd(1.0), 1)
    x, y = (np.float64(batch[name])[ROWS > 0] for name in ("x", "y"))
    w, small = np.full(2, 0.5), 1e-6 * np.eye(2)
    gradient = [(loss(w + each) - loss(w - each)) / 2e-6 for each in small]
    np.testing.assert_allclose(w - found, gradient, atol=2e-6)


@pytest.mark.parametrize("runner", ["pmap", "shard_map"])
def test_a_line_search_goes_along_that_gradient(runner):
    expected, _ = steps("jit", optax.lbfgs(), 3)
    np.testing.assert_allclose(steps(runner, optax.lbfgs(), 3)[0], expected, atol=1e-4)


@pytest.mark.parametrize("runner", ["pmap", "shard_map"])
def test_the_rows_of_devices_are_counted_in_float32(runner):
    """In float16, 160,000 rows are infinitely many."""

    def loss_fn(params, state, rng, batch):
        return hs.example_mean((params["w"] - batch["x"]) ** 2, batch["mask"]), (state, {})

    mask = np.ones(160_000, np.float16)
    batch = {"x": np.arange(160_000, dtype=np.float32) / 80_000, "mask": mask}
    update = hs.make_update(loss_fn, optax.sgd(0.5), weight=lambda batch: batch["mask"].sum())
    run = RUNNERS[runner](update)
    start = hs.init_train_state(
        lambda rng: ({"w": jnp.zeros(())}, {}), optax.sgd(0.5), jax.random.key(0)
    )
    train_state, _ = run(run.place(start), run.feed(batch))
    assert run.one(train_state).params["w"] == pytest.approx(np.float64(batch["x"]).mean(), 1e-5)


@pytest.mark.parametrize("runner", ["pmap", "shard_map"])
def test_a_weight_is_one_number(runner):
    _, update, train_state, batch = behind_params(optax.sgd(0.1))
    update = hs.make_update(
        lambda params, state, rng, batch: (params["~"]["w"].sum(), (state, {})),
        optax.sgd(0.1),
        weight=lambda batch: batch["mask"],
    )
    run = RUNNERS[runner](update)
    with pytest.raises(ArgumentError, match=r"^weight\(batch\) is float32\[2\], but it must be a "):
        run(run.place(train_state), run.feed(batch))


@pytest.mark.parametrize("update_stats", [3, np.float32(2), np.True_])
def test_what_is_not_zero_updates_an_average_once(update_stats):
    ema = hk.transform_with_state(lambda x: hs.MovingAverage()(x, update_stats))
    _, state = ema.init(None, jnp.float32(0))
    for x, mean in ((2.0, 2.0), (4.0, 3.0)):
        average, state = ema.apply({}, state, None, jnp.float32(x))
        assert average == mean


def test_rows_and_time_have_one_mask():
    values, mask = np.float32([[1, 5], [3, 7]]), np.float32([[1, 0], [1, 1]])
    assert hs.example_mean(values, mask) == np.float64(11) / 3
    assert hs.example_mean(values[:, 0], [1, 0]) == 1


def test_inputs_that_are_no_array_are_named():
    with pytest.raises(ArgumentError, match="not the whole batch"):
        hs.pure_pair(hs.BatchNorm, True, True, 0.9).init(None, {"x": jnp.ones((2, 3))}, True)
