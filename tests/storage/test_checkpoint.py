import asyncio
import contextlib
import hashlib
import json
import logging
import math
import os
import random
import sys
import threading
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from support.runners import AXIS, four, mesh
from support.trees import assert_same_bits, bits

import haiku_state as hs
from haiku_state.errors import (
    ArgumentError,
    CheckpointDirectoryError,
    DamagedFileError,
    DeviceStackedError,
    DonatedBufferError,
    MissingExtraError,
    SavedMismatchError,
    SkippedCheckpointWarning,
)
from haiku_state.storage import checkpoint, leaves, restore_checkpoint, save_checkpoint

FLIPS = int(os.environ.get("FLIPS", "40"))  # single flipped bits that are tried

ALL = hs.data_mesh()
OVER_ROWS, ON_EACH = NamedSharding(ALL, P(AXIS)), NamedSharding(ALL, P())
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


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def manifest_file(folder):
    return folder / "manifest" / "metadata"


def text_of(error):
    return error.value.what


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


ODD_NAMES = ["", " ", ".", "..", "a/b", "/", "%2F", "'", '"', "é", "层", "\0", "\n", "x" * 99]


def test_save_checkpoint__every_kind_of_leaf_under_every_name_comes_back(tmp_path):
    state = {name: {"w": jnp.float32(i)} for i, name in enumerate(ODD_NAMES)}
    train_state = hs.TrainState(EVERY_KIND, state, (), jax.random.key(0), jnp.int32(5))
    expected = bits(train_state)
    save_checkpoint(tmp_path, train_state)
    restored = restore_checkpoint(tmp_path, zeros_like(train_state))
    assert bits(restored.train_state) == expected == bits(train_state)
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(restored.train_state))
    assert (restored.position, restored.skipped) == (None, ())
    draws = [jax.random.normal(tree.params["rbg"]) for tree in (restored.train_state, train_state)]
    assert draws[0] == draws[1]


class Simplest(NamedTuple):
    step: Any
    other: Any = None


def test_save_checkpoint__any_pytree_with_a_step_will_do(tmp_path):
    folder = save_checkpoint(str(tmp_path / "new" / "folder"), Simplest(jnp.uint8(200)), [1])
    assert folder == tmp_path / "new" / "folder" / "200"
    restored = restore_checkpoint(folder.parent, Simplest(jnp.uint8(0)))
    assert (restored.train_state.step, restored.train_state.step.dtype) == (200, np.uint8)
    assert restored.position == [1]


def test_restore_checkpoint__gives_what_jax_makes_of_arrays_and_numbers(tmp_path):
    params = {"array": np.float32([1, 2]), "scalar": np.float32(3), "bool": True, "number": 0.1}
    save_checkpoint(tmp_path, hs.TrainState(params, {}, (), jax.random.key(0), 7))
    zeros = {
        "array": np.zeros(2, np.float32),
        "scalar": np.float32(0),
        "bool": False,
        "number": 2.0,
    }
    like = hs.TrainState(zeros, {}, (), jax.random.key(0), 0)
    params, *_, step = restore_checkpoint(tmp_path, like).train_state
    assert [leaf.dtype.name for leaf in params.values()] == [
        "float32",
        "bool",
        "float32",
        "float32",
    ]
    assert params["array"].tolist() == [1, 2]
    assert (params["scalar"], params["bool"], params["number"]) == (3, True, np.float32(0.1))
    assert (int(step), step.dtype) == (7, np.int32)
    assert {leaf.sharding for leaf in params.values()} == {jnp.zeros(()).sharding}


@pytest.mark.parametrize("sharding", [None, ON_EACH], ids=["one device", "mesh"])
def test_restore_checkpoint__a_weak_type_stays_weak_and_a_strong_one_strong(tmp_path, sharding):
    rows = jnp.broadcast_to(-0.0, (3,))
    params = {"weak": jnp.asarray(0.1), "rows": rows, "strong": jnp.ones(())}
    assert [params[name].weak_type for name in ("weak", "rows", "strong")] == [True, True, False]
    params = jax.device_put(params, sharding)
    like = {name: jax.device_put(jnp.zeros(x.shape), sharding) for name, x in params.items()}
    train_state = hs.TrainState(params, {}, (), jax.random.key(0), jnp.int32(0))
    save_checkpoint(tmp_path, train_state)
    restored = restore_checkpoint(tmp_path, train_state._replace(params=like)).train_state
    assert_same_bits(restored, train_state)
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


def test_restore_checkpoint__each_leaf_comes_back_to_its_place(tmp_path):
    train_state, like = placed(3.0), placed(0.0)
    save_checkpoint(tmp_path, train_state)
    restored = restore_checkpoint(tmp_path, like).train_state
    assert_same_bits(restored, train_state)
    for old, new in zip(like, restored, strict=True):
        assert new.sharding == old.sharding
        assert len(new.addressable_shards) == len(old.addressable_shards)
    # what lies on the default device may still move to where another argument is
    added = jax.jit(jnp.add)(restored.free, restored.each)
    np.testing.assert_array_equal(added, np.full(3, 6.0))


def test_restore_checkpoint__what_comes_back_can_be_donated(tmp_path):
    save_checkpoint(tmp_path, placed(3.0))
    restored = restore_checkpoint(tmp_path, placed(0.0)).train_state._replace(keys=None)
    doubled = jax.jit(lambda tree: jax.tree.map(lambda x: x + x, tree), donate_argnums=0)
    for name in ("rows", "each", "second", "free"):
        leaf = getattr(restored, name)
        expected = 2 * np.array(leaf, copy=True)
        result = doubled(leaf)
        for shard in result.addressable_shards:
            np.testing.assert_array_equal(shard.data, expected[shard.index])


def test_save_checkpoint__leaves_the_train_state_free_to_be_donated(tmp_path):
    train_state = train_state_of(1)
    expected = bits(train_state)
    save_checkpoint(tmp_path, train_state)
    assert bits(train_state) == expected
    saved, read = train_state_of(2), train_state_of(2)
    save_checkpoint(tmp_path, saved)
    jax.device_get(read)  # some versions of JAX keep what was copied to the host by anyone
    step = jax.jit(lambda tree: tree.params["linear"]["w"] + 1, donate_argnums=0)
    step(saved), step(read)
    if read.params["linear"]["w"].is_deleted():
        assert saved.params["linear"]["w"].is_deleted()


POSITION = {
    "epoch": 3,
    "batch": 17,
    "losses": [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, math.nan, -0.0],
    "large": 2**200,
    "": {"é层\ud800\0": [None, True, False, [], {}, ""]},
}


def test_restore_checkpoint__the_position_comes_back_exactly(tmp_path):
    save_checkpoint(tmp_path, train_state_of(), POSITION)
    assert repr(restore_checkpoint(tmp_path, train_state_of()).position) == repr(POSITION)


def test_restore_checkpoint__an_empty_or_missing_directory_gives_none(tmp_path):
    assert restore_checkpoint(tmp_path, train_state_of()) is None
    assert restore_checkpoint(tmp_path / "missing", train_state_of()) is None
    assert names_in(tmp_path) == []


def test_save_checkpoint__a_relative_folder_is_one_of_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert save_checkpoint("run", train_state_of(2)) == tmp_path / "run" / "2"
    assert restore_checkpoint("run", train_state_of()).train_state.step == 2


def test_save_checkpoint__works_while_an_event_loop_runs(tmp_path):
    async def cell():
        save_checkpoint(tmp_path, train_state_of(2))
        return restore_checkpoint(tmp_path, train_state_of())

    assert_same_bits(asyncio.run(cell()).train_state, train_state_of(2))


def test_save_checkpoint__prints_nothing(tmp_path, capfd):
    for step in range(3):
        save_checkpoint(tmp_path, train_state_of(step), keep=1)
        restore_checkpoint(tmp_path, train_state_of())
    assert capfd.readouterr() == ("", "")


# --- which ones are kept


@pytest.mark.parametrize("keep", [1, 3, 9])
def test_save_checkpoint__keeps_those_with_the_largest_steps(tmp_path, keep):
    for step in (0, 8, 9, 10, 11):
        save_checkpoint(tmp_path, train_state_of(step), keep=keep)
    assert names_in(tmp_path) == sorted(["0", "8", "9", "10", "11"][-keep:])
    assert restore_checkpoint(tmp_path, train_state_of()).train_state.step == 11


def test_save_checkpoint__writes_the_same_train_state_once(tmp_path):
    folder = save_checkpoint(tmp_path, train_state_of(3), {"batch": 1})
    before = {path: path.read_bytes() for path in files_of(folder)}
    assert save_checkpoint(tmp_path, train_state_of(3), {"batch": 2}) == folder
    assert {path: path.read_bytes() for path in files_of(folder)} == before
    assert restore_checkpoint(tmp_path, train_state_of()).position == {"batch": 1}


def test_save_checkpoint__refuses_another_train_state_of_this_or_an_earlier_step(tmp_path):
    save_checkpoint(tmp_path, train_state_of(3), "first")
    for step, value in ((3, 2.0), (2, 1.0)):
        with pytest.raises(CheckpointDirectoryError) as caught:
            save_checkpoint(tmp_path, train_state_of(step, value), "second")
        assert text_of(caught) == (
            f"the checkpoints in {tmp_path} cannot be used: the folder holds a checkpoint of "
            "step 3 from a different train state."
        )
    assert names_in(tmp_path) == ["3"]
    assert restore_checkpoint(tmp_path, train_state_of()).position == "first"


def test_save_checkpoint__sets_a_damaged_one_aside(tmp_path):
    for step in (3, 5, 9):
        save_checkpoint(tmp_path, train_state_of(step))
    for step in (5, 9):
        manifest_file(tmp_path / str(step)).unlink()
    with pytest.warns(SkippedCheckpointWarning):
        assert restore_checkpoint(tmp_path, train_state_of()).train_state.step == 3
    save_checkpoint(tmp_path, train_state_of(5, 2.0), keep=2)
    assert names_in(tmp_path) == ["3", "5", "5.broken", "9.broken"]
    restored = restore_checkpoint(tmp_path, train_state_of())
    assert (restored.train_state.step, restored.skipped) == (5, ())


FOREIGN = ["notes.txt", "2024/photo.jpg", "7.txt", "a.orbax-checkpoint-tmp-1/x", "1.broken.txt"]


def test_save_checkpoint__leaves_foreign_files_alone(tmp_path):
    for name in FOREIGN:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    assert restore_checkpoint(tmp_path, train_state_of()) is None
    for step in range(2025, 2028):
        save_checkpoint(tmp_path, train_state_of(step), keep=2)
    assert restore_checkpoint(tmp_path, train_state_of()).train_state.step == 2027
    assert all((tmp_path / name).read_text() == name for name in FOREIGN)
    with pytest.raises(CheckpointDirectoryError, match="step 2026"):
        save_checkpoint(tmp_path, train_state_of(2024))


def test_restore_checkpoint__a_step_has_one_name(tmp_path):
    """``007`` is a copy that somebody has made, and not the checkpoint of step 7."""
    save_checkpoint(tmp_path, train_state_of(7))
    (tmp_path / "7").rename(tmp_path / "007")
    assert restore_checkpoint(tmp_path, train_state_of()) is None


def test_save_checkpoint__does_not_replace_a_folder_of_other_files(tmp_path):
    (tmp_path / "4").mkdir()
    (tmp_path / "4" / "mine").write_text("mine")
    with pytest.raises(CheckpointDirectoryError):
        save_checkpoint(tmp_path, train_state_of(4))
    assert [path.name for path in (tmp_path / "4").iterdir()] == ["mine"]


def test_save_checkpoint__what_a_killed_one_left_does_not_pile_up(tmp_path):
    folder = save_checkpoint(tmp_path, train_state_of(3))
    for name in (
        "4.orbax-checkpoint-tmp-new",
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


def checksum(array):
    """The sum of each word times its odd index, in Python's integers."""
    data = np.asarray(array)
    word = {1: "u1", 2: "u2", 4: "u4", 8: "u4"}[data.dtype.itemsize]
    words = np.frombuffer(data.tobytes(), word).tolist()
    return sum(word * (2 * i + 1) for i, word in enumerate(words)) % 2**32


def test_save_checkpoint__the_manifest_says_what_the_arrays_are(tmp_path):
    train_state = train_state_of(5, 2.0)
    folder = save_checkpoint(tmp_path, train_state, {"epoch": 1})
    manifest = json.loads(manifest_file(folder).read_text(encoding="utf-8"))
    params, state = train_state.params["linear"], train_state.state["counter"]
    data = jax.random.key_data(train_state.rng)
    expected = {
        "params['linear']['b']": ("bfloat16[3]", checksum(params["b"])),
        "params['linear']['w']": ("float32[2,3]", checksum(params["w"])),
        "state['counter']['count']": ("int32[]", checksum(state["count"])),
        "state['counter']['none']": ("float32[0,3]", 0),
        "opt_state[0]['mu']": ("float32[3]", checksum(train_state.opt_state[0]["mu"])),
        "rng": ("key<fry>[]", checksum(data)),
        "step": ("int32[]", 5),
    }
    assert manifest["leaves"] == {
        "kind": {f"train_state.{path}": kind for path, (kind, _) in expected.items()},
        "weak": ["train_state.params['linear']['w']", "train_state.opt_state[0]['mu']"],
        "checksum": {f"train_state.{path}": total for path, (_, total) in expected.items()},
    }
    assert (manifest["step"], manifest["position"]) == (5, {"epoch": 1})
    assert manifest["files"] == {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files_of(folder / "train_state")
    }


@pytest.mark.parametrize(
    "name", ["float32", "bfloat16", "float8", "complex64", "int8", "int32", "bool"]
)
@pytest.mark.parametrize("sharding", [None, OVER_ROWS, ON_EACH], ids=["one", "rows", "each"])
def test_save_checkpoint__the_checksum_is_the_same_for_every_layout(name, sharding):
    numbers = np.random.default_rng(0).integers(0, 2, (16, 5)) * (2**20 if name == "int32" else 3)
    array = jnp.asarray(numbers.astype(EVERY_KIND[name].dtype))
    sums = leaves.partial_sums(jax.device_put(array, sharding))
    assert sum(map(int, sums)) % 2**32 == checksum(array) != 0


FOREIGN_PROGRAM = """
import sys
import orbax.checkpoint as ocp

item, directory = ocp.StandardCheckpointer(), sys.argv[1]
arrays = item.restore(directory + "/5/train_state")
manager = ocp.CheckpointManager(directory, item_names=("train_state", "manifest"))
both = manager.restore(manager.latest_step(), args=ocp.args.Composite(
    train_state=ocp.args.StandardRestore(), manifest=ocp.args.JsonRestore()))
assert "haiku_state" not in sys.modules
for tree in (arrays, both.train_state):
    print(tree["params"]["linear"]["w"].tolist(), tree["params"]["linear"]["b"].dtype,
          tree["opt_state"]["0"]["mu"].tolist(), tree["rng"].tolist(), tree["step"])
print(both.manifest["position"])
"""


def test_save_checkpoint__a_program_that_knows_only_orbax_opens_it(tmp_path, user):
    save_checkpoint(tmp_path, train_state_of(5, 2.0), {"epoch": 1})
    done = user.python("-W", "ignore", "-c", FOREIGN_PROGRAM, tmp_path)
    tree = "[[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]] bfloat16 [-2.0, -2.0, -2.0] [0, 2] 5"
    assert done.stdout.splitlines() == [tree, tree, "{'epoch': 1}"], done.stderr


# --- damage


def test_restore_checkpoint__no_flipped_bit_is_silent(tmp_path, capfd):
    expected = {}
    for step in (1, 2):
        train_state = train_state_of(step, float(step))
        folder = save_checkpoint(tmp_path, train_state, {"step": step})
        expected[step] = bits(train_state)
    files, rng = files_of(folder), random.Random(0)
    assert {path.parts[len(folder.parts)] for path in files} == {"train_state", "manifest"}
    for flip in range(FLIPS):
        path = files[flip % len(files)]
        content = path.read_bytes()
        bit = rng.randrange(8 * len(content))
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            restored = restore_checkpoint(tmp_path, train_state_of())
        step = int(restored.train_state.step)
        assert bits(restored.train_state) == expected[step]
        assert restored.position == {"step": step}
        if step == 1:  # else the flip is harmless, such as in white space
            name = path.relative_to(folder).as_posix().replace("manifest/metadata", "manifest")
            assert restored.skipped == ((2, f"{name} has changed since it was written"),)
            assert [warning.category for warning in caught] == [SkippedCheckpointWarning]
        path.write_bytes(content)
    assert capfd.readouterr() == ("", "")
    assert restore_checkpoint(tmp_path, train_state_of()).train_state.step == 2


@pytest.mark.parametrize("rest", [None, slice(0), slice(-1)], ids=["missing", "empty", "cut"])
def test_restore_checkpoint__names_a_file_that_is_missing_or_cut(tmp_path, rest):
    save_checkpoint(tmp_path, train_state_of(1))
    folder = save_checkpoint(tmp_path, train_state_of(2))
    for path in files_of(folder):
        content = path.read_bytes()
        path.unlink()
        if rest is not None:
            path.write_bytes(content[rest])
        name = path.relative_to(folder).as_posix().replace("manifest/metadata", "manifest")
        with pytest.warns(SkippedCheckpointWarning) as caught:
            restored = restore_checkpoint(tmp_path, train_state_of())
        said = "is missing" if rest is None else "has changed since it was written"
        assert restored.skipped == ((2, f"{name} {said}"),)
        assert str(caught[0].message) == (
            f"the checkpoint of step 1 in {tmp_path} was restored, because newer ones are "
            f"damaged:\n    step 2: {name} {said}"
        )
        assert caught[0].filename == __file__
        path.write_bytes(content)


def test_restore_checkpoint__names_a_leaf_that_orbax_reads_as_other_numbers(tmp_path, monkeypatch):
    for step in (1, 2):
        save_checkpoint(tmp_path, train_state_of(step, float(step)))
    read = checkpoint._read

    def wrong(folder, *args):
        found = read(folder, *args)
        if folder.name == "2":
            b = found.params["linear"]["b"]
            found.params["linear"]["b"] = b.at[1].add(jnp.bfloat16(0.5))
        return found

    monkeypatch.setattr(checkpoint, "_read", wrong)
    with pytest.warns(SkippedCheckpointWarning):
        restored = restore_checkpoint(tmp_path, train_state_of())
    assert_same_bits(restored.train_state, train_state_of(1, 1.0))
    reason = "train_state.params['linear']['b'] has changed since it was written"
    assert restored.skipped == ((2, reason),)


def edit_position(folder):
    path = manifest_file(folder)
    path.write_text(path.read_text(encoding="utf-8").replace('"batch": 17', '"batch": 71'))


def test_restore_checkpoint__takes_none_under_the_name_of_another_step(tmp_path):
    save_checkpoint(tmp_path, train_state_of(1)).rename(tmp_path / "3")
    with pytest.raises(
        DamagedFileError, match="step 3: the folder 3 holds the checkpoint of step 1"
    ):
        restore_checkpoint(tmp_path, train_state_of())


def test_restore_checkpoint__does_not_start_over_if_none_is_intact(tmp_path):
    for step in (1, 2):
        edit_position(save_checkpoint(tmp_path, train_state_of(step), {"batch": 17}))
    with pytest.raises(DamagedFileError) as caught:
        restore_checkpoint(tmp_path, train_state_of())
    assert isinstance(caught.value, ValueError)
    assert text_of(caught) == (
        f"{tmp_path} is damaged, or was written by something else:\n"
        "    step 2: manifest has changed since it was written\n"
        "    step 1: manifest has changed since it was written"
    )


@pytest.mark.parametrize("error", [MemoryError("no room"), PermissionError(13, "not yours")])
def test_restore_checkpoint__does_not_call_the_unreadable_damaged(tmp_path, monkeypatch, error):
    save_checkpoint(tmp_path, train_state_of(1))
    save_checkpoint(tmp_path, train_state_of(2))

    def fail(path):
        raise error

    monkeypatch.setattr(checkpoint, "_sha256_of", fail)
    for call in (
        lambda: restore_checkpoint(tmp_path, train_state_of()),
        lambda: save_checkpoint(tmp_path, train_state_of(2, 3.0)),
    ):
        with pytest.raises(CheckpointDirectoryError) as caught:
            call()
        assert caught.value.__cause__ is error
    assert names_in(tmp_path) == ["1", "2"]


def test_restore_checkpoint__one_that_goes_gives_way_to_a_newer_one(tmp_path, monkeypatch):
    save_checkpoint(tmp_path, train_state_of(1))
    intact = checkpoint._intact

    def late(directory, step):
        monkeypatch.setattr(checkpoint, "_intact", intact)
        save_checkpoint(tmp_path, train_state_of(2), keep=1)
        return intact(directory, step)

    monkeypatch.setattr(checkpoint, "_intact", late)
    restored = restore_checkpoint(tmp_path, train_state_of())
    assert (restored.train_state.step, restored.skipped) == (2, ())


# --- another train state


def test_restore_checkpoint__lists_every_difference_and_loads_nothing(tmp_path):
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
    with pytest.raises(SavedMismatchError) as caught:
        restore_checkpoint(tmp_path, like)
    assert isinstance(caught.value, ValueError)
    assert text_of(caught) == (
        f"{tmp_path.name}/3 does not fit train_state (- missing, + unknown):\n"
        "    - train_state.params['other']['w']\n"
        "    + train_state.state['counter']['none']\n"
        "    train_state.params['linear']['b']: bfloat16[3] -> float32[3]\n"
        "    train_state.params['linear']['w']: float32[2,3] -> float32[2,4]\n"
        "    train_state.state['counter']['count']: int32[] -> uint32[]\n"
        "    train_state.rng: key<fry>[] -> key<rbg>[]"
    )
    assert bits(like) == before


def test_restore_checkpoint__takes_no_older_one_for_a_difference(tmp_path):
    save_checkpoint(tmp_path, train_state_of(3))
    save_checkpoint(tmp_path, train_state_of(4)._replace(opt_state=()))
    with pytest.raises(SavedMismatchError, match="4 does not fit"):
        restore_checkpoint(tmp_path, train_state_of())


# --- what is refused, before anything is written


def refused(error, directory, *args, **kwargs):
    with pytest.raises(error) as caught:
        save_checkpoint(directory / "run", *args, **kwargs)
    assert names_in(directory) == []
    return text_of(caught)


@pytest.mark.parametrize("spec", [P(), P(AXIS)], ids=["copied", "cut"])
def test_restore_checkpoint__what_lies_on_devices_comes_back_there(tmp_path, spec):
    params = {"a": {"w": jnp.arange(8.0).reshape(4, 2)}}
    one = hs.TrainState(params, {}, (), jax.random.key(0), jnp.int32(1))
    rule = lambda path, leaf: spec if path.endswith("['w']") else None  # noqa: E731
    save_checkpoint(tmp_path, hs.shard_train_state(one, mesh(), rule))
    fresh = one._replace(params=jax.tree.map(jnp.zeros_like, params))
    like = hs.shard_train_state(fresh, mesh(), rule)
    restored = restore_checkpoint(tmp_path, like).train_state
    np.testing.assert_array_equal(restored.params["a"]["w"], params["a"]["w"])
    assert restored.params["a"]["w"].sharding == like.params["a"]["w"].sharding


def test_save_checkpoint__refuses_a_device_axis(tmp_path):
    full = train_state_of()._replace(state={})  # JAX 0.11 would end, see test_compat
    stacked = hs.replicate(full, four())
    assert refused(DeviceStackedError, tmp_path, stacked) == (
        "train_state.step has shape (4,) instead of (): it has an extra leading axis."
    )
    with pytest.raises(DeviceStackedError):
        restore_checkpoint(tmp_path, stacked)
    save_checkpoint(tmp_path, hs.unreplicate(stacked))
    assert restore_checkpoint(tmp_path, full).train_state.step == 0


def test_save_checkpoint__refuses_a_donated_train_state(tmp_path):
    train_state = train_state_of()
    train_state.opt_state[0]["mu"].delete()
    text = refused(DonatedBufferError, tmp_path, train_state)
    assert text.startswith("train_state.opt_state[0]['mu'] was passed to an earlier update")
    with pytest.raises(DonatedBufferError):
        restore_checkpoint(tmp_path, train_state)


@pytest.mark.parametrize("keep", [0, None, "3"])
def test_save_checkpoint__refuses_to_keep_no_number_of_them(tmp_path, keep):
    assert refused(ArgumentError, tmp_path, train_state_of(), keep=keep) == (
        f"keep is {keep!r}, but it must be an integer of at least 1."
    )


@pytest.mark.parametrize(
    ("train_state", "found"),
    [
        ({"params": 1}, "['step'] is None"),
        ((1, 2), ".step is None"),
        (Simplest(jnp.ones(())), ".step is 1.0"),
        (Simplest(jnp.array(True)), ".step is True"),
        (Simplest(-1), ".step is -1"),
    ],
    ids=["dict", "none", "float", "bool", "negative"],
)
def test_save_checkpoint__refuses_a_train_state_without_a_step(tmp_path, train_state, found):
    assert refused(ArgumentError, tmp_path, train_state) == (
        f"train_state{found}, but it must be a nonnegative integer."
    )


@pytest.mark.parametrize(
    ("leaf", "found"),
    [
        (np.zeros(3), "float64[3]"),
        (np.int64(3), "int64[]"),
        (2**40, "1099511627776"),
        ("word", "'word'"),
        (np.array([None]), "object[1]"),
        (jnp.array([1], jnp.uint4), "uint4[1]"),
    ],
    ids=["double", "integer", "huge", "text", "object", "uint4"],
)
def test_save_checkpoint__refuses_a_leaf_that_cannot_be_saved_exactly(tmp_path, leaf, found):
    train_state = train_state_of()._replace(params={"linear": {"w": leaf}})
    assert refused(ArgumentError, tmp_path, train_state) == (
        f"train_state.params['linear']['w'] is {found}, but it must be a random key, or an "
        "array with a dtype that both JAX and Orbax preserve."
    )
    with pytest.raises(ArgumentError):
        restore_checkpoint(tmp_path, train_state)


@pytest.mark.parametrize(
    "name",
    sorted({"uint4", "float4_e2m1fn", "float8_e8m0fnu", "float8_e4m3", "int2"} & {*dir(jnp)}),
)
def test_save_checkpoint__saves_a_rare_dtype_or_names_it(tmp_path, name):
    train_state = Simplest(jnp.int32(1), jnp.ones(3).astype(getattr(jnp, name)))
    with contextlib.suppress(ArgumentError):
        save_checkpoint(tmp_path, train_state)
    if names_in(tmp_path):
        assert_same_bits(restore_checkpoint(tmp_path, train_state).train_state, train_state)
    else:
        text = refused(ArgumentError, tmp_path, train_state)
        assert f"train_state.other is {name}[3], but" in text


def test_save_checkpoint__refuses_a_tracer(tmp_path):
    with pytest.raises(ArgumentError, match=r"train_state\.step is traced, but"):
        jax.jit(lambda step: save_checkpoint(tmp_path, Simplest(step)))(jnp.int32(0))


def test_save_checkpoint__refuses_names_that_orbax_would_confuse(tmp_path):
    params = {"a.b": {"c": jnp.ones(2)}, "a": {"b.c": jnp.ones(2)}}
    text = refused(ArgumentError, tmp_path, train_state_of()._replace(params=params))
    assert text.endswith("but it must be a leaf with a unique name.")


loop: list = []
loop.append(loop)


@pytest.mark.parametrize(
    ("position", "found"),
    [
        ((3, 17), "(3, 17)"),
        ({"epoch": np.int32(3)}, repr({"epoch": np.int32(3)})),
        ({1: 2}, "{1: 2}"),
        (loop, "[[[[[[[...]]]]]]]"),
    ],
)
def test_save_checkpoint__refuses_a_position_that_is_no_json_value(tmp_path, position, found):
    assert refused(ArgumentError, tmp_path, train_state_of(), position) == (
        f"position is {found}, but it must be a JSON value that comes back unchanged."
    )


def test_save_checkpoint__without_orbax_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "orbax.checkpoint", None)
    assert refused(MissingExtraError, tmp_path, train_state_of()) == (
        "orbax-checkpoint is not installed."
    )
    with pytest.raises(MissingExtraError):
        restore_checkpoint(tmp_path, train_state_of())


# --- a disk that fails


def test_save_checkpoint__refuses_a_file_in_the_place_of_the_directory(tmp_path):
    path = tmp_path / "run"
    path.write_text("mine")
    with pytest.raises(CheckpointDirectoryError) as caught:
        save_checkpoint(path, train_state_of())
    assert isinstance(caught.value, OSError)
    assert text_of(caught) == (
        f"the checkpoints in {path} cannot be used: "
        f"FileExistsError: [Errno 17] File exists: '{path}'."
    )
    with pytest.raises(CheckpointDirectoryError, match="NotADirectoryError") as caught:
        restore_checkpoint(path, train_state_of())
    assert "no older checkpoint was used" in str(caught.value)
    with pytest.raises(CheckpointDirectoryError, match="NotADirectoryError"):
        save_checkpoint(path / "below", train_state_of())
    assert path.read_text() == "mine"


def test_save_checkpoint__refuses_a_folder_that_may_not_be_written(tmp_path):
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


@pytest.mark.parametrize("function", ["_check_complete", "_write_manifest"])
def test_save_checkpoint__that_fails_halfway_leaves_the_older_ones_alone(
    tmp_path, monkeypatch, capfd, function
):
    save_checkpoint(tmp_path, train_state_of(1))
    error = OSError(28, "No space left on device")

    def fail(*args, **kwargs):
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(checkpoint, function, fail)
        with pytest.raises(CheckpointDirectoryError, match="No space left") as caught:
            save_checkpoint(tmp_path, train_state_of(2), keep=1)
    assert caught.value.__cause__ is error
    assert names_in(tmp_path) == ["1", "2.orbax-checkpoint-tmp-new"]
    assert restore_checkpoint(tmp_path, train_state_of()).train_state.step == 1
    save_checkpoint(tmp_path, train_state_of(2), keep=1)
    assert names_in(tmp_path) == ["2"]
    assert capfd.readouterr() == ("", "")


def rewritten(folder, reseal, **changes):
    """Change the manifest of a checkpoint, as a newer version or a flipped bit would."""
    path = manifest_file(folder)
    manifest = json.loads(path.read_bytes()) | changes
    if reseal:
        del manifest["sha256"]
        text = json.dumps(manifest, sort_keys=True)
        manifest["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    "newer",
    [
        {"reseal": True, "format": 2},
        {"reseal": False, "format": 2, "sha256": {"sealed": "otherwise"}, "leaves": []},
    ],
)
def test_save_checkpoint__refuses_a_newer_format_and_leaves_it(tmp_path, newer):
    train_state = train_state_of()
    for step in (1, 2):
        folder = save_checkpoint(tmp_path, train_state._replace(step=jnp.int32(step)))
    rewritten(folder, **newer)
    before = {path: path.read_bytes() for path in files_of(folder)}
    with pytest.raises(CheckpointDirectoryError) as error:
        restore_checkpoint(tmp_path, train_state)
    assert text_of(error) == (
        f"the checkpoints in {tmp_path} cannot be used: step 2 has format 2, but this haiku_state "
        "knows only formats up to 1."
    )
    for step in (2, 1, 3, 4, 5):  # the last ones would delete it
        with pytest.raises(CheckpointDirectoryError, match="has format 2"):
            save_checkpoint(tmp_path, train_state_of(step, 2.0), keep=1)
    assert before == {path: path.read_bytes() for path in before}
    assert names_in(tmp_path) == ["1", "2"]


def test_restore_checkpoint__a_flipped_bit_in_the_number_of_the_format_is_damage(tmp_path):
    train_state = train_state_of()
    for step in (1, 2):
        folder = save_checkpoint(tmp_path, train_state._replace(step=jnp.int32(step)))
    rewritten(folder, reseal=False, format=checkpoint.FORMAT ^ 2)
    with pytest.warns(SkippedCheckpointWarning):
        restored = restore_checkpoint(tmp_path, train_state)
    assert restored.skipped == ((2, "manifest has changed since it was written"),)


def test_restore_checkpoint__one_without_a_format_is_of_the_first(tmp_path):
    folder = save_checkpoint(tmp_path, train_state_of(), "here")
    path = manifest_file(folder)
    manifest = json.loads(path.read_bytes())
    assert manifest.pop("format") == 1
    path.write_text(json.dumps(manifest))
    rewritten(folder, reseal=True)
    assert restore_checkpoint(tmp_path, train_state_of()).position == "here"


def test_save_checkpoint__two_runs_do_not_save_in_one_folder_at_once(tmp_path, monkeypatch):
    inner = []

    def meanwhile(*arguments):
        with pytest.raises(CheckpointDirectoryError) as error:
            save_checkpoint(tmp_path, train_state_of(3))
        inner.append(text_of(error))
        return write(*arguments)

    write = checkpoint._write_manifest
    monkeypatch.setattr(checkpoint, "_write_manifest", meanwhile)
    save_checkpoint(tmp_path, train_state_of(2))
    monkeypatch.undo()
    assert inner == [f"the checkpoints in {tmp_path} cannot be used: another run is saving there."]
    save_checkpoint(tmp_path, train_state_of(3))
    assert names_in(tmp_path) == ["2", "3"]


def test_save_checkpoint__damaged_again_replaces_what_was_set_aside(tmp_path):
    for value in (1.0, 2.0):
        save_checkpoint(tmp_path, train_state_of(5, value))
        manifest_file(tmp_path / "5").unlink()
    save_checkpoint(tmp_path, train_state_of(5, 3.0))
    assert names_in(tmp_path) == ["5", "5.broken"]
    assert restore_checkpoint(tmp_path, train_state_of()).skipped == ()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of old Orbax
@pytest.mark.parametrize("size", ["small", "large"])
def test_restore_checkpoint__names_a_damaged_file_however_large(tmp_path, monkeypatch, size):
    """The bytes of a large file are read a second time only where Orbax cannot read it."""
    if size == "large":
        monkeypatch.setattr(checkpoint, "LARGE", 0)
    train_state = train_state_of(5)._replace(params={"m": {"w": jnp.arange(1e4)}})
    for step in (3, 5):
        save_checkpoint(tmp_path, train_state._replace(step=jnp.int32(step)))
    data = max(files_of(tmp_path / "5"), key=lambda path: path.stat().st_size)
    data.write_bytes(b"?" * data.stat().st_size)
    with pytest.warns(SkippedCheckpointWarning, match="step 5: .* has changed since it was"):
        assert restore_checkpoint(tmp_path, train_state).train_state.step == 3


@pytest.mark.parametrize(
    "error",
    [
        checkpoint._DamagedError("a is missing"),
        ArgumentError(argument="a", value=1, expected="2", why="b", more="c"),
    ],
)
def test_save_checkpoint__an_error_reaches_the_other_processes_as_it_is(error):
    told = checkpoint._from_text(*json.loads(json.dumps(checkpoint._as_text(error))))
    assert (type(told), str(told)) == (type(error), str(error))


@pytest.mark.parametrize("text", ["null", "[]", "3", '"a"', "{}"])
def test_restore_checkpoint__a_manifest_of_another_kind_is_damage(tmp_path, text):
    for step in (1, 2):
        save_checkpoint(tmp_path, train_state_of(step))
    manifest_file(tmp_path / "2").write_text(text)
    with pytest.warns(SkippedCheckpointWarning, match="manifest has changed"):
        assert restore_checkpoint(tmp_path, train_state_of()).train_state.step == 1
    save_checkpoint(tmp_path, train_state_of(2))
    assert names_in(tmp_path) == ["1", "2", "2.broken"]


def test_restore_checkpoint__a_folder_in_the_place_of_a_file_is_damage(tmp_path):
    for step in (1, 2):
        save_checkpoint(tmp_path, train_state_of(step))
    manifest_file(tmp_path / "2").unlink()
    manifest_file(tmp_path / "2").mkdir()
    with pytest.warns(SkippedCheckpointWarning, match="manifest is missing"):
        assert restore_checkpoint(tmp_path, train_state_of()).train_state.step == 1


def test_save_checkpoint__refuses_the_folder_of_a_checkpoint(tmp_path):
    folder = save_checkpoint(tmp_path, train_state_of(1))
    for call in (
        lambda: restore_checkpoint(folder, train_state_of()),
        lambda: save_checkpoint(folder, train_state_of(2)),
    ):
        with pytest.raises(ArgumentError, match="must be the folder that contains this checkpoint"):
            call()
    assert restore_checkpoint(folder.parent, train_state_of()).train_state.step == 1
    assert names_in(tmp_path) == ["1"]


def test_restore_checkpoint__a_path_to_nothing_is_no_empty_folder(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    for name in ("file/run", "link"):
        with pytest.raises(CheckpointDirectoryError):
            restore_checkpoint(tmp_path / name, train_state_of())


def test_save_checkpoint__refuses_a_bucket_whether_a_text_or_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for bucket in ("gs://b/x", Path("gs://b/x"), Path("s3://b")):
        for call in (save_checkpoint, restore_checkpoint):
            with pytest.raises(ArgumentError, match=f"'{bucket}', but it must be a folder in the"):
                call(bucket, train_state_of(1))
    assert names_in(tmp_path) == []


def test_save_checkpoint__an_integer_of_numpy_says_how_many_to_keep(tmp_path):
    for step in (1, 2, 3):
        save_checkpoint(tmp_path, train_state_of(step), keep=np.int64(2))
    assert names_in(tmp_path) == ["2", "3"]


def test_save_checkpoint__says_that_the_folder_comes_first(tmp_path):
    with pytest.raises(ArgumentError, match="directory is TrainState") as caught:
        save_checkpoint(train_state_of(), str(tmp_path))
    assert "the folder is the first argument" in str(caught.value)


@pytest.mark.parametrize(
    ("error", "is_of_the_disk"),
    [
        (OSError(28, "No space left on device"), True),
        (RuntimeError("the event loop is closed"), False),
    ],
)
def test_save_checkpoint__speaks_of_space_where_the_file_system_has_failed(
    tmp_path, monkeypatch, error, is_of_the_disk
):
    def fail(*arguments):
        raise error

    monkeypatch.setattr(checkpoint, "_with_handler", fail)
    with pytest.raises(CheckpointDirectoryError) as caught:
        save_checkpoint(tmp_path, train_state_of())
    assert ("enough free space" in str(caught.value)) == is_of_the_disk
    assert "the older checkpoints are untouched" in str(caught.value)


FULL = """
import resource, signal, sys
import jax, jax.numpy as jnp, numpy as np
import haiku_state as hs

def train_state(step, size):
    rng = np.random.default_rng(step)
    leaves = {f"w{i}": jnp.asarray(rng.normal(size=size), jnp.float32) for i in range(8)}
    return {"step": jnp.int32(step), **leaves}

hs.storage.save_checkpoint("run", train_state(0, 10))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
for step in range(1, 20):
    try:
        hs.storage.save_checkpoint("run", train_state(step, 3000))
    except hs.errors.CheckpointDirectoryError as error:
        print(error.what, error.why)
restored = hs.storage.restore_checkpoint("run", train_state(0, 10))
print(restored.train_state["step"], restored.skipped)
"""


def test_save_checkpoint__tells_of_files_that_may_not_grow_in_one_sentence_each(user):
    ran = user.python("-W", "ignore", "-c", FULL)
    *failed, last = ran.stdout.splitlines()
    assert (ran.returncode, ran.stderr, last) == (0, "", "0 ()")
    assert len(failed) == 19
    for line in failed:
        assert "run cannot be used: File too large. saving needs a writable folder with" in line


def test_save_checkpoint__a_loop_of_another_thread_stays_as_it_is(tmp_path, monkeypatch):
    made = []
    with_handler = checkpoint._exact

    def begin_a_loop(folder):
        thread = threading.Thread(target=lambda: made.append(asyncio.new_event_loop()))
        thread.start()
        thread.join()
        return with_handler(folder)

    monkeypatch.setattr(checkpoint, "_exact", begin_a_loop)
    save_checkpoint(tmp_path, train_state_of())
    for loop in made:
        assert loop.get_exception_handler() is None
        assert "call_soon_threadsafe" not in vars(loop)
        loop.close()
    assert made


def test_save_checkpoint__what_is_muted_is_as_before_afterwards(tmp_path):
    def now():
        logs = [logging.getLogger(name).disabled for name in ("absl", "asyncio")]
        return (*logs, asyncio.get_event_loop_policy().new_event_loop)

    before = now()
    save_checkpoint(tmp_path, train_state_of())
    assert now() == before
    logging.getLogger("absl").disabled = True
    try:
        save_checkpoint(tmp_path, train_state_of(8))
        assert logging.getLogger("absl").disabled
    finally:
        logging.getLogger("absl").disabled = False


def test_save_checkpoint__a_loop_of_orbax_that_is_closed_is_asked_in_vain():
    loop = checkpoint._patient(asyncio.new_event_loop())
    loop.close()
    assert loop.call_soon_threadsafe(print) is None  # and no RuntimeError in a thread


def test_restore_checkpoint__what_was_saved_in_shards_is_intact_on_one_device(tmp_path):
    numbers = np.random.default_rng(0).normal(size=(32, 4)).astype(np.float32)
    placed = train_state_of()._replace(params={"w": jax.device_put(numbers, OVER_ROWS)})
    folder = save_checkpoint(tmp_path, placed)
    like = train_state_of()._replace(params={"w": jnp.zeros((32, 4))})
    restored = restore_checkpoint(tmp_path, like)
    assert restored.skipped == ()
    assert np.array_equal(restored.train_state.params["w"], numbers)
    manifest = json.loads(manifest_file(folder).read_text())
    assert manifest["leaves"]["checksum"]["train_state.params['w']"] == checksum(numbers)
    assert manifest["format"] == 1


def test_save_checkpoint__an_element_of_8_bytes_is_two_words_of_the_checksum():
    jax.config.update("jax_enable_x64", True)
    try:
        array = jax.device_put(np.random.default_rng(0).normal(size=(8, 3)), OVER_ROWS)
        assert array.dtype == np.float64
        assert sum(map(int, leaves.partial_sums(array))) % 2**32 == checksum(array)
    finally:
        jax.config.update("jax_enable_x64", False)


def test_save_checkpoint__an_error_waits_for_the_threads_of_orbax():
    thread = threading.Timer(0.3, lambda: None)
    thread.name = checkpoint.THREADS
    thread.start()
    with pytest.raises(ValueError, match="as it is"), checkpoint._QUIET:
        raise ValueError("as it is")
    assert not thread.is_alive()


def test_save_checkpoint__a_loop_of_orbax_tells_nothing(caplog):
    def make():
        loops.append(asyncio.get_event_loop_policy().new_event_loop())

    loops, thread = [], threading.Thread(target=make, name=checkpoint.THREADS)
    with checkpoint._QUIET:
        thread.start()
        thread.join()
    (loop,) = loops
    loop.call_exception_handler({"message": "an exception was never retrieved"})
    loop.close()
    assert loop.call_soon_threadsafe(print) is None
    assert caplog.text == ""
