"""Traced once

repair, medium, 8 min, update/jitted_update#how-often-does-it-compile

`train` is correct but slow: it traces and compiles `step` in every iteration. Repair it so that
`step` is traced only once for all batches and rates. The check calls `train(step, params, batches,
rates)` with a list of batches of one shape and a list of Python numbers, and counts the traces.
There are three causes.

- For each argument of `run`: is its type the same in all calls? Is the called function the same in
  all calls?
- One of the causes is in the line with `total`; the other two are in the line with `jax.jit`.
- Call `jax.jit(step)` once, before the loop and with nothing static, and begin with
  `jnp.float32(0)`.
"""

# %%
# The step is given: `step(params, total, batch, rate)` returns the next params
# and the sum of all losses so far.
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    # Return the last params and the sum of the losses.
    #: total = 0.0
    # <solution>
    total = jnp.float32(0)
    run = jax.jit(step)
    # </solution>
    for batch, rate in zip(batches, rates, strict=True):
        #: run = jax.jit(lambda *args: step(*args), static_argnums=3)
        params, total = run(params, total, batch, rate)
    return params, total


# %% inputs
def inputs(rng):
    rates = [float(rate) for rate in rng.uniform(0.1, 0.3, 3) for _ in range(2)]  # each one twice
    return rng.normal(size=3), [*rng.normal(size=(6, 4, 3))], rates


# %% check The step is traced once, and the result is the same;
def check(answer, params, batches, rates):
    traced = []

    def step(params, total, batch, rate):
        traced.append(isinstance(params, jax.core.Tracer))
        loss = ((params - batch) ** 2).mean()
        return params - rate * (params - batch).mean(axis=0), total + loss

    params, total = answer.train(step, params, batches, rates)
    counts = {"traces": traced.count(True), "not compiled": traced.count(False)}
    return {"params": params, "total": total, **counts}


def closed_form(params, batches, rates):
    params, total = params.astype(float), 0.0
    for batch, rate in zip(batches, rates):
        total += ((params - batch) ** 2).mean()
        params = params + rate * (batch.mean(axis=0) - params)
    return {"params": params, "total": total, "traces": 1, "not compiled": 0}


# %% idea new function; update/jitted_update#a-new-function-each-time
# The step must be traced only once, but it was traced in each iteration. JAX keeps a compiled
# program for each function object, so a new function is traced again. If the Python loop itself is
# compiled, it is unrolled: the program contains the step once for each iteration.
def train(step, params, batches, rates):
    total = jnp.float32(0)
    for batch, rate in zip(batches, rates):
        run = jax.jit(lambda *args: step(*args))
        params, total = run(params, total, batch, rate)
    return params, total


# %% idea static value
def train(step, params, batches, rates):
    total, run = jnp.float32(0), jax.jit(step, static_argnums=3)
    for batch, rate in zip(batches, rates):
        params, total = run(params, total, batch, rate)
    return params, total


# %%
def train(step, params, batches, rates):
    total, run = 0.0, jax.jit(step, static_argnums=3)
    for batch, rate in zip(batches, rates):
        params, total = run(params, total, batch, rate)
    return params, total


# %% idea weak start; update/jitted_update#python-numbers-and-weak-types
# The step was traced twice, because `total` had a different type in the first call than in all
# later calls. A Python number has a weak type, and so does an array that is made from it without a
# dtype. The sum that `step` returns does not, so `total` must begin with a dtype too.
def train(step, params, batches, rates):
    total, run = 0.0, jax.jit(step)
    for batch, rate in zip(batches, rates):
        params, total = run(params, total, batch, rate)
    return params, total


# %% idea not compiled
# The step ran op by op, at least once. It should be traced once and compiled.
def train(step, params, batches, rates):
    total = 0.0
    for batch, rate in zip(batches, rates):
        params, total = step(params, total, batch, rate)
    return params, total


# %%
def train(step, params, batches, rates):
    params, total = step(params, 0.0, batches[0], rates[0])
    run = jax.jit(step)
    for batch, rate in zip(batches[1:], rates[1:]):
        params, total = run(params, total, batch, rate)
    return params, total


# %% idea frozen value
def train(step, params, batches, rates):
    total = jnp.float32(0)
    run = jax.jit(lambda params, total, batch: step(params, total, batch, rate))
    for batch, rate in zip(batches, rates):
        params, total = run(params, total, batch)
    return params, total


# %% right a scan over the stacked batches
def train(step, params, batches, rates):
    body = lambda carry, inputs: (step(*carry, *inputs), None)
    carry = params, jnp.zeros((), params.dtype)
    return jax.lax.scan(body, carry, (jnp.stack(batches), jnp.array(rates)))[0]


# %% right `jax.jit` in the loop, but with the same function, and the rate as an array
def train(step, params, batches, rates):
    total = jnp.zeros(())
    for batch, rate in zip(batches, rates):
        params, total = jax.jit(step)(params, total, batch, jnp.float32(rate))
    return params, total
