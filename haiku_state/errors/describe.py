"""How error texts name the leaves of a PyTree."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.compat import is_live
from haiku_state.errors.base import ArgumentError, HaikuStateError, as_lines
from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import translated
from haiku_state.errors.state import DeviceStackedError, LeakedTracerError
from haiku_state.errors.updates import (
    BatchDivisionError,
    DonatedBufferError,
    LeadingAxisError,
    SharedBufferError,
)

Leaves = dict[str, Any]


def leaves_by_path(**trees: Any) -> Leaves:
    """Return the leaves of PyTrees by path; each path starts with the name of its tree."""
    return {
        f"{name}{jax.tree_util.keystr(path)}": leaf
        for name, tree in trees.items()
        for path, leaf in jax.tree_util.tree_leaves_with_path(with_dicts(tree))
    }


def with_dicts(tree: Any) -> Any:
    """Return a PyTree in which all other mappings are replaced by dicts.

    JAX knows no names in an ``hk.data_structures.FlatMap``, such as old pickles hold. The leaves
    keep their order. A dataclass that is a mapping, as ``chex.dataclass`` makes it, has names.
    """

    def is_other(node: Any) -> bool:
        is_named = isinstance(node, dict) or dataclasses.is_dataclass(node)
        return isinstance(node, Mapping) and not is_named

    def as_dict(node: Any) -> Any:
        if not is_other(node):
            return node
        return {name: with_dicts(node[name]) for name in node}

    return jax.tree.map(as_dict, tree, is_leaf=is_other)


def describe(leaf: Any) -> str:
    """Write the dtype and shape of a leaf, as in ``float32[8,3]``."""
    if not hasattr(leaf, "dtype") and not isinstance(leaf, int | float | complex):
        return type(leaf).__name__
    weak = "weak " if is_weak(leaf) else ""
    dtype = getattr(leaf, "dtype", None) or jnp.result_type(leaf)
    return f"{weak}{dtype}[{','.join(map(str, np.shape(leaf)))}]"


def describe_tree(tree: Any) -> str:
    """Write a PyTree with a description in place of each leaf."""
    # the descriptions stand for arrays, so they lose their quotes
    return re.sub(r"'((weak )?\w+(\[[\d,]*\])?)'(?!:)", r"\1", str(jax.tree.map(describe, tree)))


def is_weak(leaf: Any) -> bool:
    """Return whether a leaf has a weak type, as a Python number has."""
    return type(leaf) in (int, float, complex) or bool(getattr(leaf, "weak_type", False))


def is_key(value: Any) -> bool:
    """Return whether a value is a random key, of the new or the old style."""
    dtype = getattr(value, "dtype", None)
    return dtype == np.uint32 or (dtype is not None and jnp.issubdtype(dtype, jax.dtypes.prng_key))


def shape_error(
    path: str, shape: tuple[int, ...], expected: tuple[int, ...], is_stacked: bool
) -> HaikuStateError:
    """Make the error for params or state that do not have the shape that a module asks for.

    Args:
      path: the leaf's path, such as ``params['linear']['w']``.
      shape: its shape.
      expected: the shape that the module asks for.
      is_stacked: whether the leaves beside it have one more axis too.

    Returns:
      The error, to be raised: a :class:`DeviceStackedError` if the first axis is what is extra.
    """
    if shape[1:] == expected and is_stacked:
        return DeviceStackedError(path=path, shape=shape, expected=expected)
    return ArgumentError(
        argument=path,
        value=shape,
        expected=expected,
        why=_(
            "init determines all shapes from the features of its inputs and the arguments of the "
            "module: both must be the same in apply"
        ),
        more="haiku/pure_pair",
    )


def leaked_error(leaves: Leaves) -> LeakedTracerError | None:
    """Find the leaves that are tracers of a transformation that has ended.

    Args:
      leaves: the leaves by path.

    Returns:
      The error, to be raised; None if there are none.
    """
    tracers = {path: leaf for path, leaf in leaves.items() if isinstance(leaf, jax.core.Tracer)}
    leaked = [path for path, tracer in tracers.items() if not is_live(tracer)]
    return LeakedTracerError(paths=as_lines(leaked)) if leaked else None


def consumed_error(**trees: Any) -> DonatedBufferError | None:
    """Find the first leaf whose memory an update has reused.

    Args:
      trees: the PyTrees by name.

    Returns:
      The error, to be raised; None if there is no such leaf.
    """
    if not any(map(_is_consumed, jax.tree.leaves(trees))):
        return None
    leaves = leaves_by_path(**trees)
    return DonatedBufferError(path=next(path for path in leaves if _is_consumed(leaves[path])))


def shared_error(**trees: Any) -> SharedBufferError | None:
    """Find the leaves that share their memory, which an update could reuse only once.

    Args:
      trees: the PyTrees by name.

    Returns:
      The error, to be raised; None if each array has memory of its own.
    """
    paths: dict[Any, list[str]] = {}
    for path, leaf in leaves_by_path(**trees).items():
        if isinstance(leaf, jax.Array) and not isinstance(leaf, jax.core.Tracer) and leaf.size:
            paths.setdefault(_memory_of(leaf), []).append(path)
    shared = [" = ".join(same) for same in paths.values() if len(same) > 1]
    return SharedBufferError(paths=as_lines(shared)) if shared else None


def leading_axis_error(
    trees: dict[str, Any], length: int | None = None, **texts: str
) -> LeadingAxisError | None:
    """Find the first leaf whose leading axis is missing, or is not as long as it must be.

    Args:
      trees: the PyTrees by name.
      length: the right length; by default, that of all other leaves.
      texts: ``why``, what the axis is for, and ``more``.

    Returns:
      The error, to be raised; None if all leaves have the axis.
    """
    shapes = {path: np.shape(leaf) for path, leaf in leaves_by_path(**trees).items()}
    first, *_others = shapes or ("",)
    for path, shape in shapes.items():
        if not shape:
            problem = translated(_("it must have a leading axis"))
        elif length is not None and shape[0] != length:
            problem = translated(_("its leading axis must have length {length}"))
        elif length is None and shape[0] != shapes[first][0]:
            problem = translated(_("{other} has shape {others}: their leading axes differ"))
        else:
            continue
        problem = problem.format(length=length, other=first, others=shapes[first])
        return LeadingAxisError(path=path, shape=shape, problem=problem, **texts)
    return None


def number_error(more: str = "api/data", /, **trees: Any) -> ArgumentError | None:
    """Find the first leaf without numbers, such as a string, a generator or a shape.

    Args:
      more: the page to read more on.
      trees: the PyTrees by name.

    Returns:
      The error, to be raised; None if all leaves are numbers or arrays of numbers.
    """
    for path, leaf in leaves_by_path(**trees).items():
        why = ""
        if isinstance(leaf, jax.ShapeDtypeStruct):
            why = _(
                "a shape holds no numbers to compute with: to call a function with shapes only, "
                "use jax.eval_shape"
            )
        elif isinstance(leaf, Iterator):
            why = _(
                "a call takes a single batch: write a loop that takes the batches from the iterator"
            )
        elif not _has_numbers(leaf):
            why = _(
                "JAX computes only with numbers: convert labels, times and other objects to numbers"
            )
        if why:
            expected = _("an array of numbers")
            return ArgumentError(
                argument=path, value=describe(leaf), expected=expected, why=why, more=more
            )
    return None


def _has_numbers(leaf: Any) -> bool:
    if isinstance(leaf, np.ndarray | np.generic):
        return leaf.dtype.kind not in "OSUMm"
    is_array = hasattr(leaf, "__array__") or hasattr(leaf, "__jax_array__")
    return is_array or isinstance(leaf, jax.Array | bool | int | float | complex)


def division_error(batch: Any, parts: int, **texts: str) -> HaikuStateError | None:
    """Make the error for a batch whose rows do not divide evenly.

    Args:
      batch: a PyTree with leaves of shape (rows, …).
      parts: the number of devices, or of different parts.
      texts: ``kind`` and ``why``, for different parts.

    Returns:
      The error, to be raised; None if the rows divide.
    """
    if error := number_error(batch=batch):
        return error
    leaves = leaves_by_path(batch=batch)
    for path, leaf in leaves.items():
        if not np.ndim(leaf):
            return ArgumentError(
                argument=path,
                value=describe(leaf),
                expected=_("an array with an entry for each row"),
                why=_(
                    "every leaf of a batch is divided by rows, but a single number has no rows: "
                    "repeat the number for each row, keep it out of the batch, or turn a list of "
                    "numbers into an array"
                ),
                more="api/data",
            )
    why = _("row i of every array must belong to the same example")
    if unequal := leading_axis_error({"batch": batch}, why=why, more="api/data"):
        return unequal
    rows = next((np.shape(leaf)[0] for leaf in leaves.values()), parts)
    return (
        None if rows and rows % parts == 0 else BatchDivisionError(rows=rows, parts=parts, **texts)
    )


def _memory_of(array: jax.Array) -> Any:
    """Return where an array begins; two arrays are different objects even if they share memory."""
    if array.is_deleted():
        return id(array)
    if jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
        array = jax.random.key_data(array)
    shard = array.addressable_shards[0]
    return shard.device, shard.data.unsafe_buffer_pointer()


def _is_consumed(leaf: Any) -> bool:
    is_array = isinstance(leaf, jax.Array) and not isinstance(leaf, jax.core.Tracer)
    return is_array and leaf.is_deleted()
