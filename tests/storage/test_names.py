"""A checkpoint comes back from a folder of any name that the file system takes."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from support.laws import law
from support.runners import AXIS, mesh

from haiku_state.errors import ArgumentError, CheckpointDirectoryError, UndeletedCheckpointWarning
from haiku_state.storage import checkpoint, restore_checkpoint, save_checkpoint

SWEEPS = ("lr[0.1]", "seed=[1]", "[!a]", "a*", "a?", "**", "{a,b}", "~", "$HOME", "%41", "a:b", "#")
NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1)


def tree(step):
    return {"step": jnp.int32(step), "a": {"w": jnp.arange(3.0) + step}}


def check(folder):
    for step in range(4):
        save_checkpoint(folder, tree(step), keep=2)
    found = restore_checkpoint(folder, tree(0))
    np.testing.assert_array_equal(found.train_state["a"]["w"], np.arange(3) + 3)
    assert sorted(os.listdir(folder)) == ["2", "3"]


@pytest.mark.parametrize("name", [*SWEEPS, "run.orbax-checkpoint-tmp-1", "ocdbt.process_0", "0"])
def test_save_checkpoint__takes_a_folder_that_a_sweep_names(tmp_path, name):
    check(tmp_path / name / "run")


@law(30)
@given(name=NAMES.filter(lambda name: name not in (".", "..") and len(name.encode()) < 256))
@example(name="\n")
@example(name="[")
def test_save_checkpoint__takes_a_folder_of_any_name(tmp_path_factory, name):
    folder = tmp_path_factory.mktemp("names") / name
    try:
        check(folder)
    except ArgumentError:  # before anything is written
        assert not folder.exists()


@pytest.mark.parametrize("name", [os.fsdecode(b"lr\xff"), "\\", "a\\b", "run.__lock"])
def test_save_checkpoint__refuses_a_name_that_tensorstore_does_not_take(tmp_path, name):
    for folder in (os.path.join(tmp_path, name), os.path.join(tmp_path, name, "run")):
        for call in (save_checkpoint, restore_checkpoint):
            with pytest.raises(ArgumentError, match="UTF-8"):
                call(folder, tree(0))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("lost", ["manifest.ocdbt", "d"])
def test_save_checkpoint__without_its_arrays_replaces_nothing(tmp_path, monkeypatch, lost):
    save_checkpoint(tmp_path, tree(0), keep=1)
    finalize = checkpoint.orbax().PyTreeCheckpointHandler.finalize

    def incomplete(handler, path):
        finalize(handler, path)
        if (path / lost).is_dir():
            (path / lost).rmtree()
        else:
            (path / lost).unlink()

    monkeypatch.setattr(checkpoint.orbax().PyTreeCheckpointHandler, "finalize", incomplete)
    with pytest.raises(CheckpointDirectoryError):
        save_checkpoint(tmp_path, tree(1), keep=1)
    monkeypatch.undo()
    assert restore_checkpoint(tmp_path, tree(0)).train_state["step"] == 0


def test_save_checkpoint__an_old_one_that_lies_elsewhere_stays_there(tmp_path):
    run, larger_disk = tmp_path / "run", tmp_path / "larger disk"
    save_checkpoint(run, tree(0))
    (run / "0").rename(larger_disk)
    (run / "0").symlink_to(larger_disk)
    assert restore_checkpoint(run, tree(0)).train_state["step"] == 0
    for step in (1, 2, 3):
        save_checkpoint(run, tree(step))
    assert sorted(os.listdir(run)) == ["1", "2", "3"]
    assert (larger_disk / "manifest").is_dir()


def test_save_checkpoint__an_old_one_that_cannot_be_deleted_fails_no_save(tmp_path, monkeypatch):
    def undeletable(path, **options):
        raise PermissionError(13, "Permission denied", str(path))

    save_checkpoint(tmp_path, tree(0), keep=1)
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint.shutil, "rmtree", undeletable)
        for step in (1, 2):
            with pytest.warns(UndeletedCheckpointWarning, match="Permission denied"):
                save_checkpoint(tmp_path, tree(step), keep=1)
    assert restore_checkpoint(tmp_path, tree(0)).train_state["step"] == 2
    save_checkpoint(tmp_path, tree(3), keep=1)
    assert os.listdir(tmp_path) == ["3"]


def test_restore_checkpoint__reads_what_is_sharded_from_such_a_folder(tmp_path):
    rows = NamedSharding(mesh(), P(AXIS))
    saved = {"step": jnp.int32(1), "w": jax.device_put(jnp.arange(16.0), rows)}
    save_checkpoint(tmp_path / "[a]", saved)
    found = restore_checkpoint(tmp_path / "[a]", saved).train_state
    np.testing.assert_array_equal(found["w"], np.arange(16.0))
    assert found["w"].sharding == rows
