# right: the gradient by jax.grad, with the loss as a part of what is passed on
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    def with_loss(params):
        loss, state = loss_fn(params, train_state["state"], batch)
        return loss, (loss, state)

    grads, (loss, state) = jax.grad(with_loss, has_aux=True)(train_state["params"])
    updates, opt_state = optimizer.update(grads, train_state["opt_state"])
    params = optax.apply_updates(train_state["params"], updates)
    return train_state | {"params": params, "state": state, "opt_state": opt_state}, loss

# wrong: auxiliary result
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    params, state = train_state["params"], train_state["state"]
    opt_state = train_state["opt_state"]
    (loss, state), grads = jax.value_and_grad(loss_fn)(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    return {"params": params, "state": state, "opt_state": opt_state}, loss

# wrong: dropped state
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    params, state = train_state["params"], train_state["state"]
    opt_state = train_state["opt_state"]
    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, _), grads = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    return {"params": params, "state": state, "opt_state": opt_state}, loss

# wrong: dropped opt_state
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    params, state = train_state["params"], train_state["state"]
    opt_state = train_state["opt_state"]
    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, state), grads = grad_fn(params, state, batch)
    updates, _ = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    return {"params": params, "state": state, "opt_state": opt_state}, loss

# wrong: direction
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    params, state = train_state["params"], train_state["state"]
    opt_state = train_state["opt_state"]
    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, state), grads = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = jax.tree.map(lambda p, u: p - u, params, updates)
    return {"params": params, "state": state, "opt_state": opt_state}, loss

# wrong: two passes
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    params, state = train_state["params"], train_state["state"]
    opt_state = train_state["opt_state"]
    loss, state = loss_fn(params, state, batch)
    grads, state = jax.grad(loss_fn, has_aux=True)(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    return {"params": params, "state": state, "opt_state": opt_state}, loss

# wrong: one bundle
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    params, state = train_state["params"], train_state["state"]
    opt_state = optimizer.init(params)
    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, state), grads = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    return {"params": params, "state": state, "opt_state": opt_state}, loss
