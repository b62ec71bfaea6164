"""A key that is used twice

repair, medium, 5 min, haiku/randomness#same-key-same-mask

Both layers of `noisy` add noise, but they draw it from the same key, so it is the same noise twice.
Repair `noisy`: each draw needs a key of its own.

- What does `jax.random.normal` return if it is called twice with one key?
- `jax.random.split(key)` makes two new keys out of one.
- Draw the first noise from the first new key and the second noise from the second one.
"""

# %%
# Two noises, one for the input and one for the output of a layer.
import jax
import jax.numpy as jnp


def noisy(key, x):
    # Return x with its noise, and the tangent of that with a second noise.
    #: first = jax.random.normal(key, x.shape)
    #: second = jax.random.normal(key, x.shape)
    # <solution>
    key_1, key_2 = jax.random.split(key)
    first = jax.random.normal(key_1, x.shape)
    second = jax.random.normal(key_2, x.shape)
    # </solution>
    return x + first, jnp.tanh(x) + second


# %% setup
import jax
import jax.numpy as jnp
import numpy as np


# %% inputs
def inputs(rng):
    return jax.random.PRNGKey(rng.integers(1000)), rng.normal(size=4).astype(np.float32)


# %% check the two noises differ; pure jit keys
def check(answer, key, x):
    one, two = answer.noisy(key, x)
    return jnp.allclose(one - x, two - jnp.tanh(x), atol=1e-3)


# %% check another key gives another noise; pure jit
def check(answer, key, x):
    one = answer.noisy(key, x)
    two = answer.noisy(jax.random.fold_in(key, 1), x)
    return [jnp.allclose(a, b, atol=1e-3) for a, b in zip(one, two)]


# %% idea same key; haiku/randomness#same-key-same-mask
# A key is not changed by a draw, so a second draw from it gives the same numbers.
def noisy(key, x):
    noise = jax.random.normal(key, x.shape)
    return x + noise, jnp.tanh(x) + noise


# %%
def noisy(key, x):
    key, _ = jax.random.split(key)
    first = jax.random.normal(key, x.shape)
    second = jax.random.normal(key, x.shape)
    return x + first, jnp.tanh(x) + second


# %% idea fixed key
# A key that is made inside the function is the same in each call, whatever the caller passes.
def noisy(key, x):
    return right.noisy(jax.random.key(0), x)


# %% right fold_in instead of split
def noisy(key, x):
    first = jax.random.normal(jax.random.fold_in(key, 1), x.shape)
    second = jax.random.normal(jax.random.fold_in(key, 2), x.shape)
    return x + first, jnp.tanh(x) + second
