"""The course: its lessons, the site as a tree of pages, and what the pages say about them.

A lesson's number is its place in the first toctree of its part; pages of the second one go deeper
and have none. Its minutes are computed from its page and its exercises, so neither is written by
hand.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective

from haiku_state.exercises.courses import ours
from haiku_state.exercises.exercise import Exercise

WORDS, LINES, TASK = 150, 10, 3  # words and lines of code a minute, minutes a task
PREDICT = 1  # minutes for a question

_TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADER = r"((?:---\n.*?^---\n|(?:^:[^\n]*\n)+\n?)?)"
_CELL = re.compile(rf"^```\{{code-cell\}} ipython3\n{_HEADER}(.*?)^```$", re.M | re.S)
FOLDED = ("plot", "check", "solution", "harness")
"""The tags of cells that are folded, and are not part of what a lesson tells."""
OF_THE_BUILD = ("answers", "choices")
"""The tags of cells that only the kernels of the build can run."""


class Lesson(NamedTuple):
    """The place of a lesson in the course."""

    number: int | None
    """None for a page that goes deeper."""

    part: str
    """The name of the page that lists the lessons of its part."""

    reading: int
    """The minutes that the page takes."""

    minutes: int
    """The minutes that the page and its exercises take."""


def toctrees(page: Path) -> list[list[str]]:
    """Return the names of the pages in each toctree of a page, relative to its folder."""
    found = []
    for tree in _TOCTREE.findall(page.read_text(encoding="utf-8")):
        lines = [line for line in tree.splitlines() if line and line[0] != ":"]
        found.append([line.rstrip(">").split("<")[-1] for line in lines])
    return found


def parts(docs: Path) -> list[str]:
    """Return the pages that list the lessons of a part, in order."""
    [names] = toctrees(docs / "index.md")
    return [name for name in names if _lists_lessons(docs / f"{name}.md")]


@functools.cache  # each page asks, and the answer takes reading all lessons
def course(docs: Path) -> dict[str, Lesson]:
    """Return the lessons of the course and the pages that go deeper, by their names, in order."""
    found: dict[str, Lesson] = {}
    numbers = itertools.count(1)
    for part in parts(docs):
        for depth, names in enumerate(toctrees(docs / f"{part}.md")):
            for entry in names:
                name = f"{Path(part).parent}/{entry}"
                reading = minutes(docs / f"{name}.md")
                practice = sum(exercise.minutes for exercise in of_lesson(name))
                whole = 5 * math.ceil((reading + practice) / 5)
                found[name] = Lesson(None if depth else next(numbers), part, reading, whole)
    return found


def of_lesson(docname: str) -> Iterator[Exercise]:
    """Yield the exercises of a lesson."""
    for name in ours().names:
        exercise = ours().load(name)
        if exercise.lesson.partition("#")[0] == docname:
            yield exercise


def minutes(page: Path) -> int:
    """Return the minutes that a page takes: words, code, questions and tasks, up to 5."""
    text = prose(page)
    visible = "".join(cells(page, without=FOLDED)).splitlines()
    lines = sum(bool(line.strip()) for line in visible)
    words = len(re.findall(r"\w[\w'’.-]*", re.sub(r"\]\([^)]*\)", "]", text)))  # no addresses
    asked = PREDICT * len(re.findall(r"^```\{why\}", text, re.MULTILINE))
    asked += TASK * len(tasks(page))
    return 5 * math.ceil((words / WORDS + lines / LINES + asked) / 5)


def prose(page: Path) -> str:
    """Return the Markdown of a page without its head and its cells."""
    return _CELL.sub("", page.read_text(encoding="utf-8").split("\n---\n", 1)[-1])


def told(lesson: Lesson) -> str:
    """Return a lesson's number and its minutes, in words."""
    if lesson.number is None:
        return _("in depth, {minutes} min").format(minutes=lesson.minutes)
    return _("lesson {number}, {minutes} min").format(**lesson._asdict())


def cells(page: Path, without: tuple[str, ...] = ()) -> list[str]:
    """Return the code of a page's cells, in order, without those of some tags.

    Those that only the kernels of the build can run are never among them.
    """
    tagged = _CELL.findall(page.read_text(encoding="utf-8"))
    return [code for header, code in tagged if not {*OF_THE_BUILD, *without} & {*_tags(header)}]


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


def link_to(docname: str, directive: SphinxDirective) -> nodes.Node:
    """Make a link to a page, whose text Sphinx takes from there, in its language."""
    if not any(Path(directive.env.srcdir, f"{docname}.{kind}").is_file() for kind in ("md", "rst")):
        raise directive.error(f"there is no page {docname}")
    return addnodes.pending_xref(
        "",
        nodes.inline("", docname, classes=["std", "std-doc"]),
        refdomain="std",
        reftype="doc",
        reftarget=f"/{docname}",
        refdoc=directive.env.docname,
        refexplicit=False,
        refwarn=True,
    )


def duration(minutes: int) -> str:
    """Return a duration in words: to five minutes within the first hour, then to half hours."""
    if minutes < 60:
        return _("about {minutes} minutes").format(minutes=minutes)
    hours, half = divmod(round(minutes / 30), 2)
    if hours == 1:
        return _("about 1½ hours") if half else _("about an hour")
    return (_("about {hours}½ hours") if half else _("about {hours} hours")).format(hours=hours)


class Entry(NamedTuple):
    """A page in the tree."""

    name: str
    short: str
    """What the list that it is in calls it."""

    title: str
    number: int | None
    """The number of a lesson; None for other pages."""

    minutes: int
    """What a lesson takes, or all numbered lessons below this page."""

    pages: list[Entry]

    @property
    def duration(self) -> str:
        """How long the page takes, in words."""
        return duration(self.minutes)

    def alone(self) -> Entry:
        """Return the page without those below it, under a name that it does not share with them."""
        name = self.title if self.title != self.short else _("Overview")
        return self._replace(short=name, pages=[])

    def holds(self, name: str) -> bool:
        """Return whether a page is this one, or below it."""
        return self.name == name or any(page.holds(name) for page in self.pages)

    def lessons(self) -> Iterator[Entry]:
        """Yield the numbered lessons of the tree, in order."""
        if self.number:
            yield self
        for page in self.pages:
            yield from page.lessons()


@functools.lru_cache(maxsize=1)
def contents(app: Sphinx) -> Entry:
    """Return the tree of a build, whose titles are in its language."""
    return _entry(app, str(app.config.root_doc), None)


def _entry(app: Sphinx, name: str, short: str | None) -> Entry:
    title = app.env.titles[name].astext()
    trees = app.env.tocs[name].findall(addnodes.toctree)
    pages = [_entry(app, page, text) for tree in trees for text, page in tree["entries"]]
    lesson = course(Path(app.srcdir)).get(name)
    minutes = sum(page.minutes for page in pages if page.number or page.pages)
    if lesson:
        minutes = lesson.minutes
    return Entry(name, short or title, title, lesson and lesson.number, minutes, pages)


def after_whole_site(app: Sphinx, write: Callable[[Sphinx], None]) -> None:
    """Have something be written once all pages are, and not after a few that were built alone."""

    def end(app: Sphinx, error: Exception | None) -> None:
        is_whole = app.env.found_docs >= course(Path(app.srcdir)).keys()
        if is_whole and not error and app.builder.name == "html":
            write(app)

    app.connect("build-finished", end)
