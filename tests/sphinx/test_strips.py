"""The line below the head of a lesson: chips, a box, and chips again."""

import re

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import directives
from haiku_site.content.bug_cards import FATES, KINDS
from haiku_site.content.course import course
from haiku_site.content.strips import Strip
from lesson_cells import DOCS

STRIP = re.compile(r"^```\{strip\} (.*)$", re.MULTILINE)
LESSONS = {name: (DOCS / f"{name}.md").read_text(encoding="utf-8") for name in course(DOCS)}


@pytest.fixture
def drawn(monkeypatch):
    monkeypatch.setitem(directives._directives, "strip", Strip)
    return lambda text: publish_doctree(
        f".. strip:: {text}", settings_overrides={"report_level": 5}
    )


def test_what_goes_in_and_comes_out(drawn):
    [line] = drawn("params state -> apply -> state / state lost").findall(nodes.paragraph)
    assert line.astext() == "In this lesson params state → apply → state / state: lost"
    kinds = [code["classes"] for code in line.findall(nodes.literal)]
    assert kinds == [
        ["hs-chip", "params"],
        ["hs-chip", "state"],
        ["hs-box", "apply"],
        ["hs-chip", "state"],
    ]
    assert line["translatable"] is False


@pytest.mark.parametrize("text", ["weights -> f -> state", "state -> f -> state / state eaten"])
def test_a_kind_or_a_fate_that_is_none_is_refused(drawn, text):
    [error] = drawn(text).findall(nodes.system_message)
    assert all(word in error.astext() for word in (*KINDS, *FATES))


def test_a_lesson_has_one_at_most_and_names_what_it_says():
    found = {name: STRIP.findall(text) for name, text in LESSONS.items()}
    assert sum(map(bool, found.values())) >= 12
    for name, strips in found.items():
        assert len(strips) <= 1, name
        for function in re.findall(r"-> (\w+) ->", "".join(strips)):
            assert re.search(rf"\b{function}\b", LESSONS[name].replace(strips[0], "")), name
