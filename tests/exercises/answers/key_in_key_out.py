"""Answers to `key_in_key_out`."""

# %% right: split into two and into three
import jax


def walk(state):
    place, key = state
    key, step_key = jax.random.split(key)
    step = jax.random.normal(step_key)
    return step, (place + step, key)


def throw(state):
    _, key = state
    key, place_key, coin_key = jax.random.split(key, 3)
    return jax.random.bernoulli(coin_key), (jax.random.uniform(place_key), key)


# %% right: keys by their index, the new key is the last one, compiled
import jax
import jax.numpy as jnp


@jax.jit
def walk(state):
    keys = jax.random.split(state[1], 2)
    step = jax.random.normal(keys[0], (), jnp.float32)
    return step, (state[0] + step, keys[1])


@jax.jit
def throw(state):
    keys = jax.random.split(state[1], 3)
    place = jax.random.uniform(keys[0], minval=0.0, maxval=1.0)
    awake = jax.random.bernoulli(keys[1], p=0.5)
    return awake, (place, keys[2])


# %% right: fold_in from a key that nothing is drawn with
import jax


def walk(state):
    place, key = state
    step = jax.random.normal(jax.random.fold_in(key, 0))
    return step, (place + step, jax.random.fold_in(key, 1))


def throw(state):
    place, key = state
    place = jax.random.uniform(jax.random.fold_in(key, 2))
    awake = jax.random.bernoulli(jax.random.fold_in(key, 3))
    return awake, (place, jax.random.fold_in(key, 4))


# %% right: two draws from one array of uniform numbers
import jax


def walk(state):
    place, key = state
    draw, rest = jax.random.split(key)
    (step,) = jax.random.normal(draw, (1,))
    return step, (place + step, rest)


def throw(state):
    place, key = state
    draw, rest = jax.random.split(key)
    place, chance = jax.random.uniform(draw, (2,))
    return chance < 0.5, (place, rest)


# %% right: a named tuple for the state, a helper that splits
from typing import Any, NamedTuple

import jax


class Walker(NamedTuple):
    place: Any
    key: Any


def next_keys(key, draws):
    new, *keys = jax.random.split(key, draws + 1)
    return new, keys


def walk(state):
    walker = Walker(*state)
    key, (draw,) = next_keys(walker.key, 1)
    step = jax.random.normal(draw)
    return step, Walker(walker.place + step, key)


def throw(state):
    walker = Walker(*state)
    key, (for_place, for_coin) = next_keys(walker.key, 2)
    place = jax.random.uniform(for_place)
    return jax.random.bernoulli(for_coin), walker._replace(place=place, key=key)


# %% right: one split after the other, a coin of 0 and 1
import jax


def walk(s):
    x, k = s
    k, k1 = jax.random.split(k)
    dx = jax.random.normal(k1)
    x = x + dx
    return dx, (x, k)


def throw(s):
    k, k1 = jax.random.split(s[1])
    x = jax.random.uniform(k1)
    k, k2 = jax.random.split(k)
    coin = jax.random.randint(k2, (), 0, 2)
    return coin, (x, k)


# %% right: the coin is chosen, the step is drawn by the inverse of the distribution
import jax
import jax.numpy as jnp
from jax import random


def walk(state):
    key, draw_key = random.split(state[1])
    chance = random.uniform(draw_key, minval=1e-7, maxval=1.0)
    step = jax.scipy.special.ndtri(chance)
    return step, (state[0] + step, key)


def throw(state):
    key, draw_key = random.split(state[1])
    place_key, coin_key = random.split(draw_key)
    awake = random.choice(coin_key, jnp.array([True, False]))
    return awake, (random.uniform(place_key), key)


# %% right: a class with one method that draws
import jax


class Random:
    def __init__(self, key, count):
        self.key, *self.keys = jax.random.split(key, 1 + count)

    def draw(self, sampler):
        return sampler(self.keys.pop())


def walk(state):
    source = Random(state[1], 1)
    step = source.draw(jax.random.normal)
    return step, (state[0] + step, source.key)


def throw(state):
    source = Random(state[1], 2)
    awake = source.draw(jax.random.bernoulli)
    place = source.draw(jax.random.uniform)
    return awake, (place, source.key)


# %% wrong: key reused | key not advanced
import jax


def walk(state):
    # Take one step; return its length and the new state.
    place, key = state
    step = jax.random.normal(key)
    return step, (place + step, key)


def throw(state):
    # Throw the walker to a random place between 0 and 1, and toss a coin that
    # says whether it is awake; return the coin and the new state.
    place, key = state
    place = jax.random.uniform(key)
    awake = jax.random.bernoulli(key)
    return awake, (place, key)


# %% wrong: key reused
# drawn with the key, and then split
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


# %% wrong: key reused
# the key of the draw goes into the new state
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


# %% wrong: key reused
# a key that was drawn with, with a number folded in
import jax


def walk(state):
    place, key = state
    step = jax.random.normal(key)
    return step, (place + step, jax.random.fold_in(key, 1))


def throw(state):
    place, key = state
    place = jax.random.uniform(key)
    awake = jax.random.bernoulli(jax.random.fold_in(key, 1))
    return awake, (place, jax.random.fold_in(key, 2))


# %% wrong: key reused | dependent draws
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
    awake = jax.random.bernoulli(draw_key)
    return awake, (place, key)


# %% wrong: key not advanced | key reused
import jax


def walk(state):
    place, key = state
    new_key, step_key = jax.random.split(key)
    step = jax.random.normal(step_key)
    return step, (place + step, key)


def throw(state):
    place, key = state
    new_key, place_key, coin_key = jax.random.split(key, 3)
    return jax.random.bernoulli(coin_key), (jax.random.uniform(place_key), key)


# %% wrong: key from outside
import jax


def walk(state):
    place, key = state
    key, step_key = jax.random.split(jax.random.key(42))
    step = jax.random.normal(step_key)
    return step, (place + step, key)


def throw(state):
    place, key = state
    key, place_key, coin_key = jax.random.split(jax.random.key(42), 3)
    return jax.random.bernoulli(coin_key), (jax.random.uniform(place_key), key)


# %% wrong: key from outside | hidden input | mutation | leak | frozen value | not repeatable | jit differs
import jax

key = jax.random.key(0)


def walk(state):
    global key
    key, step_key = jax.random.split(key)
    step = jax.random.normal(step_key)
    return step, (state[0] + step, state[1])


def throw(state):
    global key
    key, place_key, coin_key = jax.random.split(key, 3)
    return jax.random.bernoulli(coin_key), (jax.random.uniform(place_key), state[1])


# %% wrong: key from outside | hidden input | not repeatable | jit differs
import random

import jax


def walk(state):
    place, key = state
    key, _ = jax.random.split(key)
    step = random.gauss(0, 1)
    return step, (place + step, key)


def throw(state):
    place, key = state
    key, _ = jax.random.split(key)
    return random.random() < 0.5, (random.random(), key)


# %% wrong: -
# nearly normal, but never longer than 2.5
import jax


def walk(state):
    place, key = state
    key, step_key = jax.random.split(key)
    step = jax.random.truncated_normal(step_key, -2.5, 2.5)
    return step, (place + step, key)


def throw(state):
    place, key = state
    key, place_key, coin_key = jax.random.split(key, 3)
    return jax.random.bernoulli(coin_key), (jax.random.uniform(place_key), key)


# %% wrong: -
# one of eleven places from 0.0 to 1.0
import jax


def walk(state):
    place, key = state
    key, step_key = jax.random.split(key)
    step = jax.random.normal(step_key)
    return step, (place + step, key)


def throw(state):
    place, key = state
    key, place_key, coin_key = jax.random.split(key, 3)
    place = jax.random.randint(place_key, (), 0, 11) / 10
    return jax.random.bernoulli(coin_key), (place, key)


# %% wrong: -
# the coin falls on this side nearly always
import jax


def walk(state):
    place, key = state
    key, step_key = jax.random.split(key)
    step = jax.random.normal(step_key)
    return step, (place + step, key)


def throw(state):
    place, key = state
    key, place_key, coin_key = jax.random.split(key, 3)
    return jax.random.bernoulli(coin_key, 0.99), (jax.random.uniform(place_key), key)


# %% wrong: dependent draws
# the coin is read off the third digit of the place
import jax
import jax.numpy as jnp


def walk(state):
    place, key = state
    key, step_key = jax.random.split(key)
    step = jax.random.normal(step_key)
    return step, (place + step, key)


def throw(state):
    place, key = state
    key, place_key = jax.random.split(key)
    place = jax.random.uniform(place_key)
    awake = jnp.floor(place * 1000) % 2 == 0
    return awake, (place, key)


# %% wrong: -
# the place is returned in place of the step
import jax


def walk(state):
    place, key = state
    key, step_key = jax.random.split(key)
    place = place + jax.random.normal(step_key)
    return place, (place, key)


def throw(state):
    place, key = state
    key, place_key, coin_key = jax.random.split(key, 3)
    return jax.random.bernoulli(coin_key), (jax.random.uniform(place_key), key)


# %% wrong: -
# the walker forgets where it was
import jax


def walk(state):
    place, key = state
    key, step_key = jax.random.split(key)
    step = jax.random.normal(step_key)
    return step, (step, key)


def throw(state):
    place, key = state
    key, place_key, coin_key = jax.random.split(key, 3)
    return jax.random.bernoulli(coin_key), (jax.random.uniform(place_key), key)


# %% wrong: -
# throw leaves the walker where it is
import jax


def walk(state):
    place, key = state
    key, step_key = jax.random.split(key)
    step = jax.random.normal(step_key)
    return step, (place + step, key)


def throw(state):
    place, key = state
    key, place_key, coin_key = jax.random.split(key, 3)
    thrown = jax.random.uniform(place_key)
    awake = jax.random.bernoulli(coin_key)
    return awake, (place, key)

# %% wrong: -
# A walker takes steps of random length, forward or back. Its state is a pair:
# its place and the random key for future steps.
import jax


def walk(state):
    # Take one step; return its length and the new state.
    place, key = state
    key, step_key = jax.random.split(key)
    step = jax.random.normal(step_key)
    return step, (place + step, key)


def throw(state):
    # Throw the walker to a random place between 0 and 1, and toss a coin that
    # says whether it is awake; return the coin and the new state.
    place, key = state
    key, place_key, coin_key = jax.random.split(key, 3)
    place = place + jax.random.uniform(place_key)
    awake = jax.random.bernoulli(coin_key)
    return awake, (place, key)
