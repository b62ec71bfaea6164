"""The lessons: lists of them, what is counted from them, and on each which it is and what is next.

Only the reader's browser knows which lessons were read, and ``lessons.js`` shows it.
"""

from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from haiku_site import features
from haiku_site.course import contents, course, duration, link_to, parts, told
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective, SphinxRole


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


def _page_context(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    context["site_lesson"] = course(Path(app.srcdir)).get(pagename)
    lessons = list(contents(app).lessons())
    place = next((place for place, each in enumerate(lessons) if each.name == pagename), None)
    if place is not None:
        context["site_before"] = lessons[place - 1] if place else None
        context["site_after"] = next(iter(lessons[place + 1 :]), None)
    context["lesson_texts"] = {
        "mark": _("I have read this lesson"),
        "mark_help": _("Your browser stores this mark and sends it nowhere."),
        "next_step": _("Next step"),
        "next_lesson": _("Lesson {number}: {title}"),
        "before": _("Back to lesson {number}: {title}"),
    }


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive and the role, and say which lessons are before and after a page."""
    app.add_directive("lessons", Lessons)
    app.add_role("count", Count())
    app.connect("doctree-read", _add_eyebrow)
    app.connect("html-page-context", _page_context)
    return features.add(app, __file__)
