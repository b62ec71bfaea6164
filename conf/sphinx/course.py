"""What the pages say about the course itself: its lessons with their minutes."""

from pathlib import Path
from typing import Any

from docutils import nodes
from lesson_pages import course
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective


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
        sum_of_all = nodes.paragraph("", _("{} minutes in all").format(total), translatable=False)
        return [listed, sum_of_all]


def _add_eyebrow(app: Sphinx, document: nodes.document) -> None:
    """Say above a lesson's title which lesson it is, and how long it takes."""
    docs = Path(app.srcdir)
    if lesson := course(docs).get(app.env.docname):
        for page in (docs / "index.md", docs / f"{lesson.part}.md"):
            app.env.note_dependency(str(page))
        text = _("Lesson {number} · about {minutes} minutes").format(**lesson._asdict())
        document.insert(0, nodes.paragraph("", text, classes=["eyebrow"], translatable=False))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive, and what stands above each lesson."""
    app.add_directive("lessons", Lessons)
    app.connect("doctree-read", _add_eyebrow)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
