"""The same small training run on digits for every test that compares ways to run it."""

import functools

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
from support.models import cross_entropy

import haiku_state as hs

STEPS = 20
ROWS = 32


@functools.cache
def batches(steps=STEPS, rows=ROWS):
    return tuple(hs.batches(hs.load_digits().train, rows, seed=0))[:steps]


def pair_of(axis=None):
    return hk.transform_with_state(
        lambda x: hs.Classifier([32], 10, 0.9, cross_replica_axis=axis)(x, is_training=True)
    )


def update_of(optimizer, axis=None):
    return hs.make_update(cross_entropy(pair_of(axis)), optimizer)


@functools.cache
def initial(seed):
    """What ``init`` gives, once: it runs operation by operation, and takes its time."""
    return pair_of().init(jax.random.key(seed), batches()[0]["inputs"])


def start(optimizer, seed=0):
    params, state = initial(seed)  # not in the function that is traced: a cache would keep tracers
    return hs.init_train_state(
        lambda rng: jax.tree.map(jnp.copy, (params, state)), optimizer, jax.random.key(seed)
    )


@functools.cache
def on_one_device(optimizer, steps=STEPS):
    """Give the train state and the losses after so many steps by ``jit_update``."""
    run, train_state, losses = hs.jit_update(update_of(optimizer)), start(optimizer), []
    for batch in batches()[:steps]:
        train_state, metrics = run(train_state, batch)
        losses.append(float(metrics["loss"]))
    return train_state, np.array(losses)


ADAM = optax.adam(1e-3)
SGD = optax.sgd(0.1, momentum=0.9)
