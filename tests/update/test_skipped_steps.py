"""A step that the optimizer skips leaves params and state as if its batch had never been there."""

import functools

import jax
import jax.numpy as jnp
import jmp
import numpy as np
import optax
import pytest
from support import oracles
from support.models import line, rows, squared_error, start
from support.runners import axis_of, each, train
from support.tolerances import CANCELLED, MANY_ROUNDINGS

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


def batches(bad=(1, 3)):
    for index in range(5):
        batch = rows(ROWS, seed=index, mean=3, spread=2)
        if index in bad:
            batch["inputs"][2, 0] = np.nan  # the rows of one device alone
        yield batch


def expected(given):
    """Params and averages after the good batches alone, in float64."""
    w, velocity, seen = np.zeros(4), np.zeros(4), []
    for batch in given:
        if np.isfinite(batch["inputs"]).all():
            x, mean, var = oracles.batch_norm(batch["inputs"], 0)
            seen.append(np.concatenate([mean, var]))
            x = np.c_[x, np.ones(ROWS)]
            velocity = MOMENTUM * velocity + 2 / ROWS * (x @ w - batch["targets"]) @ x
            w = w - STEP * velocity
    return w, oracles.exponential_average(seen, RATE), len(seen)


@pytest.mark.parametrize("kind", SKIPPING)
@each("jit_update", "scan_update", "vmap_update", "pmap_update", "shard_update", "shard_map_update")
def test_make_update__a_skipped_step_leaves_the_state_as_without_its_batch(runner, kind):
    optimizer, make = SKIPPING[kind], make_scaled_update if "scale" in kind else hs.make_update
    pair = line(True, axis_of(runner))
    error = squared_error(pair)

    def loss_fn(params, state, rng, batch):
        own = {name: leaves for name, leaves in params.items() if name != "other"}
        return error(own, state, rng, batch)

    def init(rng, x):
        params, state = pair.init(rng, x)
        return {**params, "other": {"w": jnp.ones(())}}, state

    first = next(batches())["inputs"]
    train_state = hs.init_train_state(init, optimizer, jax.random.key(0), first)
    found, _ = train(runner(make(loss_fn, optimizer)), train_state, batches())
    params, averages, count = expected(batches())
    own = found.params["linear_regression"]
    # five steps on normalized rows
    np.testing.assert_allclose(
        np.r_[own["w"], own["b"]], params, rtol=CANCELLED, atol=MANY_ROUNDINGS
    )
    for index, part in enumerate(("mean", "var")):
        ema = found.state[f"linear_regression/batch_norm/~/{part}_ema"]
        np.testing.assert_allclose(np.squeeze(ema["average"]), averages[index], rtol=CANCELLED)
        assert ema["counter"] == count
    assert found.step == 5


@pytest.mark.parametrize("statistics", ["each", "once"])
def test_accumulate__one_bad_microbatch_skips_the_step_and_its_state(statistics):
    """One of four microbatches is not finite: nothing of the step stays."""
    optimizer, pair = optax.apply_if_finite(SGD, 5), line(True)
    update = hs.make_update(accumulate(squared_error(pair), 4, statistics=statistics), optimizer)
    run = hs.jit_update(update)
    good, bad = next(batches(bad=())), next(batches(bad=(0,)))
    before, _ = run(start(pair, optimizer, bad), good)
    after, _ = run(run.place(before), bad)
    jax.tree.map(np.testing.assert_array_equal, after[:2], before[:2])


def test_vmap_update__each_member_skips_by_itself():
    optimizer, pair = optax.apply_if_finite(SGD, 5), line(True)
    run = hs.vmap_update(hs.make_update(squared_error(pair), optimizer), 2, shared_batch=False)
    both = [list(batches(bad=())), list(batches(bad=(1, 3)))]
    members = run.place(start(pair, optimizer, both[0][0]))
    for two in zip(*both, strict=True):
        members, _ = run(members, jax.tree.map(lambda *x: np.stack(x), *two))
    for member, given in enumerate(both):
        _, averages, count = expected(given)
        ema = members.state["linear_regression/batch_norm/~/mean_ema"]
        assert ema["counter"][member] == count
        np.testing.assert_allclose(np.squeeze(ema["average"][member]), averages[0], rtol=CANCELLED)
