"""The folder of checkpoints, by orbax: one folder per step, complete or absent."""

import dataclasses
import functools
import itertools
import re
import shutil
from pathlib import Path
from typing import Any

from haiku_state.checkpoint.manifest import (
    BrokenError,
    Checkpoint,
    Manifest,
    broken,
    in_one_line,
    read_files,
    write_files,
)
from haiku_state.checkpoint.processes import Array
from haiku_state.errors import MissingExtraError
from haiku_state.errors.checkpoints import (
    MISSING,
    UNREADABLE,
    CheckpointDirectoryError,
    CheckpointExistsError,
)

_ITEM = "train_state"
_MARKS = {"_CHECKPOINT_METADATA", "commit_success.txt"}
_STEP = re.compile(r"0|[1-9]\d*")
_UNFINISHED = re.compile(r"\d+\.orbax-checkpoint-tmp.*")
_BROKEN = re.compile(r"(\d+)\.broken")

_managers = itertools.count()


def orbax() -> Any:
    """Import orbax, or say how to install it."""
    try:
        import orbax.checkpoint
    except ImportError as error:
        raise MissingExtraError(library="orbax-checkpoint", extra="checkpoint") from error
    return orbax.checkpoint


def steps_in(directory: Path) -> list[int]:
    """Give the steps of all checkpoints in a folder, broken ones too, the smallest first."""
    if not directory.exists():
        return []
    try:
        folders = [path for path in directory.iterdir() if _STEP.fullmatch(path.name)]
        return sorted(int(path.name) for path in folders if _is_ours(path))
    except OSError as error:
        raise _refused(directory, error) from error


def read(directory: Path, step: int) -> Checkpoint:
    """Read a checkpoint, and verify it.

    Raises:
      BrokenError: it is not whole.
      CheckpointDirectoryError: it may be whole, but cannot be read.
    """
    if not (directory / str(step) / _ITEM).is_dir():
        raise broken(MISSING, path=f"{step}/{_ITEM}")  # orbax 0.6 would give None
    _, _, restore_args = _handler()
    item = {_ITEM: restore_args(step)}
    try:
        with _manager(directory) as manager:
            found: Checkpoint = manager.restore(step, args=orbax().args.Composite(**item))[_ITEM]
    except BrokenError:
        raise
    except (FileNotFoundError, KeyError, ValueError) as error:
        raise broken(UNREADABLE, error=in_one_line(error)) from error
    except Exception as error:
        raise _refused(directory, error) from error
    return found


def write(directory: Path, manifest: Manifest, data: list[Array]) -> None:
    """Write a checkpoint, unless the same one is there.

    Raises:
      CheckpointExistsError: another one of this or a later step is there, and whole.
      CheckpointDirectoryError: it cannot be written.
    """
    _, save_args, _ = _handler()
    step, item = manifest["step"], {_ITEM: save_args(manifest, data)}
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for other in [other for other in steps_in(directory) if other >= step]:
            try:
                leaves = read(directory, other).manifest["leaves"]
            except BrokenError:
                _set_aside(directory, other)
                continue
            if other == step and leaves == manifest["leaves"]:
                return
            raise CheckpointExistsError(directory=directory, existing=other, step=step)
        _clean(directory)
        with _manager(directory) as manager:
            manager.save(step, args=orbax().args.Composite(**item), force=True)
    except (CheckpointExistsError, CheckpointDirectoryError):
        raise
    except Exception as error:
        _clean(directory)
        raise _refused(directory, error) from error


def rotate(directory: Path, keep: int) -> None:
    """Delete all but the newest checkpoints, and broken ones that are older."""
    steps = steps_in(directory)
    try:
        for step in steps[:-keep]:
            # under a name that the next save deletes, should this one not come to its end
            going = directory / f"{step}.orbax-checkpoint-tmp-deleted"
            (directory / str(step)).rename(going)
            shutil.rmtree(going)
        for path in directory.iterdir():
            if (aside := _BROKEN.fullmatch(path.name)) and int(aside[1]) < steps[-keep:][0]:
                shutil.rmtree(path)
    except OSError as error:
        raise _refused(directory, error) from error


@functools.cache
def _handler() -> tuple[Any, Any, Any]:
    """Make orbax's handler of a train state, and what it takes to save and to restore one.

    It writes on the spot what process 0 holds. Orbax's own handler of arrays leaves its threads
    running when one of them fails, refuses empty arrays, and stores each array twice.
    """
    ocp = orbax()

    class Handler(ocp.CheckpointHandler):  # type: ignore[name-defined,misc]
        def save(self, directory: Any, args: Any) -> None:
            write_files(Path(directory), args.manifest, args.data)

        def restore(self, directory: Any, args: Any) -> Checkpoint:
            return read_files(Path(directory), args.step)

    @ocp.args.register_with_handler(Handler, for_save=True)
    @dataclasses.dataclass
    class Save(ocp.args.CheckpointArgs):  # type: ignore[name-defined,misc]
        manifest: Manifest
        data: list[Array]

    @ocp.args.register_with_handler(Handler, for_restore=True)
    @dataclasses.dataclass
    class Restore(ocp.args.CheckpointArgs):  # type: ignore[name-defined,misc]
        step: int

    return Handler, Save, Restore


def _manager(directory: Path) -> Any:
    ocp, (handler, _, _) = orbax(), _handler()
    # one process alone comes here, and must not wait for others; each barrier has a name of its own
    alone = ocp.options.MultiprocessingOptions(
        primary_host=0,
        active_processes={0},
        barrier_sync_key_prefix=f"haiku_state_{next(_managers)}",
    )
    options = ocp.CheckpointManagerOptions(
        create=False, enable_async_checkpointing=False, multiprocessing_options=alone
    )
    return ocp.CheckpointManager(
        directory, options=options, item_names=(_ITEM,), item_handlers={_ITEM: handler()}
    )


def _is_ours(folder: Path) -> bool:
    """Say whether the folder is a checkpoint of ours, or what damage has left of one."""
    if not folder.is_dir():
        return False
    names = {path.name for path in folder.iterdir()}
    return _ITEM in names or names <= _MARKS


def _set_aside(directory: Path, step: int) -> None:
    """Keep a broken checkpoint, under a name that is no step."""
    aside = directory / f"{step}.broken"
    shutil.rmtree(aside, ignore_errors=True)
    (directory / str(step)).rename(aside)


def _clean(directory: Path) -> None:
    """Delete what a save that did not come to its end has left."""
    for path in directory.glob("*.orbax-checkpoint-tmp*"):
        if _UNFINISHED.fullmatch(path.name):
            shutil.rmtree(path, ignore_errors=True)


def _refused(directory: Path, error: Exception) -> CheckpointDirectoryError:
    return CheckpointDirectoryError(directory=directory, reason=in_one_line(error))
