"""What an exercise consists of."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WORK = "HAIKU_STATE_WORK"

KINDS = ("predict", "repair", "write", "port", "quiz", "capstone")

PROPERTIES = ("again", "arguments", "pure", "jit", "vmap", "keys")


@dataclass(frozen=True)
class Idea:
    """An idea that a wrong answer lacks.

    Args:
      name: its name, such as ``"dropped state"``.
      text: what it says, marked for the catalog. It explains, and does not give the answer away.
      lesson: where it is taught, as ``page#anchor``; empty for the lesson of the exercise.
    """

    name: str
    text: str
    lesson: str = ""


@dataclass(frozen=True)
class Mistake:
    """How to recognize a wrong answer that learners give.

    One of the three says what it looks like.

    Args:
      idea: what learners who write it have not understood.
      like: computes from the inputs what such an answer would give; a result that equals it, and
        not the expected one, is this mistake.
      when: whether a result is this mistake. It gets the result as a dict from the path of each
        leaf to its NumPy array, and then the inputs.
      error: a part of the name or message of the exception that such an answer raises.
    """

    idea: Idea
    like: Callable[..., Any] | None = None
    when: Callable[..., bool] | None = None
    error: str = ""


@dataclass(frozen=True)
class Check:
    """One thing that a right answer does.

    Args:
      title: what it is, in one line, marked for the catalog.
      play: plays it in the process of the learner, with the module of the learner and the inputs,
        and returns a tree of arrays and numbers.
      expected: computes from the same inputs what must come out, in the process of the checker,
        in which the answer of the learner never runs.
      idea: what a wrong result lacks, unless it is one of the mistakes.
      inputs: draws the inputs from a generator whose seed nobody knows before.
      mistakes: the wrong results that are known.
      properties: what else must hold: ``again``, the same call twice gives the same;
        ``arguments``, they are not changed; ``pure``, :func:`.explain` finds nothing; ``jit``,
        the compiled program gives the same; ``vmap``, so does the vectorized one; ``keys``, no
        key is used twice.
      types: whether dtype and weak type must be those of the expected leaves too.
      tolerance: the relative and absolute difference that is allowed between floating-point
        numbers.
      draws: how many times the inputs are drawn.
      killed: plays something before, in another process that it must kill itself; it gets the
        same arguments as ``play``, and both may write to ``work_folder()``.
    """

    title: str
    play: Callable[..., Any]
    expected: Callable[..., Any]
    idea: Idea
    inputs: Callable[[Any], tuple[Any, ...]] = lambda rng: ()
    mistakes: tuple[Mistake, ...] = ()
    properties: tuple[str, ...] = ()
    types: bool = False
    tolerance: float = 1e-5
    draws: int = 2
    killed: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        unknown = set(self.properties) - set(PROPERTIES)
        if unknown:
            raise ValueError(f"unknown properties: {unknown}")


@dataclass(frozen=True)
class Exercise:
    """One exercise; its file holds also the stub and the solution.

    Args:
      title: what it is called, marked for the catalog.
      statement: what to do, marked for the catalog; paragraphs are separated by empty lines.
      lesson: where it is taught, as ``page#anchor``.
      kind: predict, repair, write, port, quiz or capstone.
      minutes: about how long it takes.
      hints: three: a question, the place, nearly the line; marked for the catalog.
      checks: what a right answer does, in the order in which they are told.
      name: the name of its file, which is filled in when it is loaded.
      seconds: how long all checks together may take.
      needs: says what the installed JAX lacks for it; an empty text where it lacks nothing.
    """

    title: str
    statement: str
    lesson: str
    kind: str
    minutes: int
    hints: tuple[str, str, str]
    checks: tuple[Check, ...]
    name: str = field(default="", compare=False)
    seconds: int = 30
    needs: Callable[[], str] | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"{self.kind} is not one of {KINDS}")


def work_folder() -> Path:
    """Return the only folder that a learner's code may write to while it is checked."""
    return Path(os.environ[WORK])
