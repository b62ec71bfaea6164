# right: the gradients are the outputs of the scan
import jax
import jax.numpy as jnp


def accumulate(loss_fn, params, state, batch, count):
    parts = jax.tree.map(lambda x: jnp.stack(jnp.split(x, count)), batch)

    def body(state, part):
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        return state, grads

    state, grads = jax.lax.scan(body, state, parts)
    return jax.tree.map(lambda leaf: jnp.mean(leaf, axis=0), grads), state

# wrong: sum or mean
import jax
import jax.numpy as jnp


def accumulate(loss_fn, params, state, batch, count):
    def cut(leaf):
        return leaf.reshape(count, -1, *leaf.shape[1:])

    def body(carry, part):
        total, state = carry
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        return (jax.tree.map(jnp.add, total, grads), state), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    parts = jax.tree.map(cut, batch)
    (total, state), _ = jax.lax.scan(body, (zeros, state), parts)
    return jax.tree.map(lambda leaf: leaf, total), state

# wrong: last part only
import jax
import jax.numpy as jnp


def accumulate(loss_fn, params, state, batch, count):
    def cut(leaf):
        return leaf.reshape(count, -1, *leaf.shape[1:])

    def body(carry, part):
        total, state = carry
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        return (grads, state), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    parts = jax.tree.map(cut, batch)
    (total, state), _ = jax.lax.scan(body, (zeros, state), parts)
    return jax.tree.map(lambda leaf: leaf, total), state

# wrong: last part only
import jax
import jax.numpy as jnp


def accumulate(loss_fn, params, state, batch, count):
    def cut(leaf):
        return leaf.reshape(count, -1, *leaf.shape[1:])

    def body(carry, part):
        total, state = carry
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        return (grads, state), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    parts = jax.tree.map(cut, batch)
    (total, state), _ = jax.lax.scan(body, (zeros, state), parts)
    return jax.tree.map(lambda leaf: leaf / count, total), state

# wrong: threaded state
import jax
import jax.numpy as jnp


def accumulate(loss_fn, params, state, batch, count):
    def cut(leaf):
        return leaf.reshape(count, -1, *leaf.shape[1:])

    def body(carry, part):
        total, _ = carry
        grads, new = jax.grad(loss_fn, has_aux=True)(params, state, part)
        return (jax.tree.map(jnp.add, total, grads), new), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    parts = jax.tree.map(cut, batch)
    (total, new), _ = jax.lax.scan(body, (zeros, state), parts)
    return jax.tree.map(lambda leaf: leaf / count, total), new

# wrong: dropped state
import jax
import jax.numpy as jnp


def accumulate(loss_fn, params, state, batch, count):
    def cut(leaf):
        return leaf.reshape(count, -1, *leaf.shape[1:])

    def body(carry, part):
        total, state = carry
        grads, _ = jax.grad(loss_fn, has_aux=True)(params, state, part)
        return (jax.tree.map(jnp.add, total, grads), state), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    parts = jax.tree.map(cut, batch)
    (total, state), _ = jax.lax.scan(body, (zeros, state), parts)
    return jax.tree.map(lambda leaf: leaf / count, total), state

# wrong: unrolled loop
import jax
import jax.numpy as jnp


def accumulate(loss_fn, params, state, batch, count):
    total = jax.tree.map(jnp.zeros_like, params)
    for i in range(count):
        size = batch["x"].shape[0] // count
        part = jax.tree.map(lambda leaf: leaf[i * size : (i + 1) * size], batch)
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        total = jax.tree.map(lambda t, g: t + g / count, total, grads)
    return total, state

# wrong: equal parts
import jax
import jax.numpy as jnp


def accumulate(loss_fn, params, state, batch, count):
    def cut(leaf):
        return jnp.stack([leaf[: len(leaf) // count]] * count)

    def body(carry, part):
        total, state = carry
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        return (jax.tree.map(jnp.add, total, grads), state), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    parts = jax.tree.map(cut, batch)
    (total, state), _ = jax.lax.scan(body, (zeros, state), parts)
    return jax.tree.map(lambda leaf: leaf / count, total), state

# wrong: one at a time
import jax
import jax.numpy as jnp


def accumulate(loss_fn, params, state, batch, count):
    def cut(leaf):
        return leaf.reshape(count, -1, *leaf.shape[1:])

    def body(carry, part):
        total, state = carry
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        return (jax.tree.map(jnp.add, total, grads), state), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    parts = jax.tree.map(cut, batch)
    (total, state), _ = jax.lax.scan(body, (zeros, state), parts)
    grads, _ = jax.grad(loss_fn, has_aux=True)(params, state, batch)
    return grads, state

# wrong: chosen count
import jax
import jax.numpy as jnp


def accumulate(loss_fn, params, state, batch, count):
    count = 4

    def cut(leaf):
        return leaf.reshape(count, -1, *leaf.shape[1:])

    def body(carry, part):
        total, state = carry
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        return (jax.tree.map(jnp.add, total, grads), state), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    parts = jax.tree.map(cut, batch)
    (total, state), _ = jax.lax.scan(body, (zeros, state), parts)
    return jax.tree.map(lambda leaf: leaf / count, total), state

# wrong: one at a time
import jax
import jax.numpy as jnp


def example_loss(params, state, batch):
    mean = 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


def accumulate(loss_fn, params, state, batch, count):
    parts = jax.tree.map(lambda leaf: leaf.reshape(count, -1, *leaf.shape[1:]), batch)
    grad_fn = jax.grad(lambda params, part: loss_fn(params, state, part)[0])
    grads = jax.vmap(grad_fn, in_axes=(None, 0))(params, parts)
    state, _ = jax.lax.scan(lambda s, part: (loss_fn(params, s, part)[1], None), state, parts)
    return jax.tree.map(lambda leaf: leaf.mean(axis=0), grads), state

# wrong: chosen count
import jax


def accumulate(loss_fn, params, state, batch, count):
    def body(state, part):
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        return state, grads

    parts = jax.tree.map(lambda leaf: leaf.reshape(2, -1, *leaf.shape[1:]), batch)
    state, grads = jax.lax.scan(body, state, parts)
    return jax.tree.map(lambda leaf: leaf.mean(axis=0), grads), state
