"""Every error class, as a call of the catalog raises it: its texts in both languages, its bases."""

import inspect
import os
import pickle
import re
from pathlib import Path

import jax
import pytest
from chinese import ZH
from haiku_site.content.error_cases import OTHERS, PROBLEMS

from haiku_state import errors
from haiku_state.errors import base
from haiku_state.errors.language import reading

DOCS = Path(__file__).parents[2] / "docs"
CLASSES = {
    value
    for value in vars(errors).values()
    if inspect.isclass(value) and issubclass(value, errors.HaikuStateError)
} - {errors.HaikuStateError}
LINES = {
    "en": r"  wrong: (.+)\n  right: (.+)\n  why:   (.+)\n  more:  en/(.+)\.html",
    ZH: rf"  错误写法：(.+)\n  正确写法：(.+)\n  原因：(.+)\n  详见：{ZH}/(.+)\.html",
}


@pytest.fixture(scope="module")
def raised(tmp_path_factory):
    """All errors that the calls of the catalog raise, in each language."""
    folder, found = os.getcwd(), {language: [] for language in LINES}
    os.chdir(tmp_path_factory.mktemp("raised"))
    with (
        jax.debug_key_reuse(False),
        jax.numpy_dtype_promotion("standard"),
        jax.numpy_rank_promotion("allow"),
    ):
        for fails in [*(problem.fails for problem in PROBLEMS.values()), *OTHERS]:
            for language, of_language in found.items():
                with reading(language), pytest.raises(errors.HaikuStateError) as caught:
                    fails()
                of_language.append(caught.value)
    os.chdir(folder)
    return found


def test_the_catalog_has_a_call_for_each_class(raised):
    assert {type(error) for error in raised["en"]} == CLASSES
    assert all(
        issubclass(each, ValueError | TypeError | OSError | RuntimeError | NameError | ImportError)
        for each in CLASSES
    )


def test_a_text_has_five_parts_and_its_code_is_the_same_in_both_languages(raised):
    for pair in zip(*raised.values(), strict=True):
        parts = [
            re.fullmatch(re.escape(error.what) + "\n" + LINES[language], str(error))
            for language, error in zip(LINES, pair, strict=True)
        ]
        assert all(parts), "\n".join(map(str, pair))
        (wrong, right, _, page), chinese = (part.groups() for part in parts)
        assert wrong != right
        assert (wrong, right, page) == (chinese[0], chinese[1], chinese[3])
        assert not re.search(r"\{\w+(![rs])?\}", str(pair[1])), pair[1]
        assert any((DOCS / page).with_suffix(suffix).is_file() for suffix in (".md", ".rst"))


def test_an_error_survives_pickling_whatever_was_passed(raised):
    named = dict.fromkeys(("argument", "expected", "wrong", "right", "why", "more"), "a")
    for first in [*raised["en"], errors.ArgumentError(value=lambda: 0, **named)]:
        again = pickle.loads(pickle.dumps(first))
        assert (type(again), str(again), again.what) == (type(first), str(first), first.what)


def test_the_address_to_read_more_at_is_whole_where_the_site_is_published(monkeypatch):
    monkeypatch.setattr(base, "SITE", "https://example.org/haiku-state/")
    monkeypatch.setenv("HAIKU_STATE_LANG", "zh")
    address = f"https://example.org/haiku-state/{ZH}/haiku/pure_pair.html"
    assert str(errors.MissingKeyError()).endswith(f"详见：{address}")


def test_a_missing_value_is_noticed_where_the_error_is_raised():
    with pytest.raises(KeyError, match="rows"):
        errors.BatchDivisionError(parts=4)


def test_a_part_that_the_raise_supplies_takes_the_place_of_the_text_of_the_class(monkeypatch):
    monkeypatch.setenv("HAIKU_STATE_LANG", "en")
    error = errors.MissingKeyError(wrong="f({})", right="g({})", why="{} stays", more="api/data")
    assert str(error) == (
        "random numbers are drawn, but rng is None.\n"
        "  wrong: f({})\n"
        "  right: g({})\n"
        "  why:   {} stays\n"
        "  more:  en/api/data.html"
    )
