"""State in JAX, told through Haiku: impure-looking modules, pure pairs, update steps.

The names below come in the order of the lessons. The rest is in the rooms: ``hs.recipes``,
``hs.storage``, ``hs.processes``, ``hs.exercises``, ``hs.errors``. The name of the room ``explain``
is taken by its function: import its other names from ``haiku_state.explain``.
"""

import pathlib as _pathlib
import sys as _sys

if _pathlib.PurePath(*_sys.argv[:1]).stem == "haiku-state" or (
    _sys.argv[:1] == ["-m"] and _sys.orig_argv[-len(_sys.argv)] == "haiku_state"
):  # the command line, whose doctor has to run where nothing below can be imported
    from haiku_state.commands import main as _main

    if _sys.argv[1:2] == ["doctor"]:
        _sys.exit(_main.main())
    _main.take_over()

import haiku_state.errors.versions as _versions

with _versions.matched_versions():
    # before our own modules: importing JAX from a nested import takes a third longer
    import haiku as _haiku  # noqa: F401
    import haiku_state.compat as _compat  # noqa: F401

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
from haiku_state.update import example_mean as example_mean
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
from haiku_state.explain import explain as explain
from haiku_state.explain import assert_pure as assert_pure
from haiku_state.explain import record_flow as record_flow
from haiku_state.explain import History as History
from haiku_state import errors as errors
from haiku_state import recipes as recipes
from haiku_state import storage as storage
from haiku_state import processes as processes
from haiku_state import exercises as exercises

__version__ = "0.1.0"
