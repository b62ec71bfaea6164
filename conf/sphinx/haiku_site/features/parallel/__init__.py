"""Each paragraph in another language too, for readers of one who learn the other.

All languages of a page come from one source, so that its paragraphs correspond in order. Each
gets a number. What another language says lies in a script beside the page, which
``parallel.js`` loads when a reader asks for it: a page gets no heavier, and a script can be
loaded from a disk, where a page cannot read another one.

A translation that lags behind (see ``lagging.py``) has the English below it without being asked.
"""

import json
import re
from pathlib import Path
from typing import Any

from haiku_site import features
from haiku_site.translate.lagging import LAGS, MISSING
from haiku_site.translate.languages import Site, sites, translations
from sphinx.application import Sphinx
from sphinx.locale import _

# docutils never nests one of these in another
BLOCK = re.compile(r"<(p|h[1-6])(?=[\s>])([^>]*)>(.*?)</\1>", re.DOTALL)
ARTICLE = '<article class="bd-article">'
OF_ONE_PAGE = re.compile(r'<a class="headerlink".*?</a>|\sid="[^"]*"', re.DOTALL)
CODE = re.compile(r"<code.*?</code>", re.DOTALL)
DRAWN = re.compile(r'class="[^"]*\beyebrow\b')
"""The line above a title: a word or two."""

SORTED = {"reference/glossary.html", "genindex.html", "py-modindex.html"}
"""Pages that each language sorts by its own alphabet."""


def pair(site: Path, pages: dict[Path, str]) -> list[str]:
    """Number the paragraphs that differ, and write what another language says beside each page.

    Args:
      site: the folder with all languages.
      pages: the text of each page, which is changed.

    Returns:
      the pages whose paragraphs do not correspond: in number, in kind, or in their code.
    """
    problems = []
    for page in [page for page in pages if page.is_relative_to(site / "en")]:
        name = page.relative_to(site / "en")
        if name.as_posix() in SORTED:
            continue
        english, paired = Article(pages[page]), set()
        for other in translations():
            file = site / other.of.code / name
            if file not in pages:
                continue
            translated = Article(pages[file])
            if english.kinds() != translated.kinds():
                languages = f"English and {other.of.english_name}"
                problems.append(f"{name}: the paragraphs of {languages} do not correspond")
                continue
            lagging = translated.lagging()
            numbers = [
                number
                for number, texts in enumerate(
                    zip(english.texts(), translated.texts(), strict=True)
                )
                if texts[0] != texts[1] and number not in lagging
                if not DRAWN.search(english.blocks[number][2])
            ]
            below = {number: _below(english, number, lagging[number], other) for number in lagging}
            pages[file] = translated.numbered(numbers, below)
            paired.update(numbers)
            _write(page, other.of.code, translated, numbers)
            _write(file, "en", english, numbers)
        pages[page] = english.numbered(sorted(paired), {})
    return problems


def _write(page: Path, code: str, said: "Article", numbers: list[int]) -> None:
    """Write what another language says beside a page."""
    texts = said.texts()
    by_number = json.dumps({number: texts[number] for number in numbers}, ensure_ascii=False)
    if numbers:
        script = page.with_suffix(f".other.{code}.js")
        script.write_text(f"haikuStateOther({by_number});\n", encoding="utf-8")


class Article:
    """What a page tells, as a sequence of paragraphs and headings."""

    def __init__(self, page: str) -> None:
        start, end = page.find(ARTICLE), page.rfind("</article>")
        self.before, self.after = page[:start], page[end:]
        self.html = page[start:end] if start >= 0 else ""
        self.blocks = list(BLOCK.finditer(self.html))

    def kinds(self) -> list[tuple[str, list[str]]]:
        """Return what corresponds in all languages: each block's tag, and the code in it."""
        # a line of a docstring may end within code
        texts = [" ".join(block[3].split()) for block in self.blocks]
        return [
            (block[1], sorted(CODE.findall(text)))
            for block, text in zip(self.blocks, texts, strict=True)
        ]

    def texts(self) -> list[str]:
        """Return what each block says, without what may be on one page once only."""
        return [OF_ONE_PAGE.sub("", block[3]) for block in self.blocks]

    def lagging(self) -> dict[int, str]:
        """Return the blocks whose translation lags, and how."""
        return {
            number: kind
            for number, block in enumerate(self.blocks)
            for kind in (LAGS, MISSING)
            if re.search(rf'class="[^"]*\b{kind}\b', block[2])
        }

    def numbered(self, numbers: list[int], below: dict[int, tuple[str, str]]) -> str:
        """Return the page with the number of some blocks, and what is shown below others."""
        pieces, end = [self.before], 0
        for number, block in enumerate(self.blocks):
            if number in numbers:
                attribute, after = f' data-pair="{number}"', ""
            elif number in below:
                attribute, after = below[number]
            else:
                continue
            at, here = block.end(2), block.end()
            pieces += [self.html[end:at], attribute, self.html[at:here], after]
            end = here
        return "".join([*pieces, self.html[end:], self.after])


def _below(english: Article, number: int, kind: str, site: Site) -> tuple[str, str]:
    """Return what language a block is in that lags, and what is shown below it."""
    note = f'<p class="hs-lags-note">{site.lags if kind == LAGS else site.missing}</p>'
    text = f'<p lang="en">{english.texts()[number]}</p>' if kind == LAGS else ""
    language = "" if kind == LAGS else ' lang="en"'
    return language, f'<div class="hs-other" translate="no">{note}{text}</div>'


def _page_context(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    here = app.config.language
    others = translations() if here == "en" else [sites()["en"]]
    stem = pagename.rpartition("/")[2]
    one = f"the {others[0].of.english_name}" if len(others) == 1 else "another language"
    context["site_parallel"] = {
        "menu": _("Both languages on this page"),
        "label": _("With the English:") if here != "en" else f"With {one}:",
        "languages": [
            {
                "address": f"{stem}.other.{site.of.code}.js",
                "tag": site.of.tag,
                "name": site.of.name,
                "mark": site.mark,
                "show": _("Show the English")
                if here != "en"
                else f"Show the {site.of.english_name}",
            }
            for site in others
        ],
        "choices": {
            "none": _("not shown"),
            "each": _("on demand"),
            "all": _("whole page"),
        },
    }


def setup(app: Sphinx) -> dict[str, Any]:
    """Supply the texts of the choice."""
    app.connect("html-page-context", _page_context)
    return features.add(app, __file__)
