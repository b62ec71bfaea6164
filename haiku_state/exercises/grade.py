"""Checks the answers of many learners; writes a table, and what to tell each of them."""

import csv
import hashlib
import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from haiku_state.errors import MissingExtraError
from haiku_state.exercises.courses import Course
from haiku_state.exercises.folder import text_in
from haiku_state.exercises.judge import judge
from haiku_state.exercises.notebook import answers_in
from haiku_state.exercises.result import Result

COLUMNS = ("learner", "exercise", "passed", "checks", "of", "idea", "line", "problem", "notes",
           "answers")  # fmt: skip


class Answer(NamedTuple):
    """What a learner has handed in.

    Args:
      learner: the folder.
      exercise: which exercise; for what cannot be read, the file; empty if there is nothing.
      source: the answer, or why it cannot be read.
    """

    learner: str
    exercise: str
    source: str | Exception


def grade(
    course: Course, folder: Path, table: Path, show: Callable[[int, int], None] = lambda *_: None
) -> int:
    """Check each answer in each folder of a learner; write a table, and a text for each learner.

    A learner who is in the table already, with the same answers, is not checked again.

    Args:
      course: which course.
      folder: holds a folder for each learner, with answers as ``NAME.py`` or in notebooks.
      table: the file to write; beside it, in a folder of the same name, a text for each learner.
      show: called with how many answers have been checked, and how many there are.

    Returns:
      How many answers the table holds. A learner without any has an empty row, and a notebook that
      cannot be read a row of its own.
    """
    hidden = (".", "__")  # what editors, Jupyter and Python leave behind
    learners = sorted(
        path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(hidden)
    )
    handed_in = {learner.name: _answers(course, learner) for learner in learners}
    stamps = {name: _stamp(course, answers) for name, answers in handed_in.items()}
    rows = [row for row in _rows_in(table) if stamps.get(str(row["learner"])) == row["answers"]]
    known = {row["learner"] for row in rows}
    new = [one for name, answers in handed_in.items() if name not in known for one in answers]
    feedback = table.with_suffix("")
    feedback.mkdir(exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = zip(new, pool.map(lambda one: _checked(course, one), new), strict=True)
        done = 0
        _write(table, rows)
        for name, found in itertools.groupby(results, lambda pair: pair[0].learner):
            texts = []
            for one, result in found:
                rows.append(_row(one, result, stamps[name]))
                texts.append(f"{one.exercise or '–'}\n\n{result or one.source}\n")
                done += 1
                show(done, len(new))
            (feedback / f"{name}.txt").write_text("\n\n".join(texts), encoding="utf-8")
            _write(table, rows)  # a grading that is interrupted goes on here
    return sum(bool(row["exercise"]) for row in rows)


def _checked(course: Course, one: Answer) -> Result | None:
    if not one.exercise or isinstance(one.source, Exception):
        return None
    return judge(course.load(one.exercise), one.source, Path(f"{one.exercise}.py").absolute())


def _row(one: Answer, result: Result | None, stamp: str) -> dict[str, object]:
    row: dict[str, object] = {"learner": one.learner, "exercise": one.exercise, "answers": stamp}
    if isinstance(one.source, Exception):
        problem = f"{type(one.source).__name__}: {one.source}".splitlines()[0]
        row |= {"passed": False, "problem": problem}
    if result is not None:
        row |= {"passed": result.passed, "notes": " ".join(result.notes)}
        row |= {"checks": sum(result.checks), "of": len(result.exercise.checks)}
        if failure := result.failure:
            row |= {"line": failure.line, "problem": failure.problem}
            row |= {"idea": failure.idea.name if failure.idea else ""}
    return row


def _write(table: Path, rows: list[dict[str, object]]) -> None:
    """Write the table; the file has the old or the new rows, never half of them."""
    other = table.with_name(f"{table.name}.{os.getpid()}")
    with other.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: str(row["learner"])))
    other.replace(table)


def is_table(file: Path) -> bool:
    """Return whether a file is a table that this module has written."""
    try:
        with file.open(newline="", encoding="utf-8") as stream:
            return next(csv.reader(stream), []) == [*COLUMNS]
    except (OSError, UnicodeDecodeError, csv.Error):
        return False


def _rows_in(table: Path) -> list[dict[str, object]]:
    if not table.exists():
        return []
    with table.open(newline="", encoding="utf-8") as stream:
        return [*csv.DictReader(stream)]


def _stamp(course: Course, answers: list[Answer]) -> str:
    """Return what differs if an answer or its exercise does."""
    parts = [
        (*one[1:], course.source(one.exercise) if one.exercise in course.names else "")
        for one in answers
    ]
    return hashlib.sha256(repr(parts).encode(errors="replace")).hexdigest()[:12]


def _answers(course: Course, folder: Path) -> list[Answer]:
    """Return the answers of a learner, in the order of the course."""
    found: dict[str, str | Exception] = {}
    damaged: list[Answer] = []
    for file in sorted(folder.glob("*.ipynb")):
        try:
            found |= answers_in(file)
        except MissingExtraError:
            raise
        except Exception as error:  # of whatever kind: it is somebody's file
            damaged.append(Answer(folder.name, file.name, error))
    for file in sorted(folder.glob("*.py")):  # a file counts more than a cell
        try:
            found[file.stem] = text_in(file)
        except (OSError, SyntaxError, UnicodeDecodeError) as error:
            found[file.stem] = error
    known = [Answer(folder.name, name, found[name]) for name in course.names if name in found]
    return known + damaged or [Answer(folder.name, "", "")]
