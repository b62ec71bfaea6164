"""How error texts name the leaves of a PyTree."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.compat import is_live
from haiku_state.errors.base import ArgumentError, HaikuStateError, as_lines
from haiku_state.errors.language import deferred as _
from haiku_state.errors.state import (
    LEAKED_BY_VMAP,
    LEAKED_VALUE,
    DeviceStackedError,
    LeakedTracerError,
)
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
    return re.sub(r"'(\w+(\[[\d,]*\])?)'(?!:)", r"\1", str(jax.tree.map(describe, tree)))


def is_weak(leaf: Any) -> bool:
    """Return whether a leaf has a weak type, as a Python number has."""
    return type(leaf) in (int, float, complex) or bool(getattr(leaf, "weak_type", False))


def is_key(value: Any) -> bool:
    """Return whether a value is a random key, of the new or the old style."""
    dtype = getattr(value, "dtype", None)
    return dtype == np.uint32 or (dtype is not None and jnp.issubdtype(dtype, jax.dtypes.prng_key))


def stacked_error(
    path: str,
    shape: tuple[int, ...],
    expected: tuple[int, ...],
    call: str = "apply(params, state, rng, inputs)",
    **trees: Any,
) -> DeviceStackedError:
    """Make the error for a leaf that has a device axis where one replica belongs.

    Args:
      path: the leaf's path, such as ``state['counter']['count']``.
      shape: its shape.
      expected: the shape of one replica.
      call: the wrong call. In the right one, its ``train_state``, ``params`` and ``state`` are
        unreplicated.
      trees: the trees among these three that the caller has. A tree without a device axis stays as
        it is.

    Returns:
      The error, to be raised.
    """
    stacked = [
        name
        for name in ("train_state", "params", "state")
        if path.startswith(name)
        or all(np.shape(leaf)[:1] == shape[:1] for leaf in jax.tree.leaves(trees.get(name)))
    ]
    right = re.sub(rf"\b({'|'.join(stacked)})\b", r"unreplicate(\1)", call)
    return DeviceStackedError(path=path, shape=shape, expected=expected, wrong=call, right=right)


def shape_error(
    path: str, shape: tuple[int, ...], expected: tuple[int, ...], **trees: Any
) -> HaikuStateError:
    """Make the error for params or state that do not have the shape that a module asks for.

    Args:
      path: the leaf's path, such as ``params['linear']['w']``.
      shape: its shape.
      expected: the shape that the module asks for.
      trees: as in :func:`stacked_error`.

    Returns:
      The error, to be raised: the error of :func:`stacked_error` if there is an extra first axis.
    """
    if shape[1:] == expected:
        return stacked_error(path, shape, expected, **trees)
    call = "apply(params, state, rng, inputs)"
    return ArgumentError(
        argument=path,
        value=shape,
        expected=expected,
        wrong=f"params, state = init(rng, other_inputs); {call}",
        right=f"params, state = init(rng, inputs); {call}",
        why=_(
            "init sets all shapes from the features of its inputs and the arguments of the "
            "module: both must be the same in apply"
        ),
        more="haiku/pure_pair",
    )


def leaked_error(leaves: Leaves) -> LeakedTracerError | None:
    """Find the leaves that are tracers of a transformation that has ended.

    Args:
      leaves: the leaves by path.

    Returns:
      The error, to be raised; None if there are none. The tracers of ``jax.vmap`` are told apart
      from all others.
    """
    tracers = {path: leaf for path, leaf in leaves.items() if isinstance(leaf, jax.core.Tracer)}
    leaked = {path: tracer for path, tracer in tracers.items() if not is_live(tracer)}
    if not leaked:
        return None
    advice = {}
    if not any(path.startswith(("params", "state")) for path in leaked):
        advice = {
            "wrong": "jax.lax.scan(lambda carry, x: (carry, losses.append(x)), 0, xs)",
            "right": "_, losses = jax.lax.scan(lambda carry, x: (carry, x), 0, xs)",
            "why": LEAKED_VALUE,
        }
    elif {type(tracer).__name__ for tracer in leaked.values()} == {"BatchTracer"}:
        advice = {
            "wrong": "jax.vmap(module)(inputs)",
            "right": "jax.vmap(apply, in_axes=(None, None, None, 0))(params, state, rng, inputs)",
            "why": LEAKED_BY_VMAP,
        }
    return LeakedTracerError(paths=as_lines(leaked), **advice)


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
    shared = [same for same in paths.values() if len(same) > 1]
    return SharedBufferError(paths=as_lines(shared[0])) if shared else None


def leading_axis_error(
    trees: dict[str, Any], advice: dict[str, str], *, length: int | None = None, **texts: str
) -> LeadingAxisError | None:
    """Find the first leaf whose leading axis has the wrong length.

    Args:
      trees: the PyTrees by name.
      advice: the name of each tree whose leaves have the axis, and the line that makes it.
      length: the right length; by default, the greatest length that any leaf has.
      texts: ``wrong``, the call that failed; ``why``, what the axis is for; and ``more``.

    Returns:
      The error, to be raised; None if all leaves have the axis.
    """
    leaves = leaves_by_path(**{name: trees[name] for name in advice})
    shapes = {path: np.shape(leaf) for path, leaf in leaves.items()}
    expected = length or max((shape[0] for shape in shapes.values() if shape), default=1)
    for path, shape in shapes.items():
        if shape[:1] != (expected,):
            right = next(line for name, line in advice.items() if path.startswith(name))
            return LeadingAxisError(path=path, shape=shape, length=expected, right=right, **texts)
    return None


def division_error(batch: Any, parts: int, wrong: str, **texts: Any) -> BatchDivisionError | None:
    """Make the error for a batch whose rows do not divide evenly.

    Args:
      batch: a PyTree with leaves of shape (rows, …).
      parts: the number of devices, or of different parts.
      wrong: the call that splits the batch.
      texts: more values of the error.

    Returns:
      The error, to be raised; None if the rows divide.
    """
    for leaf in jax.tree.leaves(batch):
        rows = np.shape(leaf)[0] if np.ndim(leaf) else 0
        if np.ndim(leaf) == 0 or rows % parts:
            return BatchDivisionError(rows=rows, parts=parts, wrong=wrong, **texts)
    return None


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
