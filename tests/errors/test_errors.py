"""Every error class: its bases, its texts in both languages, and that it travels."""

import inspect
import pickle
import re
from pathlib import Path

import pytest

from haiku_state import errors
from haiku_state.errors import base

DOCS = Path(__file__).parents[2] / "docs"
PATH = "state['counter']['count']"
STACKED = {"path": PATH, "shape": (4,), "expected": (), "wrong": "f(1)", "right": "f(2)"}
CHANGED_LEAF = {"changes": "\n    a: int32[] -> float32[]", "name": "a", "dtype": "int32"}
PAIR_ARGUMENT = {"argument": "rng", "given": "float32[8,3]", "expected": "a key"}

# the built-in that users would catch, and values for the texts
ERRORS = {
    errors.ArgumentError: (
        ValueError,
        {
            "argument": "size",
            "value": 0,
            "expected": "1 or more",
            "wrong": "f(size=0)",
            "right": "f(size=1)",
            "why": "a stack holds at least one batch",
            "more": "api/data",
        },
    ),
    errors.UnboundAxisError: (NameError, {"axis": "devices"}),
    errors.TracedFlagError: (TypeError, {"name": "is_training", "call": "apply"}),
    errors.UninitializedStateError: (ValueError, {"path": PATH}),
    errors.UncalledModuleError: (TypeError, {"module": "A", "wrong": "A(x)", "right": "A()(x)"}),
    errors.StatelessTransformError: (ValueError, {}),
    errors.OutsideTransformError: (ValueError, {"module": "Counter"}),
    errors.PairArgumentError: (TypeError, {**PAIR_ARGUMENT, "wrong": "f(1)", "right": "f(2)"}),
    errors.MissingKeyError: (ValueError, {}),
    errors.UninitializedParameterError: (ValueError, {"path": "params['linear']['w']"}),
    errors.StateStructureError: (ValueError, {"changes": "\n    - a"}),
    errors.StateShapeError: (ValueError, CHANGED_LEAF),
    errors.StateDtypeError: (TypeError, CHANGED_LEAF),
    errors.WeakTypeError: (TypeError, CHANGED_LEAF),
    errors.LeakedTracerError: (TypeError, {"paths": f"\n    {PATH}"}),
    errors.DeviceStackedError: (ValueError, STACKED),
    errors.CounterStoppedError: (ValueError, {"paths": f"\n    {PATH}", "modules": ["norm"]}),
    errors.CounterAdvancedError: (ValueError, {"paths": f"\n    {PATH}"}),
    errors.LossFunctionError: (TypeError, {"returned": "float32[]", "wrong": "return loss"}),
    errors.DonatedBufferError: (RuntimeError, {"path": "train_state.step"}),
    errors.SharedBufferError: (ValueError, {"paths": "\n    a\n    b"}),
    errors.BatchDivisionError: (
        ValueError,
        {"rows": 30, "parts": 4, "wrong": "split_batch(batch, 4)"},
    ),
    errors.DeviceCountError: (ValueError, {"wanted": 16, "started": 8}),
    errors.LeadingAxisError: (
        ValueError,
        {
            "path": "batch['x']",
            "shape": (8,),
            "length": 4,
            "wrong": "f(1)",
            "right": "f(2)",
            "why": "each device gets one entry",
            "more": "update/many_steps",
        },
    ),
    errors.ReplicaMismatchError: (
        ValueError,
        {"paths": "\n    a by 1", "wrong": "alone", "right": "averaged"},
    ),
    errors.MeshPlacementError: (
        ValueError,
        {"path": PATH, "shape": (3,), "found": "P()", "mesh": "x", "wrong": "f", "right": "g"},
    ),
    errors.MissingAverageError: (ValueError, {"paths": "\n    params", "given": "opt_state"}),
    errors.NothingFrozenError: (ValueError, {"names": "\n    a", "function": "freeze_params"}),
    errors.LossScaleError: (
        ValueError,
        {"problem": "it is not", "wrong": "make_update(f, g)", "right": "make_scaled_update(f, g)"},
    ),
    errors.LateStartError: (RuntimeError, {}),
    errors.ProcessStartError: (
        RuntimeError,
        {
            "what": "process 0 cannot listen at {address}: {reason}.",
            "address": "a:1",
            "reason": "in use",
            "wrong": "start_processes('a:1', 2, 0)",
            "right": "start_processes('a:2', 2, 0)",
            "why": "the port must be free",
        },
    ),
    errors.LostProcessError: (RuntimeError, {"present": 0, "expected": 2, "timeout": 5}),
    errors.CheckpointDirectoryError: (
        OSError,
        {"directory": "run", "reason": "full", "wrong": "f", "right": "g", "why": "no room"},
    ),
    errors.DamagedFileError: (
        ValueError,
        {"path": "a.npz", "damage": "\n    cut", "wrong": "f", "right": "g"},
    ),
    errors.SavedMismatchError: (
        ValueError,
        {"saved": "a", "wanted": "b", "differences": "\n    - c", "wrong": "f", "right": "g"},
    ),
    errors.ExerciseError: (
        ValueError,
        {"problem": "there is no exercise a", "wrong": "a", "right": "b", "why": "list shows all"},
    ),
    errors.MissingExtraError: (ImportError, {"library": "scikit-learn", "extra": "data"}),
    errors.AttributeKindError: (TypeError, {"path": "self.log", "kind": "file"}),
    errors.SharedAttributeError: (ValueError, {"first": "self.a", "second": "self.b"}),
    errors.StaticAttributeError: (
        TypeError,
        {"method": "A.add", "changes": "\n    self.phase: 'cold' -> 'warm'"},
    ),
    errors.UnmatchedVersionsError: (
        ImportError,
        {"said": "AttributeError: a"},
    ),
}
SHAPES = {
    "en": r"(.+\n){1,3}  wrong: .+\n  right: .+\n  why:   .+\n  more:  .+",
    "zh": r"(.+\n){1,3}  错误写法：.+\n  正确写法：.+\n  原因：.+\n  详见：.+",
}
each_error = pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)


def raised(error):
    _, values = ERRORS[error]
    return error(**values)


def test_the_table_has_every_error():
    classes = {
        value
        for value in vars(errors).values()
        if inspect.isclass(value) and not issubclass(value, Warning)
    }
    assert classes == {errors.HaikuStateError, *ERRORS}


@each_error
def test_an_error_is_caught_by_its_base_and_by_the_built_in(error):
    built_in, _ = ERRORS[error]
    for caught in (errors.HaikuStateError, built_in):
        with pytest.raises(caught):
            raise raised(error)


@each_error
@pytest.mark.parametrize("language", SHAPES)
def test_a_text_has_five_parts_and_no_placeholder_left(error, language, monkeypatch):
    monkeypatch.setenv("HAIKU_STATE_LANG", language)
    text = str(raised(error))
    assert re.fullmatch(SHAPES[language], text), text
    assert not re.search(r"\{\w+(![rs])?\}", text), text
    assert text.startswith(raised(error).what)


@each_error
def test_wrong_and_right_line_differ_and_are_the_same_in_chinese(error, monkeypatch):
    english = [line.split(" ", 3)[-1].strip() for line in str(raised(error)).splitlines()[-4:-2]]
    monkeypatch.setenv("HAIKU_STATE_LANG", "zh")
    chinese = [line.split("：", 1)[-1] for line in str(raised(error)).splitlines()[-4:-2]]
    assert english == chinese
    assert english[0] != english[1]


def page_of(error):
    return error.MORE.format(**ERRORS[error][1])


@each_error
def test_the_page_to_read_more_on_is_a_source_of_the_site(error):
    page = DOCS / page_of(error)
    assert page.with_suffix(".md").is_file() or page.with_suffix(".rst").is_file()


@each_error
@pytest.mark.parametrize(("language", "folder"), [("en", "en"), ("zh", "zh_CN")])
def test_the_address_to_read_more_at_is_whole_where_the_site_is_published(
    error, language, folder, monkeypatch
):
    monkeypatch.setenv("HAIKU_STATE_LANG", language)
    address = f"{folder}/{page_of(error)}.html"
    assert str(raised(error)).endswith(("  " if language == "en" else "：") + address)
    monkeypatch.setattr(base, "SITE", "https://example.org/haiku-state/")
    assert str(raised(error)).endswith(f"https://example.org/haiku-state/{address}")


@each_error
def test_an_error_survives_pickling(error):
    first = raised(error)
    again = pickle.loads(pickle.dumps(first))
    assert (type(again), str(again), again.what, again.values) == (
        error,
        str(first),
        first.what,
        first.values,
    )


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
