"""The result of checking an answer, and how it is shown."""

from dataclasses import dataclass
from typing import Any

from haiku_state.errors.base import address
from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import translated, wrapped
from haiku_state.exercises.exercise import Exercise, Idea

COLUMNS = 80
PRINTED_LINES = 10

PASSED = _("passed: {title}")
FAILED = _("not yet: {title}")
FACTS = {
    "inputs": _("with:"),
    "expected": _("expected:"),
    "got": _("got:"),
    "line": _("{file}, line {line}: {code}"),
}
IDEA = _("The idea:")
LESSON = _("Lesson: {address}")
PRINTED = _("Your code printed:")
NOTE = _("Your code also {what}.")


@dataclass(frozen=True)
class Failure:
    """Why an answer does not pass yet.

    Args:
      problem: what is wrong, in one sentence, in the reader's language.
      idea: the idea that the learner may not have understood; None if it cannot be determined.
      inputs: the hidden inputs of the call that failed.
      expected: the expected result.
      got: the actual result.
      line: the line of the answer where the problem is; None if it is not known.
      code: the code of the line where the problem is.
    """

    problem: str
    idea: Idea | None = None
    inputs: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    got: tuple[str, ...] = ()
    line: int | None = None
    code: str = ""


@dataclass(frozen=True)
class Result:
    """The result of checking an answer. ``print`` shows it in the reader's language.

    Args:
      exercise: the exercise that was checked.
      checks: whether each check passed, in order; checks that follow a failure are not run.
      failure: why the answer does not pass; None if the answer passes.
      printed: what the answer printed.
      notes: what else the answer did, such as trying to write a file.
      place: the path of the answer's file, as the learner wrote the path.

    References:
      :func:`haiku_state.exercises.check`, which returns a result.
    """

    exercise: Exercise
    checks: tuple[bool, ...]
    failure: Failure | None = None
    printed: str = ""
    notes: tuple[str, ...] = ()
    place: str = ""

    @property
    def passed(self) -> bool:
        """Whether the answer is correct."""
        return self.failure is None

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def text(self) -> str:
        """Return the result as text, in lines of at most 80 columns except for code and values."""
        lines = [
            _line(PASSED if self.passed else FAILED, title=translated(self.exercise.title)),
            "",
        ]
        for check, passed in zip(self.exercise.checks, self.checks, strict=False):
            lines.append(_wrapped(f"{'✓' if passed else '✗'} {translated(check.title)}", "  "))
        if self.failure:
            lines += self._failure_lines(self.failure)
        printed = self.printed.strip().splitlines()
        if printed:
            more = ["…"] if len(printed) > PRINTED_LINES else []
            lines += ["", translated(PRINTED)]
            lines += [f"  {line[:200]}" for line in printed[:PRINTED_LINES] + more]
        lines += [_wrapped(note, "") for note in self.notes]
        return "\n".join(lines)

    def _failure_lines(self, failure: Failure) -> list[str]:
        lines = [_wrapped(failure.problem, "    ")]
        if failure.line:
            place = {"file": self.place, "line": failure.line, "code": failure.code.strip()}
            lines.append("    " + _line(FACTS["line"], **place).rstrip())
        for name in ("inputs", "expected", "got"):
            values = getattr(failure, name)
            if values:
                lines.append(f"    {translated(FACTS[name])}")
                lines += [f"      {value}" for value in values]
        if failure.idea:
            lines += ["", translated(IDEA), _wrapped(translated(failure.idea.text), "  ")]
            lesson = failure.idea.lesson or self.exercise.lesson
            lines += [_line(LESSON, address=address(lesson))] if lesson != "-" else []
        return lines


def _line(template: str, **values: Any) -> str:
    return translated(template).format(**values)


def _wrapped(text: str, indent: str) -> str:
    return wrapped(text, COLUMNS - 1, indent)
