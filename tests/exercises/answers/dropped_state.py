# right: value_and_grad, and predict by index
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
        (_, state), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, state, x, y)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, state


def predict(params, state, x):
    return model.apply(params, state, None, x, is_training=False)[0]

# wrong: state restarted
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
        grads, new_state = jax.grad(loss_fn, has_aux=True)(params, state, x, y)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, new_state


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=False)
    return outputs

# wrong: evaluation
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
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, x, y)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, state


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=True)
    return outputs

# wrong: dropped state
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
        grads, new_state = jax.grad(loss_fn, has_aux=True)(params, state, x, y)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, state


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=False)
    return outputs

# wrong: leak
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


latest = {}


def train(params, state, batches):
    latest["state"] = state
    for x, y in batches:
        grads, latest["state"] = jax.grad(loss_fn, has_aux=True)(
            params, latest["state"], x, y
        )
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, latest["state"]


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=False)
    return outputs

# wrong: evaluation writes
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
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, x, y)
        _, state = model.apply(params, state, None, x, is_training=True)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, state


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=False)
    return outputs

# wrong: params and state
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
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, x, y)
        new_params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return new_params, state


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=False)
    return outputs
