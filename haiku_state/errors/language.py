"""The languages of the package and of its site, and the language in which the package prints."""

import contextlib
import contextvars
import functools
import gettext
import json
import locale
import os
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DOMAIN = "haiku_state"
FOLDER = Path(__file__).parent.parent / "locale"


@dataclass(frozen=True)
class Language:
    """What is particular to a language: ``language.json`` in its folder in ``locale/``.

    Args:
      code: the name of the folder, which is also the name of the language's folders elsewhere.
      tag: the BCP 47 tag, for HTML.
      name: what the language calls itself.
      short: the same in two or three letters, for a narrow screen.
      english_name: what the language is called in English.
      colon: what follows a label on a terminal.
      script: the ranges of the characters that are written without spaces between words.
      lab_pack: the package with JupyterLab's own words in this language.
      site: what only the site uses: ``conf/sphinx/haiku_site/translate/languages.py`` lists it.
    """

    code: str
    tag: str
    name: str
    short: str
    english_name: str
    colon: str = ": "
    script: str = ""
    lab_pack: str = ""
    site: dict[str, Any] = field(default_factory=dict)

    @property
    def base(self) -> str:
        """The part of the tag that names the language alone, which ``:lang()`` matches."""
        return self.tag.partition("-")[0]


@functools.cache
def languages() -> dict[str, Language]:
    """Return the language of each code, English first."""
    files = sorted(
        FOLDER.glob("*/language.json"), key=lambda file: (file.parent.name != "en", file)
    )
    return {
        file.parent.name: Language(file.parent.name, **json.loads(file.read_text("utf-8")))
        for file in files
    }


_READING: contextvars.ContextVar[str] = contextvars.ContextVar("reading", default="")


def deferred(text: str) -> str:
    """Mark a text for the catalog; it is translated when it is shown."""
    return text


def translated(text: str, language: str | None = None) -> str:
    """Return a marked text in the reader's language.

    Args:
      text: the English, as it is written in the source.
      language: its code; None leaves the choice to the environment.

    Returns:
      The translation into the requested language, or the English if that language is not known. The
      environment requests the language with which ``HAIKU_STATE_LANG`` begins, or the language of
      the locale.

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
      language: its code.
    """
    token = _READING.set(language)
    try:
        yield
    finally:
        _READING.reset(token)


@contextlib.contextmanager
def argparse_reading() -> Iterator[None]:
    """Let argparse speak the reader's language: it asks gettext, which reads a variable."""
    domain, before = gettext.textdomain(), os.environ.get("LANGUAGE")
    gettext.bindtextdomain("argparse", os.fspath(FOLDER))
    gettext.textdomain("argparse")
    os.environ["LANGUAGE"] = reader_language()
    try:
        yield
    finally:
        gettext.textdomain(domain)
        os.environ.pop("LANGUAGE")
        if before is not None:
            os.environ["LANGUAGE"] = before


def reader_language() -> str:
    """Return the code of the reader's language, or ``"en"`` where the package does not know it."""
    if language := _READING.get():
        return language
    return code_of(_wanted())


def code_of(wanted: str) -> str:
    """Return the code of the language that a tag or the name of a locale requests, or ``"en"``."""
    wanted = wanted.replace("-", "_").lower()
    known = languages().values()
    same = [each.code for each in known if wanted.startswith(each.code.lower())]
    return [*same, *(each.code for each in known if wanted.startswith(each.base)), "en"][0]


def wrapped(text: str, width: int, indent: str = "") -> str:
    """Break a text into lines of the given width: between words, or anywhere in Chinese."""
    # punctuation stays with what comes before it, so that it does not begin a line
    script = "".join(each.script for each in languages().values())
    pieces = re.findall(rf"[{script}][^\w\s`]*|\s+|[^\s{script}]+", text)
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
    # a new language speaks English until it has a catalog
    return gettext.translation(DOMAIN, FOLDER, [language], fallback=True)
