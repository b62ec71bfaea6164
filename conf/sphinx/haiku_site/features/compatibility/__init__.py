"""Draws what the matrix has measured: sets of versions, features, lessons, each against JAX."""

import itertools
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from docutils import nodes
from haiku_site import ROOT, features
from haiku_site.course import course, link_to
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

MEASURED = ROOT / "docs/reference/compat.json"
MESSAGES = ROOT / "docs/reference/messages.json"
LIBRARIES = ("dm-haiku", "optax", "numpy", "orbax-checkpoint", "flax", "equinox")
YES, NO = "✓", "–"


def text(content: str) -> nodes.Node:
    """Make a cell that is the same in both languages."""
    return nodes.paragraph("", content, translatable=False)


def word(content: str) -> nodes.Node:
    """Make a cell that is translated with its page."""
    return nodes.paragraph(content, content, word=True)


class Compatibility(SphinxDirective):
    """A table of ``docs/reference/compat.json``: its sets, features, lessons or warnings.

    Or one of ``messages.json``: what each version says to the calls of a group, such as ``pmap``.
    """

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Make the table, and make it again whenever the measurements change."""
        self.env.note_dependency(str(MEASURED))
        self.env.note_dependency(str(MESSAGES))
        measured = json.loads(MEASURED.read_text(encoding="utf-8"))
        draw: dict[str, Callable[[dict[str, Any]], Iterable[list[nodes.Node]]]] = {
            "sets": self.sets,
            "features": self.features,
            "lessons": self.lessons,
            "warnings": self.warnings,
        }
        said = json.loads(MESSAGES.read_text(encoding="utf-8"))
        what = self.arguments[0]
        if what not in draw:
            drawn = table(list(self.messages({name: row[what] for name, row in said.items()})), "")
        else:
            drawn = table(list(draw[what](measured["sets"])), caption(measured))
        for head in drawn.findall(lambda node: "word" in getattr(node, "attributes", ())):
            self.set_source_info(head)  # without it, Sphinx leaves a text untranslated
        return [drawn]

    def sets(self, rows: dict[str, Any]) -> Iterable[list[nodes.Node]]:
        """One row per set: its versions, and the results of its tests."""
        names = [text(name) for name in ("jax", "Python", *LIBRARIES)]
        yield [*names, word("passed"), word("failed"), word("skipped")]
        for row in rows.values():
            tests, versions = row["tests"], row["versions"]
            counts = (tests["passed"], tests["failed"], sum(tests["skipped"].values()))
            cells = [versions["jax"], row["python"]]
            cells += [versions.get(library, NO) for library in LIBRARIES]
            yield [text(str(cell)) for cell in (*cells, *counts)]

    def features(self, rows: dict[str, Any]) -> Iterable[list[nodes.Node]]:
        """One row per feature, one column per set."""
        yield [text("JAX"), *map(text, rows)]
        for feature in next(iter(rows.values()))["features"]:
            has = [row["features"][feature] for row in rows.values()]
            yield [literal(feature), *(text(YES if each else NO) for each in has)]

    def lessons(self, rows: dict[str, Any]) -> Iterable[list[nodes.Node]]:
        """One row per lesson that was run, one column per set on which lessons were run."""
        run = {name: row["lessons"] for name, row in rows.items() if "lessons" in row}
        yield [text("JAX"), *map(text, run)]
        for lesson in course(Path(self.env.srcdir)):
            results = [each.get(lesson, NO) for each in run.values()]
            yield [nodes.paragraph("", "", link_to(lesson, self)), *map(outcome, results)]

    def messages(self, rows: dict[str, dict[str, str]]) -> Iterable[list[nodes.Node]]:
        """One row per call and message, with the versions that say it."""
        yield [word("call"), text("JAX"), word("what it says")]
        for call in next(iter(rows.values())):
            same = itertools.groupby(rows, key=lambda name: rows[name][call])
            for number, (said, names) in enumerate(same):
                first, *more = names
                versions = f"{first} – {more[-1]}" if more else first
                yield [literal(call) if not number else text(""), text(versions), literal(said)]

    def warnings(self, rows: dict[str, Any]) -> Iterable[list[nodes.Node]]:
        """One row a warning of the imports, or one that says that there is none."""
        yield [text("jax"), literal("import haiku, optax, haiku_state")]
        found = [(name, each) for name, row in rows.items() for each in row["warnings"]]
        yield from ([text(name), literal(each)] for name, each in found)
        if not found:
            yield [text(NO), text(NO)]


def caption(measured: dict[str, Any]) -> str:
    """Return the version of the package that was tested, and the days."""
    days = sorted({row["date"] for row in measured["sets"].values()})
    return f"{measured['version']} · {' – '.join(days)}"


def outcome(result: str) -> nodes.Node:
    """Make a cell that says how a lesson went, with what it printed about skipped parts."""
    if result in ("ok", NO):
        return text(YES if result == "ok" else NO)
    went, _, printed = result.partition("; ")
    if went != "ok":
        return literal(result)
    return nodes.paragraph("", f"{YES} ", nodes.literal("", printed), translatable=False)


def literal(content: str) -> nodes.Node:
    """Make a cell of code."""
    return nodes.paragraph("", "", nodes.literal("", content), translatable=False)


def table(rows: list[list[nodes.Node]], caption: str) -> nodes.Node:
    """Make a table whose first row is its head; the caption is the same in both languages."""
    columns = len(rows[0])
    group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in range(columns)), cols=columns)
    head, *body = [nodes.row("", *(nodes.entry("", cell) for cell in row)) for row in rows]
    group += [nodes.thead("", head), nodes.tbody("", *body)]
    title = [nodes.title("", caption, translatable=False)] if caption else []
    return nodes.table("", *title, group, classes=["compatibility"])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("compatibility", Compatibility)
    return features.add(app, __file__)
