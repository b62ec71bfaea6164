"""The translation gate: every message translated, and every translation sound.

Sphinx shows English, or broken markup, for a translation that is missing, fuzzy or badly written,
mostly silently. The gate reads the catalogs themselves and names file, line and message.
"""

import importlib
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from babel.messages.catalog import Message
from haiku_site.translate.gate.catalog_files import Problem, malformed, read_catalog
from haiku_site.translate.gate.consistency import Entry, check_consistency
from haiku_site.translate.gate.markup import EDGE, differences, markup, reordered
from haiku_site.translate.gate.terms import Term, read_glossary, terms_in
from haiku_site.translate.languages import Site, sites

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


def check_catalogs(locale: Path, docs: Path, glossary: Path) -> list[Problem]:
    """Check every catalog under ``locale``, and then all those of a language together."""
    return [
        problem
        for folder in sorted(locale.iterdir())
        for problem in _check_language(folder, docs, glossary)
    ]


def check_package(locale: Path, glossary: Path) -> list[Problem]:
    """Check the catalogs of what the package itself says, one for each language."""
    return [
        problem
        for file in sorted(locale.glob("*/LC_MESSAGES/haiku_state.po"))
        for site in [sites()[file.parts[-3]]]
        for problem in check_catalog(file, False, read_glossary(glossary, site), site)
    ]


def _check_language(folder: Path, docs: Path, glossary: Path) -> list[Problem]:
    site = sites()[folder.name]
    terms, found, entries = read_glossary(glossary, site), [], []
    for file in sorted(folder.rglob("*.po")):
        page = file.relative_to(folder / "LC_MESSAGES").with_suffix("").as_posix()
        is_rst = (docs / f"{page}.rst").exists()
        found += check_catalog(file, is_rst, terms, site)
        if not malformed(file, site):
            entries += [
                Entry(file, page, message.lineno or 0, message.id, message.string, is_rst)
                for message in read_catalog(file)
                if message.id and message.string
            ]
    return found + check_consistency(entries, docs, terms, site)


def check_catalog(file: Path, is_rst: bool, terms: list[Term], site: Site) -> list[Problem]:
    """Check one catalog."""
    if errors := malformed(file, site):
        return errors
    catalog = read_catalog(file)
    for old in catalog.obsolete:
        errors.append(Problem(file, 1, "obsolete: no longer on the page", str(old)))
    for message in catalog:
        if message.id:
            text = str(message.id)
            for what in _defects(message, is_rst, terms, site):
                errors.append(Problem(file, message.lineno or 0, what, text))
    return errors


def _defects(message: Message, is_rst: bool, terms: list[Term], site: Site) -> Iterator[str]:
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
    for rule in site.word_rules:
        is_said = re.search(rule["english"], msgid, re.IGNORECASE)
        is_wrong = re.search(rule["translation"], msgstr)
        if is_said and is_wrong and not re.search(rule["unless"], msgstr):
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


def _text_defects(english: str, translated: str, site: Site) -> Iterator[str]:
    prose = re.search(r"[a-z]{2,} [a-z]{2,}", english.replace(EDGE, ""))
    if prose and not re.search(f"[{site.of.script or 'a-z'}]", translated):
        yield f"not in {site.of.english_name}"
    for mark in LEFT_OVER.findall(translated):
        if mark not in english:
            yield f"markup shown to the reader: {mark!r}"
    original, translation = (Counter(NUMBER.findall(text)) for text in (english, translated))
    if original - translation or translation - original - _numbers_in_words(english):
        yield f"numbers {sorted(translation.elements())} instead of {sorted(original.elements())}"
    if site.formatter:
        plain = translated.replace(EDGE, "")
        if (typeset := importlib.import_module(site.formatter).format(plain)) != plain:
            yield f"{site.formatter.removesuffix('_py')} writes {typeset!r}"
    for pattern, what in site.rules.items():  # what the formatter does not catch
        for bad in re.findall(pattern.replace("{script}", site.of.script), translated):
            yield f"{what}: {bad!r}"
    end = english.strip()[-1:]
    if end in site.full_stops and translated.strip()[-1:] not in site.full_stops[end]:
        yield f"ends in {translated.strip()[-1:]!r} where the original ends in {end!r}"


def _term_defects(
    english: str, translated: str, terms: list[Term], exempt: set[str]
) -> Iterator[str]:
    needless, translated = set(exempt), translated.replace(EDGE, "")
    for term, words in terms_in(english, terms):
        if term.never and term.never in translated:
            yield f"{words!r} is never {term.never!r}"
        if not any(word.casefold() in translated.casefold() for word in term.words):
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


def update_catalogs(templates: Path, locale: Path, names: Iterable[str] = ()) -> None:
    """Merge freshly extracted templates into the catalogs, and drop those of removed pages.

    With names of pages, only their catalogs change.
    """
    if problems := _malformed(locale):
        sys.exit("\n".join(map(str, problems)))
    codes = [folder.name for folder in sorted(locale.iterdir())]
    command = [sys.executable, "-m", "sphinx_intl", "update", "-p", str(templates)]
    command += ["-d", str(locale), "-w", "0", "--no-obsolete", *(f"-l{code}" for code in codes)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    for code in codes:
        messages = locale / code / "LC_MESSAGES"
        files = [messages / f"{name}.po" for name in names] or list(messages.rglob("*.po"))
        _tidy(templates, messages, files, sites()[code].header)


def _malformed(locale: Path) -> list[Problem]:
    return [
        problem
        for folder in sorted(locale.iterdir())
        for file in sorted(folder.rglob("*.po"))
        for problem in malformed(file, sites()[folder.name])
    ]


def _tidy(templates: Path, messages: Path, files: list[Path], header: str) -> None:
    """Drop the catalogs of pages that are gone, and what ``sphinx-intl`` writes at their head."""
    for file in files:
        template = templates / file.relative_to(messages).with_suffix(".pot")
        if not template.exists() and file.name != "sphinx.po":
            file.unlink()
            continue
        if file.name == "sphinx.po":
            continue
        # a new catalog's header marks itself as fuzzy, with placeholders for its authors
        text = file.read_text(encoding="utf-8")
        rest = text.split('msgid ""', 1)[1]
        file.write_text(f'{header}\nmsgid ""{rest}', encoding="utf-8")


def check_current(templates: Path, locale: Path, scratch: Path) -> list[Problem]:
    """Check that merging the templates would change nothing."""
    if _malformed(locale):
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
