"""What is kept of one leaf at one record of a history: statistics, and what has changed."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

# an array of up to so many elements keeps its values
SMALL = 16


class LeafSummary(NamedTuple):
    """What a :class:`.History` keeps about one leaf in one record.

    The statistics are computed in float64 over the finite elements; for a complex array, over their
    absolute values. A random key has no statistics.

    Example:
      >>> from haiku_state.inside import History
      >>> history = History()
      >>> history.record([3.0, 5.0])
      >>> history[0]["train_state[1]"].mean
      5.0

    References:
      :class:`.History`.
    """

    dtype: str
    """The dtype, such as ``float32`` or ``key<fry>``; ``None`` for a None."""

    shape: tuple[int, ...]
    """The shape; of an array of random keys, that of the array of keys."""

    mean: float | None = None
    """The mean; None if there is no finite element."""

    std: float | None = None
    """The standard deviation, with n in the denominator."""

    min: float | None = None
    """The smallest element."""

    max: float | None = None
    """The largest element."""

    nan: int = 0
    """The number of elements that are NaN."""

    inf: int = 0
    """The number of elements that are infinite."""

    changed: bool | None = None
    """Whether an element, the shape or the dtype differs from the record before; None at first."""

    change: float | None = None
    """The Euclidean norm of the change since the record before, over what is finite in both."""

    values: tuple[Any, ...] | None = None
    """The elements, if there are up to 16; of a random key, the words of its data."""


def is_key(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def summary_of(
    leaf: Any, array: "np.ndarray | None", last: "np.ndarray | None", before: LeafSummary | None
) -> LeafSummary:
    """Put a leaf into a few numbers, with those of the record before to compare."""
    if array is None:
        return LeafSummary("None", (), changed=None if before is None else False)
    is_random = is_key(leaf)
    dtype, shape = str(leaf.dtype) if is_random else str(array.dtype), np.shape(leaf)
    changed = change = None
    with np.errstate(over="ignore", invalid="ignore"):
        wide = _wide(array)
        if before is not None:
            same_type = (dtype, shape) == (before.dtype, before.shape)
            changed = not (same_type and last is not None and _equal(array, last))
            if last is not None and last.shape == array.shape and not is_random:
                change = _distance(wide, _wide(last)) if changed else 0.0
        numbers = (
            {} if is_random else _statistics(np.abs(wide) if array.dtype.kind == "c" else wide)
        )
    values = tuple(array.reshape(-1).tolist()) if array.size <= SMALL else None
    return LeafSummary(dtype, shape, changed=changed, change=change, values=values, **numbers)


def _wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64).reshape(-1)


def _statistics(sizes: np.ndarray) -> dict[str, Any]:
    """Return the statistics of what is finite, and how many elements are not."""
    finite, counts = sizes, {}
    if not np.isfinite(sizes.sum()):  # a sum that is too large only costs time
        finite = sizes[np.isfinite(sizes)]
        nan = int(np.isnan(sizes).sum())
        counts = {"nan": nan, "inf": sizes.size - finite.size - nan}
    if not finite.size:
        return counts
    low, high, mean = float(finite.min()), float(finite.max()), float(finite.mean())
    return counts | {"mean": mean, "std": float(finite.std()), "min": low, "max": high}


def _equal(array: np.ndarray, last: np.ndarray) -> bool:
    if array.tobytes() == last.tobytes():
        return True
    is_same = array == last
    if array.dtype.kind not in "biu":
        is_same |= (array != array) & (last != last)  # a NaN that was one before
    return bool(np.all(is_same))


def _distance(wide: np.ndarray, last: np.ndarray) -> float:
    change = wide - last
    norm = np.linalg.norm(change)
    return float(norm if np.isfinite(norm) else np.linalg.norm(change[np.isfinite(change)]))
