"""The first minutes of a new learner on a terminal, as text: ``python tests/exercises/walk.py``.

It writes ``docs/exercises/walk.LANGUAGE.txt``, which the site shows; ``test_walk`` compares.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from haiku_state.errors.language import reading
from haiku_state.exercises import names, solution
from haiku_state.exercises.folder import DEFAULT

DOCS = Path(__file__).parents[2] / "docs/exercises"
LANGUAGES = ("en", "zh_CN")
EDITED = {"en": "(you change the file in your editor)", "zh_CN": "（在编辑器里修改文件）"}
FIRST = names()[0]


def walk(language: str) -> str:
    """Start, check, ask for a hint, and pass."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:

        def type_in(words: str) -> None:
            lines.append(f"$ python -m haiku_state exercises {words}")
            ran = subprocess.run(
                [sys.executable, "-m", "haiku_state", "exercises", *words.split()],
                cwd=folder,
                env={**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"},
                capture_output=True,
                encoding="utf-8",
                check=False,
            )
            lines.extend([*(ran.stdout + ran.stderr).splitlines(), ""])

        type_in(f"start --lang {language}")
        type_in("check")
        type_in("hint")
        with reading(language):
            Path(folder, DEFAULT, f"{FIRST}.py").write_text(solution(FIRST), encoding="utf-8")
        lines.extend([EDITED[language], ""])
        type_in("check")
    return "\n".join(lines[:-1]) + "\n"


def file_of(language: str) -> Path:
    """Return the file that the site shows."""
    return DOCS / f"walk.{language}.txt"


if __name__ == "__main__":
    for language in LANGUAGES:
        file_of(language).write_text(walk(language), encoding="utf-8")
