"""Checkpoints by Orbax: a train state and its place in the data, for an exact resume.

A checkpoint is a folder whose name is the step, with two items that any Orbax program can read:

    6/train_state/    the arrays, under the names of the train state, written by Orbax
    6/manifest/       JSON: what the leaves are, their checksums, and the position in the data

Orbax alone would restore a flipped bit as a wrong number. So the manifest holds a checksum of each
leaf, which is compared with the restored array, and the SHA-256 of each file, which is compared
before Orbax reads it, or, of a large file, if Orbax cannot read it.
"""

import asyncio
import contextlib
import glob
import hashlib
import json
import logging
import operator
import os
import re
import shutil
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from haiku_state import errors
from haiku_state.errors import arguments
from haiku_state.errors.base import restored
from haiku_state.errors.describe import is_weak, leaves_by_path, with_dicts
from haiku_state.exchange import gathered, in_all
from haiku_state.storage.leaves import (
    allocated,
    arrays_of,
    data_of,
    differences,
    kinds_of,
    orbax,
    partial_sums,
    replaced,
    step_of,
    to_save,
)

Manifest = dict[str, Any]

ARRAYS, MANIFEST = "train_state", "manifest"

# what this version writes; a later one may write otherwise, but still this number and the seal
FORMAT = 1

# bytes, above which a file holds arrays and nothing else
LARGE = 2**20

# seconds for Orbax's threads to end after an error, and the names of ours in which it runs
ORBAX_ENDS, THREADS = 10, "haiku_state orbax"

# a folder with this in its name is not complete, or being deleted; Orbax ignores it too
UNFINISHED = ".orbax-checkpoint-tmp-"


class Restored(NamedTuple):
    """The result of :func:`restore_checkpoint`.

    Example:
      >>> from haiku_state.storage import Restored
      >>> Restored._fields
      ('train_state', 'position', 'skipped')
    """

    train_state: Any
    """The train state, bit for bit the same as when it was saved."""

    position: Any
    """The position in the data that was saved with the train state, a JSON value."""

    skipped: tuple[tuple[int, str], ...]
    """For each newer checkpoint that is damaged, its step and what is wrong with it."""


def save_checkpoint(
    directory: str | os.PathLike[str],
    train_state: Any,
    position: Any = None,
    *,
    keep: int = 3,
) -> Path:
    """Save a train state and its position in the data to a folder of their own, using Orbax.

    The folder is named after the step and gets this name only when it is complete: if a process is
    killed halfway, there is no new checkpoint, and the older checkpoints do not change. The arrays
    are stored as Orbax's item ``train_state``, in nested dicts with the names of the train state's
    fields, and random keys are stored as their data. The JSON item ``manifest`` holds what the
    arrays alone do not: the kind of each leaf, checksums, and the position. A restored leaf has the
    same weak type as the saved leaf.

    A checkpoint is never silently replaced. If an intact checkpoint of the same step and the same
    train state exists, this checkpoint and its position stay unchanged, and nothing is written. If
    the checkpoint of this step holds a different train state, or if there are only checkpoints of
    later steps, the directory belongs to a different run, and an error is raised. A damaged
    checkpoint of this step or a later step is set aside (for example, ``6`` is renamed to
    ``6.broken``).

    With several processes, each process calls this function with its part of the same train state
    and writes the shards that it holds, so all processes must have access to the same directory.
    When the checkpoint is complete, the function returns in all processes; an error in one process
    is raised in all of them.

    Args:
      directory: the folder for the checkpoints of one run, which is created if it does not exist.
        Other files in this folder are not changed.
      train_state: a :class:`.TrainState` of one replica or of the members of an ensemble, or any
        PyTree with an integer scalar ``step``. Its leaves may be random keys or arrays of any
        shape, dtype and sharding.
      position: any JSON value, such as ``{"epoch": 3, "batch": 17}``. Floats are restored exactly,
        even NaN and infinity. With several processes, the position of process 0 is saved.
      keep: how many checkpoints to keep, at least 1; the checkpoints with the largest steps are
        kept.

    Returns:
      The folder of the checkpoint, named after its step.

    Raises:
      MissingExtraError: Orbax is not installed.
      ArgumentError: ``step`` is not a nonnegative integer, JAX or Orbax cannot store a leaf
        exactly, the position is not a JSON value, or ``keep`` is below 1.
      DeviceStackedError: the train state has a device axis.
      DonatedBufferError: an update step has already consumed the train state.
      ReplicaMismatchError: a leaf that every process holds as a whole has different values in
        different processes.
      CheckpointDirectoryError: the directory belongs to a different run, another run is writing to
        it, it holds a checkpoint in a newer format, or it is not writable.
      LostProcessError: another process does not make the corresponding call within 300 seconds.

    Example:
      >>> import tempfile, jax, jax.numpy as jnp
      >>> from haiku_state import TrainState
      >>> from haiku_state.storage import restore_checkpoint, save_checkpoint
      >>> params = {"linear": {"b": jnp.ones(2)}}
      >>> train_state = TrainState(params, {}, (), jax.random.key(0), jnp.int32(7))
      >>> with tempfile.TemporaryDirectory() as directory:
      ...     folder = save_checkpoint(directory, train_state, {"epoch": 1, "batch": 3})
      ...     restored = restore_checkpoint(directory, train_state)
      >>> print(folder.name, restored.train_state.params["linear"]["b"], restored.position)
      7 [1. 1.] {'epoch': 1, 'batch': 3}

    References:
      Orbax's documentation, `Checkpointing
      <https://orbax.readthedocs.io/en/latest/guides/checkpoint/orbax_checkpoint_101.html>`__.
    """
    directory = _local(directory)
    processes = _Processes(directory, arguments.UNWRITABLE)

    def checked() -> tuple[int, Any, Any]:
        _check_name(directory)
        _check_keep(keep)
        _check_position(position)
        arrays = arrays_of(train_state)
        return _step_of(train_state), arrays, _nested(arrays)

    step, arrays, nested = processes.each(checked)
    processes.agree(directory=str(directory), step=step)
    unfinished = directory / f"{step}{UNFINISHED}new"
    by_path = leaves_by_path(train_state=arrays)
    checksums, differing = processes.checksums(arrays)
    if differing:
        raise in_all(arguments.processes_differ(differing))
    leaves = {
        "kind": kinds_of(train_state=arrays),
        "weak": [path for path, leaf in by_path.items() if is_weak(leaf)],
        "checksum": checksums,
    }

    def is_new() -> bool:
        directory.mkdir(parents=True, exist_ok=True)
        held.enter_context(_locked(directory))
        if _is_saved(directory, step, leaves):
            return False
        for left in directory.glob(f"[0-9]*{UNFINISHED}*"):  # by a save that failed or was killed
            _delete(left, left.name)
        (unfinished / ARRAYS).mkdir(parents=True)
        return True

    def write_arrays() -> None:
        save = orbax().args.PyTreeSave(jax.tree.map(to_save, nested))
        _with_handler(unfinished, lambda handler, path: handler.save(path, args=save))

    def complete() -> None:
        _with_handler(unfinished, lambda handler, path: handler.finalize(path))
        _check_complete(unfinished, nested)
        _write_manifest(
            unfinished, {"format": FORMAT, "step": step, "leaves": leaves, "position": position}
        )
        unfinished.rename(directory / str(step))
        for old in _steps_in(directory)[:-keep]:
            # under a name that the next save deletes, in case this one does not finish
            _delete(directory / str(old), f"{old}{UNFINISHED}old")

    with contextlib.ExitStack() as held:
        if processes.first(is_new):
            processes.each(write_arrays)
            processes.first(complete)
    return directory / str(step)


def restore_checkpoint(directory: str | os.PathLike[str], like: Any) -> Restored | None:
    """Read the newest intact checkpoint in a folder.

    Checksums that were saved with the checkpoint show whether a file or a restored leaf has
    changed. A truncated or modified checkpoint is skipped with a warning, and the next older
    checkpoint is used.

    With several processes, each process calls this function and reads the shards that it needs; an
    error in one process is raised in all of them.

    Args:
      directory: the directory that was passed to :func:`save_checkpoint`.
      like: a fresh train state of the same model and optimizer, of one replica, or its shapes, as
        ``jax.eval_shape`` returns them. It determines the structure of the result and the placement
        of each leaf: a leaf that is sharded over a mesh is restored with the same sharding, and a
        NumPy array or a shape without a sharding is restored as a JAX array on the default device.
        To skip a part, put ``...`` there: ``like._replace(opt_state=...)`` reads a checkpoint whose
        optimizer is not known, and the restored opt_state is None.

    Returns:
      The train state, the position, and the checkpoints that were skipped, as a :class:`Restored`;
      None if there is no checkpoint.

    Raises:
      MissingExtraError: Orbax is not installed.
      SavedMismatchError: the checkpoint does not fit ``like``; the error lists every path, shape,
        dtype and kind of key that differs.
      DamagedFileError: the directory contains checkpoints, but none of them is intact.
      CheckpointDirectoryError: the path is a file, the directory cannot be read, or a newer version
        of this package has written the newest checkpoint.
      LostProcessError: another process does not make the corresponding call within 300 seconds.
      DeviceStackedError: ``like`` has a device axis.
      DonatedBufferError: an update step has already consumed ``like``.
      ArgumentError: ``like`` has a leaf that cannot be saved exactly.

    Example:
      >>> import tempfile, jax, jax.numpy as jnp
      >>> from haiku_state import TrainState
      >>> from haiku_state.storage import restore_checkpoint
      >>> params = {"linear": {"b": jnp.zeros(2)}}
      >>> like = TrainState(params, {}, (), jax.random.key(0), jnp.int32(0))
      >>> with tempfile.TemporaryDirectory() as directory:
      ...     print(restore_checkpoint(directory, like))
      None

    References:
      The inverse of :func:`save_checkpoint`.
    """
    directory = _local(directory)
    processes = _Processes(directory, arguments.UNREADABLE)
    left_out = [path for path, leaf in leaves_by_path(train_state=like).items() if leaf is ...]
    read = jax.tree.map(lambda leaf: None if leaf is ... else leaf, like)

    def checked() -> Any:
        _check_name(directory)
        return arrays_of(allocated(read))

    places = processes.each(checked)
    processes.agree(directory=str(directory))
    damaged: dict[int, str] = {}
    # listed again each time: the training may be replacing old ones with newer ones
    while untried := processes.first(
        lambda: [step for step in _steps_in(directory) if step not in damaged]
    ):
        step = untried[-1]
        try:
            manifest, train_state = _restored_step(processes, step, places, left_out)
        except _DamagedError as error:
            damaged[step] = str(error)
            continue
        skipped = {other: reason for other, reason in damaged.items() if other > step}
        if skipped:
            values = {"directory": directory, "step": step, "skipped": _as_steps(skipped)}
            warnings.warn(errors.SkippedCheckpointWarning(**values), stacklevel=2)
        return Restored(train_state, manifest["position"], tuple(skipped.items()))
    if damaged:
        raise errors.DamagedFileError(
            path=directory,
            damage=_as_steps(damaged),
        )
    return None


# --- what is checked before anything is written or loaded


def _local(directory: str | os.PathLike[str]) -> Path:
    """Return the folder; a URL would become a folder of that name here."""
    try:
        path = os.fsdecode(directory)
    except TypeError:
        raise arguments.checkpoint_directory(directory) from None
    if re.match(r"\w{2,}:/", path):  # a Path has one slash only
        raise arguments.checkpoint_url(path)
    folder = Path(os.path.abspath(path))
    if all((folder / item).is_dir() for item in (ARRAYS, MANIFEST)):
        raise arguments.folder_is_checkpoint(folder)
    return folder


def _check_name(directory: Path) -> None:
    orbax()  # or say what to install
    try:
        path = directory.as_posix().encode()  # otherwise, TensorStore may end the process
        _open_arrays(directory)  # which writes nothing
        is_known = b"\\" not in path
    except ValueError:
        is_known = False
    if not is_known:
        raise arguments.checkpoint_name(str(directory))


def _check_keep(keep: Any) -> None:
    if not isinstance(keep, int | np.integer) or keep < 1:
        raise arguments.checkpoint_keep(keep)


def _step_of(train_state: Any) -> int:
    step = step_of(train_state)
    if np.ndim(step) and len(set(np.ravel(step).tolist())) == 1:  # of an ensemble
        step = np.ravel(step)[0]
    with contextlib.suppress(TypeError):
        if operator.index(step) >= 0:
            return operator.index(step)
    raise arguments.checkpoint_step(train_state, step)


def _check_position(position: Any) -> None:
    with contextlib.suppress(TypeError, ValueError):
        # what JSON changes, such as a tuple or a key that is not a string, would not come back
        if repr(json.loads(json.dumps(position))) == repr(position):
            return
    raise arguments.checkpoint_position(position)


# --- the folder of all checkpoints


def _steps_in(directory: Path) -> list[int]:
    """Return the steps of all checkpoints, including damaged ones, smallest first."""
    try:
        folders = [*directory.iterdir()]
    except FileNotFoundError:
        if directory.is_symlink():  # to nothing
            raise
        return []
    return sorted(
        int(folder.name)
        for folder in folders
        if re.fullmatch(r"0|[1-9]\d*", folder.name)
        and any((folder / item).exists() for item in (ARRAYS, MANIFEST))  # else it is not ours
    )


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Keep other runs' first processes from saving here at the same time."""
    try:
        import fcntl
    except ImportError:  # Windows does not have it, and cannot lock a folder
        yield
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise arguments.checkpoints_locked(directory) from None
    finally:
        os.close(descriptor)


def _delete(folder: Path, name: str) -> None:
    """Delete a checkpoint, renamed first; if it is a link to another place, delete the link."""
    try:
        folder = folder.rename(folder.with_name(name))
        if folder.is_symlink():
            folder.unlink()
        else:
            shutil.rmtree(folder)
    except OSError as error:  # what is saved is complete all the same
        warnings.warn(errors.UndeletedCheckpointWarning(folder, error), stacklevel=2)


def _is_saved(directory: Path, step: int, leaves: Mapping[str, Any]) -> bool:
    """Return whether the same checkpoint exists; set damaged ones aside; reject another run's."""
    steps = _steps_in(directory)
    for other in steps:  # also the old ones, which would soon be deleted
        _check_format(directory, other)
    for other in [other for other in steps if other >= step]:
        try:
            manifest = _intact(directory, other)
        except _DamagedError:
            aside = directory / f"{other}.broken"
            shutil.rmtree(aside, ignore_errors=True)
            (directory / str(other)).rename(aside)
            continue
        if other == step and manifest["leaves"] == leaves:
            return True
        raise arguments.checkpoints_of_another(directory, other)
    return False


def _as_steps(damaged: Mapping[int, str]) -> str:
    return errors.as_lines(f"step {step}: {reason}" for step, reason in damaged.items())


# --- the manifest, and the files that it vouches for


class _DamagedError(Exception):
    """A checkpoint is not intact, for the reason given."""


def _write_manifest(folder: Path, manifest: Manifest) -> None:
    arrays = [path for path in sorted((folder / ARRAYS).rglob("*")) if path.is_file()]
    manifest = {**manifest, "files": _digests(folder, arrays)}
    (folder / MANIFEST).mkdir()
    text = json.dumps({**manifest, "sha256": _seal(manifest)})
    # the name by which Orbax's JsonCheckpointHandler knows it
    (folder / MANIFEST / "metadata").write_text(text, encoding="utf-8")


def _intact(directory: Path, step: int) -> Manifest:
    """Return the manifest of a checkpoint whose small files are those that were written.

    They say where the arrays are, so Orbax reads them only then. The large ones hold nothing but
    the arrays, which have checksums of their own: it would take half as long again to read each
    file twice.
    """
    folder = directory / str(step)
    _check_format(directory, step)
    try:
        manifest = _manifest_of(folder)
        _check_unchanged(MANIFEST, manifest.pop("sha256", None) == _seal(manifest))
        if manifest["step"] != step:  # somebody has renamed the folder
            raise _DamagedError(arguments.renamed_checkpoint(step, manifest["step"]))
        _check_files(folder, manifest["files"], at_most=LARGE)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        name = Path(error.filename).relative_to(folder).as_posix()
        path = MANIFEST if name.startswith(MANIFEST) else name
        raise _DamagedError(arguments.missing_file(path)) from None
    except ValueError:  # it is no longer JSON
        raise _DamagedError(arguments.changed_file(MANIFEST)) from None
    return manifest


def _manifest_of(folder: Path) -> Manifest:
    manifest = json.loads((folder / MANIFEST / "metadata").read_bytes())
    if not isinstance(manifest, dict):
        raise ValueError
    return manifest


def _check_format(directory: Path, step: int) -> None:
    """Reject what a newer version of this package has written: it is not damaged."""
    try:
        manifest = _manifest_of(directory / str(step))
    except (OSError, ValueError):
        return
    found, seal = manifest.get("format", FORMAT), manifest.pop("sha256", None)
    # where the seal fits our number, a flipped bit has changed it
    if found != FORMAT and seal != _seal({**manifest, "format": FORMAT}):
        raise arguments.checkpoint_format(directory, step, found, FORMAT)


def _check_unchanged(path: str, is_unchanged: bool) -> None:
    if not is_unchanged:
        raise _DamagedError(arguments.changed_file(path))


def _seal(manifest: Manifest) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _check_files(folder: Path, digests: Mapping[str, str], at_most: float) -> None:
    """Compare the files of at most so many bytes with what was written."""
    files = [path for name in digests if (path := folder / name).stat().st_size <= at_most]
    for name, digest in _digests(folder, files).items():
        _check_unchanged(name, digest == digests[name])


def _digests(folder: Path, files: list[Path]) -> dict[str, str]:
    """Return the SHA-256 of files by name."""
    names = [path.relative_to(folder).as_posix() for path in files]
    with ThreadPoolExecutor() as threads:
        return dict(zip(names, threads.map(_sha256_of, files), strict=True))


def _sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


# --- the arrays, by Orbax


class _Quiet:
    """Lets Orbax print and log nothing while a call of ours runs: what it raises, we explain.

    At its first error Orbax closes its event loop. Of what is still going on in its threads,
    asyncio and TensorStore would tell in a traceback each.
    """

    def __init__(self) -> None:
        self._lock, self._running = threading.Lock(), 0
        self._before = contextlib.ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            self._running += 1
            if self._running > 1:
                return
            for log in map(logging.getLogger, ("absl", "asyncio")):
                self._before.callback(setattr, log, "disabled", log.disabled)
                log.disabled = True
            policy: Any = asyncio.get_event_loop_policy()
            make = policy.new_event_loop
            self._before.callback(setattr, policy, "new_event_loop", make)
            policy.new_event_loop = lambda: (
                _patient(make()) if _is_of_orbax(threading.current_thread()) else make()
            )

    def __exit__(self, kind: object, *_error: object) -> None:
        for thread in threading.enumerate() if kind else ():
            if _is_of_orbax(thread):
                thread.join(ORBAX_ENDS)
        with self._lock:
            self._running -= 1
            if not self._running:
                self._before.close()


_QUIET = _Quiet()


def _is_of_orbax(thread: threading.Thread) -> bool:
    """Return whether Orbax has started a thread, or runs in one of ours."""
    return thread.name.startswith(THREADS) or type(thread).__module__.startswith("orbax.")


def _patient(loop: Any) -> Any:
    """Let an event loop ignore what comes when it is closed, and what nobody asks it for."""
    call = loop.call_soon_threadsafe
    with contextlib.suppress(AttributeError):  # uvloop's have no attributes to set
        loop.call_soon_threadsafe = lambda *given, **named: (
            None if loop.is_closed() else call(*given, **named)
        )
    loop.set_exception_handler(lambda *_context: None)
    return loop


def _with_handler(folder: Path, call: Callable[[Any, Any], Any]) -> Any:
    """Call a function with Orbax's handler of arrays and the path of their folder.

    The handler itself waits for no other process, as Orbax's checkpointers do: that way an error
    in one process reaches the others. It runs in a thread, because Orbax 0.6 starts an event loop,
    which fails where one is running, as in a notebook.
    """
    with (
        _QUIET,
        contextlib.closing(orbax().PyTreeCheckpointHandler()) as handler,
        ThreadPoolExecutor(max_workers=1, thread_name_prefix=THREADS) as thread,
    ):
        return thread.submit(call, handler, _exact(folder / ARRAYS)).result()


def _exact(folder: Path) -> Any:
    """Return a path as Orbax takes it, which searches in it: no name is a pattern there."""
    from etils import epath  # type: ignore[import-untyped]  # Orbax brings it

    class Exact(type(epath.Path(folder))):  # type: ignore[misc]
        def glob(self, pattern: str) -> Iterator[Any]:
            return (self / name for name in glob.glob(pattern, root_dir=self))

    return Exact(folder)


def _check_complete(folder: Path, wanted: Any) -> None:
    """Reject what Orbax has left incomplete, with no more than a warning in its log."""
    keys = _open_arrays(folder / ARRAYS).list().result()
    found = {key.rpartition(b"/")[0].decode() for key in keys}
    names = {".".join(keys) for keys in orbax().tree.to_flat_dict(wanted)}
    if names - found:
        raise OSError(f"Orbax has not written {', '.join(sorted(names - found))}")


def _open_arrays(folder: Path) -> Any:
    """Open what Orbax writes, by the library that it writes it with."""
    import tensorstore

    base = {"driver": "file", "path": f"{folder.as_posix()}/"}
    return tensorstore.KvStore.open({"driver": "ocdbt", "base": base}).result()


def _nested(tree: Any) -> dict[str, Any]:
    """Return the leaves in nested dicts, without empty ones: Orbax rejects them."""
    flat = orbax().tree.to_flat_dict(with_dicts(tree))
    return orbax().tree.from_flat_dict({keys: leaf for keys, leaf in flat.items() if leaf.size})


def _restored_step(
    processes: "_Processes", step: int, places: Any, left_out: list[str]
) -> tuple[Manifest, Any]:
    """Return the manifest and the train state of one checkpoint, if it is intact."""
    directory = processes.directory
    manifest = processes.first(lambda: _intact(directory, step))
    train_state = processes.each(lambda: _read(directory / str(step), manifest, places, left_out))
    saved = manifest["leaves"]["checksum"]
    found, differing = processes.checksums(train_state)
    changed = [path for path in found if found[path] != saved[path] or path in differing]
    _check_unchanged(", ".join(changed), not changed)
    return manifest, train_state


def _read(folder: Path, manifest: Manifest, places: Any, left_out: list[str]) -> Any:
    """Restore the leaves in their places, each process the shards that it needs."""
    saved = manifest["leaves"]
    wanted = kinds_of(train_state=places)
    kinds = {path: kind for path, kind in saved["kind"].items() if not _is_in(path, left_out)}
    if found := differences(kinds, wanted):
        raise errors.SavedMismatchError(
            saved=f"{folder.parent.name}/{folder.name}",
            wanted="train_state",
            differences=errors.as_lines(found),
        )
    ocp = orbax()

    def how(leaf: jax.Array) -> Any:
        data = data_of(leaf)
        if len(data.sharding.device_set) > 1:
            return ocp.ArrayRestoreArgs(sharding=data.sharding, dtype=data.dtype)
        return ocp.RestoreArgs(restore_type=np.ndarray)

    nested = _nested(places)
    # without transforms, Orbax reads everything; with none of them, what the item names
    part = {"item": nested, "transforms": {}} if left_out else {}
    restore = ocp.args.PyTreeRestore(restore_args=jax.tree.map(how, nested), **part)
    try:
        nested = _with_handler(folder, lambda handler, path: handler.restore(path, args=restore))
    except Exception:
        _check_files(folder, manifest["files"], at_most=float("inf"))  # a large one may be damaged
        raise
    arrays = ocp.tree.to_flat_dict(nested)
    del nested  # each array is let go when it is copied: the next copy takes its memory
    leaves = [
        replaced(leaf, arrays.pop(keys, None), path in saved["weak"])
        for path, (keys, leaf) in zip(
            wanted, ocp.tree.to_flat_dict(with_dicts(places)).items(), strict=True
        )
    ]
    return jax.tree.unflatten(jax.tree.structure(places), leaves)


def _is_in(path: str, parts: list[str]) -> bool:
    return any(path == part or path.startswith((f"{part}.", f"{part}[")) for part in parts)


# --- several processes that act as one


class _Processes(NamedTuple):
    """All processes, in one call of a function on a directory."""

    directory: Path
    whys: tuple[str, str]

    def first(self, call: Callable[[], Any]) -> Any:
        """Call a function in the first process and return its result in each."""
        return gathered(self.each(lambda: call() if jax.process_index() == 0 else None))[0]

    def agree(self, **values: Any) -> None:
        """Reject what is not the same in all processes, in each of them."""
        if error := arguments.settings_differ(gathered(values)):
            raise in_all(error)

    def checksums(self, tree: Any) -> tuple[dict[str, int], list[str]]:
        """Return the checksum of each leaf by path, and the paths whose copies differ.

        Each process adds its shards of an array that all of them hold; of any other leaf it has a
        copy.
        """
        leaves = leaves_by_path(train_state=tree)

        def own() -> list[int]:
            sums = [partial_sums(leaf) for leaf in leaves.values()]  # all computed side by side
            return [sum(map(int, shards)) % 2**32 for shards in sums]

        sums, differing = {}, []
        columns = zip(*gathered(self.each(own)), strict=True)
        for (path, leaf), column in zip(leaves.items(), columns, strict=True):
            is_copy = data_of(leaf).is_fully_addressable
            sums[path] = column[0] if is_copy else sum(column) % 2**32
            differing += [path] if is_copy and len({*column}) > 1 else []
        return sums, differing

    def each(self, call: Callable[[], Any]) -> Any:
        """Call a function in each process and return its result.

        What one of them raises is raised in all, so that none waits for the others. An error of
        the disk, or of Orbax, gets a name.
        """
        result, own = None, None
        try:
            result = call()
        except (errors.HaikuStateError, _DamagedError) as error:
            own = error
        except Exception as error:
            own = self._named(error)
        told = gathered(own and _as_text(own))
        if own:
            raise in_all(own)
        for text in told:
            if text:
                raise in_all(_from_text(*text))
        return result

    def _named(self, error: Exception) -> errors.HaikuStateError:
        named = arguments.checkpoint_failure(self.directory, error, self.whys)
        named.__cause__ = error
        return named


def _as_text(error: Exception) -> list[Any]:
    """Return what tells another process of an error, as JSON takes it."""
    if isinstance(error, errors.HaikuStateError):
        _restore, (kind, *parts) = error.__reduce__()
        return [kind.__name__, *parts]
    return ["", str(error)]


def _from_text(name: str, *parts: Any) -> Exception:
    if not name:
        return _DamagedError(*parts)
    return restored(getattr(errors, name), *parts)
