"""A clipped gradient step for any PyTree

repair, medium, 8 min, state/pytrees#one-function-for-all-leaves

`norm` and `clipped_step` work if the params are a single array. Make them work for every PyTree of
arrays.

`norm(tree)` returns one number for the whole tree. `clipped_step(params, grads, learning_rate,
max_norm)` returns new params with the same structure. The check calls them with nested dicts,
lists, tuples and other nodes, and with a single array. Gradients may be 0.

- Which of the two functions returns a tree, and which returns one number?
- `jax.tree.map` walks several trees in lockstep and returns a tree, and `jax.tree.leaves` returns
  the list of all leaves. Each function needs one of them.
- In `norm`, add `jnp.sum(leaf**2)` for all `leaf in jax.tree.leaves(tree)`. In the step, map a
  function of one leaf of `params` and one leaf of `grads`.
"""

# %%
# A gradient step that never goes too far: if the norm of the gradients is
# above `max_norm`, all gradients are scaled by the same factor so that their
# norm is `max_norm`.
import jax
import jax.numpy as jnp


def norm(tree):
    # Return the square root of the sum of all squares.
    #: return jnp.sqrt(jnp.sum(tree**2))
    # <solution>
    leaves = jax.tree.leaves(tree)
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in leaves))
    # </solution>


def clipped_step(params, grads, learning_rate, max_norm):
    # Return the new params.
    scale = jnp.minimum(1.0, max_norm / norm(grads))
    #: return params - learning_rate * scale * grads
    # <solution>
    size = learning_rate * scale
    return jax.tree.map(lambda p, g: p - size * g, params, grads)
    # </solution>


# %% setup
import numpy as np


def drawn(rng, tree):
    """Return params and grads like a tree, a learning rate, and a norm that clips the grads."""
    params = jax.tree.map(lambda leaf: np.asarray(rng.normal(size=np.shape(leaf))), tree)
    grads = jax.tree.map(lambda leaf: np.asarray(rng.uniform(1, 2, np.shape(leaf))), tree)
    return params, grads, np.float32(rng.uniform(0.1, 0.5)), np.float32(rng.uniform(0.5, 1.5))


# %% inputs
def inputs(rng):
    hidden, output = {"w": np.ones((2, 2)), "b": np.ones(2)}, {"w": np.ones(2)}
    return drawn(rng, {"hidden": hidden, "output": output})


# %% check `norm` adds the squares of all leaves; pure jit
def check(answer, params, grads, learning_rate, max_norm):
    return answer.norm(params)


# %% check `clipped_step` returns new params for two layers; pure jit vmap types
def check(answer, params, grads, learning_rate, max_norm):
    return answer.clipped_step(params, grads, learning_rate, max_norm)


def closed_form(params, grads, learning_rate, max_norm):
    norm = np.sqrt(sum((leaf.astype(float) ** 2).sum() for leaf in jax.tree.leaves(grads)))
    return jax.tree.map(lambda p, g: p - learning_rate * max_norm / norm * g, params, grads)


# %% check `clipped_step` does not change small gradients; once
def check(answer, params, grads, learning_rate, max_norm):
    step = jax.jit(answer.clipped_step)
    zeros = jax.tree.map(jnp.zeros_like, grads)
    return {
        "small": step(params, grads, learning_rate, 20 * max_norm),
        "zero": step(params, zeros, learning_rate, max_norm),
    }


# %% inputs
def inputs(rng):
    return drawn(rng, np.ones(4))


# %% check `clipped_step` also works for a single array; types once
def check(answer, params, grads, learning_rate, max_norm):
    return jax.jit(answer.clipped_step)(params, grads, learning_rate, max_norm)


# %% inputs
def inputs(rng):
    node = jax.tree_util.Partial(max, np.ones(3), frozen=None)
    return drawn(rng, [np.ones(2), (1, {"a": node, "deep": {"er": [np.ones((2, 2))]}})])


# %% check `clipped_step` works for nested lists, tuples, dicts and other nodes; types once
def check(answer, params, grads, learning_rate, max_norm):
    new = jax.jit(answer.clipped_step)(params, grads, learning_rate, max_norm)
    return {"params": new, "same structure": jax.tree.structure(new) == jax.tree.structure(params)}


# %% idea tree of arrays
# `**`, `-` and `*` are operations on arrays. A PyTree is a container, so these operations must be
# applied to its leaves, however deeply they are nested.
def norm(tree):
    return jnp.sqrt(jnp.sum(tree**2))


# %%
def clipped_step(params, grads, learning_rate, max_norm):
    scale = jnp.minimum(1.0, max_norm / norm(grads))
    return params - learning_rate * scale * grads


# %% idea norm of each leaf; state/pytrees#on-your-own
# There is one norm for the whole tree: the squares of all leaves must be added before the root is
# taken.
def norm(tree):
    return jax.tree.map(right.norm, tree)


# %%
def norm(tree):
    return sum(jax.tree.leaves(jax.tree.map(right.norm, tree)))


# %%
def clipped_step(params, grads, learning_rate, max_norm):
    step = lambda p, g: right.clipped_step(p, g, learning_rate, max_norm)
    return jax.tree.map(step, params, grads)


# %% idea any structure
# The model may have any number of layers, in any containers, so the function must not assume how
# deep the tree is or what its nodes are called.
def clipped_step(params, grads, learning_rate, max_norm):
    size = learning_rate * jnp.minimum(1.0, max_norm / norm(grads))
    return {
        layer: {name: leaf - size * grads[layer][name] for name, leaf in leaves.items()}
        for layer, leaves in params.items()
    }


# %% idea same step
# The step must be the same for a tree as for a single array: every leaf is scaled by the same
# factor, which comes from the norm of all gradients and is at most 1.
def clipped_step(params, grads, learning_rate, max_norm):
    size = learning_rate * jnp.minimum(1.0, max_norm / norm(params))
    return jax.tree.map(lambda p, g: p - size * g, params, grads)


# %%
def clipped_step(params, grads, learning_rate, max_norm):
    size = learning_rate * max_norm / norm(grads)
    return jax.tree.map(lambda p, g: p - size * g, params, grads)


# %%
def clipped_step(params, grads, learning_rate, max_norm):
    step = lambda p, g: p - learning_rate * jnp.clip(g, -max_norm, max_norm)
    return jax.tree.map(step, params, grads)


# %%
def clipped_step(params, grads, learning_rate, max_norm):
    step = lambda p, g: p - learning_rate * jnp.clip(g, -max_norm, max_norm)
    return jax.tree.map(step, params, grads)


# %% idea structure
def clipped_step(params, grads, learning_rate, max_norm):
    return jax.tree.leaves(right.clipped_step(params, grads, learning_rate, max_norm))


# %% right the norm from Optax, and a tree that is flattened
import optax


def clipped_step(params, grads, learning_rate, max_norm):
    size = learning_rate * jnp.minimum(1.0, max_norm / optax.global_norm(grads))
    leaves, treedef = jax.tree.flatten(params)
    pairs = zip(leaves, jax.tree.leaves(grads))
    return jax.tree.unflatten(treedef, [p - size * g for p, g in pairs])
