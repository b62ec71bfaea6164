"""A regression with three inputs

write, 10 min, state/regression_by_hand#loss-and-update

Write `init(key)`, `loss_fn(params, x, y)` and `update(params, x, y, learning_rate)`. The prediction
is the sum of the three inputs, each times its weight, plus the bias.

`update` takes one step of gradient descent. It returns a pair: the new params and the loss before
the step. The check compares the results with NumPy and runs `update` a thousand times from the
params of `init`.

- What does each of the three functions need, and what does it return?
- In `init`, make one key for the weights and another for the bias. In `update`,
  `jax.value_and_grad(loss_fn)` gives the loss and a tree of gradients.
- `x @ params["weights"]` is the sum for all rows at once. The step is a `jax.tree.map` of `p -
  learning_rate * g` over `params` and the gradients.
"""

# %%
# A weighted sum of three inputs, plus a bias, is fitted to the targets. The
# params are a dict with the keys "weights", of shape (3,), and "bias", of
# shape ().
import jax
import jax.numpy as jnp


def init(key):
    # Return params that are drawn from the standard normal distribution.
    #: ...
    # <solution>
    weights_key, bias_key = jax.random.split(key)
    weights = jax.random.normal(weights_key, (3,))
    return {"weights": weights, "bias": jax.random.normal(bias_key)}
    # </solution>


def loss_fn(params, x, y):
    # Return the mean of the squared errors; x has the shape (n, 3), and y has
    # the shape (n,).
    #: ...
    # <solution>
    prediction = x @ params["weights"] + params["bias"]
    return jnp.mean((prediction - y) ** 2)
    # </solution>


def update(params, x, y, learning_rate):
    # Return the params after one step and the loss before it.
    #: ...
    # <solution>
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    params = jax.tree.map(lambda p, g: p - learning_rate * g, params, grads)
    return params, loss
    # </solution>


# %% setup
import jax
import jax.numpy as jnp
import numpy as np


# %% inputs
def inputs(rng):
    params = {"weights": rng.normal(size=3), "bias": np.float32(rng.normal())}
    x, y = rng.normal(size=(64, 3)), rng.normal(size=64) + 2
    return np.int32(rng.integers(1, 1 << 30)), params, x, y, np.float32(rng.uniform(0.02, 0.1))


# %% check `init` returns three weights and a bias, and uses no key twice; pure keys once; form
def check(answer, seed, params, x, y, learning_rate):
    params = answer.init(jax.random.key(seed))
    return jax.tree.map(lambda leaf: list(jnp.shape(leaf)), params)


# %% check The params drawn from many keys are independent and normally distributed; once; random params
def check(answer, seed, params, x, y, learning_rate):
    keys = jax.random.split(jax.random.key(seed), 2000)
    params = jax.device_get(jax.jit(jax.vmap(answer.init))(keys))
    numbers = np.column_stack([params["weights"], params["bias"]])
    dependence = np.cov(numbers.T) - np.diag(numbers.var(axis=0))
    return {
        "mean about 0": abs(numbers.mean(axis=0)) < 0.2,
        "spread about 1": abs(numbers.std(axis=0) - 1) < 0.2,
        "independent": abs(dependence).max() < 0.3,
    }


# %% check `loss_fn` returns the mean of the squared errors; pure jit tolerance=0.0001; loss
def check(answer, seed, params, x, y, learning_rate):
    return answer.loss_fn(params, x, y)


# %% check `update` returns the new params and the loss; pure jit types tolerance=0.0001; gradient step
def check(answer, seed, params, x, y, learning_rate):
    return answer.update(params, x, y, learning_rate)


def closed_form(seed, params, x, y, learning_rate):
    errors = x.astype(float) @ params["weights"] + params["bias"] - y
    weights = params["weights"] - learning_rate * 2 * errors @ x / len(x)
    bias = params["bias"] - learning_rate * 2 * errors.mean()
    return {"weights": weights, "bias": bias}, (errors**2).mean()


# %% check A thousand updates reach the exact answer; once tolerance=0.001; gradient step
def check(answer, seed, params, x, y, learning_rate):
    step = lambda params, _nothing: answer.update(params, x, y, 0.1)
    params, losses = jax.lax.scan(step, answer.init(jax.random.key(seed)), length=1000)
    return params, losses[-1]


# %% idea order
# Here the new params come first, and the loss second, as in `update` in the lesson.
def update(params, x, y, learning_rate):
    return right.update(params, x, y, learning_rate)[::-1]


# %% idea dropped params
# The returned params are the same as the params that came in. Nothing is learned unless the step
# returns new params.
def update(params, x, y, learning_rate):
    return params, loss_fn(params, x, y)


# %% idea gradient step
# A step goes against the gradient of the loss; its length is the learning rate times the gradient.
def update(params, x, y, learning_rate):
    return right.update(params, x, y, 1.0)


# %% idea direction
# The gradient points to where the loss grows, so a step of gradient descent must go against it.
def update(params, x, y, learning_rate):
    return right.update(params, x, y, -learning_rate)


# %% idea late loss
# The loss belongs to the params with which the step began. `jax.value_and_grad` returns it together
# with the gradients, without computing it again.
def update(params, x, y, learning_rate):
    params, _ = right.update(params, x, y, learning_rate)
    return params, loss_fn(params, x, y)


# %% idea mean
# The loss is a mean over the batch. A sum grows with the number of examples.
def loss_fn(params, x, y):
    return len(x) * right.loss_fn(params, x, y)


# %% idea loss
# The loss is one number: the mean of the squared differences between prediction and target.
def loss_fn(params, x, y):
    return (x @ params["weights"] + params["bias"] - y) ** 2


# %% idea random params; state/regression_by_hand#params-drawn-at-random
# Every number of the params is drawn independently, from the standard normal distribution:
# different keys give different params, and no two numbers are the same.
def init(key):
    return {"weights": jnp.zeros(3), "bias": jnp.zeros(())}


# %% idea form
# The params are a dict of `weights`, an array of three numbers, and `bias`, a single number.
def init(key):
    return right.init(key) | {"bias": jnp.zeros(1)}


# %% idea key reused
def init(key):
    return {"weights": jax.random.normal(key, (3,)), "bias": jax.random.normal(key)}


# %% idea hidden input
import numpy as np


def init(key):
    weights, bias = jnp.float32(np.random.normal(size=3)), jnp.float32(np.random.normal())
    return {"weights": weights, "bias": bias}


# %% idea changed argument
def update(params, x, y, learning_rate):
    new, loss = right.update(params, x, y, learning_rate)
    params.update(new)
    return params, loss


# %% right predictions row by row, and a dict of the new params
def loss_fn(params, x, y):
    predict = lambda row: jnp.dot(params["weights"], row) + params["bias"]
    return jnp.square(y - jax.vmap(predict)(x)).mean()


def update(params, x, y, learning_rate):
    grads = jax.grad(loss_fn)(params, x, y)
    return {k: p - learning_rate * grads[k] for k, p in params.items()}, loss_fn(params, x, y)
