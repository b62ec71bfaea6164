"""The folder of a learner: the files that were started, and ``progress.json``."""

import contextlib
import datetime
import importlib.util
import json
import os
from pathlib import Path
from typing import Any

from haiku_state.errors import ExerciseError
from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import languages, translated
from haiku_state.exercises.courses import Course, ours

PROGRESS = "progress.json"
DEFAULT = "haiku_exercises"

NONE_STARTED = _("no exercise was started in {path}")
DAMAGED = _("the content of {path} was not written by this command")
WHY_PROGRESS = _(
    "the file records which exercises you have passed; move it elsewhere, and the next checks will "
    "record them again"
)
WHY_STARTED = _("the command looks for progress.json in this folder and in haiku_exercises")
NOT_FOUND = _("{path} does not exist")
WHY_NOT_FOUND = _(
    "create the file with the command start, and check it in the folder where it was created"
)
NOT_A_FILE = _("{path} is not a file")
WHY_NOT_A_FILE = _(
    "an answer must be a file; if a folder or anything else has this name, move it elsewhere"
)
NOT_TEXT = _("{path} is not valid UTF-8 text")
WHY_NOT_TEXT = _(
    "Python reads a file as UTF-8 unless the first line of the file names another encoding"
)


class Folder:
    """A folder with exercises.

    Args:
      path: where it is; it is made when the first exercise is started.
      course: the folder of the course; by default, that of the record, or our own.

    Raises:
      ExerciseError: if its record cannot be read, or if there is no course.
    """

    def __init__(self, path: Path, course: Path | None = None) -> None:
        self.path = path
        self._data: dict[str, Any] = {
            "course": None, "current": None, "language": None, "exercises": {},
        }  # fmt: skip
        self._load()
        if course is not None:
            self._data["course"] = str(course.absolute())
        given = self._data["course"]
        self.course = Course(Path(given)) if given else ours()

    def _load(self) -> None:
        """Read the record, to which another terminal may have added something."""
        file = self.path / PROGRESS
        if not file.exists():
            return
        data: Any = None
        with contextlib.suppress(ValueError, IsADirectoryError):
            data = json.loads(file.read_text(encoding="utf-8"))
        if not _is_record(data):
            raise ExerciseError(
                problem=translated(DAMAGED).format(path=file),
                wrong=f"python -m haiku_state exercises progress  # {PROGRESS}",
                right=f"mv {file} {file}.old",
                why=WHY_PROGRESS,
            )
        self._data |= data

    @classmethod
    def find(cls, given: Path | None = None, course: Path | None = None) -> "Folder":
        """Return the given folder, the current folder if it has a record, or the usual folder."""
        here = Path() if Path(PROGRESS).exists() else Path(DEFAULT)
        return cls(given or here, course)

    @property
    def exists(self) -> bool:
        """Whether an exercise was started here."""
        return (self.path / PROGRESS).exists()

    def none_started(self) -> ExerciseError:
        """Return the error for what needs an exercise that was started."""
        there = "" if self.path == Path(DEFAULT) else f" --dir {self.path}"
        return ExerciseError(
            problem=translated(NONE_STARTED).format(path=self.path),
            wrong=f"python -m haiku_state exercises check{there}",
            right=f"python -m haiku_state exercises start{there}",
            why=WHY_STARTED,
        )

    @property
    def current(self) -> str | None:
        """The exercise that was worked on last."""
        return self._data["current"]

    @property
    def language(self) -> str | None:
        """The language that was chosen, as ``--lang`` has it."""
        return self._data["language"]

    def file_of(self, name: str) -> Path:
        """Return the file of the learner."""
        return self.path / f"{name}.py"

    def passed(self, name: str) -> bool:
        """Return whether the exercise has passed once."""
        return bool(self._entry(name).get("passed"))

    def hints(self, name: str) -> int:
        """Return how many hints were shown."""
        return int(self._entry(name).get("hints", 0))

    def may_see_solution(self, name: str) -> bool:
        """Return whether the exercise has passed, or all its hints were shown."""
        return self.passed(name) or self.hints(name) >= len(self.course.heading(name).hints)

    def next(self) -> str | None:
        """Return the first exercise that has not passed; None if all have passed."""
        return next((name for name in self.course.names if not self.passed(name)), None)

    def after(self, name: str) -> str | None:
        """Return the next exercise that has not passed, from this one on; None if all have."""
        names, place = self.course.names, self.course.number(name)
        order = [*names[place:], *names[:place]]
        return next((other for other in order if not self.passed(other)), None)

    def is_untouched(self, name: str) -> bool:
        """Return whether the file of an exercise is as it was started."""
        file = self.file_of(name)
        return file.is_file() and file.read_bytes() == self.course.stub(name).encode()

    def start(self, name: str, language: str | None = None) -> bool:
        """Make the file of an exercise, unless there is one, and work on it from now on.

        Returns:
          Whether the file is new.

        Raises:
          ExerciseError: if something other than a file has its name.
        """
        text = self.course.stub(name)
        self.path.mkdir(parents=True, exist_ok=True)
        try:
            with self.file_of(name).open("x", encoding="utf-8") as file:
                file.write(text)
            is_new = True
        except FileExistsError:
            is_new = False
            self._check_file(name)
        course = self._data["course"]
        self._load()
        self._data["course"] = course
        self._data["language"] = language or self.language
        self._data["current"] = name
        self._note(name)
        return is_new

    def reset(self, name: str) -> Path | None:
        """Make the file again and keep the old file under a different name.

        Returns:
          The file that holds what was there; None if nothing was.
        """
        file, kept = self.file_of(name), None
        if file.exists():
            numbers = range(1, len(list(self.path.iterdir())) + 2)
            kept = next(
                path
                for path in (file.with_name(f"{name}.old{number}.py") for number in numbers)
                if not path.exists()
            )
            file.rename(kept)
        self.start(name)
        return kept

    def read(self, name: str) -> str:
        """Return the answer of the learner.

        Raises:
          ExerciseError: if there is none, or if it is not text.
        """
        file = self.file_of(name)
        if file.exists():
            self._check_file(name)
        try:
            return text_in(file)
        except FileNotFoundError:
            raise ExerciseError(
                problem=translated(NOT_FOUND).format(path=file),
                wrong=f"python -m haiku_state exercises check {name}",
                right=f"python -m haiku_state exercises start {name}",
                why=WHY_NOT_FOUND,
            ) from None
        except (SyntaxError, UnicodeDecodeError):
            raise ExerciseError(
                problem=translated(NOT_TEXT).format(path=file),
                wrong=f"{file.name}: GBK, UTF-16, …",
                right=f"{file.name}: UTF-8",
                why=WHY_NOT_TEXT,
            ) from None

    def _check_file(self, name: str) -> None:
        file = self.file_of(name)
        if not file.is_file():
            raise ExerciseError(
                problem=translated(NOT_A_FILE).format(path=file),
                wrong=f"python -m haiku_state exercises check {name}",
                right=f"mv {file} {file}.old",
                why=WHY_NOT_A_FILE,
            )

    def note_check(self, name: str, passed: bool) -> None:
        """Record that an answer was checked."""
        self._load()
        self._data["current"] = name
        entry = self._note(name, checks=int(self._entry(name).get("checks", 0)) + 1)
        if passed and not entry.get("passed"):
            self._note(name, passed=_today())

    def note_hint(self, name: str) -> None:
        """Record that one more hint was shown."""
        self._load()
        self._note(name, hints=self.hints(name) + 1)

    def _entry(self, name: str) -> dict[str, Any]:
        entry: dict[str, Any] = self._data["exercises"].get(name, {})
        return entry

    def _note(self, name: str, **values: Any) -> dict[str, Any]:
        entry = {"started": _today()} | self._entry(name) | values
        self._data["exercises"][name] = entry
        self._save()
        return entry

    def _save(self) -> None:
        """Write the record; the file has the old or the new record, never half of it."""
        text = json.dumps(self._data, indent=2, ensure_ascii=False) + "\n"
        file = self.path / PROGRESS
        other = file.with_name(f"{PROGRESS}.{os.getpid()}")
        try:
            other.write_text(text, encoding="utf-8")
            other.replace(file)
        finally:
            with contextlib.suppress(FileNotFoundError):
                other.unlink()


def text_in(file: Path) -> str:
    """Return the text of a Python file: in UTF-8, or in the encoding that its first line names.

    Raises:
      SyntaxError: if that is no encoding, or if a file without such a line is not UTF-8.
      UnicodeDecodeError: if it is not in that encoding.
    """
    return importlib.util.decode_source(file.read_bytes())


def _is_record(data: Any) -> bool:
    """Return whether each thing in a record has the type that it is used with."""
    if not isinstance(data, dict) or not isinstance(data.get("exercises"), dict):
        return False
    return (
        all(isinstance(data.get(name), str | None) for name in ("course", "current"))
        and data.get("language") in (None, *languages())
        and all(
            isinstance(entry, dict)
            and all(isinstance(entry.get(count, 0), int) for count in ("checks", "hints"))
            for entry in data["exercises"].values()
        )
    )


def _today() -> str:
    return datetime.date.today().isoformat()
