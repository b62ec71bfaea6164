"""Answers to `to_mesh`."""


# %% right: leaf by leaf with tree.map, an alias of jit
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def loss_fn(params, state, rng, batch):
    x = batch["x"] + 0.1 * jax.random.normal(rng, batch["x"].shape)
    mean = jnp.mean(x, axis=0)
    loss = jnp.mean(jnp.square((x - mean) @ params["w"] - batch["y"]))
    return loss, 0.9 * state + 0.1 * mean


def one_step(params, state, rng, batch):
    grads, state = jax.grad(loss_fn, has_aux=True)(params, state, rng, batch)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, state


step = jax.jit(one_step)


def place(mesh, params, state, batch):
    rows = NamedSharding(mesh, P("data"))
    copies = NamedSharding(mesh, P())

    def copy(leaf):
        return jax.device_put(leaf, copies)

    def cut(leaf):
        return jax.device_put(leaf, rows)

    return jax.tree.map(copy, params), copy(state), jax.tree.map(cut, batch)


# %% right: the compiled function is a helper whose name says what it no longer is
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def loss_fn(params, state, rng, batch):
    x = batch["x"] + 0.1 * jax.random.normal(rng, batch["x"].shape)
    mean = jnp.mean(x, axis=0)
    loss = jnp.mean(jnp.square((x - mean) @ params["w"] - batch["y"]))
    return loss, 0.9 * state + 0.1 * mean


@jax.jit
def _step_without_pmap(params, state, rng, batch):
    (_, state), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, state, rng, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state


def step(params, state, rng, batch):
    return _step_without_pmap(params, state, rng, batch)


def place(mesh, params, state, batch):
    # Return params, state and batch as the step needs them.
    params, state = jax.device_put((params, state), NamedSharding(mesh, P()))
    return params, state, jax.device_put(batch, NamedSharding(mesh, P("data")))


# %% right: the gradient by hand, a spec for each leaf
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


@jax.jit
def step(params, state, key, batch):
    x, y = batch["x"], batch["y"]
    x = x + jax.random.normal(key, x.shape, x.dtype) * 0.1
    mean = x.mean(0)
    centered = x - mean
    error = centered @ params["w"] - y
    w = params["w"] - 0.1 * (2 / len(x)) * (centered.T @ error)
    return {"w": w}, 0.9 * state + 0.1 * mean


def place(mesh, params, state, batch):
    def on(leaf, *spec):
        return jax.device_put(leaf, NamedSharding(mesh, P(*spec)))

    batch = {"x": on(batch["x"], "data", None), "y": on(batch["y"], "data")}
    return {"w": on(params["w"], None)}, on(state, None), batch


# %% right: placed by a compiled identity
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def loss_fn(params, state, rng, batch):
    x = batch["x"] + 0.1 * jax.random.normal(rng, batch["x"].shape)
    mean = jnp.mean(x, axis=0)
    loss = jnp.mean(jnp.square((x - mean) @ params["w"] - batch["y"]))
    return loss, 0.9 * state + 0.1 * mean


@jax.jit
def step(params, state, rng, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, state = grad_fn(params, state, rng, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state


def place(mesh, params, state, batch):
    copies = NamedSharding(mesh, P())
    rows = NamedSharding(mesh, P(mesh.axis_names[0]))
    shardings = (copies, copies, rows)
    return jax.jit(lambda *everything: everything, out_shardings=shardings)(params, state, batch)


# %% right: the helper of this package for the copies, a loss for each row
import haiku_state as hs
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def row_loss(w, x, y):
    return jnp.square(jnp.dot(x, w) - y)


def loss_fn(params, state, rng, batch):
    x = batch["x"] + 0.1 * jax.random.normal(rng, batch["x"].shape)
    mean = jnp.mean(x, axis=0)
    losses = jax.vmap(row_loss, in_axes=(None, 0, 0))(params["w"], x - mean, batch["y"])
    return losses.mean(), state + 0.1 * (mean - state)


@jax.jit
def step(params, state, rng, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, state = grad_fn(params, state, rng, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state


def place(mesh, params, state, batch):
    params, state = hs.shard_train_state((params, state), mesh)
    return params, state, jax.device_put(batch, NamedSharding(mesh, P("data")))


# %% right: optax, and a NamedTuple for what is placed
from typing import Any, NamedTuple

import optax
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def loss_fn(params, state, rng, batch):
    x = batch["x"] + 0.1 * jax.random.normal(rng, batch["x"].shape)
    mean = jnp.mean(x, axis=0)
    loss = jnp.mean(jnp.square((x - mean) @ params["w"] - batch["y"]))
    return loss, 0.9 * state + 0.1 * mean


optimizer = optax.sgd(0.1)


class Placed(NamedTuple):
    params: Any
    state: Any
    batch: Any


@jax.jit
def step(params, state, rng, batch):
    grads, new_state = jax.grad(loss_fn, has_aux=True)(params, state, rng, batch)
    updates, _ = optimizer.update(grads, optimizer.init(params))
    return optax.apply_updates(params, updates), new_state


def place(mesh, params, state, batch):
    specs = Placed(P(), P(), P("data"))
    shardings = Placed(*(NamedSharding(mesh, spec) for spec in specs))
    return jax.device_put(Placed(params, state, batch), shardings)


# %% right: every shard from a callback
import functools

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def loss_fn(params, state, rng, batch):
    x = batch["x"] + 0.1 * jax.random.normal(rng, batch["x"].shape)
    mean = jnp.mean(x, axis=0)
    loss = jnp.mean(jnp.square((x - mean) @ params["w"] - batch["y"]))
    return loss, 0.9 * state + 0.1 * mean


@functools.partial(jax.jit, inline=False)
def step(params, state, rng, batch):
    def loss_of(params):
        return loss_fn(params, state, rng, batch)

    _, pull, new_state = jax.vjp(loss_of, params, has_aux=True)
    (grads,) = pull(jnp.float32(1))
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), new_state


def _made(mesh, spec, leaf):
    sharding = NamedSharding(mesh, spec)
    return jax.make_array_from_callback(leaf.shape, sharding, lambda index: leaf[index])


def place(mesh, params, state, batch):
    copy = functools.partial(_made, mesh, P())
    cut = functools.partial(_made, mesh, P("data"))
    return jax.tree.map(copy, params), copy(state), jax.tree.map(cut, batch)


# %% right: a class, the state is updated beside the loss
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


class Step:
    rate = 0.1

    @staticmethod
    def loss(params, x, mean, y):
        return jnp.square((x - mean) @ params["w"] - y).mean()

    @staticmethod
    @jax.jit
    def run(params, state, rng, batch):
        x = batch["x"] + 0.1 * jax.random.normal(rng, batch["x"].shape)
        mean = x.mean(axis=0)
        grads = jax.grad(Step.loss)(params, x, mean, batch["y"])
        new = {name: params[name] - Step.rate * grads[name] for name in params}
        return new, 0.9 * state + 0.1 * mean


step = Step.run


def place(mesh, params, state, batch):
    # Return params, state and batch as the step needs them.
    params, state = jax.device_put((params, state), NamedSharding(mesh, P()))
    return params, state, jax.device_put(batch, NamedSharding(mesh, P("data")))


# %% wrong: no device axis | no collectives | one key
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def loss_fn(params, state, rng, batch):
    x = batch["x"] + 0.1 * jax.random.normal(rng, batch["x"].shape)
    mean = jax.lax.pmean(jnp.mean(x, axis=0), "data")
    loss = jnp.mean(jnp.square((x - mean) @ params["w"] - batch["y"]))
    return loss, 0.9 * state + 0.1 * mean


def step(params, state, rng, batch):
    over = {"axis_name": "data", "in_axes": (0, 0, None, 0)}
    return jax.pmap(one_step, **over)(params, state, rng, batch)


def one_step(params, state, rng, batch):
    rng = jax.random.fold_in(rng, jax.lax.axis_index("data"))
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, state = grad_fn(params, state, rng, batch)
    grads = jax.lax.pmean(grads, "data")
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state


def place(mesh, params, state, batch):
    # Return params, state and batch as the step needs them.
    def copy(leaf):
        return jnp.stack([leaf] * 4)

    def cut(leaf):
        return jnp.stack(jnp.split(leaf, 4))

    params, state = jax.tree.map(copy, (params, state))
    return params, state, jax.tree.map(cut, batch)


# %% wrong: unbound axis | no collectives
# a pmean was forgotten in the loss
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def loss_fn(params, state, rng, batch):
    x = batch["x"] + 0.1 * jax.random.normal(rng, batch["x"].shape)
    mean = jax.lax.pmean(jnp.mean(x, axis=0), "data")
    loss = jnp.mean(jnp.square((x - mean) @ params["w"] - batch["y"]))
    return loss, 0.9 * state + 0.1 * mean


@jax.jit
def step(params, state, rng, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, state = grad_fn(params, state, rng, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state


def place(mesh, params, state, batch):
    # Return params, state and batch as the step needs them.
    params, state = jax.device_put((params, state), NamedSharding(mesh, P()))
    return params, state, jax.device_put(batch, NamedSharding(mesh, P("data")))


# %% wrong: compiled step
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def loss_fn(params, state, rng, batch):
    x = batch["x"] + 0.1 * jax.random.normal(rng, batch["x"].shape)
    mean = jnp.mean(x, axis=0)
    loss = jnp.mean(jnp.square((x - mean) @ params["w"] - batch["y"]))
    return loss, 0.9 * state + 0.1 * mean


def step(params, state, rng, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, state = grad_fn(params, state, rng, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state


def place(mesh, params, state, batch):
    # Return params, state and batch as the step needs them.
    params, state = jax.device_put((params, state), NamedSharding(mesh, P()))
    return params, state, jax.device_put(batch, NamedSharding(mesh, P("data")))


# %% wrong: compiled step
# only the gradient is compiled, and the update runs beside it
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def loss_fn(params, state, rng, batch):
    x = batch["x"] + 0.1 * jax.random.normal(rng, batch["x"].shape)
    mean = jnp.mean(x, axis=0)
    loss = jnp.mean(jnp.square((x - mean) @ params["w"] - batch["y"]))
    return loss, 0.9 * state + 0.1 * mean


grad_fn = jax.jit(jax.grad(loss_fn, has_aux=True))


def step(params, state, rng, batch):
    grads, state = grad_fn(params, state, rng, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state


def place(mesh, params, state, batch):
    # Return params, state and batch as the step needs them.
    params, state = jax.device_put((params, state), NamedSharding(mesh, P()))
    return params, state, jax.device_put(batch, NamedSharding(mesh, P("data")))


# %% wrong: batch not cut
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def loss_fn(params, state, rng, batch):
    x = batch["x"] + 0.1 * jax.random.normal(rng, batch["x"].shape)
    mean = jnp.mean(x, axis=0)
    loss = jnp.mean(jnp.square((x - mean) @ params["w"] - batch["y"]))
    return loss, 0.9 * state + 0.1 * mean


@jax.jit
def step(params, state, rng, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, state = grad_fn(params, state, rng, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state


def place(mesh, params, state, batch):
    return jax.device_put((params, state, batch), NamedSharding(mesh, P()))


# %% wrong: copies
# jit copies them in each step, but `place` does not place them
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def loss_fn(params, state, rng, batch):
    x = batch["x"] + 0.1 * jax.random.normal(rng, batch["x"].shape)
    mean = jnp.mean(x, axis=0)
    loss = jnp.mean(jnp.square((x - mean) @ params["w"] - batch["y"]))
    return loss, 0.9 * state + 0.1 * mean


@jax.jit
def step(params, state, rng, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, state = grad_fn(params, state, rng, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state


def place(mesh, params, state, batch):
    batch = jax.device_put(batch, NamedSharding(mesh, P("data")))
    return params, state, batch


# %% wrong: no device axis
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def loss_fn(params, state, rng, batch):
    x = batch["x"].reshape(-1, batch["x"].shape[-1])
    y = batch["y"].reshape(-1)
    x = x + 0.1 * jax.random.normal(rng, x.shape)
    mean = jnp.mean(x, axis=0)
    loss = jnp.mean(jnp.square((x - mean) @ params["w"] - y))
    return loss, 0.9 * state + 0.1 * mean


@jax.jit
def step(params, state, rng, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, state = grad_fn(params, state, rng, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state


def place(mesh, params, state, batch):
    def cut(leaf):
        return jnp.stack(jnp.split(leaf, 4))

    params, state = jax.device_put((params, state), NamedSharding(mesh, P()))
    batch = jax.device_put(jax.tree.map(cut, batch), NamedSharding(mesh, P("data")))
    return params, state, batch


# %% wrong: one key
# the key is split, although the step on a single device does not split it
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def loss_fn(params, state, rng, batch):
    x = batch["x"] + 0.1 * jax.random.normal(rng, batch["x"].shape)
    mean = jnp.mean(x, axis=0)
    loss = jnp.mean(jnp.square((x - mean) @ params["w"] - batch["y"]))
    return loss, 0.9 * state + 0.1 * mean


@jax.jit
def step(params, state, rng, batch):
    rng, noise_rng = jax.random.split(rng)
    grads, state = jax.grad(loss_fn, has_aux=True)(params, state, noise_rng, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state


def place(mesh, params, state, batch):
    # Return params, state and batch as the step needs them.
    params, state = jax.device_put((params, state), NamedSharding(mesh, P()))
    return params, state, jax.device_put(batch, NamedSharding(mesh, P("data")))


# %% wrong: one key
# a key for each device, as before
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def loss_fn(params, state, rng, batch):
    keys = jax.vmap(lambda i: jax.random.fold_in(rng, i))(jnp.arange(4))
    rows, width = batch["x"].shape
    noise = jax.vmap(lambda key: jax.random.normal(key, (rows // 4, width)))(keys)
    x = batch["x"] + 0.1 * noise.reshape(rows, width)
    mean = jnp.mean(x, axis=0)
    loss = jnp.mean(jnp.square((x - mean) @ params["w"] - batch["y"]))
    return loss, 0.9 * state + 0.1 * mean


@jax.jit
def step(params, state, rng, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, state = grad_fn(params, state, rng, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state


def place(mesh, params, state, batch):
    # Return params, state and batch as the step needs them.
    params, state = jax.device_put((params, state), NamedSharding(mesh, P()))
    return params, state, jax.device_put(batch, NamedSharding(mesh, P("data")))


# %% wrong: no collectives
# as if the gradient were a sum over the devices
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def loss_fn(params, state, rng, batch):
    x = batch["x"] + 0.1 * jax.random.normal(rng, batch["x"].shape)
    mean = jnp.mean(x, axis=0)
    loss = jnp.mean(jnp.square((x - mean) @ params["w"] - batch["y"]))
    return loss, 0.9 * state + 0.1 * mean


@jax.jit
def step(params, state, rng, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, state = grad_fn(params, state, rng, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g / 4, params, grads), state


def place(mesh, params, state, batch):
    # Return params, state and batch as the step needs them.
    params, state = jax.device_put((params, state), NamedSharding(mesh, P()))
    return params, state, jax.device_put(batch, NamedSharding(mesh, P("data")))


# %% wrong: -
# the state falls behind by a step
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def loss_fn(params, state, rng, batch):
    x = batch["x"] + 0.1 * jax.random.normal(rng, batch["x"].shape)
    mean = jnp.mean(x, axis=0)
    loss = jnp.mean(jnp.square((x - mean) @ params["w"] - batch["y"]))
    return loss, 0.9 * state + 0.1 * mean


@jax.jit
def step(params, state, rng, batch):
    grads, _ = jax.grad(loss_fn, has_aux=True)(params, state, rng, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state


def place(mesh, params, state, batch):
    # Return params, state and batch as the step needs them.
    params, state = jax.device_put((params, state), NamedSharding(mesh, P()))
    return params, state, jax.device_put(batch, NamedSharding(mesh, P("data")))


# %% wrong: -
# the given mesh is not used: another one may have other devices
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def loss_fn(params, state, rng, batch):
    x = batch["x"] + 0.1 * jax.random.normal(rng, batch["x"].shape)
    mean = jnp.mean(x, axis=0)
    loss = jnp.mean(jnp.square((x - mean) @ params["w"] - batch["y"]))
    return loss, 0.9 * state + 0.1 * mean


@jax.jit
def step(params, state, rng, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, state = grad_fn(params, state, rng, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state


MESH = jax.sharding.Mesh(jax.devices(), ("data",))


def place(mesh, params, state, batch):
    params, state = jax.device_put((params, state), NamedSharding(MESH, P()))
    return params, state, jax.device_put(batch, NamedSharding(MESH, P("data")))


# %% wrong: -
# the batch comes first
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def loss_fn(params, state, rng, batch):
    x = batch["x"] + 0.1 * jax.random.normal(rng, batch["x"].shape)
    mean = jnp.mean(x, axis=0)
    loss = jnp.mean(jnp.square((x - mean) @ params["w"] - batch["y"]))
    return loss, 0.9 * state + 0.1 * mean


@jax.jit
def step(params, state, rng, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, state = grad_fn(params, state, rng, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state


def place(mesh, params, state, batch):
    params, state = jax.device_put((params, state), NamedSharding(mesh, P()))
    batch = jax.device_put(batch, NamedSharding(mesh, P("data")))
    return batch, params, state


# %% wrong: -
# the columns are split, and there are three
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def loss_fn(params, state, rng, batch):
    x = batch["x"] + 0.1 * jax.random.normal(rng, batch["x"].shape)
    mean = jnp.mean(x, axis=0)
    loss = jnp.mean(jnp.square((x - mean) @ params["w"] - batch["y"]))
    return loss, 0.9 * state + 0.1 * mean


@jax.jit
def step(params, state, rng, batch):
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, state = grad_fn(params, state, rng, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state


def place(mesh, params, state, batch):
    params, state = jax.device_put((params, state), NamedSharding(mesh, P()))
    x = jax.device_put(batch["x"], NamedSharding(mesh, P(None, "data")))
    y = jax.device_put(batch["y"], NamedSharding(mesh, P("data")))
    return params, state, {"x": x, "y": y}
