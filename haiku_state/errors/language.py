"""The language of the texts that the package prints: English, or Simplified Chinese."""

import contextlib
import contextvars
import functools
import gettext
import locale
import os
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

DOMAIN = "haiku_state"
FOLDER = Path(__file__).parent.parent / "locale"


_READING: contextvars.ContextVar[str] = contextvars.ContextVar("reading", default="")


def deferred(text: str) -> str:
    """Mark a text for the catalog; it is translated when it is shown."""
    return text


def translated(text: str, language: str | None = None) -> str:
    """Return a marked text in the reader's language.

    Args:
      text: the English, as it is written in the source.
      language: ``"en"`` or ``"zh_CN"``; None leaves the choice to the environment.

    Returns:
      The Chinese, if it is asked for. The environment asks for it if ``HAIKU_STATE_LANG`` begins
      with ``zh``, or is not set and the locale does. Else the English.

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
      language: ``"en"`` or ``"zh_CN"``.
    """
    token = _READING.set(language)
    try:
        yield
    finally:
        _READING.reset(token)


def reader_language() -> str:
    """Return ``"zh_CN"`` for a reader of Chinese, else ``"en"``."""
    if language := _READING.get():
        return language
    return "zh_CN" if _wanted().lower().startswith("zh") else "en"


def wrapped(text: str, width: int, indent: str = "") -> str:
    """Break a text into lines of so many columns: English between words, Chinese anywhere."""
    # punctuation stays with what comes before it, so that it does not begin a line
    pieces = re.findall(r"[一-鿿][^\w\s`]*|\s+|[^\s一-鿿]+", text)
    lines, line = [], indent
    for piece in pieces:
        if _columns(line + piece.rstrip()) > width and line.strip():
            lines.append(line.rstrip())
            line = indent
        line += piece if line.strip() else piece.lstrip()
    return "\n".join([*lines, line.rstrip()])


def _columns(text: str) -> int:
    """Return the width on a terminal, where a Chinese character takes two columns."""
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
    return gettext.translation(DOMAIN, FOLDER, [language], fallback=language == "en")
