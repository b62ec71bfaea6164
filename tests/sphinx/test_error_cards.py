"""The error catalogue: every class has a card, and a card shows what the package prints."""

import json
import re

import pytest
from docutils import nodes
from haiku_site.content import error_cards, error_cases
from lesson_cells import DOCS

from haiku_state import errors

CLASSES = {
    name
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, errors.HaikuStateError)
}


def test_the_page_has_a_card_for_each_class():
    page = (DOCS / "api/errors.rst").read_text(encoding="utf-8")
    blocks = re.findall(r"^\.\. error-cards::\n((?:   \w+\n)+)", page, re.MULTILINE)
    names = " ".join(blocks).split()
    assert sorted(names) == sorted(CLASSES - {"HaikuStateError"})


def test_an_error_is_recorded_as_it_is_printed():
    with pytest.raises(errors.MissingKeyError) as caught:
        error_cases.PROBLEMS["5 no key to draw from"].fails()
    said = error_cases.said(caught.value, "/nowhere")
    printed = [said["what"], *(f"  {label + ':':6} {text}" for label, text in said["lines"])]
    assert "\n".join(printed) == str(caught.value)


def run(output, code=0):
    ran = type("Ran", (), {"returncode": code, "stdout": output, "stderr": "no JAX"})
    calls = []
    return calls, lambda *args, **options: calls.append(args) or ran


def test_the_calls_run_once_and_again_after_an_edit(tmp_path, monkeypatch):
    source = tmp_path / "error_cases.py"
    source.write_text("")
    monkeypatch.setattr(error_cards, "CALLS", source)
    calls, fake = run(json.dumps([{"error": "A"}]))
    monkeypatch.setattr(error_cards.subprocess, "run", fake)
    cache = tmp_path / "executed"
    for _ in range(2):
        assert error_cards.cases(cache) == [{"error": "A"}]
    assert len(calls) == 1
    source.write_text("# edited")
    error_cards.cases(cache)
    assert len(calls) == 2
    assert len([*cache.iterdir()]) == 1


def test_calls_that_fail_otherwise_stop_the_build(tmp_path, monkeypatch):
    _calls, fake = run("", 1)
    monkeypatch.setattr(error_cards.subprocess, "run", fake)
    with pytest.raises(error_cards.ExtensionError, match="no JAX"):
        error_cards.cases(tmp_path)


def marked(row):
    return [node.astext() for node in row if isinstance(node, nodes.strong)]


@pytest.mark.parametrize(
    ("wrong", "right", "before", "after"),
    [
        ("init(x, training=False)", "init(x, training=True)", ["False"], ["True"]),
        ("outputs, _ = f(x)", "outputs, state = f(x)", ["_"], ["state"]),
        ("return params", "return params, {}", [], [", {}"]),
    ],
)
def test_what_differs_is_marked(wrong, right, before, after):
    rows = error_cards.diff(wrong, right)
    assert ["".join(node.astext() for node in row) for row in rows] == [wrong, right]
    assert [marked(row) for row in rows] == [before, after]


def test_code_between_backticks_is_code_unless_one_is_alone():
    assert [type(node) for node in error_cards.inline("use `f` here")] == [
        nodes.Text,
        nodes.literal,
        nodes.Text,
    ]
    assert [node.astext() for node in error_cards.inline("a ` alone")] == ["a ` alone"]
