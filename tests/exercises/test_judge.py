"""Each property is asked for by itself: an answer that lacks one alone is told which."""

import pytest
from support.one_property import EXERCISE, RIGHT, TEXT

from haiku_state.exercises.cells import read
from haiku_state.exercises.judge import Checker, _said, judge, missing_for

# property: an answer that lacks it, what is told, and the idea
LACKING = {
    "again": (
        "calls = []\ndef again(x):\n    calls.append(1)\n    return x + 1 + (len(calls) > 1)\n",
        "return different results", "not repeatable",
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


def test_check__an_answer_with_every_property_passes(judged):
    result = judged(RIGHT)
    assert result.passed, str(result)


def test_check__a_slip_is_told_without_an_idea(judged):
    result = judged(f"{RIGHT}\ndef jit(x): return y + 1\n")
    assert "NameError: name 'y' is not defined" in str(result)
    assert result.failure.idea is None


@pytest.mark.parametrize("body", ["return x + 2", "raise ValueError(x.shape)"])
def test_check__of_a_mistake_that_nothing_recognizes_no_cause_is_told(body, judged):
    result = judged(f"{RIGHT}\ndef again(x): {body}\n", read("one_idea", TEXT + THREE))
    assert not result.passed
    assert result.failure.idea is None
    assert "The idea:" not in str(result)


MESSAGES = {
    "immutable": "x[0] = 1\n    return x",
    "scalar loss": "return jax.grad(lambda x: (x.sum(), x))(x)[0]",
    "carry": "return jax.lax.scan(lambda c, _: (c.astype(int), None), 0.0, None, 3)[0] + x",
    "branches": "return jax.lax.cond(True, lambda: x, lambda: (x, x))",
    "unbound axis": "return jax.lax.psum(x, 'devices')",
    "donated": "y = x + 1\n    jax.jit(lambda y: y, donate_argnums=0)(y)\n    return y + 1",
    "not traceable": "return jax.jit(lambda x: x if x[0] > 0 else -x)(x)",
    "outside of a transform": "import haiku as hk\n    return hk.Linear(3)(x)",
    "no key": (
        "import haiku as hk\n    return hk.transform(lambda: hk.next_rng_key()).apply({}, None)"
    ),
}


@pytest.mark.parametrize("idea", MESSAGES)
def test_check__a_message_of_a_library_that_has_one_cause_tells_it(idea, judged):
    result = judged(f"{RIGHT}\ndef again(x):\n    {MESSAGES[idea]}\n")
    assert result.failure.idea is not None, str(result)
    assert result.failure.idea.name == idea, str(result)


def test_check__a_message_ends_with_a_sentence(judged):
    long = "A first sentence that says it. " + "Another one, which is long. " * 40 + "no end " * 9
    result = judged(f"{RIGHT}\ndef again(x): raise ValueError({long!r})\n")
    told = result.failure.problem
    assert told.startswith("ValueError: A first sentence")
    assert told.endswith("which is long.")
    assert len(told) < 450


def test_check__the_parts_of_a_result_have_names(judged):
    text = TEXT.replace("# %% check again; again\n", "# %% check again; again; output, state\n")
    pair = "def again(x): return x[0], {'n': x[1]}\n"
    exercise = read("named", text.replace("def again(x): return x + 1\n", pair))
    result = judged(f"{RIGHT}def again(x): return x[0] + 1, {{'n': x[1] + 1}}\n", exercise)
    assert [row.partition(":")[0] for row in result.failure.got] == ["output", "state['n']"]


def test_check__what_the_program_imports_is_there_for_the_checks(judged):
    text = TEXT.replace("rng.normal(size=3)", "jnp.asarray(rng.normal(size=3))")
    text = text.replace("import jax\n", "import jax\nimport jax.numpy as jnp\n", 1)
    assert judged(RIGHT, read("imports", text)).passed


def test_check__can_run_the_answer_anew(judged):
    setup = "# %% setup\nfrom haiku_state.exercises.counting import again\n\n# %% inputs"
    text = TEXT.replace("# %% inputs", setup).replace(
        "# %% check again; again", "# %% check again; once"
    )
    text = text.replace("return answer.again(x)", "return answer.again(x), again(answer).again(x)")
    kept = "\nkept = []\ndef again(x):\n    kept.append(1)\n    return x + len(kept)\n"
    assert judged(RIGHT + kept, read("anew", text)).passed


@pytest.mark.parametrize("name", LACKING)
def test_check__an_answer_that_lacks_one_property_is_told_which(name, judged):
    text, told, idea = LACKING[name]
    result = judged(f"{RIGHT}\n{text}")
    assert not result.passed
    assert told in result.failure.problem, str(result)
    assert result.failure.idea.name == idea, str(result)
    assert "Lesson: " in str(result)


def test_check__whole_numbers_and_strings_are_compared_exactly(judged):
    large = TEXT.replace("rng.normal(size=3)", "rng.integers(10**8, 10**9, size=3)")
    assert not judged(f"{RIGHT}def again(x): return x + 2\n", read("large", large)).passed
    word = TEXT.replace("def again(x): return x + 1", "def again(x): return 'one'")
    result = judged(f"{RIGHT}def again(x): return 'two'\n", read("word", word))
    assert (result.failure.expected, result.failure.got) == (("'one'",), ("'two'",))


def test_check__numbers_are_shown_with_six_digits(judged):
    third = read("third", TEXT.replace("rng.normal(size=3)", "1 / 3"))
    result = judged(f"{RIGHT}def again(x): return -x\n", third)
    assert (result.failure.expected, result.failure.got) == (("1.333333",), ("-0.333333",))


def test_check__a_weak_type_is_asked_for_by_its_own_word(judged):
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
THREE = "\n# %% idea three\n# It is three too large.\ndef again(x): return right.again(x) + 3\n"
WITH_PROGRAMS = read("one_property", TEXT + PROGRAMS)
TOLD = {
    "the values of a wrong program": ("def jit(x): return x + 3", "two"),
    "of two, the one that explains more checks": (
        "def again(x): return x + 3\ndef vmap(x): return x + 4", "three"
    ),
    "its error under jit": ("def jit(x): return x + 1 if float(x[0]) else x", "under jit"),
    "its error before any call": ("raise RuntimeError('at once')", "at once"),
}  # fmt: skip


@pytest.mark.parametrize("case", TOLD)
def test_check__a_mistake_is_told_by_the_wrong_program_that_gives_the_same(case, judged):
    text, idea = TOLD[case]
    result = judged(f"{RIGHT}{text}\n", WITH_PROGRAMS)
    assert result.failure.idea.name == idea, str(result)


REMEMBERS = "total = 1\ndef again(x):\n    global total\n    total {} 2\n    return x + total\n"


def test_check__a_mistake_that_remembers_is_told_though_it_goes_on_in_its_own_way(judged):
    idea = "\n# %% idea remembers\n# It remembers.\n" + REMEMBERS.format("+=").replace("2", "1")
    result = judged(RIGHT + REMEMBERS.format("*="), read("remembers", TEXT + idea))
    assert result.failure.idea is not None
    assert result.failure.idea.name == "remembers"


def test_check__of_two_ideas_that_explain_as_much_none_is_told(judged):
    exercise = read("both", TEXT + THREE + THREE.replace("three", "3"))
    result = judged(f"{RIGHT}def again(x): return x + 4\n", exercise)
    assert not result.passed
    assert result.failure.idea is None


def test_check__what_explain_finds_comes_before_a_guess(judged):
    text = "total = 2\ndef pure(x):\n    global total\n    total += 1\n    return x + total\n"
    result = judged(f"{RIGHT}{text}")
    assert result.failure.idea.name == "mutation"
    assert result.failure.got


def test_check__what_explain_finds_in_a_right_result_is_told_with_its_line(judged):
    text = "total = 1\ndef pure(x):\n    global total\n    total += 1\n    return x + 1\n"
    result = judged(f"{RIGHT}{text}")
    assert "`explain` finds: mutation of `total`" in str(result)
    assert result.failure.code.strip() == "total += 1"


def test_check__a_dict_that_is_changed_in_place_is_told_as_that(judged):
    exercise = read(
        "changed", TEXT.replace("return rng.normal(size=3)", "return {'n': rng.normal(size=3)}")
        .replace("return x + 1", "return {'n': x['n'] + 1}"),
    )  # fmt: skip
    right = RIGHT.replace("return x + 1", "return {'n': x['n'] + 1}")
    changed = "def pure(x):\n    x['n'] = x['n'] + 1\n    return x\n"
    result = judged(f"{right}{changed}", exercise)
    assert result.failure.idea.name == "changed argument", str(result)


def test_check__an_array_as_a_static_argument_is_told_as_that(judged):
    text = "import functools\n@functools.partial(jax.jit, static_argnums=0)\ndef jit(x): return x\n"
    result = judged(f"{RIGHT}{text}")
    assert result.failure.idea.name == "static value", str(result)


def test_check__a_key_is_vectorized_too(judged):
    draw = "import jax\n    return jax.random.key(rng.integers(9))"
    text = TEXT.replace("return rng.normal(size=3)", draw)
    use = "return jax.random.normal(x)"
    exercise = read("with_a_key", text.replace("return x + 1", use))
    result = judged(RIGHT.replace("return x + 1", use), exercise)
    assert result.passed, str(result)


def test_check__one_process_judges_one_answer_after_another(tmp_path):
    exercise = read("several", TEXT + THREE)
    wrong = f"{RIGHT}def again(x): return x + 4\n"
    with Checker(exercise, is_eager=True) as checker:
        for text in (wrong, wrong, RIGHT, wrong):
            result = checker.check(text, tmp_path / "answer.py")
            assert result.passed == (text == RIGHT), str(result)
            assert text == RIGHT or result.failure.idea.name == "three"


def test_check__what_an_exercise_needs_is_named():
    exercise = read(
        "needs", TEXT.replace("import jax\n", "import jax\nfrom no_such import thing\n", 1)
    )
    assert "The exercise needs no_such, which is not installed" in missing_for(exercise)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("They differ:\n\n  * the input carry is int32", "They differ: * the input carry is int32"),
        ("Add this line:\n\nsuper().__init__()", "Add this line: super().__init__()"),
        ("Different at key path tree\nAt that path", "Different at key path tree. At that path"),
        ("One sentence. Another.\n\nMore.", "One sentence. Another."),
        (f"See: {'x' * 20} {'word ' * 100}", f"See: {'x' * 20} {'word ' * 74}…"),
    ],
)  # fmt: skip
def test_check__of_a_message_nothing_is_lost_that_it_leads_to(text, said):
    assert _said(text) == said


def test_check__the_types_of_named_parts_have_their_names(judged):
    text = TEXT.replace("# %% check types; types\n", "# %% check types; types; output, state\n")
    assert text != TEXT
    pair = "def types(x): return x + 1, {'n': x + 1}\n"
    exercise = read("named", text.replace("def types(x): return x + 1\n", pair))
    wrong = pair.replace("{'n': x + 1}", "{'n': (x + 1).astype('complex64')}")
    result = judged(f"{RIGHT}{wrong}", exercise)
    assert result.failure.got == ("state['n']: complex64",)
