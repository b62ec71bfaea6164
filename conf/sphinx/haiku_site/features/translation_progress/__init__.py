"""How far the translation of each page is, on the page of the glossary."""

from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from haiku_site import features
from haiku_site.course import link_to
from haiku_site.translate.gate.catalog_files import read_catalog
from haiku_site.translate.lagging import catalogs
from haiku_site.translate.languages import translations
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective

from haiku_state.errors.language import languages


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


class ProgressTable(SphinxDirective):
    """How far the translation of each page is, from its catalog."""

    def run(self) -> list[nodes.Node]:
        """Make a table for each language."""
        return [self._table(site.of.code) for site in translations()]

    def _table(self, language: str) -> nodes.Node:
        """Make a row a page, and one for all."""
        rows, total = [], Progress(0, 0, 0)
        folder = catalogs(self.env, language)
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


def _row(name: nodes.Node, counts: Progress) -> nodes.row:
    numbers = [*map(str, counts), str(percent(counts.translated, counts.messages))]
    cells = [nodes.paragraph("", "", name), *map(_text, numbers)]
    return nodes.row("", *(nodes.entry("", cell) for cell in cells))


def _text(content: str) -> nodes.paragraph:
    return nodes.paragraph("", content, translatable=False)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the table."""
    app.add_directive("translation-progress", ProgressTable)
    return features.add(app, __file__)
