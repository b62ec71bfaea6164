"""What the pages say about the course itself: its lessons with their minutes."""

from pathlib import Path
from typing import Any

from docutils import nodes
from haiku_site.content.lesson_pages import course, parts
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective, SphinxRole


def link_to(docname: str, directive: SphinxDirective) -> nodes.Node:
    """Make a link to a lesson, whose text Sphinx takes from the page, in its language."""
    if docname not in directive.env.found_docs:
        raise directive.error(f"there is no lesson {docname}")
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
    """The title, number and minutes of each lesson in the content: one path per line."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Make a list of links, each with its minutes."""
        listed, lessons = nodes.bullet_list(), course(Path(self.env.srcdir))
        for docname in self.content:
            link = link_to(docname, self)
            self.env.note_dependency(str(self.env.doc2path(docname)))
            text = _("lesson {number}, {minutes} min").format(**lessons[docname]._asdict())
            listed += nodes.list_item("", nodes.paragraph("", "", link, nodes.Text(f" · {text}")))
        total = sum(lessons[docname].minutes for docname in self.content)
        # Sphinx's own catalog has it, no page's
        text = _("{duration} in all").format(duration=duration(total))
        sum_of_all = nodes.paragraph("", text[0].upper() + text[1:], translatable=False)
        return [listed, sum_of_all]


class Count(SphinxRole):
    """What is counted from the lessons: ``lessons``, ``parts``, ``time``, or a lesson's minutes."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the number of lessons or parts, or how long a lesson or all of them take."""
        docs = Path(self.env.srcdir)
        lessons = course(docs)
        for docname in lessons:
            self.env.note_dependency(str(self.env.doc2path(docname)))
        if self.text in lessons:
            said = _("{minutes} min").format(minutes=lessons[self.text].minutes)
        else:
            total = sum(lesson.minutes for lesson in lessons.values())
            counts = {"lessons": len(lessons), "parts": len(parts(docs)), "time": duration(total)}
            said = str(counts[self.text])
        return [nodes.inline("", said, classes=["hs-count"])], []


def _add_eyebrow(app: Sphinx, document: nodes.document) -> None:
    """Show above a lesson's title which lesson it is, and how long it takes."""
    docs = Path(app.srcdir)
    if lesson := course(docs).get(app.env.docname):
        for page in (docs / "index.md", docs / f"{lesson.part}.md"):
            app.env.note_dependency(str(page))
        text = _("Lesson {number} · about {minutes} minutes").format(**lesson._asdict())
        document.insert(0, nodes.paragraph("", text, classes=["eyebrow"], translatable=False))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive, and what is shown above each lesson."""
    app.add_directive("lessons", Lessons)
    app.add_role("count", Count())
    app.connect("doctree-read", _add_eyebrow)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
