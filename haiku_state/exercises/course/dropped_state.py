"""Where the running statistics get lost

repair, easy, 5 min, haiku/batch_norm#dropping-the-new-state

`train(params, state, batches)` takes one step for each pair `(x, y)` of the list `batches` and
returns params and state. Repair it so that `predict` gets the running statistics of all batches.
The check calls `train` and `predict` and looks at the returned state.

- Which number in the state tells you how many batches the model has seen?
- Look at what `grad_fn` returns along with the gradients, and where it goes.
- The line with `grad_fn` assigns the second result to `_`. Which name is right?
"""

# %%
# A linear regression on normalized inputs. The training runs without an error,
# but the predictions are off.
import haiku as hk
import jax
import jax.numpy as jnp

import haiku_state as hs


def forward(x, is_training):
    x = hs.BatchNorm(False, False, decay_rate=0.9, name="norm")(x, is_training)
    return hk.Linear(1, name="last")(x)[:, 0]


model = hs.pure_pair(forward)


def loss_fn(params, state, x, y):
    outputs, state = model.apply(params, state, None, x, is_training=True)
    return jnp.mean((outputs - y) ** 2), state


def train(params, state, batches):
    for x, y in batches:
        grad_fn = jax.grad(loss_fn, has_aux=True)
        #: grads, _ = grad_fn(params, state, x, y)
        # <solution>
        grads, state = grad_fn(params, state, x, y)
        # </solution>
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, state


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=False)
    return outputs


# %% setup
import numpy as np


# %% inputs
def inputs(rng):
    params = {"last": {"w": rng.normal(size=(2, 1)), "b": np.zeros(1)}}
    counter, state = np.int32(rng.integers(1, 5)), {}
    for name in ("mean_ema", "var_ema"):
        hidden = rng.uniform(1, 2, (1, 2))
        average = hidden / (1 - 0.9**counter)
        state[f"norm/~/{name}"] = {"hidden": hidden, "average": average, "counter": counter}
    x = rng.normal(rng.uniform(1, 3, 2), 1.5, (2, 8, 2))
    return params, state, x, x.sum(-1) + 1


# %% check `train` returns the params and the state after all batches; pure jit tolerance=1e-4
def check(answer, params, state, x, y):
    params, state = answer.train(params, state, [(x[0], y[0]), (x[1], y[1])])
    return {"params": params, "state": state}


# %% check `predict` normalizes with the state it is given; pure jit tolerance=1e-4
def check(answer, params, state, x, y):
    rows = {"all rows": x[0], "one row": x[0][:1]}
    return {name: answer.predict(params, state, x) for name, x in rows.items()}


# %% idea evaluation
def predict(params, state, x):
    return model.apply(params, state, None, x, is_training=True)[0]


# %% idea evaluation writes
def train(params, state, batches):
    for batch in batches:
        params, state = right.train(params, state, [batch])
        _, state = model.apply(params, state, None, batch[0], is_training=True)
    return params, state


# %%
def train(params, state, batches):
    params, state = right.train(params, state, batches)
    x, _ = batches[-1]
    _, state = model.apply(params, state, None, x, is_training=True)
    return params, state


# %% idea dropped state
# The counters of the running statistics have not changed, so the new states were dropped. Each step
# must start from the state that the previous step returned.
def train(params, state, batches):
    return right.train(params, state, batches)[0], state


# %% idea state restarted; haiku/pure_pair#hktransform_with_state-makes-the-pair
# The running statistics have seen only one batch. Each step must continue from the state that the
# previous step returned, not from the first state.
def train(params, state, batches):
    start = state
    for batch in batches:
        params, state = right.train(params, start, [batch])
    return params, state


# %% idea params and state; haiku/regression#three-things-in-one-loop
# The params change by following the gradient, and the state changes in the forward pass. Each step
# must continue from both, and the last values of both must be returned.
def train(params, state, batches):
    for batch in batches:
        new_params, state = right.train(params, state, [batch])
    return new_params, state


# %%
def train(params, state, batches):
    return params, right.train(params, state, batches)[1]


# %% right `jax.value_and_grad`, and the prediction by its index
def train(params, state, batches):
    for x, y in batches:
        (_, state), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, state, x, y)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, state


def predict(params, state, x):
    return model.apply(params, state, None, x, is_training=False)[0]
