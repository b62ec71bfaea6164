"""A running total with `jax.lax.scan`

write, medium, 5 min, state/stateful_computations#the-general-strategy

Write `running_total`: its output is the total after each number, so `[1, 2, 3]` gives `[1, 3, 6]`.
Write `step` first, which takes the total and one number, and let `jax.lax.scan` carry the total.

- Which value does one step have to hand to the next?
- `step` returns a pair: the new total for the next step, and the output of this one.
- Both halves of the pair are `total + x`. `jax.lax.scan` returns the last total and all outputs.
"""

# %%
# A shop adds up what it takes in.
import jax
import jax.numpy as jnp


def step(total, x):
    # Return the new total, and the output.
    #: return total
    # <solution>
    return total + x, total + x
    # </solution>


def running_total(xs):
    # Return the total after each number.
    #: return xs
    # <solution>
    last, totals = jax.lax.scan(step, jnp.zeros((), xs.dtype), xs)
    return totals
    # </solution>


# %% setup
import numpy as np


# %% inputs
def inputs(rng):
    return rng.integers(1, 99, size=6).astype(np.int32), np.int32(rng.integers(10, 99))


# %% check `step` returns the new total and the output; pure jit vmap types
def check(answer, xs, total):
    return answer.step(total, xs[0])


# %% check `running_total` returns the total after each number; pure jit vmap types
def check(answer, xs, total):
    return answer.running_total(xs)


def closed_form(xs, total):
    return np.cumsum(xs, dtype=np.int32)


# %% idea one step late
# The output is the total before the number is added, so the first output is 0 and the last number is missing.
def step(total, x):
    return total + x, total


# %% idea carry; state/stateful_computations#the-general-strategy
# The next step receives the first half of the pair. If that is not the new total, the sum is lost.
def step(total, x):
    return total, total + x


# %% idea only the last
# `jax.lax.scan` returns the last total first, and the outputs of all steps second.
def running_total(xs):
    return jax.lax.scan(right.step, jnp.zeros((), xs.dtype), xs)[0]


# %% right a sum without a loop
def running_total(xs):
    return jnp.cumsum(xs)
