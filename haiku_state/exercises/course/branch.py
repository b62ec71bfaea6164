"""An `if` that cannot be decided yet

repair, medium, 8 min, pure/thinking_in_jax#an-if-on-an-argument

Repair `huber(error, limit)` so that it works under `jax.jit` and `jax.vmap` too, where `error` and
`limit` are single numbers. The result must be the same as with the `if`, even for an error that is
so large that its square overflows.

Then repair `losses(errors, limit, average)`, which must compute the losses in one compiled program:
`errors` is an array with one axis, and `average` is `True` or `False`. Called with `True`, it
returns one number; with `False`, it returns one number for each error.

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


def is_same(some, others):
    return {*map(id, some)} == {*map(id, others)}


# %% inputs
def inputs(rng):
    limit = rng.uniform(0.5, 2)
    small, large = limit * rng.uniform((0.1, 1.1), (0.9, 1.9))
    return np.array([small, -small, large, -large]), np.float32(limit)


# %% check `huber` chooses its formula by the value of the error; pure jit vmap
def check(answer, errors, limit):
    return [answer.huber(error, limit) for error in jnp.append(errors, 1e20)]


def closed_form(errors, limit):
    size, limit = np.abs([*errors.astype(float), 1e20]), float(limit)
    return list(np.where(size <= limit, 0.5 * size**2, limit * (size - 0.5 * limit)))


# %% check `losses` is compiled and chooses its result by a flag; again arguments
def check(answer, errors, limit):
    each = lambda errors, limit: answer.losses(errors, limit, False)
    results = {"mean": answer.losses(errors, limit, True), "each": each(errors, limit)}
    whole = jax.make_jaxpr(each)(errors, limit).jaxpr
    compiled = [
        one.outvars
        for one in whole.eqns
        if one.primitive.name in ("jit", "pjit") and is_same(one.invars, whole.invars)
    ]
    return {**results, "is one program": whole.outvars in compiled}


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


losses = right.losses


# %% idea not compiled; pure/arrays_and_numpy#to-jit-or-not-to-jit
# The function must remain compiled. Without `jit`, every call starts its operations one by one.
def losses(errors, limit, average):
    each = jax.vmap(huber, in_axes=(0, None))(errors, limit)
    return each.mean() if average else each


# %% idea sides
# The two formulas are swapped: the loss must be quadratic for a small error and linear for a large
# error.
def huber(error, limit):
    size = jnp.abs(error)
    return jnp.where(size <= limit, limit * (size - 0.5 * limit), 0.5 * error**2)


# %% right a separate function for each of the two formulas
def huber(error, limit):
    size = jnp.abs(error)
    large = lambda: limit * (size - 0.5 * limit)
    return jax.lax.cond(size <= limit, lambda: 0.5 * size**2, large)


# %% right a loss without any choice, and a plain function that calls two compiled functions
def huber(error, limit):
    size = jnp.abs(error)
    near = jnp.minimum(size, limit)
    return near * (size - 0.5 * near)


each_loss = jax.jit(huber)
mean_loss = jax.jit(lambda errors, limit: huber(errors, limit).mean())


def losses(errors, limit, average):
    return mean_loss(errors, limit) if average else each_loss(errors, limit)


# %% right a plain function that calls a compiled function and takes the mean itself
each_loss = jax.jit(jax.vmap(right.huber, in_axes=(0, None)))


def losses(errors, limit, average):
    each = each_loss(errors, limit)
    return each.mean() if average else each
