"""Answers to `tree_update`."""

# %% right: leaves and map
import jax
import jax.numpy as jnp


def norm(tree):
    # Return the square root of the sum of all squares.
    total = 0.0
    for leaf in jax.tree.leaves(tree):
        total = total + jnp.sum(leaf**2)
    return jnp.sqrt(total)


def clipped_step(params, grads, learning_rate, max_norm):
    # Return the new params.
    scale = jnp.minimum(1.0, max_norm / norm(grads))
    return jax.tree.map(lambda p, g: p - learning_rate * scale * g, params, grads)


# %% right: tree.reduce, and a choice by where
import operator

import jax
import jax.numpy as jnp


def norm(tree):
    squares = jax.tree.map(lambda leaf: jnp.vdot(leaf, leaf), tree)
    return jnp.sqrt(jax.tree.reduce(operator.add, squares, 0.0))


def clipped_step(params, grads, learning_rate, max_norm):
    length = norm(grads)
    scale = jnp.where(length > max_norm, max_norm / length, 1.0)
    scaled = jax.tree.map(lambda g: scale * g, grads)
    return jax.tree.map(lambda p, g: p - learning_rate * g, params, scaled)


# %% right: everything in one vector
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree


def norm(tree):
    flat, _ = ravel_pytree(tree)
    return jnp.linalg.norm(flat)


def clipped_step(params, grads, learning_rate, max_norm):
    flat, unravel = ravel_pytree(params)
    step, _ = ravel_pytree(grads)
    step = step * jnp.minimum(1.0, max_norm / norm(grads))
    return unravel(flat - learning_rate * step)


# %% right: optax, for the norm and for the step
import optax


def norm(tree):
    return optax.tree.norm(tree)


def clipped_step(params, grads, learning_rate, max_norm):
    clip = optax.clip_by_global_norm(max_norm)
    clipped, _ = clip.update(grads, clip.init(params))
    steps = optax.tree.scale(-learning_rate, clipped)
    return optax.apply_updates(params, steps)


# %% right: flatten and unflatten, compiled
import jax
import jax.numpy as jnp


@jax.jit
def norm(tree):
    leaves, _ = jax.tree.flatten(tree)
    return jnp.sqrt(sum((leaf * leaf).sum() for leaf in leaves))


@jax.jit
def clipped_step(params, grads, learning_rate, max_norm):
    size = learning_rate * max_norm / jnp.maximum(norm(grads), max_norm)
    params, treedef = jax.tree.flatten(params)
    new = [p - size * g for p, g in zip(params, treedef.flatten_up_to(grads))]
    return treedef.unflatten(new)


# %% right: the norm of the norms, jax.tree_util, partial
from functools import partial

import jax.numpy as jnp
from jax import tree_util


def norm(tree):
    norms = [jnp.linalg.norm(jnp.ravel(leaf)) for leaf in tree_util.tree_leaves(tree)]
    return jnp.linalg.norm(jnp.array(norms))


def move(size, param, grad):
    return param - size * grad


def clipped_step(params, grads, learning_rate, max_norm):
    scale = jnp.clip(max_norm / norm(grads), max=1.0)
    return tree_util.tree_map(partial(move, learning_rate * scale), params, grads)


# %% right: lax.cond around the scaling, other names
import jax
import jax.numpy as jnp


def norm(t):
    return jnp.sqrt(sum(jnp.sum(jnp.square(x)) for x in jax.tree.leaves(t)))


def clipped_step(weights, slopes, rate, longest):
    length = norm(slopes)

    def shorten(slopes):
        return jax.tree.map(lambda s: s * (longest / length), slopes)

    slopes = jax.lax.cond(length > longest, shorten, lambda slopes: slopes, slopes)
    return jax.tree.map(lambda w, s: w - rate * s, weights, slopes)


# %% right: lambdas, and the steps first
import jax
import jax.numpy as jnp

norm = lambda tree: jnp.sqrt(sum(map(jnp.sum, map(jnp.square, jax.tree.leaves(tree)))))


def steps(grads, learning_rate, max_norm):
    scale = jnp.minimum(1.0, max_norm / norm(grads))
    return jax.tree.map(lambda g: -learning_rate * (scale * g), grads)


def clipped_step(params, grads, learning_rate, max_norm):
    return jax.tree.map(jnp.add, params, steps(grads, learning_rate, max_norm))


# %% wrong: tree of arrays
import jax
import jax.numpy as jnp


def norm(tree):
    # Return the square root of the sum of all squares.
    return jnp.sqrt(jnp.sum(tree**2))


def clipped_step(params, grads, learning_rate, max_norm):
    # Return the new params.
    scale = jnp.minimum(1.0, max_norm / norm(grads))
    return params - learning_rate * scale * grads


# %% wrong: tree of arrays
# half done
import jax
import jax.numpy as jnp


def norm(tree):
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)))


def clipped_step(params, grads, learning_rate, max_norm):
    scale = jnp.minimum(1.0, max_norm / norm(grads))
    return params - learning_rate * scale * grads


# %% wrong: norm of each leaf
import jax
import jax.numpy as jnp


def norm(tree):
    return jax.tree.map(lambda leaf: jnp.sqrt(jnp.sum(leaf**2)), tree)


def clipped_step(params, grads, learning_rate, max_norm):
    def step(p, g, length):
        return p - learning_rate * jnp.minimum(1.0, max_norm / length) * g

    return jax.tree.map(step, params, grads, norm(grads))


# %% wrong: norm of each leaf
import jax
import jax.numpy as jnp


def norm(tree):
    return sum(jnp.sqrt(jnp.sum(leaf**2)) for leaf in jax.tree.leaves(tree))


def clipped_step(params, grads, learning_rate, max_norm):
    scale = jnp.minimum(1.0, max_norm / norm(grads))
    return jax.tree.map(lambda p, g: p - learning_rate * scale * g, params, grads)


# %% wrong: -
# uphill
import jax
import jax.numpy as jnp


def norm(tree):
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)))


def clipped_step(params, grads, learning_rate, max_norm):
    scale = jnp.minimum(1.0, max_norm / norm(grads))
    return jax.tree.map(lambda p, g: p + learning_rate * scale * g, params, grads)


# %% wrong: any structure
# recursion into the containers of Python: other nodes are no arrays
import jax.numpy as jnp


def leaves(tree):
    if tree is None:
        return []
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in leaves(tree[key])]
    if isinstance(tree, (list, tuple)):
        return [leaf for node in tree for leaf in leaves(node)]
    return [tree]


def norm(tree):
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in leaves(tree)))


def moved(params, grads, size):
    if params is None:
        return None
    if isinstance(params, dict):
        return {key: moved(params[key], grads[key], size) for key in params}
    if isinstance(params, (list, tuple)):
        return type(params)([moved(p, g, size) for p, g in zip(params, grads)])
    return params - size * grads


def clipped_step(params, grads, learning_rate, max_norm):
    scale = jnp.minimum(1.0, max_norm / norm(grads))
    return moved(params, grads, learning_rate * scale)


# %% wrong: any structure
import jax
import jax.numpy as jnp


def norm(tree):
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)))


def clipped_step(params, grads, learning_rate, max_norm):
    scale = jnp.minimum(1.0, max_norm / norm(grads))
    new_params = {}
    for name, layer in params.items():
        step = lambda p, g: p - learning_rate * scale * g
        new_params[name] = jax.tree.map(step, layer, grads[name])
    return new_params


# %% wrong: same step
# each number is clipped
import jax
import jax.numpy as jnp


def norm(tree):
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)))


def clipped_step(params, grads, learning_rate, max_norm):
    def step(p, g):
        return p - learning_rate * jnp.clip(g, -max_norm, max_norm)

    return jax.tree.map(step, params, grads)


# %% wrong: same step
import jax
import jax.numpy as jnp


def norm(tree):
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)))


def clipped_step(params, grads, learning_rate, max_norm):
    scale = max_norm / norm(grads)
    return jax.tree.map(lambda p, g: p - learning_rate * scale * g, params, grads)


# %% wrong: structure
import jax
import jax.numpy as jnp


def norm(tree):
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)))


def clipped_step(params, grads, learning_rate, max_norm):
    scale = jnp.minimum(1.0, max_norm / norm(grads))
    pairs = zip(jax.tree.leaves(params), jax.tree.leaves(grads))
    return [p - learning_rate * scale * g for p, g in pairs]


# %% wrong: not traceable
import jax
import jax.numpy as jnp


def norm(tree):
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)))


def clipped_step(params, grads, learning_rate, max_norm):
    scale = 1.0
    if norm(grads) > max_norm:
        scale = max_norm / norm(grads)
    return jax.tree.map(lambda p, g: p - learning_rate * scale * g, params, grads)


# %% wrong: changed argument
import jax
import jax.numpy as jnp


def norm(tree):
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)))


def clipped_step(params, grads, learning_rate, max_norm):
    scale = jnp.minimum(1.0, max_norm / norm(grads))
    new = jax.tree.map(lambda p, g: p - learning_rate * scale * g, params, grads)
    if isinstance(params, dict):
        for name in params:
            params[name] = new[name]
        return params
    return new


# %% wrong: static value
from functools import partial

import jax
import jax.numpy as jnp


def norm(tree):
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)))


@partial(jax.jit, static_argnums=(2, 3))
def clipped_step(params, grads, learning_rate, max_norm):
    scale = jnp.minimum(1.0, max_norm / norm(grads))
    return jax.tree.map(lambda p, g: p - learning_rate * scale * g, params, grads)


# %% wrong: -
# directions times the shorter length: gradients of 0 give nan
import jax
import jax.numpy as jnp


def norm(tree):
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)))


def clipped_step(params, grads, learning_rate, max_norm):
    length = norm(grads)
    directions = jax.tree.map(lambda g: g / length, grads)
    size = learning_rate * jnp.minimum(length, max_norm)
    return jax.tree.map(lambda p, d: p - size * d, params, directions)


# %% wrong: -
# the learning rate is clipped as well
import jax
import jax.numpy as jnp


def norm(tree):
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)))


def clipped_step(params, grads, learning_rate, max_norm):
    scale = jnp.minimum(learning_rate, max_norm / norm(grads))
    return jax.tree.map(lambda p, g: p - scale * g, params, grads)


# %% wrong: -
# a mean in place of a sum
import jax
import jax.numpy as jnp


def norm(tree):
    return jnp.sqrt(sum(jnp.mean(leaf**2) for leaf in jax.tree.leaves(tree)))


def clipped_step(params, grads, learning_rate, max_norm):
    scale = jnp.minimum(1.0, max_norm / norm(grads))
    return jax.tree.map(lambda p, g: p - learning_rate * scale * g, params, grads)


# %% wrong: -
# the steps come out, and not the new params
import jax
import jax.numpy as jnp


def norm(tree):
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)))


def clipped_step(params, grads, learning_rate, max_norm):
    scale = jnp.minimum(1.0, max_norm / norm(grads))
    return jax.tree.map(lambda g: -learning_rate * scale * g, grads)

# %% wrong: -
# A gradient step that never goes too far: if the norm of the gradients is
# above `max_norm`, all gradients are scaled by the same factor so that their
# norm is `max_norm`.
import jax
import jax.numpy as jnp


def norm(tree):
    # Return the square root of the sum of all squares.
    leaves = jax.tree.leaves(tree)
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in leaves))


def clipped_step(params, grads, learning_rate, max_norm):
    # Return the new params; tuples have become lists.
    scale = jnp.minimum(1.0, max_norm / norm(grads))

    def step(p, g):
        if isinstance(p, dict):
            return {name: step(p[name], g[name]) for name in p}
        if isinstance(p, list | tuple):
            return [step(a, b) for a, b in zip(p, g, strict=True)]
        return jax.tree.map(lambda a, b: a - learning_rate * scale * b, p, g)

    return step(params, grads)
