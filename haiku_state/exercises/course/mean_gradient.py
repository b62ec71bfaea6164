"""The gradient of the whole batch

repair, 6 min, update/devices#the-gradient-of-a-batch

The check runs `step` with `jax.pmap` on four devices, with `axis_name="devices"`: the params are
the same on all of them, and each gets a quarter of the batch. Repair `step` so that every device
returns what a single device would compute from the whole batch: the same new params and the same
loss. Do not change `loss_fn`.

- Which numbers differ from device to device, and from which line on should they not?
- The devices have to exchange something after the gradient is computed and before its length is.
- `jax.lax.pmean(tree, "devices")` takes any tree, including the pair of loss and gradient.
"""

# %%
# Each device runs `step` with its own part of the batch. The devices form the
# axis "devices", and all of them hold the same params.
import jax
import jax.numpy as jnp

LONGEST = 1.0


def loss_fn(params, batch):
    predictions = batch["inputs"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(predictions - batch["targets"]))


def step(params, batch):
    # Return the params after one step and the loss of the whole batch. A
    # gradient that is longer than LONGEST is shortened to this length.
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    # <solution>
    loss, grads = jax.lax.pmean((loss, grads), "devices")
    # </solution>
    length = jnp.sqrt(jnp.sum(grads["w"] ** 2) + grads["b"] ** 2)
    scale = jnp.minimum(1.0, LONGEST / length)
    params = jax.tree.map(lambda p, g: p - 0.1 * scale * g, params, grads)
    return params, loss


# %% setup
import jax
import numpy as np


def on_devices(answer, params, batch):
    return jax.pmap(answer.step, axis_name="devices", in_axes=(None, 0))(params, batch)


# %% inputs
def inputs(rng):
    w, x, noise = rng.normal(size=2), rng.normal(size=(4, 6, 2)), 2 + rng.normal(size=(4, 6))
    # of the small gradients, not even the sum over the devices is shortened
    small, large = ({"inputs": x, "targets": x @ w + size * noise} for size in (0.03, 2))
    return {"w": w, "b": np.float32(0)}, small, large


# %% check With a small gradient, the step equals that of one device on the whole batch; once; same step
def check(answer, params, small, large):
    return on_devices(answer, params, small)


# %% check A step with a large gradient, which is shortened, is the same too; once; same step
def check(answer, params, small, large):
    return on_devices(answer, params, large)


def closed_form(params, small, large):
    x, y = large["inputs"].astype(float).reshape(24, 2), large["targets"].reshape(24)
    errors = x @ params["w"] + params["b"] - y
    grads = np.append(x.T @ errors, errors.sum()) * 2 / 24
    change = 0.1 * grads / max(1.0, np.linalg.norm(grads))
    new = {"w": params["w"] - change[:2], "b": params["b"] - change[2]}
    return jax.tree.map(lambda leaf: np.stack([leaf] * 4), (new, (errors**2).mean()))


# %% idea alone; update/devices#exchange-along-the-axis
# The replicas have different params after the step, because each device has followed only the
# gradient of its own rows. Devices know nothing about each other except what they exchange.
def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    length = jnp.sqrt(jnp.sum(grads["w"] ** 2) + grads["b"] ** 2)
    scale = jnp.minimum(1.0, LONGEST / length)
    return jax.tree.map(lambda p, g: p - 0.1 * scale * g, params, grads), loss


# %%
def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    length = jnp.sqrt(jnp.sum(grads["w"] ** 2) + grads["b"] ** 2)
    scale = jnp.minimum(1.0, LONGEST / length)
    params = jax.tree.map(lambda p, g: p - 0.1 * scale * g, params, grads)
    return params, jax.lax.pmean(loss, "devices")


# %%
def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    loss, grads["w"] = jax.lax.pmean((loss, grads["w"]), "devices")
    length = jnp.sqrt(jnp.sum(grads["w"] ** 2) + grads["b"] ** 2)
    scale = jnp.minimum(1.0, LONGEST / length)
    return jax.tree.map(lambda p, g: p - 0.1 * scale * g, params, grads), loss


# %% idea same step
# Apart from the exchange, nothing in the step changes: a single device that sees the whole batch
# shortens its gradient by the same rule.
def step(params, batch):
    loss, grads = jax.lax.pmean(jax.value_and_grad(loss_fn)(params, batch), "devices")
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


# %% idea sum or mean
# The loss is a mean over rows. If a mean is summed over four devices, it is four times too large,
# and so is a gradient that is summed.
def step(params, batch):
    loss, grads = jax.lax.psum(jax.value_and_grad(loss_fn)(params, batch), "devices")
    length = jnp.sqrt(jnp.sum(grads["w"] ** 2) + grads["b"] ** 2)
    scale = jnp.minimum(1.0, LONGEST / length)
    return jax.tree.map(lambda p, g: p - 0.1 * scale * g, params, grads), loss


# %%
def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    loss, grads = jax.lax.pmean(loss, "devices"), jax.lax.psum(grads, "devices")
    length = jnp.sqrt(jnp.sum(grads["w"] ** 2) + grads["b"] ** 2)
    scale = jnp.minimum(1.0, LONGEST / length)
    return jax.tree.map(lambda p, g: p - 0.1 * scale * g, params, grads), loss


# %% idea average first
# The replicas are equal, but the step differs from the step with the whole batch: shortening a
# gradient is not linear, so it matters whether the gradient is averaged or shortened first.
def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    length = jnp.sqrt(jnp.sum(grads["w"] ** 2) + grads["b"] ** 2)
    scale = jnp.minimum(1.0, LONGEST / length)
    params = jax.tree.map(lambda p, g: p - 0.1 * scale * g, params, grads)
    return jax.lax.pmean((params, loss), "devices")


# %%
def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    length = jnp.sqrt(jnp.sum(grads["w"] ** 2) + grads["b"] ** 2)
    loss, grads, length = jax.lax.pmean((loss, grads, length), "devices")
    scale = jnp.minimum(1.0, LONGEST / length)
    return jax.tree.map(lambda p, g: p - 0.1 * scale * g, params, grads), loss


# %% idea local loss; update/devices#exchange-along-the-axis
# The params are right, but the loss that each device returns belongs only to its own rows.
def step(params, batch):
    return right.step(params, batch)[0], loss_fn(params, batch)


# %% idea unbound axis; update/devices#exchange-along-the-axis
# A collective names the axis along which it works. It must be the name of the mapped axis, which
# exists only inside the mapped function.
def step(params, batch):
    return jax.lax.pmean(right.step(params, batch), "device")


# %% right a sum divided by the number of devices
def step(params, batch):
    loss, grads = jax.lax.psum(jax.value_and_grad(loss_fn)(params, batch), "devices")
    loss, grads = jax.tree.map(lambda leaf: leaf / jax.lax.psum(1, "devices"), (loss, grads))
    length = jnp.sqrt(jnp.sum(grads["w"] ** 2) + grads["b"] ** 2)
    scale = jnp.minimum(1.0, LONGEST / length)
    return jax.tree.map(lambda p, g: p - 0.1 * scale * g, params, grads), loss


# %% right the batch is gathered, and each device computes everything
def step(params, batch):
    return right.step(params, jax.lax.all_gather(batch, "devices", tiled=True))
