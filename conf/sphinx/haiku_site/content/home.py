"""What only the home page and *Get started* have: what to install, and the course map."""

from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from haiku_site import compat
from haiku_site.content.course import contents
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective

from haiku_state.commands.doctor.versions import CORE, PLUGINS, Sets, read_sets

CUDA = next(iter(PLUGINS.values()))
SYSTEMS = {
    "Linux": ("python3 -m venv env", "source env/bin/activate", ""),
    "Linux, GPU": ("python3 -m venv env", "source env/bin/activate", f"[{CUDA}]"),
    "macOS": ("python3 -m venv env", "source env/bin/activate", ""),
    "Windows": ("py -m venv env", r"env\Scripts\activate", ""),
}
"""How each system makes and enters an environment, and which extra JAX needs there."""


class Install(SphinxDirective):
    """For each system, the commands that install a set of versions that was tested.

    With ``:pythons: all``, for each Python; otherwise for those that the newest set supports.
    """

    option_spec = {"pythons": lambda text: directives.choice(text, ("newest", "all"))}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        """Make a tab for each system."""
        newest = newest_sets(read_sets())
        if self.options.get("pythons") != "all":
            newest = newest[:1]
        tabs = []
        for number, (system, (make, enter, extra)) in enumerate(SYSTEMS.items()):
            lines = [make, enter]
            for pythons, pins in newest:
                lines += [f"# Python {', '.join(pythons)}", install_line(pins, extra)]
            label = nodes.rubric(system, system, classes=["sd-tab-label"], translatable=False)
            code = nodes.literal_block("", "\n".join(lines), language="text")
            content = compat.create_component("tab-content", ["sd-tab-content"], children=[code])
            item = compat.create_component("tab-item", ["sd-tab-item"], children=[label, content])
            item["selected"] = number == 0
            tabs.append(item)
        return [compat.create_component("tab-set", ["sd-tab-set", "hs-install"], children=tabs)]


def newest_sets(sets: Sets) -> list[tuple[list[str], dict[str, str]]]:
    """Return the newest pins of each Python, those of the same JAX together, the newest first."""
    newest: dict[str, tuple[list[str], dict[str, str]]] = {}
    for python in sorted({python for pins in sets.values() for python in pins}, key=_numbers):
        name = [name for name, pins in sets.items() if python in pins][-1]
        newest.setdefault(name, ([], sets[name][python]))[0].append(python)
    return list(newest.values())[::-1]


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]


def install_line(pins: dict[str, str], extra: str = "") -> str:
    """Return the command that installs the package with the core of a tested set."""
    core = [f"{name}=={pins[name]}" for name in CORE]
    if extra:  # which some shells would take for a pattern
        core[0] = f'"jax{extra}=={pins["jax"]}"'
    return " ".join(["python -m pip install haiku-state", *core])


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
    """Register the directives."""
    app.add_node(CourseMap, html=(_draw_map, None), text=(_skip, None))
    app.add_directive("install", Install)
    app.add_directive("course-map", MapHere)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
