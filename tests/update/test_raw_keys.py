"""Keys of ``jax.random.PRNGKey``, which Haiku's users pass: what is drawn, against JAX by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support.runners import RUNNERS, each, four, mesh
from support.tolerances import FEW_ROUNDINGS
from support.trees import assert_close

import haiku_state as hs


@pytest.fixture(autouse=True)
def raw_keys():
    with (
        jax.legacy_prng_key("allow"),
        jax.numpy_dtype_promotion("standard"),
        jax.numpy_rank_promotion("allow"),
        jax.debug_key_reuse(False),  # the tests draw what the steps draw
    ):
        yield


each_key = pytest.mark.parametrize(
    "key", [jax.random.PRNGKey, jax.random.key], ids=["raw", "typed"]
)
ROWS = {"x": np.ones(8)}


def init(rng, *inputs):
    return {"m": {"w": jax.random.normal(rng, (2,))}}, {"m": {"n": jnp.zeros(())}}


def loss_fn(params, state, rng, batch):
    drawn = jax.random.normal(rng, ())
    return jnp.sum(params["m"]["w"]) * 0 + drawn, (state, {"drawn": drawn})


def assert_draws_alike(one, other):
    np.testing.assert_array_equal(jax.random.uniform(one, (3,)), jax.random.uniform(other, (3,)))


@each_key
def test_init_train_state__splits_the_key_once(key):
    train_state = hs.init_train_state(init, optax.sgd(0.1), key(7))
    rng, init_rng = jax.random.split(key(7))
    np.testing.assert_array_equal(train_state.params["m"]["w"], jax.random.normal(init_rng, (2,)))
    assert_draws_alike(train_state.rng, rng)
    assert train_state.rng.dtype == rng.dtype


@each_key
@each("jit_update", "scan_update", "vmap_update", "pmap_update", "shard_update", "shard_map_update")
def test_runner__each_step_and_each_device_draws_its_own_number(runner, key):
    run = runner(hs.make_update(loss_fn, optax.sgd(0.1)))
    train_state = hs.init_train_state(init, optax.sgd(0.1), key(7))
    first = train_state.rng
    rng = jax.random.split(first, 2)[0] if runner is RUNNERS["vmap_update"] else first
    placed, batch, found, expected = run.place(train_state), run.feed(ROWS), [], []
    for _ in range(3):
        placed, metrics = run(placed, batch)
        found.append(float(np.ravel(metrics["drawn"])[0]))
        rng, step_rng = jax.random.split(rng)
        own = [jax.random.fold_in(step_rng, device) for device in range(4)]
        own = own if run.axis_name else [step_rng]
        expected.append(np.mean([jax.random.normal(k, ()) for k in own]))
    np.testing.assert_allclose(found, expected, rtol=FEW_ROUNDINGS)
    assert len(set(found)) == 3
    assert_draws_alike(run.one(placed).rng, rng)


@each_key
@each("jit_update", "scan_update", "pmap_update", "shard_update", "shard_map_update")
def test_runner__noise_of_the_optimizer_is_the_same_on_all_devices(runner, key):
    if runner is RUNNERS["shard_map_update"] and (0, 6) <= jax.__version_info__ < (0, 8):
        pytest.skip("this JAX draws no random number of a given sharding there, as Optax asks for")
    noisy = optax.chain(optax.add_noise(0.1, 0.5, 3), optax.sgd(1.0))
    train_state = hs.init_train_state(init, noisy, key(7))
    params, opt_state = train_state.params, train_state.opt_state
    run = runner(hs.make_update(loss_fn, noisy))
    placed = run.place(train_state)
    for _ in range(3):
        placed, _ = run(placed, run.feed(ROWS))
        zeros = jax.tree.map(jnp.zeros_like, params)
        updates, opt_state = noisy.update(zeros, opt_state, params)
        params = optax.apply_updates(params, updates)
    assert_close(run.one(placed).params, params)
    if runner is RUNNERS["pmap_update"]:
        hs.assert_replicas_equal(placed.params)


@each_key
def test_unreplicate__gives_back_a_key_and_so_does_shard_train_state(key):
    given = {"rng": key(5)}
    assert_draws_alike(hs.unreplicate(hs.replicate(given, four()))["rng"], key(5))
    assert_draws_alike(hs.shard_train_state(given, mesh())["rng"], key(5))


def test_restore_checkpoint__keeps_a_raw_key(tmp_path):
    pytest.importorskip("orbax.checkpoint")
    sgd = optax.sgd(0.1)
    train_state = hs.init_train_state(init, sgd, jax.random.PRNGKey(7))
    hs.storage.save_checkpoint(tmp_path, train_state, None)
    fresh = hs.init_train_state(init, sgd, jax.random.PRNGKey(0))
    restored = hs.storage.restore_checkpoint(tmp_path, fresh).train_state
    assert restored.rng.dtype == np.uint32
    np.testing.assert_array_equal(restored.rng, train_state.rng)
    run = hs.jit_update(hs.make_update(loss_fn, sgd))
    _, metrics = run(run.place(restored), ROWS)
    step_rng = jax.random.split(jax.random.split(jax.random.PRNGKey(7))[0])[1]
    assert_close(metrics["drawn"], jax.random.normal(step_rng, ()))


def test_vmap_update__does_not_split_a_pair_of_counts():
    counts = {"keypoints": {"seen": jnp.array([3, 5], jnp.uint32)}}
    train_state = hs.TrainState({}, counts, (), jax.random.PRNGKey(0), jnp.int32(0))
    placed = hs.vmap_update(lambda train_state, batch: (train_state, {}), 3).place(train_state)
    np.testing.assert_array_equal(placed.state["keypoints"]["seen"], [[3, 5]] * 3)
    assert len({tuple(key) for key in np.asarray(placed.rng)}) == 3
