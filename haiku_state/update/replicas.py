"""Copies of one PyTree on many devices: make them, take one back, keep them equal."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from haiku_state.errors import arguments
from haiku_state.errors.describe import division_error, leaves_by_path
from haiku_state.errors.diagnosis import named_errors
from haiku_state.update.devices import data_mesh, outside_mesh

Tree = TypeVar("Tree")


@outside_mesh
def replicate(
    tree: Tree, devices: Sequence[jax.Device] | None = None, axis_name: str = "devices"
) -> Tree:
    """Copy a PyTree to each device, with a new leading axis for the devices.

    Args:
      tree: a PyTree of arrays or random keys of any shape (…).
      devices: the devices to copy to; by default, the devices of this process.
      axis_name: the name of the device axis, which :func:`pmap_update` will bind.

    Returns:
      The same PyTree with leaves of shape (devices, …), where copy ``i`` is on device ``i``.

    Raises:
      ArgumentError: ``devices`` is a name or a number, or the tree is already on several devices.
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
    # from wherever they are: pmap of JAX 0.8 takes no array that is committed to other devices
    everywhere = NamedSharding(data_mesh(devices), PartitionSpec())
    with named_errors(train_state=tree):
        return copy(np.arange(len(devices)), jax.device_put(tree, everywhere))


@outside_mesh
def unreplicate(tree: Tree) -> Tree:
    """Return the first replica, without the device axis.

    Args:
      tree: a PyTree with leaves of shape (devices, …), in which all replicas are equal.

    Returns:
      The same PyTree with leaves of shape (…), on one device.

    Raises:
      LeadingAxisError: the leaves do not all have a leading axis of the same length.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from haiku_state import replicate, unreplicate
      >>> unreplicate(replicate({"w": jnp.ones(3)}, jax.devices()[:1]))["w"].shape
      (3,)

    References:
      The inverse of :func:`replicate`.
    """
    if error := arguments.replicas_axis(tree=tree):
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
      num_devices: the number of devices, which must divide the number of rows evenly.

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
      atol: the largest absolute difference that is allowed between replicas.
      axis_name: the name of the device axis, which appears in the advice of the error message.

    Raises:
      ArgumentError: a leaf is a tracer.
      ReplicaMismatchError: the replicas differ; the error names the leaves and their differences.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state import assert_replicas_equal
      >>> assert_replicas_equal({"w": jnp.ones((4, 3))})

    References:
      Chex's documentation, `assert_tree_all_close
      <https://chex.readthedocs.io/en/latest/api.html>`__, which compares two trees.
    """
    spreads: dict[str, float] = {}
    for path, leaf in leaves_by_path(**{"": tree}).items():
        if isinstance(leaf, jax.core.Tracer):
            raise arguments.traced_replicas(path)
        apart = [_spread(first, each) for first, others in _copies(path, leaf) for each in others]
        spreads[path] = max(apart, default=0.0, key=lambda spread: (spread != spread, spread))
    drifted = {path: spread for path, spread in spreads.items() if not spread <= atol}
    if drifted:
        raise arguments.replicas_differ(drifted, axis_name)


@outside_mesh
def sync_state(state: Tree) -> Tree:
    r"""Replace each replica's state with the mean over the replicas.

    .. math:: \bar{s} = \frac{1}{N} \sum_{i=1}^{N} s_i

    If the modules do not average their state over the devices, the replicas drift apart. Call this
    function before evaluation and before saving to make them equal. They are still not correct,
    because the mean of the devices' variances lacks the variance between the devices' means.

    Args:
      state: a PyTree with leaves of shape (devices, …). Integer leaves are counts and must
        be equal on all replicas.

    Returns:
      The same PyTree, with the same shapes, dtypes and placement.

    Raises:
      LeadingAxisError: the leaves do not all have a leading axis of the same length.
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
    if error := arguments.replicas_axis(state=state):
        raise error
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


def _copies(path: str, leaf: Any) -> list[tuple[Any, list[Any]]]:
    """Return the first replica of a leaf and the others, for each part with copies of its own.

    A CPU device shares its memory with NumPy; any other device sends its copy.
    """
    leaf = jnp.asarray(leaf)
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    parts, stacks = defaultdict(list), defaultdict(list)
    for shard in leaf.addressable_shards:
        values = np.asarray(shard.data)
        values = values.reshape((1,) * (leaf.ndim - values.ndim) + values.shape)  # of an old pmap
        parts[str(shard.index)].append(values)
        stacks[str(shard.index[1:])].append(values)
    place = leaf.sharding
    is_copied = isinstance(place, NamedSharding) and place.is_fully_replicated
    if is_copied or any(len(copies) > 1 for copies in parts.values()):
        return [(copies[0], copies[1:]) for copies in parts.values()]
    if error := arguments.replicas_axis(**{path: leaf}):
        raise error
    # no copies: the leading axis tells the replicas apart
    return [(rows[0][:1], rows) for rows in stacks.values()]


def _spread(first: Any, other: Any) -> float:
    """Return how far two arrays are apart, at most; 0 only if they are equal."""
    is_equal = (first == other) | ((first != first) & (other != other))  # or the same NaN
    if np.all(is_equal):
        return 0.0
    kind = complex if np.iscomplexobj(first) else float
    with np.errstate(invalid="ignore"):  # the same infinity
        distance = np.abs(np.asarray(first, kind) - np.asarray(other, kind))
    least = np.finfo(float).tiny  # of large integers, which are the same as floats
    return float(np.max(np.where(is_equal, 0, np.maximum(distance, least))))
