"""What Babel extracts from the file of an exercise: the texts that a learner reads."""

from collections.abc import Collection, Iterator
from typing import IO, Any

from haiku_state.exercises.cells import texts

METHODS = [
    ("exercises/course/__init__.py", "python"),
    ("exercises/course/*.py", "haiku_site.translate.exercise_texts:extract"),
    ("**.py", "python"),
]
"""How the texts of the package are found: ``conf/babel.cfg`` says the same to ``pybabel``."""


def extract(
    file: IO[bytes], keywords: Any, comment_tags: Collection[str], options: Any
) -> Iterator[tuple[int, str | None, Any, list[str]]]:
    """Yield line, function, text and comments of each message, as Babel asks for it."""
    for line, text in texts("exercise", file.read().decode()):
        yield line, None, text, []
