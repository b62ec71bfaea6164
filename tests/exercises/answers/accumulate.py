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
