"""Why a second call is traced again, and what is static."""

import functools

import jax
import jax.numpy as jnp
import pytest

from haiku_state.errors import ArgumentError
from haiku_state.inside import explain, explain_retrace

x = jnp.arange(3.0)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([x], [jnp.ones(4)], ("shape", "float32[3]", "float32[4]")),
        ([x], [jnp.arange(3)], ("dtype", "float32[3]", "int32[3]")),
        ([1.0], [jnp.float32(1)], ("weak type", "weak float32[]", "float32[]")),
        ([x, "sum"], [x, "mean"], ("static value", "'sum'", "'mean'")),
    ],
    ids=["shape", "dtype", "weak type", "static value"],
)
def test_explain_retrace__names_the_difference(first, second, expected):
    traced = []

    @functools.partial(jax.jit, static_argnames="how")
    def f(x, how="sum"):
        traced.append(how)
        return getattr(jnp, how)(x)

    (finding,) = explain_retrace(f, first, second).findings
    assert (finding.kind, finding.form, finding.before, finding.after) == ("retrace", *expected)
    f(*first), f(*second)
    assert len(traced) == 2  # JAX itself traces twice


def test_explain_retrace__equal_calls_are_traced_once():
    traced = []

    @jax.jit
    def f(x):
        traced.append(x.shape)
        return 2 * x

    assert explain_retrace(f, [x], [x + 1]).pure
    f(x), f(x + 1)
    assert len(traced) == 1


def test_explain_retrace__a_tree_of_another_structure_is_one_finding():
    (finding,) = explain_retrace(lambda tree: tree["a"], [{"a": x}], [{"a": x, "b": x}]).findings
    assert (finding.name, finding.form) == ("tree", "structure")


def test_explain_retrace__none_and_a_number_are_different_structures():
    function = jax.jit(lambda value, n: value)
    report = explain_retrace(function, [x, None], [x, 1.0])
    assert [(finding.name, finding.form) for finding in report.findings] == [("n", "structure")]


def test_explain_retrace__a_retrace_is_not_called_impure():
    report = explain_retrace(lambda value: value, [x], [jnp.ones(4)])
    assert str(report).startswith("The second call of `<lambda>` is traced again: 1 difference\n")
    assert report.pure
    report = explain_retrace(lambda value: value, [x], [x])
    assert str(report).startswith(
        "The second call of `<lambda>` uses the program of the first call."
    )


def test_explain_retrace__finds_a_function_that_is_made_and_jitted_in_each_call():
    def f(x):
        return jax.jit(lambda x: 2 * x)(x)

    (finding,) = explain_retrace(f, [x], [x]).findings
    assert (finding.form, finding.line) == ("new function", f.__code__.co_firstlineno + 1)
    report = explain(f, x)
    assert report.pure
    assert [note.kind for note in report.notes] == ["retrace"]


def test_explain_retrace__weak_types_differ_and_a_dtype_cures_it():
    @jax.jit
    def call(x):
        return x * 2

    for number in (1.0, jnp.asarray(1.0)):
        (finding,) = explain_retrace(call, [number], [jnp.float32(1)]).findings
        assert finding.form == "weak type"
        told = jnp.asarray(number, jnp.float32)  # as the advice says
        assert explain_retrace(call, [told], [jnp.float32(1)]).findings == ()


@pytest.mark.parametrize(
    ("first", "second", "form"),
    [
        (lambda: [1.0], lambda: [1.0, 2], "missing"),
        (lambda: [1.0, 1], lambda: [1.0], "missing"),
        (lambda: [jax.random.key(0)], lambda: [jax.random.PRNGKey(0)], "key"),
    ],
)
def test_explain_retrace__two_calls_that_are_traced_twice_differ(first, second, form):
    traces = []

    @jax.jit
    def call(x, n=1):
        traces.append(n)
        return n

    with jax.legacy_prng_key("allow"):
        call(*first()), call(*second())
        assert len(traces) == 2
        (finding,) = explain_retrace(call, first(), second()).findings
    assert finding.form == form


# ---- What is static

STATIC = pytest.mark.skipif(
    jax.__version_info__ < (0, 6), reason="JAX 0.5 and older do not tell what is static"
)


@STATIC
def test_explain_retrace__each_difference_of_two_calls_is_told_and_what_cures_it():
    double = jax.jit(lambda x: 2 * x)
    forms = [
        ([jnp.ones(3)], [jnp.ones((3, 1), jnp.int32)], ["rank", "dtype"]),
        ([1], [jnp.float32(1)], ["dtype", "weak type"]),
        ([jax.random.key(0)], [jax.random.PRNGKey(0)], ["key"]),
    ]
    for first, second, expected in forms:
        report = explain_retrace(double, first, second)
        assert [finding.form for finding in report.findings] == expected
    call = jax.jit(lambda x, f: f(x), static_argnums=1)
    report = explain_retrace(call, [1.0, lambda x: x], [1.0, lambda x: x])
    assert [finding.form for finding in report.findings] == ["static object"]
    # as it is told
    keys = [jax.random.key(0)], [jax.random.wrap_key_data(jax.random.PRNGKey(0))]
    number = jnp.asarray(1, jnp.float32)
    for first, second in (keys, ([number], [jnp.float32(1)])):
        assert explain_retrace(double, first, second).findings == ()


@STATIC
def test_explain_retrace__static_values_of_other_types_are_others():
    call = jax.jit(lambda x, n: x, static_argnums=1)
    for one, other in ((2, 2.0), (1, True)):
        (finding,) = explain_retrace(call, [1.0, one], [1.0, other]).findings
        assert finding.form == "static value"


@STATIC
@pytest.mark.parametrize("static", [{"static_argnums": 1}, {"static_argnames": "n"}])
@pytest.mark.parametrize(("first", "second"), [(3, 4), (True, False), (None, 1)])
def test_explain_retrace__finds_a_static_number_that_differs(static, first, second):
    function = jax.jit(lambda value, n: value, **static)
    report = explain_retrace(function, [x, first], [x, second])
    found = [(finding.name, finding.form) for finding in report.findings]
    assert found == [("n", "static value")]


@STATIC
def test_explain__a_static_number_is_no_tracer():
    log = []
    function = jax.jit(lambda value, n: (log.append(n), value), static_argnums=1)
    assert [finding.kind for finding in explain(function, x, 2).findings] == ["mutation"]


class Model:
    @functools.partial(jax.jit, static_argnums=0)
    def step(self, x):
        return x


class Unhashable(Model):
    __hash__ = None


def test_explain_retrace__takes_a_method_with_a_static_self():
    (finding,) = explain_retrace(Model().step, [x], [jnp.ones(4)]).findings
    assert finding.name == "x"


@STATIC
def test_explain__a_static_self_that_cannot_be_hashed_is_named():
    report = explain(Unhashable().step, x)
    assert "self is" in str(report.error)
    with pytest.raises(ValueError, match="hash"):
        Unhashable().step(x)


@STATIC
def test_explain__names_a_static_argument_that_cannot_be_hashed():
    function = jax.jit(lambda value, n: value, static_argnames="n")
    with pytest.raises(ValueError, match="hash"):
        function(x, n=[1])
    for report in (explain(function, x, n=[1]), explain_retrace(function, [x, [1]], [x, [2]])):
        assert isinstance(report.error, ArgumentError)
        assert str(report).startswith("`<lambda>` cannot be called like this.")
        assert "must be a hashable value" in str(report)
