"""Each property is asked for by itself: an answer that lacks one alone is told which."""

from pathlib import Path

import one_property
import pytest

from haiku_state.exercises import judge
from haiku_state.exercises.exercise import PROPERTIES

RIGHT = "\n".join(["import jax", *(f"def {name}(x): return x + 1" for name in PROPERTIES)])

# property: an answer that lacks it, what is told, and the idea
LACKING = {
    "again": (
        "calls = []\ndef again(x):\n    calls.append(1)\n    return x + 1 + (len(calls) > 1)\n",
        "two different results", "not repeatable",
    ),
    "arguments": (
        "def arguments(x):\n    y = x + 1\n    x.delete()\n    return y\n",
        "changed its arguments", "changed argument",
    ),
    "pure": ("def pure(x):\n    print(x.shape)\n    return x + 1\n", "`explain` finds", "output"),
    "jit": (
        "def jit(x):\n    return x + 1 if not isinstance(x, jax.core.Tracer) else x\n",
        "Under `jax.jit` the result is different", "jit differs",
    ),
    "an error under jit": (
        "def jit(x):\n    return x + 1 if x[0] * 0 == 0 else x\n",
        "Under `jax.jit`: TracerBoolConversionError", "not traceable",
    ),
    "vmap": (
        "def vmap(x):\n    many = isinstance(x, jax.core.Tracer)\n    return x + 1 + many\n",
        "Under `jax.vmap` the result is different", "vmap differs",
    ),
    "keys": (
        "def keys(x):\n    key = jax.random.key(0)\n"
        "    return x + 1 + 0 * (jax.random.normal(key) + jax.random.normal(key))\n",
        "KeyReuseError", "key reused",
    ),
}  # fmt: skip


@pytest.fixture
def judged(monkeypatch, tmp_path):
    monkeypatch.setattr(judge, "module_of", lambda _name: one_property.__name__)
    monkeypatch.syspath_prepend(Path(__file__).parent)
    return lambda text: judge.judge(one_property.EXERCISE, text, tmp_path / "answer.py")


def test_an_answer_with_every_property_passes(judged):
    result = judged(RIGHT)
    assert result.passed, str(result)


def test_a_slip_is_told_without_an_idea(judged):
    result = judged(f"{RIGHT}\ndef jit(x): return y + 1\n")
    assert "NameError: name 'y' is not defined" in str(result)
    assert result.failure.idea is None


@pytest.mark.parametrize("body", ["return x + 2", "raise ValueError(x.shape)"])
def test_a_mistake_that_nothing_recognizes_is_told_as_a_frequent_one(body, judged):
    result = judged(f"{RIGHT}\ndef again(x): {body}\n")
    assert "Often the cause is this:" in str(result)
    assert "The idea:" not in str(result)


def test_one_that_is_recognized_is_told_as_certain(judged):
    assert "The idea:" in str(judged(f"{RIGHT}\n{LACKING['jit'][0]}"))


@pytest.mark.parametrize("name", LACKING)
def test_an_answer_that_lacks_one_property_is_told_which(name, judged):
    text, told, idea = LACKING[name]
    result = judged(f"{RIGHT}\n{text}")
    assert not result.passed
    assert told in result.failure.problem, str(result)
    assert result.failure.idea.name == idea, str(result)
