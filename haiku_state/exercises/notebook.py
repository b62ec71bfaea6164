"""Exercises in notebooks: the magic that checks a cell, and notebooks made of exercises."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from haiku_state.errors import ExerciseError, MissingExtraError
from haiku_state.errors.base import address
from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import reader_language, reading, translated
from haiku_state.exercises.courses import VARIABLE, Course, ours
from haiku_state.exercises.exercise import Exercise

MAGIC = "%%exercise"

INTRODUCTION = _(
    "Run the next cell first. Each exercise is a cell that begins with `%%exercise`: change the "
    "cell and run it to check your answer. A cell that passes also runs in this notebook, so that "
    "you can use what it defines."
)
FOLDER_INTRODUCTION = _(
    "Each exercise is a file in this folder. In a terminal in this folder, `{start}` begins with "
    "the first exercise, and `{check}` checks what you have written."
)
HINT = _("Hint {number}")
SOLUTION = _("A solution")
MINUTES = _("about {minutes} minutes")
LESSON = _("Lesson: {address}")
KINDS = {
    "predict": _("predict"),
    "repair": _("repair"),
    "write": _("write"),
    "port": _("port"),
    "quiz": _("quiz"),
    "capstone": _("capstone"),
}
LEVELS = {"easy": _("easy"), "medium": _("medium"), "hard": _("hard")}


def exercise_magic(shell: Any) -> Callable[[str, str], None]:
    """Return the magic ``%%exercise NAME`` for a shell of IPython."""

    def exercise(line: str, cell: str) -> None:
        """Check the cell as the answer to an exercise, and run it here if it passes."""
        from haiku_state.exercises.judge import judge  # late: it imports NumPy

        name = line.strip()
        try:
            folder = os.environ.get(VARIABLE)
            course = Course(Path(folder)) if folder else ours()
            place = Path(f"{MAGIC} {name}").absolute()
            result = judge(course.load(name), _below_magic(cell), place)
        except ExerciseError as error:
            print(error)
            return
        print(result)
        if result.passed:
            shell.run_cell(cell)

    return exercise


def _below_magic(code: str) -> str:
    """Return the code of a cell, with the line numbers that the notebook shows."""
    return f"\n{code}"


def write_notebooks(
    course: Course, folder: Path, language: str, with_solutions: bool
) -> list[Path]:
    """Write one notebook for each part of a course.

    Args:
      course: which course.
      folder: where to; it is made.
      language: its code.
      with_solutions: whether a solution stands below each exercise, folded.

    Returns:
      The files.
    """
    nbformat = _nbformat()
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    with reading(language):
        for number, (title, names) in enumerate(course.parts, 1):
            heading = f"# {translated(title)}\n\n{translated(INTRODUCTION)}"
            notebook = _notebook(course, heading, names, with_solutions)
            file = folder / f"exercises_{number}.ipynb"
            with file.open("x", encoding="utf-8") as stream:
                nbformat.write(notebook, stream)
            files.append(file)
    return files


def notebook_of(name: str) -> Any:
    """Return one exercise as a notebook, in the reader's language."""
    return _notebook(ours(), translated(INTRODUCTION), (name,), with_solutions=False)


def _notebook(course: Course, heading: str, names: tuple[str, ...], with_solutions: bool) -> Any:
    cells = [*_cells(course, heading, names, with_solutions)]
    notebook = _nbformat().v4.new_notebook(cells=cells)
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    notebook.metadata.language_info = {"name": "python"}
    for count, cell in enumerate(notebook.cells):
        cell.id = f"cell-{count}"  # the same notebook from one export to the next
    return notebook


def _cells(
    course: Course, heading: str, names: tuple[str, ...], with_solutions: bool
) -> Iterator[Any]:
    from nbformat.v4 import new_code_cell, new_markdown_cell

    yield new_markdown_cell(heading)
    settings = {"HAIKU_STATE_LANG": reader_language()}
    if course.folder != ours().folder:
        settings[VARIABLE] = str(course.folder)
    lines = [f"%env {name}={value}" for name, value in settings.items()]
    yield new_code_cell("\n".join([*lines, "%load_ext haiku_state.exercises"]))
    for name in names:
        yield new_markdown_cell(described(course.load(name), level=2))
        yield new_code_cell(f"{MAGIC} {name}\n{course.stub(name)}".rstrip("\n"))
        yield new_markdown_cell("\n\n".join(_folded(course, name, with_solutions)))


def _folded(course: Course, name: str, with_solutions: bool) -> Iterator[str]:
    for number, hint in enumerate(course.load(name).hints, 1):
        yield _fold(translated(HINT).format(number=number), translated(hint))
    if with_solutions:
        yield _fold(translated(SOLUTION), f"```python\n{course.solution(name)}```")


def _fold(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"


def described(exercise: Exercise, level: int) -> str:
    """Return title, kind, level, minutes, statement and lesson of an exercise, as Markdown."""
    kind, effort = translated(KINDS[exercise.kind]), translated(LEVELS[exercise.level])
    about = translated(MINUTES).format(minutes=exercise.minutes)
    return "\n\n".join(
        [
            f"{'#' * level} {translated(exercise.title)}",
            f"*{exercise.name}* · {kind} · {effort} · {about}",
            translated(exercise.statement),
            *_lesson(exercise.lesson),
        ]
    )


def _lesson(lesson: str) -> Iterator[str]:
    if lesson != "-":
        yield translated(LESSON).format(address=address(lesson))


def write_folder(course: Course, folder: Path, language: str, with_solutions: bool) -> list[Path]:
    """Write the stubs as files, and a README with the statements.

    Args:
      course: which course.
      folder: where to; it is made.
      language: its code.
      with_solutions: whether the folder ``solutions`` is written as well.

    Returns:
      The files.
    """
    files: dict[Path, str] = {}
    with reading(language):
        command = "python -m haiku_state exercises"
        command += "" if course.folder == ours().folder else f" --course {course.folder}"
        words = {"start": f"{command} start --dir .", "check": f"{command} check"}
        chapters = [translated(FOLDER_INTRODUCTION).format(**words)]
        for title, names in course.parts:
            chapters.append(f"## {translated(title)}")
            for name in names:
                chapters.append(described(course.load(name), level=3))
                files[folder / f"{name}.py"] = course.stub(name)
                if with_solutions:
                    files[folder / "solutions" / f"{name}.py"] = course.solution(name)
        files[folder / "README.md"] = "\n\n".join(chapters) + "\n"
    for file, text in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    return list(files)


def answers_in(notebook: Path) -> dict[str, str]:
    """Return the answers that a notebook holds, by the names of their exercises.

    Raises:
      ValueError: if it is not a notebook.
    """
    cells = _nbformat().read(notebook, as_version=4).cells
    answers = {}
    for cell in cells:
        line, _newline, code = str(cell.source).partition("\n")
        if cell.cell_type == "code" and line.startswith(MAGIC):
            answers[line.removeprefix(MAGIC).strip()] = _below_magic(code)
    return answers


def _nbformat() -> Any:
    try:
        import nbformat
    except ImportError:
        raise MissingExtraError(library="nbformat", extra="exercises") from None
    return nbformat
