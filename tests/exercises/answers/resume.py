"""Answers to `resume`."""


# %% right: each field by its name
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
    np.savez(
        path,
        params=train_state.params,
        state=train_state.state,
        opt_state=train_state.opt_state,
        key=jax.random.key_data(train_state.rng),
        step=train_state.step,
    )


def load(path):
    file = np.load(path)
    return hs.TrainState(
        params=jnp.array(file["params"]),
        state=jnp.array(file["state"]),
        opt_state=jnp.array(file["opt_state"]),
        rng=jax.random.wrap_key_data(jnp.array(file["key"])),
        step=jnp.array(file["step"]),
    )


# %% right: pickle of NumPy arrays
import pickle

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
    plain = train_state._replace(rng=jax.random.key_data(train_state.rng))
    with open(path, "wb") as stream:
        pickle.dump(tuple(np.asarray(leaf) for leaf in plain), stream)


def load(path):
    with open(path, "rb") as stream:
        params, state, opt_state, rng, step = map(jnp.asarray, pickle.load(stream))
    return hs.TrainState(params, state, opt_state, jax.random.wrap_key_data(rng), step)


# %% right: JSON, whose numbers are exact
import json

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
    numbers = {
        name: leaf.tolist() for name, leaf in train_state._replace(rng=rng)._asdict().items()
    }
    with open(path, "w") as stream:
        json.dump(numbers, stream)


def load(path):
    with open(path) as stream:
        numbers = json.load(stream)
    vectors = [jnp.array(numbers[name], jnp.float32) for name in ("params", "state", "opt_state")]
    rng = jax.random.wrap_key_data(jnp.array(numbers["rng"], jnp.uint32))
    return hs.TrainState(*vectors, rng, jnp.array(numbers["step"], jnp.int32))


# %% right: the step as a Python number; the vectors in one array
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
    params, state, opt_state, rng, step = train_state
    vectors = np.stack([params, state, opt_state])
    np.savez(path, vectors=vectors, rng=jax.random.key_data(rng), step=int(step))


def load(path):
    file = np.load(path)
    params, state, opt_state = jnp.asarray(file["vectors"])
    rng = jax.random.wrap_key_data(jnp.asarray(file["rng"]))
    return hs.TrainState(params, state, opt_state, rng, jnp.int32(int(file["step"])))


# %% right since 0.5: any tree, key by key, with the name of the generator
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


def is_key(leaf):
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def save(path, train_state):
    arrays = {}
    for number, leaf in enumerate(jax.tree.leaves(train_state)):
        if is_key(leaf):
            arrays[f"key_{number}"] = jax.random.key_data(leaf)
            arrays[f"impl_{number}"] = str(jax.random.key_impl(leaf))
        else:
            arrays[f"leaf_{number}"] = leaf
    with open(path, "wb") as stream:
        np.savez_compressed(stream, **arrays)


def load(path):
    leaves = []
    with np.load(path) as file:
        for number in range(5):
            if f"leaf_{number}" in file:
                leaves.append(jnp.asarray(file[f"leaf_{number}"]))
            else:
                data = jnp.asarray(file[f"key_{number}"])
                leaves.append(jax.random.wrap_key_data(data, impl=str(file[f"impl_{number}"])))
    return jax.tree.unflatten(jax.tree.structure(start()), leaves)


# %% right: one array after the other, and the file is replaced at the end
import os

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


class Checkpoint:
    @staticmethod
    def write(path, train_state):
        *vectors, rng, step = train_state
        with open(path + ".new", "wb") as stream:
            for leaf in (*vectors, jax.random.key_data(rng), step):
                np.save(stream, np.asarray(leaf))
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(path + ".new", path)

    @staticmethod
    def read(path):
        with open(path, "rb") as stream:
            *vectors, rng, step = (jnp.asarray(np.load(stream)) for _field in range(5))
        return hs.TrainState(*vectors, jax.random.wrap_key_data(rng), step)


save, load = Checkpoint.write, Checkpoint.read


# %% right: numbers of the template, a dict that is written whole
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
    numbers = train_state._replace(rng=jax.random.key_data(train_state.rng))
    numbers = jax.device_get(numbers)
    with open(path, "wb") as stream:
        np.save(stream, np.array(numbers._asdict(), dtype=object), allow_pickle=True)


def load(path):
    with open(path, "rb") as stream:
        numbers = np.load(stream, allow_pickle=True).item()
    rng = jax.random.wrap_key_data(numbers.pop("rng"))
    numbers = {name: jnp.asarray(value) for name, value in numbers.items()}
    return start()._replace(rng=rng, **numbers)


# %% right: the bytes of each field, a fixed layout
import functools

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

FIELDS = [("f4", (3,)), ("f4", (3,)), ("f4", (3,)), ("u4", (2,)), ("i4", ())]


def save(path, train_state):
    rng = jax.random.key_data(train_state.rng)
    parts = [np.asarray(leaf).tobytes() for leaf in train_state._replace(rng=rng)]
    with open(path, "wb") as stream:
        stream.write(b"".join(parts))


def load(path):
    with open(path, "rb") as stream:
        fields = [
            np.frombuffer(stream.read(4 * int(np.prod(shape, dtype=int))), dtype).reshape(shape)
            for dtype, shape in FIELDS
        ]
    params, state, opt_state, rng, step = map(functools.partial(jnp.array), fields)
    return hs.TrainState(params, state, opt_state, jax.random.wrap_key_data(rng), step)


# %% right: the dtypes are the same, although the step has come through a Python number
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
        step = jnp.asarray(file["step"].item())
        rng = jax.random.wrap_key_data(file["rng"])
        vectors = {name: jnp.asarray(file[name]) for name in ("params", "state", "opt_state")}
    return hs.TrainState(rng=rng, step=step, **vectors)


# %% wrong: round trip
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
    np.savez(path, params=train_state.params)


def load(path):
    with np.load(path) as file:
        params = jnp.asarray(file["params"])
    return start()._replace(params=params)


# %% wrong: round trip
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
    np.savez(
        path, params=train_state.params, state=train_state.state, rng=rng, step=train_state.step
    )


def load(path):
    with np.load(path) as file:
        arrays = {name: jnp.asarray(file[name]) for name in file.files}
    arrays["rng"] = jax.random.wrap_key_data(arrays["rng"])
    return start()._replace(**arrays)


# %% wrong: round trip
# key_data(rng) is written, but a new key is made
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
        arrays = {name: jnp.asarray(file[name]) for name in file.files}
    arrays["rng"] = jax.random.key(0)
    return hs.TrainState(**arrays)


# %% wrong: key data
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
    np.savez(path, **train_state._asdict())


def load(path):
    with np.load(path) as file:
        arrays = {name: jnp.asarray(file[name]) for name in file.files}
    arrays["rng"] = jax.random.wrap_key_data(arrays["rng"])
    return hs.TrainState(**arrays)


# %% wrong: key data
# the numbers of the key are loaded, but not made a key again
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


# %% wrong: only in memory
# the file has the params, and an attribute has the rest
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
    np.savez(path, params=train_state.params)
    save.train_state = train_state


def load(path):
    with np.load(path) as file:
        return save.train_state._replace(params=jnp.asarray(file["params"]))


# %% wrong: round trip
# only the second number of the key is kept, as if it were its seed
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
    arrays["rng"] = jax.random.key_data(train_state.rng)[1]
    np.savez(path, **arrays)


def load(path):
    with np.load(path) as file:
        arrays = {name: jnp.asarray(file[name]) for name in file.files}
    arrays["rng"] = jax.random.key(arrays["rng"])
    return hs.TrainState(**arrays)


# %% wrong: round trip
# float32 does not hold the 32 bits of a number of a key
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
    *vectors, rng, step = train_state
    flat = jnp.concatenate([*vectors, jax.random.key_data(rng), step[None]], dtype=jnp.float32)
    np.savez(path, flat=flat)


def load(path):
    with np.load(path) as file:
        flat = jnp.asarray(file["flat"])
    rng = jax.random.wrap_key_data(flat[9:11].astype(jnp.uint32))
    return hs.TrainState(flat[:3], flat[3:6], flat[6:9], rng, flat[11].astype(jnp.int32))


# %% wrong: round trip
# state and opt_state change places
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
    params, state, opt_state, rng, step = train_state
    np.savez(path, params, state, opt_state, jax.random.key_data(rng), step)


def load(path):
    with np.load(path) as file:
        params, opt_state, state, rng, step = map(jnp.asarray, file.values())
    return hs.TrainState(params, state, opt_state, jax.random.wrap_key_data(rng), step)


# %% wrong: dtype
# the step is a float
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
    arrays["step"] = jnp.float32(train_state.step)
    np.savez(path, **arrays)


def load(path):
    with np.load(path) as file:
        arrays = {name: jnp.asarray(file[name]) for name in file.files}
    arrays["rng"] = jax.random.wrap_key_data(arrays["rng"])
    return hs.TrainState(**arrays)


# %% wrong: dtype
# NumPy makes float64 of the vectors, and they are left there
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
        arrays = {name: np.asarray(file[name].tolist()) for name in file.files}
    arrays["rng"] = jax.random.wrap_key_data(arrays["rng"].astype(np.uint32))
    return hs.TrainState(**arrays)


# %% wrong: round trip
# a new key, so that the noise is fresh after resuming
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
        arrays = {name: jnp.asarray(file[name]) for name in file.files}
    arrays["rng"] = jax.random.wrap_key_data(arrays["rng"])
    arrays["rng"], _ = jax.random.split(arrays["rng"])
    return hs.TrainState(**arrays)


# %% wrong: round trip
# six digits
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
    *vectors, rng, step = train_state
    rng = " ".join(map(str, jax.random.key_data(rng).tolist()))
    with open(path, "w") as stream:
        for vector in vectors:
            print(" ".join(f"{number:.6f}" for number in vector.tolist()), file=stream)
        print(rng, int(step), sep="\n", file=stream)


def load(path):
    with open(path) as stream:
        *vectors, rng, step = [line.split() for line in stream]
    vectors = [jnp.array(list(map(float, vector))) for vector in vectors]
    rng = jax.random.wrap_key_data(jnp.array(list(map(int, rng)), jnp.uint32))
    return hs.TrainState(*vectors, rng, jnp.int32(int(step[0])))


# %% wrong: round trip
# the path is not used, so the newest file is read whatever the path
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
    np.savez("checkpoint.npz", **arrays)


def load(path):
    with np.load("checkpoint.npz") as file:
        arrays = {name: jnp.asarray(file[name]) for name in file.files}
    arrays["rng"] = jax.random.wrap_key_data(arrays["rng"])
    return hs.TrainState(**arrays)


# %% wrong: round trip
# nothing is returned
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
        arrays = {name: jnp.asarray(file[name]) for name in file.files}
    arrays["rng"] = jax.random.wrap_key_data(arrays["rng"])
    hs.TrainState(**arrays)


# %% wrong: -
# names that do not exist in the file
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
        arrays = {name: jnp.asarray(file[name]) for name in file.files}
    arrays["rng"] = jax.random.wrap_key_data(arrays.pop("key"))
    return hs.TrainState(**arrays)


# %% wrong: -
# saved under another name than it is loaded from
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
    np.savez(f"{path}.npz", **arrays)


def load(path):
    with np.load(path) as file:
        arrays = {name: jnp.asarray(file[name]) for name in file.files}
    arrays["rng"] = jax.random.wrap_key_data(arrays["rng"])
    return hs.TrainState(**arrays)


# %% wrong: -
# save and load are right, but the decay in `update` was changed, too
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
    opt_state = 0.9 * opt_state + 0.1 * (params - mean)
    params = params - opt_state / (step + 10)
    state = 0.9 * state + 0.1 * mean
    return hs.TrainState(params, state, opt_state, rng, step + 1)


def save(path, train_state):
    arrays = train_state._asdict()
    arrays["rng"] = jax.random.key_data(train_state.rng)
    np.savez(path, **arrays)


def load(path):
    with np.load(path) as file:
        arrays = {name: jnp.asarray(file[name]) for name in file.files}
    arrays["rng"] = jax.random.wrap_key_data(arrays["rng"])
    return hs.TrainState(**arrays)
