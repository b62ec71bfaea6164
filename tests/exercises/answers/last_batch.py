"""Answers to `last_batch`."""

# %% right: one padded array, cut off by lax.map
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    count = rows.shape[0]
    padded = jnp.pad(rows, ((0, -count % size), (0, 0)))
    batches = padded.reshape((-1, size) + rows.shape[1:])
    losses = jax.lax.map(row_losses, batches)
    return losses.reshape(-1)[:count].mean()


# %% right: scan adds up, the mask is compared inside
import jax
import jax.numpy as jnp


@jax.jit
def _where(losses, mask):
    return jnp.where(mask, losses, 0)


def evaluate(row_losses, rows, size):
    n = len(rows)
    steps = -(-n // size)
    padded = jnp.concatenate([rows, jnp.ones((steps * size - n, *rows.shape[1:]), rows.dtype)])
    masks = jnp.arange(steps * size) < n

    def body(total, part):
        batch, mask = part
        return total + _where(row_losses(batch), mask).sum(), None

    parts = padded.reshape(steps, size, -1), masks.reshape(steps, size)
    total, _ = jax.lax.scan(body, jnp.float32(0), parts)
    return total / n


# %% right: rows wrap around, losses of the batch are cut off in Python
import jax
import jax.numpy as jnp
import numpy as np


def evaluate(row_losses, rows, size):
    run = jax.jit(row_losses)
    losses = []
    for start in range(0, len(rows), size):
        wanted = np.arange(start, start + size) % len(rows)
        used = min(size, len(rows) - start)
        losses.extend(np.asarray(run(rows[wanted]))[:used])
    return jnp.asarray(np.mean(np.array(losses), dtype=np.float64), jnp.float32)


# %% right: the last row is repeated, weighted average
import functools

import jax
import jax.numpy as jnp


def batches_of(rows, size):
    for first in range(0, len(rows), size):
        batch = rows[first : first + size]
        missing = size - len(batch)
        yield jnp.pad(batch, [(0, missing), (0, 0)], mode="edge"), len(batch)


def evaluate(row_losses, rows, size):
    @functools.partial(jax.jit)
    def run(batch, used):
        losses = row_losses(batch)
        return jnp.sum(losses, where=jnp.arange(size) < used)

    sums, counts = zip(*[(run(batch, used), used) for batch, used in batches_of(rows, size)])
    return sum(sums) / sum(counts)


# %% right: the last batch overlaps the batch before it
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    run = jax.jit(row_losses)
    if len(rows) < size:
        filled = jnp.concatenate([rows] * size)[:size]
        return run(filled)[: len(rows)].mean()
    total, seen = 0.0, 0
    while seen < len(rows):
        first = min(seen, len(rows) - size)
        losses = run(rows[first : first + size])
        total += jnp.sum(losses[seen - first :])
        seen = first + size
    return total / len(rows)


# %% right: means of the batches, each with its number of rows
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    compiled = jax.jit(lambda batch: row_losses(batch))
    means, weights = [], []
    for first in range(0, len(rows), size):
        batch = rows[first : first + size]
        n = len(batch)
        full = jnp.zeros((size, *batch.shape[1:]), batch.dtype).at[:n].set(batch)
        means.append(compiled(full)[:n].mean())
        weights.append(n)
    return jnp.average(jnp.stack(means), weights=jnp.array(weights, jnp.float32))


# %% right: always one more row of padding than needed, also if the rows divide evenly
import jax
import jax.numpy as jnp


class Evaluator:
    def __init__(self, row_losses, size):
        self.run = jax.jit(row_losses)
        self.size = size

    def __call__(self, rows):
        extra = self.size - len(rows) % self.size
        padded = jnp.vstack([rows, jnp.zeros((extra, rows.shape[1]), rows.dtype)])
        losses = [self.run(part) for part in jnp.split(padded, len(padded) // self.size)]
        return jnp.hstack(losses)[: len(rows)].sum() / len(rows)


def evaluate(row_losses, rows, size):
    return Evaluator(row_losses, size)(rows)


# %% right: the full batches in a loop, the rest after it with the same program
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    f = jax.jit(row_losses)
    full, rest = divmod(len(rows), size)
    total = jnp.zeros(())
    for i in range(full):
        total = total + f(rows[i * size : (i + 1) * size]).sum()
    if rest:
        last = jnp.resize(rows[full * size :], (size, rows.shape[1]))
        total = total + f(last)[:rest].sum()
    return total / len(rows)


# %% right: compiled ahead of time
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    example = jax.ShapeDtypeStruct((size, *rows.shape[1:]), rows.dtype)
    run = jax.jit(row_losses).lower(example).compile()
    total = 0.0
    for first in range(0, len(rows), size):
        batch = rows[first : first + size]
        losses = run(jnp.pad(batch, [(0, size - len(batch)), (0, 0)]))
        total += jnp.dot(losses[: len(batch)], jnp.ones(len(batch)))
    return total / len(rows)


# %% wrong: mean of means | one program
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    # Return the mean loss of all rows.
    run = jax.jit(row_losses)
    means = []
    for first in range(0, len(rows), size):
        batch = rows[first : first + size]
        means.append(jnp.mean(run(batch)))
    return sum(means) / len(means)


# %% wrong: one program
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    run = jax.jit(row_losses)
    total = 0.0
    for first in range(0, len(rows), size):
        batch = rows[first : first + size]
        total += jnp.sum(run(batch))
    return total / len(rows)


# %% wrong: mean of means
# the mask is right, but the mean is again one of means
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    run = jax.jit(row_losses)
    means = []
    for first in range(0, len(rows), size):
        batch = rows[first : first + size]
        losses = run(jnp.pad(batch, [(0, size - len(batch)), (0, 0)]))
        means.append(jnp.mean(losses[: len(batch)]))
    return sum(means) / len(means)


# %% wrong: padding counted
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    run = jax.jit(row_losses)
    total, count = 0.0, 0
    for first in range(0, len(rows), size):
        batch = rows[first : first + size]
        batch = jnp.pad(batch, [(0, size - len(batch)), (0, 0)])
        total += jnp.sum(run(batch))
        count += len(batch)
    return total / count


# %% wrong: zero times NaN
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    run = jax.jit(row_losses)
    total = 0.0
    for first in range(0, len(rows), size):
        batch = rows[first : first + size]
        padding = size - len(batch)
        mask = (jnp.arange(size) < len(batch)).astype(jnp.float32)
        losses = run(jnp.pad(batch, [(0, padding), (0, 0)]))
        total += jnp.sum(mask * losses)
    return total / len(rows)


# %% wrong: padding counted
# one row of the padding counts
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    run = jax.jit(row_losses)
    total = 0.0
    for first in range(0, len(rows), size):
        batch = rows[first : first + size]
        padding = size - len(batch)
        mask = jnp.arange(size) <= len(batch)
        losses = run(jnp.pad(batch, [(0, padding), (0, 0)]))
        total += jnp.sum(jnp.where(mask, losses, 0.0))
    return total / len(rows)


# %% wrong: rows left out
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    run = jax.jit(row_losses)
    batches = len(rows) // size
    means = [jnp.mean(run(rows[i * size : (i + 1) * size])) for i in range(batches)]
    return sum(means) / batches


# %% wrong: one program
# each lambda is a new function for jit
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    total = 0.0
    for first in range(0, len(rows), size):
        batch = rows[first : first + size]
        used = len(batch)
        run = jax.jit(lambda batch: row_losses(batch)[:used].sum())
        total += run(jnp.pad(batch, [(0, size - used), (0, 0)]))
    return total / len(rows)


# %% wrong: one program | static value
import functools

import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    @functools.partial(jax.jit, static_argnums=1)
    def run(batch, used):
        return jnp.sum(row_losses(batch)[:used])

    total = 0.0
    for first in range(0, len(rows), size):
        batch = rows[first : first + size]
        total += run(jnp.pad(batch, [(0, size - len(batch)), (0, 0)]), len(batch))
    return total / len(rows)


# %% wrong: one program
# jit is gone
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    total = 0.0
    for first in range(0, len(rows), size):
        batch = rows[first : first + size]
        losses = row_losses(jnp.pad(batch, [(0, size - len(batch)), (0, 0)]))
        total += jnp.sum(losses[: len(batch)])
    return total / len(rows)


# %% wrong: leak | mutation
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    losses = []

    @jax.jit
    def run(batch):
        losses.append(row_losses(batch))

    for first in range(0, len(rows), size):
        batch = rows[first : first + size]
        run(jnp.pad(batch, [(0, size - len(batch)), (0, 0)]))
    return jnp.concatenate(losses)[: len(rows)].mean()


# %% wrong: -
# a row of zeros is taken for padding
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    run = jax.jit(row_losses)
    total = 0.0
    for first in range(0, len(rows), size):
        batch = rows[first : first + size]
        padded = jnp.pad(batch, [(0, size - len(batch)), (0, 0)])
        mask = jnp.any(padded != 0, axis=1)
        total += jnp.sum(jnp.where(mask, run(padded), 0.0))
    return total / len(rows)


# %% wrong: -
# the mask marks the padding's number of rows
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    run = jax.jit(row_losses)
    total = 0.0
    for first in range(0, len(rows), size):
        batch = rows[first : first + size]
        padding = size - len(batch)
        mask = jnp.arange(size) >= padding
        losses = run(jnp.pad(batch, [(0, padding), (0, 0)]))
        total += jnp.sum(jnp.where(mask, losses, 0.0))
    return total / len(rows)


# %% wrong: -
# divided by the size of a batch
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    run = jax.jit(row_losses)
    total = 0.0
    for first in range(0, len(rows), size):
        batch = rows[first : first + size]
        losses = run(jnp.pad(batch, [(0, size - len(batch)), (0, 0)]))
        total += jnp.sum(losses[: len(batch)])
    return total / size
