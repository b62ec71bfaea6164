"""Answers to `line_fit`."""

# %% right: four numbers from one draw, and the gradient by hand
import jax
import jax.numpy as jnp


def init(key):
    numbers = jax.random.normal(key, (4,))
    return {"weights": numbers[:3], "bias": numbers[3]}


def loss_fn(params, x, y):
    return jnp.square(x @ params["weights"] + params["bias"] - y).mean()


def update(params, x, y, learning_rate):
    errors = x @ params["weights"] + params["bias"] - y
    slope = 2 * errors / len(y)
    weights = params["weights"] - learning_rate * (slope @ x)
    bias = params["bias"] - learning_rate * slope.sum()
    return {"weights": weights, "bias": bias}, jnp.mean(errors**2)


# %% right: fold_in from a key that is used for nothing else, jit, and the sum written out
import jax
import jax.numpy as jnp


def init(key):
    w = jax.random.normal(jax.random.fold_in(key, 0), shape=(3,))
    b = jax.random.normal(jax.random.fold_in(key, 1), shape=())
    return dict(bias=b, weights=w)


def loss_fn(params, x, y):
    w, b = params["weights"], params["bias"]
    prediction = x[:, 0] * w[0] + x[:, 1] * w[1] + x[:, 2] * w[2] + b
    return jnp.sum((y - prediction) ** 2) / y.shape[0]


@jax.jit
def update(params, x, y, learning_rate):
    value_and_grad = jax.value_and_grad(loss_fn)
    loss, grads = value_and_grad(params, x, y)
    new_params = {}
    for name in params:
        new_params[name] = params[name] - learning_rate * grads[name]
    return new_params, loss


# %% right: a key for each number, vmap over rows, and a NamedTuple as the pair
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Step(NamedTuple):
    params: dict
    loss: jax.Array


def init(key):
    keys = jax.random.split(key, 4)
    one, two, three, bias = [jax.random.normal(k) for k in keys]
    return {"weights": jnp.stack([one, two, three]), "bias": bias}


def predict(params, row):
    return jnp.vdot(params["weights"], row) + params["bias"]


def loss_fn(params, x, y):
    one_loss = lambda row, target: (predict(params, row) - target) ** 2
    return jax.vmap(one_loss)(x, y).mean()


def update(params, x, y, learning_rate):
    loss, grads = jax.value_and_grad(loss_fn, argnums=0)(params, x, y)
    return Step(
        params=jax.tree_util.tree_map(lambda p, g: p + -learning_rate * g, params, grads), loss=loss
    )


# %% right: the params by Haiku
import haiku as hk
import jax
import jax.numpy as jnp


def line(x):
    normal = hk.initializers.RandomNormal()
    weights = hk.get_parameter("weights", [3], init=normal)
    bias = hk.get_parameter("bias", [], init=normal)
    return jnp.dot(x, weights) + bias


model = hk.transform(line)


def init(key):
    return dict(model.init(key, jnp.zeros([1, 3]))["~"])


def loss_fn(params, x, y):
    return jnp.mean((model.apply({"~": params}, None, x) - y) ** 2)


def update(params, x, y, learning_rate):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    return jax.tree.map(lambda p, g: p - learning_rate * g, params, grads), loss


# %% right: vjp, and a class whose methods are bound to names
import jax
import jax.numpy as jnp


class Line:
    @staticmethod
    def init(key):
        for_weights, for_bias = jax.random.split(key, 2)
        return {
            "weights": jax.random.normal(for_weights, (3,), jnp.float32),
            "bias": jax.random.normal(for_bias, (), jnp.float32),
        }

    @staticmethod
    def loss(params, inputs, targets):
        residuals = targets - (jnp.einsum("ni,i->n", inputs, params["weights"]) + params["bias"])
        return jnp.average(residuals * residuals)

    @classmethod
    def update(cls, params, inputs, targets, rate):
        loss, pull_back = jax.vjp(lambda p: cls.loss(p, inputs, targets), params)
        (grads,) = pull_back(jnp.ones_like(loss))
        return jax.tree.map(lambda p, g: p - rate * g, params, grads), loss


init, loss_fn, update = Line.init, Line.loss, Line.update


# %% right: the multivariate normal distribution, and a column of ones
import jax
import jax.numpy as jnp


def init(key):
    drawn = jax.random.multivariate_normal(key, jnp.zeros(4), jnp.eye(4))
    return {"weights": drawn[1:], "bias": drawn[0]}


def loss_fn(params, x, y):
    design = jnp.column_stack([jnp.ones(len(x)), x])
    all_params = jnp.concatenate([params["bias"][None], params["weights"]])
    error = design @ all_params - y
    return error @ error / len(error)


def update(params, x, y, learning_rate):
    before = loss_fn(params, x, y)
    step = lambda p, g: p - learning_rate * g
    return jax.tree.map(step, params, jax.grad(loss_fn)(params, x, y)), before


# %% right: one key after the other, and a copy of the dict that is changed
import jax
import jax.numpy as jnp


def init(key):
    key, subkey = jax.random.split(key)
    params = {"weights": jax.random.normal(subkey, (3,))}
    key, subkey = jax.random.split(key)
    params["bias"] = jax.random.normal(subkey)
    return params


def loss_fn(params, x, y):
    prediction = jnp.sum(x * params["weights"], axis=1) + params["bias"]
    return jnp.mean(jnp.abs(prediction - y) ** 2)


def update(params, x, y, learning_rate):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    new = dict(params)
    new["weights"] -= learning_rate * grads["weights"]
    new["bias"] -= learning_rate * grads["bias"]
    return new, loss


# %% right: unpacked params, two gradients, and the loss as auxiliary value
import jax
import jax.numpy as jnp

normal = jax.random.normal


def init(key):
    weights_key, bias_key = jax.random.split(key)
    return {"bias": normal(bias_key, (1,))[0], "weights": normal(weights_key, (3, 1))[:, 0]}


def loss_fn(params, x, y):
    errors = jnp.matmul(x, params["weights"]) + params["bias"] - y
    return jnp.linalg.norm(errors) ** 2 / errors.size


def update(params, x, y, learning_rate):
    def loss_of(weights, bias):
        loss = loss_fn({"weights": weights, "bias": bias}, x, y)
        return loss, loss

    gradient = jax.grad(loss_of, argnums=(0, 1), has_aux=True)
    (dw, db), loss = gradient(params["weights"], params["bias"])
    moved = {"weights": params["weights"] - learning_rate * dw}
    moved["bias"] = params["bias"] - learning_rate * db
    return moved, loss


# %% wrong: form
import jax
import jax.numpy as jnp


def init(key):
    # Return params that are drawn from the standard normal distribution.
    ...


def loss_fn(params, x, y):
    # Return the mean of the squared errors; x has the shape (n, 3), and y has
    # the shape (n,).
    ...


def update(params, x, y, learning_rate):
    # Return the params after one step and the loss before it.
    ...


# %% wrong: key reused | random params
import jax
import jax.numpy as jnp


def init(key):
    weights = jax.random.normal(key, (3,))
    bias = jax.random.normal(key, ())
    return {"weights": weights, "bias": bias}


def loss_fn(params, x, y):
    prediction = x @ params["weights"] + params["bias"]
    return jnp.mean((prediction - y) ** 2)


def update(params, x, y, learning_rate):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    return jax.tree.map(lambda p, g: p - learning_rate * g, params, grads), loss


# %% wrong: key reused
import jax
import jax.numpy as jnp


def init(key):
    _, bias_key = jax.random.split(key)
    return {"weights": jax.random.normal(key, (3,)), "bias": jax.random.normal(bias_key)}


def loss_fn(params, x, y):
    prediction = x @ params["weights"] + params["bias"]
    return jnp.mean((prediction - y) ** 2)


def update(params, x, y, learning_rate):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    return jax.tree.map(lambda p, g: p - learning_rate * g, params, grads), loss


# %% wrong: random params
import jax
import jax.numpy as jnp


def init(key):
    weights_key, bias_key = jax.random.split(key)
    return {"weights": jax.random.uniform(weights_key, (3,)), "bias": jax.random.uniform(bias_key)}


def loss_fn(params, x, y):
    prediction = x @ params["weights"] + params["bias"]
    return jnp.mean((prediction - y) ** 2)


def update(params, x, y, learning_rate):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    return jax.tree.map(lambda p, g: p - learning_rate * g, params, grads), loss


# %% wrong: random params
import jax
import jax.numpy as jnp


def init(key):
    weights_key, bias_key = jax.random.split(jax.random.key(0))
    return {"weights": jax.random.normal(weights_key, (3,)), "bias": jax.random.normal(bias_key)}


def loss_fn(params, x, y):
    prediction = x @ params["weights"] + params["bias"]
    return jnp.mean((prediction - y) ** 2)


def update(params, x, y, learning_rate):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    return jax.tree.map(lambda p, g: p - learning_rate * g, params, grads), loss


# %% wrong: hidden input | not repeatable | jit differs | random params
import jax
import jax.numpy as jnp
import numpy as np


def init(key):
    weights = jnp.asarray(np.random.randn(3), jnp.float32)
    return {"weights": weights, "bias": jnp.float32(np.random.randn())}


def loss_fn(params, x, y):
    prediction = x @ params["weights"] + params["bias"]
    return jnp.mean((prediction - y) ** 2)


def update(params, x, y, learning_rate):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    return jax.tree.map(lambda p, g: p - learning_rate * g, params, grads), loss


# %% wrong: form
import jax
import jax.numpy as jnp


def init(key):
    weights_key, bias_key = jax.random.split(key)
    return {"weights": jax.random.normal(weights_key, (3, 1)), "bias": jax.random.normal(bias_key)}


def loss_fn(params, x, y):
    prediction = (x @ params["weights"].reshape(3, 1))[:, 0] + params["bias"]
    return jnp.mean((prediction - y) ** 2)


def update(params, x, y, learning_rate):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    return jax.tree.map(lambda p, g: p - learning_rate * g, params, grads), loss


# %% wrong: order | late loss
import jax
import jax.numpy as jnp


def init(key):
    weights_key, bias_key = jax.random.split(key)
    return {"weights": jax.random.normal(weights_key, (3,)), "bias": jax.random.normal(bias_key)}


def loss_fn(params, x, y):
    prediction = x @ params["weights"] + params["bias"]
    return jnp.mean((prediction - y) ** 2)


def update(params, x, y, learning_rate):
    grads = jax.grad(loss_fn)(params, x, y)
    params = jax.tree.map(lambda p, g: p - learning_rate * g, params, grads)
    return loss_fn(params, x, y), params


# %% wrong: late loss
import jax
import jax.numpy as jnp


def init(key):
    weights_key, bias_key = jax.random.split(key)
    return {"weights": jax.random.normal(weights_key, (3,)), "bias": jax.random.normal(bias_key)}


def loss_fn(params, x, y):
    prediction = x @ params["weights"] + params["bias"]
    return jnp.mean((prediction - y) ** 2)


def update(params, x, y, learning_rate):
    grads = jax.grad(loss_fn)(params, x, y)
    params = jax.tree.map(lambda p, g: p - learning_rate * g, params, grads)
    return params, loss_fn(params, x, y)


# %% wrong: changed argument
import jax
import jax.numpy as jnp


def init(key):
    weights_key, bias_key = jax.random.split(key)
    return {"weights": jax.random.normal(weights_key, (3,)), "bias": jax.random.normal(bias_key)}


def loss_fn(params, x, y):
    prediction = x @ params["weights"] + params["bias"]
    return jnp.mean((prediction - y) ** 2)


def update(params, x, y, learning_rate):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    for name, gradient in grads.items():
        params[name] -= learning_rate * gradient
    return params, loss


# %% wrong: mean
import jax
import jax.numpy as jnp


def init(key):
    weights_key, bias_key = jax.random.split(key)
    return {"weights": jax.random.normal(weights_key, (3,)), "bias": jax.random.normal(bias_key)}


def loss_fn(params, x, y):
    prediction = x @ params["weights"] + params["bias"]
    return jnp.sum((prediction - y) ** 2)


def update(params, x, y, learning_rate):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    return jax.tree.map(lambda p, g: p - learning_rate * g, params, grads), loss


# %% wrong: gradient step
# the factor 2 of the squared error is missing, and the loss is right
import jax
import jax.numpy as jnp


def init(key):
    weights_key, bias_key = jax.random.split(key)
    return {"weights": jax.random.normal(weights_key, (3,)), "bias": jax.random.normal(bias_key)}


def loss_fn(params, x, y):
    prediction = x @ params["weights"] + params["bias"]
    return jnp.mean((prediction - y) ** 2)


def update(params, x, y, learning_rate):
    error = x @ params["weights"] + params["bias"] - y
    grads = {"weights": (error[:, None] * x).mean(axis=0), "bias": error.mean()}
    new = {name: params[name] - learning_rate * grads[name] for name in params}
    return new, loss_fn(params, x, y)


# %% wrong: static value
import functools

import jax
import jax.numpy as jnp


def init(key):
    weights_key, bias_key = jax.random.split(key)
    return {"weights": jax.random.normal(weights_key, (3,)), "bias": jax.random.normal(bias_key)}


def loss_fn(params, x, y):
    prediction = x @ params["weights"] + params["bias"]
    return jnp.mean((prediction - y) ** 2)


@functools.partial(jax.jit, static_argnames="learning_rate")
def update(params, x, y, learning_rate):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    return jax.tree.map(lambda p, g: p - learning_rate * g, params, grads), loss


# %% wrong: gradient step
import jax
import jax.numpy as jnp


def init(key):
    weights_key, bias_key = jax.random.split(key)
    return {"weights": jax.random.normal(weights_key, (3,)), "bias": jax.random.normal(bias_key)}


def loss_fn(params, x, y):
    prediction = x @ params["weights"] + params["bias"]
    return jnp.mean((prediction - y) ** 2)


def update(params, x, y, learning_rate):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    params = jax.tree.map(lambda p, g: p + learning_rate * g, params, grads)
    return params, loss


# %% wrong: -
# the bias is subtracted from the sum
import jax
import jax.numpy as jnp


def init(key):
    weights_key, bias_key = jax.random.split(key)
    return {"weights": jax.random.normal(weights_key, (3,)), "bias": jax.random.normal(bias_key)}


def loss_fn(params, x, y):
    prediction = x @ params["weights"] - params["bias"]
    return jnp.mean((prediction - y) ** 2)


def update(params, x, y, learning_rate):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    return jax.tree.map(lambda p, g: p - learning_rate * g, params, grads), loss


# %% wrong: loss
# the targets become a column, so each prediction is compared with each target
import jax
import jax.numpy as jnp


def init(key):
    weights_key, bias_key = jax.random.split(key)
    return {"weights": jax.random.normal(weights_key, (3,)), "bias": jax.random.normal(bias_key)}


def loss_fn(params, x, y):
    prediction = x @ params["weights"] + params["bias"]
    return jnp.mean((prediction - y.reshape(-1, 1)) ** 2)


def update(params, x, y, learning_rate):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    return jax.tree.map(lambda p, g: p - learning_rate * g, params, grads), loss


# %% wrong: -
# update uses x for the targets
import jax
import jax.numpy as jnp


def init(key):
    weights_key, bias_key = jax.random.split(key)
    return {"weights": jax.random.normal(weights_key, (3,)), "bias": jax.random.normal(bias_key)}


def loss_fn(params, x, y):
    prediction = x @ params["weights"] + params["bias"]
    return jnp.mean((prediction - y) ** 2)


def update(params, x, y, learning_rate):
    loss, grads = jax.value_and_grad(loss_fn)(params, y, x)
    return jax.tree.map(lambda p, g: p - learning_rate * g, params, grads), loss


# %% wrong: random params
# the normal distribution without its tails
import jax
import jax.numpy as jnp


def init(key):
    weights_key, bias_key = jax.random.split(key)
    weights = jax.random.truncated_normal(weights_key, -2.0, 2.0, (3,))
    return {"weights": weights, "bias": jax.random.truncated_normal(bias_key, -2.0, 2.0)}


def loss_fn(params, x, y):
    prediction = x @ params["weights"] + params["bias"]
    return jnp.mean((prediction - y) ** 2)


def update(params, x, y, learning_rate):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    return jax.tree.map(lambda p, g: p - learning_rate * g, params, grads), loss
