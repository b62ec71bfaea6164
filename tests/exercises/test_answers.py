"""Answers of learners: right ones in other styles pass, wrong ones do not, no cause is false.

A file of ``answers/`` holds a cell for each: ``# %% right: STYLE``, or ``# %% wrong: IDEAS`` with
the names of the ideas that are true of it, separated by ``|``, and ``-`` for none.
"""

import re
from pathlib import Path

import pytest

from haiku_state.exercises import names
from haiku_state.exercises.courses import ours
from haiku_state.exercises.judge import Checker, missing_for

FOLDER = Path(__file__).parent / "answers"
FILES = sorted(FOLDER.glob("*.py"))
TOLD = 0.7
"""The least part of the wrong answers with a cause that are told it."""


def answers(file):
    """Yield the kind, the label and the source of each answer."""
    _head, *cells = re.split(r"^# %% (right|wrong): ?(.*)\n", file.read_text("utf-8"), flags=re.M)
    yield from zip(cells[::3], cells[1::3], cells[2::3], strict=True)


def test_check__there_are_answers_of_each_kind_to_many_exercises():
    kinds = [kind for file in FILES for kind, _label, _source in answers(file)]
    assert min(kinds.count("right"), kinds.count("wrong")) >= 200
    assert {file.stem for file in FILES} <= {*names()}


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_check__answers_are_judged_rightly_and_no_cause_is_false(file, tmp_path):
    exercise = ours().load(file.stem)
    if missing := missing_for(exercise):
        pytest.skip(missing)
    wrong_verdicts, false_causes, is_told = [], [], []
    with Checker(exercise, is_eager=True) as checker:
        for number, (kind, label, source) in enumerate(answers(file)):
            result = checker.check(source, tmp_path / file.name)
            if result.passed != (kind == "right"):
                wrong_verdicts.append((number, label, str(result)))
            ideas = label.split(" | ")
            told = result.failure.idea.name if result.failure and result.failure.idea else None
            if kind == "wrong" and told and told not in ideas:
                false_causes.append((number, label, told))
            if kind == "wrong" and label != "-":
                is_told.append(told is not None)
    assert (wrong_verdicts, false_causes) == ([], [])
    assert sum(is_told) >= TOLD * len(is_told)
