"""The translation gate: every message translated, and every translation sound.

Sphinx shows English, or broken markup, for a translation that is missing, fuzzy or badly written,
mostly silently. The gate reads the catalogs themselves and names file, line and message.
"""

import csv
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import autocorrect_py
from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import PoFileError, read_po
from markup import EDGE, differences, markup

HAN = r"㐀-䶿一-鿿"
FULL_STOPS = {".": "。", ":": "：:", "?": "？", "!": "！"}
LEFT_OVER = re.compile(r"\*\*|``|`|\]\[|\]\(|\{[a-z]+\}|:[a-z]+:(?=`)|__\b|\\[*_`]|[\u200b\ufffd]")
EXEMPTION = re.compile(r"glossary: (.+) is (?:a|another) ")


_HEADER = "# The Chinese of haiku_state's site. Licensed as the package, Apache-2.0."


class Problem(NamedTuple):
    """One defect of one message."""

    file: Path
    line: int
    what: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}\n    {self.message!r}"


class Term(NamedTuple):
    """One row of the glossary."""

    english: re.Pattern[str]
    chinese: tuple[str, ...]
    never: str | None


def check_catalogs(locale: Path, docs: Path, glossary: Path) -> list[Problem]:
    """Check every catalog under ``locale``."""
    terms = read_glossary(glossary)
    found = []
    for file in sorted(locale.rglob("*.po")):
        name = file.relative_to(locale / "zh_CN/LC_MESSAGES").with_suffix("")
        is_rst = (docs / name).with_suffix(".rst").exists()
        found += check_catalog(file, is_rst, terms)
    return found


def check_catalog(file: Path, is_rst: bool, terms: list[Term]) -> list[Problem]:
    """Check one catalog."""
    try:
        catalog = read_catalog(file)
    except PoFileError as error:
        return [Problem(file, error.lineno + 1, f"not a catalog: {error}", error.line)]
    errors = []
    for old in catalog.obsolete:
        errors.append(Problem(file, 1, "obsolete: no longer on the page", str(old)))
    for message in catalog:
        if message.id:
            text = str(message.id)
            for what in _defects(message, is_rst, terms):
                errors.append(Problem(file, message.lineno or 0, what, text))
    return errors


def _defects(message: Message, is_rst: bool, terms: list[Term]) -> Iterator[str]:
    msgid, msgstr = str(message.id), str(message.string or "")
    if message.fuzzy:
        yield "fuzzy: readers would get English"
    if not msgstr.strip():
        yield "not translated"
        return
    if msgstr != msgstr.strip():
        yield "leading or trailing white space"
    yield from differences(msgid, msgstr, is_rst)
    yield from _text_defects(markup(msgid, is_rst).text, markup(msgstr, is_rst).text)
    exempt = {m[1] for comment in message.user_comments if (m := EXEMPTION.match(comment))}
    yield from _term_defects(markup(msgid, is_rst).text, markup(msgstr, is_rst).text, terms, exempt)


def _text_defects(english: str, chinese: str) -> Iterator[str]:
    prose = re.search(r"[a-z]{2,} [a-z]{2,}", english.replace(EDGE, ""))
    if prose and not re.search(f"[{HAN}]", chinese):
        yield "not in Chinese"
    for mark in LEFT_OVER.findall(chinese):
        if mark not in english:
            yield f"markup shown to the reader: {mark!r}"
    numbers = [sorted(re.findall(r"\d+(?:\.\d+)?", text)) for text in (english, chinese)]
    if numbers[0] != numbers[1]:
        yield f"numbers {numbers[1]} instead of {numbers[0]}"
    if (typeset := autocorrect_py.format(plain := chinese.replace(EDGE, ""))) != plain:
        yield f"autocorrect writes {typeset!r}"
    # what autocorrect does not catch
    for bad in re.findall(f'[{HAN}][()"]|[()"][{HAN}]', chinese):
        yield f"half-width punctuation after Chinese: {bad!r}"
    for bad in re.findall(f"[{HAN}，。：；！？、）」] +[{HAN}]", chinese):
        yield f"a space where Chinese has none: {bad!r}"
    end = english.strip()[-1:]
    if end in FULL_STOPS and chinese.strip()[-1:] not in FULL_STOPS[end]:
        yield f"ends in {chinese.strip()[-1:]!r} where the original ends in {end!r}"


def _term_defects(english: str, chinese: str, terms: list[Term], exempt: set[str]) -> Iterator[str]:
    rest, needless = english, set(exempt)
    for term in terms:
        match = term.english.search(rest)
        if not match:
            continue
        rest = term.english.sub(" ", rest)
        if term.never and term.never in chinese:
            yield f"{match[0]!r} is never {term.never!r}"
        if not any(word.casefold() in chinese.casefold() for word in term.chinese):
            if not {match[0], match[0].lower()} & exempt:
                yield f"{match[0]!r} is {' or '.join(term.chinese)!r} in the glossary"
            needless -= {match[0], match[0].lower()}
    for word in sorted(needless):
        yield f"the exemption of {word!r} is not needed"


@cache
def read_glossary(file: Path) -> list[Term]:
    """Read the glossary, longest English term first, so that it is matched first."""
    with file.open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    found = []
    for row in rows:
        for english in re.sub(r" \(.*?\)", "", row["english"]).split(" / "):
            stem = re.escape(english).replace(r"\ ", r"\s+").replace("leaf", "lea(?:f|ves)")
            chinese = tuple(row["chinese"].split(" / "))
            never = re.search(r"never (\S+)", row["note"] or "")
            pattern = re.compile(rf"\b{stem}(?:e?s)?\b", re.IGNORECASE)
            found.append((len(english), Term(pattern, chinese, never[1] if never else None)))
    return [term for _, term in sorted(found, key=lambda pair: -pair[0])]


def update_catalogs(templates: Path, locale: Path) -> None:
    """Merge freshly extracted templates into the catalogs, and drop those of removed pages."""
    command = [sys.executable, "-m", "sphinx_intl", "update", "-p", str(templates)]
    command += ["-d", str(locale), "-l", "zh_CN", "-w", "0", "--no-obsolete"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    messages = locale / "zh_CN/LC_MESSAGES"
    for file in messages.rglob("*.po"):
        template = templates / file.relative_to(messages).with_suffix(".pot")
        if not template.exists() and file.name != "sphinx.po":
            file.unlink()
            continue
        if file.name == "sphinx.po":
            continue
        # a new catalog's header marks itself as fuzzy, with placeholders for its authors
        text = file.read_text(encoding="utf-8")
        rest = text.split('msgid ""', 1)[1]
        file.write_text(f'{_HEADER}\nmsgid ""{rest}', encoding="utf-8")


def check_current(templates: Path, locale: Path, scratch: Path) -> list[Problem]:
    """Check that merging the templates would change nothing."""
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(locale, scratch)
    update_catalogs(templates, scratch)
    found = []
    for file in sorted(
        {f.relative_to(root) for root in (locale, scratch) for f in root.rglob("*.po")}
    ):
        old, new = (_entries(root / file) for root in (locale, scratch))
        for message in [m for m in new if m not in old] + [m for m in old if m not in new]:
            line = (new if message in new else old)[message]
            what = "not in the catalog" if message in new else "no longer on the page"
            found.append(Problem(locale / file, line, f"{what}: run `tox -e catalogs`", message))
    return found


def _entries(file: Path) -> dict[str, int]:
    if not file.exists():
        return {}
    return {str(message.id): message.lineno or 0 for message in read_catalog(file) if message.id}


def read_catalog(file: Path) -> Catalog:
    """Read a catalog."""
    with file.open(encoding="utf-8") as stream:
        return read_po(stream, abort_invalid=True)
