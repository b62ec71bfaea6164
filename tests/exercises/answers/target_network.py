"""Answers to `target_network`."""

# %% right: leaf by leaf, compiled
import jax
import jax.numpy as jnp


def value(params, x):
    return x @ params["w"] + params["b"]


def loss_fn(train_state, batch):
    goal = batch["reward"] + 0.9 * value(train_state["target"], batch["after"])
    error = value(train_state["params"], batch["now"]) - goal
    return jnp.mean(jnp.square(error))


@jax.jit
def update(train_state, batch, decay):
    grads = jax.grad(loss_fn)(train_state, batch)["params"]
    old, target = train_state["params"], train_state["target"]
    w, b = old["w"] - 0.1 * grads["w"], old["b"] - 0.1 * grads["b"]
    return {
        "params": {"w": w, "b": b},
        "target": {
            "w": decay * target["w"] + (1 - decay) * w,
            "b": decay * target["b"] + (1 - decay) * b,
        },
    }


# %% right: stop_gradient in the loss, then one map over the whole train state
import jax
import jax.numpy as jnp


def value(params, x):
    return x @ params["w"] + params["b"]


def loss_fn(train_state, batch):
    goal = batch["reward"] + 0.9 * value(train_state["target"], batch["after"])
    error = value(train_state["params"], batch["now"]) - jax.lax.stop_gradient(goal)
    return jnp.mean(jnp.square(error))


def update(train_state, batch, decay):
    grads = jax.grad(loss_fn)(train_state, batch)
    stepped = jax.tree.map(lambda leaf, g: leaf - 0.1 * g, train_state, grads)
    target = jax.tree.map(
        lambda t, p: decay * t + (1 - decay) * p, train_state["target"], stepped["params"]
    )
    return dict(stepped, target=target)


# %% right: a loss of two arguments, and argnums
import jax
import jax.numpy as jnp


def value(params, x):
    return x @ params["w"] + params["b"]


def td_loss(params, target, batch):
    goal = batch["reward"] + 0.9 * value(target, batch["after"])
    return jnp.square(value(params, batch["now"]) - goal).mean()


def update(train_state, batch, decay):
    params, target = train_state["params"], train_state["target"]
    grads = jax.grad(td_loss, argnums=0)(params, target, batch)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    target = jax.tree.map(lambda t, p: t + (1 - decay) * (p - t), target, params)
    return {"params": params, "target": target}


# %% right: optax, with its own function for the average
import optax
import jax
import jax.numpy as jnp


def value(params, x):
    return x @ params["w"] + params["b"]


def loss_fn(train_state, batch):
    goal = batch["reward"] + 0.9 * value(train_state["target"], batch["after"])
    error = value(train_state["params"], batch["now"]) - goal
    return jnp.mean(jnp.square(error))


def update(train_state, batch, decay):
    grads = jax.grad(loss_fn)(train_state, batch)
    optimizer = optax.sgd(0.1)
    params, target = train_state["params"], train_state["target"]
    updates, _ = optimizer.update(grads["params"], optimizer.init(params))
    params = optax.apply_updates(params, updates)
    return {"params": params, "target": optax.incremental_update(params, target, 1 - decay)}


# %% right: the gradient by hand
import jax
import jax.numpy as jnp


def value(params, x):
    return x @ params["w"] + params["b"]


def loss_fn(train_state, batch):
    goal = batch["reward"] + 0.9 * value(train_state["target"], batch["after"])
    error = value(train_state["params"], batch["now"]) - goal
    return jnp.mean(jnp.square(error))


def sgd(params, target, batch):
    goal = batch["reward"] + 0.9 * value(target, batch["after"])
    error = 2 * (value(params, batch["now"]) - goal) / goal.size
    return {"w": params["w"] - 0.1 * error @ batch["now"], "b": params["b"] - 0.1 * error.sum()}


def update(train_state, batch, decay):
    new = {"params": sgd(train_state["params"], train_state["target"], batch)}
    new["target"] = jax.tree.map(
        lambda p, t: (1 - decay) * p + decay * t, new["params"], train_state["target"]
    )
    return new


# %% right: a copy of the dict that is changed, and flat leaves
import jax
import jax.numpy as jnp


def value(params, x):
    return x @ params["w"] + params["b"]


def loss_fn(train_state, batch):
    goal = batch["reward"] + 0.9 * value(train_state["target"], batch["after"])
    error = value(train_state["params"], batch["now"]) - goal
    return jnp.mean(jnp.square(error))


def update(state, batch, decay):
    grads = jax.grad(loss_fn)(state, batch)
    state = {name: dict(tree) for name, tree in state.items()}
    for name, grad in grads["params"].items():
        state["params"][name] -= 0.1 * grad
    leaves, structure = jax.tree.flatten(state["target"])
    online = jax.tree.leaves(state["params"])
    leaves = [decay * t + (1 - decay) * p for t, p in zip(leaves, online)]
    state["target"] = jax.tree.unflatten(structure, leaves)
    return state


# %% wrong: gradient path
import jax
import jax.numpy as jnp


def value(params, x):
    return x @ params["w"] + params["b"]


def loss_fn(train_state, batch):
    goal = batch["reward"] + 0.9 * value(train_state["target"], batch["after"])
    error = value(train_state["params"], batch["now"]) - goal
    return jnp.mean(jnp.square(error))


def update(train_state, batch, decay):
    # the first two lines as they were, and a target that follows
    grads = jax.grad(loss_fn)(train_state, batch)
    step = lambda leaf, grad: leaf - 0.1 * grad
    train_state = jax.tree.map(step, train_state, grads)
    train_state["target"] = jax.tree.map(
        lambda t, p: decay * t + (1 - decay) * p, train_state["target"], train_state["params"]
    )
    return train_state


# %% wrong: second name
import jax
import jax.numpy as jnp


def value(params, x):
    return x @ params["w"] + params["b"]


def loss_fn(train_state, batch):
    goal = batch["reward"] + 0.9 * value(train_state["target"], batch["after"])
    error = value(train_state["params"], batch["now"]) - goal
    return jnp.mean(jnp.square(error))


def update(train_state, batch, decay):
    grads = jax.grad(loss_fn)(train_state, batch)
    step = lambda leaf, grad: leaf - 0.1 * grad
    params = jax.tree.map(step, train_state["params"], grads["params"])
    target = jax.tree.map(jnp.copy, params)
    return {"params": params, "target": target}


# %% wrong: one step behind
import jax
import jax.numpy as jnp


def value(params, x):
    return x @ params["w"] + params["b"]


def loss_fn(train_state, batch):
    goal = batch["reward"] + 0.9 * value(train_state["target"], batch["after"])
    error = value(train_state["params"], batch["now"]) - goal
    return jnp.mean(jnp.square(error))


def update(train_state, batch, decay):
    params, target = train_state["params"], train_state["target"]
    grads = jax.grad(loss_fn)(train_state, batch)["params"]
    return {
        "params": jax.tree.map(lambda p, g: p - 0.1 * g, params, grads),
        "target": jax.tree.map(lambda t, p: decay * t + (1 - decay) * p, target, params),
    }


# %% wrong: one step behind
import jax
import jax.numpy as jnp


def value(params, x):
    return x @ params["w"] + params["b"]


def loss_fn(train_state, batch):
    goal = batch["reward"] + 0.9 * value(train_state["target"], batch["after"])
    error = value(train_state["params"], batch["now"]) - goal
    return jnp.mean(jnp.square(error))


def update(train_state, batch, decay):
    follow = lambda t, p: decay * t + (1 - decay) * p
    target = jax.tree.map(follow, train_state["target"], train_state["params"])
    train_state = {**train_state, "target": target}
    grads = jax.grad(loss_fn)(train_state, batch)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, train_state["params"], grads["params"])
    return {**train_state, "params": params}


# %% wrong: decay rate
import jax
import jax.numpy as jnp


def value(params, x):
    return x @ params["w"] + params["b"]


def loss_fn(train_state, batch):
    goal = batch["reward"] + 0.9 * value(train_state["target"], batch["after"])
    error = value(train_state["params"], batch["now"]) - goal
    return jnp.mean(jnp.square(error))


def update(train_state, batch, decay):
    params, target = train_state["params"], train_state["target"]
    grads = jax.grad(loss_fn)(train_state, batch)["params"]
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    target = jax.tree.map(lambda t, p: t + decay * (p - t), target, params)
    return {"params": params, "target": target}


# %% wrong: changed argument
import jax
import jax.numpy as jnp


def value(params, x):
    return x @ params["w"] + params["b"]


def loss_fn(train_state, batch):
    goal = batch["reward"] + 0.9 * value(train_state["target"], batch["after"])
    error = value(train_state["params"], batch["now"]) - goal
    return jnp.mean(jnp.square(error))


def update(train_state, batch, decay):
    params, target = train_state["params"], train_state["target"]
    grads = jax.grad(loss_fn)(train_state, batch)["params"]
    for name in params:
        params[name] = params[name] - 0.1 * grads[name]
        target[name] = decay * target[name] + (1 - decay) * params[name]
    return train_state


# %% wrong: still target
import jax
import jax.numpy as jnp


def value(params, x):
    return x @ params["w"] + params["b"]


def loss_fn(train_state, batch):
    goal = batch["reward"] + 0.9 * value(train_state["target"], batch["after"])
    error = value(train_state["params"], batch["now"]) - goal
    return jnp.mean(jnp.square(error))


def update(train_state, batch, decay):
    grads = jax.grad(loss_fn)(train_state, batch)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, train_state["params"], grads["params"])
    follow = lambda t, p: decay * t + (1 - decay) * p
    jax.tree.map(follow, train_state["target"], params)
    return {**train_state, "params": params}


# %% wrong: -
# the params are drawn back to the target
import jax
import jax.numpy as jnp


def value(params, x):
    return x @ params["w"] + params["b"]


def loss_fn(train_state, batch):
    goal = batch["reward"] + 0.9 * value(train_state["target"], batch["after"])
    error = value(train_state["params"], batch["now"]) - goal
    return jnp.mean(jnp.square(error))


def update(train_state, batch, decay):
    params, target = train_state["params"], train_state["target"]
    grads = jax.grad(loss_fn)(train_state, batch)["params"]
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    params = jax.tree.map(lambda t, p: decay * t + (1 - decay) * p, target, params)
    return {"params": params, "target": params}


# %% wrong: -
# the goal comes from the params themselves, and no gradient goes through it
import jax
import jax.numpy as jnp


def value(params, x):
    return x @ params["w"] + params["b"]


def loss_fn(train_state, batch):
    goal = batch["reward"] + 0.9 * value(train_state["params"], batch["after"])
    error = value(train_state["params"], batch["now"]) - jax.lax.stop_gradient(goal)
    return jnp.mean(jnp.square(error))


def update(train_state, batch, decay):
    params, target = train_state["params"], train_state["target"]
    grads = jax.grad(loss_fn)(train_state, batch)["params"]
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    target = jax.tree.map(lambda t, p: decay * t + (1 - decay) * p, target, params)
    return {"params": params, "target": target}


# %% wrong: -
# uphill
import jax
import jax.numpy as jnp


def value(params, x):
    return x @ params["w"] + params["b"]


def loss_fn(train_state, batch):
    goal = batch["reward"] + 0.9 * value(train_state["target"], batch["after"])
    error = value(train_state["params"], batch["now"]) - goal
    return jnp.mean(jnp.square(error))


def update(train_state, batch, decay):
    params, target = train_state["params"], train_state["target"]
    grads = jax.grad(loss_fn)(train_state, batch)["params"]
    params = jax.tree.map(lambda p, g: p + 0.1 * g, params, grads)
    target = jax.tree.map(lambda t, p: decay * t + (1 - decay) * p, target, params)
    return {"params": params, "target": target}
