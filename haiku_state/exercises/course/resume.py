"""Exact resume

repair, hard, 8 min, update/checkpoints#what-a-train-state-must-hold

`save(path, train_state)` keeps only the params, so a resumed run is a different run. Change `save`
and `load` so that `load(path)` returns the whole train state, with the same dtypes. Do not change
the rest of the program.

The check trains three steps and calls `save`. Then it starts the program again, which knows only
what is in the file, calls `load` and trains three more steps. These steps must be the same as in a
run that was never interrupted.

- What does `update` read besides the batch?
- Look at the five fields of the train state. `np.savez` takes arrays by name, but one of the five
  is not an array of numbers: its numbers are `jax.random.key_data(rng)`.
- In `load`, `hs.TrainState(params=…, state=…, opt_state=…, rng=…, step=…)` takes the arrays of the
  file, and the key is `jax.random.wrap_key_data(jnp.asarray(…))`.
"""

# %%
# A run must be able to continue after its process was killed. Each step adds
# noise to its batch, the optimizer has momentum, and the state is a running
# mean.
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
    #: np.savez(path, params=train_state.params)
    # <solution>
    arrays = train_state._asdict()
    arrays["rng"] = jax.random.key_data(train_state.rng)
    np.savez(path, **arrays)
    # </solution>


def load(path):
    #: with np.load(path) as file:
    #:     params = jnp.asarray(file["params"])
    #: return start()._replace(params=params)
    # <solution>
    with np.load(path) as file:
        arrays = {name: jnp.asarray(file[name]) for name in file.files}
    arrays["rng"] = jax.random.wrap_key_data(arrays["rng"])
    return hs.TrainState(**arrays)
    # </solution>


# %% setup
import os

from haiku_state.exercises.counting import again


def begin(vectors, seed, step):
    rng = jax.random.split(jax.random.key(seed))[1]
    return hs.TrainState(*jnp.asarray(vectors), rng, jnp.int32(step))


def resumed(answer, train_state):
    path = os.path.join(os.environ["HAIKU_STATE_WORK"], "run.npz")
    answer.save(path, train_state)
    after = again(answer)  # as in a new process
    return after, after.load(path)


# %% inputs
def inputs(rng):
    seed, step = rng.integers(1, 1000, dtype="uint32"), rng.integers(5, 50, dtype="int32")
    return rng.normal(size=(3, 3)), seed, step, rng.normal(2, 1, size=(6, 4, 3))


# %% check `load` returns what was saved; types once tolerance=0; params, state, opt_state, rng, step
def check(answer, vectors, seed, step, batches):
    return resumed(answer, begin(vectors, seed, step))[1]


# %% check A resumed run continues with the same numbers; once; params, state, opt_state, rng, step
def check(answer, vectors, seed, step, batches):
    train_state = begin(vectors, seed, step)
    for batch in batches[:3]:
        train_state = answer.update(train_state, batch)
    after, train_state = resumed(answer, train_state)
    for batch in batches[3:]:
        train_state = after.update(train_state, batch)
    return train_state


def truth(right, vectors, seed, step, batches):
    train_state = begin(vectors, seed, step)
    for batch in batches:
        train_state = right.update(train_state, batch)
    return train_state


# %% idea round trip; update/checkpoints#one-save-one-restore
# Every field must come back as it was saved, because the next step reads all five fields. Without
# the momentum, the running mean, the key or the number of steps, the run is a different run.
def load(path):
    return start()._replace(params=right.load(path).params)


# %%
def load(path):
    return right.load(path)._replace(opt_state=start().opt_state)


# %%
def load(path):
    return right.load(path)._replace(rng=start().rng)


# %%
def load(path):
    return right.load(path)._replace(state=start().state)


# %%
def load(path):
    return right.load(path)._replace(step=start().step)


# %%
def load(path):
    params, state, opt_state, rng, step = right.load(path)
    return hs.TrainState(params, opt_state, state, rng, step)


# %%
def load(path):
    train_state = right.load(path)
    return train_state._replace(rng=jax.random.split(train_state.rng)[0])


# %%
def load(path):
    train_state = right.load(path)
    seed = jax.random.key_data(train_state.rng)[1]
    return train_state._replace(rng=jax.random.key(seed))


# %%
def load(path):
    train_state = right.load(path)
    rounded = jax.random.key_data(train_state.rng).astype(jnp.float32)
    return train_state._replace(rng=jax.random.wrap_key_data(rounded.astype(jnp.uint32)))


# %%
def load(path):
    right.load(path)


# %% idea only in memory; update/checkpoints#kill-it
# When a process is killed, all its variables are lost, so everything that the next process needs
# must be in the file.
saved = {}


def save(path, train_state):
    saved[path] = train_state


def load(path):
    return saved[path]


# %% idea key data
def save(path, train_state):
    np.savez(path, **train_state._asdict())


# %% idea dtype
def load(path):
    train_state = right.load(path)
    return train_state._replace(step=jnp.float32(train_state.step))


# %% right leaves that are saved one after the other, without names
def save(path, train_state):
    leaves = jax.tree.leaves(train_state)
    np.savez(path, *leaves[:3], jax.random.key_data(leaves[3]), leaves[4])


def load(path):
    with np.load(path) as file:
        params, state, opt_state, rng, step = map(jnp.asarray, file.values())
    return hs.TrainState(params, state, opt_state, jax.random.wrap_key_data(rng), step)
