"""Where each leaf of a train state lies on a mesh."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from haiku_state.contract import leaves_by_path
from haiku_state.errors import MeshPlacementError

Tree = TypeVar("Tree")
Rule = Callable[[str, Any], PartitionSpec | None]


def shard_train_state(train_state: Tree, mesh: Mesh, rule: Rule | None = None) -> Tree:
    """Place a train state on a mesh: a copy on every device, or what a rule says.

    Args:
      train_state: a PyTree of arrays and random keys, the same on every process.
      mesh: the devices, ``Mesh(np.array(jax.devices()), ("data",))`` say.
      rule: ``rule(path, leaf)`` gives the ``PartitionSpec`` of a leaf, or None for a copy on every
        device. The path of a parameter is ``"train_state.params['linear']['w']"``; that of its
        moment in ``optax.adam`` ends in the same ``"['linear']['w']"``.

    Returns:
      The same PyTree with the same shapes and dtypes; the given one stays usable.

    Raises:
      MeshPlacementError: the mesh does not divide an axis as the rule says.

    Example:
      >>> import jax, jax.numpy as jnp, numpy as np
      >>> from jax.sharding import Mesh
      >>> from haiku_state import shard_train_state
      >>> mesh = Mesh(np.array(jax.devices()[:1]), ("data",))
      >>> shard_train_state({"w": jnp.ones((4, 3))}, mesh)["w"].sharding.is_fully_replicated
      True

    References:
      JAX's documentation, `Distributed arrays and automatic parallelization
      <https://docs.jax.dev/en/latest/notebooks/Distributed_arrays_and_automatic_parallelization.html>`__.
    """

    def place(path: str, leaf: Any) -> Any:
        spec = (rule and rule(path, leaf)) or PartitionSpec()
        sharding = NamedSharding(mesh, spec)
        try:
            return _put(leaf, sharding)
        except (ValueError, IndexError) as error:
            raise MeshPlacementError(
                path=path,
                shape=jnp.shape(leaf),
                found=spec,
                mesh=dict(mesh.shape),
                wrong=f"rule = lambda path, leaf: {spec}",
                right="rule = lambda path, leaf: None",
            ) from error

    paths = leaves_by_path(train_state=train_state)
    placed = [place(path, leaf) for path, leaf in paths.items()]
    return jax.tree.unflatten(jax.tree.structure(train_state), placed)


def _put(leaf: Any, sharding: NamedSharding) -> jax.Array:
    if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        impl = jax.random.key_impl(leaf)
        data = _put(jax.random.key_data(leaf), sharding)
        wrap = functools.partial(jax.random.wrap_key_data, impl=impl)
        return jax.jit(wrap, out_shardings=sharding)(data)
    values = np.array(jnp.asarray(leaf))  # a copy, which donation may take
    return jax.make_array_from_callback(values.shape, sharding, lambda index: values[index])
