"""Formulas, made into HTML by KaTeX when the site is built: the page needs no script for them.

Each is there twice: as MathML, which is spoken and copied, and as what is seen.
"""

import functools
from typing import Any

import dukpy
from docutils import nodes
from haiku_site import SPHINX, features
from sphinx.application import Sphinx
from sphinx.util import logging

KATEX = SPHINX / "katex/katex.min.js"
RENDER = """
katex.renderToString(dukpy.latex, {
    displayMode: dukpy.display, output: "htmlAndMathml", strict: "error", throwOnError: true
})
"""
SCROLLS = " pst-scrollable-table-container"
"""The class by which the theme's script finds what scrolls, and makes it a tab stop."""
logger = logging.getLogger(__name__)


@functools.cache
def _engine() -> dukpy.JSInterpreter:
    engine = dukpy.JSInterpreter()
    engine.evaljs(f"{KATEX.read_text(encoding='utf-8')}; null")
    return engine


@functools.cache
def formula_html(latex: str, display: bool) -> str:
    r"""Return a formula as HTML; lines that end in ``\\`` are aligned at their ``&``.

    Raises:
      dukpy.JSRuntimeError: KaTeX cannot read the formula.
    """
    if display and r"\\" in latex:
        latex = rf"\begin{{aligned}}{latex}\end{{aligned}}"
    return str(_engine().evaljs(RENDER, latex=latex, display=display))


def _visit(translator: Any, node: nodes.math | nodes.math_block) -> None:
    display = isinstance(node, nodes.math_block)
    number = rf"\tag{{{node['number']}}}" if node.get("number") else ""
    try:
        html = formula_html(node.astext() + number, display)
    except dukpy.JSRuntimeError as error:
        reason = next(line for line in str(error).splitlines() if "Error" in line)
        logger.warning("%s", reason, location=node)
        raise nodes.SkipNode from None
    tag = "div" if display else "span"
    kind = f"math notranslate{SCROLLS * display}"
    translator.body.append(translator.starttag(node, tag, "", CLASS=kind))
    translator.body.append(f"{html}</{tag}>")
    raise nodes.SkipNode


def _load_style(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    if 'class="katex' in context.get("body", ""):
        app.add_css_file("katex/katex.min.css")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer, which conf.py chooses, and the style of the pages with formulas."""
    app.add_html_math_renderer(
        "katex", inline_renderers=(_visit, None), block_renderers=(_visit, None)
    )
    app.connect("html-page-context", _load_style)
    return features.add(app, __file__)
