# right: a sum divided by the number of devices
import jax
import jax.numpy as jnp

LONGEST = 1.0


def loss_fn(params, batch):
    predictions = batch["inputs"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(predictions - batch["targets"]))


def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    devices = jax.lax.psum(1, "devices")
    grads = jax.tree.map(lambda g: jax.lax.psum(g, "devices") / devices, grads)
    loss = jax.lax.psum(loss, "devices") / devices
    length = jnp.sqrt(jnp.sum(grads["w"] ** 2) + grads["b"] ** 2)
    scale = jnp.minimum(1.0, LONGEST / length)
    params = jax.tree.map(lambda p, g: p - 0.1 * scale * g, params, grads)
    return params, loss

# right: the batch is gathered, and each device computes everything
import jax
import jax.numpy as jnp

LONGEST = 1.0


def loss_fn(params, batch):
    predictions = batch["inputs"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(predictions - batch["targets"]))


def step(params, batch):
    batch = jax.lax.all_gather(batch, "devices", tiled=True)
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    length = jnp.sqrt(jnp.sum(grads["w"] ** 2) + grads["b"] ** 2)
    scale = jnp.minimum(1.0, LONGEST / length)
    params = jax.tree.map(lambda p, g: p - 0.1 * scale * g, params, grads)
    return params, loss

# wrong: local loss
import jax
import jax.numpy as jnp

LONGEST = 1.0


def loss_fn(params, batch):
    predictions = batch["inputs"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(predictions - batch["targets"]))


def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    grads = jax.lax.pmean(grads, "devices")
    length = jnp.sqrt(jnp.sum(grads["w"] ** 2) + grads["b"] ** 2)
    scale = jnp.minimum(1.0, LONGEST / length)
    params = jax.tree.map(lambda p, g: p - 0.1 * scale * g, params, grads)
    return params, loss

# wrong: sum or mean
import jax
import jax.numpy as jnp

LONGEST = 1.0


def loss_fn(params, batch):
    predictions = batch["inputs"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(predictions - batch["targets"]))


def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    loss, grads = jax.lax.psum((loss, grads), "devices")
    length = jnp.sqrt(jnp.sum(grads["w"] ** 2) + grads["b"] ** 2)
    scale = jnp.minimum(1.0, LONGEST / length)
    params = jax.tree.map(lambda p, g: p - 0.1 * scale * g, params, grads)
    return params, loss

# wrong: sum or mean
import jax
import jax.numpy as jnp

LONGEST = 1.0


def loss_fn(params, batch):
    predictions = batch["inputs"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(predictions - batch["targets"]))


def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    grads = jax.lax.psum(grads, "devices")
    loss = jax.lax.pmean(loss, "devices")
    length = jnp.sqrt(jnp.sum(grads["w"] ** 2) + grads["b"] ** 2)
    scale = jnp.minimum(1.0, LONGEST / length)
    params = jax.tree.map(lambda p, g: p - 0.1 * scale * g, params, grads)
    return params, loss

# wrong: average first
import jax
import jax.numpy as jnp

LONGEST = 1.0


def loss_fn(params, batch):
    predictions = batch["inputs"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(predictions - batch["targets"]))


def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    length = jnp.sqrt(jnp.sum(grads["w"] ** 2) + grads["b"] ** 2)
    scale = jnp.minimum(1.0, LONGEST / length)
    params = jax.tree.map(lambda p, g: p - 0.1 * scale * g, params, grads)
    return jax.lax.pmean((params, loss), "devices")

# wrong: average first
import jax
import jax.numpy as jnp

LONGEST = 1.0


def loss_fn(params, batch):
    predictions = batch["inputs"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(predictions - batch["targets"]))


def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    length = jnp.sqrt(jnp.sum(grads["w"] ** 2) + grads["b"] ** 2)
    scale = jnp.minimum(1.0, LONGEST / length)
    grads = jax.tree.map(lambda g: scale * g, grads)
    loss, grads = jax.lax.pmean((loss, grads), "devices")
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, loss

# wrong: unbound axis
import jax
import jax.numpy as jnp

LONGEST = 1.0


def loss_fn(params, batch):
    predictions = batch["inputs"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(predictions - batch["targets"]))


def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    loss, grads = jax.lax.pmean((loss, grads), "device")
    length = jnp.sqrt(jnp.sum(grads["w"] ** 2) + grads["b"] ** 2)
    scale = jnp.minimum(1.0, LONGEST / length)
    params = jax.tree.map(lambda p, g: p - 0.1 * scale * g, params, grads)
    return params, loss

# wrong: alone
import jax
import jax.numpy as jnp

LONGEST = 1.0


def loss_fn(params, batch):
    predictions = batch["inputs"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(predictions - batch["targets"]))


def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    loss = jax.lax.pmean(loss, "devices")
    length = jnp.sqrt(jnp.sum(grads["w"] ** 2) + grads["b"] ** 2)
    scale = jnp.minimum(1.0, LONGEST / length)
    params = jax.tree.map(lambda p, g: p - 0.1 * scale * g, params, grads)
    return params, loss

# wrong: same step
import jax
import jax.numpy as jnp


LONGEST = 1.0


def loss_fn(params, batch):
    predictions = batch["inputs"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(predictions - batch["targets"]))


def step(params, batch):
    loss, grads = jax.lax.pmean(jax.value_and_grad(loss_fn)(params, batch), "devices")
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, loss

# wrong: average first
import jax
import jax.numpy as jnp


LONGEST = 1.0


def loss_fn(params, batch):
    predictions = batch["inputs"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(predictions - batch["targets"]))


def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    length = jnp.sqrt(jnp.sum(grads["w"] ** 2) + grads["b"] ** 2)
    loss, grads, length = jax.lax.pmean((loss, grads, length), "devices")
    scale = jnp.minimum(1.0, LONGEST / length)
    params = jax.tree.map(lambda p, g: p - 0.1 * scale * g, params, grads)
    return params, loss

# wrong: alone
import jax
import jax.numpy as jnp

LONGEST = 1.0


def loss_fn(params, batch):
    predictions = batch["inputs"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(predictions - batch["targets"]))


def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    grads["w"] = jax.lax.pmean(grads["w"], "devices")
    loss = jax.lax.pmean(loss, "devices")
    length = jnp.sqrt(jnp.sum(grads["w"] ** 2) + grads["b"] ** 2)
    scale = jnp.minimum(1.0, LONGEST / length)
    params = jax.tree.map(lambda p, g: p - 0.1 * scale * g, params, grads)
    return params, loss
