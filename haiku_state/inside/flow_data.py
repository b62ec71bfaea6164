"""Where each leaf of params and state goes, as data, as text and as a picture."""

import dataclasses
import math
import os
import unicodedata
from pathlib import Path
from typing import Any

from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import translated
from haiku_state.inside.both import in_both_languages

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
    """One module creates, reads or writes one leaf."""

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
    """``"params"`` or ``"state"``."""
    module: str
    """The path of the module that it belongs to."""
    name: str
    """Its name in the module."""
    place: str
    """Where the function finds it among its arguments, such as ``state['counter']['count']``."""
    shape: tuple[int, ...]
    dtype: str
    made: str = ""
    """``"apply"`` if ``apply`` makes it, so that it returns more state than it received."""
    read: bool = False
    """Whether ``apply`` reads it."""
    written: bool = False
    """Whether ``apply`` writes it."""
    frozen: bool = False
    """Whether its value is a constant of the program instead of an argument."""
    end: str = ""
    """What happens to a leaf of state. It is ``"returned"`` with a new value, ``"unchanged"``,
    ``"dropped"`` (written, but in no result), ``"leaked"`` or ``"unknown"``; empty for params."""
    result: str = ""
    """Where the new value is in the result, such as ``[1]['counter']['count']``."""

    @property
    def type(self) -> str:
        """The dtype and the shape, such as ``float32[8,3]``."""
        return _type(self.dtype, self.shape)

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)

    def fate(self, lang: str | None = None) -> list[str]:
        """Describe in words what happens to it in ``apply``.

        Args:
          lang: as in :meth:`Flow.text`.

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


@dataclasses.dataclass(frozen=True, repr=False)
class Flow:
    """The result of :func:`.record_flow`: where each leaf goes, as data, as text and as a picture.

    ``str(flow)`` is the text for a terminal, and a notebook shows the picture.
    """

    function: str
    """The name of the function."""
    frame: str
    """``"apply"``, or the name of a function that calls ``apply`` itself."""
    events: tuple[FlowEvent, ...]
    """What the modules do, in order."""
    modules: tuple[FlowModule, ...]
    """The modules that run in ``apply``, in the order in which they first finish."""
    leaves: tuple[FlowLeaf, ...]
    """All leaves that the function receives, makes or reads."""
    wires: tuple[tuple[str, str], ...]
    """Pairs of a module's path and the path of a module that its output goes into.
    ``"<inputs>"`` and ``"<result>"`` are the inputs and the result of the function."""
    draws: bool = False
    """Whether anything depends on the random key in ``apply``."""
    drawn_into: tuple[str, ...] = ()
    """The paths of the modules that get what is drawn outside all modules, as ``hk.dropout`` does;
    ``"<result>"`` is the result of the function."""
    error: str = ""
    """What ended the trace early; this happens only after a leak."""

    def __repr__(self) -> str:
        return f"<Flow of {self.function}: {len(self.leaves)} leaves, {len(self.events)} events>"

    def __str__(self) -> str:
        return self.text()

    def text(self, lang: str | None = None) -> str:
        """Return the flow as a text.

        Args:
          lang: the code of a language; None is the reader's language.

        Returns:
          Lines of aligned columns.
        """
        count = {
            kind: sum(leaf.kind == kind for leaf in self.leaves) for kind in ("params", "state")
        }
        lines = [translated(TITLE, lang).format(function=self.function, **count)]
        leaves = {leaf.place: leaf for leaf in self.leaves}
        for phase in ("init", "apply"):
            rows = []
            for event in self.events:
                if event.phase == phase:
                    leaf = leaves[event.leaf]
                    action = translated(ACTIONS[event.action], lang)
                    type_ = _type(event.dtype, event.shape)
                    rows.append([event.module, event.method, action, leaf.kind, leaf.name, type_])
            if rows:
                lines += ["", self.frame if phase == "apply" else phase, *_table(rows)]
        if self.leaves:
            rows = [[leaf.place, leaf.type, listed(leaf.fate(lang), lang)] for leaf in self.leaves]
            lines += ["", translated(LEAVES, lang), *_table(rows)]
        drawing = [module.path for module in self.modules if module.draws]
        drawing += [self.frame] if self.drawn_into or (self.draws and not drawing) else []
        if drawing:
            lines += ["", translated(DRAWS, lang), *(f"  {path}" for path in drawing)]
        return "\n".join([*lines, *(["", self.error] if self.error else [])])

    def svg(self, lang: str | None = None, *, depth: int | None = None) -> str:
        """Return the picture with classes but without colors, for a page that has a style for it.

        Args:
          lang: the code of a language; None is the reader's language.
          depth: how many levels of modules to show; deeper modules are folded into the module
            around them. None shows as many levels as are readable.

        Returns:
          An ``<svg>`` element.
        """
        from haiku_state.inside.flow_picture import draw

        return draw(self, lang, depth)

    def save(self, file: str | os.PathLike[str], lang: str | None = None, **options: Any) -> None:
        """Write the picture to a file that has its own style, light and dark.

        Args:
          file: where to write it; its name should end in ``.svg``.
          lang: as in :meth:`svg`.
          options: the options of :meth:`svg`.
        """
        from haiku_state.inside.flow_picture import draw, standalone

        Path(file).write_text(standalone(draw(self, lang, **options)), encoding="utf-8")

    def _repr_html_(self) -> str:
        from haiku_state.inside.flow_picture import STYLE, draw, in_html

        def render() -> str:
            return in_html(draw(self))

        return f"<style>\n{STYLE}</style>\n{in_both_languages(render)}"


def _type(dtype: str, shape: tuple[int, ...]) -> str:
    return f"{dtype}[{','.join(map(str, shape))}]"


def listed(words: list[str], language: str | None) -> str:
    """Put words into a list, with the commas of the language."""
    line = words[0] if words else ""
    for word in words[1:]:
        line = translated(AND, language).format(some=line, more=word)
    return line


def _table(rows: list[list[str]]) -> list[str]:
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
