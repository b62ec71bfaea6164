"""A train state as a list of leaves: what a checkpoint records of each, and how one comes back."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.checkpoint.processes import Array, whole
from haiku_state.errors import DeviceStackedError, DonatedBufferError
from haiku_state.errors.base import as_lines
from haiku_state.errors.checkpoints import CheckpointLeafError


class Kind(NamedTuple):
    """What a leaf of a checkpoint and a leaf of a train state must have in common."""

    key: str | None
    """The dtype of a random key, ``key<fry>`` say; None for an array."""

    dtype: str
    """The dtype of the array, or of the key's data."""

    shape: tuple[int, ...]
    """The shape of the array, or of the key's data."""

    def __str__(self) -> str:
        shape = self.shape[:-1] if self.key else self.shape
        return f"{self.key or self.dtype}[{','.join(map(str, shape))}]"


def leaves_of(train_state: Any, call: str) -> dict[str, Any]:
    """Give the leaves by path, Python numbers as the arrays that JAX makes of them.

    Args:
      train_state: a PyTree with a field ``step``.
      call: the call that is being made, with ``{}`` in the place of the train state.

    Raises:
      DeviceStackedError: the train state has a device axis.
      DonatedBufferError: an update has consumed the train state.
      CheckpointLeafError: it lists the leaves that JAX cannot hold as they are.
    """
    step: Any = getattr(train_state, "step", None)
    if np.ndim(step):
        raise DeviceStackedError(
            path="train_state.step",
            shape=np.shape(step),
            expected=(),
            wrong=call.format("train_state"),
            right=call.format("unreplicate(train_state)"),
        )
    leaves: dict[str, Any] = {}
    refused: list[str] = []
    for keys, leaf in jax.tree_util.tree_leaves_with_path(train_state):
        path = f"train_state{jax.tree_util.keystr(keys)}"
        if path in leaves or not _is_exact(leaf):
            refused.append(f"{path}: {_describe(leaf)}")
        elif isinstance(leaf, jax.Array) and leaf.is_deleted():
            raise DonatedBufferError(path=path)
        else:
            leaves[path] = leaf if hasattr(leaf, "dtype") else jnp.asarray(leaf)
    if refused:
        raise CheckpointLeafError(leaves=as_lines(refused))
    return leaves


def data_of(leaf: Any) -> Any:
    """Give the integers that a random key stands for, and an array as it is."""
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def kind_of(leaf: Any, data: Any) -> Kind:
    """Say what the leaf that takes the place of this one must be, given its data."""
    return Kind(str(leaf.dtype) if _is_key(leaf) else None, str(data.dtype), np.shape(data))


def on_host(leaf: Any) -> Array:
    """Copy the data of a leaf to the host; every process must take part."""
    data = data_of(leaf)
    return whole(data) if isinstance(data, jax.Array) else np.asarray(data)


def restored(data: Array, weak: bool, like: Any) -> jax.Array:
    """Make a leaf of what a checkpoint holds, placed as another leaf is.

    Args:
      data: the array, or the data of the key, whole.
      weak: whether the leaf gives way to the dtype of others, as a Python number does.
      like: the leaf in whose place it comes.

    Returns:
      A JAX array, or a random key, with the sharding of ``like``; on the default device if
      ``like`` is a NumPy array.
    """
    # an array on the default device stays free to move to where a computation needs it
    default = jnp.zeros(()).sharding
    sharding = getattr(data_of(like), "sharding", default)
    if sharding == default:
        array = jnp.array(data)
    else:
        array = jax.make_array_from_callback(data.shape, sharding, data.__getitem__)
    if _is_key(like):
        return jax.random.wrap_key_data(array, impl=jax.random.key_impl(like))
    return _weakened(array) if weak else array


def _weakened(array: jax.Array) -> jax.Array:
    number = jnp.asarray(array.dtype.type(0).item())
    if number.dtype != array.dtype:
        return array
    return jnp.broadcast_to(number, array.shape).at[...].set(array)


def _describe(leaf: Any) -> str:
    if not hasattr(leaf, "dtype"):
        return type(leaf).__name__
    return f"{leaf.dtype}[{','.join(map(str, np.shape(leaf)))}]"


def _is_key(leaf: Any) -> bool:
    dtype: Any = getattr(leaf, "dtype", None)
    return bool(jnp.issubdtype(dtype, jax.dtypes.prng_key))


def _is_exact(leaf: Any) -> bool:
    if isinstance(leaf, jax.core.Tracer):
        return False
    if isinstance(leaf, np.ndarray | np.generic):
        known = jnp.issubdtype(leaf.dtype, np.number) or leaf.dtype == bool
        return bool(known) and jax.dtypes.canonicalize_dtype(leaf.dtype) == leaf.dtype
    if isinstance(leaf, int):
        limits = np.iinfo(jnp.result_type(int))
        return int(limits.min) <= leaf <= int(limits.max)
    return isinstance(leaf, jax.Array | float | complex)
