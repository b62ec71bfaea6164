"""Arrays without assignment

repair, medium, 8 min, pure/arrays_and_numpy#arrays-that-never-change

Repair the functions so that they work on JAX arrays and under `jax.jit` and `jax.vmap`. The check
calls `without_border(image)`, `histogram(counts, levels)` and `brighter(image, amount)`; each
returns an array and does not change the arrays of its caller. The first two functions get JAX
arrays. `brighter` must also take an image that is a NumPy array.

- Which lines write into an array, and whose array is it?
- Look at each line with an index on the left of `=` or `+=`, and at the line with `image +=
  amount`.
- `x = x.at[i].set(value)` replaces `x[i] = value`, and `.add(value)` replaces `+=`; the whole array
  `levels` can be the index.
"""

# %%
# Three functions of a NumPy program for gray images. They write into the
# arrays that are passed to them.


def without_border(image):
    # Return the image with zeros in its first and last row and column.
    #: image[0, :] = 0
    #: image[-1, :] = 0
    #: image[:, 0] = 0
    #: image[:, -1] = 0
    # <solution>
    image = image.at[0, :].set(0)
    image = image.at[-1, :].set(0)
    image = image.at[:, 0].set(0)
    image = image.at[:, -1].set(0)
    # </solution>
    return image


def histogram(counts, levels):
    # Count each gray level as many times as it occurs.
    #: for level in levels:
    #:     counts[level] += 1
    #: return counts
    # <solution>
    return counts.at[levels].add(1)
    # </solution>


def brighter(image, amount):
    # Return the image with the amount added to each pixel.
    #: image += amount
    #: return image
    # <solution>
    return image + amount
    # </solution>


# %% setup
import numpy as np


# %% inputs
def inputs(rng):
    # eight times one of four levels: at least one of them occurs more than once
    counts, levels = rng.integers(0, 9, 6), rng.integers(0, 4, 8)
    return counts, levels, rng.uniform(1, 9, (3, 4)), np.float32(rng.integers(1, 10))


# %% check `without_border` returns a new image whose border is zero; pure jit vmap once
def check(answer, counts, levels, image, amount):
    return answer.without_border(image)


# %% check `histogram` counts every level, including repeated levels; pure jit vmap
def check(answer, counts, levels, image, amount):
    return answer.histogram(counts, levels)


def closed_form(counts, levels, image, amount):
    return counts + np.bincount(levels, minlength=len(counts))


# %% check `brighter` returns a brighter image; pure jit vmap once
def check(answer, counts, levels, image, amount):
    return answer.brighter(image, amount)


# %% check `brighter` does not change the caller's NumPy array; once
def check(answer, counts, levels, image, amount):
    mine = np.array(image)
    mine.setflags(write=False)
    return answer.brighter(mine, float(amount))


# %% idea no assignment
# The values of a JAX array never change, so nothing can be assigned to its entries. Each change
# makes a new array, and the next line must continue with this new array.
def without_border(image):
    image.at[0, :].set(0)
    image.at[-1, :].set(0)
    image.at[:, 0].set(0)
    return image.at[:, -1].set(0)


# %%
def without_border(image):
    image[0, :] = 0
    return image


def histogram(counts, levels):
    counts[levels] += 1
    return counts


# %%
def without_border(image):
    image.at[0, :].set(0)
    return image


def histogram(counts, levels):
    counts.at[levels].add(1)
    return counts


# %% idea repeated index
# An index that occurs twice must be counted twice. It was counted only once because all entries
# were read before any of them was written, so the operation must accumulate.
def histogram(counts, levels):
    return counts.at[levels].set(counts[levels] + 1)


# %% idea in place
# The function must not write into the caller's array. For a JAX array, `+=` makes a new array, but
# it changes a NumPy array in place.
def brighter(image, amount):
    image += amount
    return image


# %% idea which array; pure/arrays_and_numpy#which-array-comes-out
# The function must accept both kinds of arrays. Operators and the functions of `jnp` do, but a
# NumPy array does not have attributes such as `.at`.
def brighter(image, amount):
    return image.at[:, :].add(amount)


# %% right a padded image, a loop over the levels, and `+=` on a new array
import jax.numpy as jnp


def without_border(image):
    return jnp.pad(image[1:-1, 1:-1], 1)


def histogram(counts, levels):
    for level in levels:
        counts = counts.at[level].add(1)
    return counts


def brighter(image, amount):
    image = jnp.array(image)
    image += amount
    return image
