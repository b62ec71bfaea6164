"""What a teacher is told about an answer; no flag stands beside an ordinary one."""

import pytest

from haiku_state.exercises import names, solution
from haiku_state.exercises.course import load
from haiku_state.exercises.flags import flags
from haiku_state.exercises.judge import judge

RIGHT = solution("counter")

# what an answer does: its code, and a part of what is told
FLAGGED = {
    "imports the checker": (
        "from haiku_state.exercises import solution",
        "imports `haiku_state.ex",
    ),
    "imports a part of it": ("import haiku_state.exercises.course as c", "imports `haiku_state.ex"),
    "uses it": ("import haiku_state as hs\nhs.exercises.solution('counter')", "`hs.exercises`"),
    "reads a file": ("open('/x/haiku_state/exercises/course/counter.py')", "names the files"),
    "walks frames": ("import sys\nsys._getframe(1).f_back", "`_getframe` (line 2)"),
    "walks frames by inspect": ("import inspect\ninspect.currentframe()", "`currentframe`"),
    "looks at all objects": ("import gc\ngc.get_objects()", "`gc`"),
    "looks at a name in text": ("import sys\ngetattr(sys, '_getframe')()", "`_getframe`"),
    "watches calls": ("import sys\nsys.setprofile(None)", "`setprofile`"),
    "reads memory": ("import ctypes", "`ctypes`"),
    "asks for tracers": ("import jax\nisinstance(1, jax.core.Tracer)", "`Tracer` (line 2)"),
    "runs text": ("exec('x = 1')", "runs text as code, with `exec`"),
    "imports by text": ("__import__('os')", "runs text as code, with `__import__`"),
}


@pytest.mark.parametrize("case", FLAGGED)
def test_what_stands_out_is_told(case):
    code, told = FLAGGED[case]
    assert any(told in flag for flag in flags(f"{code}\n{RIGHT}")), list(flags(code))


@pytest.mark.parametrize("name", names())
def test_a_solution_has_no_flag(name):
    assert list(flags(solution(name))) == []


def test_what_is_changed_only_where_nothing_is_traced_is_told(tmp_path):
    code = "calls = []\n" + RIGHT.replace(
        "    return increment, state + increment",
        "    if type(state).__name__ == 'ArrayImpl':\n        calls.append(1)\n"
        "    return increment, state + increment",
    )
    result = judge(load("counter"), code, tmp_path / "counter.py")
    assert result.passed, str(result)
    [flag] = flags(code, result.changed)
    assert "changes `calls`" in flag


def test_what_python_cannot_read_has_no_flag():
    assert list(flags("def (")) == []
