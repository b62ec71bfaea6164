"""State in JAX, told through Haiku: impure-looking modules, pure pairs, update steps."""

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
from haiku_state.update import jit_update as jit_update
from haiku_state.update import pmap_update as pmap_update
from haiku_state.replicas import use_devices as use_devices
from haiku_state.replicas import replicate as replicate
from haiku_state.replicas import unreplicate as unreplicate
from haiku_state.replicas import split_batch as split_batch
from haiku_state.replicas import assert_replicas_equal as assert_replicas_equal
from haiku_state.replicas import sync_state as sync_state
from haiku_state.data import Dataset as Dataset
from haiku_state.data import load_digits as load_digits
from haiku_state.data import load_diabetes as load_diabetes
from haiku_state.data import batches as batches

__version__ = "0.1.0"
