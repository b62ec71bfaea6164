# right: a key for each device by split
import jax


def add_noise(rng, x):
    rng, noise_rng = jax.random.split(rng)
    mine = jax.random.split(noise_rng, 4)[jax.lax.axis_index("devices")]
    return x + jax.random.normal(mine, x.shape), rng

# right: the noise of all devices is drawn at once
import jax


def add_noise(rng, x):
    rng, noise_rng = jax.random.split(rng)
    noise = jax.random.normal(noise_rng, (jax.lax.psum(1, "devices"), *x.shape))
    return x + noise[jax.lax.axis_index("devices")], rng

# wrong: same key
import jax


def add_noise(rng, x):
    rng, noise_rng = jax.random.split(rng)
    noise_rng = jax.random.fold_in(noise_rng, 1)
    return x + jax.random.normal(noise_rng, x.shape), rng

# wrong: drifted keys
import jax


def add_noise(rng, x):
    rng = jax.random.fold_in(rng, jax.lax.axis_index("devices"))
    rng, noise_rng = jax.random.split(rng)
    return x + jax.random.normal(noise_rng, x.shape), rng

# wrong: stale key
import jax


def add_noise(rng, x):
    mine = jax.random.fold_in(rng, jax.lax.axis_index("devices"))
    return x + jax.random.normal(mine, x.shape), rng

# wrong: key reused
import jax


def add_noise(rng, x):
    index = jax.lax.axis_index("devices")
    new_rng = jax.random.fold_in(rng, 1)
    mine = jax.random.fold_in(rng, index)
    return x + jax.random.normal(mine, x.shape), new_rng

# wrong: not repeatable
import jax
import jax.numpy as jnp
import numpy as np


def add_noise(rng, x):
    noise = np.random.normal(size=(4, *x.shape)).astype(np.float32)
    index = jax.lax.axis_index("devices")
    return x + jnp.asarray(noise)[index], jax.random.split(rng)[0]

# wrong: frozen value
import jax


def add_noise(rng, x):
    mine = jax.random.fold_in(jax.random.key(0), jax.lax.axis_index("devices"))
    return x + jax.random.normal(mine, x.shape), jax.random.split(rng)[0]

# wrong: not normal
import jax


def add_noise(rng, x):
    rng, noise_rng = jax.random.split(rng)
    noise = jax.random.normal(noise_rng, x.shape)
    return x + (1 + jax.lax.axis_index("devices")) * noise, rng

# wrong: key reused
import jax


def add_noise(rng, x):
    keys = jax.random.split(rng, 4)
    mine = keys[jax.lax.axis_index("devices")]
    return x + jax.random.normal(mine, x.shape), keys[0]

# wrong: same key
import jax
import jax.numpy as jnp


def add_noise(rng, x):
    rng, noise_rng = jax.random.split(rng)
    noise = jax.random.normal(noise_rng, x.shape)
    return x + jnp.roll(noise, jax.lax.axis_index("devices")), rng

# wrong: noise of the data
import jax
import jax.numpy as jnp


def add_noise(rng, x):
    rng, noise_rng = jax.random.split(rng)
    mine = jax.random.fold_in(noise_rng, x.sum().astype(jnp.int32))
    return x + jax.random.normal(mine, x.shape), rng
