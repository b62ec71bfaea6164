# right: the mask is an argument of the compiled function, and row 0 is the padding
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    run = jax.jit(lambda batch, mask: row_losses(batch) @ mask)
    total, count = jnp.float32(0), 0
    for first in range(0, len(rows), size):
        indices = jnp.arange(first, first + size)
        mask = (indices < len(rows)).astype(jnp.float32)
        batch = rows[jnp.where(indices < len(rows), indices, 0)]
        total = total + run(batch, mask)
        count = count + mask.sum()
    return total / count

# right: the losses of the padding are cut off
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    run = jax.jit(row_losses)
    losses = []
    for first in range(0, len(rows), size):
        batch = rows[first : first + size]
        padded = jnp.zeros((size, rows.shape[1]), rows.dtype).at[: len(batch)].set(batch)
        losses.append(run(padded)[: len(batch)])
    return jnp.concatenate(losses).mean()

# wrong: mean of means
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    run = jax.jit(row_losses)
    means = []
    for first in range(0, len(rows), size):
        batch = rows[first : first + size]
        mask = jnp.arange(size) < len(batch)
        losses = run(jnp.pad(batch, [(0, size - len(batch)), (0, 0)]))
        means.append(jnp.sum(losses * mask) / mask.sum())
    return sum(means) / len(means)

# wrong: padding counted
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    run = jax.jit(row_losses)
    means = []
    for first in range(0, len(rows), size):
        batch = rows[first : first + size]
        losses = run(jnp.pad(batch, [(0, size - len(batch)), (0, 0)]))
        means.append(losses.mean())
    return sum(means) / len(means)

# wrong: padding counted
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    run = jax.jit(row_losses)
    means = []
    for first in range(0, len(rows), size):
        batch = rows[first : first + size]
        mask = jnp.arange(size) < len(batch)
        losses = run(jnp.pad(batch, [(0, size - len(batch)), (0, 0)]))
        means.append(jnp.mean(losses * mask))
    return sum(means) / len(means)

# wrong: rows left out
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    run = jax.jit(row_losses)
    total, count = 0.0, 0
    for first in range(0, len(rows) - size + 1, size):
        losses = run(rows[first : first + size])
        total, count = total + losses.sum(), count + size
    return total / count

# wrong: second shape
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    run = jax.jit(row_losses)
    total = 0.0
    for first in range(0, len(rows), size):
        total = total + run(rows[first : first + size]).sum()
    return total / len(rows)

# wrong: second shape
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    return jax.jit(row_losses)(rows).mean()

# wrong: compiled once
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    total = 0.0
    for first in range(0, len(rows), size):
        batch = rows[first : first + size]
        mask = jnp.arange(size) < len(batch)
        losses = row_losses(jnp.pad(batch, [(0, size - len(batch)), (0, 0)]))
        total = total + jnp.sum(losses * mask)
    return total / len(rows)

# wrong: padding counted
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    run = jax.jit(row_losses)
    total, count = 0.0, 0
    for first in range(0, len(rows), size):
        first = min(first, len(rows) - size)
        total += jnp.sum(run(rows[first : first + size]))
        count += size
    return total / count
