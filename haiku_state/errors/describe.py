"""How error texts name the leaves of a PyTree."""

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.compat import is_live
from haiku_state.errors.base import ArgumentError, HaikuStateError, as_lines
from haiku_state.errors.language import deferred as _
from haiku_state.errors.state import LEAKED_BY_VMAP, DeviceStackedError, LeakedTracerError
from haiku_state.errors.updates import DonatedBufferError

Leaves = dict[str, Any]


def leaves_by_path(**trees: Any) -> Leaves:
    """Return the leaves of PyTrees by path; each path starts with the name of its tree."""
    return {
        f"{name}{jax.tree_util.keystr(path)}": leaf
        for name, tree in trees.items()
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
    }


def describe(leaf: Any) -> str:
    """Write the dtype and shape of a leaf, as in ``float32[8,3]``."""
    if not hasattr(leaf, "dtype") and not isinstance(leaf, int | float | complex):
        return type(leaf).__name__
    weak = "weak " if is_weak(leaf) else ""
    dtype = getattr(leaf, "dtype", None) or jnp.result_type(leaf)
    return f"{weak}{dtype}[{','.join(map(str, np.shape(leaf)))}]"


def describe_tree(tree: Any) -> str:
    """Write a PyTree with a description in the place of each leaf."""
    # the descriptions stand for arrays, so they lose their quotes
    return re.sub(r"'(\w+(\[[\d,]*\])?)'(?!:)", r"\1", str(jax.tree.map(describe, tree)))


def is_weak(leaf: Any) -> bool:
    """Return whether a leaf has a weak type, as a Python number has."""
    return type(leaf) in (int, float, complex) or bool(getattr(leaf, "weak_type", False))


def is_key(value: Any) -> bool:
    """Return whether a value is a random key, of the new style or the old."""
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
      trees: those of the three that the caller has. One that has no device axis stays as it is.

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
      The error, to be raised: that of :func:`stacked_error` if the first axis is one too many.
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
            "init fixes all shapes by the features of its inputs and the arguments of the module: "
            "at apply, both must be the same"
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
    if {type(tracer).__name__ for tracer in leaked.values()} == {"BatchTracer"}:
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


def _is_consumed(leaf: Any) -> bool:
    is_array = isinstance(leaf, jax.Array) and not isinstance(leaf, jax.core.Tracer)
    return is_array and leaf.is_deleted()
