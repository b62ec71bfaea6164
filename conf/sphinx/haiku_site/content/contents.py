"""The whole site as a tree of pages, for the header, the sidebar and the course map.

The templates draw it. Which lessons were read is known to the reader's browser alone, and
``static/progress.js`` shows it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from haiku_site.content.course import duration
from haiku_site.content.exercise_cards import label, of_lesson
from haiku_site.content.lesson_pages import course
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.locale import _


class Entry(NamedTuple):
    """A page in the tree."""

    name: str
    short: str
    """What the list that it is in calls it."""

    title: str
    number: int | None
    """The number of a lesson."""

    minutes: int
    """What a lesson takes, or all lessons below this page."""

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
        """Yield the lessons of the tree, in order."""
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
    minutes = lesson.minutes if lesson else sum(page.minutes for page in pages)
    return Entry(name, short or title, title, lesson and lesson.number, minutes, pages)


def _page_context(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    root = contents(app)
    lessons = list(root.lessons())
    context["site_contents"] = root.pages
    context["site_lesson"] = next((each for each in lessons if each.name == pagename), None)
    if lesson := context["site_lesson"]:
        context["site_before"], context["site_after"] = (
            next((each for each in lessons if each.number == lesson.number + step), None)
            for step in (-1, 1)
        )
        context["site_exercises"] = [
            f"{context['pathto']('exercises/index')}#{label(exercise.name)}"
            for exercise in of_lesson(pagename)
        ]
    # not in the templates themselves, from which Sphinx would extract them into a catalog of pages
    context["site_texts"] = {
        "contents": _("All pages"),
        "parts": _("Parts of the site"),
        "read": _("already read"),
        "mark": _("I have read this lesson"),
        "mark_help": _("Your browser remembers it. Nothing is sent."),
        "next_step": _("Next step"),
        "next_lesson": _("Lesson {number}: {title}"),
        "practise": _("Practise: {number} exercises for this lesson"),
        "practise_one": _("Practise: an exercise for this lesson"),
        "before": _("Back to lesson {number}: {title}"),
    }


def setup(app: Sphinx) -> dict[str, Any]:
    """Pass the tree to the templates, and load the script that marks what was read."""
    app.connect("html-page-context", _page_context)
    app.add_js_file("progress.js", loading_method="defer")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
