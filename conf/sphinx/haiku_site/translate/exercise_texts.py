"""What Babel extracts from the file of an exercise: marked texts, and the comments of its stub."""

from collections.abc import Collection, Iterator
from typing import IO, Any

from babel.messages.extract import extract_python

from haiku_state.exercises.source import END, comments

METHODS = [
    ("exercises/tasks/*.py", "haiku_site.translate.exercise_texts:extract"),
    ("**.py", "python"),
]
"""How the texts of the package are found: ``conf/babel.cfg`` says the same to ``pybabel``."""


def extract(
    file: IO[bytes], keywords: Any, comment_tags: Collection[str], options: Any
) -> Iterator[tuple[int, str | None, Any, list[str]]]:
    """Yield line, function, text and comments of each message, as Babel asks for it."""
    yield from extract_python(file, keywords, comment_tags, options)
    file.seek(0)
    source = file.read().decode()
    for line, text in comments(source) if END in source.splitlines() else ():
        yield line, None, text, []
