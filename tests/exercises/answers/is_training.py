"""Answers to `is_training`."""

# %% right: the mode is static by position
import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")
run = jax.jit(pair.apply, static_argnums=4)


def start(x):
    return pair.init(None, x, True)[1]


def learn(state, x):
    return run({}, state, None, x, True)


def evaluate(state, x):
    return run({}, state, None, x, False)[0]


# %% right: each function is decorated, and the mode is a constant in it
import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")


@jax.jit
def start(first_batch):
    params, state = pair.init(None, first_batch, is_training=True)
    return state


@jax.jit
def learn(state, batch):
    return pair.apply({}, state, None, batch, is_training=True)


@jax.jit
def evaluate(state, rows):
    normalized, _unchanged = pair.apply({}, state, None, rows, is_training=False)
    return normalized


# %% right: a partial for each mode
from functools import partial

import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")
in_training = jax.jit(partial(pair.apply, is_training=True))
in_evaluation = jax.jit(partial(pair.apply, is_training=False))


def start(x):
    _, state = pair.init(None, x, is_training=True)
    return state


def learn(state, x):
    return in_training({}, state, None, x)


def evaluate(state, x):
    return in_evaluation({}, state, None, x)[0]


# %% right: the modes are compiled when they are first needed, and kept
import functools

import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")


@functools.cache
def compiled(is_training):
    return jax.jit(lambda state, x: pair.apply({}, state, None, x, is_training))


def start(x):
    _, state = pair.init(None, x, is_training=True)
    return state


def learn(state, x):
    return compiled(True)(state, x)


def evaluate(state, x):
    return compiled(False)(state, x)[0]


# %% right: two functions of Haiku, one for each mode
import haiku as hk
import jax

import haiku_state as hs


def make(is_training):
    def forward(x):
        return hs.BatchNorm(False, False, 0.9, name="norm")(x, is_training)

    return hk.transform_with_state(forward)


training, evaluation = make(True), make(False)
apply_training = jax.jit(training.apply)
apply_evaluation = jax.jit(evaluation.apply)


def start(x):
    return training.init(None, x)[1]


def learn(state, x):
    return apply_training({}, state, None, x)


def evaluate(state, x):
    return apply_evaluation({}, state, None, x)[0]


# %% right: a class whose methods are the functions, and a named tuple
from typing import Any, NamedTuple

import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")


class Learned(NamedTuple):
    outputs: jax.Array
    state: Any


class Norm:
    def __init__(self, pair):
        self.init = pair.init
        self.apply = jax.jit(pair.apply, static_argnames=["is_training"])

    def start(self, x):
        return self.init(None, x, is_training=True)[1]

    def learn(self, state, x):
        return Learned(*self.apply({}, state, None, x, is_training=True))

    def evaluate(self, state, x):
        return self.apply({}, state, None, x, is_training=False)[0]


norm = Norm(pair)
start, learn, evaluate = norm.start, norm.learn, norm.evaluate

# %% right: the rows are evaluated one by one by vmap
import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")
apply = jax.jit(pair.apply, static_argnames="is_training")


def start(x):
    _, state = pair.init(None, x, is_training=True)
    return state


def learn(state, x):
    return apply({}, state, None, x, is_training=True)


@jax.jit
def evaluate(state, x):
    def one(row):
        return apply({}, state, None, row[None], is_training=False)[0][0]

    return jax.vmap(one)(x)


# %% right: the mode comes first and is static, and start is compiled too
import functools

import jax

import haiku_state as hs

TRAIN, TEST = True, False
pair = hs.pure_pair(hs.BatchNorm, create_scale=False, create_offset=False, decay_rate=0.9, name="norm")
start_of = jax.jit(lambda x: pair.init(jax.random.key(0), x, TRAIN))


@functools.partial(jax.jit, static_argnums=0)
def normalize(mode, state, x):
    outputs, new = pair.apply({}, state, None, x, mode)
    return (outputs, new) if mode else outputs


def start(x):
    params, state = start_of(x)
    return state


learn = functools.partial(normalize, TRAIN)
evaluate = functools.partial(normalize, TEST)

# %% wrong: traced mode | nothing to read | evaluation
# the starter code
import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")
apply = jax.jit(pair.apply)


def start(x):
    # Return the first state.
    _, state = pair.init(None, x, is_training=False)
    return state


def learn(state, x):
    # Return the normalized batch and the new state.
    return apply({}, state, None, x, is_training=True)


def evaluate(state, x):
    # Return the normalized rows; a row does not depend on the others.
    outputs, _ = apply({}, state, None, x, is_training=True)
    return outputs


# %% wrong: nothing to read
# only `start` is left as it was
import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")
apply = jax.jit(pair.apply, static_argnames="is_training")


def start(x):
    _, state = pair.init(None, x, is_training=False)
    return state


def learn(state, x):
    return apply({}, state, None, x, is_training=True)


def evaluate(state, x):
    outputs, _ = apply({}, state, None, x, is_training=False)
    return outputs


# %% wrong: evaluation
# a batch is evaluated by its own statistics, a single row by the running ones
import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")
apply = jax.jit(pair.apply, static_argnames="is_training")


def start(x):
    _, state = pair.init(None, x, is_training=True)
    return state


def learn(state, x):
    return apply({}, state, None, x, is_training=True)


def evaluate(state, x):
    outputs, _ = apply({}, state, None, x, is_training=len(x) > 1)
    return outputs


# %% wrong: evaluation
# the right mode, but the local statistics
import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")
apply = jax.jit(pair.apply, static_argnames=("is_training", "test_local_stats"))


def start(x):
    _, state = pair.init(None, x, is_training=True)
    return state


def learn(state, x):
    return apply({}, state, None, x, is_training=True)


def evaluate(state, x):
    outputs, _ = apply({}, state, None, x, is_training=False, test_local_stats=True)
    return outputs


# %% wrong: evaluation
# the rows are learned before they are evaluated
import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")
apply = jax.jit(pair.apply, static_argnames="is_training")


def start(x):
    _, state = pair.init(None, x, is_training=True)
    return state


def learn(state, x):
    return apply({}, state, None, x, is_training=True)


def evaluate(state, x):
    _, state = learn(state, x)
    outputs, _ = apply({}, state, None, x, is_training=False)
    return outputs


# %% wrong: traced mode
# two are repaired, but the mode is still traced
import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")


@jax.jit
def apply(state, x, is_training):
    return pair.apply({}, state, None, x, is_training)


def start(x):
    _, state = pair.init(None, x, is_training=True)
    return state


def learn(state, x):
    return apply(state, x, True)


def evaluate(state, x):
    return apply(state, x, False)[0]


# %% wrong: not compiled
# a new compiled function in each call
import functools

import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")


def start(x):
    _, state = pair.init(None, x, is_training=True)
    return state


def learn(state, x):
    apply = jax.jit(functools.partial(pair.apply, is_training=True))
    return apply({}, state, None, x)


def evaluate(state, x):
    apply = jax.jit(functools.partial(pair.apply, is_training=False))
    outputs, _ = apply({}, state, None, x)
    return outputs


# %% wrong: not compiled
# `learn` is compiled, `evaluate` is not
import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")


def start(x):
    _, state = pair.init(None, x, is_training=True)
    return state


@jax.jit
def learn(state, x):
    return pair.apply({}, state, None, x, is_training=True)


def evaluate(state, x):
    return pair.apply({}, state, None, x, is_training=False)[0]


# %% wrong: nothing learned
# the new state is thrown away
import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")
apply = jax.jit(pair.apply, static_argnames="is_training")


def start(x):
    _, state = pair.init(None, x, is_training=True)
    return state


def learn(state, x):
    outputs, _ = apply({}, state, None, x, is_training=True)
    return outputs, state


def evaluate(state, x):
    outputs, _ = apply({}, state, None, x, is_training=False)
    return outputs


# %% wrong: first state
# the first state has already learned the first batch
import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")
apply = jax.jit(pair.apply, static_argnames="is_training")


def start(x):
    _, state = pair.init(None, x, is_training=True)
    _, state = apply({}, state, None, x, is_training=True)
    return state


def learn(state, x):
    return apply({}, state, None, x, is_training=True)


def evaluate(state, x):
    outputs, _ = apply({}, state, None, x, is_training=False)
    return outputs


# %% wrong: static value
# the state is static too
import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")
apply = jax.jit(pair.apply, static_argnums=(1, 4))


def start(x):
    _, state = pair.init(None, x, is_training=True)
    return state


def learn(state, x):
    return apply({}, state, None, x, True)


def evaluate(state, x):
    outputs, _ = apply({}, state, None, x, False)
    return outputs


# %% wrong: changed argument
# the new state is written into the caller's dict
import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")
apply = jax.jit(pair.apply, static_argnames="is_training")


def start(x):
    _, state = pair.init(None, x, is_training=True)
    return state


def learn(state, x):
    outputs, new = apply({}, state, None, x, is_training=True)
    state.update(new)
    return outputs, state


def evaluate(state, x):
    outputs, _ = apply({}, state, None, x, is_training=False)
    return outputs


# %% wrong: rows alone
# `evaluate` returns the pair
import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")
apply = jax.jit(pair.apply, static_argnames="is_training")


def start(x):
    return pair.init(None, x, is_training=True)[1]


def learn(state, x):
    return apply({}, state, None, x, is_training=True)


def evaluate(state, x):
    return apply({}, state, None, x, is_training=False)


# %% wrong: -
# `learn` returns the new state first
import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")
apply = jax.jit(pair.apply, static_argnames="is_training")


def start(x):
    _, state = pair.init(None, x, is_training=True)
    return state


def learn(state, x):
    outputs, state = apply({}, state, None, x, is_training=True)
    return state, outputs


def evaluate(state, x):
    outputs, _ = apply({}, state, None, x, is_training=False)
    return outputs


# %% wrong: -
# `start` returns params and state
import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")
apply = jax.jit(pair.apply, static_argnames="is_training")


def start(x):
    return pair.init(None, x, is_training=True)


def learn(state, x):
    return apply({}, state, None, x, is_training=True)


def evaluate(state, x):
    outputs, _ = apply({}, state, None, x, is_training=False)
    return outputs


# %% wrong: -
# a slip in the decay rate
import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.99, name="norm")
apply = jax.jit(pair.apply, static_argnames="is_training")


def start(x):
    _, state = pair.init(None, x, is_training=True)
    return state


def learn(state, x):
    return apply({}, state, None, x, is_training=True)


def evaluate(state, x):
    outputs, _ = apply({}, state, None, x, is_training=False)
    return outputs


# %% wrong: -
# evaluated by hand, with the averages that still lean to 0
import jax
import jax.numpy as jnp

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")
apply = jax.jit(pair.apply, static_argnames="is_training")


def start(x):
    _, state = pair.init(None, x, is_training=True)
    return state


def learn(state, x):
    return apply({}, state, None, x, is_training=True)


@jax.jit
def evaluate(state, x):
    mean = state["norm/~/mean_ema"]["hidden"]
    var = state["norm/~/var_ema"]["hidden"]
    return (x - mean) / jnp.sqrt(var + 1e-5)
