"""What must hold across the catalogs: one translation of a sentence, titles, glosses, terms."""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from haiku_site.content.course import course
from haiku_site.translate.gate.catalog_files import Problem
from haiku_site.translate.gate.markup import EDGE, markup
from haiku_site.translate.gate.terms import Term, terms_in
from haiku_site.translate.languages import site_of


class Entry(NamedTuple):
    """One translated message of a page."""

    file: Path
    page: str
    """As Sphinx names it: ``haiku/batch_norm``."""

    line: int
    english: str
    translation: str
    is_rst: bool

    def problem(self, what: str) -> Problem:
        """Name a defect of this message."""
        return Problem(self.file, self.line, what, self.english)


def check_consistency(
    entries: list[Entry], docs: Path, glossary: list[Term], code: str
) -> list[Problem]:
    """Check the messages of all catalogs of a language against each other."""
    gate = site_of(code).get("gate", {})
    return [
        *_two_translations(entries),
        *_links_without_title(entries, gate.get("lesson", "lesson")),
        *(_missing_glosses(entries, docs, glossary, gate) if "gloss" in gate else ()),
        *_idle_rows(entries, docs / "glossary.csv", glossary),
    ]


def _two_translations(entries: list[Entry]) -> Iterator[Problem]:
    first: dict[str, Entry] = {}
    for entry in entries:
        before = first.setdefault(entry.english, entry)
        if entry.translation != before.translation:
            yield entry.problem(f"{before.file}:{before.line} has {before.translation!r}")


def _links_without_title(entries: list[Entry], lesson: str) -> Iterator[Problem]:
    """Where the text of a link is the title of its page, that of the translation is its title."""

    def plain(title: str) -> str:
        """Return a title without its number and article, as a link to it is written."""
        return re.sub(rf"^(?:lesson \d+: |{lesson})?(?:the |an? )?", "", title.casefold())

    titles: dict[str, Entry] = {}
    for entry in entries:
        titles.setdefault(entry.page, entry)  # a catalog begins with the title
    for entry in entries:
        if entry.is_rst:
            continue
        translated = dict(_links(entry.translation))
        for target, text in _links(entry.english):
            title = titles.get(_page(entry.page, target))
            if title and plain(text) == plain(title.english):
                expected = plain(title.translation)
                if expected not in plain(translated.get(target, expected)):
                    yield entry.problem(f"the title of {target} is {expected!r}")


def _links(message: str) -> list[tuple[str, str]]:
    """Return the target and the text of each link to a page: ``[text](../part/page.md#place)``."""
    found = re.findall(r"\[([^\]]*)\]\(([^)\s]+\.(?:md|rst)(?:#[^)]*)?)\)", message)
    return [(target, text) for text, target in found]


def _page(page: str, target: str) -> str:
    """Return the name of the page that a link leads to."""
    path = posixpath.join(posixpath.dirname(page), target.partition("#")[0])
    return posixpath.splitext(posixpath.normpath(path))[0]


def _missing_glosses(
    entries: list[Entry], docs: Path, glossary: list[Term], gate: dict[str, str]
) -> Iterator[Problem]:
    """The first sentence of the course with a term has its gloss behind; a heading has no room."""
    wanted = {term.line for term in glossary if term.gloss}
    by_page: dict[str, list[Entry]] = {}
    for entry in entries:
        by_page.setdefault(entry.page, []).append(entry)
    for page in course(docs):
        for entry in by_page.get(page, []):
            if entry.english[-1] not in ".:?!":
                continue
            english = markup(entry.english, entry.is_rst).text
            translation = markup(entry.translation, entry.is_rst).text.replace(EDGE, "")
            for term, words in terms_in(english, glossary):
                if term.line not in wanted:
                    continue
                wanted.remove(term.line)
                # a further word may follow in the brackets: 批归一化（batch normalization，又译……）
                shown = [gate["gloss"].format(word=word, gloss=term.gloss) for word in term.words]
                glosses = "|".join(f"{re.escape(one[:-1])}[，{one[-1]}]" for one in shown)
                if shown and not re.search(glosses, translation):
                    first = f"the first {words!r} of the course"
                    yield entry.problem(f"{first} has no {shown[0]}")


def _idle_rows(entries: list[Entry], file: Path, glossary: list[Term]) -> Iterator[Problem]:
    idle = {term.line for term in glossary}
    for entry in entries:
        if entry.page != "reference/glossary":
            text = markup(entry.english, entry.is_rst).text
            idle -= {term.line for term, _ in terms_in(text, glossary)}
    rows = file.read_text(encoding="utf-8").split("\n")
    for line in sorted(idle):
        yield Problem(file, line, "no message has this term", rows[line - 1])
