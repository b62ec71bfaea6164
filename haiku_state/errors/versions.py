"""The error for versions that do not work together."""

import contextlib
import gc
import re
import sys
import traceback
from collections.abc import Iterator

from haiku_state.errors.base import HaikuStateError
from haiku_state.errors.language import deferred as _

LIBRARIES = ("jax", "jaxlib", "haiku", "optax")


class MissingExtraError(HaikuStateError, ImportError):
    """An optional library is not installed.

    Args:
      library: the name of the library that is not installed.
      extra: the extra of this package that requires the library. The command in the message
        installs everything that is missing from this extra, no matter how this package was
        installed.
    """

    TEXT_WHAT = _("{library} is not installed.")
    TEXT_WHY = _(
        "the core of the package works without this library; `python -m pip install "
        "{requirements}` installs it"
    )
    MORE = "index"

    def __init__(self, library: str, extra: str) -> None:
        required = dict(_required(extra)) or {library: False}
        missing = [text for text, is_installed in required.items() if not is_installed]
        requirements = " ".join(missing or required)
        super().__init__(library=library, extra=extra, requirements=requirements)


def _required(extra: str) -> Iterator[tuple[str, bool]]:
    """Yield what an extra requires, as a shell has to read it, and whether it is installed."""
    from importlib import metadata  # 50 ms, which an import without an error does not pay

    try:
        lines = metadata.requires("haiku-state") or []
    except metadata.PackageNotFoundError:  # this is a checkout, and nothing was installed
        return
    for line in lines:
        wanted, _semicolon, marker = line.partition(";")
        if f'extra == "{extra}"' not in marker.replace("'", '"'):
            continue
        name, inner, version = re.findall(r"^([\w.-]+)(?:\[(.+)\])?(.*)$", wanted.strip())[0]
        if inner:  # an extra may hold others of this package
            for each in inner.split(","):
                yield from _required(each)
            continue
        try:
            metadata.version(name)
            is_installed = True
        except metadata.PackageNotFoundError:
            is_installed = False
        yield f'"{name}{version}"' if version else name, is_installed


class UnmatchedVersionsError(HaikuStateError, ImportError):
    """JAX, Haiku or Optax cannot be imported, usually because their versions do not match."""

    TEXT_WHAT = _("JAX, Haiku or Optax cannot be imported: {said}")
    TEXT_WHY = _(
        "dm-haiku does not say which version of JAX it needs; `python -m haiku_state doctor` shows "
        "what fails and what to install"
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
        why = _(
            "-OO and PYTHONOPTIMIZE=2 remove the docstrings, which these libraries read while they "
            "are imported; -O keeps them"
        )
        raise UnmatchedVersionsError(said=said, why=why) from error
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
