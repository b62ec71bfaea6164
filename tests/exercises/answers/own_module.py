"""Answers to `own_module`."""

# %% right: a helper method, and a counterpart of `if` in the value
import haiku as hk
import jax.numpy as jnp


class LargestScale(hk.Module):
    def __call__(self, x, is_training):
        if is_training:
            self.take_in(x)
        return x / self.largest(x)

    def largest(self, x):
        return hk.get_state("largest", x.shape[1:], x.dtype, init=jnp.zeros)

    def take_in(self, x):
        hk.set_state("largest", jnp.maximum(self.largest(x), jnp.abs(x).max(axis=0)))


# %% right: row by row in a Python loop
import haiku as hk
import jax.numpy as jnp


class LargestScale(hk.Module):
    def __call__(self, x, is_training):
        shape = [x.shape[1]]
        largest = hk.get_state("largest", shape, dtype=x.dtype, init=hk.initializers.Constant(0))
        if is_training:
            for row in x:
                largest = jnp.maximum(largest, abs(row))
        hk.set_state("largest", largest)
        return x / largest


# %% right: from the smallest and the largest value, with keywords
import haiku as hk
import jax.numpy as jnp


class LargestScale(hk.Module):
    def __init__(self, name=None):
        super().__init__(name=name)

    def __call__(self, x, is_training):
        def zeros(shape, dtype):
            return jnp.zeros(shape, dtype)

        old = hk.get_state(name="largest", shape=x.shape[-1:], dtype=x.dtype, init=zeros)
        if not is_training:
            return x / old
        new = jnp.stack([old, x.max(axis=0), -x.min(axis=0)]).max(axis=0)
        hk.set_state("largest", new)
        return x / new


# %% right: the state with one more row for the old value, and another argument name
import haiku as hk
import jax
import jax.numpy as np


class LargestScale(hk.Module):
    def __call__(self, table, training=True):
        state = hk.get_state("largest", table.shape[1:], table.dtype, np.zeros)
        rows = np.vstack([state, table if training else 0 * table])
        state = np.linalg.norm(rows, np.inf, axis=0)
        hk.set_state("largest", state)
        return jax.vmap(np.divide, (0, None))(table, state)


# %% right: hk.cond
import haiku as hk
import jax.numpy as jnp


class LargestScale(hk.Module):
    def __call__(self, x, is_training):
        largest = hk.get_state("largest", x.shape[1:], x.dtype, init=jnp.zeros)
        larger = lambda old: jnp.maximum(old, jnp.max(jnp.abs(x), axis=0))
        largest = hk.cond(is_training, larger, lambda old: old, largest)
        hk.set_state("largest", largest)
        return x * (1 / largest)


# %% right: the inner state of a second class
import functools

import haiku as hk
import jax.numpy as jnp


@functools.partial(jnp.vectorize, signature="(n)->()")
def size(column):
    return jnp.max(jnp.abs(column))


class LargestScale(hk.Module):
    def __call__(self, x, is_training):
        old = hk.get_state("largest", x[0].shape, x.dtype, init=jnp.zeros)
        new = jnp.where(size(x.T) > old, size(x.T), old)
        if is_training:
            hk.set_state("largest", new)
        return x / (new if is_training else old)


# %% wrong: not in the state
import haiku as hk
import jax.numpy as jnp


class LargestScale(hk.Module):
    def __init__(self, name=None):
        super().__init__(name=name)
        self.largest = 0

    def __call__(self, x, is_training):
        if is_training:
            self.largest = jnp.maximum(self.largest, jnp.max(jnp.abs(x), axis=0))
        return x / self.largest


# %% wrong: dropped state
import haiku as hk
import jax.numpy as jnp


class LargestScale(hk.Module):
    def __call__(self, x, is_training):
        largest = hk.get_state("largest", x.shape[1:], x.dtype, init=jnp.zeros)
        if is_training:
            largest = jnp.maximum(largest, jnp.max(jnp.abs(x), axis=0))
        return x / largest


# %% wrong: initial value
import haiku as hk
import jax.numpy as jnp


class LargestScale(hk.Module):
    def __call__(self, x, is_training):
        largest = hk.get_state("largest")
        if is_training:
            largest = jnp.maximum(largest, jnp.max(jnp.abs(x), axis=0))
            hk.set_state("largest", largest)
        return x / largest


# %% wrong: initial value
# the state starts as the first batch, which looks clever
import haiku as hk
import jax.numpy as jnp


class LargestScale(hk.Module):
    def __call__(self, x, is_training):
        batch = jnp.max(jnp.abs(x), axis=0)
        largest = hk.get_state("largest", batch.shape, batch.dtype, init=lambda *_: batch)
        if is_training:
            largest = jnp.maximum(largest, batch)
            hk.set_state("largest", largest)
        return x / largest


# %% wrong: evaluation writes
import haiku as hk
import jax.numpy as jnp


class LargestScale(hk.Module):
    def __call__(self, x, is_training):
        largest = hk.get_state("largest", x.shape[1:], x.dtype, init=jnp.zeros)
        largest = jnp.maximum(largest, jnp.max(jnp.abs(x), axis=0))
        hk.set_state("largest", largest)
        return x / largest


# %% wrong: only the last batch
import haiku as hk
import jax.numpy as jnp


class LargestScale(hk.Module):
    def __call__(self, x, is_training):
        hk.get_state("largest", x.shape[1:], x.dtype, init=jnp.zeros)
        if is_training:
            hk.set_state("largest", jnp.max(jnp.abs(x), axis=0))
        return x / hk.get_state("largest")


# %% wrong: old scale
import haiku as hk
import jax.numpy as jnp


class LargestScale(hk.Module):
    def __call__(self, x, is_training):
        largest = hk.get_state("largest", x.shape[1:], x.dtype, init=jnp.zeros)
        output = x / largest
        if is_training:
            hk.set_state("largest", jnp.maximum(largest, jnp.max(jnp.abs(x), axis=0)))
        return output


# %% wrong: negative values
import haiku as hk
import jax.numpy as jnp


class LargestScale(hk.Module):
    def __call__(self, x, is_training):
        largest = hk.get_state("largest", x.shape[1:], x.dtype, init=jnp.zeros)
        if is_training:
            largest = jnp.maximum(largest, abs(jnp.max(x, axis=0)))
            hk.set_state("largest", largest)
        return x / largest


# %% wrong: name in the state
import haiku as hk
import jax.numpy as jnp


class LargestScale(hk.Module):
    def __call__(self, x, is_training):
        largest = hk.get_state("largest_value", x.shape[1:], x.dtype, init=jnp.zeros)
        if is_training:
            largest = jnp.maximum(largest, jnp.max(jnp.abs(x), axis=0))
            hk.set_state("largest_value", largest)
        return x / largest


# %% wrong: -
# one number for all columns
import haiku as hk
import jax.numpy as jnp


class LargestScale(hk.Module):
    def __call__(self, x, is_training):
        largest = hk.get_state("largest", x.shape[1:], x.dtype, init=jnp.zeros)
        if is_training:
            largest = jnp.maximum(largest, jnp.max(jnp.abs(x)))
            hk.set_state("largest", largest)
        return x / largest


# %% wrong: -
# for the rows
import haiku as hk
import jax.numpy as jnp


class LargestScale(hk.Module):
    def __call__(self, x, is_training):
        largest = hk.get_state("largest", x.shape[1:], x.dtype, init=jnp.zeros)
        if is_training:
            largest = jnp.maximum(largest, jnp.max(jnp.abs(x), axis=1))
            hk.set_state("largest", largest)
        return x / largest


# %% wrong: -
# the condition the wrong way round
import haiku as hk
import jax.numpy as jnp


class LargestScale(hk.Module):
    def __call__(self, x, is_training):
        largest = hk.get_state("largest", x.shape[1:], x.dtype, init=jnp.zeros)
        if not is_training:
            largest = jnp.maximum(largest, jnp.max(jnp.abs(x), axis=0))
            hk.set_state("largest", largest)
        return x / largest
