"""Gradients, vmap, loops, and PyTrees of JAX."""

import dataclasses
import functools
import random
from collections import defaultdict
from typing import Any

import jax
import jax.numpy as jnp
from support.programs.tables import impure, pure

x = jnp.arange(3.0)
matrix = jnp.ones((4, 3))
gradient_calls = {"n": 0}


@impure(x)
def grad_of_an_impure_function(x):
    def loss(w):
        gradient_calls["n"] += 1  # finds: mutation gradient_calls['n']
        return (w**2).sum()

    return jax.grad(loss)(x)


@impure.made(x)
def value_and_grad_itself():
    evaluations = []

    def loss(w):
        evaluations.append("loss")  # finds: mutation evaluations[...]
        return (w**2).sum()

    return jax.value_and_grad(loss)


@impure.made(x)
def vmap_of_a_method():
    class Scorer:
        def __init__(self):
            self.batches = 0

        def score(self, value):
            self.batches += 1  # finds: mutation self.batches
            return value * 2

    return jax.vmap(Scorer().score)


body_traces = [0]


@impure(x)
def while_loop_body(x):
    def body(value):
        body_traces[0] += 1  # finds: mutation body_traces[...]
        return value * 2

    return jax.lax.while_loop(lambda value: value.sum() < 10, body, x + 1)


scan_calls = []


def _scan_body(c, v):
    scan_calls.append(1)  # finds: mutation scan_calls[...]
    return c + v, c


jax.lax.scan(_scan_body, jnp.float32(0), x)


@impure(x)
def scan_body_traced_before(x):
    return jax.lax.scan(_scan_body, jnp.float32(0), x)


@impure.made(x)
def training_loop():
    class Trainer:
        def __init__(self):
            self.step = 0
            self.log = defaultdict(list)
            self.rng = random.Random(0)

        def train_step(self, w):
            self.step += 1  # finds: mutation self.step
            noise = self.rng.gauss(0, 1)  # finds: hidden input self.rng.gauss
            loss, grad = jax.value_and_grad(self.loss)(w + noise)
            self.log["loss"].append(loss)  # finds: leak self.log['loss']
            if self.step % 1 == 0:
                print("step", self.step)  # finds: output print
            return w - 0.1 * grad

        @staticmethod
        def loss(w):
            return (w**2).sum()

    return Trainer().train_step


@pure(x)
def scan(x):
    def body(carry, value):
        carry = {"sum": carry["sum"] + value, "n": carry["n"] + 1}
        return carry, carry["sum"]

    return jax.lax.scan(body, {"sum": 0.0, "n": 0}, x)


@pure(x)
def while_and_fori(x):
    total = jax.lax.fori_loop(0, 3, lambda i, value: value + i, x)
    return jax.lax.while_loop(lambda value: value.sum() < 100, lambda value: value * 2, total + 1)


@pure(x)
def cond_switch_map(x):
    y = jax.lax.cond(x.sum() > 0, lambda value: value, lambda value: -value, x)
    y = jax.lax.switch(1, [jnp.sin, jnp.cos, jnp.tan], y)
    return jax.lax.map(lambda value: value * 2, y)


@pure(x)
def associative_scan(x):
    return jax.lax.associative_scan(jnp.add, x)


@pure(matrix)
def vmap_of_a_local_function(m):
    def one(row):
        parts = []
        parts.append(row.sum())
        parts.append(row.max())
        return jnp.stack(parts)

    return jax.vmap(one)(m)


@pure.made(matrix)
def vmap_of_a_vmap():
    return jax.vmap(jax.vmap(lambda value: value * 2))


@pure(x)
def vectorized(x):
    return jnp.vectorize(lambda a, b: a * b)(x, x)


@pure(matrix)
def einsum(m):
    return jnp.einsum("ij,kj->ik", m, m).sum()


@pure({"w": x, "b": jnp.float32(0.0)}, x)
def grad_with_aux(params, x):
    def loss_fn(params):
        logs = {}
        prediction = params["w"] @ x + params["b"]
        logs["prediction"] = prediction
        return prediction**2, logs

    (loss, logs), grads = jax.value_and_grad(loss_fn, has_aux=True)(params)
    return loss, logs, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


@pure.made(x)
def grad_of_a_function():
    return jax.grad(lambda w: (w**2).sum())


@pure(x)
def higher_derivatives(x):
    def energy(w):
        return (w**3).sum()

    value, tangent = jax.jvp(energy, (x,), (jnp.ones_like(x),))
    _, pullback = jax.vjp(energy, x)
    return jax.hessian(energy)(x).sum() + value + tangent + pullback(1.0)[0].sum()


@jax.custom_jvp
def _log1pexp(x):
    return jnp.log1p(jnp.exp(x))


@_log1pexp.defjvp
def _log1pexp_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return _log1pexp(x), jax.nn.sigmoid(x) * t


@pure(x)
def custom_jvp(x):
    return jax.grad(lambda value: _log1pexp(value).sum())(x)


@pure(x)
def custom_vjp_made_inside(x):
    @jax.custom_vjp
    def clip_gradient(value):
        return value

    clip_gradient.defvjp(lambda value: (value, None), lambda _, g: (jnp.clip(g, -1, 1),))
    return jax.grad(lambda value: (clip_gradient(value) ** 2).sum())(x)


@pure(x, jnp.ones((3,)))
def python_loop_of_training(w, x):
    losses = []
    momentum = jnp.zeros_like(w)
    for _ in range(3):
        loss, grad = jax.value_and_grad(lambda w: ((w - x) ** 2).mean())(w)
        momentum = 0.9 * momentum + grad
        w = w - 0.1 * momentum
        losses.append(loss)
    return w, jnp.array(losses)


@pure({"a": x, "b": [x, (x, None)]})
def tree_functions(tree):
    leaves, structure = jax.tree.flatten(tree)
    leaves = [leaf * 2 for leaf in leaves]
    leaves.append(leaves.pop())
    tree = jax.tree.map(jnp.add, tree, jax.tree.unflatten(structure, leaves))
    return jax.tree.map(lambda leaf: leaf + 1, tree), len(jax.tree.leaves(tree))


@pure.made(x)
def tree_partial():
    return jax.tree_util.Partial(lambda scale, x: scale * x, 2.0)


@jax.tree_util.register_pytree_node_class
class Interval:
    def __init__(self, low, high):
        self.low, self.high = low, high

    def tree_flatten(self):
        return (self.low, self.high), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)

    def widen(self, by):
        self.low = self.low - by
        self.high = self.high + by
        return self


@pure(x)
def registered_pytree_changed_inside(x):
    interval = Interval(x, x + 1).widen(0.5)
    interval = jax.tree.map(lambda leaf: leaf * 2, interval)
    return interval.high - interval.low


@functools.partial(
    jax.tree_util.register_dataclass, data_fields=["w", "step"], meta_fields=["name"]
)
@dataclasses.dataclass
class ModelState:
    w: Any
    step: Any
    name: str = "model"


@pure(ModelState(x, jnp.int32(0)))
def registered_dataclass(state):
    return dataclasses.replace(state, w=state.w * 2, step=state.step + 1)
