"""A random walk

repair, 6 min, state/stateful_computations#you-have-met-this-before-random-keys

All steps of this walker are the same, and so are the results of all throws. Repair `walk` and
`throw`.

The state is a pair `(place, key)`. `walk(state)` returns a step drawn from the standard normal
distribution and the new state. `throw(state)` returns the result of a fair coin toss and the new
state, whose place is uniform between 0 and 1. The check calls both functions repeatedly, each time
with the state that the last call returned, and finds out whether a key is used twice.

- How many keys does one call need, if each key may be used only once?
- Look at the line after `place, key = state`: there, the key has to be split.
- In `walk`, `jax.random.split(key)` gives two keys: draw with one of them and return the other. In
  `throw` there are two draws, so split into three.
"""

# %%
# A walker takes steps of random length, forward or back. Its state is a pair:
# its place and the random key for future steps.
import jax


def walk(state):
    # Take one step; return its length and the new state.
    place, key = state
    #: step = jax.random.normal(key)
    #: return step, (place + step, key)
    # <solution>
    key, step_key = jax.random.split(key)
    step = jax.random.normal(step_key)
    return step, (place + step, key)
    # </solution>


def throw(state):
    # Throw the walker to a random place between 0 and 1, and toss a coin that
    # says whether it is awake; return the coin and the new state.
    place, key = state
    #: place = jax.random.uniform(key)
    #: awake = jax.random.bernoulli(key)
    #: return awake, (place, key)
    # <solution>
    key, place_key, coin_key = jax.random.split(key, 3)
    place = jax.random.uniform(place_key)
    awake = jax.random.bernoulli(coin_key)
    return awake, (place, key)
    # </solution>


# %% setup
import jax
import numpy as np


# %% inputs
def inputs(rng):
    return np.int32(rng.integers(1, 1 << 30)), np.float32(rng.uniform(-5, 5))


# %% check Two steps are different, and the place is their sum; pure keys once; key not advanced
def check(answer, seed, place):
    one, state = answer.walk((place, jax.random.key(seed)))
    two, state = answer.walk(state)
    other, _state = answer.walk((place, jax.random.key(seed + 1)))
    return {
        "different steps": one != two,
        "different walkers": one != other,
        "place": state[0] - (place + one + two),
    }


# %% check Two throws lead to two different places; pure keys once; key not advanced
def check(answer, seed, place):
    _coin, one = answer.throw((place, jax.random.key(seed)))
    _coin, two = answer.throw(one)
    _coin, other = answer.throw((place, jax.random.key(seed + 1)))
    return {"different places": one[0] != two[0], "different walkers": one[0] != other[0]}


# %% check The numbers of many walkers follow the required distributions; once; distribution
def check(answer, seed, place):
    def one(key):
        step, state = answer.walk((place, key))
        second, state = answer.walk(state)
        coin, thrown = answer.throw(state)
        return step, second, coin, thrown[0]

    keys = jax.random.split(jax.random.key(seed), 2000)
    step, second, coin, thrown = jax.device_get(jax.jit(jax.vmap(one))(keys))
    return {
        "mean step is about 0": abs(step.mean()) < 0.2,
        "spread of the steps is about 1": abs(step.std() - 1) < 0.2,
        "steps are normal": abs((abs(step) < 1).mean() - 0.683) < 0.05,
        "place is uniform": abs(thrown.mean() - 0.5) < 0.1 and abs(thrown.std() - 0.289) < 0.05,
        "coin is fair": abs(coin.mean() - 0.5) < 0.1,
        "coin tells the place": abs(np.corrcoef(coin, thrown)[0, 1]) > 0.2,
        "step tells the next": abs(np.corrcoef(step, second)[0, 1]) > 0.2,
    }


# %% idea key not advanced
# The new state holds the old key, so the next call draws the same numbers again. The key is state,
# so the returned key must differ from the key that came in.
def walk(state):
    step, (place, _) = right.walk(state)
    return step, (place, state[1])


# %%
def throw(state):
    coin, (place, _) = right.throw(state)
    return coin, (place, state[1])


# %% idea key from outside
# The numbers do not depend on the key in the state. A random function must draw from the key that
# is passed to it, so that its caller determines the numbers.
def walk(state):
    return right.walk((state[0], jax.random.key(0)))


# %%
def throw(state):
    return right.throw((state[0], jax.random.key(0)))


# %% idea distribution
# The numbers are random, but they do not follow the required distribution.
def walk(state):
    key, step_key = jax.random.split(state[1])
    step = jax.random.uniform(step_key)
    return step, (state[0] + step, key)


# %%
def walk(state):
    key, step_key = jax.random.split(state[1])
    step = jax.random.uniform(step_key, minval=-(3**0.5), maxval=3**0.5)
    return step, (state[0] + step, key)


# %%
def throw(state):
    coin, (place, key) = right.throw(state)
    return coin, (state[0] + place, key)


# %% idea dependent draws; haiku/randomness#same-key-same-mask
# The two draws are not independent: the value of one draw says something about the other draw.
# Draws with separate keys are independent.
def throw(state):
    _, (place, key) = right.throw(state)
    return place < 0.5, (place, key)


# %% idea key reused
def walk(state):
    step = jax.random.normal(state[1])
    return step, (state[0] + step, jax.random.split(state[1])[0])


# %%
def throw(state):
    key, draw_key = jax.random.split(state[1])
    return jax.random.bernoulli(draw_key), (jax.random.uniform(draw_key), key)


# %% idea hidden input
import numpy as np


def walk(state):
    step = np.float32(np.random.normal())
    return step, (state[0] + step, state[1])


# %% right the key is split the other way round
def walk(state):
    draw_key, new_key = jax.random.split(state[1])
    step = jax.random.normal(draw_key)
    return step, (state[0] + step, new_key)


def throw(state):
    key, place_key = jax.random.split(state[1])
    key, coin_key = jax.random.split(key)
    return jax.random.bernoulli(coin_key), (jax.random.uniform(place_key), key)
