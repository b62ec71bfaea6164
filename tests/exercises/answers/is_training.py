# right: two compiled functions, one for each mode
import functools

import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")
train_mode = jax.jit(functools.partial(pair.apply, is_training=True))
test_mode = jax.jit(functools.partial(pair.apply, is_training=False))


def start(x):
    return pair.init(None, x, True)[1]


def learn(state, x):
    return train_mode({}, state, None, x)


def evaluate(state, x):
    return test_mode({}, state, None, x)[0]

# wrong: traced mode
import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")
apply = jax.jit(pair.apply)


def start(x):
    _, state = pair.init(None, x, is_training=True)
    return state


def learn(state, x):
    return apply({}, state, None, x, is_training=True)


def evaluate(state, x):
    outputs, _ = apply({}, state, None, x, is_training=False)
    return outputs

# wrong: nothing to read
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

# wrong: evaluation
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
    outputs, _ = apply({}, state, None, x, is_training=True)
    return outputs

# wrong: nothing learned
import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")
apply = jax.jit(pair.apply, static_argnames="is_training")


def start(x):
    _, state = pair.init(None, x, is_training=True)
    return state


def learn(state, x):
    return apply({}, state, None, x, is_training=False)


def evaluate(state, x):
    outputs, _ = apply({}, state, None, x, is_training=False)
    return outputs

# wrong: nothing learned
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

# wrong: first state
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

# wrong: not compiled
import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")


def start(x):
    _, state = pair.init(None, x, is_training=True)
    return state


def learn(state, x):
    return pair.apply({}, state, None, x, is_training=True)


def evaluate(state, x):
    outputs, _ = pair.apply({}, state, None, x, is_training=False)
    return outputs

# wrong: not compiled
import functools

import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")


def compiled(is_training):
    return jax.jit(functools.partial(pair.apply, is_training=is_training))


def start(x):
    _, state = pair.init(None, x, is_training=True)
    return state


def learn(state, x):
    return compiled(True)({}, state, None, x)


def evaluate(state, x):
    outputs, _ = compiled(False)({}, state, None, x)
    return outputs

# wrong: rows alone
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
    return apply({}, state, None, x, is_training=False)
