"""Drawings with words: one SVG, which is on each page in the page's language.

```{drawing} pair
The caption.
```

shows ``docs/drawings/pair.svg``. Its label and its words go into the page's catalog like any other
text; words of the class ``code`` are names in code and stay as they are. The drawing has classes
and no colours, so that it follows the page's theme.
"""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from docutils.parsers.rst import directives
from haiku_site import features
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

SVG = "http://www.w3.org/2000/svg"
ElementTree.register_namespace("", SVG)


class SvgDrawing(nodes.General, nodes.Element, addnodes.translatable):
    """An SVG in the page, with the translations of its words."""

    def preserve_original_messages(self) -> None:
        """Nothing to do: the words are kept apart from their translations."""

    def extract_original_messages(self) -> list[str]:
        """Return the English."""
        drawing = ElementTree.fromstring(self["svg"])
        words = [" ".join(element.text.split()) for element in _words(drawing)]
        return [*dict.fromkeys([*_label(drawing), *words])]

    def apply_translated_message(self, original_message: str, translated_message: str) -> None:
        """Keep the translation for the page."""
        self["translations"] = {**self["translations"], original_message: translated_message}

    def label(self) -> str:
        """Return what the drawing shows, in the page's language."""
        label = ElementTree.fromstring(self["svg"]).attrib["aria-label"]
        return str(self["translations"].get(label, label))

    def translated(self) -> str:
        """Return the SVG in the page's language."""
        drawing = ElementTree.fromstring(self["svg"])
        known = self["translations"]
        drawing.set("class", f"hs-drawing {drawing.get('class', '')}".strip())
        if _label(drawing):
            drawing.set("aria-label", self.label())
            drawing.set("role", "img")
        for element in _words(drawing):
            words = " ".join(element.text.split())
            element.text = known.get(words, words)
        return ElementTree.tostring(drawing, encoding="unicode")


def _label(drawing: ElementTree.Element) -> list[str]:
    """Return what the drawing tells, unless it is hidden from those who cannot see it."""
    return [] if "aria-hidden" in drawing.attrib else [drawing.attrib["aria-label"]]


def _words(drawing: ElementTree.Element) -> list[Any]:
    return [
        element
        for element in drawing.iter()
        if element.tag in (f"{{{SVG}}}text", f"{{{SVG}}}tspan")
        if element.text and element.text.strip()
        if "code" not in element.get("class", "").split()
    ]


class Drawing(SphinxDirective):
    """A drawing of ``docs/drawings``, with its caption as the content."""

    required_arguments = 1
    has_content = True
    option_spec = {"class": directives.class_option}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        """Make a figure, or a box if there is no caption."""
        drawing = self._read(self.arguments[0])
        box = nodes.figure("", drawing) if self.content else nodes.container("", drawing)
        box["classes"] += self.options.get("class", [])
        for paragraph in self.parse_content_to_nodes():
            caption = nodes.caption(paragraph.rawsource, "", *paragraph.children)
            caption.source, caption.line = paragraph.source, paragraph.line
            box += caption
        return [box]

    def _read(self, name: str) -> SvgDrawing:
        _relative, file = self.env.relfn2path(f"/drawings/{name}.svg")
        self.env.note_dependency(file)
        drawing = SvgDrawing(svg=Path(file).read_text(encoding="utf-8"), translations={})
        drawing.source, drawing.line = self.get_source_info()
        return drawing


def _visit(translator: Any, node: SvgDrawing) -> None:
    translator.body.append(node.translated())
    raise nodes.SkipNode


def _skip(translator: Any, node: SvgDrawing) -> None:
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_node(SvgDrawing, html=(_visit, None), text=(_skip, None))
    app.add_directive("drawing", Drawing)
    return features.add(app, __file__)
