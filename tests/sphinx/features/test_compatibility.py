"""The tables of the page on compatibility."""

import json
from types import SimpleNamespace

import pytest
from docutils.utils import new_document
from haiku_site.features import compatibility
from sphinx.util.nodes import extract_messages

ROW = {
    "python": "3.13.0",
    "versions": {"jax": "0.12.0.1", "optax": "0.2.8"},
    "tests": {"passed": 7, "failed": 0, "skipped": {"no GPU": 2, "no root": 1}},
    "seconds": 12.6,
}


def test_compatibility__a_row_has_the_versions_of_a_set_and_what_its_tests_came_to():
    directive = compatibility.Compatibility.__new__(compatibility.Compatibility)
    head, body = [[cell.astext() for cell in row] for row in directive.sets({"0.12": ROW})]
    shown = dict(zip(head, body, strict=True))
    assert {name for name, cell in shown.items() if cell == "–"} == {
        *("dm-haiku", "numpy", "orbax-checkpoint", "flax", "equinox")
    }
    counts = {"passed": "7", "failed": "0", "skipped": "3"}
    versions = {"jax": "0.12.0.1", "Python": "3.13.0", "optax": "0.2.8"}
    assert shown.items() >= {**versions, **counts}.items()


def test_compatibility__heads_that_are_words_are_extracted_and_names_are_not(monkeypatch, tmp_path):
    monkeypatch.setattr(compatibility, "MEASURED", tmp_path / "compat.json")
    measured = {"version": "0.1.0", "tree": None, "sets": {"0.12": ROW | {"date": "2026-11-21"}}}
    (tmp_path / "compat.json").write_text(json.dumps(measured))
    directive = compatibility.Compatibility.__new__(compatibility.Compatibility)
    directive.arguments, directive.lineno = ["sets"], 1
    env = SimpleNamespace(note_dependency=lambda file: None)
    directive.state = SimpleNamespace(document=SimpleNamespace(settings=SimpleNamespace(env=env)))
    directive.state_machine = SimpleNamespace(get_source_and_line=lambda line: ("page.md", line))
    document = new_document("page.md")
    document += directive.run()
    assert [text for _, text in extract_messages(document)] == ["passed", "failed", "skipped"]


def test_compatibility__a_lesson_that_was_not_measured_has_no_result(monkeypatch):
    monkeypatch.setattr(compatibility, "course", lambda docs: ["haiku/old", "haiku/new"])
    monkeypatch.setattr(
        compatibility, "link_to", lambda name, _: compatibility.nodes.inline("", name)
    )
    directive = compatibility.Compatibility.__new__(compatibility.Compatibility)
    env = SimpleNamespace(srcdir="docs")
    directive.state = SimpleNamespace(document=SimpleNamespace(settings=SimpleNamespace(env=env)))
    rows = directive.lessons({"0.11": ROW, "0.12": ROW | {"lessons": {"haiku/old": "ok"}}})
    shown = [[cell.astext() for cell in row] for row in rows]
    assert shown == [["JAX", "0.12"], ["haiku/old", "✓"], ["haiku/new", "–"]]


def test_compatibility__a_table_says_what_was_measured():
    copy = {"version": "0.1.0", "sets": {"0.12": {"date": "2026-11-21"}}}
    assert compatibility.caption(copy) == "0.1.0 · 2026-11-21"


@pytest.mark.parametrize(
    ("result", "shown", "code"),
    [
        ("ok", "✓", []),
        ("–", "–", []),
        ("ok; skipped: a ref", "✓ skipped: a ref", ["skipped: a ref"]),
        ("cell 3: ValueError: no", "cell 3: ValueError: no", ["cell 3: ValueError: no"]),
    ],
)  # fmt: skip
def test_compatibility__what_a_lesson_printed_stands_in_code(result, shown, code):
    cell = compatibility.outcome(result)
    assert cell.astext() == shown
    literals = [node.astext() for node in cell.findall(compatibility.nodes.literal)]
    assert literals == code


def test_compatibility__versions_that_say_the_same_share_a_row():
    directive = compatibility.Compatibility.__new__(compatibility.Compatibility)
    said = {"0.6": {"f()": "A", "g()": "C"}, "0.7": {"f()": "A", "g()": "C"},
            "0.8": {"f()": "B", "g()": "C"}}  # fmt: skip
    _head, *rows = [[cell.astext() for cell in row] for row in directive.messages(said)]
    assert rows == [["f()", "0.6 – 0.7", "A"], ["", "0.8", "B"], ["g()", "0.6 – 0.8", "C"]]
