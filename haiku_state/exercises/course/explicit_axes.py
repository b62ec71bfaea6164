"""A mesh with explicit axes

repair, 6 min, update/explicit_axes#naming-the-layout-of-a-result, JAX 0.7.1

The mesh now has explicit axes, and the program fails. Change `moments` and `watched` so that it
runs again. The check makes a mesh of four devices with an explicit axis `data` and calls
`update(state, x, rows)` several times, where `rows` are two indices. The rows of `x` are
distributed along `data`; everything else is replicated, and the new state must be replicated too.
`moments` must not send all rows to all devices.

- For which two operations could the result be laid out on the devices in several ways?
- Look at the product in `moments`, which sums over distributed rows, and the indices in `watched`.
  Which keyword names the layout of a result?
- `jnp.matmul` takes `out_sharding=P()`, and so does `get`: `x.at[…].get(…)` reads what `x[…]`
  reads.
"""

# %%
# A monitor keeps the second moments of the data that it has seen and a few
# rows of the newest batch. It was written for a mesh with Auto axes.
import jax
import jax.numpy as jnp

# <solution>
from jax.sharding import PartitionSpec as P

# </solution>


def moments(x):
    #: return x.T @ x / len(x)
    # <solution>
    return jnp.matmul(x.T, x, out_sharding=P()) / len(x)
    # </solution>


def watched(x, rows):
    #: return x[rows]
    # <solution>
    return x.at[rows].get(out_sharding=P())
    # </solution>


@jax.jit
def update(state, x, rows):
    scale = jnp.sqrt(jnp.mean(jnp.square(x)))
    averaged = 0.9 * state["moments"] + 0.1 * moments(x)
    return {"moments": averaged, "rows": watched(x, rows), "scale": scale}


# %% setup
import jax
import numpy as np
from jax.sharding import PartitionSpec as P


def explicit_mesh():
    kinds = (jax.sharding.AxisType.Explicit,)
    return jax.make_mesh((4,), ("data",), kinds, devices=jax.devices()[:4])


# %% inputs
def inputs(rng):
    state = {
        "moments": rng.normal(size=(4, 4)),
        "rows": rng.normal(size=(2, 4)),
        "scale": np.float32(rng.normal()),
    }
    return state, rng.normal(1, 2, size=(8, 4)), rng.integers(0, 8, size=2, dtype="int32")


# %% check `update` runs on explicit axes and computes the same numbers as on a single device; ; other numbers
def check(answer, state, x, rows):
    with jax.set_mesh(explicit_mesh()):
        state, rows = jax.device_put((state, rows), P())
        x = jax.device_put(x, P("data"))
        return answer.update(answer.update(state, x, rows), x, rows)


def closed_form(state, x, rows):
    x, scale = x.astype(float), np.sqrt(np.square(x).mean())
    moments = 0.81 * state["moments"] + 0.19 * x.T @ x / len(x)
    return {"moments": moments, "rows": x[rows], "scale": scale}


# %% check The state stays replicated, and no rows are gathered; once; layout of the state
def check(answer, state, x, rows):
    with jax.set_mesh(explicit_mesh()):
        state, rows = jax.device_put((state, rows), P())
        x = jax.device_put(x, P("data"))
        after = answer.update(state, x, rows)
        program = jax.jit(lambda x: answer.moments(x)).lower(x).compile().as_text()
    return {
        "replicated": jax.tree.map(lambda leaf: leaf.sharding.is_fully_replicated, after),
        "gathered": " all-gather(" in program,
    }


# %% idea ambiguous layout; update/explicit_axes#what-explicit-axes-refuse
# With explicit axes, the layout is part of the type. If the result of an operation could have more
# than one layout, JAX does not choose, so the line must name a layout.
def watched(x, rows):
    return x[rows]


# %%
def moments(x):
    return jax.sharding.reshard(x.T @ x, P()) / len(x)


# %% idea layout of the state
# The returned state has a different layout than before, so its type changes from step to step.
# Every device needs the whole state.
def moments(x):
    return jnp.matmul(x.T, x, out_sharding=P("data")) / len(x)


# %%
def moments(x):
    return jnp.matmul(x.T, x, out_sharding=P(None, "data")) / len(x)


# %%
def watched(x, rows):
    return x.at[rows].get(out_sharding=P(None, "data"))


# %% idea rows moved
# All rows are sent to all devices before the product is computed, so each device does all of the
# work. It is enough to specify the layout of the small result.
def moments(x):
    everything = jax.sharding.reshard(x, P())
    return everything.T @ everything / len(x)


# %% idea other numbers; update/explicit_axes#what-runs-unchanged-on-explicit-axes
# The layout decides where an array lies. The numbers must be the same as on a single device.
def moments(x):
    return jnp.matmul(x.T, x, out_sharding=P()) / (len(x) // 4)


# %% right einsum, and only the watched rows from copies
def moments(x):
    return jnp.einsum("ni,nj->ij", x, x, out_sharding=P()) / len(x)


def watched(x, rows):
    return jax.sharding.reshard(x, P())[rows]
