"""The pages of the site as Markdown for a terminal: they travel with the package.

A page is MyST, and its translation is a catalog of its paragraphs.
"""

import ast
import difflib
import pydoc
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from haiku_state.errors import ArgumentError
from haiku_state.errors.language import deferred as _

PACKAGE = Path(__file__).parents[2]
FENCE = re.compile(r"(`{3,}|:{3,})(?:\{([\w-]+)\}[ \t]*(.*))?")
HIDDEN = ("figure", "image", "toctree", "raw", "tableofcontents")
"""Directives of which a terminal shows nothing."""

TITLED = ("admonition", "card", "dropdown", "grid-item-card", "tab-item")
"""Directives whose argument is a title."""
TAGS = re.compile(r"tags: \[.*(check|answers|choices|harness)")
"""Cells that the site does not show, or not as code."""

WHY_PAGE = _("`python -m haiku_state read` lists all pages")
WHY_ANCHOR = _("the anchor is the heading in lower case, with a dash for each space")


def folder() -> Path:
    """Return where the pages are: in an installed package, or in the tree that it is part of."""
    installed = PACKAGE / "pages"
    return installed if installed.is_dir() else PACKAGE.parent / "docs"


def pages() -> dict[str, str]:
    """Return the title of each page, in English."""
    home = folder()
    files = sorted([*home.rglob("*.md"), *home.rglob("*.rst")])
    found = {file.relative_to(home).with_suffix("").as_posix(): file for file in files}
    return {page: _title(file.read_text("utf-8")) for page, file in found.items()}


def _title(text: str) -> str:
    match = re.search(r"^# (.+)|^(.+)\n===", text, re.MULTILINE)
    return str(match[1] or match[2]) if match else ""


def _documented(text: str) -> str:
    """Return a page of the reference, with the docstrings that the site shows there."""
    room = re.search(r"^\.\. currentmodule:: (\S+)", text, re.MULTILINE)

    def docstring(match: re.Match[str]) -> str:
        name = (
            match[1] if match[1].startswith("haiku_state") or not room else f"{room[1]}.{match[1]}"
        )
        return pydoc.render_doc(name, renderer=pydoc.plaintext)  # type: ignore[attr-defined]

    return re.sub(
        r"^\.\. auto\w+:: ([\w.]+)(?:\(.*\))?(?:\n +:.*)*", docstring, text, flags=re.MULTILINE
    )


def section(address: str, language: str) -> str:
    """Return a page or one section of it, as Markdown.

    Args:
      address: the page as a path in the site, and after ``#`` the anchor of a heading.
      language: the code of the reader's language.

    Raises:
      ArgumentError: if there is no such page, or no such heading.
    """
    page, _hash, anchor = address.partition("#")
    page = re.sub(r"\.(html|md)$", "", page)
    file = folder() / f"{page}.md"
    if file.with_suffix(".rst").is_file():
        return _documented(file.with_suffix(".rst").read_text("utf-8"))
    if not file.is_file():
        raise _unknown("page", page, [*pages()], WHY_PAGE)
    blocks = [*_blocks(file.read_text("utf-8"))]
    if anchor:
        blocks = _below(blocks, anchor)
    known = catalog(page, language)
    return "\n\n".join(text for block in blocks if (text := _shown(block, known)).strip())


def catalog(page: str, language: str) -> dict[str, str]:
    """Return the translation of each paragraph of a page."""
    file = folder() / "locale" / language / "LC_MESSAGES" / f"{page}.po"
    if not file.is_file():
        return {}
    entry = re.compile(r'^msgid (".*"(?:\n".*")*)\nmsgstr (".*"(?:\n".*")*)', re.MULTILINE)
    found = entry.findall(file.read_text("utf-8"))
    return {_literal(english): _literal(other) for english, other in found if english != '""'}


def _literal(lines: str) -> str:
    return "".join(ast.literal_eval(line) for line in lines.split("\n"))


def _unknown(name: str, given: str, known: list[str], why: str) -> ArgumentError:
    close = difflib.get_close_matches(given, known, 1, 0.0)
    return ArgumentError(
        argument=name, value=given, expected=close[0] if close else "", why=why, more="index"
    )


def _blocks(text: str) -> Iterator[str]:
    """Yield what blank lines separate; code with its blank lines is one block."""
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    block: list[str] = []
    end = ""
    for line in text.splitlines():
        fence = FENCE.match(line.strip())
        if end:
            block.append(line)
            if fence and line.strip() == end:
                yield "\n".join(block)
                block, end = [], ""
        elif fence and (fence[1][0] == "`" or fence[2] in HIDDEN) and not block:
            block, end = [line], fence[1]
        elif line.strip() and not fence:
            block.append(line)
        else:
            yield from ("\n".join(block),) if block else ()
            block = []
            if fence and fence[3] and fence[2] in TITLED:
                yield f"**{fence[3]}**"
    yield from ("\n".join(block),) if block else ()


def _level(block: str) -> int:
    match = re.match(r"(#+) ", block)
    return len(match[1]) if match else 0


def _anchors(blocks: list[str]) -> dict[str, int]:
    """Return the place of each heading, by the anchors that MyST and Sphinx make of it."""
    found: dict[str, int] = {}
    for number, block in enumerate(blocks):
        lines = block.splitlines()
        for line in lines:
            if match := re.fullmatch(r"\(([\w-]+)\)=", line):
                found[match[1]] = number
            elif _level(line):
                letters = "".join(c for c in line.lower() if c.isalnum() or c in " -_")
                found[letters.strip().replace(" ", "-")] = number
    return found


def _below(blocks: list[str], anchor: str) -> list[str]:
    anchors = _anchors(blocks)
    if anchor not in anchors:
        raise _unknown("anchor", anchor, [*anchors], WHY_ANCHOR)
    start = anchors[anchor]
    level = max(map(_level, blocks[start].splitlines()), default=0) or 1
    ends = (n for n, block in enumerate(blocks) if n > start and 0 < _level(block.strip()) <= level)
    return blocks[start : next(ends, len(blocks))]


def _shown(block: str, known: dict[str, str]) -> str:
    """Return a block in the reader's language, without what only a site understands."""
    if fence := FENCE.match(block.strip()):
        if fence[2] in HIDDEN or TAGS.search(block):
            return ""
        lines = re.sub(r"\n---\n.*?\n---\n", "\n", block, count=1, flags=re.DOTALL).splitlines()
        lines = [line for line in lines if not re.match(r"\s*:\w[\w-]*:", line)]
        inside = "\n".join(lines[1:-1])
        is_code = fence[2] in (None, "code-cell", "code-block")
        title = [f"**{_translated(fence[3], known)}**"] if fence[2] in TITLED else []
        language = "python" if fence[2] == "code-cell" else lines[0].strip("`: ")
        shown = f"```{language}\n{inside}\n```" if is_code else _prose(inside, known)
        return "\n\n".join([*title, shown])
    lines = [line for line in block.splitlines() if not re.fullmatch(r"\([\w-]+\)=|\+\+\+.*", line)]
    return _prose("\n".join(lines), known)


def _prose(text: str, known: dict[str, str]) -> str:
    """Translate each paragraph and each item of a list."""
    parts = re.split(r"\n(?=\s*(?:[-*] |\d+\. |#+ |\|))", text)
    return "\n".join(_part(part, known) for part in parts)


def _part(part: str, known: dict[str, str]) -> str:
    match = re.match(r"(\s*(?:[-*] |\d+\. |#+ )?)(.*)", part, re.DOTALL)
    lead, words = match.groups() if match else ("", part)
    if words.startswith("|"):
        cells = (_translated(cell.strip(), known) for cell in words.strip("|\n ").split("|"))
        return f"| {' | '.join(cells)} |"
    joined = _translated(" ".join(words.split()), known)
    return f"{lead}{textwrap.fill(joined, 100, break_long_words=False)}" if joined else ""


def _translated(text: str, known: dict[str, str]) -> str:
    shown = known.get(text) or text
    return re.sub(r"\{[\w:-]+\}`([^`<]*?)(?: ?<[^`]*>)?`", r"`\1`", shown)
