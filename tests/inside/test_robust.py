"""What explain leaves behind, and what it takes."""

import collections
import functools
import random
import sys
import threading
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haiku_state.inside import explain, explain_retrace
from haiku_state.inside.reach import Container

x = jnp.arange(3.0)
log: list = []
table = [{"text": "a", "label": row} for row in range(20_000)]
big = np.ones((5_000, 1_000), np.float32)


def names(report):
    return [finding.name for finding in report.findings]


@jax.jit
def helper(value):
    log.append("helper")
    return 2 * value


def test_what_jax_has_traced_before_is_traced_again():
    def call(value):
        return helper(value)

    helper(x)
    log.clear()
    assert names(explain(call, x)) == ["log[...]"]
    assert names(explain(call, x)) == ["log[...]"]
    assert log == []


def test_ordered_dict_keeps_its_order():
    recent = collections.OrderedDict(a=1, b=2, c=3)

    def call(value):
        recent.move_to_end("a")
        recent["d"] = 4
        del recent["b"]
        return value

    assert not explain(call, x).pure
    assert list(recent.items()) == [("a", 1), ("b", 2), ("c", 3)]


def test_one_thing_that_cannot_be_restored_does_not_keep_the_others():
    class Once(dict):
        def __setattr__(self, name, value):
            raise AttributeError(name)

    once, buffer = Once(), bytearray(b"abc")
    once.__dict__["n"] = 0
    view = memoryview(buffer)

    def call(value):
        once.__dict__["n"] = 1
        buffer[0] = 0
        log.append(1)
        return value

    explain(call, x)
    assert (once.__dict__["n"], buffer, log) == (0, b"abc", [])
    view.release()


def test_hostile_objects():
    class Hostile(list):
        def __iter__(self):
            raise RuntimeError

        __len__ = __repr__ = __eq__ = __iter__
        __hash__ = None

    class Key:
        def __repr__(self):
            raise RuntimeError

    class Endless:
        def __getattr__(self, name):
            return Endless()

        def __call__(self, value):
            return value

    hostile, keys, endless = Hostile([1]), {Key(): 1}, Endless()
    nest: list = []
    for _ in range(5_000):
        nest = [nest]

    def call(value):
        if hostile is keys or nest is endless:
            return value
        log.append(1)
        return value

    report = explain(call, x)
    assert names(report) == ["log[...]"]
    assert str(report)
    assert log == []


def test_arrays_that_jax_does_not_take():
    masked, extended = np.ma.masked_array([1.0], mask=[True]), np.ones(3, np.longdouble)

    def call(value):
        return value * len(masked) * len(extended)

    assert explain(call, x).pure


def test_a_system_random_has_no_state():
    dice = random.SystemRandom()

    def call(value):
        return value * dice.random()

    assert names(explain(call, x)) == ["dice.random"]


def test_large_things_are_found_and_restored():
    def call(value):
        value = value + table[3]["label"]
        table[15_000]["label"] = 5
        table[2]["label"] = 7
        big[3, 4] = 0
        return value

    report = explain(call, x)
    lines = [finding.line - report.findings[0].line for finding in report.findings]
    assert names(report) == ["table[15000]['label']", "table[2]['label']", "big[...]"]
    assert lines == [0, 1, 2]
    assert (table[15_000]["label"], table[2]["label"], big[3, 4]) == (15_000, 2, 1)


def test_large_things_are_compared_as_often_for_many_reads_as_for_one(monkeypatch):
    compared, changes = [], Container.changes

    def counted(holder):
        compared.append(holder)
        return changes(holder)

    def comparisons(reads):
        def call(value):
            for _ in range(reads):
                value = value + table[3]["label"] + big[0, 0]
            return value

        compared.clear()
        assert explain(call, x).pure
        return sum(holder.value is table or holder.value is big for holder in compared)

    monkeypatch.setattr(Container, "changes", counted)
    assert comparisons(20) == comparisons(1) > 0


def test_a_warning_is_not_shown_and_not_used_up():
    def call(value):
        warnings.warn("careful", stacklevel=1)
        return value

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        assert names(explain(call, x)) == ["warnings.warn"]
        assert caught == []
        call(x)
        assert len(caught) == 1


def test_threads_leave_the_streams_as_they_were():
    found, stdout = [], sys.stdout

    def work():
        mine: list = []

        def call(value):
            mine.append(1)
            print("call")
            return value

        found.append((names(explain(call, x)), mine))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(["mine[...]", "print"], [])] * 4
    assert sys.stdout is stdout


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interruption_passes_and_all_is_restored(error):
    before = sys.stdout, sys.gettrace(), sys.getprofile()

    def call(value):
        log.append(1)
        raise error

    with pytest.raises(error):
        explain(call, x)
    assert (sys.stdout, sys.gettrace(), sys.getprofile()) == before
    assert log == []


STATIC = pytest.mark.skipif(
    jax.__version_info__ < (0, 6), reason="JAX 0.5 and older do not tell what is static"
)


@STATIC
@pytest.mark.parametrize("static", [{"static_argnums": 1}, {"static_argnames": "n"}])
@pytest.mark.parametrize(("first", "second"), [(3, 4), (True, False), (None, 1)])
def test_a_static_number_that_differs(static, first, second):
    function = jax.jit(lambda value, n: value, **static)
    report = explain_retrace(function, [x, first], [x, second])
    found = [(finding.name, finding.form) for finding in report.findings]
    assert found == [("n", "static value")]


@STATIC
def test_a_static_number_is_no_tracer():
    function = functools.partial(jax.jit, static_argnums=1)(lambda value, n: (log.append(n), value))
    assert [finding.kind for finding in explain(function, x, 2).findings] == ["mutation"]


def test_none_and_a_number_are_different_structures():
    function = jax.jit(lambda value, n: value)
    report = explain_retrace(function, [x, None], [x, 1.0])
    assert [(finding.name, finding.form) for finding in report.findings] == [("n", "structure")]


def test_a_method_with_a_static_self():
    class Model:
        def __init__(self):
            self.calls = 0

        @functools.partial(jax.jit, static_argnums=0)
        def forward(self, value):
            self.calls += 1
            return value

    model = Model()
    assert names(explain(model.forward, x)) == ["self.calls"]
    report = explain_retrace(model.forward, [x], [jnp.ones(4)])
    assert names(report) == ["value"]


def test_an_iterator_in_a_tuple_is_not_advanced():
    pair = iter([1.0, 2.0]), "label"

    def call(value):
        return value * next(pair[0])

    assert names(explain(call, x)) == ["next(pair[0])"]
    assert next(pair[0]) == 1.0
