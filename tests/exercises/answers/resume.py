# right: leaf by leaf, in order
import jax
import jax.numpy as jnp
import numpy as np

import haiku_state as hs


def start():
    zeros = jnp.zeros(3)
    return hs.TrainState(zeros, zeros, zeros, jax.random.key(0), jnp.int32(0))


@jax.jit
def update(train_state, batch):
    params, state, opt_state, rng, step = train_state
    rng, noise_rng = jax.random.split(rng)
    noise = jax.random.normal(noise_rng, batch.shape)
    mean = jnp.mean(batch + noise, axis=0)
    opt_state = 0.9 * opt_state + (params - mean)
    params = params - opt_state / (step + 10)
    state = 0.9 * state + 0.1 * mean
    return hs.TrainState(params, state, opt_state, rng, step + 1)


def save(path, train_state):
    leaves = jax.tree.leaves(train_state)
    leaves[3] = jax.random.key_data(leaves[3])
    np.savez(path, *leaves)


def load(path):
    with np.load(path) as file:
        leaves = [jnp.asarray(file[name]) for name in file.files]
    leaves[3] = jax.random.wrap_key_data(leaves[3])
    return jax.tree.unflatten(jax.tree.structure(start()), leaves)

# wrong: random key
import jax
import jax.numpy as jnp
import numpy as np

import haiku_state as hs


def start():
    zeros = jnp.zeros(3)
    return hs.TrainState(zeros, zeros, zeros, jax.random.key(0), jnp.int32(0))


@jax.jit
def update(train_state, batch):
    params, state, opt_state, rng, step = train_state
    rng, noise_rng = jax.random.split(rng)
    noise = jax.random.normal(noise_rng, batch.shape)
    mean = jnp.mean(batch + noise, axis=0)
    opt_state = 0.9 * opt_state + (params - mean)
    params = params - opt_state / (step + 10)
    state = 0.9 * state + 0.1 * mean
    return hs.TrainState(params, state, opt_state, rng, step + 1)


def save(path, train_state):
    rng = jax.random.key_data(train_state.rng)
    fields = train_state._replace(rng=rng)._asdict()
    np.savez(path, **{name: fields[name] for name in ('params', 'state', 'opt_state', 'step')})


def load(path):
    with np.load(path) as file:
        parts = {name: jnp.asarray(file[name]) for name in file.files}
    if "rng" in parts:
        parts["rng"] = jax.random.wrap_key_data(parts["rng"])
    return start()._replace(**parts)

# wrong: running statistics
import jax
import jax.numpy as jnp
import numpy as np

import haiku_state as hs


def start():
    zeros = jnp.zeros(3)
    return hs.TrainState(zeros, zeros, zeros, jax.random.key(0), jnp.int32(0))


@jax.jit
def update(train_state, batch):
    params, state, opt_state, rng, step = train_state
    rng, noise_rng = jax.random.split(rng)
    noise = jax.random.normal(noise_rng, batch.shape)
    mean = jnp.mean(batch + noise, axis=0)
    opt_state = 0.9 * opt_state + (params - mean)
    params = params - opt_state / (step + 10)
    state = 0.9 * state + 0.1 * mean
    return hs.TrainState(params, state, opt_state, rng, step + 1)


def save(path, train_state):
    rng = jax.random.key_data(train_state.rng)
    fields = train_state._replace(rng=rng)._asdict()
    np.savez(path, **{name: fields[name] for name in ('params', 'opt_state', 'rng', 'step')})


def load(path):
    with np.load(path) as file:
        parts = {name: jnp.asarray(file[name]) for name in file.files}
    if "rng" in parts:
        parts["rng"] = jax.random.wrap_key_data(parts["rng"])
    return start()._replace(**parts)

# wrong: step count
import jax
import jax.numpy as jnp
import numpy as np

import haiku_state as hs


def start():
    zeros = jnp.zeros(3)
    return hs.TrainState(zeros, zeros, zeros, jax.random.key(0), jnp.int32(0))


@jax.jit
def update(train_state, batch):
    params, state, opt_state, rng, step = train_state
    rng, noise_rng = jax.random.split(rng)
    noise = jax.random.normal(noise_rng, batch.shape)
    mean = jnp.mean(batch + noise, axis=0)
    opt_state = 0.9 * opt_state + (params - mean)
    params = params - opt_state / (step + 10)
    state = 0.9 * state + 0.1 * mean
    return hs.TrainState(params, state, opt_state, rng, step + 1)


def save(path, train_state):
    rng = jax.random.key_data(train_state.rng)
    fields = train_state._replace(rng=rng)._asdict()
    np.savez(path, **{name: fields[name] for name in ('params', 'state', 'opt_state', 'rng')})


def load(path):
    with np.load(path) as file:
        parts = {name: jnp.asarray(file[name]) for name in file.files}
    if "rng" in parts:
        parts["rng"] = jax.random.wrap_key_data(parts["rng"])
    return start()._replace(**parts)

# wrong: key data
import jax
import jax.numpy as jnp
import numpy as np

import haiku_state as hs


def start():
    zeros = jnp.zeros(3)
    return hs.TrainState(zeros, zeros, zeros, jax.random.key(0), jnp.int32(0))


@jax.jit
def update(train_state, batch):
    params, state, opt_state, rng, step = train_state
    rng, noise_rng = jax.random.split(rng)
    noise = jax.random.normal(noise_rng, batch.shape)
    mean = jnp.mean(batch + noise, axis=0)
    opt_state = 0.9 * opt_state + (params - mean)
    params = params - opt_state / (step + 10)
    state = 0.9 * state + 0.1 * mean
    return hs.TrainState(params, state, opt_state, rng, step + 1)


def save(path, train_state):
    rng = train_state.rng
    np.savez(path, **train_state._replace(rng=rng)._asdict())


def load(path):
    with np.load(path) as file:
        parts = {name: jnp.asarray(file[name]) for name in file.files}
    parts["rng"] = jax.random.wrap_key_data(parts["rng"])
    return hs.TrainState(**parts)

# wrong: only in memory
import jax
import jax.numpy as jnp
import numpy as np

import haiku_state as hs


def start():
    zeros = jnp.zeros(3)
    return hs.TrainState(zeros, zeros, zeros, jax.random.key(0), jnp.int32(0))


@jax.jit
def update(train_state, batch):
    params, state, opt_state, rng, step = train_state
    rng, noise_rng = jax.random.split(rng)
    noise = jax.random.normal(noise_rng, batch.shape)
    mean = jnp.mean(batch + noise, axis=0)
    opt_state = 0.9 * opt_state + (params - mean)
    params = params - opt_state / (step + 10)
    state = 0.9 * state + 0.1 * mean
    return hs.TrainState(params, state, opt_state, rng, step + 1)


saved = {}


def save(path, train_state):
    saved[path] = train_state
    np.savez(path, params=train_state.params)


def load(path):
    return saved[path]

# wrong: dtype
import jax
import jax.numpy as jnp
import numpy as np

import haiku_state as hs


def start():
    zeros = jnp.zeros(3)
    return hs.TrainState(zeros, zeros, zeros, jax.random.key(0), jnp.int32(0))


@jax.jit
def update(train_state, batch):
    params, state, opt_state, rng, step = train_state
    rng, noise_rng = jax.random.split(rng)
    noise = jax.random.normal(noise_rng, batch.shape)
    mean = jnp.mean(batch + noise, axis=0)
    opt_state = 0.9 * opt_state + (params - mean)
    params = params - opt_state / (step + 10)
    state = 0.9 * state + 0.1 * mean
    return hs.TrainState(params, state, opt_state, rng, step + 1)


def save(path, train_state):
    rng = jax.random.key_data(train_state.rng)
    np.savez(path, **train_state._replace(rng=rng)._asdict())


def load(path):
    with np.load(path) as file:
        parts = {name: jnp.asarray(file[name].tolist()) for name in file.files}
    parts["rng"] = jax.random.wrap_key_data(jnp.uint32(parts["rng"]))
    return hs.TrainState(**parts)

# wrong: round trip
import jax
import jax.numpy as jnp
import numpy as np

import haiku_state as hs


def start():
    zeros = jnp.zeros(3)
    return hs.TrainState(zeros, zeros, zeros, jax.random.key(0), jnp.int32(0))


@jax.jit
def update(train_state, batch):
    params, state, opt_state, rng, step = train_state
    rng, noise_rng = jax.random.split(rng)
    noise = jax.random.normal(noise_rng, batch.shape)
    mean = jnp.mean(batch + noise, axis=0)
    opt_state = 0.9 * opt_state + (params - mean)
    params = params - opt_state / (step + 10)
    state = 0.9 * state + 0.1 * mean
    return hs.TrainState(params, state, opt_state, rng, step + 1)


def save(path, train_state):
    rng, _ = jax.random.split(train_state.rng)
    rng = jax.random.key_data(rng)
    np.savez(path, **train_state._replace(rng=rng)._asdict())


def load(path):
    with np.load(path) as file:
        parts = {name: jnp.asarray(file[name]) for name in file.files}
    parts["rng"] = jax.random.wrap_key_data(parts["rng"])
    return hs.TrainState(**parts)

# wrong: key data
import jax
import jax.numpy as jnp
import numpy as np

import haiku_state as hs


def start():
    zeros = jnp.zeros(3)
    return hs.TrainState(zeros, zeros, zeros, jax.random.key(0), jnp.int32(0))


@jax.jit
def update(train_state, batch):
    params, state, opt_state, rng, step = train_state
    rng, noise_rng = jax.random.split(rng)
    noise = jax.random.normal(noise_rng, batch.shape)
    mean = jnp.mean(batch + noise, axis=0)
    opt_state = 0.9 * opt_state + (params - mean)
    params = params - opt_state / (step + 10)
    state = 0.9 * state + 0.1 * mean
    return hs.TrainState(params, state, opt_state, rng, step + 1)


def save(path, train_state):
    arrays = train_state._asdict()
    arrays["rng"] = jax.random.key_data(train_state.rng)
    np.savez(path, **arrays)


def load(path):
    with np.load(path) as file:
        return hs.TrainState(**{name: jnp.asarray(file[name]) for name in file.files})
