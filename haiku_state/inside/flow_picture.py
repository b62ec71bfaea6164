"""A flow, and its picture: inputs on the left, results on the right, the modules between.

The modules stand below each other in the order in which they finish. Wires between them show whose
output goes into which module; a long wire passes the modules between on the side with more room,
the shorter ones nearer to the boxes. Everything else is counted from top to bottom.
"""

import dataclasses
import html
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import reader_language, translated
from haiku_state.inside.both import in_both_languages
from haiku_state.inside.flow_data import (
    ACTIONS,
    DRAWS,
    INPUTS,
    LEAVES,
    RESULT,
    FlowEvent,
    FlowLeaf,
    FlowModule,
    listed,
    table_of,
    type_of,
)
from haiku_state.inside.flow_data import (
    TITLE as FLOW_TITLE,
)

OUTSIDE_TITLE = _("outside of modules")
NUMBERS = _("{count} numbers")
COUNTS = {"params": _("{count} params"), "state": _("{count} leaves")}
KINDS = {"params": _("params"), "state": _("state"), "rng": _("random key")}
INPUT, OUTPUT = _("inputs"), _("outputs")
NOT_DRAWN = _("Not all wires between modules are drawn.")
STORY = _("{frame}. Params: {params}. Leaves of state: {state}.")
STORY_OF_A_MODULE = _("{title}: {rows}.")
STORY_OF_A_LEAF = _("{name} ({fate})")

_OUTSIDE = "<outside>"  # before the path of what gets it

WIDTH = 320
LEFT, RIGHT = 32, 288  # the frame
LANE = 9  # between wires that pass a module
CHARACTER = 7.5  # of the monospaced font at 12.5
MOST_BOXES, MOST_ROWS, MOST_LANES = 7, 8, 5
TITLE, LINE, SECOND_LINE = 26, 23, 16  # heights


@dataclasses.dataclass
class _Row:
    """One line in a box: a leaf, or several that fare alike."""

    leaves: list[FlowLeaf]
    name: str
    type: str
    fate: list[str]


@dataclasses.dataclass
class _Box:
    """One module."""

    title: str
    rows: list[_Row]
    draws: bool
    top: int = 0
    bottom: int = 0
    crossings: list[tuple[int, float]] = dataclasses.field(default_factory=list)
    """The side, -1 or 1, and the height of what goes in on the left or comes out on the right."""


def draw(flow: "Flow", lang: str | None = None, depth: int | None = None) -> str:
    """Return a flow as an SVG with classes and no colors."""
    lang = lang or reader_language()
    places = _fold(flow, depth)
    boxes = _boxes(flow, places, lang)
    order = {INPUTS: 0, **{path: i + 1 for i, path in enumerate(boxes)}, RESULT: len(boxes) + 1}
    wires = _folded_wires(flow, places, order)
    lanes, complete = _lanes(wires)
    return _Picture(flow, lang, list(boxes.values()), wires, lanes, complete).svg()


# What is shown: boxes, rows and the wires between them.


def _parts(path: str) -> list[str]:
    """Return the names in a path, without Haiku's ``~`` and ``~method``."""
    return [part for part in path.split("/") if not part.startswith("~")]


def _fold(flow: "Flow", depth: int | None) -> dict[str, str]:
    """Return the module that stands for each module: the one around it at some depth."""
    paths = [*(module.path for module in flow.modules), *(leaf.module for leaf in flow.leaves)]
    shown = {leaf.module for leaf in flow.leaves}
    shown |= {module.path for module in flow.modules if module.draws}
    deepest = max([1, *(len(_parts(path)) for path in paths)])
    own = {"/".join(_parts(path)) for path in shown}
    for levels in range(depth or deepest, 0, -1):
        places = {path: "/".join(_parts(path)[:levels]) for path in paths}
        if not depth:  # a module with leaves of its own has those of the modules in it, too
            places = {path: _outermost(place, own) for path, place in places.items()}
        if depth or levels == 1 or len({places[path] for path in shown}) <= MOST_BOXES:
            break
    return places


def _outermost(place: str, own: set[str]) -> str:
    """Return the outermost of a module and those around it that is one of some modules."""
    names = place.split("/")
    around = ("/".join(names[:count]) for count in range(1, len(names)))
    return next((path for path in around if path in own), place)


def _boxes(flow: "Flow", places: dict[str, str], lang: str) -> dict[str, _Box]:
    """Return a box for each module that has leaves or draws random numbers."""
    drawing = {places[module.path] for module in flow.modules if module.draws}
    grouped: dict[str, dict[Any, list[FlowLeaf]]] = {
        places[path]: {}
        for path in [*(m.path for m in flow.modules), *(leaf.module for leaf in flow.leaves)]
    }
    for leaf in flow.leaves:
        group = (leaf.kind, *leaf.fate(lang))
        grouped[places[leaf.module]].setdefault(group, []).append(leaf)
    is_long = len(flow.leaves) > MOST_ROWS
    boxes = {}
    for path, groups in grouped.items():
        rows = [
            _row(leaves, path, lang)
            for group in groups.values()
            for leaves in ([group] if is_long else [[leaf] for leaf in group])
        ]
        if rows or path in drawing:
            boxes[path] = _Box(path or translated(OUTSIDE_TITLE, lang), rows, path in drawing)
    return _with_outside(flow, places, boxes, lang)


def _with_outside(
    flow: "Flow", places: dict[str, str], boxes: dict[str, _Box], lang: str
) -> dict[str, _Box]:
    """Put a box before each module that gets what is drawn outside of all modules."""
    modules = [places[module.path] for module in flow.modules]
    targets = set()
    for path in flow.drawn_into:
        later = modules[modules.index(places[path]) :] if path in places else []
        targets.add(next((place for place in later if place in boxes), RESULT))
    found: dict[str, _Box] = {}
    for path in (*boxes, RESULT):
        if path in targets:
            found[_OUTSIDE + path] = _Box(translated(OUTSIDE_TITLE, lang), [], True)
        found |= {path: boxes[path]} if path in boxes else {}
    return found


def _row(leaves: list[FlowLeaf], path: str, lang: str) -> _Row:
    first = leaves[0]
    names = list(dict.fromkeys(_name_in(leaf, path) for leaf in leaves))
    name, type_ = names[0], first.type
    if len(leaves) > 1:
        numbers = f"{sum(leaf.size for leaf in leaves):,}"
        type_ = translated(NUMBERS, lang).format(count=numbers)
        name = ", ".join(names)
        if len(leaves) != len(names) or len(name) > 18:
            name = translated(COUNTS[first.kind], lang).format(count=len(leaves))
    is_plain = first.kind == "params" and first.read and not first.frozen
    # where a new value is returned, the picture has an arrow
    shown = dataclasses.replace(first, end="" if first.end == "returned" else first.end)
    return _Row(leaves, name, type_, [] if is_plain else shown.fate(lang))


def _name_in(leaf: FlowLeaf, path: str) -> str:
    """Return the name of a leaf in a box, with the modules between."""
    between = "/".join(_parts(leaf.module)).removeprefix(path).strip("/")
    return f"{between}/{leaf.name}" if between and path else leaf.name


def _folded_wires(
    flow: "Flow", places: dict[str, str], order: dict[str, int]
) -> list[tuple[int, int]]:
    """Return the wires between boxes as pairs of layers; what has no box is passed through."""
    after: dict[str, set[str]] = {}
    for start, end in flow.wires:
        after.setdefault(places.get(start, start), set()).add(places.get(end, end))

    def next_boxes(path: str, seen: set[str]) -> Iterator[str]:
        for end in after.get(path, set()) - seen:
            seen.add(end)
            if end in order:
                yield end
            else:
                yield from next_boxes(end, seen)

    pairs = {(order[start], order[end]) for start in order for end in next_boxes(start, {start})}
    for path, box in order.items():
        if path.startswith(_OUTSIDE):  # it stands on the way to what comes next
            through = {
                (start, box if end == box + 1 else end) for start, end in pairs if start < box
            }
            pairs = through | {pair for pair in pairs if pair[0] > box} | {(box, box + 1)}
    return sorted((start, end) for start, end in pairs if start < end)


# Where it stands.


@dataclasses.dataclass
class _Lanes:
    """Where the long wire of each source passes the boxes: from 1 on the right, from -1 left."""

    of: dict[int, int]

    def width(self, side: int) -> int:
        """Return how many lanes there are on a side, -1 or 1."""
        return max([0, *(lane * side for lane in self.of.values())])


def _lanes(wires: list[tuple[int, int]]) -> tuple[_Lanes, bool]:
    """Give each source of a long wire a lane, from which its targets branch off.

    The shortest come first and are nearest to the boxes, each on the side where it is nearer. If
    there are more than can be read, the longest wires are left out.
    """
    reach = {start: max(end for begin, end in wires if begin == start) for start, _end in wires}
    taken: dict[int, list[tuple[int, int]]] = {}
    found: dict[int, int] = {}
    complete = True
    for start, end in sorted(reach.items(), key=lambda wire: (wire[1] - wire[0], wire)):
        if end == start + 1:
            continue
        lanes = (lane for depth in range(1, MOST_LANES) for lane in (-depth, depth))
        free = (
            lane
            for lane in lanes
            if all(end <= first or last <= start for first, last in taken.get(lane, ()))
        )
        lane = next(free, None)
        if lane is None or _crowd(found, reach, start, end) >= MOST_LANES:
            wires[:] = [w for w in wires if w[0] != start or w[1] == start + 1]
            complete = False
            continue
        found[start] = lane
        taken.setdefault(lane, []).append((start, end))
    return _Lanes(found), complete


def _crowd(found: dict[int, int], reach: dict[int, int], start: int, end: int) -> int:
    """Return how many wires pass the same box at most."""
    layers = range(start + 1, end)
    return max(sum(s < layer < reach[s] for s in found) for layer in layers)


# How it looks.


class _Picture:
    """The SVG of one flow."""

    def __init__(
        self,
        flow: "Flow",
        lang: str,
        boxes: list[_Box],
        wires: list[tuple[int, int]],
        lanes: _Lanes,
        complete: bool,
    ) -> None:
        self.flow, self.lang, self.boxes, self.wires = flow, lang, boxes, wires
        self.lanes, self.complete = lanes, complete
        self.parts: list[str] = []
        ends = {leaf.end for leaf in flow.leaves}
        frozen = any(leaf.frozen for leaf in flow.leaves)
        room = 30 if "dropped" in ends else 22 if "leaked" in ends else 0
        self.left = LEFT + 9 + LANE * lanes.width(-1) + (30 if frozen else 0)
        self.right = RIGHT - 9 - LANE * lanes.width(1) - room
        self.middle = (self.left + self.right) / 2

    def svg(self) -> str:
        """Draw everything, from the back to the front."""
        has_inputs = any(start == 0 for start, _end in self.wires)
        has_lanes = any(end > start + 1 for start, end in self.wires)
        gap = 34 if has_lanes else 22
        frame_top = 36 if has_inputs else 8
        fork = frame_top + (14 if has_lanes else 8)  # where the wires of the inputs part
        y = fork + gap
        for box in self.boxes:
            box.top = y
            y = self._draw_box(box)
            box.bottom = y
            y += gap
        last = len(self.boxes) + 1
        has_result = any(end == last for _start, end in self.wires)
        join = y - gap + (30 if any(s < last - 1 for s, e in self.wires if e == last) else 14)
        frame_bottom = max(join, frame_top + 44)
        height = frame_bottom - frame_top
        self._add("rect", "pure", x=LEFT, y=frame_top, width=RIGHT - LEFT, height=height)
        bottom = frame_bottom + 16
        if has_inputs:
            self._batch(self.middle, 14)
            self._text(self.middle + 20, 18, translated(INPUT, self.lang), "small start")
        room = int((self.middle - LEFT - 16) / 8.4)  # in front of the wire
        self._text(LEFT + 8, frame_top + 18, _shortened(self.flow.frame, room), "code strong start")
        if has_result:
            self._text(self.middle, bottom + 14, translated(OUTPUT, self.lang), "small")
        if has_inputs:
            self._add("path", "wire", d=f"M{self.middle:g} 24 V{fork}")
        self._draw_wires(fork, frame_bottom + 3)
        if has_result:
            self._add("path", "wire", d=f"M{self.middle:g} {frame_bottom} V{bottom - 3}")
            self._head(bottom)
        y = self._legend(bottom + (40 if has_result else 14))
        if not self.complete:
            self._text(WIDTH / 2, y, translated(NOT_DRAWN, self.lang), "small")
            y += 20
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="hs-drawing" role="img" '
            f'viewBox="0 0 {WIDTH} {y - 6:g}" aria-label="{html.escape(self._story())}">'
        )
        return "\n".join([head, *self.parts, "</svg>"])

    def _story(self) -> str:
        """Describe in words what the picture shows."""
        leaves = self.flow.leaves
        count = {kind: sum(leaf.kind == kind for leaf in leaves) for kind in ("params", "state")}
        sentences = [translated(STORY, self.lang).format(frame=self.flow.frame, **count)]
        for box in self.boxes:
            rows = [
                translated(STORY_OF_A_LEAF, self.lang).format(
                    name=row.name, fate=listed(row.leaves[0].fate(self.lang), self.lang)
                )
                for row in box.rows
            ]
            sentences.append(
                translated(STORY_OF_A_MODULE, self.lang).format(
                    title=box.title,
                    rows=listed(rows, self.lang) or translated(KINDS["rng"], self.lang),
                )
            )
        return " ".join(sentences)

    # the modules

    def _draw_box(self, box: _Box) -> int:
        """Draw a box and return where it ends."""
        room = int((self.right - self.left - 16) / CHARACTER)
        self._text(self.left + 8, box.top + 18, _tail(box.title, room), "code small strong start")
        if box.draws:
            box.crossings.append((-1, box.top + 14))
            self._wire_in("rng", box.top + 14, 14)
            self._shape("rng", 14, box.top + 14)
        y = box.top + TITLE
        for row in box.rows:
            leaf, middle = row.leaves[0], y + LINE // 2 - 3
            if leaf.read or leaf.end == "unchanged":
                box.crossings.append((-1, middle))
            if leaf.end and leaf.end != "unknown":
                box.crossings.append((1, middle))
            y = self._draw_row(row, y, room)
        y += 4
        width, height = self.right - self.left, y - box.top
        self._add("rect", "module", x=self.left, y=box.top, width=width, height=height, rx=8)
        return y

    def _draw_row(self, row: _Row, top: int, room: int) -> int:
        """Draw a row and return where it ends."""
        leaf, y = row.leaves[0], top + LINE // 2 - 3
        is_code = row.name.endswith(row.leaves[-1].name)
        name = _shortened(row.name, room)
        font = "code small strong start" if is_code else "small strong start"
        self._text(self.left + 8, y + 4, name, font)
        if CHARACTER * len(name) + _width(row.type) + 12 <= self.right - self.left - 16:
            font = "code small end" if len(row.leaves) == 1 else "small end"
            self._text(self.right - 8, y + 4, row.type, font)
        is_bad = leaf.end in ("dropped", "leaked") or leaf.made == "apply"
        bottom = top + LINE
        for line in _lines(row.fate, self.right - self.left - 16, self.lang):
            self._text(self.left + 8, bottom + 8, line, f"small start{' bad' if is_bad else ''}")
            bottom += SECOND_LINE
        self._draw_start(leaf, y)
        self._draw_end(leaf, y)
        return bottom

    def _draw_start(self, leaf: FlowLeaf, y: float) -> None:
        """Draw where the value of a leaf comes from."""
        if leaf.frozen:  # from inside the program
            self._wire_in(leaf.kind, y, LEFT + 17)
            self._shape(leaf.kind, LEFT + 17, y, hatched=True)
        elif leaf.read or leaf.end == "unchanged":
            self._wire_in(leaf.kind, y, 14)
            self._shape(leaf.kind, 14, y)
        elif leaf.kind == "params":  # given, and not read
            self._shape(leaf.kind, 14, y)

    def _draw_end(self, leaf: FlowLeaf, y: float) -> None:
        """Draw where the value of a leaf goes."""
        if leaf.end in ("returned", "unchanged"):
            self._add("path", "wire state", d=f"M{self.right:g} {y:g} H290")
            self._add("path", "head state", d=f"M289 {y - 5:g} l8 5 l-8 5z")
            self._shape("state", 307, y)
        elif leaf.end == "dropped":
            self._add("path", "wire state", d=f"M{self.right:g} {y:g} H{RIGHT - 31}")
            self._add("circle", "dropped", cx=RIGHT - 22, cy=y, r=7)
            self._add("path", "bar", d=f"M{RIGHT - 9} {y - 9:g} v18")
        elif leaf.end == "leaked":
            step = (299 - self.right) / 4
            wave = f"q{step / 2:g} -14 {step:g} 0 t{step:g} 0 t{step:g} 0 t{step:g} 0"
            self._add("path", "leaked", d=f"M{self.right:g} {y:g} {wave}")
            self._add("circle", "leaked", cx=307, cy=y, r=8)

    def _wire_in(self, kind: str, y: float, x: float) -> None:
        end = self.left - 8
        self._add("path", f"wire {kind}", d=f"M{x:g} {y:g} H{end + 1:g}")
        self._add("path", f"head {kind}", d=f"M{end:g} {y - 5:g} l8 5 l-8 5z")

    # the wires between them

    def _draw_wires(self, top: float, bottom: float) -> None:
        starts = [top, *(box.bottom for box in self.boxes)]
        ends = [top, *(box.top for box in self.boxes), bottom]
        lines: dict[
            str, None
        ] = {}  # a set that keeps its order: wires from one box begin as one line
        for start, end in self.wires:
            x, y = self.middle, starts[start]
            for layer in range(start + 1, end + 1):
                lane = self.middle if layer == end else self._lane(start)
                lines[self._turn(x, y, lane, ends[layer])] = None
                x, y = lane, ends[layer]
                if layer < end:
                    side = -1 if x < self.middle else 1
                    lines |= dict.fromkeys(self._past(self.boxes[layer - 1], side, x, y))
                    y = starts[layer]
        for line in lines:
            self._add("path", "wire", d=line)
        for layer in sorted({end for _start, end in self.wires if end <= len(self.boxes)}):
            self._head(ends[layer])

    def _past(self, box: _Box, side: int, x: float, y: float) -> Iterator[str]:
        """Yield a line past a box, which lets through what goes in or comes out there."""
        for crossing in sorted(y for where, y in box.crossings if where == side):
            yield f"M{x:g} {y:g} V{crossing - 4:g}"
            y = crossing + 4
        yield f"M{x:g} {y:g} V{box.bottom:g}"

    def _head(self, y: float) -> None:
        self._add("path", "head", d=f"M{self.middle - 5:g} {y - 8:g} l5 8 l5 -8z")

    def _turn(self, x: float, y: float, lane: float, end: float) -> str:
        """Return a line down from (x, y) to (lane, end), with a step to the side if need be.

        Between two boxes, wires turn away from the upper one first and towards the lower one last.
        """
        bottom = end - 3 if lane == self.middle else end  # below an arrowhead, or on and on
        if x == lane:
            return f"M{x:g} {y:g} V{bottom:g}"
        turn = y + 9 if x == self.middle else end - 15 if lane == self.middle else (y + end) / 2
        side = 5 if lane > x else -5
        return (
            f"M{x:g} {y:g} V{turn - 5:g} q0 5 {side} 5 H{lane - side:g} q{side} 0 {side} 5 "
            f"V{bottom:g}"
        )

    def _lane(self, source: int) -> float:
        lane = self.lanes.of[source]
        return self.left + LANE * lane if lane < 0 else self.right + LANE * lane

    # the shapes

    def _legend(self, y: int) -> int:
        kinds = [
            kind
            for kind in ("params", "state")
            if any(leaf.kind == kind for leaf in self.flow.leaves)
        ]
        kinds += ["rng"] if any(box.draws for box in self.boxes) else []
        labels = [translated(KINDS[kind], self.lang) for kind in kinds]
        widths = [30 + _width(label) + 14 for label in labels]
        x = (WIDTH - sum(widths)) / 2 + 8
        for kind, label, width in zip(kinds, labels, widths, strict=True):
            self._shape(kind, x + 8, y)
            self._text(x + 24, y + 4, label, "small start")
            x += width
        return y + 26 if kinds else y

    def _shape(self, kind: str, x: float, y: float, hatched: bool = False) -> None:
        if kind == "params":
            self._add("rect", kind, x=x - 8, y=y - 8, width=16, height=16, rx=1.5)
        elif kind == "state":
            self._add("circle", kind, cx=x, cy=y, r=8)
        else:
            self._add("path", kind, d=f"M{x:g} {y - 9:g} l9 9 l-9 9 l-9 -9z")
        if hatched:
            at = f"{x - 6:g} {y + 1:g}"
            self._add("path", f"wire {kind}", d=f"M{at} l7 -7 m-5 12 l9 -9")

    def _batch(self, x: float, y: float) -> None:
        for shift in (-7, 0, 7):
            self._add("path", "batch", d=f"M{x - 11:g} {y + shift:g} h22")

    def _text(self, x: float, y: float, text: str, classes: str) -> None:
        self.parts.append(f'<text class="{classes}" x="{x:g}" y="{y:g}">{html.escape(text)}</text>')

    def _add(self, tag: str, classes: str, **attributes: Any) -> None:
        values = {k: v if isinstance(v, str) else f"{v:g}" for k, v in attributes.items()}
        written = " ".join(f'{key}="{value}"' for key, value in values.items())
        self.parts.append(f'<{tag} class="{classes}" {written}/>')


def _width(text: str) -> float:
    return sum(12.5 if ord(character) > 0x2E80 else CHARACTER for character in text)


def _lines(words: list[str], room: float, lang: str) -> list[str]:
    """Put words into as few lines as hold them."""
    lines: list[list[str]] = []
    for word in words:
        if lines and _width(listed([*lines[-1], word], lang)) <= room:
            lines[-1].append(word)
        else:
            lines.append([word])
    return [listed(line, lang) for line in lines]


def _shortened(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1] + "…"


def _tail(path: str, room: int) -> str:
    """Return the last names of a path that fit."""
    while len(path) > room and "/" in path.removeprefix("…/"):
        path = "…/" + path.removeprefix("…/").split("/", 1)[1]
    return _shortened(path, room)


# The style where the page has none. A page of the site has the colors as variables of its own.

PAPER = ("#fdfcfa", "#14161b")  # light, dark
COLORS = {
    "ink": ("#1b1e24", "#e7e9ed"),
    "muted": ("#575c66", "#a9b0bd"),
    "edge": ("#86806f", "#7d8696"),
    "params": ("#1766c0", "#5ea6f4"),
    "params-tint": ("#e6f0fb", "#16293f"),
    "state": ("#cf5f0e", "#ff9440"),
    "state-tint": ("#fdeee0", "#3a2412"),
    "rng": ("#00786a", "#5ee0c0"),
    "rng-tint": ("#e0f4ef", "#10302b"),
    "batch": ("#3a3f48", "#9aa2b0"),
    "bad": ("#b0124a", "#ff8fae"),
}
RULES = """\
text { fill: @ink; font: 14px system-ui, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", \
"PingFang SC", "Noto Sans CJK SC", "Microsoft YaHei", sans-serif; text-anchor: middle; }
.start { text-anchor: start; }
.end { text-anchor: end; }
.small { fill: @muted; font-size: 12.5px; }
.code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; }
.strong { font-weight: bold; fill: @ink; }
.params { fill: @params-tint; stroke: @params; stroke-width: 2; }
.state { fill: @state-tint; stroke: @state; stroke-width: 3; }
.rng { fill: @rng-tint; stroke: @rng; stroke-width: 2; }
.batch { fill: none; stroke: @batch; stroke-width: 1.75; }
.pure { fill: none; stroke: @ink; stroke-width: 1.5; }
.module { fill: none; stroke: @ink; stroke-width: 1.5; stroke-dasharray: 1.5 4.5; \
stroke-linecap: round; }
.dropped { fill: none; stroke: @bad; stroke-width: 2; stroke-dasharray: 6 4; }
.leaked, .bar { fill: none; stroke: @bad; stroke-width: 3; }
.wire { fill: none; stroke: @edge; stroke-width: 1.75; }
.wire.params { stroke: @params; }
.wire.state { stroke: @state; stroke-width: 2.25; }
.wire.rng { stroke: @rng; }
.head { fill: @edge; stroke: none; }
.head.params { fill: @params; }
.head.state { fill: @state; }
.head.rng { fill: @rng; }
text.bad { fill: @bad; }
"""


def in_html(svg: str) -> str:
    """Return the picture as `STYLE` expects it."""
    return f'<div class="hs-flow">\n{svg}\n</div>'


def _style() -> str:
    """The style for a notebook, whose theme it follows."""
    rules = "".join(f".hs-flow {line}\n" for line in RULES.splitlines())
    rules = rules.replace(".leaked, .bar", ".leaked, .hs-flow .bar")
    for name in sorted(COLORS, key=len, reverse=True):
        rules = rules.replace(f"@{name}", f"var(--flow-{name})")

    def colors(selector: str, which: int) -> str:
        values = (f"--flow-{n}: var(--hs-{n}, {c[which]})" for n, c in COLORS.items())
        return f"{selector} {{ {'; '.join(values)} }}\n"

    return (
        colors(".hs-flow", 0)
        + f"@media (prefers-color-scheme: dark) {{ {colors('.hs-flow', 1)} }}\n"
        + colors('[data-jp-theme-light="true"] .hs-flow, .vscode-light .hs-flow', 0)
        + colors('[data-jp-theme-light="false"] .hs-flow, .vscode-dark .hs-flow', 1)
        + ".hs-flow svg { display: block; width: 100%; max-width: 22rem; margin-inline: auto; }\n"
        + rules
    )


STYLE = _style()


def standalone(svg: str) -> str:
    """Return the picture as a file that has its own style, light and dark."""
    light, dark = (f"svg {{ background: {paper}; }}\n{RULES}" for paper in PAPER)
    for name in sorted(COLORS, key=len, reverse=True):
        light = light.replace(f"@{name}", COLORS[name][0])
        dark = dark.replace(f"@{name}", COLORS[name][1])
    style = f"<style>\n{light}@media (prefers-color-scheme: dark) {{\n{dark}}}\n</style>"
    head, rest = svg.split("\n", 1)
    return f"{head}\n{style}\n{rest}\n"


@dataclasses.dataclass(frozen=True, repr=False)
class Flow:
    """The result of :func:`.record_flow`: where each leaf goes, as data, as text and as a picture.

    ``str(flow)`` is the text for a terminal, and a notebook shows the picture.
    """

    function: str
    """The name of the function."""
    frame: str
    """``"apply"``, or the name of the function if it calls ``apply`` itself."""
    events: tuple[FlowEvent, ...]
    """What the modules create, read and write, in order."""
    modules: tuple[FlowModule, ...]
    """The modules that run in ``apply``, in the order in which they first finish."""
    leaves: tuple[FlowLeaf, ...]
    """All leaves of params and state that the function receives, creates or reads."""
    wires: tuple[tuple[str, str], ...]
    """Pairs of a module's path and the path of a module that receives its output. ``"<inputs>"``
    and ``"<result>"`` stand for the inputs and the result of the function."""
    draws: bool = False
    """Whether any value in ``apply`` depends on the random key."""
    drawn_into: tuple[str, ...] = ()
    """The paths of the modules that receive random numbers drawn outside of all modules, for
    example by ``hk.dropout``; ``"<result>"`` stands for the result of the function."""
    error: str = ""
    """The error that ended the trace early, which happens only after a tracer has leaked; otherwise
    empty."""

    def __repr__(self) -> str:
        return f"<Flow of {self.function}: {len(self.leaves)} leaves, {len(self.events)} events>"

    def __str__(self) -> str:
        return self.text()

    def text(self, lang: str | None = None) -> str:
        """Return the flow as text.

        Args:
          lang: the code of the language to use; None means the reader's language.

        Returns:
          The text, whose lines have aligned columns.
        """
        count = {
            kind: sum(leaf.kind == kind for leaf in self.leaves) for kind in ("params", "state")
        }
        lines = [translated(FLOW_TITLE, lang).format(function=self.function, **count)]
        leaves = {leaf.place: leaf for leaf in self.leaves}
        for phase in ("init", "apply"):
            rows = []
            for event in self.events:
                if event.phase == phase:
                    leaf = leaves[event.leaf]
                    action = translated(ACTIONS[event.action], lang)
                    type_ = type_of(event.dtype, event.shape)
                    rows.append([event.module, event.method, action, leaf.kind, leaf.name, type_])
            if rows:
                lines += ["", self.frame if phase == "apply" else phase, *table_of(rows)]
        if self.leaves:
            rows = [[leaf.place, leaf.type, listed(leaf.fate(lang), lang)] for leaf in self.leaves]
            lines += ["", translated(LEAVES, lang), *table_of(rows)]
        drawing = [module.path for module in self.modules if module.draws]
        drawing += [self.frame] if self.drawn_into or (self.draws and not drawing) else []
        if drawing:
            lines += ["", translated(DRAWS, lang), *(f"  {path}" for path in drawing)]
        return "\n".join([*lines, *(["", self.error] if self.error else [])])

    def svg(self, lang: str | None = None, *, depth: int | None = None) -> str:
        """Return the picture with CSS classes and no colors, for a page with its own style sheet.

        Args:
          lang: the code of the language to use; None means the reader's language.
          depth: how many levels of modules to show; deeper modules are folded into the module
            around them. None shows as many levels as are readable.

        Returns:
          An ``<svg>`` element.
        """
        return draw(self, lang, depth)

    def save(self, file: str | os.PathLike[str], lang: str | None = None, **options: Any) -> None:
        """Write the picture to a file with its own style sheet, for light and dark mode.

        Args:
          file: the file to write, whose name should end in ``.svg``.
          lang: the same as in :meth:`svg`.
          options: other options of :meth:`svg`, such as ``depth``.
        """
        Path(file).write_text(standalone(draw(self, lang, **options)), encoding="utf-8")

    def _repr_html_(self) -> str:
        def render() -> str:
            return in_html(draw(self))

        return f"<style>\n{STYLE}</style>\n{in_both_languages(render)}"
