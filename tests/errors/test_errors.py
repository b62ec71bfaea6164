"""Every error class, as the calls of the catalogue raise it: its words, its bases."""

import inspect
import os
import pickle
import re
from pathlib import Path

import jax
import pytest
from haiku_site.features.error_cards.calls import all_raised, said
from support.chinese import ZH
from tools.words import FILE, head, words

from haiku_state import errors
from haiku_state.errors import base

DOCS = Path(__file__).parents[2] / "docs"
CLASSES = {
    value
    for value in vars(errors).values()
    if inspect.isclass(value) and issubclass(value, errors.HaikuStateError)
} - {errors.HaikuStateError}

BUILT_IN = (
    *(ValueError, TypeError, OSError, RuntimeError, NameError, ImportError),
    AssertionError,  # a test of the reader's fails
)


@pytest.fixture(scope="module")
def raised(tmp_path_factory):
    """Each call's title and what it raises in each language, and the words of all."""
    folder = os.getcwd()
    os.chdir(tmp_path_factory.mktemp("raised"))
    with (
        jax.debug_key_reuse(False),
        jax.numpy_dtype_promotion("standard"),
        jax.numpy_rank_promotion("allow"),
    ):
        found = list(all_raised())
    yield found, words(found)
    os.chdir(folder)


def test_errors__the_catalog_has_a_call_for_each_class(raised):
    for language in ("en", ZH):
        assert {type(by_language[language]) for _, by_language in raised[0]} == CLASSES
    assert all(issubclass(each, BUILT_IN) for each in CLASSES)


def test_errors__the_file_of_words_is_up_to_date(raised):
    text = FILE.read_text(encoding="utf-8")
    if head() != text.partition("\n")[0]:
        pytest.skip("the file is of another JAX")
    assert raised[1] == text, "run `python tests/tools words --write` and read the diff"


def test_errors__in_chinese_the_code_stays_and_no_english_prose_is_left(raised):
    for title, by_language in raised[0]:
        english, chinese = (said(by_language[language], language) for language in ("en", ZH))
        assert chinese["what"].splitlines()[1:] == english["what"].splitlines()[1:], title
        of_code = [{**each["lines"], "why": ""} for each in (english, chinese)]
        of_code = [{**lines, "more": lines["more"].partition("/")[2]} for lines in of_code]
        assert of_code[0] == of_code[1]
        assert ("wrong" in of_code[0]) == ("right" in of_code[0])
        # what an error of a library says, and the list of leaves, is as the library has it
        what = re.sub(r"\w+Error: .*", "", chinese["what"].splitlines()[0])
        for prose in (what, chinese["lines"]["why"]):
            assert re.search(r"[\u4e00-\u9fff]{2}", prose), prose
            code_left_out = re.sub(r"`[^`]*`", "", prose)
            assert not re.search(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}", code_left_out), prose


def test_errors__no_placeholder_is_left_and_each_page_exists(raised):
    for _title, by_language in raised[0]:
        for language, error in by_language.items():
            assert not re.search(r"\{\w+(![rs])?\}", str(error)), error
            lines = said(error, language)["lines"]
            assert lines.get("wrong", "") != lines.get("right", "…")
            page = lines["more"].removeprefix("python -m haiku_state read ")
            assert any((DOCS / page).with_suffix(suffix).is_file() for suffix in (".md", ".rst"))


def test_errors__survive_pickling_whatever_was_passed(raised):
    named = dict.fromkeys(("argument", "expected", "wrong", "right", "why", "more"), "a")
    of_each = [by_language["en"] for _title, by_language in raised[0]]
    for first in [*of_each, errors.ArgumentError(value=lambda: 0, **named)]:
        again = pickle.loads(pickle.dumps(first))
        assert (type(again), str(again), again.what) == (type(first), str(first), first.what)


def test_errors__the_address_to_read_more_at_is_whole_where_the_site_is_published(monkeypatch):
    monkeypatch.setattr(base, "SITE", "https://example.org/haiku-state/")
    monkeypatch.setenv("HAIKU_STATE_LANG", "zh")
    address = f"https://example.org/haiku-state/{ZH}/haiku/pure_pair.html"
    assert str(errors.MissingKeyError()).endswith(f"详见：{address}")


def test_errors__a_missing_value_is_noticed_where_the_error_is_raised():
    with pytest.raises(KeyError, match="rows"):
        errors.BatchDivisionError(parts=4)


def test_errors__a_part_that_the_raise_supplies_replaces_that_of_the_class(monkeypatch):
    monkeypatch.setenv("HAIKU_STATE_LANG", "en")
    error = errors.MissingKeyError(wrong="f({})", right="g({})", why="{} stays", more="api/data")
    assert str(error) == (
        "random numbers are drawn, but rng is None.\n"
        "  wrong: f({})\n"
        "  right: g({})\n"
        "  why:   {} stays\n"
        "  more:  python -m haiku_state read api/data"
    )


def test_errors__without_lines_the_other_parts_are_printed(monkeypatch):
    monkeypatch.setenv("HAIKU_STATE_LANG", "en")
    error = errors.ArgumentError(argument="n", value=0, expected="1", why="a", more="api/data")
    more = "python -m haiku_state read api/data"
    assert str(error) == f"n is 0, but it must be 1.\n  why:   a\n  more:  {more}"
