"""What to write instead: each boundary knows its caller, and says it in the caller's terms.

An error of a check holds facts: a path, and what was there before and after. Who called the check
knows the program: ``functionalize`` a class, a pure pair a module, a runner the axis it binds. In a
wrong line, ``…`` stands for what the program has there; in the right line, for the same. A boundary
that is not sure that its line is right gives none.
"""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.errors.base import HaikuStateError
from haiku_state.errors.modules import TracedFlagError, UnboundAxisError
from haiku_state.errors.state import (
    LEAKED_IN_HAIKU,
    CounterAdvancedError,
    LeakedTracerError,
    StateDtypeError,
    StateShapeError,
    WeakTypeError,
)
from haiku_state.errors.statements import (
    call_beside,
    chosen_by_where,
    may_grow,
    source_of,
    transformed_by,
)

Lines = Mapping[str, str] | None
"""``wrong`` and ``right``, perhaps ``why``; None if the boundary knows no better ones."""


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
    better = type(error)(**{**error.values, **lines})
    better.__cause__ = error.__cause__
    return better.with_traceback(error.__traceback__)


def of_functionalize(error: HaikuStateError, cls: type, method: str) -> Lines:
    """A class: its constructor makes the state, and a method assigns it."""
    if isinstance(error, TracedFlagError):
        return chosen_by_where(error)
    name = f"self.{error.values.get('path', '').partition('.')[2]} = "
    functions = vars(cls).get("__init__"), getattr(cls, method)
    makes, writes = (name in source_of(function) for function in functions)
    make, write = f"def __init__(self, …): {name}…", f"def {method}(self, …): {name}…"
    match error:
        case StateDtypeError() if dtype := _wider(error):
            wrong, is_there = (write, writes) if _is_wide(error) else (make, makes)
            lines = {"wrong": wrong, "right": _around(wrong, f"jnp.asarray(…, {dtype})")}
            return lines if is_there else None
        case StateShapeError():
            old, new = _shapes(error)
            if writes and _squeezed(old) == _squeezed(new):  # a reduction without keepdims
                return {"wrong": write, "right": _around(write, f"jnp.reshape(…, {old})")}
            if makes and _broadcasts(old, new) and not may_grow(getattr(cls, method)):
                return {"wrong": make, "right": _around(make, f"jnp.broadcast_to(…, {new})")}
    return None


def of_pair(error: HaikuStateError, module: Any) -> Lines:
    """A module: ``hk.get_state`` makes the state, and ``hk.set_state`` writes it."""
    if isinstance(error, LeakedTracerError):
        return {"why": LEAKED_IN_HAIKU, **(transformed_by(module) or {})}
    if isinstance(error, TracedFlagError):
        return _static_flag(error)
    name = error.values.get("path", "").rpartition("['")[2][:-2]
    made, written = (call_beside(module, f"{do}_state", name) for do in ("get", "set"))
    write = f'hk.set_state("{name}", …)' if written else ""
    match error:
        case StateDtypeError() if (dtype := _wider(error)) and not _is_wide(error):
            old = f"jnp.{jnp.result_type(error.values['before'])}"
            return {"wrong": made, "right": made.replace(old, dtype)} if old in made else None
        case StateDtypeError() | WeakTypeError() if write and (dtype := _wider(error)):
            return {"wrong": write, "right": _around(write, f"jnp.asarray(…, {dtype})")}
        case StateShapeError():
            before, after = _shapes(error)
            if write and _squeezed(before) == _squeezed(after):
                return {"wrong": write, "right": _around(write, f"jnp.reshape(…, {before})")}
            if str(before) in made and _broadcasts(before, after) and not may_grow(module):
                return {"wrong": made, "right": made.replace(str(before), str(after), 1)}
    return None


def of_runner(error: HaikuStateError, axis_name: str | None) -> Lines:
    """A runner: it binds one axis, or none because the step sees all rows."""
    match error:
        case UnboundAxisError(values={"in_module": axis}) if axis:
            bound = f'"{axis_name}"' if axis_name else None
            wrong = f"cross_replica_axis={axis!r}".replace("'", '"')
            return {"wrong": wrong, "right": f"cross_replica_axis={bound}"}
        case UnboundAxisError(values={"axis": axis, "is_mean": True}):
            wrong = f'jax.lax.pmean(…, "{axis}")'
            return {"wrong": wrong, "right": wrong.replace(axis, axis_name) if axis_name else "…"}
        case CounterAdvancedError() if _of_default_name(error.values["paths"]):
            call = "ExponentialMovingAverage(…)(…{})"
            return {"wrong": call.format(""), "right": call.format(", update_stats=is_training")}
    return None


def _around(line: str, call: str) -> str:
    return line.removesuffix(")").rpartition("…")[0] + call + ")" * line.endswith(")")


def _wider(error: HaikuStateError) -> str:
    """Return the dtype that holds the numbers before and after, so that no advice rounds any."""
    try:
        with jax.numpy_dtype_promotion("standard"):
            return f"jnp.{jnp.promote_types(*_dtypes(error))}"
    except (TypeError, ValueError):  # a random key is no number
        return ""


def _is_wide(error: HaikuStateError) -> bool:
    """Return whether the state has been wide enough from the beginning."""
    return _wider(error) == f"jnp.{_dtypes(error)[0]}"


def _dtypes(error: HaikuStateError) -> tuple[Any, Any]:
    return jnp.result_type(error.values["before"]), jnp.result_type(error.values["after"])


def _shapes(error: HaikuStateError) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return np.shape(error.values["before"]), np.shape(error.values["after"])


def _squeezed(shape: tuple[int, ...]) -> list[int]:
    return [length for length in shape if length != 1]


def _broadcasts(old: tuple[int, ...], new: tuple[int, ...]) -> bool:
    pairs = zip(old[::-1], new[::-1], strict=False)
    return len(old) <= len(new) and all(a in (1, b) for a, b in pairs)


def _static_flag(error: HaikuStateError) -> Lines:
    """Return how ``jit`` learns of a flag, if it is the argument of a function under ``jit``."""
    said = re.search(r" for jit\b[\s\S]* of the argument (\w+)\.", str(error.__cause__))
    if said is None:
        return None
    return {"wrong": "jax.jit(…)", "right": f'jax.jit(…, static_argnames="{said[1]}")'}


def _of_default_name(paths: str) -> bool:
    """Return whether all averages have the name that the class gives them."""
    _first, *named = paths.split("\n")
    return all(re.search(r"\bexponential_moving_average(_\d+)?'", path) for path in named)
