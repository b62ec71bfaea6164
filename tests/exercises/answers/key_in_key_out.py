# right: the key is split the other way round
import jax


def walk(state):
    place, key = state
    draw_key, new_key = jax.random.split(key)
    step = jax.random.normal(draw_key)
    return step, (place + step, new_key)


def throw(state):
    _, key = state
    key, place_key = jax.random.split(key)
    key, coin_key = jax.random.split(key)
    place = jax.random.uniform(place_key)
    return jax.random.bernoulli(coin_key), (place, key)

# wrong: key not advanced
import jax


def walk(state):
    place, key = state
    _, step_key = jax.random.split(key)
    step = jax.random.normal(step_key)
    return step, (place + step, key)


def throw(state):
    place, key = state
    key, place_key, coin_key = jax.random.split(key, 3)
    return jax.random.bernoulli(coin_key), (jax.random.uniform(place_key), key)

# wrong: key reused
import jax


def walk(state):
    place, key = state
    step = jax.random.normal(key)
    key, _ = jax.random.split(key)
    return step, (place + step, key)


def throw(state):
    place, key = state
    key, place_key, coin_key = jax.random.split(key, 3)
    return jax.random.bernoulli(coin_key), (jax.random.uniform(place_key), key)

# wrong: key reused
import jax


def walk(state):
    place, key = state
    key, step_key = jax.random.split(key)
    step = jax.random.normal(step_key)
    return step, (place + step, key)


def throw(state):
    place, key = state
    key, draw_key = jax.random.split(key)
    place = jax.random.uniform(draw_key)
    return jax.random.bernoulli(draw_key), (place, key)

# wrong: key reused
import jax


def walk(state):
    place, key = state
    key, step_key = jax.random.split(key)
    step = jax.random.normal(step_key)
    return step, (place + step, step_key)


def throw(state):
    place, key = state
    key, place_key, coin_key = jax.random.split(key, 3)
    return jax.random.bernoulli(coin_key), (jax.random.uniform(place_key), key)

# wrong: key from outside
import jax


def walk(state):
    place, key = state
    key, step_key = jax.random.split(jax.random.key(0))
    step = jax.random.normal(step_key)
    return step, (place + step, key)


def throw(state):
    place, key = state
    key, place_key, coin_key = jax.random.split(key, 3)
    return jax.random.bernoulli(coin_key), (jax.random.uniform(place_key), key)

# wrong: hidden input
import jax
import numpy as np


def walk(state):
    place, key = state
    step = np.float32(np.random.normal())
    return step, (place + step, key)


def throw(state):
    place, key = state
    key, place_key, coin_key = jax.random.split(key, 3)
    return jax.random.bernoulli(coin_key), (jax.random.uniform(place_key), key)

# wrong: distribution
import jax


def walk(state):
    place, key = state
    key, step_key = jax.random.split(key)
    step = jax.random.uniform(step_key)
    return step, (place + step, key)


def throw(state):
    place, key = state
    key, place_key, coin_key = jax.random.split(key, 3)
    return jax.random.bernoulli(coin_key), (jax.random.uniform(place_key), key)

# wrong: distribution
import jax


def walk(state):
    place, key = state
    key, step_key = jax.random.split(key)
    step = jax.random.uniform(step_key, minval=-(3**0.5), maxval=3**0.5)
    return step, (place + step, key)


def throw(state):
    _, key = state
    key, place_key, coin_key = jax.random.split(key, 3)
    place = jax.random.uniform(place_key)
    return jax.random.bernoulli(coin_key), (place, key)
