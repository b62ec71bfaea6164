"""The right line of an error, put into the program that raised it, makes it right.

In a wrong line, ``…`` stands for anything, and in the right line for the same thing. A line that
begins with ``def NAME(self, …):`` is looked for in that method.
"""

import functools
import linecache
import re
import textwrap

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import haiku_state as hs
from haiku_state.errors import HaikuStateError

X = np.float32([[0.5, 1.0, 3.0], [1.5, 1.0, 5.0], [2.5, 1.0, 1.0], [3.5, 5.0, 3.0]])

CLASSES = """
init, apply = functionalize(C)
state = init()
for row in {rows}:
    output, state = {apply}(state, row)
answer = output
"""


def of_class(make, step, rows="[0.5] * 4", apply="apply"):
    body = f"class C:\n    def __init__(self):\n        {make}\n    def step(self, x):\n"
    return body + textwrap.indent(step, 8 * " ") + CLASSES.format(rows=rows, apply=apply)


def of_module(body, rows="list(X)", apply="model.apply"):
    return (
        "def f(x):\n" + textwrap.indent(body, 4 * " ") + "\n"
        "model = hs.pure_pair(f)\n"
        f"rows = {rows}\n"
        "params, state = model.init(None, rows[0])\n"
        f"for row in rows:\n    answer, state = {apply}(params, state, None, row)\n"
    )


def of_runner(make, axis='cross_replica_axis="devices"', loss="loss"):
    return f"""
model = hs.pure_pair(lambda x: hs.BatchNorm(True, True, 0.5, {axis})(x, True))
def loss_fn(params, state, rng, batch):
    out, state = model.apply(params, state, rng, batch)
    loss = jnp.mean(jnp.sin(out))
    return {loss}, (state, {{}})
sgd = optax.sgd(0.1)
run = {make}(hs.make_update(loss_fn, sgd))
train_state = run.place(hs.init_train_state(model.init, sgd, jax.random.key(0), X))
train_state, _ = run(train_state, run.feed(X))
ema = run.one(train_state).state["batch_norm/~/mean_ema"]
answer = ema["average"][0]
"""


MEAN = X.mean(0)
PROGRAMS = {
    # a class
    "a sum that starts with an int": (of_class("self.total = 0", "self.total += x\nreturn self.total\n"), 2.0),
    "a count that starts as a bool": (of_class("self.n = False", "self.n = self.n + 1\nreturn self.n\n"), 4),
    "a sum in half precision": (
        of_class("self.h = jnp.zeros(3)", "self.h = (self.h + x).astype(jnp.bfloat16)\nreturn self.h\n"),
        [2.0] * 3,
    ),
    "a mean without keepdims": (
        of_class("self.m = jnp.zeros((1, 3))", "self.m = jnp.mean(x, axis=0)\nreturn self.m\n", "[X]"),
        [MEAN],
    ),
    "a mean that starts as a number": (
        of_class("self.m = 0.0", "self.m = self.m + x\nreturn self.m\n", "list(X)"), X.sum(0),
    ),
    "a branch on a number that changes": (
        of_class("self.n = 0", "self.n += 1\nif self.n > 3: self.n = 0\nreturn self.n\n", "range(6)", "jax.jit(apply)"),
        2,
    ),
    "a branch, assigned only there": (
        of_class("self.n = 5", "if self.n > 3:\n    self.n = self.n - x\nreturn self.n\n", "[1] * 6", "jax.jit(apply)"),
        3,
    ),
    "a size": (
        of_class("self.size = 3", "return x + jnp.zeros(self.size)\n", "[1.0]", "jax.jit(apply)"), [1.0] * 3,
    ),
    # a module
    "a module's sum that starts with an int": (
        of_module('n = hk.get_state("n", (), jnp.int32, init=jnp.zeros) + x[0]\nhk.set_state("n", n)\nreturn n'),
        8.0,
    ),
    "a module's sum, named arguments": (
        of_module('n = hk.get_state("n", shape=(), dtype=jnp.int32, init=jnp.zeros) + x[0]\nhk.set_state("n", n)\nreturn n'),
        8.0,
    ),
    "a module's state in half precision": (
        of_module('h = hk.get_state("h", (3,), jnp.float32, init=jnp.zeros)\nhk.set_state("h", (h + x).astype(jnp.bfloat16))\nreturn h'),
        X[:3].sum(0),
    ),
    "a module's mean without keepdims": (
        of_module('m = hk.get_state("m", (1, 3), jnp.float32, init=jnp.zeros)\nhk.set_state("m", jnp.mean(x, axis=0))\nreturn m', "[X, X]"),
        [MEAN],
    ),
    "a module's state with the rows of the batch": (
        of_module('h = hk.get_state("h", (1, 3), jnp.float32, init=jnp.zeros)\nhk.set_state("h", h + x)\nreturn h', "[X, X]"),
        X,
    ),
    "a traced flag": (
        of_module('return hs.BatchNorm(False, False, 0.9, 0.0)(x, is_training=True)', "[X]").replace("(x, is_training=True)", "(x, is_training)").replace("def f(x)", "def f(x, is_training)").replace("model.init(None, rows[0])", "model.init(None, rows[0], True)").replace(
            "model.apply(params, state, None, row)", "jax.jit(model.apply)(params, state, None, row, is_training=True)"),
        (X - MEAN) / X.std(0),
    ),
    # a runner
    **{
        f"an axis on {make}": (of_runner(make), MEAN)
        for make in ("hs.jit_update", "hs.vmap_update", "(lambda u: hs.shard_update(u, hs.data_mesh(jax.devices()[:2])))")
    },
    "an axis of another name": (of_runner('(lambda u: hs.pmap_update(u, jax.devices()[:2], "batch"))'), MEAN),
    "another name on shard_map": (
        of_runner('(lambda u: hs.shard_map_update(u, hs.data_mesh(jax.devices()[:2], "batch")))'), MEAN,
    ),
    "a loss averaged over an axis": (
        of_runner("hs.jit_update", "cross_replica_axis=None", 'jax.lax.pmean(loss, "devices")'), MEAN,
    ),
}  # fmt: skip


def run(source, name):
    file = f"<{name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names = {"jax": jax, "jnp": jnp, "np": np, "hk": hk, "hs": hs, "optax": optax, "X": X}
    names |= {"functionalize": hs.functionalize, "functools": functools, "__name__": name}
    exec(compile(source, file, "exec"), names)
    return names["answer"]


def applied(source, wrong, right):
    start = 0
    if method := re.match(r"def (\w+)\(self, …\): ", wrong):
        start = source.index(f"def {method[1]}(self")
        wrong, right = wrong[method.end() :], right.removeprefix(method[0])
    *parts, last = [re.escape(part).replace(r"\ ", r"\s+") for part in wrong.split("…")]
    pattern = "(.+?)".join(parts) + "(.+)" * bool(parts) + last
    found = re.compile(pattern).search(source, start)
    assert found, f"the program has no line {wrong!r}"
    pieces, values = right.split("…"), iter(found.groups())
    new = pieces[0] + "".join(next(values) + piece for piece in pieces[1:])
    return source[: found.start()] + new + source[found.end() :]


@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_right_line_makes_the_program_right(name):
    source, truth = PROGRAMS[name]
    if "jax.random.key(0)" in source:
        jax.config.update("jax_debug_key_reuse", False)
    for _ in range(2):  # a program may have two mistakes, such as that of one state in two places
        try:
            answer = run(source, name)
            break
        except HaikuStateError as error:
            *_, wrong, right, _why, _more = str(error).splitlines()
            source = applied(source, wrong.partition("wrong: ")[2], right.partition("right: ")[2])
    else:
        answer = run(source, name)
    assert "\n".join(source.splitlines()) != PROGRAMS[name][0].rstrip("\n"), "nothing was raised"
    np.testing.assert_allclose(np.float64(answer), np.float64(truth), rtol=1e-4)
