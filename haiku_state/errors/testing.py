"""Errors of a module under test."""

from haiku_state.errors.base import HaikuStateError
from haiku_state.errors.language import deferred as _


class BrokenLawError(HaikuStateError, AssertionError):
    """A module breaks a law that a module with state should keep."""

    TEXT_WHAT = _("`{module}` breaks the law {law}: {problem}")
    TEXT_WHY = "{why}"
    MORE = "{more}"
