"""The words of ``docs/glossary.csv``, and where they occur in a text."""

import csv
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from haiku_site.translate.gate.markup import EDGE
from haiku_site.translate.languages import Site


class Term(NamedTuple):
    """One English form of a row of the glossary."""

    english: re.Pattern[str]
    words: tuple[str, ...]
    """The translations, the usual one first."""

    never: str | None
    gloss: str
    """What code and errors say, which follows the translation in brackets at its first use."""

    line: int
    """That of the row."""

    row: dict[str, str]
    """All that the glossary says."""


def read_glossary(file: Path, site: Site) -> list[Term]:
    """Read the terms of a language, longest English one first, so that it is matched first."""
    return _read(file, site.glossary, site.notes)


@cache
def _read(file: Path, column: str, notes: str) -> list[Term]:
    found = []
    with file.open(encoding="utf-8") as stream:
        rows = csv.DictReader(stream)
        for row in rows:
            never = re.search(r"never (\S+)", row.get(notes) or "")
            rest = (tuple(row[column].split(" / ")), never and never[1], row["gloss"])
            for length, pattern in _spellings(row):
                english = re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)
                found.append((length, Term(english, *rest, rows.line_num, row)))
    return [term for _, term in sorted(found, key=lambda pair: -pair[0])]


def _spellings(row: dict[str, str]) -> Iterator[tuple[int, str]]:
    """Return a pattern for each English form of a row, with its length."""
    if row["match"]:  # a word that has other meanings: where it has this one
        yield len(row["english"]), row["match"]
        return
    for english in re.sub(r" \(.*?\)", "", row["english"]).split(" / "):
        stem = re.escape(english).replace(r"\ ", r"\s+").replace("leaf", "lea(?:f|ves)")
        yield len(english), rf"{stem}(?:e?s)?"


def terms_in(english: str, terms: list[Term]) -> Iterator[tuple[Term, str]]:
    """Find the terms of a text, each with the words that matched, no word in two terms."""
    english = english.replace(EDGE, "")
    for term in terms:
        if match := term.english.search(english):
            english = term.english.sub(" ", english)
            yield term, match[0]
