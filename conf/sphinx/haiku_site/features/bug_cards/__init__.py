"""Chips that name a kind of state, on the cards of the bug gallery.

```{bug} state lost
```

stands below the title of a section, and makes it a card. Its cell with the tag ``predict`` is a
question, whose fold also takes what follows: the cause, the right program with its changes
highlighted, the checks.
"""

import difflib
from typing import Any

from docutils import nodes
from haiku_site import compat, features
from haiku_site.features.folds import Fold, card
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
        """Fold each section to its title and its chips, and gather what its answer holds."""
        for here in list(self.document.findall(BugHere)):
            section = here.parent
            section.remove(here)
            card(section, "hs-bug", _bug_chips(here["kind"], here["fate"]))
            answers = [fold for fold in section.findall(Fold) if fold["kind"] == "answer"]
            if len(answers) != 1:
                raise ValueError(f"{section['ids']}: a card has one question")
            [answer], cell = answers, answers[0].parent
            _highlight_changes(_source(cell), _source(section, "_fixed("))
            end = section.index(cell) + 1
            cell.remove(answer)
            answer += section[end:]
            answer["prompt_show"] = _("Show what it prints, the cause and the fix")
            section[end:] = [answer]


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


def _bug_chips(kind: str, fate: str) -> nodes.inline:
    line = nodes.inline("", classes=["hs-chips"])
    line += nodes.inline("", _("silent"), classes=["hs-badge"])
    line += [nodes.literal("", kind, classes=["hs-chip", kind]), nodes.Text(" → ")]
    line += nodes.inline("", _(FATES[fate]), classes=["hs-chip", "fate"])
    return line


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives and the transform."""
    app.add_directive("bug", Bug)
    app.add_transform(BugCards)
    return features.add(app, __file__)
