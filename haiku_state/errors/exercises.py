"""Errors of the exercises: not of an answer, but of the folder and the commands."""

from haiku_state.errors.base import HaikuStateError
from haiku_state.errors.language import deferred as _


class ExerciseError(HaikuStateError, ValueError):
    """An exercise or a learner's folder does not exist or cannot be used.

    Args:
      values: the values for the placeholders ``problem``, ``wrong``, ``right`` and ``why``.

    Example:
      >>> from haiku_state import exercises
      >>> exercises.stub("conter")
      Traceback (most recent call last):
        ...
      haiku_state.errors.exercises.ExerciseError: there is no exercise conter.
        wrong: conter
        right: counter
        why:   the command `exercises list` shows all names
        more:  python -m haiku_state read exercises/index
    """

    TEXT_WHAT = _("{problem}.")
    TEXT_WHY = "{why}"
    MORE = "exercises/index"
