"""Errors of checkpoints and of files of arrays, and the warning about a skipped checkpoint."""

from typing import Any, ClassVar

from haiku_state.errors.base import HaikuStateError
from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import translated


class CheckpointDirectoryError(HaikuStateError, OSError):
    """A directory of checkpoints is not accessible or belongs to a different run.

    Args:
      values: the values for the placeholders ``directory``, ``reason`` and ``why``.
    """

    TEXT_WHAT = _("the checkpoints in {directory} cannot be used: {reason}.")
    TEXT_WHY = "{why}"
    MORE = "api/storage"

    def __init__(self, **values: Any) -> None:
        super().__init__(**{**values, "why": translated(values["why"])})


class DamagedFileError(HaikuStateError, ValueError):
    """A file is damaged or was written by another program, or no checkpoint is intact.

    Args:
      values: the values for the placeholders ``path`` and ``damage``.
    """

    TEXT_WHAT = _("{path} is damaged, or was written by something else:{damage}")
    TEXT_WHY = _(
        "nothing was loaded, because the numbers in the file may be wrong: restore the file from a "
        "copy, or save again under a different name"
    )
    MORE = "api/storage"


class SavedMismatchError(HaikuStateError, ValueError):
    """The saved data belongs to a different model, optimizer or run.

    Args:
      values: the values for the placeholders ``saved``, ``wanted`` and ``differences``.
    """

    TEXT_WHAT = _("{saved} does not fit {wanted} (- missing, + unknown):{differences}")
    TEXT_WHY = _(
        "the tree to restore must have the leaves of the saved tree: use the same model, optimizer "
        "and settings, and pass everything that was saved, each part in its place; nothing was "
        "loaded"
    )
    MORE = "api/storage"


class SkippedCheckpointWarning(UserWarning):
    """A damaged checkpoint was skipped, and an older checkpoint was restored.

    Args:
      values: the values for the placeholders in the text of the warning.

    Example:
      >>> from haiku_state.errors import SkippedCheckpointWarning
      >>> skipped = "\\n    step 6: manifest has changed since it was written"
      >>> print(SkippedCheckpointWarning(directory="run", step=3, skipped=skipped))
      the checkpoint of step 3 in run was restored, because newer ones are damaged:
          step 6: manifest has changed since it was written
    """

    TEXT: ClassVar[str] = _(
        "the checkpoint of step {step} in {directory} was restored, because newer ones are "
        "damaged:{skipped}"
    )

    def __init__(self, **values: Any) -> None:
        self.values = values
        super().__init__(translated(self.TEXT).format(**values))


class UndeletedCheckpointWarning(UserWarning):
    """A checkpoint was saved, but an old checkpoint cannot be deleted.

    Args:
      folder: the folder that cannot be deleted.
      reason: the reason why the folder cannot be deleted.

    Example:
      >>> from haiku_state.errors import UndeletedCheckpointWarning
      >>> print(UndeletedCheckpointWarning("run/3", "Permission denied"))
      run/3 is no longer needed, but it cannot be deleted: Permission denied
    """

    TEXT: ClassVar[str] = _("{folder} is no longer needed, but it cannot be deleted: {reason}")

    def __init__(self, folder: Any, reason: Any) -> None:
        super().__init__(translated(self.TEXT).format(folder=folder, reason=reason))
