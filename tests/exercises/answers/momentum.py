# right: a scan in place of the loop
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
    def step(carry, points):
        return update(*carry, points), None

    return jax.lax.scan(step, (params, velocity), batches)[0]

# wrong: fresh velocity
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

# wrong: dropped velocity
import jax
import jax.numpy as jnp


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def update(params, velocity, points):
    grads = jax.grad(loss_fn)(params, points)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    params = jax.tree.map(lambda p, v: p - 0.02 * v, params, velocity)
    return params, velocity


def train(params, velocity, batches):
    for points in batches:
        params, _ = update(params, velocity, points)
    return params, velocity

# wrong: velocity lost at the end
import jax
import jax.numpy as jnp


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def update(params, velocity, points):
    grads = jax.grad(loss_fn)(params, points)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    params = jax.tree.map(lambda p, v: p - 0.02 * v, params, velocity)
    return params, velocity


def train(params, velocity, batches):
    for points in batches:
        params, velocity = update(params, velocity, points)
    return params

# wrong: velocity lost at the end
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


def train(params, batches):
    velocity = init(params)
    for points in batches:
        params, velocity = update(params, velocity, points)
    return params, velocity

# wrong: leak
import jax
import jax.numpy as jnp

memory = {"velocity": None}


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def update(params, velocity, points):
    grads = jax.grad(loss_fn)(params, points)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    params = jax.tree.map(lambda p, v: p - 0.02 * v, params, velocity)
    return params, velocity


def train(params, velocity, batches):
    memory["velocity"] = velocity
    for points in batches:
        params, memory["velocity"] = update(
            params, memory["velocity"], points
        )
    return params, memory["velocity"]

# wrong: fresh velocity
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

# wrong: formula
import jax
import jax.numpy as jnp


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def init(params):
    return jax.tree.map(jnp.zeros_like, params)


def update(params, velocity, points):
    grads = jax.grad(loss_fn)(params, points)
    new = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    return jax.tree.map(lambda p, v: p - 0.02 * v, params, velocity), new


def train(params, velocity, batches):
    for points in batches:
        params, velocity = update(params, velocity, points)
    return params, velocity

# wrong: order
import jax
import jax.numpy as jnp


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def init(params):
    return jax.tree.map(jnp.zeros_like, params)


def update(params, velocity, points):
    grads = jax.grad(loss_fn)(params, points)
    new = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    return jax.tree.map(lambda p, v: p - 0.02 * v, params, new), new


def train(params, batches, velocity):
    for points in batches:
        params, velocity = update(params, velocity, points)
    return params, velocity
