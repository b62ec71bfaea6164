"""Several processes that act as one: each hears what the others hold or have found."""

import contextlib
import json
from collections.abc import Iterator
from typing import Any, TypeAlias

import jax
import numpy as np

from haiku_state.errors import HaikuStateError

Array: TypeAlias = np.ndarray[Any, Any]

_WORD = np.dtype(np.uint32)


@contextlib.contextmanager
def agreed() -> Iterator[None]:
    """Raise in every process what one of them raises inside, so that none waits for it."""
    error: Exception | None = None
    try:
        yield
    except Exception as found:
        if jax.process_count() == 1:
            raise
        error = found
    if jax.process_count() > 1:
        reports = tell_all("" if error is None else _encode(error))
        if error is not None:
            raise error
        for report in filter(None, reports):
            raise _decode(report)


def tell_all(text: str) -> list[str]:
    """Give each process the texts of all of them, in their order."""
    if jax.process_count() == 1:
        return [text]
    from jax.experimental import multihost_utils

    data = np.frombuffer(text.encode(), np.uint8)
    lengths = multihost_utils.process_allgather(np.array(data.size, np.int32)).ravel()
    room = 1 << int(max(lengths.max(), 1) - 1).bit_length()  # few shapes, few compilations
    texts = multihost_utils.process_allgather(np.pad(data, (0, room - data.size)))
    return [bytes(row[:length]).decode() for row, length in zip(texts, lengths, strict=True)]


def from_first(array: Array | None, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Give each process the array of the first one, the same bits."""
    if jax.process_count() == 1:
        assert array is not None
        return array
    from jax.experimental import multihost_utils

    size = int(np.prod(shape)) * dtype.itemsize
    words = np.zeros(-(-size // _WORD.itemsize), _WORD)
    if array is not None:
        words.view(np.uint8)[:size] = as_bytes(array)
    # it sums over processes, all but one of which give zeros: exact in integers only
    words = np.asarray(multihost_utils.broadcast_one_to_all(words)).astype(_WORD)
    return words.view(np.uint8)[:size].view(dtype).reshape(shape)


def whole(leaf: jax.Array) -> Array:
    """Copy an array to the host, the parts that lie in other processes too."""
    if leaf.is_fully_addressable or leaf.is_fully_replicated:
        return np.asarray(leaf)
    from jax.experimental import multihost_utils

    return np.asarray(multihost_utils.process_allgather(leaf, tiled=True))


def as_bytes(array: Array) -> Array:
    """Give the bytes of an array of any dtype in C order, of shape (bytes,)."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _encode(error: Exception) -> str:
    if not isinstance(error, HaikuStateError):
        return json.dumps(["", f"process {jax.process_index()}: {error!r}"])
    values = {name: str(value) for name, value in error.values.items()}
    return json.dumps([type(error).__name__, values])


def _decode(report: str) -> Exception:
    name, values = json.loads(report)
    kinds = {kind.__name__: kind for kind in HaikuStateError.__subclasses__()}
    return kinds[name](**values) if name in kinds else RuntimeError(values)
