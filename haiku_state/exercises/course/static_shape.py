"""Shapes that are known in advance

repair, easy, 6 min, pure/thinking_in_jax#static-and-traced-operations

Repair both functions so that they work under `jax.jit` as well. The check calls
`flat_images(images)` with an array of several images, each with rows and columns, and
`block_levels(signal, size)` with an array and a Python integer, which is a static argument. The
results must be the same as without `jit`.

- Which numbers in these functions depend only on a shape, and which depend on the values?
- Look at the lines with `pixels =` and `blocks =`: which library computes their values?
- A shape is a tuple of Python integers: `np.prod` and `math.prod` multiply them, and `//` divides
  two of them and rounds down.
"""

# %%
# Two functions that change the shape of an array. They work, but not under
# jit.
import jax.numpy as jnp


def flat_images(images):
    # Return a row of pixels for each image.
    #: pixels = jnp.prod(jnp.array(images.shape[1:]))
    # <solution>
    pixels = images.shape[1] * images.shape[2]
    # </solution>
    return images.reshape(images.shape[0], pixels)


def block_levels(signal, size):
    # Cut the signal into blocks of this size and drop the remainder at the
    # end. Return the square root of the mean square of each block.
    #: blocks = jnp.floor(signal.shape[0] / size).astype(int)
    # <solution>
    blocks = signal.shape[0] // size
    # </solution>
    rows = signal[: blocks * size].reshape(blocks, size)
    return jnp.sqrt(jnp.mean(jnp.square(rows), axis=1))


# %% setup
import jax
import numpy as np


# %% inputs
def inputs(rng):
    size = int(rng.integers(3, 6))
    length = size * rng.integers(9, 12) + rng.integers(1, size)  # never a multiple of the size
    shape = rng.permutation([2, 3, 4, 5])[:3]  # no square images
    return rng.normal(size=shape), rng.normal(size=length), size


# %% check `flat_images` works with and without `jit`; pure jit
def check(answer, images, signal, size):
    return answer.flat_images(images)


# %% check `block_levels` returns the root mean square of each whole block; again arguments
def check(answer, images, signal, size):
    return answer.block_levels(signal, size)


def closed_form(images, signal, size):
    rows = signal[: len(signal) // size * size].astype(float).reshape(-1, size)
    return np.sqrt(np.mean(rows**2, axis=1))


# %% check `block_levels` works under `jit`, with `size` as a static argument; pure
def check(answer, images, signal, size):
    return jax.jit(answer.block_levels, static_argnums=1)(signal, size)


# %% idea static shape
# Under jit, the result of an operation of `jnp` is a tracer, even if its input is a shape. The
# length of an array must be known during tracing, so it must be computed without tracers.
def flat_images(images):
    return images.reshape(images.shape[0], jnp.prod(jnp.array(images.shape[1:])))


def block_levels(signal, size):
    blocks = jnp.floor(signal.shape[0] / size).astype(int)
    return right.block_levels(signal[: blocks * size], size)


# %%
def flat_images(images):
    return images.reshape(images.shape[0], int(jnp.prod(jnp.array(images.shape[1:]))))


def block_levels(signal, size):
    blocks = int(jnp.floor(signal.shape[0] / size))
    return right.block_levels(signal[: blocks * size], size)


# %%
def block_levels(signal, size):
    return right.block_levels(signal[: jnp.floor_divide(len(signal), size) * size], size)


# %% idea the rest
# The length of the signal is not always a multiple of `size`. The remaining values at its end must
# be dropped.
def block_levels(signal, size):
    rows = signal.reshape(-1, size)
    return jnp.sqrt(jnp.mean(jnp.square(rows), axis=1))


# %%
def block_levels(signal, size):
    return right.block_levels(jnp.pad(signal, (0, -len(signal) % size)), size)


# %%
def block_levels(signal, size):
    rows = [signal[start : start + size] for start in range(0, len(signal), size)]
    return jnp.sqrt(jnp.stack([jnp.mean(row**2) for row in rows]))


# %%
def block_levels(signal, size):
    return right.block_levels(signal[len(signal) % size :], size)


# %%
def block_levels(signal, size):
    blocks = -(-len(signal) // size)
    rows = signal[: blocks * size].reshape(blocks, size)
    return jnp.sqrt(jnp.mean(jnp.square(rows), axis=1))


# %% right NumPy for the shape, and a length that `reshape` computes
import numpy as np


def flat_images(images):
    return images.reshape(images.shape[0], np.prod(images.shape[1:]))


def block_levels(signal, size):
    rows = signal[: len(signal) - len(signal) % size].reshape(-1, size)
    return jnp.sqrt(jnp.mean(rows**2, axis=1))
