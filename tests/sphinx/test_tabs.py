"""Subsections that become tabs."""

from docutils import nodes
from docutils.utils import new_document
from haiku_site.content.tabs import SectionTabs, TabsHere
from sphinx_design.shared import is_component


def section(name, *children):
    return nodes.section("", nodes.title(name, name), *children, ids=[name])


def test_the_subsections_after_the_mark_become_tabs_with_their_anchors():
    document = new_document("page")
    before, code = section("before"), nodes.literal_block("1", "1")
    inner = section("both", before, TabsHere(), section("one", code), section("two"))
    document += [inner, section("after")]
    inner[3][0].source, inner[3][0].line = "page.md", 7
    SectionTabs(document).apply()
    assert inner.children[:2] == [inner[0], before]
    [tabs] = inner.children[2:]
    assert is_component(tabs, "tab-set")
    assert [tab[0].astext() for tab in tabs] == ["one", "two"]
    assert [tab[1]["ids"] for tab in tabs] == [["one"], ["two"]]
    assert tabs[0][1].children == [code]
    assert (tabs[0][0].source, tabs[0][0].line) == ("page.md", 7)  # so it is translated
    assert document[-1]["ids"] == ["after"]
