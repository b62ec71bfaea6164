# right: NumPy on the shape, and a length that reshape finds out
import jax.numpy as jnp
import numpy as np


def flat_images(images):
    return images.reshape(images.shape[0], np.prod(images.shape[1:]))


def block_levels(signal, size):
    rows = signal[: len(signal) - len(signal) % size].reshape(-1, size)
    return jnp.sqrt(jnp.mean(rows**2, axis=1))

# right: Python only on the shape
import math

import jax.numpy as jnp


def flat_images(images):
    return images.reshape(len(images), -1)


def block_levels(signal, size):
    blocks = math.floor(signal.shape[0] / size)
    rows = [signal[i * size : (i + 1) * size] for i in range(blocks)]
    return jnp.sqrt(jnp.stack([jnp.mean(row**2) for row in rows]))

# wrong: static shape
import jax.numpy as jnp
import numpy as np


def flat_images(images):
    pixels = np.prod(jnp.array(images.shape[1:]))
    return images.reshape(images.shape[0], pixels)


def block_levels(signal, size):
    blocks = signal.shape[0] // size
    rows = signal[: blocks * size].reshape(blocks, size)
    return jnp.sqrt(jnp.mean(jnp.square(rows), axis=1))

# wrong: static shape
import jax.numpy as jnp


def flat_images(images):
    pixels = int(jnp.prod(jnp.array(images.shape[1:])))
    return images.reshape(images.shape[0], pixels)


def block_levels(signal, size):
    blocks = signal.shape[0] // size
    rows = signal[: blocks * size].reshape(blocks, size)
    return jnp.sqrt(jnp.mean(jnp.square(rows), axis=1))

# wrong: static shape
import jax.numpy as jnp


def flat_images(images):
    return images.reshape(images.shape[0], -1)


def block_levels(signal, size):
    blocks = jnp.floor_divide(signal.shape[0], size)
    rows = signal[: blocks * size].reshape(blocks, size)
    return jnp.sqrt(jnp.mean(jnp.square(rows), axis=1))

# wrong: traced value
import jax.numpy as jnp
import numpy as np


def flat_images(images):
    return images.reshape(images.shape[0], np.prod(images.shape[1:]))


def block_levels(signal, size):
    blocks = int(np.floor(signal.shape[0] / size))
    rows = signal[: blocks * size].reshape(blocks, size)
    return np.sqrt(np.mean(np.square(rows), axis=1))

# wrong: traced value
import numpy as np


def flat_images(images):
    return np.array(images).reshape(len(images), -1)


def block_levels(signal, size):
    return signal

# wrong: the rest
import jax.numpy as jnp


def flat_images(images):
    return images.reshape(images.shape[0], -1)


def block_levels(signal, size):
    rows = signal.reshape(-1, size)
    return jnp.sqrt(jnp.mean(jnp.square(rows), axis=1))

# wrong: same result
import jax.numpy as jnp


def flat_images(images):
    columns_first = images.transpose(0, 2, 1)
    return columns_first.reshape(images.shape[0], -1)


def block_levels(signal, size):
    blocks = signal.shape[0] // size
    rows = signal[: blocks * size].reshape(blocks, size)
    return jnp.sqrt(jnp.mean(jnp.square(rows), axis=1))

# wrong: the rest
import jax.numpy as jnp


def flat_images(images):
    return images.reshape(images.shape[0], -1)


def block_levels(signal, size):
    padded = jnp.pad(signal, (0, -len(signal) % size))
    rows = padded.reshape(-1, size)
    return jnp.sqrt(jnp.mean(jnp.square(rows), axis=1))
