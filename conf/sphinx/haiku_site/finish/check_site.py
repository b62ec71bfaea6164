"""Checks of the built site that need no browser: the two languages against each other."""

import functools
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urldefrag, urlsplit

from haiku_site.translate.cells import skeleton
from haiku_site.translate.gate.catalog_files import read_catalog
from haiku_site.translate.lagging import LAGS, MISSING
from haiku_site.translate.languages import Site, sites, translations

LOADS = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
LOADING_RELS = {"stylesheet", "preload", "icon", "shortcut icon", "modulepreload"}
INLINE = {"a", "abbr", "b", "cite", "em", "i", "kbd", "small", "span", "strong", "sub", "sup"}
SILENT = {
    "code",
    "samp",
    "pre",
    "script",
    "style",
    "template",
    "math",
    "sig",
    "notranslate",
}  # tags and classes
TEXT_ATTRIBUTES = ("alt", "title", "aria-label", "placeholder")
VOID = {"area", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}

# what a translated page has in Latin letters: names, and those of code, as haiku_state.Counter
NAMES = {"English", "EnglishEN", "Ctrl+K", "Haiku", "JAX", "Python", "PyTree", "BatchNorm", "dtype"}
NAMES |= {"jax", "dm-haiku", "optax", "numpy", "orbax-checkpoint", "flax", "equinox", "cuthbert"}
NAMES |= {"Flax NNX", "Equinox", "carry", "Linux", "Linux,", "GPU", "macOS", "Windows"}
OF_CODE = re.compile(r"\w+([._]\w+)+|([A-Z][a-z]+){2,}")
GENERATED = "genindex.html"  # Sphinx's own: it says "module" in every language


class Open(NamedTuple):
    """An element that has begun and not ended, and where text in it belongs."""

    tag: str
    part: str
    """``cell_input`` or ``cell_output`` if it is in one."""

    silent: bool
    """It is in code, in a cell, or in English on all pages: nothing in it is prose to check."""

    piece: int
    """The index of its piece of prose: that of its paragraph, if it is in one."""

    hidden: bool = False
    """It is in the other language, which the page does not show."""


class Page(HTMLParser):
    """What a built page consists of, as far as the checks look at it."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file, self.language = file, ""
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.cells: list[str] = []
        self.outputs: list[str] = []
        self.no_alt: list[str] = []
        self.not_closed: list[str] = []
        self.blocked: list[str] = []
        self.lags = False
        self._pieces: list[str] = [""]
        self._open = [Open("", "", False, 0)]
        self.feed(file.read_text(encoding="utf-8"))

    @property
    def prose(self) -> list[str]:
        """Each piece of prose: the text of a block, or of an attribute that is read aloud."""
        return [" ".join(piece.split()) for piece in self._pieces if piece.strip()]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect addresses, ids and texts of attributes, and see where the element's text goes."""
        values = {name: value or "" for name, value in attrs}
        element = self._begin(tag, values.get("class", "").split())
        if tag == "html":
            self.language = values.get("lang", "")
        other = values.get("lang", self.language) != self.language
        element = element._replace(
            hidden=other or self._open[-1].hidden,
            silent=element.silent or values.get("translate") == "no",
        )
        if not element.hidden:
            self._pieces += [values[name] for name in TEXT_ATTRIBUTES if name in values]
        if tag not in VOID:
            self._open.append(element)
        self.lags |= not {LAGS, MISSING}.isdisjoint(values.get("class", "").split())
        if "id" in values:
            self.ids.append(values["id"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in LOADS and (tag != "link" or values.get("rel") in LOADING_RELS):
            self.loads.append(values.get(LOADS[tag], values.get("data-src", "")))
        self.blocked += [f"<{tag} {name}=…>" for name in values if name.startswith("on")]
        if tag == "img":
            if not values.get("alt"):
                self.no_alt.append(values.get("src", ""))
            if element.part == "cell_output":
                self.outputs[-1] += f"<img {values.get('src')}>"

    def _begin(self, tag: str, classes: list[str]) -> Open:
        """Return what an element is within those that are open."""
        _, part, silent, piece, _ = self._open[-1]
        for name, texts in (("cell_input", self.cells), ("cell_output", self.outputs)):
            if name in classes:
                part, silent = name, True
                texts.append("")
        if tag == "figcaption":  # of a plot: prose again
            part, silent = "", False
        if tag not in INLINE | SILENT:
            piece = len(self._pieces)
            self._pieces.append("")
        return Open(tag, part, silent or not SILENT.isdisjoint([tag, *classes]), piece)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin and end ``<path />``, but ``<img />`` has no end to look for."""
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        """End the innermost element, which must be this one: text would go astray otherwise."""
        if self._open[-1].tag == tag:
            self._open.pop()
        else:
            self.not_closed.append(f"line {self.getpos()[0]}: </{tag}> ends <{self._open[-1].tag}>")

    def handle_data(self, data: str) -> None:
        """Collect the text of cells, outputs and prose."""
        element = self._open[-1]
        if element.part == "cell_input":
            self.cells[-1] += data
        elif element.part == "cell_output":
            self.outputs[-1] += data
        if not element.silent:
            self._pieces[element.piece] += data


def check_site(site: Path, locale: Path) -> list[str]:
    """Compare the languages page by page, and look for what a reader would miss.

    Each translation in ``locale`` must be found on its page: so an English paragraph in its place
    is seen, and a paragraph that was not read.
    """
    pages = {
        code: {
            file.relative_to(site / code): Page(file)
            for file in sorted((site / code).rglob("*.html"))
            if "_static" not in file.parts  # pieces of the theme
        }
        for code in sites()
    }
    found = []
    for other in translations():
        english, translated = pages["en"], pages[other.of.code]
        only = sorted(english.keys() ^ translated.keys())
        found += [f"{name}: in one language only" for name in only]
        for name in sorted(english.keys() & translated.keys()):
            compared = _compare(english[name], translated[name], other)
            found += [f"{name}: {what}" for what in compared]
        messages = locale / other.of.code / "LC_MESSAGES"
        for catalog in sorted(messages.rglob("*.po")):
            name = catalog.relative_to(messages).with_suffix(".html")
            if name in translated:
                not_shown = _not_shown(catalog, translated[name], other)
                found += [f"{catalog}:{what}" for what in not_shown]
    for code, language in sites().items():
        for page in pages[code].values():
            if page.language != language.of.tag:
                found.append(f"{page.file}: lang is {page.language!r}, not {language.of.tag!r}")
            found += [f"{page.file}: {what}" for what in _offline(page)]
            found += [f"{page.file}: no alt text: {image}" for image in page.no_alt]
            found += [f"{page.file}: {what}" for what in page.not_closed]
            found += [f"{page.file}: the policy blocks {what}" for what in page.blocked]
    if not any(page.cells for page in pages["en"].values()):
        found.append("no code of a cell was found on any page, so none was compared")
    return found + list(_dead_links(site, pages))


def _compare(english: Page, translated: Page, site: Site) -> Iterator[str]:
    if sorted(english.ids) != sorted(translated.ids):
        yield f"ids differ: {sorted(set(english.ids) ^ set(translated.ids))}"
    if list(map(skeleton, english.cells)) != list(map(skeleton, translated.cells)):
        yield "the code of the cells differs"
    if english.outputs != translated.outputs:
        yield "the outputs of the cells differ"
    if translated.lags:  # it says so itself, and shows the English
        return
    pieces = len(english.prose), len(translated.prose)
    if pieces[0] != pieces[1]:
        yield f"{pieces[1]} pieces of prose, and {pieces[0]} in English"
    for text in translated.prose:
        if english.file.name != GENERATED and _is_english(text, site.of.script):
            yield f"English on the {site.of.english_name} page: {text!r}"


def _is_english(text: str, script: str) -> bool:
    """Return whether a text has nothing of a script, but a word that is not a name."""
    name = text.rstrip("#")  # a heading ends in its link, #
    if not script or re.search(f"[{script}]", text) or name in NAMES:
        return False
    words = [word for word in text.split() if word not in NAMES and not OF_CODE.fullmatch(word)]
    return any(re.search("[a-z]{2,}", word) for word in words if not re.search("[0-9]", word))


def _not_shown(catalog: Path, page: Page, site: Site) -> Iterator[str]:
    """Look on the page for the longest run of letters of each message: no markup is in it."""
    shown = "\n".join(["".join(piece.split()) for piece in page.prose + page.cells])
    for message in read_catalog(catalog):
        runs = re.findall(f"[{site.of.script}{site.not_at_line_start}]+", str(message.string))
        if message.id and runs and (longest := max(runs, key=len)) not in shown:
            yield f"{message.lineno}: not shown on {page.file}: {longest!r}"


def _offline(page: Page) -> Iterator[str]:
    for address in page.loads:
        if urlsplit(address).scheme not in ("", "data") or address.startswith("//"):
            yield f"loads from outside: {address}"
        elif address.startswith("/"):
            yield f"does not work under a sub-path: {address}"
        elif not (urlsplit(address).scheme or (page.file.parent / _path(address)).exists()):
            yield f"loads what is not there: {address}"


def _path(address: str) -> str:
    return unquote(urlsplit(address).path)


def _dead_links(site: Path, pages: dict[str, dict[Path, Page]]) -> Iterator[str]:
    ids = {page.file: set(page.ids) for by_name in pages.values() for page in by_name.values()}

    @functools.cache  # a page's sidebar has the addresses of all others
    def find(folder: Path, address: str) -> Path | None:
        file = (folder / unquote(address)).resolve()
        return file if file.exists() else None

    for by_name in pages.values():
        for page in by_name.values():
            for link in page.links:
                if urlsplit(link).scheme or link.startswith("//"):
                    continue
                address, fragment = urldefrag(link)
                target = find(page.file.parent, address) if address else page.file
                if not target:
                    yield f"{page.file}: dead link: {link}"
                elif target in ids and fragment and unquote(fragment) not in ids[target]:
                    yield f"{page.file}: dead anchor: {link}"


def check_styles(site: Path) -> list[str]:
    """Look for style sheets that load from outside."""
    return [
        f"{file}: loads from outside: {address}"
        for file in sorted(site.rglob("*.css"))
        for address in re.findall(
            r"(?:url\(|@import )\s*[\"']?((?:https?:)?//[^\"')]+)", _text(file)
        )
    ]


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")
