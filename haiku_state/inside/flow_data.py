"""What a flow is made of: what modules do, the leaves and their fates, and words for them."""

import dataclasses
import math
import unicodedata

from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import translated

INPUTS, RESULT = "<inputs>", "<result>"  # the two ends of the wires

ACTIONS = {"create": _("makes"), "read": _("reads"), "write": _("writes")}
TITLE = _("{function} (params: {params}, leaves of state: {state})")
READ, WRITTEN, UNREAD = _("read"), _("written"), _("not read")
ENDS = {
    "returned": _("returned"),
    "unchanged": _("unchanged"),
    "dropped": _("dropped here"),
    "leaked": _("leaked"),
    "unknown": _("not followed"),
}
FROZEN, MADE_IN_APPLY = _("frozen"), _("made in apply")
AND = _("{some}, {more}")
LEAVES, DRAWS = _("leaves"), _("draws random numbers")


@dataclasses.dataclass(frozen=True)
class FlowEvent:
    """A record of one module that creates, reads or writes one leaf."""

    phase: str
    """``"init"`` or ``"apply"``."""
    module: str
    """The path of the module, as in params and state; ``"~"`` outside of all modules."""
    method: str
    """The method that runs; empty outside of all modules."""
    action: str
    """``"create"``, ``"read"`` or ``"write"``."""
    leaf: str
    """The :attr:`FlowLeaf.place` of the leaf."""
    shape: tuple[int, ...]
    """The shape of the value, which is that of one layer or one example inside a map."""
    dtype: str
    """The dtype of the value."""


@dataclasses.dataclass(frozen=True)
class FlowLeaf:
    """One leaf of params or state, and what happens to it."""

    kind: str
    """The tree that the leaf is part of, either ``"params"`` or ``"state"``."""
    module: str
    """The path of the module that the leaf belongs to."""
    name: str
    """The name of the leaf in its module."""
    place: str
    """Where the leaf is in the arguments of the function, such as ``state['counter']['count']``."""
    shape: tuple[int, ...]
    dtype: str
    made: str = ""
    """``"apply"`` if ``apply`` creates the leaf and therefore returns more state than it
    received."""
    read: bool = False
    """Whether ``apply`` reads the leaf."""
    written: bool = False
    """Whether ``apply`` writes the leaf."""
    frozen: bool = False
    """Whether the leaf is a constant of the program instead of an argument."""
    end: str = ""
    """What happens to a leaf of state, which is either ``"returned"`` with a new value,
    ``"unchanged"``, ``"dropped"`` (written, but not part of any result), ``"leaked"`` or
    ``"unknown"``. For a leaf of params, the field is empty."""
    result: str = ""
    """Where the new value of the leaf is in the result, such as ``[1]['counter']['count']``."""

    @property
    def type(self) -> str:
        """The dtype and the shape of the leaf, such as ``float32[8,3]``."""
        return type_of(self.dtype, self.shape)

    @property
    def size(self) -> int:
        """How many elements the leaf has."""
        return math.prod(self.shape)

    def fate(self, lang: str | None = None) -> list[str]:
        """Describe in words what happens to the leaf in ``apply``.

        Args:
          lang: the same as in :meth:`Flow.text`.

        Returns:
          A list of words, such as ``["read", "written", "returned"]``.
        """
        happens = {
            FROZEN: self.frozen,
            MADE_IN_APPLY: self.made == "apply",
            READ: self.read,
            WRITTEN: self.written,
            UNREAD: not (self.read or self.written or self.made == "apply"),
            ENDS.get(self.end, ""): bool(self.end),
        }
        return [translated(words, lang) for words, does in happens.items() if does]


@dataclasses.dataclass(frozen=True)
class FlowModule:
    """One module that runs in ``apply``."""

    path: str
    """Its path, as in params and state."""
    kind: str
    """The name of its class."""
    methods: tuple[str, ...]
    """The methods that run, in the order in which they finish first."""
    draws: bool = False
    """Whether what it returns depends on a random key by the module itself."""


def type_of(dtype: str, shape: tuple[int, ...]) -> str:
    return f"{dtype}[{','.join(map(str, shape))}]"


def listed(words: list[str], language: str | None) -> str:
    """Put words into a list, with the commas of the language."""
    line = words[0] if words else ""
    for word in words[1:]:
        line = translated(AND, language).format(some=line, more=word)
    return line


def table_of(rows: list[list[str]]) -> list[str]:
    """Return rows of aligned columns; a Chinese character is two columns wide."""
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)
        ]
        lines.append("  " + "  ".join(cells).rstrip())
    return lines


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
