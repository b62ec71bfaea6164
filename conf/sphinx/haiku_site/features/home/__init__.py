"""What only the home page has: the course map."""

from typing import Any

from docutils import nodes
from haiku_site import features
from haiku_site.course import contents
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective


class CourseMap(nodes.General, nodes.Element):
    """The place of the map, which is drawn when the titles of all pages are known."""


class MapHere(SphinxDirective):
    """The parts of the course and their lessons, with the time that they take."""

    def run(self) -> list[nodes.Node]:
        """Mark the place."""
        return [CourseMap()]


def _draw_map(translator: Any, node: CourseMap) -> None:
    builder = translator.builder
    here = builder.current_docname
    context = {
        "parts": [page for page in contents(builder.app).pages if any(page.lessons())],
        "href": lambda name: builder.get_relative_uri(here, name),
        "read": _("already read"),
        "minutes": _("{minutes} min"),
        "go_on": _("Continue with lesson {number}"),
    }
    translator.body.append(builder.templates.render("course-map.html", context))
    raise nodes.SkipNode


def _skip(translator: Any, node: CourseMap) -> None:
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_node(CourseMap, html=(_draw_map, None), text=(_skip, None))
    app.add_directive("course-map", MapHere)
    return features.add(app, __file__)
