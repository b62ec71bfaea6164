"""State in JAX, told through Haiku: impure-looking modules, pure pairs, update steps."""

# before our own modules: JAX takes a third longer to import from deeper inside
try:
    import haiku as _haiku  # noqa: F401
    import haiku_state.compat as _compat  # noqa: F401
except Exception as _cause:
    from haiku_state.doctor import unmatched as _unmatched

    raise _unmatched(_cause) from _cause

from haiku_state.functionalize import functionalize as functionalize
from haiku_state.modules import Counter as Counter
from haiku_state.modules import MovingAverage as MovingAverage
from haiku_state.modules import ExponentialMovingAverage as ExponentialMovingAverage
from haiku_state.modules import BatchNorm as BatchNorm
from haiku_state.modules import LinearRegression as LinearRegression
from haiku_state.modules import Classifier as Classifier
from haiku_state.pair import PurePair as PurePair
from haiku_state.pair import pure_pair as pure_pair
from haiku_state.contract import check_state as check_state
from haiku_state.contract import checked as checked
from haiku_state.interchange import to_numpy as to_numpy
from haiku_state.interchange import from_numpy as from_numpy
from haiku_state.interchange import save_numpy as save_numpy
from haiku_state.interchange import load_numpy as load_numpy
from haiku_state.train_state import TrainState as TrainState
from haiku_state.train_state import init_train_state as init_train_state
from haiku_state.update import make_update as make_update
from haiku_state.update import CompiledUpdate as CompiledUpdate
from haiku_state.update import jit_update as jit_update
from haiku_state.update import scan_update as scan_update
from haiku_state.update import vmap_update as vmap_update
from haiku_state.update import pmap_update as pmap_update
from haiku_state.update import shard_update as shard_update
from haiku_state.update import shard_map_update as shard_map_update
from haiku_state.update import shard_train_state as shard_train_state
from haiku_state.update import example_mean as example_mean
from haiku_state.devices import use_devices as use_devices
from haiku_state.devices import data_mesh as data_mesh
from haiku_state.replicas import replicate as replicate
from haiku_state.replicas import unreplicate as unreplicate
from haiku_state.replicas import split_batch as split_batch
from haiku_state.replicas import assert_replicas_equal as assert_replicas_equal
from haiku_state.replicas import sync_state as sync_state
from haiku_state.pieces import accumulate as accumulate
from haiku_state.pieces import average_params as average_params
from haiku_state.pieces import averaged_params as averaged_params
from haiku_state.pieces import reestimate_state as reestimate_state
from haiku_state.pieces import freeze_params as freeze_params
from haiku_state.pieces import freeze_state as freeze_state
from haiku_state.pieces import mixed_precision as mixed_precision
from haiku_state.pieces import scale_loss as scale_loss
from haiku_state.distributed import start_processes as start_processes
from haiku_state.watch import watch_processes as watch_processes
from haiku_state.watch import ProcessWatch as ProcessWatch
from haiku_state.watch import end_processes as end_processes
from haiku_state.distributed import is_main_process as is_main_process
from haiku_state.distributed import process_part as process_part
from haiku_state.distributed import global_batch as global_batch
from haiku_state.checkpoint import Restored as Restored
from haiku_state.checkpoint import save_checkpoint as save_checkpoint
from haiku_state.checkpoint import restore_checkpoint as restore_checkpoint
from haiku_state.data import Dataset as Dataset
from haiku_state.data import load_digits as load_digits
from haiku_state.data import load_diabetes as load_diabetes
from haiku_state.data import batches as batches
from haiku_state.data import stack_batches as stack_batches

__version__ = "0.1.0"
