"""What a method must leave of the state as it was, and what does not count as a change."""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
from jax.tree_util import PyTreeDef, keystr, tree_leaves_with_path

from haiku_state.contract import check_state
from haiku_state.errors import StateStructureError, StaticAttributeError
from haiku_state.errors.base import as_lines
from haiku_state.functionalize.attributes import DICTS, Record, Static, children, is_named


def in_order_of(before: Any, after: Any) -> Any:
    """Undo what is no change: attributes in another order, and keys that JAX has sorted."""
    if isinstance(before, Record) and isinstance(after, Record):
        (kind, old, _, _), (other, names, _, factory) = before._record_, after._record_
        sorted_by_method = kind in DICTS and old != names and not _is_sorted(kind, names)
        if kind is not other or set(old) != set(names) or sorted_by_method:
            return after
        earlier, later = (
            dict(zip(r._record_.names, r._record_.values, strict=True)) for r in (before, after)
        )
        return Record(kind, old, [in_order_of(earlier[n], later[n]) for n in old], factory)
    is_sequence = type(before) is type(after) and (type(after) is list or is_named(after))
    if is_sequence and len(before) == len(after):
        ordered = [in_order_of(*pair) for pair in zip(before, after, strict=True)]
        return ordered if type(after) is list else tuple.__new__(type(after), ordered)
    return after


def _is_sorted(kind: type, names: tuple[Any, ...]) -> bool:
    """Whether the order may be JAX's own work, ``jax.tree.map`` say, and not the method's."""
    try:
        return kind is not OrderedDict and names == tuple(sorted(names))
    except TypeError:
        return False


def check_kept(before: Any, after: Any, method: str) -> None:
    """Check the state after a method against the one before it."""
    old, new = _packed(before), _packed(after)
    changes = [
        f"{path}: {_describe(old[path])} -> {_describe(value)}"
        for path, value in new.items()
        if path in old and isinstance(value, Static) | isinstance(old[path], Static)
        if value != old[path]
    ]
    if changes:
        raise StaticAttributeError(method=method, changes=as_lines(changes))
    if old.keys() == new.keys() and (changes := list(_differences(before, after, ()))):
        raise StateStructureError(changes=as_lines(changes))
    check_state(_with_arrays(before), _with_arrays(after))


def _is_static(node: Any) -> bool:
    return isinstance(node, Static)


def _packed(state: Any) -> dict[str, Any]:
    leaves = tree_leaves_with_path(state, is_leaf=_is_static)
    return {f"state{keystr(path)}": leaf for path, leaf in leaves}


def _with_arrays(state: Any) -> Any:
    # what is static has a name too, and check_state knows those of arrays
    def stand_in(leaf: Any) -> Any:
        return np.zeros(()) if _is_static(leaf) else leaf

    return jax.tree.map(stand_in, state, is_leaf=_is_static)


def _differences(before: Any, after: Any, path: Any) -> Iterator[str]:
    """Name the nodes that are of another kind, or have their children in another order."""
    structures: list[Any] = [jax.tree.structure(tree) for tree in (before, after)]
    if structures[0] == structures[1]:
        return
    (old, kind), (new, other) = children(before), children(after)
    if kind != other or not old:
        yield f"- state{keystr(path)}: {_outline(before)}"
        yield f"+ state{keystr(path)}: {_outline(after)}"
        return
    for (key, earlier), (_, later) in zip(old, new, strict=True):
        yield from _differences(earlier, later, (*path, *key))


def _outline(node: Any) -> str:
    if isinstance(node, Record):
        kind, names, _, factory = node._record_
        extra = (factory,) if isinstance(factory, PyTreeDef) else ()
        return f"{kind.__name__}({', '.join(map(str, (*names, *extra)))})"
    return type(node).__name__


def _describe(leaf: Any) -> str:
    return repr(leaf) if _is_static(leaf) else f"{leaf.dtype}{[*leaf.shape]}"
