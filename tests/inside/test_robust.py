"""What explain leaves behind, and what it takes."""

import argparse
import collections
import ctypes
import inspect
import sys
import textwrap
import threading
import types
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haiku_state.inside import compat, explain
from haiku_state.inside.reach import Holder, names_in, nested_codes

x = jnp.arange(3.0)
log: list = []
table = [{"text": "a", "label": row} for row in range(20_000)]
big = np.ones((5_000, 1_000), np.float32)


@pytest.mark.parametrize("module", [argparse, collections, textwrap])
def test_explain__what_code_names_are_strings(module):
    # some instructions say "ATTR" or "METHOD", and have a number
    source = inspect.getsource(module)
    for code in nested_codes(compile(source, module.__file__, "exec")):
        assert {type(name) for named in names_in(code) for name in named} <= {str}


def names(report):
    return [finding.name for finding in report.findings]


@jax.jit
def helper(value):
    log.append("helper")
    return 2 * value


def test_explain__an_ordered_dict_keeps_its_order():
    recent = collections.OrderedDict(a=1, b=2, c=3)

    def call(value):
        recent.move_to_end("a")
        recent["d"] = 4
        del recent["b"]
        return value

    assert not explain(call, x).pure
    assert list(recent.items()) == [("a", 1), ("b", 2), ("c", 3)]


def test_explain__one_thing_that_cannot_be_restored_does_not_keep_the_others():
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


def test_explain__takes_hostile_objects():
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


def test_explain__takes_arrays_that_jax_does_not_take():
    masked, extended = np.ma.masked_array([1.0], mask=[True]), np.ones(3, np.longdouble)

    def call(value):
        return value * len(masked) * len(extended)

    assert explain(call, x).pure


def test_explain__large_things_are_found_and_restored():
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


def test_explain__large_things_are_compared_as_often_for_many_reads_as_for_one(monkeypatch):
    compared, changes = [], Holder.changes

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

    monkeypatch.setattr(Holder, "changes", counted)
    assert comparisons(20) == comparisons(1) > 0


def test_explain__a_tree_costs_as_many_comparisons_as_it_has_parts(monkeypatch):
    compared, changes = [0], Holder.changes

    def counted(holder):
        compared[0] += 1
        return changes(holder)

    def comparisons(count):
        tree = [{"n": index} for index in range(count)]

        def call(value):
            for part in tree:
                part["n"] += 1
            return value

        compared[0] = 0
        assert names(explain(call, x)) == ["part['n']"]
        return compared[0]

    monkeypatch.setattr(Holder, "changes", counted)
    assert comparisons(400) < 1.2 * 4 * comparisons(100)  # as the parts, and not as their square


def test_explain__tells_that_another_thread_may_have_changed_something():
    shared, stop = {"ours": 0}, threading.Event()

    def work():
        stop.wait(60)

    def call(value):
        shared["ours"] += 1
        return value

    thread = threading.Thread(target=work)
    thread.start()
    try:
        report = explain(call, x)
        assert names(report) == ["shared['ours']"]
        assert any("another thread" in text for text in report.unseen)
        assert shared["ours"] == 0
    finally:
        stop.set()
        thread.join()


def test_explain__a_context_that_looks_for_leaks_is_no_leak():
    def call(value):
        return helper(value) * 2

    with jax.checking_leaks():
        assert names(explain(call, x)) == ["log[...]"]
        assert explain(lambda value: jnp.sin(value), x).pure


def test_explain__a_tracer_that_cannot_be_taken_back_is_told():
    cell = ctypes.py_object()

    def call(value):
        cell.value = value * 2
        return value

    report = explain(call, x)
    assert [(finding.kind, finding.name) for finding in report.findings] == [("leak", "cell")]
    assert any("`cell`" in text for text in report.unseen)


def test_explain__an_error_is_told_with_its_line_and_is_no_purity():
    def call(value):
        value = value + 1
        return value @ jnp.ones((4, 4))

    text = str(explain(call, x))
    assert text.startswith("`call` ended with an error. No impurity was found before it.")
    assert f"test_robust.py:{call.__code__.co_firstlineno + 2}\n" in text
    assert "return value @ jnp.ones((4, 4))" in text


def test_explain__what_only_its_frame_shows_is_found_and_restored(monkeypatch):
    hidden = types.ModuleType("hidden")
    monkeypatch.setitem(sys.modules, "hidden", hidden)
    text = "n = 0\ndef bump(value):\n    global n\n    n += 1\n    return value * n"
    exec(compile(text, "hidden.py", "exec"), vars(hidden))

    def call(value):
        name = "hidden"
        return sys.modules[name].bump(value)

    report = explain(call, x)
    assert [(one.kind, one.name, one.line) for one in report.findings] == [("mutation", "n", 4)]
    assert hidden.n == 0


def test_explain__a_warning_is_not_shown_and_not_used_up():
    def call(value):
        warnings.warn("careful", stacklevel=1)
        return value

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        assert names(explain(call, x)) == ["warnings.warn"]
        assert caught == []
        call(x)
        assert len(caught) == 1


def test_explain__threads_leave_the_streams_as_they_were():
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


def test_explain__an_iterator_in_a_tuple_is_not_advanced():
    pair = iter([1.0, 2.0]), "label"

    def call(value):
        return value * next(pair[0])

    assert names(explain(call, x)) == ["next(pair[0])"]
    assert next(pair[0]) == 1.0


def test_explain__no_trace_within_another_hides_a_later_one():
    traced = []

    @jax.jit
    def inner(value):
        traced.append(1)
        return 2 * value

    for _ in range(5):
        with compat.traced_anew():
            jax.make_jaxpr(inner)(x)
            with compat.traced_anew():
                jax.make_jaxpr(inner)(x)
    assert len(traced) == 10
