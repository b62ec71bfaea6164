"""Threaded: one pure update step, its train state, and the ways to run it.

``step.py`` makes the step, with the averages over devices; ``jit``, ``scan``, ``vmap``, ``pmap``
and ``mesh`` run it.
"""

import haiku_state.compat as _compat  # noqa: F401  # names versions that do not match
from haiku_state.update.devices import data_mesh as data_mesh
from haiku_state.update.devices import use_devices as use_devices
from haiku_state.update.evaluate import make_evaluate as make_evaluate
from haiku_state.update.evaluate import mean_metrics as mean_metrics
from haiku_state.update.jit import jit_update as jit_update
from haiku_state.update.mesh import shard_map_update as shard_map_update
from haiku_state.update.mesh import shard_train_state as shard_train_state
from haiku_state.update.mesh import shard_update as shard_update
from haiku_state.update.pmap import pmap_update as pmap_update
from haiku_state.update.replicas import assert_replicas_equal as assert_replicas_equal
from haiku_state.update.replicas import replicate as replicate
from haiku_state.update.replicas import split_batch as split_batch
from haiku_state.update.replicas import sync_state as sync_state
from haiku_state.update.replicas import unreplicate as unreplicate
from haiku_state.update.runner import Runner as Runner
from haiku_state.update.scan import scan_update as scan_update
from haiku_state.update.step import example_mean as example_mean
from haiku_state.update.step import make_update as make_update
from haiku_state.update.train_state import TrainState as TrainState
from haiku_state.update.train_state import init_train_state as init_train_state
from haiku_state.update.vmap import vmap_update as vmap_update
