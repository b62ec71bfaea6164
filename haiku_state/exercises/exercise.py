"""What an exercise consists of. No code of it is run here: that is for the processes of a check."""

from dataclasses import dataclass
from pathlib import Path

KINDS = ("predict", "repair", "write", "port", "quiz", "capstone")
LEVELS = ("easy", "medium", "hard")

PROPERTIES = {
    "again": ("again",),
    "arguments": ("arguments",),
    "pure": ("again", "arguments", "pure"),
    "jit": ("jit",),
    "vmap": ("vmap",),
    "keys": ("keys",),
    "types": ("types",),
    "weak": ("types", "weak"),
}
"""What a check may ask for besides the values, by the word that asks for it.

``again``: the same call twice gives the same. ``arguments``: they are not changed. ``pure``:
:func:`.explain` finds nothing. ``jit``: the compiled program gives the same; ``vmap``: so does the
vectorized one. ``keys``: no key is used twice. ``types``: the dtypes are those of the solution;
``weak``: so are the weak types.
"""


@dataclass(frozen=True)
class Idea:
    """An idea of the course that a learner who gives a wrong answer has not understood yet.

    Args:
      name: the name of the idea, such as ``"dropped state"``.
      text: the text of the idea, in English. It explains the idea without giving the answer away.
      lesson: where the idea is taught, as ``page#anchor``; empty if that is the lesson of the
        exercise.
    """

    name: str
    text: str
    lesson: str = ""


@dataclass(frozen=True)
class Program:
    """Functions that replace functions of the solution, and what the resulting program shows.

    Args:
      code: the code of the functions, after enough empty lines that its line numbers match the
        file.
      line: the line of the file at which the functions begin.
      idea: the idea that a learner who writes these functions has not understood; None if the
        functions are a correct answer.
      title: how a correct answer differs from the solution; empty for a wrong answer.
    """

    code: str
    line: int
    idea: Idea | None = None
    title: str = ""


@dataclass(frozen=True)
class Check:
    """A check of one thing that a correct answer must do; its code is in the exercise's file.

    Args:
      title: what a correct answer does, in one line of English.
      properties: the properties that are also checked, chosen from the values of `PROPERTIES`.
      tolerance: the relative and absolute tolerance for floating-point numbers.
      draws: how many times the inputs are drawn.
      names: the names of the parts of the result, if the result is a tuple.
      line: the line of the file at which the check begins.
    """

    title: str
    properties: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    tolerance: float = 1e-5
    draws: int = 2
    line: int = 0


@dataclass(frozen=True)
class Heading:
    """What the docstring of an exercise says.

    Args:
      title: what it is called, in English.
      kind: predict, repair, write, port, quiz or capstone.
      level: easy, medium or hard.
      minutes: about how long it takes.
      lesson: where it is taught, as ``page#anchor``.
      statement: what to do, in English; paragraphs are separated by empty lines.
      hints: three: a question, the place, nearly the line.
      seconds: how many seconds all checks together may take.
      jax: the oldest JAX that has what the exercise is about; empty for any version.
    """

    title: str
    kind: str
    level: str
    minutes: int
    lesson: str
    statement: str
    hints: tuple[str, ...]
    seconds: int
    jax: str


@dataclass(frozen=True)
class Exercise(Heading):
    """One exercise, as described by its file.

    Args:
      name: the name of the exercise, which is the name of its file without the ending.
      folder: the folder that contains the exercise's file.
      text: the whole text of the file.
      program: the starter code and the solution, together in one text.
      checks: the checks that a correct answer passes, in the order in which they are shown.
      programs: the wrong programs, and the correct programs other than the solution.
    """

    name: str
    folder: Path
    text: str
    program: str
    checks: tuple[Check, ...]
    programs: tuple[Program, ...]
