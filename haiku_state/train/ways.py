"""The ways in which the ``train`` command can run its update step."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import numpy as np

import haiku_state as hs
from haiku_state.typing import Batch, UpdateFn

# the name of the device axis, in every way that has one
AXIS = "devices"
# how many updates one dispatch of the scanned way makes
STEPS_PER_CALL = 20


class Way(NamedTuple):
    """How to run an update step, and what its train state and batches look like then."""

    compile: Callable[[UpdateFn], hs.CompiledUpdate[Any]]
    place: Callable[[hs.TrainState], Any]
    feed: Callable[[Iterator[Batch]], Iterator[Batch]]
    one: Callable[[Any], hs.TrainState]


def _unchanged(tree: Any) -> Any:
    return tree


def _jit(devices: int) -> Way:
    return Way(hs.jit_update, _unchanged, _unchanged, _unchanged)


def _scan(devices: int) -> Way:
    def stacks(batches: Iterator[Batch]) -> Iterator[Batch]:
        return hs.stack_batches(batches, STEPS_PER_CALL)

    return Way(hs.scan_update, _unchanged, stacks, _unchanged)


def _pmap(devices: int) -> Way:
    used = hs.use_devices(devices)
    return Way(
        lambda update: hs.pmap_update(update, AXIS, used),
        lambda train_state: hs.replicate(train_state, used, AXIS),
        lambda batches: (hs.split_batch(batch, devices) for batch in batches),
        hs.unreplicate,
    )


def _on_mesh(compiled: Callable[..., hs.CompiledUpdate[Any]]) -> Callable[[int], Way]:
    def way(devices: int) -> Way:
        used, (_, processes) = hs.use_devices(devices), hs.process_part()
        mesh = hs.data_mesh(used if processes == 1 else None, AXIS)
        return Way(
            lambda update: compiled(update, mesh),
            lambda train_state: hs.shard_train_state(train_state, mesh),
            lambda batches: (hs.global_batch(batch, mesh) for batch in batches),
            lambda train_state: jax.tree.map(_whole, train_state),
        )

    return way


def _whole(leaf: jax.Array) -> Any:
    if jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return leaf
    return np.asarray(leaf)


WAYS = {
    "jit": _jit,
    "scan": _scan,
    "pmap": _pmap,
    "shard": _on_mesh(hs.shard_update),
    "shard_map": _on_mesh(hs.shard_map_update),
}
# those whose modules must average their statistics over the named axis
NAMED_AXIS = ("pmap", "shard_map")
ONE_DEVICE = ("jit", "scan")
MANY_PROCESSES = ("shard", "shard_map")
