"""Answers to `dropped_state`."""


# %% right: value_and_grad, a step that is compiled, and an alias of apply
import haiku as hk
import jax
import jax.numpy as jnp

import haiku_state as hs


def forward(x, is_training):
    x = hs.BatchNorm(False, False, decay_rate=0.9, name="norm")(x, is_training)
    return hk.Linear(1, name="last")(x)[:, 0]


model = hs.pure_pair(forward)
apply = model.apply


def loss_fn(params, state, x, y):
    outputs, state = apply(params, state, None, x, is_training=True)
    return jnp.mean((outputs - y) ** 2), state


@jax.jit
def step(params, state, x, y):
    (_loss, new_state), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, state, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), new_state


def train(params, state, batches):
    for x, y in batches:
        params, state = step(params, state, x, y)
    return params, state


def predict(params, state, x):
    return apply(params, state, None, x, is_training=False)[0]


# %% right: functools.reduce, and a NamedTuple as the pair
import functools
from typing import NamedTuple

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


class Trained(NamedTuple):
    params: dict
    state: dict


def step(trained, batch):
    grads, state = jax.grad(loss_fn, has_aux=True)(*trained, *batch)
    params = jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, trained.params, grads)
    return Trained(params, state)


def train(params, state, batches):
    return functools.reduce(step, batches, Trained(params, state))


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=False)
    return outputs


# %% right: Haiku's own transform, and the state from a pass of its own
import haiku as hk
import jax
import jax.numpy as jnp

import haiku_state as hs


def forward(x, is_training):
    x = hs.BatchNorm(False, False, decay_rate=0.9, name="norm")(x, is_training)
    return hk.Linear(1, name="last")(x)[:, 0]


model = hk.transform_with_state(forward)


def loss_fn(params, state, x, y):
    outputs, state = model.apply(params, state, None, x, is_training=True)
    return jnp.mean((outputs - y) ** 2), state


def train(params, state, batches):
    for x, y in batches:
        grads = jax.grad(lambda params: loss_fn(params, state, x, y)[0])(params)
        _, state = model.apply(params, state, None, x, is_training=True)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, state


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=False)
    return outputs


# %% right: recursion, one batch and then the others
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
    if not batches:
        return params, state
    (x, y), *others = batches
    grads, new_state = jax.grad(loss_fn, has_aux=True)(params, state, x, y)
    new_params = jax.tree.map(lambda p, g: p - g / 10, params, grads)
    return train(new_params, new_state, others)


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=False)
    return outputs


# %% right: vjp with an auxiliary value, and an index
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
    for number in range(len(batches)):
        x, y = batches[number]
        loss, pull_back, state = jax.vjp(
            lambda params: loss_fn(params, state, x, y), params, has_aux=True
        )
        (grads,) = pull_back(jnp.ones_like(loss))
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, state


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=False)
    return outputs


# %% right: a loss with a dict of auxiliary values
import haiku as hk
import jax
import jax.numpy as jnp

import haiku_state as hs


def forward(x, is_training):
    x = hs.BatchNorm(False, False, decay_rate=0.9, name="norm")(x, is_training)
    return hk.Linear(1, name="last")(x)[:, 0]


model = hs.pure_pair(forward)


def loss_fn(params, state, x, y):
    outputs, new_state = model.apply(params, state, None, x, True)
    loss = jnp.square(y - outputs).mean()
    return loss, {"loss": loss, "state": new_state}


def train(params, state, batches):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    losses = []
    for x, y in batches:
        grads, aux = grad_fn(params, state, x, y)
        losses.append(aux["loss"])
        state = aux["state"]
        params = {
            module: {name: value - 0.1 * grads[module][name] for name, value in values.items()}
            for module, values in params.items()
        }
    return params, state


def predict(params, state, x):
    return model.apply(params, state, None, x, False)[0]


# %% right: a trainer object of the call's own
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


class Trainer:
    def __init__(self, params, state):
        self.params, self.state = params, state

    def step(self, x, y):
        grads, self.state = jax.grad(loss_fn, has_aux=True)(self.params, self.state, x, y)
        self.params = jax.tree.map(lambda p, g: p - 0.1 * g, self.params, grads)


def train(params, state, batches):
    trainer = Trainer(params, state)
    for x, y in batches:
        trainer.step(x, y)
    return trainer.params, trainer.state


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=False)
    return outputs


# %% right: a list of states, and a copy that is updated
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
    states = [dict(state)]
    grad_fn = jax.grad(loss_fn, argnums=0, has_aux=True)
    for x, y in batches:
        grads, aux = grad_fn(params, states[-1], x, y)
        latest = dict(states[-1])
        latest.update(aux)
        states.append(latest)
        params = jax.tree.map(lambda p, g: p + -0.1 * g, params, grads)
    return params, states[-1]


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=False)
    return outputs


# %% wrong: dropped state
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
        grads, _ = grad_fn(params, state, x, y)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, state


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=False)
    return outputs


# %% wrong: dropped state
# a new name, and the old state is returned
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
        grads, new_state = grad_fn(params, state, x, y)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, state


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=False)
    return outputs


# %% wrong: state restarted
# the new state is returned, but not passed to the next step
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
        grads, new_state = grad_fn(params, state, x, y)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, new_state


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=False)
    return outputs


# %% wrong: state restarted
# the state is computed once, after the loop
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
        grads, _ = grad_fn(params, state, x, y)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    _, state = model.apply(params, state, None, x, is_training=True)
    return params, state


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=False)
    return outputs


# %% wrong: evaluation
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
        grads, state = grad_fn(params, state, x, y)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, state


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=True)
    return outputs


# %% wrong: dropped state | evaluation
# the training is as it was, and the prediction uses the batch
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
        grads, _ = grad_fn(params, state, x, y)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, state


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=True)
    return outputs


# %% wrong: evaluation writes
# the loss after each step is computed, and its state is kept
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
        grads, state = grad_fn(params, state, x, y)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
        loss, state = loss_fn(params, state, x, y)
    return params, state


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=False)
    return outputs


# %% wrong: batch statistics
# the training runs in the mode of evaluation
import haiku as hk
import jax
import jax.numpy as jnp

import haiku_state as hs


def forward(x, is_training):
    x = hs.BatchNorm(False, False, decay_rate=0.9, name="norm")(x, is_training)
    return hk.Linear(1, name="last")(x)[:, 0]


model = hs.pure_pair(forward)


def loss_fn(params, state, x, y):
    outputs, state = model.apply(params, state, None, x, is_training=False)
    return jnp.mean((outputs - y) ** 2), state


def train(params, state, batches):
    for x, y in batches:
        grad_fn = jax.grad(loss_fn, has_aux=True)
        grads, state = grad_fn(params, state, x, y)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, state


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=False)
    return outputs


# %% wrong: params and state
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
        grads, state = grad_fn(params, state, x, y)
        new_params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return new_params, state


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=False)
    return outputs


# %% wrong: changed argument
# the caller's dict is updated
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
        grads, new_state = grad_fn(params, state, x, y)
        state.update(new_state)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, state


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=False)
    return outputs


# %% wrong: leak | mutation
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


history = []


def train(params, state, batches):
    for x, y in batches:
        grad_fn = jax.grad(loss_fn, has_aux=True)
        grads, state = grad_fn(params, state, x, y)
        history.append(state)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, state


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=False)
    return outputs


# %% wrong: leak | mutation | hidden input
# predict uses the state of a variable outside
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


latest = None


def train(params, state, batches):
    global latest
    for x, y in batches:
        grad_fn = jax.grad(loss_fn, has_aux=True)
        grads, state = grad_fn(params, state, x, y)
        latest = state
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, state


def predict(params, state, x):
    outputs, _ = model.apply(params, latest or state, None, x, is_training=False)
    return outputs


# %% wrong: evaluation
# predict begins with a fresh state
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
        grads, state = grad_fn(params, state, x, y)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, state


def predict(params, state, x):
    _, state = model.init(jax.random.key(0), x, is_training=True)
    outputs, _ = model.apply(params, state, None, x, is_training=False)
    return outputs


# %% wrong: -
# state and params are swapped in the result
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
        grads, state = grad_fn(params, state, x, y)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return state, params


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=False)
    return outputs


# %% wrong: -
# the return stands in the loop
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
        grads, state = grad_fn(params, state, x, y)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
        return params, state


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=False)
    return outputs


# %% wrong: -
# predict returns the state too
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
        grads, state = grad_fn(params, state, x, y)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, state


def predict(params, state, x):
    return model.apply(params, state, None, x, is_training=False)


# %% wrong: -
# the step goes up
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
        grads, state = grad_fn(params, state, x, y)
        params = jax.tree.map(lambda p, g: p + 0.1 * g, params, grads)
    return params, state


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=False)
    return outputs
