# right: a compiled loop, which needs nothing static
import jax


def loss_fn(x):
    return (x - 3.0) ** 2


@jax.jit
def descend(x, learning_rate, weight_decay, steps):
    def step(_, x):
        return x - learning_rate * (jax.grad(loss_fn)(x) + weight_decay * x)

    return jax.lax.fori_loop(0, steps, step, x)

# right: the static argument by its number
import jax


def loss_fn(x):
    return (x - 3.0) ** 2


def step(x, rate, weight_decay):
    return x - rate * (jax.grad(loss_fn)(x) + weight_decay * x)


def descend(x, learning_rate, weight_decay, steps):
    for _ in range(steps):
        x = step(x, learning_rate, weight_decay)
    return x


descend = jax.jit(descend, static_argnums=3)

# wrong: static value
import functools

import jax


def loss_fn(x):
    return (x - 3.0) ** 2


@functools.partial(
    jax.jit, static_argnames=("learning_rate", "weight_decay", "steps")
)
def descend(x, learning_rate, weight_decay, steps):
    for _ in range(steps):
        slope = jax.grad(loss_fn)(x) + weight_decay * x
        x = x - learning_rate * slope
    return x

# wrong: frozen value
import functools

import jax

settings = {"weight_decay": 0.1}


def loss_fn(x):
    return (x - 3.0) ** 2


@functools.partial(jax.jit, static_argnames="steps")
def descend(x, learning_rate, weight_decay, steps):
    for _ in range(steps):
        slope = jax.grad(loss_fn)(x) + settings["weight_decay"] * x
        x = x - learning_rate * slope
    return x

# wrong: frozen value
import functools

import jax

settings = {"weight_decay": 0.1}


def loss_fn(x):
    return (x - 3.0) ** 2


@functools.partial(jax.jit, static_argnames="steps")
def inner(x, learning_rate, steps):
    for _ in range(steps):
        slope = jax.grad(loss_fn)(x) + settings["weight_decay"] * x
        x = x - learning_rate * slope
    return x


def descend(x, learning_rate, weight_decay, steps):
    settings["weight_decay"] = weight_decay
    return inner(x, learning_rate, steps)

# wrong: static length
import jax


def loss_fn(x):
    return (x - 3.0) ** 2


@jax.jit
def descend(x, learning_rate, weight_decay, steps):
    for _ in range(steps):
        slope = jax.grad(loss_fn)(x) + weight_decay * x
        x = x - learning_rate * slope
    return x

# wrong: not compiled
import jax


def loss_fn(x):
    return (x - 3.0) ** 2


def descend(x, learning_rate, weight_decay, steps):
    for _ in range(steps):
        slope = jax.grad(loss_fn)(x) + weight_decay * x
        x = x - learning_rate * slope
    return x

# wrong: static value
import functools

import jax


def loss_fn(x):
    return (x - 3.0) ** 2


slope_of = jax.grad(loss_fn)


@functools.partial(jax.jit, static_argnums=(1, 3))
def descend(x, learning_rate, weight_decay, steps):
    for _ in range(steps):
        x = x - learning_rate * (slope_of(x) + weight_decay * x)
    return x

# wrong: static value
import functools

import jax


def loss_fn(x):
    return (x - 3.0) ** 2


@functools.partial(jax.jit, static_argnames=("learning_rate", "steps"))
def descend(x, learning_rate, weight_decay, steps):
    for _ in range(steps):
        x = x - learning_rate * (2 * (x - 3.0) + weight_decay * x)
    return x

# wrong: leak
import functools

import jax


def loss_fn(x):
    return (x - 3.0) ** 2


settings = {"weight_decay": 0.1}


@functools.partial(jax.jit, static_argnames="steps")
def descend(x, learning_rate, weight_decay, steps):
    settings["weight_decay"] = weight_decay
    for _ in range(steps):
        slope = jax.grad(loss_fn)(x) + settings["weight_decay"] * x
        x = x - learning_rate * slope
    return x

# right: a function that calls the compiled one
import functools

import jax


def loss_fn(x):
    return (x - 3.0) ** 2


@functools.partial(jax.jit, static_argnames="steps")
def _descend(x, learning_rate, weight_decay, steps):
    for _ in range(steps):
        slope = jax.grad(loss_fn)(x) + weight_decay * x
        x = x - learning_rate * slope
    return x


def descend(x, learning_rate, weight_decay, steps):
    return _descend(x, learning_rate, weight_decay, steps)
