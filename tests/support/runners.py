"""Every runner, on four devices where it takes many: each is made of a step alone."""

import jax
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import haiku_state as hs

AXIS = "devices"


def four():
    return jax.devices()[:4]


def mesh():
    return hs.data_mesh(four())


def two_axes():
    return Mesh(np.array(four()).reshape(2, 2), (AXIS, "model"))


def columns(path, leaf):
    """The first layer's weights, and what the optimizer keeps of them, cut into columns."""
    return P(None, "model") if path.endswith("['classifier/linear']['w']") else None


RUNNERS = {
    "jit": hs.jit_update,
    "scan": hs.scan_update,
    "vmap": hs.vmap_update,
    "pmap": lambda step, **options: hs.pmap_update(step, four(), **options),
    "shard": lambda step: hs.shard_update(step, mesh()),
    "shard_map": lambda step, **options: hs.shard_map_update(step, mesh(), **options),
    "two axes": lambda step: hs.shard_update(step, two_axes(), rule=columns),
}


def axis_of(runner):
    """The axis over which the modules of a step average, for one of ``RUNNERS``."""
    return runner(lambda train_state, batch, *, axis_name=None: (train_state, {})).axis_name
