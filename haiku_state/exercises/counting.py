"""How often a function runs, by whatever name it is called."""

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any


@contextlib.contextmanager
def counted_runs(function: Callable[..., Any]) -> Iterator[list[int]]:
    """Give a list that grows by one entry with each run of the Python code of a function."""
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
