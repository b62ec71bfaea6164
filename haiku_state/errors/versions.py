"""Errors of versions that do not go together."""

from haiku_state.errors.base import HaikuStateError
from haiku_state.language import deferred as _


class UnmatchedVersionsError(HaikuStateError, ImportError):
    """The versions of JAX, Haiku and Optax that are installed do not go together."""

    TEXT_WHAT = _("haiku_state cannot be imported with {versions}: {said}")
    TEXT_WRONG = "{wrong}"
    TEXT_RIGHT = "{right}"
    TEXT_WHY = _(
        "dm-haiku names no JAX that it fits; `python -m haiku_state doctor` tells what would fail"
    )
    MORE = "README.md"
