"""Cells that stand folded: how a figure is drawn, what pins a page's numbers, how a task is solved.

Of a cell with the tag ``predict`` only the output is folded: the reader guesses first.

A tag of the cell says which it is. What is visible is what the lesson tells.
"""

from typing import Any

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.transforms import SphinxTransform

# tag: what of the cell is folded, and the text that unfolds it
FOLDED = {
    "plot": ("input", "Show the code of this figure"),
    "check": ("all", "Show the checks of these numbers"),
    "solution": ("all", "Show the solution"),
    "predict": ("output", "What will it print?"),
    "harness": ("input", "Show the code of the detectors"),
}


class FoldCells(SphinxTransform):
    """Fold the cells whose tag says so, as MyST-NB does with its own tags."""

    default_priority = 300

    def apply(self, **kwargs: Any) -> None:
        """Mark each cell; MyST-NB wraps it when the page is written."""
        for cell in self.document.findall(nodes.container):
            for tag, (part, text) in FOLDED.items():
                if cell.get("nb_element") == "cell_code" and f"tag_{tag}" in cell["classes"]:
                    cell["hide_mode"] = part
                    cell["prompt_show"] = cell["prompt_hide"] = _(text)


def _open(translator: Any, node: HideCodeCellNode) -> None:
    text = translator.encode(node["prompt_show"])
    translator.body.append(f'<details class="fold"><summary>{text}</summary>\n')


def _close(translator: Any, node: HideCodeCellNode) -> None:
    translator.body.append("</details>\n")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform, and a fold that says nothing in English, unlike that of MyST-NB."""
    app.add_node(HideCodeCellNode, override=True, html=(_open, _close))
    app.add_transform(FoldCells)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
