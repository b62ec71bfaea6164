"""Answers to `branch`."""

# %% right: where, the static argument by its name
import functools

import jax
import jax.numpy as jnp


def huber(error, limit):
    size = jnp.abs(error)
    small = 0.5 * error**2
    large = limit * (size - 0.5 * limit)
    return jnp.where(size > limit, large, small)


@functools.partial(jax.jit, static_argnames=("average",))
def losses(errors, limit, average):
    each = jax.vmap(huber, in_axes=(0, None))(errors, limit)
    if average:
        return each.mean()
    return each


# %% right: lax.cond with operands, the static argument by its number
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax


def huber(error, limit):
    def small(size, limit):
        return 0.5 * size**2

    def large(size, limit):
        return limit * (size - 0.5 * limit)

    size = jnp.abs(jnp.asarray(error, jnp.float32))
    limit = jnp.asarray(limit, jnp.float32)
    return lax.cond(size <= limit, small, large, size, limit)


@partial(jax.jit, static_argnums=(2,))
def losses(errors, limit, average):
    each = jax.vmap(huber, in_axes=(0, None))(errors, limit)
    return each.mean() if average else each


# %% right: no choice in the formula, jit called on an inner function
import jax
import jax.numpy as jnp


def huber(error, limit):
    near = jnp.clip(error, -limit, limit)
    return near * (error - 0.5 * near)


def _losses(errors, limit, average):
    each = jax.vmap(lambda error: huber(error, limit))(errors)
    if not average:
        return each
    return jnp.mean(each)


losses = jax.jit(_losses, static_argnames="average")


# %% right since 0.8: select from a list, huber compiled too, an early return
import jax
import jax.numpy as jnp


@jax.jit
def huber(error, limit):
    size = abs(error)
    choices = [0.5 * size * size, limit * (size - limit / 2)]
    return jnp.select([size <= limit, size > limit], choices)


@jax.jit(static_argnames=["average"])
def losses(errors, limit, average):
    if average is True:
        return losses(errors, limit, False).mean()
    return jax.vmap(huber, (0, None))(errors, limit)


# %% right: the part within the limit and the rest, a loop by lax.map
import functools

import jax
import jax.numpy as jnp


def huber(error, limit):
    size = jnp.abs(error)
    near = jnp.minimum(size, limit)
    return 0.5 * near**2 + limit * (size - near)


@functools.partial(jax.jit, static_argnames="average")
def losses(errors, limit, average):
    each = jax.lax.map(lambda error: huber(error, limit), errors)
    reduce = jnp.mean if average else (lambda losses: losses)
    return reduce(each)


# %% right: lax.switch, and a Python list of losses
import functools

import jax
import jax.numpy as jnp


def huber(error, limit):
    error, limit = jnp.float32(error), jnp.float32(limit)
    size = jnp.abs(error)
    is_large = (size > limit).astype(int)
    sides = [lambda: 0.5 * error**2, lambda: limit * (size - 0.5 * limit)]
    return jax.lax.switch(is_large, sides)


@functools.partial(jax.jit, static_argnums=2)
def losses(errors, limit, average):
    each = jnp.stack([huber(errors[i], limit) for i in range(errors.shape[0])])
    match average:
        case True:
            return jnp.sum(each) / errors.shape[0]
        case False:
            return each


# %% right: optax
import functools

import jax
import optax


def huber(error, limit):
    return optax.losses.huber_loss(error, delta=limit)


@functools.partial(jax.jit, static_argnames="average")
def losses(errors, limit, average):
    each = huber(errors, limit)
    return each.mean() if average else each


# %% right: other names of the arguments, helpers, two compiled branches inside
import functools

import jax
import jax.numpy as jnp


def quadratic(r):
    return 0.5 * r**2


def linear(r, delta):
    return delta * (jnp.abs(r) - 0.5 * delta)


def huber(r, delta):
    is_small = jnp.less_equal(jnp.abs(r), delta)
    return jnp.where(is_small, quadratic(r), linear(r, delta))


@jax.jit
def each_loss(rs, delta):
    return jax.vmap(lambda r: huber(r, delta))(rs)


@functools.partial(jax.jit, static_argnames="average")
def losses(rs, delta, average):
    return {True: jnp.mean, False: jnp.asarray}[average](each_loss(rs, delta))


# %% right: the flag has another name
from functools import partial

import jax
import jax.numpy as jnp


def huber(e, d):
    return jnp.where(jnp.abs(e) <= d, 0.5 * e**2, d * (jnp.abs(e) - 0.5 * d))


@partial(jax.jit, static_argnums=2)
def losses(es, d, mean):
    out = jax.vmap(huber, in_axes=(0, None))(es, d)
    return out.mean() if mean else out


# %% right: a plain function that calls two compiled ones
import jax
import jax.numpy as jnp


def huber(error, limit):
    size = jnp.abs(error)
    return jnp.where(size <= limit, 0.5 * error**2, limit * (size - 0.5 * limit))


@jax.jit
def each_loss(errors, limit):
    return jax.vmap(huber, in_axes=(0, None))(errors, limit)


@jax.jit
def mean_loss(errors, limit):
    return each_loss(errors, limit).mean()


def losses(errors, limit, average):
    return mean_loss(errors, limit) if average else each_loss(errors, limit)


# %% right: a compiled function for the losses, and the mean beside it
import jax
import jax.numpy as jnp


@jax.jit
def huber(error, limit):
    size = jnp.abs(error)
    return jnp.where(size <= limit, 0.5 * error**2, limit * (size - 0.5 * limit))


def losses(errors, limit, average):
    each = jax.vmap(huber, in_axes=(0, None))(errors, limit)
    if average:
        return each.mean()
    return each


# %% wrong: if on a tracer | static flag | not traceable
import functools

import jax
import jax.numpy as jnp


def huber(error, limit):
    # Return the loss of one error, which is a single number.
    size = jnp.abs(error)
    small = 0.5 * error**2
    large = limit * (size - 0.5 * limit)
    if size <= limit:
        return small
    return large


@jax.jit
def losses(errors, limit, average):
    # Return the mean of all losses, or the loss of each error.
    each = jax.vmap(huber, in_axes=(0, None))(errors, limit)
    if average:
        return each.mean()
    return each


# %% wrong: not traceable
import functools

import jax
import jax.numpy as jnp


def huber(error, limit):
    size = jnp.abs(error).item()
    small = 0.5 * error**2
    large = limit * (size - 0.5 * limit)
    return jnp.where(size <= limit, small, large)


@functools.partial(jax.jit, static_argnames="average")
def losses(errors, limit, average):
    size = jnp.abs(errors)
    each = jnp.where(size <= limit, 0.5 * errors**2, limit * (size - 0.5 * limit))
    return each.mean() if average else each


# %% wrong: if on a tracer | not traceable
import functools

import jax
import jax.numpy as jnp


def huber(error, limit):
    # min and max of Python
    near = min(abs(error), limit)
    return near * (abs(error) - 0.5 * near)


@functools.partial(jax.jit, static_argnames="average")
def losses(errors, limit, average):
    near = jnp.minimum(jnp.abs(errors), limit)
    each = near * (jnp.abs(errors) - 0.5 * near)
    if average:
        return each.mean()
    return each


# %% wrong: static flag
import jax
import jax.numpy as jnp


def huber(error, limit):
    size = jnp.abs(error)
    return jnp.where(size <= limit, 0.5 * error**2, limit * (size - 0.5 * limit))


@jax.jit
def losses(errors, limit, average):
    each = jax.vmap(huber, in_axes=(0, None))(errors, limit)
    return jnp.where(average, each.mean(), each)


# %% wrong: static flag
import jax
import jax.numpy as jnp


def huber(error, limit):
    size = jnp.abs(error)
    return jnp.where(size <= limit, 0.5 * error**2, limit * (size - 0.5 * limit))


@jax.jit
def losses(errors, limit, average):
    each = jax.vmap(huber, in_axes=(0, None))(errors, limit)
    return jax.lax.cond(average, jnp.mean, lambda x: x, each)


# %% wrong: static value
from functools import partial

import jax
import jax.numpy as jnp


def huber(error, limit):
    size = jnp.abs(error)
    return jnp.where(size <= limit, 0.5 * error**2, limit * (size - 0.5 * limit))


@partial(jax.jit, static_argnums=(1, 2))
def losses(errors, limit, average):
    each = jax.vmap(huber, in_axes=(0, None))(errors, limit)
    if average:
        return each.mean()
    return each


# %% wrong: not compiled
import jax
import jax.numpy as jnp


def huber(error, limit):
    size = jnp.abs(error)
    return jnp.where(size <= limit, 0.5 * error**2, limit * (size - 0.5 * limit))


def losses(errors, limit, average):
    each = jax.vmap(huber, in_axes=(0, None))(errors, limit)
    if average:
        return each.mean()
    return each


# %% wrong: sides
import functools

import jax
import jax.numpy as jnp


def huber(error, limit):
    size = jnp.abs(error)
    small = 0.5 * error**2
    large = limit * (size - 0.5 * limit)
    return jnp.where(size <= limit, large, small)


@functools.partial(jax.jit, static_argnames="average")
def losses(errors, limit, average):
    each = jax.vmap(huber, in_axes=(0, None))(errors, limit)
    if average:
        return each.mean()
    return each


# %% wrong: -
# the absolute value is forgotten
import functools

import jax
import jax.numpy as jnp


def huber(error, limit):
    size = jnp.abs(error)
    small = 0.5 * error**2
    large = limit * (size - 0.5 * limit)
    return jnp.where(error <= limit, small, large)


@functools.partial(jax.jit, static_argnames="average")
def losses(errors, limit, average):
    each = jax.vmap(huber, in_axes=(0, None))(errors, limit)
    if average:
        return each.mean()
    return each


# %% wrong: -
# the smaller of the two sides: the line never lies above the parabola
import functools

import jax
import jax.numpy as jnp


def huber(error, limit):
    size = jnp.abs(error)
    small = 0.5 * error**2
    large = limit * (size - 0.5 * limit)
    return jnp.minimum(small, large)


@functools.partial(jax.jit, static_argnames="average")
def losses(errors, limit, average):
    each = jax.vmap(huber, in_axes=(0, None))(errors, limit)
    if average:
        return each.mean()
    return each


# %% wrong: -
# a product with the condition: 0 times inf is nan for an error whose square overflows
import functools

import jax
import jax.numpy as jnp


def huber(error, limit):
    size = jnp.abs(error)
    is_small = size <= limit
    return is_small * 0.5 * error**2 + ~is_small * limit * (size - 0.5 * limit)


@functools.partial(jax.jit, static_argnames="average")
def losses(errors, limit, average):
    each = jax.vmap(huber, in_axes=(0, None))(errors, limit)
    return each.mean() if average else each


# %% wrong: -
# the average is a sum
import functools

import jax
import jax.numpy as jnp


def huber(error, limit):
    size = jnp.abs(error)
    return jnp.where(size <= limit, 0.5 * error**2, limit * (size - 0.5 * limit))


@functools.partial(jax.jit, static_argnames="average")
def losses(errors, limit, average):
    each = jax.vmap(huber, in_axes=(0, None))(errors, limit)
    return each.sum() if average else each


# %% wrong: -
# the name of the argument is mistyped
import functools

import jax
import jax.numpy as jnp


def huber(error, limit):
    size = jnp.abs(error)
    return jnp.where(size <= limit, 0.5 * error**2, limit * (size - 0.5 * limit))


@functools.partial(jax.jit, static_argnames="averaged")
def losses(errors, limit, average):
    each = jax.vmap(huber, in_axes=(0, None))(errors, limit)
    if average:
        return each.mean()
    return each
