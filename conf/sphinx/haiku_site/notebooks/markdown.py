"""A resolved page as Markdown that a notebook renders: what Sphinx has made of all directives."""

import base64
import html
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator

from docutils import nodes
from haiku_site import SPHINX, compat, features
from haiku_site.features.drawings import SvgDrawing
from haiku_site.features.folds import Fold
from sphinx.locale import admonitionlabels

STYLES = SPHINX / "static/site.css", features.FOLDER / "drawings/drawings.css"
MARKS = ((nodes.strong, "**"), (nodes.emphasis, "*"))

UNSEEN = (nodes.Invisible, nodes.raw)
"""What a notebook does not show: comments, targets, and the HTML of buttons and marks."""

Block = str | nodes.container
"""A block of Markdown, or a code cell as MyST-NB keeps it in the page."""


class Markdown:
    """Writes a page as blocks of Markdown, with its code cells between them.

    Args:
      address: turns the target of a link into an address that works outside of the site; if there
        is none, the link is its text in quotation marks: mostly the title of another page.
    """

    def __init__(self, address: Callable[[str], str | None]) -> None:
        self._address = address
        self.images: dict[str, str] = {}
        """The drawings that the blocks so far show: their data, by the name that a block uses."""

    def blocks(self, parent: nodes.Element, level: int = 0) -> Iterator[Block]:
        """Write what an element holds; ``level`` is that of the heading which it stands under."""
        for node in parent.children:
            if isinstance(node, nodes.Element) and not isinstance(node, UNSEEN):
                yield from self._block(node, level)

    def _block(self, node: nodes.Element, level: int) -> Iterator[Block]:
        if compat.part_of_cell(node) == "cell_code":
            yield node
            yield from (self.inline(caption) for caption in node.findall(nodes.caption))
            for answer in node.findall(Fold):  # of a question; the cell itself has the output
                title, inside = answer["prompt_show"], _text(self.blocks(answer[-1], level))
                yield f"<details><summary>{html.escape(title)}</summary>\n\n{inside}\n\n</details>"
        elif isinstance(node, nodes.section):
            yield from self.blocks(node, level + 1)
        elif isinstance(node, nodes.title) and isinstance(node.parent, nodes.Admonition):
            yield f"**{self.inline(node)}**"
        elif isinstance(node, nodes.title):
            yield f"{'#' * level} {self.inline(node)}"
        elif isinstance(node, nodes.rubric):
            yield f"{'#' * (level + 1)} {self.inline(node)}"
        elif isinstance(node, nodes.bullet_list | nodes.enumerated_list):
            yield "\n".join(self._items(node))
        elif isinstance(node, nodes.definition_list_item):
            term, definition = node.children
            text = f"{self.inline(term)}: {_text(self.blocks(definition, level))}"
            yield "- " + textwrap.indent(text, "  ").lstrip()
        elif isinstance(node, nodes.literal_block):
            yield f"```{node.get('language', '')}\n{node.astext()}\n```"
        elif isinstance(node, nodes.math_block):
            yield f"$$\n{node.astext().strip()}\n$$"
        elif isinstance(node, nodes.Admonition):
            yield _quote(self._admonition(node, level))
        elif isinstance(node, compat.Dropdown):
            title, body = node.children
            inside = _text(self.blocks(body, level))
            yield f"<details><summary>{_as_html(title)}</summary>\n\n{inside}\n\n</details>"
        elif isinstance(node, nodes.table):
            yield "\n".join(self._rows(node))
        elif isinstance(node, SvgDrawing):
            name = f"drawing-{len(self.images) + 1}"
            self.images[name] = svg_address(_standalone(node.translated()))
            yield f"![{_escaped(node.label())}][{name}]"
        elif isinstance(node, nodes.TextElement):
            if text := self.inline(node).strip():
                yield text
        else:  # a figure, or what another extension has wrapped
            yield from self.blocks(node, level)

    def inline(self, parent: nodes.Element, in_table: bool = False) -> str:
        """Write the text of an element, with its marks."""
        written = "".join(self._inline(node) for node in parent.children)
        return written.replace("|", r"\|") if in_table else written

    def _inline(self, node: nodes.Node) -> str:
        if isinstance(node, nodes.Text):
            return _escaped(" ".join(re.split(r"\s*\n\s*", node.astext())))
        if isinstance(node, UNSEEN):
            return ""
        assert isinstance(node, nodes.Element)
        if isinstance(node, nodes.literal):
            return _code(node.astext())
        if isinstance(node, nodes.math):
            return f"${node.astext()}$"
        text = self.inline(node)
        for kind, mark in MARKS:
            if isinstance(node, kind):
                return f"{mark}{text}{mark}"
        if isinstance(node, nodes.reference):
            address = self._address(node.get("refuri") or f"#{node.get('refid')}")
            if address:
                return f"[{text}]({address})"
            return text if text.startswith("`") else f"“{text}”"
        return text

    def _items(self, parent: nodes.Element) -> Iterator[str]:
        for number, item in enumerate(parent.children, parent.get("start", 1)):
            mark = f"{number}. " if isinstance(parent, nodes.enumerated_list) else "- "
            yield mark + textwrap.indent(_text(self.blocks(item)), " " * len(mark)).lstrip()

    def _admonition(self, node: nodes.Element, level: int) -> Iterator[Block]:
        if not isinstance(node.children[0], nodes.title):
            yield f"**{admonitionlabels[node.tagname]}**"
        yield from self.blocks(node, level)

    def _rows(self, table: nodes.table) -> Iterator[str]:
        for number, row in enumerate(table.findall(nodes.row)):
            cells = [
                " ".join(self.inline(block, in_table=True) for block in entry.children)
                for entry in row.children
            ]
            yield f"| {' | '.join(cells)} |"
            if number == 0:
                yield "|" + " --- |" * len(cells)


def _text(blocks: Iterable[Block]) -> str:
    """Join blocks that hold no cell: MyST-NB executes only those at the top of a page."""
    return "\n\n".join(str(block) for block in blocks)


def _quote(blocks: Iterable[Block]) -> str:
    return "\n".join(f"> {line}".rstrip() for line in _text(blocks).splitlines())


def _escaped(text: str) -> str:
    """Escape what would be a mark; an underscore within a word is none."""
    return re.sub(r"[\\`*\[\]<$]|(?<!\w)_|_(?!\w)", r"\\\g<0>", text)


def _code(text: str) -> str:
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if "`" in (text[:1], text[-1:]) else ""
    return f"{fence}{space}{text}{space}{fence}"


def _as_html(node: nodes.Node) -> str:
    """Write a title where a notebook expects HTML."""
    if isinstance(node, nodes.Text):
        return html.escape(node.astext(), quote=False)
    if isinstance(node, UNSEEN):
        return ""
    assert isinstance(node, nodes.Element)
    if isinstance(node, nodes.math):
        return f"${html.escape(node.astext(), quote=False)}$"
    inside = "".join(map(_as_html, node.children))
    tags = {nodes.literal: "code", nodes.strong: "strong", nodes.emphasis: "em"}
    tag = tags.get(type(node))
    return f"<{tag}>{inside}</{tag}>" if tag else inside


def svg_address(svg: str) -> str:
    """Return the address of an image that holds its data."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _standalone(svg: str) -> str:
    """Return a drawing with its size and its styles, which the page supplies on the site."""
    head, rest = svg.split(">", 1)
    width, height = re.findall(r'viewBox="0 0 (\S+) (\S+)"', head)[0]
    return f'{head} width="{width}" height="{height}"><style>{_drawing_styles()}</style>{rest}'


def _drawing_styles() -> str:
    """Return the rules for drawings, with the colours of the light theme in them."""
    styles = "\n".join(file.read_text(encoding="utf-8") for file in STYLES)
    tokens = {"--pst-color-background": "#fdfcfa", "--pst-font-family-monospace": "monospace"}
    for name, value in re.findall(r"(--hs-[\w-]+): *([^;}]+)", styles):
        tokens.setdefault(name, value)  # those of the dark theme come later
    rules = "".join(re.findall(r"^\.hs-drawing [^{]+\{[^}]*\}", styles, re.MULTILINE))
    plate = ".hs-drawing { background: #fdfcfa; font-family: sans-serif; }"
    return re.sub(r"var\((--[\w-]+)\)", lambda found: tokens[found[1]], rules + plate)
