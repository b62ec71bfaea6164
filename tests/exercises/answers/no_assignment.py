"""Answers to `no_assignment`."""

# %% right: padding, bincount, jnp.add
import jax.numpy as jnp


def without_border(image):
    return jnp.pad(image[1:-1, 1:-1], ((1, 1), (1, 1)))


def histogram(counts, levels):
    return counts + jnp.bincount(levels, length=counts.shape[0])


def brighter(image, amount):
    return jnp.add(image, amount)


# %% right: where with a mask, comparison with every level
import jax.numpy as jnp


def without_border(image):
    rows, columns = image.shape
    row, column = jnp.arange(rows)[:, None], jnp.arange(columns)
    inside = (row > 0) & (row < rows - 1) & (column > 0) & (column < columns - 1)
    return jnp.where(inside, image, 0)


def histogram(counts, levels):
    found = levels[:, None] == jnp.arange(len(counts))
    return counts + found.sum(axis=0)


def brighter(image, amount):
    return jnp.asarray(image) + amount


# %% right: fori_loop and a list of indices
import jax
import jax.numpy as jnp


def without_border(image):
    return image.at[jnp.array([0, -1]), :].set(0).at[:, jnp.array([0, -1])].set(0)


def histogram(counts, levels):
    def body(i, counts):
        return counts.at[levels[i]].add(1)

    return jax.lax.fori_loop(0, levels.shape[0], body, counts)


def brighter(image, amount):
    return amount + image


# %% right: a scan over the levels, zeros of the same kind, jitted functions
import jax
import jax.numpy as jnp


@jax.jit
def without_border(image):
    return jnp.zeros_like(image).at[1:-1, 1:-1].set(image[1:-1, 1:-1])


@jax.jit
def histogram(counts, levels):
    def step(counts, level):
        return counts.at[level].add(1), None

    counts, _ = jax.lax.scan(step, counts, levels)
    return counts


@jax.jit
def brighter(image, amount):
    return image + amount


# %% right: Python loops over all pixels and all levels
import jax.numpy as jnp


def without_border(image):
    height, width = image.shape
    for y in range(height):
        for x in range(width):
            if y in (0, height - 1) or x in (0, width - 1):
                image = image.at[y, x].set(0)
    return image


def histogram(counts, levels):
    for i in range(levels.shape[0]):
        level = levels[i]
        counts = counts.at[level].set(counts[level] + 1)
    return counts


def brighter(image, amount):
    result = jnp.array(image)
    result += amount
    return result


# %% right: a helper, segment_sum, and a case for each kind of array
import jax
import jax.numpy as jnp
import numpy as np


def set_to_zero(image, *places):
    for place in places:
        image = image.at[place].set(0)
    return image


def without_border(image):
    return set_to_zero(image, 0, -1, (slice(None), 0), (slice(None), -1))


def histogram(counts, levels):
    ones = jnp.ones_like(levels)
    return counts + jax.ops.segment_sum(ones, levels, num_segments=counts.size)


def brighter(image, amount):
    if isinstance(image, np.ndarray):
        return image + amount
    return image.at[...].add(amount)


# %% right: lambdas, other names, vmap over the gray levels
import jax
import jax.numpy as jnp

without_border = lambda picture: (
    picture.at[0].set(0).at[-1].set(0).at[:, 0].set(0).at[:, -1].set(0)
)

histogram = lambda bins, grays: bins + jax.vmap(lambda one: jnp.sum(grays == one))(
    jnp.arange(bins.shape[0])
)

brighter = lambda picture, more: picture + more


# %% right: concatenated blocks of zeros, one-hot rows, methods of a class
import jax
import jax.numpy as jnp


class Gray:
    @staticmethod
    def without_border(image):
        inner = image[1:-1, 1:-1]
        side = jnp.zeros((inner.shape[0], 1), image.dtype)
        middle = jnp.concatenate([side, inner, side], axis=1)
        end = jnp.zeros((1, middle.shape[1]), image.dtype)
        return jnp.concatenate([end, middle, end])

    @staticmethod
    def histogram(counts, levels):
        rows = jax.nn.one_hot(levels, len(counts), dtype=counts.dtype)
        return counts + jnp.sum(rows, axis=0)

    @staticmethod
    def brighter(image, amount):
        return image.__add__(amount) if hasattr(image, "at") else jnp.array(image) + amount


without_border = Gray.without_border
histogram = Gray.histogram
brighter = Gray.brighter


# %% right: a NumPy mask made from the shape alone
import jax.numpy as jnp
import numpy as np


def without_border(image):
    border = np.ones(image.shape, bool)
    border[1:-1, 1:-1] = False
    return jnp.where(border, jnp.zeros_like(image), image)


def histogram(counts, levels):
    return counts.at[levels].add(jnp.ones(levels.shape, counts.dtype))


def brighter(image, amount):
    new = image + amount
    return new


# %% wrong: no assignment | in place | changed argument
def without_border(image):
    # Return the image with zeros in its first and last row and column.
    image[0, :] = 0
    image[-1, :] = 0
    image[:, 0] = 0
    image[:, -1] = 0
    return image


def histogram(counts, levels):
    # Count each gray level as many times as it occurs.
    for level in levels:
        counts[level] += 1
    return counts


def brighter(image, amount):
    # Return the image with the amount added to each pixel.
    image += amount
    return image


# %% wrong: in place | changed argument
def without_border(image):
    image = image.at[0, :].set(0)
    image = image.at[-1, :].set(0)
    image = image.at[:, 0].set(0)
    image = image.at[:, -1].set(0)
    return image


def histogram(counts, levels):
    for level in levels:
        counts = counts.at[level].add(1)
    return counts


def brighter(image, amount):
    # += is fine: JAX makes a new array
    image += amount
    return image


# %% wrong: no assignment
def without_border(image):
    image.at[0, :].set(0)
    image.at[-1, :].set(0)
    image.at[:, 0].set(0)
    image.at[:, -1].set(0)
    return image


def histogram(counts, levels):
    for level in levels:
        counts.at[level].add(1)
    return counts


def brighter(image, amount):
    return image + amount


# %% wrong: no assignment
def without_border(image):
    new = image.at[0, :].set(0)
    new = image.at[-1, :].set(0)
    new = image.at[:, 0].set(0)
    new = image.at[:, -1].set(0)
    return new


def histogram(counts, levels):
    return counts.at[levels].add(1)


def brighter(image, amount):
    return image + amount


# %% wrong: repeated index
import jax.numpy as jnp


def without_border(image):
    return jnp.pad(image[1:-1, 1:-1], 1)


def histogram(counts, levels):
    return counts.at[levels].set(counts[levels] + 1)


def brighter(image, amount):
    return image + amount


# %% wrong: not traceable
import jax.numpy as jnp
import numpy as np


def without_border(image):
    new = np.array(image)
    new[0, :] = new[-1, :] = 0
    new[:, 0] = new[:, -1] = 0
    return jnp.asarray(new)


def histogram(counts, levels):
    new = np.array(counts)
    for level in np.array(levels):
        new[level] += 1
    return jnp.asarray(new)


def brighter(image, amount):
    return jnp.asarray(np.array(image) + amount)


# %% wrong: not traceable
import jax.numpy as jnp


def without_border(image):
    return jnp.pad(image[1:-1, 1:-1], 1)


def histogram(counts, levels):
    found = jnp.bincount(levels)
    return counts.at[: len(found)].add(found)


def brighter(image, amount):
    return image + amount


# %% wrong: which array
def without_border(image):
    image = image.at[0].set(0)
    image = image.at[-1].set(0)
    image = image.at[:, 0].set(0)
    return image.at[:, -1].set(0)


def histogram(counts, levels):
    return counts.at[levels].add(1)


def brighter(image, amount):
    return image.at[...].add(amount)


# %% wrong: in place | changed argument
# the image is put right again after the addition
def without_border(image):
    image = image.at[0].set(0)
    image = image.at[-1].set(0)
    image = image.at[:, 0].set(0)
    return image.at[:, -1].set(0)


def histogram(counts, levels):
    return counts.at[levels].add(1)


def brighter(image, amount):
    image += amount
    result = image.copy()
    image -= amount
    return result


# %% wrong: -
# the border is cut off
def without_border(image):
    return image[1:-1, 1:-1]


def histogram(counts, levels):
    return counts.at[levels].add(1)


def brighter(image, amount):
    return image + amount


# %% wrong: -
# only the corners
def without_border(image):
    return image.at[[0, 0, -1, -1], [0, -1, 0, -1]].set(0)


def histogram(counts, levels):
    return counts.at[levels].add(1)


def brighter(image, amount):
    return image + amount


# %% wrong: -
# the bins of jnp.histogram reach from the smallest to the largest level
import jax.numpy as jnp


def without_border(image):
    return jnp.pad(image[1:-1, 1:-1], 1)


def histogram(counts, levels):
    found, _edges = jnp.histogram(levels, bins=counts.shape[0])
    return counts + found.astype(counts.dtype)


def brighter(image, amount):
    return image + amount


# %% wrong: -
# what was counted before is forgotten
import jax.numpy as jnp


def without_border(image):
    return jnp.pad(image[1:-1, 1:-1], 1)


def histogram(counts, levels):
    return jnp.zeros_like(counts).at[levels].add(1)


def brighter(image, amount):
    return image + amount
