import asyncio
import hashlib
import json
import math
import os
import shutil
import sys
import warnings
from typing import Any, NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from etils import epath
from hypothesis import given, settings
from hypothesis import strategies as st

import haiku_state as hs
from haiku_state.checkpoint import restore_checkpoint, save_checkpoint, storage
from haiku_state.checkpoint.saving import _check_position
from haiku_state.errors import DeviceStackedError, DonatedBufferError, MissingExtraError
from haiku_state.errors.checkpoints import (
    BrokenCheckpointsError,
    CheckpointDirectoryError,
    CheckpointExistsError,
    CheckpointKeepError,
    CheckpointLeafError,
    CheckpointMismatchError,
    CheckpointPositionError,
    CheckpointStepError,
    SkippedCheckpointWarning,
)

MESH = jax.sharding.Mesh(np.array(jax.devices()), ("rows",))
OVER_ROWS = jax.sharding.NamedSharding(MESH, jax.sharding.PartitionSpec("rows"))
ON_EACH = jax.sharding.NamedSharding(MESH, jax.sharding.PartitionSpec())
ON_SECOND = jax.sharding.SingleDeviceSharding(jax.devices()[1])


def train_state_of(step=0, value=1.0):
    """A small train state whose leaves depend on the value, and their kinds do not."""
    return hs.TrainState(
        {"linear": {"w": jnp.full((2, 3), value), "b": jnp.full(3, value, jnp.bfloat16)}},
        {"counter": {"count": jnp.full((), int(value), jnp.int32), "none": jnp.zeros((0, 3))}},
        ({"mu": jnp.full(3, -value)},),
        jax.random.key(int(value)),
        jnp.full((), step, jnp.int32),
    )


def bits(tree):
    """Path, kind and bytes of each leaf; of a random key, those of its data."""
    found = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        data = np.asarray(jax.random.key_data(leaf) if is_key else leaf)
        found[jax.tree_util.keystr(path)] = (str(leaf.dtype), leaf.shape, data.tobytes())
    return found


def zeros_like(tree):
    """A fresh train state: the same kinds, other values."""

    def zero(leaf):
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            data = jnp.zeros_like(jax.random.key_data(leaf))
            return jax.random.wrap_key_data(data, impl=jax.random.key_impl(leaf))
        return jnp.zeros_like(leaf)

    return jax.tree.map(zero, tree)


def names_in(directory):
    return sorted(path.name for path in directory.iterdir())


def files_of(checkpoint):
    return sorted(path for path in checkpoint.rglob("*") if path.is_file())


def manifest_file(checkpoint):
    return checkpoint / "train_state" / "manifest.json"


def text_of(error):
    return str(error.value)


# --- what comes back


def odd_floats(dtype):
    """Both zeros, both infinities, NaN, the smallest and the largest number, and a third."""
    info = jnp.finfo(dtype)
    values = [0.0, -0.0, np.inf, -np.inf, np.nan, float(info.tiny) / 2, float(info.max), 1 / 3]
    return jnp.array(np.array(values).astype(dtype))


EVERY_KIND = {
    "float32": odd_floats(jnp.float32),
    "bfloat16": odd_floats(jnp.bfloat16),
    "float16": odd_floats(jnp.float16),
    "float8": jnp.arange(8).astype(jnp.float8_e4m3fn),
    "complex64": jnp.array([complex(-0.0, np.inf), complex(np.nan, 1)], jnp.complex64),
    "int4": jnp.array([-8, 7], jnp.int4),
    "int8": jnp.array([[-128], [127]], jnp.int8),
    "int32": jnp.array([-(2**31), 2**31 - 1], jnp.int32),
    "uint32": jnp.array([0, 2**32 - 1], jnp.uint32),
    "bool": jnp.array([True, False]),
    "scalar": jnp.array(-0.0),
    "true": jnp.array(True),
    "no rows": jnp.zeros((0, 3), jnp.bfloat16),
    "no columns": jnp.zeros((3, 0)),
    "zeros": jnp.zeros((2, 2)),
    "minus zeros": -jnp.zeros((2, 2)),
    "large": jnp.arange(2.0**16).reshape(2**8, 2**8),
    "key": jax.random.key(3),
    "keys": jax.random.split(jax.random.key(4), (2, 3)),
    "no keys": jax.random.split(jax.random.key(4), 0),
    "rbg": jax.random.key(5, impl="rbg"),
    "unsafe_rbg": jax.random.key(6, impl="unsafe_rbg"),
}


def test_every_kind_of_leaf_comes_back_bit_by_bit(tmp_path):
    train_state = hs.TrainState(EVERY_KIND, {}, (), jax.random.key(0), jnp.int32(5))
    expected = bits(train_state)
    save_checkpoint(tmp_path, train_state)
    restored = restore_checkpoint(tmp_path, zeros_like(train_state))
    assert bits(restored.train_state) == expected == bits(train_state)
    assert jax.tree.structure(restored.train_state) == jax.tree.structure(train_state)
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(restored.train_state))
    assert (restored.position, restored.skipped) == (None, ())
    draws = [jax.random.normal(tree.params["rbg"]) for tree in (restored.train_state, train_state)]
    assert draws[0] == draws[1]


ODD_NAMES = [
    "",
    " ",
    ".",
    "..",
    "a/b",
    "/",
    "%2F",
    "'",
    '"',
    "é",
    "层",
    "\0",
    "\n",
    "\ud800",
    "x" * 99,
]


def test_every_name_comes_back(tmp_path):
    params = {name: {"w": jnp.float32(i)} for i, name in enumerate(ODD_NAMES)}
    train_state = hs.TrainState(params, {}, (), jax.random.key(0), jnp.int32(0))
    save_checkpoint(tmp_path, train_state)
    restored = restore_checkpoint(tmp_path, zeros_like(train_state))
    assert bits(restored.train_state) == bits(train_state)


class Simplest(NamedTuple):
    step: Any


def test_any_pytree_with_a_step_will_do(tmp_path):
    folder = save_checkpoint(str(tmp_path / "new" / "folder"), Simplest(jnp.uint8(200)), [1])
    assert folder == tmp_path / "new" / "folder" / "200"
    restored = restore_checkpoint(folder.parent, Simplest(jnp.uint8(0)))
    assert (restored.train_state.step, restored.train_state.step.dtype) == (200, np.uint8)
    assert restored.position == [1]


def test_numpy_arrays_and_python_numbers_come_back_as_what_jax_makes_of_them(tmp_path):
    params = {"array": np.float32([1, 2]), "scalar": np.float32(3), "bool": True, "number": 0.1}
    save_checkpoint(tmp_path, hs.TrainState(params, {}, (), jax.random.key(0), 7))
    params = {
        "array": np.zeros(2, np.float32),
        "scalar": np.float32(0),
        "bool": False,
        "number": 2.0,
    }
    like = hs.TrainState(params, {}, (), jax.random.key(0), 0)
    params, *_, step = restore_checkpoint(tmp_path, like).train_state
    assert {name: leaf.dtype.name for name, leaf in params.items()} == {
        "array": "float32",
        "scalar": "float32",
        "bool": "bool",
        "number": "float32",
    }
    assert params["array"].tolist() == [1, 2]
    assert (params["scalar"], params["bool"], params["number"]) == (3, True, np.float32(0.1))
    assert (int(step), step.dtype) == (7, np.int32)
    assert {leaf.sharding for leaf in params.values()} == {jnp.zeros(()).sharding}


@pytest.mark.parametrize("sharding", [None, ON_EACH], ids=["one device", "mesh"])
def test_a_weak_type_stays_weak_and_a_strong_one_strong(tmp_path, sharding):
    params = {
        "weak": jnp.asarray(0.1),
        "rows": jnp.broadcast_to(-0.0, (3,)),
        "strong": jnp.ones(()),
    }
    assert [params[name].weak_type for name in ("weak", "rows", "strong")] == [True, True, False]
    params = jax.device_put(params, sharding)
    like = {name: jax.device_put(jnp.zeros(x.shape), sharding) for name, x in params.items()}
    train_state = hs.TrainState(params, {}, (), jax.random.key(0), jnp.int32(0))
    save_checkpoint(tmp_path, train_state)
    restored = restore_checkpoint(tmp_path, train_state._replace(params=like)).train_state
    assert bits(restored) == bits(train_state)
    for name, leaf in restored.params.items():
        assert (leaf.weak_type, leaf.sharding) == (params[name].weak_type, params[name].sharding)


class Placed(NamedTuple):
    rows: Any
    each: Any
    second: Any
    keys: Any
    free: Any
    step: Any


def placed(value):
    keys = jax.random.split(jax.random.key(int(value)), 8)
    return Placed(
        jax.device_put(jnp.arange(16.0).reshape(8, 2) * value, OVER_ROWS),
        jax.device_put(jnp.full(3, value), ON_EACH),
        jax.device_put(jnp.full(3, value), ON_SECOND),
        jax.device_put(keys, OVER_ROWS),
        jnp.full(3, value),
        jax.device_put(jnp.int32(1), ON_EACH),
    )


def test_each_leaf_comes_back_to_its_place(tmp_path):
    train_state, like = placed(3.0), placed(0.0)
    save_checkpoint(tmp_path, train_state)
    restored = restore_checkpoint(tmp_path, like).train_state
    assert bits(restored) == bits(train_state)
    for old, new in zip(like, restored, strict=True):
        assert new.sharding == old.sharding
        assert len(new.addressable_shards) == len(old.addressable_shards)
    # what lies on the default device may still move to where another argument is
    added = jax.jit(jnp.add)(restored.free, restored.each)
    np.testing.assert_array_equal(added, np.full(3, 6.0))


def test_what_comes_back_can_be_donated(tmp_path):
    save_checkpoint(tmp_path, placed(3.0))
    restored = restore_checkpoint(tmp_path, placed(0.0)).train_state._replace(keys=None)
    doubled = jax.jit(lambda tree: jax.tree.map(lambda x: x + x, tree), donate_argnums=0)
    for name in ("rows", "each", "second", "free"):
        leaf = getattr(restored, name)
        expected = 2 * np.array(leaf, copy=True)
        result = doubled(leaf)
        for shard in result.addressable_shards:
            np.testing.assert_array_equal(shard.data, expected[shard.index])


def test_saving_leaves_the_train_state_free_to_be_donated(tmp_path):
    train_state = train_state_of(1)
    expected = bits(train_state)
    save_checkpoint(tmp_path, train_state)
    assert bits(train_state) == expected
    train_state = train_state_of(2)
    save_checkpoint(tmp_path, train_state)
    jax.jit(lambda tree: tree.params["linear"]["w"] + 1, donate_argnums=0)(train_state)
    assert train_state.params["linear"]["w"].is_deleted()


POSITION = {
    "epoch": 3,
    "batch": 17,
    "losses": [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, math.nan, -0.0],
    "large": 2**200,
    "": {"é层\ud800\0": [None, True, False, [], {}, ""]},
}


def test_the_position_comes_back_exactly(tmp_path):
    save_checkpoint(tmp_path, train_state_of(), POSITION)
    assert repr(restore_checkpoint(tmp_path, train_state_of()).position) == repr(POSITION)


def test_an_empty_or_missing_directory_gives_none_and_is_not_made(tmp_path):
    assert restore_checkpoint(tmp_path, train_state_of()) is None
    assert restore_checkpoint(tmp_path / "missing", train_state_of()) is None
    assert names_in(tmp_path) == []


def test_a_relative_directory_is_that_of_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert save_checkpoint("run", train_state_of(2)) == tmp_path / "run" / "2"
    assert restore_checkpoint("run", train_state_of()).train_state.step == 2


def test_it_works_while_an_event_loop_runs_as_in_a_notebook(tmp_path):
    async def cell():
        save_checkpoint(tmp_path, train_state_of(2))
        return restore_checkpoint(tmp_path, train_state_of())

    assert bits(asyncio.run(cell()).train_state) == bits(train_state_of(2))


def test_nothing_is_printed(tmp_path, capfd):
    for step in range(3):
        save_checkpoint(tmp_path, train_state_of(step), keep=1)
        restore_checkpoint(tmp_path, train_state_of())
    assert capfd.readouterr() == ("", "")


# --- the resume is exact


def digits_like(steps, rows=32):
    rng = np.random.default_rng(0)
    for _ in range(steps):
        inputs = rng.integers(0, 17, (rows, 64)).astype(np.float32) / np.float32(16)
        yield {"inputs": inputs, "targets": rng.integers(0, 10, rows).astype(np.int32)}


def training():
    """A new pair, optimizer and update, as a new process makes them."""
    pair = hk.transform_with_state(lambda x: hs.Classifier([16], 10)(x, is_training=True))
    optimizer = optax.adam(1e-2)

    def loss_fn(params, state, rng, batch):
        noise = jnp.float32(0.01) * jax.random.normal(rng, batch["inputs"].shape)
        logits, state = pair.apply(params, state, None, batch["inputs"] + noise)
        labels = jax.nn.one_hot(batch["targets"], 10)
        return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * labels, axis=-1)), (state, {})

    @jax.jit
    def init(seed):
        return hs.init_train_state(pair.init, optimizer, jax.random.key(seed), jnp.zeros((32, 64)))

    return init, hs.jit_update(hs.make_update(loss_fn, optimizer))


def run_on(update, train_state, batches):
    losses = []
    for batch in batches:
        train_state, metrics = update(train_state, batch)
        losses.append(float(metrics["loss"]))
    return train_state, losses


@pytest.mark.usefixtures("standard_promotion")
def test_three_steps_and_three_resumed_ones_are_six(tmp_path):
    batches = list(digits_like(6))
    init, update = training()
    unbroken, losses = run_on(update, init(0), batches)
    half, first = run_on(update, init(0), batches[:3])
    save_checkpoint(tmp_path, half, {"batch": 3, "losses": first})

    init, update = training()
    restored = restore_checkpoint(tmp_path, init(1))
    start = restored.position["batch"]
    resumed, rest = run_on(update, restored.train_state, batches[start:])
    assert bits(resumed) == bits(unbroken)
    assert [*restored.position["losses"], *rest] == losses
    assert len(set(losses)) == 6
    assert bits(half) != bits(unbroken)


# --- which ones are kept


@pytest.mark.parametrize("keep", [1, 2, 3, 9])
def test_the_newest_are_kept(tmp_path, keep):
    for step in range(0, 50, 10):
        save_checkpoint(tmp_path, train_state_of(step), keep=keep)
    assert names_in(tmp_path) == ["0", "10", "20", "30", "40"][-keep:]
    assert restore_checkpoint(tmp_path, train_state_of()).train_state.step == 40


def test_the_newest_is_the_largest_number_not_the_last_name(tmp_path):
    for step in (9, 10):
        save_checkpoint(tmp_path, train_state_of(step), keep=2)
    assert restore_checkpoint(tmp_path, train_state_of()).train_state.step == 10


def test_the_same_train_state_is_written_once(tmp_path):
    folder = save_checkpoint(tmp_path, train_state_of(3), {"batch": 1})
    before = {path: path.read_bytes() for path in files_of(folder)}
    assert save_checkpoint(tmp_path, train_state_of(3), {"batch": 2}) == folder
    assert {path: path.read_bytes() for path in files_of(folder)} == before
    assert restore_checkpoint(tmp_path, train_state_of()).position == {"batch": 1}


def test_another_train_state_of_this_or_an_earlier_step_is_refused(tmp_path):
    save_checkpoint(tmp_path, train_state_of(3), "first")
    for step, value in ((3, 2.0), (2, 1.0)):
        with pytest.raises(CheckpointExistsError) as caught:
            save_checkpoint(tmp_path, train_state_of(step, value), "second")
        assert isinstance(caught.value, FileExistsError)
        assert text_of(caught) == (
            f"{tmp_path} holds a checkpoint of step 3, of another train state.\n"
            f'  wrong: save_checkpoint("{tmp_path}", train_state)  # step {step}\n'
            f'  right: save_checkpoint("{tmp_path}-new", train_state)\n'
            "  why:   a later restore would take the other one; nothing was written or replaced\n"
            "  more:  docs/api/checkpoint.rst"
        )
    assert names_in(tmp_path) == ["3"]
    assert restore_checkpoint(tmp_path, train_state_of()).position == "first"


def test_a_broken_one_makes_room_and_goes_with_those_of_its_time(tmp_path):
    for step in (3, 5, 9):
        save_checkpoint(tmp_path, train_state_of(step))
    for step in (5, 9):
        manifest_file(tmp_path / str(step)).unlink()
    with pytest.warns(SkippedCheckpointWarning):
        assert restore_checkpoint(tmp_path, train_state_of()).train_state.step == 3
    save_checkpoint(tmp_path, train_state_of(5, 2.0), keep=2)
    assert names_in(tmp_path) == ["3", "5", "5.broken", "9.broken"]
    save_checkpoint(tmp_path, train_state_of(7), keep=2)
    save_checkpoint(tmp_path, train_state_of(9, 2.0), keep=2)
    assert names_in(tmp_path) == ["7", "9", "9.broken"]
    restored = restore_checkpoint(tmp_path, train_state_of())
    assert (restored.train_state.step, restored.skipped) == (9, ())


FOREIGN = [
    "notes.txt",
    "2024/photo.jpg",
    "7.txt",
    "a.orbax-checkpoint-tmp/x",
    "1.broken.txt",
]


def test_foreign_files_are_left_alone(tmp_path):
    for name in FOREIGN:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    assert restore_checkpoint(tmp_path, train_state_of()) is None
    for step in range(2025, 2028):
        save_checkpoint(tmp_path, train_state_of(step), keep=2)
    assert restore_checkpoint(tmp_path, train_state_of()).train_state.step == 2027
    assert all((tmp_path / name).read_text() == name for name in FOREIGN)
    with pytest.raises(CheckpointExistsError):
        save_checkpoint(tmp_path, train_state_of(2024))


def test_a_folder_of_other_files_under_the_name_of_the_step_is_not_replaced(tmp_path):
    (tmp_path / "4").mkdir()
    (tmp_path / "4" / "mine").write_text("mine")
    with pytest.raises(CheckpointDirectoryError):
        save_checkpoint(tmp_path, train_state_of(4))
    assert (tmp_path / "4" / "mine").read_text() == "mine"
    assert names_in(tmp_path) == ["4"]


def test_what_a_killed_save_left_is_no_checkpoint_and_does_not_pile_up(tmp_path):
    folder = save_checkpoint(tmp_path, train_state_of(3))
    for name in (
        "4.orbax-checkpoint-tmp",
        "5.orbax-checkpoint-tmp-17",
        "2.orbax-checkpoint-tmp-deleted",
    ):
        left = tmp_path / name
        left.mkdir()
        for path in files_of(folder):
            (left / path.name).write_bytes(path.read_bytes())
    assert restore_checkpoint(tmp_path, train_state_of()).train_state.step == 3
    assert len(names_in(tmp_path)) == 4
    save_checkpoint(tmp_path, train_state_of(4))
    assert names_in(tmp_path) == ["3", "4"]


# --- what lies on the disk


def test_the_manifest_says_what_the_arrays_are(tmp_path):
    folder = save_checkpoint(tmp_path, train_state_of(5, 2.0), {"epoch": 1})
    manifest = json.loads(manifest_file(folder).read_text(encoding="utf-8"))
    entries = {entry.pop("path"): entry for entry in manifest["leaves"]}
    assert {path: (e["dtype"], e["shape"], e["key"]) for path, e in entries.items()} == {
        "train_state.params['linear']['b']": ("bfloat16", [3], None),
        "train_state.params['linear']['w']": ("float32", [2, 3], None),
        "train_state.state['counter']['count']": ("int32", [], None),
        "train_state.state['counter']['none']": ("float32", [0, 3], None),
        "train_state.opt_state[0]['mu']": ("float32", [3], None),
        "train_state.rng": ("uint32", [2], "key<fry>"),
        "train_state.step": ("int32", [], None),
    }
    checksum = hashlib.sha256(np.full((2, 3), 2, np.float32).tobytes()).hexdigest()
    assert entries["train_state.params['linear']['w']"]["sha256"] == checksum
    assert (manifest["format"], manifest["step"], manifest["position"]) == (1, 5, {"epoch": 1})
    assert manifest["versions"]["jax"] == jax.__version__
    assert manifest["versions"]["haiku-state"] == hs.__version__
    with np.load(folder / "train_state" / "arrays.npz") as arrays:
        assert set(arrays) == set(entries)
        mu = arrays["train_state.opt_state[0]['mu']"]
        assert mu.dtype == np.float32
        np.testing.assert_array_equal(mu, np.full(3, -2.0))
        # bfloat16 is the upper half of float32
        upper = np.full(3, 2, np.float32).view(np.uint32) >> 16
        np.testing.assert_array_equal(arrays["train_state.params['linear']['b']"], upper)


# --- damage


def damaged(path):
    """Give each way to damage a file: deleted, cut short, or a bit changed at some places."""
    whole = path.read_bytes()
    yield None
    for size in {0, len(whole) // 2, len(whole) - 1}:
        yield whole[:size]
    for place in {0, len(whole) // 3, 2 * len(whole) // 3, len(whole) - 1}:
        yield whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
        yield whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]


def test_damage_to_any_file_gives_the_right_bits_or_the_older_ones(tmp_path):
    expected = {}
    for step in (1, 2):
        train_state = train_state_of(step, float(step))
        folder = save_checkpoint(tmp_path, train_state, {"step": step})
        expected[step] = bits(train_state)
    skipped_for = set()
    for path in files_of(folder):
        whole = path.read_bytes()
        for content in damaged(path):
            path.unlink() if content is None else path.write_bytes(content)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", SkippedCheckpointWarning)
                restored = restore_checkpoint(tmp_path, train_state_of())
            step = int(restored.train_state.step)
            assert bits(restored.train_state) == expected[step]
            assert restored.position == {"step": step}
            assert [number for number, _ in restored.skipped] == [2] * (step == 1)
            assert [warning.category for warning in caught] == [SkippedCheckpointWarning] * (
                step == 1
            )
            if step == 1:
                skipped_for.add(path.name)
            path.write_bytes(whole)
    assert skipped_for == {"arrays.npz", "manifest.json"}
    assert restore_checkpoint(tmp_path, train_state_of()).train_state.step == 2


def forge(folder, change):
    """Change the manifest, and seal it again."""
    manifest = json.loads(manifest_file(folder).read_text(encoding="utf-8"))
    del manifest["sha256"]
    change(manifest)
    sealed = json.dumps(manifest, sort_keys=True).encode()
    manifest["sha256"] = hashlib.sha256(sealed).hexdigest()
    manifest_file(folder).write_text(json.dumps(manifest), encoding="utf-8")


def edit_position(folder):
    path = manifest_file(folder)
    path.write_text(path.read_text(encoding="utf-8").replace('"batch": 17', '"batch": 71'))


def other_checksum(manifest):
    manifest["leaves"][0]["sha256"] = "0" * 64


def other_shape(manifest):
    manifest["leaves"][0]["shape"] = [1, 3]


def other_path(manifest):
    manifest["leaves"][0]["path"] += "['x']"


W = "train_state.params['linear']['b']"
REASONS = {
    "position": (edit_position, "its manifest has changed since it was written"),
    "list": (
        lambda folder: manifest_file(folder).write_text("[]"),
        "its manifest is not that of a checkpoint",
    ),
    "format": (
        lambda folder: forge(folder, lambda manifest: manifest.update(format=2)),
        "its manifest is not that of a checkpoint",
    ),
    "step": (
        lambda folder: forge(folder, lambda manifest: manifest.update(step=1)),
        "its manifest is not that of a checkpoint",
    ),
    "checksum": (
        lambda folder: forge(folder, other_checksum),
        f"{W} has changed since it was written",
    ),
    "shape": (lambda folder: forge(folder, other_shape), f"{W} has changed since it was written"),
    "path": (lambda folder: forge(folder, other_path), f"{W}['x'] is missing"),
}


@pytest.mark.parametrize(("damage", "reason"), REASONS.values(), ids=REASONS.keys())
def test_the_reason_is_named(tmp_path, damage, reason):
    save_checkpoint(tmp_path, train_state_of(1), {"batch": 17})
    damage(save_checkpoint(tmp_path, train_state_of(2), {"batch": 17}))
    with pytest.warns(SkippedCheckpointWarning) as caught:
        restored = restore_checkpoint(tmp_path, train_state_of())
    assert restored.skipped == ((2, reason),)
    assert str(caught[0].message) == (
        f"the checkpoint of step 1 in {tmp_path} was restored, "
        f"and newer ones that are broken were skipped:\n    step 2: {reason}"
    )
    assert caught[0].filename == __file__


@pytest.mark.parametrize("emptied", [True, False], ids=["empty", "one file left"])
def test_a_folder_that_lost_its_files_is_a_broken_checkpoint(tmp_path, emptied):
    save_checkpoint(tmp_path, train_state_of(1))
    folder = save_checkpoint(tmp_path, train_state_of(2))
    shutil.rmtree(folder / "train_state")
    for path in files_of(folder):
        if emptied or path.name != "_CHECKPOINT_METADATA":
            path.unlink()
    with pytest.warns(SkippedCheckpointWarning):
        restored = restore_checkpoint(tmp_path, train_state_of())
    assert restored.train_state.step == 1
    assert restored.skipped == ((2, "2/train_state is missing"),)


def test_if_none_is_whole_training_does_not_start_anew(tmp_path):
    for step in (1, 2):
        edit_position(save_checkpoint(tmp_path, train_state_of(step), {"batch": 17}))
    with pytest.raises(BrokenCheckpointsError) as caught:
        restore_checkpoint(tmp_path, train_state_of())
    assert isinstance(caught.value, ValueError)
    assert text_of(caught) == (
        f"no checkpoint in {tmp_path} is whole:\n"
        "    step 2: its manifest has changed since it was written\n"
        "    step 1: its manifest has changed since it was written\n"
        f'  wrong: restore_checkpoint("{tmp_path}", train_state)\n'
        f'  right: restore_checkpoint("{tmp_path}-copy", train_state)\n'
        "  why:   training would start again from the first step without a word: bring the files "
        "back from a copy, or begin anew in another folder\n"
        "  more:  docs/api/checkpoint.rst"
    )


@pytest.mark.parametrize("error", [MemoryError("no room"), PermissionError(13, "not yours")])
def test_a_checkpoint_that_could_not_be_read_is_not_called_broken(tmp_path, monkeypatch, error):
    save_checkpoint(tmp_path, train_state_of(1))
    save_checkpoint(tmp_path, train_state_of(2))

    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(np, "load", fail)
    for call in (
        lambda: restore_checkpoint(tmp_path, train_state_of()),
        lambda: save_checkpoint(tmp_path, train_state_of(2, 3.0)),
    ):
        with pytest.raises(CheckpointDirectoryError) as caught:
            call()
        assert caught.value.__cause__ is error
    assert names_in(tmp_path) == ["1", "2"]


def test_a_checkpoint_that_goes_while_it_is_read_gives_way_to_a_newer_one(tmp_path, monkeypatch):
    save_checkpoint(tmp_path, train_state_of(1))
    read = storage.read

    def late(directory, step):
        monkeypatch.setattr(storage, "read", read)
        save_checkpoint(tmp_path, train_state_of(2), keep=1)
        return read(directory, step)

    monkeypatch.setattr(storage, "read", late)
    restored = restore_checkpoint(tmp_path, train_state_of())
    assert (restored.train_state.step, restored.skipped) == (2, ())


# --- another train state


def test_every_difference_is_listed_and_nothing_is_loaded(tmp_path):
    save_checkpoint(tmp_path, train_state_of(3))
    like = train_state_of()
    like = like._replace(
        params={
            "linear": {"w": jnp.zeros((2, 4)), "b": jnp.zeros(3)},
            "other": {"w": jnp.zeros(2)},
        },
        state={"counter": {"count": jnp.zeros((), jnp.uint32)}},
        rng=jax.random.key(0, impl="rbg"),
    )
    before = bits(like)
    with pytest.raises(CheckpointMismatchError) as caught:
        restore_checkpoint(tmp_path, like)
    assert isinstance(caught.value, ValueError)
    assert text_of(caught) == (
        "the checkpoint of step 3 does not fit the train state (- missing, + unknown):\n"
        "    - train_state.params['other']['w']\n"
        "    + train_state.state['counter']['none']\n"
        "    train_state.params['linear']['b']: bfloat16[3] -> float32[3]\n"
        "    train_state.params['linear']['w']: float32[2,3] -> float32[2,4]\n"
        "    train_state.state['counter']['count']: int32[] -> uint32[]\n"
        "    train_state.rng: key<fry>[] -> key<rbg>[]\n"
        "  wrong: restore_checkpoint(directory, train_state)\n"
        "  right: train_state = init_train_state(init, optimizer, rng, inputs); "
        "restore_checkpoint(directory, train_state)\n"
        "  why:   model, optimizer or kind of random key have changed since it was saved; "
        "nothing was loaded\n"
        "  more:  docs/api/checkpoint.rst"
    )
    assert bits(like) == before


@pytest.mark.parametrize(
    "change",
    [
        {"rng": jax.random.split(jax.random.key(0), 1)},
        {"rng": np.zeros(2, np.uint32)},
        {"opt_state": {"mu": np.zeros(3, np.float32)}},
        {"opt_state": [{"mu": np.zeros(3, np.float32)}, jnp.zeros(())]},
        {"step": jnp.int8(0)},
    ],
    ids=["keys", "key data", "no tuple", "one leaf more", "dtype of the step"],
)
def test_one_difference_is_enough(tmp_path, change):
    save_checkpoint(tmp_path, train_state_of(3))
    with pytest.raises(CheckpointMismatchError):
        restore_checkpoint(tmp_path, train_state_of()._replace(**change))


def test_a_difference_is_no_reason_to_take_an_older_one(tmp_path):
    save_checkpoint(tmp_path, train_state_of(3))
    save_checkpoint(tmp_path, train_state_of(4)._replace(opt_state=()))
    with pytest.raises(CheckpointMismatchError, match="checkpoint of step 4"):
        restore_checkpoint(tmp_path, train_state_of())


# --- what is refused, before anything is written


def refused(error, directory, *args, **kwargs):
    with pytest.raises(error) as caught:
        save_checkpoint(directory / "run", *args, **kwargs)
    assert names_in(directory) == []
    return text_of(caught)


def test_a_device_axis_is_refused(tmp_path):
    full = train_state_of()._replace(state={})  # JAX 0.11 would end, see test_compat
    stacked = hs.replicate(full, jax.devices()[:4])
    assert refused(DeviceStackedError, tmp_path, stacked) == (
        "train_state.step has shape (4,) where () belongs: a device axis leads it.\n"
        "  wrong: save_checkpoint(directory, train_state)\n"
        "  right: save_checkpoint(directory, unreplicate(train_state))\n"
        "  why:   these are the stacked copies of all devices; on one device they would broadcast "
        "without a word\n"
        "  more:  docs/update/pmapped_update.md"
    )
    with pytest.raises(DeviceStackedError) as caught:
        restore_checkpoint(tmp_path, stacked)
    assert caught.value.values["right"] == "restore_checkpoint(directory, unreplicate(train_state))"
    save_checkpoint(tmp_path, hs.unreplicate(stacked))
    assert restore_checkpoint(tmp_path, full).train_state.step == 0


def test_a_donated_train_state_is_refused(tmp_path):
    train_state = train_state_of()
    train_state.opt_state[0]["mu"].delete()
    text = refused(DonatedBufferError, tmp_path, train_state)
    assert text.startswith("train_state.opt_state[0]['mu'] was given to an earlier update")
    with pytest.raises(DonatedBufferError):
        restore_checkpoint(tmp_path, train_state)


@pytest.mark.parametrize("keep", [0, -1, 1.0, None])
def test_keeping_none_is_refused(tmp_path, keep):
    assert refused(CheckpointKeepError, tmp_path, train_state_of(), keep=keep) == (
        f"keep={keep} checkpoints is less than the one just saved.\n"
        f"  wrong: save_checkpoint(directory, train_state, keep={keep})\n"
        "  right: save_checkpoint(directory, train_state, keep=1)\n"
        "  why:   the older ones go when the new one is complete, and one must stay\n"
        "  more:  docs/api/checkpoint.rst"
    )


@pytest.mark.parametrize(
    ("train_state", "found"),
    [
        ({"params": 1}, "NoneType"),
        (Simplest(jnp.ones(())), "float32[]"),
        (Simplest(True), "bool"),
        (Simplest(jnp.array(True)), "bool[]"),
        (Simplest(-1), "-1"),
        (Simplest(jax.random.key(0)), "key<fry>[]"),
    ],
    ids=["none", "float", "Python bool", "bool", "negative", "key"],
)
def test_a_train_state_without_a_step_is_refused(tmp_path, train_state, found):
    assert refused(CheckpointStepError, tmp_path, train_state) == (
        f"train_state.step is {found}; a checkpoint is named by an integer from 0 on.\n"
        f"  wrong: save_checkpoint(directory, train_state._replace(step={found}))\n"
        "  right: save_checkpoint(directory, train_state._replace(step=jnp.int32(0)))\n"
        "  why:   the newest checkpoint is the one of the largest step\n"
        "  more:  docs/api/checkpoint.rst"
    )


def test_leaves_that_jax_cannot_hold_are_refused(tmp_path):
    params = {
        "double": np.zeros(3),
        "double scalar": np.float64(3),
        "long": np.int64(3),
        "huge": 2**40,
        "text": "word",
        "object": np.array([None]),
        "date": np.array(["2024-01-01"], "M8[D]"),
        "function": print,
        "right": np.zeros(3, np.float32),
    }
    train_state = train_state_of()._replace(params=params)
    assert refused(CheckpointLeafError, tmp_path, train_state) == (
        "these leaves of the train state cannot be kept exactly:\n"
        "    train_state.params['date']: datetime64[D][1]\n"
        "    train_state.params['double']: float64[3]\n"
        "    train_state.params['double scalar']: float64[]\n"
        "    train_state.params['function']: builtin_function_or_method\n"
        "    train_state.params['huge']: int\n"
        "    train_state.params['long']: int64[]\n"
        "    train_state.params['object']: object[1]\n"
        "    train_state.params['text']: str\n"
        '  wrong: state = {"mean": np.zeros(3)}\n'
        '  right: state = {"mean": jnp.zeros(3)}\n'
        "  why:   a checkpoint holds arrays and random keys of the dtypes that JAX has, each under "
        "a path of its own\n"
        "  more:  docs/api/checkpoint.rst"
    )
    with pytest.raises(CheckpointLeafError):
        restore_checkpoint(tmp_path, train_state)


def test_a_tracer_is_refused(tmp_path):
    with pytest.raises(CheckpointLeafError, match=r"train_state\.step: int32\[\]"):
        jax.jit(lambda step: save_checkpoint(tmp_path, Simplest(step)))(jnp.int32(0))


@jax.tree_util.register_pytree_with_keys_class
class Twins:
    """A PyTree that calls both of its leaves the same."""

    step = 0

    def tree_flatten_with_keys(self):
        key = jax.tree_util.GetAttrKey("twin")
        return [(key, jnp.zeros(())), (key, jnp.ones(()))], None

    @classmethod
    def tree_unflatten(cls, _, leaves):
        return cls()


def test_two_leaves_of_one_path_are_refused(tmp_path):
    assert "train_state.twin: float32[]" in refused(CheckpointLeafError, tmp_path, Twins())


loop: list = []
loop.append(loop)


@pytest.mark.parametrize(
    ("position", "path", "found"),
    [
        ((3, 17), "position", "tuple"),
        ({"epoch": np.int32(3)}, "position['epoch']", "int32"),
        ([{"loss": jnp.float32(3)}], "position[0]['loss']", type(jnp.zeros(())).__name__),
        ({1: 2}, "position.keys()", "int"),
        ({"a": {None: 2}}, "position['a'].keys()", "NoneType"),
        ([b"x"], "position[0]", "bytes"),
        ({"x": {1}}, "position['x']", "set"),
        (loop, "position", "Circular reference detected"),
    ],
)
def test_a_position_that_is_no_json_value_is_refused(tmp_path, position, path, found):
    assert refused(CheckpointPositionError, tmp_path, train_state_of(), position) == (
        f"JSON cannot hold {path}: {found}.\n"
        "  wrong: save_checkpoint(directory, train_state, (3, 17))\n"
        '  right: save_checkpoint(directory, train_state, {"epoch": 3, "batch": 17})\n'
        "  why:   the position is stored as JSON: dicts with names, lists, strings, numbers, "
        "booleans, None\n"
        "  more:  docs/api/checkpoint.rst"
    )


def test_a_position_that_is_too_deep_is_refused(tmp_path):
    deep: list = []
    for _ in range(10**4):
        deep = [deep]
    assert "JSON cannot hold position: " in refused(
        CheckpointPositionError, tmp_path, train_state_of(), deep
    )


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
VALUES = LEAVES | st.tuples() | st.binary(max_size=1)
TREES = st.recursive(
    VALUES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3) | st.integers(0, 1), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(TREES)
def test_a_position_is_taken_exactly_if_json_gives_it_back(position):
    try:
        comes_back = repr(json.loads(json.dumps(position))) == repr(position)
    except TypeError:
        comes_back = False
    try:
        _check_position(position)
    except CheckpointPositionError:
        assert not comes_back
    else:
        assert comes_back


def test_without_orbax_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "orbax.checkpoint", None)
    assert refused(MissingExtraError, tmp_path, train_state_of()) == (
        "orbax-checkpoint is not installed.\n"
        "  wrong: pip install haiku-state\n"
        '  right: pip install "haiku-state[checkpoint]"\n'
        "  why:   the core of the package does without it\n"
        "  more:  README.md"
    )
    with pytest.raises(MissingExtraError):
        restore_checkpoint(tmp_path, train_state_of())


# --- a disk that fails


def test_a_file_in_the_place_of_the_directory_is_refused(tmp_path):
    path = tmp_path / "run"
    path.write_text("mine")
    with pytest.raises(CheckpointDirectoryError) as caught:
        save_checkpoint(path, train_state_of())
    assert isinstance(caught.value, OSError)
    assert text_of(caught) == (
        f"the checkpoints in {path} cannot be written or read: "
        f"FileExistsError: [Errno 17] File exists: '{path}'.\n"
        f'  wrong: save_checkpoint("{path}", train_state)\n'
        '  right: save_checkpoint("checkpoints", train_state)\n'
        "  why:   `directory` must be a folder with room that this process may write to; a "
        "checkpoint that was not complete is gone, the older ones are untouched\n"
        "  more:  docs/api/checkpoint.rst"
    )
    with pytest.raises(CheckpointDirectoryError, match="NotADirectoryError"):
        restore_checkpoint(path, train_state_of())
    with pytest.raises(CheckpointDirectoryError, match="NotADirectoryError"):
        save_checkpoint(path / "below", train_state_of())
    assert path.read_text() == "mine"


def test_a_folder_that_may_not_be_written_is_refused(tmp_path):
    save_checkpoint(tmp_path, train_state_of(1))
    tmp_path.chmod(0o500)
    try:
        if os.access(tmp_path, os.W_OK):
            pytest.skip("this user may write everywhere")
        with pytest.raises(CheckpointDirectoryError, match="Permission"):
            save_checkpoint(tmp_path, train_state_of(2))
    finally:
        tmp_path.chmod(0o700)
    assert restore_checkpoint(tmp_path, train_state_of()).train_state.step == 1


def fail_at_the_manifest(monkeypatch, error):
    def fail(folder, manifest, data):
        (folder / "arrays.npz").write_bytes(b"half")
        raise error

    monkeypatch.setattr(storage, "write_files", fail)


def fail_at_the_rename(monkeypatch, error):
    kind = type(epath.Path("/"))
    rename = kind.rename

    def fail(self, target):
        if self.name.startswith("2.orbax"):
            raise error
        return rename(self, target)

    monkeypatch.setattr(kind, "rename", fail)


@pytest.mark.parametrize("fail", [fail_at_the_manifest, fail_at_the_rename])
def test_a_save_that_fails_halfway_leaves_the_older_ones_alone(tmp_path, monkeypatch, fail):
    save_checkpoint(tmp_path, train_state_of(1))
    error = OSError(28, "No space left on device")
    with monkeypatch.context() as patched:
        fail(patched, error)
        with pytest.raises(CheckpointDirectoryError, match="No space left") as caught:
            save_checkpoint(tmp_path, train_state_of(2), keep=1)
    assert caught.value.__cause__ is error
    assert names_in(tmp_path) == ["1"]
    assert restore_checkpoint(tmp_path, train_state_of()).train_state.step == 1
    save_checkpoint(tmp_path, train_state_of(2), keep=1)
    assert names_in(tmp_path) == ["2"]
