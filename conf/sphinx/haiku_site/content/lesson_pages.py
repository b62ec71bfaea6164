"""The lessons as their pages tell them: their order, their minutes, their tasks.

A lesson's number is its place in the toctrees, and its minutes are computed from its page, so that
neither is written by hand. Nothing but the standard library is needed here.
"""

import functools
import math
import re
from pathlib import Path
from typing import NamedTuple

WORDS, LINES, TASK = 150, 10, 3  # words and lines of code a minute, minutes a task

_TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADER = r"((?:---\n.*?^---\n|(?:^:[^\n]*\n)+\n?)?)"
_CELL = re.compile(rf"^```\{{code-cell\}} ipython3\n{_HEADER}(.*?)^```$", re.M | re.S)
FOLDED = ("plot", "check", "solution", "harness")
"""The tags of cells that are folded, and are not part of what a lesson tells."""


class Lesson(NamedTuple):
    """The place of a lesson in the course."""

    number: int
    part: str
    """The name of the page that lists the lessons of its part."""

    minutes: int


def entries(page: Path) -> list[str]:
    """Return the names of the pages in the toctrees of a page, relative to its folder."""
    lines = "".join(_TOCTREE.findall(page.read_text(encoding="utf-8"))).splitlines()
    return [line.rstrip(">").split("<")[-1] for line in lines if line and line[0] != ":"]


def parts(docs: Path) -> list[str]:
    """Return the pages that list the lessons of a part, in order."""
    return [name for name in entries(docs / "index.md") if _lists_lessons(docs / f"{name}.md")]


@functools.cache  # each page asks, and the answer takes reading all lessons
def course(docs: Path) -> dict[str, Lesson]:
    """Return all lessons of the course by their names, in order, as a process first reads them."""
    found: dict[str, Lesson] = {}
    for part in parts(docs):
        for entry in entries(docs / f"{part}.md"):
            name = f"{Path(part).parent}/{entry}"
            found[name] = Lesson(len(found) + 1, part, minutes(docs / f"{name}.md"))
    return found


def minutes(page: Path) -> int:
    """Return the minutes that a lesson takes: words, visible lines of code and tasks, up to 5."""
    text = page.read_text(encoding="utf-8").split("\n---\n", 1)[-1]
    visible = "".join(cells(page, without=FOLDED)).splitlines()
    lines = sum(bool(line.strip()) for line in visible)
    prose = re.sub(r"\]\([^)]*\)", "]", _CELL.sub("", text))  # a link's address is not read
    words = len(re.findall(r"\w[\w'’.-]*", prose))
    return 5 * math.ceil((words / WORDS + lines / LINES + TASK * len(tasks(page))) / 5)


def cells(page: Path, without: tuple[str, ...] = ()) -> list[str]:
    """Return the code of a page's cells, in order, without those of some tags."""
    tagged = _CELL.findall(page.read_text(encoding="utf-8"))
    return [code for header, code in tagged if not {*without} & {*_tags(header)}]


def _tags(header: str) -> list[str]:
    found = re.search(r"\btags: *\[(.*?)\]", header)
    return re.split(r", *", found[1]) if found else []


def tasks(page: Path) -> dict[int, str]:
    """Return what a lesson asks to do on one's own, by number."""
    text = page.read_text(encoding="utf-8").partition("\n## On your own\n")[2]
    numbered = re.split(r"^(\d)\. ", text.partition("\n## ")[0], flags=re.MULTILINE)[1:]
    return dict(zip(map(int, numbered[::2]), numbered[1::2], strict=True))


def _lists_lessons(page: Path) -> bool:
    return page.exists() and "```{lessons}" in page.read_text(encoding="utf-8")
