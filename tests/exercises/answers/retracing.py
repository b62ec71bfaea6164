# right: a scan over the stacked batches
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    def body(carry, inputs):
        return step(*carry, *inputs), None

    carry = params, jnp.zeros((), params.dtype)
    inputs = jnp.stack(batches), jnp.array(rates)
    return jax.lax.scan(body, carry, inputs)[0]

# right: jit stays in the loop, with the same function, and the rate is an array
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    total = jnp.zeros(())
    for batch, rate in zip(batches, rates):
        params, total = jax.jit(step)(params, total, batch, jnp.float32(rate))
    return params, total

# wrong: new function
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    total = jnp.float32(0)
    for batch, rate in zip(batches, rates):
        run = jax.jit(lambda *args: step(*args))
        params, total = run(params, total, batch, rate)
    return params, total

# wrong: static value
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    total = jnp.float32(0)
    run = jax.jit(step, static_argnums=3)
    for batch, rate in zip(batches, rates):
        params, total = run(params, total, batch, rate)
    return params, total

# wrong: static value
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    total = 0.0
    run = jax.jit(step, static_argnums=3)
    for batch, rate in zip(batches, rates):
        params, total = run(params, total, batch, rate)
    return params, total

# wrong: weak start
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    total = 0.0
    run = jax.jit(step)
    for batch, rate in zip(batches, rates):
        params, total = run(params, total, batch, rate)
    return params, total

# wrong: frozen value
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    total = jnp.float32(0)
    run = jax.jit(lambda params, total, batch: step(params, total, batch, rate))
    for batch, rate in zip(batches, rates):
        params, total = run(params, total, batch)
    return params, total

# wrong: not compiled
def train(step, params, batches, rates):
    total = 0.0
    for batch, rate in zip(batches, rates):
        params, total = step(params, total, batch, rate)
    return params, total
