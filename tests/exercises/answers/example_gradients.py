# right: one example is clipped, and then vectorized, with optax's length
import jax
import jax.numpy as jnp
import optax


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    return jax.vmap(jax.grad(example_loss), (None, 0, 0))(params, xs, ys)


def clipped_grad(params, x, y, limit):
    grad = jax.grad(example_loss)(params, x, y)
    scale = jnp.minimum(1.0, limit / optax.global_norm(grad))
    return jax.tree.map(lambda g: scale * g, grad)


def clipped_mean(params, xs, ys, limit):
    each = jax.vmap(clipped_grad, (None, 0, 0, None))(params, xs, ys, limit)
    return jax.tree.map(lambda g: g.mean(axis=0), each)

# right: a loop over the examples
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    grad = jax.grad(example_loss)
    each = [grad(params, x, y) for x, y in zip(xs, ys, strict=True)]
    return jax.tree.map(lambda *gs: jnp.stack(gs), *each)


def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    lengths = jnp.sqrt(jnp.sum(grads["w"] ** 2, axis=1) + grads["b"] ** 2)
    scales = jnp.where(lengths > limit, limit / lengths, 1.0) / len(ys)
    return {"w": scales @ grads["w"], "b": scales @ grads["b"]}

# wrong: each example
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    def mean_loss(params):
        losses = jax.vmap(example_loss, (None, 0, 0))(params, xs, ys)
        return losses.mean()

    return jax.grad(mean_loss)(params)


def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    lengths = jnp.sqrt(jnp.sum(grads["w"] ** 2, axis=1) + grads["b"] ** 2)
    scales = jnp.minimum(1.0, limit / lengths)
    w = jnp.mean(scales[:, None] * grads["w"], axis=0)
    return {"w": w, "b": jnp.mean(scales * grads["b"])}

# wrong: each example
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    losses = jax.vmap(example_loss, (None, 0, 0))
    return jax.grad(losses)(params, xs, ys)


def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    lengths = jnp.sqrt(jnp.sum(grads["w"] ** 2, axis=1) + grads["b"] ** 2)
    scales = jnp.minimum(1.0, limit / lengths)
    w = jnp.mean(scales[:, None] * grads["w"], axis=0)
    return {"w": w, "b": jnp.mean(scales * grads["b"])}

# wrong: shared argument
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    return jax.vmap(jax.grad(example_loss))(params, xs, ys)


def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    lengths = jnp.sqrt(jnp.sum(grads["w"] ** 2, axis=1) + grads["b"] ** 2)
    scales = jnp.minimum(1.0, limit / lengths)
    w = jnp.mean(scales[:, None] * grads["w"], axis=0)
    return {"w": w, "b": jnp.mean(scales * grads["b"])}

# wrong: form
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    def loss(w, b, x, y):
        return example_loss({"w": w, "b": b}, x, y)

    grad = jax.grad(loss, argnums=(0, 1))
    return jax.vmap(grad, (None, None, 0, 0))(params["w"], params["b"], xs, ys)


def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    lengths = jnp.sqrt(jnp.sum(grads["w"] ** 2, axis=1) + grads["b"] ** 2)
    scales = jnp.minimum(1.0, limit / lengths)
    w = jnp.mean(scales[:, None] * grads["w"], axis=0)
    return {"w": w, "b": jnp.mean(scales * grads["b"])}

# wrong: too early a mean
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    return jax.vmap(jax.grad(example_loss), (None, 0, 0))(params, xs, ys)


def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    mean = jax.tree.map(lambda g: g.mean(axis=0), grads)
    length = jnp.sqrt(jnp.sum(mean["w"] ** 2) + mean["b"] ** 2)
    scale = jnp.minimum(1.0, limit / length)
    return jax.tree.map(lambda g: scale * g, mean)

# wrong: one length
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    return jax.vmap(jax.grad(example_loss), (None, 0, 0))(params, xs, ys)


def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    scale_w = jnp.minimum(1, limit / jnp.linalg.norm(grads["w"], axis=1))
    scale_b = jnp.minimum(1, limit / jnp.abs(grads["b"]))
    w = jnp.mean(scale_w[:, None] * grads["w"], axis=0)
    return {"w": w, "b": jnp.mean(scale_b * grads["b"])}

# wrong: one length
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    return jax.vmap(jax.grad(example_loss), (None, 0, 0))(params, xs, ys)


def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    clipped = jax.tree.map(lambda g: jnp.clip(g, -limit, limit), grads)
    return jax.tree.map(lambda g: g.mean(axis=0), clipped)

# wrong: at most
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    return jax.vmap(jax.grad(example_loss), (None, 0, 0))(params, xs, ys)


def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    lengths = jnp.sqrt(jnp.sum(grads["w"] ** 2, axis=1) + grads["b"] ** 2)
    scales = limit / lengths
    w = jnp.mean(scales[:, None] * grads["w"], axis=0)
    return {"w": w, "b": jnp.mean(scales * grads["b"])}

# wrong: mean
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    return jax.vmap(jax.grad(example_loss), (None, 0, 0))(params, xs, ys)


def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    lengths = jnp.sqrt(jnp.sum(grads["w"] ** 2, axis=1) + grads["b"] ** 2)
    scales = jnp.minimum(1.0, limit / lengths)
    return {"w": scales @ grads["w"], "b": scales @ grads["b"]}

# wrong: not traceable
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    return jax.vmap(jax.grad(example_loss), (None, 0, 0))(params, xs, ys)


def clipped_mean(params, xs, ys, limit):
    grads = example_grads(params, xs, ys)
    total_w, total_b = 0, 0
    for w, b in zip(grads["w"], grads["b"], strict=True):
        length = jnp.sqrt(jnp.sum(w**2) + b**2)
        if length > limit:
            w, b = w * limit / length, b * limit / length
        total_w, total_b = total_w + w, total_b + b
    return {"w": total_w / len(ys), "b": total_b / len(ys)}
