"""Copies of one PyTree on many devices: make them, take one back, keep them equal."""

from collections.abc import Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from haiku_state.errors import arguments
from haiku_state.errors.describe import division_error, leaves_by_path
from haiku_state.errors.diagnosis import named_errors
from haiku_state.update.devices import outside_mesh

Tree = TypeVar("Tree")


@outside_mesh
def replicate(
    tree: Tree, devices: Sequence[jax.Device] | None = None, axis_name: str = "devices"
) -> Tree:
    """Copy a PyTree to each device, under a new leading axis.

    Args:
      tree: a PyTree of arrays or random keys, each leaf of shape (…).
      devices: the devices; by default, the devices of this process.
      axis_name: the name of the device axis, which :func:`pmap_update` will bind.

    Returns:
      The same PyTree with leaves of shape (devices, …), copy ``i`` on device ``i``.

    Raises:
      ArgumentError: ``devices`` is a name or a number, or the tree lies on several devices already.
      DonatedBufferError: an update has consumed the tree.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from haiku_state import replicate
      >>> replicate({"w": jnp.ones(3)}, jax.devices()[:1])["w"].shape
      (1, 3)

    References:
      JAX's documentation, `Migrating to the new jax.pmap
      <https://docs.jax.dev/en/latest/migrate_pmap.html>`__.
    """
    if error := arguments.devices(devices, "replicate(…, {})"):
        raise error
    if error := arguments.copied_already(tree):
        raise error
    devices = jax.local_devices() if devices is None else devices
    # by pmap itself, so that the copies are where every JAX expects them: no second trace
    copy = jax.pmap(lambda _, tree: tree, axis_name=axis_name, in_axes=(0, None), devices=devices)
    with named_errors(train_state=tree):
        return copy(np.arange(len(devices)), jax.tree.map(jnp.asarray, tree))


@outside_mesh
def unreplicate(tree: Tree) -> Tree:
    """Take the first replica, without the device axis.

    Args:
      tree: a PyTree with leaves of shape (devices, …), all replicas equal.

    Returns:
      The same PyTree with leaves of shape (…), on one device.

    Raises:
      LeadingAxisError: the leaves do not share one leading axis.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from haiku_state import replicate, unreplicate
      >>> unreplicate(replicate({"w": jnp.ones(3)}, jax.devices()[:1]))["w"].shape
      (3,)

    References:
      The inverse of :func:`replicate`.
    """
    if error := arguments.replicas_axis(tree):
        raise error

    def first(leaf: Any) -> jax.Array:
        leaf = jnp.asarray(leaf)
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            # looking at a key does not use it up, though JAX's key-reuse check would say so
            data, impl = jax.random.key_data(leaf), jax.random.key_impl(leaf)
            return jax.random.wrap_key_data(first(data), impl=impl)
        # the index alone may leave a copy on every device
        return jax.device_put(leaf[0], leaf.addressable_shards[0].device)

    return jax.tree.map(first, tree)


@outside_mesh
def split_batch(batch: Tree, num_devices: int) -> Tree:
    """Split the batch into equal parts, one for each device, in order.

    Args:
      batch: a PyTree with leaves of shape (rows, …).
      num_devices: the number of devices; it must divide the rows.

    Returns:
      The same PyTree with leaves of shape (devices, rows / devices, …).

    Raises:
      BatchDivisionError: the rows do not divide evenly among the devices.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state import split_batch
      >>> split_batch({"x": jnp.arange(6)}, 2)["x"].tolist()
      [[0, 1, 2], [3, 4, 5]]

    References:
      JAX's documentation, `jax.pmap
      <https://docs.jax.dev/en/latest/_autosummary/jax.pmap.html>`__.
    """
    if error := division_error(batch, num_devices):
        raise error

    def split(leaf: Any) -> Any:
        return leaf.reshape(num_devices, len(leaf) // num_devices, *leaf.shape[1:])

    return jax.tree.map(split, batch)


@outside_mesh
def assert_replicas_equal(tree: Any, atol: float = 0.0, axis_name: str = "devices") -> None:
    r"""Check that all replicas hold the same numbers.

    .. math:: \max_i |x_i - x_1| \le \mathrm{atol} \quad \forall x \in \mathrm{tree}

    Args:
      tree: a PyTree with leaves of shape (devices, …); or a PyTree of arrays on a mesh, whose
        copies on the devices of this process are compared.
      atol: the largest difference allowed, in the unit of the leaf.
      axis_name: the name of the device axis, for the advice in the error.

    Raises:
      ArgumentError: a leaf is traced.
      ReplicaMismatchError: the replicas differ; the error names each leaf that drifted and by how
        much.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state import assert_replicas_equal
      >>> assert_replicas_equal({"w": jnp.ones((4, 3))})

    References:
      Chex's documentation, `assert_tree_all_close
      <https://chex.readthedocs.io/en/latest/api.html>`__, which compares two trees.
    """
    on_devices: dict[Any, list[tuple[str, jax.Array]]] = {}  # one program for each set of devices
    for path, leaf in leaves_by_path(**{"": tree}).items():
        if isinstance(leaf, jax.core.Tracer):
            raise arguments.traced_replicas(path)
        for stack in _stacked(jnp.asarray(leaf)):
            on_devices.setdefault(frozenset(stack.devices()), []).append((path, stack))
    spreads: dict[str, float] = {}
    for named in on_devices.values():
        paths, stacks = zip(*named, strict=True)
        for path, spread in zip(paths, jax.device_get(_spreads(stacks)), strict=True):
            spreads[path] = max(float(spread), spreads.get(path, 0.0))
    drifted = {path: spread for path, spread in spreads.items() if not spread <= atol}
    if drifted:
        raise arguments.replicas_differ(drifted, axis_name)


@outside_mesh
def sync_state(state: Tree) -> Tree:
    r"""Replace each replica's state with the mean over the replicas.

    .. math:: \bar{s} = \frac{1}{N} \sum_{i=1}^{N} s_i

    This is for state that drifted because no axis name averaged it: call it before evaluation and
    before saving. It makes the replicas equal but not correct, because the mean of the devices'
    variances still lacks the variance between the devices' means.

    Args:
      state: a PyTree with leaves of shape (devices, …). Integer leaves are counts and must
        be equal on all replicas.

    Returns:
      The same PyTree, with the same shapes, dtypes and placement.

    Raises:
      ReplicaMismatchError: an integer leaf differs between the replicas.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state import sync_state
      >>> state = sync_state({"mean": jnp.array([1.0, 3.0]), "counter": jnp.array([5, 5])})
      >>> print(state["mean"], state["counter"])
      [2. 2.] [5 5]

    References:
      Chan, Golub and LeVeque, *Algorithms for computing the sample variance*, 1983, for what
      the mean of variances lacks.
    """
    counts = jax.tree.map(lambda leaf: None if _is_float(leaf) else leaf, state)
    assert_replicas_equal(counts)

    def mean(leaf: jax.Array) -> jax.Array:
        if not _is_float(leaf):
            return leaf
        average = jnp.mean(leaf, axis=0, keepdims=True)
        return jax.device_put(jnp.broadcast_to(average, leaf.shape), leaf.sharding)

    return jax.tree.map(mean, state)


def _is_float(leaf: Any) -> bool:
    return bool(jnp.issubdtype(leaf.dtype, jnp.inexact))


def _stacked(leaf: Any) -> list["jax.Array"]:
    """Return the replicas of a leaf, stacked: one stack for each part that has its own copies.

    The stack lies where the copies are, one on each device, so nothing is sent or copied to the
    host.
    """
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    parts: dict[str, list[Any]] = {}
    for shard in leaf.addressable_shards:
        parts.setdefault(str(shard.index), []).append(shard.data)
    if all(len(part) == 1 for part in parts.values()):
        place = leaf.sharding
        if len(parts) == 1 and isinstance(place, NamedSharding) and place.is_fully_replicated:
            return []  # any other copies lie in other processes
        return [leaf]  # no copies: the leading axis tells the replicas apart
    return list(map(_side_by_side, parts.values()))


def _side_by_side(copies: list[jax.Array]) -> jax.Array:
    """Put arrays of several devices together into one, with an entry for each device."""
    devices = np.array([device for copy in copies for device in copy.devices()])
    rows = NamedSharding(Mesh(devices, ("copies",)), PartitionSpec("copies"))
    shape = (len(copies), *copies[0].shape)
    return jax.make_array_from_single_device_arrays(shape, rows, [copy[None] for copy in copies])


@jax.jit
def _spreads(stacks: Any) -> Any:
    """Return for each stack how far its entries are apart, at most; 0 only if they are equal."""

    def spread(stack: jax.Array) -> jax.Array:
        stack = stack.astype(int) if stack.dtype == bool else stack
        first = stack[:1]
        is_equal = (stack == first) | ((stack != stack) & (first != first))  # or the same NaN
        distance = jnp.abs(jnp.maximum(stack, first) - jnp.minimum(stack, first))
        least = np.finfo(np.float32).tiny  # so that only equal numbers have a distance of 0
        distance = jnp.maximum(distance.astype(jnp.float32), least)
        return jnp.max(jnp.where(is_equal, 0, distance), initial=0)

    return [spread(stack) for stack in stacks]
