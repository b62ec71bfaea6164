"""Every runner, on four devices where it takes many: each is made of a step alone."""

import jax
import numpy as np
import pytest
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
    "jit_update": hs.jit_update,
    "scan_update": hs.scan_update,
    "vmap_update": hs.vmap_update,
    "pmap_update": lambda step, **options: hs.pmap_update(step, four(), **options),
    "shard_update": lambda step: hs.shard_update(step, mesh()),
    "shard_map_update": lambda step, **options: hs.shard_map_update(step, mesh(), **options),
    "shard_update two axes": lambda step: hs.shard_update(step, two_axes(), rule=columns),
}


def each(*names):
    """Run a test on each of these, as its argument ``runner``."""
    return pytest.mark.parametrize("runner", [RUNNERS[name] for name in names], ids=names)


every_runner = each(*RUNNERS)
# those in which each device runs the step on its own rows
each_replicated = each("pmap_update", "shard_map_update")


def axis_of(runner):
    """The axis over which the modules of a step average, for one of ``RUNNERS``."""
    return runner(lambda train_state, batch, *, axis_name=None: (train_state, {})).axis_name


def train(run, train_state, batches):
    """Place the train state, take a step on each batch, and read one replica back."""
    train_state = run.place(train_state)
    for batch in batches:
        train_state, metrics = run(train_state, run.feed(batch))
    return run.one(train_state), metrics
