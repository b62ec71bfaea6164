"""Where a language asks for it, a mark such as ``，`` never begins a line after code or a formula.

A browser may break the line behind inline code or a formula, whatever follows; so both are put in a
span that does not break.
"""

import re
from typing import Any

from docutils import nodes
from haiku_site.translate.languages import sites
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform


class KeepMarks(SphinxPostTransform):
    """Put code or a formula, and the marks behind it, into one span."""

    default_priority = 900  # links are resolved by then
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Look at every text that begins with a mark, the last of each paragraph first."""
        kept_back = sites()[self.config.language].not_at_line_start
        if not kept_back:
            return
        # reStructuredText separates code from the mark by an escaped space, for docutils \x00
        pattern = re.compile(f"(?:\x00 )?[{kept_back}]+")
        for parent in list(self.document.findall(nodes.TextElement)):
            for at in range(len(parent) - 2, -1, -1):
                before, text = parent[at : at + 2]
                marks = pattern.match(text) if isinstance(text, nodes.Text) else None
                if marks and _ends_in_code(before):
                    kept = nodes.inline("", "", before, nodes.Text(marks[0]))
                    kept["classes"].append("hs-no-break")
                    parent[at : at + 2] = [kept, nodes.Text(text[marks.end() :])]


def _ends_in_code(node: nodes.Node) -> bool:
    while not isinstance(node, nodes.literal | nodes.math):
        if not isinstance(node, nodes.Inline) or not node.children:
            return False
        node = node.children[-1]
    return True


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform."""
    app.add_post_transform(KeepMarks)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
