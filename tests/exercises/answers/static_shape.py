"""Answers to `static_shape`."""

# %% right: reshape finds out the length
import jax.numpy as jnp


def flat_images(images):
    return images.reshape(images.shape[0], -1)


def block_levels(signal, size):
    whole = len(signal) - len(signal) % size
    rows = signal[:whole].reshape(-1, size)
    return jnp.sqrt(jnp.mean(jnp.square(rows), axis=1))


# %% right: NumPy on the shape
import jax.numpy as jnp
import numpy as np


def flat_images(images):
    pixels = np.prod(np.array(images.shape[1:]))
    return images.reshape(images.shape[0], pixels)


def block_levels(signal, size):
    blocks = np.floor(signal.shape[0] / size).astype(int)
    rows = signal[: blocks * size].reshape(blocks, size)
    return jnp.sqrt(jnp.mean(jnp.square(rows), axis=1))


# %% right: the module math, functions of jnp in place of methods
import math

import jax.numpy as jnp


def flat_images(images):
    return jnp.reshape(images, (len(images), math.prod(images.shape[1:])))


def block_levels(signal, size):
    blocks = math.floor(signal.shape[0] / size)
    rows = jnp.reshape(signal[0 : blocks * size], (blocks, size))
    return (rows**2).mean(axis=-1) ** 0.5


# %% right: vmap over the images and over the starts of the blocks
import jax
import jax.numpy as jnp


def flat_images(images):
    return jax.vmap(jnp.ravel)(images)


def block_levels(signal, size):
    starts = jnp.arange(signal.size // size) * size

    def level(start):
        block = jax.lax.dynamic_slice(signal, (start,), (size,))
        return jnp.sqrt(jnp.mean(block**2))

    return jax.vmap(level)(starts)


# %% right: Python loops, and the size of an image
import jax.numpy as jnp


def flat_images(images):
    pixels = images[0].size
    return images.reshape((images.shape[0], pixels))


def block_levels(signal, size):
    levels = []
    for block in range(signal.shape[0] // size):
        values = signal[block * size : (block + 1) * size]
        levels.append(jnp.sqrt(jnp.mean(jnp.square(values))))
    return jnp.array(levels)


# %% right: both compiled by themselves, the level as a norm
from functools import partial

import jax
import jax.numpy as jnp


@jax.jit
def flat_images(images):
    count, height, width = images.shape
    return images.reshape(count, height * width)


@partial(jax.jit, static_argnames="size")
def block_levels(signal, size):
    blocks, _rest = divmod(signal.shape[0], size)
    rows = signal[: blocks * size].reshape(blocks, size)
    return jnp.linalg.norm(rows, axis=1) / size**0.5


# %% right: jnp, but while tracing
import jax
import jax.numpy as jnp


def flat_images(images):
    with jax.ensure_compile_time_eval():
        pixels = int(jnp.prod(jnp.array(images.shape[1:])))
    return images.reshape(images.shape[0], pixels)


def block_levels(signal, size):
    with jax.ensure_compile_time_eval():
        blocks = int(jnp.floor(signal.shape[0] / size))
    rows = signal[: blocks * size].reshape(blocks, size)
    return jnp.sqrt(jnp.mean(jnp.square(rows), axis=1))


# %% right: helpers, other names, a table of indices, lax.map
import jax
import jax.numpy as jnp
import numpy as np


def number_of_pixels(shape):
    pixels = 1
    for length in shape[1:]:
        pixels *= length
    return pixels


def rms(values):
    return jnp.sqrt(jnp.sum(values * values) / values.size)


def flat_images(pictures):
    return jax.lax.reshape(pictures, (pictures.shape[0], number_of_pixels(pictures.shape)))


def block_levels(wave, length):
    count = int(wave.shape[0] / length)
    places = np.arange(count * length).reshape(count, length)
    return jax.lax.map(rms, wave[places])


# %% wrong: static shape
import jax.numpy as jnp


def flat_images(images):
    # Return a row of pixels for each image.
    pixels = jnp.prod(jnp.array(images.shape[1:]))
    return images.reshape(images.shape[0], pixels)


def block_levels(signal, size):
    # Cut the signal into blocks of this size and drop the remainder at the
    # end. Return the square root of the mean square of each block.
    blocks = jnp.floor(signal.shape[0] / size).astype(int)
    rows = signal[: blocks * size].reshape(blocks, size)
    return jnp.sqrt(jnp.mean(jnp.square(rows), axis=1))


# %% wrong: static shape
import jax.numpy as jnp


def flat_images(images):
    pixels = images.shape[1] * images.shape[2]
    return images.reshape(images.shape[0], pixels)


def block_levels(signal, size):
    blocks = jnp.floor_divide(signal.shape[0], size)
    rows = signal[: blocks * size].reshape(blocks, size)
    return jnp.sqrt(jnp.mean(jnp.square(rows), axis=1))


# %% wrong: static shape
import jax.numpy as jnp


def flat_images(images):
    pixels = jnp.prod(jnp.array(images.shape[1:])).item()
    return images.reshape(images.shape[0], pixels)


def block_levels(signal, size):
    blocks = jnp.floor(signal.shape[0] / size).astype(int).item()
    rows = signal[: blocks * size].reshape(blocks, size)
    return jnp.sqrt(jnp.mean(jnp.square(rows), axis=1))


# %% wrong: not traceable
import numpy as np


def flat_images(images):
    return images.reshape(images.shape[0], -1)


def block_levels(signal, size):
    blocks = signal.shape[0] // size
    rows = signal[: blocks * size].reshape(blocks, size)
    return np.sqrt(np.mean(np.square(rows), axis=1))


# %% wrong: not traceable
import jax.numpy as jnp
import numpy as np


def flat_images(images):
    pixels = np.array(images[0]).size
    return images.reshape(images.shape[0], pixels)


def block_levels(signal, size):
    blocks = signal.shape[0] // size
    rows = signal[: blocks * size].reshape(blocks, size)
    return jnp.sqrt(jnp.mean(jnp.square(rows), axis=1))


# %% wrong: the rest
import math

import jax.numpy as jnp


def flat_images(images):
    return images.reshape(images.shape[0], -1)


def block_levels(signal, size):
    blocks = math.ceil(signal.shape[0] / size)
    rows = signal[: blocks * size].reshape(blocks, size)
    return jnp.sqrt(jnp.mean(jnp.square(rows), axis=1))


# %% wrong: the rest
import jax.numpy as jnp


def flat_images(images):
    return images.reshape(images.shape[0], -1)


def block_levels(signal, size):
    # the rest makes one more block, filled up with zeros
    blocks = -(-signal.shape[0] // size)
    rows = jnp.resize(jnp.append(signal, jnp.zeros(size)), (blocks, size))
    return jnp.sqrt(jnp.mean(jnp.square(rows), axis=1))


# %% wrong: not traceable
import jax
import jax.numpy as jnp


@jax.jit
def flat_images(images):
    return images.reshape(images.shape[0], images.shape[1] * images.shape[2])


@jax.jit
def block_levels(signal, size):
    blocks = signal.shape[0] // size
    rows = signal[: blocks * size].reshape(blocks, size)
    return jnp.sqrt(jnp.mean(jnp.square(rows), axis=1))


# %% wrong: -
# the pixels of an image come out in another order
import jax.numpy as jnp


def flat_images(images):
    # each image is read column by column
    return images.reshape(images.shape[0], -1, order="F")


def block_levels(signal, size):
    blocks = signal.shape[0] // size
    rows = signal[: blocks * size].reshape(blocks, size)
    return jnp.sqrt(jnp.mean(jnp.square(rows), axis=1))


# %% wrong: -
# square images only
import jax.numpy as jnp


def flat_images(images):
    pixels = images.shape[1] * images.shape[1]
    return images.reshape(images.shape[0], pixels)


def block_levels(signal, size):
    blocks = signal.shape[0] // size
    rows = signal[: blocks * size].reshape(blocks, size)
    return jnp.sqrt(jnp.mean(jnp.square(rows), axis=1))


# %% wrong: -
# NumPy was not imported
import jax.numpy as jnp


def flat_images(images):
    return images.reshape(images.shape[0], np.prod(images.shape[1:]))


def block_levels(signal, size):
    blocks = signal.shape[0] // size
    rows = signal[: blocks * size].reshape(blocks, size)
    return jnp.sqrt(jnp.mean(jnp.square(rows), axis=1))


# %% wrong: -
# number and size of the blocks are mixed up
import jax.numpy as jnp


def flat_images(images):
    return images.reshape(images.shape[0], -1)


def block_levels(signal, size):
    blocks = signal.shape[0] // size
    rows = signal[: blocks * size].reshape(size, blocks)
    return jnp.sqrt(jnp.mean(jnp.square(rows), axis=1))


# %% wrong: -
# works for signals of up to 8 blocks
import jax.numpy as jnp


def flat_images(images):
    return images.reshape(images.shape[0], -1)


def block_levels(signal, size):
    blocks = 0
    for count in range(1, 9):
        if count * size <= signal.shape[0]:
            blocks = count
    rows = signal[: blocks * size].reshape(blocks, size)
    return jnp.sqrt(jnp.mean(jnp.square(rows), axis=1))
