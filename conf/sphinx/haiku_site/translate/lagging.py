"""Translations that lag behind the English: marked on their pages, and counted page by page.

The gate lets none pass. ``build.py --lagging`` does, so that a corrected English page need not wait
for its translator: a message whose English has changed is fuzzy in its catalog, a new one is empty.
"""

from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from haiku_site.content.course import link_to
from haiku_site.translate.cells import CellProse
from haiku_site.translate.gate.catalog_files import read_catalog
from haiku_site.translate.languages import translations
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.locale import _
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import extract_messages

from haiku_state.errors.language import languages

LAGS, MISSING = "hs-lags", "hs-not-translated"


class Progress(NamedTuple):
    """How far the translation of a page is."""

    messages: int
    translated: int
    lagging: int
    """Those whose English has changed since they were translated."""


def progress(catalog: Path) -> Progress:
    """Count the messages of a catalog."""
    messages = [message for message in read_catalog(catalog) if message.id]
    lagging = sum(message.fuzzy for message in messages)
    done = sum(bool(message.string) and not message.fuzzy for message in messages)
    return Progress(len(messages), done, lagging)


def percent(part: int, whole: int) -> int:
    """Return whole per cent, rounded down: 100 means that nothing is missing."""
    return 100 * part // whole if whole else 100


class MarkLagging(SphinxTransform):
    """Add a class to what a translation lags behind, before it is translated."""

    default_priority = 15  # Sphinx translates at 20

    def apply(self, **kwargs: Any) -> None:
        """Look each message up."""
        catalog = _messages(self.env, self.config.language) / f"{self.env.docname}.po"
        if not catalog.exists():
            return
        behind = {
            str(message.id): LAGS if message.string else MISSING
            for message in read_catalog(catalog)
            if message.id and (message.fuzzy or not message.string)
        }
        for node, text in list(extract_messages(self.document)):
            if text in behind:
                if isinstance(node, CellProse):  # the comment of a cell stays English
                    node.parent.remove(node)
                else:
                    node["classes"].append(behind[text])


class ProgressTable(SphinxDirective):
    """How far the translation of each page is, from its catalog."""

    def run(self) -> list[nodes.Node]:
        """Make a table for each language."""
        return [self._table(site.of.code) for site in translations()]

    def _table(self, language: str) -> nodes.Node:
        """Make a row a page, and one for all."""
        rows, total = [], Progress(0, 0, 0)
        folder = _messages(self.env, language)
        for catalog in sorted(folder.rglob("*.po")):
            name = catalog.relative_to(folder).with_suffix("").as_posix()
            if name not in self.env.found_docs:  # what the theme says
                continue
            self.env.note_dependency(str(catalog))
            counts = progress(catalog)
            total = Progress(*map(sum, zip(total, counts, strict=True)))
            rows.append(_row(link_to(name, self), counts))
        heads = (_("Page"), _("Messages"), _("Translated"), _("Outdated"), "%")
        head = nodes.row("", *(nodes.entry("", _text(each)) for each in heads))
        body = nodes.tbody("", *rows, _row(nodes.Text(_("All pages")), total))
        columns = (nodes.colspec(colwidth=width) for width in (6, 1, 1, 1, 1))
        group = nodes.tgroup("", *columns, nodes.thead("", head), body, cols=5)
        name = [nodes.title("", languages()[language].name)] * (len(translations()) > 1)
        return nodes.table("", *name, group, classes=["hs-progress-table"])


def _messages(env: BuildEnvironment, language: str) -> Path:
    return Path(env.srcdir, env.config.locale_dirs[0], language, "LC_MESSAGES")


def _row(name: nodes.Node, counts: Progress) -> nodes.row:
    numbers = [*map(str, counts), str(percent(counts.translated, counts.messages))]
    cells = [nodes.paragraph("", "", name), *map(_text, numbers)]
    return nodes.row("", *(nodes.entry("", cell) for cell in cells))


def _text(content: str) -> nodes.paragraph:
    return nodes.paragraph("", content, translatable=False)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform and the table."""
    app.add_transform(MarkLagging)
    app.add_directive("translation-progress", ProgressTable)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
