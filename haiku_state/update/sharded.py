"""An update step on a mesh of devices: by ``jit`` and shardings, or by ``shard_map``."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from haiku_state.compat import is_committed, shard_map
from haiku_state.contract import leaves_by_path
from haiku_state.errors import BatchDivisionError, HaikuStateError, MeshPlacementError
from haiku_state.typing import UpdateFn
from haiku_state.update.compiled import CompiledUpdate
from haiku_state.update.mapped import CheckedUpdate


def shard_update(update: UpdateFn, mesh: Mesh, axis_name: str | None = None) -> CompiledUpdate[Any]:
    """Run an update step on a mesh as if it were one device: ``jit`` cuts the work by shardings.

    The step is the one of a single device: its means go over the whole batch, so that gradients
    and statistics need no axis names, and one random key serves all rows. The compiler puts the
    communication in.

    Args:
      update: what :func:`make_update` gave.
      mesh: the devices.
      axis_name: the mesh axis along which the batch is cut; the first one by default.

    Returns:
      ``run(train_state, batch) -> (train_state, metrics)``. The train state is from
      :func:`shard_train_state` and keeps its placement, the batch has leaves of shape (rows, …),
      the metrics are on every device. The train state is donated, as in :func:`jit_update`.

    Raises:
      MeshPlacementError: at the first call, if the train state lies on other devices.
      BatchDivisionError: at a call, if the devices do not divide the rows.
      DonatedBufferError: at a call, if an earlier one has consumed the train state.

    Example:
      >>> import jax, jax.numpy as jnp, numpy as np
      >>> from jax.sharding import Mesh
      >>> from haiku_state import shard_train_state, shard_update
      >>> def step(total, batch, *, axis_name=None):
      ...     return total + batch["x"].mean(), {}
      >>> mesh = Mesh(np.array(jax.devices()[:1]), ("data",))
      >>> total = shard_train_state(jnp.float32(1), mesh)
      >>> total, metrics = shard_update(step, mesh)(total, {"x": jnp.arange(4.0)})
      >>> print(total)
      2.5

    References:
      JAX's documentation, `Introduction to parallel programming
      <https://docs.jax.dev/en/latest/sharded-computation.html>`__.
    """
    axis = axis_name or mesh.axis_names[0]
    return CompiledUpdate(
        update,
        lambda traced: _OnMesh(traced, mesh, axis),
        functools.partial(_explain, "shard_update(update, mesh)", mesh, axis),
    )


def shard_map_update(
    update: UpdateFn, mesh: Mesh, axis_name: str | None = None, *, strict: bool = True
) -> CompiledUpdate[Any]:
    """Run an update step on each device of a mesh, with the collectives written out.

    The step sees its own rows only. It averages gradients and metrics over the named axis, as
    :func:`make_update` does, and so must the modules, by their ``cross_replica_axis``.

    ``shard_map`` runs with its check of replication off: with it, since JAX 0.6, the gradient of
    a local loss comes summed over the devices, and its mean is too large by their number.

    Args:
      update: what :func:`make_update` gave.
      mesh: the devices.
      axis_name: the mesh axis along which the batch is cut; the first one by default.
      strict: whether to compare the copies after the first call, which they must leave equal.

    Returns:
      ``run(train_state, batch) -> (train_state, metrics)``, as :func:`shard_update` gives it.

    Raises:
      MeshPlacementError: at the first call, if a leaf has no copy on every device.
      BatchDivisionError: at a call, if the devices do not divide the rows.
      ReplicaMismatchError: at the first call, if the copies have drifted apart.
      DonatedBufferError: at a call, if an earlier one has consumed the train state.

    Example:
      >>> import jax, jax.numpy as jnp, numpy as np
      >>> from jax.sharding import Mesh
      >>> from haiku_state import shard_map_update, shard_train_state
      >>> def step(total, batch, *, axis_name=None):
      ...     return total + jax.lax.pmean(batch["x"].mean(), axis_name), {}
      >>> mesh = Mesh(np.array(jax.devices()[:1]), ("data",))
      >>> total = shard_train_state(jnp.float32(1), mesh)
      >>> total, metrics = shard_map_update(step, mesh)(total, {"x": jnp.arange(4.0)})
      >>> print(total)
      2.5

    References:
      JAX's documentation, `Manual parallelism with shard_map
      <https://docs.jax.dev/en/latest/notebooks/shard_map.html>`__.
    """
    axis = axis_name or mesh.axis_names[0]

    @functools.wraps(update)
    def on_each(train_state: Any, batch: Any) -> Any:
        local = functools.partial(update, axis_name=axis)
        copies, rows = PartitionSpec(), jax.tree.map(functools.partial(_rows, axis), batch)
        mapped = shard_map(local, mesh, in_specs=(copies, rows), out_specs=(copies, copies))
        return mapped(train_state, batch)

    return CheckedUpdate(
        on_each,
        lambda traced: _OnMesh(traced, mesh, axis, copies_only=True),
        functools.partial(_explain, "shard_map_update(update, mesh)", mesh, axis),
        lambda train_state: jax.tree.map(jnp.copy, train_state),
        axis,
        strict,
    )


class _OnMesh:
    """``jit`` with the placement of the first train state, for all further ones."""

    def __init__(
        self, function: Callable[..., Any], mesh: Mesh, axis: str, *, copies_only: bool = False
    ) -> None:
        self._function, self._mesh, self._axis = function, mesh, axis
        self._copies_only = copies_only
        self._compiled: dict[Any, Any] = {}

    def __call__(self, train_state: Any, batch: Any) -> Any:
        return self._for(train_state, batch)(train_state, batch)

    def lower(self, train_state: Any, batch: Any) -> Any:
        return self._for(train_state, batch).lower(train_state, batch)

    def _for(self, train_state: Any, batch: Any) -> Any:
        structure = jax.tree.structure(batch)
        if structure not in self._compiled:
            places = self._places(train_state)
            on_all = NamedSharding(self._mesh, PartitionSpec())
            rows = jax.tree.map(
                lambda leaf: NamedSharding(self._mesh, _rows(self._axis, leaf)), batch
            )
            self._compiled[structure] = jax.jit(
                self._function,
                in_shardings=(places, rows),
                out_shardings=(places, on_all),
                donate_argnums=0,
                keep_unused=True,
            )
        return self._compiled[structure]

    def _places(self, train_state: Any) -> Any:
        on_all = NamedSharding(self._mesh, PartitionSpec())
        places = []
        for path, leaf in leaves_by_path(train_state=train_state).items():
            place = leaf.sharding if is_committed(leaf) else on_all
            on_mesh = isinstance(place, NamedSharding) and place.mesh == self._mesh
            if not on_mesh or (self._copies_only and not place.is_fully_replicated):
                raise MeshPlacementError(
                    path=path,
                    shape=jnp.shape(leaf),
                    found=place,
                    mesh=dict(self._mesh.shape),
                    wrong="run(train_state, batch)",
                    right="run(shard_train_state(train_state, mesh), batch)",
                )
            places.append(place)
        return jax.tree.unflatten(jax.tree.structure(train_state), places)


def _rows(axis: str, leaf: Any) -> PartitionSpec:
    return PartitionSpec(axis) if jnp.ndim(leaf) else PartitionSpec()


def _explain(
    wrong: str, mesh: Mesh, axis: str, train_state: Any, batch: Any
) -> HaikuStateError | None:
    devices = mesh.shape[axis]
    for leaf in jax.tree.leaves(batch):
        rows = jnp.shape(leaf)[0] if jnp.ndim(leaf) else 0
        if rows % devices:
            return BatchDivisionError(
                rows=rows,
                devices=devices,
                fitting=devices * max(1, rows // devices),
                wrong=f"{wrong}(train_state, batch)",
            )
    return None
