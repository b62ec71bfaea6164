"""Tries an exercise as its author has to: its solution, its stub, and each program in its file.

The solution is tried in other styles as well: what is right must not depend on how it is written.
"""

import re
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import translated
from haiku_state.exercises.cells import solution_code
from haiku_state.exercises.exercise import Exercise, Program
from haiku_state.exercises.judge import Teacher, judge
from haiku_state.exercises.result import Result
from haiku_state.exercises.sandbox.process import Process
from haiku_state.exercises.source import stub_of

SOLUTION, STUB = _("the solution"), _("the stub")
CLOSED_FORM = _("the closed form of check {number}")
WRONG, RIGHT = _("wrong program with the idea {idea}"), _("right program with the title {title}")

FAILS = _("the program does not pass")
PASSES = _("the program passes")
OTHER_IDEA = _("the check shows the idea `{idea}`")
NO_IDEA = _("the check does not show an idea")
DIFFERS = _("the solution returns a different result: {expected}, not {got}")

STYLES = {
    _("the solution under a different name"): """
        return function(*given, **named)
    """,
    _("the solution compiled with jit"): """
        return jax.jit(function)(*given, **named)
    """,
    _("the solution inside a scan"): """
        leaves, tree = jax.tree_util.tree_flatten((given, named))
        arrays = [leaf if hasattr(leaf, "shape") else jax.numpy.asarray(leaf) for leaf in leaves]
        rows = jax.tree_util.tree_unflatten(tree, [array[None] for array in arrays])
        step = lambda carry, row: (carry, function(*row[0], **row[1]))
        return jax.tree_util.tree_map(lambda leaf: leaf[0], jax.lax.scan(step, 0, rows)[1])
    """,
    _("the solution with a NamedTuple instead of a tuple"): """
        result = function(*given, **named)
        if type(result) is not tuple:
            return result
        names = [f"part_{number}" for number in range(len(result))]
        return collections.namedtuple("Result", names)(*result)
    """,
}
"""How a function of a solution is called in another style; where that cannot be, it is not."""

STYLED = """
import collections
import functools
import jax


def styled(function):
    @functools.wraps(function)
    def call(*given, **named):
        try:
BODY
        except Exception:
            return function(*given, **named)

    return call


"""


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
        teacher = Teacher(exercise, process, process.folder)
        rows = teacher.truth(closed_form=True).rows
    for number, (check, draws) in enumerate(zip(exercise.checks, rows, strict=True), 1):
        for seen in draws:
            if differing := teacher.differs_from_closed_form(check, seen):
                expected, got = differing
                problem = translated(DIFFERS).format(expected=got, got=expected)
                what = translated(CLOSED_FORM).format(number=number)
                yield Tried(check.line, what, problem, None)
    path = Path(f"{exercise.name}.py").absolute()
    programs = [Program("", 1), *_styles(exercise), *exercise.programs]
    with ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda one: judge(exercise, one.code, path, False), programs)
        for program, result in zip(programs, results, strict=True):
            yield _of_program(program, result)
    result = judge(exercise, stub_of(exercise.program), path)
    problem = translated(PASSES) if result.passed else ""
    yield Tried(1, translated(STUB), problem, result)


def _styles(exercise: Exercise) -> Iterator[Program]:
    names = re.findall(r"^def (\w+)", solution_code(exercise), re.MULTILINE)
    for title, body in STYLES.items() if names else ():
        calls = "\n".join(f"{name} = styled(right.{name})" for name in names)
        inner = textwrap.indent(textwrap.dedent(body).strip(), " " * 12)
        yield Program(STYLED.replace("BODY", inner) + calls, 1, title=title)


def _of_program(program: Program, result: Result) -> Tried:
    told = result.failure.idea if result.failure else None
    if program.idea is None:
        what = translated(RIGHT).format(title=program.title)
        if program.line == 1:
            what = translated(program.title or SOLUTION)
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
