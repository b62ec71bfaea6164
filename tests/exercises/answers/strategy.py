# right: the class inside, where nobody sees its side effect
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


def of(state):
    tank = Tank()
    tank.level, tank.spilled = state["level"], state["spilled"]
    return tank


def fill(state, amount):
    tank = of(state)
    level = tank.fill(amount)
    return level, {"level": tank.level, "spilled": tank.spilled}


def drain(state):
    tank = of(state)
    water = tank.drain()
    return water, {"level": tank.level, "spilled": tank.spilled}

# right: a copy of the dict with one entry replaced
import jax.numpy as jnp


def fill(state, amount):
    spill = jnp.maximum(state["level"] + amount - 10, 0)
    level = state["level"] + amount - spill
    return level, {"level": level, "spilled": state["spilled"] + spill}


def drain(state):
    return state["level"], {**state, "level": 0 * state["level"]}

# wrong: mutation
import jax.numpy as jnp


def fill(state, amount):
    total = state["level"] + amount
    state["level"] = jnp.minimum(total, 10.0)
    state["spilled"] += total - state["level"]
    return state["level"], state


def drain(state):
    water = state["level"]
    state["level"] = jnp.zeros_like(state["level"])
    return water, state

# wrong: order
import jax.numpy as jnp


def fill(state, amount):
    total = state["level"] + amount
    level = jnp.minimum(total, 10.0)
    return {"level": level, "spilled": state["spilled"] + total - level}, level


def drain(state):
    return {**state, "level": 0 * state["level"]}, state["level"]

# wrong: not traceable
import jax.numpy as jnp


def fill(state, amount):
    total = state["level"] + amount
    if total > 10:
        level = jnp.float32(10)
    else:
        level = total
    return level, {"level": level, "spilled": state["spilled"] + total - level}


def drain(state):
    return state["level"], {**state, "level": 0 * state["level"]}

# wrong: forgotten attribute
import jax.numpy as jnp


def fill(state, amount):
    total = state["level"] + amount
    level = jnp.minimum(total, 10.0)
    return level, {"level": level, "spilled": state["spilled"] + total - level}


def drain(state):
    return state["level"], {"level": jnp.zeros_like(state["level"])}

# wrong: late read
import jax.numpy as jnp


def fill(state, amount):
    total = state["level"] + amount
    level = jnp.minimum(total, 10.0)
    return level, {"level": level, "spilled": state["spilled"] + total - level}


def drain(state):
    state = {**state, "level": jnp.zeros_like(state["level"])}
    return state["level"], state

# wrong: dropped state
import jax.numpy as jnp


def fill(state, amount):
    level = jnp.minimum(state["level"] + amount, 10.0)
    return level


def drain(state):
    return state["level"]

# wrong: dtype
import jax.numpy as jnp


def fill(state, amount):
    total = state["level"] + amount
    level = jnp.minimum(total, 10.0)
    return level, {"level": level, "spilled": state["spilled"] + total - level}


def drain(state):
    return state["level"], {"level": 0.0, "spilled": state["spilled"]}
