"""What Babel extracts from the files of a course: the texts that a learner reads."""

from collections.abc import Collection, Iterator
from typing import IO, Any

from haiku_state.exercises.cells import texts

METHODS = [
    ("exercises/course/order.txt", "haiku_site.translate.exercise_texts:titles"),
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


def titles(
    file: IO[bytes], keywords: Any, comment_tags: Collection[str], options: Any
) -> Iterator[tuple[int, str | None, Any, list[str]]]:
    """Yield the same for the titles of the parts, which stand in the order of a course."""
    for number, line in enumerate(file.read().decode().splitlines(), 1):
        if line and not line[0].isspace():
            yield number, None, line, []
