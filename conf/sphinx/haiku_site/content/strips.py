"""The line below the head of a lesson: what goes into a function, what comes out, what gets lost.

```{strip} params state batch -> apply -> state / state lost
```

After the slash stands what a bug does to one of them, in a word of the bug gallery.
"""

from typing import Any

from docutils import nodes
from haiku_site.content.bug_cards import FATES, KINDS
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective


class Strip(SphinxDirective):
    """Chips, a box, and chips again."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Draw the line."""
        flow, _slash, bug = self.arguments[0].partition(" / ")
        into, function, out = (part.split() for part in flow.split("->"))
        lost = bug.split()
        if not {*into, *out, *lost[:1]} <= {*KINDS} or not {*lost[1:]} <= {*FATES}:
            raise self.error(f"kinds: {', '.join(KINDS)}; fates: {', '.join(FATES)}")
        line = nodes.paragraph("", classes=["hs-chips", "hs-strip"], translatable=False)
        line += nodes.inline("", _("In this lesson"))
        line += [*_chips(into), *_arrow(), *_chips(function, "hs-box"), *_arrow(), *_chips(out)]
        if bug:
            [kind, fate] = lost
            text = f"{kind}: {_(FATES[fate])}"
            line += [nodes.Text(" / "), nodes.inline("", text, classes=["hs-chip", "fate"])]
        return [line]


def _chips(names: list[str], kind: str = "hs-chip") -> list[nodes.Node]:
    chips = [nodes.literal("", name, classes=[kind, name]) for name in names]
    return [node for chip in chips for node in (nodes.Text(" "), chip)]


def _arrow() -> list[nodes.Node]:
    return [nodes.Text(" "), nodes.inline("", "→", classes=["hs-arrow"])]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("strip", Strip)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
