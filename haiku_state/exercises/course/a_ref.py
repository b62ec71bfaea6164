"""When not to use a ref

port, medium, 7 min, state/stateful_computations#the-other-way-a-ref

`meter` and `reset` write to a ref. However, it must be possible to go back to an earlier level and
to map over many levels, so port both functions to a threaded state: `meter(level, sample)` returns
the output and the new level, and `reset(level)` returns `None` and the new level. The check passes
the level as an array.

Then choose for each state in `choices` either `"ref"` or `"thread"`.

- What does a caller have to keep in order to go back to an earlier level?
- Look at each `level[...]`. On the right of `=`, it becomes `level`. On the left, it becomes a new
  value under the same name.
- `meter` ends with `return sample / level, level`, and `reset` returns a pair too. For the choices:
  only a state that nobody saves, maps or rolls back may stay in a ref.
"""

# %%
# A level meter divides each sample by its level: the highest sample so far,
# which decays by a tenth in each call.
import jax.numpy as jnp


def meter(level, sample):
    #: level[...] = jnp.maximum(0.9 * level[...], jnp.abs(sample))
    #: return sample / level[...]
    # <solution>
    level = jnp.maximum(0.9 * level, jnp.abs(sample))
    return sample / level, level
    # </solution>


def reset(level):
    # Reset the level to zero.
    #: level[...] = jnp.zeros_like(level[...])
    # <solution>
    return None, jnp.zeros_like(level)
    # </solution>


# Which of these may stay in a ref, and which has to be threaded? Write "ref"
# or "thread" for each.
choices = {
    # A count of the calls, which you only look at while you search for a bug.
    #: "calls for debugging": None,
    # <solution>
    "calls for debugging": "ref",
    # </solution>
    # The params: a run that has diverged goes back to the params of an hour
    # ago.
    #: "params": None,
    # <solution>
    "params": "thread",
    # </solution>
    # The levels of a hundred channels, which are all metered at once by vmap
    # and the function above.
    #: "levels of the channels": None,
    # <solution>
    "levels of the channels": "thread",
    # </solution>
}

# %% setup
import numpy as np


# %% inputs
def inputs(rng):
    # a sample between the level and what is left of it
    level = rng.uniform(1, 3)
    return np.float32(level), np.float32(level * rng.uniform(-0.98, -0.92))


# %% check `meter` returns the output and the new level; pure jit vmap types; output, level
def check(answer, level, sample):
    return answer.meter(level, sample)


def closed_form(level, sample):
    level = max(0.9 * float(level), abs(float(sample)))
    return sample / level, level


# %% check `reset` returns `None` and a level of 0; pure jit vmap types; output, level
def check(answer, level, sample):
    return answer.reset(level)


# %% check The level can be rolled back; once; later output, output again
def check(answer, level, sample):
    _output, one = answer.meter(level, sample / 5)
    two, _level = answer.meter(one, -sample)
    again, _level = answer.meter(one, sample / 5)
    return two, again


# %% check `choices` says which state may stay in a ref; once
def check(answer, level, sample):
    right = {"calls for debugging": "ref", "params": "thread", "levels of the channels": "thread"}
    mine = {name: answer.choices.get(name) for name in right}
    return {
        "made choices": sum(choice in ("ref", "thread") for choice in mine.values()),
        "right": sum(mine[name] == right[name] for name in right),
    }


# %% idea order; state/stateful_computations#the-general-strategy
# The output must be returned first, and the new state second.
def meter(level, sample):
    return right.meter(level, sample)[::-1]


# %%
def reset(level):
    return right.reset(level)[::-1]


# %%
def reset(level):
    return jnp.zeros_like(level)


# %% idea dropped state
# A ref keeps its last value by itself, but a threaded state must be returned, or it is lost.
def meter(level, sample):
    return right.meter(level, sample)[0]


# %%
def meter(level, sample):
    return right.meter(level, sample)[0], level


# %%
def reset(level):
    level = jnp.zeros_like(level)


# %% idea late state
# `ref[...]` reads what is in the ref at that moment. Wherever the ref has already been written, the
# threaded program must use the new value too.
def meter(level, sample):
    return sample / level, right.meter(level, sample)[1]


# %% idea reference
def meter(level, sample):
    level[...] = jnp.maximum(0.9 * level[...], jnp.abs(sample))
    return sample / level[...], level[...]


def reset(level):
    level[...] = jnp.zeros_like(level[...])


# %% idea ref or thread
# A threaded state can be saved, copied and mapped over, but a ref holds only its last value. A
# state may stay in a ref only if nobody needs more than this last value.
choices = right.choices | {"levels of the channels": "ref"}


# %%
choices = dict.fromkeys(right.choices, "ref")


# %% right a value that is set with `.at`, and zero as a product
def meter(level, sample):
    level = level.at[...].set(jnp.maximum(abs(sample), level * 0.9))
    return sample / level, level


def reset(level):
    return None, level * 0
