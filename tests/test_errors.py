import inspect
import pickle

import pytest

from haiku_state import errors

BUILT_IN = {
    errors.ModuleArgumentError: ValueError,
    errors.UnboundAxisError: NameError,
    errors.LossFunctionError: TypeError,
    errors.BatchSizeError: ValueError,
    errors.BatchRuleError: ValueError,
    errors.DeviceCountError: ValueError,
    errors.DeviceAxisError: ValueError,
    errors.ReplicaMismatchError: ValueError,
    errors.MissingExtraError: ImportError,
}


def test_the_table_has_every_error():
    classes = {value for value in vars(errors).values() if inspect.isclass(value)}
    assert classes == {errors.HaikuStateError, *BUILT_IN}


@pytest.mark.parametrize(("error", "built_in"), BUILT_IN.items())
def test_an_error_is_caught_by_its_base_and_by_the_built_in(error, built_in):
    assert issubclass(error, errors.HaikuStateError)
    with pytest.raises(built_in) as caught:
        raise error("what happened.", "f(1)", "f(2)", "one is odd")
    assert str(caught.value) == (
        "what happened.\n  wrong: f(1)\n  right: f(2)\n  why:   one is odd"
    )
    assert caught.value.what == "what happened."


@pytest.mark.parametrize("error", BUILT_IN)
def test_an_error_survives_pickling(error):
    raised = error("what happened.", "f(1)", "f(2)", "one is odd")
    again = pickle.loads(pickle.dumps(raised))
    assert (type(again), str(again), again.what) == (error, str(raised), raised.what)
