"""Replicas that stay equal

repair, medium, 8 min, update/pmapped_update#the-step

The check runs `jax.pmap(update, axis_name="devices")` on four devices. Each device gets its own
rows, and all of them get the same params, the same state and the same key. Repair `update`, which
was written for a single device. Each row must get its own noise, on whichever device it is. The new
params and the new state must be the same as on a single device that sees all rows. They must be the
same on every device, and so must the key for the next step.

- Which values differ from device to device, and which values must never differ?
- Three values must change: the key with which the noise is drawn, the gradient, and the mean of
  `x`. The count already is the same on all devices.
- Fold `jax.lax.axis_index("devices")` into `noise_rng`, and apply `jax.lax.pmean(…, "devices")` to
  the gradient and to the mean.
"""

# %%
# A step with noise on its inputs. The state holds a running mean of the inputs
# and the number of steps.
import jax
import jax.numpy as jnp


def loss_fn(params, x, y):
    return jnp.mean(jnp.square(x @ params - y))


def update(params, state, rng, batch, scale):
    # Return the new params, the new state and the key for the next step.
    rng, noise_rng = jax.random.split(rng)
    # <solution>
    index = jax.lax.axis_index("devices")
    noise_rng = jax.random.fold_in(noise_rng, index)
    # </solution>
    noise = jax.random.normal(noise_rng, batch["x"].shape)
    x = batch["x"] + scale * noise
    grads, mean = jax.grad(loss_fn)(params, x, batch["y"]), jnp.mean(x, axis=0)
    # <solution>
    grads, mean = jax.lax.pmean((grads, mean), "devices")
    # </solution>
    mean = 0.9 * state["mean"] + 0.1 * mean
    state = {"mean": mean, "count": state["count"] + 1}
    return params - 0.1 * grads, state, rng


# %% setup
import numpy as np

import haiku_state as hs


def replicas(answer, params, state, rng, batch, scale):
    # the key may differ from device to device: it comes from the step before
    run = jax.pmap(answer.update, axis_name="devices", in_axes=(0, 0, 0, 0, None))
    params, state = hs.replicate((params, state), jax.devices()[:4])
    return run(params, state, rng, batch, scale)


def keys(seed):
    return hs.replicate(jax.random.key(seed), jax.devices()[:4])


# %% inputs
def inputs(rng):
    state = {"mean": rng.normal(size=3), "count": np.int32(rng.integers(5, 99))}
    batch = {"x": rng.normal(1, 2, size=(4, 2, 3)), "y": rng.normal(size=(4, 2))}
    return rng.normal(size=3), state, np.int32(rng.integers(1 << 30)), batch


# %% check Without noise, every device gets what a single device computes; types; params, state
def check(answer, params, state, seed, batch):
    return replicas(answer, params, state, keys(seed), batch, 0.0)[:2]


def closed_form(params, state, seed, batch):
    x, y = batch["x"].astype(float).reshape(8, 3), batch["y"].reshape(8)
    params = params - 0.1 * 2 * x.T @ (x @ params - y) / 8
    mean, count = 0.9 * state["mean"] + 0.1 * x.mean(axis=0), state["count"] + 1
    return np.tile(params, (4, 1)), {"mean": np.tile(mean, (4, 1)), "count": np.full(4, count)}


# %% check Each row has its own noise, and the new key is the same on all devices; once
def check(answer, params, state, seed, batch):
    size, rng, means = 4000, keys(seed), []
    start = {"mean": jnp.zeros(size), "count": jnp.int32(0)}
    batch = {"x": jnp.zeros((4, 2, size)), "y": jnp.zeros((4, 2))}
    for _step in range(2):
        _, state, rng = replicas(answer, jnp.zeros(size), start, rng, batch, 1.0)
        means.append(10 * state["mean"][0])
    # in both steps there are 16 rows; the mean of n independent ones has a variance of 1 / n
    return {
        "rows that share their noise": np.round(16 * np.var(np.mean(means, axis=0))),
        "different keys for the next step": len(np.unique(jax.random.key_data(rng), axis=0)),
    }


# %% idea replicas apart; update/meshes#without-the-name-of-the-axis
# The replicas must stay equal, but each device has used only its own rows. Only an exchange along
# the axis of the devices makes params and state equal.
def update(params, state, rng, batch, scale):
    x, y = batch["x"], batch["y"]
    mean = 0.9 * state["mean"] + 0.1 * jnp.mean(x, axis=0)
    params = params - 0.1 * jax.grad(loss_fn)(params, x, y)
    return params, {**state, "mean": mean, "count": state["count"] + 1}, rng


# %%
def update(params, state, rng, batch, scale):
    params, state, rng = right.update(params, old := state, rng, batch, scale)
    mean = 0.9 * old["mean"] + 0.1 * jnp.mean(batch["x"], axis=0)
    return params, {**state, "mean": mean}, rng


# %%
def update(params, state, rng, batch, scale):
    old, (_, state, rng) = params, right.update(params, state, rng, batch, scale)
    return old - 0.1 * jax.grad(loss_fn)(old, batch["x"], batch["y"]), state, rng


# %% idea sum
# All replicas are equal, but values were added up over the four devices instead of being averaged,
# so the result is too large. The mean of all rows must be the mean of the four means.
def update(params, state, rng, batch, scale):
    new, state, rng = right.update(params, old := state, rng, batch, scale)
    mean = 4 * state["mean"] - 3 * 0.9 * old["mean"]
    return params + 4 * (new - params), {**state, "mean": mean}, rng


# %%
def update(params, state, rng, batch, scale):
    new, state, rng = right.update(params, state, rng, batch, scale)
    return params + 4 * (new - params), state, rng


# %%
def update(params, state, rng, batch, scale):
    params, state, rng = right.update(params, old := state, rng, batch, scale)
    return params, {**state, "mean": 4 * state["mean"] - 3 * 0.9 * old["mean"]}, rng


# %%
def update(params, state, rng, batch, scale):
    params, state, rng = right.update(params, state, rng, batch, scale)
    return params, {**state, "mean": 4 * state["mean"]}, rng


# %% idea counts; update/pmapped_update#check-yourself
# The count must stay an integer that is equal on all devices. If it is averaged, it becomes a
# float; if it is added up, it counts each step four times.
def update(params, state, rng, batch, scale):
    params, state, rng = right.update(params, state, rng, batch, scale)
    return params, jax.lax.pmean(state, "devices"), rng


# %%
def update(params, state, rng, batch, scale):
    params, state, rng = right.update(params, state, rng, batch, scale)
    return params, {**state, "count": jax.lax.psum(state["count"], "devices")}, rng


# %% idea same key; update/pmapped_update#one-key-per-device
# The devices have drawn the same noise, because they run the same program with the same key. The
# key of a device must contain something that differs from device to device.
def update(params, state, rng, batch, scale):
    _, noise_rng = jax.random.split(rng)
    noise = jax.random.normal(noise_rng, batch["x"].shape)
    batch = {**batch, "x": batch["x"] + scale * noise}
    params, state, _ = right.update(params, state, rng, batch, 0.0)
    return params, state, jax.random.split(rng)[0]


# %% idea drifted keys; update/pmapped_update#one-key-per-device
# The key for the next step must be the same on all devices, because it is carried from step to step
# like params and state. Only the key with which the noise is drawn may differ.
def update(params, state, rng, batch, scale):
    rng = jax.random.fold_in(rng, jax.lax.axis_index("devices"))
    return right.update(params, state, rng, batch, scale)


# %% idea key reused
def update(params, state, rng, batch, scale):
    return (*right.update(params, state, rng, batch, scale)[:2], rng)


# %% right a key for each device from `jax.random.split`, and the mean of the new params and of the new state
def update(params, state, rng, batch, scale):
    rng, noise_rng = jax.random.split(rng)
    mine = jax.random.split(noise_rng, 4)[jax.lax.axis_index("devices")]
    x = batch["x"] + scale * jax.random.normal(mine, batch["x"].shape)
    params = params - 0.1 * jax.grad(loss_fn)(params, x, batch["y"])
    mean = 0.9 * state["mean"] + 0.1 * jnp.mean(x, axis=0)
    params, mean = jax.lax.pmean((params, mean), "devices")
    return params, {"mean": mean, "count": state["count"] + 1}, rng
