"""Answers to `a_ref`."""

# %% right: the new level under the same name
import jax.numpy as jnp


def meter(level, sample):
    level = jnp.maximum(0.9 * level, jnp.abs(sample))
    return sample / level, level


def reset(level):
    # Reset the level to zero.
    return None, jnp.zeros_like(level)


choices = {
    # A count of the calls, which you only look at while you search for a bug.
    "calls for debugging": "ref",
    # The params: a run that has diverged goes back to the params of an hour
    # ago.
    "params": "thread",
    # The levels of a hundred channels, which are all metered at once by vmap
    # and the function above.
    "levels of the channels": "thread",
}


# %% right: a where, a new name, the method of the array, a dict by keywords
import jax.numpy as jnp


def meter(level, sample):
    decayed = 0.9 * level
    size = abs(sample)
    new_level = jnp.where(size > decayed, size, decayed)
    return sample / new_level, new_level


def reset(level):
    return None, level.at[...].set(0)


choices = dict([("calls for debugging", "ref")])
choices["params"] = "thread"
choices["levels of the channels"] = "thread"


# %% right: compiled, a product, zip
import jax
import jax.numpy as jnp


@jax.jit
def meter(level, sample):
    level = jax.lax.max(level * 0.9, jnp.abs(sample))
    return jnp.divide(sample, level), level


@jax.jit
def reset(level):
    return None, jnp.zeros(level.shape, level.dtype)


names = ["calls for debugging", "params", "levels of the channels"]
choices = dict(zip(names, ["ref", "thread", "thread"]))


# %% right: a named tuple comes out, other names
from typing import Any, NamedTuple

import jax.numpy as jnp


class Out(NamedTuple):
    output: Any
    level: Any


def meter(peak, x):
    peak = jnp.stack([peak - 0.1 * peak, jnp.abs(x)]).max(axis=0)
    return Out(x / peak, peak)


def reset(peak):
    return Out(None, jnp.full_like(peak, 0.0))


choices = {
    # A count of the calls, which you only look at while you search for a bug.
    "calls for debugging": "ref",
    # The params: a run that has diverged goes back to the params of an hour
    # ago.
    "params": "thread",
    # The levels of a hundred channels, which are all metered at once by vmap
    # and the function above.
    "levels of the channels": "thread",
}


# %% right: helpers and a constant
import jax.numpy as jnp


DECAY = 0.9


def highest(level, sample):
    return jnp.maximum(DECAY * level, jnp.abs(sample))


def meter(level, sample):
    new = highest(level, sample)
    output = sample / new
    return output, new


def reset(level):
    new = jnp.zeros_like(level)
    return None, new


def choice(is_saved_or_mapped):
    return "thread" if is_saved_or_mapped else "ref"


choices = {
    "calls for debugging": choice(False),
    "params": choice(True),
    "levels of the channels": choice(True),
}


# %% right: lambdas
import jax.numpy as jnp


def pair(sample, level):
    return sample / level, level


meter = lambda level, sample: pair(sample, jnp.maximum(level * 0.9, jnp.abs(sample)))


reset = lambda level: (None, jnp.broadcast_to(jnp.zeros((), level.dtype), level.shape))


choices = {
    # A count of the calls, which you only look at while you search for a bug.
    "calls for debugging": "ref",
    # The params: a run that has diverged goes back to the params of an hour
    # ago.
    "params": "thread",
    # The levels of a hundred channels, which are all metered at once by vmap
    # and the function above.
    "levels of the channels": "thread",
}


# %% right: a class whose methods are bound at module level
import jax.numpy as jnp


class Meter:
    def __init__(self, decay):
        self.decay = decay

    def meter(self, level, sample):
        level = jnp.maximum(self.decay * level, jnp.abs(sample))
        return sample / level, level

    def reset(self, level):
        return None, jnp.zeros_like(level)


meter = Meter(0.9).meter
reset = Meter(0.9).reset


choices = {
    # A count of the calls, which you only look at while you search for a bug.
    "calls for debugging": "ref",
    # The params: a run that has diverged goes back to the params of an hour
    # ago.
    "params": "thread",
    # The levels of a hundred channels, which are all metered at once by vmap
    # and the function above.
    "levels of the channels": "thread",
}


# %% right since 0.7: a ref of its own within the call
import jax
import jax.numpy as jnp


def meter(level, sample):
    ref = jax.new_ref(level)
    ref[...] = jnp.maximum(0.9 * ref[...], jnp.abs(sample))
    level = jax.freeze(ref)
    return sample / level, level


def reset(level):
    # Reset the level to zero.
    return None, jnp.zeros_like(level)


choices = {
    # A count of the calls, which you only look at while you search for a bug.
    "calls for debugging": "ref",
    # The params: a run that has diverged goes back to the params of an hour
    # ago.
    "params": "thread",
    # The levels of a hundred channels, which are all metered at once by vmap
    # and the function above.
    "levels of the channels": "thread",
}


# %% wrong: reference | dropped state
import jax.numpy as jnp


def meter(level, sample):
    level[...] = jnp.maximum(0.9 * level[...], jnp.abs(sample))
    return sample / level[...]


def reset(level):
    # Reset the level to zero.
    level[...] = jnp.zeros_like(level[...])


choices = {
    # A count of the calls, which you only look at while you search for a bug.
    "calls for debugging": None,
    # The params: a run that has diverged goes back to the params of an hour
    # ago.
    "params": None,
    # The levels of a hundred channels, which are all metered at once by vmap
    # and the function above.
    "levels of the channels": None,
}


# %% wrong: -
# the choices are forgotten
import jax.numpy as jnp


def meter(level, sample):
    level = jnp.maximum(0.9 * level, jnp.abs(sample))
    return sample / level, level


def reset(level):
    # Reset the level to zero.
    return None, jnp.zeros_like(level)


choices = {
    # A count of the calls, which you only look at while you search for a bug.
    "calls for debugging": None,
    # The params: a run that has diverged goes back to the params of an hour
    # ago.
    "params": None,
    # The levels of a hundred channels, which are all metered at once by vmap
    # and the function above.
    "levels of the channels": None,
}


# %% wrong: reference
import jax.numpy as jnp


def meter(level, sample):
    level[...] = jnp.maximum(0.9 * level[...], jnp.abs(sample))
    return sample / level[...], level


def reset(level):
    # Reset the level to zero.
    return None, jnp.zeros_like(level)


choices = {
    # A count of the calls, which you only look at while you search for a bug.
    "calls for debugging": "ref",
    # The params: a run that has diverged goes back to the params of an hour
    # ago.
    "params": "thread",
    # The levels of a hundred channels, which are all metered at once by vmap
    # and the function above.
    "levels of the channels": "thread",
}


# %% wrong: order
import jax.numpy as jnp


def meter(level, sample):
    level = jnp.maximum(0.9 * level, jnp.abs(sample))
    return level, sample / level


def reset(level):
    # Reset the level to zero.
    return None, jnp.zeros_like(level)


choices = {
    # A count of the calls, which you only look at while you search for a bug.
    "calls for debugging": "ref",
    # The params: a run that has diverged goes back to the params of an hour
    # ago.
    "params": "thread",
    # The levels of a hundred channels, which are all metered at once by vmap
    # and the function above.
    "levels of the channels": "thread",
}


# %% wrong: order | structure
import jax.numpy as jnp


def meter(level, sample):
    level = jnp.maximum(0.9 * level, jnp.abs(sample))
    return sample / level, level


def reset(level):
    return jnp.zeros_like(level)


choices = {
    # A count of the calls, which you only look at while you search for a bug.
    "calls for debugging": "ref",
    # The params: a run that has diverged goes back to the params of an hour
    # ago.
    "params": "thread",
    # The levels of a hundred channels, which are all metered at once by vmap
    # and the function above.
    "levels of the channels": "thread",
}


# %% wrong: dropped state
import jax.numpy as jnp


def meter(level, sample):
    new_level = jnp.maximum(0.9 * level, jnp.abs(sample))
    return sample / new_level, level


def reset(level):
    # Reset the level to zero.
    return None, jnp.zeros_like(level)


choices = {
    # A count of the calls, which you only look at while you search for a bug.
    "calls for debugging": "ref",
    # The params: a run that has diverged goes back to the params of an hour
    # ago.
    "params": "thread",
    # The levels of a hundred channels, which are all metered at once by vmap
    # and the function above.
    "levels of the channels": "thread",
}


# %% wrong: dropped state
import jax.numpy as jnp


def meter(level, sample):
    level = jnp.maximum(0.9 * level, jnp.abs(sample))
    return sample / level, level


def reset(level):
    level = jnp.zeros_like(level)
    return None


choices = {
    # A count of the calls, which you only look at while you search for a bug.
    "calls for debugging": "ref",
    # The params: a run that has diverged goes back to the params of an hour
    # ago.
    "params": "thread",
    # The levels of a hundred channels, which are all metered at once by vmap
    # and the function above.
    "levels of the channels": "thread",
}


# %% wrong: late state
import jax.numpy as jnp


def meter(level, sample):
    new_level = jnp.maximum(0.9 * level, jnp.abs(sample))
    return sample / level, new_level


def reset(level):
    # Reset the level to zero.
    return None, jnp.zeros_like(level)


choices = {
    # A count of the calls, which you only look at while you search for a bug.
    "calls for debugging": "ref",
    # The params: a run that has diverged goes back to the params of an hour
    # ago.
    "params": "thread",
    # The levels of a hundred channels, which are all metered at once by vmap
    # and the function above.
    "levels of the channels": "thread",
}


# %% wrong: -
import jax.numpy as jnp


def meter(level, sample):
    # only a higher sample counts, and otherwise the level decays
    size = jnp.abs(sample)
    level = jnp.where(size > level, size, 0.9 * level)
    return sample / level, level


def reset(level):
    # Reset the level to zero.
    return None, jnp.zeros_like(level)


choices = {
    # A count of the calls, which you only look at while you search for a bug.
    "calls for debugging": "ref",
    # The params: a run that has diverged goes back to the params of an hour
    # ago.
    "params": "thread",
    # The levels of a hundred channels, which are all metered at once by vmap
    # and the function above.
    "levels of the channels": "thread",
}


# %% wrong: -
import jax.numpy as jnp


def meter(level, sample):
    level = 0.9 * jnp.maximum(level, jnp.abs(sample))
    return sample / level, level


def reset(level):
    # Reset the level to zero.
    return None, jnp.zeros_like(level)


choices = {
    # A count of the calls, which you only look at while you search for a bug.
    "calls for debugging": "ref",
    # The params: a run that has diverged goes back to the params of an hour
    # ago.
    "params": "thread",
    # The levels of a hundred channels, which are all metered at once by vmap
    # and the function above.
    "levels of the channels": "thread",
}


# %% wrong: -
import jax.numpy as jnp


def meter(level, sample):
    sample = jnp.abs(sample)
    level = jnp.maximum(0.9 * level, sample)
    return sample / level, level


def reset(level):
    # Reset the level to zero.
    return None, jnp.zeros_like(level)


choices = {
    # A count of the calls, which you only look at while you search for a bug.
    "calls for debugging": "ref",
    # The params: a run that has diverged goes back to the params of an hour
    # ago.
    "params": "thread",
    # The levels of a hundred channels, which are all metered at once by vmap
    # and the function above.
    "levels of the channels": "thread",
}


# %% wrong: not traceable
import jax.numpy as jnp


def meter(level, sample):
    level = 0.9 * level
    if abs(sample) > level:
        level = abs(sample)
    return sample / level, level


def reset(level):
    # Reset the level to zero.
    return None, jnp.zeros_like(level)


choices = {
    # A count of the calls, which you only look at while you search for a bug.
    "calls for debugging": "ref",
    # The params: a run that has diverged goes back to the params of an hour
    # ago.
    "params": "thread",
    # The levels of a hundred channels, which are all metered at once by vmap
    # and the function above.
    "levels of the channels": "thread",
}


# %% wrong: not traceable
import numpy as np


def meter(level, sample):
    level = np.maximum(0.9 * level, np.abs(sample))
    return sample / level, level


def reset(level):
    return None, np.zeros_like(level)


choices = {
    # A count of the calls, which you only look at while you search for a bug.
    "calls for debugging": "ref",
    # The params: a run that has diverged goes back to the params of an hour
    # ago.
    "params": "thread",
    # The levels of a hundred channels, which are all metered at once by vmap
    # and the function above.
    "levels of the channels": "thread",
}


# %% wrong: mutation | hidden input | leak | frozen value | not repeatable | jit differs
# the level of the caller is not used
import jax.numpy as jnp


kept = {"level": 0.0}


def meter(level, sample):
    kept["level"] = jnp.maximum(0.9 * kept["level"], jnp.abs(sample))
    return sample / kept["level"], kept["level"]


def reset(level):
    kept["level"] = jnp.zeros_like(level)
    return None, kept["level"]


choices = {
    # A count of the calls, which you only look at while you search for a bug.
    "calls for debugging": "ref",
    # The params: a run that has diverged goes back to the params of an hour
    # ago.
    "params": "thread",
    # The levels of a hundred channels, which are all metered at once by vmap
    # and the function above.
    "levels of the channels": "thread",
}


# %% wrong: ref or thread
import jax.numpy as jnp


def meter(level, sample):
    level = jnp.maximum(0.9 * level, jnp.abs(sample))
    return sample / level, level


def reset(level):
    # Reset the level to zero.
    return None, jnp.zeros_like(level)


choices = {
    # A count of the calls, which you only look at while you search for a bug.
    "calls for debugging": "ref",
    # The params: a run that has diverged goes back to the params of an hour
    # ago.
    "params": "ref",
    # The levels of a hundred channels, which are all metered at once by vmap
    # and the function above.
    "levels of the channels": "thread",
}


# %% wrong: ref or thread
import jax.numpy as jnp


def meter(level, sample):
    level = jnp.maximum(0.9 * level, jnp.abs(sample))
    return sample / level, level


def reset(level):
    # Reset the level to zero.
    return None, jnp.zeros_like(level)


choices = {
    # A count of the calls, which you only look at while you search for a bug.
    "calls for debugging": "ref",
    # The params: a run that has diverged goes back to the params of an hour
    # ago.
    "params": "thread",
    # The levels of a hundred channels, which are all metered at once by vmap
    # and the function above.
    "levels of the channels": "ref",
}


# %% wrong: dtype
import jax.numpy as jnp


def meter(level, sample):
    level = jnp.maximum(0.9 * level, jnp.abs(sample))
    return sample / level, level


def reset(level):
    return None, jnp.zeros(level.shape, int)


choices = {
    # A count of the calls, which you only look at while you search for a bug.
    "calls for debugging": "ref",
    # The params: a run that has diverged goes back to the params of an hour
    # ago.
    "params": "thread",
    # The levels of a hundred channels, which are all metered at once by vmap
    # and the function above.
    "levels of the channels": "thread",
}


# %% wrong: -
# other words than those that were asked for
import jax.numpy as jnp


def meter(level, sample):
    level = jnp.maximum(0.9 * level, jnp.abs(sample))
    return sample / level, level


def reset(level):
    # Reset the level to zero.
    return None, jnp.zeros_like(level)


choices = {
    "calls for debugging": "reference",
    "params": "threaded",
    "levels of the channels": "threaded",
}


# %% wrong: -
# ones in place of zeros
import jax.numpy as jnp


def meter(level, sample):
    level = jnp.maximum(0.9 * level, jnp.abs(sample))
    return sample / level, level


def reset(level):
    return None, jnp.ones_like(level)


choices = {
    # A count of the calls, which you only look at while you search for a bug.
    "calls for debugging": "ref",
    # The params: a run that has diverged goes back to the params of an hour
    # ago.
    "params": "thread",
    # The levels of a hundred channels, which are all metered at once by vmap
    # and the function above.
    "levels of the channels": "thread",
}


# %% wrong: -
# a mistyped name
import jax.numpy as jnp


def meter(level, sample):
    level = jnp.maximum(0.9 * lvel, jnp.abs(sample))
    return sample / level, level


def reset(level):
    # Reset the level to zero.
    return None, jnp.zeros_like(level)


choices = {
    # A count of the calls, which you only look at while you search for a bug.
    "calls for debugging": "ref",
    # The params: a run that has diverged goes back to the params of an hour
    # ago.
    "params": "thread",
    # The levels of a hundred channels, which are all metered at once by vmap
    # and the function above.
    "levels of the channels": "thread",
}
