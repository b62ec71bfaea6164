"""What is said of Python functions that the compiled program calls."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback

import haiku_state as hs

host, scale = {"n": 0}, 2.0
NUMBER = jax.ShapeDtypeStruct((), jnp.float32)
x = jnp.float32(1)


def counts(value):
    host["n"] += 1
    return np.float32(value * host["n"])


def reads(value):
    return np.float32(value * scale)


def of_kind(kind, entries):
    return [(one.name, one.form) for one in entries if one.kind == kind]


def test_explain__an_io_callback_is_an_effect_and_no_defect():
    report = hs.explain(lambda x: io_callback(counts, NUMBER, x), x)
    assert of_kind("effect", report.findings) == [("io_callback", "io_callback")]
    assert not report.pure
    assert "has no defects, only effects: 1" in str(report)
    with pytest.raises(AssertionError):
        hs.assert_pure(lambda x: io_callback(counts, NUMBER, x), x)
    hs.assert_pure(lambda x: io_callback(counts, NUMBER, x), x, allow="io_callback")


@pytest.mark.parametrize("function", [counts, reads])
def test_explain__of_a_pure_callback_it_is_told_what_must_hold(function):
    report = hs.explain(lambda x: jax.pure_callback(function, NUMBER, x), x)
    assert report.pure
    assert of_kind("effect", report.notes) == [("pure_callback", "pure_callback")]
    assert "its result may depend only on its arguments" in " ".join(str(report).split())


@pytest.mark.parametrize(
    "call",
    [
        lambda x: io_callback(reads, NUMBER, x),
        lambda x: jax.pure_callback(reads, NUMBER, x),
        lambda x: jax.pure_callback(lambda x: np.float32(x * scale), NUMBER, x),
        lambda x: jax.debug.callback(lambda x: host.update(n=x * scale), x),
    ],
)
def test_explain__what_only_a_callback_reads_is_not_frozen(call):
    report = hs.explain(call, x)
    assert of_kind("frozen value", report.notes) == []
    global scale
    compiled, before = jax.jit(call), scale
    try:
        first = compiled(x)
        scale = 5.0
        second = compiled(x)  # it sees the change
        jax.effects_barrier()
    finally:
        scale = before
    assert second is None or (float(first), float(second)) == (2.0, 5.0)


def test_explain__what_the_function_reads_too_is_frozen():
    report = hs.explain(lambda x: scale * jax.pure_callback(reads, NUMBER, x), x)
    assert of_kind("frozen value", report.notes) == [("scale", "number")]


def test_explain__printing_in_every_call_is_not_worth_a_note():
    def call(x):
        jax.debug.print("x = {x}", x=x)
        return x

    assert hs.explain(call, x).notes == ()


def test_explain__a_callback_in_a_scan_is_seen():
    def body(total, value):
        return total + io_callback(reads, NUMBER, value), value

    report = hs.explain(lambda xs: jax.lax.scan(body, 0.0, xs), jnp.ones(3))
    assert of_kind("effect", report.findings) == [("io_callback", "io_callback")]
