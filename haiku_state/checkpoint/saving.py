"""Save a train state and its place in the data, whole or not at all."""

import json
import os
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.checkpoint import storage
from haiku_state.checkpoint.leaves import leaves_of, on_host
from haiku_state.checkpoint.manifest import manifest_of
from haiku_state.checkpoint.processes import agreed
from haiku_state.contract import describe
from haiku_state.errors.checkpoints import (
    CheckpointKeepError,
    CheckpointPositionError,
    CheckpointStepError,
)


def save_checkpoint(
    directory: str | os.PathLike[str],
    train_state: Any,
    position: Any = None,
    *,
    keep: int = 3,
) -> Path:
    """Write a train state and its place in the data to a folder of its own.

    The folder appears under its name when it is complete: a process that is killed in between
    leaves the older checkpoints as they are, and no new one. Its name is the step. It holds each
    leaf by path, and a JSON manifest with the dtypes, shapes and checksums of the leaves and with
    the position; neither is a pickle. A leaf of weak type stays weak.

    A checkpoint is never replaced without a word. If a whole one of the same step and the same
    train state is there, it stays, with its position, and nothing is written. If one of this step
    or a later one holds another train state, the directory belongs to another run: an error. A
    broken one of this step or a later one is set aside, ``6`` as ``6.broken`` say, and deleted
    together with the checkpoints of its time.

    With several processes each of them calls this with its part of the same train state. The first
    one writes; all return when it has.

    Args:
      directory: where the checkpoints of one run lie; it is made if it is missing. Other files in
        it are left alone.
      train_state: a :class:`TrainState` of one replica, or any PyTree with an integer scalar
        ``step``. Leaves of any shape, dtype and sharding, random keys too.
      position: any JSON value, ``{"epoch": 3, "batch": 17}`` say. Floats come back exactly, NaN and
        infinity too.
      keep: how many checkpoints to keep, those of the largest steps, at least 1.

    Returns:
      The folder of the checkpoint.

    Raises:
      MissingExtraError: orbax is not installed.
      CheckpointStepError: ``step`` is no integer from 0 on.
      CheckpointLeafError: JAX cannot hold a leaf as it is, a NumPy float64 say.
      DeviceStackedError: the train state has a device axis.
      DonatedBufferError: an update has consumed the train state.
      CheckpointPositionError: JSON cannot hold the position.
      CheckpointKeepError: ``keep`` is below 1.
      CheckpointExistsError: the directory belongs to another run.
      CheckpointDirectoryError: the checkpoint cannot be written.

    Example:
      >>> import tempfile, jax, jax.numpy as jnp
      >>> from haiku_state import TrainState, restore_checkpoint, save_checkpoint
      >>> params = {"linear": {"b": jnp.ones(2)}}
      >>> train_state = TrainState(params, {}, (), jax.random.key(0), jnp.int32(7))
      >>> with tempfile.TemporaryDirectory() as directory:
      ...     folder = save_checkpoint(directory, train_state, {"epoch": 1, "batch": 3})
      ...     restored = restore_checkpoint(directory, train_state)
      >>> print(folder.name, restored.train_state.params["linear"]["b"], restored.position)
      7 [1. 1.] {'epoch': 1, 'batch': 3}

    References:
      Orbax's documentation, `CheckpointManager
      <https://orbax.readthedocs.io/en/latest/api_reference/checkpoint.checkpoint_manager.html>`__.
    """
    directory = Path(os.path.abspath(directory))
    with agreed():
        if jax.process_index() == 0:
            storage.orbax()
        if not isinstance(keep, int) or keep < 1:
            raise CheckpointKeepError(keep=keep)
        _check_position(position)
        leaves = leaves_of(train_state, "save_checkpoint(directory, {})")
        step = _step_of(train_state)
    data = [on_host(leaf) for leaf in leaves.values()]
    with agreed():
        if jax.process_index() == 0:
            storage.write(directory, manifest_of(step, leaves, data, position), data)
            storage.rotate(directory, keep)
    return directory / str(step)


def _step_of(train_state: Any) -> int:
    step = getattr(train_state, "step", None)
    if not hasattr(step, "dtype") and type(step) is not int:
        raise CheckpointStepError(found=type(step).__name__)
    if not jnp.issubdtype(jnp.result_type(step), np.integer):
        raise CheckpointStepError(found=describe(step))
    if int(np.asarray(step)) < 0:
        raise CheckpointStepError(found=int(np.asarray(step)))
    return int(np.asarray(step))


def _check_position(position: Any) -> None:
    try:
        json.dumps(position)
    except TypeError:
        pass  # the loop finds where
    except (ValueError, RecursionError) as error:
        raise CheckpointPositionError(path="position", found=str(error)) from error
    parts, seen = [("position", position)], set()
    while parts:
        path, part = parts.pop()
        if isinstance(part, dict) and id(part) not in seen:
            if names := [name for name in part if not isinstance(name, str)]:
                found = type(names[0]).__name__
                raise CheckpointPositionError(path=f"{path}.keys()", found=found)
            parts += [(f"{path}[{name!r}]", value) for name, value in part.items()]
        elif isinstance(part, list) and id(part) not in seen:
            parts += [(f"{path}[{index}]", value) for index, value in enumerate(part)]
        elif part is not None and not isinstance(part, dict | list | str | int | float):
            raise CheckpointPositionError(path=path, found=type(part).__name__)
        seen.add(id(part))
