"""The command ``read``: where an error or a hint leads opens, offline, in both languages."""

import re
from pathlib import Path

import pytest
from support.chinese import ZH
from support.terminal import has_chinese

from haiku_state import errors
from haiku_state.commands.main import main
from haiku_state.commands.read.pages import pages, section
from haiku_state.errors import ArgumentError
from haiku_state.errors.base import HaikuStateError
from haiku_state.exercises.cells import SHARED
from haiku_state.exercises.courses import ours

PACKAGE = Path(errors.__file__).parents[1]


def leads():
    """Each page or section that something which the package prints leads to."""
    yield from (one.MORE for one in vars(errors).values()
                if isinstance(one, type) and issubclass(one, HaikuStateError)
                and "{" not in getattr(one, "MORE", "{"))  # fmt: skip
    for file in (PACKAGE / "errors").glob("*.py"):
        yield from re.findall(r'more(?:: str)? ?= ?"([^"]+)"', file.read_text(encoding="utf-8"))
    yield from (idea.lesson for idea in SHARED.values())
    for name in ours().names:
        exercise = ours().load(name)
        yield exercise.lesson
        yield from (one.idea.lesson for one in exercise.programs if one.idea and one.idea.lesson)


LEADS = sorted({*leads()})


def test_read__there_are_many_leads():
    assert len(LEADS) > 40


@pytest.mark.parametrize("lead", LEADS)
def test_read__where_a_message_leads_can_be_read(lead):
    english, chinese = section(lead, "en"), section(lead, ZH)
    assert len(english) > 100
    if lead.startswith("api/"):  # docstrings
        return
    assert english.startswith("#")
    assert has_chinese(chinese)
    code = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
    assert len(code.findall(english)) == len(code.findall(chinese))


@pytest.mark.parametrize("page", [page for page in pages() if not page.startswith("api/")])
def test_read__each_page_is_shown_without_what_only_a_site_understands(page):
    text = re.sub(r"^```.*?^```", "", section(page, ZH), flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"^:::|^\(\S+\)=|\{(?:term|doc|ref|func|class)\}`", text, re.MULTILINE) == []


def test_read__a_part_ends_where_the_next_one_begins():
    text = section("state/practice#task-2-a-moving-average", "en")
    assert text.startswith("## Task 2: A moving average")
    assert "class AverageState" in text
    assert "Task 3" not in text


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("haiku/batchnorm", "haiku/batch_norm"),
        ("state/practice#task-2", "task-2-a-moving-average"),
        ("state/practice.html#task-2", "task-2-a-moving-average"),
    ],
)
def test_read__a_slip_is_answered_with_what_is_near(given, meant, capsys):
    with pytest.raises(ArgumentError, match=meant):
        section(given, "en")
    assert main(["read", given]) == 2
    assert meant in capsys.readouterr().err


def test_read__the_pages_are_listed_in_the_language_of_the_reader(capsys):
    assert main(["read", "--lang", ZH]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(pages())
    assert sum(map(has_chinese, lines)) > 30


def test_read__the_docstrings_of_a_room_are_on_its_page():
    assert "functionalize(" in section("api/pure", "en")
