"""From `pmap` to `shard_map`

port, medium, 8 min, how_to/off_pmap#the-trap-in-porting

Change `make_step` so that it uses `shard_map`. The check calls `make_step(mesh)` with a mesh of
four devices whose axis is called `data`. It calls the result under `jax.jit` with whole arrays,
without a device axis: `step(params, state, batch)` returns the new params and the new state.

A step must give the same result as on a single device that sees all rows. You may change `step` and
the imports too. `shard_map` takes `mesh`, `in_specs` and `out_specs`.

- Which of the three arguments is split, and which are the same on every device?
- Look at `in_specs`, which has one entry for each argument. If the step is four times too large,
  look at `jax.grad`: what has the default `shard_map` already done with the gradient?
- The specs are `P()` for params and state, and `P('data')` for the batch. Either turn tracking off,
  as the `shard_map` in `haiku_state.compat` does, or average the loss instead of its gradient.
"""

# %%
# Four devices together fit a plane. The step was written for pmap: each device
# sees its own rows and has a copy of the params and the state.
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

#: try:
#:     from jax import shard_map
#: except ImportError:
#:     from jax.experimental.shard_map import shard_map
# <solution>
from haiku_state.compat import shard_map

# </solution>


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
    #: specs = {"in_axes": (0, 0, 0), "out_axes": 0}
    #: return jax.pmap(step, "data", devices=list(mesh.devices.flat), **specs)
    # <solution>
    specs = {"in_specs": (P(), P(), P("data")), "out_specs": P()}
    return shard_map(step, mesh=mesh, **specs)
    # </solution>


# %% setup
import re

import numpy as np

import haiku_state as hs


def made(answer):
    return jax.jit(answer.make_step(hs.data_mesh(jax.devices()[:4], "data")))


# %% inputs
def inputs(rng):
    params = {"w": rng.normal(size=3), "b": np.float32(rng.normal())}
    x = rng.normal(size=(8, 3)) + rng.normal(size=3)
    return params, rng.normal(size=3), {"x": x, "y": rng.normal(3, 2, size=8)}


# %% check A step gives the same result as on a single device; ; params, state
def check(answer, params, state, batch):
    return made(answer)(params, state, batch)


def closed_form(params, state, batch):
    x, w = batch["x"].astype(float), params["w"].astype(float)
    error = x @ w + params["b"] - batch["y"]
    new = {"w": w - 0.1 * 2 * x.T @ error / 8, "b": params["b"] - 0.1 * 2 * error.mean()}
    return new, 0.9 * state + 0.1 * x.mean(axis=0)


# %% check Each device sees its own two rows, and all devices hold the same result; once
def check(answer, params, state, batch):
    step = made(answer)
    program = str(jax.make_jaxpr(step)(params, state, batch))
    new = step(*step(params, state, batch), batch)
    leaves = [[np.array(one.data) for one in x.addressable_shards] for x in jax.tree.leaves(new)]
    return {
        "uses of shard_map": min(1, program.count("shard_map")),
        "rows on a device": min(map(int, re.findall(r"f32\[(\d+),3\]", program))),
        "devices with the result": min(map(len, leaves)),
        "different results": max(len(np.unique(leaf, axis=0)) for leaf in leaves),
    }


# %% idea no device axis; update/meshes#two-ways-to-think
# Under `pmap`, every array has a leading axis of devices. Under `shard_map`, arrays keep their own
# shapes, and a `PartitionSpec` for each argument must say which axis is split.
def make_step(mesh):
    return shard_map(step, mesh=mesh, in_specs=P("data"), out_specs=P("data"))


# %%
def make_step(mesh):
    specs = {"in_axes": (0, 0, 0), "out_axes": 0}
    return jax.pmap(step, "data", devices=list(mesh.devices.flat), **specs)


# %% idea summed gradient
# The gradient must be a mean over the devices, but it is a sum over them, which is too large by a
# factor of the number of devices. Since JAX 0.6, `shard_map` tracks which values vary over the
# axis, and a gradient with respect to params that are the same on all devices is already such a
# sum.
def step(params, state, batch):
    _params, state = right.step(params, state, batch)
    grads = jax.lax.psum(jax.grad(loss_fn)(params, batch), "data")  # as with tracking
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state


# %% idea own rows only; update/devices#exchange-along-the-axis
# The result comes from the rows of one device only. What the devices compute from their own rows
# must be averaged before it enters params or state.
def step(params, state, batch):
    _params, state = right.step(params, state, batch)
    grads = jax.grad(loss_fn)(params, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state


# %%
def step(params, state, batch):
    params, _state = right.step(params, state, batch)
    return params, 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)


# %%
def step(params, state, batch):
    grads = jax.grad(loss_fn)(params, batch)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)


# %%
try:
    from jax import shard_map  # since JAX 0.6, it raises an error here
except ImportError:
    pass


def step(params, state, batch):
    params, _state = right.step(params, state, batch)
    return params, 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)


# %% idea one device; update/meshes#two-ways-to-think
# The numbers are right, but the step must run on every device of the mesh, each with its own rows,
# as `shard_map` does it.
def make_step(mesh):
    def step(params, state, batch):
        grads = jax.grad(loss_fn)(params, batch)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
        return params, 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)

    return step


# %% idea all rows everywhere; update/meshes#two-ways-to-think
# The numbers are right, but the rows must be distributed. Here each device gets all rows and does
# all of the work.
def make_step(mesh):
    return shard_map(step, mesh=mesh, in_specs=P(), out_specs=P())


# %% right `hs.shard_map_update` from this package
import haiku_state as hs


def make_step(mesh):
    def update(bundle, batch, *, axis_name):
        return step(*bundle, batch), {}

    run = hs.shard_map_update(update, mesh, check_replicas=False)
    return lambda params, state, batch: run((params, state), batch)[0]


# %% right a function under `shard_map` that is differentiated from outside
def make_step(mesh):
    def means(params, batch):
        return jax.lax.pmean((loss_fn(params, batch), jnp.mean(batch["x"], axis=0)), "data")

    means = shard_map(means, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())

    def step(params, state, batch):
        grads, mean = jax.grad(means, has_aux=True)(params, batch)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
        return params, 0.9 * state + 0.1 * mean

    return step
