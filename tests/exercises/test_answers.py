"""Answers of learners: right ones in other styles pass, wrong ones do not, no cause is false."""

import pytest
from support.answers import FILES, answers
from tools.verdicts import together, unsure, with_draws

from haiku_state.exercises import names
from haiku_state.exercises.courses import ours
from haiku_state.exercises.judge import Checker, missing_for

TOLD = 0.7
"""The least part of the wrong answers with a cause that are told it."""


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "first_line"),
    [
        ("frozen", "# the moments begin again in each step"),
        ("frozen", "# a typo in the loss: the absolute error"),
        ("static_shape", "# square images only"),
    ],
)
def test_check__a_verdict_does_not_depend_on_what_is_drawn(name, first_line, monkeypatch):
    monkeypatch.setattr("secrets.randbits", lambda bits: 0)  # the same draws each time
    exercise = ours().load(name)
    file = next(file for file in FILES if file.stem == name)
    (source,) = (source for *_, source in answers(file) if source.startswith(first_line))
    (found,) = together(with_draws(exercise, 20), [(first_line, source, False, True)])
    assert not unsure(exercise, False, found)
