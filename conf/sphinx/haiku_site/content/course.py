"""The course: its lessons, the site as a tree of pages, and what the pages say about them.

A lesson's number is its place in the first toctree of its part; pages of the second one go deeper
and have none. Its minutes are computed from its page and its exercises, so neither is written by
hand. The templates draw the tree. Only the reader's browser knows which lessons were read, and
``static/progress.js`` shows it.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective, SphinxRole

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


class Lessons(SphinxDirective):
    """The title, number and minutes of lessons: those in the content, or the numbered ones here.

    With ``:numbers:``, on one line, each after its number; on a phone, the numbers alone.
    """

    has_content = True
    option_spec = {"numbers": directives.flag}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        """Make the links, and say how long all take."""
        listed, lessons = nodes.bullet_list(), course(Path(self.env.srcdir))
        numbers: list[nodes.Node] = []
        here = [
            name
            for name, lesson in lessons.items()
            if lesson.number and lesson.part == self.env.docname
        ]
        named = list(self.content) or here
        for docname in named:
            link = link_to(docname, self)
            self.env.note_dependency(str(self.env.doc2path(docname)))
            if "numbers" in self.options:
                if not lessons[docname].number:
                    raise self.error(f"{docname} has no number")
                number = str(lessons[docname].number)
                long = nodes.inline("", f"{number} ", link, classes=["hs-long"])
                short = link_to(docname, self)
                short["refexplicit"], short[0] = True, nodes.inline("", number)
                short = nodes.inline("", "", short, classes=["hs-short"])
                numbers += [long, short, nodes.Text(" · ")]
                continue
            text = told(lessons[docname])
            listed += nodes.list_item("", nodes.paragraph("", "", link, nodes.Text(f" · {text}")))
        total = sum(lessons[docname].minutes for docname in named)
        # Sphinx's own catalog has it, no page's
        text = _("{duration} in all").format(duration=duration(total))
        if numbers:
            before, after = _("Lessons {numbers}, {total}").split("{numbers}")
            after = after.format(total=text)
            parts = [nodes.Text(before), *numbers[:-1], nodes.Text(after)]
            return [nodes.paragraph("", "", *parts, translatable=False, classes=["hs-numbers"])]
        sum_of_all = nodes.paragraph("", text[0].upper() + text[1:], translatable=False)
        return [listed, sum_of_all]


class Count(SphinxRole):
    """What is counted from the lessons: ``lessons``, ``parts``, ``time``, ``reading``, or minutes.

    ``time`` counts the exercises too, ``reading`` does not; neither counts pages that go deeper.
    """

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the number of lessons or parts, or how long a lesson or all of them take."""
        docs = Path(self.env.srcdir)
        lessons = course(docs)
        for docname in lessons:
            self.env.note_dependency(str(self.env.doc2path(docname)))
        if self.text in lessons:
            said = _("{minutes} min").format(minutes=lessons[self.text].minutes)
        else:
            numbered = [lesson for lesson in lessons.values() if lesson.number]
            counts = {
                "lessons": len(numbered),
                "parts": len(parts(docs)),
                "time": duration(sum(lesson.minutes for lesson in numbered)),
                "reading": duration(sum(lesson.reading for lesson in numbered)),
            }
            said = str(counts[self.text])
        return [nodes.inline("", said, classes=["hs-count"])], []


def _add_eyebrow(app: Sphinx, document: nodes.document) -> None:
    """Show above a lesson's title which lesson it is, and how long it takes."""
    docs = Path(app.srcdir)
    if lesson := course(docs).get(app.env.docname):
        for page in (docs / "index.md", docs / f"{lesson.part}.md"):
            app.env.note_dependency(str(page))
        text = _("In depth · about {minutes} minutes").format(minutes=lesson.minutes)
        if lesson.number:
            text = _("Lesson {number} · about {minutes} minutes").format(**lesson._asdict())
        if lesson.minutes > lesson.reading:
            text += _(" with its exercises")
        document.insert(0, nodes.paragraph("", text, classes=["eyebrow"], translatable=False))


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


def _page_context(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    root = contents(app)
    context["site_contents"] = root.pages
    context["site_lesson"] = course(Path(app.srcdir)).get(pagename)
    lessons = list(root.lessons())
    place = next((place for place, each in enumerate(lessons) if each.name == pagename), None)
    if place is not None:
        context["site_before"] = lessons[place - 1] if place else None
        context["site_after"] = next(iter(lessons[place + 1 :]), None)
    # not in the templates themselves, from which Sphinx would extract them into a catalog of pages
    context["site_texts"] = {
        "contents": _("All pages"),
        "parts": _("Parts of the site"),
        "read": _("already read"),
        "mark": _("I have read this lesson"),
        "mark_help": _("Your browser stores this mark and sends it nowhere."),
        "next_step": _("Next step"),
        "next_lesson": _("Lesson {number}: {title}"),
        "changelog": _("Changelog"),
        "license": _("License"),
        "repository": _("Repository"),
        "version": _("Version {version}").format(version=app.config.release),
        "before": _("Back to lesson {number}: {title}"),
    }


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive and the role, and pass the tree to the templates."""
    app.add_directive("lessons", Lessons)
    app.add_role("count", Count())
    app.connect("doctree-read", _add_eyebrow)
    app.connect("html-page-context", _page_context)
    app.add_js_file("progress.js", loading_method="defer")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
