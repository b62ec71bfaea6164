"""A course: a folder with a file of cells for each exercise. Ours is one of them.

The order stands in the file ``order.txt`` beside them: a line for the title of each part, and below
it, indented, the names of its exercises. Without it, they come in the order of their names.
"""

import difflib
import functools
import re
from collections.abc import Iterator
from pathlib import Path

from haiku_state.errors import ExerciseError
from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import translated
from haiku_state.exercises import cells
from haiku_state.exercises.exercise import Exercise, Heading
from haiku_state.exercises.source import solution_of, stub_of

ORDER = "order.txt"
VARIABLE = "HAIKU_STATE_COURSE"
"""The environment variable with the folder of a course, for the cells of a notebook."""

UNKNOWN = _("there is no exercise {name}")
WHY_UNKNOWN = _("the command `exercises list` shows all names")
NO_COURSE = _("there is no exercise in {path}")
WHY_NO_COURSE = _("a course is a folder with a file of cells for each exercise")
NO_FILE = _("{order}, line {line}: there is no file {name}.py in the same folder")
WHY_NO_FILE = _("each indented line is the name of a file of the course, without `.py`")


class Course:
    """The exercises in a folder.

    Args:
      folder: where the files are.

    Raises:
      ExerciseError: if there are none, or if the order names one that is missing.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.parts = tuple(self._parts())
        self.names = tuple(name for _title, names in self.parts for name in names)
        if not self.names:
            raise ExerciseError(
                problem=translated(NO_COURSE).format(path=folder),
                wrong=f"--course {folder}",
                right="python -m haiku_state exercises new my_exercise",
                why=WHY_NO_COURSE,
            )

    def _parts(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        order = self.folder / ORDER
        if not order.is_file():
            yield self.folder.name, tuple(sorted(path.stem for path in self.folder.glob("*.py")))
            return
        title, names = "", list[str]()
        for number, line in enumerate(order.read_text(encoding="utf-8").splitlines(), 1):
            name = line.strip()
            if name and not line[0].isspace():
                yield from ((title, tuple(names)),) if names else ()
                title, names = name, []
            elif name and (self.folder / f"{name}.py").is_file():
                names.append(name)
            elif name:
                words = {"order": order, "line": number, "name": name}
                raise ExerciseError(
                    problem=translated(NO_FILE).format(**words),
                    wrong=f"{ORDER}:{number}",
                    right=next((path.stem for path in self.folder.glob("*.py")), ""),
                    why=WHY_NO_FILE,
                )
        yield from ((title, tuple(names)),) if names else ()

    def known(self, given: str) -> str:
        """Return the name of an exercise.

        Args:
          given: its name, its number in the course, or the path of its file.

        Raises:
          ExerciseError: if there is no such exercise.
        """
        name = Path(given).name.removesuffix(".py")
        if name in self.names:
            return name
        if re.fullmatch(r"[1-9]\d*", name) and int(name) <= len(self.names):
            return self.names[int(name) - 1]
        close = difflib.get_close_matches(name, self.names, 1)
        problem = translated(UNKNOWN).format(name=given)
        right = close[0] if close else "python -m haiku_state exercises list"
        raise ExerciseError(problem=problem, wrong=given, right=right, why=WHY_UNKNOWN)

    def number(self, name: str) -> int:
        """Return the place of an exercise in the course, from 1 on."""
        return self.names.index(name) + 1

    def source(self, given: str) -> str:
        """Return the text of the file of an exercise."""
        return (self.folder / f"{self.known(given)}.py").read_text(encoding="utf-8")

    def heading(self, given: str) -> Heading:
        """Return what an exercise says of itself, which takes less time than to read it all."""
        return cells.heading(self.known(given), self.source(given))

    def load(self, given: str) -> Exercise:
        """Return an exercise."""
        return cells.read(self.known(given), self.source(given), self.folder)

    def stub(self, given: str) -> str:
        """Return what a learner starts with."""
        return stub_of(self.load(given).program)

    def solution(self, given: str) -> str:
        """Return the solution of an exercise, which is an answer that passes all checks."""
        return solution_of(self.load(given).program)


@functools.cache
def ours() -> Course:
    """Return the course of this package."""
    return Course(Path(__file__).parent / "course")
