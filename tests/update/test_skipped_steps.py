"""A step that the optimizer skips leaves params and state as if its batch had never been there."""

import functools

import jax
import jax.numpy as jnp
import jmp
import numpy as np
import optax
import pytest
from support.runners import RUNNERS, axis_of

import haiku_state as hs
from haiku_state.recipes import accumulate, freeze_params, make_scaled_update, scale_loss

pytestmark = pytest.mark.usefixtures("standard_promotion")
RATE, STEP, MOMENTUM, ROWS = 0.9, 0.05, 0.5, 8
SGD = optax.sgd(STEP, momentum=MOMENTUM)


def multi_steps(optimizer, skip):
    return optax.MultiSteps(optimizer, 1, should_skip_update_fn=skip).gradient_transformation()


SKIPPING = {
    "apply_if_finite": optax.apply_if_finite(SGD, 5),
    "chained": optax.chain(optax.identity(), optax.apply_if_finite(SGD, 5)),
    "frozen around": freeze_params(
        optax.apply_if_finite(SGD, 5), lambda module, name, value: module == "other"
    ),
    "MultiSteps": multi_steps(SGD, optax.skip_not_finite),
    "large": multi_steps(SGD, functools.partial(optax.skip_large_updates, max_squared_norm=1e9)),
    "scale_loss": scale_loss(SGD, jmp.StaticLossScale(jnp.float32(8))),
}


def batches(bad=(1, 3), value=np.nan):
    rng = np.random.default_rng(0)
    for index in range(5):
        x = rng.normal(3, 2, (ROWS, 2)).astype(np.float32)
        y = rng.normal(0, 1, ROWS).astype(np.float32)
        if index in bad:
            x[2, 0] = value  # the rows of one device alone
        yield {"x": x, "y": y}


def expected(given):
    """Params and averages after the good batches alone, in float64."""
    w, b, velocity, hidden, count = np.zeros(2), 0.0, np.zeros(3), np.zeros((2, 2)), 0
    for batch in given:
        x, y = np.float64(batch["x"]), np.float64(batch["y"])
        if not np.isfinite(x).all():
            continue
        count += 1
        hidden = RATE * hidden + (1 - RATE) * np.stack([x.mean(0), x.var(0)])
        x = (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5)
        error = x @ w + b - y
        velocity = MOMENTUM * velocity + 2 / ROWS * np.r_[error @ x, error.sum()]
        w, b = w - STEP * velocity[:2], b - STEP * velocity[2]
    return np.r_[w, b], hidden / (1 - RATE**count), count


def model(axis):
    return hs.pure_pair(lambda x: hs.LinearRegression(True, RATE, cross_replica_axis=axis)(x, True))


def loss_of(pair):
    def loss_fn(params, state, rng, batch):
        own = {name: leaves for name, leaves in params.items() if name != "other"}
        prediction, state = pair.apply(own, state, rng, batch["x"])
        return jnp.mean(jnp.square(prediction - batch["y"])), (state, {})

    return loss_fn


@pytest.mark.parametrize("kind", SKIPPING)
@pytest.mark.parametrize("name", ["jit", "scan", "vmap", "pmap", "shard", "shard_map"])
def test_the_state_is_as_without_the_batch(name, kind):
    optimizer, make = SKIPPING[kind], make_scaled_update if "scale" in kind else hs.make_update
    pair = model(axis_of(RUNNERS[name]))
    run = RUNNERS[name](make(loss_of(pair), optimizer))
    first = next(batches())["x"]

    def init(rng, x):
        params, state = pair.init(rng, x)
        return {**params, "other": {"w": jnp.ones(())}}, state

    train_state = run.place(hs.init_train_state(init, optimizer, jax.random.key(0), first))
    for batch in run.feed_all(batches()):
        train_state, _ = run(train_state, batch)
    found = run.one(train_state)
    params, averages, count = expected(batches())
    own = found.params["linear_regression"]
    np.testing.assert_allclose(np.r_[own["w"], own["b"]], params, rtol=1e-4, atol=1e-5)
    for index, part in enumerate(("mean", "var")):
        ema = found.state[f"linear_regression/batch_norm/~/{part}_ema"]
        np.testing.assert_allclose(np.squeeze(ema["average"]), averages[index], rtol=1e-4)
        assert ema["counter"] == count
    assert found.step == 5


@pytest.mark.parametrize("statistics", ["each", "once"])
def test_also_of_microbatches(statistics):
    """One of four microbatches is not finite: nothing of the step stays."""
    optimizer, pair = optax.apply_if_finite(SGD, 5), model(None)
    update = hs.make_update(accumulate(loss_of(pair), 4, statistics=statistics), optimizer)
    run = hs.jit_update(update)
    good, bad = batches(bad=(1,)), next(batches(bad=(0,)))
    start = hs.init_train_state(pair.init, optimizer, jax.random.key(0), bad["x"])
    before, _ = run(start, next(good))
    after, _ = run(run.place(before), bad)
    for one, other in zip(jax.tree.leaves(after[:2]), jax.tree.leaves(before[:2]), strict=True):
        np.testing.assert_array_equal(one, other)


def test_each_member_skips_by_itself():
    optimizer, pair = optax.apply_if_finite(SGD, 5), model(None)
    run = hs.vmap_update(hs.make_update(loss_of(pair), optimizer), 2, shared_batch=False)
    both = [list(batches(bad=())), list(batches(bad=(1, 3)))]
    start = hs.init_train_state(pair.init, optimizer, jax.random.key(0), both[0][0]["x"])
    members = run.place(start)
    for pair_of_batches in zip(*both, strict=True):
        members, _ = run(members, jax.tree.map(lambda *x: np.stack(x), *pair_of_batches))
    for member, given in enumerate(both):
        _, averages, count = expected(given)
        ema = members.state["linear_regression/batch_norm/~/mean_ema"]
        assert ema["counter"][member] == count
        np.testing.assert_allclose(np.squeeze(ema["average"][member]), averages[0], rtol=1e-4)
