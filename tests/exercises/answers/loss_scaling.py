"""Answers to `loss_scaling`."""

# %% right: lax.cond between two functions
import jax
import jax.numpy as jnp

RATE, PERIOD = 0.01, 3


def half_grad(loss):
    # Like jax.grad, with results in the range of float16, on any machine.
    def in_range(g):
        g = jnp.where(jnp.abs(g) > 65504, jnp.sign(g) * jnp.inf, g)
        return jnp.where(jnp.abs(g) < 2.0**-25, 0, g)

    return lambda params: jax.tree.map(in_range, jax.grad(loss)(params))


def loss_fn(params, batch):
    error = batch["x"] @ params["w"] + params["b"] - batch["y"]
    return jnp.mean(jnp.square(error))


def gradients(params, batch, scale):
    grads = half_grad(lambda params: scale * loss_fn(params, batch))(params)
    return jax.tree.map(lambda g: g / scale, grads)


def update(train_state, batch):
    params, scale = train_state["params"], train_state["scale"]
    grads = gradients(params, batch, scale)
    is_finite = jax.tree.reduce(lambda so_far, g: so_far & jnp.isfinite(g).all(), grads, True)

    def good():
        count = train_state["count"] + 1
        return {
            "params": jax.tree.map(lambda p, g: p - RATE * g, params, grads),
            "scale": jnp.where(count == PERIOD, scale * 2, scale),
            "count": count % PERIOD,
        }

    def bad():
        return {**train_state, "scale": scale / 2, "count": jnp.int32(0)}

    return jax.lax.cond(is_finite, good, bad)


# %% right: compiled, one flat vector
from jax.flatten_util import ravel_pytree

import jax
import jax.numpy as jnp

RATE, PERIOD = 0.01, 3


def half_grad(loss):
    # Like jax.grad, with results in the range of float16, on any machine.
    def in_range(g):
        g = jnp.where(jnp.abs(g) > 65504, jnp.sign(g) * jnp.inf, g)
        return jnp.where(jnp.abs(g) < 2.0**-25, 0, g)

    return lambda params: jax.tree.map(in_range, jax.grad(loss)(params))


def loss_fn(params, batch):
    error = batch["x"] @ params["w"] + params["b"] - batch["y"]
    return jnp.mean(jnp.square(error))


@jax.jit
def gradients(params, batch, scale):
    def scaled(params):
        return loss_fn(params, batch) * scale

    return jax.tree.map(lambda g: g * (1 / scale), half_grad(scaled)(params))


@jax.jit
def update(train_state, batch):
    params, scale, count = train_state["params"], train_state["scale"], train_state["count"]
    flat, back = ravel_pytree(params)
    steps, _ = ravel_pytree(gradients(params, batch, scale))
    ok = jnp.isfinite(steps).all()
    flat = jnp.where(ok, flat - RATE * steps, flat)
    full = ok & (count == PERIOD - 1)
    factor = jnp.select([full, ok], [2.0, 1.0], 0.5)
    count = jnp.where(ok & ~full, count + 1, 0)
    return {"params": back(flat), "scale": scale * factor, "count": count}


# %% right: the step that is skipped has a gradient of zeros
import jax
import jax.numpy as jnp

RATE, PERIOD = 0.01, 3


def half_grad(loss):
    # Like jax.grad, with results in the range of float16, on any machine.
    def in_range(g):
        g = jnp.where(jnp.abs(g) > 65504, jnp.sign(g) * jnp.inf, g)
        return jnp.where(jnp.abs(g) < 2.0**-25, 0, g)

    return lambda params: jax.tree.map(in_range, jax.grad(loss)(params))


def loss_fn(params, batch):
    error = batch["x"] @ params["w"] + params["b"] - batch["y"]
    return jnp.mean(jnp.square(error))


def gradients(params, batch, scale):
    grads = half_grad(lambda params: scale * loss_fn(params, batch))(params)
    return jax.tree.map(lambda g: g / scale, grads)


def update(train_state, batch):
    params, scale = train_state["params"], train_state["scale"]
    grads = gradients(params, batch, scale)
    leaves = jax.tree.leaves(grads)
    is_finite = jnp.stack([jnp.isfinite(leaf).all() for leaf in leaves]).all()
    grads = jax.tree.map(lambda g: jnp.where(is_finite, g, jnp.zeros_like(g)), grads)
    params = jax.tree.map(lambda p, g: p - RATE * g, params, grads)
    count = train_state["count"] + 1
    is_full = jnp.logical_and(is_finite, count >= PERIOD)
    scale = jnp.where(is_finite, scale, scale * 0.5)
    scale = jnp.where(is_full, scale * 2, scale)
    count = jnp.where(is_full | ~is_finite, 0, count)
    return dict(params=params, scale=scale, count=count)


# %% right: jnp.choose of three scales, and a sum that is finite
import jax
import jax.numpy as jnp

RATE, PERIOD = 0.01, 3


def half_grad(loss):
    # Like jax.grad, with results in the range of float16, on any machine.
    def in_range(g):
        g = jnp.where(jnp.abs(g) > 65504, jnp.sign(g) * jnp.inf, g)
        return jnp.where(jnp.abs(g) < 2.0**-25, 0, g)

    return lambda params: jax.tree.map(in_range, jax.grad(loss)(params))


def loss_fn(params, batch):
    error = batch["x"] @ params["w"] + params["b"] - batch["y"]
    return jnp.mean(jnp.square(error))


def gradients(params, batch, scale):
    unscaled = lambda g: g / scale
    return jax.tree.map(unscaled, half_grad(lambda p: scale * loss_fn(p, batch))(params))


def update(train_state, batch):
    params, scale, count = train_state["params"], train_state["scale"], train_state["count"]
    grads = gradients(params, batch, scale)
    ok = jnp.isfinite(jnp.sum(grads["w"]) + grads["b"])
    row = jnp.where(ok, jnp.where(count + 1 == PERIOD, 2, 1), 0)
    w = jnp.where(ok, params["w"] - RATE * grads["w"], params["w"])
    b = jnp.where(ok, params["b"] - RATE * grads["b"], params["b"])
    scales = jnp.array([0.5, 1, 2]) * scale
    counts = jnp.array([0, count + 1, 0])
    return {"params": {"w": w, "b": b}, "scale": scales[row], "count": counts[row]}


# %% right: optax
import optax

import jax
import jax.numpy as jnp

RATE, PERIOD = 0.01, 3


def half_grad(loss):
    # Like jax.grad, with results in the range of float16, on any machine.
    def in_range(g):
        g = jnp.where(jnp.abs(g) > 65504, jnp.sign(g) * jnp.inf, g)
        return jnp.where(jnp.abs(g) < 2.0**-25, 0, g)

    return lambda params: jax.tree.map(in_range, jax.grad(loss)(params))


def loss_fn(params, batch):
    error = batch["x"] @ params["w"] + params["b"] - batch["y"]
    return jnp.mean(jnp.square(error))


def gradients(params, batch, scale):
    grads = half_grad(lambda params: scale * loss_fn(params, batch))(params)
    return jax.tree.map(lambda g: g / scale, grads)


def update(train_state, batch):
    params, scale = train_state["params"], train_state["scale"]
    grads = gradients(params, batch, scale)
    optimizer = optax.sgd(RATE)
    updates, _ = optimizer.update(grads, optimizer.init(params))
    stepped = optax.apply_updates(params, updates)
    norm = optax.global_norm(grads)
    pick = lambda good, bad: jax.tree.map(lambda g, b: jnp.where(norm < jnp.inf, g, b), good, bad)
    count = pick(train_state["count"] + 1, jnp.int32(0))
    is_full = count == PERIOD
    scale = pick(jnp.where(is_full, 2 * scale, scale), scale / 2)
    return {"params": pick(stepped, params), "scale": scale, "count": jnp.where(is_full, 0, count)}


# %% right: a class that is bound at module level, and powers of two
import jax
import jax.numpy as jnp

RATE, PERIOD = 0.01, 3


def half_grad(loss):
    # Like jax.grad, with results in the range of float16, on any machine.
    def in_range(g):
        g = jnp.where(jnp.abs(g) > 65504, jnp.sign(g) * jnp.inf, g)
        return jnp.where(jnp.abs(g) < 2.0**-25, 0, g)

    return lambda params: jax.tree.map(in_range, jax.grad(loss)(params))


def loss_fn(params, batch):
    error = batch["x"] @ params["w"] + params["b"] - batch["y"]
    return jnp.mean(jnp.square(error))


class Scaler:
    def gradients(self, params, batch, scale):
        return jax.tree.map(
            lambda g: g / scale, half_grad(lambda p: loss_fn(p, batch) * scale)(params)
        )

    def update(self, train_state, batch):
        grads = self.gradients(train_state["params"], batch, train_state["scale"])
        bad = jnp.any(jnp.concatenate([~jnp.isfinite(jnp.ravel(g)) for g in grads.values()]))
        new = dict(train_state)
        new["params"] = jax.tree.map(
            lambda p, g: jax.lax.select(jnp.broadcast_to(bad, p.shape), p, p - RATE * g),
            train_state["params"],
            grads,
        )
        count = (train_state["count"] + 1) * (1 - bad.astype(jnp.int32))
        new["scale"] = train_state["scale"] * 2.0 ** ((count == PERIOD) * 1 - bad * 1)
        new["count"] = count % PERIOD
        return new


scaler = Scaler()
gradients, update = scaler.gradients, scaler.update


# %% wrong: still scaled
import jax
import jax.numpy as jnp

RATE, PERIOD = 0.01, 3


def half_grad(loss):
    # Like jax.grad, with results in the range of float16, on any machine.
    def in_range(g):
        g = jnp.where(jnp.abs(g) > 65504, jnp.sign(g) * jnp.inf, g)
        return jnp.where(jnp.abs(g) < 2.0**-25, 0, g)

    return lambda params: jax.tree.map(in_range, jax.grad(loss)(params))


def loss_fn(params, batch):
    error = batch["x"] @ params["w"] + params["b"] - batch["y"]
    return jnp.mean(jnp.square(error))


def gradients(params, batch, scale):
    return half_grad(lambda params: scale * loss_fn(params, batch))(params)


def update(train_state, batch):
    params, scale = train_state["params"], train_state["scale"]
    grads = gradients(params, batch, scale)
    is_finite = jnp.all(jnp.isfinite(grads["w"])) & jnp.isfinite(grads["b"])
    params = jax.tree.map(lambda p, g: jnp.where(is_finite, p - RATE * g, p), params, grads)
    count = jnp.where(is_finite, train_state["count"] + 1, 0)
    is_full = count == PERIOD
    scale = jnp.where(is_finite, jnp.where(is_full, 2 * scale, scale), scale / 2)
    return {"params": params, "scale": scale, "count": jnp.where(is_full, 0, count)}


# %% wrong: loss not scaled
import jax
import jax.numpy as jnp

RATE, PERIOD = 0.01, 3


def half_grad(loss):
    # Like jax.grad, with results in the range of float16, on any machine.
    def in_range(g):
        g = jnp.where(jnp.abs(g) > 65504, jnp.sign(g) * jnp.inf, g)
        return jnp.where(jnp.abs(g) < 2.0**-25, 0, g)

    return lambda params: jax.tree.map(in_range, jax.grad(loss)(params))


def loss_fn(params, batch):
    error = batch["x"] @ params["w"] + params["b"] - batch["y"]
    return jnp.mean(jnp.square(error))


def gradients(params, batch, scale):
    grads = half_grad(lambda params: loss_fn(params, batch))(params)
    grads = jax.tree.map(lambda g: g * scale, grads)
    return jax.tree.map(lambda g: g / scale, grads)


def update(train_state, batch):
    params, scale = train_state["params"], train_state["scale"]
    grads = gradients(params, batch, scale)
    is_finite = jnp.all(jnp.isfinite(grads["w"])) & jnp.isfinite(grads["b"])
    params = jax.tree.map(lambda p, g: jnp.where(is_finite, p - RATE * g, p), params, grads)
    count = jnp.where(is_finite, train_state["count"] + 1, 0)
    is_full = count == PERIOD
    scale = jnp.where(is_finite, jnp.where(is_full, 2 * scale, scale), scale / 2)
    return {"params": params, "scale": scale, "count": jnp.where(is_full, 0, count)}


# %% wrong: loss not scaled
import jax
import jax.numpy as jnp

RATE, PERIOD = 0.01, 3


def half_grad(loss):
    # Like jax.grad, with results in the range of float16, on any machine.
    def in_range(g):
        g = jnp.where(jnp.abs(g) > 65504, jnp.sign(g) * jnp.inf, g)
        return jnp.where(jnp.abs(g) < 2.0**-25, 0, g)

    return lambda params: jax.tree.map(in_range, jax.grad(loss)(params))


def loss_fn(params, batch):
    error = batch["x"] @ params["w"] + params["b"] - batch["y"]
    return jnp.mean(jnp.square(error))


def gradients(params, batch, scale):
    grads = half_grad(lambda params: loss_fn(params, batch))(params)
    return jax.tree.map(lambda g: g / scale, grads)


def update(train_state, batch):
    params, scale = train_state["params"], train_state["scale"]
    grads = gradients(params, batch, scale)
    is_finite = jnp.all(jnp.isfinite(grads["w"])) & jnp.isfinite(grads["b"])
    params = jax.tree.map(lambda p, g: jnp.where(is_finite, p - RATE * g, p), params, grads)
    count = jnp.where(is_finite, train_state["count"] + 1, 0)
    is_full = count == PERIOD
    scale = jnp.where(is_finite, jnp.where(is_full, 2 * scale, scale), scale / 2)
    return {"params": params, "scale": scale, "count": jnp.where(is_full, 0, count)}


# %% wrong: not traceable
import jax
import jax.numpy as jnp

RATE, PERIOD = 0.01, 3


def half_grad(loss):
    # Like jax.grad, with results in the range of float16, on any machine.
    def in_range(g):
        g = jnp.where(jnp.abs(g) > 65504, jnp.sign(g) * jnp.inf, g)
        return jnp.where(jnp.abs(g) < 2.0**-25, 0, g)

    return lambda params: jax.tree.map(in_range, jax.grad(loss)(params))


def loss_fn(params, batch):
    error = batch["x"] @ params["w"] + params["b"] - batch["y"]
    return jnp.mean(jnp.square(error))


def gradients(params, batch, scale):
    grads = half_grad(lambda params: scale * loss_fn(params, batch))(params)
    return jax.tree.map(lambda g: g / scale, grads)


def update(train_state, batch):
    params, scale = train_state["params"], train_state["scale"]
    grads = gradients(params, batch, scale)
    count = train_state["count"]
    if all(bool(jnp.all(jnp.isfinite(g))) for g in jax.tree.leaves(grads)):
        params = jax.tree.map(lambda p, g: p - RATE * g, params, grads)
        count = count + 1
        if count == PERIOD:
            scale, count = 2 * scale, 0 * count
    else:
        scale, count = scale / 2, 0 * count
    return {"params": params, "scale": scale, "count": count}


# %% wrong: the whole tree
import jax
import jax.numpy as jnp

RATE, PERIOD = 0.01, 3


def half_grad(loss):
    # Like jax.grad, with results in the range of float16, on any machine.
    def in_range(g):
        g = jnp.where(jnp.abs(g) > 65504, jnp.sign(g) * jnp.inf, g)
        return jnp.where(jnp.abs(g) < 2.0**-25, 0, g)

    return lambda params: jax.tree.map(in_range, jax.grad(loss)(params))


def loss_fn(params, batch):
    error = batch["x"] @ params["w"] + params["b"] - batch["y"]
    return jnp.mean(jnp.square(error))


def gradients(params, batch, scale):
    grads = half_grad(lambda params: scale * loss_fn(params, batch))(params)
    return jax.tree.map(lambda g: g / scale, grads)


def update(train_state, batch):
    params, scale = train_state["params"], train_state["scale"]
    grads = gradients(params, batch, scale)
    finite = jax.tree.map(lambda g: jnp.all(jnp.isfinite(g)), grads)
    is_finite = finite["w"] & finite["b"]
    params = jax.tree.map(lambda p, g, f: jnp.where(f, p - RATE * g, p), params, grads, finite)
    count = jnp.where(is_finite, train_state["count"] + 1, 0)
    is_full = count == PERIOD
    scale = jnp.where(is_finite, jnp.where(is_full, 2 * scale, scale), scale / 2)
    return {"params": params, "scale": scale, "count": jnp.where(is_full, 0, count)}


# %% wrong: the whole tree
import jax
import jax.numpy as jnp

RATE, PERIOD = 0.01, 3


def half_grad(loss):
    # Like jax.grad, with results in the range of float16, on any machine.
    def in_range(g):
        g = jnp.where(jnp.abs(g) > 65504, jnp.sign(g) * jnp.inf, g)
        return jnp.where(jnp.abs(g) < 2.0**-25, 0, g)

    return lambda params: jax.tree.map(in_range, jax.grad(loss)(params))


def loss_fn(params, batch):
    error = batch["x"] @ params["w"] + params["b"] - batch["y"]
    return jnp.mean(jnp.square(error))


def gradients(params, batch, scale):
    grads = half_grad(lambda params: scale * loss_fn(params, batch))(params)
    return jax.tree.map(lambda g: g / scale, grads)


def update(train_state, batch):
    params, scale = train_state["params"], train_state["scale"]
    grads = gradients(params, batch, scale)
    is_finite = jnp.all(jnp.isfinite(grads["w"])) & jnp.isfinite(grads["b"])
    grads = jax.tree.map(lambda g: jnp.nan_to_num(g, posinf=0.0, neginf=0.0), grads)
    params = jax.tree.map(lambda p, g: p - RATE * g, params, grads)
    count = jnp.where(is_finite, train_state["count"] + 1, 0)
    is_full = count == PERIOD
    scale = jnp.where(is_finite, jnp.where(is_full, 2 * scale, scale), scale / 2)
    return {"params": params, "scale": scale, "count": jnp.where(is_full, 0, count)}


# %% wrong: zero times infinity
import jax
import jax.numpy as jnp

RATE, PERIOD = 0.01, 3


def half_grad(loss):
    # Like jax.grad, with results in the range of float16, on any machine.
    def in_range(g):
        g = jnp.where(jnp.abs(g) > 65504, jnp.sign(g) * jnp.inf, g)
        return jnp.where(jnp.abs(g) < 2.0**-25, 0, g)

    return lambda params: jax.tree.map(in_range, jax.grad(loss)(params))


def loss_fn(params, batch):
    error = batch["x"] @ params["w"] + params["b"] - batch["y"]
    return jnp.mean(jnp.square(error))


def gradients(params, batch, scale):
    grads = half_grad(lambda params: scale * loss_fn(params, batch))(params)
    return jax.tree.map(lambda g: g / scale, grads)


def update(train_state, batch):
    params, scale = train_state["params"], train_state["scale"]
    grads = gradients(params, batch, scale)
    is_finite = jnp.all(jnp.isfinite(grads["w"])) & jnp.isfinite(grads["b"])
    params = jax.tree.map(lambda p, g: p - RATE * is_finite * g, params, grads)
    count = jnp.where(is_finite, train_state["count"] + 1, 0)
    is_full = count == PERIOD
    scale = jnp.where(is_finite, jnp.where(is_full, 2 * scale, scale), scale / 2)
    return {"params": params, "scale": scale, "count": jnp.where(is_full, 0, count)}


# %% wrong: good steps in a row
import jax
import jax.numpy as jnp

RATE, PERIOD = 0.01, 3


def half_grad(loss):
    # Like jax.grad, with results in the range of float16, on any machine.
    def in_range(g):
        g = jnp.where(jnp.abs(g) > 65504, jnp.sign(g) * jnp.inf, g)
        return jnp.where(jnp.abs(g) < 2.0**-25, 0, g)

    return lambda params: jax.tree.map(in_range, jax.grad(loss)(params))


def loss_fn(params, batch):
    error = batch["x"] @ params["w"] + params["b"] - batch["y"]
    return jnp.mean(jnp.square(error))


def gradients(params, batch, scale):
    grads = half_grad(lambda params: scale * loss_fn(params, batch))(params)
    return jax.tree.map(lambda g: g / scale, grads)


def update(train_state, batch):
    params, scale = train_state["params"], train_state["scale"]
    grads = gradients(params, batch, scale)
    is_finite = jnp.all(jnp.isfinite(grads["w"])) & jnp.isfinite(grads["b"])
    params = jax.tree.map(lambda p, g: jnp.where(is_finite, p - RATE * g, p), params, grads)
    count = train_state["count"] + is_finite
    is_full = count == PERIOD
    scale = jnp.where(is_finite, jnp.where(is_full, 2 * scale, scale), scale / 2)
    return {"params": params, "scale": scale, "count": jnp.where(is_full, 0, count)}


# %% wrong: good steps in a row
import jax
import jax.numpy as jnp

RATE, PERIOD = 0.01, 3


def half_grad(loss):
    # Like jax.grad, with results in the range of float16, on any machine.
    def in_range(g):
        g = jnp.where(jnp.abs(g) > 65504, jnp.sign(g) * jnp.inf, g)
        return jnp.where(jnp.abs(g) < 2.0**-25, 0, g)

    return lambda params: jax.tree.map(in_range, jax.grad(loss)(params))


def loss_fn(params, batch):
    error = batch["x"] @ params["w"] + params["b"] - batch["y"]
    return jnp.mean(jnp.square(error))


def gradients(params, batch, scale):
    grads = half_grad(lambda params: scale * loss_fn(params, batch))(params)
    return jax.tree.map(lambda g: g / scale, grads)


def update(train_state, batch):
    params, scale = train_state["params"], train_state["scale"]
    grads = gradients(params, batch, scale)
    is_finite = jnp.all(jnp.isfinite(grads["w"])) & jnp.isfinite(grads["b"])
    params = jax.tree.map(lambda p, g: jnp.where(is_finite, p - RATE * g, p), params, grads)
    count = jnp.where(is_finite, train_state["count"] + 1, 0)
    scale = jnp.where(is_finite, jnp.where(count == PERIOD, 2 * scale, scale), scale / 2)
    return {"params": params, "scale": scale, "count": count}


# %% wrong: -
# a finite loss does not mean finite gradients
import jax
import jax.numpy as jnp

RATE, PERIOD = 0.01, 3


def half_grad(loss):
    # Like jax.grad, with results in the range of float16, on any machine.
    def in_range(g):
        g = jnp.where(jnp.abs(g) > 65504, jnp.sign(g) * jnp.inf, g)
        return jnp.where(jnp.abs(g) < 2.0**-25, 0, g)

    return lambda params: jax.tree.map(in_range, jax.grad(loss)(params))


def loss_fn(params, batch):
    error = batch["x"] @ params["w"] + params["b"] - batch["y"]
    return jnp.mean(jnp.square(error))


def gradients(params, batch, scale):
    grads = half_grad(lambda params: scale * loss_fn(params, batch))(params)
    return jax.tree.map(lambda g: g / scale, grads)


def update(train_state, batch):
    params, scale = train_state["params"], train_state["scale"]
    grads = gradients(params, batch, scale)
    is_finite = jnp.isfinite(scale * loss_fn(params, batch))
    params = jax.tree.map(lambda p, g: jnp.where(is_finite, p - RATE * g, p), params, grads)
    count = jnp.where(is_finite, train_state["count"] + 1, 0)
    is_full = count == PERIOD
    scale = jnp.where(is_finite, jnp.where(is_full, 2 * scale, scale), scale / 2)
    return {"params": params, "scale": scale, "count": jnp.where(is_full, 0, count)}


# %% wrong: -
# one step too late
import jax
import jax.numpy as jnp

RATE, PERIOD = 0.01, 3


def half_grad(loss):
    # Like jax.grad, with results in the range of float16, on any machine.
    def in_range(g):
        g = jnp.where(jnp.abs(g) > 65504, jnp.sign(g) * jnp.inf, g)
        return jnp.where(jnp.abs(g) < 2.0**-25, 0, g)

    return lambda params: jax.tree.map(in_range, jax.grad(loss)(params))


def loss_fn(params, batch):
    error = batch["x"] @ params["w"] + params["b"] - batch["y"]
    return jnp.mean(jnp.square(error))


def gradients(params, batch, scale):
    grads = half_grad(lambda params: scale * loss_fn(params, batch))(params)
    return jax.tree.map(lambda g: g / scale, grads)


def update(train_state, batch):
    params, scale = train_state["params"], train_state["scale"]
    grads = gradients(params, batch, scale)
    is_finite = jnp.all(jnp.isfinite(grads["w"])) & jnp.isfinite(grads["b"])
    params = jax.tree.map(lambda p, g: jnp.where(is_finite, p - RATE * g, p), params, grads)
    count = jnp.where(is_finite, train_state["count"] + 1, 0)
    is_full = count > PERIOD
    scale = jnp.where(is_finite, jnp.where(is_full, 2 * scale, scale), scale / 2)
    return {"params": params, "scale": scale, "count": jnp.where(is_full, 0, count)}
