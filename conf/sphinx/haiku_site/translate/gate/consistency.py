"""What must hold across the catalogs: one translation of a sentence, titles, glosses, terms."""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from haiku_site.course import course
from haiku_site.translate.gate.catalog_files import Problem
from haiku_site.translate.gate.markup import EDGE, markup
from haiku_site.translate.gate.terms import Term, terms_in
from haiku_site.translate.languages import Site, sites


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
    entries: list[Entry], docs: Path, glossary: list[Term], site: Site
) -> list[Problem]:
    """Check the messages of all catalogs against each other."""
    return [
        *_two_translations(entries),
        *_links_without_title(entries),
        *_missing_glosses(entries, docs, glossary, *site.brackets),
        *_idle_rows(entries, docs / "glossary.csv", glossary),
    ]


def _two_translations(entries: list[Entry]) -> Iterator[Problem]:
    first: dict[str, Entry] = {}
    for entry in entries:
        before = first.setdefault(entry.english, entry)
        if entry.translation != before.translation:
            yield entry.problem(f"{before.file}:{before.line} has {before.translation!r}")


def _links_without_title(entries: list[Entry]) -> Iterator[Problem]:
    """Where the English text of a link is its page's title, the translation has that too."""
    titles: dict[str, Entry] = {}
    for entry in entries:
        titles.setdefault(entry.page, entry)  # a catalog begins with the title
    for entry in entries:
        if entry.is_rst:
            continue
        translated = dict(_links(entry.translation))
        for target, text in _links(entry.english):
            title = titles.get(_page(entry.page, target))
            if title and _plain(text) == _plain(title.english):
                expected = _plain(title.translation)
                if expected not in _plain(translated.get(target, expected)):
                    yield entry.problem(f"the title of {target} is {expected!r}")


def _links(message: str) -> list[tuple[str, str]]:
    """Return the target and the text of each link to a page: ``[text](../part/page.md#place)``."""
    found = re.findall(r"\[([^\]]*)\]\(([^)\s]+\.(?:md|rst)(?:#[^)]*)?)\)", message)
    return [(target, text) for text, target in found]


def _page(page: str, target: str) -> str:
    """Return the name of the page that a link leads to."""
    path = posixpath.join(posixpath.dirname(page), target.partition("#")[0])
    return posixpath.splitext(posixpath.normpath(path))[0]


def _plain(title: str) -> str:
    """Return a title without its number and article, as a link to it is written."""
    prefixes = "|".join(site.title_prefix for site in sites().values() if site.title_prefix)
    return re.sub(rf"^(?:{prefixes})?(?:the |an? )?", "", title.casefold())


def _missing_glosses(
    entries: list[Entry], docs: Path, glossary: list[Term], opens: str, ends: str
) -> Iterator[Problem]:
    """The first sentence of the course with a term has ``word (gloss)``; a heading has no room."""
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
                # a further word may follow in the brackets
                shown = [f"{word}{opens}{term.gloss}" for word in term.words]
                if not any(re.search(re.escape(text) + ends, translation) for text in shown):
                    first = f"the first {words!r} of the course"
                    yield entry.problem(f"{first} has no {shown[0]}{ends[-2]}")


def _idle_rows(entries: list[Entry], file: Path, glossary: list[Term]) -> Iterator[Problem]:
    idle = {term.line for term in glossary}
    for entry in entries:
        if entry.page != "reference/glossary":
            text = markup(entry.english, entry.is_rst).text
            idle -= {term.line for term, _ in terms_in(text, glossary)}
    rows = file.read_text(encoding="utf-8").split("\n")
    for line in sorted(idle):
        yield Problem(file, line, "no message has this term", rows[line - 1])
