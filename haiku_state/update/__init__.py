"""One pure update step, and the ways to run it."""

from haiku_state.update.compiled import CompiledUpdate as CompiledUpdate
from haiku_state.update.compiled import jit_update as jit_update
from haiku_state.update.mapped import pmap_update as pmap_update
from haiku_state.update.placement import shard_train_state as shard_train_state
from haiku_state.update.sharded import shard_map_update as shard_map_update
from haiku_state.update.sharded import shard_update as shard_update
from haiku_state.update.stacked import scan_update as scan_update
from haiku_state.update.stacked import vmap_update as vmap_update
from haiku_state.update.step import example_mean as example_mean
from haiku_state.update.step import make_update as make_update
