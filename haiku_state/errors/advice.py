"""What to write instead: each boundary knows its caller, and says it in the caller's terms.

An error of a check holds facts: a path, and what was there before and after. Who called the check
knows the program: ``functionalize`` a class, a pure pair a module, a runner the axis it binds. In a
wrong line, ``…`` stands for what the program has there; in the right line, for the same.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from haiku_state.errors.base import HaikuStateError
from haiku_state.errors.modules import TracedFlagError, UnboundAxisError
from haiku_state.errors.state import StateDtypeError, StateShapeError
from haiku_state.errors.statements import chosen_by_where

Lines = tuple[str, str] | None
"""The wrong line and the right line; None if the boundary knows no better ones."""


@contextlib.contextmanager
def advised(boundary: Callable[..., Lines], *known: Any) -> Iterator[None]:
    """Let a boundary say what to write instead, for each error that passes through it.

    Args:
      boundary: one of the functions below, called with the error and with ``known``.
      known: what this boundary knows of its caller.

    Raises:
      HaikuStateError: the same error with the lines of the boundary.
    """
    try:
        yield
    except HaikuStateError as error:
        if lines := boundary(error, *known):
            raise with_lines(error, lines) from error.__cause__
        raise


def with_lines(error: HaikuStateError, lines: Lines) -> HaikuStateError:
    """Return an error with other lines; its facts, and where it arose, are the same."""
    if lines is None:
        return error
    better = type(error)(**{**error.values, "wrong": lines[0], "right": lines[1]})
    better.__cause__ = error.__cause__
    return better.with_traceback(error.__traceback__)


def of_functionalize(error: HaikuStateError, cls: type, method: str) -> Lines:
    """A class: its constructor makes the state, and a method assigns it."""
    name, write = f"self.{_attribute(error)} = …", f"def {method}(self, …): "
    match error:
        case TracedFlagError() if lines := chosen_by_where(error):
            return lines
        case StateDtypeError():
            asarray = name.replace("…", f"jnp.asarray(…, jnp.{error.values['dtype']})")
            where = "def __init__(self, …): " if _starts_narrow(error) else write
            return where + name, where + asarray
        case StateShapeError():
            return _reshaped(error, name, write, "def __init__(self, …): ")
    return None


def of_pair(error: HaikuStateError) -> Lines:
    """A module: ``hk.get_state`` makes the state, and ``hk.set_state`` writes it."""
    read, write = (f'hk.{do}_state("{_attribute(error)}", …)' for do in ("get", "set"))
    match error:
        case StateDtypeError() if _starts_narrow(error):
            old, new = (f"jnp.{error.values[key]}" for key in ("old_dtype", "dtype"))
            return read.replace("…", f"…{old}…"), read.replace("…", f"…{new}…")
        case StateDtypeError():
            return write, write.replace("…", f"jnp.asarray(…, jnp.{error.values['dtype']})")
        case StateShapeError():
            old, new = (np.shape(error.values[key]) for key in ("before", "after"))
            started = read.replace("…", f"{old}, …"), read.replace("…", f"{new}, …")
            return _reshaped(error, write, "", "") or started
    return None


def of_runner(error: HaikuStateError, axis_name: str | None) -> Lines:
    """A runner: it binds one axis, or none because the step sees all rows."""
    if not isinstance(error, UnboundAxisError):
        return None
    axis = f'"{error.values["axis"]}"'
    if error.values.get("in_module"):
        wrong = f"cross_replica_axis={axis}"
        return (
            wrong,
            f'cross_replica_axis="{axis_name}"' if axis_name else "cross_replica_axis=None",
        )
    return f"jax.lax.pmean(…, {axis})", f'jax.lax.pmean(…, "{axis_name}")' if axis_name else "…"


def _attribute(error: HaikuStateError) -> str:
    """Return ``"layer.h"`` for ``state.layer.h``, and ``"h"`` for ``state['layer']['h']``."""
    path = error.values.get("path", "")
    return path.rpartition("['")[2][:-2] if path.endswith("']") else path.partition(".")[2]


def _starts_narrow(error: HaikuStateError) -> bool:
    return bool(error.values["dtype"] != error.values["old_dtype"])


def _reshaped(error: HaikuStateError, name: str, write: str, start: str) -> Lines:
    old, new = (np.shape(error.values[key]) for key in ("before", "after"))
    if np.prod(old) == np.prod(new):  # the same numbers: a reduction without keepdims
        return write + name, write + name.replace("…", f"jnp.reshape(…, {old})")
    fits = len(old) <= len(new) and all(
        a in (1, b) for a, b in zip(old[::-1], new[::-1], strict=False)
    )
    if start and fits:
        return start + name, start + name.replace("…", f"jnp.broadcast_to(…, {new})")
    return None
