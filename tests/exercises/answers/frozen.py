# right: the recipe of the lesson
import haiku as hk
import jax
import jax.numpy as jnp
import optax

import haiku_state as hs


def is_frozen(module, name, value):
    return module == "encoder"


def loss_fn(params, state, batch):
    mean = state["encoder"]["mean"]
    hidden = jnp.tanh((batch["x"] - mean) @ params["encoder"]["w"])
    error = hidden @ params["head"]["w"] - batch["y"]
    mean = 0.9 * mean + 0.1 * jnp.mean(batch["x"], axis=0)
    count = state["head"]["count"] + 1
    state = {"encoder": {"mean": mean}, "head": {"count": count}}
    return jnp.mean(jnp.square(error)), state


optimizer = hs.recipes.freeze_params(
    optax.adamw(0.1, weight_decay=0.1), is_frozen
)


def init(params):
    return optimizer.init(params)


def update(params, state, opt_state, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, new_state = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    new_state = {"encoder": state["encoder"], "head": new_state["head"]}
    return optax.apply_updates(params, updates), new_state, opt_state

# right: multi_transform
import haiku as hk
import jax
import jax.numpy as jnp
import optax

import haiku_state as hs


def is_frozen(module, name, value):
    return module == "encoder"


def loss_fn(params, state, batch):
    mean = state["encoder"]["mean"]
    hidden = jnp.tanh((batch["x"] - mean) @ params["encoder"]["w"])
    error = hidden @ params["head"]["w"] - batch["y"]
    mean = 0.9 * mean + 0.1 * jnp.mean(batch["x"], axis=0)
    count = state["head"]["count"] + 1
    state = {"encoder": {"mean": mean}, "head": {"count": count}}
    return jnp.mean(jnp.square(error)), state


labels = {"encoder": {"w": "frozen"}, "head": {"w": "trained"}}
ways = {
    "frozen": optax.set_to_zero(),
    "trained": optax.adamw(0.1, weight_decay=0.1),
}
optimizer = optax.multi_transform(ways, labels)


def init(params):
    return optimizer.init(params)


def update(params, state, opt_state, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, new_state = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    new_state = {"encoder": state["encoder"], "head": new_state["head"]}
    return optax.apply_updates(params, updates), new_state, opt_state

# right: masked, and no gradient
import haiku as hk
import jax
import jax.numpy as jnp
import optax

import haiku_state as hs


def is_frozen(module, name, value):
    return module == "encoder"


def loss_fn(params, state, batch):
    params = {**params, "encoder": jax.lax.stop_gradient(params["encoder"])}
    mean = state["encoder"]["mean"]
    hidden = jnp.tanh((batch["x"] - mean) @ params["encoder"]["w"])
    error = hidden @ params["head"]["w"] - batch["y"]
    mean = 0.9 * mean + 0.1 * jnp.mean(batch["x"], axis=0)
    count = state["head"]["count"] + 1
    state = {"encoder": {"mean": mean}, "head": {"count": count}}
    return jnp.mean(jnp.square(error)), state


mask = {"encoder": {"w": False}, "head": {"w": True}}
optimizer = optax.masked(optax.adamw(0.1, weight_decay=0.1), mask)


def init(params):
    return optimizer.init(params)


def update(params, state, opt_state, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, new_state = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    new_state = {"encoder": state["encoder"], "head": new_state["head"]}
    return optax.apply_updates(params, updates), new_state, opt_state

# wrong: weight decay
import haiku as hk
import jax
import jax.numpy as jnp
import optax

import haiku_state as hs


def is_frozen(module, name, value):
    return module == "encoder"


def loss_fn(params, state, batch):
    mean = state["encoder"]["mean"]
    hidden = jnp.tanh((batch["x"] - mean) @ params["encoder"]["w"])
    error = hidden @ params["head"]["w"] - batch["y"]
    mean = 0.9 * mean + 0.1 * jnp.mean(batch["x"], axis=0)
    count = state["head"]["count"] + 1
    state = {"encoder": {"mean": mean}, "head": {"count": count}}
    return jnp.mean(jnp.square(error)), state


optimizer = optax.adamw(0.1, weight_decay=0.1)


def init(params):
    return optimizer.init(params)


def update(params, state, opt_state, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, new_state = grad_fn(params, state, batch)
    zeros = jax.tree.map(jnp.zeros_like, grads["encoder"])
    grads = {**grads, "encoder": zeros}
    updates, opt_state = optimizer.update(grads, opt_state, params)
    new_state = {"encoder": state["encoder"], "head": new_state["head"]}
    return optax.apply_updates(params, updates), new_state, opt_state

# wrong: updates passed on
import haiku as hk
import jax
import jax.numpy as jnp
import optax

import haiku_state as hs


def is_frozen(module, name, value):
    return module == "encoder"


def loss_fn(params, state, batch):
    mean = state["encoder"]["mean"]
    hidden = jnp.tanh((batch["x"] - mean) @ params["encoder"]["w"])
    error = hidden @ params["head"]["w"] - batch["y"]
    mean = 0.9 * mean + 0.1 * jnp.mean(batch["x"], axis=0)
    count = state["head"]["count"] + 1
    state = {"encoder": {"mean": mean}, "head": {"count": count}}
    return jnp.mean(jnp.square(error)), state


mask = {"encoder": {"w": False}, "head": {"w": True}}
optimizer = optax.masked(optax.adamw(0.1, weight_decay=0.1), mask)


def init(params):
    return optimizer.init(params)


def update(params, state, opt_state, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, new_state = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    new_state = {"encoder": state["encoder"], "head": new_state["head"]}
    return optax.apply_updates(params, updates), new_state, opt_state

# wrong: inverted mask
import haiku as hk
import jax
import jax.numpy as jnp
import optax

import haiku_state as hs


def is_frozen(module, name, value):
    return module == "encoder"


def loss_fn(params, state, batch):
    mean = state["encoder"]["mean"]
    hidden = jnp.tanh((batch["x"] - mean) @ params["encoder"]["w"])
    error = hidden @ params["head"]["w"] - batch["y"]
    mean = 0.9 * mean + 0.1 * jnp.mean(batch["x"], axis=0)
    count = state["head"]["count"] + 1
    state = {"encoder": {"mean": mean}, "head": {"count": count}}
    return jnp.mean(jnp.square(error)), state


optimizer = hs.recipes.freeze_params(
    optax.adamw(0.1, weight_decay=0.1), lambda *x: not is_frozen(*x)
)


def init(params):
    return optimizer.init(params)


def update(params, state, opt_state, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, new_state = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    new_state = {"encoder": state["encoder"], "head": new_state["head"]}
    return optax.apply_updates(params, updates), new_state, opt_state

# wrong: frozen statistics
import haiku as hk
import jax
import jax.numpy as jnp
import optax

import haiku_state as hs


def is_frozen(module, name, value):
    return module == "encoder"


def loss_fn(params, state, batch):
    mean = state["encoder"]["mean"]
    hidden = jnp.tanh((batch["x"] - mean) @ params["encoder"]["w"])
    error = hidden @ params["head"]["w"] - batch["y"]
    mean = 0.9 * mean + 0.1 * jnp.mean(batch["x"], axis=0)
    count = state["head"]["count"] + 1
    state = {"encoder": {"mean": mean}, "head": {"count": count}}
    return jnp.mean(jnp.square(error)), state


optimizer = hs.recipes.freeze_params(
    optax.adamw(0.1, weight_decay=0.1), is_frozen
)


def init(params):
    return optimizer.init(params)


def update(params, state, opt_state, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, new_state = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    new_state = new_state
    return optax.apply_updates(params, updates), new_state, opt_state

# wrong: dropped state
import haiku as hk
import jax
import jax.numpy as jnp
import optax

import haiku_state as hs


def is_frozen(module, name, value):
    return module == "encoder"


def loss_fn(params, state, batch):
    mean = state["encoder"]["mean"]
    hidden = jnp.tanh((batch["x"] - mean) @ params["encoder"]["w"])
    error = hidden @ params["head"]["w"] - batch["y"]
    mean = 0.9 * mean + 0.1 * jnp.mean(batch["x"], axis=0)
    count = state["head"]["count"] + 1
    state = {"encoder": {"mean": mean}, "head": {"count": count}}
    return jnp.mean(jnp.square(error)), state


optimizer = hs.recipes.freeze_params(
    optax.adamw(0.1, weight_decay=0.1), is_frozen
)


def init(params):
    return optimizer.init(params)


def update(params, state, opt_state, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, new_state = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    new_state = state
    return optax.apply_updates(params, updates), new_state, opt_state

# wrong: frozen moments
import haiku as hk
import jax
import jax.numpy as jnp
import optax

import haiku_state as hs


def is_frozen(module, name, value):
    return module == "encoder"


def loss_fn(params, state, batch):
    mean = state["encoder"]["mean"]
    hidden = jnp.tanh((batch["x"] - mean) @ params["encoder"]["w"])
    error = hidden @ params["head"]["w"] - batch["y"]
    mean = 0.9 * mean + 0.1 * jnp.mean(batch["x"], axis=0)
    count = state["head"]["count"] + 1
    state = {"encoder": {"mean": mean}, "head": {"count": count}}
    return jnp.mean(jnp.square(error)), state


optimizer = optax.adamw(0.1, weight_decay=0.1)


def init(params):
    return optimizer.init(params)


def update(params, state, opt_state, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, new_state = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    updates = {**updates, "encoder": jax.tree.map(jnp.zeros_like, updates["encoder"])}
    new_state = {"encoder": state["encoder"], "head": new_state["head"]}
    return optax.apply_updates(params, updates), new_state, opt_state

# wrong: trained part
import haiku as hk
import jax
import jax.numpy as jnp
import optax

import haiku_state as hs


def is_frozen(module, name, value):
    return module == "encoder"


def loss_fn(params, state, batch):
    mean = state["encoder"]["mean"]
    hidden = jnp.tanh((batch["x"] - mean) @ params["encoder"]["w"])
    error = hidden @ params["head"]["w"] - batch["y"]
    mean = 0.9 * mean + 0.1 * jnp.mean(batch["x"], axis=0)
    count = state["head"]["count"] + 1
    state = {"encoder": {"mean": mean}, "head": {"count": count}}
    return jnp.mean(jnp.square(error)), state


optimizer = hs.recipes.freeze_params(
    optax.adam(0.1), is_frozen
)


def init(params):
    return optimizer.init(params)


def update(params, state, opt_state, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, new_state = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    new_state = {"encoder": state["encoder"], "head": new_state["head"]}
    return optax.apply_updates(params, updates), new_state, opt_state
