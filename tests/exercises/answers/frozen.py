"""Answers to `frozen`."""


# %% right: the head as an entry of the dict, without Haiku's functions
import jax
import jax.numpy as jnp
import optax


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
    return optimizer.init(params["head"])


@jax.jit
def update(params, state, opt_state, batch):
    def of_head(head):
        return loss_fn({"encoder": params["encoder"], "head": head}, state, batch)

    (_, after), grads = jax.value_and_grad(of_head, has_aux=True)(params["head"])
    updates, opt_state = optimizer.update(grads, opt_state, params["head"])
    head = optax.apply_updates(params["head"], updates)
    state = {"encoder": state["encoder"], "head": after["head"]}
    return {"encoder": params["encoder"], "head": head}, state, opt_state


# %% right: an optimizer for each part, and the mean is not computed at all
import haiku as hk
import jax
import jax.numpy as jnp
import optax


def loss_fn(params, state, batch):
    mean = state["encoder"]["mean"]
    hidden = jnp.tanh((batch["x"] - mean) @ params["encoder"]["w"])
    error = hidden @ params["head"]["w"] - batch["y"]
    new_state = {**state, "head": {"count": state["head"]["count"] + 1}}
    return jnp.mean(jnp.square(error)), new_state


def label_of(params):
    return {module: "frozen" if module == "encoder" else "trained" for module in params}


optimizer = optax.multi_transform(
    {"frozen": optax.set_to_zero(), "trained": optax.adamw(0.1, weight_decay=0.1)}, label_of
)


def init(params):
    return optimizer.init(params)


def update(params, state, opt_state, batch):
    grads, state = jax.grad(loss_fn, has_aux=True)(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), state, opt_state


# %% right: stop_gradient stays, so what masked passes on is zero
import haiku as hk
import jax
import jax.numpy as jnp
import optax


def loss_fn(params, state, batch):
    params = {**params, "encoder": jax.lax.stop_gradient(params["encoder"])}
    mean = state["encoder"]["mean"]
    hidden = jnp.tanh((batch["x"] - mean) @ params["encoder"]["w"])
    error = hidden @ params["head"]["w"] - batch["y"]
    mean = 0.9 * mean + 0.1 * jnp.mean(batch["x"], axis=0)
    count = state["head"]["count"] + 1
    state = {"encoder": {"mean": mean}, "head": {"count": count}}
    return jnp.mean(jnp.square(error)), state


optimizer = optax.masked(
    optax.adamw(0.1, weight_decay=0.1), {"encoder": False, "head": True}
)


def init(params):
    return optimizer.init(params)


def update(params, state, opt_state, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, new_state = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    new_state = {**new_state, "encoder": state["encoder"]}
    return optax.apply_updates(params, updates), new_state, opt_state


# %% right: two masks in a chain, from a predicate
import haiku as hk
import jax
import jax.numpy as jnp
import optax


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


def frozen_mask(params):
    return hk.data_structures.map(is_frozen, params)


def trained_mask(params):
    return jax.tree.map(lambda frozen: not frozen, frozen_mask(params))


optimizer = optax.chain(
    optax.masked(optax.adamw(0.1, weight_decay=0.1), trained_mask),
    optax.masked(optax.set_to_zero(), frozen_mask),
)


def init(params):
    return optimizer.init(params)


def update(params, state, opt_state, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, new_state = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    new_state = {**new_state, "encoder": state["encoder"]}
    return optax.apply_updates(params, updates), new_state, opt_state


# %% right: the recipe of this package
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


optimizer = hs.recipes.freeze_params(optax.adamw(0.1, weight_decay=0.1), is_frozen)


def init(params):
    return optimizer.init(params)


def update(params, state, opt_state, batch):
    grads, moved = jax.grad(loss_fn, has_aux=True)(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    return params, {"encoder": state["encoder"], "head": moved["head"]}, opt_state


# %% right: gradients of everything, and only those of the head are used; a NamedTuple
from typing import Any, NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import optax


def is_frozen(module, name, value):
    return module.split("/")[0] == "encoder"


def loss_fn(params, state, batch):
    mean = state["encoder"]["mean"]
    hidden = jnp.tanh((batch["x"] - mean) @ params["encoder"]["w"])
    error = hidden @ params["head"]["w"] - batch["y"]
    mean = 0.9 * mean + 0.1 * jnp.mean(batch["x"], axis=0)
    count = state["head"]["count"] + 1
    state = {"encoder": {"mean": mean}, "head": {"count": count}}
    return jnp.mean(jnp.square(error)), state


optimizer = optax.adamw(0.1, weight_decay=0.1)


class Result(NamedTuple):
    params: Any
    state: Any
    opt_state: Any


def trained_of(tree):
    return hk.data_structures.filter(lambda *entry: not is_frozen(*entry), tree)


def init(params):
    return optimizer.init(trained_of(params))


def update(params, state, opt_state, batch):
    grads, new_state = jax.grad(loss_fn, has_aux=True)(params, state, batch)
    old = trained_of(params)
    updates, opt_state = optimizer.update(trained_of(grads), opt_state, old)
    params = {**params, **optax.apply_updates(old, updates)}
    state = hk.data_structures.merge(new_state, {"encoder": state["encoder"]})
    return Result(params, state, opt_state)


# %% right: argnums, and the state is put together by a predicate
import haiku as hk
import jax
import jax.numpy as jnp
import optax


def loss_fn(params, state, batch):
    mean = state["encoder"]["mean"]
    hidden = jnp.tanh((batch["x"] - mean) @ params["encoder"]["w"])
    error = hidden @ params["head"]["w"] - batch["y"]
    mean = 0.9 * mean + 0.1 * jnp.mean(batch["x"], axis=0)
    count = state["head"]["count"] + 1
    state = {"encoder": {"mean": mean}, "head": {"count": count}}
    return jnp.mean(jnp.square(error)), state


optimizer = optax.adamw(0.1, weight_decay=0.1)


def split_loss(head, encoder, state, batch):
    loss, new = loss_fn({"encoder": encoder, "head": head}, state, batch)
    keep = lambda module, name, value: state[module][name] if module == "encoder" else value
    return loss, hk.data_structures.map(keep, new)


def init(params):
    return optimizer.init({"head": params["head"]}["head"])


def update(params, state, opt_state, batch):
    encoder, head = params["encoder"], params["head"]
    grad_fn = jax.grad(split_loss, argnums=0, has_aux=True)
    grads, state = grad_fn(head, encoder, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params=head)
    return {"encoder": encoder, "head": optax.apply_updates(head, updates)}, state, opt_state


# %% right: AdamW by hand
import jax
import jax.numpy as jnp


def loss_fn(params, state, batch):
    mean = state["encoder"]["mean"]
    hidden = jnp.tanh((batch["x"] - mean) @ params["encoder"]["w"])
    error = hidden @ params["head"]["w"] - batch["y"]
    mean = 0.9 * mean + 0.1 * jnp.mean(batch["x"], axis=0)
    count = state["head"]["count"] + 1
    state = {"encoder": {"mean": mean}, "head": {"count": count}}
    return jnp.mean(jnp.square(error)), state


def init(params):
    zeros = jax.tree.map(jnp.zeros_like, params["head"])
    return zeros, zeros, jnp.int32(0)


def update(params, state, opt_state, batch):
    first, second, step = opt_state
    step = step + 1
    grads, new_state = jax.grad(loss_fn, has_aux=True)(params, state, batch)
    grads = grads["head"]
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, second, grads)

    def moved(p, m, v):
        m, v = m / (1 - 0.9**step), v / (1 - 0.999**step)
        return p - 0.1 * (m / (jnp.sqrt(v) + 1e-8) + 0.1 * p)

    head = jax.tree.map(moved, params["head"], first, second)
    new_state["encoder"] = state["encoder"]
    return {**params, "head": head}, new_state, (first, second, step)


# %% wrong: weight decay | frozen statistics | frozen moments
import haiku as hk
import jax
import jax.numpy as jnp
import optax


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


optimizer = optax.adamw(0.1, weight_decay=0.1)


def init(params):
    return optimizer.init(params)


def update(params, state, opt_state, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, state = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), state, opt_state


# %% wrong: frozen statistics
# only the params are frozen
import haiku as hk
import jax
import jax.numpy as jnp
import optax


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
    _, trained = hk.data_structures.partition(is_frozen, params)
    return optimizer.init(trained)


def update(params, state, opt_state, batch):
    frozen, trained = hk.data_structures.partition(is_frozen, params)

    def loss_of(trained):
        params = hk.data_structures.merge(frozen, trained)
        return loss_fn(params, state, batch)

    grads, new_state = jax.grad(loss_of, has_aux=True)(trained)
    updates, opt_state = optimizer.update(grads, opt_state, trained)
    trained = optax.apply_updates(trained, updates)
    return hk.data_structures.merge(frozen, trained), new_state, opt_state


# %% wrong: frozen moments
# no decay of the encoder, and its gradient is zero: it keeps moments of zeros
import haiku as hk
import jax
import jax.numpy as jnp
import optax


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


optimizer = optax.adamw(0.1, weight_decay=0.1, mask={"encoder": False, "head": True})


def init(params):
    return optimizer.init(params)


def update(params, state, opt_state, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, new_state = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    new_state = {**new_state, "encoder": state["encoder"]}
    return optax.apply_updates(params, updates), new_state, opt_state


# %% wrong: frozen moments
# the old params of the encoder are put back at the end
import haiku as hk
import jax
import jax.numpy as jnp
import optax


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
    new_state = {**new_state, "encoder": state["encoder"]}
    updated = optax.apply_updates(params, updates)
    return {**updated, "encoder": params["encoder"]}, new_state, opt_state


# %% wrong: weight decay | frozen moments
# a learning rate of zero for the gradient is not enough
import haiku as hk
import jax
import jax.numpy as jnp
import optax


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


optimizer = optax.chain(
    optax.masked(optax.set_to_zero(), {"encoder": True, "head": False}),
    optax.adamw(0.1, weight_decay=0.1),
)


def init(params):
    return optimizer.init(params)


def update(params, state, opt_state, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, new_state = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    new_state = {**new_state, "encoder": state["encoder"]}
    return optax.apply_updates(params, updates), new_state, opt_state


# %% wrong: updates passed on
import haiku as hk
import jax
import jax.numpy as jnp
import optax


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


optimizer = optax.masked(
    optax.adamw(0.1, weight_decay=0.1), {"encoder": False, "head": True}
)


def init(params):
    return optimizer.init(params)


def update(params, state, opt_state, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, new_state = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    new_state = {**new_state, "encoder": state["encoder"]}
    return optax.apply_updates(params, updates), new_state, opt_state


# %% wrong: dropped state
import haiku as hk
import jax
import jax.numpy as jnp
import optax


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
    _, trained = hk.data_structures.partition(is_frozen, params)
    return optimizer.init(trained)


def update(params, state, opt_state, batch):
    frozen, trained = hk.data_structures.partition(is_frozen, params)

    def loss_of(trained):
        params = hk.data_structures.merge(frozen, trained)
        return loss_fn(params, state, batch)

    grads, _ = jax.grad(loss_of, has_aux=True)(trained)
    updates, opt_state = optimizer.update(grads, opt_state, trained)
    trained = optax.apply_updates(trained, updates)
    return hk.data_structures.merge(frozen, trained), state, opt_state


# %% wrong: inverted mask
import haiku as hk
import jax
import jax.numpy as jnp
import optax


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
    trained, _ = hk.data_structures.partition(is_frozen, params)
    return optimizer.init(trained)


def update(params, state, opt_state, batch):
    trained, frozen = hk.data_structures.partition(is_frozen, params)

    def loss_of(trained):
        params = hk.data_structures.merge(frozen, trained)
        return loss_fn(params, state, batch)

    grads, new_state = jax.grad(loss_of, has_aux=True)(trained)
    updates, opt_state = optimizer.update(grads, opt_state, trained)
    trained = optax.apply_updates(trained, updates)
    new_state = {**new_state, "encoder": state["encoder"]}
    return hk.data_structures.merge(frozen, trained), new_state, opt_state


# %% wrong: trained part
# without weight decay, the head is trained differently
import haiku as hk
import jax
import jax.numpy as jnp
import optax


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


optimizer = optax.adam(0.1)


def init(params):
    _, trained = hk.data_structures.partition(is_frozen, params)
    return optimizer.init(trained)


def update(params, state, opt_state, batch):
    frozen, trained = hk.data_structures.partition(is_frozen, params)

    def loss_of(trained):
        params = hk.data_structures.merge(frozen, trained)
        return loss_fn(params, state, batch)

    grads, new_state = jax.grad(loss_of, has_aux=True)(trained)
    updates, opt_state = optimizer.update(grads, opt_state, trained)
    trained = optax.apply_updates(trained, updates)
    new_state = {**new_state, "encoder": state["encoder"]}
    return hk.data_structures.merge(frozen, trained), new_state, opt_state


# %% wrong: trained part
# the moments begin again in each step
import haiku as hk
import jax
import jax.numpy as jnp
import optax


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
    _, trained = hk.data_structures.partition(is_frozen, params)
    return optimizer.init(trained)


def update(params, state, opt_state, batch):
    frozen, trained = hk.data_structures.partition(is_frozen, params)

    def loss_of(trained):
        params = hk.data_structures.merge(frozen, trained)
        return loss_fn(params, state, batch)

    grads, new_state = jax.grad(loss_of, has_aux=True)(trained)
    updates, opt_state = optimizer.update(grads, init(params), trained)
    trained = optax.apply_updates(trained, updates)
    new_state = {**new_state, "encoder": state["encoder"]}
    return hk.data_structures.merge(frozen, trained), new_state, opt_state


# %% wrong: trained part
# the new moments do not come out
import haiku as hk
import jax
import jax.numpy as jnp
import optax


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
    _, trained = hk.data_structures.partition(is_frozen, params)
    return optimizer.init(trained)


def update(params, state, opt_state, batch):
    frozen, trained = hk.data_structures.partition(is_frozen, params)

    def loss_of(trained):
        params = hk.data_structures.merge(frozen, trained)
        return loss_fn(params, state, batch)

    grads, new_state = jax.grad(loss_of, has_aux=True)(trained)
    updates, _ = optimizer.update(grads, opt_state, trained)
    trained = optax.apply_updates(trained, updates)
    new_state = {**new_state, "encoder": state["encoder"]}
    return hk.data_structures.merge(frozen, trained), new_state, opt_state


# %% wrong: changed argument
# the caller's params and state are changed in place
import haiku as hk
import jax
import jax.numpy as jnp
import optax


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
    _, trained = hk.data_structures.partition(is_frozen, params)
    return optimizer.init(trained)


def update(params, state, opt_state, batch):
    frozen, trained = hk.data_structures.partition(is_frozen, params)

    def loss_of(trained):
        params = hk.data_structures.merge(frozen, trained)
        return loss_fn(params, state, batch)

    grads, new_state = jax.grad(loss_of, has_aux=True)(trained)
    updates, opt_state = optimizer.update(grads, opt_state, trained)
    trained = optax.apply_updates(trained, updates)
    params["head"] = trained["head"]
    state["head"] = new_state["head"]
    return params, state, opt_state


# %% wrong: weight decay | frozen moments
# the predicate compares the wrong name, so nothing is frozen
import haiku as hk
import jax
import jax.numpy as jnp
import optax


def is_frozen(module, name, value):
    return name == "encoder"


def loss_fn(params, state, batch):
    params = {**params, "encoder": jax.lax.stop_gradient(params["encoder"])}
    mean = state["encoder"]["mean"]
    hidden = jnp.tanh((batch["x"] - mean) @ params["encoder"]["w"])
    error = hidden @ params["head"]["w"] - batch["y"]
    mean = 0.9 * mean + 0.1 * jnp.mean(batch["x"], axis=0)
    count = state["head"]["count"] + 1
    state = {"encoder": {"mean": mean}, "head": {"count": count}}
    return jnp.mean(jnp.square(error)), state


optimizer = optax.adamw(0.1, weight_decay=0.1)


def init(params):
    _, trained = hk.data_structures.partition(is_frozen, params)
    return optimizer.init(trained)


def update(params, state, opt_state, batch):
    frozen, trained = hk.data_structures.partition(is_frozen, params)

    def loss_of(trained):
        params = hk.data_structures.merge(frozen, trained)
        return loss_fn(params, state, batch)

    grads, new_state = jax.grad(loss_of, has_aux=True)(trained)
    updates, opt_state = optimizer.update(grads, opt_state, trained)
    trained = optax.apply_updates(trained, updates)
    new_state = {**new_state, "encoder": state["encoder"]}
    return hk.data_structures.merge(frozen, trained), new_state, opt_state


# %% wrong: -
# a typo in the loss: the absolute error
import haiku as hk
import jax
import jax.numpy as jnp
import optax


def is_frozen(module, name, value):
    return module == "encoder"


def loss_fn(params, state, batch):
    mean = state["encoder"]["mean"]
    hidden = jnp.tanh((batch["x"] - mean) @ params["encoder"]["w"])
    error = hidden @ params["head"]["w"] - batch["y"]
    mean = 0.9 * mean + 0.1 * jnp.mean(batch["x"], axis=0)
    count = state["head"]["count"] + 1
    state = {"encoder": {"mean": mean}, "head": {"count": count}}
    return jnp.mean(jnp.abs(error)), state


optimizer = optax.adamw(0.1, weight_decay=0.1)


def init(params):
    _, trained = hk.data_structures.partition(is_frozen, params)
    return optimizer.init(trained)


def update(params, state, opt_state, batch):
    frozen, trained = hk.data_structures.partition(is_frozen, params)

    def loss_of(trained):
        params = hk.data_structures.merge(frozen, trained)
        return loss_fn(params, state, batch)

    grads, new_state = jax.grad(loss_of, has_aux=True)(trained)
    updates, opt_state = optimizer.update(grads, opt_state, trained)
    trained = optax.apply_updates(trained, updates)
    new_state = {**new_state, "encoder": state["encoder"]}
    return hk.data_structures.merge(frozen, trained), new_state, opt_state


# %% wrong: -
# the results in another order
import haiku as hk
import jax
import jax.numpy as jnp
import optax


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
    _, trained = hk.data_structures.partition(is_frozen, params)
    return optimizer.init(trained)


def update(params, state, opt_state, batch):
    frozen, trained = hk.data_structures.partition(is_frozen, params)

    def loss_of(trained):
        params = hk.data_structures.merge(frozen, trained)
        return loss_fn(params, state, batch)

    grads, new_state = jax.grad(loss_of, has_aux=True)(trained)
    updates, opt_state = optimizer.update(grads, opt_state, trained)
    trained = optax.apply_updates(trained, updates)
    new_state = {**new_state, "encoder": state["encoder"]}
    return hk.data_structures.merge(frozen, trained), opt_state, new_state


# %% wrong: -
# the updates are returned instead of the params
import haiku as hk
import jax
import jax.numpy as jnp
import optax


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
    _, trained = hk.data_structures.partition(is_frozen, params)
    return optimizer.init(trained)


def update(params, state, opt_state, batch):
    frozen, trained = hk.data_structures.partition(is_frozen, params)

    def loss_of(trained):
        params = hk.data_structures.merge(frozen, trained)
        return loss_fn(params, state, batch)

    grads, new_state = jax.grad(loss_of, has_aux=True)(trained)
    updates, opt_state = optimizer.update(grads, opt_state, trained)
    trained = updates
    new_state = {**new_state, "encoder": state["encoder"]}
    return hk.data_structures.merge(frozen, trained), new_state, opt_state
