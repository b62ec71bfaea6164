"""The home page's picture."""

import re
from xml.etree import ElementTree

from support.lesson_cells import DOCS


def test_home__the_picture_is_drawn_in_the_colours_of_the_page():
    [file] = DOCS.glob("drawings/home/*.svg")
    assert ElementTree.parse(file).getroot().get("aria-label")
    assert not re.search(r'\b(style|fill|stroke|font-size|id)="|<style', file.read_text())
