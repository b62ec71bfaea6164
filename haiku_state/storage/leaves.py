"""The leaves of a train state: what a checkpoint records of each, and how each one comes back."""

import functools
from collections import Counter
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.errors import (
    DeviceStackedError,
    DonatedBufferError,
    MissingExtraError,
    arguments,
)
from haiku_state.errors.describe import describe, leaves_by_path, with_dicts


def orbax() -> Any:
    """Import Orbax, or say how to install it."""
    try:
        import orbax.checkpoint
    except ImportError as error:
        raise MissingExtraError(library="orbax-checkpoint", extra="checkpoint") from error
    return orbax.checkpoint


def arrays_of(train_state: Any) -> Any:
    """Return a train state whose leaves are arrays of JAX and random keys.

    Args:
      train_state: a PyTree with a field ``step``.

    Raises:
      DeviceStackedError: the train state has a device axis.
      DonatedBufferError: an update has consumed the train state.
      ArgumentError: a leaf cannot be saved exactly.
    """
    step = step_of(train_state)
    # copies of all devices, and not the members of an ensemble
    is_array = isinstance(step, jax.Array) and not isinstance(step, jax.core.Tracer)
    if np.ndim(step) and is_array and not step.is_fully_replicated:
        raise DeviceStackedError(path="train_state.step", shape=np.shape(step), expected=())
    leaves = leaves_by_path(train_state=train_state)
    names = [".".join(keys) for keys in orbax().tree.to_flat_dict(with_dicts(train_state))]
    counts = Counter(names)  # Orbax would silently keep one of two leaves with the same name
    arrays = []
    for (path, leaf), name in zip(leaves.items(), names, strict=True):
        try:
            array = _exact(leaf)
        except (TypeError, ValueError, OverflowError):
            array = None
        if array is None or counts[name] > 1:
            raise arguments.unsavable_leaf(path, leaf, counts[name] == 1)
        if array.is_deleted():
            raise DonatedBufferError(path=path)
        arrays.append(array)
    return jax.tree.unflatten(jax.tree.structure(train_state), arrays)


def allocated(like: Any) -> Any:
    """Return a train state whose shapes, as ``jax.eval_shape`` gives them, are arrays of zeros."""

    def zeros(leaf: Any) -> Any:
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            return leaf
        array = jax.lax.full(leaf.shape, 0, leaf.dtype)
        return array if leaf.sharding is None else jax.device_put(array, leaf.sharding)

    return jax.tree.map(zeros, like)


def step_of(train_state: Any) -> Any:
    """Return the field ``step`` of a train state, of a dict too; None if it has none."""
    if isinstance(train_state, Mapping):
        return train_state.get("step")
    return getattr(train_state, "step", None)


def _exact(leaf: Any) -> jax.Array:
    """Return a leaf as an array of JAX; raise an error where it would not come back exactly."""
    import tensorstore  # the library that writes Orbax's files

    array = leaf if isinstance(leaf, jax.Array) else jnp.asarray(leaf)
    if isinstance(leaf, jax.core.Tracer) or array.dtype != getattr(leaf, "dtype", array.dtype):
        raise TypeError
    if not _is_key(array):
        tensorstore.dtype(array.dtype.name)
        if array.dtype.name.startswith("float4"):
            raise TypeError  # tensorstore knows the dtype, but no number of it fills a byte
    return array


def data_of(leaf: jax.Array) -> jax.Array:
    """Return the data of a random key, and an array as it is."""
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def to_save(leaf: jax.Array) -> Any:
    """Return the data as Orbax takes it: an array, or one copy of it as a NumPy array.

    Orbax rejects one process's array among several. Of copies on several devices it saves a part
    from each, which fails on JAX 0.6.
    """
    data = data_of(leaf)
    is_copied = data.is_fully_replicated and len(data.sharding.device_set) > 1
    is_of_one_process = jax.process_count() > 1 and data.is_fully_addressable
    return np.asarray(data) if is_copied or is_of_one_process else data


def replaced(leaf: jax.Array, data: Any, weak: bool) -> jax.Array:
    """Return what was saved, in the place of a leaf.

    Args:
      leaf: a leaf of the fresh train state.
      data: what Orbax restored, or None for an array without elements.
      weak: whether the saved leaf had a weak type.

    Returns:
      An array or a random key, with the sharding of the leaf.
    """
    place = data_of(leaf)
    # A copy, which costs a quarter of Orbax's time: jax.device_put may share NumPy's memory, and
    # before JAX 0.6 an update that consumes it can end in "malloc(): unaligned tcache chunk". Each
    # is waited for, because many at once take twice as long.
    array = jnp.array(place if data is None else data).block_until_ready()
    if place.sharding != array.sharding:
        # an array on the default device is not put there: it stays free to move to others
        array = jax.device_put(array, place.sharding)
    if _is_key(leaf):
        return jax.random.wrap_key_data(array, impl=jax.random.key_impl(leaf))
    return _weakened(array) if weak else array


def kinds_of(**trees: Any) -> dict[str, str]:
    """Return the dtype and shape of each leaf, such as ``float32[2,3]``, by its path."""
    leaves = leaves_by_path(**trees)
    return {path: describe(leaf).removeprefix("weak ") for path, leaf in leaves.items()}


def differences(given: Mapping[str, str], wanted: Mapping[str, str]) -> list[str]:
    """Return a line for each path whose saved leaf is not of the wanted kind."""
    changed = [path for path in wanted if path in given and given[path] != wanted[path]]
    return [
        *(f"- {path}" for path in wanted if path not in given),
        *(f"+ {path}" for path in given if path not in wanted),
        *(f"{path}: {given[path]} -> {wanted[path]}" for path in changed),
    ]


def partial_sums(leaf: jax.Array) -> list[jax.Array]:
    r"""Compute what each shard of this process adds to the checksum of a leaf.

    .. math:: c = \sum_i (2 i + 1) \, w_i \mod 2^{32}

    Here :math:`w_i` are the bits of the array's words in C order: one word per element, or
    several of 4 bytes. The sum does not depend on how the array is cut into shards, and a bit
    that flips in any word changes it, because the factor is odd. Each device sums its own shards.
    """
    array = data_of(leaf)
    return [
        _weighted_sum(_in_bytes(shard.data), [rows.start or 0 for rows in shard.index], array.shape)
        for shard in array.addressable_shards
        if shard.replica_id == 0
    ]


def _in_bytes(array: jax.Array) -> Any:
    """Give integers of 2 or 4 bits a byte each, as NumPy stores them.

    NumPy does it, because jitted by jaxlib 0.7.2, a computation with 2 bits gives wrong numbers.
    """
    is_small = array.dtype.itemsize == 1 and array.dtype.name not in ("int8", "uint8")
    if not is_small or not jnp.issubdtype(array.dtype, jnp.integer):
        return array
    is_signed = jnp.issubdtype(array.dtype, jnp.signedinteger)
    return np.asarray(array).astype(np.int8 if is_signed else np.uint8)


@functools.partial(jax.jit, static_argnames="shape")
def _weighted_sum(data: jax.Array, starts: list[int], shape: tuple[int, ...]) -> jax.Array:
    words = _words(data)
    place = jnp.zeros((), jnp.uint32)  # in C order, of the whole array
    for axis, (start, length) in enumerate(
        zip([*starts, 0], (*shape, words.shape[-1]), strict=True)
    ):
        along = jax.lax.broadcasted_iota(jnp.uint32, words.shape, axis)
        place = place * np.uint32(length) + along + jnp.asarray(start).astype(jnp.uint32)
    return jnp.sum(words * (2 * place + 1), dtype=jnp.uint32)


def _words(array: jax.Array) -> jax.Array:
    """Return the bits of an array as uint32, with a new last axis for the words of an element."""
    if jnp.iscomplexobj(array):
        return jnp.concatenate([_words(array.real), _words(array.imag)], axis=-1)
    array = array.astype(np.uint8) if array.dtype == bool else array
    size = array.dtype.itemsize
    words = jax.lax.bitcast_convert_type(array, {1: jnp.uint8, 2: jnp.uint16}.get(size, jnp.uint32))
    return (words if size == 8 else words[..., None]).astype(jnp.uint32)


def _is_key(leaf: jax.Array) -> bool:
    return bool(jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key))


@jax.jit
def _weakened(array: jax.Array) -> jax.Array:
    number = jnp.asarray(array.dtype.type(0).item())  # weak, as every Python number
    return jnp.broadcast_to(number, array.shape).at[...].set(array)
