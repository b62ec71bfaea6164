"""Find the impurities

repair, easy, 8 min, beyond/find_lost_state#what-explain-reports

`measure(state, rng, temperature)` returns the reading and the new state, a dict with `count` and
`highest`. Three things make it impure. Repair it so that `explain` finds nothing, the noise is
`jax.random.normal(rng)`, and the highest reading depends only on `state` and on this call.
`hs.explain(measure, state, rng, temperature)` shows you where to look.

- What does `measure` read or change that is neither an argument nor a result?
- Look at the generator, the list and the two lines that assign to `state`. Which of the arguments
  is not used at all?
- Return a new dict with `state["count"] + 1` and `jnp.maximum(state["highest"], reading)`.
"""

# %%
# A thermometer reports noisy readings. Its state is the number of readings and
# the highest reading.
import jax
import jax.numpy as jnp

#: import numpy as np
#:
#: readings = []
#: noise = np.random.default_rng(0)


def measure(state, rng, temperature):
    #: reading = temperature + noise.normal()
    #: readings.append(reading)
    #: state["count"] += 1
    #: state["highest"] = jnp.max(jnp.stack(readings))
    #: return reading, state
    # <solution>
    reading = temperature + jax.random.normal(rng)
    count = state["count"] + 1
    highest = jnp.maximum(state["highest"], reading)
    return reading, {"count": count, "highest": highest}
    # </solution>


# %% setup
import numpy as np


# %% inputs
def inputs(rng):
    highest = rng.uniform(20, 30)
    state = {"count": np.int32(rng.integers(3, 9)), "highest": np.float32(highest)}
    return state, np.uint32(rng.integers(2**31)), highest + np.array([-9.0, 9.0, 1.0, 18.0])


# %% check The readings and states depend only on the arguments; pure jit vmap once; readings, states
def check(answer, state, seed, temperatures):
    readings, states = [], []
    for key, temperature in zip(jax.random.split(jax.random.key(seed), 4), temperatures):
        reading, state = answer.measure(state, key, temperature)
        readings.append(reading)
        states.append(jax.tree.map(lambda leaf: leaf, state))  # the next call may change it
    return readings, states


# %% idea hidden randomness; pure/transformations#what-purity-buys
# The noise must come only from the key that is passed in. A NumPy generator changes its own state
# at each draw, and a key that the function makes itself is always the same.
import numpy as np

noise = np.random.default_rng(0)


def measure(state, rng, temperature):
    reading = temperature + noise.normal()
    highest = jnp.maximum(state["highest"], reading)
    return reading, {"count": state["count"] + 1, "highest": highest}


# %%
import numpy as np

noise, readings = np.random.default_rng(0), []


def measure(state, rng, temperature):
    readings.append(temperature + noise.normal())
    highest = jnp.max(jnp.stack(readings))
    return readings[-1], {"count": state["count"] + 1, "highest": highest}


# %%
def measure(state, rng, temperature):
    return right.measure(state, jax.random.key(0), temperature)


# %% idea hidden memory
# The function remembers something outside of its arguments, but the result must depend only on the
# values that are passed in.
readings = []


def measure(state, rng, temperature):
    reading, new = right.measure(state, rng, temperature)
    readings.append(reading)
    return reading, new | {"highest": jnp.max(jnp.stack(readings))}


# %% idea highest reading
# The highest reading must be the larger of two numbers: the highest reading so far, which is in the
# state, and the reading of this call.
def measure(state, rng, temperature):
    reading, new = right.measure(state, rng, temperature)
    return reading, new | {"highest": reading}


# %%
def measure(state, rng, temperature):
    reading, new = right.measure(state, rng, temperature)
    return reading, new | {"highest": jnp.maximum(state["highest"], temperature)}


# %% right a copy of the state, which is then changed
def measure(state, rng, temperature):
    reading, new = temperature + jax.random.normal(rng), dict(state)
    new["count"] += 1
    new["highest"] = jnp.where(reading > new["highest"], reading, new["highest"])
    return reading, new
