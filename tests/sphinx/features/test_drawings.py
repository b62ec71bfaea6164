"""Drawings: their words are translated, and they follow the page's theme and width."""

import re
from xml.etree import ElementTree

import pytest
from haiku_site.features.drawings import SVG, SvgDrawing
from support.lesson_cells import DOCS

DRAWINGS = sorted((DOCS / "drawings").glob("*.svg"))
SMALL = f"""<svg xmlns="{SVG}" viewBox="0 0 320 40" aria-label="A state.">
  <text class="code small">state</text><text>the next
    one</text>
</svg>"""


def test_drawings__words_are_translated_and_names_in_code_are_not():
    node = SvgDrawing(svg=SMALL, translations={})
    assert node.extract_original_messages() == ["A state.", "the next one"]
    for english, chinese in {
        "A state.": "状态。",
        "the next one": "下一个",
        "state": "状态",
    }.items():
        node.apply_translated_message(english, chinese)
    drawing = ElementTree.fromstring(node.translated())
    assert drawing.get("aria-label") == "状态。"
    assert [text.text for text in drawing.iter(f"{{{SVG}}}text")] == ["state", "下一个"]


@pytest.mark.parametrize("file", DRAWINGS, ids=lambda file: file.stem)
def test_drawings__each_is_shown_and_fits_a_phone_in_both_themes(file):
    text = file.read_text(encoding="utf-8")
    drawing = ElementTree.fromstring(text)
    assert re.fullmatch(r"0 0 320 \d+", drawing.get("viewBox"))
    assert len(drawing.get("aria-label")) > 60  # it tells the story
    assert not re.search(r'\b(style|fill|stroke|font-size|id)="|<style', text)
    pages = [
        page for page in DOCS.rglob("*.md") if f"{{drawing}} {file.stem}\n" in page.read_text()
    ]
    assert len(pages) == 1
