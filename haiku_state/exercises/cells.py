"""Reads an exercise from its file: a docstring, and cells in the percent format of notebooks.

The docstring holds the title, a line such as ``repair, easy, 6 min, state/pytrees#on-your-own``,
the statement, and three hints as a list. The first cell is the program of the learner. The lines
between ``# <solution>`` and ``# </solution>`` are those of the solution, and a line that begins
with ``#:`` is one of the stub. Then come, each after a line that begins with ``# %%``:

* ``setup``: what the cells below need; what the program imports at its beginning is there.
* ``inputs``: a function ``inputs(rng)``, which draws what the checks below are called with.
* ``check TITLE; properties; names``: a function ``check(answer, *inputs)``, which plays it with
  the learner's module. What must come out is what it gives for the solution, or for a function
  ``truth(right, *inputs)`` beside it. A function ``closed_form(*inputs)`` is compared with the
  solution when the exercise is tested. The names, such as ``output, state``, are those of the parts
  of a result that is a tuple.
* ``idea NAME; lesson``: its text as a comment, and a wrong program: functions that take the place
  of those of the solution, which they may call as ``right.NAME``. Each cell with nothing after
  ``# %%`` is one more wrong program of the same idea.
* ``right TITLE``: functions of another right answer.
"""

import ast
import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from haiku_state.errors import ExerciseError
from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import translated
from haiku_state.exercises import ideas
from haiku_state.exercises.exercise import (
    KINDS,
    LEVELS,
    PROPERTIES,
    Check,
    Exercise,
    Heading,
    Idea,
    Program,
)
from haiku_state.exercises.source import MARKS, comments

MARK = re.compile(r"# %%(?:$|[ \t]+(.*))")
WORD = re.compile(r"(setup|inputs|check|idea|right)\b:?\s*(.*)")

WRONG_CELL = _("{file}, line {line}: {problem}")
WHY_FORMAT = _("the command `exercises new` writes a file to begin with")
NO_PYTHON = _("Python cannot read the file: {error}")
NO_DOCSTRING = _("the file does not begin with a docstring")
NO_ABOUT = _(
    "the line below the title must give the kind, the level, the minutes and the lesson, separated "
    "by commas; the kinds are {kinds}, and the levels {levels}"
)
NOT_CLOSED = _("`# <solution>` and `# </solution>` do not come in pairs")
NO_HINTS = _("the docstring does not end with a list of three hints")
NO_FUNCTION = _("the cell does not define a function `{name}`")
UNKNOWN_CELL = _("`{word}` is not a kind of cell")
NO_CHECK = _("the file contains no check")
UNKNOWN_PROPERTY = _("`{word}` is not a property of a check; the properties are {known}")
NO_TEXT = _(
    "the idea `{name}` has no text; write the text as a comment below the line that names the idea"
)


SHARED = {idea.name: idea for idea in vars(ideas).values() if isinstance(idea, Idea)}
"""The ideas of the course, by their names."""


class Cell(NamedTuple):
    """A cell: its word, the fields after it, its code, and the number of its first line."""

    word: str
    fields: tuple[str, ...]
    code: str
    line: int


def read(name: str, text: str, folder: Path = Path()) -> Exercise:
    """Return the exercise that a file holds.

    Args:
      name: the name of the file, without ``.py``.
      text: what is in it.
      folder: where it is.

    Raises:
      ExerciseError: if something is not as it should be, with its line.
    """
    return _Reader(name, text, folder).exercise()


def heading(name: str, text: str) -> Heading:
    """Return what the docstring of a file says; the cells below it are not read.

    Raises:
      ExerciseError: if something is not as it should be, with its line.
    """
    try:
        doc = (
            ast.get_docstring(ast.parse(re.split(r"^# %%", text, maxsplit=1, flags=re.M)[0])) or ""
        )
    except SyntaxError as error:
        message = error.msg
        raise _error(name, error.lineno or 1, NO_PYTHON, "", error=message) from None
    title, about, *paragraphs = [*doc.split("\n\n"), "", ""]
    paragraphs = [one for one in paragraphs if one]
    if not title:
        raise _error(name, 1, NO_DOCSTRING, '"""A counter')
    hints = re.split(r"^- ", paragraphs.pop(), flags=re.M) if paragraphs else []
    if len(hints) != 4 or hints[0]:
        raise _error(name, doc.count("\n") + 1, NO_HINTS, "- Which value does the next call need?")
    match = re.fullmatch(
        r"(\w+), (\w+), (\d+) min, (\S+?)(?:, (\d+) s)?(?:, JAX ([\d.]+))?", about.strip()
    )
    if match is None or match[1] not in KINDS or match[2] not in LEVELS:
        right = "write, easy, 5 min, state/pytrees#on-your-own"
        words = {"kinds": ", ".join(KINDS), "levels": ", ".join(LEVELS)}
        raise _error(name, 3, NO_ABOUT, right, **words)
    return Heading(
        title=_joined(title),
        kind=match[1],
        level=match[2],
        minutes=int(match[3]),
        lesson=match[4],
        statement="\n\n".join(map(_joined, paragraphs)),
        hints=tuple(map(_joined, hints[1:])),
        seconds=int(match[5] or 10),
        jax=match[6] or "",
    )


def cells(text: str) -> list[Cell]:
    """Return the cells of a file; the first one is the program."""
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if MARK.match(line)]
    found: list[Cell] = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        head = MARK.match(lines[start])[1] or ""  # type: ignore[index]
        word, fields = "" if found else "program", tuple[str, ...]()
        if match := WORD.match(head):
            word, fields = match[1], tuple(field.strip() for field in match[2].split(";"))
        elif head and found:
            word, fields = "unknown", (head,)
        code = "\n".join(lines[start + 1 : end])
        found.append(Cell(word, fields, code, start + 2))
    return found


def solution_code(exercise: Exercise) -> str:
    """Return the code of the solution, with as many empty lines above it as in the file."""
    kept = [
        "" if re.match(r"\s*#(:| </?solution>)", line) else line
        for line in exercise.program.splitlines()
    ]
    return "\n".join(kept)


def at_its_lines(cell: Cell) -> str:
    """Return the code of a cell so that its lines have the numbers of the file."""
    return "\n" * (cell.line - 1) + cell.code


def texts(name: str, text: str) -> Iterator[tuple[int, str]]:
    """Yield each text that a learner reads, in English, with the number of its line."""
    exercise = read(name, text)
    yield 1, exercise.title
    yield 1, exercise.statement
    yield from ((1, hint) for hint in exercise.hints)
    yield from comments(exercise.program)
    yield from ((check.line - 1, check.title) for check in exercise.checks)
    for cell in cells(text):
        if cell.word == "right":
            yield cell.line - 1, cell.fields[0]
        if cell.word == "idea" and (words := _leading_comment(cell.code)):
            yield cell.line, words


class _Reader:
    def __init__(self, name: str, text: str, folder: Path) -> None:
        self.name, self.text, self.folder = name, text, folder
        self.cells = cells(text)
        self.ideas: dict[str, Idea] = {}

    def exercise(self) -> Exercise:
        about = heading(self.name, self.text)
        checks = tuple(map(self._check, self._checks()))
        self.ideas = {idea.name: idea for idea in self._ideas()}
        if not checks:
            right = "# %% check The new state comes out; pure jit; output, state"
            raise self._error(len(self.text.splitlines()), NO_CHECK, right)
        lines = [line.strip() for line in self.cells[0].code.splitlines()]
        marks = [line for line in lines if line in MARKS]
        if marks != [*MARKS] * (len(marks) // 2):
            raise self._error(self.cells[0].line, NOT_CLOSED, MARKS[1])
        return Exercise(
            **vars(about),
            name=self.name,
            folder=self.folder,
            text=self.text,
            program=at_its_lines(self.cells[0]),
            checks=checks,
            programs=tuple(self._programs()),
        )

    def _error(self, line: int, problem: str, right: str, /, **words: str) -> ExerciseError:
        return _error(self.name, line, problem, right, **words)

    def _checks(self) -> Iterator[Cell]:
        for cell in self.cells:
            if cell.word == "unknown":
                kinds = "# %% setup, inputs, check, idea, right"
                raise self._error(cell.line - 1, UNKNOWN_CELL, kinds, word=cell.fields[0])
            wanted = {"inputs": "inputs", "check": "check"}.get(cell.word)
            try:
                functions = _functions(cell.code)
            except SyntaxError as error:  # a line that begins a cell stands within a function
                line, message = cell.line - 1 + (error.lineno or 1), error.msg
                raise self._error(line, NO_PYTHON, "", error=message) from None
            if wanted and wanted not in functions:
                right = f"def {wanted}({'rng' if wanted == 'inputs' else 'answer, x'}):"
                raise self._error(cell.line - 1, NO_FUNCTION, right, name=wanted)
            if cell.word == "check":
                yield cell

    def _ideas(self) -> Iterator[Idea]:
        for cell in self.cells:
            if cell.word != "idea":
                continue
            name, lesson, *_more = (*cell.fields, "")
            words = _leading_comment(cell.code)
            if words:
                yield Idea(name, words, lesson)
            elif name in SHARED:
                yield SHARED[name]
            else:
                right = "# The new state does not come out."
                raise self._error(cell.line - 1, NO_TEXT, right, name=name)

    def _check(self, cell: Cell) -> Check:
        title, words, names, *_more = (*cell.fields, "", "")
        settings: dict[str, float] = {}
        wanted: dict[str, None] = {}
        for word in words.split():
            key, _equals, number = word.partition("=")
            if word == "once":
                settings["draws"] = 1
            elif word in PROPERTIES:
                wanted |= dict.fromkeys(PROPERTIES[word])
            elif re.fullmatch(r"draws=[1-9]\d*|tolerance=\d+(\.\d+)?(e-?\d+)?", word):
                settings[key] = int(number) if key == "draws" else float(number)
            else:
                known = [*PROPERTIES, "once", "draws=5", "tolerance=1e-4"]
                right = difflib.get_close_matches(word, known, 1, 0.0)[0]
                listed = ", ".join(known)
                raise self._error(cell.line - 1, UNKNOWN_PROPERTY, right, word=word, known=listed)
        parts = tuple(filter(None, re.split(r",\s*", names)))
        return Check(title, tuple(wanted), parts, line=cell.line, **settings)  # type: ignore[arg-type]

    def _programs(self) -> Iterator[Program]:
        idea: Idea | None = None
        last = ""
        for cell in self.cells[1:]:
            if cell.word in ("idea", "right"):
                idea = self.ideas[cell.fields[0]] if cell.word == "idea" else None
                last = cell.word
            elif cell.word or last not in ("idea", "right"):
                last = cell.word
                continue
            if _has_code(cell.code):
                title = cell.fields[0] if cell.word == "right" else ""
                yield Program(at_its_lines(cell), cell.line, idea, title)


def _error(name: str, line: int, problem: str, right: str, /, **words: str) -> ExerciseError:
    file = f"{name}.py"
    told = translated(problem).format(**words)
    return ExerciseError(
        problem=translated(WRONG_CELL).format(file=file, line=line, problem=told),
        wrong=f"{file}:{line}",
        right=right,
        why=WHY_FORMAT,
    )


def _functions(code: str) -> set[str]:
    return {node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)}


def _has_code(code: str) -> bool:
    return bool(ast.parse(code).body)


def _leading_comment(code: str) -> str:
    lines = code.splitlines()
    first = next((n for n, line in enumerate(lines) if line.strip()), 0)
    comment = []
    for line in lines[first:]:
        if not line.startswith("# "):
            break
        comment.append(line[2:])
    return _joined("\n".join(comment))


def _joined(paragraph: str) -> str:
    """Return a paragraph as one line, which is what a catalog holds."""
    return " ".join(paragraph.split())
