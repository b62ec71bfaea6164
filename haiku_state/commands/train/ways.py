"""The ways in which the ``train`` command can run its update step."""

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import haiku_state as hs
from haiku_state.typing import Batch, UpdateFn

AXIS = "devices"
"""The name of the device axis, in every way that has one."""

STEPS_PER_CALL = 20
"""How many updates one call of the scanned way makes."""


def _unchanged(tree: Any) -> Any:
    return tree


class Way(NamedTuple):
    """How to run an update step, and what its train state and batches look like then."""

    compile: Callable[[UpdateFn], hs.update.CompiledUpdate[Any]]
    place: Callable[[hs.TrainState], Any] = _unchanged
    """Puts the train state where the update step wants it."""

    feed: Callable[[Iterator[Batch]], Iterator[Batch]] = _unchanged
    """Puts the batches where the update step wants them."""

    one: Callable[[Any], hs.TrainState] = _unchanged
    """Takes one of the replicas, as evaluation and checkpoints want it."""


def _jit(devices: int) -> Way:
    return Way(hs.jit_update)


def _scan(devices: int) -> Way:
    return Way(hs.scan_update, feed=lambda batches: hs.stack_batches(batches, STEPS_PER_CALL))


def _pmap(devices: int) -> Way:
    used = hs.use_devices(devices)
    return Way(
        compile=lambda update: hs.pmap_update(update, AXIS, used),
        place=lambda train_state: hs.replicate(train_state, used, AXIS),
        feed=lambda batches: (hs.split_batch(batch, devices) for batch in batches),
        one=hs.unreplicate,
    )


def _mesh(compiled: Callable[..., hs.update.CompiledUpdate[Any]], devices: int) -> Way:
    used, (_, processes) = hs.use_devices(devices), hs.processes.process_part()
    mesh = hs.data_mesh(used if processes == 1 else None, AXIS)
    return Way(
        compile=lambda update: compiled(update, mesh),
        place=lambda train_state: hs.shard_train_state(train_state, mesh),
        feed=lambda batches: (hs.processes.global_batch(batch, mesh) for batch in batches),
    )


WAYS: dict[str, Callable[[int], Way]] = {
    "jit": _jit,
    "scan": _scan,
    "pmap": _pmap,
    "shard": functools.partial(_mesh, hs.shard_update),
    "shard_map": functools.partial(_mesh, hs.shard_map_update),
}
"""By the name that ``--update`` takes; each makes its way for a number of devices."""

ONE_DEVICE = ("jit", "scan")
MANY_PROCESSES = ("shard", "shard_map")
NAMED_AXIS = ("pmap", "shard_map")
"""Those whose modules must average their statistics over the device axis."""
