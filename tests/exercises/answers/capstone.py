"""Answers to `capstone`."""


# %% right: the gradient by hand, update is compiled, pickle
import pickle

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import haiku_state as hs


def start(key):
    keep, draw = jax.random.split(key)
    return hs.TrainState(
        params=jax.random.normal(draw, shape=[3]),
        state=jnp.zeros((3,), jnp.float32),
        opt_state=jnp.zeros((3,), jnp.float32),
        rng=keep,
        step=jnp.zeros((), jnp.int32),
    )


@jax.jit
def update(train_state, batch):
    keep, draw = jax.random.split(train_state.rng)
    x, y = batch["x"], batch["y"]
    x = x + jax.random.normal(draw, x.shape) * 0.1
    mean = x.sum(axis=0) / len(x)
    centered = x - mean
    error = centered @ train_state.params - y
    velocity = 0.9 * train_state.opt_state + 2 * error @ centered / len(x)
    rate = 1 / (10 + train_state.step)
    new = train_state._replace(
        params=train_state.params - rate * velocity,
        state=0.9 * train_state.state + 0.1 * mean,
        opt_state=velocity,
        rng=keep,
        step=train_state.step + 1,
    )
    return new, dict(loss=jnp.mean(error**2))


def place(mesh, train_state, batch):
    copies, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
    return jax.device_put((train_state, batch), (copies, rows))


def save(path, train_state):
    plain = train_state._replace(rng=jax.random.key_data(train_state.rng))
    with open(path, "wb") as stream:
        pickle.dump(jax.tree.map(np.asarray, tuple(plain)), stream)


def load(path):
    with open(path, "rb") as stream:
        w, mean, velocity, rng, step = map(jnp.asarray, pickle.load(stream))
    return hs.TrainState(w, mean, velocity, jax.random.wrap_key_data(rng), step)


# %% right: a class with static methods, leaf by leaf
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import haiku_state as hs


class Trainer:
    """The old trainer without anything to remember."""

    momentum, noise = 0.9, 0.1

    @staticmethod
    def start(rng):
        rngs = jax.random.split(rng, 2)
        zeros = jnp.zeros(3)
        return hs.TrainState(jax.random.normal(rngs[1], (3,)), zeros, zeros, rngs[0], jnp.int32(0))

    @staticmethod
    def loss(w, x, y):
        return jnp.mean(jnp.square((x - x.mean(0)) @ w - y))

    @classmethod
    def update(cls, train_state, batch):
        w, mean, velocity, rng, step = train_state
        rng, noise_rng = jax.random.split(rng)
        noise = jax.random.normal(noise_rng, batch["x"].shape)
        x, y = batch["x"] + cls.noise * noise, batch["y"]
        loss, grads = jax.value_and_grad(cls.loss)(w, x, y)
        velocity = cls.momentum * velocity + grads
        w = w - 1 / (10 + step) * velocity
        mean = mean + 0.1 * (jnp.mean(x, axis=0) - mean)
        return hs.TrainState(w, mean, velocity, rng, step + 1), {"loss": loss}

    @staticmethod
    def place(mesh, train_state, batch):
        def put(leaf, spec):
            return jax.device_put(leaf, NamedSharding(mesh, spec))

        copy = functools.partial(put, spec=P())
        cut = functools.partial(put, spec=P("data"))
        return jax.tree.map(copy, train_state), jax.tree.map(cut, batch)


start, update, place = Trainer.start, Trainer.update, Trainer.place


def save(path, train_state):
    *vectors, rng, step = train_state
    np.savez(path, *vectors, jax.random.key_data(rng), step)


def load(path):
    with np.load(path) as file:
        w, mean, velocity, rng, step = (jnp.array(file[f"arr_{number}"]) for number in range(5))
    return hs.TrainState(w, mean, velocity, jax.random.wrap_key_data(rng), step)


# %% right: optax does the momentum, and this package places the train state
import optax
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import haiku_state as hs


def start(rng):
    rng, init_rng = jax.random.split(rng)
    w, zeros = jax.random.normal(init_rng, (3,)), jnp.zeros(3)
    return hs.TrainState(w, zeros, zeros, rng, jnp.int32(0))


trace = optax.trace(0.9)


def noisy(rng, x):
    return x + 0.1 * jax.random.normal(rng, x.shape)


def loss_and_mean(w, x, y):
    mean = jnp.mean(x, axis=0)
    losses = jax.vmap(lambda x, y: jnp.square(jnp.dot(x - mean, w) - y))(x, y)
    return losses.mean(), mean


def update(train_state, batch):
    rng, noise_rng = jax.random.split(train_state.rng)
    x = noisy(noise_rng, batch["x"])
    grad_fn = jax.value_and_grad(loss_and_mean, has_aux=True)
    (loss, mean), grads = grad_fn(train_state.params, x, batch["y"])
    velocity, _ = trace.update(grads, optax.TraceState(train_state.opt_state))
    rate = 1.0 / (10.0 + train_state.step)
    w = jax.tree.map(lambda p, v: p - rate * v, train_state.params, velocity)
    state = 0.9 * train_state.state + 0.1 * mean
    return hs.TrainState(w, state, velocity, rng, train_state.step + 1), {"loss": loss}


def place(mesh, train_state, batch):
    rows = NamedSharding(mesh, P(*mesh.axis_names))
    return hs.shard_train_state(train_state, mesh), jax.device_put(batch, rows)


def save(path, train_state):
    arrays = train_state._asdict()
    arrays["rng"] = jax.random.key_data(train_state.rng)
    np.savez(path, **arrays)


def load(path):
    with np.load(path) as file:
        arrays = {name: jnp.asarray(file[name]) for name in file.files}
    arrays["rng"] = jax.random.wrap_key_data(arrays["rng"])
    return hs.TrainState(**arrays)


# %% right: JSON, a NamedTuple for what is placed, lambdas
import json
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import haiku_state as hs


def start(rng):
    rng, init_rng = jax.random.split(rng)
    w, zeros = jax.random.normal(init_rng, (3,)), jnp.zeros(3)
    return hs.TrainState(w, zeros, zeros, rng, jnp.int32(0))


def update(train_state, batch):
    w, state, opt_state, rng, step = train_state
    rng, noise_rng = jax.random.split(rng)
    x = batch["x"] + 0.1 * jax.random.normal(noise_rng, batch["x"].shape)
    mean = jnp.mean(x, axis=0)

    def loss_fn(w):
        return jnp.mean(jnp.square((x - mean) @ w - batch["y"]))

    loss, grads = jax.value_and_grad(loss_fn)(w)
    opt_state = 0.9 * opt_state + grads
    w = w - opt_state / (10 + step)
    state = 0.9 * state + 0.1 * mean
    return hs.TrainState(w, state, opt_state, rng, step + 1), {"loss": loss}


class Placed(NamedTuple):
    train_state: Any
    batch: Any


on = lambda mesh, *spec: NamedSharding(mesh, P(*spec))
place = lambda mesh, train_state, batch: Placed(
    jax.device_put(train_state, on(mesh)),
    {name: jax.device_put(leaf, on(mesh, "data")) for name, leaf in batch.items()},
)


def save(path, train_state):
    plain = train_state._replace(rng=jax.random.key_data(train_state.rng))
    with open(path, "w") as stream:
        json.dump([leaf.tolist() for leaf in plain], stream)


def load(path):
    with open(path) as stream:
        *vectors, rng, step = json.load(stream)
    vectors = (jnp.array(vector, jnp.float32) for vector in vectors)
    rng = jax.random.wrap_key_data(np.array(rng, np.uint32))
    return hs.TrainState(*vectors, rng, jnp.array(step, jnp.int32))


# %% right: the compiled part has its own helper, vjp, and fields of arrays by position
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import haiku_state as hs


def start(rng):
    rng, init_rng = jax.random.split(rng)
    w, zeros = jax.random.normal(init_rng, (3,)), jnp.zeros(3)
    return hs.TrainState(w, zeros, zeros, rng, jnp.int32(0))


@jax.jit
def _gradient(w, x, y):
    def loss_fn(w):
        centered = x - jnp.mean(x, axis=0, keepdims=True)
        return jnp.square(jnp.einsum("ij,j->i", centered, w) - y).mean()

    loss, pull = jax.vjp(loss_fn, w)
    return loss, pull(jnp.ones_like(loss))[0]


def update(train_state, batch):
    rng, noise_rng = tuple(jax.random.split(train_state.rng))
    x = batch["x"] + 0.1 * jax.random.normal(noise_rng, batch["x"].shape)
    loss, grads = _gradient(train_state.params, x, batch["y"])
    velocity = 0.9 * train_state.opt_state + grads
    w = train_state.params - velocity / (train_state.step + 10)
    mean = 0.9 * train_state.state + 0.1 * jnp.mean(x, axis=0)
    next_state = hs.TrainState(w, mean, velocity, rng, train_state.step + 1)
    metrics = {"loss": loss}
    return next_state, metrics


def place(mesh, train_state, batch):
    shardings = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
    return jax.jit(lambda *both: both, out_shardings=shardings)(train_state, batch)


def save(path, train_state):
    with open(path, "wb") as stream:
        np.savez_compressed(
            stream,
            w=np.asarray(train_state.params),
            mean=np.asarray(train_state.state),
            velocity=np.asarray(train_state.opt_state),
            key=np.asarray(jax.random.key_data(train_state.rng)),
            steps=np.asarray(train_state.step),
        )


def load(path):
    file = np.load(path)
    key = jax.random.wrap_key_data(jnp.asarray(file["key"]))
    vectors = [jnp.asarray(file[name]) for name in ("w", "mean", "velocity")]
    return hs.TrainState(*vectors, rng=key, step=jnp.asarray(file["steps"]))


# %% right: the rows get their means as sums, place makes each shard
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import haiku_state as hs


def start(rng):
    rng, init_rng = jax.random.split(rng)
    w, zeros = jax.random.normal(init_rng, (3,)), jnp.zeros(3)
    return hs.TrainState(w, zeros, zeros, rng, jnp.int32(0))


def mean_of_rows(rows):
    return jnp.einsum("i...->...", rows) / rows.shape[0]


def update(train_state, batch):
    params, state, opt_state, rng, step = train_state
    rng, noise_rng = jax.random.split(rng)
    x = batch["x"] + 0.1 * jax.random.normal(noise_rng, batch["x"].shape)
    batch_mean = mean_of_rows(x)

    def loss_fn(w):
        return mean_of_rows(jnp.square((x - batch_mean) @ w - batch["y"]))

    loss, grads = loss_fn(params), jax.grad(loss_fn)(params)
    new_opt_state = opt_state * 0.9 + grads
    new = (
        params - new_opt_state / (10 + step),
        0.9 * state + 0.1 * batch_mean,
        new_opt_state,
        rng,
        step + jnp.int32(1),
    )
    return hs.TrainState(*new), {"loss": loss}


def place(mesh, train_state, batch):
    def cut(leaf):
        sharding = NamedSharding(mesh, P("data"))
        return jax.make_array_from_callback(leaf.shape, sharding, lambda index: leaf[index])

    return jax.device_put(train_state, NamedSharding(mesh, P())), jax.tree.map(cut, batch)


def save(path, train_state):
    arrays = train_state._asdict()
    arrays["rng"] = jax.random.key_data(train_state.rng)
    np.savez(path, **arrays)


def load(path):
    with np.load(path) as file:
        arrays = {name: jnp.asarray(file[name]) for name in file.files}
    arrays["rng"] = jax.random.wrap_key_data(arrays["rng"])
    return hs.TrainState(**arrays)


# %% wrong: one bundle | mutation | hidden input | not repeatable | jit differs
# the number of steps is a global, as in the old trainer, and jit reads it once
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import haiku_state as hs

steps = 0


def start(rng):
    rng, init_rng = jax.random.split(rng)
    w, zeros = jax.random.normal(init_rng, (3,)), jnp.zeros(3)
    return hs.TrainState(w, zeros, zeros, rng, jnp.int32(0))


def update(train_state, batch):
    global steps
    w, state, opt_state, rng, step = train_state
    rng, noise_rng = jax.random.split(rng)
    x = batch["x"] + 0.1 * jax.random.normal(noise_rng, batch["x"].shape)
    mean = jnp.mean(x, axis=0)

    def loss_fn(w):
        return jnp.mean(jnp.square((x - mean) @ w - batch["y"]))

    loss, grads = jax.value_and_grad(loss_fn)(w)
    opt_state = 0.9 * opt_state + grads
    w = w - opt_state / (10 + steps)
    state = 0.9 * state + 0.1 * mean
    steps += 1
    return hs.TrainState(w, state, opt_state, rng, step + 1), {"loss": loss}


def place(mesh, train_state, batch):
    train_state = jax.device_put(train_state, NamedSharding(mesh, P()))
    return train_state, jax.device_put(batch, NamedSharding(mesh, P("data")))


def save(path, train_state):
    arrays = train_state._asdict()
    arrays["rng"] = jax.random.key_data(train_state.rng)
    np.savez(path, **arrays)


def load(path):
    with np.load(path) as file:
        arrays = {name: jnp.asarray(file[name]) for name in file.files}
    arrays["rng"] = jax.random.wrap_key_data(arrays["rng"])
    return hs.TrainState(**arrays)


# %% wrong: -
# w is drawn with NumPy from the numbers of the key
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import haiku_state as hs


def start(rng):
    rng, init_rng = jax.random.split(rng)
    w, zeros = _drawn(init_rng), jnp.zeros(3)
    return hs.TrainState(w, zeros, zeros, rng, jnp.int32(0))


def _drawn(key):
    seed = np.asarray(jax.random.key_data(key))
    return jnp.float32(np.random.default_rng(seed).normal(size=3))


def update(train_state, batch):
    w, state, opt_state, rng, step = train_state
    rng, noise_rng = jax.random.split(rng)
    x = batch["x"] + 0.1 * jax.random.normal(noise_rng, batch["x"].shape)
    mean = jnp.mean(x, axis=0)

    def loss_fn(w):
        return jnp.mean(jnp.square((x - mean) @ w - batch["y"]))

    loss, grads = jax.value_and_grad(loss_fn)(w)
    opt_state = 0.9 * opt_state + grads
    w = w - opt_state / (10 + step)
    state = 0.9 * state + 0.1 * mean
    return hs.TrainState(w, state, opt_state, rng, step + 1), {"loss": loss}


def place(mesh, train_state, batch):
    train_state = jax.device_put(train_state, NamedSharding(mesh, P()))
    return train_state, jax.device_put(batch, NamedSharding(mesh, P("data")))


def save(path, train_state):
    arrays = train_state._asdict()
    arrays["rng"] = jax.random.key_data(train_state.rng)
    np.savez(path, **arrays)


def load(path):
    with np.load(path) as file:
        arrays = {name: jnp.asarray(file[name]) for name in file.files}
    arrays["rng"] = jax.random.wrap_key_data(arrays["rng"])
    return hs.TrainState(**arrays)


# %% wrong: one bundle | hidden input | not repeatable | jit differs
# NumPy's generator remembers where it is
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import haiku_state as hs

random = np.random.default_rng(0)


def start(rng):
    rng, init_rng = jax.random.split(rng)
    w, zeros = jax.random.normal(init_rng, (3,)), jnp.zeros(3)
    return hs.TrainState(w, zeros, zeros, rng, jnp.int32(0))


def update(train_state, batch):
    w, state, opt_state, rng, step = train_state
    rng, noise_rng = jax.random.split(rng)
    x = batch["x"] + 0.1 * np.float32(random.normal(size=batch["x"].shape))
    mean = jnp.mean(x, axis=0)

    def loss_fn(w):
        return jnp.mean(jnp.square((x - mean) @ w - batch["y"]))

    loss, grads = jax.value_and_grad(loss_fn)(w)
    opt_state = 0.9 * opt_state + grads
    w = w - opt_state / (10 + step)
    state = 0.9 * state + 0.1 * mean
    return hs.TrainState(w, state, opt_state, rng, step + 1), {"loss": loss}


def place(mesh, train_state, batch):
    train_state = jax.device_put(train_state, NamedSharding(mesh, P()))
    return train_state, jax.device_put(batch, NamedSharding(mesh, P("data")))


def save(path, train_state):
    arrays = train_state._asdict()
    arrays["rng"] = jax.random.key_data(train_state.rng)
    np.savez(path, **arrays)


def load(path):
    with np.load(path) as file:
        arrays = {name: jnp.asarray(file[name]) for name in file.files}
    arrays["rng"] = jax.random.wrap_key_data(arrays["rng"])
    return hs.TrainState(**arrays)


# %% wrong: all rows
# each row is centered by the mean of its quarter of the batch
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import haiku_state as hs


def start(rng):
    rng, init_rng = jax.random.split(rng)
    w, zeros = jax.random.normal(init_rng, (3,)), jnp.zeros(3)
    return hs.TrainState(w, zeros, zeros, rng, jnp.int32(0))


def update(train_state, batch):
    w, state, opt_state, rng, step = train_state
    rng, noise_rng = jax.random.split(rng)
    x = batch["x"] + 0.1 * jax.random.normal(noise_rng, batch["x"].shape)
    means = x.reshape(4, -1, 3).mean(axis=1)
    own = jnp.repeat(means, len(x) // 4, axis=0)
    mean = jnp.mean(means, axis=0)

    def loss_fn(w):
        return jnp.mean(jnp.square((x - own) @ w - batch["y"]))

    loss, grads = jax.value_and_grad(loss_fn)(w)
    opt_state = 0.9 * opt_state + grads
    w = w - opt_state / (10 + step)
    state = 0.9 * state + 0.1 * mean
    return hs.TrainState(w, state, opt_state, rng, step + 1), {"loss": loss}


def place(mesh, train_state, batch):
    train_state = jax.device_put(train_state, NamedSharding(mesh, P()))
    return train_state, jax.device_put(batch, NamedSharding(mesh, P("data")))


def save(path, train_state):
    arrays = train_state._asdict()
    arrays["rng"] = jax.random.key_data(train_state.rng)
    np.savez(path, **arrays)


def load(path):
    with np.load(path) as file:
        arrays = {name: jnp.asarray(file[name]) for name in file.files}
    arrays["rng"] = jax.random.wrap_key_data(arrays["rng"])
    return hs.TrainState(**arrays)


# %% wrong: key reused
# the noise is drawn from the key that is split afterwards
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import haiku_state as hs


def start(rng):
    rng, init_rng = jax.random.split(rng)
    w, zeros = jax.random.normal(init_rng, (3,)), jnp.zeros(3)
    return hs.TrainState(w, zeros, zeros, rng, jnp.int32(0))


def update(train_state, batch):
    w, state, opt_state, rng, step = train_state
    x = batch["x"] + 0.1 * jax.random.normal(rng, batch["x"].shape)
    rng, _ = jax.random.split(rng)
    mean = jnp.mean(x, axis=0)

    def loss_fn(w):
        return jnp.mean(jnp.square((x - mean) @ w - batch["y"]))

    loss, grads = jax.value_and_grad(loss_fn)(w)
    opt_state = 0.9 * opt_state + grads
    w = w - opt_state / (10 + step)
    state = 0.9 * state + 0.1 * mean
    return hs.TrainState(w, state, opt_state, rng, step + 1), {"loss": loss}


def place(mesh, train_state, batch):
    train_state = jax.device_put(train_state, NamedSharding(mesh, P()))
    return train_state, jax.device_put(batch, NamedSharding(mesh, P("data")))


def save(path, train_state):
    arrays = train_state._asdict()
    arrays["rng"] = jax.random.key_data(train_state.rng)
    np.savez(path, **arrays)


def load(path):
    with np.load(path) as file:
        arrays = {name: jnp.asarray(file[name]) for name in file.files}
    arrays["rng"] = jax.random.wrap_key_data(arrays["rng"])
    return hs.TrainState(**arrays)


# %% wrong: dropped state
# the velocity is used, but the old one is passed on
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import haiku_state as hs


def start(rng):
    rng, init_rng = jax.random.split(rng)
    w, zeros = jax.random.normal(init_rng, (3,)), jnp.zeros(3)
    return hs.TrainState(w, zeros, zeros, rng, jnp.int32(0))


def update(train_state, batch):
    w, state, opt_state, rng, step = train_state
    rng, noise_rng = jax.random.split(rng)
    x = batch["x"] + 0.1 * jax.random.normal(noise_rng, batch["x"].shape)
    mean = jnp.mean(x, axis=0)

    def loss_fn(w):
        return jnp.mean(jnp.square((x - mean) @ w - batch["y"]))

    loss, grads = jax.value_and_grad(loss_fn)(w)
    velocity = 0.9 * opt_state + grads
    w = w - velocity / (10 + step)
    state = 0.9 * state + 0.1 * mean
    return hs.TrainState(w, state, opt_state, rng, step + 1), {"loss": loss}


def place(mesh, train_state, batch):
    train_state = jax.device_put(train_state, NamedSharding(mesh, P()))
    return train_state, jax.device_put(batch, NamedSharding(mesh, P("data")))


def save(path, train_state):
    arrays = train_state._asdict()
    arrays["rng"] = jax.random.key_data(train_state.rng)
    np.savez(path, **arrays)


def load(path):
    with np.load(path) as file:
        arrays = {name: jnp.asarray(file[name]) for name in file.files}
    arrays["rng"] = jax.random.wrap_key_data(arrays["rng"])
    return hs.TrainState(**arrays)


# %% wrong: unbound axis
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import haiku_state as hs


def start(rng):
    rng, init_rng = jax.random.split(rng)
    w, zeros = jax.random.normal(init_rng, (3,)), jnp.zeros(3)
    return hs.TrainState(w, zeros, zeros, rng, jnp.int32(0))


def update(train_state, batch):
    w, state, opt_state, rng, step = train_state
    rng, noise_rng = jax.random.split(rng)
    x = batch["x"] + 0.1 * jax.random.normal(noise_rng, batch["x"].shape)
    mean = jnp.mean(x, axis=0)

    def loss_fn(w):
        return jnp.mean(jnp.square((x - mean) @ w - batch["y"]))

    loss, grads = jax.value_and_grad(loss_fn)(w)
    grads, loss = jax.lax.pmean((grads, loss), "data")
    opt_state = 0.9 * opt_state + grads
    w = w - opt_state / (10 + step)
    state = 0.9 * state + 0.1 * mean
    return hs.TrainState(w, state, opt_state, rng, step + 1), {"loss": loss}


def place(mesh, train_state, batch):
    train_state = jax.device_put(train_state, NamedSharding(mesh, P()))
    return train_state, jax.device_put(batch, NamedSharding(mesh, P("data")))


def save(path, train_state):
    arrays = train_state._asdict()
    arrays["rng"] = jax.random.key_data(train_state.rng)
    np.savez(path, **arrays)


def load(path):
    with np.load(path) as file:
        arrays = {name: jnp.asarray(file[name]) for name in file.files}
    arrays["rng"] = jax.random.wrap_key_data(arrays["rng"])
    return hs.TrainState(**arrays)


# %% wrong: layout
# every device gets all rows
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import haiku_state as hs


def start(rng):
    rng, init_rng = jax.random.split(rng)
    w, zeros = jax.random.normal(init_rng, (3,)), jnp.zeros(3)
    return hs.TrainState(w, zeros, zeros, rng, jnp.int32(0))


def update(train_state, batch):
    w, state, opt_state, rng, step = train_state
    rng, noise_rng = jax.random.split(rng)
    x = batch["x"] + 0.1 * jax.random.normal(noise_rng, batch["x"].shape)
    mean = jnp.mean(x, axis=0)

    def loss_fn(w):
        return jnp.mean(jnp.square((x - mean) @ w - batch["y"]))

    loss, grads = jax.value_and_grad(loss_fn)(w)
    opt_state = 0.9 * opt_state + grads
    w = w - opt_state / (10 + step)
    state = 0.9 * state + 0.1 * mean
    return hs.TrainState(w, state, opt_state, rng, step + 1), {"loss": loss}


def place(mesh, train_state, batch):
    train_state = jax.device_put(train_state, NamedSharding(mesh, P()))
    return train_state, jax.device_put(batch, NamedSharding(mesh, P()))


def save(path, train_state):
    arrays = train_state._asdict()
    arrays["rng"] = jax.random.key_data(train_state.rng)
    np.savez(path, **arrays)


def load(path):
    with np.load(path) as file:
        arrays = {name: jnp.asarray(file[name]) for name in file.files}
    arrays["rng"] = jax.random.wrap_key_data(arrays["rng"])
    return hs.TrainState(**arrays)


# %% wrong: -
# the step size uses the number of steps after this one
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import haiku_state as hs


def start(rng):
    rng, init_rng = jax.random.split(rng)
    w, zeros = jax.random.normal(init_rng, (3,)), jnp.zeros(3)
    return hs.TrainState(w, zeros, zeros, rng, jnp.int32(0))


def update(train_state, batch):
    w, state, opt_state, rng, step = train_state
    rng, noise_rng = jax.random.split(rng)
    x = batch["x"] + 0.1 * jax.random.normal(noise_rng, batch["x"].shape)
    mean = jnp.mean(x, axis=0)

    def loss_fn(w):
        return jnp.mean(jnp.square((x - mean) @ w - batch["y"]))

    loss, grads = jax.value_and_grad(loss_fn)(w)
    opt_state = 0.9 * opt_state + grads
    w = w - opt_state / (11 + step)
    state = 0.9 * state + 0.1 * mean
    return hs.TrainState(w, state, opt_state, rng, step + 1), {"loss": loss}


def place(mesh, train_state, batch):
    train_state = jax.device_put(train_state, NamedSharding(mesh, P()))
    return train_state, jax.device_put(batch, NamedSharding(mesh, P("data")))


def save(path, train_state):
    arrays = train_state._asdict()
    arrays["rng"] = jax.random.key_data(train_state.rng)
    np.savez(path, **arrays)


def load(path):
    with np.load(path) as file:
        arrays = {name: jnp.asarray(file[name]) for name in file.files}
    arrays["rng"] = jax.random.wrap_key_data(arrays["rng"])
    return hs.TrainState(**arrays)


# %% wrong: -
# both parts of the key change places in `update`
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import haiku_state as hs


def start(rng):
    rng, init_rng = jax.random.split(rng)
    w, zeros = jax.random.normal(init_rng, (3,)), jnp.zeros(3)
    return hs.TrainState(w, zeros, zeros, rng, jnp.int32(0))


def update(train_state, batch):
    w, state, opt_state, rng, step = train_state
    noise_rng, rng = jax.random.split(rng)
    x = batch["x"] + 0.1 * jax.random.normal(noise_rng, batch["x"].shape)
    mean = jnp.mean(x, axis=0)

    def loss_fn(w):
        return jnp.mean(jnp.square((x - mean) @ w - batch["y"]))

    loss, grads = jax.value_and_grad(loss_fn)(w)
    opt_state = 0.9 * opt_state + grads
    w = w - opt_state / (10 + step)
    state = 0.9 * state + 0.1 * mean
    return hs.TrainState(w, state, opt_state, rng, step + 1), {"loss": loss}


def place(mesh, train_state, batch):
    train_state = jax.device_put(train_state, NamedSharding(mesh, P()))
    return train_state, jax.device_put(batch, NamedSharding(mesh, P("data")))


def save(path, train_state):
    arrays = train_state._asdict()
    arrays["rng"] = jax.random.key_data(train_state.rng)
    np.savez(path, **arrays)


def load(path):
    with np.load(path) as file:
        arrays = {name: jnp.asarray(file[name]) for name in file.files}
    arrays["rng"] = jax.random.wrap_key_data(arrays["rng"])
    return hs.TrainState(**arrays)


# %% wrong: -
# unchanged
# This trainer was inherited. It runs on four devices, but nobody can resume it
# or get the same numbers twice.
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import haiku_state as hs

steps = 0


class Trainer:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.w = np.float32(self.random.normal(size=3))
        self.velocity = np.zeros(3, np.float32)
        self.mean = np.zeros((4, 3), np.float32)
        over = {"in_axes": (0, 0, 0, None, None), "out_axes": (0, None, None)}
        self.parallel = jax.pmap(self.work, axis_name="data", **over)

    def work(self, mean, x, y, w, rate):
        batch_mean = jnp.mean(x, axis=0)

        def loss_fn(w):
            return jnp.mean(jnp.square((x - batch_mean) @ w - y))

        loss, grads = jax.value_and_grad(loss_fn)(w)
        grads, loss = jax.lax.pmean((grads, loss), "data")
        return 0.9 * mean + 0.1 * batch_mean, grads, loss

    def train(self, x, y):
        global steps
        x = x + 0.1 * np.float32(self.random.normal(size=x.shape))
        x, y = x.reshape(4, -1, 3), y.reshape(4, -1)
        rate = 1 / (10 + steps)
        results = self.parallel(self.mean, x, y, self.w, rate)
        self.mean, grads, loss = results
        self.velocity = 0.9 * self.velocity + grads
        self.w = self.w - rate * self.velocity
        steps += 1
        return float(loss)

    def save(self, path):
        np.savez(path, w=self.w)


def start(rng):
    # Return the train state of step 0.
    return None


def update(train_state, batch):
    # Return the next train state and a dict with the loss.
    return None


def place(mesh, train_state, batch):
    # Return the train state and the batch, laid out on the mesh.
    return None


def save(path, train_state):
    # Write the train state to a file.
    return None


def load(path):
    # Return the train state that was saved.
    return None
