"""What stands folded: cards, the code of a figure, solutions, hints.

A tag of the cell says which it is. Of a cell with the tag ``predict``, only the output is folded,
because the reader guesses first. A cell with the tag ``check`` runs with the others and pins the
page's numbers; it is not on the page, and the notebook has it in its last section.
"""

from typing import Any

from docutils import nodes
from haiku_site import compat, features
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.transforms import SphinxTransform

# tag: what of the cell is folded, and the text that unfolds it
FOLDED = {
    "plot": ("input", "Show the code of this figure"),
    "solution": ("all", "Show the solution"),
    "predict": ("output", "What will it print?"),
    "harness": ("input", "Show the code of the detectors"),
}


class Fold(nodes.Element):
    """A fold of our own: ``prompt_show`` unfolds it, and ``kind`` is a class for the styles."""


CARD = "hs-card"


def card(section: nodes.section, kind: str, lead: nodes.Element) -> None:
    """Make a section a card, of which only its title and a lead are seen until it is unfolded."""
    section["classes"] += [CARD, kind]
    section.insert(1, lead)


class FoldCells(SphinxTransform):
    """Fold the cells whose tag says so, as MyST-NB does with its own tags."""

    default_priority = 300

    def apply(self, **kwargs: Any) -> None:
        """Mark each cell; MyST-NB wraps it when the page is written."""
        for cell in compat.parts_of_cells(self.document, "cell_code"):
            if any(isinstance(child, Fold) for child in cell):
                continue  # a question folds its own output
            for tag, (part, text) in FOLDED.items():
                if tag in compat.tags(cell):
                    compat.fold(cell, part, _(text))


def _remove_checks(app: Sphinx, document: nodes.document, docname: str) -> None:
    """Leave the checks out of what is written; the notebook of the page has been made."""
    for cell in list(compat.parts_of_cells(document, "cell_code")):
        if "check" in compat.tags(cell):
            cell.parent.remove(cell)


def _open(translator: Any, node: nodes.Element) -> None:
    text, kind = translator.encode(node["prompt_show"]), f"fold {node.get('kind', '')}".strip()
    translator.body.append(f'<details class="{kind}"><summary>{text}</summary>\n')


def _close(translator: Any, node: nodes.Element) -> None:
    translator.body.append("</details>\n")


def _fold_cards(app: Sphinx, document: nodes.document, docname: str) -> None:
    """Fold each card when it is written: until then its title is the first thing in its section."""
    for section in document.findall(nodes.section):
        if CARD in section["classes"]:
            title, lead, *rest = section
            begin, end, close = (
                nodes.raw("", text, format="html")
                for text in ("<details><summary>", "</summary>", "</details>")
            )
            section[:] = [begin, title, lead, end, *rest, close]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform, and a fold that says nothing in English, unlike that of MyST-NB."""
    app.add_node(compat.FoldedCell, override=True, html=(_open, _close))
    app.add_node(Fold, html=(_open, _close))
    app.add_transform(FoldCells)
    app.connect("doctree-resolved", _remove_checks, priority=900)
    app.connect("doctree-resolved", _fold_cards, priority=900)
    return features.add(app, __file__)
