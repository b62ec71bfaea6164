"""Trees of arrays as text: what a learner's process tells the checker, and never code."""

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np

Tree = dict[str, "Leaf"]


@dataclass(frozen=True)
class Leaf:
    """One leaf: an array, or in place of it a text that says what it is.

    Args:
      array: its numbers; those of a random key, for a key.
      dtype: the name of its dtype.
      weak: whether its dtype is weak.
      text: for a string, or for what is not an array.
    """

    array: Any = None
    dtype: str = ""
    weak: bool = False
    text: str = ""


def flat(tree: Any) -> Tree:
    """Return the leaves of a tree by their paths; None is a leaf too, a NamedTuple is a tuple."""
    import jax  # late: the checker reads leaves, and has no need of it

    tree = _plain(tree)
    pairs = jax.tree_util.tree_flatten_with_path(tree, is_leaf=lambda node: node is None)[0]
    return {jax.tree_util.keystr(path): _leaf(value) for path, value in pairs}


def _plain(tree: Any) -> Any:
    if isinstance(tree, tuple):
        return tuple(map(_plain, tree))
    if type(tree) in (list, dict):
        values = tree.values() if isinstance(tree, dict) else tree
        plain = list(map(_plain, values))
        return dict(zip(tree, plain, strict=True)) if isinstance(tree, dict) else plain
    return tree


def _leaf(value: Any) -> Leaf:
    import jax
    import jax.numpy as jnp

    if isinstance(value, jax.core.Tracer):
        return Leaf(text="a tracer")
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return Leaf(np.asarray(jax.random.key_data(value)), str(value.dtype))
    if isinstance(value, jax.Array):
        if value.is_deleted():
            return Leaf(text="a deleted array")
        weak = bool(getattr(value.aval, "weak_type", False))
        return Leaf(np.asarray(value), str(value.dtype), weak)
    if type(value) in (bool, int, float, complex):
        array = np.asarray(value)
        return Leaf(array, str(jax.dtypes.canonicalize_dtype(array.dtype)), True)
    if isinstance(value, np.generic) or type(value) is np.ndarray:
        return Leaf(np.asarray(value), str(value.dtype))
    if type(value) is str:
        return Leaf(text=repr(value))
    return Leaf(text="None" if value is None else f"an object of type {type(value).__name__}")


def encoded(tree: Tree) -> list[Any]:
    """Return the leaves as what JSON can hold."""
    return [[path, *_encoded(leaf)] for path, leaf in tree.items()]


def _encoded(leaf: Leaf) -> list[Any]:
    if leaf.array is None:
        return [leaf.text]
    # bfloat16 and its like are no dtypes of NumPy, and each of their values is one of float32
    array = leaf.array if leaf.array.dtype.kind in "biufc" else leaf.array.astype(np.float32)
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return [leaf.dtype, leaf.weak, array.dtype.str, list(array.shape), data]


def decoded(rows: list[Any]) -> Tree:
    """Return the leaves that :func:`encoded` has written."""
    return {str(path): _decoded(rest) for path, *rest in rows}


def _decoded(row: list[Any]) -> Leaf:
    if len(row) == 1:
        return Leaf(text=str(row[0]))
    dtype, weak, stored, shape, data = row
    array = np.frombuffer(base64.b64decode(data), np.dtype(stored)).reshape(shape)
    return Leaf(array, dtype, weak)
