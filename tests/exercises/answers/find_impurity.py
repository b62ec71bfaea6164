# right: a copy of the state, which is then changed
import jax
import jax.numpy as jnp


def measure(state, rng, temperature):
    reading = temperature + jax.random.normal(rng)
    new = dict(state)
    new["count"] += 1
    new["highest"] = jnp.where(reading > new["highest"], reading, new["highest"])
    return reading, new

# wrong: hidden randomness
import jax.numpy as jnp
import numpy as np

noise = np.random.default_rng(0)


def measure(state, rng, temperature):
    reading = temperature + noise.normal()
    highest = jnp.maximum(state["highest"], reading)
    return reading, {"count": state["count"] + 1, "highest": highest}

# wrong: hidden randomness
import jax
import jax.numpy as jnp


def measure(state, rng, temperature):
    reading = temperature + jax.random.normal(jax.random.key(0))
    highest = jnp.maximum(state["highest"], reading)
    return reading, {"count": state["count"] + 1, "highest": highest}

# wrong: hidden memory
import jax
import jax.numpy as jnp

readings = []


def measure(state, rng, temperature):
    reading = temperature + jax.random.normal(rng)
    readings.append(reading)
    return reading, {"count": state["count"] + 1, "highest": jnp.max(jnp.stack(readings))}

# wrong: hidden memory
import jax
import jax.numpy as jnp


def measure(state, rng, temperature, seen={"highest": -1000.0}):
    reading = temperature + jax.random.normal(rng)
    seen["highest"] = jnp.maximum(seen["highest"], reading)
    return reading, {"count": state["count"] + 1, "highest": seen["highest"]}

# wrong: mutation
import jax
import jax.numpy as jnp


def measure(state, rng, temperature):
    reading = temperature + jax.random.normal(rng)
    state["count"] += 1
    state["highest"] = jnp.maximum(state["highest"], reading)
    return reading, state

# wrong: not traceable
import jax


def measure(state, rng, temperature):
    reading = temperature + jax.random.normal(rng)
    highest = max(state["highest"], reading)
    return reading, {"count": state["count"] + 1, "highest": highest}

# wrong: highest reading
import jax


def measure(state, rng, temperature):
    reading = temperature + jax.random.normal(rng)
    return reading, {"count": state["count"] + 1, "highest": reading}
