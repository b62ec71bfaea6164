"""A loss that is multiplied

write, hard, 9 min, update/mixed_precision#float16-needs-a-scale

Complete the two functions. `gradients(params, batch, scale)` returns the gradients of `scale *
loss_fn(params, batch)`, which come from `half_grad` and are then divided by the scale.

`update(train_state, batch)` returns the next train state, a dict of `params`, `scale` and `count`.
If all gradients are finite, the params take a step of `RATE` down the gradient, and `count`
increases by 1; when it reaches `PERIOD`, the scale doubles and `count` is 0 again. If any number is
not finite, the params stay as they are, the scale halves and `count` is 0.

- Which three values does the next step need, and which question decides how all of them change?
- Whether the gradients are finite is known only when the compiled program runs, so no Python `if`
  can decide. Compute both results, and choose one with `jnp.where` for each leaf.
- `is_finite = jnp.all(jnp.array([jnp.all(jnp.isfinite(g)) for g in jax.tree.leaves(grads)]))`, and
  each leaf of the params becomes `jnp.where(is_finite, p - RATE * g, p)`.
"""

# %%
# A number in float16 is at most 65504, and a very small number becomes zero.
# To keep small gradients, the loss is multiplied by a scale that is as large
# as possible.
import jax
import jax.numpy as jnp

RATE, PERIOD = 0.01, 3


def half_grad(loss):
    # Like jax.grad, but with results in the range of float16, on any machine.
    def in_range(g):
        g = jnp.where(jnp.abs(g) > 65504, jnp.sign(g) * jnp.inf, g)
        return jnp.where(jnp.abs(g) < 2.0**-25, 0, g)

    return lambda params: jax.tree.map(in_range, jax.grad(loss)(params))


def loss_fn(params, batch):
    error = batch["x"] @ params["w"] + params["b"] - batch["y"]
    return jnp.mean(jnp.square(error))


def gradients(params, batch, scale):
    # Return the gradients of the loss, computed with the scale.
    #: return half_grad(lambda params: loss_fn(params, batch))(params)
    # <solution>
    grads = half_grad(lambda params: scale * loss_fn(params, batch))(params)
    return jax.tree.map(lambda g: g / scale, grads)
    # </solution>


def update(train_state, batch):
    # Return the next train state.
    params, scale = train_state["params"], train_state["scale"]
    grads = gradients(params, batch, scale)
    #: params = jax.tree.map(lambda p, g: p - RATE * g, params, grads)
    #: return {**train_state, "params": params}
    # <solution>
    each = [jnp.all(jnp.isfinite(g)) for g in jax.tree.leaves(grads)]
    is_finite = jnp.all(jnp.array(each))

    def step(p, g):
        return jnp.where(is_finite, p - RATE * g, p)

    count = jnp.where(is_finite, train_state["count"] + 1, 0)
    good = jnp.where(count == PERIOD, 2 * scale, scale)
    return {
        "params": jax.tree.map(step, params, grads),
        "scale": jnp.where(is_finite, good, scale / 2),
        "count": jnp.where(count == PERIOD, 0, count),
    }
    # </solution>


# %% setup
import numpy as np


def train_state(params, scale, count):
    return {"params": params, "scale": jnp.float32(scale), "count": jnp.int32(count)}


# %% inputs
def inputs(rng):
    # the gradient of b is below 4, and those of w are from 10 to 36: the scale 2**14 suits b only
    params = {"w": rng.normal(size=3), "b": np.float32(rng.normal())}
    x = rng.uniform(5, 10, (4, 3))
    y = x @ params["w"] + params["b"] - rng.uniform(1, 1.8, 4)
    return params, {"x": x, "y": y}, np.int32(rng.integers(1, 3))


# %% check `gradients` multiplies the loss and divides its gradients; pure jit
def check(answer, params, batch, count):
    return answer.gradients(params, batch, jnp.float32(2**14))


# %% check A good step changes the params and is counted; pure jit types
def check(answer, params, batch, count):
    return answer.update(train_state(params, 2**10, count - 1), batch)


def closed_form(params, batch, count):
    x, y, w = batch["x"].astype(float), batch["y"].astype(float), params["w"].astype(float)
    error = 2 * (x @ w + params["b"] - y) / len(y)
    params = {"w": w - 0.01 * x.T @ error, "b": params["b"] - 0.01 * error.sum()}
    return {"params": params, "scale": 1024.0, "count": count}


# %% check If the gradients are infinite, the params stay as they are, the scale halves and the count is 0; jit types
def check(answer, params, batch, count):
    return answer.update(train_state(params, 2**14, count), batch)


# %% check After every third good step, the scale doubles and the count is 0 again; once
def check(answer, params, batch, count):
    state, seen = train_state(params, 2**4, count), []
    for _step in range(5):
        state = answer.update(state, batch)
        seen.append({"scale": state["scale"], "count": state["count"]})
    return seen


# %% idea still scaled
# The gradients of the multiplied loss are too large by the same factor, so they must be divided by
# the scale.
def gradients(params, batch, scale):
    return jax.tree.map(lambda g: g * scale, right.gradients(params, batch, scale))


# %% idea loss not scaled
# The loss must be multiplied before it is differentiated, because a gradient that is too small for
# float16 becomes zero and cannot be enlarged afterwards.
def gradients(params, batch, scale):
    return right.gradients(params, batch, 1)


# %%
def gradients(params, batch, scale):
    return jax.tree.map(lambda g: g / scale, right.gradients(params, batch, 1))


# %% idea the whole tree
# A step must use all gradients or none of them. If one of them is not finite, no leaf of the params
# may change.
def update(train_state, batch):
    grads = gradients(train_state["params"], batch, train_state["scale"])
    step = lambda p, g: jnp.where(jnp.isfinite(g), p - RATE * g, p)
    params = jax.tree.map(step, train_state["params"], grads)
    return {**right.update(train_state, batch), "params": params}


# %%
def update(train_state, batch):
    grads = gradients(train_state["params"], batch, train_state["scale"])
    params = jax.tree.map(lambda p, g: p - RATE * g, train_state["params"], grads)
    return {**right.update(train_state, batch), "params": params}


# %% idea zero times infinity
# Zero times infinity is not zero but NaN, so the step must be selected and not multiplied by zero.
# `jnp.where` takes one of two values and does not compute with the other value.
def update(train_state, batch):
    new = right.update(train_state, batch)
    grads = gradients(train_state["params"], batch, train_state["scale"])
    step = lambda p, g: p - RATE * g * (new["scale"] >= train_state["scale"])
    return {**new, "params": jax.tree.map(step, train_state["params"], grads)}


# %% idea good steps in a row
# The count must begin again at 0 whenever the scale changes, whether it doubles or halves.
def update(train_state, batch):
    new, count = right.update(train_state, batch), train_state["count"]
    return {**new, "count": jnp.where(new["scale"] < train_state["scale"], count, new["count"])}


# %%
def update(train_state, batch):
    new, count = right.update(train_state, batch), train_state["count"] + 1
    return {**new, "count": jnp.where(new["scale"] < train_state["scale"], 0, count)}


# %% right one choice between two train states, which the sum of all gradients decides
def update(train_state, batch):
    params, scale, count = (train_state[name] for name in ("params", "scale", "count"))
    grads = gradients(params, batch, scale)
    total = sum(jnp.sum(jnp.abs(g)) for g in jax.tree.leaves(grads))
    is_full = count + 1 >= PERIOD
    params_after = jax.tree.map(lambda p, g: p - RATE * g, params, grads)
    count_after = jnp.where(is_full, 0, count + 1)
    good = {"params": params_after, "scale": scale * (1 + is_full), "count": count_after}
    bad = {"params": params, "scale": 0.5 * scale, "count": jnp.zeros_like(count)}
    return jax.tree.map(lambda one, other: jnp.where(total < jnp.inf, one, other), good, bad)
