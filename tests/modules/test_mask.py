"""Padded rows enter neither the statistics nor the running averages: NumPy, float64, real rows."""

import haiku as hk
import jax
import jax.numpy as jnp
import jmp
import numpy as np
import optax
import pytest
from support import oracles
from support.models import padded, real_rows, start_from
from support.runners import AXIS, RUNNERS, each, each_replicated, train
from support.tolerances import CANCELLED, FEW_ROUNDINGS, MANY_ROUNDINGS
from support.trees import assert_close

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
    normalized = [oracles.batch_norm(rows, axes) for rows in batches]
    average = [oracles.exponential_average([each[i] for each in normalized], RATE) for i in (1, 2)]
    return normalized[-1][0], np.reshape(average, (2, CHANNELS))


def averages(state):
    return np.array(
        [np.squeeze(state[f"batch_norm/~/{name}_ema"]["average"]) for name in ("mean", "var")]
    )


def padded_rows(rows, size, fill):
    batch = padded({"x": rows}, size, fill)
    return batch["x"], batch["mask"]


def some_rows(seed, count, *shape, mean=2.0):
    rng = np.random.default_rng(seed)
    return rng.normal(mean, 3, (count, *shape, CHANNELS)).astype(np.float32)


@pytest.mark.parametrize("fill", [0.0, 1e6, np.nan])
@pytest.mark.parametrize("mean", [0.0, 1e3, 1e4])
@pytest.mark.parametrize("kind", [np.float32, bool, np.int32])
def test_batchnorm__padded_rows_count_for_nothing(fill, mean, kind):
    model, counts = norm(), [3, 8, 1, 5]
    batches = [some_rows(seed, count, mean=mean) for seed, count in enumerate(counts)]
    params, state = model.init(None, padded_rows(batches[0], 8, 0.0)[0], True)
    for rows in batches:
        x, mask = padded_rows(rows, 8, fill)
        out, state = jax.jit(model.apply, static_argnums=4)(
            params, state, None, x, True, mask.astype(kind)
        )
    truth, found = expected(batches)
    # the mean of the rows is rounded, by up to 6e-8 of it in each sum, and their spread is 3
    np.testing.assert_allclose(out[: len(rows)], truth, atol=2 * FEW_ROUNDINGS + 4e-7 * mean)
    np.testing.assert_allclose(averages(state)[0], found[0], rtol=FEW_ROUNDINGS, atol=FEW_ROUNDINGS)
    np.testing.assert_allclose(averages(state)[1], found[1], rtol=2 * MANY_ROUNDINGS)


@pytest.mark.parametrize("counts", [(2, 2, 1, 0), (4, 4, 4, 4), (1, 0, 0, 0), (4, 1, 2, 3)])
def test_batchnorm__devices_count_by_their_rows(counts):
    model, rows = norm("i"), some_rows(0, sum(counts))
    parts = np.split(rows, np.cumsum(counts)[:-1])
    parts = [padded_rows(part, 4, np.nan) for part in parts]
    x, mask = (np.stack(part) for part in zip(*parts, strict=True))
    params, state = model.init(None, np.ones((4, CHANNELS), np.float32), True)
    apply = jax.vmap(lambda x, mask: model.apply(params, state, None, x, True, mask), axis_name="i")
    out, state = apply(x, mask)
    truth, found = expected([rows])
    assert_close(np.asarray(out)[mask > 0], truth, 2 * FEW_ROUNDINGS)
    for device in range(4):
        own = jax.tree.map(lambda leaf, d=device: leaf[d], state)
        np.testing.assert_allclose(averages(own), found, rtol=MANY_ROUNDINGS)


def test_batchnorm__takes_a_mask_over_rows_and_time():
    model, x = norm(), some_rows(0, 4, 5)
    lengths = np.array([5, 3, 1, 0])
    mask = np.arange(5) < lengths[:, None]
    params, state = model.init(None, x, True)
    out, state = model.apply(params, state, None, np.where(mask[..., None], x, np.nan), True, mask)
    truth, found = expected([x[mask]])
    assert_close(np.asarray(out)[mask], truth, 2 * FEW_ROUNDINGS)
    np.testing.assert_allclose(averages(state), found, rtol=MANY_ROUNDINGS)


def test_batchnorm__a_batch_without_rows_leaves_the_averages_and_the_counter():
    model, x = norm(), some_rows(0, 4)
    params, state = model.init(None, x, True)
    _, state = model.apply(params, state, None, x, True)
    out, after = jax.jit(model.apply, static_argnums=4)(
        params, state, None, np.full_like(x, 7), True, np.zeros(4)
    )
    jax.tree.map(np.testing.assert_array_equal, after, state)
    assert np.isfinite(out).all()


def test_batchnorm__all_real_is_as_without_a_mask():
    model, x = norm(), some_rows(0, 8)
    params, state = model.init(None, x, True)
    found = model.apply(params, state, None, x, True, np.ones(8))
    assert_close(found, model.apply(params, state, None, x, True))


def test_batchnorm__refuses_a_mask_over_the_features():
    with pytest.raises(ArgumentError, match=r"^mask is float32\[3\], but it must be \[8\]"):
        norm().init(None, some_rows(0, 8), True, np.ones(3, np.float32))


def loss_of(model, axis=None):
    def loss_fn(params, state, rng, batch):
        mask = batch.get("mask")
        out, state = model.apply(params, state, rng, batch["x"], True, mask)
        values = jnp.sum(jnp.sin(out) * batch["x"] ** 2, -1)
        return hs.example_mean(values, mask), (state, {})

    return loss_fn


def check_padded_step(name, make_update, optimizer):
    """Params, statistics and loss are those of a step of SGD on the real rows."""
    rows, sgd = some_rows(0, 5), optax.sgd(0.1)

    def start(optimizer):
        return hs.init_train_state(norm().init, optimizer, jax.random.key(0), rows, True)

    alone, metrics = hs.make_update(loss_of(norm()), sgd)(start(sgd), {"x": rows})
    axis = AXIS if "map" in name else None
    run = RUNNERS[name](make_update(loss_of(norm(axis)), optimizer, weight=real_rows))
    together, found = train(run, start(optimizer), [padded({"x": rows}, 8, 0.5)])
    assert_close(together[:2], alone[:2], MANY_ROUNDINGS)
    assert_close(np.squeeze(found["loss"]), metrics["loss"], MANY_ROUNDINGS)


@pytest.mark.parametrize(
    "name", ["jit_update", "scan_update", "pmap_update", "shard_update", "shard_map_update"]
)
def test_make_update__a_step_on_a_padded_batch_is_that_on_its_rows(name):
    """On four devices one of them has no row at all."""
    check_padded_step(name, hs.make_update, optax.sgd(0.1))


@pytest.mark.parametrize("name", ["jit_update", "pmap_update", "shard_update", "shard_map_update"])
def test_make_scaled_update__a_step_on_a_padded_batch_is_that_on_its_rows(name):
    scaled = scale_loss(optax.sgd(0.1), jmp.StaticLossScale(jnp.float32(64)))
    check_padded_step(name, make_scaled_update, scaled)


def of_inputs(state):
    """The running mean and variance of the module whose inputs are the rows themselves."""
    return [
        np.squeeze(average["average"])
        for name, average in sorted(state.items())
        if average["average"].shape == (1, CHANNELS)
    ]


@pytest.mark.parametrize("fill", [1e6, np.nan])
def test_linearregression__passes_the_mask_on(fill):
    pair, rows = hs.pure_pair(hs.LinearRegression, True, RATE), some_rows(0, 5)
    x, mask = padded_rows(rows, 8, fill)
    params, state = pair.init(None, rows, True)
    for apply in (pair.apply, jax.jit(pair.apply, static_argnums=4)):
        _, after = apply(params, state, None, x, True, mask)
        np.testing.assert_allclose(of_inputs(after), expected([rows])[1], rtol=MANY_ROUNDINGS)


@pytest.mark.parametrize("fill", [1e6, np.nan])
def test_classifier__every_layer_gets_the_mask(fill):
    """As with the real rows alone: outputs of theirs, and the statistics of all layers."""
    pair, rows = hs.pure_pair(hs.Classifier, [4, 3], 2), some_rows(0, 5)
    x, mask = padded_rows(rows, 8, fill)
    params, state = pair.init(jax.random.key(0), rows, True)
    out, after = pair.apply(params, state, None, x, True, mask=mask)
    alone, found = pair.apply(params, state, None, rows, True)
    assert_close((out[:5], after), (alone, found), CANCELLED)
    assert len(after) == 4


@pytest.mark.parametrize("module", [hs.MovingAverage, lambda: hs.ExponentialMovingAverage(RATE)])
def test_movingaverage__of_padded_batches_counts_those_with_rows(module):
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
    truth = oracles.exponential_average(means, 1 if module is hs.MovingAverage else RATE)
    np.testing.assert_allclose(average, truth, rtol=FEW_ROUNDINGS)
    [own] = state.values()
    assert own["count" if module is hs.MovingAverage else "counter"] == 3


@pytest.mark.parametrize("kind", [bool, np.bool_])
@pytest.mark.parametrize("module", [hs.MovingAverage, lambda: hs.ExponentialMovingAverage(RATE)])
def test_movingaverage__takes_a_flag_of_numpy(module, kind):
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
def test_batchnorm__a_mask_in_half_precision_rounds_nothing_else(dtype):
    """mixed_precision casts the mask of a batch; inputs that are float32 stay what they are."""
    model, rows = norm(), some_rows(0, 5)
    x, mask = padded_rows(rows, 8, np.nan)
    params, state = model.init(None, rows, True)

    def loss_fn(params, state, rng, batch):
        out, state = model.apply(params, state, None, x, True, batch["mask"])
        return jnp.sum(jnp.where(mask[:, None] > 0, out, 0) ** 3), (state, {})

    half = f"params=float32,compute={jnp.dtype(dtype).name},output=float32"
    loss, (after, _) = mixed_precision(loss_fn, half)(params, state, None, {"mask": mask})
    truth, found = expected([rows])
    np.testing.assert_allclose(loss, np.sum(truth**3), rtol=CANCELLED)
    np.testing.assert_allclose(averages(after), found, rtol=MANY_ROUNDINGS)


def test_reestimate_state__takes_padded_batches():
    """The mean of the means of 4 and of 2 real rows, each batch with equal weight."""
    model, batches = norm(), [some_rows(0, 4), some_rows(1, 2)]
    params, state = model.init(None, batches[0], True)

    given = (padded_rows(rows, 4, 1e6) for rows in batches)
    apply = jax.jit(lambda p, s, rng, batch: model.apply(p, s, None, batch[0], True, batch[1]))
    after = reestimate_state(apply, params, state, given)
    means = np.mean([np.float64(rows).mean(0) for rows in batches], 0)
    variances = np.mean([np.float64(rows).var(0) for rows in batches], 0)
    np.testing.assert_allclose(averages(after), [means, variances], rtol=MANY_ROUNDINGS)


def test_batchnorm__evaluation_with_a_mask_reads_the_running_statistics():
    model, rows = norm(), some_rows(0, 5)
    x, mask = padded_rows(rows, 8, 1e6)
    params, state = model.init(None, rows, True)
    _, state = model.apply(params, state, None, x, True, mask)
    out, after = model.apply(params, state, None, x, False, mask)
    jax.tree.map(np.testing.assert_array_equal, after, state)
    assert_close(out[:5], expected([rows])[0], MANY_ROUNDINGS)


def test_batchnorm__init_takes_a_mask():
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
        norm = hs.BatchNorm(False, False, RATE, cross_replica_axis=name[0])
        return norm(x @ w, True, mask=mask)[:, 0]

    def loss_fn(params, state, rng, batch):
        out, state = pair.apply(params, state, rng, batch["x"], batch["mask"])
        return hs.example_mean((jnp.sin(out) - batch["y"]) ** 2, batch["mask"]), (state, {})

    name = [None]
    pair, draw = hs.pure_pair(model), np.random.default_rng(3)
    x, y = draw.normal(size=(8, 2)).astype(np.float32), draw.normal(size=8).astype(np.float32)
    batch = {"x": x, "y": y, "mask": ROWS}
    train_state = hs.init_train_state(pair.init, optimizer, jax.random.key(0), x, ROWS)
    return name, hs.make_update(loss_fn, optimizer, weight=real_rows), train_state, batch


def steps(runner, optimizer, count):
    name, update, train_state, batch = behind_params(optimizer)
    run = runner(update)
    name[0] = run.axis_name
    train_state, _ = train(run, train_state, count * [batch])
    return np.float64(train_state.params["~"]["w"][:, 0]), batch


@each("jit_update", "pmap_update", "shard_update", "shard_map_update")
def test_batchnorm__the_gradient_through_its_statistics_is_that_of_all_rows(runner):
    def loss(w):
        h = x @ w
        return np.mean((np.sin((h - h.mean()) / np.sqrt(h.var() + EPS)) - y) ** 2)

    found, batch = steps(runner, optax.sgd(1.0), 1)
    x, y = (np.float64(batch[name])[ROWS > 0] for name in ("x", "y"))
    w, small = np.full(2, 0.5), 1e-6 * np.eye(2)
    gradient = [(loss(w + each) - loss(w - each)) / 2e-6 for each in small]
    assert_close(w - found, gradient, 2 * FEW_ROUNDINGS)


@each_replicated
def test_batchnorm__a_line_search_goes_along_that_gradient(runner):
    expected, _ = steps(hs.jit_update, optax.lbfgs(), 3)
    found, _ = steps(runner, optax.lbfgs(), 3)
    assert_close(found, expected, CANCELLED)


@each_replicated
def test_make_update__counts_the_rows_of_devices_in_float32(runner):
    """In float16, 160,000 rows are infinitely many."""

    def loss_fn(params, state, rng, batch):
        return hs.example_mean((params["w"] - batch["x"]) ** 2, batch["mask"]), (state, {})

    mask = np.ones(160_000, np.float16)
    batch = {"x": np.arange(160_000, dtype=np.float32) / 80_000, "mask": mask}
    sgd = optax.sgd(0.5)
    run = runner(hs.make_update(loss_fn, sgd, weight=real_rows))
    train_state, _ = train(run, start_from({"w": jnp.zeros(())}, {}, sgd), [batch])
    assert_close(train_state.params["w"], np.float64(batch["x"]).mean(), MANY_ROUNDINGS)


@each_replicated
def test_make_update__a_weight_is_one_number(runner):
    _, update, train_state, batch = behind_params(optax.sgd(0.1))
    update = hs.make_update(
        lambda params, state, rng, batch: (params["~"]["w"].sum(), (state, {})),
        optax.sgd(0.1),
        weight=lambda batch: batch["mask"],
    )
    run = runner(update)
    with pytest.raises(ArgumentError, match=r"^weight\(batch\) is float32\[2\], but it must be a "):
        run(run.place(train_state), run.feed(batch))


@pytest.mark.parametrize("update_stats", [3, np.float32(2), np.True_])
def test_movingaverage__what_is_not_zero_updates_it_once(update_stats):
    ema = hk.transform_with_state(lambda x: hs.MovingAverage()(x, update_stats))
    _, state = ema.init(None, jnp.float32(0))
    for x, mean in ((2.0, 2.0), (4.0, 3.0)):
        average, state = ema.apply({}, state, None, jnp.float32(x))
        assert average == mean


def test_batchnorm__names_inputs_that_are_no_array():
    with pytest.raises(ArgumentError, match="not the whole batch"):
        hs.pure_pair(hs.BatchNorm, True, True, 0.9).init(None, {"x": jnp.ones((2, 3))}, True)
