"""The first minutes of a new learner on a terminal, as text: ``python tests/tools walk``.

It writes ``docs/exercises/walk.LANGUAGE.txt``, which the site shows; ``test_walk`` compares.
"""

import sys
import tempfile
from pathlib import Path

from support.chinese import ZH
from support.user import PIPE, User
from tools import ROOT

from haiku_state.errors.language import languages, reading
from haiku_state.exercises import names, solution
from haiku_state.exercises.folder import DEFAULT

DOCS = ROOT / "docs/exercises"
LANGUAGES = tuple(languages())
PRESSED = {"en": "(you press {key})", ZH: "（按 {key} 键）"}
SAVED = {
    "en": ("(you change the file, with a slip in it)", "(you mend the slip)",
           "(you change the file)"),
    ZH: ("（修改文件，其中有个笔误）", "（改正笔误）", "（修改文件）"),
}  # fmt: skip
LAST = {"en": "q quit", ZH: "q 退出"}
"""What ends that which is shown."""


class Stay:
    """The one command, as somebody uses it who has no terminal.

    Args:
      learner: who it is.
      language: in which to speak.
    """

    def __init__(self, learner: User, language: str) -> None:
        self.lines: list[str] = []
        self.folder, self._language = learner.folder / DEFAULT, language
        command = [sys.executable, "-m", "haiku_state", "exercises", "--lang", language]
        self._process = learner.start(*command, stdin=PIPE)
        self._read()

    def _read(self) -> None:
        for line in iter(self._process.stdout.readline, ""):
            self.lines.append(line.rstrip("\n"))
            if LAST[self._language] in line:
                return

    def press(self, key: str) -> None:
        """Press a key, and read what is shown then."""
        self.lines += ["", PRESSED[self._language].format(key=key)]
        self._process.stdin.write(key)
        self._process.stdin.flush()
        self._read()

    def save(self, name: str, text: str | bytes) -> None:
        """Save an answer, and read what is shown then."""
        data = text if isinstance(text, bytes) else text.encode()
        (self.folder / f"{name}.py").write_bytes(data)
        self._read()

    def quit(self) -> int:
        """Leave; return the exit code."""
        self._process.stdin.write("q")
        self._process.stdin.close()
        code = int(self._process.wait(60))
        self._process.stdout.close()
        self._process.stderr.close()
        return code


def walk(language: str) -> str:
    """Begin, ask for a hint, pass, and pass the next exercise."""
    first, second = names()[:2]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        stay = Stay(User(Path(place)), language)
        with reading(language):
            right, other = solution(first), solution(second)
        stay.press("h")
        answers = [
            (first, right.replace("return increment", "return incremnt")),
            (first, right),
            (second, other),
        ]
        for (name, answer), said in zip(answers, SAVED[language], strict=True):
            stay.lines += ["", said]
            stay.save(name, answer)
            if answer == right:
                stay.press("n")
        assert stay.quit() == 0
    shown = ["$ python -m haiku_state exercises", *stay.lines]
    return "\n".join(shown).strip() + "\n"


def file_of(language: str) -> Path:
    """Return the file that the site shows."""
    return DOCS / f"walk.{language}.txt"


if __name__ == "__main__":
    for language in LANGUAGES:
        file_of(language).write_text(walk(language), encoding="utf-8")
