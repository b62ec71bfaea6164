"""From the program of an exercise to its stub and its solution, in the language of the learner.

Between the lines ``# <solution>`` and ``# </solution>`` are those of the solution, and a line that
begins with ``#:`` is one of the stub. All other comments are shown to the learner.
"""

import re
import textwrap
from collections.abc import Callable, Iterator

from haiku_state.errors.language import translated, wrapped

MARKS = ("# <solution>", "# </solution>")
COLUMNS = 79


def stub_of(program: str) -> str:
    """Return what the learner starts with."""
    kept = []
    inside = False
    for line in program.splitlines():
        mark = line.strip()
        if mark in MARKS:
            inside = mark == MARKS[0]
        elif mark.startswith("#:"):
            before, _mark, code = line.partition("#:")
            kept.append(f"{before}{code.removeprefix(' ')}".rstrip())
        elif not inside:
            kept.append(line)
    return _with_comments(kept)


def solution_of(program: str) -> str:
    """Return the answer that the file holds."""
    lines = program.splitlines()
    return _with_comments(
        line for line in lines if line.strip() not in MARKS and not line.strip().startswith("#:")
    )


def comments(program: str) -> Iterator[tuple[int, str]]:
    """Yield each comment that the learner sees, with the number of its first line."""
    lines = program.splitlines()
    for number, line in enumerate(lines):
        if _comment(line) and (not number or not _continues(lines[number - 1], line)):
            yield number + 1, _paragraph(lines[number:])


def _comment(line: str) -> str:
    """Return the text of a comment on a line of its own, unless it is a mark."""
    match = re.fullmatch(r"\s*# (?!<)(.*\S)\s*", line)
    return match[1] if match else ""


def _continues(before: str, line: str) -> bool:
    return bool(_comment(before)) and _indent(before) == _indent(line)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _paragraph(lines: list[str]) -> str:
    words = []
    for number, line in enumerate(lines):
        if not _comment(line) or (number and not _continues(lines[number - 1], line)):
            break
        words.append(_comment(line))
    return " ".join(words)


def _with_comments(
    lines: "Iterator[str] | list[str]", show: Callable[[str], str] = translated
) -> str:
    """Put each comment into the reader's language."""
    lines, shown = list(lines), []
    for number, line in enumerate(lines):
        if not _comment(line):
            shown.append(line)
        elif not number or not _continues(lines[number - 1], line):
            text = show(_paragraph(lines[number:]))
            lead = f"{_indent(line)}# "
            broken = wrapped(text, COLUMNS - len(lead))
            shown += textwrap.indent(broken, lead).splitlines()
    text = "\n".join(shown).strip("\n") + "\n"
    return re.sub(r"\n{4,}", "\n\n\n", text)  # where a solution was left out
