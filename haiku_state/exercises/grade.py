"""Checks the answers of many learners and writes a table."""

import csv
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from haiku_state.errors import MissingExtraError
from haiku_state.exercises import check, course
from haiku_state.exercises.flags import flags
from haiku_state.exercises.folder import text_in
from haiku_state.exercises.notebook import answers_in

COLUMNS = ("learner", "exercise", "passed", "idea", "line", "problem", "flags")


def grade(folder: Path, table: Path) -> int:
    """Check each answer in each folder of a learner and write a CSV table.

    Args:
      folder: holds a folder for each learner, with answers as ``NAME.py`` or in notebooks.
      table: the file to write, which must not exist yet.

    Returns:
      How many answers were checked. A learner without any has an empty row, and a notebook that
      cannot be read a row of its own.
    """
    hidden = (".", "__")  # what editors, Jupyter and Python leave behind
    learners = sorted(
        path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(hidden)
    )
    found = [(learner.name, *answer) for learner in learners for answer in _answers(learner)]
    with (
        ThreadPoolExecutor(os.cpu_count()) as pool,
        table.open("x", newline="", encoding="utf-8") as stream,
    ):
        writer = csv.writer(stream)
        writer.writerow(COLUMNS)
        rows = pool.map(lambda one: _row(*one), found)
        writer.writerows(rows)
    return sum(bool(name) for _learner, name, _source in found)


def _row(learner: str, name: str, source: str | Exception) -> tuple[object, ...]:
    if not name:
        return learner, "", "", "", "", "", ""
    if isinstance(source, Exception):
        problem = f"{type(source).__name__}: {source}".splitlines()[0]
        return learner, name, False, "", "", problem, ""
    result = check(name, source)
    flagged = "; ".join(flags(source, result.changed if result.passed else ()))
    failure = result.failure
    if failure is None:
        return learner, name, True, "", "", "", flagged
    idea = failure.idea.name if failure.idea else ""
    return learner, name, False, idea, failure.line or "", failure.problem, flagged


def _answers(folder: Path) -> list[tuple[str, str | Exception]]:
    """Return the name and the text of each answer of a learner, in the order of the course."""
    found: dict[str, str | Exception] = {}
    damaged: list[tuple[str, str | Exception]] = []
    for file in sorted(folder.glob("*.ipynb")):
        try:
            found |= answers_in(file)
        except MissingExtraError:
            raise
        except Exception as error:  # of whatever kind: it is somebody's file
            damaged.append((file.name, error))
    for file in sorted(folder.glob("*.py")):  # a file counts more than a cell
        try:
            found[file.stem] = text_in(file)
        except (OSError, SyntaxError, UnicodeDecodeError) as error:
            found[file.stem] = error
    answers = [(name, found[name]) for name in course.ORDER if name in found]
    return answers + damaged or [("", "")]
