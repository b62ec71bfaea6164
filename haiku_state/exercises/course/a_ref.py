"""When not to use a ref

port, 7 min, state/stateful_computations#the-other-way-a-ref

`meter` and `reset` write to a ref. However, it must be possible to roll the level back and to map
it, so port both functions to a threaded state: `meter(level, sample)` returns the output and the
new level, `reset(level)` returns `None` and the new level. The check passes the level as an array.

Then decide for each state in `choices`: `"ref"` or `"thread"`.

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
import jax
import numpy as np


# %% inputs
def inputs(rng):
    return np.float32(rng.uniform(1, 3)), np.float32(rng.uniform(-2.5, -0.5))


# %% check `meter` returns the output and the new level; pure jit vmap types; formula
def check(answer, level, sample):
    return answer.meter(level, sample)


def closed_form(level, sample):
    level = max(0.9 * float(level), abs(float(sample)))
    return sample / level, level


# %% check `reset` returns `None` and a level of 0; pure jit vmap types; reference
def check(answer, level, sample):
    return answer.reset(level)


# %% check The level is rolled back; ; formula
def check(answer, level, sample):
    _output, one = answer.meter(level, sample)
    two, _level = answer.meter(one, 5 * sample)
    again, _level = answer.meter(one, sample)
    return two, again


# %% inputs
def inputs(rng):
    return rng.uniform(1, 3, 8), rng.normal(size=(5, 8))


# %% check A scan carries the levels of eight channels, mapped by vmap; ; reference
def check(answer, levels, samples):
    def step(levels, row):
        outputs, levels = jax.vmap(answer.meter)(levels, row)
        return levels, outputs

    return jax.lax.scan(step, levels, samples)


# %% inputs
def inputs(rng):
    return ()


# %% check `choices` says which state may stay in a ref; once; ref or thread
def check(answer):
    right = {"calls for debugging": "ref", "params": "thread", "levels of the channels": "thread"}
    return {"right choices": sum(answer.choices.get(name) == right[name] for name in right)}


# %% idea order; state/stateful_computations#the-general-strategy
# Return the output first and the new state second, as all functions in this course do.
def meter(level, sample):
    return right.meter(level, sample)[::-1]


# %%
def reset(level):
    return right.reset(level)[::-1]


# %% idea dropped state
# A ref keeps its last value by itself, but a threaded state is lost unless it is returned.
def meter(level, sample):
    return right.meter(level, sample)[0]


# %%
def meter(level, sample):
    return right.meter(level, sample)[0], level


# %%
def reset(level):
    level = jnp.zeros_like(level)


# %% idea late state
# `ref[...]` reads what is in the ref at that moment. Where the ref was already written, the
# threaded program needs the new value too.
def meter(level, sample):
    return sample / level, right.meter(level, sample)[1]


# %% idea formula
# The numbers follow a different formula. The new level should be what is left of the old level,
# or the size of the sample if that is larger, and the output the sample divided by the new level.
def meter(level, sample):
    return right.meter(level / 0.9, sample)


# %%
def meter(level, sample):
    level = jnp.maximum(0.9 * level, sample)
    return sample / level, level


# %% idea reference
def meter(level, sample):
    level[...] = jnp.maximum(0.9 * level[...], jnp.abs(sample))
    return sample / level[...], level[...]


# %%
def reset(level):
    level[...] = 0
    return None, level


# %% idea ref or thread
# A value can be kept, copied and mapped, but a ref is one place in memory, which holds only the
# last value. For each state, ask whether somebody needs more than the last value.
choices = right.choices | {"levels of the channels": "ref"}


# %% idea not traceable
def meter(level, sample):
    level = max(0.9 * level, abs(sample))
    return sample / level, level


# %% right the array's own way to set a value, and zero by a product
def meter(level, sample):
    level = level.at[...].set(jnp.maximum(abs(sample), level * 0.9))
    return sample / level, level


def reset(level):
    return None, level * 0
