"""Capstone: an inherited trainer

capstone, hard, 30 min, update/checkpoints#why-this-belongs-in-a-course-on-state

Replace `Trainer` with three functions. The train state is an `hs.TrainState`: the params are `w`,
the state is `mean` of shape `(3,)`, and the `opt_state` is `velocity`. The numbers must be the same
as in the old trainer, except for two things: noise is drawn from keys, and every mean over rows is
a mean over all rows of the batch.

`start(rng)` returns the first train state. It splits the key with `jax.random.split(rng)`: the
first part goes into the train state, and `jax.random.normal` draws `w` from the second part.

`update(train_state, batch)` returns the next train state and `{'loss': …}`. A batch is a dict of
`x` and `y`. The function splits the key in the same way and draws the noise from the second part.
The step size `1 / (10 + step)` uses the number of steps before this one.

`place(mesh, train_state, batch)` returns the train state and the batch, laid out for
`jax.jit(update)` on a mesh of four devices with the axis `data`.

The checks follow the order of the functions, so you can write one function after the other. The
last check saves a run, starts the program again, and resumes. For this, `save` and `load` are given.

- Which five things does the old trainer remember from step to step, and where?
- Begin with `start` and `update`: move the body of `train` and of `work` into one function, and
  replace each `self.…` with its field. `place` needs no `reshape`, and `update` needs no `pmean`.
- `update` begins with `w, state, opt_state, rng, step = train_state` and `rng, noise_rng =
  jax.random.split(rng)`. It ends with `return hs.TrainState(w, state, opt_state, rng, step + 1),
  {'loss': loss}`. The specs in `place` are `P()` and `P('data')`.
"""

# %%
# This trainer was inherited. It runs on four devices, but nobody can resume it
# or get the same numbers twice.
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import haiku_state as hs

#: steps = 0
#:
#:
#: class Trainer:
#:     def __init__(self, seed):
#:         self.random = np.random.default_rng(seed)
#:         self.w = np.float32(self.random.normal(size=3))
#:         self.velocity = np.zeros(3, np.float32)
#:         self.mean = np.zeros((4, 3), np.float32)
#:         over = {"in_axes": (0, 0, 0, None, None), "out_axes": (0, None, None)}
#:         self.parallel = jax.pmap(self.work, axis_name="data", **over)
#:
#:     def work(self, mean, x, y, w, rate):
#:         batch_mean = jnp.mean(x, axis=0)
#:
#:         def loss_fn(w):
#:             return jnp.mean(jnp.square((x - batch_mean) @ w - y))
#:
#:         loss, grads = jax.value_and_grad(loss_fn)(w)
#:         grads, loss = jax.lax.pmean((grads, loss), "data")
#:         return 0.9 * mean + 0.1 * batch_mean, grads, loss
#:
#:     def train(self, x, y):
#:         global steps
#:         x = x + 0.1 * np.float32(self.random.normal(size=x.shape))
#:         x, y = x.reshape(4, -1, 3), y.reshape(4, -1)
#:         rate = 1 / (10 + steps)
#:         results = self.parallel(self.mean, x, y, self.w, rate)
#:         self.mean, grads, loss = results
#:         self.velocity = 0.9 * self.velocity + grads
#:         self.w = self.w - rate * self.velocity
#:         steps += 1
#:         return float(loss)


def start(rng):
    # Return the train state of step 0.
    #: return None
    # <solution>
    rng, init_rng = jax.random.split(rng)
    w, zeros = jax.random.normal(init_rng, (3,)), jnp.zeros(3)
    return hs.TrainState(w, zeros, zeros, rng, jnp.int32(0))
    # </solution>


def update(train_state, batch):
    # Return the next train state and a dict with the loss.
    #: return None
    # <solution>
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
    # </solution>


def place(mesh, train_state, batch):
    # Return the train state and the batch, laid out on the mesh.
    #: return None
    # <solution>
    train_state = jax.device_put(train_state, NamedSharding(mesh, P()))
    return train_state, jax.device_put(batch, NamedSharding(mesh, P("data")))
    # </solution>


def save(path, train_state):
    arrays = train_state._asdict()
    arrays["rng"] = jax.random.key_data(train_state.rng)
    np.savez(path, **arrays)


def load(path):
    with np.load(path) as file:
        arrays = {name: jnp.asarray(file[name]) for name in file.files}
    arrays["rng"] = jax.random.wrap_key_data(arrays["rng"])
    return hs.TrainState(**arrays)


# %% setup
import os

from haiku_state.exercises.counting import again


def begin(vectors, seed, step):
    return hs.TrainState(*jnp.asarray(vectors), jax.random.key(seed), jnp.int32(step))


def fields(train_state):
    return train_state and hs.TrainState(*train_state)._asdict()


def mesh():
    return hs.data_mesh(jax.devices()[3::-1], "data")  # in an order that only the mesh knows


def held(leaf):
    # what each device holds, in the order of the devices
    parts = {part.device.id: np.array(part.data) for part in leaf.addressable_shards}
    return np.stack([parts[number] for number in sorted(parts)])


def run(answer, train_state, batches):
    update = jax.jit(answer.update)
    for number in range(len(batches["y"])):
        batch = {name: leaf[number] for name, leaf in batches.items()}
        train_state, _ = update(*answer.place(mesh(), train_state, batch))
    return train_state


# %% inputs
def inputs(rng):
    vectors, seed, step = rng.normal(size=(3, 3)), rng.integers(1, 1000), rng.integers(5, 50)
    x = rng.normal(size=(4, 8, 3)) + rng.normal(size=3)
    return vectors, np.uint32(seed), np.int32(step), {"x": x, "y": rng.normal(size=(4, 8))}


# %% check `start` makes the whole train state from a key; again types once
def check(answer, vectors, seed, step, batches):
    return fields(answer.start(jax.random.key(seed)))


# %% check `update` is pure and takes one step of training; pure jit types once tolerance=1e-4
def check(answer, vectors, seed, step, batches):
    batch = {name: leaf[0] for name, leaf in batches.items()}
    train_state, metrics = answer.update(begin(vectors, seed, step), batch)
    return {**fields(train_state), "metrics": metrics}


# %% check `place` splits the batch and copies the train state; once
def check(answer, vectors, seed, step, batches):
    batch = {name: leaf[0] for name, leaf in batches.items()}
    train_state, batch = answer.place(mesh(), begin(vectors, seed, step), batch)
    params, state, opt_state, _rng, _step = train_state
    return {"copies": [*map(held, (params, state, opt_state))], "batch": jax.tree.map(held, batch)}


# %% check A resumed run on the mesh ends with the same numbers; once tolerance=1e-4
def check(answer, vectors, seed, step, batches):
    first, second = ({k: v[part] for k, v in batches.items()} for part in (slice(2), slice(2, 4)))
    path = os.path.join(os.environ["HAIKU_STATE_WORK"], "run.npz")
    answer.save(path, run(answer, answer.start(jax.random.key(seed)), first))
    after = again(answer)  # as in a new process
    return fields(run(after, after.load(path), second))


def truth(right, vectors, seed, step, batches):
    return fields(run(right, right.start(jax.random.key(seed)), batches))


# %% idea one bundle; update/jitted_update#one-bundle
# Everything that the old trainer remembers from step to step, in attributes, a global, NumPy's
# generator or arrays per device, must be in one of the five fields of the train state.
def start(rng):
    w = np.float32(np.random.default_rng(0).normal(size=3))
    return right.start(rng)._replace(params=jnp.asarray(w))


# %%
random = np.random.default_rng(0)


def update(train_state, batch):
    shape, key = batch["x"].shape, jax.random.split(train_state.rng)[1]
    noise = np.float32(random.normal(size=shape)) - jax.random.normal(key, shape)
    return right.update(train_state, {**batch, "x": batch["x"] + 0.1 * noise})


# %% idea all rows; update/meshes#two-ways-to-think
# The old trainer averages over the rows of each device. Now the step sees the whole batch, so every
# mean must be a mean over all rows, as on a single device.
def update(train_state, batch):
    w, state, opt_state, rng, step = train_state
    rng, noise_rng = jax.random.split(rng)
    x = batch["x"] + 0.1 * jax.random.normal(noise_rng, batch["x"].shape)
    means = jnp.mean(x.reshape(4, -1, 3), axis=1)

    def loss_fn(w):
        own = jnp.repeat(means, len(x) // 4, axis=0)
        return jnp.mean(jnp.square((x - own) @ w - batch["y"]))

    loss, grads = jax.value_and_grad(loss_fn)(w)
    opt_state = 0.9 * opt_state + grads
    w = w - opt_state / (10 + step)
    state = 0.9 * state + 0.1 * jnp.mean(means, axis=0)
    return hs.TrainState(w, state, opt_state, rng, step + 1), {"loss": loss}


# %% idea dropped state; state/stateful_computations#the-state-as-an-argument-and-a-result
# A field of the train state was returned unchanged, but it must be returned with the value that the
# step gives it.
def update(train_state, batch):
    new, metrics = right.update(train_state, batch)
    return new._replace(state=train_state.state), metrics


# %%
def update(train_state, batch):
    new, metrics = right.update(train_state, batch)
    return new._replace(opt_state=train_state.opt_state), metrics


# %%
def update(train_state, batch):
    new, metrics = right.update(train_state, batch)
    return new._replace(step=train_state.step), metrics


# %% idea layout; update/meshes#a-mesh-gives-names-to-devices
# On the mesh, each device must hold its own rows of the batch and a complete copy of everything
# that is carried from step to step. No shape may change.
def place(mesh, train_state, batch):
    return jax.device_put((train_state, batch), NamedSharding(mesh, P()))


# %%
def place(mesh, train_state, batch):
    batch = jax.tree.map(lambda leaf: leaf.reshape(4, -1, *leaf.shape[1:]), batch)
    return right.place(mesh, train_state, batch)


# %% idea key reused
def start(rng):
    return right.start(rng)._replace(rng=rng)


# %%
def start(rng):
    return right.start(rng)._replace(rng=rng, params=jax.random.normal(rng, (3,)))


# %%
def update(train_state, batch):
    new, metrics = right.update(train_state, batch)
    return new._replace(rng=train_state.rng), metrics


# %%
def update(train_state, batch):
    rng, shape = train_state.rng, batch["x"].shape
    noise = jax.random.normal(rng, shape) - jax.random.normal(jax.random.split(rng)[1], shape)
    return right.update(train_state, {**batch, "x": batch["x"] + 0.1 * noise})


# %% right a train state that `hs.shard_train_state` places
def place(mesh, train_state, batch):
    train_state = hs.shard_train_state(train_state, mesh)
    return train_state, jax.device_put(batch, NamedSharding(mesh, P("data")))
