"""Each paragraph in the other language too, for readers of one who learn the other.

Both languages of a page come from one source, so that its paragraphs correspond in order. Each
gets a number. What the other language says lies in a script beside the page, which
``static/parallel.js`` loads when a reader asks for it: a page gets no heavier, and a script can be
loaded from a disk, where a page cannot read another one.

A translation that lags behind (see ``lagging.py``) has the English below it without being asked.
"""

import json
import re
from pathlib import Path
from typing import Any

from haiku_site.translate.lagging import LAGS, MISSING
from haiku_site.translate.languages import NAMES
from sphinx.application import Sphinx
from sphinx.locale import _

# docutils never nests one of these in another
BLOCK = re.compile(r"<(p|h[1-6])(?=[\s>])([^>]*)>(.*?)</\1>", re.DOTALL)
ARTICLE = '<article class="bd-article">'
OF_ONE_PAGE = re.compile(r'<a class="headerlink".*?</a>|\sid="[^"]*"', re.DOTALL)
CODE = re.compile(r"<code.*?</code>", re.DOTALL)
DRAWN = re.compile(r'class="[^"]*\b(?:eyebrow|hs-chips)\b')
"""The line above a title, and the lines of chips: a word or two, and identifiers."""

SORTED = {"reference/glossary.html", "genindex.html", "py-modindex.html"}
"""Pages that each language sorts by its own alphabet."""

NOTES = {LAGS: "英文已有改动，这一段译文还没有跟上。英文是：", MISSING: "这一段还没有译文。"}


def pair(site: Path, pages: dict[Path, str]) -> list[str]:
    """Number the paragraphs that differ, and write what the other language says beside each page.

    Args:
      site: the folder with both languages.
      pages: the text of each page, which is changed.

    Returns:
      the pages whose paragraphs do not correspond: in number, in kind, or in their code.
    """
    problems = []
    for page in [page for page in pages if page.is_relative_to(site / "en")]:
        name = page.relative_to(site / "en")
        other = site / "zh_CN" / name
        if name.as_posix() in SORTED or other not in pages:
            continue
        english, chinese = Article(pages[page]), Article(pages[other])
        if english.kinds() != chinese.kinds():
            problems.append(f"{name}: the paragraphs of the two languages do not correspond")
            continue
        differ = [
            number
            for number, texts in enumerate(zip(english.texts(), chinese.texts(), strict=True))
            if texts[0] != texts[1] and not DRAWN.search(english.blocks[number][2])
        ]
        lagging = chinese.lagging()
        for file, here, there in ((page, english, chinese), (other, chinese, english)):
            numbered = [number for number in differ if number not in lagging]
            below = {number: _below(english, number, kind) for number, kind in lagging.items()}
            pages[file] = here.numbered(numbered, below if here is chinese else {})
            texts = there.texts()
            said = json.dumps({number: texts[number] for number in numbered}, ensure_ascii=False)
            if numbered:
                script = file.with_suffix(".other.js")
                script.write_text(f"haikuStateOther({said});\n", encoding="utf-8")
    return problems


class Article:
    """What a page tells, as a sequence of paragraphs and headings."""

    def __init__(self, page: str) -> None:
        start, end = page.find(ARTICLE), page.rfind("</article>")
        self.before, self.after = page[:start], page[end:]
        self.html = page[start:end] if start >= 0 else ""
        self.blocks = list(BLOCK.finditer(self.html))

    def kinds(self) -> list[tuple[str, list[str]]]:
        """Return what corresponds in both languages: each block's tag, and the code in it."""
        return [(block[1], sorted(CODE.findall(block[3]))) for block in self.blocks]

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


def _below(english: Article, number: int, kind: str) -> tuple[str, str]:
    """Return what language a block is in that lags, and what is shown below it."""
    note = f'<p class="hs-lags-note">{NOTES[kind]}</p>'
    text = f'<p lang="en">{english.texts()[number]}</p>' if kind == LAGS else ""
    language = "" if kind == LAGS else ' lang="en"'
    return language, f'<div class="hs-other" translate="no">{note}{text}</div>'


def _page_context(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    [[_name, _short, tag]] = [NAMES[code] for code in NAMES if code != app.config.language]
    context["site_parallel"] = {
        "address": f"{pagename.rpartition('/')[2]}.other.js",
        "tag": tag,
        "label": _("With the Chinese:"),
        "show": _("Show the Chinese"),
        "short": "EN" if tag == "en" else "中",
        "choices": {
            "none": _("not shown"),
            "each": _("on demand"),
            "all": _("whole page"),
        },
    }


def setup(app: Sphinx) -> dict[str, Any]:
    """Supply the texts of the choice, and load the script that shows what was chosen."""
    app.connect("html-page-context", _page_context)
    app.add_js_file("parallel.js", loading_method="defer")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
