"""Answers to `accumulate`."""


# %% right: the mean grows in the carry, value_and_grad
import jax
import jax.numpy as jnp


def example_loss(params, state, batch):
    mean = 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


def accumulate(loss_fn, params, state, batch, count):
    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)

    def body(carry, part):
        mean, state = carry
        (_, state), grads = grad_fn(params, state, part)
        mean = jax.tree.map(lambda m, g: m + g / count, mean, grads)
        return (mean, state), None

    cut = lambda x: jnp.reshape(x, (count, x.shape[0] // count) + x.shape[1:])
    parts = jax.tree.map(cut, batch)
    start = jax.tree.map(jnp.zeros_like, params), state
    (mean, state), _ = jax.lax.scan(body, start, parts)
    return mean, state


# %% right: scan over numbers, each microbatch is sliced out of the batch
import jax
import jax.numpy as jnp


def example_loss(params, state, batch):
    mean = 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


def accumulate(loss_fn, params, state, batch, count):
    rows = jax.tree.leaves(batch)[0].shape[0] // count

    def body(carry, number):
        total, state = carry
        part = jax.tree.map(
            lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, number * rows, rows), batch
        )
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        return (jax.tree.map(jnp.add, total, grads), state), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    (total, state), _ = jax.lax.scan(body, (zeros, state), jnp.arange(count))
    return jax.tree.map(lambda leaf: leaf / count, total), state


# %% right: stacked gradients, a NamedTuple
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


def example_loss(params, state, batch):
    mean = 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


class Accumulated(NamedTuple):
    grads: Any
    state: Any


def accumulate(loss_fn, params, state, batch, count):
    def body(state, part):
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        return state, grads

    parts = jax.tree.map(lambda leaf: jnp.array(jnp.split(leaf, count)), batch)
    state, grads = jax.lax.scan(body, state, parts)
    return Accumulated(jax.tree.map(lambda leaf: leaf.mean(0), grads), state)


# %% right: the shapes of the gradients come from eval_shape with the whole batch
import jax
import jax.numpy as jnp


def example_loss(params, state, batch):
    mean = 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


def accumulate(loss_fn, params, state, batch, count):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    shapes, _ = jax.eval_shape(grad_fn, params, state, batch)  # computes nothing
    zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    def cut(leaf):
        return leaf.reshape(count, -1, *leaf.shape[1:])

    def body(carry, part):
        total, state = carry
        grads, state = grad_fn(params, state, part)
        return (jax.tree.map(jnp.add, total, grads), state), ()

    (total, state), _ = jax.lax.scan(body, (zeros, state), jax.tree.map(cut, batch))
    return jax.tree.map(lambda leaf: leaf / count, total), state


# %% right: a compiled body, the carry is a dict
import jax
import jax.numpy as jnp


def example_loss(params, state, batch):
    mean = 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


def accumulate(loss_fn, params, state, batch, count):
    @jax.jit
    def body(carry, part):
        grads, state = jax.grad(loss_fn, has_aux=True)(params, carry["state"], part)
        total = jax.tree.map(lambda t, g: t + g, carry["total"], grads)
        return {"total": total, "state": state}, None

    scale = 1.0 / count
    parts = jax.tree.map(lambda leaf: leaf.reshape((count, -1) + leaf.shape[1:]), batch)
    carry = {"total": jax.tree.map(lambda p: 0 * p, params), "state": state}
    carry, _ = jax.lax.scan(body, carry, xs=parts, length=count)
    return jax.tree.map(lambda leaf: scale * leaf, carry["total"]), carry["state"]


# %% right: the gradient of the mean of the losses of a scan
import jax
import jax.numpy as jnp


def example_loss(params, state, batch):
    mean = 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


def accumulate(loss_fn, params, state, batch, count):
    def cut(leaf):
        return leaf.reshape(count, -1, *leaf.shape[1:])

    def total_loss(params):
        @jax.checkpoint
        def body(carry, part):
            total, state = carry
            loss, state = loss_fn(params, jax.lax.stop_gradient(state), part)
            return (total + loss, state), None

        (total, last), _ = jax.lax.scan(body, (0.0, state), jax.tree.map(cut, batch))
        return total / count, last

    return jax.grad(total_loss, has_aux=True)(params)


# %% right: vjp in a class, flat lists of leaves
import jax
import jax.numpy as jnp


def example_loss(params, state, batch):
    mean = 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


class Accumulator:
    def __init__(self, loss_fn, params, count):
        self.loss_fn, self.params, self.count = loss_fn, params, count

    def step(self, carry, part):
        total, state = carry
        loss, pull, state = jax.vjp(
            lambda params: self.loss_fn(params, state, part), self.params, has_aux=True
        )
        (grads,) = pull(jnp.ones_like(loss) / self.count)
        total = [one + other for one, other in zip(total, jax.tree.leaves(grads))]
        return (total, state), None

    def run(self, state, batch):
        leaves, treedef = jax.tree.flatten(self.params)
        cut = lambda leaf: leaf.reshape(self.count, len(leaf) // self.count, *leaf.shape[1:])
        start = [jnp.zeros_like(leaf) for leaf in leaves], state
        (total, state), _ = jax.lax.scan(self.step, start, jax.tree.map(cut, batch))
        return jax.tree.unflatten(treedef, total), state


def accumulate(loss_fn, params, state, batch, count):
    return Accumulator(loss_fn, params, count).run(state, batch)


# %% right: two microbatches in each iteration of the program, a partial body
import functools

import jax
import jax.numpy as jnp


def example_loss(params, state, batch):
    mean = 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


def _body(loss_fn, params, carry, part):
    total, state = carry
    grads, new_state = jax.grad(loss_fn, has_aux=True)(params, state, part)
    return (jax.tree.map(jnp.add, total, grads), new_state), None


def accumulate(loss_fn, params, state, batch, count):
    body = functools.partial(_body, loss_fn, params)
    parts = jax.tree.map(lambda leaf: leaf.reshape(count, -1, *leaf.shape[1:]), batch)
    start = jax.tree.map(jnp.zeros_like, params), state
    (total, last), _ = jax.lax.scan(body, start, parts, unroll=2)
    return jax.tree.map(lambda leaf: leaf / count, total), last


# %% wrong: one at a time
import jax
import jax.numpy as jnp


def example_loss(params, state, batch):
    mean = 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


def accumulate(loss_fn, params, state, batch, count):
    # Return the gradient of the whole batch, and the state that has seen
    # every microbatch.
    return jax.grad(loss_fn, has_aux=True)(params, state, batch)


# %% wrong: sum or mean
import jax
import jax.numpy as jnp


def example_loss(params, state, batch):
    mean = 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


def accumulate(loss_fn, params, state, batch, count):
    def cut(leaf):
        return leaf.reshape(count, -1, *leaf.shape[1:])

    def body(carry, part):
        total, state = carry
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        return (jax.tree.map(jnp.add, total, grads), state), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    batches = jax.tree.map(cut, batch)
    (total, state), _ = jax.lax.scan(body, (zeros, state), batches)
    return total, state


# %% wrong: last part only
import jax
import jax.numpy as jnp


def example_loss(params, state, batch):
    mean = 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


def accumulate(loss_fn, params, state, batch, count):
    def cut(leaf):
        return leaf.reshape(count, -1, *leaf.shape[1:])

    def body(carry, part):
        total, state = carry
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        return (grads, state), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    batches = jax.tree.map(cut, batch)
    (total, state), _ = jax.lax.scan(body, (zeros, state), batches)
    return jax.tree.map(lambda leaf: leaf, total), state


# %% wrong: threaded state
# the body reads the state from outside, and not from the carry
import jax
import jax.numpy as jnp


def example_loss(params, state, batch):
    mean = 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


def accumulate(loss_fn, params, state, batch, count):
    def cut(leaf):
        return leaf.reshape(count, -1, *leaf.shape[1:])

    def body(carry, part):
        total, _ = carry
        grads, new_state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        return (jax.tree.map(jnp.add, total, grads), new_state), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    batches = jax.tree.map(cut, batch)
    (total, new_state), _ = jax.lax.scan(body, (zeros, state), batches)
    return jax.tree.map(lambda leaf: leaf / count, total), new_state


# %% wrong: dropped state
import jax
import jax.numpy as jnp


def example_loss(params, state, batch):
    mean = 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


def accumulate(loss_fn, params, state, batch, count):
    def cut(leaf):
        return leaf.reshape(count, -1, *leaf.shape[1:])

    def body(carry, part):
        total, state = carry
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        return (jax.tree.map(jnp.add, total, grads), state), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    batches = jax.tree.map(cut, batch)
    (total, _), _ = jax.lax.scan(body, (zeros, state), batches)
    return jax.tree.map(lambda leaf: leaf / count, total), state


# %% wrong: unrolled loop
import jax
import jax.numpy as jnp


def example_loss(params, state, batch):
    mean = 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


def accumulate(loss_fn, params, state, batch, count):
    grad_fn = jax.jit(jax.grad(loss_fn, has_aux=True))
    total = jax.tree.map(jnp.zeros_like, params)
    rows = len(jax.tree.leaves(batch)[0]) // count
    for first in range(0, rows * count, rows):
        part = jax.tree.map(lambda leaf: leaf[first : first + rows], batch)
        grads, state = grad_fn(params, state, part)
        total = jax.tree.map(jnp.add, total, grads)
    return jax.tree.map(lambda leaf: leaf / count, total), state


# %% wrong: one at a time
# the state goes through a scan, but the gradient is computed at once
import jax
import jax.numpy as jnp


def example_loss(params, state, batch):
    mean = 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


def accumulate(loss_fn, params, state, batch, count):
    parts = jax.tree.map(lambda leaf: leaf.reshape(count, -1, *leaf.shape[1:]), batch)
    last, _ = jax.lax.scan(lambda s, part: (loss_fn(params, s, part)[1], None), state, parts)
    grads, _ = jax.grad(loss_fn, has_aux=True)(params, state, batch)
    return grads, last


# %% wrong: -
# every count-th row, and not consecutive rows: the state differs
import jax
import jax.numpy as jnp


def example_loss(params, state, batch):
    mean = 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


def accumulate(loss_fn, params, state, batch, count):
    def cut(leaf):
        return leaf.reshape(-1, count, *leaf.shape[1:]).swapaxes(0, 1)

    def body(carry, part):
        total, state = carry
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        return (jax.tree.map(jnp.add, total, grads), state), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    batches = jax.tree.map(cut, batch)
    (total, state), _ = jax.lax.scan(body, (zeros, state), batches)
    return jax.tree.map(lambda leaf: leaf / count, total), state


# %% wrong: chosen count
import jax
import jax.numpy as jnp


def example_loss(params, state, batch):
    mean = 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


def accumulate(loss_fn, params, state, batch, count):
    def cut(leaf):
        return leaf.reshape(4, -1, *leaf.shape[1:])

    def body(carry, part):
        total, state = carry
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        return (jax.tree.map(jnp.add, total, grads), state), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    batches = jax.tree.map(cut, batch)
    (total, state), _ = jax.lax.scan(body, (zeros, state), batches)
    return jax.tree.map(lambda leaf: leaf / 4, total), state


# %% wrong: -
# halves weigh the later parts more
import jax
import jax.numpy as jnp


def example_loss(params, state, batch):
    mean = 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


def accumulate(loss_fn, params, state, batch, count):
    def cut(leaf):
        return leaf.reshape(count, -1, *leaf.shape[1:])

    def body(carry, part):
        total, state = carry
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        return (jax.tree.map(lambda t, g: (t + g) / 2, total, grads), state), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    batches = jax.tree.map(cut, batch)
    (total, state), _ = jax.lax.scan(body, (zeros, state), batches)
    return jax.tree.map(lambda leaf: leaf, total), state


# %% wrong: leak | mutation
import jax
import jax.numpy as jnp


def example_loss(params, state, batch):
    mean = 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


def accumulate(loss_fn, params, state, batch, count):
    collected = []

    def body(state, part):
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        collected.append(grads)
        return state, None

    parts = jax.tree.map(lambda leaf: leaf.reshape(count, -1, *leaf.shape[1:]), batch)
    state, _ = jax.lax.scan(body, state, parts)
    return jax.tree.map(lambda *leaves: sum(leaves) / count, *collected), state


# %% wrong: -
# the last microbatch is not taken
import jax
import jax.numpy as jnp


def example_loss(params, state, batch):
    mean = 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


def accumulate(loss_fn, params, state, batch, count):
    def cut(leaf):
        return leaf.reshape(count, -1, *leaf.shape[1:])

    def body(carry, part):
        total, state = carry
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        return (jax.tree.map(jnp.add, total, grads), state), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    batches = jax.tree.map(lambda leaf: cut(leaf)[:-1], batch)
    (total, state), _ = jax.lax.scan(body, (zeros, state), batches)
    return jax.tree.map(lambda leaf: leaf / (count - 1), total), state


# %% wrong: dtype
# every leaf of the new state becomes a float
import jax
import jax.numpy as jnp


def example_loss(params, state, batch):
    mean = 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


def accumulate(loss_fn, params, state, batch, count):
    def cut(leaf):
        return leaf.reshape(count, -1, *leaf.shape[1:])

    def body(carry, part):
        total, state = carry
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        return (jax.tree.map(jnp.add, total, grads), state), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    batches = jax.tree.map(cut, batch)
    (total, state), _ = jax.lax.scan(body, (zeros, state), batches)
    return jax.tree.map(lambda leaf: leaf / count, total), jax.tree.map(jnp.float32, state)


# %% wrong: -
# reverse: the gradient is right, and the state has seen the microbatches from the end
import jax
import jax.numpy as jnp


def example_loss(params, state, batch):
    mean = 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


def accumulate(loss_fn, params, state, batch, count):
    def cut(leaf):
        return leaf.reshape(count, -1, *leaf.shape[1:])

    def body(carry, part):
        total, state = carry
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        return (jax.tree.map(jnp.add, total, grads), state), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    batches = jax.tree.map(cut, batch)
    (total, state), _ = jax.lax.scan(body, (zeros, state), batches, reverse=True)
    return jax.tree.map(lambda leaf: leaf / count, total), state


# %% wrong: -
# divided by the number of rows
import jax
import jax.numpy as jnp


def example_loss(params, state, batch):
    mean = 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


def accumulate(loss_fn, params, state, batch, count):
    def cut(leaf):
        return leaf.reshape(count, -1, *leaf.shape[1:])

    def body(carry, part):
        total, state = carry
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        return (jax.tree.map(jnp.add, total, grads), state), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    batches = jax.tree.map(cut, batch)
    (total, state), _ = jax.lax.scan(body, (zeros, state), batches)
    return jax.tree.map(lambda leaf: leaf / len(jax.tree.leaves(batch)[0]), total), state


# %% wrong: -
# the params move between the microbatches, as if it were a training
import jax
import jax.numpy as jnp


def example_loss(params, state, batch):
    mean = 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


def accumulate(loss_fn, params, state, batch, count):
    def cut(leaf):
        return leaf.reshape(count, -1, *leaf.shape[1:])

    def body(carry, part):
        total, params, state = carry
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
        return (jax.tree.map(jnp.add, total, grads), params, state), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    batches = jax.tree.map(cut, batch)
    (total, params, state), _ = jax.lax.scan(body, (zeros, params, state), batches)
    return jax.tree.map(lambda leaf: leaf / count, total), state
