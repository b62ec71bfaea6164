"""Answers to `example_gradients`."""

# %% right: vmap of grad, lengths by a norm of norms
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    # The loss of one example; y is 0 or 1.
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    return jax.vmap(jax.grad(example_loss), (None, 0, 0))(params, xs, ys)


def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    lengths = jnp.hypot(jnp.linalg.norm(grads["w"], axis=1), grads["b"])
    scales = jnp.where(lengths > limit, limit / lengths, 1.0)
    w, b = scales[:, None] * grads["w"], scales * grads["b"]
    return dict(w=w.mean(axis=0), b=b.mean())


# %% right: the Jacobian of all losses, and trees of any form
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    losses = lambda params: jax.vmap(example_loss, (None, 0, 0))(params, xs, ys)
    return jax.jacrev(losses)(params)


def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    count = xs.shape[0]
    squares = [jnp.sum(g.reshape(count, -1) ** 2, axis=1) for g in jax.tree.leaves(grads)]
    lengths = jnp.sqrt(sum(squares))
    scales = jnp.minimum(1.0, limit / lengths)
    return jax.tree.map(lambda g: jnp.tensordot(scales, g, axes=1) / count, grads)


# %% right: a function of one example that clips, mapped
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    def one(x, y):
        return jax.grad(example_loss)(params, x, y)

    return jax.vmap(one)(xs, ys)


def clip(grad, limit):
    length = jnp.sqrt(sum(jnp.vdot(g, g) for g in jax.tree.leaves(grad)))
    factor = limit / jnp.maximum(length, limit)
    return jax.tree.map(lambda g: factor * g, grad)


def clipped_mean(params, xs, ys, limit):
    clipped = jax.vmap(clip, in_axes=(0, None))(example_grads(params, xs, ys), limit)
    return jax.tree.map(lambda g: jnp.mean(g, axis=0), clipped)


# %% right: a scan over the examples that adds up, and lax.map
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    return jax.lax.map(lambda example: jax.grad(example_loss)(params, *example), (xs, ys))


def clipped_mean(params, xs, ys, limit):
    def add(total, grad):
        length = jnp.sqrt(jnp.sum(grad["w"] ** 2) + grad["b"] ** 2)
        scale = jnp.minimum(1.0, limit / length)
        return jax.tree.map(lambda t, g: t + scale * g, total, grad), None

    zeros = jax.tree.map(lambda p: jnp.zeros_like(jnp.asarray(p)), params)
    total, _ = jax.lax.scan(add, zeros, example_grads(params, xs, ys))
    return jax.tree.map(lambda t: t / len(ys), total)


# %% right: a Python loop, compiled
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


gradient = jax.grad(example_loss)


@jax.jit
def example_grads(params, xs, ys):
    grads = [gradient(params, xs[i], ys[i]) for i in range(len(ys))]
    return {
        "w": jnp.stack([g["w"] for g in grads]),
        "b": jnp.stack([g["b"] for g in grads]),
    }


@jax.jit
def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    n = len(ys)
    w, b = 0.0, 0.0
    for i in range(n):
        length = jnp.sqrt(jnp.sum(jnp.square(grads["w"][i])) + jnp.square(grads["b"][i]))
        scale = jnp.clip(limit / length, 0.0, 1.0)
        w += scale * grads["w"][i] / n
        b += scale * grads["b"][i] / n
    return {"b": b, "w": w}


# %% right: the derivative worked out by hand
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    slopes = jax.nn.sigmoid(xs @ params["w"] + params["b"]) - ys
    return {"w": slopes[:, None] * xs, "b": slopes}


def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    table = jnp.column_stack([grads["w"], grads["b"]])
    lengths = jnp.linalg.norm(table, axis=1, keepdims=True)
    mean = jnp.mean(table * jnp.minimum(1.0, limit / lengths), axis=0)
    return {"w": mean[:-1], "b": mean[-1]}


# %% right: a copy of the params for each example, one gradient of the sum
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    copies = jax.tree.map(lambda p: jnp.stack([jnp.asarray(p)] * len(ys)), params)
    total = lambda copies: jax.vmap(example_loss)(copies, xs, ys).sum()
    return jax.grad(total)(copies)


def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    squares = (grads["w"] ** 2).sum(axis=1) + grads["b"] ** 2
    scales = jnp.minimum(1, limit * jax.lax.rsqrt(squares))
    grads["w"] = jnp.einsum("i,ij->j", scales, grads["w"]) / len(ys)
    grads["b"] = jnp.mean(scales * grads["b"])
    return grads


# %% right: optax for one example, partial, other names
from functools import partial

import jax
import jax.numpy as jnp
import optax


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(weights, inputs, labels):
    return jax.vmap(partial(jax.grad(example_loss), weights))(inputs, labels)


def clipped_mean(weights, inputs, labels, longest):
    def clip(gradient):
        length = optax.tree.norm(gradient)
        return jax.lax.cond(
            length > longest,
            lambda g: jax.tree.map(lambda leaf: leaf * (longest / length), g),
            lambda g: g,
            gradient,
        )

    gradients = jax.vmap(clip)(example_grads(weights, inputs, labels))
    return jax.tree.map(partial(jnp.mean, axis=0), gradients)


# %% wrong: -
# the starter code
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    # The loss of one example; y is 0 or 1.
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    # Return the gradient of each example, with the examples along the first
    # axis.
    return None


def clipped_mean(params, xs, ys, limit):
    # Shorten each gradient that is longer than the limit to that length and
    # return the mean.
    grads = example_grads(params, xs, ys)
    return None


# %% wrong: each example
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    def loss(params):
        return jnp.sum(jax.vmap(example_loss, in_axes=(None, 0, 0))(params, xs, ys))

    return jax.grad(loss)(params)


def clipped_mean(params, xs, ys, limit):
    grads = jax.vmap(jax.grad(example_loss), in_axes=(None, 0, 0))(params, xs, ys)
    lengths = jnp.sqrt(jnp.sum(grads["w"] ** 2, axis=1) + grads["b"] ** 2)
    scales = jnp.minimum(1.0, limit / lengths)
    return {
        "w": jnp.mean(scales[:, None] * grads["w"], axis=0),
        "b": jnp.mean(scales * grads["b"]),
    }


# %% wrong: shared argument
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    return jax.vmap(jax.grad(example_loss), in_axes=0)(params, xs, ys)


def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    lengths = jnp.sqrt(jnp.sum(grads["w"] ** 2, axis=1) + grads["b"] ** 2)
    scales = jnp.minimum(1.0, limit / lengths)
    return {
        "w": jnp.mean(scales[:, None] * grads["w"], axis=0),
        "b": jnp.mean(scales * grads["b"]),
    }


# %% wrong: too early a mean
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    return jax.vmap(jax.grad(example_loss), in_axes=(None, 0, 0))(params, xs, ys)


def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    w, b = grads["w"].mean(axis=0), grads["b"].mean()
    length = jnp.sqrt(jnp.sum(w**2) + b**2)
    scale = jnp.where(length > limit, limit / length, 1.0)
    return {"w": scale * w, "b": scale * b}


# %% wrong: one length
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    return jax.vmap(jax.grad(example_loss), in_axes=(None, 0, 0))(params, xs, ys)


def clip(leaf, limit):
    length = jnp.sqrt(jnp.sum(leaf**2))
    return leaf * jnp.minimum(1.0, limit / length)


def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    each = jax.tree.map(lambda g: jax.vmap(clip, (0, None))(g, limit), grads)
    return jax.tree.map(lambda g: g.mean(axis=0), each)


# %% wrong: one length
# the length of w alone decides, and b is scaled by the same factor
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    return jax.vmap(jax.grad(example_loss), in_axes=(None, 0, 0))(params, xs, ys)


def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    lengths = jnp.linalg.norm(grads["w"], axis=1)
    scales = jnp.minimum(1.0, limit / lengths)
    return {
        "w": jnp.mean(scales[:, None] * grads["w"], axis=0),
        "b": jnp.mean(scales * grads["b"]),
    }


# %% wrong: at most
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    return jax.vmap(jax.grad(example_loss), in_axes=(None, 0, 0))(params, xs, ys)


def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    lengths = jnp.sqrt(jnp.sum(grads["w"] ** 2, axis=1) + grads["b"] ** 2)
    scales = limit / lengths
    return {
        "w": jnp.mean(scales[:, None] * grads["w"], axis=0),
        "b": jnp.mean(scales * grads["b"]),
    }


# %% wrong: -
# the sum in place of the mean
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    return jax.vmap(jax.grad(example_loss), in_axes=(None, 0, 0))(params, xs, ys)


def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    lengths = jnp.sqrt(jnp.sum(grads["w"] ** 2, axis=1) + grads["b"] ** 2)
    scales = jnp.minimum(1.0, limit / lengths)
    return {"w": scales @ grads["w"], "b": scales @ grads["b"]}


# %% wrong: structure
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    # a list with a dict for each example
    return [jax.grad(example_loss)(params, x, y) for x, y in zip(xs, ys)]


def clipped_mean(params, xs, ys, limit):
    total = {"w": 0.0, "b": 0.0}
    for grad in example_grads(params, xs, ys):
        length = jnp.sqrt(jnp.sum(grad["w"] ** 2) + grad["b"] ** 2)
        scale = jnp.minimum(1.0, limit / length)
        total = {name: total[name] + scale * grad[name] / len(ys) for name in total}
    return total


# %% wrong: not traceable
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    return jax.vmap(jax.grad(example_loss), in_axes=(None, 0, 0))(params, xs, ys)


def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    lengths = jnp.sqrt(jnp.sum(grads["w"] ** 2, axis=1) + grads["b"] ** 2)
    scales = jnp.ones(len(ys))
    for i in range(len(ys)):
        if lengths[i] > limit:
            scales = scales.at[i].set(limit / lengths[i])
    return {
        "w": jnp.mean(scales[:, None] * grads["w"], axis=0),
        "b": jnp.mean(scales * grads["b"]),
    }


# %% wrong: -
# a unit vector times the new length: a gradient of exactly 0 becomes nan
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    return jax.vmap(jax.grad(example_loss), in_axes=(None, 0, 0))(params, xs, ys)


def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    lengths = jnp.sqrt(jnp.sum(grads["w"] ** 2, axis=1) + grads["b"] ** 2)
    new_lengths = jnp.minimum(lengths, limit)
    scales = new_lengths / lengths
    return {
        "w": jnp.mean(scales[:, None] * grads["w"], axis=0),
        "b": jnp.mean(scales * grads["b"]),
    }


# %% wrong: -
# the root is missing
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    return jax.vmap(jax.grad(example_loss), in_axes=(None, 0, 0))(params, xs, ys)


def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    lengths = jnp.sum(grads["w"] ** 2, axis=1) + grads["b"] ** 2
    scales = jnp.minimum(1.0, limit / lengths)
    return {
        "w": jnp.mean(scales[:, None] * grads["w"], axis=0),
        "b": jnp.mean(scales * grads["b"]),
    }


# %% wrong: -
# the sum goes over the examples and not over the numbers of a gradient
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    return jax.vmap(jax.grad(example_loss), in_axes=(None, 0, 0))(params, xs, ys)


def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    lengths = jnp.sqrt(jnp.sum(grads["w"] ** 2, axis=0) + jnp.sum(grads["b"] ** 2))
    scales = jnp.minimum(1.0, limit / lengths)
    return {
        "w": jnp.mean(scales * grads["w"], axis=0),
        "b": jnp.mean(scales[0] * grads["b"]),
    }


# %% wrong: -
# the labels are mapped as if they were -1 and 1
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    return jax.vmap(jax.grad(example_loss), in_axes=(None, 0, 0))(params, xs, 2 * ys - 1)


def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    lengths = jnp.sqrt(jnp.sum(grads["w"] ** 2, axis=1) + grads["b"] ** 2)
    scales = jnp.minimum(1.0, limit / lengths)
    return {
        "w": jnp.mean(scales[:, None] * grads["w"], axis=0),
        "b": jnp.mean(scales * grads["b"]),
    }
