"""Tries an exercise as its author has to: its solution, its stub, and each program in its file."""

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import translated
from haiku_state.exercises.exercise import Exercise, Program
from haiku_state.exercises.judge import Teacher, judge_program, judge_stub
from haiku_state.exercises.result import Result
from haiku_state.exercises.sandbox.process import Process

SOLUTION, STUB = _("the solution"), _("the stub")
CLOSED_FORM = _("the closed form of check {number}")
WRONG, RIGHT = _("wrong program, {idea}"), _("right program, {title}")

FAILS = _("it does not pass")
PASSES = _("it passes")
OTHER_IDEA = _("it is shown the idea `{idea}`")
NO_IDEA = _("it is shown no idea")
DIFFERS = _("the solution gives a different result: {expected}, not {got}")


class Tried(NamedTuple):
    """What came of one program.

    Args:
      line: where it begins in the file.
      what: which program, in the reader's language.
      problem: what is wrong with the exercise there; empty for nothing.
      result: what a learner would be told; None for a closed form.
    """

    line: int
    what: str
    problem: str
    result: Result | None


def tried(exercise: Exercise) -> Iterator[Tried]:
    """Yield what came of the solution, the closed forms, the stub and the programs of an exercise.

    Raises:
      ExerciseError: if the solution fails.
    """
    with Process("solutions") as process:
        teacher = Teacher(exercise, process, secrets.randbits(64))
        rows = teacher.truth(closed_form=True)
    for number, (check, draws) in enumerate(zip(exercise.checks, rows, strict=True), 1):
        for seen in draws:
            if differing := teacher.differs_from_closed_form(check, seen):
                expected, got = differing
                problem = translated(DIFFERS).format(expected=got, got=expected)
                what = translated(CLOSED_FORM).format(number=number)
                yield Tried(check.line, what, problem, None)
    programs = [Program("", 1, title="solution"), *exercise.programs]
    with ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda one: judge_program(exercise, one.code), programs)
        for program, result in zip(programs, results, strict=True):
            yield _of_program(program, result)
        yield _of_stub(judge_stub(exercise))


def _of_program(program: Program, result: Result) -> Tried:
    told = result.failure.idea if result.failure else None
    if program.idea is None:
        what = translated(RIGHT).format(title=program.title)
        what = translated(SOLUTION) if program.line == 1 else what
        return Tried(program.line, what, "" if result.passed else translated(FAILS), result)
    what = translated(WRONG).format(idea=program.idea.name)
    if result.passed:
        problem = translated(PASSES)
    elif told is None:
        problem = translated(NO_IDEA)
    else:
        is_other = told.name != program.idea.name
        problem = translated(OTHER_IDEA).format(idea=told.name) if is_other else ""
    return Tried(program.line, what, problem, result)


def _of_stub(result: Result) -> Tried:
    problem = translated(PASSES) if result.passed else ""
    return Tried(1, translated(STUB), problem, result)
