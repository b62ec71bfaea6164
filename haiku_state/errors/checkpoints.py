"""Errors of checkpoints, and the warning about one that was skipped."""

from typing import Any, ClassVar

from haiku_state.errors.base import HaikuStateError
from haiku_state.language import deferred as _
from haiku_state.language import translated

# what can be wrong with a checkpoint
UNREADABLE = _("its files cannot be read ({error})")
UNKNOWN_FORMAT = _("its manifest is not that of a checkpoint")
CHANGED_MANIFEST = _("its manifest has changed since it was written")
MISSING = _("{path} is missing")
CHANGED = _("{path} has changed since it was written")


class CheckpointStepError(HaikuStateError, ValueError):
    """A train state has no step to be saved under."""

    TEXT_WHAT = _("train_state.step is {found}; a checkpoint is named by an integer from 0 on.")
    TEXT_WRONG = "save_checkpoint(directory, train_state._replace(step={found}))"
    TEXT_RIGHT = "save_checkpoint(directory, train_state._replace(step=jnp.int32(0)))"
    TEXT_WHY = _("the newest checkpoint is the one of the largest step")
    MORE = "docs/api/checkpoint.rst"


class CheckpointLeafError(HaikuStateError, TypeError):
    """A leaf of a train state cannot be kept bit by bit."""

    TEXT_WHAT = _("these leaves of the train state cannot be kept exactly:{leaves}")
    TEXT_WRONG = 'state = {{"mean": np.zeros(3)}}'
    TEXT_RIGHT = 'state = {{"mean": jnp.zeros(3)}}'
    TEXT_WHY = _(
        "a checkpoint holds arrays and random keys of the dtypes that JAX has, each under a "
        "path of its own"
    )
    MORE = "docs/api/checkpoint.rst"


class CheckpointPositionError(HaikuStateError, TypeError):
    """The data position is no JSON value."""

    TEXT_WHAT = _("JSON cannot hold {path}: {found}.")
    TEXT_WRONG = "save_checkpoint(directory, train_state, (3, 17))"
    TEXT_RIGHT = 'save_checkpoint(directory, train_state, {{"epoch": 3, "batch": 17}})'
    TEXT_WHY = _(
        "the position is stored as JSON: dicts with names, lists, strings, numbers, booleans, None"
    )
    MORE = "docs/api/checkpoint.rst"


class CheckpointKeepError(HaikuStateError, ValueError):
    """The number of checkpoints to keep is below 1."""

    TEXT_WHAT = _("keep={keep} checkpoints is less than the one just saved.")
    TEXT_WRONG = "save_checkpoint(directory, train_state, keep={keep})"
    TEXT_RIGHT = "save_checkpoint(directory, train_state, keep=1)"
    TEXT_WHY = _("the older ones go when the new one is complete, and one must stay")
    MORE = "docs/api/checkpoint.rst"


class CheckpointExistsError(HaikuStateError, FileExistsError):
    """The directory holds a checkpoint that the new one must not replace."""

    TEXT_WHAT = _("{directory} holds a checkpoint of step {existing}, of another train state.")
    TEXT_WRONG = 'save_checkpoint("{directory}", train_state)  # step {step}'
    TEXT_RIGHT = 'save_checkpoint("{directory}-new", train_state)'
    TEXT_WHY = _("a later restore would take the other one; nothing was written or replaced")
    MORE = "docs/api/checkpoint.rst"


class CheckpointDirectoryError(HaikuStateError, OSError):
    """A directory of checkpoints cannot be written or read."""

    TEXT_WHAT = _("the checkpoints in {directory} cannot be written or read: {reason}.")
    TEXT_WRONG = 'save_checkpoint("{directory}", train_state)'
    TEXT_RIGHT = 'save_checkpoint("checkpoints", train_state)'
    TEXT_WHY = _(
        "`directory` must be a folder with room that this process may write to; a checkpoint that "
        "was not complete is gone, the older ones are untouched"
    )
    MORE = "docs/api/checkpoint.rst"


class CheckpointMismatchError(HaikuStateError, ValueError):
    """A checkpoint is of another train state than the one to be restored."""

    TEXT_WHAT = _(
        "the checkpoint of step {step} does not fit the train state (- missing, + unknown):"
        "{differences}"
    )
    TEXT_WRONG = "restore_checkpoint(directory, train_state)"
    TEXT_RIGHT = (
        "train_state = init_train_state(init, optimizer, rng, inputs); "
        "restore_checkpoint(directory, train_state)"
    )
    TEXT_WHY = _(
        "model, optimizer or kind of random key have changed since it was saved; nothing was loaded"
    )
    MORE = "docs/api/checkpoint.rst"


class BrokenCheckpointsError(HaikuStateError, ValueError):
    """There are checkpoints, and none of them is whole."""

    TEXT_WHAT = _("no checkpoint in {directory} is whole:{broken}")
    TEXT_WRONG = 'restore_checkpoint("{directory}", train_state)'
    TEXT_RIGHT = 'restore_checkpoint("{directory}-copy", train_state)'
    TEXT_WHY = _(
        "training would start again from the first step without a word: bring the files back "
        "from a copy, or begin anew in another folder"
    )
    MORE = "docs/api/checkpoint.rst"


class SkippedCheckpointWarning(UserWarning):
    """A checkpoint is not whole, and an older one was restored.

    Args:
      values: what the placeholders of the text stand for.

    Example:
      >>> from haiku_state.errors.checkpoints import SkippedCheckpointWarning
      >>> skipped = "\\n    step 6: its manifest has changed since it was written"
      >>> print(SkippedCheckpointWarning(directory="run", step=3, skipped=skipped))
      the checkpoint of step 3 in run was restored, and newer ones that are broken were skipped:
          step 6: its manifest has changed since it was written
    """

    TEXT: ClassVar[str] = _(
        "the checkpoint of step {step} in {directory} was restored, and newer ones that are "
        "broken were skipped:{skipped}"
    )

    def __init__(self, **values: Any) -> None:
        self.values = values
        super().__init__(translated(self.TEXT).format(**values))
