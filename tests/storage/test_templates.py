"""What a checkpoint is restored into: shapes, a part of a train state, members of an ensemble."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from support.runners import mesh
from support.trees import assert_same_bits

import haiku_state as hs
from haiku_state.errors import ArgumentError, SavedMismatchError
from haiku_state.storage import restore_checkpoint, save_checkpoint

pytest.importorskip("orbax.checkpoint")
pytestmark = pytest.mark.usefixtures("standard_promotion")
PAIR = hs.pure_pair(hs.Classifier, [3], 2)
X = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)


def start(key, optimizer=optax.adam(0.1)):  # noqa: B008
    return hs.init_train_state(PAIR.init, optimizer, key, X, True)


def ensemble_of(step):
    return jax.vmap(start)(jax.random.split(jax.random.key(0), 3))._replace(step=step)


@pytest.fixture
def saved(tmp_path):
    train_state = start(jax.random.key(3))
    save_checkpoint(tmp_path, train_state, {"epoch": 1})
    return tmp_path, train_state


def test_restore_checkpoint__shapes_are_enough(saved):
    directory, train_state = saved
    shapes = jax.eval_shape(start, jax.random.key(0))
    restored = restore_checkpoint(directory, shapes)
    assert_same_bits(restored.train_state, train_state)
    assert restored.position == {"epoch": 1}
    run = hs.jit_update(lambda train_state, batch, *, axis_name=None: (train_state, {}))
    run(restored.train_state, X)  # it can be consumed


def test_restore_checkpoint__a_shape_says_where_its_leaf_lies(saved):
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
    assert_same_bits(found, tree)
    assert found.params["m"]["w"].sharding == rows
    assert found.rng.sharding.is_fully_replicated
    assert len(found.rng.sharding.device_set) == 4


@pytest.mark.parametrize("like", [start, jax.eval_shape], ids=["arrays", "shapes"])
def test_restore_checkpoint__reads_without_the_optimizer(saved, like):
    directory, train_state = saved
    other = start(jax.random.key(0), optax.sgd(0.1))
    other = jax.eval_shape(lambda: other) if like is jax.eval_shape else other
    found = restore_checkpoint(directory, other._replace(opt_state=..., rng=...)).train_state
    assert_same_bits(found[:2], train_state[:2])
    assert found.step == 0
    assert found.opt_state is found.rng is None


def test_restore_checkpoint__leaves_out_nothing_else(saved):
    directory, _ = saved
    like = start(jax.random.key(0))
    with pytest.raises(SavedMismatchError) as caught:
        restore_checkpoint(directory, like._replace(opt_state=..., state={}))
    assert "+ train_state.state" in caught.value.what
    assert "opt_state" not in caught.value.what
    with pytest.raises(SavedMismatchError, match="opt_state"):
        restore_checkpoint(directory, like._replace(opt_state=None))


def test_save_checkpoint__an_ensemble_is_saved_whole(tmp_path):
    ensemble = ensemble_of(jnp.full(3, 7, jnp.int32))
    assert save_checkpoint(tmp_path, ensemble).name == "7"
    for like in (jax.tree.map(jnp.zeros_like, ensemble), jax.eval_shape(lambda: ensemble)):
        assert_same_bits(restore_checkpoint(tmp_path, like).train_state, ensemble)


def test_save_checkpoint__the_step_of_an_ensemble_may_be_one_of_numpy(tmp_path):
    assert save_checkpoint(tmp_path, ensemble_of(np.full(3, 7, np.int32))).name == "7"


def test_save_checkpoint__names_members_of_different_steps(tmp_path):
    with pytest.raises(ArgumentError, match=r"train_state\.step"):
        save_checkpoint(tmp_path, ensemble_of(jnp.arange(3)))


def test_save_checkpoint__shapes_hold_no_numbers_to_save(tmp_path):
    with pytest.raises(ArgumentError, match="must be a"):
        save_checkpoint(tmp_path, jax.eval_shape(start, jax.random.key(0)))
    assert not list(tmp_path.iterdir())
