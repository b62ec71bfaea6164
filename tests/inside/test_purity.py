"""What `explain` finds, in tables of functions; and that it leaves everything as it was."""

import atexit
import builtins
import concurrent.futures
import dataclasses
import functools
import gc
import io
import itertools
import json
import logging
import os
import queue
import random
import signal
import sys
import tempfile
import threading
import time
import types
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support.programs import impure, pure, tables

import haiku_state as hs
from haiku_state.inside import compat

KINDS = {"mutation", "hidden input", "output", "leak", "frozen value", "retrace", "reference"}
x = jnp.arange(3.0)


def seen(report):
    return {(finding.kind, finding.name, finding.line) for finding in report.findings}


# ---- The two tables


@pytest.mark.filterwarnings("default:careful")  # a case warns; as an error it would end the trace
@pytest.mark.parametrize("case", impure.CASES, ids=lambda case: case[0])
def test_explain__an_impure_function_has_its_findings(case, standard_promotion):
    name, function, args, kwargs = case
    first = hs.explain(function, *args, **kwargs)
    wanted = impure.expected(case)
    if name == "leak_from_grad_computed_with" and (0, 7) <= jax.__version_info__ < (0, 11):
        wanted = {("leak", "a tracer", function.__code__.co_firstlineno)}
    assert seen(first) == wanted
    assert {finding.kind for finding in first.findings} <= KINDS
    assert first.error is None or name in impure.RAISES | impure.MAY_RAISE
    assert all((str(first), first._repr_html_(), json.loads(first.to_json())))
    # what was put back cannot be told from what was never changed
    again = hs.explain(function, *args, **kwargs)
    assert [(f.name, f.line, f.before) for f in again.findings] == [
        (f.name, f.line, f.before) for f in first.findings
    ]


@pytest.mark.parametrize("case", pure.CASES, ids=lambda case: case[0])
def test_explain__a_pure_function_has_no_finding(case, standard_promotion):
    _name, function, args, kwargs = case
    report = hs.explain(function, *args, **kwargs)
    assert report.findings == ()
    assert report.error is None


def test_explain__what_the_garbage_collector_runs_is_not_of_the_function():
    ran = []

    def measure(phase, info):  # as Hypothesis and profilers do
        ran.append(time.perf_counter())

    def make_cycles(x):
        for _ in range(5):
            cycle = types.SimpleNamespace()
            exec("cycle.itself = cycle", {"cycle": cycle})
        return x

    before = gc.get_threshold()
    gc.callbacks.append(measure)
    gc.set_threshold(1)
    try:
        report = hs.explain(make_cycles, x)
    finally:
        gc.callbacks.remove(measure)
        gc.set_threshold(*before)
    assert ran  # between the calls it collects
    assert report.findings == ()
    assert gc.isenabled()


def test_explain__the_tables_have_each_kind_in_several_forms():
    marks = [mark for case in impure.CASES for mark in impure.expected(case)]
    kinds = [kind for kind, _name, _line in marks]
    assert all(kinds.count(kind) >= 4 for kind in tables.KINDS)
    assert len(impure.CASES) >= 60
    assert len(pure.CASES) >= 60


def test_explain__no_case_has_written_a_file():
    for folder in (Path(tempfile.gettempdir()), Path.cwd()):
        assert not list(folder.glob("haiku_state-never-*"))


# ---- What a finding says


class Counter:
    def __init__(self):
        self.n = 0

    def count(self, x):
        self.n += 1
        return x * self.n


def test_explain__a_finding_has_the_values_before_and_after():
    (finding,) = hs.explain(Counter().count, x).findings
    assert (finding.before, finding.after, finding.form) == ("0", "1", "attribute")


def test_explain__findings_stand_in_the_order_of_their_lines():
    calls = []

    def helper(x):
        calls.append(1)
        return x

    def f(x):
        print("f")
        return helper(x) * random.random()

    lines = [finding.line for finding in hs.explain(f, x).findings]
    assert lines == sorted(lines)
    assert len(lines) == 3


def test_explain__a_number_from_outside_is_a_note_with_its_line():
    scale = 2.0

    def f(x):
        return x * scale

    (note,) = hs.explain(f, x).notes
    assert (note.kind, note.name, note.before) == ("frozen value", "scale", "2.0")
    assert note.line == f.__code__.co_firstlineno + 1


def test_explain__a_large_array_is_a_note_with_its_bytes():
    table = jnp.zeros((1024, 1024))

    def f(x):
        return table.sum() + x

    (note,) = hs.explain(f, x).notes
    assert (note.form, note.size, note.before) == ("big array", 4 << 20, "float32[1024,1024]")


def test_explain__a_large_numpy_array_is_found_at_its_line():
    table = np.zeros(1 << 18)

    def f(x):
        y = x + 1
        table[7] = 1.0
        return y

    (finding,) = hs.explain(f, x).findings
    assert (finding.name, finding.line) == ("table[...]", f.__code__.co_firstlineno + 2)
    assert not table.any()


def test_explain__a_difference_that_nothing_explains_is_found_at_its_equation():
    ask = itertools.count(1).__next__  # its state is in C, where nobody can look

    def f(x):
        y = x + 1
        return y * ask()

    (finding,) = hs.explain(f, x).findings
    assert (finding.kind, finding.name) == ("frozen value", "ask")
    assert finding.line == f.__code__.co_firstlineno + 2


# ---- What it takes


@pytest.mark.parametrize(
    "make",
    [
        lambda count: count,
        functools.partial,
        jax.jit,
        lambda count: jax.jit(functools.partial(count)),
        jax.vmap,
        lambda count: jax.grad(lambda x: count(x).sum()),
    ],
    ids=["method", "partial", "jit", "jit of a partial", "vmap", "grad"],
)
def test_explain__looks_inside_of_what_wraps_a_function(make):
    counter = Counter()
    report = hs.explain(make(counter.count), x)
    assert [(one.kind, one.name) for one in report.findings] == [("mutation", "self.n")]
    assert counter.n == 0


def test_explain__a_jitted_function_is_looked_at_although_it_was_traced_before():
    counter = Counter()
    count = jax.jit(counter.count)
    count(x)
    assert [finding.before for finding in hs.explain(count, x).findings] == ["1"]


def test_explain__takes_a_class_with_the_methods_to_call():
    report = hs.explain(Counter, methods=[("count", x), ("count", x)])
    assert report.function == "Counter"
    assert [(one.name, one.before, one.after) for one in report.findings] == [("self.n", "0", "1")]


def test_explain__shapes_are_enough():
    assert hs.explain(jnp.tanh, jax.ShapeDtypeStruct((3,), jnp.float32)).pure


def test_explain__a_number_that_is_needed_is_passed_as_it_is():
    def power(x, n):
        for _ in range(n):
            x = x * x
        return x

    report = hs.explain(power, x, 3)
    assert report.error is None
    assert "calls with other numbers" in str(report)


def test_explain__nothing_is_computed_on_the_arguments():
    seen_values = []

    def f(x):
        seen_values.append(x)
        assert isinstance(x, jax.core.Tracer)
        return x

    hs.explain(f, x)
    assert seen_values == []


# ---- Public functions


RUNNERS = [hs.jit_update, hs.scan_update, hs.vmap_update, lambda update: update]


@pytest.mark.parametrize("runner", RUNNERS, ids=["jit", "scan", "vmap", "plain"])
def test_explain__an_update_is_pure(runner, standard_promotion):
    pair = hs.pure_pair(lambda x: hs.LinearRegression()(x, is_training=True))

    def loss_fn(params, state, rng, batch):
        prediction, state = pair.apply(params, state, rng, batch["x"])
        return jnp.mean((prediction - batch["y"]) ** 2), (state, {})

    optimizer = optax.sgd(0.1)
    batch = {"x": jnp.ones((4, 2)), "y": jnp.ones(4)}
    train_state = hs.init_train_state(pair.init, optimizer, jax.random.key(0), batch["x"])
    update = hs.make_update(loss_fn, optimizer)
    if runner in (hs.scan_update, hs.vmap_update):
        batch = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), batch)
    if runner is hs.vmap_update:
        train_state = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), train_state)
    assert hs.explain(runner(update), train_state, batch).findings == ()


# ---- assert_pure


def test_assert_pure__raises_with_the_report():
    with pytest.raises(AssertionError, match=r"mutation: self\.n"):
        hs.assert_pure(Counter().count, x)


def test_assert_pure__raises_for_a_function_that_cannot_be_traced():
    def f(x):
        raise RuntimeError("broken")

    with pytest.raises(AssertionError, match="broken"):
        hs.assert_pure(f, x)


# ---- retrace


# ---- references


@pytest.mark.skipif(not hasattr(jax, "new_ref"), reason="a ref needs JAX 0.7.2 or newer")
def test_explain__a_reference_is_an_effect():
    cell = jax.new_ref(jnp.float32(0))

    def f(x):
        cell[...] += 1
        return x * cell[...]

    report = hs.explain(f, x)
    assert [(one.kind, one.name, one.form) for one in report.findings] == [
        ("reference", "cell[...]", "write"),
        ("reference", "cell[...]", "read"),
    ]
    assert cell[...] == 0
    assert str(report).startswith("`f` has no defects, only effects: 2\n")


# ---- nothing is left behind


def tools():
    return (
        sys.gettrace(), sys.getprofile(), sys.stdout, sys.stderr, builtins.open, io.open,
        builtins.input, logging.Logger.callHandlers,
    )  # fmt: skip


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, RecursionError])
def test_explain__an_error_leaves_nothing_behind(error):
    held = {"list": [1], "array": np.zeros(2), "set": {1}}
    numbers = iter([1, 2, 3])
    counter = Counter()

    def f(x):
        held["list"].append(2)
        held["array"][0] = 7.0
        held["set"].add(2)
        held["new"] = f.calls = 1
        counter.n = next(numbers)
        os.environ["HAIKU_STATE_TEST"] = "1"
        random.random()
        np.random.rand()
        raise error

    before = tools(), random.getstate(), np.random.get_state()[2]
    if issubclass(error, Exception):
        assert type(hs.explain(f, x).error) is error
    else:
        with pytest.raises(error):
            hs.explain(f, x)
    assert (tools(), random.getstate(), np.random.get_state()[2]) == before
    assert held.keys() == {"list", "array", "set"}
    assert (held["list"], held["array"].tolist(), held["set"]) == ([1], [0.0, 0.0], {1})
    assert (vars(f), counter.n, next(numbers)) == ({}, 0, 1)
    assert "HAIKU_STATE_TEST" not in os.environ


def test_explain__a_debugger_goes_on_afterwards():
    lines = []

    def debugger(frame, event, arg):
        lines.append(frame.f_lineno)
        return debugger

    before = sys.gettrace()
    sys.settrace(debugger)
    try:
        hs.explain(Counter().count, x)
        assert sys.gettrace() is debugger
    finally:
        sys.settrace(before)


def test_explain__what_could_not_be_seen_is_told_in_the_readers_language(monkeypatch):
    def power(x, n):
        return sum(x for _ in range(n))

    report = hs.explain(power, x, 3)
    monkeypatch.setenv("HAIKU_STATE_LANG", "zh")
    assert "函数需要实参的具体值" in str(report)
    assert "calls with other numbers" in report.to_json()


def test_explain__a_default_of_a_dataclass_is_one_note():
    @dataclasses.dataclass
    class Model:
        rate: float = 0.1

        def __call__(self, x):
            return self.rate * x

    assert [note.name for note in hs.explain(Model(), x).notes] == ["self.rate"]


def test_explain__an_object_with_two_names_is_no_note_of_what_is_found():
    counter = Counter()

    def f(x):
        return counter.count(x) + counter.n

    report = hs.explain(f, x)
    assert [finding.name for finding in report.findings] == ["self.n"]
    assert report.notes == ()


@pytest.mark.filterwarnings("error")
def test_explain__a_body_that_no_call_runs_is_told():
    def numbers(x):
        print("never")
        yield x

    async def later(x):
        print("never")

    for function in (numbers, later):
        assert "the body of a generator" in str(hs.explain(function, x))


# ---- Samples of what was said wrongly


def test_explain__changes_of_a_numpy_argument_are_told_to_be_unseen():
    def call(a):
        a += 1
        return a.sum()

    report = hs.explain(call, np.ones(3))
    assert any("changes to NumPy arguments" in text for text in report.unseen)


def test_explain__a_seed_from_the_clock_is_told_to_be_a_key():
    def call(x):
        return x + jax.random.normal(jax.random.key(time.time_ns()), x.shape)

    (finding,) = hs.explain(call, x).findings
    assert (finding.kind, finding.form, finding.name) == ("hidden input", "seed", "time.time_ns")
    assert finding.advice.example == "random"


def test_explain__a_cached_property_that_keeps_a_tracer_is_a_cache():
    class Table:
        @functools.cached_property
        def rows(self):
            return jnp.arange(3.0)

    table = Table()
    report = hs.explain(lambda x: x * table.rows, x)
    (finding,) = report.findings
    assert (finding.kind, finding.form, finding.name) == ("leak", "cache", "table.rows")
    assert finding.advice.example == "cache"
    assert "rows" not in vars(table)
    assert not any("rows" in text for text in report.unseen)


def test_assert_pure__what_is_allowed_is_no_failure():
    def call(x):
        print(x)
        history.append(x)
        return x

    hs.assert_pure(call, x, allow=["print", "leak"])
    for allowed in ((), "print", ["leak", "mutation"], ["history[...]"]):
        with pytest.raises(AssertionError) as raised:
            hs.assert_pure(call, x, allow=allowed)
        assert ("print" in str(raised.value)) == ("print" not in allowed)


history = []


@pytest.mark.parametrize("how", ["rmtree", "run", "system", "replace"])
def test_explain__what_is_imported_around_a_function_is_stopped(how, tmp_path):
    def make():
        import os
        import shutil
        import subprocess

        calls = {
            "rmtree": lambda: shutil.rmtree(tmp_path / "folder"),
            "run": lambda: subprocess.run(["rm", "-r", str(tmp_path / "folder")], check=True),
            "system": lambda: os.system(f"rm -r {tmp_path}/folder"),
            "replace": lambda: os.replace(tmp_path / "folder", tmp_path / "other"),
        }[how]

        def call(x):
            history.append(1)  # with another impurity too, nothing runs twice
            calls()
            return x

        return call

    (tmp_path / "folder").mkdir()
    report = hs.explain(make(), x)
    assert {finding.kind for finding in report.findings} == {"mutation", "output"}
    assert (tmp_path / "folder").is_dir()
    assert history == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_explain__a_file_is_not_written_by_a_thread_either(tmp_path):
    def call(x):
        thread = threading.Thread(target=lambda: (tmp_path / "t.txt").write_text("x"))
        thread.start()
        thread.join()
        return x

    def in_a_pool(x):
        with concurrent.futures.ThreadPoolExecutor() as pool:
            pool.submit((tmp_path / "t.txt").write_text, "x").result()
        return x

    for function in (call, in_a_pool):
        assert "output" in {finding.kind for finding in hs.explain(function, x).findings}
        assert [*tmp_path.iterdir()] == []


def test_explain__an_attribute_that_a_module_did_not_have_is_found_and_undone():
    def call(x):
        tables.made_by_a_call = 5
        jnp.made_by_a_call = 5
        return x

    report = hs.explain(call, x)
    assert {finding.name for finding in report.findings} == {
        "tables.made_by_a_call",
        "jnp.made_by_a_call",
    }
    assert not hasattr(tables, "made_by_a_call")
    assert not hasattr(jnp, "made_by_a_call")


def test_explain__stdout_is_back_whatever_names_it():
    def show():
        sys.stdout.write("")

    def call(x):
        eval("show()", {"show": show})
        return x

    before = sys.stdout
    hs.explain(call, x)
    assert sys.stdout is before


MADE = """
import haiku_state as hs
def call(x):
    globals()["made"] = 3
    return x
[finding] = hs.explain(call, 1.0).findings
assert (finding.kind, finding.name) == ("mutation", "made")
assert "made" not in globals()
"""
STDOUT = """
import sys, haiku_state as hs
def show(): sys.stdout.write("h")
def call(x):
    exec("m = globals()")
    return x
before = sys.stdout
hs.explain(call, 1.0)
assert sys.stdout is before
"""


@pytest.mark.parametrize("code", [MADE, STDOUT])
def test_explain__everything_around_is_put_back_where_it_is_reached(code, user):
    # in a process of its own: among everything there would be what the test's worker talks through
    ran = user.python("-c", code)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize(
    "change",
    [
        lambda: os.write(DESCRIPTOR, b"x"),
        lambda: signal.signal(signal.SIGUSR1, signal.SIG_IGN),
        lambda: os.umask(0),
        lambda: gc.disable(),
        lambda: sys.setrecursionlimit(5000),
        lambda: atexit.register(print),
    ],
)
def test_explain__what_the_interpreter_does_not_report_is_stopped_too(change, tmp_path):
    global DESCRIPTOR
    DESCRIPTOR = os.open(tmp_path / "file", os.O_CREAT | os.O_WRONLY)

    def now():
        mask = os.umask(0)
        os.umask(mask)
        size = os.fstat(DESCRIPTOR).st_size
        return size, mask, gc.isenabled(), sys.getrecursionlimit(), signal.getsignal(signal.SIGUSR1)

    before = now()
    (finding,) = hs.explain(lambda x: (change(), x)[1], x).findings
    assert (finding.kind, finding.form) == ("output", "system")
    assert now() == before
    os.close(DESCRIPTOR)


def test_explain__items_of_an_array_are_replaced_and_not_added():
    view, recent, seen = np.zeros(3), [0.0, 0.0], set()

    def overwrite(x):
        view[:] = 7
        return x

    def put(x):
        recent[0] = x.shape[0]
        return x

    for function in (overwrite, put):
        (finding,) = hs.explain(function, x).findings
        assert (finding.advice.is_argument, finding.advice.is_result) == (True, True)

    def see(x):
        seen.add(x.shape)
        return x

    (finding,) = hs.explain(see, x).findings
    assert finding.advice.words.startswith("Let the caller make this change")  # jit takes no set


def test_explain__a_flag_is_told_what_becomes_of_its_branches():
    state = {"is_first": True}

    def call(x):
        if state["is_first"]:
            state["is_first"] = False
            return x
        return x + 1

    (finding,) = hs.explain(call, x).findings
    assert "jnp.where" in "".join(finding.advice.further)

    @jax.jit
    def told(is_first, x):  # as the advice says
        return jnp.where(is_first, x, x + 1), False

    is_first, outputs = True, []
    for _ in range(3):
        output, is_first = told(is_first, jnp.float32(1))
        outputs.append(float(output))
    assert outputs == [1.0, 2.0, 2.0]


# ---- What is said is fit for the case


class Count:
    made = 0

    def __init__(self):
        self.n = 0

    def __call__(self, x):
        self.n += 1
        if self.n % 2 == 0:
            x = x * 10
        return x


def leaks_in_a_gradient(x):
    kept = []

    def loss(x):
        kept.append(x * 2)
        return (x**2).sum()

    return jax.grad(loss)(x), kept[0]


def draws_in_a_scan(xs):
    return jax.lax.scan(lambda carry, x: (carry + x * np.random.rand(), x), 0.0, xs)


def branches_on_a_draw(x):
    return x * 2 if random.random() < 0.5 else x


def changes_an_argument(params):
    params["w"] = params["w"] + 1
    return params


settings, letters, parts = {"rate": 0.5}, {"a"}, {}


def removes_an_item(x):
    return x * settings.pop("rate", 1.0)


def adds_to_a_set(x):
    letters.add("b")
    return x * len(letters)


def keeps_a_function(x):
    parts["act"] = jnp.sin
    return parts["act"](x)


def changes_a_setting(x):
    jax.config.update("jax_debug_nans", True)
    return x


FIT = [
    (Count(), x, ["Take `self.n` as an argument", "`jnp.where`"], []),
    (leaks_in_a_gradient, x, ["`has_aux=True`", "second output"], ["Take `kept`", "next call"]),
    (branches_on_a_draw, x, ["`jnp.where`"], []),
    (changes_an_argument, {"w": x}, ["Change a copy", "is lost unless"], ["later calls", "Take"]),
    (removes_an_item, x, ["Let the caller make this change"], ["Take", "not part of"]),
    (adds_to_a_set, x, ["Let the caller make this change"], ["Take", "not part of"]),
    (keeps_a_function, x, ["do not store it"], ["Take"]),
    (changes_a_setting, x, ["Do this before or after the call"], ["jnp.where", "Take"]),
]


@pytest.mark.parametrize(("function", "given", "said", "unsaid"), FIT)
def test_explain__what_is_said_fits_the_case(function, given, said, unsaid):
    text = " ".join(str(hs.explain(function, given)).split())
    assert [words for words in said if words not in text] == []
    assert [words for words in unsaid if words in text] == []


@pytest.mark.skipif(compat.trace_state() is None, reason="JAX does not tell where it is")
def test_explain__what_is_only_added_or_drawn_in_a_scan_is_told_by_step():
    def call(xs):
        def body(carry, x):
            history.append(carry)
            return carry + x, x

        return jax.lax.scan(body, 0.0, xs)

    (finding,) = hs.explain(call, x).findings
    assert not finding.advice.is_argument
    assert "as the second output" in finding.advice.further[0]
    (finding,) = hs.explain(draws_in_a_scan, x).findings
    assert "`jax.random.split(key, steps)`" in finding.advice.further[0]


def by_gradient(x):
    return jax.grad(lambda x: ((x**2).sum(), x * 2), has_aux=True)(x)[1]


def by_scan(x):
    return jax.lax.scan(lambda carry, x: (carry + x, x * 2), 0.0, x)[1]


def by_vmap(x):
    return jax.vmap(lambda x: (x**2, x * 2))(x)[1]


def by_jit(x):
    return jax.jit(lambda x: (x**2, x * 2))(x)[1]


@pytest.mark.parametrize("cured", [by_gradient, by_scan, by_vmap, by_jit])
def test_explain__a_value_leaves_an_inner_function_as_it_is_told(cured):
    hs.assert_pure(cured, x)
    np.testing.assert_allclose(jax.jit(cured)(x), 2 * x)


def test_explain__a_scan_over_split_keys_draws_anew_in_each_step():
    def cured(key, xs):
        keys = jax.random.split(key, len(xs))
        step = lambda carry, each: (carry, each[1] * jax.random.uniform(each[0]))  # noqa: E731
        return jax.lax.scan(step, 0.0, (keys, xs))[1]

    hs.assert_pure(cured, jax.random.key(0), x)
    drawn = jax.jit(cured)(jax.random.key(0), jnp.ones(8))
    assert len(set(drawn.tolist())) == 8


def test_explain__what_the_class_changes_when_it_is_constructed_is_put_back():
    class Model:
        made = 0

        def __init__(self):
            Model.made += 1

        def call(self, x):
            return x

    hs.explain(Model, methods=[("call", x)])
    assert Model.made == 0


@pytest.mark.parametrize("mode", ["r", "r+"])
def test_explain__a_file_of_the_caller_stays_where_it_is(mode, tmp_path):
    (tmp_path / "numbers.txt").write_text("1\n2\n3\n")
    with (tmp_path / "numbers.txt").open(mode) as file:

        def by_line(x):
            return x * float(file.readline())

        def by_item(x):
            return x * float(next(file))

        for function in (by_line, by_item):
            (finding,) = hs.explain(function, x).findings
            assert finding.kind == "hidden input"
            assert "file" in finding.name
        assert file.readline() == "1\n"


def test_explain__settings_of_numpy_and_of_a_logger_are_found_and_put_back():
    logger = logging.getLogger("a logger of this test")

    def call(x):
        np.seterr(over="ignore")
        np.set_printoptions(precision=2)
        logger.setLevel(logging.DEBUG)
        logger.addHandler(logging.NullHandler())
        return x

    before = np.geterr(), np.get_printoptions(), logger.level, list(logger.handlers)
    names = {finding.name for finding in hs.explain(call, x).findings}
    assert names == {"np.seterr", "np.set_printoptions", "logger.level", "logger.handlers[...]"}
    assert before == (np.geterr(), np.get_printoptions(), logger.level, logger.handlers)


def test_explain__to_wait_for_a_thread_is_not_to_read_the_clock():
    def pooled(x):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return x * sum(pool.map(abs, [1, 2]))

    def queued(x):
        waiting = queue.Queue()
        waiting.put(2.0)
        return x * waiting.get(timeout=1)

    hs.assert_pure(pooled, x)
    hs.assert_pure(queued, x)


def test_explain__two_objects_of_a_class_are_two_findings():
    first, second = Count(), Count()

    def call(x):
        return first(x) + second(x)

    names = [finding.name for finding in hs.explain(call, x).findings]
    assert sorted(names) == ["first.n", "second.n"]


def test_explain__a_library_keeps_its_own_names_to_itself(monkeypatch):
    monkeypatch.setattr(tempfile, "_name_sequence", None)  # as before its first use

    def call(x):
        with tempfile.TemporaryDirectory():
            return x

    assert [finding.kind for finding in hs.explain(call, x).findings] == ["output"]


def test_explain__a_branch_in_another_file_at_the_same_line_is_not_told(tmp_path):
    files = {
        "draws": "import random\n\n\ndef draw(x):\n    return x * random.random()\n",
        "branches": "\n\n\ndef small(x):\n    return x if x.shape else 2 * x\n",
    }
    spaces = {}
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
        spaces[name] = {}
        exec(compile(text, str(tmp_path / f"{name}.py"), "exec"), spaces[name])
    draw, small = spaces["draws"]["draw"], spaces["branches"]["small"]
    (finding,) = hs.explain(lambda x: draw(x) + small(x), x).findings
    assert finding.advice.further == ()
