"""Every solution passes, every stub fails, and a wrong answer is told the idea that it lacks."""

from pathlib import Path

import pytest
from answers_table import NAMES, answers

from haiku_state.exercises import solution, stub
from haiku_state.exercises.exercise import KINDS
from haiku_state.exercises.judge import judge
from haiku_state.exercises.tasks import load

# one exercise of each kind, whose first wrong answer is checked every time
SAMPLES = ("predict_trace", "branch", "counter", "strategy", "quiz_pure", "capstone")


def checked(name, text):
    exercise = load(name)
    if exercise.needs and (missing := exercise.needs()):
        pytest.skip(missing)
    return judge(exercise, text, Path(f"{name}.py"))


@pytest.mark.parametrize("name", NAMES)
def test_the_solution_passes(name):
    result = checked(name, solution(name))
    assert result.passed, str(result)


@pytest.mark.parametrize("name", NAMES)
def test_the_stub_fails(name):
    result = checked(name, stub(name))
    assert not result.passed
    assert result.failure.idea, str(result)


def parameters():
    """Every answer; all are slow but the first wrong one of each exercise in SAMPLES."""
    found = []
    for name in NAMES:
        sampled = name not in SAMPLES
        for kind, title, text in answers(name):
            marks = [pytest.mark.slow] if sampled or kind == "right" else []
            sampled |= kind == "wrong"
            found.append(
                pytest.param(name, kind, title, text, id=f"{name}-{kind}-{title}", marks=marks)
            )
    return found


def test_each_kind_of_exercise_has_a_sample():
    assert sorted(load(name).kind for name in SAMPLES) == sorted(KINDS)


@pytest.mark.parametrize(("name", "kind", "title", "text"), parameters())
def test_an_answer_is_told_what_it_is(name, kind, title, text):
    result = checked(name, text)
    if kind == "right":
        assert result.passed, str(result)
    else:
        assert not result.passed, "it passes"
        assert result.failure.idea, str(result)
        assert result.failure.idea.name == title, str(result)


@pytest.mark.parametrize("name", NAMES)
def test_three_wrong_answers_are_known(name):
    assert len([kind for kind, _title, _text in answers(name) if kind == "wrong"]) >= 3
