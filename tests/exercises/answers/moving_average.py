# right: a ring buffer
from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    ring: jax.Array
    step: jax.Array


def init():
    return State(jnp.zeros(4), jnp.int32(0))


def update(state, x):
    ring = state.ring.at[state.step % 4].set(x)
    step = state.step + 1
    return ring.sum() / jnp.minimum(step, 4), State(ring, step)

# right: a dict, and NaN for the places that are empty
import jax.numpy as jnp


def init():
    return {"last": jnp.full(4, jnp.nan)}


def update(state, x):
    last = jnp.roll(state["last"], -1).at[-1].set(x)
    return jnp.nanmean(last), {"last": last}

# wrong: count
import jax.numpy as jnp


def init():
    return jnp.zeros(4)


def update(state, x):
    state = jnp.append(state[1:], x)
    return state.mean(), state

# wrong: all that is needed
from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    total: jax.Array
    count: jax.Array


def init():
    return State(jnp.float32(0), jnp.int32(0))


def update(state, x):
    state = State(state.total + x, jnp.minimum(state.count + 1, 4))
    return state.total / state.count, state

# wrong: window
from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    total: jax.Array
    count: jax.Array


def init():
    return State(jnp.float32(0), jnp.int32(0))


def update(state, x):
    state = State(state.total + x, state.count + 1)
    return state.total / state.count, state

# wrong: kept structure
import jax.numpy as jnp


def init():
    return []


def update(state, x):
    state = [*state, x][-4:]
    return sum(state) / len(state), state

# wrong: kept structure
import jax.numpy as jnp


def init():
    return jnp.zeros(0)


def update(state, x):
    state = jnp.append(state, x)[-4:]
    return state.mean(), state

# wrong: dtype
from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    last: jax.Array
    count: jax.Array


def init():
    return State(jnp.zeros(4, int), jnp.int32(0))


def update(state, x):
    last = jnp.append(state.last[1:], x)
    count = jnp.minimum(state.count + 1, 4)
    return jnp.sum(last) / count, State(last, count)

# wrong: not traceable
import jax.numpy as jnp


def init():
    return jnp.zeros(4), jnp.int32(0)


def update(state, x):
    last, count = state
    if count < 4:
        count = count + 1
    last = jnp.append(last[1:], x)
    return last.sum() / count, (last, count)

# wrong: order
import jax.numpy as jnp


def init():
    return jnp.zeros(4), jnp.int32(0)


def update(state, x):
    last, count = state
    last, count = jnp.append(last[1:], x), jnp.minimum(count + 1, 4)
    return (last, count), last.sum() / count

# wrong: kept structure
def init():
    return []


def update(state, x):
    state.append(x)
    last = state[-4:]
    return sum(last) / len(last), state

# wrong: changed in place
import numpy as np


def init():
    return {"ring": np.zeros(4, np.float32), "step": 0}


def update(state, x):
    state["ring"][state["step"] % 4] = x
    state["step"] += 1
    return state["ring"].sum() / min(state["step"], 4), state

# wrong: count
from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    last: jax.Array


def init():
    return State(jnp.zeros(4))


def update(state, x):
    last = jnp.append(state.last[1:], x)
    return jnp.sum(last) / jnp.count_nonzero(last), State(last)
