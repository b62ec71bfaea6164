"""Answers of learners to the exercises: a cell for each, with what is true of it.

A file of ``tests/exercises/answers`` holds a cell for each: ``# %% right: STYLE``, or ``# %% wrong:
IDEAS`` with the names of the ideas that are true of it, separated by ``|``, and ``-`` for none.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from support import ROOT

FOLDER = ROOT / "tests/exercises/answers"
FILES = sorted(FOLDER.glob("*.py"))


def answers(file: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the kind, the label and the source of each answer."""
    _head, *cells = re.split(r"^# %% (right|wrong): ?(.*)\n", file.read_text("utf-8"), flags=re.M)
    yield from zip(cells[::3], cells[1::3], cells[2::3], strict=True)
