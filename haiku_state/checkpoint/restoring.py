"""Take the newest whole checkpoint, and put it in the place of a fresh train state."""

import json
import os
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from haiku_state.checkpoint import storage
from haiku_state.checkpoint.leaves import Kind, data_of, kind_of, leaves_of, restored
from haiku_state.checkpoint.manifest import BrokenError, Checkpoint
from haiku_state.checkpoint.processes import agreed, from_first, tell_all
from haiku_state.errors.base import as_lines
from haiku_state.errors.checkpoints import (
    BrokenCheckpointsError,
    CheckpointMismatchError,
    SkippedCheckpointWarning,
)


class Restored(NamedTuple):
    """What :func:`restore_checkpoint` gives back.

    Example:
      >>> from haiku_state import Restored
      >>> Restored._fields
      ('train_state', 'position', 'skipped')
    """

    train_state: Any
    """The train state, bit by bit the one that was saved."""

    position: Any
    """The place in the data that was saved with it, a JSON value."""

    skipped: tuple[tuple[int, str], ...]
    """The step of each newer checkpoint that is broken, and what is wrong with it."""


def restore_checkpoint(directory: str | os.PathLike[str], like: Any) -> Restored | None:
    """Read the newest whole checkpoint of a folder.

    Every byte is compared with the checksums that were saved with it. A checkpoint that is cut
    short or changed is skipped for the next older one, and a warning says so.

    With several processes each of them calls this. The first one reads the files and tells the
    others, so that they need not see the folder; an error is raised in all of them.

    Args:
      directory: what :func:`save_checkpoint` was given.
      like: a fresh train state of the same model and optimizer, of one replica. It gives the
        structure, and the place of each leaf: a leaf that is sharded over a mesh comes back
        sharded in the same way, a NumPy array as a JAX array on the default device.

    Returns:
      Train state, position and what was skipped; None if there is no checkpoint.

    Raises:
      MissingExtraError: orbax is not installed.
      CheckpointMismatchError: it lists every path, shape, dtype and kind of key that differs.
      BrokenCheckpointsError: there are checkpoints, and none is whole.
      CheckpointDirectoryError: the directory is a file, or cannot be read.
      DeviceStackedError: ``like`` has a device axis.
      DonatedBufferError: an update has consumed ``like``.
      CheckpointLeafError: ``like`` has a leaf that JAX cannot hold as it is.

    Example:
      >>> import tempfile, jax, jax.numpy as jnp
      >>> from haiku_state import TrainState, restore_checkpoint
      >>> params = {"linear": {"b": jnp.zeros(2)}}
      >>> like = TrainState(params, {}, (), jax.random.key(0), jnp.int32(0))
      >>> with tempfile.TemporaryDirectory() as directory:
      ...     print(restore_checkpoint(directory, like))
      None

    References:
      The inverse of :func:`save_checkpoint`.
    """
    directory = Path(os.path.abspath(directory))
    with agreed():
        places = leaves_of(like, "restore_checkpoint(directory, {})")
    found, report = None, "null"
    with agreed():
        if jax.process_index() == 0:
            storage.orbax()
            found, broken = _newest_whole(directory)
            if found:
                report = json.dumps({**found.manifest, "skipped": broken})
    manifest = json.loads(tell_all(report)[0])
    if manifest is None:
        return None
    with agreed():
        _check_kinds(manifest, {p: kind_of(leaf, data_of(leaf)) for p, leaf in places.items()})
    leaves = {}
    for entry in manifest["leaves"]:
        path, shape, dtype = entry["path"], tuple(entry["shape"]), np.dtype(entry["dtype"])
        data = from_first(found.data[path] if found else None, shape, dtype)
        leaves[path] = restored(data, entry["weak"], places[path])
    in_order = [leaves[path] for path in places]
    train_state = jax.tree.unflatten(jax.tree.structure(like), in_order)
    skipped = tuple((step, reason) for step, reason in manifest["skipped"])
    if skipped:
        warnings.warn(
            SkippedCheckpointWarning(
                directory=directory, step=manifest["step"], skipped=_as_steps(skipped)
            ),
            stacklevel=2,
        )
    return Restored(train_state, manifest["position"], skipped)


def _newest_whole(directory: Path) -> tuple[Checkpoint | None, list[tuple[int, str]]]:
    broken: dict[int, str] = {}
    # listed again each time: the training may be replacing old ones by newer ones
    while untried := [step for step in storage.steps_in(directory) if step not in broken]:
        step = untried[-1]
        try:
            found = storage.read(directory, step)
        except BrokenError as error:
            broken[step] = str(error)
        else:
            return found, [(other, broken[other]) for other in broken if other > step]
    if broken:
        raise BrokenCheckpointsError(directory=directory, broken=_as_steps(broken.items()))
    return None, []


def _check_kinds(manifest: dict[str, Any], wanted: dict[str, Kind]) -> None:
    given = {
        entry["path"]: Kind(entry["key"], entry["dtype"], tuple(entry["shape"]))
        for entry in manifest["leaves"]
    }
    differences = [f"- {path}" for path in wanted if path not in given]
    differences += [f"+ {path}" for path in given if path not in wanted]
    differences += [
        f"{path}: {given[path]} -> {wanted[path]}"
        for path in wanted
        if path in given and given[path] != wanted[path]
    ]
    if differences:
        raise CheckpointMismatchError(step=manifest["step"], differences=as_lines(differences))


def _as_steps(broken: Any) -> str:
    return as_lines(f"step {step}: {reason}" for step, reason in broken)
