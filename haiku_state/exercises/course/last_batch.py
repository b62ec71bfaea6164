"""The last batch

repair, hard, 10 min, update/pmapped_update#the-last-partial-batch

`evaluate(row_losses, rows, size)` splits the rows into batches of `size` rows; the last batch may
have fewer. Repair `evaluate` in two respects: it must return the exact mean of the losses of all
rows, and `row_losses` must be traced once, for a batch of `size` rows, and compiled. The loss of a
padding row may be any number, even NaN.

- How many rows does the last batch have, and how much does each of them count?
- Every batch goes through `run` with the same shape. Afterwards, a mask says which of the losses
  count.
- Pad the last batch with `jnp.pad`. The mask is `jnp.arange(size) < len(batch)`. At the end, divide
  the sum of all masked losses by the number of rows.
"""

# %%
# A model is evaluated batch by batch. Its function `row_losses` is given: it
# takes a batch, which is an array with one example per row, and returns the
# loss of each row.
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    # Return the mean loss of all rows.
    run = jax.jit(row_losses)
    #: means = []
    # <solution>
    total = 0.0
    # </solution>
    for first in range(0, len(rows), size):
        batch = rows[first : first + size]
        #: means.append(jnp.mean(run(batch)))
        # <solution>
        padding = size - len(batch)
        mask = jnp.arange(size) < len(batch)
        losses = run(jnp.pad(batch, [(0, padding), (0, 0)]))
        total += jnp.sum(jnp.where(mask, losses, 0.0))
        # </solution>
    #: return sum(means) / len(means)
    # <solution>
    return total / len(rows)
    # </solution>


# %% setup
import numpy as np


def losses_of(weights, rows):
    return (rows @ weights - 1.5) ** 2 + 0.5


def play(answer, losses, rows):
    traced, calls = [], []

    def row_losses(batch):
        is_traced = isinstance(batch, jax.core.Tracer)
        (traced if is_traced else calls).append(len(batch))
        return losses(batch)

    mean = answer.evaluate(row_losses, rows, 4)
    return {"mean": mean, "traced for": traced, "not compiled": len(calls)}


# %% inputs
def inputs(rng):
    count = 3 * 4 + rng.integers(2, 4)  # the mean of 1 row repeated is its own
    rows = rng.normal(size=(count, 3)) * np.linspace(1, 3, count)[:, None]
    rows[1] = 0  # such a row counts like each other
    return rng.normal(size=3), rows


# %% check The mean is exact, and all batches share one program;
def check(answer, weights, rows):
    return play(answer, lambda batch: losses_of(weights, batch), rows)


def closed_form(weights, rows):
    losses = losses_of(weights.astype(float), rows.astype(float))
    return {"mean": losses.mean(), "traced for": [4], "not compiled": 0}


# %% check The mean is exact if the rows divide evenly, too; once
def check(answer, weights, rows):
    return play(answer, lambda batch: losses_of(weights, batch), rows[:12])


# %% check The mean is exact even if the loss of a row of zeros is NaN; once
def check(answer, weights, rows):
    def losses(batch):
        length = jnp.sqrt(jnp.sum(batch**2, axis=1))
        return losses_of(weights, batch / length[:, None])

    return play(answer, losses, rows[2:9])


# %% idea mean of means
# This is the mean of the batch means, in which a row of a small batch counts more than a row of a
# full batch. Every row must have the same weight.
def evaluate(row_losses, rows, size):
    run = jax.jit(row_losses)
    means = [run(rows[first : first + size]).mean() for first in range(0, len(rows), size)]
    return sum(means) / len(means)


# %%
def evaluate(row_losses, rows, size):
    run = jax.jit(row_losses)
    batches = [rows[first : first + size] for first in range(0, len(rows), size)]
    return sum(right.evaluate(run, batch, size) for batch in batches) / len(batches)


# %% idea padding counted
# The mean includes rows that only fill up the last batch. They are needed only for the shape, so
# they must count neither as losses nor as rows.
def evaluate(row_losses, rows, size):
    return right.evaluate(row_losses, jnp.pad(rows, [(0, -len(rows) % size), (0, 0)]), size)


# %%
def evaluate(row_losses, rows, size):
    padded = jnp.pad(rows, [(0, -len(rows) % size), (0, 0)])
    return right.evaluate(row_losses, padded, size) * len(padded) / len(rows)


# %%
def evaluate(row_losses, rows, size):
    padded_length = len(rows) + -len(rows) % size
    return right.evaluate(row_losses, rows, size) * len(rows) / padded_length


# %%
def evaluate(row_losses, rows, size):
    padded = jnp.pad(rows, [(0, min(1, -len(rows) % size)), (0, 0)])
    return right.evaluate(row_losses, padded, size) * len(padded) / len(rows)


# %%
def evaluate(row_losses, rows, size):
    padded = jnp.pad(rows, [(0, -len(rows) % size), (0, 0)], mode="edge")
    return right.evaluate(row_losses, padded, size)


# %%
def evaluate(row_losses, rows, size):
    full = len(rows) - len(rows) % size
    return right.evaluate(row_losses, jnp.concatenate([rows[:full], rows[-size:]]), size)


# %% idea zero times NaN
# A padding row still gets into the mean if its loss is multiplied by 0: zero times NaN is NaN, and
# so is zero times infinity. The losses must be selected, not multiplied.
def evaluate(row_losses, rows, size):
    run, total = jax.jit(row_losses), 0.0
    for first in range(0, len(rows), size):
        batch = rows[first : first + size]
        mask = jnp.where(jnp.arange(size) < len(batch), 1.0, 0.0)
        total += jnp.sum(mask * run(jnp.pad(batch, [(0, size - len(batch)), (0, 0)])))
    return total / len(rows)


# %% idea rows left out
# The rows of the last batch are missing. In training, different rows are left out in each epoch,
# but in an evaluation every row must count once.
def evaluate(row_losses, rows, size):
    return right.evaluate(row_losses, rows[: len(rows) // size * size], size)


# %% idea one program; update/jitted_update#the-last-batch-of-the-epoch
# The model must be traced once, for batches of one shape, and the compiled program must be used for
# every batch. A new shape, a new value of a static argument and a new function are each traced
# again.
def evaluate(row_losses, rows, size):
    run = jax.jit(row_losses)
    sums = [run(rows[first : first + size]).sum() for first in range(0, len(rows), size)]
    return sum(sums) / len(rows)


# %%
def evaluate(row_losses, rows, size):
    return jax.jit(row_losses)(rows).mean()


# %%
def evaluate(row_losses, rows, size):
    with jax.disable_jit():
        return right.evaluate(row_losses, rows, size)


# %%
def evaluate(row_losses, rows, size):
    total = 0.0
    for first in range(0, len(rows), size):
        batch = rows[first : first + size]
        # a new function each time
        total += right.evaluate(lambda batch: row_losses(batch), batch, size) * len(batch)
    return total / len(rows)


# %%
def evaluate(row_losses, rows, size):
    run = jax.jit(lambda batch, used: row_losses(batch)[:used], static_argnums=1)
    total = 0.0
    for first in range(0, len(rows), size):
        batch = rows[first : first + size]
        padded = jnp.pad(batch, [(0, size - len(batch)), (0, 0)])
        total += jnp.sum(run(padded, len(batch)))
    return total / len(rows)


# %% right a mask as an argument of the compiled function, and row 0 as the padding
def evaluate(row_losses, rows, size):
    run = jax.jit(lambda batch, mask: row_losses(batch) @ mask)
    total = 0.0
    for first in range(0, len(rows), size):
        indices = jnp.arange(first, first + size)
        mask = indices < len(rows)
        total += run(rows[jnp.where(mask, indices, 0)], mask.astype(jnp.float32))
    return total / len(rows)


# %% right all losses in one array, without the losses of the padding at its end
def evaluate(row_losses, rows, size):
    run = jax.jit(row_losses)
    padded = jnp.pad(rows, [(0, -len(rows) % size), (0, 0)])
    losses = [run(batch) for batch in padded.reshape(-1, size, rows.shape[1])]
    return jnp.concatenate(losses)[: len(rows)].mean()
