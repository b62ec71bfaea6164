"""A training step

write, hard, 10 min, update/jitted_update#one-bundle

Complete `train_step`. The train state is a dict with `params`, `state` and `opt_state`. One call
takes the gradient of `loss_fn` with respect to the params, asks `optimizer` for the updates, and
returns `(new_train_state, loss)`, where the new train state is a dict with the same structure. Do
not change `loss_fn` and `optimizer`.

- Which three parts of the train state change in a step, and what computes each of them?
- `loss_fn` returns a pair. Look up in the lesson how to tell `jax.value_and_grad` this, and how its
  result is nested.
- Call `(loss, state), grads = jax.value_and_grad(loss_fn, has_aux=True)(…)`, and then
  `optimizer.update` and `optax.apply_updates`.
"""

# %%
# A line is fitted to inputs that are first divided by their scale. The scale
# is a moving average, so it is state.
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
    #: loss = jnp.float32(0)
    # <solution>
    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, state), grads = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    # </solution>
    new = {"params": params, "state": state, "opt_state": opt_state}
    return new, loss


# %% setup
import numpy as np


# %% inputs
def inputs(rng):
    w, b, velocity_w, velocity_b = np.float32(rng.uniform(-1, 1, 4))
    momentum = optax.TraceState({"w": velocity_w, "b": velocity_b})
    train_state = {
        "params": {"w": w, "b": b},
        "state": {"scale": np.float32(rng.uniform(0.8, 1.5))},
        "opt_state": (momentum, optax.EmptyState()),
    }
    return train_state, [{"inputs": x, "targets": y} for x, y in rng.normal(size=(4, 2, 8))]


# %% check One step changes all three parts of the train state; pure jit weak once tolerance=1e-4; train state, loss
def check(answer, train_state, batches):
    return answer.train_step(train_state, batches[0])


def closed_form(train_state, batches):
    x, y = batches[0]["inputs"].astype(float), batches[0]["targets"].astype(float)
    params, before = train_state["params"], train_state["opt_state"][0].trace
    scale = 0.9 * train_state["state"]["scale"] + 0.1 * np.abs(x).mean()
    errors = params["w"] * x / scale + params["b"] - y
    grads = {"w": 2 * (errors * x / scale).mean(), "b": 2 * errors.mean()}
    velocity = {name: 0.9 * before[name] + grads[name] for name in grads}
    new = {
        "params": {name: params[name] - 0.1 * velocity[name] for name in grads},
        "state": {"scale": scale},
        "opt_state": (optax.TraceState(velocity), optax.EmptyState()),
    }
    return new, (errors**2).mean()


# %% check Four compiled steps in a row give the right results; once tolerance=1e-4; train state, losses
def check(answer, train_state, batches):
    step, losses = jax.jit(answer.train_step), []
    for batch in batches:
        train_state, loss = step(train_state, batch)
        losses.append(loss)
    return train_state, losses


# %% idea one bundle
# The train state holds everything that is carried from step to step. Each of its parts changes in a
# step, so the next step must begin with all of the new parts.
def train_step(train_state, batch):
    opt_state = optimizer.init(train_state["params"])
    return right.train_step(train_state | {"opt_state": opt_state}, batch)


# %%
def train_step(train_state, batch):
    new, loss = right.train_step(train_state, batch)
    return new | {"params": train_state["params"]}, loss


# %%
def train_step(train_state, batch):
    return train_state, jnp.float32(0)


# %% idea dropped state; update/jitted_update#a-loss-that-returns-the-state
# The returned train state must hold the new state of the forward pass, but it still holds the old
# state.
def train_step(train_state, batch):
    new, loss = right.train_step(train_state, batch)
    return new | {"state": train_state["state"]}, loss


# %% idea dropped opt_state
# The optimizer keeps something from step to step, here the momentum. The returned train state must
# hold its new value, but it still holds the value from before this step.
def train_step(train_state, batch):
    new, loss = right.train_step(train_state, batch)
    return new | {"opt_state": train_state["opt_state"]}, loss


# %% idea two passes; update/jitted_update#a-loss-that-returns-the-state
# The state must advance only once in a step. One forward pass is enough, because it provides the
# loss, the new state and what the gradient needs.
def train_step(train_state, batch):
    loss, state = loss_fn(train_state["params"], train_state["state"], batch)
    return right.train_step(train_state | {"state": state}, batch)[0], loss


# %%
def train_step(train_state, batch):
    _, state = loss_fn(train_state["params"], train_state["state"], batch)
    return right.train_step(train_state | {"state": state}, batch)


# %% idea direction
# The params have moved in the wrong direction. The updates that an optimizer returns must be added
# to the params, because they already include the sign and the learning rate.
def train_step(train_state, batch):
    new, loss = right.train_step(train_state, batch)
    updates = jax.tree.map(jnp.subtract, new["params"], train_state["params"])
    return new | {"params": jax.tree.map(jnp.subtract, train_state["params"], updates)}, loss


# %%
def train_step(train_state, batch):
    params, state = train_state["params"], train_state["state"]
    grads, _ = jax.grad(loss_fn, has_aux=True)(params, state, batch)
    new, loss = right.train_step(train_state, batch)
    return new | {"params": optax.apply_updates(params, grads)}, loss


# %% right `jax.grad`, with the loss as part of its second result
def train_step(train_state, batch):
    def with_loss(params):
        loss, state = loss_fn(params, train_state["state"], batch)
        return loss, (loss, state)

    grads, (loss, state) = jax.grad(with_loss, has_aux=True)(train_state["params"])
    updates, opt_state = optimizer.update(grads, train_state["opt_state"])
    params = optax.apply_updates(train_state["params"], updates)
    return train_state | {"params": params, "state": state, "opt_state": opt_state}, loss
