"""The translation gate: every message translated, and every translation sound.

Sphinx shows English, or broken markup, for a translation that is missing, fuzzy or badly written,
mostly silently. The gate reads the catalogs themselves and names file, line and message.
"""

import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import autocorrect_py
from babel.messages.catalog import Message
from haiku_site.translate.gate.catalog_files import Problem, malformed, read_catalog
from haiku_site.translate.gate.consistency import Entry, check_consistency
from haiku_site.translate.gate.markup import EDGE, differences, markup, reordered
from haiku_site.translate.gate.terms import Term, read_glossary, terms_in
from haiku_site.translate.languages import site_of

from haiku_state.errors.language import languages

NUMBER = re.compile(r"\d+(?:\.\d+)?")
LEFT_OVER = re.compile(r"\*\*|``|`|\]\[|\]\(|\{[a-z]+\}|:[a-z]+:(?=`)|__\b|\\[*_`]")
HTML = re.compile(r"<!--|-->|&#?\w+;")  # comments and entities: half of them is shown, or hides
EXEMPTION = re.compile(r"glossary: (.+) is (?:a|another) ")
FUZZY, EMPTY = "fuzzy: the English has changed", "not translated"
READ = "order: read"
"""The comment above a message whose pieces are in a different order than in English, and may be."""

TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
NUMBERS = dict(zip(TENS, range(20, 100, 10), strict=True))
NUMBERS |= {word: number for number, word in enumerate([*DIGITS, "ten", "eleven", "twelve"])}
NUMBERS |= {f"{ten}-{one}": NUMBERS[ten] + NUMBERS[one] for ten in TENS for one in DIGITS[1:]}
NUMBERS |= {"hundred": 100, "thousand": 1000}

FORMATTERS = {"autocorrect": autocorrect_py.format}
"""What writes a language as it is typeset, by the name that its record gives."""


def check_catalogs(locale: Path, docs: Path, glossary: Path) -> list[Problem]:
    """Check the catalogs of each language under ``locale``."""
    found = []
    for code in languages():
        found += _check_language(code, locale / code / "LC_MESSAGES", docs, glossary)
    return found


def _check_language(code: str, messages: Path, docs: Path, glossary: Path) -> list[Problem]:
    """Check every catalog of a language, and then all of them together."""
    terms, found, entries = read_glossary(glossary, code), [], []
    for file in sorted(messages.rglob("*.po")):
        page = file.relative_to(messages).with_suffix("").as_posix()
        is_rst = (docs / f"{page}.rst").exists()
        found += check_catalog(file, is_rst, terms, code)
        if not malformed(file, code):
            entries += [
                Entry(file, page, message.lineno or 0, message.id, message.string, is_rst)
                for message in read_catalog(file)
                if message.id and message.string
            ]
    return found + (check_consistency(entries, docs, terms, code) if entries else [])


def check_catalog(file: Path, is_rst: bool, terms: list[Term], code: str) -> list[Problem]:
    """Check one catalog."""
    if errors := malformed(file, code):
        return errors
    catalog = read_catalog(file)
    for old in catalog.obsolete:
        errors.append(Problem(file, 1, "obsolete: no longer on the page", str(old)))
    for message in catalog:
        if message.id:
            text = str(message.id)
            for what in _defects(message, is_rst, terms, site_of(code)):
                errors.append(Problem(file, message.lineno or 0, what, text))
    return errors


def _defects(
    message: Message, is_rst: bool, terms: list[Term], site: dict[str, Any]
) -> Iterator[str]:
    msgid, msgstr = str(message.id), str(message.string or "")
    if message.fuzzy:
        yield FUZZY
        return
    if not msgstr.strip():
        yield EMPTY
        return
    if msgstr != msgstr.strip():
        yield "leading or trailing white space"
    yield from differences(msgid, msgstr, is_rst)
    yield from _order_defects(msgid, msgstr, is_rst, READ in message.user_comments)
    for mark in HTML.findall(msgstr):
        if mark not in msgid:
            yield f"not in the original: {mark!r}"
    if rule := site.get("gate", {}).get("told_apart"):
        is_meant = re.search(rule["english"], msgid, re.I) and re.search(rule["word"], msgstr)
        if is_meant and not re.search(rule["unless"], msgstr):
            yield rule["what"]
    yield from _text_defects(markup(msgid, is_rst).text, markup(msgstr, is_rst).text, site)
    exempt = {m[1] for comment in message.user_comments if (m := EXEMPTION.match(comment))}
    yield from _term_defects(markup(msgid, is_rst).text, markup(msgstr, is_rst).text, terms, exempt)


def _order_defects(msgid: str, msgstr: str, is_rst: bool, read: bool) -> Iterator[str]:
    kinds = sorted(reordered(msgid, msgstr, is_rst))
    if kinds and not read:
        yield f"{' and '.join(kinds)} in another order: if it is right, write `# {READ}` above it"
    if read and not kinds:
        yield f"the mark `{READ}` is not needed"


def _text_defects(english: str, translation: str, site: dict[str, Any]) -> Iterator[str]:
    gate, letters = site.get("gate", {}), site.get("letters")
    prose = re.search(r"[a-z]{2,} [a-z]{2,}", english.replace(EDGE, ""))
    if prose and letters and not re.search(f"[{letters}]", translation):
        yield "not in the letters of the language"
    for mark in LEFT_OVER.findall(translation):
        if mark not in english:
            yield f"markup shown to the reader: {mark!r}"
    one, other = (Counter(NUMBER.findall(text)) for text in (english, translation))
    if one - other or other - one - _numbers_in_words(english):
        yield f"numbers {sorted(other.elements())} instead of {sorted(one.elements())}"
    if formatter := gate.get("formatter"):
        plain = translation.replace(EDGE, "")
        if (typeset := FORMATTERS[formatter](plain)) != plain:
            yield f"{formatter} writes {typeset!r}"
    for pattern, what in gate.get("wrong", {}).items():
        yield from (f"{what}: {bad!r}" for bad in re.findall(pattern, translation))
    end, own = english.strip()[-1:], translation.strip()[-1:]
    if own not in gate.get("stops", {}).get(end, own):
        yield f"ends in {own!r} where the original ends in {end!r}"


def _term_defects(
    english: str, translation: str, terms: list[Term], exempt: set[str]
) -> Iterator[str]:
    needless, translation = set(exempt), translation.replace(EDGE, "")
    for term, words in terms_in(english, terms):
        if term.never and term.never in translation:
            yield f"{words!r} is never {term.never!r}"
        if not any(word.casefold() in translation.casefold() for word in term.words or ("",)):
            if not {words, words.lower()} & exempt:
                yield f"{words!r} is {' or '.join(term.words)!r} in the glossary"
            needless -= {words, words.lower()}
    for word in sorted(needless):
        yield f"the exemption of {word!r} is not needed"


def _numbers_in_words(english: str) -> Counter[str]:
    """Return the numbers that the English spells out, which a translation may write in digits."""
    words = re.findall("[a-z]+(?:-[a-z]+)?", english.lower())
    values = [NUMBERS.get(word, NUMBERS.get(word.removesuffix("s"))) for word in words]
    return Counter(str(value) for value in values if value is not None)


def update_catalogs(templates: Path, locale: Path) -> None:
    """Merge freshly extracted templates into the catalogs, and drop those of removed pages."""
    if problems := _malformed_ones(locale):
        sys.exit("\n".join(map(str, problems)))
    command = [sys.executable, "-m", "sphinx_intl", "update", "-p", str(templates)]
    command += ["-d", str(locale), "-w", "0", "--no-obsolete"]
    command += [word for code in languages() if code != "en" for word in ("-l", code)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    for code in languages():
        _clean_up(templates, locale / code / "LC_MESSAGES", site_of(code).get("header", ""))


def _malformed_ones(locale: Path) -> list[Problem]:
    files = ((code, file) for code in languages() for file in (locale / code).rglob("*.po"))
    return [problem for code, file in files for problem in malformed(file, code)]


def _clean_up(templates: Path, messages: Path, header: str) -> None:
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
        first = f"# {header}. Licensed as the package, Apache-2.0."
        file.write_text(f'{first}\nmsgid ""{rest}', encoding="utf-8")


def check_current(templates: Path, locale: Path, scratch: Path) -> list[Problem]:
    """Check that merging the templates would change nothing."""
    if _malformed_ones(locale):
        return []  # :func:`check_catalogs` names it
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
