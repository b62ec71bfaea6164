"""A tank as pure functions

port, 8 min, state/stateful_computations#the-general-strategy

Write `fill` and `drain` as pure functions that do what the methods of `Tank` do. Each takes the
state, which is a dict with the keys `level` and `spilled`. It returns what the method returns, and
the new state as a dict with the same keys.

The check calls `fill(state, amount)` and `drain(state)` with many different states. It also
compiles and vectorizes them.

- Which attributes does each method read, and which does it assign?
- Go through `Tank.fill` line by line. Each `self.level` that is read becomes `state["level"]`, and
  each `self.level` that is assigned becomes an ordinary variable.
- Both functions end with `return output, {"level": ..., "spilled": ...}`. In `drain`, the output is
  the old level.
"""

# %%
# A water tank spills what does not fit into it. The class remembers two
# numbers, and the functions below get them in a dict.
import jax.numpy as jnp


class Tank:
    def __init__(self):
        self.level = jnp.float32(0)
        self.spilled = jnp.float32(0)

    def fill(self, amount):
        total = self.level + amount
        self.level = jnp.minimum(total, 10.0)
        self.spilled += total - self.level
        return self.level

    def drain(self):
        water = self.level
        self.level = jnp.zeros_like(self.level)
        return water


#: tank = Tank()
#:
#:
def fill(state, amount):
    #: return tank.fill(amount), state
    # <solution>
    total = state["level"] + amount
    level = jnp.minimum(total, 10.0)
    spilled = state["spilled"] + total - level
    return level, {"level": level, "spilled": spilled}
    # </solution>


def drain(state):
    #: return tank.drain(), state
    # <solution>
    level = jnp.zeros_like(state["level"])
    return state["level"], {"level": level, "spilled": state["spilled"]}
    # </solution>


# %% setup
import numpy as np


# %% inputs
def inputs(rng):
    state = {"level": np.float32(rng.uniform(3, 9)), "spilled": np.float32(rng.uniform(1, 5))}
    return state, np.float32(rng.uniform(8, 20))


# %% check `fill` returns the level and the new state; pure jit vmap types; strategy
def check(answer, state, amount):
    return answer.fill(state, amount)


def closed_form(state, amount):
    total = float(state["level"]) + float(amount)
    level = min(total, 10.0)
    return level, {"level": level, "spilled": float(state["spilled"]) + total - level}


# %% check `drain` returns the water and the new state; pure jit vmap types; strategy
def check(answer, state, amount):
    return answer.drain(state)


# %% check A tank that is filled and drained three times ends up with the correct numbers; jit; strategy
def check(answer, state, amount):
    seen = []
    for share in (0.1, 1.0, 0.5):
        level, state = answer.fill(state, share * amount)
        water, state = answer.drain(state)
        seen.append((level, water))
    return seen, answer.fill(state, amount)


# %% idea strategy
# Everything that a method reads from `self` comes from the state that is passed in, and everything
# that it assigns to `self` goes into the state that is returned.
def fill(state, amount):
    return right.fill({**state, "spilled": 0.0}, amount)


# %% idea order
# Return the output first and the new state second, as all functions in this course do.
def fill(state, amount):
    return right.fill(state, amount)[::-1]


def drain(state):
    return right.drain(state)[::-1]


# %% idea dropped state; state/stateful_computations#state-in-state-out
# The new state is not returned, so the next call would start from the old state.
def fill(state, amount):
    return right.fill(state, amount)[0]


def drain(state):
    return right.drain(state)[0]


# %%
def fill(state, amount):
    return right.fill(state, amount)[0], state


def drain(state):
    return right.drain(state)[0], state


# %% idea forgotten attribute
# In every function, the state keeps all attributes of the class, including attributes that the
# method does not use.
def fill(state, amount):
    level = jnp.minimum(state["level"] + amount, 10.0)
    return level, {"level": level}


def drain(state):
    return state["level"], {"level": jnp.zeros_like(state["level"])}


# %%
def fill(state, amount):
    level = jnp.minimum(state["level"] + amount, 10.0)
    return level, level


def drain(state):
    return state["level"], jnp.zeros_like(state["level"])


# %% idea late read
# The output is what the method returns. It may be the value of an attribute before the method
# changes it.
def drain(state):
    _, state = right.drain(state)
    return state["level"], state


# %% idea changed argument
def drain(state):
    water = state["level"]
    state["level"] = jnp.zeros_like(water)
    return water, state


# %% idea not traceable
def fill(state, amount):
    total = state["level"] + amount
    level = total if total < 10 else jnp.float32(10)
    return level, {"level": level, "spilled": state["spilled"] + total - level}


# %% idea dtype
def drain(state):
    return state["level"], {**state, "level": 0}


# %% right the class inside, where nobody sees its side effect
def fill(state, amount):
    tank = Tank()
    tank.level, tank.spilled = state["level"], state["spilled"]
    return tank.fill(amount), {"level": tank.level, "spilled": tank.spilled}


# %% right a copy of the dict with one entry replaced
def drain(state):
    return state["level"], {**state, "level": 0 * state["level"]}
