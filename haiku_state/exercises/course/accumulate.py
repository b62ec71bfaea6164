"""Gradient accumulation

write, 10 min, update/accumulation#the-same-gradient-in-parts

Write `accumulate(loss_fn, params, state, batch, count)`. The loss function is called as
`loss_fn(params, state, batch)`. It returns a loss, which is a mean over the rows, and the new
state; `example_loss` is an example. Split the batch into `count` microbatches of consecutive rows
and run one after the other in `jax.lax.scan`. Each microbatch starts from the state that the
previous microbatch returned. Return the gradient of the whole batch with respect to the params, and
the last state.

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
    error = batch["x"] @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


def accumulate(loss_fn, params, state, batch, count):
    # Return the gradient of the whole batch, and the state that has seen
    # every microbatch.
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
import jax
import jax.numpy as jnp
import numpy as np


def loss_fn(params, state, batch):
    mean = 0.8 * state["mean"] + 0.2 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] + params["b"] - batch["y"]
    return jnp.mean(jnp.square(error)), {"mean": mean, "count": state["count"] + 1}


# %% inputs
def inputs(rng):
    params = {"w": rng.normal(size=3), "b": np.float32(rng.normal())}
    state = {"mean": rng.normal(size=3), "count": np.int32(rng.integers(5, 50))}
    return params, state, {"x": rng.normal(1, 1, size=(16, 3)), "y": rng.normal(2, 1, size=16)}


# %% check The gradient belongs to the whole batch, and the state sees all microbatches; pure jit tolerance=0.0001; equal parts
def check(answer, params, state, batch):
    grads, state = answer.accumulate(loss_fn, params, state, batch, 4)
    return {"grads": grads, "state": state}


def closed_form(params, state, batch):
    x, mean = batch["x"].astype(float), state["mean"].astype(float)
    error = x @ params["w"] + params["b"] - batch["y"]
    for part in x.reshape(4, 4, 3):
        mean = 0.8 * mean + 0.2 * part.mean(axis=0)
    grads = {"w": 2 * x.T @ error / 16, "b": 2 * error.mean()}
    return {"grads": grads, "state": {"mean": mean, "count": state["count"] + 4}}


# %% check The loss function sees one microbatch at a time and is not traced again for each microbatch; once; one at a time
def check(answer, params, state, batch):
    rows = []

    def noting(params, state, batch):
        rows.append(batch["x"].shape[0])
        return loss_fn(params, state, batch)

    program = jax.make_jaxpr(lambda *given: answer.accumulate(noting, *given, 8))
    outside = [one.primitive.name for one in program(params, state, batch).jaxpr.eqns]
    in_the_loop = "dot_general" not in outside
    return {"rows": max(rows), "traced once": len(rows) < 8, "all in the loop": in_the_loop}


# %% idea sum or mean
# The loss is a mean over rows, and so is its gradient. The gradient of the whole batch is the mean
# of the gradients of equal parts; their sum is too large by a factor of the number of parts.
def accumulate(loss_fn, params, state, batch, count):
    grads, state = right.accumulate(loss_fn, params, state, batch, count)
    return jax.tree.map(lambda leaf: leaf * count, grads), state


# %% idea last part only
# This is the gradient of the last microbatch. What the earlier microbatches have found must be
# carried on to the end.
def accumulate(loss_fn, params, state, batch, count):
    last = jax.tree.map(lambda leaf: leaf[-(len(leaf) // count) :], batch)
    _, new = right.accumulate(loss_fn, params, state, batch, count)
    return jax.grad(loss_fn, has_aux=True)(params, state, last)[0], new


# %%
def accumulate(loss_fn, params, state, batch, count):
    last = jax.tree.map(lambda leaf: leaf[-(len(leaf) // count) :], batch)
    _, new = right.accumulate(loss_fn, params, state, batch, count)
    grads, _ = jax.grad(loss_fn, has_aux=True)(params, state, last)
    return jax.tree.map(lambda leaf: leaf / count, grads), new


# %% idea threaded state; update/accumulation#what-the-running-statistics-see
# The state has seen only one microbatch. Each microbatch must begin with the state that the
# previous microbatch returned.
def accumulate(loss_fn, params, state, batch, count):
    last = jax.tree.map(lambda leaf: leaf[-(len(leaf) // count) :], batch)
    grads, _ = right.accumulate(loss_fn, params, state, batch, count)
    return grads, loss_fn(params, state, last)[1]


# %% idea dropped state; update/accumulation#what-the-running-statistics-see
# The returned state is the same as the state that was passed in: what the microbatches returned is
# lost.
def accumulate(loss_fn, params, state, batch, count):
    return right.accumulate(loss_fn, params, state, batch, count)[0], state


# %% idea one at a time
# The loss function was given all rows at once. Only one microbatch at a time should have to fit
# into memory.
def accumulate(loss_fn, params, state, batch, count):
    return jax.grad(loss_fn, has_aux=True)(params, state, batch)


# %%
def accumulate(loss_fn, params, state, batch, count):
    grads, _ = jax.grad(loss_fn, has_aux=True)(params, state, batch)
    return grads, right.accumulate(loss_fn, params, state, batch, count)[1]


# %%
def accumulate(loss_fn, params, state, batch, count):
    parts = jax.tree.map(lambda leaf: leaf.reshape(count, -1, *leaf.shape[1:]), batch)
    grads = jax.vmap(jax.grad(lambda *given: loss_fn(*given)[0]), (None, None, 0))
    _, new = right.accumulate(loss_fn, params, state, batch, count)
    return jax.tree.map(lambda leaf: leaf.mean(axis=0), grads(params, state, parts)), new


# %% idea unrolled loop; update/many_steps#a-loop-inside-the-compiled-program
# A Python loop is traced in every iteration, so the program grows with the number of microbatches.
# Use a loop that is traced only once.
def accumulate(loss_fn, params, state, batch, count):
    total = jax.tree.map(jnp.zeros_like, params)
    for i in range(count):
        part = jax.tree.map(lambda leaf: jnp.split(leaf, count)[i], batch)
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        total = jax.tree.map(lambda t, g: t + g / count, total, grads)
    return total, state


# %% idea chosen count
# The number of microbatches is an argument, which the caller chooses in each call.
def accumulate(loss_fn, params, state, batch, count):
    return right.accumulate(loss_fn, params, state, batch, 4)


# %%
def accumulate(loss_fn, params, state, batch, count):
    return right.accumulate(loss_fn, params, state, batch, 2)


# %% idea equal parts
# Each row must be in one of the microbatches, and each microbatch must have the same weight.
def accumulate(loss_fn, params, state, batch, count):
    first = jax.tree.map(lambda leaf: jnp.concatenate([leaf[: len(leaf) // count]] * count), batch)
    return right.accumulate(loss_fn, params, state, first, count)


# %% right the gradients are the outputs of the scan
def accumulate(loss_fn, params, state, batch, count):
    parts = jax.tree.map(lambda leaf: jnp.stack(jnp.split(leaf, count)), batch)
    body = lambda state, part: jax.grad(loss_fn, has_aux=True)(params, state, part)[::-1]
    state, grads = jax.lax.scan(body, state, parts)
    return jax.tree.map(lambda leaf: jnp.mean(leaf, axis=0), grads), state
