"""A frozen encoder

repair, hard, 10 min, update/frozen_parts#three-ways-to-freeze

`stop_gradient` was meant to freeze the encoder, but its weights shrink. Change the program so that
the params of the encoder and its running mean do not change at all, and the head is trained as
before.

The check calls `init(params)`, which returns the `opt_state`, and then calls `update(params, state,
opt_state, batch)` several times, which returns the new params, state and `opt_state`. The
`opt_state` may hold moments only for the params that are trained.

- What does the optimizer do with a param whose gradient is zero?
- Look at `optimizer.init` and `optimizer.update`: both get the params of the encoder too. Also look
  at the state that `update` returns.
- `hk.data_structures.partition(is_frozen, params)` returns the two halves, and `merge` puts them
  together. Pass only the second half to `optimizer`. In the new state, keep the old entry of the
  encoder.
"""

# %%
# The head of a network is fine-tuned. The encoder must not change, neither its
# params nor the running mean that it keeps in the state.
import haiku as hk
import jax
import jax.numpy as jnp
import optax


def is_frozen(module, name, value):
    return module == "encoder"


def loss_fn(params, state, batch):
    #: params = {**params, "encoder": jax.lax.stop_gradient(params["encoder"])}
    mean = state["encoder"]["mean"]
    hidden = jnp.tanh((batch["x"] - mean) @ params["encoder"]["w"])
    error = hidden @ params["head"]["w"] - batch["y"]
    mean = 0.9 * mean + 0.1 * jnp.mean(batch["x"], axis=0)
    count = state["head"]["count"] + 1
    state = {"encoder": {"mean": mean}, "head": {"count": count}}
    return jnp.mean(jnp.square(error)), state


optimizer = optax.adamw(0.1, weight_decay=0.1)


def init(params):
    #: return optimizer.init(params)
    # <solution>
    _, trained = hk.data_structures.partition(is_frozen, params)
    return optimizer.init(trained)
    # </solution>


def update(params, state, opt_state, batch):
    #: grad_fn = jax.grad(loss_fn, has_aux=True)
    #: grads, state = grad_fn(params, state, batch)
    #: updates, opt_state = optimizer.update(grads, opt_state, params)
    #: return optax.apply_updates(params, updates), state, opt_state
    # <solution>
    frozen, trained = hk.data_structures.partition(is_frozen, params)

    def loss_of(trained):
        params = hk.data_structures.merge(frozen, trained)
        return loss_fn(params, state, batch)

    grads, new_state = jax.grad(loss_of, has_aux=True)(trained)
    updates, opt_state = optimizer.update(grads, opt_state, trained)
    trained = optax.apply_updates(trained, updates)
    new_state = {**new_state, "encoder": state["encoder"]}
    return hk.data_structures.merge(frozen, trained), new_state, opt_state
    # </solution>


# %% setup
import numpy as np


def three_steps(answer, params, state, batch):
    opt_state = answer.init(params)
    for _step in range(3):
        params, state, opt_state = answer.update(params, state, opt_state, batch)
    return params, state


# %% inputs
def inputs(rng):
    params = {"encoder": {"w": rng.normal(size=(3, 2))}, "head": {"w": rng.normal(size=2)}}
    count = np.int32(rng.integers(5, 50))
    state = {"encoder": {"mean": rng.normal(size=3)}, "head": {"count": count}}
    return params, state, {"x": rng.normal(1, 1, size=(8, 3)), "y": rng.normal(size=8)}


# %% check The encoder does not change, and the head is trained; arguments jit tolerance=1e-4
def check(answer, params, state, batch):
    return three_steps(answer, params, state, batch)[0]


def closed_form(params, state, batch):
    x = batch["x"].astype(float) - state["encoder"]["mean"]
    hidden = np.tanh(x @ params["encoder"]["w"])
    w, first, second = params["head"]["w"].astype(float), 0, 0
    for step in (1, 2, 3):
        grads = 2 * hidden.T @ (hidden @ w - batch["y"]) / len(x)
        first, second = 0.9 * first + 0.1 * grads, 0.999 * second + 0.001 * grads**2
        scaled = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        w = w - 0.1 * (scaled + 0.1 * w)
    return {**params, "head": {"w": w}}


# %% check The running mean does not change, and the count of the head advances; once tolerance=0
def check(answer, params, state, batch):
    return three_steps(answer, params, state, batch)[1]


# %% check The optimizer keeps moments only for the head; once
def check(answer, params, state, batch):
    leaves = jax.tree.leaves(answer.init(params))
    return {"numbers in the moments": sum(np.size(leaf) for leaf in leaves if np.ndim(leaf))}


# %% idea weight decay
# A gradient of zero does not mean an update of zero: an optimizer with weight decay or with
# momentum changes all params that it gets. It must not get the params that are frozen.
still = optax.masked(optax.set_to_zero(), {"encoder": True, "head": False})
optimizer = optax.chain(still, right.optimizer)


def is_frozen(module, name, value):
    return False


# %%
def init(params):
    return optimizer.init(params)


def update(params, state, opt_state, batch):
    grads, state = jax.grad(loss_fn, has_aux=True)(params, state, batch)
    grads = {**grads, "encoder": jax.tree.map(jnp.zeros_like, grads["encoder"])}
    updates, opt_state = optimizer.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), state, opt_state


# %% idea updates passed on
# `optax.masked` passes on unchanged what it excludes, so the gradient itself becomes the update.
# The update of a frozen param must be zero.
optimizer = optax.masked(right.optimizer, {"encoder": False, "head": True})


def is_frozen(module, name, value):
    return False


# %% idea frozen statistics
# The running mean of the encoder must not change. It is not a param, so the optimizer does not
# change it, but the forward pass does.
def update(params, state, opt_state, batch):
    _, moved = loss_fn(params, state, batch)
    params, _, opt_state = right.update(params, state, opt_state, batch)
    return params, moved, opt_state


# %% idea dropped state
# Not all of the state is frozen: the head's part must advance.
def update(params, state, opt_state, batch):
    params, _, opt_state = right.update(params, state, opt_state, batch)
    return params, state, opt_state


# %% idea frozen moments; update/frozen_parts#params-by-name
# The params are right, but the optimizer keeps moments for params that it never changes. It should
# not get these params at all.
still = optax.masked(optax.set_to_zero(), {"encoder": True, "head": False})
optimizer = optax.chain(right.optimizer, still)


def is_frozen(module, name, value):
    return False


# %% idea inverted mask; update/frozen_parts#params-by-name
# The head did not change, but the encoder did. It should be the other way round: what does True
# stand for here?
def is_frozen(module, name, value):
    return module != "encoder"


# %% idea trained part
# The head must be trained as if it were alone, by the same optimizer.
optimizer = optax.adam(0.1)

# %% right the recipe from the lesson
import haiku_state as hs

optimizer = hs.recipes.freeze_params(right.optimizer, right.is_frozen)


def is_frozen(module, name, value):
    return False
