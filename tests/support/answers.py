"""Answers of learners to the exercises: a cell for each, with what is true of it.

A file of ``tests/exercises/answers`` holds a cell for each: ``# %% right: STYLE``, or ``# %% wrong:
IDEAS`` with the names of the ideas that are true of it, separated by ``|``, and ``-`` for none.
What is true only with a JAX of this version or newer says so: ``# %% right since 0.6: STYLE``.
"""

import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from packaging.version import Version
from support import ROOT

FOLDER = ROOT / "tests/exercises/answers"
FILES = sorted(FOLDER.glob("*.py"))
HEADER = re.compile(r"^# %% (right|wrong)(?: since ([\d.]+))?: ?(.*)\n", flags=re.M)


def answers(file: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the kind, the label and the source of each answer, if it is for the installed JAX."""
    _head, *cells = HEADER.split(file.read_text("utf-8"))
    for kind, since, label, source in zip(*(cells[i::4] for i in range(4)), strict=True):
        assert "\n# %% " not in source, f"{file.name}: a header after {label!r} is no header"
        if Version(version("jax")) >= Version(since or "0"):
            yield kind, label, source
