"""A regression with three inputs

write, medium, 10 min, state/regression_by_hand#loss-and-update

Write `init(key)`, `loss_fn(params, x, y)` and `update(params, x, y, learning_rate)`. The prediction
is the sum of the three inputs, each times its weight, plus the bias.

`update` takes one step of gradient descent. It returns a pair: the new params and the loss before
the step. The check compares the results with NumPy.

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
import numpy as np


def near(numbers, right, distance):
    return np.where(abs(numbers - right) < distance, right, np.round(numbers, 1))


def family(key):
    """Return a key, and keys that it may be split and folded into."""
    folded = jax.vmap(lambda number: jax.random.fold_in(key, number))(np.arange(3))
    return jnp.concatenate([key[None], jax.random.split(key), jax.random.split(key, 4), folded])


def gives(keys, number):
    """Whether each key gives a number, as the only one or the first of three."""
    # before JAX 0.5, these two differ
    alone = jax.vmap(jax.random.normal)(keys)
    of_three = jax.vmap(lambda key: jax.random.normal(key, (3,))[0])(keys)
    return (abs(alone - number) < 1e-6) | (abs(of_three - number) < 1e-6)


@jax.jit
def is_reused(key, one, other):
    """Whether a key gives one number, and the same key or a part of it gives the other one too."""
    keys = family(key)
    with_other = jax.vmap(lambda key: gives(family(key), other).any())(keys)
    return (gives(keys, one) & with_other).any()


# %% inputs
def inputs(rng):
    params = {"weights": rng.normal(size=3), "bias": np.float32(rng.normal())}
    x, y = rng.normal(size=(64, 3)), rng.normal(size=64) + 2
    return np.int32(rng.integers(1, 1 << 30)), params, x, y, np.float32(rng.uniform(0.02, 0.1))


# %% check `init` returns three weights and a bias, and uses no key twice; pure once
def check(answer, seed, params, x, y, learning_rate):
    key = jax.random.key(seed)
    params = answer.init(key)
    weight, bias = jnp.ravel(params["weights"])[0], params["bias"]
    return {
        "shapes": jax.tree.map(lambda leaf: list(jnp.shape(leaf)), params),
        "a key is used twice": is_reused(key, weight, bias) | is_reused(key, bias, weight),
    }


# %% check The numbers drawn from many keys are independent and normally distributed; once
def check(answer, seed, params, x, y, learning_rate):
    keys = jax.random.split(jax.random.key(seed), 10000)
    params = jax.device_get(jax.jit(jax.vmap(answer.init))(keys))
    numbers = np.column_stack([params["weights"], params["bias"]])
    means = numbers.mean(axis=0)
    covariance = np.cov(numbers.T)
    return {
        "means about 0": abs(means).max() < 0.1,
        "standard deviations": near(np.sqrt(covariance.diagonal()), 1, 0.3),
        "greatest covariance": near(abs(np.tril(covariance, -1)).max(), 0, 0.1),
        "share more than 2 from the mean": near((abs(numbers - means) > 2).mean(), 0.05, 0.02),
    }


# %% check `loss_fn` returns the mean of the squared errors; pure jit tolerance=1e-4
def check(answer, seed, params, x, y, learning_rate):
    return answer.loss_fn(params, x, y)


# %% check `update` returns the new params and the loss; pure jit types tolerance=1e-4; params, loss
def check(answer, seed, params, x, y, learning_rate):
    return answer.update(params, x, y, learning_rate)


def closed_form(seed, params, x, y, learning_rate):
    errors = x.astype(float) @ params["weights"] + params["bias"] - y
    weights = params["weights"] - learning_rate * 2 * errors @ x / len(x)
    bias = params["bias"] - learning_rate * 2 * errors.mean()
    return {"weights": weights, "bias": bias}, (errors**2).mean()


# %% idea order
# The new params must be returned first, and the loss second, as in `update` in the lesson.
def update(params, x, y, learning_rate):
    return right.update(params, x, y, learning_rate)[::-1]


# %%
def update(params, x, y, learning_rate):
    params, _ = right.update(params, x, y, learning_rate)
    return loss_fn(params, x, y), params


# %% idea dropped params
# The returned params are the same as the params that came in. The step must return new params, or
# nothing is learned.
def update(params, x, y, learning_rate):
    return params, loss_fn(params, x, y)


# %% idea gradient step
# A step must go against the gradient of the loss, and its length must be the learning rate times
# the gradient.
def update(params, x, y, learning_rate):
    return right.update(params, x, y, learning_rate / 2)


# %%
def update(params, x, y, learning_rate):
    return right.update(params, x, y, -learning_rate)


# %% idea late loss
# The loss must be computed with the params from which the step began. `jax.value_and_grad` returns
# this loss together with the gradients.
def update(params, x, y, learning_rate):
    params, _ = right.update(params, x, y, learning_rate)
    return params, loss_fn(params, x, y)


# %% idea mean
# The loss must be a mean over the batch, because a sum grows with the number of examples.
def loss_fn(params, x, y):
    return len(x) * right.loss_fn(params, x, y)


# %% idea loss
# The loss must be a single number: the mean of the squared differences between each prediction and
# its own target.
def loss_fn(params, x, y):
    return right.loss_fn(params, x, y[:, None])


# %%
def loss_fn(params, x, y):
    return (x @ params["weights"] + params["bias"] - y) ** 2


# %% idea random params; state/regression_by_hand#params-drawn-at-random
# Every number in the params must be drawn independently from the standard normal distribution, so
# different keys must give different params, and no two numbers may be the same.
def init(key):
    return {"weights": jnp.zeros(3), "bias": jnp.zeros(())}


# %%
def init(key):
    return right.init(jax.random.key(0))


# %%
def init(key):
    numbers = jax.random.uniform(key, (4,))
    return {"weights": numbers[:3], "bias": numbers[3]}


# %%
def init(key):
    numbers = jax.random.truncated_normal(key, -2, 2, (4,))
    return {"weights": numbers[:3], "bias": numbers[3]}


# %% idea form
# The params must be a dict of `weights`, an array of three numbers, and `bias`, a single number.
def init(key):
    return right.init(key) | {"weights": jnp.zeros((3, 1))}


# %%
def init(key): ...


# %% idea key reused
def init(key):
    return {"weights": jax.random.normal(key, (3,)), "bias": jax.random.normal(key)}


# %%
def init(key):
    _, bias_key = jax.random.split(key)
    return {"weights": jax.random.normal(key, (3,)), "bias": jax.random.normal(bias_key)}


# %% idea changed argument
def update(params, x, y, learning_rate):
    new, loss = right.update(params, x, y, learning_rate)
    params.update(new)
    return params, loss
