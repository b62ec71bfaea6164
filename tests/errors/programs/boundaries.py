"""What a boundary advises that knows its caller: a class, a module, a runner."""

import textwrap

import numpy as np

X = np.float32([[0.5, 1.0, 3.0], [1.5, 1.0, 5.0], [2.5, 1.0, 1.0], [3.5, 5.0, 3.0]])
MEAN = X.mean(0)


def of_class(make, step, rows="[0.5] * 4", apply="apply"):
    return (
        f"class C:\n    def __init__(self):\n        {make}\n    def step(self, x):\n"
        f"{textwrap.indent(step, 8 * ' ')}\n        return self.a\n"
        "init, apply = functionalize(C)\n"
        "state = init()\n"
        f"for row in {rows}:\n    answer, state = {apply}(state, row)\n"
    )


def of_module(body, rows="list(X)", apply="model.apply"):
    return (
        f"def f(x):\n{textwrap.indent(body, 4 * ' ')}\n"
        "model = pure_pair(f)\n"
        f"rows = {rows}\n"
        "params, state = model.init(None, rows[0])\n"
        f"for row in rows:\n    answer, state = {apply}(params, state, None, row)\n"
    )


def of_runner(make, axis='cross_replica_axis="devices"', loss="loss"):
    return f"""
model = pure_pair(lambda x: BatchNorm(True, True, 0.5, {axis})(x, True))
def loss_fn(params, state, rng, batch):
    out, state = model.apply(params, state, rng, batch)
    loss = jnp.mean(jnp.sin(out))
    return {loss}, (state, {{}})
sgd = optax.sgd(0.1)
run = {make}(make_update(loss_fn, sgd))
train_state = run.place(init_train_state(model.init, sgd, jax.random.key(0), X))
train_state, _ = run(train_state, run.feed(X))
ema = run.one(train_state).state["batch_norm/~/mean_ema"]
answer = ema["average"][0]
"""


SUM_OF_MODULE = """
n = hk.get_state("n", (), jnp.int32, init=jnp.zeros) + x[0]
hk.set_state("n", n)
return n
"""
SCANNED = """
def f(x):
    count = Counter()
    {} = {}(lambda carry, row: (carry + row.sum() * count(), row), 0.0, x)
    return total
model = pure_pair(f)
params, state = model.init(None, X)
answer, state = model.apply(params, state, None, X)
"""
MAPPED = """
def f(x):
    seen = hk.get_state("seen", (), jnp.float32, init=jnp.zeros)
    def add(row):
        hk.set_state("seen", hk.get_state("seen") + row.sum())
        return row * 2
    out = {}
    return hk.get_state("seen"), out
model = pure_pair(f)
params, state = model.init(None, X)
state = jax.tree.map(jnp.zeros_like, state)
(answer, out), state = model.apply(params, state, None, X)
"""
FLAG = """
model = pure_pair(BatchNorm, False, False, 0.9, 0.0)
params, state = model.init(None, X, True)
apply = jax.jit(model.apply)
answer, state = apply(params, state, None, X, {})
"""
AVERAGED = """
def f(x, is_training):
    w = hk.get_parameter("w", (), init=jnp.ones)
    ExponentialMovingAverage(0.5)({})
    return w * x
model = pure_pair(f)
def metrics_fn(params, state, batch):
    out, state = model.apply(params, state, None, batch["x"], is_training=False)
    return {{"error": out[:, 0]}}, state
train_state = init_train_state(model.init, optax.sgd(0.1), jax.random.key(0), X, is_training=True)
answer = jit_update(make_evaluate(metrics_fn))(train_state, {{"x": X}})["error"]
"""
IN_INIT = """
def f(x):
    return hk.BatchNorm(True, True, 0.9, cross_replica_axis="i")(x, is_training=True)
model = pure_pair(f)
params, state = model.init(None, X)
apply = jax.vmap(model.apply, (None, None, None, 0), axis_name="i")
answer, state = apply(params, state, None, jnp.reshape(X, (2, 2, 3)))
answer = jnp.reshape(answer, (4, 3))
"""
STATELESS = """
model = hk.transform(lambda x: Counter()() + x[0, 0])
train_state = init_train_state(model.init, optax.sgd(0.1), jax.random.key(0), X)
answer = model.apply(train_state.params, train_state.state, None, X)[0]
"""
CLASS = """
class Double(hk.Module):
    def __call__(self, x):
        return 2 * x
model = hk.transform_with_state(Double)
train_state = init_train_state(model.init, optax.sgd(0.1), jax.random.key(0), X)
answer, state = model.apply(train_state.params, train_state.state, None, X)
"""
TWO_AXES = """
model = pure_pair(lambda x: BatchNorm(True, True, 0.5, cross_replica_axis=("i", "j"))(x, True))
def loss_fn(params, state, rng, batch):
    out, state = model.apply(params, state, rng, batch)
    return jnp.mean(jnp.sin(out)), (state, {})
sgd = optax.sgd(0.1)
train_state = init_train_state(model.init, sgd, jax.random.key(0), X)
train_state, _ = jit_update(make_update(loss_fn, sgd))(train_state, X)
answer = train_state.state["batch_norm/~/mean_ema"]["average"][0]
"""
NORMALIZED = (X - MEAN) / X.std(0)
SHARD = "(lambda u: shard_update(u, data_mesh(jax.devices()[:2])))"
PROGRAMS = {
    # a class
    "advice.of_functionalize 1, a sum that starts with an int": (
        of_class("self.a = 0", "self.a += x"),
        2.0,
    ),
    "advice.of_functionalize 1, a count that starts as a bool": (
        of_class("self.a = False", "self.a = self.a + 1"),
        4,
    ),
    "advice.of_functionalize 1, a sum in half precision": (
        of_class("self.a = jnp.zeros(3)", "self.a = (self.a + x).astype(jnp.bfloat16)"),
        [2.0] * 3,
    ),
    "advice.of_functionalize 2, a mean without keepdims": (
        of_class("self.a = jnp.zeros((1, 3))", "self.a = jnp.mean(x, axis=0)", "[X]"),
        [MEAN],
    ),
    "advice.of_functionalize 3, a mean that starts as a number": (
        of_class("self.a = 0.0", "self.a = self.a + x", "list(X)"),
        X.sum(0),
    ),
    "statements.chosen_by_where, a number that changes": (
        of_class(
            "self.a = 0", "self.a += 1\nif self.a > 3: self.a = 0", "range(6)", "jax.jit(apply)"
        ),
        2,
    ),
    "statements.chosen_by_where, assigned only there": (
        of_class(
            "self.a = 5",
            "if self.a > 3:\n    self.a = self.a - x",
            "[1] * 6",
            "jax.jit(apply)",
        ),
        3,
    ),
    "arguments.traced_number, a size": (
        of_class(
            "self.n = 3; self.a = 0.0", "return x + jnp.zeros(self.n)", "[1.0]", "jax.jit(apply)"
        ),
        [1.0] * 3,
    ),
    # a module
    "advice.of_pair 2, a sum that starts with an int": (
        of_module(
            'n = hk.get_state("n", (), jnp.int32, init=jnp.zeros) + x[0]\n'
            'hk.set_state("n", n)\n'
            "return n"
        ),
        8.0,
    ),
    "advice.of_pair 2, named arguments": (
        of_module(
            'n = hk.get_state("n", shape=(), dtype=jnp.int32, init=jnp.zeros) + x[0]\n'
            'hk.set_state("n", n)\n'
            "return n"
        ),
        8.0,
    ),
    "advice.of_pair 3, half precision": (
        of_module(
            'h = hk.get_state("h", (3,), jnp.float32, init=jnp.zeros)\n'
            'hk.set_state("h", (h + x).astype(jnp.bfloat16))\n'
            "return h"
        ),
        X[:3].sum(0),
    ),
    "advice.of_pair 4, a mean without keepdims": (
        of_module(
            'm = hk.get_state("m", (1, 3), jnp.float32, init=jnp.zeros)\n'
            'hk.set_state("m", jnp.mean(x, axis=0))\n'
            "return m",
            "[X, X]",
        ),
        [MEAN],
    ),
    "advice.of_pair 5, the rows of the batch": (
        of_module(
            'h = hk.get_state("h", (1, 3), jnp.float32, init=jnp.zeros)\n'
            'hk.set_state("h", h + x)\n'
            "return h",
            "[X, X]",
        ),
        X,
    ),
    "advice.of_pair 3, a number instead of an array": (
        of_module(
            'h = hk.get_state("h", (), jnp.float32, init=jnp.zeros)\n'
            'hk.set_state("h", 2.0)\n'
            "return h"
        ),
        2.0,
    ),
    "statements.transformed_by, scan": (
        SCANNED.format("total, _", "jax.lax.scan"),
        np.dot(X.sum(1), [1, 2, 3, 4]),
    ),
    "statements.transformed_by, checkpoint": (MAPPED.format("jax.checkpoint(add)(x[0])"), 4.5),
    "statements.transformed_by, remat": (MAPPED.format("jax.remat(add)(x[0])"), 4.5),
    "statements.transformed_by, map": (MAPPED.format("jax.lax.map(add, x)"), X.sum()),
    "advice.of_pair 1, by name": (FLAG.format("is_training=True"), NORMALIZED),
    "advice.of_pair 1, by position": (FLAG.format("True"), NORMALIZED),
    "diagnosis._class_transformed": (CLASS, 2 * X),
    "diagnosis._unbound, Haiku's in init": (IN_INIT, (X - MEAN) / np.sqrt(X.var(0) + 1e-5)),
    "StatelessTransformError": (STATELESS, 1.5),
    "advice.of_runner 1, two axes": (TWO_AXES, MEAN),
    "advice.of_runner 3, an average": (AVERAGED.format("x"), X[:, 0].mean()),
    # a runner
    **{
        f"advice.of_runner 1, {make}": (of_runner(make), MEAN)
        for make in ("jit_update", "vmap_update", SHARD)
    },
    "advice.of_runner 1, an axis of another name": (
        of_runner('(lambda u: pmap_update(u, jax.devices()[:2], "batch"))'),
        MEAN,
    ),
    "advice.of_runner 1, another name on shard_map": (
        of_runner('(lambda u: shard_map_update(u, data_mesh(jax.devices()[:2], "batch")))'),
        MEAN,
    ),
    "advice.of_runner 2, a loss averaged over an axis": (
        of_runner("jit_update", "cross_replica_axis=None", 'jax.lax.pmean(loss, "devices")'),
        MEAN,
    ),
    "arguments.device_count, in a shell": (
        "#!/bin/sh\n"
        "XLA_FLAGS=--xla_force_host_platform_device_count=2 python <<END\n"
        "use_devices(4)\n"
        "answer = jax.device_count()\n"
        "END\n",
        4,
    ),
}
