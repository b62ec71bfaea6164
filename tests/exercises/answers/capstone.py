# right: the train state is placed by this package
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
    train_state = hs.shard_train_state(train_state, mesh)
    return train_state, jax.device_put(batch, NamedSharding(mesh, P("data")))


def save(path, train_state):
    rng = jax.random.key_data(train_state.rng)
    np.savez(path, **train_state._replace(rng=rng)._asdict())


def load(path):
    with np.load(path) as file:
        parts = {name: jnp.asarray(file[name]) for name in file.files}
    parts["rng"] = jax.random.wrap_key_data(parts["rng"])
    return hs.TrainState(**parts)

# wrong: one bundle
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import haiku_state as hs


def start(rng):
    random, zeros = np.random.default_rng(0), jnp.zeros(3)
    w = jnp.float32(random.normal(size=3))
    rng, _ = jax.random.split(rng)
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
    return train_state, jax.device_put(batch, NamedSharding(mesh, P("data")))


def save(path, train_state):
    rng = jax.random.key_data(train_state.rng)
    np.savez(path, **train_state._replace(rng=rng)._asdict())


def load(path):
    with np.load(path) as file:
        parts = {name: jnp.asarray(file[name]) for name in file.files}
    parts["rng"] = jax.random.wrap_key_data(parts["rng"])
    return hs.TrainState(**parts)

# wrong: one bundle
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


random = np.random.default_rng(0)


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
    rng = jax.random.key_data(train_state.rng)
    np.savez(path, **train_state._replace(rng=rng)._asdict())


def load(path):
    with np.load(path) as file:
        parts = {name: jnp.asarray(file[name]) for name in file.files}
    parts["rng"] = jax.random.wrap_key_data(parts["rng"])
    return hs.TrainState(**parts)

# wrong: key reused
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
    noise_rng = rng
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
    rng = jax.random.key_data(train_state.rng)
    np.savez(path, **train_state._replace(rng=rng)._asdict())


def load(path):
    with np.load(path) as file:
        parts = {name: jnp.asarray(file[name]) for name in file.files}
    parts["rng"] = jax.random.wrap_key_data(parts["rng"])
    return hs.TrainState(**parts)

# wrong: all rows
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
    own = jnp.repeat(jnp.mean(x.reshape(4, -1, 3), axis=1), len(x) // 4, axis=0)

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
    rng = jax.random.key_data(train_state.rng)
    np.savez(path, **train_state._replace(rng=rng)._asdict())


def load(path):
    with np.load(path) as file:
        parts = {name: jnp.asarray(file[name]) for name in file.files}
    parts["rng"] = jax.random.wrap_key_data(parts["rng"])
    return hs.TrainState(**parts)

# wrong: dropped state
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
    return hs.TrainState(w, state, opt_state, rng, step + 1), {"loss": loss}


def place(mesh, train_state, batch):
    train_state = jax.device_put(train_state, NamedSharding(mesh, P()))
    return train_state, jax.device_put(batch, NamedSharding(mesh, P("data")))


def save(path, train_state):
    rng = jax.random.key_data(train_state.rng)
    np.savez(path, **train_state._replace(rng=rng)._asdict())


def load(path):
    with np.load(path) as file:
        parts = {name: jnp.asarray(file[name]) for name in file.files}
    parts["rng"] = jax.random.wrap_key_data(parts["rng"])
    return hs.TrainState(**parts)

# wrong: dropped state
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
    return hs.TrainState(w, state, opt_state, rng, step), {"loss": loss}


def place(mesh, train_state, batch):
    train_state = jax.device_put(train_state, NamedSharding(mesh, P()))
    return train_state, jax.device_put(batch, NamedSharding(mesh, P("data")))


def save(path, train_state):
    rng = jax.random.key_data(train_state.rng)
    np.savez(path, **train_state._replace(rng=rng)._asdict())


def load(path):
    with np.load(path) as file:
        parts = {name: jnp.asarray(file[name]) for name in file.files}
    parts["rng"] = jax.random.wrap_key_data(parts["rng"])
    return hs.TrainState(**parts)

# wrong: no collectives
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
    grads = jax.lax.pmean(grads, "data")
    opt_state = 0.9 * opt_state + grads
    w = w - opt_state / (10 + step)
    state = 0.9 * state + 0.1 * mean
    return hs.TrainState(w, state, opt_state, rng, step + 1), {"loss": loss}


def place(mesh, train_state, batch):
    train_state = jax.device_put(train_state, NamedSharding(mesh, P()))
    return train_state, jax.device_put(batch, NamedSharding(mesh, P("data")))


def save(path, train_state):
    rng = jax.random.key_data(train_state.rng)
    np.savez(path, **train_state._replace(rng=rng)._asdict())


def load(path):
    with np.load(path) as file:
        parts = {name: jnp.asarray(file[name]) for name in file.files}
    parts["rng"] = jax.random.wrap_key_data(parts["rng"])
    return hs.TrainState(**parts)

# wrong: layout
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
    rng = jax.random.key_data(train_state.rng)
    np.savez(path, **train_state._replace(rng=rng)._asdict())


def load(path):
    with np.load(path) as file:
        parts = {name: jnp.asarray(file[name]) for name in file.files}
    parts["rng"] = jax.random.wrap_key_data(parts["rng"])
    return hs.TrainState(**parts)

# wrong: layout
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
    batch = jax.tree.map(lambda x: x.reshape(4, -1, *x.shape[1:]), batch)
    train_state = jax.device_put(train_state, NamedSharding(mesh, P()))
    return train_state, jax.device_put(batch, NamedSharding(mesh, P("data")))


def save(path, train_state):
    rng = jax.random.key_data(train_state.rng)
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
    return train_state, jax.device_put(batch, NamedSharding(mesh, P("data")))


def save(path, train_state):
    rng = train_state.rng
    np.savez(path, **train_state._replace(rng=rng)._asdict())


def load(path):
    with np.load(path) as file:
        parts = {name: jnp.asarray(file[name]) for name in file.files}
    parts["rng"] = jax.random.wrap_key_data(parts["rng"])
    return hs.TrainState(**parts)

# wrong: round trip
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
    return train_state, jax.device_put(batch, NamedSharding(mesh, P("data")))


def save(path, train_state):
    rng = jax.random.key_data(train_state.rng)
    np.savez(path, **train_state._replace(rng=rng)._asdict())


def load(path):
    with np.load(path) as file:
        parts = {name: jnp.asarray(file[name]) for name in file.files}
    parts["rng"] = jax.random.wrap_key_data(parts["rng"])
    return start(parts["rng"])._replace(params=parts["params"])

# wrong: only in memory
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
    return train_state, jax.device_put(batch, NamedSharding(mesh, P("data")))


saved = {}


def save(path, train_state):
    rng = jax.random.key_data(train_state.rng)
    saved[path] = train_state
    np.savez(path, **train_state._replace(rng=rng)._asdict())


def load(path):
    if path in saved:
        return saved[path]
    with np.load(path) as file:
        parts = {name: jnp.asarray(file[name]) for name in ("params", "step", "rng")}
    parts["rng"] = jax.random.wrap_key_data(parts["rng"])
    zeros = jnp.zeros(3)
    return hs.TrainState(state=zeros, opt_state=zeros, **parts)

# wrong: layout
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
    x = jax.device_put(batch["x"], NamedSharding(mesh, P("data")))
    return train_state, {"x": x, "y": jax.device_put(batch["y"], NamedSharding(mesh, P()))}


def save(path, train_state):
    rng = jax.random.key_data(train_state.rng)
    np.savez(path, **train_state._replace(rng=rng)._asdict())


def load(path):
    with np.load(path) as file:
        parts = {name: jnp.asarray(file[name]) for name in file.files}
    parts["rng"] = jax.random.wrap_key_data(parts["rng"])
    return hs.TrainState(**parts)

# wrong: layout
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
    params = jax.device_put(train_state.params, NamedSharding(mesh, P()))
    train_state = train_state._replace(params=params)
    return train_state, jax.device_put(batch, NamedSharding(mesh, P("data")))


def save(path, train_state):
    rng = jax.random.key_data(train_state.rng)
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
    return train_state, jax.device_put(batch, NamedSharding(mesh, P("data")))


def save(path, train_state):
    rng = jax.random.key_data(train_state.rng)
    np.savez(path, **train_state._replace(rng=rng)._asdict())


def load(path):
    with np.load(path) as file:
        parts = {name: jnp.asarray(file[name]) for name in file.files}
    return hs.TrainState(**parts)
