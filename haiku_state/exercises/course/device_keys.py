"""A key for each device

repair, 5 min, update/pmapped_update#one-key-per-device

The check runs `add_noise(rng, x)` with `jax.pmap` on four devices, with `axis_name="devices"`. The
key `rng` is the same on all of them. Repair `add_noise` so that each device adds its own standard
normal noise, which differs from step to step, while the key for the next step is again the same on
all devices. The same first key must always give the same noise.

- What does a device know that the other devices do not?
- `jax.random.split` makes two keys: one key may differ from device to device, but the other key
  must not.
- Fold `jax.lax.axis_index("devices")` into the key with which the noise is drawn, and leave the
  other key as it is.
"""

# %%
# Noise is added to the inputs on each of several devices. They form the axis
# "devices", and all of them hold the same key.
import jax


def add_noise(rng, x):
    # Return the inputs with noise and the key for the next step.
    rng, noise_rng = jax.random.split(rng)
    # <solution>
    index = jax.lax.axis_index("devices")
    noise_rng = jax.random.fold_in(noise_rng, index)
    # </solution>
    noise = jax.random.normal(noise_rng, x.shape)
    return x + noise, rng


# %% setup
import jax
import numpy as np

import haiku_state as hs


# %% inputs
def inputs(rng):
    # whole numbers between two powers of 2: adding any of them rounds the noise alike
    return np.int32(rng.integers(1 << 30)), rng.integers(70, 120, (4, 500)).astype(float)


# %% check Each device has its own noise, and all devices keep the same key; once; not normal
def check(answer, seed, x):
    def two_steps(seed, x):
        # a new function each time, so that each is traced
        mapped = jax.pmap(lambda *arguments: answer.add_noise(*arguments), axis_name="devices")
        first, rng = mapped(hs.replicate(jax.random.key(seed), jax.devices()[:4]), x)
        second, _rng = mapped(rng, x)
        return np.concatenate([first - x, second - x]), rng

    noise, rng = two_steps(seed, x)
    of_next_key = jax.random.normal(rng[0], (500,))
    return {  # sorted, so that a permutation is not another noise
        "different on the devices": len(np.unique(np.sort(noise[:4]), axis=0)),
        "different in all": len(np.unique(np.sort(noise), axis=0)),
        "different next keys": len(np.unique(jax.random.key_data(rng), axis=0)),
        "next key is new": bool(abs(noise[:4] - of_next_key).max(axis=1).min() > 1e-3),
        "repeatable": bool((noise == two_steps(seed, x)[0]).all()),
        "same for another x": bool((noise == two_steps(seed, x + 1)[0]).all()),
        "depends on the key": bool((noise != two_steps(seed + 1, x)[0]).any()),
        "mean 0": bool(abs(noise.mean(axis=1)).max() < 0.3),
        "variance 1, independent": bool(abs(np.cov(noise) - np.eye(8)).max() < 0.4),
        "normal": bool(abs(noise).max(axis=1).min() > 2),
    }


# %% idea same key
# Devices have drawn the same noise, because they run the same program with the same key. A device
# can draw its own numbers only if its key contains something that differs from the other devices.
def add_noise(rng, x):
    rng, noise_rng = jax.random.split(rng)
    return x + jax.random.normal(jax.random.fold_in(noise_rng, 1), x.shape), rng


# %%
def add_noise(rng, x):
    rng, noise_rng = jax.random.split(rng)
    noise = jax.random.normal(noise_rng, x.shape)
    return x + jax.numpy.roll(noise, jax.lax.axis_index("devices")), rng


# %% idea noise of the data
# For a different `x`, the noise is different. Only the key and the index of the device may
# determine the noise.
def add_noise(rng, x):
    rng, noise_rng = jax.random.split(rng)
    mine = jax.random.fold_in(noise_rng, x.sum().astype(int))
    return x + jax.random.normal(mine, x.shape), rng


# %% idea drifted keys
# The key for the next step is no longer the same on all devices. It is part of the train state, and
# the replicas of a train state must stay equal. Only the noise may differ.
def add_noise(rng, x):
    mine = jax.random.fold_in(rng, jax.lax.axis_index("devices"))
    rng, noise_rng = jax.random.split(mine)
    return x + jax.random.normal(noise_rng, x.shape), rng


# %%
def add_noise(rng, x):
    _rng, noise_rng = jax.random.split(rng)
    noise_rng = jax.random.fold_in(noise_rng, jax.lax.axis_index("devices"))
    return x + jax.random.normal(noise_rng, x.shape), noise_rng


# %% idea stale key; haiku/randomness#same-key-same-mask
# The next step draws the same noise as this step. Each step must return a new key for the next
# step.
def add_noise(rng, x):
    return right.add_noise(rng, x)[0], rng


# %% idea not normal
# What was added to the inputs is not standard normal noise on every device.
def add_noise(rng, x):
    rng, noise_rng = jax.random.split(rng)
    noise = jax.random.normal(noise_rng, x.shape)
    return x + (1 + jax.lax.axis_index("devices")) * noise, rng


# %%
def add_noise(rng, x):
    rng, noise_rng = jax.random.split(rng)
    noise_rng = jax.random.fold_in(noise_rng, jax.lax.axis_index("devices"))
    return x + jax.random.uniform(noise_rng, x.shape), rng


# %% idea not repeatable
import numpy as np


def add_noise(rng, x):
    noise = jax.numpy.asarray(np.random.normal(size=(4, *x.shape)), x.dtype)
    return x + noise[jax.lax.axis_index("devices")], jax.random.split(rng)[0]


# %% idea frozen value
def add_noise(rng, x):
    return right.add_noise(jax.random.key(0), x)[0], jax.random.split(rng)[0]


# %% idea key reused
def add_noise(rng, x):
    keys = jax.random.split(rng, 4)
    mine = keys[jax.lax.axis_index("devices")]
    return x + jax.random.normal(mine, x.shape), keys[0]


# %% right a key for each device by split
def add_noise(rng, x):
    rng, noise_rng = jax.random.split(rng)
    mine = jax.random.split(noise_rng, 4)[jax.lax.axis_index("devices")]
    return x + jax.random.normal(mine, x.shape), rng


# %% right the noise of all devices is drawn at once
def add_noise(rng, x):
    rng, noise_rng = jax.random.split(rng)
    noise = jax.random.normal(noise_rng, (4, *x.shape))
    return x + noise[jax.lax.axis_index("devices")], rng
