"""What cells print: in one piece, and a table keeps its columns.

A kernel sends what a cell prints in pieces, which may end within a line, and MyST-NB would end a
line after each. On a phone a table scrolls, where every other output wraps.
"""

import collections
import re
from typing import Any

from docutils import nodes
from haiku_site import compat, features
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

WIDTH = 80
ROWS = 3
GAP = re.compile(r"(?<=\S) {2,}(?=\S)")


class JoinStreams(SphinxTransform):
    """Join what a cell has printed, and what it has written on stderr after that."""

    default_priority = 290

    def apply(self, **kwargs: Any) -> None:
        """Put all pieces into the place of the first."""
        for output in compat.parts_of_cells(self.document, "cell_code_output"):
            for kind in ("stream", "stderr"):
                blocks = [b for b in output.findall(nodes.literal_block) if kind in b["classes"]]
                if blocks:
                    text = "".join(block.astext() for block in blocks).rstrip() + "\n"
                    blocks[0].rawsource, blocks[0][:] = text, [nodes.Text(text)]
                for block in blocks[1:]:
                    block.parent.remove(block)


class KeepColumns(SphinxTransform):
    """Mark the outputs that are tables with the class ``hs-columns``."""

    default_priority = 300

    def apply(self, **kwargs: Any) -> None:
        """Look at each output of each cell."""
        for output in compat.parts_of_cells(self.document, "cell_code_output"):
            for block in output.findall(nodes.literal_block):
                if has_columns(block.astext()):
                    block["classes"].append("hs-columns")


def printed(cell: nodes.Element) -> str:
    """Return what a cell shows as text."""
    outputs = compat.parts_of_cells(cell, "cell_code_output")
    blocks = (block for output in outputs for block in output.findall(nodes.literal_block))
    return "\n".join(block.astext().rstrip() for block in blocks).strip()


def has_columns(text: str) -> bool:
    """Return whether in three lines or more a column begins, or ends, at the same place."""
    lines = text.splitlines()
    if max(map(len, lines), default=0) > WIDTH:
        return False
    gaps = [(side, place) for line in lines for gap in GAP.finditer(line)
            for side, place in enumerate(gap.span())]  # fmt: skip
    return max(collections.Counter(gaps).values(), default=0) >= ROWS


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transforms."""
    app.add_transform(JoinStreams)
    app.add_transform(KeepColumns)
    return features.add(app, __file__)
