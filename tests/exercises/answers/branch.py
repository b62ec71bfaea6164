# right: a function for each side, and the static argument by its number
import functools

import jax
import jax.numpy as jnp


def huber(error, limit):
    size = jnp.abs(error)
    return jax.lax.cond(
        size <= limit,
        lambda: 0.5 * size**2,
        lambda: limit * (size - 0.5 * limit),
    )


@functools.partial(jax.jit, static_argnums=(2,))
def losses(errors, limit, average):
    each = jax.vmap(huber, (0, None))(errors, limit)
    return each.mean() if average else each

# right: no choice at all in the loss
import functools

import jax
import jax.numpy as jnp


def huber(error, limit):
    size = jnp.abs(error)
    near = jnp.minimum(size, limit)
    return near * (size - 0.5 * near)


def _losses(errors, limit, average):
    each = huber(errors, limit)
    if average:
        return jnp.mean(each)
    return each


losses = jax.jit(_losses, static_argnames=["average"])

# wrong: if on a tracer
import functools

import jax
import jax.numpy as jnp


def huber(error, limit):
    size = jnp.abs(error)
    return 0.5 * error**2 if size <= limit else limit * (size - 0.5 * limit)


@functools.partial(jax.jit, static_argnames="average")
def losses(errors, limit, average):
    each = jax.vmap(huber, in_axes=(0, None))(errors, limit)
    return each.mean() if average else each

# wrong: if on a tracer
import functools

import jax
import jax.numpy as jnp


def huber(error, limit):
    inside = bool(jnp.abs(error) <= limit)
    outside = limit * (jnp.abs(error) - 0.5 * limit)
    return inside * 0.5 * error**2 + (not inside) * outside


@functools.partial(jax.jit, static_argnames="average")
def losses(errors, limit, average):
    each = jax.vmap(huber, in_axes=(0, None))(errors, limit)
    return each.mean() if average else each

# wrong: not traceable
import functools

import jax
import jax.numpy as jnp
import numpy as np


def huber(error, limit):
    size = np.abs(error)
    return np.where(size <= limit, 0.5 * error**2, limit * (size - limit / 2))


@functools.partial(jax.jit, static_argnames="average")
def losses(errors, limit, average):
    each = jax.vmap(huber, in_axes=(0, None))(errors, limit)
    return each.mean() if average else each

# wrong: sides
import functools

import jax
import jax.numpy as jnp


def huber(error, limit):
    size = jnp.abs(error)
    return jnp.where(
        size <= limit, limit * (size - 0.5 * limit), 0.5 * error**2
    )


@functools.partial(jax.jit, static_argnames="average")
def losses(errors, limit, average):
    each = jax.vmap(huber, in_axes=(0, None))(errors, limit)
    return each.mean() if average else each

# wrong: static flag
import jax
import jax.numpy as jnp


def huber(error, limit):
    size = jnp.abs(error)
    return jnp.where(
        size <= limit, 0.5 * error**2, limit * (size - 0.5 * limit)
    )


@jax.jit
def losses(errors, limit, average):
    each = jax.vmap(huber, in_axes=(0, None))(errors, limit)
    return jnp.where(average, each.mean(), each)

# wrong: static flag
import jax
import jax.numpy as jnp


def huber(error, limit):
    size = jnp.abs(error)
    return jnp.where(
        size <= limit, 0.5 * error**2, limit * (size - 0.5 * limit)
    )


@jax.jit
def losses(errors, limit, average):
    each = jax.vmap(huber, in_axes=(0, None))(errors, limit)
    return jax.lax.cond(average, lambda: each.mean(), lambda: each)

# wrong: not static
import functools

import jax
import jax.numpy as jnp


def huber(error, limit):
    size = jnp.abs(error)
    return jnp.where(
        size <= limit, 0.5 * error**2, limit * (size - 0.5 * limit)
    )


@functools.partial(jax.jit, static_argnames=("limit", "average"))
def losses(errors, limit, average):
    each = jax.vmap(huber, in_axes=(0, None))(errors, limit)
    return each.mean() if average else each

# wrong: not compiled
import jax
import jax.numpy as jnp


def huber(error, limit):
    size = jnp.abs(error)
    return jnp.where(
        size <= limit, 0.5 * error**2, limit * (size - 0.5 * limit)
    )


def losses(errors, limit, average):
    each = jax.vmap(huber, in_axes=(0, None))(errors, limit)
    return each.mean() if average else each

# wrong: sign
import functools

import jax
import jax.numpy as jnp


def huber(error, limit):
    large = limit * (error - 0.5 * limit)
    return jnp.where(error <= limit, 0.5 * error**2, large)


@functools.partial(jax.jit, static_argnames="average")
def losses(errors, limit, average):
    each = jax.vmap(huber, in_axes=(0, None))(errors, limit)
    return each.mean() if average else each
