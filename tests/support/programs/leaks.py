"""Tracers that are kept."""

import functools
from collections import deque
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from support.programs.tables import impure, pure

x = jnp.arange(3.0)
activations = []


@impure(x)
def leak_in_a_list(x):
    h = jnp.tanh(x)
    activations.append(h)  # finds: leak activations[...]
    return h.sum()


@impure.made(x)
def leak_in_self():
    class Layer:
        def __call__(self, x):
            self.last = x  # finds: leak self.last
            return x * 2

    return Layer()


last_loss = None


@impure(x)
def leak_in_a_global(x):
    global last_loss
    last_loss = (x**2).sum()  # finds: leak last_loss
    return last_loss


losses = {}


@impure(x)
def leak_in_a_dict(x):
    losses["train"] = x.mean()  # finds: leak losses['train']
    return x


@impure.made(x)
def leak_in_a_nonlocal():
    previous = jnp.zeros(3)

    def difference(x):
        nonlocal previous
        result = x - jnp.roll(x, 1)
        previous = x  # finds: leak previous
        return result

    return difference


@impure.made(x)
def leak_in_a_running_mean():
    class BatchNorm:
        def __init__(self):
            self.running_mean = jnp.zeros(())
            self.batches = 0

        def forward(self, x):
            mean = x.mean()
            self.running_mean = 0.9 * mean + 0.1  # finds: leak self.running_mean
            self.batches += 1  # finds: mutation self.batches
            return x - mean

    return BatchNorm().forward


metrics = []


@impure(x)
def leak_inside_a_tuple(x):
    loss = x.sum()
    metrics.append({"step": 1, "loss": (loss, "train")})  # finds: leak metrics[...]
    return loss


masks = {}


@impure(x)
def leak_of_a_constant_made_in_the_trace(x):
    if x.shape not in masks:
        masks[x.shape] = jnp.ones(x.shape)  # finds: leak masks[(3,)]
    return x * masks[x.shape]


def _memoize(fn):
    results = {}

    @functools.wraps(fn)
    def wrapper(x):
        if x.ndim not in results:
            results[x.ndim] = fn(x)  # finds: leak results[1]
        return results[x.ndim]

    return wrapper


@impure(x)
@_memoize
def leak_in_a_memo(x):
    return jnp.sin(x)


@functools.lru_cache
def cached_table(n):
    return jnp.arange(n)


@impure(x)
def helper_with_a_cache(x):
    return x * cached_table(3)  # finds: leak cached_table


@impure.made(x)
def helper_with_a_cache_without_a_bound():
    @functools.cache
    def table(n):
        return jnp.arange(n)

    def call(x):
        y = table(3)  # finds: leak table
        return x * y

    return call


trajectory = []


@impure(x)
def leak_from_scan(x):
    def body(carry, value):
        trajectory.append(carry)  # finds: leak trajectory[...]
        return carry + value, carry

    total, _ = jax.lax.scan(body, 0.0, x)
    return total


per_example = []


@impure(x)
def leak_from_vmap(x):
    def one(value):
        per_example.append(value * 2)  # finds: leak per_example[...]
        return value + 1

    return jax.vmap(one)(x)


branches = {}


@impure(x)
def leak_from_cond(x):
    def positive(value):
        branches["positive"] = value  # finds: leak branches['positive']
        return value

    return jax.lax.cond(x.sum() > 0, positive, lambda value: -value, x)


@impure.made(x)
def leak_from_fori_loop():
    class Solver:
        iterate = None

        def step(self, i, value):
            self.iterate = value  # finds: leak self.iterate
            return value * 0.5 + i

        def solve(self, x):
            return jax.lax.fori_loop(0, 3, self.step, x)

    return Solver().solve


inner_losses = deque(maxlen=10)


@impure(x)
def leak_from_grad(x):
    def loss(w):
        value = (w**2).sum()
        inner_losses.append(value)  # finds: leak inner_losses[...]
        return value

    return jax.grad(loss)(x)


@impure.made(x)
def leak_from_grad_computed_with():
    def call(x):
        acts = None

        def loss(v):
            nonlocal acts
            acts = jnp.tanh(v)  # finds: leak acts
            return acts.sum()

        return jax.grad(loss)(x) + acts

    return call


impure.MAY_RAISE.add("leak_from_grad_computed_with")


@impure.made(x)
def leak_from_custom_vjp_fwd():
    saved = {}

    @jax.custom_vjp
    def clip(v):
        return v

    def fwd(v):
        saved["v"] = v  # finds: leak saved['v']
        return v, None

    clip.defvjp(fwd, lambda _, g: (g,))
    return lambda x: jax.grad(lambda v: clip(v).sum())(x)


kept_by_jit = []


@impure(x)
@jax.jit
def leak_from_jit(x):
    kept_by_jit.append(x)  # finds: leak kept_by_jit[...]
    return x


@impure.made(x)
def leak_inner_jit_self():
    class M:
        def __init__(self):
            self.h = None

        def inner(self, v):
            self.h = v + 1  # finds: leak self.h
            return v

        def __call__(self, x):
            y = jax.jit(self.inner)(x)
            return y + self.h

    return M()


impure.MAY_RAISE.add("leak_inner_jit_self")


@impure(x)
def leak_in_a_function_attribute(x):
    leak_in_a_function_attribute.last = x * 1  # finds: leak leak_in_a_function_attribute.last
    return x


@impure(x)
def leak_in_a_default(x, acc=[]):  # noqa: B006
    acc.append(x)  # finds: leak acc[...]
    return x


@impure.made(x)
def leak_of_a_closure():
    callbacks = []

    def call(x):
        callbacks.append(lambda: x.sum())  # finds: leak callbacks[...]
        return x

    return call


thunks = []


@impure(x)
def leak_partial(x):
    thunks.append(functools.partial(jnp.add, x))  # finds: leak thunks[...]
    return x


@impure.made(x)
def leak_bound_method():
    class Rec:
        def __init__(self, v):
            self.v = v

        def get(self):
            return self.v

    cbs = []

    def f(x):
        cbs.append(Rec(x).get)  # finds: leak cbs[...]
        return x

    return f


@impure.made(x)
def leak_in_a_class_attribute():
    class Loss:
        last: ClassVar[Any] = None

        @classmethod
        def compute(cls, x):
            cls.last = x.mean()  # finds: leak cls.last
            return x.sum()

    return Loss.compute


objects = np.empty(2, object)


@impure(x)
def leak_in_an_object_array(x):
    objects[0] = x  # finds: leak objects[...]
    return x


@functools.lru_cache(maxsize=None)  # noqa: UP033
def _fibonacci(n):
    return n if n < 2 else _fibonacci(n - 1) + _fibonacci(n - 2)


@pure(x)
def lru_cached_helper(x):
    return x * _fibonacci(10)


@functools.cache
def _frequencies(size):
    return np.arange(size, dtype=np.float32) / size


@pure(x)
def cached_numpy_helper(x):
    return x * _frequencies(x.shape[0])
