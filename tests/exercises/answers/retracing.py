"""Answers to `retracing`."""


# %% right: a compiled function around the step, made before the loop
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    @jax.jit
    def run(params, total, batch, rate):
        return step(params, total, batch, rate)

    total = jnp.zeros((), jnp.float32)
    for i in range(len(batches)):
        params, total = run(params, total, batches[i], rates[i])
    return params, total


# %% right: one lambda for all iterations, and a zero of NumPy
import numpy as np

import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    total = np.float32(0)
    run = jax.jit(lambda *args: step(*args))
    for batch, rate in zip(batches, rates):
        params, total = run(params, total, batch, rate)
    return params, total


# %% right: reduce
import functools

import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    compiled = jax.jit(step)
    return functools.reduce(
        lambda carry, inputs: compiled(*carry, *inputs),
        zip(batches, rates),
        (params, jnp.array(0, dtype=jnp.float32)),
    )


# %% right: fori_loop over the stacked batches
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    stacked, rates = jnp.stack(batches), jnp.asarray(rates)

    def body(i, carry):
        params, total = carry
        return step(params, total, stacked[i], rates[i])

    return jax.lax.fori_loop(0, len(batches), body, (params, jnp.float32(0)))


# %% right: compiled ahead of time
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    total = jnp.float32(0.0)
    run = jax.jit(step).lower(params, total, batches[0], rates[0]).compile()
    for batch, rate in zip(batches, rates, strict=True):
        params, total = run(params, total, batch, rate)
    return params, total


# %% right: each call begins with zero, and the losses are added outside
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    run, zero, losses = jax.jit(step), jnp.float32(0), []
    for batch, rate in zip(batches, rates):
        params, loss = run(params, zero, batch, rate)
        losses.append(loss)
    return params, sum(losses, zero)


# %% right: a scan in a compiled function, and a named tuple
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Trained(NamedTuple):
    params: jax.Array
    total: jax.Array


def train(step, params, batches, rates):
    @jax.jit
    def all_steps(params, batches, rates):
        def body(carry, inputs):
            carry = step(carry.params, carry.total, *inputs)
            return Trained(*carry), ()

        start = Trained(params, jnp.zeros((), jnp.float32))
        return jax.lax.scan(body, start, (batches, rates))[0]

    return all_steps(params, jnp.array(batches), jnp.array(rates))


# %% right: the compiled steps are kept by the function
import functools

import jax
import jax.numpy as jnp


@functools.lru_cache
def compiled(step):
    return jax.jit(step)


def train(step, params, batches, rates):
    total = jnp.zeros(())
    for batch, rate in zip(batches, rates):
        params, total = compiled(step)(params, total, batch, jnp.asarray(rate))
    return params, total


# %% right: a recursion with one compiled function
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    run = jax.jit(step)

    def rest(params, total, pairs):
        if not pairs:
            return params, total
        (batch, rate), *others = pairs
        return rest(*run(params, total, batch, rate), others)

    return rest(params, jnp.float32(0), list(zip(batches, rates)))


# %% right: the sum comes out as a number of Python
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    # Return the last params and the sum of the losses.
    total = jnp.float32(0)
    run = jax.jit(step)
    for batch, rate in zip(batches, rates, strict=True):
        params, total = run(params, total, batch, rate)
    return params, float(total)


# %% wrong: new function | static value | weak start
# the starter code
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    # Return the last params and the sum of the losses.
    total = 0.0
    for batch, rate in zip(batches, rates, strict=True):
        run = jax.jit(lambda *args: step(*args), static_argnums=3)
        params, total = run(params, total, batch, rate)
    return params, total


# %% wrong: new function
# only the function is new each time
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    # Return the last params and the sum of the losses.
    total = jnp.float32(0)
    for batch, rate in zip(batches, rates, strict=True):
        run = jax.jit(lambda *args: step(*args))
        params, total = run(params, total, batch, rate)
    return params, total


# %% wrong: new function
# a partial with the rate, new each time
import functools

import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    # Return the last params and the sum of the losses.
    total = jnp.float32(0)
    for batch, rate in zip(batches, rates, strict=True):
        run = jax.jit(functools.partial(step, rate=rate))
        params, total = run(params, total, batch)
    return params, total


# %% wrong: new function
# the whole loop is compiled, and unrolled
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    @jax.jit
    def all_steps(params, batches, rates):
        total = jnp.float32(0)
        for batch, rate in zip(batches, rates):
            params, total = step(params, total, batch, rate)
        return params, total

    return all_steps(params, batches, rates)


# %% wrong: static value
# the rate is still static
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    # Return the last params and the sum of the losses.
    total = jnp.float32(0)
    run = jax.jit(step, static_argnums=3)
    for batch, rate in zip(batches, rates, strict=True):
        params, total = run(params, total, batch, rate)
    return params, total


# %% wrong: static value
# static by its name
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    # Return the last params and the sum of the losses.
    total = jnp.float32(0)
    run = jax.jit(step, static_argnames="rate")
    for batch, rate in zip(batches, rates, strict=True):
        params, total = run(params, total, batch, rate)
    return params, total


# %% wrong: static value
# one compiled function for each rate
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    # Return the last params and the sum of the losses.
    total = jnp.float32(0)
    runs = {}
    for batch, rate in zip(batches, rates, strict=True):
        if rate not in runs:
            runs[rate] = jax.jit(lambda *args, rate=rate: step(*args, rate))
        params, total = runs[rate](params, total, batch)
    return params, total


# %% wrong: weak start
# only the first total is as it was
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    # Return the last params and the sum of the losses.
    total = 0.0
    run = jax.jit(step)
    for batch, rate in zip(batches, rates, strict=True):
        params, total = run(params, total, batch, rate)
    return params, total


# %% wrong: weak start
# an integer of Python
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    # Return the last params and the sum of the losses.
    total = 0
    run = jax.jit(step)
    for batch, rate in zip(batches, rates, strict=True):
        params, total = run(params, total, batch, rate)
    return params, total


# %% wrong: weak start
# the total becomes a number of Python after the first step
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    # Return the last params and the sum of the losses.
    total = jnp.float32(0)
    run = jax.jit(step)
    for batch, rate in zip(batches, rates, strict=True):
        params, total = run(params, total, batch, rate)
        total = float(total)
    return params, total


# %% wrong: not compiled
# without jit
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    # Return the last params and the sum of the losses.
    total = jnp.float32(0)
    for batch, rate in zip(batches, rates, strict=True):
        params, total = step(params, total, batch, rate)
    return params, total


# %% wrong: not compiled
# the first step makes the total, and is not compiled
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    params, total = step(params, jnp.float32(0), batches[0], rates[0])
    run = jax.jit(step)
    for batch, rate in zip(batches[1:], rates[1:]):
        params, total = run(params, total, batch, rate)
    return params, total


# %% wrong: frozen value
# the rate of the first trace stays
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    total, rate = jnp.float32(0), rates[0]

    @jax.jit
    def run(params, total, batch):
        return step(params, total, batch, rate)

    for batch, rate in zip(batches, rates):
        params, total = run(params, total, batch)
    return params, total


# %% wrong: frozen value
# the function of an object which reads its rate
import jax
import jax.numpy as jnp


class Runner:
    def __init__(self, step):
        self.rate = None
        self.run = jax.jit(lambda params, total, batch: step(params, total, batch, self.rate))


def train(step, params, batches, rates):
    runner, total = Runner(step), jnp.float32(0)
    for runner.rate, batch in zip(rates, batches):
        params, total = runner.run(params, total, batch)
    return params, total


# %% wrong: -
# swapped results
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    # Return the last params and the sum of the losses.
    total = jnp.float32(0)
    run = jax.jit(step)
    for batch, rate in zip(batches, rates, strict=True):
        params, total = run(params, total, batch, rate)
    return total, params


# %% wrong: -
# the last batch is left out
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    # Return the last params and the sum of the losses.
    total = jnp.float32(0)
    run = jax.jit(step)
    for batch, rate in zip(batches[:-1], rates):
        params, total = run(params, total, batch, rate)
    return params, total


# %% wrong: -
# the mean of the losses
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    # Return the last params and the sum of the losses.
    total = jnp.float32(0)
    run = jax.jit(step)
    for batch, rate in zip(batches, rates, strict=True):
        params, total = run(params, total, batch, rate)
    return params, total / len(batches)


# %% wrong: -
# the arguments of the step in another order
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    # Return the last params and the sum of the losses.
    total = jnp.float32(0)
    run = jax.jit(step)
    for batch, rate in zip(batches, rates, strict=True):
        params, total = run(params, batch, total, rate)
    return params, total


# %% wrong: -
# all steps begin with the first params
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    total = jnp.float32(0)
    run = jax.jit(step)
    for batch, rate in zip(batches, rates, strict=True):
        new_params, total = run(params, total, batch, rate)
    return new_params, total
