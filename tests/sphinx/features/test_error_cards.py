"""The error catalogue: every class has a card, and a card shows what the package prints."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import jax
import pytest
from docutils import nodes
from haiku_site.features import error_cards
from haiku_site.features.error_cards import calls as error_calls
from sphinx import addnodes
from support.lesson_cells import DOCS

from haiku_state import errors

CLASSES = {
    name
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, errors.HaikuStateError)
}


def test_error_cards__the_page_has_one_for_each_class():
    page = (DOCS / "api/errors.rst").read_text(encoding="utf-8")
    blocks = re.findall(r"^\.\. error-cards::\n((?:   \w+\n)+)", page, re.MULTILINE)
    names = " ".join(blocks).split()
    assert sorted(names) == sorted(CLASSES - {"HaikuStateError"})


@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize("call", error_calls.PLAIN.values(), ids=error_calls.PLAIN.keys())
def test_error_cards__this_jax_says_of_a_problem_what_its_card_quotes(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fails, says = call
    with jax.debug_key_reuse(False):
        error = error_calls.raised(fails)
    assert says in f"{type(error).__name__}: {error}"


def test_error_cards__a_problem_shows_each_text_once(monkeypatch):
    said = [
        "ValueError: No value for 'average' in 'loss', perhaps set an init function?",
        "ValueError: No value for 'total' in '~', perhaps set an init function?",
        "",
        "RuntimeError: Array has been deleted with shape=float32[3].",
        "ModuleNotFoundError: No module named 'jax.config'",
        "ModuleNotFoundError: No module named 'jax.experimental.optix'",
    ]
    cases = [{"problem": 2, "before": text} for text in said]
    monkeypatch.setattr(error_cards.Seen, "cases", lambda self: cases)
    seen = error_cards.Seen.__new__(error_cards.Seen)
    seen.arguments = ["2"]
    assert [line.astext() for line in seen.run()] == [said[0], *said[3:]]


@pytest.mark.parametrize(
    ("asked", "listed"),
    [
        ([], [("E: a", [1, 3]), ("E: b 'x'", [2])]),
        (["none"], [("", [5]), ("", [4])]),
    ],
)
def test_error_cards__each_message_leads_to_its_own_and_each_other_is_listed(
    asked, listed, monkeypatch, tmp_path
):
    said = [(2, "E: b 'x'"), (3, "E: a"), (1, "E: a"), (2, "E: b 'y'"), (4, ""), (0, "E: c")]
    cases = [{"problem": number, "before": text} for number, text in said]
    page = tmp_path / "page.md"
    page.write_text("".join(f"(problem-{number})=\n### A\n" for number in (1, 2, 5, 3, 4)))
    monkeypatch.setattr(error_cards.Messages, "cases", lambda self: cases)
    env = SimpleNamespace(docname="page", doc2path=lambda name: page)
    monkeypatch.setattr(error_cards.Messages, "env", env)
    messages = error_cards.Messages.__new__(error_cards.Messages)
    messages.arguments = asked
    [shown] = messages.run()
    [listing] = shown.findall(nodes.bullet_list)
    assert listing["classes"] == ["hs-messages"]
    found = [
        (
            "".join(code.astext() for code in item.findall(nodes.literal)),
            [int(link["reftarget"][8:]) for link in item.findall(addnodes.pending_xref)],
        )
        for item in shown.findall(nodes.list_item)
    ]
    assert found == listed


def test_error_cards__the_line_of_a_message_that_tells_the_cause_is_shown():
    error = TypeError("types must be equal:\n\nThe input has type a, but not b.")
    assert error_calls.first_line(error) == "TypeError: types must be equal:"
    assert error_calls.first_line(error, "must be") == "TypeError: types must be equal:"
    told = "TypeError: … The input has type a, but not b."
    assert error_calls.first_line(error, "but not b") == told


def test_error_cards__the_wrong_and_the_right_line_stand_in_one_list(monkeypatch):
    monkeypatch.setattr(error_cards.Instead, "label", lambda self, name: name)
    instead = error_cards.Instead.__new__(error_cards.Instead)
    instead.content = ["- f(x)", "+ y = 2 * x", "+ f(y)"]
    [shown] = instead.run()
    assert [part.astext() for part in shown.findall(nodes.term)] == ["wrong", "right"]
    assert [part.astext() for part in shown.findall(nodes.literal)] == ["f(x)", "y = 2 * x\nf(y)"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("UninitializedParameterError", "Uninitialized|Parameter|Error"),
        ("TypeError", "TypeError"),
        ("jax.errors.TracerBoolConversionError", "jax.errors.TracerBoolConversionError"),
    ],
)
def test_error_cards__a_long_name_breaks_at_its_humps(name, shown):
    paragraph = nodes.paragraph("", name, nodes.literal("", name))
    for _ in range(2):  # the second time, nothing is left to do
        error_cards.break_names(paragraph)
    words, code = paragraph.children
    assert words.astext() == code.astext() == name
    breaks = [
        "|" if isinstance(part, error_cards.Break) else part.astext() for part in code.children
    ]
    assert "".join(breaks) == shown


def test_error_cards__an_error_is_recorded_as_it_is_printed():
    with pytest.raises(errors.MissingKeyError) as caught:
        error_calls.PROBLEMS["20 no key to draw from"]()
    said = error_calls.said(caught.value, "en")
    printed = [said["what"], *(f"  {name + ':':6} {text}" for name, text in said["lines"].items())]
    assert "\n".join(printed) == str(caught.value)


@pytest.mark.parametrize("lines", [{}, {"wrong": "f(x)", "right": "f(y)"}])
def test_error_cards__one_has_the_lines_that_the_error_has(lines, monkeypatch):
    case = {
        "what": "it is `x`.\n    x",
        "before": "",
        "lines": {**lines, "why": "a", "more": "python -m haiku_state read b"},
    }
    monkeypatch.setattr(error_cards, "link_to", lambda page, self: nodes.Text(page))
    monkeypatch.setattr(error_cards.Cards, "label", lambda self, name: name)
    shown = error_cards.Cards.__new__(error_cards.Cards)._case(case)
    assert [part.astext() for part in shown.findall(nodes.term)] == [*lines, "why", "more"]
    assert [part.astext() for part in shown.findall(nodes.definition)] == [
        *lines.values(),
        "a",
        "b",
    ]
    assert [code.astext() for code in shown[0].findall(nodes.literal)] == ["x", "x"]


def test_error_cards__what_a_library_prints_is_no_part_of_the_record(monkeypatch, capsys):
    monkeypatch.setattr(error_calls, "record", lambda: print("JAX") or [{"error": "A"}])
    error_calls.print_record()
    assert json.loads(capsys.readouterr().out) == [{"error": "A"}]


def run(output, code=0):
    ran = type("Ran", (), {"returncode": code, "stdout": output, "stderr": "no JAX"})
    calls = []
    return calls, lambda *args, **options: calls.append(args) or ran


def test_error_cards__the_calls_run_once_and_again_after_an_edit(tmp_path, monkeypatch):
    source = tmp_path / "error_calls.py"
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


def test_error_cards__a_process_that_reads_while_another_writes_sees_no_half(tmp_path, monkeypatch):
    _calls, fake = run(json.dumps([{"error": "A"}]))
    monkeypatch.setattr(error_cards.subprocess, "run", fake)
    whole, seen = Path.write_text, []

    def write_text(file, text, **options):
        whole(file, text[:5], **options)
        monkeypatch.setattr(Path, "write_text", whole)
        seen.append(error_cards.cases(tmp_path))  # as the other process does at this moment
        return whole(file, text, **options)

    monkeypatch.setattr(Path, "write_text", write_text)
    assert [error_cards.cases(tmp_path), *seen] == [[{"error": "A"}]] * 2


def test_error_cards__what_another_process_has_written_meanwhile_stays(tmp_path, monkeypatch):
    _calls, fake = run(json.dumps([{"error": "A"}]))

    def run_beside_another(*args, **options):
        monkeypatch.setattr(error_cards.subprocess, "run", fake)
        error_cards.cases(tmp_path)
        return fake(*args, **options)

    monkeypatch.setattr(error_cards.subprocess, "run", run_beside_another)
    monkeypatch.setattr(Path, "unlink", lambda file, **_: pytest.fail(f"{file} is removed"))
    assert error_cards.cases(tmp_path) == [{"error": "A"}]


def test_error_cards__calls_that_fail_otherwise_stop_the_build(tmp_path, monkeypatch):
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
def test_error_cards__what_differs_is_marked(wrong, right, before, after):
    rows = error_cards.diff(wrong, right)
    assert ["".join(node.astext() for node in row) for row in rows] == [wrong, right]
    assert [marked(row) for row in rows] == [before, after]


def test_error_cards__code_between_backticks_is_code_unless_one_is_alone():
    assert [type(node) for node in error_cards.inline("use `f` here")] == [
        nodes.Text,
        nodes.literal,
        nodes.Text,
    ]
    assert [node.astext() for node in error_cards.inline("a ` alone")] == ["a ` alone"]


def test_error_cards__each_text_of_a_class_is_shown_once(monkeypatch):
    said = [("AError", "one"), ("BError", "two"), ("AError", "one"), ("AError", "three")]
    cases = [{"error": "".join([*name]), "lines": {"why": why}} for name, why in said]
    monkeypatch.setattr(error_cards.Cards, "cases", lambda self: cases)
    monkeypatch.setattr(error_cards.Cards, "_case", lambda self, case: case["lines"]["why"])
    cards = error_cards.Cards.__new__(error_cards.Cards)
    assert [*cards._cases("AError")] == ["one", "three"]
    assert [*cards._cases("BError")] == ["two"]


def test_error_cards__the_record_has_plain_calls_and_errors_of_the_package(monkeypatch):
    plain = {"7 a plain one": (lambda: 1 / 0, "division")}
    by_language = {"en": errors.MissingKeyError(), "zh_CN": errors.MissingKeyError()}
    monkeypatch.setattr(error_calls, "PLAIN", plain)
    monkeypatch.setattr(error_calls, "all_raised", lambda: [("20 no key", by_language)])
    first, second = error_calls.record()
    assert (first["problem"], first["error"]) == (7, "")
    assert first["before"] == "ZeroDivisionError: division by zero"
    assert (second["problem"], second["error"]) == (20, "MissingKeyError")
    assert second["texts"]["zh_CN"] != second["texts"]["en"]


def test_error_cards__a_message_leads_to_a_card_that_must_be_there(monkeypatch):
    monkeypatch.setattr(error_cards.Messages, "env", SimpleNamespace(docname="page"))
    link = error_cards.Messages.__new__(error_cards.Messages)._card(7)
    assert (link["reftarget"], link["refwarn"]) == ("problem-7", True)
