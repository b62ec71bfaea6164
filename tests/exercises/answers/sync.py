"""Answers to `sync`."""

# %% right: a key folded, and two pmeans
import jax
import jax.numpy as jnp


def loss_fn(params, x, y):
    return jnp.mean(jnp.square(x @ params - y))


def update(params, state, rng, batch, scale):
    # Return the new params, the new state and the key for the next step.
    rng, noise_rng = jax.random.split(rng)
    noise_rng = jax.random.fold_in(noise_rng, jax.lax.axis_index("devices"))
    noise = jax.random.normal(noise_rng, batch["x"].shape)
    x = batch["x"] + scale * noise
    grads, mean = jax.grad(loss_fn)(params, x, batch["y"]), jnp.mean(x, axis=0)
    grads = jax.lax.pmean(grads, "devices")
    mean = jax.lax.pmean(mean, axis_name="devices")
    mean = 0.9 * state["mean"] + 0.1 * mean
    state = {"mean": mean, "count": state["count"] + 1}
    return params - 0.1 * grads, state, rng


# %% right: three keys, and the running mean is averaged at the end
import jax
import jax.numpy as jnp

AXIS = "devices"


def loss_fn(params, x, y):
    return jnp.mean(jnp.square(x @ params - y))


def update(params, state, rng, batch, scale):
    new_rng, noise_rng, _ = jax.random.split(rng, 3)
    mine = jax.random.fold_in(noise_rng, jax.lax.axis_index(AXIS))
    x = batch["x"] + scale * jax.random.normal(mine, batch["x"].shape)
    grads = jax.lax.pmean(jax.grad(loss_fn)(params, x, batch["y"]), AXIS)
    own = 0.9 * state["mean"] + 0.1 * x.mean(0)
    state = dict(state, mean=jax.lax.pmean(own, AXIS), count=state["count"] + 1)
    return params - 0.1 * grads, state, new_rng


# %% right: a sum over the devices, divided by their number
import jax
import jax.numpy as jnp


def loss_fn(params, x, y):
    return jnp.mean(jnp.square(x @ params - y))


def mean_over_devices(tree):
    number = jax.lax.psum(1, "devices")
    return jax.tree.map(lambda leaf: jax.lax.psum(leaf, "devices") / number, tree)


@jax.jit
def update(params, state, rng, batch, scale):
    rng, noise_rng = jax.random.split(rng)
    keys = jax.random.split(noise_rng, 4)
    noise = jax.random.normal(keys[jax.lax.axis_index("devices")], batch["x"].shape)
    x = batch["x"] + scale * noise
    local = jax.grad(loss_fn)(params, x, batch["y"]), jnp.mean(x, axis=0)
    grads, mean = mean_over_devices(local)
    mean = 0.9 * state["mean"] + 0.1 * mean
    return params - 0.1 * grads, {"mean": mean, "count": state["count"] + 1}, rng


# %% right: all rows are gathered, and each device computes the whole step
import jax
import jax.numpy as jnp


def loss_fn(params, x, y):
    return jnp.mean(jnp.square(x @ params - y))


def update(params, state, rng, batch, scale):
    x, y = jax.lax.all_gather((batch["x"], batch["y"]), "devices", tiled=True)
    rng, noise_rng = jax.random.split(rng)
    x = x + scale * jax.random.normal(noise_rng, x.shape)
    grads, mean = jax.grad(loss_fn)(params, x, y), jnp.mean(x, axis=0)
    mean = 0.9 * state["mean"] + 0.1 * mean
    return params - 0.1 * grads, {"mean": mean, "count": state["count"] + 1}, rng


# %% right: the new params are averaged, and a NamedTuple comes out
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class Step(NamedTuple):
    params: Any
    state: Any
    rng: Any


def loss_fn(params, x, y):
    return jnp.mean(jnp.square(x @ params - y))


def update(params, state, rng, batch, scale):
    rng, noise_rng = jax.random.split(rng)
    index = jax.lax.axis_index("devices")
    noise = jax.random.normal(jax.random.fold_in(noise_rng, 7 + index), batch["x"].shape)
    x = batch["x"] + scale * noise
    new = {
        "params": params - 0.1 * jax.grad(loss_fn)(params, x, batch["y"]),
        "mean": 0.9 * state["mean"] + 0.1 * jnp.mean(x, axis=0),
    }
    new = jax.lax.pmean(new, "devices")
    return Step(new["params"], {"mean": new["mean"], "count": state["count"] + 1}, rng)


# %% right: a gradient by hand, in a class
import jax
import jax.numpy as jnp


class Update:
    axis = "devices"

    def noise(self, rng, shape):
        all_noise = jax.random.normal(rng, (4, *shape))
        return jax.lax.dynamic_index_in_dim(all_noise, jax.lax.axis_index(self.axis), 0, False)

    def __call__(self, params, state, rng, batch, scale):
        rng, noise_rng = jax.random.split(rng)
        x = batch["x"] + scale * self.noise(noise_rng, batch["x"].shape)
        grads = 2 * x.T @ (x @ params - batch["y"]) / len(x)
        grads = jax.lax.pmean(grads, self.axis)
        mean = 0.9 * state["mean"] + 0.1 * jax.lax.pmean(x.mean(axis=0), self.axis)
        return params - 0.1 * grads, {"mean": mean, "count": state["count"] + 1}, rng


update = Update().__call__


# %% right: the index is folded in before the key is split, and the next key comes from the old key
import functools

import jax
import jax.numpy as jnp

pmean = functools.partial(jax.lax.pmean, axis_name="devices")


def loss_fn(params, x, y):
    return jnp.mean(jnp.square(x @ params - y))


def update(params, state, rng, batch, scale):
    next_rng, rng = jax.random.split(rng)
    mine = jax.random.fold_in(rng, jax.lax.axis_index("devices"))
    noise_rng, _ = jax.random.split(mine)
    x = batch["x"] + scale * jax.random.normal(noise_rng, batch["x"].shape)
    grads = jax.tree.map(pmean, jax.grad(loss_fn)(params, x, batch["y"]))
    state = {"mean": pmean(0.9 * state["mean"] + 0.1 * x.mean(0)), "count": state["count"] + 1}
    return params - 0.1 * grads, state, next_rng


# %% wrong: replicas apart
# as it was
import jax
import jax.numpy as jnp


def loss_fn(params, x, y):
    return jnp.mean(jnp.square(x @ params - y))


def update(params, state, rng, batch, scale):
    rng, noise_rng = jax.random.split(rng)
    noise = jax.random.normal(noise_rng, batch["x"].shape)
    x = batch["x"] + scale * noise
    grads, mean = jax.grad(loss_fn)(params, x, batch["y"]), jnp.mean(x, axis=0)
    mean = 0.9 * state["mean"] + 0.1 * mean
    state = {"mean": mean, "count": state["count"] + 1}
    return params - 0.1 * grads, state, rng


# %% wrong: replicas apart
# the statistics are forgotten
import jax
import jax.numpy as jnp


def loss_fn(params, x, y):
    return jnp.mean(jnp.square(x @ params - y))


def update(params, state, rng, batch, scale):
    rng, noise_rng = jax.random.split(rng)
    noise_rng = jax.random.fold_in(noise_rng, jax.lax.axis_index("devices"))
    noise = jax.random.normal(noise_rng, batch["x"].shape)
    x = batch["x"] + scale * noise
    grads, mean = jax.grad(loss_fn)(params, x, batch["y"]), jnp.mean(x, axis=0)
    grads = jax.lax.pmean(grads, "devices")
    mean = 0.9 * state["mean"] + 0.1 * mean
    state = {"mean": mean, "count": state["count"] + 1}
    return params - 0.1 * grads, state, rng


# %% wrong: replicas apart
# the gradient is forgotten
import jax
import jax.numpy as jnp


def loss_fn(params, x, y):
    return jnp.mean(jnp.square(x @ params - y))


def update(params, state, rng, batch, scale):
    rng, noise_rng = jax.random.split(rng)
    noise_rng = jax.random.fold_in(noise_rng, jax.lax.axis_index("devices"))
    noise = jax.random.normal(noise_rng, batch["x"].shape)
    x = batch["x"] + scale * noise
    mean = jax.lax.pmean(jnp.mean(x, axis=0), "devices")
    mean = 0.9 * state["mean"] + 0.1 * mean
    state = {"mean": mean, "count": state["count"] + 1}
    return params - 0.1 * jax.grad(loss_fn)(params, x, batch["y"]), state, rng


# %% wrong: replicas apart
# the mean of the loss: each device still differentiates with respect to its own params
import jax
import jax.numpy as jnp


def loss_fn(params, x, y):
    return jax.lax.pmean(jnp.mean(jnp.square(x @ params - y)), "devices")


def update(params, state, rng, batch, scale):
    rng, noise_rng = jax.random.split(rng)
    noise_rng = jax.random.fold_in(noise_rng, jax.lax.axis_index("devices"))
    x = batch["x"] + scale * jax.random.normal(noise_rng, batch["x"].shape)
    grads, mean = jax.grad(loss_fn)(params, x, batch["y"]), jnp.mean(x, axis=0)
    mean = 0.9 * state["mean"] + 0.1 * jax.lax.pmean(mean, "devices")
    return params - 0.1 * grads, {"mean": mean, "count": state["count"] + 1}, rng


# %% wrong: sum
import jax
import jax.numpy as jnp


def loss_fn(params, x, y):
    return jnp.mean(jnp.square(x @ params - y))


def update(params, state, rng, batch, scale):
    rng, noise_rng = jax.random.split(rng)
    noise_rng = jax.random.fold_in(noise_rng, jax.lax.axis_index("devices"))
    x = batch["x"] + scale * jax.random.normal(noise_rng, batch["x"].shape)
    grads, mean = jax.grad(loss_fn)(params, x, batch["y"]), jnp.mean(x, axis=0)
    grads, mean = jax.lax.psum((grads, mean), "devices")
    mean = 0.9 * state["mean"] + 0.1 * mean
    return params - 0.1 * grads, {"mean": mean, "count": state["count"] + 1}, rng


# %% wrong: sum
import jax
import jax.numpy as jnp


def loss_fn(params, x, y):
    return jnp.mean(jnp.square(x @ params - y))


def update(params, state, rng, batch, scale):
    rng, noise_rng = jax.random.split(rng)
    noise_rng = jax.random.fold_in(noise_rng, jax.lax.axis_index("devices"))
    x = batch["x"] + scale * jax.random.normal(noise_rng, batch["x"].shape)
    grads = jax.lax.psum(jax.grad(loss_fn)(params, x, batch["y"]), "devices")
    mean = jax.lax.pmean(jnp.mean(x, axis=0), "devices")
    mean = 0.9 * state["mean"] + 0.1 * mean
    return params - 0.1 * grads, {"mean": mean, "count": state["count"] + 1}, rng


# %% wrong: sum
# the running mean, with its past, is added up
import jax
import jax.numpy as jnp


def loss_fn(params, x, y):
    return jnp.mean(jnp.square(x @ params - y))


def update(params, state, rng, batch, scale):
    rng, noise_rng = jax.random.split(rng)
    noise_rng = jax.random.fold_in(noise_rng, jax.lax.axis_index("devices"))
    x = batch["x"] + scale * jax.random.normal(noise_rng, batch["x"].shape)
    grads = jax.lax.pmean(jax.grad(loss_fn)(params, x, batch["y"]), "devices")
    mean = jax.lax.psum(0.9 * state["mean"] + 0.1 * jnp.mean(x, axis=0), "devices")
    return params - 0.1 * grads, {"mean": mean, "count": state["count"] + 1}, rng


# %% wrong: counts
import jax
import jax.numpy as jnp


def loss_fn(params, x, y):
    return jnp.mean(jnp.square(x @ params - y))


def update(params, state, rng, batch, scale):
    rng, noise_rng = jax.random.split(rng)
    noise_rng = jax.random.fold_in(noise_rng, jax.lax.axis_index("devices"))
    x = batch["x"] + scale * jax.random.normal(noise_rng, batch["x"].shape)
    grads = jax.grad(loss_fn)(params, x, batch["y"])
    mean = 0.9 * state["mean"] + 0.1 * jnp.mean(x, axis=0)
    state = {"mean": mean, "count": state["count"] + 1}
    params, state = jax.lax.pmean((params - 0.1 * grads, state), "devices")
    return params, state, rng


# %% wrong: counts
# the devices are counted, not the steps
import jax
import jax.numpy as jnp


def loss_fn(params, x, y):
    return jnp.mean(jnp.square(x @ params - y))


def update(params, state, rng, batch, scale):
    rng, noise_rng = jax.random.split(rng)
    noise_rng = jax.random.fold_in(noise_rng, jax.lax.axis_index("devices"))
    x = batch["x"] + scale * jax.random.normal(noise_rng, batch["x"].shape)
    grads, mean = jax.grad(loss_fn)(params, x, batch["y"]), jnp.mean(x, axis=0)
    grads, mean = jax.lax.pmean((grads, mean), "devices")
    count = state["count"] + jax.lax.psum(1, "devices")
    mean = 0.9 * state["mean"] + 0.1 * mean
    return params - 0.1 * grads, {"mean": mean, "count": count}, rng


# %% wrong: same key
import jax
import jax.numpy as jnp


def loss_fn(params, x, y):
    return jnp.mean(jnp.square(x @ params - y))


def update(params, state, rng, batch, scale):
    rng, noise_rng = jax.random.split(rng)
    noise = jax.random.normal(noise_rng, batch["x"].shape)
    x = batch["x"] + scale * noise
    grads, mean = jax.grad(loss_fn)(params, x, batch["y"]), jnp.mean(x, axis=0)
    grads, mean = jax.lax.pmean((grads, mean), "devices")
    mean = 0.9 * state["mean"] + 0.1 * mean
    return params - 0.1 * grads, {"mean": mean, "count": state["count"] + 1}, rng


# %% wrong: same key
# the number of the process is 0 on each of the four devices
import jax
import jax.numpy as jnp


def loss_fn(params, x, y):
    return jnp.mean(jnp.square(x @ params - y))


def update(params, state, rng, batch, scale):
    rng, noise_rng = jax.random.split(rng)
    noise_rng = jax.random.fold_in(noise_rng, jax.process_index())
    x = batch["x"] + scale * jax.random.normal(noise_rng, batch["x"].shape)
    grads, mean = jax.grad(loss_fn)(params, x, batch["y"]), jnp.mean(x, axis=0)
    grads, mean = jax.lax.pmean((grads, mean), "devices")
    mean = 0.9 * state["mean"] + 0.1 * mean
    return params - 0.1 * grads, {"mean": mean, "count": state["count"] + 1}, rng


# %% wrong: drifted keys
import jax
import jax.numpy as jnp


def loss_fn(params, x, y):
    return jnp.mean(jnp.square(x @ params - y))


def update(params, state, rng, batch, scale):
    rng = jax.random.fold_in(rng, jax.lax.axis_index("devices"))
    rng, noise_rng = jax.random.split(rng)
    x = batch["x"] + scale * jax.random.normal(noise_rng, batch["x"].shape)
    grads, mean = jax.grad(loss_fn)(params, x, batch["y"]), jnp.mean(x, axis=0)
    grads, mean = jax.lax.pmean((grads, mean), "devices")
    mean = 0.9 * state["mean"] + 0.1 * mean
    return params - 0.1 * grads, {"mean": mean, "count": state["count"] + 1}, rng


# %% wrong: drifted keys
# the key that was made for this step comes out
import jax
import jax.numpy as jnp


def loss_fn(params, x, y):
    return jnp.mean(jnp.square(x @ params - y))


def update(params, state, rng, batch, scale):
    _, noise_rng = jax.random.split(rng)
    rng = jax.random.fold_in(noise_rng, jax.lax.axis_index("devices"))
    x = batch["x"] + scale * jax.random.normal(rng, batch["x"].shape)
    grads, mean = jax.grad(loss_fn)(params, x, batch["y"]), jnp.mean(x, axis=0)
    grads, mean = jax.lax.pmean((grads, mean), "devices")
    mean = 0.9 * state["mean"] + 0.1 * mean
    return params - 0.1 * grads, {"mean": mean, "count": state["count"] + 1}, rng


# %% wrong: same key | drifted keys
# the one key is folded, but not the other one
import jax
import jax.numpy as jnp


def loss_fn(params, x, y):
    return jnp.mean(jnp.square(x @ params - y))


def update(params, state, rng, batch, scale):
    rng, noise_rng = jax.random.split(rng)
    rng = jax.random.fold_in(rng, jax.lax.axis_index("devices"))
    x = batch["x"] + scale * jax.random.normal(noise_rng, batch["x"].shape)
    grads, mean = jax.grad(loss_fn)(params, x, batch["y"]), jnp.mean(x, axis=0)
    grads, mean = jax.lax.pmean((grads, mean), "devices")
    mean = 0.9 * state["mean"] + 0.1 * mean
    return params - 0.1 * grads, {"mean": mean, "count": state["count"] + 1}, rng


# %% wrong: key reused
# the old key comes out
import jax
import jax.numpy as jnp


def loss_fn(params, x, y):
    return jnp.mean(jnp.square(x @ params - y))


def update(params, state, rng, batch, scale):
    mine = jax.random.fold_in(rng, jax.lax.axis_index("devices"))
    x = batch["x"] + scale * jax.random.normal(mine, batch["x"].shape)
    grads, mean = jax.grad(loss_fn)(params, x, batch["y"]), jnp.mean(x, axis=0)
    grads, mean = jax.lax.pmean((grads, mean), "devices")
    mean = 0.9 * state["mean"] + 0.1 * mean
    return params - 0.1 * grads, {"mean": mean, "count": state["count"] + 1}, rng


# %% wrong: unbound axis
import jax
import jax.numpy as jnp


def loss_fn(params, x, y):
    return jnp.mean(jnp.square(x @ params - y))


def update(params, state, rng, batch, scale):
    rng, noise_rng = jax.random.split(rng)
    noise_rng = jax.random.fold_in(noise_rng, jax.lax.axis_index("batch"))
    x = batch["x"] + scale * jax.random.normal(noise_rng, batch["x"].shape)
    grads, mean = jax.grad(loss_fn)(params, x, batch["y"]), jnp.mean(x, axis=0)
    grads, mean = jax.lax.pmean((grads, mean), "batch")
    mean = 0.9 * state["mean"] + 0.1 * mean
    return params - 0.1 * grads, {"mean": mean, "count": state["count"] + 1}, rng


# %% wrong: -
# the rows are averaged: the gradient of their mean is not the mean of the gradients
import jax
import jax.numpy as jnp


def loss_fn(params, x, y):
    return jnp.mean(jnp.square(x @ params - y))


def update(params, state, rng, batch, scale):
    rng, noise_rng = jax.random.split(rng)
    noise_rng = jax.random.fold_in(noise_rng, jax.lax.axis_index("devices"))
    x = batch["x"] + scale * jax.random.normal(noise_rng, batch["x"].shape)
    x, y = jax.lax.pmean((x, batch["y"]), "devices")
    grads, mean = jax.grad(loss_fn)(params, x, y), jnp.mean(x, axis=0)
    mean = 0.9 * state["mean"] + 0.1 * mean
    return params - 0.1 * grads, {"mean": mean, "count": state["count"] + 1}, rng


# %% wrong: -
# all devices get what the first one has computed
import jax
import jax.numpy as jnp


def loss_fn(params, x, y):
    return jnp.mean(jnp.square(x @ params - y))


def update(params, state, rng, batch, scale):
    rng, noise_rng = jax.random.split(rng)
    noise_rng = jax.random.fold_in(noise_rng, jax.lax.axis_index("devices"))
    x = batch["x"] + scale * jax.random.normal(noise_rng, batch["x"].shape)
    grads, mean = jax.grad(loss_fn)(params, x, batch["y"]), jnp.mean(x, axis=0)
    grads, mean = jax.lax.all_gather((grads, mean), "devices")
    mean = 0.9 * state["mean"] + 0.1 * mean[0]
    return params - 0.1 * grads[0], {"mean": mean, "count": state["count"] + 1}, rng
