"""What a check may ask of an answer as a whole: how often a function runs, and what a new run has.

By whatever name a function is called, and without a change of the answer.
"""

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType
from typing import Any

import jax


def again(answer: ModuleType) -> ModuleType:
    """Return the answer as a new process would have it: its code is run again, in a new module.

    Args:
      answer: what a check gets.
    """
    fresh: ModuleType = vars(answer)["__again__"]()
    return fresh


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
