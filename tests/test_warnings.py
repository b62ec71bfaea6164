import importlib.util
import json
from pathlib import Path

import pytest
from support.allowed_warnings import ALLOWED, STATEMENTS
from support.constraint_files import JAX_FILES

RECORD = """
import json, sys, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    exec(sys.argv[1])
print(json.dumps([[str(w.message), w.category.__name__, w.filename] for w in caught]))
"""


def emitted(user, statement):
    """Message, category and file of each warning of a statement in a fresh process."""
    ran = user.python("-c", RECORD, statement)
    return [tuple(warning) for warning in json.loads(ran.stdout)]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_allowed_warnings__are_exactly_those_that_are_emitted(statement, user):
    expected = {
        (allowed.message, allowed.category, importlib.util.find_spec(allowed.module).origin)
        for allowed in ALLOWED
        if allowed.applies() and statement.startswith(allowed.statement)
    }
    assert set(emitted(user, statement)) == expected


@pytest.mark.parametrize("allowed", ALLOWED, ids=lambda allowed: str(allowed[0::4]))
def test_allowed_warnings__name_their_set_and_a_statement_that_is_recorded(allowed):
    assert allowed.constraints in [path.name for path in JAX_FILES]
    assert allowed.statement in STATEMENTS


def test_allowed_warnings__any_other_fails_a_test(pytestconfig):
    assert pytestconfig.getini("filterwarnings")[0] == "error"
    allowed = pytestconfig.getini("filterwarnings")[2:]
    assert all("haiku" in line or "equinox" in line for line in allowed)


def test_allowed_warnings__the_recorder_sees_one(user):
    [(message, category, file)] = emitted(user, "warnings.warn('odd', DeprecationWarning)")
    assert (message, category, Path(file).name) == ("odd", "DeprecationWarning", "<string>")
