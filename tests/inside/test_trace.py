"""Which line Python runs, which equation jit writes, and what comes out, as JAX itself says it."""

import dataclasses
import functools
import json
import linecache
import re
import sys

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support.pages import assert_quiet

import haiku_state as hs
from haiku_state.errors import ArgumentError
from haiku_state.errors.language import reading
from haiku_state.inside import trace_data
from haiku_state.inside.reach import library_of


def ran(trace, call):
    """The lines that Python ran in a call."""
    return [
        trace.sources[step.source].lines[step.line].strip()
        for step in trace.steps
        if step.call == call and step.kind == "line"
    ]


def returned(trace):
    return [step.text for step in trace.steps if step.kind == "run"]


def written(trace, call):
    """How many lines of the program have been written, before each line of a call."""
    return [step.written for step in trace.steps if step.call == call and step.kind == "line"]


class Impure:
    def __init__(self):
        self.n = 0

    def count(self):
        self.n += 1
        return self.n


def count(n):
    n = n + 1
    return n, n


def test_record_trace__an_impure_counter_is_frozen_and_a_threaded_one_counts():
    counter = Impure()
    trace = hs.record_trace(counter.count, (), (), ())
    assert (returned(trace), counter.n) == (["1", "1", "1"], 1)
    assert [ran(trace, call) for call in (1, 2, 3)] == [["self.n += 1", "return self.n"], [], []]
    assert [value[:2] for value in trace.steps[2].values] == [("self.n", "1")]

    trace = hs.record_trace(count, (0,), *[lambda result: (result[1],)] * 2)
    assert returned(trace) == ["(1, 1)", "(2, 2)", "(3, 3)"]
    assert [ran(trace, call) for call in (1, 2)] == [["n = n + 1", "return n, n"], []]
    assert trace.steps[1].values == (("n", "weak int32[]", True),)
    assert "Call 2, with arguments from the previous result: count(1)." in str(trace)


def loop(x):
    for _ in range(3):
        x = 2 * x
    return x


def scanned(xs):
    def body(carry, x):
        carry = carry + x
        return carry, carry

    total, _ = jax.lax.scan(body, jnp.float32(0), xs)
    return total * total


@jax.jit
def double(x):
    return x + x


def nested(x):
    y = double(x)
    unused = jnp.cos(y)
    del unused
    return jax.lax.cond(True, lambda: y, lambda: -y)


def drawn(x):
    first, second = jax.random.split(jax.random.fold_in(jax.random.key(0), x[0].astype(int)))
    return jax.random.uniform(first) + jax.random.uniform(second)  # one program, called twice


def constant(x):
    return 3


def branches(x):
    return jax.lax.cond(x.sum() > 2, lambda x: jnp.sin(x), lambda x: x, x)


def twice(x):
    return double(double(x)) + jnp.where(x > 1, x, 0)


def equations(jaxpr):
    """The names of all equations, those inside of others after them."""
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for value in jax.tree.leaves(equation.params, is_leaf=lambda one: hasattr(one, "eqns")):
            if hasattr(getattr(value, "jaxpr", value), "eqns"):
                yield from equations(getattr(value, "jaxpr", value))


FUNCTIONS = [loop, scanned, nested, drawn, constant, branches, twice]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_record_trace__a_program_is_the_one_that_jax_prints(function):
    x = jnp.arange(3.0)
    (program,) = hs.record_trace(function, (x,)).programs
    expected = jax.make_jaxpr(function)(x)
    outer = [line for line in program if not line.startswith(" ")]
    assert len(outer) == len(expected.eqns) + 2
    for line, equation in zip(outer[1:-1], expected.eqns, strict=True):
        name = {"jit": "pjit"}.get(equation.primitive.name, equation.primitive.name)
        assert re.search(rf"\b({name}|jit)\b", line)
    assert f"in ({outer[-1].removeprefix('return ')}" in str(expected)


@pytest.mark.parametrize(
    ("function", "inner"),
    [(scanned, ["add"]), (nested, ["add", "neg"]), (branches, ["sin"]), (twice, ["add"])],
)
def test_record_trace__a_program_inside_is_shown_while_its_lines_run(function, inner):
    trace = hs.record_trace(function, (jnp.arange(3.0),))
    (program,) = trace.programs
    names = [
        re.sub(r"^.* = |\[.*", "", line.strip()).split()[0]
        for line in program
        if line.startswith(" ") and " = " in line
    ]
    assert names == inner  # those of JAX's own functions, and of a second call, are not shown
    assert set(names) <= {*equations(jax.make_jaxpr(function)(jnp.arange(3.0)).jaxpr)}


def test_record_trace__the_lines_of_a_program_inside_come_with_the_equations_that_they_write():
    @jax.jit
    def inner(x):
        y = jnp.sin(x)
        return y * 2

    trace = hs.record_trace(lambda x: inner(x), (jnp.ones(2),))
    shown = [
        (step.function, line.strip().partition(" = ")[2].split()[0].partition("[")[0])
        for step, news in trace_data._news(trace)
        for line in news
        if " = " in line
    ]
    jit = shown[0][1]
    assert jit in ("jit", "pjit")
    # at the step after the line that wrote it
    assert shown == [("inner", jit), ("inner", "sin"), ("inner", "mul")]
    assert [
        step.kind for step, news in trace_data._news(trace) if any("mul" in n for n in news)
    ] == ["return"]


def test_record_trace__an_equation_that_calls_python_is_short():
    trace = hs.record_trace(noisy, (1.0,))
    assert max(map(len, trace.programs[0])) < 60
    assert "lambda ; a" in trace.programs[0][0]


def test_record_trace__the_colors_of_a_notebook_are_not_part_of_a_program(monkeypatch):
    (plain,) = hs.record_trace(loop, (jnp.ones(3),)).programs
    monkeypatch.setattr("jax._src.pretty_printer.CAN_USE_COLOR", True)
    assert hs.record_trace(loop, (jnp.ones(3),)).programs == (plain,)


@pytest.mark.parametrize("function", FUNCTIONS[:4])
def test_record_trace__a_program_reads_what_it_has_been_given_or_has_written(function):
    (program,) = hs.record_trace(function, (jnp.arange(3.0),)).programs
    known = {}
    for line in program:
        depth = len(line) - len(line.lstrip())
        if "lambda" in line:
            known[depth] = set(re.findall(r"(\w+):", line))
        written, equals, read = line.partition(" = ")
        if equals:
            read = re.sub(r"\[.*\]", "", read, flags=re.DOTALL)
            assert set(re.findall(r" ([a-z]+)\b(?!:)", read)) <= known[depth]
            known[depth] |= set(re.findall(r"(\w+):", written))


def test_record_trace__a_key_is_told_from_the_next_one():
    def draw(key):
        key, subkey = jax.random.split(key)
        return jax.random.uniform(subkey), key

    trace = hs.record_trace(draw, (jax.random.key(7),), lambda result: (result[1],))
    next_key = jax.random.split(jax.random.key(7))[0]
    dtype, next_key = next_key.dtype, np.asarray(jax.random.key_data(next_key)).tolist()
    calls = [step.text for step in trace.steps if step.kind == "call"]
    assert calls == [f"draw({dtype}[] [0, 7])", f"draw({dtype}[] {next_key})"]


total = leaf = np.ones((2, 1))


def shadowing(x):
    def add(leaf):
        total = leaf + 1
        return total

    leaves = jax.tree.map(add, [x])
    total = leaves[0]
    return total


def test_record_trace__a_name_has_no_value_before_it_is_assigned():
    trace = hs.record_trace(shadowing, (1.0,))
    shown = [[value.name for value in step.values] for step in trace.steps]
    assert shown[1:3] == [["x"], ["x"]]
    assert "  add returns weak float32[]." in str(trace)
    assert ["x", "leaves"] in shown  # and not `total` or `leaf`, which mean other things elsewhere


def test_record_trace__an_array_stands_on_one_line():
    trace = hs.record_trace(lambda x: x.T, (np.arange(4.0).reshape(2, 2),))
    assert returned(trace) == ["[[0., 2.], [1., 3.]]"]


def test_record_trace__each_equation_is_told_where_it_is_written():
    trace = hs.record_trace(loop, (jnp.ones(2),))
    assert ran(trace, 1) == [
        *["for _ in range(3):", "x = 2 * x"] * 3,
        "for _ in range(3):",
        "return x",
    ]
    assert written(trace, 1) == [1, 1, 2, 2, 3, 3, 4, 4]  # first its inputs
    assert trace.steps[-1].written == 5  # with what it returns

    trace = hs.record_trace(scanned, (jnp.ones(4),))
    assert ran(trace, 1)[2:4] == ["carry = carry + x", "return carry, carry"]
    # the scan with the inputs and the equation of its body, and then what the body returns
    assert written(trace, 1) == [1, 1, 1, 4, 5]
    assert len(trace.sources) == 1


def power(x, n):
    return x**n


NEW = {
    "shape": (count, [(jnp.ones(2),), (jnp.ones(3),)], "n: float32[2] → float32[3]"),
    "dtype": (count, [(jnp.ones(2),), (jnp.ones(2, int),)], "n: float32[2] → int32[2]"),
    "weak type": (count, [(1,), (jnp.int32(1),)], "n: weak int32[] → int32[]"),
    "static": (jax.jit(power, static_argnums=1), [(2.0, 3), (2.0, 4)], "n: 3 → 4"),
    "flag": (lambda *args: args[0] if args[1] else 2, [(1.0, True), (1.0, False)], "args[1]: True"),
    "structure": (lambda tree: 2, [((1,),), ((1, 2),)], "tree"),
}


def test_record_trace__a_new_call_is_compared_with_the_one_that_is_most_like_it():
    def add(x, y):
        return x + y

    one, ones = jnp.ones(2), jnp.ones((2, 2))
    trace = hs.record_trace(add, (one, one), (ones, ones), (one, ones))
    reasons = [step.reasons for step in trace.steps if step.kind == "call"]
    assert reasons[1] == ("x: float32[2] → float32[2,2]", "y: float32[2] → float32[2,2]")
    assert len(reasons[2]) == 1


@pytest.mark.parametrize(("function", "calls", "reason"), NEW.values(), ids=NEW)
def test_record_trace__what_is_new_is_traced_again_and_said(function, calls, reason):
    if function is not NEW["static"][0] or hasattr(function, "_jit_info"):  # JAX >= 0.6 tells
        trace = hs.record_trace(function, *calls, calls[0])
        ((again,),) = [step.reasons for step in trace.steps if step.reasons]
        assert again.startswith(reason)
        assert again.partition(": ")[2] in str(trace)
        assert ran(trace, 2)
        assert not ran(trace, 3)


def test_record_trace__of_two_calls_that_are_alike_the_more_alike_one_counts():
    def reason(function, *calls):
        return [s.reasons for s in hs.record_trace(function, *calls).steps if s.kind == "call"][-1]

    add = lambda x: x + 1  # noqa: E731
    found = reason(add, (3.0,), (True,), (np.float32(3),))
    assert found == ("x: weak float32[] → float32[]",)
    found = reason(add, (jnp.ones((2, 3)),), (jnp.ones((2, 3), int),), (jnp.ones((2, 4)),))
    assert found == ("x: float32[2,3] → float32[2,4]",)

    def default(x, n=3):
        return x * n

    assert reason(default, (1.0,), (1.0, 5), (1.0, 6.0)) == ("n: weak int32[] → weak float32[]",)
    assert reason(default, (1.0,), (1.0, 5)) == ("n: – → weak int32[]",)


def branches_of(x):
    def yes(x):
        return jnp.exp(x) * 2

    def no(x):
        z = x - 1
        z = z / 2
        return jnp.tanh(z)

    return jax.lax.cond(x.sum() > 0, yes, no, x)


@jax.jit
def begins_with_a_scan(x):
    def body(total, value):
        total = total + value
        return total, total * 2

    return jax.lax.scan(body, 0.0, x)


@pytest.mark.parametrize(
    ("function", "moments"),
    [
        (branches_of, {"exp": "yes", "sub": "no", "div": "no", "tanh": "no"}),
        (lambda x: begins_with_a_scan(jnp.sin(x)), {"add": "body", "mul": "body"}),
    ],
)
def test_record_trace__every_equation_inside_comes_while_its_function_runs(function, moments):
    jax.clear_caches()
    trace = hs.record_trace(function, (jnp.arange(3.0),))
    found = {
        line.strip().partition(" = ")[2].split()[0].partition("[")[0]: step.function
        for step, news in trace_data._news(trace)
        for line in news
        if " = " in line
    }
    assert {name: found[name] for name in moments} == moments


def test_record_trace__a_trace_for_no_visible_reason_is_not_called_the_first():
    def clear(result):
        jax.clear_caches()
        return (1,)

    trace = hs.record_trace(count, (0,), clear)
    assert [step.traced for step in trace.steps if step.kind == "call"] == [True, True]
    assert repr(trace).count("No compiled program fits yet") == 1
    assert repr(trace).count("The arguments are not new") == 1


calls = []


def noisy(x):
    calls.append("noisy")
    print("traced", x.shape)
    jax.debug.print("computed {}", x)
    return x


def test_record_trace__a_print_and_a_list_run_once_and_a_debug_print_each_time(
    capsys,
):
    calls.clear()
    trace = hs.record_trace(noisy, (1.0,), (2.0,))
    printed = [step.printed for step in trace.steps if step.printed]
    assert printed == ["traced ()\n", "computed 1.0\n", "computed 2.0\n"]
    values = [value for step in trace.steps for value in step.values if value.name == "calls"]
    expected = ["[]", "[]", *["['noisy']"] * (len(trace.steps) - 2)]
    assert [value.text for value in values] == expected
    assert capsys.readouterr().out == ""


kept = None


def leak(x):
    global kept
    if kept is not None:
        x = x + kept
    kept = jnp.sin(x)
    return x


def test_record_trace__a_tracer_that_leaks_ends_the_call_that_uses_it():
    global kept
    kept = None
    with jax.debug_key_reuse(False):  # its checks fail on what is left of the program
        trace = hs.record_trace(leak, (1.0,), (2.0,), (jnp.float32(1),), (1.0,))
    kept = None
    (error,) = [step for step in trace.steps if step.kind == "error"]
    assert error.call == 3
    assert error.text.startswith("UnexpectedTracerError: ")
    assert returned(trace) == ["1.0", "2.0", "1.0"]  # the calls after it go on
    seen = [step.values for step in trace.steps if step.call == 2]
    assert all(list(values) == [("kept", "weak float32[]", True)] for values in seen)


def branch(x):
    if x > 0:
        return x
    return -x


def test_record_trace__an_error_in_python_ends_the_call_and_everything_is_put_back():
    before = sys.gettrace(), sys.stdout
    trace = hs.record_trace(branch, (1.0,))
    assert [step.kind for step in trace.steps] == ["call", "line", "error"]
    assert trace.steps[-1].text.startswith("TracerBoolConversionError: ")
    assert (sys.gettrace(), sys.stdout) == before
    with pytest.raises(ArgumentError, match="a call is 3, but it must be a tuple of arguments"):
        hs.record_trace(branch, 3)


class Layer(hk.Module):
    def __call__(self, x, is_training):
        w = hk.get_parameter("w", (), init=jnp.ones)
        seen = hk.get_state("seen", (), jnp.int32, init=jnp.zeros)
        if is_training:
            hk.set_state("seen", seen + 1)
        return w * x


class Scale:
    def __call__(self, x):
        return 3 * x


def test_record_trace__takes_pairs_updates_partials_and_objects():
    pair = hs.pure_pair(Layer)
    x = jnp.ones(2)
    params, state = pair.init(None, x, True)

    apply = hs.record_trace(
        pair.apply,
        (params, state, None, x, True),
        lambda result: (params, result[1], None, x, True),
    )
    assert ran(apply, 1)[2:] == [
        "if is_training:",
        'hk.set_state("seen", seen + 1)',
        "return w * x",
    ]
    assert returned(apply)[1] == "([1., 1.], {'layer': {'seen': 2}})"

    def loss_fn(params, state, rng, batch):
        y, state = pair.apply(params, state, rng, batch["x"], True)
        return jnp.sum(y), (state, {})

    optimizer = optax.sgd(0.5)
    train_state = hs.init_train_state(pair.init, optimizer, jax.random.key(0), x, True)
    update = hs.record_trace(
        hs.make_update(loss_fn, optimizer),
        (train_state, {"x": x}),
        lambda result: (result[0], {"x": x}),
    )
    assert ran(update, 1)[0].startswith("y, state = pair.apply")
    assert "return w * x" in ran(update, 1)
    assert ran(update, 2) == []

    assert returned(hs.record_trace(Scale(), (2.0,))) == ["6.0"]
    assert returned(hs.record_trace(functools.partial(power, n=2), (3.0,))) == ["9.0"]
    assert returned(hs.record_trace(jnp.sin, (0.0,))) == ["0.0"]
    for trace in (apply, update):
        assert not any(library_of(source.file) for source in trace.sources)


def test_record_trace__a_function_without_source_is_traced_without_lines():
    made = {}
    exec("def double(x):\n    return 2 * x", made)
    trace = hs.record_trace(made["double"], (1.0,), (2.0,))
    assert [(step.kind, step.traced) for step in trace.steps] == [
        ("call", True), ("run", False), ("call", False), ("run", False)
    ]  # fmt: skip
    assert len(trace.programs[0]) == 3


def test_record_trace__generated_code_has_no_lines(monkeypatch):
    # Python 3.13 keeps the text of `python -c` under the name that dataclasses give their methods
    monkeypatch.setitem(linecache.cache, "<string>", (2, None, ["x\n"], "<string>"))
    pair = dataclasses.make_dataclass("Pair", ["left", "right"])
    trace = hs.record_trace(lambda x: pair(x, 2 * x).right, (1.0,))
    assert [step.kind for step in trace.steps] == ["call", "line", "return", "run"]


def test_record_trace__a_function_that_is_jitted_already_keeps_its_programs():
    jitted = jax.jit(loop)
    jitted(1.0)
    trace = hs.record_trace(jitted, (2.0,), (np.ones(2, np.float32),))
    assert (ran(trace, 1), len(ran(trace, 2))) == ([], 8)


def ten():
    trace = hs.record_trace(count, (0,), lambda result: (result[1],), lambda result: (result[1],))
    assert len(trace.steps) == 9
    return trace


def test_trace__is_small_and_speaks_the_readers_language():
    trace = ten()
    page = trace._repr_html_()
    data = page.partition('<script type="application/json">')[2].partition("</script>")[0]
    script = page.rpartition("<script>")[2].partition("</script>")[0]
    assert len(data.encode()) < 4000
    assert len(script.encode()) < 6500
    assert "http" not in script
    with reading("zh_CN"):
        assert "Python 不运行" in str(trace)
    assert "Python 不运行" in page
    assert json.loads(trace.to_json())["steps"][1]["values"] == [
        {"name": "n", "text": "weak int32[]", "is_tracer": True}
    ]


def test_trace__a_hostile_text_stays_a_text():
    def tagged(x, tag):
        return x

    trace = hs.record_trace(tagged, (1.0, "</script><img src=x onerror=alert(1)>"))
    page = trace._repr_html_()
    assert "onerror" in page
    assert page.count("</script>") == 2
    assert "<img" not in page


# --- in Chromium ---


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_trace__the_stepper_steps_by_keys_and_buttons(open_page, language, width):
    trace = ten()
    page = open_page(f'<!doctype html><html lang="{language}">{trace._repr_html_() * 2}', width)

    def sentence(step):
        return trace_data.sentence(trace, trace.steps[step], language.replace("-", "_"))

    stepper = page.locator(".hs-trace-stepper").first
    said, here = stepper.locator(".hs-trace-say"), stepper.locator(".hs-trace-on")
    back, forward, skip = stepper.get_by_role("button").all()
    assert page.locator(".hs-trace-stepper").count() == 2
    outline = ".hs-trace :is(h1, h2, h3, h4, h5, h6, [role=region])"
    assert page.locator(outline).count() == 0  # it may stand in any section, and twice on a page
    assert page.locator(".hs-trace ol").first.is_hidden()
    assert (said.inner_text(), back.is_disabled()) == (sentence(0), True)
    forward.click()
    assert here.inner_text().strip() == "n = n + 1"
    assert stepper.locator(".hs-trace-tracer").inner_text().startswith("weak int32[]")
    page.keyboard.press("End")
    assert (said.inner_text(), forward.is_disabled()) == (sentence(-1), True)
    assert stepper.locator(".hs-trace-names").inner_text().endswith("(1, 1); (2, 2); (3, 3)")
    page.keyboard.press("Home")
    skip.click()
    second = next(n for n, step in enumerate(trace.steps) if step.call == 2)
    assert said.inner_text() == sentence(second)
    page.keyboard.press("PageDown")
    page.keyboard.press("PageDown")
    assert (said.inner_text(), skip.is_disabled()) == (sentence(-1), True)
    page.keyboard.press("Home")
    assert said.inner_text() == sentence(0)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert_quiet(page)


def test_trace__without_scripts_and_on_paper_there_is_a_list(open_page):
    text = f'<!doctype html><html lang="zh-CN">{ten()._repr_html_()}'
    page = open_page(text, java_script_enabled=False)
    items = page.locator(".hs-trace li")
    assert items.count() == 9
    assert "Python 不运行" in page.locator(".hs-trace ol").inner_text()
    with reading("zh_CN"):
        told = str(ten())
    for item in items.all():  # whatever the text says
        for line in item.inner_text().splitlines():
            assert all(part.strip() in told for part in line.removeprefix("+ ").split(";"))
    assert "add" in page.locator(".hs-trace ol").inner_text()
    page = open_page(text)
    page.emulate_media(media="print")
    assert page.locator(".hs-trace ol").is_visible()
    assert not page.locator(".hs-trace-stepper").is_visible()


def test_record_trace__an_attribute_that_computes_is_not_asked_for():
    def gram(x):
        y = x.T @ x
        return y.real

    (program,) = hs.record_trace(gram, (jnp.ones((2, 3)),)).programs
    assert sum("transpose" in line for line in program) == 1


def test_record_trace__small_numbers_are_not_shown_as_zero():
    def scaled(x):
        return x * 3e-5

    trace = hs.record_trace(scaled, (1.0,), (jnp.array([0.0, 1e-2]),))
    assert [step.text for step in trace.steps if step.kind == "run"] == ["3e-05", "[0.0, 3e-07]"]


def test_record_trace__what_an_equation_says_of_its_program_is_kept():
    def backwards(xs):
        return jax.lax.scan(lambda c, x: (c + x, c), 0.0, jax.nn.relu(xs), reverse=True)

    text = str(hs.record_trace(backwards, (jnp.ones(3),)))
    assert "scan[length=3 reverse=True]" in text
    printed = str(jax.make_jaxpr(backwards)(jnp.ones(3)))
    is_named = re.search(r"custom_jvp_call\[\s*name=relu", printed)  # not by every JAX
    assert ("custom_jvp_call[name=relu]" in text) == bool(is_named)


def test_record_trace__inner_programs_have_letters_of_their_own():
    def total(xs):
        def body(carry, x):
            return carry + x, carry * x

        last, ys = jax.lax.scan(body, jnp.float32(0), xs)
        return last + ys.sum()

    (program,) = hs.record_trace(total, (jnp.ones(3),)).programs
    made = [line.split(":")[0].strip() for line in program if " = " in line]
    assert len(set(made)) == len(made)


def test_record_trace__an_error_is_the_last_of_its_steps_and_ends_what_needs_a_result():
    donating = jax.jit(lambda w: w * 2, donate_argnums=0)
    w = jnp.ones(3)
    trace = hs.record_trace(donating, (w,), (w,))
    assert trace.steps[-1].kind == "error"
    assert "deleted" in trace.steps[-1].text

    trace = hs.record_trace(branch, (1.0,), lambda result: (result[0],))
    assert [step.kind for step in trace.steps if step.kind in ("call", "error")] == [
        "call",
        "error",
    ]
    with pytest.raises(ArgumentError):
        hs.record_trace(branch)


def test_record_trace__a_call_that_cannot_be_traced_is_not_told_to_be_known():
    def product(a, b):
        return a * b

    text = str(hs.record_trace(product, (1.0, 2.0), (2.0, "b")))
    assert "The function has been traced" not in text
    flag = hs.record_trace(product, (1.0, True), (1.0, 1))
    assert [step.reasons for step in flag.steps if step.kind == "call"] == [(), ("b: True → 1",)]
    hs.record_trace(lambda batch: batch["x"] * 2, ({"x": jnp.ones(2), "is_last": True},))
