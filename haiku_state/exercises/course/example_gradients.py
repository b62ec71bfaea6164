"""A gradient for each example

write, hard, 10 min, pure/transformations#all-of-them-together

Write `example_grads(params, xs, ys)`: the gradients of `example_loss` with respect to params, one
for each example. The result is a dict like params, with the examples along the first axis of each
leaf. `xs` has a row and `ys` an entry for each example.

Then write `clipped_mean(params, xs, ys, limit)`. The length of a gradient is the square root of the
sum of the squares of all its numbers, in `w` and `b` together. Gradients that are longer than
`limit` are scaled down to this length, and the others do not change; the result is the mean over
the examples, a dict like params.

- Which function returns the gradient of one example, and how do you apply it to many examples?
- In `example_grads`, params are the same for all examples, but `xs` and `ys` are not: look up
  `in_axes`. In `clipped_mean`, compute one factor for each example.
- `in_axes=(None, 0, 0)` corresponds to the three arguments, and `jnp.minimum(1.0, limit / lengths)`
  is the factor of each example; `scales[:, None]` can be multiplied with `w`.
"""

# %%
# A logistic regression in which no single example may have too much influence.
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    # The loss of one example; y is 0 or 1.
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    # Return the gradient of each example, with the examples along the first
    # axis.
    #: return None
    # <solution>
    grad_fn = jax.grad(example_loss)
    return jax.vmap(grad_fn, in_axes=(None, 0, 0))(params, xs, ys)
    # </solution>


def clipped_mean(params, xs, ys, limit):
    # Shorten each gradient that is longer than the limit to that length and
    # return the mean.
    grads = example_grads(params, xs, ys)
    #: return None
    # <solution>
    lengths = jnp.sqrt(jnp.sum(grads["w"] ** 2, axis=1) + grads["b"] ** 2)
    scales = jnp.minimum(1.0, limit / lengths)
    return {
        "w": jnp.mean(scales[:, None] * grads["w"], axis=0),
        "b": jnp.mean(scales * grads["b"]),
    }
    # </solution>


# %% setup
import numpy as np


# %% inputs
def inputs(rng):
    params = {"w": 0.1 * rng.normal(size=3), "b": np.float32(0.1 * rng.normal())}
    # some gradients are shorter than the limit, and some have entries that are larger
    xs, ys = np.arange(8)[:, None] * rng.normal(size=(8, 3)), rng.integers(0, 2, 8).astype(float)
    return params, xs, ys, np.float32(rng.uniform(0.8, 1.2))


# %% check `example_grads` returns the gradient of each example; pure jit
def check(answer, params, xs, ys, limit):
    return answer.example_grads(params, xs, ys)


# %% check `clipped_mean` returns the mean of the clipped gradients; pure jit
def check(answer, params, xs, ys, limit):
    return answer.clipped_mean(params, xs, ys, limit)


def closed_form(params, xs, ys, limit):
    xs = xs.astype(float)
    slopes = 1 / (1 + np.exp(-xs @ params["w"] - params["b"])) - ys
    lengths = np.abs(slopes) * np.sqrt(np.sum(xs**2, axis=1) + 1)
    clipped = np.minimum(1, limit / lengths) * slopes
    return {"w": clipped @ xs / len(ys), "b": np.mean(clipped)}


# %% check `clipped_mean` does not change a gradient of 0; once
def check(answer, params, xs, ys, limit):
    x = 50 * params["w"] / jnp.sum(params["w"] ** 2)  # the loss has no slope there
    return answer.clipped_mean(params, x[None], jnp.ones(1), limit)


# %% idea each example
# The gradient must be taken of a single number, which is here the loss of one example. `vmap` can
# then apply the gradient function to all examples.
def example_grads(params, xs, ys):
    losses = jax.vmap(example_loss, (None, 0, 0))
    return jax.grad(lambda params: losses(params, xs, ys).mean())(params)


# %%
def example_grads(params, xs, ys):
    losses = jax.vmap(example_loss, (None, 0, 0))
    return jax.grad(lambda params: losses(params, xs, ys).sum())(params)


# %%
def example_grads(params, xs, ys):
    return jax.grad(jax.vmap(example_loss, (None, 0, 0)))(params, xs, ys)


# %% idea shared argument; pure/transformations#vmap-many-at-once
# All examples must use the same params. `vmap` maps over the first axis of every argument unless it
# is told that the examples share it.
def example_grads(params, xs, ys):
    return jax.vmap(jax.grad(example_loss))(params, xs, ys)


# %% idea too early a mean
# In a mean, a single large gradient can no longer be told apart from the others, so each gradient
# must be clipped before the mean is taken.
def clipped_mean(params, xs, ys, limit):
    mean = jax.tree.map(lambda g: g.mean(axis=0), example_grads(params, xs, ys))
    length = jnp.sqrt(jnp.sum(mean["w"] ** 2) + mean["b"] ** 2)
    return jax.tree.map(lambda g: jnp.minimum(1.0, limit / length) * g, mean)


# %%
def clipped_mean(params, xs, ys, limit):
    return jax.tree.map(lambda g: g.mean(axis=0), example_grads(params, xs, ys))


# %% idea one length; pure/transformations#on-your-own
# A gradient is one vector, although it is stored in two leaves. Its length must be computed from
# both leaves, and the whole vector must be shortened so that its direction does not change.
def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    scale_w = jnp.minimum(1.0, limit / jnp.linalg.norm(grads["w"], axis=1))
    scale_b = jnp.minimum(1.0, limit / jnp.abs(grads["b"]))
    return {"w": scale_w @ grads["w"] / len(ys), "b": jnp.mean(scale_b * grads["b"])}


# %%
def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    scales = jnp.minimum(1.0, limit / jnp.linalg.norm(grads["w"], axis=1))
    return {"w": scales @ grads["w"] / len(ys), "b": jnp.mean(scales * grads["b"])}


# %%
def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    return jax.tree.map(lambda g: jnp.clip(g, -limit, limit).mean(axis=0), grads)


# %% idea at most
# The limit is the largest allowed length. A gradient that is already shorter must not change.
def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    lengths = jnp.sqrt(jnp.sum(grads["w"] ** 2, axis=1) + grads["b"] ** 2)
    scales = limit / jnp.maximum(lengths, 1e-9)
    return {"w": scales @ grads["w"] / len(ys), "b": jnp.mean(scales * grads["b"])}


# %% right a function that clips one gradient, which is then vectorized, with the length from Optax
import optax


def clipped_mean(params, xs, ys, limit):
    def clipped(x, y):
        grad = jax.grad(example_loss)(params, x, y)
        scale = jnp.minimum(1.0, limit / optax.global_norm(grad))
        return jax.tree.map(lambda g: scale * g, grad)

    return jax.tree.map(lambda g: g.mean(axis=0), jax.vmap(clipped)(xs, ys))


# %% right a loop over the examples
def example_grads(params, xs, ys):
    each = [jax.grad(example_loss)(params, x, y) for x, y in zip(xs, ys, strict=True)]
    return jax.tree.map(lambda *grads: jnp.stack(grads), *each)
