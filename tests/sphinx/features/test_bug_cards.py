"""The cards of the bug gallery: what each shows and has."""

import re

import pytest
from docutils import nodes
from docutils.utils import new_document
from haiku_site.features.bug_cards import FATES, KINDS, BugCards, BugHere
from haiku_site.features.folds import Fold
from support.lesson_cells import DOCS

WRONG = "def bug():\n    return 1\n\n\nprint(bug())"
RIGHT = "def bug_fixed():\n    return 2\n\n\nprint(bug_fixed())\nfound_by(bug, bug_fixed)"


def cell(code, *tags):
    source = nodes.container("", nodes.literal_block(code, code), nb_element="cell_code_source")
    classes = ["cell", *(f"tag_{tag}" for tag in tags)]
    return nodes.container("", source, nb_element="cell_code", classes=classes)


def question(answers=1):
    """Return a cell as the transform of questions has made it: its answer stands folded in it."""
    asked = cell(WRONG, "predict")
    for _ in range(answers):
        said = nodes.paragraph("", "It prints 1.")
        asked += Fold("", said, prompt_show="", kind="answer")
    return asked


def card(*children):
    document = new_document("page")
    here = BugHere(kind="state", fate="doubled")
    section = nodes.section("", nodes.title("", "A bug"), here, *children, ids=["bug-a"])
    document += section
    BugCards(document).apply()
    return section


def test_bug_cards__each_shows_its_chips_and_one_fold_holds_the_answer_and_the_cause():
    cause, right = nodes.paragraph("", "Because."), cell(RIGHT)
    section = card(nodes.paragraph("", "What?"), question(), cause, right)
    assert (section["classes"], section["ids"]) == (["hs-card", "hs-bug"], ["bug-a"])
    _title, chips, _question, asked, folded = section.children
    assert chips.astext() == "silentstate → held twice"
    assert not list(asked.findall(Fold))
    assert isinstance(folded, Fold)
    assert [folded[0].astext(), *folded[1:]] == ["It prints 1.", cause, right]


def test_bug_cards__the_lines_that_the_fix_changes_are_highlighted():
    trace, right = cell("hs.record_trace(bug)"), cell(RIGHT)
    card(question(), trace, right)
    [block] = right.findall(nodes.literal_block)
    assert block["highlight_args"] == {"hl_lines": [2]}
    [block] = trace.findall(nodes.literal_block)
    assert "highlight_args" not in block


@pytest.mark.parametrize("answers", [0, 2])
def test_bug_cards__each_has_one_question(answers):
    with pytest.raises(ValueError, match=r"bug-a.* one question"):
        card(question(answers))


PAGE = (DOCS / "reference/bug_gallery.md").read_text(encoding="utf-8")
CARDS = re.split(r"^\((bug-[\w-]+)\)=$", PAGE, flags=re.MULTILINE)[3:-2]
CARDS = dict(zip(CARDS[::2], CARDS[1::2], strict=True))
CODE = re.compile(r"^```\{code-cell\} ipython3\n(?::tags: \[(\w+)\]\n)?(.*?)^```$", re.M | re.S)


def test_bug_cards__the_page_says_how_many_it_has():
    assert "\nThirty programs that run without" in PAGE
    assert len(CARDS) == 30


@pytest.mark.parametrize("label", CARDS)
def test_bug_cards__each_has_its_parts(label):
    text, name = CARDS[label], label.removeprefix("bug-").replace("-", "_")
    [(kind, fate)] = re.findall(r"^### .+\n\n```\{bug\} (\w+) (\w+)\n```$", text, re.MULTILINE)
    assert kind in KINDS
    assert fate in FATES
    (question, bug), (others, _), *traces, (fix_tag, fix), (check_tag, check) = CODE.findall(text)
    assert (question, others, fix_tag, check_tag) == ("predict", "answers", "", "check")
    for tag, trace in traces:  # one, where tracing is the cause
        assert (tag, len(traces), trace.count("\nhs.record_trace(")) == ("", 1, 1)
    for code, program in ((bug, name), (fix, f"{name}_fixed")):
        assert f"\ndef {program}(" in f"\n{code}"
        assert re.search(rf"^print\(.*\b{program}\(", code, re.MULTILINE)
        assert max(map(len, code.splitlines())) <= 79
        assert f"{program}()" in check
    assert sum(bool(line.strip()) for line in bug.splitlines()) <= 15
    assert fix.endswith(f"\nfound_by({name}, {name}_fixed)\n")
