"""The last batch

repair, 10 min, update/pmapped_update#the-last-partial-batch

`evaluate(row_losses, rows, size)` splits the rows into batches of `size` rows; the last batch may
have fewer. Repair `evaluate` in two respects: it must return the exact mean of the losses of all
rows, and `row_losses` must be traced once, for a batch of `size` rows, and compiled. `row_losses`
may be given any numbers as padding.

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
import jax
import numpy as np


def losses_of(weights, rows):
    return (rows @ weights - 1.5) ** 2 + 0.5


def play(answer, weights, rows):
    traced, calls = [], []

    def row_losses(batch):
        is_traced = isinstance(batch, jax.core.Tracer)
        (traced if is_traced else calls).append(len(batch))
        return losses_of(weights, batch)

    mean = answer.evaluate(row_losses, rows, 4)
    return {"mean": mean, "traced for": traced, "not compiled": len(calls)}


# %% inputs
def inputs(rng):
    count = 3 * 4 + rng.integers(2, 4)  # the mean of 1 row repeated is its own
    return rng.normal(size=3), rng.normal(size=(count, 3)) * np.linspace(1, 3, count)[:, None]


# %% check The mean is exact, and all batches share one program; ; compiled once
def check(answer, weights, rows):
    return play(answer, weights, rows)


def closed_form(weights, rows):
    losses = losses_of(weights.astype(float), rows.astype(float))
    return {"mean": losses.mean(), "traced for": [4], "not compiled": 0}


# %% check If the rows divide evenly, no padding batch is added; once; compiled once
def check(answer, weights, rows):
    return play(answer, weights, rows[:12])


# %% idea mean of means
# This is the mean of the batch means. Each batch has the same weight in it, so a row of a small
# batch counts more than a row of a full batch.
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
# The mean includes the rows of the padding. They are needed only for the shape, so they count
# neither as losses nor as rows.
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
    padded = jnp.pad(rows, [(0, -len(rows) % size), (0, 0)], mode="edge")
    return right.evaluate(row_losses, padded, size)


# %%
def evaluate(row_losses, rows, size):
    full = len(rows) - len(rows) % size
    return right.evaluate(row_losses, jnp.concatenate([rows[:full], rows[-size:]]), size)


# %% idea rows left out
# The rows of the last batch are missing. In training, different rows are left out in each epoch,
# but in an evaluation every row counts once.
def evaluate(row_losses, rows, size):
    return right.evaluate(row_losses, rows[: len(rows) // size * size], size)


# %% idea second shape; update/jitted_update#the-last-batch-of-the-epoch
# The mean is right, but the model was also compiled for a number of rows that differs from a full
# batch. Each new shape needs a new program.
def evaluate(row_losses, rows, size):
    run = jax.jit(row_losses)
    sums = [run(rows[first : first + size]).sum() for first in range(0, len(rows), size)]
    return sum(sums) / len(rows)


# %%
def evaluate(row_losses, rows, size):
    return jax.jit(row_losses)(rows).mean()


# %% idea compiled once; update/jitted_update#how-often-does-it-compile
# The model should be traced only once, compiled, and used for every batch.
def evaluate(row_losses, rows, size):
    with jax.disable_jit():
        return right.evaluate(row_losses, rows, size)


# %%
def evaluate(row_losses, rows, size):
    return row_losses(rows).mean()


# %% right the mask is an argument of the compiled function, and row 0 is the padding
def evaluate(row_losses, rows, size):
    run = jax.jit(lambda batch, mask: row_losses(batch) @ mask)
    total = 0.0
    for first in range(0, len(rows), size):
        indices = jnp.arange(first, first + size)
        mask = indices < len(rows)
        total += run(rows[jnp.where(mask, indices, 0)], mask.astype(jnp.float32))
    return total / len(rows)


# %% right the losses of the padding are cut off
def evaluate(row_losses, rows, size):
    run = jax.jit(row_losses)
    padded = jnp.pad(rows, [(0, -len(rows) % size), (0, 0)])
    losses = [run(batch) for batch in padded.reshape(-1, size, rows.shape[1])]
    return jnp.concatenate(losses)[: len(rows)].mean()
