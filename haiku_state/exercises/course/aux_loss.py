"""More than a loss

repair, easy, 5 min, pure/transformations#a-result-beside-the-loss

Repair `update(params, batch, learning_rate)` so that it returns the new params, the loss, and the
dict `found` that the loss function returns along with the loss, in this order. Do not change
`loss_fn`, and let it run only once in each call to `update`.

- Which values does `loss_fn` return, and which of them should be differentiated?
- Look at the line with `jax.grad`, and at the second run of `loss_fn` below it.
- `jax.value_and_grad(loss_fn, has_aux=True)` returns a function whose result is `(loss, found),
  grads`.
"""

# %%
# A classifier whose loss function also returns other values that it computes.
import jax
import jax.numpy as jnp


def loss_fn(params, batch):
    logits = batch["inputs"] @ params["w"] + params["b"]
    true = jax.nn.one_hot(batch["labels"], logits.shape[1])
    loss = -jnp.mean(jnp.sum(true * jax.nn.log_softmax(logits), axis=1))
    found = {
        "labels": jnp.argmax(logits, axis=1),
        "largest": jnp.max(jnp.abs(logits)),
    }
    return loss, found


def update(params, batch, learning_rate):
    # Return the new params, the loss and the dict `found`.
    #: grads = jax.grad(loss_fn)(params, batch)
    #: loss, found = loss_fn(params, batch)
    # <solution>
    value_and_grad = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, found), grads = value_and_grad(params, batch)
    # </solution>
    steps = jax.tree.map(lambda g: learning_rate * g, grads)
    return jax.tree.map(jnp.subtract, params, steps), loss, found


# %% setup
import numpy as np

from haiku_state.exercises.counting import counted_runs


# %% inputs
def inputs(rng):
    params = {"w": rng.normal(size=(3, 4)), "b": rng.normal(size=4)}
    batch = {"inputs": rng.normal(size=(6, 3)), "labels": rng.integers(0, 4, 6)}
    return params, batch, np.float32(rng.uniform(0.1, 0.5))


# %% check `update` returns the new params, the loss and the dict `found`; pure jit; params, loss, found
def check(answer, params, batch, learning_rate):
    return answer.update(params, batch, learning_rate)


def closed_form(params, batch, learning_rate):
    inputs, true = batch["inputs"].astype(float), np.eye(4)[batch["labels"]]
    logits = inputs @ params["w"] + params["b"]
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    loss = -np.log(shares[true == 1]).mean()
    steps = learning_rate * (shares - true) / len(inputs)
    new_params = {"w": params["w"] - inputs.T @ steps, "b": params["b"] - steps.sum(axis=0)}
    return new_params, loss, {"labels": logits.argmax(axis=1), "largest": np.abs(logits).max()}


# %% check `loss_fn` runs only once in each call to `update`; once
def check(answer, params, batch, learning_rate):
    # a shape that the other check does not have, so that a compiled update is traced
    longer = {name: jnp.concatenate([leaf, leaf]) for name, leaf in batch.items()}
    with counted_runs(answer.loss_fn) as runs:
        answer.update(params, longer, learning_rate)
    return {"runs": len(runs), "loss_fn": answer.loss_fn(params, batch)}


# %% idea second result
# Only a single number can be differentiated. If a function returns more, the transformation must be
# told which result to differentiate and which results to pass on unchanged.
def update(params, batch, learning_rate):
    (loss, found), grads = jax.value_and_grad(loss_fn)(params, batch)


# %%
def update(params, batch, learning_rate):
    only_loss = lambda params: loss_fn(params, batch)[0]
    (loss, found), grads = jax.value_and_grad(only_loss, has_aux=True)(params)


# %% idea value first
# The results must be unpacked in the right order: `jax.value_and_grad` returns the result of the
# function first and the gradient second, but `jax.grad` returns the gradient first.
def update(params, batch, learning_rate):
    grads, (loss, found) = jax.value_and_grad(loss_fn, has_aux=True)(params, batch)
    steps = jax.tree.map(lambda g: learning_rate * g, grads)
    return jax.tree.map(jnp.subtract, params, steps), loss, found


# %%
def update(params, batch, learning_rate):
    grads, (loss, found) = jax.value_and_grad(loss_fn, has_aux=True)(params, batch)
    return jax.tree.map(lambda p, g: p - learning_rate * g, params, grads), loss, found


# %%
def update(params, batch, learning_rate):
    (loss, found), grads = jax.grad(loss_fn, has_aux=True)(params, batch)
    steps = jax.tree.map(lambda g: learning_rate * g, grads)
    return jax.tree.map(jnp.subtract, params, steps), loss, found


# %%
def update(params, batch, learning_rate):
    loss, found, grads = jax.value_and_grad(loss_fn, has_aux=True)(params, batch)


# %% idea twice
# The loss function must run only once, because its values are returned along with the gradient. A
# second run costs time, and it may give different values, for example if the function has state.
def update(params, batch, learning_rate):
    grads, found = jax.grad(loss_fn, has_aux=True)(params, batch)
    loss, _ = loss_fn(params, batch)
    new_params = jax.tree.map(lambda p, g: p - learning_rate * g, params, grads)
    return new_params, loss, found


# %%
def update(params, batch, learning_rate):
    new_params, _, _ = right.update(params, batch, learning_rate)
    return new_params, *loss_fn(new_params, batch)


# %% idea leak
def update(params, batch, learning_rate):
    seen = {}

    def only_loss(params):
        loss, seen["found"] = loss_fn(params, batch)
        return loss

    loss, grads = jax.value_and_grad(only_loss)(params)
    new_params = jax.tree.map(lambda p, g: p - learning_rate * g, params, grads)
    return new_params, loss, seen["found"]


# %% right `jax.grad` alone, with the loss as part of the second result
def update(params, batch, learning_rate):
    def both(params):
        loss, found = loss_fn(params, batch)
        return loss, (loss, found)

    grads, (loss, found) = jax.grad(both, has_aux=True)(params)
    new_params = jax.tree.map(lambda p, g: p - learning_rate * g, params, grads)
    return new_params, loss, found


# %% right a compiled `update`
update = jax.jit(update)
