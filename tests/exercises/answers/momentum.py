"""Answers to `momentum`."""

# %% right: lax.scan over the batches
import jax
import jax.numpy as jnp


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def init(params):
    return jax.tree.map(jnp.zeros_like, params)


def update(params, velocity, points):
    grads = jax.grad(loss_fn)(params, points)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    params = jax.tree.map(lambda p, v: p - 0.02 * v, params, velocity)
    return params, velocity


def train(params, velocity, batches):
    def body(carry, points):
        return update(*carry, points), None

    final, _ = jax.lax.scan(body, (params, velocity), jnp.asarray(batches))
    return final


# %% right: functools.reduce, and update compiled
import functools

import jax
import jax.numpy as jnp


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def init(params):
    return jax.tree.map(jnp.zeros_like, params)


@jax.jit
def update(params, velocity, points):
    gradient_of = jax.grad(loss_fn)
    grads = gradient_of(params, points)
    new_velocity = jax.tree.map(lambda v, g: v * 0.9 + g, velocity, grads)
    return jax.tree.map(lambda p, v: p - 0.02 * v, params, new_velocity), new_velocity


def train(params, velocity, batches):
    step = lambda both, points: update(*both, points)
    return functools.reduce(step, batches, (params, velocity))


# %% right: a NamedTuple as the pair, and the gradient by hand
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Training(NamedTuple):
    params: dict
    velocity: dict


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def init(params):
    return {"center": jnp.zeros_like(params["center"])}


def update(params, velocity, points):
    gradient = 2 * (params["center"] - points.mean(axis=0))
    v = 0.9 * velocity["center"] + gradient
    return Training(params={"center": params["center"] - 0.02 * v}, velocity={"center": v})


def train(params, velocity, batches):
    training = Training(params, velocity)
    for points in batches:
        training = update(training.params, training.velocity, points)
    return training


# %% right: recursion, one batch and then the others
import jax
import jax.numpy as jnp


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def init(params):
    return jax.tree.map(jnp.zeros_like, params)


def update(p, v, points):
    g = jax.grad(loss_fn)(p, points)
    v = {name: 0.9 * v[name] + g[name] for name in v}
    p = {name: p[name] - 0.02 * v[name] for name in p}
    return p, v


def train(p, v, batches):
    if len(batches) == 0:
        return p, v
    p, v = update(p, v, batches[0])
    return train(p, v, batches[1:])


# %% right: fori_loop, and a step along the gradient and the old velocity
import jax
import jax.numpy as jnp


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def init(params):
    return jax.tree.map(jnp.zeros_like, params)


def update(params, velocity, points):
    _, grads = jax.value_and_grad(loss_fn)(params, points)
    params = jax.tree.map(lambda p, v, g: p - 0.018 * v - 0.02 * g, params, velocity, grads)
    velocity = jax.tree.map(lambda v, g: g + 0.9 * v, velocity, grads)
    return params, velocity


def train(params, velocity, batches):
    batches = jnp.stack([jnp.asarray(points) for points in batches])

    def body(number, carry):
        params, velocity = carry
        return update(params, velocity, batches[number])

    return jax.lax.fori_loop(0, len(batches), body, (params, velocity))


# %% right: a dict of the training's own that changes, and an index
import jax
import jax.numpy as jnp


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def init(params):
    return jax.tree.map(jnp.zeros_like, params)


def update(params, velocity, points):
    grads = jax.grad(loss_fn)(params, points)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    params = jax.tree.map(lambda p, v: p - 0.02 * v, params, velocity)
    return params, velocity


def train(params, velocity, batches):
    now = {"params": params, "velocity": velocity}
    for number in range(len(batches)):
        now["params"], now["velocity"] = update(now["params"], now["velocity"], batches[number])
    return now["params"], now["velocity"]


# %% right: copies of the dicts that change, and a list of what was seen
import jax
import jax.numpy as jnp


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def init(params):
    return jax.tree.map(jnp.zeros_like, params)


def update(params, velocity, points):
    grads = jax.grad(loss_fn)(params, points)
    params, velocity = params.copy(), velocity.copy()
    for name in params:
        velocity[name] *= 0.9
        velocity[name] += grads[name]
        params[name] -= 0.02 * velocity[name]
    return params, velocity


def train(params, velocity, batches):
    history = [(params, velocity)]
    for points in batches:
        history.append(update(*history[-1], points))
    return history[-1]


# %% right: flat vectors, and a class whose methods are bound to names
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def init(params):
    return jax.tree.map(jnp.zeros_like, params)


class Momentum:
    def __init__(self, rate, decay):
        self.rate, self.decay = rate, decay

    def update(self, params, velocity, points):
        p, unravel = ravel_pytree(params)
        v, _ = ravel_pytree(velocity)
        g, _ = ravel_pytree(jax.grad(loss_fn)(params, points))
        v = self.decay * v + g
        return unravel(p - self.rate * v), unravel(v)

    def train(self, params, velocity, batches):
        for points in batches:
            params, velocity = self.update(params, velocity, points)
        return params, velocity


momentum = Momentum(rate=0.02, decay=0.9)
update, train = momentum.update, momentum.train


# %% wrong: fresh velocity | dropped velocity | velocity lost at the end
import jax
import jax.numpy as jnp


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def init(params):
    return jax.tree.map(jnp.zeros_like, params)


def update(params, velocity, points):
    grads = jax.grad(loss_fn)(params, points)
    velocity = init(params)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    params = jax.tree.map(lambda p, v: p - 0.02 * v, params, velocity)
    return params, velocity


def train(params, batches):
    velocity = init(params)
    for points in batches:
        params, _ = update(params, velocity, points)
    return params


# %% wrong: fresh velocity
import jax
import jax.numpy as jnp


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def init(params):
    return jax.tree.map(jnp.zeros_like, params)


def update(params, velocity, points):
    grads = jax.grad(loss_fn)(params, points)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    params = jax.tree.map(lambda p, v: p - 0.02 * v, params, velocity)
    return params, velocity


def train(params, velocity, batches):
    velocity = init(params)
    for points in batches:
        params, velocity = update(params, velocity, points)
    return params, velocity


# %% wrong: fresh velocity
import jax
import jax.numpy as jnp


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def init(params):
    return jax.tree.map(jnp.zeros_like, params)


def update(params, velocity, points):
    grads = jax.grad(loss_fn)(params, points)
    velocity = init(params)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    params = jax.tree.map(lambda p, v: p - 0.02 * v, params, velocity)
    return params, velocity


def train(params, velocity, batches):
    for points in batches:
        params, velocity = update(params, velocity, points)
    return params, velocity


# %% wrong: dropped velocity
import jax
import jax.numpy as jnp


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def init(params):
    return jax.tree.map(jnp.zeros_like, params)


def update(params, velocity, points):
    grads = jax.grad(loss_fn)(params, points)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    params = jax.tree.map(lambda p, v: p - 0.02 * v, params, velocity)
    return params, velocity


def train(params, velocity, batches):
    for points in batches:
        params, new_velocity = update(params, velocity, points)
    return params, new_velocity


# %% wrong: dropped velocity
import jax
import jax.numpy as jnp


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def init(params):
    return jax.tree.map(jnp.zeros_like, params)


def update(params, velocity, points):
    grads = jax.grad(loss_fn)(params, points)
    new_velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    params = jax.tree.map(lambda p, v: p - 0.02 * v, params, new_velocity)
    return params, velocity


def train(params, velocity, batches):
    for points in batches:
        params, velocity = update(params, velocity, points)
    return params, velocity


# %% wrong: velocity lost at the end
import jax
import jax.numpy as jnp


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def init(params):
    return jax.tree.map(jnp.zeros_like, params)


def update(params, velocity, points):
    grads = jax.grad(loss_fn)(params, points)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    params = jax.tree.map(lambda p, v: p - 0.02 * v, params, velocity)
    return params, velocity


def train(params, velocity, batches):
    for points in batches:
        params, velocity = update(params, velocity, points)
    return params, init(params)


# %% wrong: leak | mutation
import jax
import jax.numpy as jnp


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def init(params):
    return jax.tree.map(jnp.zeros_like, params)


def update(params, velocity, points):
    grads = jax.grad(loss_fn)(params, points)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    params = jax.tree.map(lambda p, v: p - 0.02 * v, params, velocity)
    return params, velocity


current = None


def train(params, velocity, batches):
    global current
    current = velocity
    for points in batches:
        params, current = update(params, current, points)
    return params, current


# %% wrong: changed argument
import jax
import jax.numpy as jnp


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def init(params):
    return jax.tree.map(jnp.zeros_like, params)


def update(params, velocity, points):
    grads = jax.grad(loss_fn)(params, points)
    velocity |= jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    params = jax.tree.map(lambda p, v: p - 0.02 * v, params, velocity)
    return params, velocity


def train(params, velocity, batches):
    for points in batches:
        params, velocity = update(params, velocity, points)
    return params, velocity


# %% wrong: order
import jax
import jax.numpy as jnp


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def init(params):
    return jax.tree.map(jnp.zeros_like, params)


def update(params, velocity, points):
    grads = jax.grad(loss_fn)(params, points)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    params = jax.tree.map(lambda p, v: p - 0.02 * v, params, velocity)
    return params, velocity


def train(params, velocity, batches):
    for points in batches:
        params, velocity = update(params, velocity, points)
    return velocity, params


# %% wrong: formula
import jax
import jax.numpy as jnp


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def init(params):
    return jax.tree.map(jnp.zeros_like, params)


def update(params, velocity, points):
    grads = jax.grad(loss_fn)(params, points)
    new_velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    new_params = jax.tree.map(lambda p, v: p - 0.02 * v, params, velocity)
    return new_params, new_velocity


def train(params, velocity, batches):
    for points in batches:
        params, velocity = update(params, velocity, points)
    return params, velocity


# %% wrong: formula
import jax
import jax.numpy as jnp


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def init(params):
    return jax.tree.map(jnp.zeros_like, params)


def update(params, velocity, points):
    grads = jax.grad(loss_fn)(params, points)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + 0.1 * g, velocity, grads)
    params = jax.tree.map(lambda p, v: p - 0.02 * v, params, velocity)
    return params, velocity


def train(params, velocity, batches):
    for points in batches:
        params, velocity = update(params, velocity, points)
    return params, velocity


# %% wrong: -
# the return stands in the loop, so only the first batch counts
import jax
import jax.numpy as jnp


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def init(params):
    return jax.tree.map(jnp.zeros_like, params)


def update(params, velocity, points):
    grads = jax.grad(loss_fn)(params, points)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    params = jax.tree.map(lambda p, v: p - 0.02 * v, params, velocity)
    return params, velocity


def train(params, velocity, batches):
    for points in batches:
        params, velocity = update(params, velocity, points)
        return params, velocity


# %% wrong: -
# the last batch is left out
import jax
import jax.numpy as jnp


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def init(params):
    return jax.tree.map(jnp.zeros_like, params)


def update(params, velocity, points):
    grads = jax.grad(loss_fn)(params, points)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    params = jax.tree.map(lambda p, v: p - 0.02 * v, params, velocity)
    return params, velocity


def train(params, velocity, batches):
    for number in range(len(batches) - 1):
        params, velocity = update(params, velocity, batches[number])
    return params, velocity


# %% wrong: -
# the gradient is taken at the start for all batches
import jax
import jax.numpy as jnp


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def init(params):
    return jax.tree.map(jnp.zeros_like, params)


def update(params, velocity, points):
    grads = jax.grad(loss_fn)(params, points)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    params = jax.tree.map(lambda p, v: p - 0.02 * v, params, velocity)
    return params, velocity


def train(params, velocity, batches):
    new_params = params
    for points in batches:
        new_params, velocity = update(params, velocity, points)
    return new_params, velocity
