# right: a gradient taken with has_aux, and three keys
import jax
import jax.numpy as jnp


def init(key):
    first, second = jax.random.split(key)
    return dict(
        bias=jax.random.normal(second, ()),
        weights=jax.random.normal(first, shape=(3,)),
    )


def predict(params, row):
    return jnp.dot(params["weights"], row) + params["bias"]


def loss_fn(params, x, y):
    predictions = jax.vmap(predict, in_axes=(None, 0))(params, x)
    return jnp.square(y - predictions).mean()


def update(params, x, y, learning_rate):
    grads = jax.grad(loss_fn)(params, x, y)
    loss = loss_fn(params, x, y)
    return {k: params[k] - learning_rate * grads[k] for k in params}, loss

# wrong: key reused
import jax
import jax.numpy as jnp


def init(key):
    return {
        "weights": jax.random.normal(key, (3,)),
        "bias": jax.random.uniform(key),
    }

# wrong: random params
import jax
import jax.numpy as jnp


def init(key):
    return {"weights": jnp.zeros(3), "bias": jnp.zeros(())}

# wrong: hidden input
import jax
import jax.numpy as jnp
import numpy as np


def init(key):
    return {
        "weights": jnp.asarray(np.random.normal(size=3), jnp.float32),
        "bias": jnp.float32(np.random.normal()),
    }

# wrong: mean
import jax
import jax.numpy as jnp


def init(key):
    weights_key, bias_key = jax.random.split(key)
    weights = jax.random.normal(weights_key, (3,))
    return {"weights": weights, "bias": jax.random.normal(bias_key)}


def loss_fn(params, x, y):
    return jnp.sum((x @ params["weights"] + params["bias"] - y) ** 2)

# wrong: order
import jax
import jax.numpy as jnp


def init(key):
    weights_key, bias_key = jax.random.split(key)
    weights = jax.random.normal(weights_key, (3,))
    return {"weights": weights, "bias": jax.random.normal(bias_key)}


def loss_fn(params, x, y):
    return jnp.mean((x @ params["weights"] + params["bias"] - y) ** 2)


def update(params, x, y, learning_rate):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    params = jax.tree.map(lambda p, g: p - learning_rate * g, params, grads)
    return loss, params

# wrong: direction
import jax
import jax.numpy as jnp


def init(key):
    weights_key, bias_key = jax.random.split(key)
    weights = jax.random.normal(weights_key, (3,))
    return {"weights": weights, "bias": jax.random.normal(bias_key)}


def loss_fn(params, x, y):
    return jnp.mean((x @ params["weights"] + params["bias"] - y) ** 2)


def update(params, x, y, learning_rate):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    params = jax.tree.map(lambda p, g: p + learning_rate * g, params, grads)
    return params, loss

# wrong: late loss
import jax
import jax.numpy as jnp


def init(key):
    weights_key, bias_key = jax.random.split(key)
    weights = jax.random.normal(weights_key, (3,))
    return {"weights": weights, "bias": jax.random.normal(bias_key)}


def loss_fn(params, x, y):
    return jnp.mean((x @ params["weights"] + params["bias"] - y) ** 2)


def update(params, x, y, learning_rate):
    grads = jax.grad(loss_fn)(params, x, y)
    params = jax.tree.map(lambda p, g: p - learning_rate * g, params, grads)
    return params, loss_fn(params, x, y)

# wrong: mutation
import jax
import jax.numpy as jnp


def init(key):
    weights_key, bias_key = jax.random.split(key)
    weights = jax.random.normal(weights_key, (3,))
    return {"weights": weights, "bias": jax.random.normal(bias_key)}


def loss_fn(params, x, y):
    return jnp.mean((x @ params["weights"] + params["bias"] - y) ** 2)


def update(params, x, y, learning_rate):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    for name in params:
        params[name] = params[name] - learning_rate * grads[name]
    return params, loss

# wrong: form
import jax
import jax.numpy as jnp


def init(key):
    one, two = jax.random.split(key)
    return {
        "weights": jax.random.normal(one, (3,)),
        "bias": jax.random.normal(two, (1,)),
    }


def loss_fn(params, x, y):
    return jnp.mean((x @ params["weights"] + params["bias"] - y) ** 2)


def update(params, x, y, learning_rate):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    new = jax.tree.map(lambda p, g: p - learning_rate * g, params, grads)
    return new, loss
