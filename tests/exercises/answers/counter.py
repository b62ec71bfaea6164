# right: the state by keyword, and zeros for the reset
import jax.numpy as jnp


def count(state, increment):
    new = increment + state
    return increment, new


def reset(state):
    return None, jnp.zeros_like(state)

# wrong: order
def count(state, increment):
    return state + increment, increment


def reset(state):
    return None, state * 0

# wrong: dropped state
def count(state, increment):
    return state + increment


def reset(state):
    return None, state * 0

# wrong: leak
total = {"count": 0}


def count(state, increment):
    total["count"] = state + increment
    return increment, total["count"]


def reset(state):
    return None, state * 0

# wrong: dtype
def count(state, increment):
    return increment, state + increment


def reset(state):
    return None, 0

# wrong: output and state
def count(state, increment):
    return state + increment, state + increment


def reset(state):
    return None, 0 * state
