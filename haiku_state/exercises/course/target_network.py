"""A target that follows slowly

repair, medium, 7 min, update/target_network#copy-the-params-and-the-state

Repair `update(train_state, batch, decay)`, which takes one step and returns the next train state. A
train state is a dict of `params` and `target`. The params take one step down the gradient. The
target is not trained: its new value is the old target, with the weight `decay`, plus the new
params, with the remaining weight. The goal in `loss_fn` must still come from the target.

- Which part of the train state should the gradient change, and which part should follow?
- `jax.grad(loss_fn)` returns a gradient for each leaf of the train state, including the target.
  Also look at the line that makes the target a second name for the params.
- Step from `train_state["params"]` with `grads["params"]`. Then map `decay * t + (1 - decay) * p`
  over the old target and the new params.
"""

# %%
# An agent learns how good a position in a game is. What it should say now
# depends on what it will say after the next move. It gets that value from a
# second network, the target, which stays almost still.
import jax
import jax.numpy as jnp


def value(params, x):
    return x @ params["w"] + params["b"]


def loss_fn(train_state, batch):
    goal = batch["reward"] + 0.9 * value(train_state["target"], batch["after"])
    error = value(train_state["params"], batch["now"]) - goal
    return jnp.mean(jnp.square(error))


def update(train_state, batch, decay):
    # Return the train state after one step.
    grads = jax.grad(loss_fn)(train_state, batch)
    #: step = lambda leaf, grad: leaf - 0.1 * grad
    #: train_state = jax.tree.map(step, train_state, grads)
    #: train_state["target"] = train_state["params"]
    #: return train_state
    # <solution>

    def step(p, g):
        return p - 0.1 * g

    def follow(t, p):
        return decay * t + (1 - decay) * p

    params = jax.tree.map(step, train_state["params"], grads["params"])
    target = jax.tree.map(follow, train_state["target"], params)
    return {"params": params, "target": target}
    # </solution>


# %% setup
import numpy as np


# %% inputs
def inputs(rng):
    params, target = ({"w": rng.normal(size=3), "b": np.float32(rng.normal())} for _ in range(2))
    batch = {"now": rng.normal(size=(4, 3)), "reward": rng.normal(size=4)}
    batch["after"] = rng.normal(size=(4, 3))
    return {"params": params, "target": target}, batch, np.float32(rng.uniform(0.6, 0.9))


# %% check The params take a step, and the target follows; pure jit types
def check(answer, train_state, batch, decay):
    return answer.update(train_state, batch, decay)


def closed_form(train_state, batch, decay):
    params, target = train_state["params"], train_state["target"]
    goal = batch["reward"] + 0.9 * (batch["after"] @ target["w"].astype(float) + target["b"])
    error = (batch["now"] @ params["w"] + params["b"] - goal) * 2 / len(goal)
    params = {"w": params["w"] - 0.1 * batch["now"].T @ error, "b": params["b"] - 0.1 * error.sum()}
    target = {name: decay * target[name] + (1 - decay) * params[name] for name in target}
    return {"params": params, "target": target}


# %% idea second name
# The target must be state of its own, with values that change less from step to step than the
# params. Here it is only a second name for the new params.
def update(train_state, batch, decay):
    params = right.update(train_state, batch, decay)["params"]
    return {"params": params, "target": params}


# %% idea gradient path
# The gradient must change only the params, but it has changed the target too. In the loss, the
# target is a given number, and all that it does is follow the params.
def update(train_state, batch, decay):
    grads = jax.grad(loss_fn)(train_state, batch)
    moved = jax.tree.map(lambda p, g: p - 0.1 * g, train_state, grads)
    follow = lambda t, p: decay * t + (1 - decay) * p
    return {**moved, "target": jax.tree.map(follow, moved["target"], moved["params"])}


# %%
def update(train_state, batch, decay):
    grads = jax.grad(loss_fn)(train_state, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, train_state, grads)


# %% idea one step behind
# The target must follow the params that the step has just computed, not the params before it, so it
# must be updated after the step.
def update(train_state, batch, decay):
    follow = lambda t, p: decay * t + (1 - decay) * p
    target = jax.tree.map(follow, train_state["target"], train_state["params"])
    return {**right.update(train_state, batch, decay), "target": target}


# %% idea decay rate
def update(train_state, batch, decay):
    return right.update(train_state, batch, 1 - decay)


# %% idea still target
# The target has not changed at all. The new target must be returned with the new params, or the
# goal never changes.
def update(train_state, batch, decay):
    return right.update(train_state, batch, 1)


# %% right the gradient with respect to the params only, and a target that is updated by a difference
def update(train_state, batch, decay):
    params, target = train_state["params"], train_state["target"]
    grads = jax.grad(lambda params: loss_fn({"params": params, "target": target}, batch))(params)
    params = {name: params[name] - 0.1 * grads[name] for name in params}
    target = jax.tree.map(lambda t, p: t + (1 - decay) * (p - t), target, params)
    return {"params": params, "target": target}


# %% right a loss with `jax.lax.stop_gradient`, and one step for all leaves
def loss_fn(train_state, batch):
    target = jax.lax.stop_gradient(train_state["target"])
    return right.loss_fn({**train_state, "target": target}, batch)


def update(train_state, batch, decay):
    grads = jax.grad(loss_fn)(train_state, batch)
    new = jax.tree.map(lambda p, g: p - 0.1 * g, train_state, grads)
    for name, p in new["params"].items():
        new["target"][name] = decay * new["target"][name] + (1 - decay) * p
    return new
