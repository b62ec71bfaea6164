"""Kept: checkpoints of a train state, and params and state as plain NumPy arrays."""

import haiku_state.compat as _compat  # noqa: F401  # names versions that do not match
from haiku_state.storage.arrays import from_numpy as from_numpy
from haiku_state.storage.arrays import load_numpy as load_numpy
from haiku_state.storage.arrays import save_numpy as save_numpy
from haiku_state.storage.arrays import to_numpy as to_numpy
from haiku_state.storage.checkpoint import Restored as Restored
from haiku_state.storage.checkpoint import restore_checkpoint as restore_checkpoint
from haiku_state.storage.checkpoint import save_checkpoint as save_checkpoint
