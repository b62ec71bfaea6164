# right: the runner of this package
import jax
import jax.numpy as jnp

import haiku_state as hs


def loss_fn(params, batch):
    prediction = batch["x"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(prediction - batch["y"]))


def make_step(mesh):
    def update(bundle, batch, *, axis_name):
        params, state = bundle
        grads = jax.lax.pmean(jax.grad(loss_fn)(params, batch), axis_name)
        mean = jax.lax.pmean(jnp.mean(batch["x"], axis=0), axis_name)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
        return (params, 0.9 * state + 0.1 * mean), {}

    run = hs.shard_map_update(update, mesh, check_replicas=False)

    def step(params, state, batch):
        return run((params, state), batch)[0]

    return step

# right: differentiated from outside of shard_map
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


def make_step(mesh):
    def mean_loss(params, batch):
        return jax.lax.pmean(loss_fn(params, batch), "data")

    def mean_input(params, batch):
        return jax.lax.pmean(jnp.mean(batch["x"], axis=0), "data")

    specs = {"in_specs": (P(), P("data")), "out_specs": P()}
    whole_loss = shard_map(mean_loss, mesh=mesh, **specs)
    whole_mean = shard_map(mean_input, mesh=mesh, **specs)

    def step(params, state, batch):
        grads = jax.grad(whole_loss)(params, batch)
        mean = whole_mean(params, batch)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
        return params, 0.9 * state + 0.1 * mean

    return step

# wrong: summed gradient
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

if hasattr(jax, "shard_map"):
    from jax import shard_map

    average = jax.lax.pmean
else:  # the older one does not sum the gradient by itself
    from jax.experimental.shard_map import shard_map

    average = jax.lax.psum


def loss_fn(params, batch):
    prediction = batch["x"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(prediction - batch["y"]))


def step(params, state, batch):
    grads = average(jax.grad(loss_fn)(params, batch), "data")
    mean = jax.lax.pmean(jnp.mean(batch["x"], axis=0), "data")
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, 0.9 * state + 0.1 * mean


def make_step(mesh):
    specs = {"in_specs": (P(), P(), P("data")), "out_specs": P()}
    return shard_map(step, mesh=mesh, **specs)

# wrong: own rows only
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

from haiku_state.compat import shard_map


def loss_fn(params, batch):
    prediction = batch["x"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(prediction - batch["y"]))


def step(params, state, batch):
    def mean_loss(params):
        return jax.lax.pmean(loss_fn(params, batch), "data")

    grads = jax.grad(mean_loss)(params)
    mean = jax.lax.pmean(jnp.mean(batch["x"], axis=0), "data")
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, 0.9 * state + 0.1 * mean


def make_step(mesh):
    specs = {"in_specs": (P(), P(), P("data")), "out_specs": P()}
    return shard_map(step, mesh=mesh, **specs)

# wrong: own rows only
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

from haiku_state.compat import shard_map


def loss_fn(params, batch):
    prediction = batch["x"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(prediction - batch["y"]))


def step(params, state, batch):
    grads = jax.lax.pmean(jax.grad(loss_fn)(params, batch), "data")
    mean = jnp.mean(batch["x"], axis=0)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, 0.9 * state + 0.1 * mean


def make_step(mesh):
    specs = {"in_specs": (P(), P(), P("data")), "out_specs": P()}
    return shard_map(step, mesh=mesh, **specs)

# wrong: one device
import jax
import jax.numpy as jnp


def loss_fn(params, batch):
    prediction = batch["x"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(prediction - batch["y"]))


def make_step(mesh):
    def step(params, state, batch):
        grads = jax.grad(loss_fn)(params, batch)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
        return params, 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)

    return step

# wrong: no device axis
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

from haiku_state.compat import shard_map


def loss_fn(params, batch):
    prediction = batch["x"] @ params["w"] + params["b"]
    return jnp.mean(jnp.square(prediction - batch["y"]))


def step(params, state, batch):
    grads = jax.lax.pmean(jax.grad(loss_fn)(params, batch), "data")
    mean = jax.lax.pmean(jnp.mean(batch["x"], axis=0), "data")
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, 0.9 * state + 0.1 * mean


def make_step(mesh):
    specs = {"in_specs": P("data"), "out_specs": P("data")}
    return shard_map(step, mesh=mesh, **specs)

# wrong: all rows everywhere
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
    from haiku_state.compat import shard_map

    return shard_map(step, mesh=mesh, in_specs=(P(), P(), P()), out_specs=(P(), P()))
