"""An update step on a mesh of devices: by ``jit`` and shardings, or by ``shard_map``."""

import functools
import itertools
import zlib
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from haiku_state.compat import is_committed, shard_map
from haiku_state.errors import arguments
from haiku_state.errors.describe import describe, division_error, leaves_by_path, with_dicts
from haiku_state.errors.diagnosis import named_errors
from haiku_state.exchange import gathered, in_all
from haiku_state.typing import Batch, R, StepFn, T
from haiku_state.update.devices import outside_mesh
from haiku_state.update.runner import Runner, consumed, donating_jit, on_axis

Tree = TypeVar("Tree")
Rule = Callable[[str, Any], PartitionSpec | None]

_batches = itertools.count(1)
_last_kinds: dict[str, str] = {}


@outside_mesh
def shard_train_state(train_state: Tree, mesh: Mesh, rule: Rule | None = None) -> Tree:
    """Place a train state on a mesh: a copy on every device, or as specified by a rule.

    If there are several processes, they first compare checksums of their train states, which is why
    every process must call this function.

    Args:
      train_state: a PyTree of arrays and random keys, the same on every process.
      mesh: the mesh of devices, such as ``Mesh(np.array(jax.devices()), ("data",))``.
      rule: ``rule(path, leaf)`` returns the ``PartitionSpec`` of a leaf, or None for a copy on
        every device. The path of a parameter is, for example,
        ``"train_state.params['linear']['w']"``; the path of the parameter's moment in
        ``optax.adam`` also ends in ``"['linear']['w']"``.

    Returns:
      A copy of the PyTree on the mesh, with the same shapes and dtypes; the original stays usable.

    Raises:
      MeshPlacementError: a leaf cannot be placed as the rule requires, for example because an axis
        does not divide evenly over the mesh.
      DonatedBufferError: an update has consumed the train state.

      ReplicaMismatchError: the processes have different train states; the error lists the leaves
        that differ.
      LostProcessError: another process does not call this function within 300 seconds.

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
    if _is_of_all(mesh):
        _check_same(train_state)

    def place(path: str, leaf: Any) -> jax.Array:
        spec = (rule and rule(path, leaf)) or PartitionSpec()
        values = jnp.copy(leaf)  # which donation may take
        try:
            sharding = NamedSharding(mesh, spec)
            return jax.make_array_from_callback(values.shape, sharding, lambda index: values[index])
        except (ValueError, IndexError) as error:
            raise arguments.unplaceable(path, leaf, spec, mesh) from error

    train_state = with_dicts(train_state)
    with named_errors(train_state=train_state):
        placed = [place(*named) for named in leaves_by_path(train_state=train_state).items()]
    return jax.tree.unflatten(jax.tree.structure(train_state), placed)


def _is_of_all(mesh: Mesh) -> bool:
    """Return whether there are several processes, and all of them have devices in the mesh."""
    count = jax.process_count()
    return count > 1 and len({device.process_index for device in mesh.devices.flat}) == count


def _check_same(train_state: Any) -> None:
    """Reject a train state that is not the same in all processes, in each of them."""
    leaves = leaves_by_path(train_state=train_state)
    first, *others = gathered(
        {path: [describe(leaf), zlib.crc32(_bytes_of(leaf))] for path, leaf in leaves.items()}
    )
    paths = {path: None for other in others for path in (*first, *other)}
    different = [path for path in paths if any(o.get(path) != first.get(path) for o in others)]
    if different:
        raise in_all(arguments.processes_differ(different))


def _bytes_of(leaf: Any) -> bytes:
    if jnp.issubdtype(jnp.result_type(leaf), jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    return np.asarray(leaf).tobytes()


def global_batch(batch: Tree, mesh: Mesh, axis_name: str | None = None) -> Tree:
    """Combine the rows that each process has read into one global batch.

    No rows are sent between processes, because each device gets its part from its own process. When
    a process meets a batch with new shapes, it compares the shapes with those of the other
    processes, which is why every process must call this function.

    Args:
      batch: a PyTree of NumPy arrays of shape (rows here, …), the same shapes in every process.
      mesh: the devices of all processes.
      axis_name: the mesh axis along which the batch is split; by default, the first axis.

    Returns:
      The same PyTree with leaves of shape (rows here × processes, …), in the order of the mesh.

    Raises:
      ArgumentError: the processes have batches of different shapes or dtypes.
      BatchDivisionError: the rows do not divide evenly among the devices of this process.
      LostProcessError: a batch has new shapes, but another process did not pass a batch with new
        shapes to this function within 300 seconds.

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
    return _rows_of_all(batch, mesh, axis_name or mesh.axis_names[0])


def _rows_of_all(batch: Tree, mesh: Mesh, axis: str) -> Tree:
    sharding = NamedSharding(mesh, PartitionSpec(axis))
    parts = len(sharding.addressable_devices) * mesh.shape[axis] // mesh.size
    if error := division_error(batch, parts):
        raise error
    if _is_of_all(mesh):
        _check_same_rows(leaves_by_path(batch=batch))
    put = functools.partial(jax.make_array_from_process_local_data, sharding)
    return jax.tree.map(put, batch)


def _check_same_rows(leaves: dict[str, Any]) -> None:
    """Reject a batch that is not of the same kind in all processes, in each of them.

    They ask where the kind changes, and the first difference is a change in one of them at least.
    """
    number, kinds = next(_batches), {path: describe(leaf) for path, leaf in leaves.items()}
    if kinds != _last_kinds:
        everywhere = gathered([number, kinds])
        if error := arguments.batches_differ(everywhere):
            are_in_step = all(other == number for other, _kinds in everywhere)
            raise in_all(error) if are_in_step else error  # else an update never ends
        _last_kinds.clear()
        _last_kinds.update(kinds)


def shard_update(
    update: StepFn[T, R], mesh: Mesh, axis_name: str | None = None, *, rule: Rule | None = None
) -> Runner[T, R]:
    """Run an update step on a mesh as if it were one device: ``jit`` shards the work.

    The step is the same as on a single device: its means are taken over the whole batch, so
    gradients and statistics need no axis names, and one random key serves all rows. The compiler
    inserts the communication.

    With JAX 0.4 and a mesh with several axes, the step draws random numbers that differ from those
    on one device, unless ``jax_threefry_partitionable`` is set, which is the default in JAX 0.5 and
    later.

    Args:
      update: a step from :func:`make_update` or :func:`make_evaluate`.
      mesh: the mesh of devices to run on.
      axis_name: the mesh axis along which the batch is split; by default, the first axis.
      rule: the rule by which ``run.place`` places the train state; see :func:`shard_train_state`.

    Returns:
      ``run(train_state, batch) -> (train_state, metrics)``. The train state is placed by
      ``run.place``, as :func:`shard_train_state` does, and keeps its placement; the batch has
      leaves of shape (rows, …), and the metrics are on every device. The train state is donated, as
      in :func:`jit_update`.

    Raises:
      ArgumentError: ``mesh`` is not a mesh, has no axis ``axis_name`` or has explicit axes; also
        when ``run`` is called, if the train state does not have the structure of the first train
        state, or if the batch was placed differently.
      MeshPlacementError: when ``run`` is first called, if the train state was placed elsewhere than
        on ``mesh``.
      SharedBufferError: when ``run`` is called, if two leaves of the train state share one array.
      BatchDivisionError: when ``run`` is called, if the devices cannot share the rows equally.
      DonatedBufferError: when ``run`` is called, if an earlier call has consumed the train state.

    Example:
      >>> import jax, jax.numpy as jnp, numpy as np
      >>> from haiku_state import data_mesh, shard_update
      >>> def step(total, batch, *, axis_name=None):
      ...     return total + batch["x"].mean(), {}
      >>> run = shard_update(step, data_mesh(jax.devices()[:1]))
      >>> total = run.place(jnp.float32(1))
      >>> total, metrics = run(total, run.feed({"x": np.arange(4, dtype=np.float32)}))
      >>> print(run.one(total))
      2.5

    References:
      JAX's documentation, `Distributed arrays and automatic parallelization
      <https://docs.jax.dev/en/latest/201/sharding.html>`__; `JAX issue 21232
      <https://github.com/jax-ml/jax/issues/21232>`__, on random numbers.
    """
    if error := arguments.mesh(mesh, axis_name):
        raise error
    return _on_mesh(update, mesh, axis_name or mesh.axis_names[0], rule)


def shard_map_update(
    update: StepFn[T, R],
    mesh: Mesh,
    axis_name: str | None = None,
    *,
    check_replicas: bool = True,
) -> Runner[T, R]:
    """Run an update step on each device of a mesh, with the collectives written out.

    On each device, the step sees only its own rows. The step averages gradients and metrics over
    the mesh axis, as :func:`make_update` does, and the modules must average their state over the
    same axis through their ``cross_replica_axis``.

    ``shard_map`` runs with its replication check turned off. If the check is on, JAX 0.6 and later
    have already summed the gradient of a local loss over the devices, so that averaging this
    gradient would give a result that is too large by a factor of the number of devices.

    Args:
      update: a step from :func:`make_update` or :func:`make_evaluate`.
      mesh: the mesh of devices to run on.
      axis_name: the mesh axis along which the batch is split; by default, the first axis.
      check_replicas: whether to check after the first call that the devices' copies are still
        equal.

    Returns:
      ``run(train_state, batch) -> (train_state, metrics)``, which takes and returns the same values
      as the runner from :func:`shard_update`.

    Raises:
      ArgumentError: ``mesh`` is not a mesh, has no axis ``axis_name`` or has explicit axes; also
        when ``run`` is called, if the train state does not have the structure of the first train
        state, or if the batch was placed differently.
      MeshPlacementError: when ``run`` is first called, if a leaf is not copied to every device.
      SharedBufferError: when ``run`` is called, if two leaves of the train state share one array.
      BatchDivisionError: when ``run`` is called, if the devices cannot share the rows equally.
      ReplicaMismatchError: if the copies are no longer equal after the first call to ``run``.
      DonatedBufferError: when ``run`` is called, if an earlier call has consumed the train state.

    Example:
      >>> import jax, jax.numpy as jnp, numpy as np
      >>> from haiku_state import data_mesh, shard_map_update
      >>> def step(total, batch, *, axis_name=None):
      ...     return total + jax.lax.pmean(batch["x"].mean(), axis_name), {}
      >>> run = shard_map_update(step, data_mesh(jax.devices()[:1]))
      >>> total = run.place(jnp.float32(1))
      >>> total, metrics = run(total, run.feed({"x": np.arange(4, dtype=np.float32)}))
      >>> print(run.one(total))
      2.5

    References:
      JAX's documentation, `Manual parallelism with shard_map
      <https://docs.jax.dev/en/latest/201/shard-map.html>`__.
    """
    if error := arguments.mesh(mesh, axis_name):
        raise error
    axis_name = axis_name or mesh.axis_names[0]
    copies, rows = PartitionSpec(), PartitionSpec(axis_name)

    def mapped(traced: Callable[..., Any]) -> Any:
        on_each = shard_map(traced, mesh, in_specs=(copies, rows), out_specs=(copies, copies))
        return functools.wraps(traced)(on_each)

    step, options = on_axis(update, axis_name), {"check_replicas": check_replicas}
    return _on_mesh(step, mesh, axis_name, None, mapped, axis_name=axis_name, **options)


def _on_mesh(
    step: StepFn[T, R],
    mesh: Mesh,
    axis: str,
    rule: Rule | None,
    mapped: Callable[[Any], Any] | None = None,
    **options: Any,
) -> Runner[T, R]:
    """Make a runner by ``jit``, with the placement of the first train state for all later ones.

    Args:
      step: what is compiled.
      mesh: the mesh of devices to run on.
      axis: the mesh axis along which the batch is split.
      rule: as in :func:`shard_train_state`.
      mapped: what gives each device its own program, which needs whole copies on all devices.
      options: more fields of the runner.
    """
    first: list[Any] = []  # the structure that the step is compiled for
    on_all, rows = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec(axis))

    def place_of(path: str, leaf: Any) -> Any:
        place = leaf.sharding if is_committed(leaf) else on_all
        on_mesh = isinstance(place, NamedSharding) and place.mesh == mesh
        if not on_mesh or (mapped and not place.is_fully_replicated):
            raise arguments.misplaced(path, leaf, place, mesh)
        return place

    def compile(traced: Callable[..., Any], train_state: T) -> Any:
        leaves = leaves_by_path(train_state=train_state).items()
        structure: Any = jax.tree.structure(train_state)
        first[:] = [structure]
        places = jax.tree.unflatten(structure, [place_of(*named) for named in leaves])
        after = places if consumed(traced) else None
        step = mapped(traced) if mapped else traced
        return donating_jit(step, in_shardings=(places, rows), out_shardings=(after, on_all))

    @outside_mesh
    def one(train_state: T) -> T:
        whole = jax.jit(lambda tree: tree, out_shardings=on_all)(train_state)
        return jax.tree.map(lambda leaf: jnp.copy(leaf.addressable_shards[0].data), whole)

    def explain(train_state: T, batch: Batch) -> Any:
        return (
            division_error(batch, mesh.shape[axis])
            or (first and arguments.other_train_state(train_state, first[0]))
            or arguments.batch_elsewhere(batch, rows)
        )

    return Runner(
        step,
        compile,
        place=lambda train_state: shard_train_state(train_state, mesh, rule),
        feed=lambda batch: _rows_of_all(batch, mesh, axis),
        one=one,
        explain=explain,
        many_devices=True,
        mesh=mesh,
        **options,
    )
