"""Answers to `find_impurity`."""


# %% right: a copy of the state, which is updated
import jax
import jax.numpy as jnp


def measure(state, rng, temperature):
    reading = temperature + jax.random.normal(rng)
    new = state.copy()
    new.update(count=new["count"] + 1, highest=jnp.maximum(new["highest"], reading))
    return reading, new


# %% right: compiled, with where
import jax
import jax.numpy as jnp


@jax.jit
def measure(state, rng, temperature):
    noise = jax.random.normal(rng)
    reading = temperature + noise
    is_higher = reading > state["highest"]
    highest = jnp.where(is_higher, reading, state["highest"])
    return reading, dict(count=state["count"] + 1, highest=highest)


# %% right: lax.cond
import jax
import jax.numpy as jnp


from jax import lax, random


def measure(state, key, temperature):
    reading = lax.add(temperature, random.normal(key, dtype=jnp.float32))
    highest = lax.cond(
        reading > state["highest"], lambda: reading, lambda: state["highest"]
    )
    return reading, {**state, "count": state["count"] + 1, "highest": highest}


# %% right: the largest of a stack, and a named tuple
import jax
import jax.numpy as jnp


from typing import Any, NamedTuple


class Measured(NamedTuple):
    reading: Any
    state: dict


def measure(state, rng, temperature):
    reading = jax.random.normal(rng, ()) + temperature
    both = jnp.stack([state["highest"], reading])
    return Measured(reading, {"count": 1 + state["count"], "highest": both.max()})


# %% right: two helpers
import jax
import jax.numpy as jnp


def read(rng, temperature):
    return temperature + jax.random.normal(rng, jnp.shape(temperature))


def updated(state, reading):
    return state | {
        "count": state["count"] + jnp.ones_like(state["count"]),
        "highest": jax.lax.max(state["highest"], reading),
    }


def measure(state, rng, temperature):
    reading = read(rng, temperature)
    return reading, updated(state, reading)


# %% right: an object whose method is the function
import jax
import jax.numpy as jnp


class Thermometer:
    def __init__(self, scale):
        self.scale = scale

    def measure(self, state, rng, temperature):
        count, highest = state["count"], state["highest"]
        reading = temperature + self.scale * jax.random.normal(rng)
        return reading, {"count": count + 1, "highest": jnp.maximum(reading, highest)}


measure = Thermometer(scale=1.0).measure


# %% right: the state is unpacked, and the list is local
import jax
import jax.numpy as jnp


def measure(state, rng, temperature):
    readings = [state["highest"]]
    reading = temperature + jax.random.normal(rng)
    readings.append(reading)
    new_state = {}
    new_state["count"] = state["count"] + 1
    new_state["highest"] = jnp.max(jnp.stack(readings))
    return reading, new_state


# %% right: a lambda, and the tree of the state is rebuilt
import jax
import jax.numpy as jnp


leaves = lambda state: (state["count"], state["highest"])
step = lambda state, reading: jax.tree.map(
    lambda old, new: new,
    state,
    {"count": state["count"] + 1, "highest": jnp.fmax(state["highest"], reading)},
)
measure = lambda state, rng, temperature: (
    lambda reading: (reading, step(state, reading))
)(temperature + jax.random.normal(rng))


# %% right: the old dict is left alone, under another name
import jax
import jax.numpy as jnp


import copy


def measure(old, rng, temperature):
    state = copy.copy(old)
    reading = temperature + jax.random.normal(rng)
    state["count"] += 1
    state["highest"] = jnp.array([reading, state["highest"]]).max()
    return reading, state


# %% wrong: hidden randomness | hidden memory | changed argument | mutation | leak | not repeatable | hidden input | frozen value | jit differs | highest reading
# the starter code
import jax
import jax.numpy as jnp


import numpy as np

readings = []
noise = np.random.default_rng(0)


def measure(state, rng, temperature):
    reading = temperature + noise.normal()
    readings.append(reading)
    state["count"] += 1
    state["highest"] = jnp.max(jnp.stack(readings))
    return reading, state


# %% wrong: hidden memory | changed argument | mutation | leak | not repeatable | jit differs | highest reading
# only the noise is repaired
import jax
import jax.numpy as jnp


readings = []


def measure(state, rng, temperature):
    reading = temperature + jax.random.normal(rng)
    readings.append(reading)
    state["count"] += 1
    state["highest"] = jnp.max(jnp.stack(readings))
    return reading, state


# %% wrong: changed argument
# the arguments are used, but the dict of the caller is changed
import jax
import jax.numpy as jnp


def measure(state, rng, temperature):
    reading = temperature + jax.random.normal(rng)
    new = state
    new["count"] = new["count"] + 1
    new["highest"] = jnp.maximum(new["highest"], reading)
    return reading, new


# %% wrong: hidden memory | mutation | leak | not repeatable | jit differs
# the list is a default of an argument
import jax
import jax.numpy as jnp


def measure(state, rng, temperature, readings=[]):
    reading = temperature + jax.random.normal(rng)
    readings.append(reading)
    highest = jnp.max(jnp.stack([state["highest"], *readings]))
    return reading, {"count": state["count"] + 1, "highest": highest}


# %% wrong: mutation | leak
# the results are right, but the readings are still collected
import jax
import jax.numpy as jnp


readings = []


def measure(state, rng, temperature):
    reading = temperature + jax.random.normal(rng)
    readings.append(reading)
    highest = jnp.maximum(state["highest"], reading)
    return reading, {"count": state["count"] + 1, "highest": highest}


# %% wrong: output
# the results are right, and it prints
import jax
import jax.numpy as jnp


def measure(state, rng, temperature):
    reading = temperature + jax.random.normal(rng)
    print("reading", reading)
    highest = jnp.maximum(state["highest"], reading)
    return reading, {"count": state["count"] + 1, "highest": highest}


# %% wrong: hidden randomness
# a key of its own
import jax
import jax.numpy as jnp


def measure(state, rng, temperature):
    key = jax.random.key(0)
    reading = temperature + jax.random.normal(key)
    highest = jnp.maximum(state["highest"], reading)
    return reading, {"count": state["count"] + 1, "highest": highest}


# %% wrong: hidden randomness | not repeatable | hidden input | frozen value | jit differs
# only the noise is as it was
import jax
import jax.numpy as jnp


import numpy as np

noise = np.random.default_rng(0)


def measure(state, rng, temperature):
    reading = temperature + noise.normal()
    highest = jnp.maximum(state["highest"], reading)
    return reading, {"count": state["count"] + 1, "highest": highest}


# %% wrong: not traceable
# an if on the reading
import jax
import jax.numpy as jnp


def measure(state, rng, temperature):
    reading = temperature + jax.random.normal(rng)
    highest = state["highest"]
    if reading > highest:
        highest = reading
    return reading, {"count": state["count"] + 1, "highest": highest}


# %% wrong: hidden memory | mutation | leak | not repeatable | hidden input | frozen value | jit differs
# the highest reading is a global variable
import jax
import jax.numpy as jnp


highest = -jnp.inf


def measure(state, rng, temperature):
    global highest
    reading = temperature + jax.random.normal(rng)
    highest = jnp.maximum(highest, reading)
    new = {"count": state["count"] + 1, "highest": jnp.maximum(highest, state["highest"])}
    return reading, new


# %% wrong: highest reading
# the highest temperature without noise
import jax
import jax.numpy as jnp


def measure(state, rng, temperature):
    noise = jax.random.normal(rng)
    highest = jnp.maximum(state["highest"], temperature)
    return temperature + noise, {"count": state["count"] + 1, "highest": highest}


# %% wrong: highest reading
# only the reading of this call
import jax
import jax.numpy as jnp


def measure(state, rng, temperature):
    reading = temperature + jax.random.normal(rng)
    highest = jnp.max(jnp.stack([reading]))
    return reading, {"count": state["count"] + 1, "highest": highest}


# %% wrong: structure
# the reading becomes a part of the state
import jax
import jax.numpy as jnp


def measure(state, rng, temperature):
    reading = temperature + jax.random.normal(rng)
    highest = jnp.maximum(state["highest"], reading)
    return reading, state | {"count": state["count"] + 1, "highest": highest, "last": reading}


# %% wrong: -
# the key is split first, so the noise is not that of the key
import jax
import jax.numpy as jnp


def measure(state, rng, temperature):
    rng, noise_rng = jax.random.split(rng)
    reading = temperature + jax.random.normal(noise_rng)
    highest = jnp.maximum(state["highest"], reading)
    return reading, {"count": state["count"] + 1, "highest": highest}


# %% wrong: -
# another distribution
import jax
import jax.numpy as jnp


def measure(state, rng, temperature):
    reading = temperature + jax.random.uniform(rng)
    highest = jnp.maximum(state["highest"], reading)
    return reading, {"count": state["count"] + 1, "highest": highest}


# %% wrong: -
# the lowest reading
import jax
import jax.numpy as jnp


def measure(state, rng, temperature):
    reading = temperature + jax.random.normal(rng)
    highest = jnp.minimum(state["highest"], reading)
    return reading, {"count": state["count"] + 1, "highest": highest}


# %% wrong: -
# the count of the old state
import jax
import jax.numpy as jnp


def measure(state, rng, temperature):
    reading = temperature + jax.random.normal(rng)
    count = state["count"]
    count + 1
    return reading, {"count": count, "highest": jnp.maximum(state["highest"], reading)}


# %% wrong: -
# swapped results
import jax
import jax.numpy as jnp


def measure(state, rng, temperature):
    reading = temperature + jax.random.normal(rng)
    highest = jnp.maximum(state["highest"], reading)
    return {"count": state["count"] + 1, "highest": highest}, reading
