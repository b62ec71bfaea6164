"""Each rewrite is Python, and the function that it is put into is pure and does what was meant."""

import ast
import contextlib
import io
import itertools
import linecache
import logging
import os
import random
import textwrap
import time
from types import SimpleNamespace

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haiku_state.inside.report import Finding
from haiku_state.inside.rewrite import ADVICE, Rewrite, in_words, rewrite

NUMBERS = itertools.count()


def finding(kind, name, form, source, line, before="", after=""):
    """A finding on the line that holds a text."""
    file = f"<source {next(NUMBERS)}>"
    lines = source.splitlines(keepends=True)
    linecache.cache[file] = (len(source), None, lines, file)
    number = next((n for n, text in enumerate(lines, 1) if line in text), 0)
    return Finding(kind, name, file, number, form, before, after)


def written_anew(source, line, old, new, code, *, takes=(), returns=()):
    """The source with the line replaced by the code, and the rest as the advice says."""
    head, *body = textwrap.dedent(source).strip().splitlines()
    rows = []
    for row in body:
        indent = row[: len(row) - len(row.lstrip())]
        if line in row:
            rows.append(textwrap.indent(code, indent))
        elif row.lstrip().startswith(("global ", "nonlocal ")):
            continue
        else:
            rows.append(row.replace(old, new) if old else row)
    for name in takes:
        head = head.replace("):", f", {name}):")
    for name in returns:
        rows[-1] = rows[-1].replace("return ", "return (") + f", {name})"
    return "\n".join([head, *rows])


def run(source, **names):
    """The function that the source defines, with JAX and what else it is given."""
    space = {"jax": jax, "jnp": jnp, "hk": hk, "np": np, "random": random, "time": time, "os": os}
    space |= {"logging": logging, **names}
    exec(source, space)
    return space["f"]


X = jnp.ones(3)
self_ = SimpleNamespace

# the source, the line, the finding's name and form, before and after, what exists outside,
# and the outputs of three calls
STATEFUL = {
    "attribute": (
        "def f(x):\n    self.n += 1\n    return x + self.n",
        "self.n += 1", "self.n", "attribute", "0", "1",
        lambda: {"self": self_(n=0)}, [2, 3, 4],
    ),
    "attribute, from a number": (
        "def f(x):\n    self.n = self.n * 2.0\n    return x + self.n",
        "self.n =", "self.n", "attribute", "1.5", "3.0",
        lambda: {"self": self_(n=1.5)}, [4, 7, 13],
    ),
    "attribute, by another name": (
        "def f(x):\n    self.n += 1\n    return x + self.n",
        "self.n += 1", "counter.n", "attribute", "0", "1",
        lambda: {"self": self_(n=0)}, [2, 3, 4],
    ),
    "setattr": (
        "def f(x):\n    object.__setattr__(self, 'n', self.n + 1)\n    return x + self.n",
        "__setattr__", "self.n", "attribute", "0", "1",
        lambda: {"self": self_(n=0)}, [2, 3, 4],
    ),
    "class attribute": (
        "def f(x):\n    Counter.made += 1\n    return x * Counter.made",
        "Counter.made += 1", "Counter.made", "class attribute", "1", "2",
        lambda: {"Counter": type("Counter", (), {"made": 1})}, [2, 3, 4],
    ),
    "global": (
        "def f(x):\n    global total\n    total += 1\n    return x * total",
        "total += 1", "total", "global", "0", "1",
        lambda: {"total": 0}, [1, 2, 3],
    ),
    "function attribute": (
        "def f(x):\n    f.calls = getattr(f, 'calls', 0) + 1\n    return x * f.calls",
        "f.calls =", "f.calls", "function attribute", "0", "1",
        dict, [1, 2, 3],
    ),
    "dict key": (
        "def f(x):\n    cache['k'] += 1\n    return x * cache['k']",
        "cache['k'] +=", "cache['k']", "dict key", "0", "1",
        lambda: {"cache": {"k": 0}}, [1, 2, 3],
    ),
    "array": (
        "def f(x):\n    arr[1] += 2.0\n    return x + arr",
        "arr[1]", "arr[...]", "array", "", "",
        lambda: {"arr": np.zeros(3)}, [5, 7, 9],
    ),
    "array, subtraction": (
        "def f(x):\n    self.arr[0] -= 2.0\n    return x - self.arr",
        "arr[0]", "self.arr[...]", "array", "", "",
        lambda: {"self": self_(arr=np.zeros(3))}, [5, 7, 9],
    ),
    "whole array": (
        "def f(x):\n    arr += 1.0\n    return x + arr",
        "arr +=", "arr[...]", "array", "", "",
        lambda: {"arr": np.zeros(3)}, [2, 3, 4],
    ),
    "container": (
        "def f(x):\n    self.inner[0] += 1\n    return x * self.inner[0]",
        "inner[0] +=", "self.inner[...]", "container", "[0]", "[1]",
        lambda: {"self": self_(inner=[0])}, [1, 2, 3],
    ),
    "a tracer in a global": (
        "def f(x):\n    global ema\n    ema = 0.5 * ema + x.sum()\n    return x * ema",
        "ema =", "ema", "global", "0.0", "a tracer float32[]",
        lambda: {"ema": 0.0}, [3, 4.5, 5.25],
    ),
}  # fmt: skip


def parts(name):
    source, line, called, form, before, after, outside, outputs = STATEFUL[name]
    kind = "leak" if "tracer" in after else "mutation"
    found = finding(kind, called, form, source, line, before, after)
    return source, line, rewrite(found), outside(), outputs


def old_name(source, line, new):
    """How the source spells what is called ``new`` in the rewrite."""
    spelled = [ast.unparse(n) for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Attribute)]
    base = new.removesuffix("_state")
    return next((text for text in spelled if text.endswith(f".{base}")), base)


def first(output):
    return float(output.ravel().sum() if output.size == 3 and len(set(output.tolist())) > 1
                 else output.ravel()[0])  # fmt: skip


@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize("name", STATEFUL)
def test_with_explicit_state_each_call_does_its_part(name):
    source, line, new, outside, outputs = parts(name)
    old = "cache['k']" if name == "dict key" else old_name(source, line, new.new)
    code = written_anew(
        source, line, old, new.new, new.explicit, takes=[new.new], returns=[new.new]
    )
    f = jax.jit(run(code, **{key: None for key in outside}))
    state = outside.get(new.new, 0)
    if "self" in outside:
        state = getattr(outside["self"], new.new)
    if name == "class attribute":
        state = 1
    found = []
    for _ in outputs:
        output, state = f(X, state)
        found.append(first(output))
    assert found == outputs


@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize("name", [name for name in STATEFUL if parts(name)[2].haiku])
def test_in_haiku_each_call_does_its_part(name):
    source, line, new, outside, outputs = parts(name)
    written = new.haiku.rpartition(", ")[2].rstrip(")")  # hk.set_state("n", n)
    old = "cache['k']" if name == "dict key" else old_name(source, line, new.new)
    f = hk.transform_with_state(run(written_anew(source, line, old, written, new.haiku), **outside))
    _params, state = f.init(None, X)
    [(_module, leaves)] = state.items()
    [leaf] = leaves.values()
    assert leaf.dtype == (jnp.int32 if new.haiku.count("jnp.int32") else jnp.float32)
    apply, found = jax.jit(f.apply), []
    for _ in outputs:
        output, state = apply({}, state, None, X)
        found.append(first(output))
    assert found == outputs


DRAWS = {
    "random.random": "x * random.random()",
    "random.uniform": "x * random.uniform(0, 1)",
    "random.gauss": "x + random.gauss(0.0, 2.0)",
    "random.randint": "x * random.randint(1, 9)",
    "random.choice": "x * random.choice([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])",
    "np.random.rand": "x * np.random.rand(3)",
    "np.random.randn": "x + np.random.randn(*x.shape)",
    "np.random.normal": "x + np.random.normal(0, 1, size=3)",
    "np.random.uniform": "x + np.random.uniform(low=-1, high=1)",
    "np.random.randint": "x * np.random.randint(100, size=x.shape)",
    "np.random.choice": "x + np.random.choice(100)",
    "np.random.permutation": "x + np.random.permutation(1000)[:3]",
    "rng.normal": "x + rng.normal(scale=2.0)",
    "rng.integers": "x * (rng.integers(0, 50) + rng.integers(0, 50))",
    "rng.standard_normal": "x * float(rng.standard_normal())",
    "rng.exponential": "x if rng.exponential(2.0) < 1.4 else -x",
}


@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize("name", DRAWS)
def test_each_key_draws_another_number(name):
    source = f"import random\ndef f(x):\n    return {DRAWS[name]}"
    new = rewrite(finding("hidden input", name, "random", source, "return"))
    source = source.partition("\n")[2]
    f = jax.jit(run(written_anew(source, "return", "", "", new.explicit, takes=["key"])))
    keys = jax.random.split(jax.random.key(0), 8)
    drawn = [f(X, key).tolist() for key in keys]
    assert len(set(map(str, drawn))) > 1
    assert drawn == [f(X, key).tolist() for key in keys]
    model = hk.transform(run(written_anew(source, "return", "", "", new.haiku)))
    apply = jax.jit(model.apply)
    with_haiku = [apply({}, key, X).tolist() for key in keys]
    assert len(set(map(str, with_haiku))) > 1


def test_bounds_are_those_of_the_function_that_was_called():
    def explicit(name, call, head="import random"):
        source = f"{head}\ndef f(x):\n    return x * {call}"
        return rewrite(finding("hidden input", name, "random", source, "return")).explicit

    assert "(), 1, 7)" in explicit("random.randint", "random.randint(1, 6)")
    assert "(), 1, b + 1)" in explicit("random.randint", "random.randint(1, b)")
    assert "(), 1, 6)" in explicit("np.random.randint", "np.random.randint(1, 6)")
    assert "(), 1, 7)" in explicit("randint", "randint(1, 6)", "from random import randint")
    assert "(), 1, 7)" in explicit("r.randint", "r.randint(1, 6)", "r = random.Random(0)")
    assert "(), 1, 6)" in explicit("r.randint", "r.randint(1, 6)", "r = np.random.RandomState(0)")


def test_a_draw_in_a_loop_splits_its_key():
    source = "def f(x):\n    for _ in range(3):\n        x = x + rng.normal()\n    return x"
    new = rewrite(finding("hidden input", "rng.normal", "random", source, "rng"))
    f = jax.jit(run(written_anew(source, "rng", "", "", new.explicit, takes=["key"])))
    key, drawn = jax.random.key(0), 0.0
    for _ in range(3):
        key, subkey = jax.random.split(key)
        drawn += float(jax.random.normal(subkey))
    assert float(f(X, jax.random.key(0))[0]) == pytest.approx(1 + drawn, rel=1e-5)


def test_a_branch_is_chosen_by_a_traced_condition():
    source = "import random\ndef f(x):\n    if random.random() < 0.5:\n        x = -x\n    return x"
    new = rewrite(finding("hidden input", "random.random", "random", source, "if random"))
    assert new.explicit == "is_chosen = jax.random.uniform(key) < 0.5"
    assert new.advice == ADVICE["key branch"]


PASSED = [
    ("clock", "time.time", "return x * time.time()", "now = time.time()", [2.0, 3.0]),
    ("clock", "time.time", "return x * (time.time() % 60)", "now = time.time() % 60", [2.0, 3.0]),
    ("environment", "os.environ['SCALE']", "return x * float(os.environ['SCALE'])",
     'scale = float(os.environ["SCALE"])', [2.0, 3.0]),
    ("environment", "os.getenv", "return x * float(os.getenv('SCALE'))",
     'setting = float(os.getenv("SCALE"))', [2.0, 3.0]),
    ("iterator", "next(it)", "return x * next(it)", "item = next(it)", [2.0, 3.0]),
    ("file", "open", "return x * float(open(path).read())",
     "content = float(open(path).read())", [2.0, 3.0]),
    ("file", "path.read_text", "return x * float(path.read_text())",
     "content = float(path.read_text())", [2.0, 3.0]),
    ("random", "uuid.uuid4", "return x * (uuid.uuid4().int % 7)",
     "drawn = uuid.uuid4().int % 7", [2.0, 3.0]),
    ("input", "input", "return x * float(input())", "answer = float(input())", [2.0, 3.0]),
    ("system", "os.getpid", "return x * os.getpid()", "value = os.getpid()", [2.0, 3.0]),
]  # fmt: skip


@pytest.mark.parametrize(("form", "name", "line", "outside", "values"), PASSED)
def test_what_was_read_is_passed(form, name, line, outside, values):
    source = f"def f(x):\n    {line}"
    new = rewrite(finding("hidden input", name, form, source, line))
    assert (new.outside, new.haiku) == (outside, "")
    f = jax.jit(run(written_anew(source, line, "", "", new.explicit, takes=[new.new])))
    assert [float(f(X, value)[0]) for value in values] == values


def test_two_items_are_two_arguments():
    source = "def f(x):\n    return x * (next(it) - next(it))"
    new = rewrite(finding("hidden input", "next(it)", "iterator", source, "return"))
    assert new.explicit == "return x * (item1 - item2)"
    assert new.outside == "item1 = next(it)\nitem2 = next(it)"


def test_a_line_that_only_reads_moves_to_the_caller():
    source = "def f(x):\n    with open(path) as f:\n        scale = float(f.read())\n    return x"
    new = rewrite(finding("hidden input", "open", "file", source, "with"))
    assert (new.explicit, new.outside, new.new) == ("", "", "scale")
    source = "def f(x):\n    start = time.perf_counter()\n    return x"
    new = rewrite(finding("hidden input", "time.perf_counter", "clock", source, "start"))
    assert (new.explicit, new.outside, new.new) == ("", "start = time.perf_counter()", "start")
    source = "def f(x):\n    for row in stream:\n        x = x + row\n    return x"
    new = rewrite(finding("hidden input", "next(stream)", "iterator", source, "for"))
    assert new.explicit == "for row in items:\n    ..."
    assert new.outside == "items = list(stream)"


PRINTED = [
    ("print('x', x.sum())", "x 3.0\nx 6.0\n"),
    ("print(f'sum {x.sum():.2f} of {x.size}', 'numbers', sep=', ')",
     "sum 3.00 of 3, numbers\nsum 6.00 of 3, numbers\n"),
    ("print('sum {}'.format(x.sum()))", "sum 3.0\nsum 6.0\n"),
    ("print('{}', x.sum())", "{} 3.0\n{} 6.0\n"),
    ("print('hello', end='\\n')", "hello\nhello\n"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "printed"), PRINTED)
def test_it_prints_in_every_call(line, printed):
    source = f"def f(x):\n    {line}\n    return x"
    new = rewrite(finding("output", "print", "print", source, "print"))
    assert new.haiku == ""
    f = jax.jit(run(written_anew(source, "print", "", "", new.explicit)))
    # the oldest JAX cannot count the arguments of a callback for jax_debug_key_reuse
    if ":." in new.explicit:
        try:
            jax.make_jaxpr(lambda x: jax.debug.print("{:.2f}", x))(1.0)
        except TypeError:
            pytest.skip("JAX 0.4.30 cannot format a traced value")
    with jax.debug_key_reuse(False), contextlib.redirect_stdout(io.StringIO()) as out:
        for x in (X, 2 * X):
            f(x).block_until_ready()
            jax.effects_barrier()
    assert out.getvalue() == printed


def test_it_logs_in_every_call(caplog):
    source = "def f(x):\n    logging.warning('sum %s', x.sum())\n    return x"
    new = rewrite(finding("output", "logging.warning", "log", source, "logging"))
    f = jax.jit(run(written_anew(source, "logging", "", "", new.explicit)))
    for x in (X, 2 * X):
        f(x).block_until_ready()
        jax.effects_barrier()
    assert [record.getMessage() for record in caplog.records] == ["sum 3.0", "sum 6.0"]


def test_a_file_is_written_by_the_caller():
    source = "def f(x):\n    np.save('x.npy', x)\n    return x"
    new = rewrite(finding("output", "np.save", "file", source, "save"))
    assert in_words(new) == Rewrite(advice=ADVICE["write"])


RETRACED = [
    ("shape", "float32[3]", "float32[5]", jnp.ones(3), jnp.ones(5)),
    ("dtype", "float32[3]", "int32[3]", jnp.ones(3), jnp.ones(3, jnp.int32)),
    ("weak type", "float32[]", "float32[]", jnp.float32(1), 1.0),
    ("static value", "3", "4", 3, 4),
]


@pytest.mark.parametrize(("form", "before", "after", "one", "two"), RETRACED)
def test_both_calls_fit_one_program(form, before, after, one, two):
    new = rewrite(Finding("retrace", "x", "", 0, form, before, after))
    traces = []
    f = jax.jit(lambda x: traces.append(1) or x)
    for x in (one, two):
        space = {"x": x, "jnp": jnp}
        exec(new.outside, space)
        f(space["x"])
    assert len(traces) == 1
    assert new.advice == ADVICE[form]


def test_a_module_in_a_jax_transformation_gets_haikus():
    source = "def f(x):\n    return jax.lax.scan(body, x, None, 3)[0] + jax.vmap(m)(x)"
    new = rewrite(finding("leak", "counter.n", "", source, "return"))
    assert new.haiku == "return hk.scan(body, x, None, 3)[0] + hk.vmap(m, split_rng=False)(x)"


def test_a_name_that_is_taken_gets_another():
    source = "def f(self, x):\n    self.x = self.x + 1\n    return x"
    new = rewrite(finding("mutation", "self.x", "attribute", source, "self.x", "0", "1"))
    assert (new.explicit, new.new) == ("x_state = x_state + 1", "x_state")
    source = "def f(x, now):\n    return x * time.time()"
    assert rewrite(finding("hidden input", "time.time", "clock", source, "return")).new == "now_2"


ONLY_ADVICE = [
    ("mutation", "attribute", "self.n", "del self.n"),
    ("mutation", "attribute", "self.n", "vars(self)['n'] = 1"),
    ("mutation", "container", "history[...]", "change(history)"),
    ("hidden input", "random", "random.random", "y = [random.random() for _ in range(3)]"),
    ("hidden input", "iterator", "next(it)", "y = [next(it) for _ in range(3)]"),
    ("hidden input", "clock", "time.time", "y = helper()"),
    ("output", "print", "print", "show(x)"),
    ("frozen value", "number", "scale", "y = helper(x)"),
    ("leak", "attribute", "self.n", "store(self, x)"),
    ("mutation", "attribute", "self.n", "this is no Python"),
    ("nonsense", "", "x", "y = x"),
]


@pytest.mark.parametrize(("kind", "form", "name", "line"), ONLY_ADVICE)
def test_what_is_not_known_gets_advice_and_no_code(kind, form, name, line):
    new = rewrite(finding(kind, name, form, f"def f(x):\n    {line}\n    return x", line))
    assert (new.explicit, new.haiku) == ("", "") or form == "container"
    assert bool(new.advice) == (kind != "nonsense")
    assert rewrite(Finding(kind, name, "no such file.py", 3, form)).explicit == ""
