"""One file yields stub and solution, in the learner's language."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest
from support.chinese import ZH

from haiku_state.errors import ExerciseError
from haiku_state.errors.language import reading, translated
from haiku_state.exercises import check, ideas, names, solution, stub
from haiku_state.exercises.cells import SHARED, texts
from haiku_state.exercises.courses import ours
from haiku_state.exercises.source import comments, solution_of, stub_of

PROGRAM = """
# A long comment that is shown, and that goes
# on in a second line.
import jax


def f(x):
    # Above the code.
    #: if x:
    #:     return None
    # <solution>
    return x + 1  # beside the code
    # </solution>
"""
LESSONS = Path(__file__).parents[2] / "docs"

each = pytest.mark.parametrize("name", names())


def code(text):
    """The tokens of a program, without its comments."""
    skipped = (tokenize.COMMENT, tokenize.NL)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [(token.type, token.string) for token in tokens if token.type not in skipped]


def test_stub__has_its_own_lines_and_not_those_of_the_solution():
    assert stub_of(PROGRAM) == (
        "# A long comment that is shown, and that goes on in a second line.\n"
        "import jax\n\n\ndef f(x):\n    # Above the code.\n    if x:\n        return None\n"
    )


def test_solution__has_its_own_lines_and_not_those_of_the_stub():
    assert solution_of(PROGRAM).endswith(
        "    # Above the code.\n    return x + 1  # beside the code\n"
    )
    assert "None" not in solution_of(PROGRAM)


def test_exercises__a_comment_is_one_text_for_the_catalog():
    shown = ["A long comment that is shown, and that goes on in a second line.", "Above the code."]
    assert list(comments(PROGRAM)) == [(2, shown[0]), (8, shown[1])]


@each
def test_exercises__both_languages_have_the_same_code(name):
    for make in (stub, solution):
        english = make(name)
        with reading(ZH):
            chinese = make(name)
        assert code(english) == code(chinese)
        ast.parse(english)
        assert max(map(len, english.splitlines())) <= 79
        assert "\n\n\n\n" not in english  # as a formatter leaves it


@each
def test_exercises__every_text_of_an_exercise_is_in_the_catalog(name):
    found = [text for _line, text in texts(name, ours().source(name))]
    assert [text for text in found if translated(text, ZH) == text] == []


@each
def test_exercises__the_lessons_of_each_are_there(name):
    exercise = ours().load(name)
    taught = {one.idea for one in exercise.programs if one.idea}
    for lesson in {exercise.lesson, *(idea.lesson for idea in taught if idea.lesson)}:
        assert_is_there(lesson)


@pytest.mark.parametrize("idea", SHARED.values(), ids=SHARED)
def test_exercises__the_lesson_of_a_shared_idea_is_there(idea):
    assert_is_there(idea.lesson)


def test_exercises__each_message_and_property_has_a_shared_idea():
    told = {idea for _pattern, idea in ideas.MESSAGES} | {*ideas.BY_PROPERTY.values()}
    assert told <= {*SHARED.values()}


def assert_is_there(lesson):
    page, _hash, anchor = lesson.partition("#")
    text = (LESSONS / f"{page}.md").read_text(encoding="utf-8")
    assert not anchor or anchor in anchors(text), lesson


def anchors(text):
    """The anchors of a page: those of its headings, as MyST makes them, and its labels."""
    lines = [line.lstrip("#").strip() for line in text.splitlines() if line.startswith("#")]
    letters = ("".join(c for c in line.lower() if c.isalnum() or c in " -_") for line in lines)
    labels = re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE)
    return {*labels, *(line.replace(" ", "-") for line in letters)}


def test_names__every_file_is_in_the_order():
    files = {path.stem for path in ours().folder.glob("*.py")}
    assert files == set(names())


@pytest.mark.parametrize("call", [stub, solution, lambda name: check(name, "")])
def test_exercises__an_unknown_name_is_refused_with_a_close_one(call):
    with pytest.raises(ExerciseError, match="there is no exercise conter") as caught:
        call("conter")
    assert caught.value.values["right"] == "counter"
