"""The markup of a message: what a translation must keep, read with the parsers of the pages.

Two messages have equal markup if they hold the same inline code, formulas, roles, links, images,
footnotes and raw HTML, and equally much emphasis. A translation is one paragraph.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import docutils.core
from docutils import nodes
from docutils.frontend import Values, get_default_settings
from docutils.parsers.rst import Parser, roles
from docutils.readers.standalone import Reader
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser
from sphinx.util.docutils import docutils_namespace

MYST_EXTENSIONS = {"dollarmath", "colon_fence", "deflist"}
RST_ROLES = ("class", "func", "meth", "mod", "obj", "attr", "exc", "doc", "ref", "term")


EDGE = "\ue000"
"""Stands in the prose where emphasis or a link begins or ends."""


class Markup(NamedTuple):
    """What was found in a message."""

    inline: list[str]
    """Each piece of inline markup, as it would be described in an error, in order."""

    blocks: list[str]
    """The kinds of the blocks, in order."""

    text: str
    """What a reader reads as prose: code, formulas and roles are an ``x``, edges an ``EDGE``."""


@cache
def markup(message: str, is_rst: bool) -> Markup:
    """Parse a message as part of a reStructuredText page, or else of a MyST page."""
    inline: list[str] = []
    blocks: list[str] = []
    text: list[str] = []
    for kind, value in _parse_rst(message) if is_rst else _parse_myst(message):
        if kind == "text":
            text.append(value)
        elif kind == "block":
            blocks.append(value)
        else:
            inline.append(f"{kind} {value}".strip())
    return Markup(inline, blocks, "".join(text))


def differences(msgid: str, msgstr: str, is_rst: bool) -> Iterator[str]:
    """Yield the differences between the markup of a translation and that of the original."""
    original, translation = markup(msgid, is_rst), markup(msgstr, is_rst)
    pieces, translated = Counter(original.inline), Counter(translation.inline)
    for piece in (pieces - translated).elements():
        yield f"missing: {piece}"
    for piece in (translated - pieces).elements():
        yield f"not in the original: {piece}"
    # Sphinx leaves out, silently, whatever is not a paragraph; a text of the package may have two
    paragraph = "paragraph" if is_rst else "p"
    paragraphs = [paragraph] * (1 + msgid.count("\n\n"))
    if translation.blocks != paragraphs:
        yield f"blocks {' '.join(translation.blocks)} instead of {' '.join(paragraphs)}"


def reordered(msgid: str, msgstr: str, is_rst: bool) -> set[str]:
    """Return the kinds of inline markup whose pieces are all there, in another order."""
    original, translation = markup(msgid, is_rst).inline, markup(msgstr, is_rst).inline
    if Counter(original) != Counter(translation):
        return set()
    kinds = {piece.split()[0] for piece in original}
    return {
        kind
        for kind in kinds
        if [piece for piece in original if piece.startswith(f"{kind} ")]
        != [piece for piece in translation if piece.startswith(f"{kind} ")]
    }


def _target(content: str) -> str:
    """Return what a role points to: ``<target>`` if it is explicit, else all of it."""
    match = re.fullmatch(r".*<([^<>]+)>", content, re.DOTALL)
    return match[1] if match else content


def _parse_myst(message: str) -> Iterator[tuple[str, str]]:
    for token in _myst().parse(message):
        if token.type != "inline":
            if token.nesting >= 0:
                yield "block", token.tag or token.type
            if token.type == "list_item_open" and token.info:
                yield "text", f"{token.info} "
            if token.type in ("fence", "code_block", "math_block", "html_block"):
                yield token.type.replace("_", " "), token.content
            continue
        yield from _myst_inline(token.children or [])


def _myst_inline(tokens: list[Token]) -> Iterator[tuple[str, str]]:
    for token in tokens:
        match token.type:
            case "text":
                yield "text", token.content
            case "footnote_ref":
                yield "footnote", str(token.meta["label"])
                yield "text", "x"
            case "softbreak" | "hardbreak":
                yield "text", "\n"
            case "code_inline":
                yield "code", f"`{token.content}`"
                yield "text", "x"
            case "math_inline":
                yield "formula", f"${token.content}$"
                yield "text", "x"
            case "myst_role":
                yield f"role {token.meta['name']}", _target(token.content)
                yield "text", EDGE if token.meta["name"] == "term" else "x"
            case "link_open":
                yield "link", str(token.attrs["href"])
                yield "text", EDGE
            case "image":
                yield "image", str(token.attrs["src"])
                yield "text", "x"
            case "html_inline":
                yield "raw HTML", token.content
            case "strong_open" | "em_open":
                yield token.tag, ""
                yield "text", EDGE
            case "strong_close" | "em_close" | "link_close":
                yield "text", EDGE


@cache
def _myst() -> MarkdownIt:
    return create_md_parser(MdParserConfig(enable_extensions=MYST_EXTENSIONS), RendererHTML)


def _parse_rst(message: str) -> Iterator[tuple[str, str]]:
    with docutils_namespace():  # docutils knows Sphinx's roles, and forgets them again
        for name in RST_ROLES:
            roles.register_local_role(name, _role)
        document = docutils.core.publish_doctree(message, settings=_rst_settings().copy())
    for node in document.findall():
        match node:
            case nodes.problematic():
                yield "broken markup", node.astext()
            case nodes.inline():
                yield f"role {node['role']}", _target(node.rawsource)
            case nodes.literal():
                yield "code", f"``{node.astext()}``"
            case nodes.math():
                yield "formula", node.astext()
            case nodes.reference():
                yield "link", node.get("refuri", node.astext())
            case nodes.strong() | nodes.emphasis():
                yield node.tagname, ""
            case nodes.Text():
                yield "text", _prose(node)
            case nodes.system_message() | nodes.document() | nodes.target() | nodes.Inline():
                pass
            case nodes.Element():
                yield "block", node.tagname


@cache  # docutils would make them for each message: two thirds of its time
def _rst_settings() -> Values:
    settings = get_default_settings(Parser, Reader)
    settings.report_level = settings.halt_level = 5
    settings.file_insertion_enabled = False
    return settings


def _prose(node: nodes.Text) -> str:
    match node.parent:
        case nodes.literal() | nodes.math() | nodes.inline() | nodes.problematic():
            return "x"
        case nodes.strong() | nodes.emphasis() | nodes.reference():
            return EDGE + node.astext() + EDGE
    return node.astext()


def _role(name, rawtext, text, lineno, inliner, options=None, content=()):  # type: ignore[no-untyped-def]
    """Make an inline node that remembers its role."""
    return [nodes.inline(text, text, role=name)], []
