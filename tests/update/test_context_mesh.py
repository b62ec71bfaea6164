"""What ``jax.set_mesh`` puts in the context changes no runner: each names its devices itself."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import Mesh
from support.models import rows
from support.runners import every_runner, four, mesh, two_axes
from support.tolerances import FEW_ROUNDINGS, MANY_ROUNDINGS

import haiku_state as hs
from haiku_state import compat

pytestmark = pytest.mark.skipif(
    jax.__version_info__ < (0, 6), reason="the context has no mesh of its own for each thread"
)


def explicit():
    kinds = {"axis_types": (jax.sharding.AxisType.Explicit,)}
    return Mesh(np.array(four()), ("devices",), **kinds)


CONTEXTS = {
    "the same": mesh,
    "two axes": two_axes,
    "other devices": lambda: hs.data_mesh(jax.devices()[4:6], "data"),
    "explicit": explicit,
}


@pytest.fixture(params=CONTEXTS)
def context(request):
    """A mesh in the context of everything that a test does."""
    if request.param == "explicit" and not hasattr(jax, "set_mesh"):
        pytest.skip("explicit axes need JAX 0.7.1")
    with compat.set_mesh(CONTEXTS[request.param]()):
        yield


@every_runner
def test_runner__trains_and_evaluates_under_a_mesh(context, runner):
    def apply(params, batch):
        return batch["inputs"] @ params["linear"]["w"] - batch["targets"]

    def loss_fn(params, state, key, batch):
        return jnp.mean(jnp.square(apply(params, batch))), (state, {})

    def metrics_fn(params, state, batch):
        return {"error": jnp.square(apply(params, batch))}, state

    x, y = rows(48).values()
    data, sgd = {"inputs": x, "targets": jnp.asarray(y)}, optax.sgd(0.1)
    w = np.zeros(3)
    for part in (slice(0, 16), slice(16, 32), slice(32, 48)):
        w -= 0.1 * 2 / 16 * x[part].T.astype(np.float64) @ (x[part] @ w - y[part])

    train_state = hs.init_train_state(
        lambda rng, x: ({"linear": {"w": jnp.zeros(3)}}, {}), sgd, jax.random.key(0), x
    )
    run, evaluate = (
        runner(step) for step in (hs.make_update(loss_fn, sgd), hs.make_evaluate(metrics_fn))
    )
    placed = run.place(train_state)
    for batch in run.feed_all(hs.batches(data, 16)):
        placed, _metrics = run(placed, batch)
    found = hs.mean_metrics(evaluate(placed, b) for b in evaluate.feed_all(hs.batches(data, 16)))
    np.testing.assert_allclose(run.one(placed).params["linear"]["w"], w, atol=FEW_ROUNDINGS)
    assert found["error"] == pytest.approx(np.mean((x @ w - y) ** 2), rel=MANY_ROUNDINGS)


def test_replicate__copies_are_compared_averaged_and_read_under_a_mesh(context):
    tree = {"mean": jnp.arange(3.0), "key": jax.random.key(0)}
    copies = hs.replicate({"mean": np.arange(3.0, dtype=np.float32)}, four())
    hs.assert_replicas_equal(copies)
    hs.assert_replicas_equal(hs.replicate({"key": jax.random.key(0)}, four()))
    rows = {"x": jax.device_put(np.ones((8, 3), np.float32), jax.devices()[7])}
    assert hs.split_batch(rows, 4)["x"].shape == (4, 2, 3)
    np.testing.assert_array_equal(hs.unreplicate(hs.sync_state(copies))["mean"], np.arange(3))
    on_mesh = hs.shard_train_state(tree, mesh())
    hs.assert_replicas_equal(on_mesh)
    assert on_mesh["mean"].sharding.mesh == mesh()


def test_shard_update__a_loss_function_may_name_axes_alone():
    """With the runner's own mesh in the context, as JAX's documentation begins."""

    def step(total, batch, *, axis_name=None):
        rows = jax.lax.with_sharding_constraint(batch, jax.sharding.PartitionSpec("devices"))
        return total + jnp.sum(rows), {}

    with compat.set_mesh(mesh()):
        run = hs.shard_update(step, mesh())
        total, _ = run(run.place(jnp.float32(1)), run.feed(np.ones(8, np.float32)))
        assert run.one(total).item() == 9


@every_runner
def test_runner__lowers_a_step_under_a_mesh(context, runner):
    def step(total, batch, *, axis_name=None):
        return total + jnp.float32(1), {"sum": jnp.sum(batch) * 2}

    run = runner(step)
    total, batch = run.place(jnp.float32(0)), run.feed(np.ones(8, np.float32))
    assert run.lower(total, batch).compile().memory_analysis() is not None
