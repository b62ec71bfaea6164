"""The first minutes of a new learner on a terminal, as text: ``python tests/exercises/walk.py``.

It writes ``docs/exercises/walk.LANGUAGE.txt``, which the site shows; ``test_walk`` compares.
"""

import sys
import tempfile
from pathlib import Path

from haiku_state.errors.language import languages, reading
from haiku_state.exercises import names, solution
from haiku_state.exercises.folder import DEFAULT

sys.path.append(str(Path(__file__).parents[1]))

from chinese import ZH
from user import User

DOCS = Path(__file__).parents[2] / "docs/exercises"
LANGUAGES = tuple(languages())
EDITED = {"en": "(you change the file in your editor)", ZH: "（在编辑器里修改文件）"}
FIRST = names()[0]


def walk(language: str) -> str:
    """Start, check, ask for a hint, and pass."""
    lines = []
    # the server may still be writing into its cache
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        learner = User(Path(place))

        def type_in(words: str) -> None:
            lines.append(f"$ python -m haiku_state exercises {words}")
            ran = learner.haiku_state("exercises", *words.split(), env={"COLUMNS": "80"})
            lines.extend([*(ran.stdout + ran.stderr).splitlines(), ""])

        type_in(f"start --lang {language}")
        type_in("check")
        type_in("hint")
        with reading(language):
            file = learner.folder / DEFAULT / f"{FIRST}.py"
            file.write_text(solution(FIRST), encoding="utf-8")
        lines.extend([EDITED[language], ""])
        type_in("check")
    return "\n".join(lines[:-1]) + "\n"


def file_of(language: str) -> Path:
    """Return the file that the site shows."""
    return DOCS / f"walk.{language}.txt"


if __name__ == "__main__":
    for language in LANGUAGES:
        file_of(language).write_text(walk(language), encoding="utf-8")
