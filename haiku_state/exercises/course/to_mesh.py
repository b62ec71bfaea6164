"""From `pmap` to `jit` on a mesh

port, hard, 10 min, update/meshes#two-ways-to-think

Move the step from `pmap` to `jit` with whole arrays. `place(mesh, params, state, batch)` gets whole
arrays and a mesh of four devices whose axis is called `data`. It returns the params, the state and
the batch, placed on the mesh: the batch is split by rows, and the params and the state are copied
to each device. `step(params, state, rng, batch)` is then one compiled program, the step that a
single device takes on the whole batch. It returns the new params and the new state and no longer
names an axis.

- Which lines exist only because each device sees only its own rows?
- Look at every line that contains the axis name `data`: it is still needed only in `place`, in the
  layout of the batch.
- `jax.device_put(batch, NamedSharding(mesh, P('data')))` splits the rows; params and state get
  `P()`. In `loss_fn` and `step`, remove `pmean` and `fold_in`, and replace `pmap` with `jax.jit`.
"""

# %%
# Four devices together learn weights for centered inputs. Each device adds its
# own noise to its rows, and the state is a running mean.
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def loss_fn(params, state, rng, batch):
    x = batch["x"] + 0.1 * jax.random.normal(rng, batch["x"].shape)
    #: mean = jax.lax.pmean(jnp.mean(x, axis=0), "data")
    # <solution>
    mean = jnp.mean(x, axis=0)
    # </solution>
    loss = jnp.mean(jnp.square((x - mean) @ params["w"] - batch["y"]))
    return loss, 0.9 * state + 0.1 * mean


#: def step(params, state, rng, batch):
#:     over = {"axis_name": "data", "in_axes": (0, 0, None, 0)}
#:     return jax.pmap(one_step, **over)(params, state, rng, batch)
#:
#:
#: def one_step(params, state, rng, batch):
# <solution>
@jax.jit
def step(params, state, rng, batch):
    # </solution>
    #: rng = jax.random.fold_in(rng, jax.lax.axis_index("data"))
    grad_fn = jax.grad(loss_fn, has_aux=True)
    grads, state = grad_fn(params, state, rng, batch)
    #: grads = jax.lax.pmean(grads, "data")
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state


def place(mesh, params, state, batch):
    # Return params, state and batch as the step needs them.
    #: def copy(leaf):
    #:     return jnp.stack([leaf] * 4)
    #:
    #: def cut(leaf):
    #:     return jnp.stack(jnp.split(leaf, 4))
    #:
    #: params, state = jax.tree.map(copy, (params, state))
    #: return params, state, jax.tree.map(cut, batch)
    # <solution>
    params, state = jax.device_put((params, state), NamedSharding(mesh, P()))
    return params, state, jax.device_put(batch, NamedSharding(mesh, P("data")))
    # </solution>


# %% setup
import numpy as np

import haiku_state as hs


def placed(answer, params, state, batch):
    devices = jax.devices()[3::-1]  # in an order that only the mesh knows
    return answer.place(hs.data_mesh(devices, "data"), params, state, batch)


def held(leaf):
    # what each device holds, in the order of the devices
    parts = {part.device.id: np.array(part.data) for part in leaf.addressable_shards}
    return np.stack([parts[number] for number in sorted(parts)])


# %% inputs
def inputs(rng):
    batch = {"x": rng.normal(size=(8, 3)) + rng.normal(size=3), "y": rng.normal(size=8)}
    params, state = {"w": rng.normal(size=3)}, rng.normal(size=3)
    return params, state, batch, rng.integers(1, 1000, dtype="uint32")


# %% check `place` splits the batch and copies params and state; once; params, state, batch
def check(answer, params, state, batch, seed):
    return jax.tree.map(held, placed(answer, params, state, batch))


# %% check A step gives the same result as on a single device; ; params, state
def check(answer, params, state, batch, seed):
    params, state, batch = placed(answer, params, state, batch)
    return answer.step(params, state, jax.random.key(seed), batch)


# %% check The step is one compiled program; once
def check(answer, params, state, batch, seed):
    given = params, state, jax.random.key(seed), batch
    program = jax.make_jaxpr(lambda *given: answer.step(*given))(*given).jaxpr
    beside = {one.primitive.name for one in program.eqns}
    return {"arithmetic outside of it": not beside.isdisjoint(("add", "sub", "mul", "div"))}


# %% idea no device axis; update/meshes#a-mesh-gives-names-to-devices
# On a mesh, an array must keep its own shape, without any stacking or reshaping. A `NamedSharding`
# says which device holds which part.
def place(mesh, params, state, batch):
    batch = jax.tree.map(lambda x: x.reshape(4, -1, *x.shape[1:]), batch)
    return right.place(mesh, params, state, batch)


# %%
def place(mesh, params, state, batch):
    params, state = jax.tree.map(lambda leaf: jnp.stack([leaf] * 4), (params, state))
    return params, state, jax.tree.map(lambda leaf: jnp.stack(jnp.split(leaf, 4)), batch)


# %% idea batch not cut; update/meshes#a-mesh-gives-names-to-devices
# Every device holds all rows of the batch, so each does all of the work. A `PartitionSpec` must
# name the axis of the mesh along which the rows are split.
def place(mesh, params, state, batch):
    return jax.device_put((params, state, batch), NamedSharding(mesh, P()))


# %% idea copies; update/meshes#a-mesh-gives-names-to-devices
# Each of the four devices must hold a complete copy of params and state. The spec for such a copy
# names no axis.
def place(mesh, params, state, batch):
    return params, state, right.place(mesh, params, state, batch)[2]


# %%
def place(mesh, params, state, batch):
    return jax.device_put((params, state, batch), NamedSharding(mesh, P("data")))


# %% idea unbound axis
@jax.jit
def step(params, state, rng, batch):
    return jax.lax.pmean(right.step(params, state, rng, batch), "data")


# %% idea no collectives
# Under `jit`, the function sees whole arrays, so every mean is already a mean over all rows and
# must not be divided again. The compiler inserts the communication.
def step(params, state, rng, batch):
    new, state = right.step(params, state, rng, batch)
    return jax.tree.map(lambda p, n: p + (n - p) / 4, params, new), state


# %% idea compiled step
# The numbers are right, but the step runs op by op: each operation starts on the devices
# separately. The step should be one compiled program.
step = right.step.__wrapped__  # what it was before `jax.jit`


# %% idea one key
# Under `jit`, the noise of all rows is one array, which must be drawn from the key that is passed
# in. The devices do not need separate keys.
def step(params, state, rng, batch):
    return right.step(params, state, jax.random.fold_in(rng, 0), batch)


# %%
def step(params, state, rng, batch):
    return right.step(params, state, jax.random.split(rng)[1], batch)


# %%
@jax.jit
def step(params, state, rng, batch):
    keys = jax.vmap(lambda device: jax.random.fold_in(rng, device))(jnp.arange(4))
    noise = jax.vmap(lambda key: jax.random.normal(key, (2, 3)))(keys).reshape(8, 3)
    noise = 0.1 * (noise - jax.random.normal(rng, (8, 3)))
    return right.step(params, state, rng, {**batch, "x": batch["x"] + noise})


# %% right a single `jax.device_put` for everything
def place(mesh, params, state, batch):
    copies, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
    return jax.device_put((params, state, batch), (copies, copies, rows))
