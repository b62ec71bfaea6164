# right: the array's own way to set a value, and zero by a product
import jax.numpy as jnp


def meter(level, sample):
    level = level.at[...].set(jnp.maximum(abs(sample), level * 0.9))
    return sample / level, level


def reset(level):
    return None, level * 0


choices = {
    "calls for debugging": "ref",
    "params": "thread",
    "levels of the channels": "thread",
}

# wrong: dropped state
import jax.numpy as jnp


def meter(level, sample):
    level = jnp.maximum(0.9 * level, jnp.abs(sample))
    return sample / level


def reset(level):
    level = jnp.zeros_like(level)


choices = {}

# wrong: order
import jax.numpy as jnp


def meter(level, sample):
    level = jnp.maximum(0.9 * level, jnp.abs(sample))
    return level, sample / level


def reset(level):
    return jnp.zeros_like(level), None


choices = {}

# wrong: late state
import jax.numpy as jnp


def meter(level, sample):
    new_level = jnp.maximum(0.9 * level, jnp.abs(sample))
    return sample / level, new_level


def reset(level):
    return None, jnp.zeros_like(level)


choices = {}

# wrong: not traceable
import jax.numpy as jnp


def meter(level, sample):
    if abs(sample) > 0.9 * level:
        level = abs(sample)
    else:
        level = 0.9 * level
    return sample / level, level


def reset(level):
    return None, jnp.zeros_like(level)


choices = {}

# wrong: dropped state
import jax.numpy as jnp


def meter(level, sample):
    level = jnp.maximum(0.9 * level, jnp.abs(sample))
    return sample / level, level


def reset(level):
    level = jnp.zeros_like(level)


choices = {}

# wrong: ref or thread
import jax.numpy as jnp


def meter(level, sample):
    level = jnp.maximum(0.9 * level, jnp.abs(sample))
    return sample / level, level


def reset(level):
    return None, jnp.zeros_like(level)


choices = {
    "calls for debugging": "ref",
    "params": "thread",
    "levels of the channels": "ref",
}

# wrong: formula
import jax.numpy as jnp


def meter(level, sample):
    level = jnp.maximum(level, jnp.abs(sample))
    return sample / level, level


def reset(level):
    return None, jnp.zeros_like(level)


choices = {
    "calls for debugging": "ref",
    "params": "thread",
    "levels of the channels": "thread",
}
