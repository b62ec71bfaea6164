"""Random numbers."""

import random
from random import gauss

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
from support.programs.tables import impure, pure

x = jnp.arange(3.0)


@impure(x)
def random_random(x):
    return x * random.random()  # finds: hidden input random.random


@impure(x)
def random_from_import(x):
    noise = gauss(0, 1)  # finds: hidden input gauss
    return x + noise


@impure(x)
def random_choice(x):
    if random.choice([True, False]):  # finds: hidden input random.choice
        return x[::-1]
    return x


dice = random.Random(0)


@impure(x)
def own_random_instance(x):
    return x + dice.randint(1, 6)  # finds: hidden input dice.randint


order = list(range(20))


@impure(x)
def shuffle_outside_list(x):
    random.shuffle(order)  # finds: hidden input random.shuffle; mutation order[...]
    return x


@impure.made(x)
def random_instance_in_self():
    class Augment:
        def __init__(self):
            self.random = random.Random(1)

        def __call__(self, x):
            return x * self.random.uniform(0.5, 1.5)  # finds: hidden input self.random.uniform

    return Augment()


@impure(x)
def random_unseeded_instance(x):
    dice = random.Random()  # finds: hidden input random.Random
    return x + dice.random()


@impure(x)
def system_random(x):
    return x * random.SystemRandom().random()  # finds: hidden input random.SystemRandom().random


sysrand = random.SystemRandom()


@impure(x)
def system_random_instance(x):
    return x * sysrand.random()  # finds: hidden input sysrand.random


@impure(x)
def numpy_rand(x):
    return x + np.random.rand(3).astype(np.float32)  # finds: hidden input np.random.rand


@impure(x)
def numpy_normal(x):
    eps = np.random.normal()  # finds: hidden input np.random.normal
    return x + eps


@impure(x)
def numpy_dropout(x):
    keep = np.random.binomial(1, 0.5, size=3)  # finds: hidden input np.random.binomial
    return x * keep.astype(np.float32)


rng = np.random.default_rng(0)


@impure(x)
def numpy_generator(x):
    return x + float(rng.normal())  # finds: hidden input rng.normal


@impure.made(x)
def numpy_generator_in_self():
    class Dropout:
        def __init__(self, rate, seed=0):
            self.rate = rate
            self.rng = np.random.default_rng(seed)

        def mask(self, shape):
            return self.rng.random(shape) >= self.rate  # finds: hidden input self.rng.random

        def __call__(self, x):
            return jnp.where(self.mask(x.shape), x, 0.0)

    return Dropout(0.5)


legacy = np.random.RandomState(0)


@impure(x)
def numpy_random_state(x):
    return x * legacy.uniform()  # finds: hidden input legacy.uniform


rows = np.arange(20)


@impure(x)
def numpy_shuffle(x):
    np.random.shuffle(rows)  # finds: hidden input np.random.shuffle; mutation rows[...]
    return x


@impure(x)
def numpy_unseeded_generator(x):
    generator = np.random.default_rng()  # finds: hidden input np.random.default_rng
    return x + float(generator.normal())


keys = hk.PRNGSequence(jax.random.key(0))


@impure(x)
def take_of_a_sequence_of_keys(x):
    (drawn,) = keys.take(1)  # finds: hidden input keys.take
    return x + jax.random.normal(drawn)


@pure(x)
def seeded_random_made_inside(x):
    dice = random.Random(0)
    values = [1.0, 2.0, 3.0]
    dice.shuffle(values)
    return x * dice.random() + dice.choice(values)


@pure(x)
def seeded_numpy_generator_made_inside(x):
    rng = np.random.default_rng(0)
    return x + rng.normal(size=3).astype(np.float32) * float(rng.uniform())


@pure(x)
def seeded_random_state_made_inside(x):
    rng = np.random.RandomState(42)
    return x * rng.rand(3).astype(np.float32)


@pure(jax.random.key(0), x)
def random_with_keys(key, x):
    keys = []
    for _ in range(3):
        key, subkey = jax.random.split(key)
        keys.append(subkey)
    return x + sum(jax.random.normal(subkey, x.shape) for subkey in keys)


@pure(x)
def random_with_a_fixed_key(x):
    return x + jax.random.uniform(jax.random.key(7), x.shape)
