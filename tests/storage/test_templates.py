"""What a checkpoint is restored into: shapes, a part of a train state, members of an ensemble."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from support.runners import four, mesh

import haiku_state as hs
from haiku_state.errors import ArgumentError, DeviceStackedError, SavedMismatchError
from haiku_state.storage import restore_checkpoint, save_checkpoint

pytest.importorskip("orbax.checkpoint")
pytestmark = pytest.mark.usefixtures("standard_promotion")
PAIR = hs.pure_pair(hs.Classifier, [3], 2)
X = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)


def start(key, optimizer=optax.adam(0.1)):  # noqa: B008
    return hs.init_train_state(PAIR.init, optimizer, key, X, True)


def same(tree, other):
    """Bit for bit, also in random keys."""
    assert jax.tree.structure(tree) == jax.tree.structure(other)

    def bits(leaf):
        is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        return np.asarray(jax.random.key_data(leaf) if is_key else leaf)

    for leaf, wanted in zip(jax.tree.leaves(tree), jax.tree.leaves(other), strict=True):
        assert leaf.dtype == wanted.dtype
        np.testing.assert_array_equal(bits(leaf), bits(wanted))


@pytest.fixture
def saved(tmp_path):
    train_state = start(jax.random.key(3))
    save_checkpoint(tmp_path, train_state, {"epoch": 1})
    return tmp_path, train_state


def test_shapes_are_enough(saved):
    directory, train_state = saved
    shapes = jax.eval_shape(start, jax.random.key(0))
    restored = restore_checkpoint(directory, shapes)
    same(restored.train_state, train_state)
    assert restored.position == {"epoch": 1}
    run = hs.jit_update(lambda train_state, batch, *, axis_name=None: (train_state, {}))
    run(restored.train_state, X)  # it can be consumed


def test_a_shape_says_where_its_leaf_lies(saved):
    directory, train_state = saved
    rows = NamedSharding(mesh(), P("devices"))

    def placed(path, leaf):
        spec = P("devices") if path[-1:] == (jax.tree_util.DictKey("w"),) else P()
        divides = leaf.shape[:1] and leaf.shape[0] % 4 == 0
        place = NamedSharding(mesh(), spec if divides else P())
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=place)

    tree = train_state._replace(params={"m": {"w": jnp.arange(8.0)}}, step=jnp.int32(1))
    save_checkpoint(directory, tree)
    shapes = jax.tree_util.tree_map_with_path(placed, jax.eval_shape(lambda: tree))
    found = restore_checkpoint(directory, shapes).train_state
    same(found, tree)
    assert found.params["m"]["w"].sharding == rows
    assert found.rng.sharding.is_fully_replicated
    assert len(found.rng.sharding.device_set) == 4


@pytest.mark.parametrize("like", [start, jax.eval_shape], ids=["arrays", "shapes"])
def test_a_checkpoint_is_read_without_its_optimizer(saved, like):
    directory, train_state = saved
    other = start(jax.random.key(0), optax.sgd(0.1))
    other = jax.eval_shape(lambda: other) if like is jax.eval_shape else other
    found = restore_checkpoint(directory, other._replace(opt_state=..., rng=...)).train_state
    same(found[:2], train_state[:2])
    assert found.step == 0
    assert found.opt_state is found.rng is None


def test_what_is_left_out_is_nothing_else(saved):
    directory, _ = saved
    like = start(jax.random.key(0))
    with pytest.raises(SavedMismatchError) as caught:
        restore_checkpoint(directory, like._replace(opt_state=..., state={}))
    assert "+ train_state.state" in caught.value.what
    assert "opt_state" not in caught.value.what
    with pytest.raises(SavedMismatchError, match="opt_state"):
        restore_checkpoint(directory, like._replace(opt_state=None))


def test_an_ensemble_is_saved_whole(tmp_path):
    ensemble = jax.vmap(start)(jax.random.split(jax.random.key(0), 3))
    ensemble = ensemble._replace(step=jnp.full(3, 7, jnp.int32))
    assert save_checkpoint(tmp_path, ensemble).name == "7"
    same(restore_checkpoint(tmp_path, jax.tree.map(jnp.zeros_like, ensemble)).train_state, ensemble)
    same(restore_checkpoint(tmp_path, jax.eval_shape(lambda: ensemble)).train_state, ensemble)


def test_the_step_of_an_ensemble_may_be_one_of_numpy(tmp_path):
    ensemble = jax.vmap(start)(jax.random.split(jax.random.key(0), 3))
    assert save_checkpoint(tmp_path, ensemble._replace(step=np.full(3, 7, np.int32))).name == "7"


def test_members_of_different_steps_have_no_step_to_be_named_by(tmp_path):
    ensemble = jax.vmap(start)(jax.random.split(jax.random.key(0), 3))
    with pytest.raises(ArgumentError, match=r"train_state\.step"):
        save_checkpoint(tmp_path, ensemble._replace(step=jnp.arange(3)))


def test_copies_of_all_devices_are_no_ensemble(tmp_path):
    with pytest.raises(DeviceStackedError):
        save_checkpoint(tmp_path, hs.replicate(start(jax.random.key(0)), four()))


def test_shapes_hold_no_numbers_to_save(tmp_path):
    with pytest.raises(ArgumentError, match="must be a"):
        save_checkpoint(tmp_path, jax.eval_shape(start, jax.random.key(0)))
    assert not list(tmp_path.iterdir())
