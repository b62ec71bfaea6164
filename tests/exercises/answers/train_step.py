"""Answers to `train_step`."""


# %% right: compiled, and the gradient function is made outside
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


grad_fn = jax.value_and_grad(loss_fn, argnums=0, has_aux=True)


@jax.jit
def train_step(train_state, batch):
    (loss, state), grads = grad_fn(train_state["params"], train_state["state"], batch)
    updates, opt_state = optimizer.update(grads, train_state["opt_state"])
    params = optax.apply_updates(train_state["params"], updates)
    return dict(params=params, state=state, opt_state=opt_state), loss


# %% right: the gradient by vjp
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    params, state, opt_state = (train_state[name] for name in ("params", "state", "opt_state"))
    loss, pullback, state = jax.vjp(lambda p: loss_fn(p, state, batch), params, has_aux=True)
    (grads,) = pullback(jnp.ones_like(loss))
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = jax.tree.map(jnp.add, params, updates)
    return {"params": params, "state": state, "opt_state": opt_state}, loss


# %% right: a named tuple
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


from typing import NamedTuple


class Step(NamedTuple):
    train_state: dict
    loss: jax.Array


def train_step(train_state, batch):
    params = train_state["params"]
    value, grads = jax.value_and_grad(loss_fn, has_aux=True)(params, train_state["state"], batch)
    updates, opt_state = optimizer.update(grads, train_state["opt_state"], params)
    new = {
        "params": optax.apply_updates(params, updates),
        "state": value[1],
        "opt_state": opt_state,
    }
    return Step(new, loss=value[0])


# %% right: a copy of the train state, which is changed
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    new = dict(train_state)
    result, grads = jax.value_and_grad(loss_fn, has_aux=True)(new["params"], new["state"], batch)
    loss, new["state"] = result
    updates, new["opt_state"] = optimizer.update(grads, new["opt_state"], new["params"])
    new["params"] = optax.apply_updates(new["params"], updates)
    return new, loss


# %% right: jax.grad, and the loss from a second pass that begins with the same state
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    params, state = train_state["params"], train_state["state"]
    loss, new_state = loss_fn(params, state, batch)
    grads = jax.grad(lambda p: loss_fn(p, state, batch)[0])(params)
    updates, opt_state = optimizer.update(grads, train_state["opt_state"], params)
    params = optax.apply_updates(params, updates)
    return {**train_state, "params": params, "state": new_state, "opt_state": opt_state}, loss


# %% right: forward mode
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    def keep_loss(params):
        loss, state = loss_fn(params, train_state["state"], batch)
        return loss, (loss, state)

    grads, (loss, state) = jax.jacfwd(keep_loss, has_aux=True)(train_state["params"])
    updates, opt_state = optimizer.update(grads, train_state["opt_state"], train_state["params"])
    params = optax.apply_updates(train_state["params"], updates)
    return train_state | {"params": params, "state": state, "opt_state": opt_state}, loss


# %% right: an object with the optimizer, and a helper for the updates
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


class Trainer:
    def __init__(self, loss_fn, optimizer):
        self.grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
        self.optimizer = optimizer

    def updated(self, grads, params, opt_state):
        updates, opt_state = self.optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state

    def step(self, train_state, batch):
        params = train_state["params"]
        (loss, aux), grads = self.grad_fn(params, train_state["state"], batch=batch)
        params, opt_state = self.updated(grads, params, train_state["opt_state"])
        return {"opt_state": opt_state, "params": params, "state": aux}, loss


train_step = Trainer(loss_fn, optimizer).step


# %% right: the train state is unpacked into the arguments of a compiled helper
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


from functools import partial


@partial(jax.jit, static_argnames="optimizer")
def step(batch, params, state, opt_state, optimizer):
    objective = partial(loss_fn, state=state, batch=batch)
    (loss, state), grads = jax.value_and_grad(objective, has_aux=True)(params)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    return {"params": params, "state": state, "opt_state": opt_state}, loss


def train_step(old, batch):
    return step(batch, **old, optimizer=optimizer)


# %% right: the scale is computed outside of the gradient
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    params, state, opt_state = train_state["params"], train_state["state"], train_state["opt_state"]

    def only_loss(params):
        loss, _ = loss_fn(params, state, batch)
        return loss

    _, new_state = loss_fn(jax.lax.stop_gradient(params), state, batch)
    loss, grads = jax.value_and_grad(only_loss)(params)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    return {"params": params, "state": new_state, "opt_state": opt_state}, loss


# %% wrong: one bundle | dropped opt_state
# the starter code
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    # Return the next train state and the loss.
    params, state = train_state["params"], train_state["state"]
    opt_state = train_state["opt_state"]
    loss = jnp.float32(0)
    new = {"params": params, "state": state, "opt_state": opt_state}
    return new, loss


# %% wrong: scalar loss
# no has_aux
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    # Return the next train state and the loss.
    params, state = train_state["params"], train_state["state"]
    opt_state = train_state["opt_state"]
    grad_fn = jax.value_and_grad(loss_fn)
    (loss, state), grads = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    new = {"params": params, "state": state, "opt_state": opt_state}
    return new, loss


# %% wrong: scalar loss
# no has_aux, and the loss and the state by a call before
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    # Return the next train state and the loss.
    params, state = train_state["params"], train_state["state"]
    opt_state = train_state["opt_state"]
    loss, new_state = loss_fn(params, state, batch)
    grads = jax.grad(loss_fn)(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    new = {"params": params, "state": new_state, "opt_state": opt_state}
    return new, loss


# %% wrong: dropped state | one bundle
# the new state has a name that nobody uses
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    # Return the next train state and the loss.
    params, state = train_state["params"], train_state["state"]
    opt_state = train_state["opt_state"]
    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, new_state), grads = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    new = {"params": params, "state": state, "opt_state": opt_state}
    return new, loss


# %% wrong: dropped opt_state | one bundle
# the new state of the optimizer is thrown away
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    # Return the next train state and the loss.
    params, state = train_state["params"], train_state["state"]
    opt_state = train_state["opt_state"]
    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, state), grads = grad_fn(params, state, batch)
    updates, _ = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    new = {"params": params, "state": state, "opt_state": opt_state}
    return new, loss


# %% wrong: one bundle
# the optimizer begins again in each step
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    # Return the next train state and the loss.
    params, state = train_state["params"], train_state["state"]
    opt_state = train_state["opt_state"]
    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, state), grads = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, optimizer.init(params), params)
    params = optax.apply_updates(params, updates)
    new = {"params": params, "state": state, "opt_state": opt_state}
    return new, loss


# %% wrong: one bundle
# the new params are made and not returned
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    # Return the next train state and the loss.
    params, state = train_state["params"], train_state["state"]
    opt_state = train_state["opt_state"]
    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, state), grads = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    new_params = optax.apply_updates(params, updates)
    new = {"params": params, "state": state, "opt_state": opt_state}
    return new, loss


# %% wrong: two passes
# one pass for the loss and the state, and one for the gradient with the new state
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    # Return the next train state and the loss.
    params, state = train_state["params"], train_state["state"]
    opt_state = train_state["opt_state"]
    loss, state = loss_fn(params, state, batch)
    grads, state = jax.grad(loss_fn, has_aux=True)(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    new = {"params": params, "state": state, "opt_state": opt_state}
    return new, loss


# %% wrong: two passes
# the state of a second pass, which begins with the new state
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    # Return the next train state and the loss.
    params, state = train_state["params"], train_state["state"]
    opt_state = train_state["opt_state"]
    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, state), grads = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    new = {"params": params, "state": state, "opt_state": opt_state}
    new["state"] = loss_fn(params, state, batch)[1]
    return new, loss


# %% wrong: direction
# the updates are subtracted
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    # Return the next train state and the loss.
    params, state = train_state["params"], train_state["state"]
    opt_state = train_state["opt_state"]
    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, state), grads = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = jax.tree.map(lambda p, u: p - u, params, updates)
    new = {"params": params, "state": state, "opt_state": opt_state}
    return new, loss


# %% wrong: direction
# the gradient itself is added
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    # Return the next train state and the loss.
    params, state = train_state["params"], train_state["state"]
    opt_state = train_state["opt_state"]
    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, state), grads = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, grads)
    new = {"params": params, "state": state, "opt_state": opt_state}
    return new, loss


# %% wrong: changed argument
# the right values, written into the caller's dict
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    # Return the next train state and the loss.
    params, state = train_state["params"], train_state["state"]
    opt_state = train_state["opt_state"]
    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, state), grads = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    train_state["params"], train_state["state"] = params, state
    train_state["opt_state"] = opt_state
    return train_state, loss


# %% wrong: structure
# the loss is kept in the train state too
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    # Return the next train state and the loss.
    params, state = train_state["params"], train_state["state"]
    opt_state = train_state["opt_state"]
    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, state), grads = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    new = {"params": params, "state": state, "opt_state": opt_state, "loss": loss}
    return new, loss


# %% wrong: not traceable
# the loss as a number of Python
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    # Return the next train state and the loss.
    params, state = train_state["params"], train_state["state"]
    opt_state = train_state["opt_state"]
    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, state), grads = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    new = {"params": params, "state": state, "opt_state": opt_state}
    return new, float(loss)


# %% wrong: not repeatable | mutation | leak | hidden input | frozen value | jit differs
# the state of the optimizer is a global variable after the first step
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


opt_state = None


def train_step(train_state, batch):
    global opt_state
    params, state = train_state["params"], train_state["state"]
    if opt_state is None:
        opt_state = train_state["opt_state"]
    (loss, state), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    return {"params": params, "state": state, "opt_state": opt_state}, loss


# %% wrong: -
# the loss after the step
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    # Return the next train state and the loss.
    params, state = train_state["params"], train_state["state"]
    opt_state = train_state["opt_state"]
    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, state), grads = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    new = {"params": params, "state": state, "opt_state": opt_state}
    return new, loss_fn(params, train_state["state"], batch)[0]


# %% wrong: -
# the gradient with respect to the state
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    # Return the next train state and the loss.
    params, state = train_state["params"], train_state["state"]
    opt_state = train_state["opt_state"]
    grad_fn = jax.value_and_grad(loss_fn, argnums=1, has_aux=True)
    (loss, state), grads = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    new = {"params": params, "state": state, "opt_state": opt_state}
    return new, loss


# %% wrong: -
# a step by hand, without the momentum
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    # Return the next train state and the loss.
    params, state = train_state["params"], train_state["state"]
    opt_state = train_state["opt_state"]
    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, state), grads = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    new = {"params": params, "state": state, "opt_state": opt_state}
    return new, loss


# %% wrong: -
# swapped results
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    # Return the next train state and the loss.
    params, state = train_state["params"], train_state["state"]
    opt_state = train_state["opt_state"]
    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, state), grads = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    new = {"params": params, "state": state, "opt_state": opt_state}
    return loss, new


# %% wrong: -
# the parts of the pair are swapped
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss and the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    # Return the next train state and the loss.
    params, state = train_state["params"], train_state["state"]
    opt_state = train_state["opt_state"]
    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
    (state, loss), grads = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    new = {"params": params, "state": state, "opt_state": opt_state}
    return new, loss
