# right: flatten and unflatten
import jax
import jax.numpy as jnp


def norm(tree):
    return jnp.sqrt(
        jax.tree.reduce(lambda total, leaf: total + jnp.sum(jnp.square(leaf)), tree, 0.0)
    )


def clipped_step(params, grads, learning_rate, max_norm):
    scale = jnp.where(norm(grads) > max_norm, max_norm / norm(grads), 1.0)
    leaves, treedef = jax.tree.flatten(params)
    pairs = zip(leaves, jax.tree.leaves(grads))
    return jax.tree.unflatten(
        treedef, [p - learning_rate * scale * g for p, g in pairs]
    )

# right: optax has the norm
import jax
import jax.numpy as jnp
import optax


def norm(tree):
    return optax.global_norm(tree)


def clipped_step(params, grads, learning_rate, max_norm):
    scale = jnp.minimum(1.0, max_norm / norm(grads))
    return jax.tree.map(
        lambda p, g: p - learning_rate * scale * g, params, grads
    )

# wrong: norm of each leaf
import jax
import jax.numpy as jnp


def norm(tree):
    return jax.tree.map(lambda leaf: jnp.sqrt(jnp.sum(leaf**2)), tree)


def clipped_step(params, grads, learning_rate, max_norm):
    def step(p, g):
        return p - learning_rate * jnp.minimum(1.0, max_norm / norm(g)) * g

    return jax.tree.map(step, params, grads)

# wrong: norm of each leaf
import jax
import jax.numpy as jnp


def norm(tree):
    return sum(jnp.sqrt(jnp.sum(leaf**2)) for leaf in jax.tree.leaves(tree))


def clipped_step(params, grads, learning_rate, max_norm):
    scale = jnp.minimum(1.0, max_norm / norm(grads))
    return jax.tree.map(
        lambda p, g: p - learning_rate * scale * g, params, grads
    )

# wrong: norm of each leaf
import jax
import jax.numpy as jnp


def norm(tree):
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)))


def clipped_step(params, grads, learning_rate, max_norm):
    def step(p, g):
        return p - learning_rate * jnp.minimum(1.0, max_norm / norm(g)) * g

    return jax.tree.map(step, params, grads)

# wrong: tree of arrays
import jax
import jax.numpy as jnp


def norm(tree):
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)))


def clipped_step(params, grads, learning_rate, max_norm):
    scale = jnp.minimum(1.0, max_norm / norm(grads))
    return {
        name: params[name] - learning_rate * scale * grads[name]
        for name in params
    }

# wrong: any structure
import jax
import jax.numpy as jnp


def norm(tree):
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)))


def clipped_step(params, grads, learning_rate, max_norm):
    scale = jnp.minimum(1.0, max_norm / norm(grads))
    return {
        layer: {
            name: leaf - learning_rate * scale * grads[layer][name]
            for name, leaf in leaves.items()
        }
        for layer, leaves in params.items()
    }

# wrong: direction
import jax
import jax.numpy as jnp


def norm(tree):
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)))


def clipped_step(params, grads, learning_rate, max_norm):
    scale = jnp.minimum(1.0, max_norm / norm(grads))
    return jax.tree.map(
        lambda p, g: p + learning_rate * scale * g, params, grads
    )

# wrong: structure
import jax
import jax.numpy as jnp


def norm(tree):
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)))


def clipped_step(params, grads, learning_rate, max_norm):
    scale = jnp.minimum(1.0, max_norm / norm(grads))
    pairs = zip(jax.tree.leaves(params), jax.tree.leaves(grads))
    return [p - learning_rate * scale * g for p, g in pairs]

# wrong: not traceable
import jax
import jax.numpy as jnp


def norm(tree):
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)))


def clipped_step(params, grads, learning_rate, max_norm):
    scale = 1.0
    if norm(grads) > max_norm:
        scale = max_norm / norm(grads)
    return jax.tree.map(
        lambda p, g: p - learning_rate * scale * g, params, grads
    )

# wrong: mutation
import jax
import jax.numpy as jnp


def norm(tree):
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)))


def clipped_step(params, grads, learning_rate, max_norm):
    scale = jnp.minimum(1.0, max_norm / norm(grads))
    for layer in params:
        for name in params[layer]:
            params[layer][name] -= learning_rate * scale * grads[layer][name]
    return params

# wrong: same step
import jax
import jax.numpy as jnp


def norm(tree):
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)))


def clipped_step(params, grads, learning_rate, max_norm):
    scale = jnp.minimum(1.0, max_norm / norm(params))
    return jax.tree.map(
        lambda p, g: p - learning_rate * scale * g, params, grads
    )
