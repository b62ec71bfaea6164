"""What a lesson shows on two versions of JAX: equal words, and numbers within a tolerance."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from packaging.specifiers import SpecifierSet

# Another version of XLA adds float32 numbers in another order, and training carries the roundings,
# 6e-8 each, on through its steps: of seven digits the first four are the same.
RTOL = 1e-4
# Below this a number is itself a rounding of float32, of numbers of size one and more: a
# difference that the lesson holds under a limit of its own.
ATOL = 1e-6

_NUMBER = re.compile(r"((?<![\w.])[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?(?!\w))")
_SKIPPED = re.compile(r"skipped: (.+)")
Run = dict[str, Any]  # what run.py writes


class Exemption(NamedTuple):
    """Lines that may differ: those of one lesson that a pattern matches, in either run."""

    lesson: str
    line: str  # a regular expression, searched for
    reason: str
    jax: str = ""  # the versions that may differ, such as "<0.5"
    measured: bool = False  # a time or an address: two runs agree by chance alone


class Difference(NamedTuple):
    lesson: str
    cell: int
    text: str

    def __str__(self) -> str:
        return f"{self.lesson}, cell {self.cell}: {self.text}"


def differences(published: Run, other: Run, exemptions: Sequence[Exemption]) -> list[Difference]:
    """Where another run shows something else than the published pages.

    A cell that skips a part may leave out lines; those that it shows are compared.
    """
    version = other["jax"]
    found = []
    for name, lesson in published["lessons"].items():
        granted = [e for e in exemptions if e.lesson == name and _applies(e, version)]
        seen = other["lessons"].get(name, {"cells": [], "failure": "not run"})
        if seen["failure"]:
            found.append(Difference(name, len(seen["cells"]), seen["failure"]))
        for number, (old, new) in enumerate(zip(lesson["cells"], seen["cells"], strict=False)):
            texts = _compare(_kept(old, granted), _kept(new, granted))
            found += [Difference(name, number, text) for text in texts]
        if not seen["failure"] and len(seen["cells"]) != len(lesson["cells"]):
            text = f"{len(lesson['cells'])} cells are published, {len(seen['cells'])} are run"
            found.append(Difference(name, len(seen["cells"]), text))
    return found


def stale(published: Run, others: Sequence[Run], exemptions: Sequence[Exemption]) -> list[str]:
    """The exemptions without which no run would differ more, as one line each."""
    known = [set(differences(published, other, exemptions)) for other in others]
    found = []
    for one in exemptions:
        if one.lesson not in published["lessons"]:
            continue
        rest = [exemption for exemption in exemptions if exemption != one]
        if one.measured:
            needed = any(re.search(one.line, line) for line in _lines(published, one.lesson))
        else:
            needed = any(
                set(differences(published, other, rest)) - before
                for other, before in zip(others, known, strict=True)
            )
        if not needed:
            found.append(f"{one.lesson}: no run needs the exemption of {one.line!r} any more")
    return found


def outcome(lesson: dict[str, Any]) -> str:
    """One lesson in one line: ``ok``, what it has skipped, or how it has failed."""
    if lesson["failure"]:
        return str(lesson["failure"])
    skips = [_SKIPPED.fullmatch(line) for cell in lesson["cells"] for line in cell]
    return "; ".join(["ok", *(f"skipped: {skip[1]}" for skip in skips if skip)])


def outcomes(run: Run) -> dict[str, str]:
    """Each lesson of a run in one line."""
    return {name: outcome(lesson) for name, lesson in run["lessons"].items()}


def number_pairs(
    published: Run, other: Run, exemptions: Sequence[Exemption]
) -> Iterator[tuple[str, float, float]]:
    """All numbers that two runs are compared by, each with its lesson."""
    for name, lesson in published["lessons"].items():
        granted = [e for e in exemptions if e.lesson == name and _applies(e, other["jax"])]
        for old, new in zip(lesson["cells"], other["lessons"][name]["cells"], strict=False):
            a, b = _kept(old, granted), _kept(new, granted)
            if _without_skips(b) == b:
                numbers = (_NUMBER.findall("\n".join(cell)) for cell in (a, b))
                for one, two in zip(*numbers, strict=False):
                    yield name, float(one), float(two)


def _applies(exemption: Exemption, version: str) -> bool:
    return SpecifierSet(exemption.jax).contains(version, prereleases=True)


def _lines(run: Run, lesson: str) -> list[str]:
    return [line for cell in run["lessons"].get(lesson, {"cells": []})["cells"] for line in cell]


def _without_skips(cell: list[str]) -> list[str]:
    return [line for line in cell if not _SKIPPED.fullmatch(line)]


def _kept(cell: list[str], exemptions: list[Exemption]) -> list[str]:
    return [line for line in cell if not any(re.search(e.line, line) for e in exemptions)]


def _compare(old: list[str], new: list[str]) -> list[str]:
    shown = _without_skips(new)
    if len(shown) < len(new):
        rest = iter(old)  # lines may be missing, but those that are shown keep their order
        return [f"{b!r} is not published" for b in shown if not any(_equal(a, b) for a in rest)]
    if len(old) != len(new):
        lines = [line for line in (*old, *new) if (line in old) != (line in new)]
        return [f"{len(old)} lines are published, {len(new)} are shown: {lines[:4]}"]
    return [f"{a!r} became {b!r}" for a, b in zip(old, new, strict=True) if not _equal(a, b)]


def _equal(old: str, new: str) -> bool:
    one, two = _NUMBER.split(old), _NUMBER.split(new)
    return len(one) == len(two) and all(
        _close(a, b) if place % 2 else a.split() == b.split()
        for place, (a, b) in enumerate(zip(one, two, strict=True))
    )


def _close(old: str, new: str) -> bool:
    """Whole numbers count something, and are equal; others may differ in their last digit."""
    if old.lstrip("+-").isdigit() and new.lstrip("+-").isdigit():
        return int(old) == int(new)
    gap = abs(float(old) - float(new))
    return gap <= max(RTOL * abs(float(old)), 1.01 * max(_unit(old), _unit(new)), ATOL)


def _unit(number: str) -> float:
    """What one is in the last digit that a number is printed with."""
    digits, _, exponent = number.lower().partition("e")
    return float(10.0 ** (int(exponent or 0) - len(digits.partition(".")[2])))
