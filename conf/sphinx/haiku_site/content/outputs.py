"""A printed table keeps its columns on a phone: it scrolls, where every other output wraps."""

import collections
import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

WIDTH = 80
ROWS = 3
GAP = re.compile(r"(?<=\S) {2,}(?=\S)")


class KeepColumns(SphinxTransform):
    """Mark the outputs that are tables with the class ``hs-columns``."""

    default_priority = 300

    def apply(self, **kwargs: Any) -> None:
        """Look at each output of each cell."""
        for output in self.document.findall(nodes.container):
            if output.get("nb_element") == "cell_code_output":
                for block in output.findall(nodes.literal_block):
                    if has_columns(block.astext()):
                        block["classes"].append("hs-columns")


def has_columns(text: str) -> bool:
    """Return whether in three lines or more a column begins, or ends, at the same place."""
    lines = text.splitlines()
    if max(map(len, lines), default=0) > WIDTH:
        return False
    gaps = [(side, place) for line in lines for gap in GAP.finditer(line)
            for side, place in enumerate(gap.span())]  # fmt: skip
    return max(collections.Counter(gaps).values(), default=0) >= ROWS


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform."""
    app.add_transform(KeepColumns)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
