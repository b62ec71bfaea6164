"""The public names, in the order of the lessons, each with its room; then the rooms."""

from haiku_state.pure import functionalize as functionalize
from haiku_state.modules import Counter as Counter
from haiku_state.modules import MovingAverage as MovingAverage
from haiku_state.modules import ExponentialMovingAverage as ExponentialMovingAverage
from haiku_state.modules import BatchNorm as BatchNorm
from haiku_state.modules import LinearRegression as LinearRegression
from haiku_state.modules import Classifier as Classifier
from haiku_state.pure import pure_pair as pure_pair
from haiku_state.pure import check_state as check_state
from haiku_state.pure import checked as checked
from haiku_state.update import TrainState as TrainState
from haiku_state.update import init_train_state as init_train_state
from haiku_state.update import make_update as make_update
from haiku_state.update import make_evaluate as make_evaluate
from haiku_state.update import mean_metrics as mean_metrics
from haiku_state.update import example_mean as example_mean
from haiku_state.update import Runner as Runner
from haiku_state.update import jit_update as jit_update
from haiku_state.update import scan_update as scan_update
from haiku_state.update import vmap_update as vmap_update
from haiku_state.update import use_devices as use_devices
from haiku_state.update import data_mesh as data_mesh
from haiku_state.update import replicate as replicate
from haiku_state.update import unreplicate as unreplicate
from haiku_state.update import split_batch as split_batch
from haiku_state.update import assert_replicas_equal as assert_replicas_equal
from haiku_state.update import sync_state as sync_state
from haiku_state.update import pmap_update as pmap_update
from haiku_state.update import shard_train_state as shard_train_state
from haiku_state.update import shard_update as shard_update
from haiku_state.update import shard_map_update as shard_map_update
from haiku_state.data import load_digits as load_digits
from haiku_state.data import load_diabetes as load_diabetes
from haiku_state.data import batches as batches
from haiku_state.data import stack_batches as stack_batches
from haiku_state.inside import explain as explain
from haiku_state.inside import assert_pure as assert_pure
from haiku_state.inside import record_flow as record_flow
from haiku_state.inside import record_trace as record_trace
from haiku_state.inside import History as History

from haiku_state import data as data
from haiku_state import typing as typing
from haiku_state import modules as modules
from haiku_state import pure as pure
from haiku_state import update as update
from haiku_state import recipes as recipes
from haiku_state import storage as storage
from haiku_state import processes as processes
from haiku_state import inside as inside
from haiku_state import exercises as exercises
from haiku_state import testing as testing
from haiku_state import errors as errors

__version__: str
