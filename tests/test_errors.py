"""Every error class: its bases, its texts in both languages, and that it travels."""

import inspect
import pickle
import re
from pathlib import Path

import pytest

from haiku_state import errors

ROOT = Path(__file__).parents[1]
PATH = "state['counter']['count']"
STACKED = {"path": PATH, "shape": (4,), "expected": (), "wrong": "f(1)", "right": "f(2)"}
PAIR_ARGUMENT = {"argument": "rng", "given": "float32[8,3]", "expected": "a key"}

# the built-in that users would catch, and values for the texts
ERRORS = {
    errors.ModuleArgumentError: (ValueError, {"name": "A", "given": "b", "against": "c=1"}),
    errors.ModuleRangeError: (
        ValueError,
        {"module": "A", "argument": "b", "value": 2, "range": "[0, 1)", "fitting": 0.9},
    ),
    errors.UnboundAxisError: (NameError, {"axis": "devices"}),
    errors.TracedFlagError: (TypeError, {"name": "is_training"}),
    errors.UninitializedStateError: (ValueError, {"path": PATH}),
    errors.ModuleFactoryError: (TypeError, {"given": "3"}),
    errors.ModuleOutputError: (TypeError, {"module": "Counter"}),
    errors.ModuleClassError: (TypeError, {}),
    errors.StatelessTransformError: (ValueError, {}),
    errors.InitResultError: (TypeError, {"returned": "dict"}),
    errors.OutsideTransformError: (ValueError, {"module": "Counter"}),
    errors.PairArgumentError: (TypeError, {**PAIR_ARGUMENT, "wrong": "f(1)", "right": "f(2)"}),
    errors.MissingKeyError: (ValueError, {}),
    errors.UninitializedParameterError: (ValueError, {"path": "params['linear']['w']"}),
    errors.StateStructureError: (ValueError, {"changes": "\n    - a"}),
    errors.StateShapeError: (ValueError, {"changes": "\n    a: float32[2] -> float32[3]"}),
    errors.StateDtypeError: (TypeError, {"changes": "\n    a: int32[] -> float32[]"}),
    errors.WeakTypeError: (TypeError, {"changes": "\n    a: float32[] -> weak float32[]"}),
    errors.LeakedTracerError: (TypeError, {"paths": f"\n    {PATH}"}),
    errors.DeviceStackedError: (ValueError, STACKED),
    errors.CounterStoppedError: (ValueError, {"paths": f"\n    {PATH}"}),
    errors.CounterAdvancedError: (ValueError, {"paths": f"\n    {PATH}"}),
    errors.LossFunctionError: (TypeError, {"returned": "float32[]"}),
    errors.DonatedBufferError: (RuntimeError, {"path": "train_state.step"}),
    errors.SharedBufferError: (ValueError, {"paths": "\n    a\n    b"}),
    errors.BatchSizeError: (ValueError, {"batch_size": 64, "rows": 40, "fitting": 32}),
    errors.BatchDivisionError: (
        ValueError,
        {"rows": 30, "devices": 4, "fitting": 28, "wrong": "split_batch(batch, 4)"},
    ),
    errors.BatchRuleError: (
        ValueError,
        {"remainder": "none", "known": "'drop', 'keep'", "batch_size": 8},
    ),
    errors.DeviceCountError: (ValueError, {"wanted": 16, "started": 8}),
    errors.DeviceAxisError: (
        ValueError,
        {"path": "batch['x']", "shape": (8,), "devices": 4, "wrong": "f(1)", "right": "f(2)"},
    ),
    errors.ReplicaMismatchError: (
        ValueError,
        {"paths": "\n    a by 1", "wrong": "alone", "right": "averaged"},
    ),
    errors.StackAxisError: (
        ValueError,
        {"path": "b", "shape": (3,), "first": "a", "length": (4,), "wrong": "f", "right": "g"},
    ),
    errors.MeshPlacementError: (
        ValueError,
        {"path": PATH, "shape": (3,), "found": "P()", "mesh": "x", "wrong": "f", "right": "g"},
    ),
    errors.TrainingMismatchError: (
        ValueError,
        {"directory": "run", "differences": "\n    seed: 0 -> 1"},
    ),
    errors.MicrobatchError: (
        ValueError,
        {"path": "a", "shape": (7,), "count": 4, "statistics": "once", "fitting": 4},
    ),
    errors.AccumulationArgumentError: (
        ValueError,
        {"argument": "count", "value": 0, "valid": "an int", "count": 0, "statistics": "once"},
    ),
    errors.AccumulatedGradientError: (TypeError, {"part": "state", "wrong": "f(1)"}),
    errors.DecayRateError: (ValueError, {"value": 1.5}),
    errors.MissingParamsError: (ValueError, {}),
    errors.MissingAverageError: (ValueError, {"paths": "\n    params", "given": "opt_state"}),
    errors.NoBatchesError: (ValueError, {}),
    errors.UsedStateError: (ValueError, {"paths": f"\n    {PATH}"}),
    errors.NothingFrozenError: (ValueError, {"names": "\n    a", "function": "freeze_params"}),
    errors.PrecisionPolicyError: (ValueError, {"text": "half"}),
    errors.ParamDtypeError: (TypeError, {"dtype": "float32", "paths": "\n    a: bfloat16"}),
    errors.LossScaleTypeError: (TypeError, {"given": "float"}),
    errors.LossScaleTwiceError: (ValueError, {"count": 2}),
    errors.ProcessArgumentError: (
        ValueError,
        {"argument": "a", "value": 1, "expected": "b", "wrong": "1", "right": "2"},
    ),
    errors.ProcessEnvironmentError: (ValueError, {"missing": "SLURM_PROCID"}),
    errors.LateStartError: (RuntimeError, {}),
    errors.CoordinatorAddressError: (
        OSError,
        {"address": "a:1", "reason": "in use", "expected": 2, "other": "a:2"},
    ),
    errors.ProcessDevicesError: (RuntimeError, {"devices": 2}),
    errors.MissingProcessError: (
        RuntimeError,
        {
            "expected": 2,
            "address": "a:1",
            "timeout": 5,
            "missing": "\n    process 1",
            "present": 0,
            "absent": 1,
        },
    ),
    errors.LostProcessError: (
        errors.MissingProcessError,
        {"present": 0, "expected": 2, "timeout": 5},
    ),
    errors.EndedProcessError: (errors.LostProcessError, {"present": 0, "expected": 2}),
    errors.CheckpointStepError: (ValueError, {"found": -1}),
    errors.CheckpointLeafError: (TypeError, {"leaves": "\n    a"}),
    errors.CheckpointPositionError: (TypeError, {"path": "position", "found": "tuple"}),
    errors.CheckpointKeepError: (ValueError, {"keep": 0}),
    errors.CheckpointExistsError: (
        FileExistsError,
        {"directory": "run", "existing": 6, "step": 5},
    ),
    errors.CheckpointDirectoryError: (OSError, {"directory": "run", "reason": "full"}),
    errors.CheckpointMismatchError: (ValueError, {"step": 6, "differences": "\n    - a"}),
    errors.BrokenCheckpointsError: (ValueError, {"directory": "run", "broken": "\n    step 6"}),
    errors.MissingExtraError: (ImportError, {"library": "scikit-learn", "extra": "data"}),
    errors.PlainClassError: (TypeError, {"given": "Linear"}),
    errors.MethodNameError: (AttributeError, {"name": "a", "cls": "A", "methods": "step, read"}),
    errors.AttributeKindError: (TypeError, {"path": "state.log", "kind": "file", "name": "log"}),
    errors.SharedAttributeError: (ValueError, {"first": "state.a", "second": "state.b"}),
    errors.ReturnsSelfError: (TypeError, {"method": "A.add", "kind": "A"}),
    errors.StaticAttributeError: (
        TypeError,
        {"method": "A.add", "changes": "\n    state.phase: 'cold' -> 'warm'"},
    ),
    errors.ClassStateError: (TypeError, {"method": "A.add", "cls": "A", "name": "count"}),
    errors.ArrayMismatchError: (ValueError, {"differences": "\n    - params['linear']['w']"}),
    errors.UnmatchedVersionsError: (
        ImportError,
        {"versions": "jax 0.6.2", "said": "AttributeError: a", "wrong": "f(1)", "right": "f(2)"},
    ),
    errors.ArrayFileError: (ValueError, {"where": "a.npz", "found": "dict", "expected": "array"}),
}
SHAPES = {
    "en": r"(.+\n){1,3}  wrong: .+\n  right: .+\n  why:   .+\n  more:  .+",
    "zh": r"(.+\n){1,3}  错误：.+\n  正确：.+\n  原因：.+\n  详见：.+",
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


@each_error
def test_the_page_to_read_more_on_is_there(error):
    assert (ROOT / error.MORE).is_file()


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
        errors.BatchSizeError(batch_size=64)
