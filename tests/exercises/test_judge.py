"""Each property is asked for by itself: an answer that lacks one alone is told which."""

import pytest
from one_property import EXERCISE, RIGHT, TEXT

from haiku_state.exercises.cells import read
from haiku_state.exercises.judge import judge

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
    "types": ("def types(x): return (x + 1).astype('complex64')\n", "their types are not", "dtype"),
}  # fmt: skip


@pytest.fixture
def judged(tmp_path):
    return lambda text, exercise=EXERCISE: judge(exercise, text, tmp_path / "answer.py")


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


def test_a_weak_type_is_asked_for_by_its_own_word(judged):
    weak = read("weak", TEXT.replace("return rng.normal(size=3)", "return 0.5"))
    strong = "import jax.numpy as jnp\ndef {}(x): return jnp.asarray(x + 1, 'float32')\n"
    assert judged(f"{RIGHT}{strong.format('types')}", weak).passed
    result = judged(f"{RIGHT}{strong.format('weak')}", weak)
    assert "their types are not" in str(result)


PROGRAMS = """
# %% idea two
# The result is two too large.
def again(x): return right.again(x) + 2
# %%
def jit(x): return right.jit(x) + 2
# %% idea three
# The result is three too large, or two.
def again(x): return right.again(x) + 2


def vmap(x): return right.vmap(x) + 3
# %% idea under jit
# It asks for a value.
def jit(x): return right.jit(x) if float(x[0]) else x
# %% idea at once
# It stops before it is called.
raise RuntimeError("at once")
"""
WITH_PROGRAMS = read("one_property", TEXT + PROGRAMS)
TOLD = {
    "the values of a wrong program": ("def jit(x): return x + 3", "two"),
    "of two, the one that explains more checks": (
        "def again(x): return x + 3\ndef vmap(x): return x + 4", "three"
    ),
    "of two that explain as many, the first": ("def again(x): return x + 3", "two"),
    "its error under jit": ("def jit(x): return x + 1 if float(x[0]) else x", "under jit"),
    "its error before any call": ("raise RuntimeError('at once')", "at once"),
}  # fmt: skip


@pytest.mark.parametrize("case", TOLD)
def test_a_mistake_is_told_by_the_wrong_program_that_gives_the_same(case, judged):
    text, idea = TOLD[case]
    result = judged(f"{RIGHT}{text}\n", WITH_PROGRAMS)
    assert result.failure.idea.name == idea, str(result)
    assert result.failure.recognized


def test_what_explain_finds_comes_before_a_guess(judged):
    text = "total = 2\ndef pure(x):\n    global total\n    total += 1\n    return x + total\n"
    result = judged(f"{RIGHT}{text}")
    assert result.failure.idea.name == "mutation"
    assert "`explain` finds: mutation of `total`" in str(result)
    assert result.failure.code.strip() == "total += 1"


def test_a_dict_that_is_changed_in_place_is_told_as_that(judged):
    exercise = read(
        "changed", TEXT.replace("return rng.normal(size=3)", "return {'n': rng.normal(size=3)}")
        .replace("return x + 1", "return {'n': x['n'] + 1}"),
    )  # fmt: skip
    right = RIGHT.replace("return x + 1", "return {'n': x['n'] + 1}")
    changed = "def pure(x):\n    x['n'] = x['n'] + 1\n    return x\n"
    result = judged(f"{right}{changed}", exercise)
    assert result.failure.idea.name == "changed argument", str(result)


def test_an_array_as_a_static_argument_is_told_as_that(judged):
    text = "import functools\n@functools.partial(jax.jit, static_argnums=0)\ndef jit(x): return x\n"
    result = judged(f"{RIGHT}{text}")
    assert result.failure.idea.name == "static value", str(result)


def test_a_key_is_vectorized_too(judged):
    draw = "import jax\n    return jax.random.key(rng.integers(9))"
    text = TEXT.replace("return rng.normal(size=3)", draw)
    use = "return jax.random.normal(x)"
    exercise = read("with_a_key", text.replace("return x + 1", use))
    result = judged(RIGHT.replace("return x + 1", use), exercise)
    assert result.passed, str(result)
