"""A random walk

repair, medium, 6 min, state/stateful_computations#you-have-met-this-before-random-keys

All steps of this walker are the same, and so are the results of all throws. Repair `walk` and
`throw`.

The state is a pair `(place, key)`. `walk(state)` returns a step drawn from the standard normal
distribution and the new state. `throw(state)` returns the result of a fair coin toss and the new
state, whose place is uniform between 0 and 1 and independent of the coin. No key may be used for
two draws, or both for a draw and for new keys. The check calls both functions repeatedly, each time
with the state that the last call returned, and looks at the numbers of many walkers.

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
    # Throw the walker to a random place between 0 and 1, and toss a coin;
    # return the result of the toss and the new state.
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
import jax.numpy as jnp
import numpy as np

SHARES = np.array([0.01, 0.16, 0.5, 0.84, 0.99])


def family(key):
    """Return a key, and keys that it may be split and folded into."""
    folded = jax.vmap(lambda number: jax.random.fold_in(key, number))(np.arange(3))
    return jnp.concatenate([key[None], jax.random.split(key), jax.random.split(key, 3), folded])


@jax.jit
def families(key):
    """Return the family of a key, and the data of the family of each of them."""
    keys = family(key)
    return keys, jax.random.key_data(jax.vmap(family)(keys))


def is_reused(draw, value, key, new_key):
    """Whether a key of the family that gives the value gives the new key too; for each of them."""
    keys, theirs = families(key)
    gives_key = (theirs == jax.random.key_data(new_key)).all(axis=2).any(axis=1)
    return gives_key & (jax.jit(jax.vmap(draw))(keys) == value)


# %% inputs
def inputs(rng):
    return np.int32(rng.integers(1, 1 << 30)), np.float32(rng.uniform(-5, 5))


# %% check Two steps of `walk` are different, and the place is their sum; pure once
def check(answer, seed, place):
    key, other_key = jax.random.key(seed), jax.random.key(seed + 1)
    one, state = answer.walk((place, key))
    two, (last_place, _key) = answer.walk(state)
    other, _state = answer.walk((place, other_key))
    return {
        "place minus both steps": last_place - place - one - two,
        "same step again": one == two,
        "same step of another walker": one == other,
        "one key for step and new key": is_reused(jax.random.normal, one, key, state[1]).any(),
    }


# %% check Two throws lead to two different places; pure once
def check(answer, seed, place):
    key, other_key = jax.random.key(seed), jax.random.key(seed + 1)
    _coin, (one, new_key) = answer.throw((place, key))
    states = [(one, new_key)]
    for _number in range(3):
        states.append(answer.throw(states[-1])[1])
    places = jnp.stack([where for where, _key in states])
    _coin, (other, _key) = answer.throw((place + 1, other_key))
    return {
        "same place as before": one == place,
        "pairs of equal places in four throws": ((places[:, None] == places).sum() - 4) // 2,
        "same place of another walker": one == other,
        "one key for place and new key": is_reused(jax.random.uniform, one, key, new_key).any(),
    }


# %% check The numbers of many walkers follow the required distributions; once tolerance=0.03
def check(answer, seed, place):
    def one(key):
        step, state = answer.walk((0.0, key))
        coin, (new_place, new_key) = answer.throw((place, key))
        return step, new_place, coin, new_key

    @jax.jit
    def many(key):
        keys = jax.random.split(key, 50_000)
        steps, places, coins, new_keys = jax.vmap(one)(keys)
        first = [leaf[:50] for leaf in (coins, keys, new_keys)]
        reused = jax.vmap(lambda *one: is_reused(jax.random.bernoulli, *one))(*first)
        return steps, places, coins, reused.all(axis=0).any()

    steps, places, coins, reused = jax.device_get(many(jax.random.key(seed)))
    sorted_coins = coins[np.argsort(places)]
    return {
        "quantiles of the steps": np.quantile(steps, SHARES),
        "quantiles of the places": np.quantile(places, SHARES),
        "different places": len(np.unique(places)) / len(places),
        "fallen coins": coins.mean(),
        "same coin at the nearest place": np.mean(sorted_coins[1:] == sorted_coins[:-1]),
        "one key for coin and new key": reused,
    }


def truth(right, seed, place):
    return {
        "quantiles of the steps": np.array([-2.326, -0.994, 0, 0.994, 2.326]),
        "quantiles of the places": SHARES,
        "different places": 1.0,
        "fallen coins": 0.5,
        "same coin at the nearest place": 0.5,
        "one key for coin and new key": False,
    }


# %% idea key not advanced
# The new state holds the old key, so the next call draws the same numbers again. The key is state,
# so the returned key must differ from the key that came in.
def walk(state):
    step, (place, _) = right.walk(state)
    return step, (place, state[1])


# %%
def walk(state):
    step = jax.random.normal(state[1])
    return step, (state[0] + step, state[1])


# %%
def throw(state):
    coin, (place, _) = right.throw(state)
    return coin, (place, state[1])


# %%
def throw(state):
    return jax.random.bernoulli(state[1]), (jax.random.uniform(state[1]), state[1])


# %% idea key from outside
# The numbers do not depend on the key in the state. A random function must draw from the key that
# is passed to it, so that its caller determines the numbers.
def walk(state):
    return right.walk((state[0], jax.random.key(0)))


# %%
def throw(state):
    return right.throw((state[0], jax.random.key(0)))


# %% idea dependent draws; haiku/randomness#same-key-same-mask
# The two draws must be independent, but one of them says something about the other. Each draw
# should have a key of its own.
def throw(state):
    _, (place, key) = right.throw(state)
    return place < 0.5, (place, key)


# %% idea key reused
def walk(state):
    step = jax.random.normal(state[1])
    return step, (state[0] + step, jax.random.fold_in(state[1], 1))


# %%
def throw(state):
    key, coin_key = jax.random.split(state[1])
    return jax.random.bernoulli(coin_key), (jax.random.uniform(state[1]), key)


# %%
def throw(state):
    place_key, key = (jax.random.fold_in(state[1], i) for i in range(2))
    return jax.random.bernoulli(state[1]), (jax.random.uniform(place_key), key)


# %% right the two parts of the split key, with their roles swapped
def walk(state):
    draw_key, new_key = jax.random.split(state[1])
    step = jax.random.normal(draw_key)
    return step, (state[0] + step, new_key)


def throw(state):
    key, place_key = jax.random.split(state[1])
    key, coin_key = jax.random.split(key)
    return jax.random.bernoulli(coin_key), (jax.random.uniform(place_key), key)
