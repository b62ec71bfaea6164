"""The language of the texts that the package prints: English, or one that has a catalog.

What is particular to a language is one record beside its catalogs, ``locale/CODE/language.json``.
The package, the site and its scripts ask it; none of them asks which language it is.
"""

import contextlib
import contextvars
import dataclasses
import functools
import gettext
import json
import locale
import os
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOMAIN = "haiku_state"
FOLDER = Path(__file__).parent.parent / "locale"
_READING: contextvars.ContextVar[str] = contextvars.ContextVar("reading", default="")


@dataclasses.dataclass(frozen=True)
class Language:
    """What is particular to a language.

    Args:
      code: the name of its folders, as gettext has it.
      tag: what HTML and browsers call it (BCP 47).
      starts: how the locale of a reader of it begins.
      name: what it calls itself.
      short: the same where there is little room.
      colon: what stands between a word and its explanation.
      jupyterlab: the package that translates JupyterLab.
      site: what only the site needs; ``conf/sphinx`` says what each entry is for.
    """

    code: str
    tag: str
    starts: str
    name: str
    short: str
    colon: str = ": "
    jupyterlab: str = ""
    site: dict[str, Any] = dataclasses.field(default_factory=dict)


def languages() -> dict[str, Language]:
    """Return the languages by their codes, English first.

    Example:
      >>> from haiku_state.errors.language import languages
      >>> [language.name for language in languages().values()]
      ['English', '简体中文']
    """
    return _records(FOLDER)


@functools.cache
def _records(folder: Path) -> dict[str, Language]:
    files = sorted(folder.glob("*/language.json"), key=lambda file: file.parent.name != "en")
    records = {file.parent.name: json.loads(file.read_text(encoding="utf-8")) for file in files}
    return {code: Language(code, **record) for code, record in records.items()}


def deferred(text: str) -> str:
    """Mark a text for the catalog; it is translated when it is shown."""
    return text


def translated(text: str, language: str | None = None) -> str:
    """Return a marked text in the reader's language.

    Args:
      text: the English, as it is written in the source.
      language: a code of :func:`languages`; None leaves the choice to the environment.

    Returns:
      The text in the language that ``HAIKU_STATE_LANG`` or else the locale asks for, or the
      English where it is not translated.

    Example:
      >>> import os
      >>> from haiku_state.errors.language import translated
      >>> os.environ["HAIKU_STATE_LANG"] = "en"
      >>> translated("the replicas differ:{paths}")
      'the replicas differ:{paths}'

    References:
      Python's documentation, `gettext <https://docs.python.org/3/library/gettext.html>`__.
    """
    return _catalog(language or reader_language()).gettext(text)


@contextlib.contextmanager
def reading(language: str) -> Iterator[None]:
    """Let all texts be in one language, whatever the environment asks for.

    Args:
      language: a code of :func:`languages`.
    """
    token = _READING.set(language)
    try:
        yield
    finally:
        _READING.reset(token)


def reader_language() -> str:
    """Return the code of the language that the environment asks for, or else of English."""
    if language := _READING.get():
        return language
    wanted = _wanted().lower()
    fitting = (code for code, each in languages().items() if wanted.startswith(each.starts))
    return next(fitting, "en")


def wrapped(text: str, width: int, indent: str = "") -> str:
    """Break a text into lines of so many columns: between words, or anywhere in Han and kana."""
    # punctuation stays with what comes before it, so that it does not begin a line
    pieces = re.findall(r"[ぁ-ヿ一-鿿][^\w\s`]*|\s+|[^\sぁ-ヿ一-鿿]+", text)
    lines, line = [], indent
    for piece in pieces:
        if _columns(line + piece.rstrip()) > width and line.strip():
            lines.append(line.rstrip())
            line = indent
        line += piece if line.strip() else piece.lstrip()
    return "\n".join([*lines, line.rstrip()])


def _columns(text: str) -> int:
    """Return the width on a terminal, where a wide character takes two columns."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _wanted() -> str:
    # the order of gettext's own search; LANGUAGE may list several, the first one counts
    for variable in ("HAIKU_STATE_LANG", "LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(variable):
            return value
    try:
        return locale.getlocale()[0] or "en"
    except ValueError:  # a locale that Python does not know must not hide the error itself
        return "en"


@functools.cache
def _catalog(language: str) -> gettext.NullTranslations:
    return gettext.translation(DOMAIN, FOLDER, [language], fallback=True)
