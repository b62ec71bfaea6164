"""Checkpoints: a train state and its place in the data, for an exact resume."""

from haiku_state.checkpoint.restoring import Restored as Restored
from haiku_state.checkpoint.restoring import restore_checkpoint as restore_checkpoint
from haiku_state.checkpoint.saving import save_checkpoint as save_checkpoint
