# right: a padded image, a loop over the levels, and a function of jnp
import jax.numpy as jnp


def without_border(image):
    return jnp.pad(image[1:-1, 1:-1], 1)


def histogram(counts, levels):
    for level in levels:
        counts = counts.at[level].add(1)
    return counts


def brighter(image, amount):
    return jnp.add(image, amount)

# right: a new array for the one of NumPy, and a mask
import jax.numpy as jnp


def without_border(image):
    rows = jnp.arange(image.shape[0])[:, None]
    columns = jnp.arange(image.shape[1])
    top_left = (rows > 0) & (columns > 0)
    bottom_right = (rows < image.shape[0] - 1) & (columns < image.shape[1] - 1)
    return jnp.where(top_left & bottom_right, image, 0)


def histogram(counts, levels):
    return counts + jnp.bincount(levels, length=counts.shape[0])


def brighter(image, amount):
    image = jnp.array(image)
    image += amount
    return image

# wrong: unused result
def without_border(image):
    image.at[0, :].set(0)
    image.at[-1, :].set(0)
    image.at[:, 0].set(0)
    image.at[:, -1].set(0)
    return image


def histogram(counts, levels):
    return counts.at[levels].add(1)


def brighter(image, amount):
    return image + amount

# wrong: no assignment
def without_border(image):
    first = image.at[0, :].set(0)
    last = image.at[-1, :].set(0)
    left = image.at[:, 0].set(0)
    right = image.at[:, -1].set(0)
    return right


def histogram(counts, levels):
    return counts.at[levels].add(1)


def brighter(image, amount):
    return image + amount

# wrong: no assignment
def without_border(image):
    new = image.copy()
    new[0, :] = 0
    new[-1, :] = 0
    new[:, 0] = 0
    new[:, -1] = 0
    return new


def histogram(counts, levels):
    return counts.at[levels].add(1)


def brighter(image, amount):
    return image + amount

# wrong: not traceable
import jax.numpy as jnp
import numpy as np


def without_border(image):
    image = np.array(image)
    image[0, :] = 0
    image[-1, :] = 0
    image[:, 0] = 0
    image[:, -1] = 0
    return jnp.array(image)


def histogram(counts, levels):
    return counts.at[levels].add(1)


def brighter(image, amount):
    return image + amount

# wrong: repeated index
def without_border(image):
    image = image.at[0, :].set(0).at[-1, :].set(0)
    return image.at[:, 0].set(0).at[:, -1].set(0)


def histogram(counts, levels):
    return counts.at[levels].set(counts[levels] + 1)


def brighter(image, amount):
    return image + amount

# wrong: not traceable
def without_border(image):
    image = image.at[0, :].set(0).at[-1, :].set(0)
    return image.at[:, 0].set(0).at[:, -1].set(0)


def histogram(counts, levels):
    for level in range(len(counts)):
        for seen in levels:
            if seen == level:
                counts = counts.at[level].add(1)
    return counts


def brighter(image, amount):
    return image + amount

# wrong: in place
def without_border(image):
    image = image.at[0, :].set(0).at[-1, :].set(0)
    return image.at[:, 0].set(0).at[:, -1].set(0)


def histogram(counts, levels):
    return counts.at[levels].add(1)


def brighter(image, amount):
    image += amount
    return image

# wrong: which array
def without_border(image):
    image = image.at[0, :].set(0).at[-1, :].set(0)
    return image.at[:, 0].set(0).at[:, -1].set(0)


def histogram(counts, levels):
    return counts.at[levels].add(1)


def brighter(image, amount):
    return image.at[:, :].add(amount)
