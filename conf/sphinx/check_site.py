"""Checks of the built site that need no browser: the two languages against each other."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

from cells import skeleton

LOADS = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
LOADING_RELS = {"stylesheet", "preload", "icon", "shortcut icon", "modulepreload"}
PROSE = {"h1", "h2", "h3", "h4", "p", "figcaption", "summary"}
OPAQUE = {"code", "pre", "script", "style", "footer", "nav"}
VOID = {"img", "br", "hr", "input", "link", "meta", "source", "wbr", "col"}


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
        self.prose: list[str] = []
        self._open: list[tuple[str, str]] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect addresses and ids, and see where cells and outputs begin."""
        values = {name: value or "" for name, value in attrs}
        kind = next((k for k in ("cell_input", "cell_output") if k in values.get("class", "")), "")
        if tag not in VOID:
            self._open.append((tag, kind))
        if kind:
            (self.cells if kind == "cell_input" else self.outputs).append("")
        if tag in PROSE:
            self.prose.append("")
        if tag == "html":
            self.language = values.get("lang", "")
        if "id" in values:
            self.ids.append(values["id"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in LOADS and (tag != "link" or values.get("rel") in LOADING_RELS):
            self.loads.append(values.get(LOADS[tag], ""))
        if tag == "img":
            if not values.get("alt"):
                self.no_alt.append(values.get("src", ""))
            if self._inside("cell_output"):
                self.outputs[-1] += f"<img {values.get('src')}>"

    def handle_endtag(self, tag: str) -> None:
        """See where cells and outputs end."""
        while self._open:
            if self._open.pop()[0] == tag:
                break

    def handle_data(self, data: str) -> None:
        """Collect the text of cells and outputs."""
        tags = {tag for tag, _ in self._open}
        if tags & PROSE and "article" in tags and not tags & OPAQUE:
            self.prose[-1] += data
        if self._inside("cell_input"):
            self.cells[-1] += data
        elif self._inside("cell_output") and not self._inside_tag("figcaption"):
            self.outputs[-1] += data

    def _inside(self, kind: str) -> bool:
        return any(kind == k for _, k in self._open)

    def _inside_tag(self, tag: str) -> bool:
        return any(tag == t for t, _ in self._open)


def check_site(site: Path) -> list[str]:
    """Compare the languages page by page, and look for what an offline reader would miss."""
    languages = {"en": "en", "zh_CN": "zh-CN"}
    pages = {
        code: {
            file.relative_to(site / code): Page(file)
            for file in sorted((site / code).rglob("*.html"))
            if "_static" not in file.parts  # pieces of the theme
        }
        for code in languages
    }
    english, chinese = pages["en"], pages["zh_CN"]
    found = [f"{name}: in one language only" for name in sorted(english.keys() ^ chinese.keys())]
    for name in sorted(english.keys() & chinese.keys()):
        found += [f"{name}: {what}" for what in _compare(english[name], chinese[name])]
    for code, tag in languages.items():
        for page in pages[code].values():
            if page.language != tag:
                found.append(f"{page.file}: lang is {page.language!r}, not {tag!r}")
            found += [f"{page.file}: {what}" for what in _offline(page)]
            found += [f"{page.file}: no alt text: {image}" for image in page.no_alt]
    return found + list(_dead_links(site, pages))


def _compare(english: Page, chinese: Page) -> Iterator[str]:
    if sorted(english.ids) != sorted(chinese.ids):
        yield f"ids differ: {sorted(set(english.ids) ^ set(chinese.ids))}"
    if list(map(skeleton, english.cells)) != list(map(skeleton, chinese.cells)):
        yield "the code of the cells differs"
    if english.outputs != chinese.outputs:
        yield "the outputs of the cells differ"
    for text in chinese.prose:
        if re.search(r"[a-z]{2,} [a-z]{2,}", text) and not re.search("[一-鿿]", text):
            yield f"English on the Chinese page: {text!r}"


def _offline(page: Page) -> Iterator[str]:
    for address in page.loads:
        if urlsplit(address).scheme not in ("", "data") or address.startswith("//"):
            yield f"loads from outside: {address}"
        elif address.startswith("/"):
            yield f"does not work under a sub-path: {address}"


def _dead_links(site: Path, pages: dict[str, dict[Path, Page]]) -> Iterator[str]:
    ids = {page.file: set(page.ids) for by_name in pages.values() for page in by_name.values()}
    for by_name in pages.values():
        for page in by_name.values():
            for link in page.links:
                if urlsplit(link).scheme or link.startswith("//"):
                    continue
                address, fragment = urldefrag(link)
                target = (page.file.parent / unquote(address)).resolve() if address else page.file
                if not target.exists():
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
