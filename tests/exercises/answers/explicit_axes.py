# right: einsum, and only the watched rows from copies
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P


def moments(x):
    return jnp.einsum("ni,nj->ij", x, x, out_sharding=P()) / len(x)


def watched(x, rows):
    return jax.sharding.reshard(x, P())[rows]


@jax.jit
def update(state, x, rows):
    scale = jnp.sqrt(jnp.mean(jnp.square(x)))
    averaged = 0.9 * state["moments"] + 0.1 * moments(x)
    return {"moments": averaged, "rows": watched(x, rows), "scale": scale}

# wrong: ambiguous layout
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P


def moments(x):
    return jnp.matmul(x.T, x, out_sharding=P()) / len(x)


def watched(x, rows):
    return x[rows]


@jax.jit
def update(state, x, rows):
    scale = jnp.sqrt(jnp.mean(jnp.square(x)))
    averaged = 0.9 * state["moments"] + 0.1 * moments(x)
    return {"moments": averaged, "rows": watched(x, rows), "scale": scale}

# wrong: rows moved
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P


def moments(x):
    everything = jax.sharding.reshard(x, P())
    return everything.T @ everything / len(x)


def watched(x, rows):
    return x.at[rows].get(out_sharding=P())


@jax.jit
def update(state, x, rows):
    scale = jnp.sqrt(jnp.mean(jnp.square(x)))
    averaged = 0.9 * state["moments"] + 0.1 * moments(x)
    return {"moments": averaged, "rows": watched(x, rows), "scale": scale}

# wrong: ambiguous layout
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P


def moments(x):
    return jax.sharding.reshard(x.T @ x, P()) / len(x)


def watched(x, rows):
    return x.at[rows].get(out_sharding=P())


@jax.jit
def update(state, x, rows):
    scale = jnp.sqrt(jnp.mean(jnp.square(x)))
    averaged = 0.9 * state["moments"] + 0.1 * moments(x)
    return {"moments": averaged, "rows": watched(x, rows), "scale": scale}

# wrong: layout of the state
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P


def moments(x):
    return jnp.matmul(x.T, x, out_sharding=P("data")) / len(x)


def watched(x, rows):
    return x.at[rows].get(out_sharding=P())


@jax.jit
def update(state, x, rows):
    scale = jnp.sqrt(jnp.mean(jnp.square(x)))
    averaged = 0.9 * state["moments"] + 0.1 * moments(x)
    return {"moments": averaged, "rows": watched(x, rows), "scale": scale}

# wrong: other numbers
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P


def moments(x):
    return jnp.matmul(x.T, x, out_sharding=P()) / (len(x) // 4)


def watched(x, rows):
    return x.at[rows].get(out_sharding=P())


@jax.jit
def update(state, x, rows):
    scale = jnp.sqrt(jnp.mean(jnp.square(x)))
    averaged = 0.9 * state["moments"] + 0.1 * moments(x)
    return {"moments": averaged, "rows": watched(x, rows), "scale": scale}
