"""``exercises`` alone: a command to stay in. It checks an answer at each save, and has keys."""

import contextlib
import os
import select
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from haiku_state.commands.exercises.command import bar, described, next_hint, told
from haiku_state.errors import ExerciseError
from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import translated, wrapped
from haiku_state.exercises.folder import Folder
from haiku_state.exercises.judge import Checker
from haiku_state.exercises.result import COLUMNS

LOOK_SECONDS = 0.05
"""How often to look whether the file was saved, and whether a key was pressed."""
REST_SECONDS = 0.05
"""How long a file has to be at rest: some editors save in several steps."""
CLEAR = "\x1b[2J\x1b[3J\x1b[H"

KEYS = {
    "h": _("hint"),
    "l": _("list"),
    "n": _("next"),
    "r": _("reset"),
    "s": _("solution"),
    "q": _("quit"),
}
OPEN = _("Edit {file}. It is checked whenever you save it.")
CHECKING = _("Checking {file} …")
GO_ON = _("Press n for the next exercise.")
ALL_PASSED = _("All exercises are passed.")
NOT_YET = _("The solution is shown once the exercise has passed, or after three hints.")
KEPT = _("What you wrote is now in {file}.")


def stay(folder: Folder, language: str | None) -> int:
    """Show an exercise, check it at each save and do what the keys ask for, until it is left.

    Args:
      folder: the folder of the learner.
      language: that of new files; None for the language of the folder.
    """
    name = folder.next() if not folder.current or folder.passed(folder.current) else folder.current
    with _keys() as keys:
        while name is not None:
            folder.start(name, language)
            name = _work(folder, name, keys)
    if folder.next() is None:
        print(translated(ALL_PASSED))
    return 0


def _work(folder: Folder, name: str, keys: "_Keys") -> str | None:
    """Work on an exercise; return which one is next, None to leave."""
    exercise = folder.course.load(name)
    file = folder.file_of(name)
    _show(folder, name, described(exercise))
    with Checker(exercise, is_eager=True) as checker:
        seen = _version(file) if folder.is_untouched(name) else None
        while True:
            version = _version(file)
            if version not in (seen, None):
                time.sleep(REST_SECONDS)
                if _version(file) != version:
                    continue
                seen = version
                if keys.is_terminal:
                    print(translated(CHECKING).format(file=file), flush=True)
                _show(folder, name, _checked(folder, name, checker))
            match keys.pressed(LOOK_SECONDS):
                case "q":
                    return None
                case "n":
                    return folder.after(name)
                case "h":
                    hint = wrapped(next_hint(folder, name), COLUMNS - 1)
                    _show(folder, name, f"{described(exercise)}\n\n{hint}")
                case "l":
                    _show(folder, name, "\n".join(_listed(folder)))
                case "s":
                    may = folder.may_see_solution(name)
                    shown = folder.course.solution(name) if may else translated(NOT_YET)
                    _show(folder, name, shown)
                case "r":
                    kept = folder.reset(name)
                    seen = _version(file)
                    _show(folder, name, translated(KEPT).format(file=kept))


def _checked(folder: Folder, name: str, checker: Checker) -> str:
    try:
        result = checker.check(folder.read(name), folder.file_of(name).absolute())
    except ExerciseError as error:  # a file that is no text; the next save is checked again
        return error.what
    folder.note_check(name, result.passed)
    following = [translated(GO_ON)] if result.passed and folder.next() else []
    return "\n\n".join([told(result), *following])


def _show(folder: Folder, name: str, text: str) -> None:
    """Show a text, and below it where the file is, how far the course is, and the keys."""
    clear = CLEAR if sys.stdout.isatty() else ""
    passed = sum(map(folder.passed, folder.course.names))
    known = "  ".join(f"{key} {translated(word)}" for key, word in KEYS.items())
    below = [
        translated(OPEN).format(file=folder.file_of(name)),
        f"{bar(passed, len(folder.course.names))}  {known}",
    ]
    print(f"{clear}{text}\n", *below, sep="\n", end="\n" if clear else "\n\n", flush=True)


def _listed(folder: Folder) -> Iterator[str]:
    for title, names in folder.course.parts:
        yield translated(title)
        for name in names:
            yield f"  {'✓' if folder.passed(name) else ' '} {name}"


def _version(file: Path) -> tuple[int, int] | None:
    """Return what differs between two versions of a file; None while there is none."""
    try:
        state = file.stat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size


class _Keys:
    """The keys of a terminal; or the letters of lines, where there is none."""

    def __init__(self) -> None:
        self.is_terminal = bool(sys.stdin and sys.stdin.isatty())
        self._is_over = sys.stdin is None

    def pressed(self, seconds: float) -> str:
        """Return a key that is pressed within so many seconds, or an empty text."""
        if self._is_over:
            time.sleep(seconds)
            return ""
        if os.name == "nt":
            return self._pressed_on_windows(seconds)
        if not select.select([sys.stdin], [], [], seconds)[0]:
            return ""
        data = os.read(sys.stdin.fileno(), 1)
        self._is_over = not data
        return data.decode(errors="replace").lower()

    def _pressed_on_windows(self, seconds: float) -> str:
        import msvcrt

        time.sleep(seconds)
        is_pressed = self.is_terminal and msvcrt.kbhit()  # type: ignore[attr-defined, unused-ignore]
        return msvcrt.getwch().lower() if is_pressed else ""  # type: ignore[attr-defined, unused-ignore]


@contextlib.contextmanager
def _keys() -> Iterator[_Keys]:
    """Let each key count as it is pressed, and put the terminal back."""
    keys = _Keys()
    if not keys.is_terminal or os.name == "nt":
        yield keys
        return
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        yield keys
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
