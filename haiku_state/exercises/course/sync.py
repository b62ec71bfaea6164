"""Replicas that have drifted apart

write, 8 min, update/pmapped_update#fixing-it-afterwards

Write `sync(state)`. Each leaf of the state has an entry for each of the four replicas along its
first axis. Return a state with the same structure, shapes and dtypes: where a leaf holds floats,
every replica gets the mean over the replicas; a leaf of integers is a count and does not change. Do
it by hand, without `hs.sync_state`.

- Along which axis is a leaf averaged, and which shape must the result have?
- Write a function for one leaf. It first asks whether the dtype is a floating dtype, and
  `jax.tree.map` applies it to all leaves.
- For a leaf of floats: `jnp.broadcast_to(leaf.mean(axis=0), leaf.shape)`.
"""

# %%
# The replicas of a state have drifted apart. The first axis of each leaf is
# the device axis, with an entry for each replica.
import jax
import jax.numpy as jnp


def sync(state):
    # Return the state with the mean over the replicas in place of each
    # average. A leaf of integers is a count and does not change.
    #: return jax.tree.map(lambda leaf: leaf, state)
    # <solution>
    def mean(leaf):
        if not jnp.issubdtype(leaf.dtype, jnp.floating):
            return leaf
        return jnp.broadcast_to(leaf.mean(axis=0), leaf.shape)

    return jax.tree.map(mean, state)
    # </solution>


# %% setup
import sys

import jax
import numpy as np

import haiku_state as hs


# %% inputs
def inputs(rng):
    count = np.full(4, rng.integers(5, 99), np.int32)
    return {
        "mean_ema": {"average": rng.uniform(0.5, 4, (4, 2)), "counter": count},
        "var_ema": {"average": rng.uniform(0.5, 4, (4, 1, 2)), "counter": count},
        "loss": (rng.uniform(0.5, 4, 4),),
        "rows": count,
        "rate": rng.integers(1, 32, 4).astype(np.float16),  # its mean is exact
    }


# %% check Every replica has the mean over the replicas, and the counts do not change; pure; replicas apart
def check(answer, state):
    return answer.sync(state)


def closed_form(state):
    def mean(leaf):
        is_count = leaf.dtype.kind == "i"
        return leaf if is_count else leaf.astype(float).mean(axis=0) + np.zeros(leaf.shape)

    return jax.tree.map(mean, state)


# %% check The counts are still integers, and each leaf keeps its dtype; once types; dtype
def check(answer, state):
    return answer.sync(state)


# %% check It is done without `hs.sync_state`; once; by hand
def check(answer, state):
    events = []

    def note(frame, event, argument):
        if frame.f_code is hs.sync_state.__code__:
            events.append(event)

    sys.setprofile(note)
    answer.sync(state)
    sys.setprofile(None)
    return {"hs.sync_state is called": bool(events)}


# %% idea replicas apart
# The replicas still differ. Each of them has seen only its own rows, and only an exchange makes
# them equal.
def sync(state):
    return state


# %%
def sync(state):
    return {**right.sync(state), "rate": state["rate"]}


# %% idea one of four answers; update/pmapped_update#without-the-name-of-the-axis
# The replicas are equal now, but only because all of them are copies of one replica. What the other
# three have seen is lost.
def sync(state):
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf[0], leaf.shape), state)


# %% idea device axis; update/pmapped_update#the-device-axis
# The first axis is the device axis, and the other axes belong to the state itself. Average only
# along the first axis, and give the result to each replica.
def sync(state):
    return jax.tree.map(lambda leaf: leaf.mean(axis=0), state)


# %%
def sync(state):
    return jax.tree.map(lambda leaf: leaf if leaf.dtype.kind == "i" else leaf.mean(axis=0), state)


# %%
def sync(state):
    return jax.tree.map(lambda leaf: leaf.mean(axis=0) if leaf.dtype == "float32" else leaf, state)


# %%
def sync(state):
    mean = lambda leaf: leaf if leaf.dtype.kind == "i" else jnp.full_like(leaf, leaf.mean())
    return jax.tree.map(mean, state)


# %%
def sync(state):
    own = lambda leaf: leaf.mean(axis=tuple(range(1, leaf.ndim)), keepdims=True)
    return jax.tree.map(lambda leaf: jnp.broadcast_to(own(leaf), leaf.shape), state)


# %% idea counts; update/pmapped_update#check-yourself
# The averages are right, but the counts are not. A count is an integer that is equal on all
# replicas. If it is averaged, it becomes a float; if it is added up, it counts each step four
# times.
def sync(state):
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf.mean(axis=0), leaf.shape), state)


# %%
def sync(state):
    state = right.sync(state)
    return jax.tree.map(lambda leaf: 4 * leaf if leaf.dtype.kind == "i" else leaf, state)


# %%
def sync(state):
    state = right.sync(state)
    return jax.tree.map(lambda leaf: leaf if leaf.dtype == jnp.float32 else 4 * leaf, state)


# %% idea by hand
# The state is right, but `hs.sync_state` computed it. In this exercise, write it yourself.
import haiku_state as hs


def sync(state):
    return hs.sync_state(state)


# %% idea unbound axis; update/devices#exchange-along-the-axis
# The name of an axis exists only inside a function that is mapped over it. Outside, the device axis
# is an ordinary axis of the arrays.
def sync(state):
    return jax.lax.pmean(state, "devices")


# %% idea dtype
def sync(state):
    state = right.sync(state)
    return {**state, "rate": state["rate"].astype(jnp.float32)}


# %% right with a collective, on each device
def sync(state):
    def mean(leaf):
        return leaf if leaf.dtype == jnp.int32 else jax.lax.pmean(leaf, "devices")

    return jax.pmap(lambda state: jax.tree.map(mean, state), "devices")(state)
