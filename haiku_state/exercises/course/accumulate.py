"""Gradient accumulation

write, hard, 10 min, update/accumulation#the-same-gradient-in-parts

Write `accumulate(loss_fn, params, state, batch, count)`. The loss function is called as
`loss_fn(params, state, batch)`. It returns a loss, which is a mean over the rows, and the new
state; `example_loss` is an example. Split the batch into `count` microbatches of consecutive rows
and run them one after the other in `jax.lax.scan`. Each microbatch starts from the state that the
previous microbatch returned. Return the mean of their gradients with respect to the params, and the
last state.

- What does one iteration of the loop need from the iterations before it?
- Look at the carry of the scan: it holds the sum of the gradients so far, and the state. The scan
  goes over the microbatches, so each leaf of the batch needs a leading axis of length `count`.
- `leaf.reshape(count, -1, *leaf.shape[1:])` makes that axis. The carry starts with zeros and
  `state`; after the scan, divide the sum by `count`.
"""

# %%
# A batch that does not fit into memory is passed to a loss function in
# microbatches, one after the other.
import jax
import jax.numpy as jnp


def example_loss(params, state, batch):
    mean = 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)
    error = (batch["x"] - state) @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


def accumulate(loss_fn, params, state, batch, count):
    # Return the mean of the gradients of all microbatches, and the state that
    # has seen every microbatch.
    #: return jax.grad(loss_fn, has_aux=True)(params, state, batch)
    # <solution>
    def cut(leaf):
        return leaf.reshape(count, -1, *leaf.shape[1:])

    def body(carry, part):
        total, state = carry
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        return (jax.tree.map(jnp.add, total, grads), state), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    batches = jax.tree.map(cut, batch)
    (total, state), _ = jax.lax.scan(body, (zeros, state), batches)
    return jax.tree.map(lambda leaf: leaf / count, total), state
    # </solution>


# %% setup
import numpy as np


def loss_fn(params, state, batch):
    mean = 0.8 * state["mean"] + 0.2 * jnp.mean(batch["x"], axis=0)
    error = (batch["x"] - state["mean"]) @ params["w"] + params["b"] - batch["y"]
    return jnp.mean(jnp.square(error)), {"mean": mean, "count": state["count"] + 1}


def products(program):
    # how many matrix products a program consists of; the body of a loop counts once
    number = 0
    for one in program.eqns:
        number += one.primitive.name == "dot_general"
        inner = jax.tree.leaves(tuple(one.params.values()), is_leaf=lambda p: hasattr(p, "eqns"))
        number += sum(products(part) for part in inner if hasattr(part, "eqns"))
    return number


# %% inputs
def inputs(rng):
    params = {"w": rng.normal(size=3), "b": np.float32(rng.normal())}
    state = {"mean": rng.normal(size=3), "count": np.int32(rng.integers(5, 50))}
    return params, state, {"x": rng.normal(1, 1, size=(16, 3)), "y": rng.normal(2, 1, size=16)}


# %% check The gradients are averaged, and the state is passed on; jit types once tolerance=1e-4
def check(answer, params, state, batch):
    grads, state = answer.accumulate(loss_fn, params, state, batch, 4)
    return {"grads": grads, "state": state}


def closed_form(params, state, batch):
    x, y, mean = batch["x"].astype(float), batch["y"], state["mean"].astype(float)
    w, b = np.zeros(3), 0
    for rows in np.split(np.arange(16), 4):
        centered = x[rows] - mean
        error = centered @ params["w"] + params["b"] - y[rows]
        w, b = w + 2 * centered.T @ error / 16, b + 2 * error.sum() / 16
        mean = 0.8 * mean + 0.2 * x[rows].mean(axis=0)
    return {"grads": {"w": w, "b": b}, "state": {"mean": mean, "count": state["count"] + 4}}


# %% check The caller chooses the count, and the program stays short; once tolerance=1e-4
def check(answer, params, state, batch):
    run = lambda *given: answer.accumulate(loss_fn, *given, 8)
    program = jax.make_jaxpr(run)(params, state, batch).jaxpr
    grads, state = run(params, state, batch)
    return {"grads": grads, "state": state, "eight times as long": products(program) >= 8}


# %% idea sum or mean
# The loss is a mean over rows, and so is its gradient. The gradient of the whole batch must be the
# mean of the gradients of equal parts, because their sum is too large by a factor of the number of
# parts.
def accumulate(loss_fn, params, state, batch, count):
    grads, state = right.accumulate(loss_fn, params, state, batch, count)
    return jax.tree.map(lambda leaf: leaf * count, grads), state


# %% idea last part only
# The gradients of the earlier microbatches are missing: they must be carried on to the end and
# added to the gradient of the last microbatch.
def accumulate(loss_fn, params, state, batch, count):
    first = jax.tree.map(lambda leaf: leaf[: -(len(leaf) // count)], batch)
    last = jax.tree.map(lambda leaf: leaf[-(len(leaf) // count) :], batch)
    _, state = right.accumulate(loss_fn, params, state, first, count - 1)
    return jax.grad(loss_fn, has_aux=True)(params, state, last)


# %%
def accumulate(loss_fn, params, state, batch, count):
    first = jax.tree.map(lambda leaf: leaf[: -(len(leaf) // count)], batch)
    last = jax.tree.map(lambda leaf: leaf[-(len(leaf) // count) :], batch)
    _, state = right.accumulate(loss_fn, params, state, first, count - 1)
    grads, state = jax.grad(loss_fn, has_aux=True)(params, state, last)
    return jax.tree.map(lambda leaf: leaf / count, grads), state


# %% idea threaded state; update/accumulation#what-the-running-statistics-see
# The state has seen only one microbatch. Each microbatch must begin with the state that the
# previous microbatch returned.
def accumulate(loss_fn, params, state, batch, count):
    def on(part):
        return jax.grad(loss_fn, has_aux=True)(params, state, part)

    cut = lambda leaf: leaf.reshape(count, -1, *leaf.shape[1:])
    grads, states = jax.lax.map(on, jax.tree.map(cut, batch))
    mean = jax.tree.map(lambda leaf: leaf.mean(axis=0), grads)
    return mean, jax.tree.map(lambda leaf: leaf[-1], states)


# %% idea dropped state; update/accumulation#what-the-running-statistics-see
# The returned state is the same as the state that was passed in, but it must be the state that the
# last microbatch returned.
def accumulate(loss_fn, params, state, batch, count):
    return right.accumulate(loss_fn, params, state, batch, count)[0], state


# %% idea one at a time
# Every gradient must be computed from its own microbatch and with the state that the previous
# microbatch returned. Only one microbatch at a time should have to fit into memory.
def accumulate(loss_fn, params, state, batch, count):
    return jax.grad(loss_fn, has_aux=True)(params, state, batch)


# %%
def accumulate(loss_fn, params, state, batch, count):
    grads, _ = jax.grad(loss_fn, has_aux=True)(params, state, batch)
    return grads, right.accumulate(loss_fn, params, state, batch, count)[1]


# %% idea unrolled loop; update/many_steps#a-loop-inside-the-compiled-program
# The loop must be a `scan`, whose body is in the program only once. Each iteration of a Python loop
# is recorded separately, so the program grows with the number of microbatches.
def accumulate(loss_fn, params, state, batch, count):
    total = jax.tree.map(jnp.zeros_like, params)
    for i in range(count):
        part = jax.tree.map(lambda leaf: jnp.split(leaf, count)[i], batch)
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        total = jax.tree.map(lambda t, g: t + g / count, total, grads)
    return total, state


# %% idea chosen count
# The number of microbatches must be the argument that the caller chooses in each call, not a fixed
# number.
def accumulate(loss_fn, params, state, batch, count):
    return right.accumulate(loss_fn, params, state, batch, 4)


# %% right the gradients as the outputs of the scan
def accumulate(loss_fn, params, state, batch, count):
    parts = jax.tree.map(lambda leaf: jnp.stack(jnp.split(leaf, count)), batch)
    body = lambda state, part: jax.grad(loss_fn, has_aux=True)(params, state, part)[::-1]
    state, grads = jax.lax.scan(body, state, parts)
    return jax.tree.map(lambda leaf: jnp.mean(leaf, axis=0), grads), state
