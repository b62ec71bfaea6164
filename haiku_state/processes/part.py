"""The part of each batch that a process reads, and what one process does for all."""

from typing import Any, TypeVar

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from haiku_state.errors import BatchDivisionError

Tree = TypeVar("Tree")


def process_part() -> tuple[int, int]:
    """Return which part of each batch this process reads.

    Returns:
      ``(index, count)``, the id of this process and the number of processes. Pass it to
      :func:`.batches` as ``part``: from a batch of ``rows`` rows it takes the rows from
      ``rows * index // count`` up to ``rows * (index + 1) // count``.

    Example:
      >>> from haiku_state.processes import process_part
      >>> process_part()
      (0, 1)

    References:
      JAX's documentation, `jax.process_index
      <https://docs.jax.dev/en/latest/_autosummary/jax.process_index.html>`__.
    """
    return jax.process_index(), jax.process_count()


def is_main_process() -> bool:
    """Return whether this is the process that does the writing for all.

    Metrics are the same on every process, and so are the params: one prints and saves them.

    Returns:
      True in process 0.

    Example:
      >>> from haiku_state.processes import is_main_process
      >>> if is_main_process():
      ...     print("loss 0.5")
      loss 0.5

    References:
      JAX's documentation, `jax.process_index
      <https://docs.jax.dev/en/latest/_autosummary/jax.process_index.html>`__.
    """
    return jax.process_index() == 0


def global_batch(batch: Tree, mesh: Mesh) -> Tree:
    """Combine the rows that each process has read into one global batch.

    No rows travel: each device gets its part from the process that it belongs to.

    Args:
      batch: a PyTree of NumPy arrays of shape (rows here, …), the same shapes in every process.
      mesh: the devices of all processes; the batch is sharded along its first axis.

    Returns:
      The same PyTree with leaves of shape (rows here × processes, …), in the order of the mesh.

    Raises:
      BatchDivisionError: the rows do not divide evenly among the devices of this process.

    Example:
      >>> import jax, numpy as np
      >>> from haiku_state import data_mesh
      >>> from haiku_state.processes import global_batch
      >>> mesh = data_mesh(jax.devices()[:1])
      >>> batch = global_batch({"x": np.arange(4, dtype=np.float32)}, mesh)
      >>> batch["x"].shape, batch["x"].sharding.mesh == mesh
      ((4,), True)

    References:
      JAX's documentation, `jax.make_array_from_process_local_data
      <https://docs.jax.dev/en/latest/_autosummary/jax.make_array_from_process_local_data.html>`__.
    """
    axis = mesh.axis_names[0]
    sharding = NamedSharding(mesh, PartitionSpec(axis))
    parts = len(sharding.addressable_devices) * mesh.shape[axis] // mesh.size

    def put(leaf: Any) -> jax.Array:
        if len(leaf) % parts:
            raise BatchDivisionError(
                rows=len(leaf),
                parts=parts,
                fitting=mesh.shape[axis] * max(1, len(leaf) // parts),
                wrong="global_batch(batch, mesh)",
            )
        return jax.make_array_from_process_local_data(sharding, leaf)

    return jax.tree.map(put, batch)
