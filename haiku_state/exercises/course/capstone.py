"""Capstone: an inherited trainer

capstone, 40 min, update/checkpoints#why-this-belongs-in-a-course-on-state, 90 s

Replace `Trainer` with five functions. The train state is an `hs.TrainState`: the params are `w`,
the state is `mean` of shape `(3,)`, and the `opt_state` is `velocity`. The numbers must be the same
as in the old trainer, except for two things: noise is drawn from keys, and every mean over rows is
a mean over all rows of the batch.

`start(rng)` returns the first train state. It splits the key with `jax.random.split(rng)`: the
first part goes into the train state, and `jax.random.normal` draws `w` from the second part.

`update(train_state, batch)` returns the next train state and `{'loss': …}`. A batch is a dict of
`x` and `y`. It splits the key in the same way and draws the noise from the second part. The step
size `1 / (10 + step)` uses the number of steps before this one.

`place(mesh, train_state, batch)` returns the train state and the batch, laid out for
`jax.jit(update)` on a mesh of four devices with the axis `data`. `save(path, train_state)` and
`load(path)` write and read a file. The check kills a run after three steps, resumes it in another
process, and compares. The checks follow the order of the functions, so you can write one function
after the other.

- Which five things does the old trainer remember from step to step, and where?
- Begin with `start` and `update`: move the body of `train` and of `work` into one function, and
  replace each `self.…` with its field. `place` needs no `reshape`, and `update` needs no `pmean`.
  In `save`, the key needs `jax.random.key_data`.
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
#:
#:     def save(self, path):
#:         np.savez(path, w=self.w)


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
    # Write the train state to a file.
    #: return None
    # <solution>
    arrays = train_state._asdict()
    arrays["rng"] = jax.random.key_data(train_state.rng)
    np.savez(path, **arrays)
    # </solution>


def load(path):
    # Return the train state that was saved.
    #: return None
    # <solution>
    with np.load(path) as file:
        arrays = {name: jnp.asarray(file[name]) for name in file.files}
    arrays["rng"] = jax.random.wrap_key_data(arrays["rng"])
    return hs.TrainState(**arrays)
    # </solution>


# %% setup
import os
import signal

import jax
import jax.numpy as jnp
import numpy as np

import haiku_state as hs


def begin(vectors, seed, step):
    return hs.TrainState(*jnp.asarray(vectors), jax.random.key(seed), jnp.int32(step))


def part(leaf):
    return np.array(leaf.addressable_shards[0].data.shape)


def path_of(name):
    return os.path.join(os.environ["HAIKU_STATE_WORK"], name)


def run(answer, train_state, batches, numbers):
    mesh, update = hs.data_mesh(jax.devices()[:4], "data"), jax.jit(answer.update)
    for number in numbers:
        batch = {name: leaf[number] for name, leaf in batches.items()}
        train_state, _ = update(*answer.place(mesh, train_state, batch))
    return train_state


# %% inputs
def inputs(rng):
    vectors, seed, step = rng.normal(size=(3, 3)), rng.integers(1, 1000), rng.integers(5, 50)
    x = rng.normal(size=(5, 8, 3)) + rng.normal(size=3)
    return vectors, np.uint32(seed), np.int32(step), {"x": x, "y": rng.normal(size=(5, 8))}


# %% check `start` makes the whole train state from a key; again weak once; one bundle
def check(answer, vectors, seed, step, batches):
    return answer.start(jax.random.key(seed))


# %% check `update` is pure and takes the step; pure jit keys weak once tolerance=0.0001; one bundle
def check(answer, vectors, seed, step, batches):
    batch = {name: leaf[0] for name, leaf in batches.items()}
    return answer.update(begin(vectors, seed, step), batch)


# %% check Five steps run in one scan; weak once tolerance=0.0001; structure
def check(answer, vectors, seed, step, batches):
    return jax.lax.scan(answer.update, begin(vectors, seed, step), batches)[0]


# %% check `place` and `update` run on a mesh of four devices; once tolerance=0.0001; layout
def check(answer, vectors, seed, step, batches):
    mesh = hs.data_mesh(jax.devices()[:4], "data")
    batch = {name: leaf[0] for name, leaf in batches.items()}
    train_state, batch = answer.place(mesh, begin(vectors, seed, step), batch)
    placed = {"params": part(train_state.params), "x": part(batch["x"]), "y": part(batch["y"])}
    devices = np.array([len(leaf.devices()) for leaf in (*train_state[:3], *batch.values())])
    after, metrics = jax.jit(answer.update)(train_state, batch)
    copies = part(after.params)
    return {"placed": placed, "devices": devices, "copies": copies, "step": (after, metrics)}


# %% check `load` returns what was passed to `save`; weak once tolerance=0; round trip
def check(answer, vectors, seed, step, batches):
    answer.save(path_of("once.npz"), begin(vectors, seed, step))
    return answer.load(path_of("once.npz"))


# %% check A killed run is resumed and ends with the numbers of an uninterrupted run; once tolerance=0.0001; only in memory
def killed(answer, vectors, seed, step, batches):
    try:
        train_state = run(answer, answer.start(jax.random.key(seed)), batches, range(3))
        answer.save(path_of("run.npz"), train_state)
    finally:
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


def check(answer, vectors, seed, step, batches):
    resumed = run(answer, answer.load(path_of("run.npz")), batches, range(3, 5))
    whole = run(answer, answer.start(jax.random.key(seed)), batches, range(5))
    same = [(one == other).all() for one, other in zip(resumed, whole, strict=True)]
    return {"end": resumed, "bit for bit": all(same)}


def truth(right, vectors, seed, step, batches):
    whole = run(right, right.start(jax.random.key(seed)), batches, range(5))
    return {"end": whole, "bit for bit": True}


# %% idea one bundle; update/jitted_update#one-bundle
# Attributes, a global, NumPy's generator, arrays per device: everything that the old trainer
# remembers from step to step has its place in one of the five fields of the train state.
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
# The old trainer averages over the rows of each device. Now the step sees the whole batch, so its
# formulas are the same as on a single device.
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


# %% idea dropped state; state/stateful_computations#state-in-state-out
# A field of the train state was returned unchanged, although the step changes it.
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


# %% idea no collectives; update/meshes#two-ways-to-think
# The step names an axis of devices that does not exist here. Under `jit`, it sees whole arrays, and
# the compiler inserts the communication.
def update(train_state, batch):
    return right.update(train_state, jax.lax.pmean(batch, "data"))


# %% idea layout; update/meshes#a-mesh-gives-names-to-devices
# On the mesh, each device holds its own rows of the batch and a complete copy of everything that is
# carried from step to step. No shape changes.
def place(mesh, train_state, batch):
    return jax.device_put((train_state, batch), NamedSharding(mesh, P()))


# %%
def place(mesh, train_state, batch):
    batch = jax.tree.map(lambda leaf: leaf.reshape(4, -1, *leaf.shape[1:]), batch)
    return right.place(mesh, train_state, batch)


# %% idea round trip; update/checkpoints#what-a-train-state-must-hold
# `load` must return what was passed to `save`, in every field of the train state.
def load(path):
    return start(right.load(path).rng)._replace(params=right.load(path).params)


# %% idea only in memory; update/checkpoints#kill-it
# When a process is killed, all its variables are lost, so the next process finds only what is in
# the file.
saved = {}


def save(path, train_state):
    saved[path] = train_state


def load(path):
    return saved[path]


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
    new, metrics = right.update(train_state, {**batch, "x": batch["x"] + 0.1 * noise})
    return new._replace(rng=rng), metrics


# %% idea key data
def save(path, train_state):
    np.savez(path, **train_state._asdict())


# %%
def load(path):
    train_state = right.load(path)
    return train_state._replace(rng=jax.random.key_data(train_state.rng))


# %% right the train state is placed by this package
def place(mesh, train_state, batch):
    train_state = hs.shard_train_state(train_state, mesh)
    return train_state, jax.device_put(batch, NamedSharding(mesh, P("data")))
