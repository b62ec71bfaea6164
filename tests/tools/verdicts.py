"""How much the verdicts of the exercises depend on the numbers that are drawn.

python tests/tools verdicts [--draws 20] [EXERCISE …]

Each check gets many draws of its inputs, and each draw is judged on its own: of the solution, of
the right and wrong programs in the exercise's file, and of the answers in tests/exercises/answers.
A line stands for a program whose verdict other draws could turn over: a right one that needs more
than half the tolerance, or a wrong one that passes all checks once in a thousand times or oftener,
as far as the draws tell that passed, or came near the tolerance.
"""

import argparse
import math
import re
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from support.answers import FOLDER, answers

from haiku_state.exercises import cells, judge
from haiku_state.exercises.courses import ours
from haiku_state.exercises.exercise import Idea, Program
from haiku_state.exercises.sandbox.process import Process

NEAR, SELDOM = 0.5, 1e-3
"""What part of the tolerance a right result may need, and how often a wrong one may pass."""


def with_draws(exercise, draws):
    """Return an exercise whose checks all have this many draws of their inputs."""
    fields = re.compile("^(# %% check [^;\n]*)(;[^;\n]*)?", re.MULTILINE)
    # the last word about draws holds, also after `once`
    text = fields.sub(lambda match: f"{match[1]}{match[2] or ';'} draws={draws}", exercise.text)
    return replace(cells.read(exercise.name, text, exercise.folder), seconds=600)


def programs(exercise):
    """Yield a label, the source, whether it is right and whether it is whole, for each program."""
    yield "the solution", "", True, False
    for one in exercise.programs:
        yield one.idea.name if one.idea else one.title, one.code, not one.idea, False
    if (file := FOLDER / f"{exercise.name}.py").exists():
        for number, (kind, label, source) in enumerate(answers(file)):
            yield f"answer {number}, {label}", source, kind == "right", True


def distance(check, right, seen):
    """Return how many tolerances a draw is away from what is right; infinite if by no number."""
    results = [seen[name] for name in ("eager", "jit", "vmap") if name in seen]
    if any("error" in result for result in results):
        return np.inf
    expected, found = judge.decoded(right["eager"]["tree"]), 0.0
    for got in (judge.decoded(result["tree"]) for result in results):
        if expected.keys() != got.keys():
            return np.inf
        found = max([found, *(apart(leaf, got[path], check) for path, leaf in expected.items())])
    others = (name for name, _failure in judge._failures(check, right, seen))
    return np.inf if {*others} - {"eager", "jit", "vmap"} else found


def apart(one, other, check):
    """Return how many tolerances two leaves are away from each other."""
    arrays = [leaf.array for leaf in (one, other) if leaf.array is not None]
    is_float = any(array.dtype.kind in "fc" for array in arrays) and check.tolerance
    if not is_float or len(arrays) < 2 or arrays[0].shape != arrays[1].shape:
        return 0.0 if judge._equal(one, other, check.tolerance) else np.inf
    first, second = (array.astype(float) for array in arrays)
    with np.errstate(all="ignore"):
        away = np.abs(first - second) / (check.tolerance * (1 + np.abs(second)))
    away = np.where((first == second) | (np.isnan(first) & np.isnan(second)), 0, away)
    return float(np.max(np.nan_to_num(away, nan=np.inf), initial=0))


class Draws(judge.Checker):
    """A checker that returns, instead of a result, the distances of each draw of each check."""

    def _judged(self, truth, _teacher, ended, _source, _path):
        checks = enumerate(self.exercise.checks)
        seen = [[m["seen"] for m in ended.messages if m.get("check") == n] for n, _check in checks]
        return distances(self.exercise, truth, seen)


def distances(exercise, truth, seen):
    """Return the distance of each draw of each check; NaN where it is not known."""
    found = []
    for check, right, mine in zip(exercise.checks, truth.rows, seen, strict=True):
        row = list(map(partial(distance, check), right, mine))
        found.append(row + [np.nan] * (check.draws - len(row)))
    return np.array(found)


def together(exercise, chosen):
    """Yield the distances of the values of each program; all run in one process, which is fast."""
    idea = Idea("", "")
    sources = tuple(Program(source, 1, idea=idea) for _label, source, *_ in chosen)
    with Process("solutions") as process:
        exercise = replace(exercise, programs=sources)
        teacher = judge.Teacher(exercise, process, process.folder)
        truth = teacher.truth()
        seen = teacher._seen(truth.seed, teacher._checks, ["eager"])
    for number in range(len(chosen)):
        yield distances(exercise, truth, seen[number])


def passing(row):
    """Return the part of all draws that pass a check: of these, or by the spread of their logs."""
    logs = np.log(np.maximum(row[np.isfinite(row)], 1e-9))
    if not logs.size or not np.std(logs):
        return float(np.mean(row <= 1))
    by_spread = math.erfc(np.mean(logs) / np.std(logs) / math.sqrt(2)) / 2
    return max(float(np.mean(row <= 1)), by_spread * logs.size / row.size)


def unsure(exercise, is_right, found):
    """Return what is not sure of the verdict of a program, or an empty text."""
    found = np.where(np.isnan(found), np.inf, found)
    # a check that counts what Python does sees nothing more in a second draw
    counts = (found[:, :1] <= 1) & np.isinf(found[:, 1:]).all(axis=1, keepdims=True)
    found = np.where(counts, found[:, :1], found)
    if is_right:
        return f"needs {found.max():.2f} of its tolerance" if found.max() > NEAR else ""
    part = np.array([passing(row) for row in found])
    often = np.prod(part ** [check.draws for check in exercise.checks])
    return f"passes with a probability of about {often:.1g}" if often > SELDOM else ""


def main(names, draws):
    """Print a line for each program whose verdict is not sure."""
    judge.OWN_SECONDS = 120
    for name in names or ours().names:
        exercise, path = ours().load(name), Path(f"{name}.py").absolute()
        if judge.missing_for(exercise):
            continue
        many, chosen = with_draws(exercise, draws), list(programs(exercise))
        parts = [chosen[start : start + 8] for start in range(0, len(chosen), 8)]
        rows = [found for part in parts for found in together(many, part)]
        again = [
            (label, source, is_right, is_whole)
            for (label, source, is_right, is_whole), found in zip(chosen, rows, strict=True)
            if np.isnan(found).any() or unsure(exercise, is_right, found)
        ]
        with Draws(many, is_eager=True) as checker:
            for label, source, is_right, is_whole in again:
                found = checker.check(source, path, is_whole)
                if told := unsure(exercise, is_right, found):
                    kind = "right" if is_right else "wrong"
                    print(f"{name}: {kind}, {label}: {told}", flush=True)
        print(f"# {name}: {len(chosen)} programs, {len(again)} alone", file=sys.stderr, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("names", nargs="*", metavar="EXERCISE")
    asked = parser.parse_args()
    main(asked.names, asked.draws)
