"""An update step on a mesh of devices: by ``jit`` and shardings, or by ``shard_map``."""

import functools
import zlib
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from haiku_state.compat import has_explicit_axes, is_committed, shard_map
from haiku_state.errors import ArgumentError, MeshPlacementError, ReplicaMismatchError, as_lines
from haiku_state.errors.describe import describe, leaves_by_path
from haiku_state.errors.diagnosis import named_errors
from haiku_state.errors.language import deferred as _
from haiku_state.typing import UpdateFn
from haiku_state.update.compiled import CompiledOnDevices, CompiledUpdate, Explain, donating_jit
from haiku_state.update.exchange import gathered
from haiku_state.update.pmap import CheckedUpdate
from haiku_state.update.replicas import division_error

Tree = TypeVar("Tree")
Rule = Callable[[str, Any], PartitionSpec | None]


def shard_train_state(train_state: Tree, mesh: Mesh, rule: Rule | None = None) -> Tree:
    """Place a train state on a mesh: a copy on every device, or what a rule says.

    Many processes compare checksums of their train states first, so each of them must call it.

    Args:
      train_state: a PyTree of arrays and random keys, the same on every process.
      mesh: the devices, such as ``Mesh(np.array(jax.devices()), ("data",))``.
      rule: ``rule(path, leaf)`` gives the ``PartitionSpec`` of a leaf, or None for a copy on every
        device. The path of a parameter is ``"train_state.params['linear']['w']"``; that of its
        moment in ``optax.adam`` ends in the same ``"['linear']['w']"``.

    Returns:
      The same PyTree with the same shapes and dtypes; the given one stays usable.

    Raises:
      MeshPlacementError: an axis does not divide evenly over the mesh as the rule requires.
      DonatedBufferError: an update has consumed the train state.

      ReplicaMismatchError: the processes have different train states; it lists the leaves.
      LostProcessError: another process has not called this for 300 seconds.

    Example:
      >>> import jax, jax.numpy as jnp, numpy as np
      >>> from jax.sharding import Mesh
      >>> from haiku_state import shard_train_state
      >>> mesh = Mesh(np.array(jax.devices()[:1]), ("data",))
      >>> shard_train_state({"w": jnp.ones((4, 3))}, mesh)["w"].sharding.is_fully_replicated
      True

    References:
      JAX's documentation, `Distributed arrays and automatic parallelization
      <https://docs.jax.dev/en/latest/201/sharding.html>`__.
    """
    if len({device.process_index for device in mesh.devices.flat}) == jax.process_count() > 1:
        _check_same(train_state)

    def place(key_path: Any, leaf: Any) -> jax.Array:
        path = f"train_state{jax.tree_util.keystr(key_path)}"
        spec = (rule and rule(path, leaf)) or PartitionSpec()
        sharding = NamedSharding(mesh, spec)
        values = jnp.copy(leaf)  # which donation may take
        try:
            return jax.make_array_from_callback(values.shape, sharding, lambda index: values[index])
        except (ValueError, IndexError) as error:
            raise MeshPlacementError(
                path=path,
                shape=jnp.shape(leaf),
                found=spec,
                mesh=dict(mesh.shape),
                wrong=f"rule = lambda path, leaf: {spec}",
                right="rule = lambda path, leaf: None",
            ) from error

    with named_errors(train_state=train_state):
        placed: Tree = jax.tree_util.tree_map_with_path(place, train_state)
    return placed


def _check_same(train_state: Any) -> None:
    """Refuse a train state that is not the same in all processes, in each of them."""
    leaves = leaves_by_path(train_state=train_state)
    first, *others = gathered(
        {path: (describe(leaf), zlib.crc32(_bytes_of(leaf))) for path, leaf in leaves.items()}
    )
    paths = {path: None for other in others for path in (*first, *other)}
    different = [path for path in paths if any(o.get(path) != first.get(path) for o in others)]
    if different:
        raise ReplicaMismatchError(
            paths=as_lines(different),
            wrong="init_train_state(init, optimizer, jax.random.key(process_id), inputs)",
            right="init_train_state(init, optimizer, jax.random.key(0), inputs)",
            why=_(
                "each process makes its own copy: all must start from the same seed, or from the "
                "same file"
            ),
        )


def _bytes_of(leaf: Any) -> bytes:
    if jnp.issubdtype(jnp.result_type(leaf), jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    return np.asarray(leaf).tobytes()


def _explain_rows(name: str, devices: int) -> Explain:
    call = f"{name}(update, mesh)(train_state, batch)"
    return lambda train_state, batch: division_error(batch, devices, call)


def shard_update(update: UpdateFn, mesh: Mesh, axis_name: str | None = None) -> CompiledUpdate[Any]:
    """Run an update step on a mesh as if it were one device: ``jit`` shards the work.

    The step is the one of a single device: its means go over the whole batch, so that gradients
    and statistics need no axis names, and one random key serves all rows. The compiler inserts the
    communication.

    On JAX 0.4 and a mesh of several axes, the step draws other random numbers than on one device,
    unless ``jax_threefry_partitionable`` is set, as it is by default since 0.5.

    Args:
      update: an update step from :func:`make_update`.
      mesh: the devices.
      axis_name: the mesh axis along which the batch is cut; the first one by default.

    Returns:
      ``run(train_state, batch) -> (train_state, metrics)``. The train state is from
      :func:`shard_train_state` and keeps its placement, the batch has leaves of shape (rows, …),
      the metrics are on every device. The train state is donated, as in :func:`jit_update`.

    Raises:
      ArgumentError: ``mesh`` has explicit axes.
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
      JAX's documentation, `Distributed arrays and automatic parallelization
      <https://docs.jax.dev/en/latest/201/sharding.html>`__; `JAX issue 21232
      <https://github.com/jax-ml/jax/issues/21232>`__, on random numbers.
    """
    axis = axis_name or mesh.axis_names[0]
    compiled = functools.partial(_OnMesh, mesh=mesh, axis=axis)
    return CompiledOnDevices(update, compiled, _explain_rows("shard_update", mesh.shape[axis]))


def shard_map_update(
    update: UpdateFn, mesh: Mesh, axis_name: str | None = None, *, strict: bool = True
) -> CompiledUpdate[Any]:
    """Run an update step on each device of a mesh, with the collectives written out.

    The step sees its own rows only. It averages gradients and metrics over the named axis, as
    :func:`make_update` does, and so must the modules, by their ``cross_replica_axis``.

    ``shard_map`` runs with its check of replication off: with it, since JAX 0.6, the gradient of a
    local loss is already summed over the devices, and its mean is too large by a factor of their
    number.

    Args:
      update: an update step from :func:`make_update`.
      mesh: the devices.
      axis_name: the mesh axis along which the batch is cut; the first one by default.
      strict: whether to check after the first call that the copies are still equal.

    Returns:
      ``run(train_state, batch) -> (train_state, metrics)``, as :func:`shard_update` returns it.

    Raises:
      ArgumentError: ``mesh`` has explicit axes.
      MeshPlacementError: at the first call, if a leaf is not copied to every device.
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
      <https://docs.jax.dev/en/latest/201/shard-map.html>`__.
    """
    axis = axis_name or mesh.axis_names[0]

    local = functools.partial(update, axis_name=axis)
    copies, rows = PartitionSpec(), PartitionSpec(axis)
    mapped = shard_map(local, mesh, in_specs=(copies, rows), out_specs=(copies, copies))
    on_each = functools.wraps(update)(mapped)
    compiled = functools.partial(_OnMesh, mesh=mesh, axis=axis, copies_only=True)
    explain = _explain_rows("shard_map_update", mesh.shape[axis])
    if not strict:
        return CompiledOnDevices(on_each, compiled, explain)
    copy = functools.partial(jax.tree.map, jnp.copy)
    return CheckedUpdate(on_each, compiled, explain, copy, axis)


def _expect_auto(mesh: Mesh) -> None:
    if not has_explicit_axes(mesh):
        return
    made = f"jax.make_mesh({mesh.devices.shape}, {mesh.axis_names}"
    auto = f"axis_types={mesh.devices.ndim} * (jax.sharding.AxisType.Auto,)"
    raise ArgumentError(
        argument="mesh",
        value=mesh,
        expected=_("a mesh of Auto axes"),
        wrong=f"{made})",
        right=f"{made}, {auto})",
        why=_(
            "along Auto axes the compiler decides where each result lies; along explicit axes the "
            "loss function may have to say it"
        ),
        more="update/explicit_axes",
    )


class _OnMesh:
    """``jit`` with the placement of the first train state, for all later ones too."""

    def __init__(
        self, function: Callable[..., Any], mesh: Mesh, axis: str, *, copies_only: bool = False
    ) -> None:
        _expect_auto(mesh)
        self._function, self._mesh = function, mesh
        self._on_all = NamedSharding(mesh, PartitionSpec())
        self._rows = NamedSharding(mesh, PartitionSpec(axis))
        self._copies_only = copies_only
        self._compiled: Any = None

    def __call__(self, train_state: Any, batch: Any) -> Any:
        return self._for(train_state)(train_state, batch)

    def lower(self, train_state: Any, batch: Any) -> Any:
        return self._for(train_state).lower(train_state, batch)

    def _for(self, train_state: Any) -> Any:
        if self._compiled is None:
            places = jax.tree_util.tree_map_with_path(self._place, train_state)
            self._compiled = donating_jit(
                self._function,
                in_shardings=(places, self._rows),
                out_shardings=(places, self._on_all),
            )
        return self._compiled

    def _place(self, path: Any, leaf: Any) -> Any:
        place = leaf.sharding if is_committed(leaf) else self._on_all
        on_mesh = isinstance(place, NamedSharding) and place.mesh == self._mesh
        if not on_mesh or (self._copies_only and not place.is_fully_replicated):
            raise MeshPlacementError(
                path=f"train_state{jax.tree_util.keystr(path)}",
                shape=jnp.shape(leaf),
                found=place,
                mesh=dict(self._mesh.shape),
            )
        return place
