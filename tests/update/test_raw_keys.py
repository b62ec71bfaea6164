"""Keys of ``jax.random.PRNGKey``, which Haiku's users pass: what is drawn, against JAX by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support.runners import RUNNERS, four

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


KEYS = {"raw": jax.random.PRNGKey, "typed": jax.random.key}


def init(rng, *inputs):
    return {"m": {"w": jax.random.normal(rng, (2,))}}, {"m": {"n": jnp.zeros(())}}


def loss_fn(params, state, rng, batch):
    drawn = jax.random.normal(rng, ())
    return jnp.sum(params["m"]["w"]) * 0 + drawn, (state, {"drawn": drawn})


@pytest.mark.parametrize("key", KEYS)
def test_init_splits_the_key_once(key):
    train_state = hs.init_train_state(init, optax.sgd(0.1), KEYS[key](7))
    rng, init_rng = jax.random.split(KEYS[key](7))
    np.testing.assert_array_equal(train_state.params["m"]["w"], jax.random.normal(init_rng, (2,)))
    np.testing.assert_array_equal(
        jax.random.uniform(train_state.rng, (3,)), jax.random.uniform(rng, (3,))
    )
    assert train_state.rng.dtype == rng.dtype


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("name", ["jit", "scan", "vmap", "pmap", "shard", "shard_map"])
def test_each_step_and_each_device_draws_its_own_number(name, key):
    run = RUNNERS[name](hs.make_update(loss_fn, optax.sgd(0.1)))
    train_state = hs.init_train_state(init, optax.sgd(0.1), KEYS[key](7))
    first = train_state.rng
    rng = jax.random.split(first, 2)[0] if name == "vmap" else first
    placed, batch, found, expected = run.place(train_state), run.feed({"x": np.ones(8)}), [], []
    for _ in range(3):
        placed, metrics = run(placed, batch)
        found.append(float(np.ravel(metrics["drawn"])[0]))
        rng, step_rng = jax.random.split(rng)
        own = [jax.random.fold_in(step_rng, device) for device in range(4)]
        own = own if name in ("pmap", "shard_map") else [step_rng]
        expected.append(np.mean([jax.random.normal(k, ()) for k in own]))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert len(set(found)) == 3
    np.testing.assert_array_equal(
        jax.random.uniform(run.one(placed).rng, (3,)), jax.random.uniform(rng, (3,))
    )


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("name", ["jit", "scan", "pmap", "shard", "shard_map"])
def test_noise_is_that_of_the_optimizer_alone_and_the_same_on_all_devices(name, key):
    if name == "shard_map" and (0, 6) <= jax.__version_info__ < (0, 8):
        pytest.skip("this JAX draws no random number of a given sharding there, as Optax asks for")
    noisy = optax.chain(optax.add_noise(0.1, 0.5, 3), optax.sgd(1.0))
    run = RUNNERS[name](hs.make_update(loss_fn, noisy))
    train_state = hs.init_train_state(init, noisy, KEYS[key](7))
    params, opt_state = train_state.params, train_state.opt_state
    placed, batch = run.place(train_state), run.feed({"x": np.ones(8)})
    for _ in range(3):
        placed, _ = run(placed, batch)
        zeros = jax.tree.map(jnp.zeros_like, params)
        updates, opt_state = noisy.update(zeros, opt_state, params)
        params = optax.apply_updates(params, updates)
    one = run.one(placed)
    np.testing.assert_allclose(one.params["m"]["w"], params["m"]["w"], rtol=1e-6)
    if name == "pmap":
        assert len(np.unique(np.asarray(placed.params["m"]["w"]), axis=0)) == 1


@pytest.mark.parametrize("key", KEYS)
def test_a_key_comes_back_from_replicas_and_shards(key):
    drawn = jax.random.uniform(KEYS[key](5), (3,))
    given = {"rng": KEYS[key](5)}
    placed = hs.unreplicate(hs.replicate(given, four()))
    np.testing.assert_array_equal(jax.random.uniform(placed["rng"], (3,)), drawn)
    placed = hs.shard_train_state(given, hs.data_mesh(four()))
    np.testing.assert_array_equal(jax.random.uniform(placed["rng"], (3,)), drawn)


def test_a_checkpoint_keeps_a_raw_key(tmp_path):
    pytest.importorskip("orbax.checkpoint")
    sgd = optax.sgd(0.1)
    train_state = hs.init_train_state(init, sgd, jax.random.PRNGKey(7))
    hs.storage.save_checkpoint(tmp_path, train_state, None)
    fresh = hs.init_train_state(init, sgd, jax.random.PRNGKey(0))
    restored = hs.storage.restore_checkpoint(tmp_path, fresh).train_state
    assert restored.rng.dtype == np.uint32
    np.testing.assert_array_equal(restored.rng, train_state.rng)
    run = hs.jit_update(hs.make_update(loss_fn, sgd))
    _, metrics = run(run.place(restored), {"x": np.ones(8)})
    step_rng = jax.random.split(jax.random.split(jax.random.PRNGKey(7))[0])[1]
    np.testing.assert_allclose(metrics["drawn"], jax.random.normal(step_rng, ()), rtol=1e-6)


def test_a_pair_of_counts_is_no_key_where_its_module_is_called_one():
    counts = {"keypoints": {"seen": jnp.array([3, 5], jnp.uint32)}}
    train_state = hs.TrainState({}, counts, (), jax.random.PRNGKey(0), jnp.int32(0))
    placed = hs.vmap_update(lambda train_state, batch: (train_state, {}), 3).place(train_state)
    np.testing.assert_array_equal(placed.state["keypoints"]["seen"], [[3, 5]] * 3)
    assert len({tuple(key) for key in np.asarray(placed.rng)}) == 3
