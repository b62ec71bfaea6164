"""Arrays and buffers that are changed in place."""

import array

import jax.numpy as jnp
import numpy as np
from support.programs.tables import impure, pure

x = jnp.arange(3.0)
mean = np.zeros(3, np.float32)


@impure(x)
def numpy_augmented_assignment(x):
    global mean
    mean += 1  # finds: mutation mean[...]
    return x


weights = np.ones(3, np.float32)


@impure(x)
def numpy_ellipsis(x):
    weights[...] = weights * 0.5 + 1  # finds: mutation weights[...]
    return x


counts = np.zeros(5, np.int32)


@impure(x)
def numpy_add_at(x):
    np.add.at(counts, [0, 0, 2], 1)  # finds: mutation counts[...]
    return x


scratch = np.ones(3, np.float32)


@impure(x)
def numpy_out(x):
    np.multiply(scratch, 2, out=scratch)  # finds: mutation scratch[...]
    return x


@impure.made(x)
def numpy_item_in_self():
    class Histogram:
        def __init__(self):
            self.bins = np.zeros(4, np.int32)

        def add(self, x):
            self.bins[x.ndim] += 1  # finds: mutation self.bins[...]
            return x

    return Histogram().add


image = np.arange(6.0, dtype=np.float32)


@impure(x)
def numpy_fill(x):
    image.fill(image[0] + 1)  # finds: mutation image[...]
    return x


rank = np.array([3.0, 1.0, 2.0], np.float32)


@impure(x)
def numpy_sort(x):
    rank.sort()  # finds: mutation rank[...]
    return x


@impure.made(x)
def numpy_closed_over():
    momentum = np.zeros(3, np.float32)

    def update(x):
        momentum[:] = 0.9 * momentum + 1  # finds: mutation momentum[...]
        return x

    return update


accumulated = {"w": np.zeros(2, np.float32)}


@impure(x)
def numpy_in_a_dict(x):
    accumulated["w"][0] += 1  # finds: mutation accumulated['w'][...]
    return x


packet = bytearray(b"abc")


@impure(x)
def bytearray_item(x):
    packet[0] = (packet[0] + 1) % 256  # finds: mutation packet[...]
    return x


arr = array.array("d", [1.0, 2.0])


@impure(x)
def array_module(x):
    arr.append(3.0)  # finds: mutation arr[...]
    return x * arr[0]


@pure(x)
def numpy_scratch_array(x):
    mask = np.zeros(3, np.float32)
    mask[0] = 1
    np.add.at(mask, [1, 1], 1)
    np.multiply(mask, 2, out=mask)
    mask[...] = mask + 1
    mask += 1
    return x * mask


@pure(x)
def numpy_positions(x):
    positions = np.empty((3, 2), np.float32)
    positions[:, 0::2] = np.sin(np.arange(3))[:, None]
    positions[:, 1::2] = np.cos(np.arange(3))[:, None]
    return x @ positions


@pure(x)
def bytearray_and_memoryview_inside(x):
    data = bytearray(3)
    data[0] = 7
    view = memoryview(data)
    view[1] = 2
    return x * sum(data)


@pure(x)
def at_set(x):
    x = x.at[0].set(5.0)
    return x.at[1:].add(1.0)
