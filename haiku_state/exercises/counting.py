"""How often a function runs, by whatever name it is called, and whether as one program."""

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import jax


def is_one_program(function: Callable[..., Any], *arguments: Any) -> bool:
    """Whether a call is one compiled program, and no operation runs beside it."""
    equations = jax.make_jaxpr(lambda *given: function(*given))(*arguments).jaxpr.eqns
    return [one.primitive.name for one in equations] in (["pjit"], ["jit"])


@contextlib.contextmanager
def counted_runs(function: Callable[..., Any]) -> Iterator[list[int]]:
    """Yield a list that grows by one entry with each run of the Python code of a function."""
    code = inspect.unwrap(function).__code__
    runs: list[int] = []

    def look(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code is code:
            runs.append(1)

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        yield runs
    finally:
        sys.setprofile(before)
