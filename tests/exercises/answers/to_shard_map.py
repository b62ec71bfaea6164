"""Answers to `to_shard_map`."""

# %% right since 0.6: tracking stays on, and the loss is averaged instead of its gradient
import jax
import jax.numpy as jnp
from jax import shard_map
from jax.sharding import PartitionSpec as P


def loss_fn(params, batch):
    prediction = batch["x"] @ params["w"] + params["b"]
    return jax.lax.pmean(jnp.mean(jnp.square(prediction - batch["y"])), "data")


def step(params, state, batch):
    grads = jax.grad(loss_fn)(params, batch)
    mean = jax.lax.pmean(jnp.mean(batch["x"], axis=0), "data")
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, 0.9 * state + 0.1 * mean


def make_step(mesh):
    specs = {"in_specs": (P(), P(), P("data")), "out_specs": P()}
    return shard_map(step, mesh=mesh, **specs)


# %% right since 0.6: tracking stays on, and the sum of the gradients is divided by the number of devices
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

pmean = jax.lax.pmean


def loss_fn(params, batch):
    prediction = batch["x"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(prediction - batch["y"]))


def step(params, state, batch):
    devices = jax.lax.axis_size("data")
    grads = jax.grad(loss_fn)(params, batch)
    mean = pmean(jnp.mean(batch["x"], axis=0), "data")
    params = jax.tree.map(lambda p, g: p - 0.1 * g / devices, params, grads)
    return params, 0.9 * state + 0.1 * mean


def make_step(mesh):
    rows, copies = P("data"), P()
    return jax.shard_map(
        step, mesh=mesh, in_specs=(copies, copies, rows), out_specs=(copies, copies)
    )


# %% right since 0.6: check_vma is off, jit within make_step, a decorator
import functools

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P


def loss_fn(params, batch):
    prediction = batch["x"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(prediction - batch["y"]))


def make_step(mesh):
    @jax.jit
    @functools.partial(
        jax.shard_map,
        mesh=mesh,
        in_specs=(P(), P(), P("data")),
        out_specs=(P(), P()),
        check_vma=False,
    )
    def step(params, state, batch):
        grads = jax.grad(loss_fn)(params, batch)
        grads, mean = jax.lax.pmean((grads, batch["x"].mean(axis=0)), "data")
        return (
            {name: params[name] - 0.1 * grads[name] for name in params},
            0.9 * state + 0.1 * mean,
        )

    return step


# %% right since 0.8: the params vary over the devices before they are differentiated
import jax
import jax.numpy as jnp
from jax import shard_map
from jax.sharding import PartitionSpec as P


def loss_fn(params, batch):
    prediction = batch["x"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(prediction - batch["y"]))


def step(params, state, batch):
    own = jax.tree.map(lambda p: jax.lax.pcast(p, "data", to="varying"), params)
    grads = jax.lax.pmean(jax.grad(loss_fn)(own, batch), "data")
    mean = jax.lax.pmean(jnp.mean(batch["x"], axis=0), "data")
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, 0.9 * state + 0.1 * mean


def make_step(mesh):
    (axis,) = mesh.axis_names
    return shard_map(step, mesh=mesh, in_specs=(P(), P(), P(axis)), out_specs=P())


# %% right: only the gradient is mapped, and the update is outside
import jax
import jax.numpy as jnp
from haiku_state.compat import shard_map
from jax.sharding import PartitionSpec as P


def loss_fn(params, batch):
    prediction = batch["x"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(prediction - batch["y"]))


def averages(params, batch):
    own = jax.grad(loss_fn)(params, batch), jnp.mean(batch["x"], axis=0)
    return jax.lax.pmean(own, axis_name="data")


def make_step(mesh):
    across = shard_map(averages, mesh, in_specs=(P(), P("data")), out_specs=P())

    def step(params, state, batch):
        grads, mean = across(params, batch)
        new = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
        return new, 0.9 * state + 0.1 * mean

    return step


# %% right since 0.6: the gradient by hand, sums and a number of rows
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P


class Step(NamedTuple):
    params: dict
    state: jax.Array


def step(params, state, batch):
    x, y = batch["x"], batch["y"]
    error = x @ params["w"] + params["b"] - y
    sums = {"w": x.T @ error, "b": error.sum(), "x": x.sum(axis=0), "rows": jnp.float32(len(x))}
    total = jax.lax.psum(sums, "data")
    rows = total["rows"]
    w = params["w"] - 0.2 * total["w"] / rows
    b = params["b"] - 0.2 * total["b"] / rows
    return Step({"w": w, "b": b}, 0.9 * state + 0.1 * total["x"] / rows)


def make_step(mesh):
    specs = Step({"w": P(), "b": P()}, P())
    in_specs = ({"w": P(), "b": P()}, P(), {"x": P("data", None), "y": P("data")})
    return jax.shard_map(step, mesh=mesh, in_specs=in_specs, out_specs=specs)


# %% right: a gradient for each row with vmap, the name of the axis is passed on
import functools

import jax
import jax.numpy as jnp
from haiku_state.compat import shard_map
from jax.sharding import PartitionSpec as P


def row_loss(params, x, y):
    return jnp.square(jnp.dot(x, params["w"]) + params["b"] - y)


def step(params, state, batch, *, axis):
    of_rows = jax.vmap(jax.grad(row_loss), in_axes=(None, 0, 0))
    grads = of_rows(params, batch["x"], batch["y"])
    grads = jax.tree.map(lambda g: jax.lax.pmean(g.mean(axis=0), axis), grads)
    mean = jax.lax.pmean(batch["x"].mean(axis=0), axis)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, state + 0.1 * (mean - state)


def make_step(mesh):
    run = functools.partial(step, axis="data")
    return shard_map(run, mesh=mesh, in_specs=(P(), P(), P("data")), out_specs=P())


# %% right: optax, a mean over all rows as a sum of all devices divided
import jax
import jax.numpy as jnp
import optax
from haiku_state.compat import shard_map
from jax.sharding import PartitionSpec as P

sgd = optax.sgd(0.1)


def loss_fn(params, batch):
    prediction = batch["x"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(prediction - batch["y"]))


def average(tree):
    return jax.tree.map(lambda leaf: jax.lax.psum(leaf, "data") / jax.lax.psum(1, "data"), tree)


def step(params, state, batch):
    _, grads = jax.value_and_grad(loss_fn)(params, batch)
    updates, _ = sgd.update(average(grads), sgd.init(params))
    mean = average(jnp.mean(batch["x"], axis=0))
    return optax.apply_updates(params, updates), 0.9 * state + 0.1 * mean


def make_step(mesh):
    return shard_map(step, mesh, in_specs=(P(), P(), P("data")), out_specs=P())


# %% wrong: no device axis
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

try:
    from jax import shard_map
except ImportError:
    from jax.experimental.shard_map import shard_map


def loss_fn(params, batch):
    prediction = batch["x"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(prediction - batch["y"]))


def step(params, state, batch):
    grads = jax.lax.pmean(jax.grad(loss_fn)(params, batch), "data")
    mean = jax.lax.pmean(jnp.mean(batch["x"], axis=0), "data")
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, 0.9 * state + 0.1 * mean


def make_step(mesh):
    # Return the step for all devices of the mesh.
    specs = {"in_axes": (0, 0, 0), "out_axes": 0}
    return jax.pmap(step, "data", devices=list(mesh.devices.flat), **specs)


# %% wrong since 0.6: summed gradient
import jax
import jax.numpy as jnp
from jax import shard_map
from jax.sharding import PartitionSpec as P


def loss_fn(params, batch):
    prediction = batch["x"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(prediction - batch["y"]))


def step(params, state, batch):
    grads = jax.lax.pmean(jax.grad(loss_fn)(params, batch), "data")
    mean = jax.lax.pmean(jnp.mean(batch["x"], axis=0), "data")
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, 0.9 * state + 0.1 * mean


def make_step(mesh):
    specs = {"in_specs": (P(), P(), P("data")), "out_specs": P()}
    return shard_map(step, mesh=mesh, **specs)


# %% wrong: own rows only
# without tracking, the gradient of an averaged loss is that of the own rows
import jax
import jax.numpy as jnp
from haiku_state.compat import shard_map
from jax.sharding import PartitionSpec as P


def loss_fn(params, batch):
    prediction = batch["x"] @ params["w"] + params["b"]
    return jax.lax.pmean(jnp.mean(jnp.square(prediction - batch["y"])), "data")


def step(params, state, batch):
    grads = jax.grad(loss_fn)(params, batch)
    mean = jax.lax.pmean(jnp.mean(batch["x"], axis=0), "data")
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, 0.9 * state + 0.1 * mean


def make_step(mesh):
    specs = {"in_specs": (P(), P(), P("data")), "out_specs": P()}
    return shard_map(step, mesh=mesh, **specs)


# %% wrong: own rows only
# the state is averaged before the rows of this batch enter it
import jax
import jax.numpy as jnp
from haiku_state.compat import shard_map
from jax.sharding import PartitionSpec as P


def loss_fn(params, batch):
    prediction = batch["x"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(prediction - batch["y"]))


def step(params, state, batch):
    grads = jax.lax.pmean(jax.grad(loss_fn)(params, batch), "data")
    state = jax.lax.pmean(state, "data")
    mean = jnp.mean(batch["x"], axis=0)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, 0.9 * state + 0.1 * mean


def make_step(mesh):
    specs = {"in_specs": (P(), P(), P("data")), "out_specs": P()}
    return shard_map(step, mesh=mesh, **specs)


# %% wrong: one device
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P


def loss_fn(params, batch):
    prediction = batch["x"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(prediction - batch["y"]))


def step(params, state, batch):
    grads = jax.grad(loss_fn)(params, batch)
    mean = jnp.mean(batch["x"], axis=0)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, 0.9 * state + 0.1 * mean


def make_step(mesh):
    return jax.jit(step)


# %% wrong: all rows everywhere
import jax
import jax.numpy as jnp
from haiku_state.compat import shard_map
from jax.sharding import PartitionSpec as P


def loss_fn(params, batch):
    prediction = batch["x"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(prediction - batch["y"]))


def step(params, state, batch):
    grads = jax.lax.pmean(jax.grad(loss_fn)(params, batch), "data")
    mean = jax.lax.pmean(jnp.mean(batch["x"], axis=0), "data")
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, 0.9 * state + 0.1 * mean


def make_step(mesh):
    return shard_map(step, mesh=mesh, in_specs=(P(), P(), P()), out_specs=(P(), P()))


# %% wrong: no device axis
import jax
import jax.numpy as jnp
from haiku_state.compat import shard_map
from jax.sharding import PartitionSpec as P


def loss_fn(params, batch):
    prediction = batch["x"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(prediction - batch["y"]))


def step(params, state, batch):
    grads = jax.lax.pmean(jax.grad(loss_fn)(params, batch), "data")
    mean = jax.lax.pmean(jnp.mean(batch["x"], axis=0), "data")
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, 0.9 * state + 0.1 * mean


def make_step(mesh):
    run = shard_map(step, mesh=mesh, in_specs=P("data"), out_specs=P("data"))

    def whole(params, state, batch):
        params, state = jax.tree.map(lambda leaf: jnp.stack([leaf] * 4), (params, state))
        return run(params, state, batch)

    return whole


# %% wrong: own rows only
# out_specs only says that the results are equal; it does not average them
import jax
import jax.numpy as jnp
from haiku_state.compat import shard_map
from jax.sharding import PartitionSpec as P


def loss_fn(params, batch):
    prediction = batch["x"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(prediction - batch["y"]))


def step(params, state, batch):
    grads = jax.grad(loss_fn)(params, batch)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)


def make_step(mesh):
    specs = {"in_specs": (P(), P(), P("data")), "out_specs": P()}
    return jax.jit(shard_map(step, mesh=mesh, **specs))


# %% wrong: -
# psum for the mean of the inputs
import jax
import jax.numpy as jnp
from haiku_state.compat import shard_map
from jax.sharding import PartitionSpec as P


def loss_fn(params, batch):
    prediction = batch["x"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(prediction - batch["y"]))


def step(params, state, batch):
    grads = jax.lax.pmean(jax.grad(loss_fn)(params, batch), "data")
    mean = jax.lax.psum(jnp.mean(batch["x"], axis=0), "data")
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, 0.9 * state + 0.1 * mean


def make_step(mesh):
    specs = {"in_specs": (P(), P(), P("data")), "out_specs": P()}
    return shard_map(step, mesh=mesh, **specs)


# %% wrong: -
# averaged twice: the sum is already averaged, and is divided again
import jax
import jax.numpy as jnp
from haiku_state.compat import shard_map
from jax.sharding import PartitionSpec as P


def loss_fn(params, batch):
    prediction = batch["x"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(prediction - batch["y"]))


def step(params, state, batch):
    grads = jax.lax.pmean(jax.grad(loss_fn)(params, batch), "data")
    mean = jax.lax.pmean(jnp.mean(batch["x"], axis=0), "data")
    params = jax.tree.map(lambda p, g: p - 0.1 * g / 4, params, grads)
    return params, 0.9 * state + 0.1 * mean


def make_step(mesh):
    specs = {"in_specs": (P(), P(), P("data")), "out_specs": P()}
    return shard_map(step, mesh=mesh, **specs)


# %% wrong since 0.6: -
# uphill
import jax
import jax.numpy as jnp
from jax import shard_map
from jax.sharding import PartitionSpec as P


def loss_fn(params, batch):
    prediction = batch["x"] @ params["w"] + params["b"]
    return jax.lax.pmean(jnp.mean(jnp.square(prediction - batch["y"])), "data")


def step(params, state, batch):
    grads = jax.grad(loss_fn)(params, batch)
    mean = jax.lax.pmean(jnp.mean(batch["x"], axis=0), "data")
    params = jax.tree.map(lambda p, g: p + 0.1 * g, params, grads)
    return params, 0.9 * state + 0.1 * mean


def make_step(mesh):
    specs = {"in_specs": (P(), P(), P("data")), "out_specs": P()}
    return shard_map(step, mesh=mesh, **specs)
