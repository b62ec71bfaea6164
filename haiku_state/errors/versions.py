"""The error of versions that do not go together."""

import contextlib
import gc
import sys
import traceback
from collections.abc import Iterator

from haiku_state.errors.base import HaikuStateError
from haiku_state.errors.language import deferred as _

LIBRARIES = ("jax", "jaxlib", "haiku", "optax")


class MissingExtraError(HaikuStateError, ImportError):
    """An optional library is not installed."""

    TEXT_WHAT = _("{library} is not installed.")
    TEXT_WRONG = "pip install haiku-state"
    TEXT_RIGHT = 'pip install "haiku-state[{extra}]"'
    TEXT_WHY = _("the core of the package does without it")
    MORE = "index"


class UnmatchedVersionsError(HaikuStateError, ImportError):
    """JAX, Haiku or Optax cannot be imported, mostly because their versions do not match."""

    TEXT_WHAT = _("JAX, Haiku or Optax cannot be imported: {said}")
    TEXT_WRONG = "import haiku"
    TEXT_RIGHT = "python -m haiku_state doctor"
    TEXT_WHY = _(
        "dm-haiku does not say which JAX it needs; the doctor shows what fails and what to install"
    )
    MORE = "reference/compatibility"


@contextlib.contextmanager
def matched_versions() -> Iterator[None]:
    """Explain an import that fails because of the versions that are installed.

    An import makes no garbage, and to look for it would take a fifth of the time: meanwhile the
    collector rests.

    Raises:
      UnmatchedVersionsError: an ``ImportError`` or ``AttributeError`` came out of JAX, Haiku or
        Optax. Every other error is raised as it is.
    """
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    except (ImportError, AttributeError) as error:
        if not _is_from_a_library(error):
            raise
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        if sys.flags.optimize < 2:
            raise UnmatchedVersionsError(said=said) from error
        why = _("-OO removes the docstrings, which these libraries read while they are imported")
        raise UnmatchedVersionsError(
            said=said, wrong="python -OO", right="python -O", why=why
        ) from error
    finally:
        if was_collecting:
            gc.enable()


def _is_from_a_library(error: ImportError | AttributeError) -> bool:
    """Return whether a library raised the error, or lacks what was imported from it."""
    modules = [
        frame.f_globals.get("__name__") for frame, _line in traceback.walk_tb(error.__traceback__)
    ]
    if isinstance(error, ImportError):
        modules.append(error.name)
    else:
        owner = error.obj
        modules.append(getattr(owner, "__module__", None) or getattr(owner, "__name__", None))
    return any(str(module).split(".")[0] in LIBRARIES for module in modules)
