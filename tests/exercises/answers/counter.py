"""Answers to `counter`."""

# %% right: as in the lesson
def count(state, increment):
    new_state = state + increment
    return increment, new_state


def reset(state):
    return None, state * 0


# %% right: zeros of the same kind, functions of jnp
import jax.numpy as jnp


def count(state, increment):
    return (increment, jnp.add(state, increment))


def reset(state):
    return (None, jnp.zeros_like(state))


# %% right: a named tuple comes out
from typing import Any, NamedTuple

import jax.numpy as jnp


class Result(NamedTuple):
    output: Any
    state: Any


def count(state, increment):
    return Result(output=increment, state=state + increment)


def reset(state):
    return Result(output=None, state=jnp.zeros_like(state))


# %% right: compiled functions, the same name for the new state
import jax


@jax.jit
def count(state, increment):
    state = increment + state
    return increment, state


@jax.jit
def reset(state):
    return None, state - state


# %% right: reset goes back to the number 0
def count(state, increment):
    return increment, state + increment


def reset(state):
    return None, 0


# %% right: lambdas, other names
import jax.numpy as jnp

count = lambda total, people: (people, total + people)
reset = lambda total: (None, jnp.full_like(total, 0))


# %% right: a helper that makes the pair, and a class bound at module level
import jax.numpy as jnp


class Counter:
    start = 0

    def step(self, state, increment):
        return state + increment

    def count(self, state, increment):
        return increment, self.step(state, increment)

    def reset(self, state):
        return None, jnp.asarray(self.start, jnp.asarray(state).dtype)


counter = Counter()
count = counter.count
reset = counter.reset


# %% right: += on a number
def count(state, increment):
    state += increment
    return increment, state


def reset(state):
    state = state * 0
    return None, state


# %% right: a sum over a stacked array, and a where
import jax.numpy as jnp


def pair(output, state):
    return output, state


def count(state, increment):
    return pair(increment, jnp.stack([state, increment]).sum(axis=0))


def reset(state):
    return pair(None, jnp.where(True, 0, state))


# %% wrong: global state | hidden input | mutation | output and state | frozen value | not repeatable
total = 0


def count(state, increment):
    # Return how many people came in and the new state.
    global total
    total = total + increment
    return total


def reset(state):
    # Return no output, and the state from which the counter starts again.
    state = 0
    return state


# %% wrong: global state | hidden input | mutation | leak | frozen value | not repeatable | jit differs
total = 0


def count(state, increment):
    global total
    total = total + increment
    return increment, total


def reset(state):
    global total
    total = 0
    return None, total


# %% wrong: order
import jax.numpy as jnp


def count(state, increment):
    return state + increment, increment


def reset(state):
    return jnp.zeros_like(state), None


# %% wrong: dropped state
import jax.numpy as jnp


def count(state, increment):
    new_state = state + increment
    return increment, state


def reset(state):
    return None, jnp.zeros_like(state)


# %% wrong: output and state
import jax.numpy as jnp


def count(state, increment):
    state = state + increment
    return state, state


def reset(state):
    return None, jnp.zeros_like(state)


# %% wrong: output and state
def count(state, increment):
    return increment, state + increment


def reset(state):
    return state * 0


# %% wrong: mutation | output and state
class Counter:
    def __init__(self):
        self.log = []


counter = Counter()


def count(state, increment):
    counter.log = [*counter.log, "came in"]
    return state + increment


def reset(state):
    return None, state * 0


# %% wrong: mutation
calls = 0


def count(state, increment):
    # counts how often it was called, to find a mistake
    global calls
    calls += 1
    return increment, state + increment


def reset(state):
    return None, state * 0


# %% wrong: output
def count(state, increment):
    print("came in:", increment)
    return increment, state + increment


def reset(state):
    print("reset")
    return None, state * 0


# %% wrong: leak | mutation
history = []


def count(state, increment):
    history.append(increment)
    return increment, state + increment


def reset(state):
    return None, state * 0


# %% wrong: not traceable
def count(state, increment):
    if increment > 0:
        state = state + increment
    return increment, state


def reset(state):
    return None, state * 0


# %% wrong: not traceable
def count(state, increment):
    return int(increment), int(state) + int(increment)


def reset(state):
    return None, 0


# %% wrong: dtype
import jax.numpy as jnp


def count(state, increment):
    return increment, state + increment


def reset(state):
    return None, jnp.zeros(jnp.shape(state))


# %% wrong: -
# one person at a time
def count(state, increment):
    return increment, state + 1


def reset(state):
    return None, state * 0


# %% wrong: -
# reset takes away what came in last, but it does not know it
def count(state, increment):
    return increment, state + increment


def reset(state):
    return None, state - increment


# %% wrong: -
# a text in place of no output
def count(state, increment):
    return increment, state + increment


def reset(state):
    return "None", state * 0
