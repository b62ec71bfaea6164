# right: gradient by value_and_grad, and each leaf placed alone
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
    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
    (_, state), grads = grad_fn(params, state, rng, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state


def place(mesh, params, state, batch):
    copies, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
    params = {"w": jax.device_put(params["w"], copies)}
    state = jax.device_put(state, copies)
    return params, state, jax.device_put(batch, rows)

# wrong: no collectives
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
    grads = jax.lax.pmean(grads, "data")
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state


def place(mesh, params, state, batch):
    copies, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
    params, state = jax.device_put((params, state), copies)
    return params, state, jax.device_put(batch, rows)

# wrong: no collectives
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
    copies, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
    params, state = jax.device_put((params, state), copies)
    return params, state, jax.device_put(batch, rows)

# wrong: no collectives
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
    rng = jax.random.fold_in(rng, jax.lax.axis_index("data"))
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, state = grad_fn(params, state, rng, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state


def place(mesh, params, state, batch):
    copies, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
    params, state = jax.device_put((params, state), copies)
    return params, state, jax.device_put(batch, rows)

# wrong: one key
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
    rng = jax.random.fold_in(rng, 0)
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, state = grad_fn(params, state, rng, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state


def place(mesh, params, state, batch):
    copies, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
    params, state = jax.device_put((params, state), copies)
    return params, state, jax.device_put(batch, rows)

# wrong: batch not cut
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
    copies, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P())
    params, state = jax.device_put((params, state), copies)
    return params, state, jax.device_put(batch, rows)

# wrong: copies
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
    copies, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
    return params, state, jax.device_put(batch, rows)

# wrong: copies
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
    copies, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
    params, state = jax.device_put((params, state), rows)
    return params, state, jax.device_put(batch, rows)

# wrong: no device axis
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
    copies, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
    params, state = jax.device_put((params, state), copies)
    batch = jax.tree.map(lambda x: x.reshape(4, -1, *x.shape[1:]), batch)
    return params, state, jax.device_put(batch, rows)

# wrong: compiled step
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
    grads, state = jax.grad(loss_fn, has_aux=True)(params, state, rng, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state


def place(mesh, params, state, batch):
    copies, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
    return jax.device_put((params, state, batch), (copies, copies, rows))

# wrong: compiled step
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


@jax.jit
def loss_fn(params, state, rng, batch):
    x = batch["x"] + 0.1 * jax.random.normal(rng, batch["x"].shape)
    mean = jnp.mean(x, axis=0)
    loss = jnp.mean(jnp.square((x - mean) @ params["w"] - batch["y"]))
    return loss, 0.9 * state + 0.1 * mean


def step(params, state, rng, batch):
    grads, state = jax.grad(loss_fn, has_aux=True)(params, state, rng, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state


def place(mesh, params, state, batch):
    params, state = jax.device_put((params, state), NamedSharding(mesh, P()))
    return params, state, jax.device_put(batch, NamedSharding(mesh, P("data")))
