"""Exact resume

repair, 8 min, update/checkpoints#what-a-train-state-must-hold

`save(path, train_state)` keeps only the params, so a resumed run is a different run. Change `save`
and `load` so that `load(path)` returns the whole train state, with the same dtypes. Do not change
the rest of the program.

The check trains three steps in a first process, calls `save`, and kills the process. A second
process calls `load` and trains three more steps. These steps must be the same as in a run that was
never interrupted.

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
import signal

import jax
import jax.numpy as jnp

import haiku_state as hs


def begin(vectors, seed, step):
    return hs.TrainState(*jnp.asarray(vectors), jax.random.key(seed), jnp.int32(step))


def path(name):
    return os.path.join(os.environ["HAIKU_STATE_WORK"], name)


# %% inputs
def inputs(rng):
    seed, step = rng.integers(1, 1000, dtype="uint32"), rng.integers(5, 50, dtype="int32")
    return rng.normal(size=(3, 3)), seed, step, rng.normal(2, 1, size=(6, 4, 3))


# %% check `load` returns what was passed to `save`; weak once tolerance=0; round trip
def check(answer, vectors, seed, step, batches):
    answer.save(path("once.npz"), begin(vectors, seed, step))
    return answer.load(path("once.npz"))


# %% check A killed run is resumed and continues with the same numbers; once; only in memory
def killed(answer, vectors, seed, step, batches):
    try:
        train_state = begin(vectors, seed, step)
        for batch in batches[:3]:
            train_state = answer.update(train_state, batch)
        answer.save(path("run.npz"), train_state)
    finally:
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


def check(answer, vectors, seed, step, batches):
    resumed = end = answer.load(path("run.npz"))
    for batch in batches[3:]:
        end = answer.update(end, batch)
    return {"resumed": resumed, "end": end}


def truth(right, vectors, seed, step, batches):
    states = [begin(vectors, seed, step)]
    for batch in batches:
        states.append(right.update(states[-1], batch))
    return {"resumed": states[3], "end": states[6]}


# %% idea optimizer state
# Momentum begins again from zero. The first loss after resuming is still the same, but from the
# second loss on, the run is a different run.
def load(path):
    return right.load(path)._replace(opt_state=start().opt_state)


# %%
def load(path):
    return start()._replace(params=right.load(path).params)


# %% idea random key
# The key is the state of the random numbers: without it, the noise of the first steps is drawn
# again.
def load(path):
    return right.load(path)._replace(rng=start().rng)


# %% idea running statistics
# The state is not restored. No training loss would show it, but an evaluation would use a running
# mean that has seen nothing.
def load(path):
    return right.load(path)._replace(state=start().state)


# %% idea step count
# Everything that depends on the number of steps, such as the step size, begins again.
def load(path):
    return right.load(path)._replace(step=start().step)


# %% idea only in memory; update/checkpoints#kill-it
# When a process is killed, all its variables are lost, so the next process finds only what is in
# the file.
saved = {}


def save(path, train_state):
    saved[path] = train_state


def load(path):
    return saved[path]


# %% idea round trip; update/checkpoints#one-save-one-restore
# `load` must return what was passed to `save`, in every field of the train state.
def save(path, train_state):
    right.save(path, train_state._replace(rng=jax.random.split(train_state.rng)[0]))


# %% idea key data
def save(path, train_state):
    np.savez(path, **train_state._asdict())


# %% idea dtype
def load(path):
    train_state = right.load(path)
    return train_state._replace(step=int(train_state.step))


# %% right leaf by leaf, in order
def save(path, train_state):
    leaves = jax.tree.leaves(train_state)
    np.savez(path, *leaves[:3], jax.random.key_data(leaves[3]), leaves[4])


def load(path):
    with np.load(path) as file:
        params, state, opt_state, rng, step = map(jnp.asarray, file.values())
    return hs.TrainState(params, state, opt_state, jax.random.wrap_key_data(rng), step)
