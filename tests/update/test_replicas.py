import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from support.digits import SGD, start
from support.runners import columns, four, mesh, two_axes
from support.tolerances import FEW_ROUNDINGS

import haiku_state as hs
from haiku_state.errors import (
    ArgumentError,
    BatchDivisionError,
    DeviceCountError,
    DonatedBufferError,
    LeadingAxisError,
    ReplicaMismatchError,
)


@pytest.fixture(scope="module")
def tree():
    return {"w": jnp.arange(6.0).reshape(2, 3), "n": jnp.int32(7), "key": jax.random.key(3)}


def as_numbers(tree):
    return {**tree, "key": jax.random.key_data(tree["key"])}


def test_replicate__each_device_holds_one_copy(tree):
    replicas = hs.replicate(tree, four())
    for name, leaf in replicas.items():
        assert leaf.shape == (4, *tree[name].shape)
        assert leaf.dtype == tree[name].dtype
        assert leaf.sharding.device_set == set(four())
    for device, shard in zip(four(), replicas["w"].addressable_shards, strict=True):
        assert shard.device == device
        np.testing.assert_array_equal(np.reshape(shard.data, (2, 3)), tree["w"])


@pytest.mark.parametrize("device", [0, 2, 7])
def test_replicate__takes_what_is_committed_to_a_device(tree, device):
    committed = jax.device_put(tree, jax.devices()[device])
    again = hs.replicate(hs.unreplicate(hs.replicate(committed, four())), four())
    for leaf in jax.tree.leaves(again):
        assert leaf.sharding.device_set == set(four())
    for place in range(4):
        copy = jax.tree.map(lambda leaf, place=place: leaf[place], again)
        jax.tree.map(np.testing.assert_array_equal, as_numbers(copy), as_numbers(tree))


def test_replicate__refuses_a_consumed_tree_and_so_does_shard_train_state():
    tree = {"w": jnp.ones(3), "b": jnp.ones(2)}
    tree["w"].delete()  # as an update does that has consumed it
    for place in (hs.replicate, lambda tree: hs.shard_train_state(tree, mesh())):
        with pytest.raises(
            DonatedBufferError, match=r"^train_state\['w'\] was passed to an earlier"
        ):
            place(tree)


def test_replicate__takes_all_devices_by_default(tree):
    assert hs.replicate(tree)["n"].tolist() == [7] * 8


def test_unreplicate__undoes_replicate_on_one_device(tree):
    one = hs.unreplicate(hs.replicate(tree, four()))
    jax.tree.map(np.testing.assert_array_equal, as_numbers(one), as_numbers(tree))
    assert all(len(leaf.sharding.device_set) == 1 for leaf in jax.tree.leaves(one))


def test_unreplicate__a_key_can_be_looked_at_between_two_updates():
    draw = jax.pmap(lambda key: jax.random.split(key)[0], devices=four())
    keys = hs.replicate(jax.random.key(3), four())
    for _ in range(3):
        one = jax.random.key_data(hs.unreplicate(keys))
        np.testing.assert_array_equal(one, jax.random.key_data(keys)[0])
        keys = draw(keys)


def test_replicate__takes_python_numbers_and_numpy_arrays():
    replicas = hs.replicate({"n": 3, "x": np.ones(2, np.float32)}, four())
    assert replicas["n"].tolist() == [3] * 4
    assert replicas["x"].shape == (4, 2)


def test_split_batch__gives_the_rows_out_in_order():
    batch = {"x": np.arange(24).reshape(12, 2), "y": jnp.arange(12)}
    parts = hs.split_batch(batch, 4)
    assert jax.tree.map(np.shape, parts) == {"x": (4, 3, 2), "y": (4, 3)}
    np.testing.assert_array_equal(parts["x"].reshape(12, 2), batch["x"])
    assert parts["y"].tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]


@pytest.mark.parametrize("rows", [6, 3, 9])
def test_split_batch__refuses_rows_that_the_devices_do_not_divide(rows):
    with pytest.raises(BatchDivisionError) as caught:
        hs.split_batch({"x": np.zeros((rows, 2))}, 4)
    assert caught.value.what == (
        f"a batch of {rows} rows cannot be divided equally among 4 devices."
    )


def test_assert_replicas_equal__passes_equal_replicas(tree):
    hs.assert_replicas_equal(hs.replicate(tree, four()))
    hs.assert_replicas_equal({"x": jnp.array([1.0, 1.5, 1.25])}, atol=0.5)
    hs.assert_replicas_equal({})


def test_assert_replicas_equal__compares_copies_on_two_axes_part_by_part():
    train_state = hs.shard_train_state(start(SGD), two_axes(), columns)
    hs.assert_replicas_equal(train_state)
    parts = [jax.device_put(np.float32([i // 2, i % 2]), device) for i, device in enumerate(four())]
    sharding = NamedSharding(two_axes(), P("model"))
    broken = jax.make_array_from_single_device_arrays((4,), sharding, parts)
    with pytest.raises(ReplicaMismatchError, match=r"\['x'\] by 1\n"):
        hs.assert_replicas_equal({"x": broken})


def test_assert_replicas_equal__compares_parts_of_the_second_axis_each_with_its_own():
    place = NamedSharding(two_axes(), P("devices", "model"))
    rows = np.array([[1.0, 2.0, 3.0, 4.0]] * 2, np.float32)
    hs.assert_replicas_equal({"w": jax.device_put(rows, place)})
    rows[1, 3] = 7
    with pytest.raises(ReplicaMismatchError, match=r"\['w'\] by 3"):
        hs.assert_replicas_equal({"w": jax.device_put(rows, place)})


def test_assert_replicas_equal__names_each_leaf_that_drifted_with_how_far():
    tree = {
        "bn": {"mean": jnp.array([[0.0, 1.0], [0.0, 3.5]]), "counter": jnp.array([4, 4])},
        "count": jnp.array([5, 3], jnp.uint32),
    }
    with pytest.raises(ReplicaMismatchError) as caught:
        hs.assert_replicas_equal(tree)
    assert caught.value.what == (
        "the replicas differ:\n    ['bn']['mean'] by 2.5\n    ['count'] by 2"
    )
    with pytest.raises(ReplicaMismatchError, match=r"by 2\.5") as caught:
        hs.assert_replicas_equal(tree, atol=2)
    assert "['count']" not in str(caught.value)


def test_pmap_update__names_params_that_drift():
    def update(train_state, batch, axis_name):
        w = train_state.params["w"]
        grad = jax.grad(lambda w: ((w - batch["x"]) ** 2).mean())(w)
        return train_state._replace(params={"w": w - 0.5 * grad}), {}

    fresh = hs.TrainState({"w": jnp.float32(0)}, {}, (), jax.random.key(0), jnp.int32(0))
    batch = hs.split_batch({"x": jnp.array([1.0, 2.0])}, 2)
    with pytest.raises(ReplicaMismatchError) as caught:
        hs.pmap_update(update, four()[:2], "i")(hs.replicate(fresh, four()[:2], "i"), batch)
    assert caught.value.what == "the replicas differ:\n    params['w'] by 1"


OFF = {
    "float": lambda: jnp.array([1.0, 1.0, 1.0 + FEW_ROUNDINGS]),
    "bfloat16": lambda: jnp.array([1.0, 1.0, 1.5], jnp.bfloat16),
    "int": lambda: jnp.array([1, 1, 2]),
    "bool": lambda: jnp.array([True, True, False]),
    "key": lambda: jnp.stack([jax.random.key(0), jax.random.key(0), jax.random.key(1)]),
    "nan": lambda: jnp.array([1.0, 1.0, jnp.nan]),
    "last row of many": lambda: jnp.zeros((3, 2, 2)).at[2, 1, 1].set(1),
}


@pytest.mark.parametrize("make", OFF.values(), ids=OFF)
def test_assert_replicas_equal__every_dtype_can_drift(make):
    leaf = make()
    with jax.debug_key_reuse(False):
        hs.assert_replicas_equal({"x": leaf[:2]})
    with pytest.raises(ReplicaMismatchError, match=r"differ:\n    \['x'\] by "):
        hs.assert_replicas_equal({"x": leaf})


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_assert_replicas_equal__the_same_nan_or_infinity_is_equal(value):
    same = jnp.array([[1.0, value]] * 3)
    hs.assert_replicas_equal({"x": same})
    with pytest.raises(ReplicaMismatchError):
        hs.assert_replicas_equal({"x": same.at[1, 1].set(0.0)})


def test_sync_state__takes_the_mean_and_keeps_counts_dtypes_and_placement():
    values = np.random.default_rng(0).normal(2, 3, (4, 5)).astype(np.float32)
    sharding = hs.replicate(jnp.zeros(5), four()).sharding
    state = {
        "mean": jax.device_put(values, sharding),
        "half": jnp.array([1.0, 2.0, 3.0, 6.0], jnp.bfloat16),
        "counter": hs.replicate(jnp.int32(3), four()),
    }
    synced = hs.sync_state(state)
    hs.assert_replicas_equal(synced)
    np.testing.assert_allclose(synced["mean"][0], np.float64(values).mean(0), rtol=FEW_ROUNDINGS)
    assert synced["half"].tolist() == [3] * 4
    assert synced["counter"].tolist() == [3] * 4
    for name in state:
        assert synced[name].dtype == state[name].dtype
        assert synced[name].sharding == state[name].sharding


def test_sync_state__refuses_counts_that_differ():
    state = {"bn": {"mean": jnp.array([1.0, 3.0]), "counter": jnp.array([4, 5])}}
    with pytest.raises(ReplicaMismatchError) as caught:
        hs.sync_state(state)
    assert caught.value.what == "the replicas differ:\n    ['bn']['counter'] by 1"


def test_use_devices__gives_the_first_ones():
    assert hs.use_devices(3) == jax.devices()[:3]


@pytest.mark.parametrize(("count", "threads"), [(1, None), (2, 8), (3, 12)])
def test_use_devices__only_several_ask_for_more_threads_than_cores(count, threads, monkeypatch):
    """Which take up to 15 % of the speed of one device."""
    monkeypatch.setenv("NPROC", "")
    monkeypatch.delenv("NPROC")  # what is set afterwards is undone
    hs.use_devices(count)
    asked = threads and str(max(threads, os.cpu_count()))
    assert os.environ.get("NPROC") == asked


@pytest.mark.parametrize("count", [9, 1024])
@pytest.mark.parametrize("flags", ["", None])
def test_use_devices__leaves_the_environment_as_it_was_if_it_fails(count, flags, monkeypatch):
    monkeypatch.delenv("NPROC", raising=False)
    monkeypatch.setenv("XLA_FLAGS", "")
    if flags is None:
        monkeypatch.delenv("XLA_FLAGS")
    before = dict(os.environ)
    with pytest.raises(DeviceCountError):
        hs.use_devices(count)
    assert dict(os.environ) == before


@pytest.mark.parametrize("count", [0, -1, 1025, 10_000])
def test_use_devices__refuses_what_no_machine_can_hold(count, monkeypatch):
    monkeypatch.delenv("NPROC", raising=False)
    before = dict(os.environ)
    with pytest.raises(ArgumentError) as caught:
        hs.use_devices(count)
    assert caught.value.what == f"count is {count}, but it must be 1–1024."
    assert dict(os.environ) == before


FRESH = """
import os
import jax
import haiku_state as hs

devices = hs.use_devices(4)
print(len(devices), os.environ["XLA_FLAGS"], int(os.environ["NPROC"]) >= 16)
mean = lambda leaf: jax.lax.pmean(leaf, "i")
step = jax.pmap(lambda tree: jax.tree.map(mean, tree), axis_name="i", devices=devices)
tree = {str(k): jax.numpy.ones((4, 64)) for k in range(20)}
for _ in range(1000):
    tree = step(tree)
print(tree["0"][0, 0])
try:
    hs.use_devices(9)
except hs.errors.DeviceCountError as error:
    print(error)
"""


def test_use_devices__works_in_a_fresh_process(user):
    """Steps that are started ahead do not wait for ever, and later there are no more devices."""
    flags = "--xla_cpu_enable_fast_math=false"
    ran = user.python("-c", FRESH, env={"XLA_FLAGS": flags})
    assert ran.stdout == (
        f"4 {flags} --xla_force_host_platform_device_count=4 True\n"
        "1.0\n"
        "9 devices were requested, but JAX has started with 4.\n"
        "  why:   the number of CPU devices is fixed when JAX starts, by XLA_FLAGS, "
        "jax_num_cpu_devices or use_devices: request enough devices there, before the first "
        "computation\n"
        "  more:  python -m haiku_state read update/devices\n"
    ), ran.stderr[-2000:]


@pytest.mark.parametrize(
    "tree", [{"a": np.ones((4, 2)), "b": np.ones((3, 2))}, {"a": np.ones(4), "b": np.float32(1)}]
)
def test_unreplicate__refuses_leaves_without_one_leading_axis(tree):
    with pytest.raises(LeadingAxisError):
        hs.unreplicate(tree)
