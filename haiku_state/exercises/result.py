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
      idea: the idea that the answer lacks; None if it is not sure which.
      inputs: the hidden inputs of that call.
      expected: the expected result.
      got: the actual result.
      line: the line of the answer where the problem is; None if it is not known.
      code: that line itself.
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
      exercise: which exercise.
      checks: for each check in order, whether it passed; the checks after a failure are not run.
      failure: why it fails; None if the answer passes.
      printed: what the answer printed.
      notes: what else the answer did, such as trying to write a file.
      place: the file of the answer, as the learner named it.

    References:
      :func:`haiku_state.exercises.check`, which makes it.
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
        """Return the text for a terminal, in lines of 80 columns except for code and values."""
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
