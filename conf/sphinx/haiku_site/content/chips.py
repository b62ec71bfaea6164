"""Chips that name a kind of state, on the cards of the bug gallery.

```{bug} state lost
```

stands below the title of a section, and makes it a card. Its cell with the tag ``predict`` asks
what it will print, and all that follows the cell is folded: the cause, the right program with its
changes highlighted, the checks.
"""

import difflib
from typing import Any

from docutils import nodes
from haiku_site import compat
from haiku_site.content.folds import Fold
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective

KINDS = ("params", "state", "opt_state", "rng", "batch")
# what a bug does to it: the word of the directive, and the text on the page
FATES = {
    "frozen": "frozen",
    "lost": "lost",
    "leaked": "leaked",
    "reused": "reused",
    "shared": "shared",
    "doubled": "held twice",
    "misread": "misread",
    "miscounted": "miscounted",
    "unequal": "not the same everywhere",
    "retyped": "of a different type",
    "changed": "changed",
}
KNOWN = f"kinds: {', '.join(KINDS)}; fates: {', '.join(FATES)}"


class BugHere(nodes.Element):
    """The place of the chips, below the title of a card."""


class Bug(SphinxDirective):
    """Marks the section as a card."""

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        """Return the mark."""
        kind, fate = self.arguments
        if kind not in KINDS or fate not in FATES:
            raise self.error(KNOWN)
        return [BugHere(kind=kind, fate=fate)]


class BugCards(SphinxTransform):
    """Make the cards, after their texts were translated."""

    default_priority = 300

    def apply(self, **kwargs: Any) -> None:
        """Add its class and its chips to each section, and gather what is folded."""
        for here in list(self.document.findall(BugHere)):
            section = here.parent
            section["classes"].append("hs-bug")
            cells = [node for node in section if "tag_predict" in node.get("classes", ())]
            if len(cells) != 1:
                raise ValueError(f"{section['ids']}: a card has one cell with the tag predict")
            end = section.index(cells[0]) + 1
            text = _("Show the cause and the fix")
            cause = Fold("", *section[end:], prompt_show=text, kind="cause")
            del section[end:]
            section += cause
            _highlight_changes(_source(cells[0]), _source(cause, "_fixed("))
            here.replace_self(_bug_chips(here["kind"], here["fate"]))


def _source(node: nodes.Element, part: str = "") -> nodes.literal_block | None:
    """Return the code of the first cell in a node that has a part."""
    return next((code for code in compat.sources(node) if part in code.astext()), None)


def _highlight_changes(bug: nodes.literal_block | None, fixed: nodes.literal_block | None) -> None:
    """Highlight the lines of the right program that are not those of the wrong one."""
    if bug is None or fixed is None:
        return
    before = bug.astext().splitlines()
    after = fixed.astext().replace("_fixed(", "(").splitlines()
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    kept = {b + i for _a, b, size in matcher.get_matching_blocks() for i in range(size)}
    changed = [
        number
        for number, line in enumerate(after)
        if line.strip() and number not in kept and not line.startswith("found_by(")
    ]
    fixed["highlight_args"] = {"hl_lines": [number + 1 for number in changed]}


def _bug_chips(kind: str, fate: str) -> nodes.paragraph:
    line = nodes.paragraph("", classes=["hs-chips"], translatable=False)
    line += nodes.inline("", _("silent"), classes=["hs-badge"])
    line += [nodes.literal("", kind, classes=["hs-chip", kind]), nodes.Text(" → ")]
    line += nodes.inline("", _(FATES[fate]), classes=["hs-chip", "fate"])
    return line


def _chips(names: list[str], kind: str = "hs-chip") -> list[nodes.Node]:
    chips = [nodes.literal("", name, classes=[kind, name]) for name in names]
    return [node for chip in chips for node in (nodes.Text(" "), chip)]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives and the transform."""
    app.add_directive("bug", Bug)
    app.add_transform(BugCards)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
