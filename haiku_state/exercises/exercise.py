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
    """An idea that a wrong answer lacks.

    Args:
      name: its name, such as ``"dropped state"``.
      text: the text of the idea, in English. It explains the idea without giving the answer away.
      lesson: where the idea is taught, as ``page#anchor``; empty for the lesson of the exercise.
    """

    name: str
    text: str
    lesson: str = ""


@dataclass(frozen=True)
class Program:
    """Functions that replace functions of the solution, and what the result shows.

    Args:
      code: the functions, with as many empty lines above them as in the file.
      line: where they begin in the file.
      idea: what a learner who writes this has not understood; None for a correct answer.
      title: what is different in a correct answer.
    """

    code: str
    line: int
    idea: Idea | None = None
    title: str = ""


@dataclass(frozen=True)
class Check:
    """One thing that a correct answer does; the code of the check is in the file of the exercise.

    Args:
      title: what it is, in one line, in English.
      properties: the properties that must hold as well, chosen from the values of `PROPERTIES`.
      tolerance: the relative and absolute tolerance for floating-point numbers.
      draws: how many times the inputs are drawn.
      names: what the parts of the result are called, if it is a tuple.
      line: where it begins in the file.
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
      name: the name of its file.
      folder: the folder of its file.
      text: the file itself.
      program: the starter code and a correct answer, in one text.
      checks: the checks that a correct answer passes, in the order in which they are shown.
      programs: the wrong programs and the other right programs.
    """

    name: str
    folder: Path
    text: str
    program: str
    checks: tuple[Check, ...]
    programs: tuple[Program, ...]
