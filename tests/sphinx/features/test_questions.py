"""Questions: each answer is what a program prints, and none is typed in."""

import json
import types

import pytest
from docutils import nodes
from docutils.parsers.rst import DirectiveError
from docutils.utils import new_document
from haiku_site.features.folds import Fold, FoldCells
from haiku_site.features.questions import (
    KEPT,
    MakeQuestions,
    QuestionError,
    Why,
    WhyHere,
    _check_names,
)
from haiku_site.features.questions.kernel import Answers
from haiku_site.notebooks.markdown import Markdown

PROGRAM = "count = 0\nfor step in range(3):\n    count += 1\nprint('count', count)"


def shell_after(*cells, **names):
    """A kernel that has begun the last of some cells; ``names`` are those it has had before."""
    shell = types.SimpleNamespace(user_ns=names)
    answers = Answers(shell)
    for cell in cells:
        answers.remember(types.SimpleNamespace(raw_cell=cell))
    return answers


@pytest.mark.parametrize(
    ("changes", "output"),
    [
        (["range(3)", "range(5)"], "count 5"),
        (["count += 1", "count = 1", "'count'", "'now'"], "now 1"),
        (["count += 1", "1 / 0"], "ZeroDivisionError: division by zero"),
        (["print('count', count)", "count + 7"], "10"),
    ],
)
def test_questions__a_wrong_answer_is_what_a_changed_program_prints(capsys, changes, output):
    answers = shell_after("begin = 1", PROGRAM, "instead(…)")
    answers.instead(*changes)
    said = json.loads(capsys.readouterr().out)
    assert said["output"] == output
    assert said["changes"] == [[*pair] for pair in zip(changes[::2], changes[1::2], strict=True)]


def test_questions__a_changed_program_has_the_names_that_the_cell_began_with(capsys):
    shell = types.SimpleNamespace(user_ns={"x": 1})
    answers = Answers(shell)
    answers.remember(types.SimpleNamespace(raw_cell="x = 2 * x\nprint(x)"))
    shell.user_ns["x"] = 2
    answers.remember(types.SimpleNamespace(raw_cell="instead(…)"))
    answers.instead("2 * x", "3 * x")
    assert json.loads(capsys.readouterr().out)["output"] == "3"
    assert shell.user_ns == {"x": 2}


@pytest.mark.parametrize("old", ["count", "total"])
def test_questions__what_is_replaced_is_there_once(old):
    answers = shell_after("", PROGRAM, "instead(…)")
    with pytest.raises(ValueError, match=f"'{old}' is [04] times in the cell before, not once"):
        answers.instead(old, "x")


def cell(tag, printed):
    block = nodes.literal_block(printed, printed)
    output = nodes.container("", block, nb_element="cell_code_output")
    source = nodes.container("", nodes.literal_block("", "…"), nb_element="cell_code_source")
    metadata = {"tags": [tag]}
    return nodes.container(
        "", source, output, nb_element="cell_code", cell_metadata=metadata, cell_index=0
    )


def question(right, wrong, reasons, asked=("Predict:", " what\nis it?")):
    """The page of one question, made."""
    document = new_document("page")
    environment = types.SimpleNamespace(docname="page", metadata={"page": {}})
    document.settings.env = environment
    bold = nodes.strong("", asked[0])
    asked = nodes.paragraph("", "", nodes.Text(""), bold, nodes.Text(asked[1]))
    lines = [json.dumps({"changes": [["a", new]], "output": output}) for new, output in wrong]
    items = [nodes.list_item("", nodes.paragraph("", text)) for text in reasons]
    why = Why("", nodes.bullet_list("", *items), name="it")
    why.source, why.line = "page.md", 7
    others = cell("answers", "\n".join(lines))
    title = nodes.title("", "A page")
    section = nodes.section("", title, asked, cell("predict", right), others, why)
    document += section
    MakeQuestions(document).apply()
    FoldCells(document).apply()
    return section, environment.metadata


def test_questions__the_answers_are_buttons_and_the_reasons_are_folded():
    section, known = question("1 1 1", [("", "1 2 3"), ("b", "0 0 0")], ["Yes.", "Jit.", "Zero."])
    assert known == {"page": {KEPT: [("it", "What is it?")]}}
    _title, _asked, made = section.children
    assert "hide_mode" not in made  # or MyST-NB would fold an output that is not there
    _source, form, fold = made.children
    html = form.astext()
    assert html.count('<input type="radio" name="question-it"') == 3
    [at] = [n for n in range(3) if f'data-right="{n}"' in html]
    assert html.split("<samp>")[at + 1].startswith("1 1 1</samp>")
    assert isinstance(fold, Fold)
    output, reasons = fold.children
    assert (output.astext(), reasons[0].astext()) == ("1 1 1", "Yes.")
    told = {item[0].astext(): item[1].astext() for item in reasons[1]}
    assert told == {
        "wrong 1 2 3": "Jit.\n\nThe program prints this without a.",
        "wrong 0 0 0": "Zero.\n\nThe program prints this with b instead of a.",
    }


def test_questions__the_place_of_an_answer_does_not_tell_whether_it_is_right():
    outputs, orders = ["1 1 1", "1 2 3", "0 0 0"], set()
    for right in outputs:
        wrong = [(str(n), output) for n, output in enumerate(outputs) if output != right]
        section, _ = question(right, wrong, ["Yes.", "No.", "No."])
        html = section[2][1].astext()
        orders.add(tuple(sorted(outputs, key=html.index)))
    assert len(orders) == 1


def test_questions__a_chinese_one_begins_after_its_colon():
    asked = "预测", "：会打印什么？"
    _section, known = question("1", [("", "2"), ("", "3")], ["", "", ""], asked)
    assert known == {"page": {KEPT: [("it", "会打印什么？")]}}


def test_questions__a_notebook_has_the_reasons_folded_below_the_cell():
    section, _known = question("1 1 1", [("", "1 2 3"), ("b", "0 0 0")], ["Yes.", "Jit.", "Zero."])
    *_, cell, reasons = Markdown(str).blocks(section)
    assert cell is section[-1]
    first, *listed, last = reasons.split("\n\n")
    assert (first, last) == (
        "<details><summary>Show what it prints, and why</summary>",
        "</details>",
    )
    assert sorted(listed[1:]) == sorted([
        "- wrong `1 2 3`: Jit.", "  The program prints this without `a`.",
        "- wrong `0 0 0`: Zero.", "  The program prints this with `b` instead of `a`.",
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("right", "wrong", "reasons", "said"),
    [
        ("1 1", ["1  1\n", "2"], 3, "the answers 0 and 1 are equal: '1  1"),
        ("1", ["2", "2"], 3, "the answers 1 and 2 are equal"),
        ("1", ["2"], 2, "has 1 wrong answers, not 2 to 4"),
        ("1", ["2", "3"], 2, "has 2 reasons for 3 answers"),
        ("1", ["2", ""], 3, "answer 2 has no line"),
        ("1", ["2", "3\n" * 13], 3, "answer 2 has no line, or more than 12"),
    ],
)
def test_questions__one_that_does_not_hold_stops_the_build(right, wrong, reasons, said):
    with pytest.raises(QuestionError, match=rf"page\.md:7: the question it: {said}"):
        question(right, [("", output) for output in wrong], ["Why."] * reasons)


def test_questions__two_do_not_have_one_name():
    pages = {"a": {KEPT: [("one", "?"), ("two", "?")]}, "b": {KEPT: [("two", "?")]}}
    environment = types.SimpleNamespace(metadata=pages)
    with pytest.raises(QuestionError, match="b and a have a question two"):
        _check_names(None, environment)


def test_questions__the_content_is_one_list_of_reasons(monkeypatch):
    paragraph = nodes.paragraph("", "Yes.")
    monkeypatch.setattr(WhyHere, "parse_content_to_nodes", lambda self: [paragraph], raising=False)
    with pytest.raises(DirectiveError) as error:
        WhyHere.__new__(WhyHere).run()
    assert error.value.msg == "the content is a list of reasons, one for each answer"
