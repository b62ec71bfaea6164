"""The glossary: its page, in the order of the reader's language, and its terms in the lessons.

The first time that a lesson uses a term, the term links to its entry. The link carries the meaning,
which ``glossary.js`` shows, and only for the terms of that page. Where the mark of a catalog
says that a word has another meaning (``# glossary: leaves is a verb``), it is not linked.
"""

import csv
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from haiku_site import features
from haiku_site.course import course, link_to, prose
from haiku_site.translate.gate.catalog_files import read_catalog
from haiku_site.translate.gate.catalogs import EXEMPTION
from haiku_site.translate.gate.markup import markup
from haiku_site.translate.gate.terms import Term, read_glossary, terms_in
from haiku_site.translate.languages import Site, sites, translations
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective

PAGE = "reference/glossary"


class Glossary(SphinxDirective):
    """Each row of a table of terms: both names, the sound, the name in code, the meaning."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Make a list of terms, each with an address of its own."""
        _relative, file = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(file)
        with Path(file).open(encoding="utf-8") as stream:
            rows = sorted(csv.DictReader(stream), key=order(sites()[self.config.language]))
        terms = nodes.definition_list(classes=["glossary", "hs-glossary"])
        for row in rows:
            term = nodes.term("", "", *self._names(row), ids=[label(row["english"])])
            meaning = self.parse_text_to_nodes(row["meaning"])
            definition = nodes.definition("", *meaning, self._taught(row["taught"]))
            terms += nodes.definition_list_item("", term, definition)
        return [terms]

    def _names(self, row: dict[str, str]) -> Iterator[nodes.Node]:
        """Yield a term in the language of the page, then in others, then in code."""
        site = sites()[self.config.language]
        others = translations() if site.of.code == "en" else [sites()["en"]]
        for number, each in enumerate([site, *others]):
            if number and row[each.glossary] == row[site.glossary]:
                continue
            name = nodes.inline("", row[each.glossary])
            yield from [nodes.Text(" · "), name] if number else [nodes.strong("", "", name)]
            if sound := row.get(each.sound):
                yield from [nodes.Text(" "), nodes.inline("", sound, classes=["hs-pinyin"])]
        if row["gloss"] not in row["english"]:
            yield from [nodes.Text(" · "), nodes.literal("", row["gloss"])]

    def _taught(self, place: str) -> nodes.paragraph:
        """Link to the section of a lesson that explains a term."""
        docname, _hash, anchor = place.partition("#")
        lessons = course(Path(self.env.srcdir))
        if docname not in lessons:
            raise self.error(f"{docname} is not a lesson")
        self.env.note_dependency(str(self.env.doc2path(docname)))
        text = _("Taught in: ")
        if number := lessons[docname].number:
            text = _("Taught in lesson {number}: ").format(number=number)
        link: list[nodes.Node] = [link_to(docname, self)]
        if anchor:
            [parsed] = self.parse_text_to_nodes(f"[](../{docname}.md#{anchor})")
            link = parsed.children
        taught = nodes.paragraph("", text, *link, classes=["hs-taught"], translatable=False)
        taught["docname"] = docname
        return taught


def order(site: Site) -> Any:
    """Return how rows are sorted: by the alphabet, or syllable by syllable as they sound."""

    def by_letters(row: dict[str, str]) -> str:
        return row[site.glossary].casefold()

    def by_sound(row: dict[str, str]) -> list[tuple[str, int, str]]:
        syllables = row[site.sound].split()
        letters = row[site.glossary] if syllables else ""
        return [
            (*_sound(syllable, site.tones), letter)
            for syllable, letter in zip(syllables, letters, strict=False)
        ] or [(row["english"].casefold(), 0, "")]

    return by_sound if site.sound else by_letters


def _sound(syllable: str, tones: str) -> tuple[str, int]:
    """Split a syllable into its letters and its tone; the light one, without a mark, is last."""
    parts = unicodedata.normalize("NFD" if tones else "NFC", syllable)
    tone = next((tones.index(mark) for mark in parts if mark in tones), len(tones))
    return "".join(mark for mark in parts if mark not in tones), tone


def label(english: str) -> str:
    """Return the anchor of a term."""
    return f"term-{nodes.make_id(english)}"


EVERYDAY = {
    "advance",
    "array",
    "batch",
    "compile",
    "counter",
    "layer",
    "module",
    "process",
    "shape",
}
"""Terms that nobody looks up; the translations keep to them all the same."""


class TermUse(nodes.inline):
    """A term in the prose of a lesson."""


def _mark_terms(app: Sphinx, document: nodes.document, docname: str) -> None:
    """Let the first use of each term in the course know what it means."""
    docs = Path(app.srcdir)
    if app.builder.name != "html" or docname not in course(docs):
        return
    site = sites()[app.config.language]
    other = translations()[0] if site.of.code == "en" else sites()["en"]
    glossary = read_glossary(docs / "glossary.csv", site)
    meanings = _meanings(docs, site.of.code) if site.of.code != "en" else {}
    address = app.builder.get_relative_uri(docname, PAGE)
    others = _other_meanings(docs, docname)
    marked = {name for name, page in first_pages(docs).items() if page != docname} | EVERYDAY
    for paragraph in document.findall(nodes.paragraph):
        # the English that a translation was made of tells which words are terms
        source = markup(paragraph.rawsource, False).text
        exempt = others.get(" ".join(paragraph.rawsource.split()), set())
        terms = [term for term, _words in terms_in(source, glossary)]
        for text in list(paragraph.findall(nodes.Text)):
            if not isinstance(text.parent, nodes.paragraph | nodes.emphasis | nodes.strong):
                continue
            pieces: list[nodes.Node] = []
            end = 0
            for start, stop, term in sorted(
                uses(text, terms, site.of.script), key=lambda use: use[:2]
            ):
                name = term.row["english"]
                if name in marked or text[start:stop].lower() in exempt:
                    continue
                marked.add(name)
                pieces += [nodes.Text(text[end:start])] if start > end else []
                meaning = term.row["meaning"]
                use = TermUse("", text[start:stop], href=f"{address}#{label(name)}")
                use["other"] = term.row[other.glossary]
                use["language"] = other.of.tag
                use["meaning"] = meanings.get(meaning, meaning)
                pieces.append(use)
                end = stop
            if pieces:
                text.parent.replace(text, [*pieces, nodes.Text(text[end:])])


@cache
def first_pages(docs: Path) -> dict[str, str]:
    """Return the page of the course on which each term is first used."""
    glossary = read_glossary(docs / "glossary.csv", sites()["en"])
    found: dict[str, str] = {}
    for docname in course(docs):
        for paragraph in prose(docs / f"{docname}.md").split("\n\n"):
            if not paragraph.startswith(("#", ":", "(", "```")):
                for term, _words in terms_in(markup(paragraph, False).text, glossary):
                    found.setdefault(term.row["english"], docname)
    return found


def uses(text: str, terms: list[Term], script: str) -> Iterator[tuple[int, int, Term]]:
    """Find the terms in a text, the longest first, no word in two of them."""
    found = [(_pattern(term, script), term) for term in terms]
    if script:
        found.sort(key=lambda pair: -max(map(len, pair[1].words)))
    for pattern, term in found:
        for use in pattern.finditer(text):
            start = use.end() - len(re.sub(r"^(?:an?|the|its) ", "", use[0], flags=re.IGNORECASE))
            yield start, use.end(), term
        text = pattern.sub(lambda use: "\0" * len(use[0]), text)


def _pattern(term: Term, script: str) -> re.Pattern[str]:
    words = sorted(term.words, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, words))) if script else term.english


def _other_meanings(docs: Path, docname: str) -> dict[str, set[str]]:
    """Return the words that are no terms, by the paragraph in English."""
    found: dict[str, set[str]] = {}
    for site in translations():
        file = docs / f"locale/{site.of.code}/LC_MESSAGES/{docname}.po"
        for message in read_catalog(file) if file.exists() else ():
            words = [
                match[1].lower() for match in map(EXEMPTION.match, message.user_comments) if match
            ]
            if words:
                found.setdefault(" ".join(str(message.id).split()), set()).update(words)
    return found


@cache
def _meanings(docs: Path, language: str) -> dict[str, str]:
    catalog = read_catalog(docs / f"locale/{language}/LC_MESSAGES/{PAGE}.po")
    return {str(message.id): str(message.string) for message in catalog}


def _name_sections(app: Sphinx, document: nodes.document, docname: str) -> None:
    """Name the sections as their pages do: MyST has kept the English titles."""
    for taught in document.findall(nodes.paragraph) if docname == PAGE else ():
        for link in taught.findall(nodes.reference) if "docname" in taught else ():
            for section in app.env.tocs[taught["docname"]].findall(nodes.reference):
                if section["anchorname"] == f"#{link['refuri'].partition('#')[2]}" != "#":
                    link.children = []
                    link += [title.deepcopy() for title in section]


def _depend(app: Sphinx, document: nodes.document) -> None:
    """Write a lesson again when the glossary changes."""
    docs = Path(app.srcdir)
    if app.env.docname in course(docs):
        app.env.note_dependency(str(docs / "glossary.csv"))
        for site in translations():
            for page in (PAGE, app.env.docname):
                catalog = docs / f"locale/{site.of.code}/LC_MESSAGES/{page}.po"
                app.env.note_dependency(str(catalog))


def _open(translator: Any, node: TermUse) -> None:
    names = {"href": node["href"], "data-other": node["other"], "data-meaning": node["meaning"]}
    names["data-language"] = node["language"]
    translator.body.append(translator.starttag(node, "a", "", CLASS="hs-term", **names))


def _close(translator: Any, node: TermUse) -> None:
    translator.body.append("</a>")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive, the terms of the lessons, and the script that shows a meaning."""
    app.add_directive("bilingual-glossary", Glossary)
    app.add_node(TermUse, html=(_open, _close))
    app.connect("doctree-read", _depend)
    app.connect("doctree-resolved", _mark_terms, priority=900)
    app.connect("doctree-resolved", _name_sections)
    return features.add(app, __file__, 'class="hs-term"')
