"""An `if` that cannot be decided yet

repair, 8 min, pure/thinking_in_jax#an-if-on-an-argument

Repair `huber(error, limit)` so that it works under `jax.jit` and `jax.vmap` too, where `error` and
`limit` are single numbers. Then repair `losses(errors, limit, average)`, which must remain a jitted
function: `errors` is an array with one axis, and `average` is `True` or `False`. Called with
`True`, it returns one number; with `False`, it returns one number for each error.

- Which of the two `if` statements depends on a value that changes all the time, and which of them
  depends on a flag?
- In `huber`, the `if` itself must go. In `losses`, look at the line above `def`.
- `jnp.where(condition, a, b)` chooses for each entry; `static_argnums` or `static_argnames` tells
  `jit` which argument is a value and not a tracer.
"""

# %%
# The Huber loss grows with the square of a small error, and only linearly with
# a large one.
import functools

import jax
import jax.numpy as jnp


def huber(error, limit):
    # Return the loss of one error, which is a single number.
    size = jnp.abs(error)
    small = 0.5 * error**2
    large = limit * (size - 0.5 * limit)
    #: if size <= limit:
    #:     return small
    #: return large
    # <solution>
    return jnp.where(size <= limit, small, large)
    # </solution>


#: @jax.jit
# <solution>
@functools.partial(jax.jit, static_argnames="average")
# </solution>
def losses(errors, limit, average):
    # Return the mean of all losses, or the loss of each error.
    each = jax.vmap(huber, in_axes=(0, None))(errors, limit)
    if average:
        return each.mean()
    return each


# %% setup
import numpy as np


# %% inputs
def inputs(rng):
    limit = rng.uniform(0.5, 2)
    small, large = limit * rng.uniform((0.1, 1.1), (0.9, 1.9))
    return np.array([small, -small, large, -large]), np.float32(limit)


# %% check `huber` chooses by a value; pure jit vmap; if on a tracer
def check(answer, errors, limit):
    return [answer.huber(error, limit) for error in errors]


def closed_form(errors, limit):
    size, limit = np.abs(errors).astype(float), float(limit)
    return list(np.where(size <= limit, 0.5 * size**2, limit * (size - 0.5 * limit)))


# %% check `losses` chooses by a flag and is compiled; again arguments; static flag
def check(answer, errors, limit):
    return {
        "mean": answer.losses(errors, limit, True),
        "each": answer.losses(errors, limit, average=False),
        "compiled": hasattr(answer.losses, "lower"),
    }


# %% idea static flag
# The flag decides the shape of the result and therefore which program is compiled, so its value
# must be known during tracing.
@jax.jit
def losses(errors, limit, average):
    each = right.losses(errors, limit, False)
    return each.mean() if average else each


# %%
@jax.jit
def losses(errors, limit, average):
    each = right.losses(errors, limit, False)
    return jnp.where(average, each.mean(), each)


# %%
@jax.jit
def losses(errors, limit, average):
    each = right.losses(errors, limit, False)
    return jax.lax.cond(average, lambda: each.mean(), lambda: each)


# %% idea if on a tracer
# A Python `if` is decided during tracing, when the argument has no value yet. If a choice depends
# on a value, the choice itself must be an operation.
def huber(error, limit):
    size = jnp.abs(error)
    return 0.5 * error**2 if size <= limit else limit * (size - 0.5 * limit)


# %%
def huber(error, limit):
    size = float(jnp.abs(error))
    return 0.5 * error**2 if size <= limit else limit * (size - 0.5 * limit)


# %% idea not static; pure/transformations#the-learning-rate-is-not-a-static-argument
# An array cannot be a static argument: it has no hash, and its values change all the time. A static
# argument should have only a few values, such as a flag.
losses = jax.jit(right.losses, static_argnames=("limit", "average"))


# %% idea not compiled; pure/thinking_in_jax#to-jit-or-not-to-jit
# Without `jit`, each call runs one operation after the other. The function must remain compiled.
def losses(errors, limit, average):
    return right.losses(errors, limit, average)


# %% idea sides
# The two sides are swapped: the first side is used where the condition is true.
def huber(error, limit):
    size = jnp.abs(error)
    return jnp.where(size <= limit, limit * (size - 0.5 * limit), 0.5 * error**2)


# %% idea sign
# The absolute value decides whether an error is large: a large negative error is large too.
def huber(error, limit):
    return jnp.where(error <= limit, 0.5 * error**2, limit * (error - 0.5 * limit))


# %% idea not traceable
import numpy as np


def huber(error, limit):
    size = np.abs(error)
    return np.where(size <= limit, 0.5 * error**2, limit * (size - 0.5 * limit))


# %% right a function for each side
def huber(error, limit):
    size = jnp.abs(error)
    large = lambda: limit * (size - 0.5 * limit)
    return jax.lax.cond(size <= limit, lambda: 0.5 * size**2, large)


# %% right no choice at all in the loss, and the static argument by its number
def huber(error, limit):
    size = jnp.abs(error)
    near = jnp.minimum(size, limit)
    return near * (size - 0.5 * near)


@functools.partial(jax.jit, static_argnums=2)
def losses(errors, limit, average):
    each = huber(errors, limit)
    return each.mean() if average else each
