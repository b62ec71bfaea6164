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
    "advice.of_functionalize 2, a mean that starts as a number": (
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
    "advice.of_pair 1, a sum that starts with an int": (
        of_module(
            'n = hk.get_state("n", (), jnp.int32, init=jnp.zeros) + x[0]\n'
            'hk.set_state("n", n)\n'
            "return n"
        ),
        8.0,
    ),
    "advice.of_pair 1, named arguments": (
        of_module(
            'n = hk.get_state("n", shape=(), dtype=jnp.int32, init=jnp.zeros) + x[0]\n'
            'hk.set_state("n", n)\n'
            "return n"
        ),
        8.0,
    ),
    "advice.of_pair 2, half precision": (
        of_module(
            'h = hk.get_state("h", (3,), jnp.float32, init=jnp.zeros)\n'
            'hk.set_state("h", (h + x).astype(jnp.bfloat16))\n'
            "return h"
        ),
        X[:3].sum(0),
    ),
    "advice.of_pair 3, a mean without keepdims": (
        of_module(
            'm = hk.get_state("m", (1, 3), jnp.float32, init=jnp.zeros)\n'
            'hk.set_state("m", jnp.mean(x, axis=0))\n'
            "return m",
            "[X, X]",
        ),
        [MEAN],
    ),
    "advice.of_pair 3, the rows of the batch": (
        of_module(
            'h = hk.get_state("h", (1, 3), jnp.float32, init=jnp.zeros)\n'
            'hk.set_state("h", h + x)\n'
            "return h",
            "[X, X]",
        ),
        X,
    ),
    "TracedFlagError, a keyword": (
        "model = pure_pair(BatchNorm, False, False, 0.9, 0.0)\n"
        "params, state = model.init(None, X, True)\n"
        "answer, state = jax.jit(model.apply)(params, state, None, X, is_training=True)\n",
        (X - MEAN) / X.std(0),
    ),
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
    "DeviceCountError, after JAX has started": (
        "#!/bin/sh\n"
        "python <<END\n"
        "jax.devices(); use_devices(4)\n"
        "answer = jax.device_count()\n"
        "END\n",
        4,
    ),
}
