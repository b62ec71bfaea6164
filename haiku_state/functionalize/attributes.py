"""The attributes of an object as a PyTree, and the PyTree as an object again."""

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from types import MemberDescriptorType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import DictKey, GetAttrKey, PyTreeDef, SequenceKey

NUMBERS = (bool, int, float, complex)
DICTS = (dict, OrderedDict, defaultdict)


class Static:
    """A value that is no array, and therefore part of the compiled program."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and _typed(self.value) == _typed(other.value)

    def __hash__(self) -> int:
        return hash(_typed(self.value))

    def __repr__(self) -> str:
        return repr(self.value)


class Record:
    """The attributes of an object, the entries of a dict, or the children of a PyTree node.

    Code that takes a PyTree together never sees it, nor what is static: it could refuse them.
    """

    __slots__ = ("_record_",)

    def __init__(self, kind: type, names: Any, values: Any, factory: Any = None) -> None:
        self._record_ = Content(kind, tuple(names), tuple(values), factory)

    def __getattr__(self, name: str) -> Any:
        kind, names, values, _ = self._record_
        if name not in names:
            raise AttributeError(f"the state of {kind.__name__} has no attribute {name!r}")
        return _shown(values[names.index(name)])

    def __dir__(self) -> list[str]:
        return list(self._record_.names)

    def __reduce__(self) -> Any:
        return Record, tuple(self._record_)

    def __repr__(self) -> str:
        kind, names, values, factory = self._record_
        if kind in DICTS or isinstance(factory, PyTreeDef):
            return repr(_shown(self))
        inner = (f"{name}={_shown(value)!r}" for name, value in zip(names, values, strict=True))
        return f"{kind.__name__}({', '.join(inner)})"


class Content(NamedTuple):
    """What a :class:`Record` holds."""

    kind: type
    names: tuple[Any, ...]
    values: tuple[Any, ...]
    factory: Any


def _typed(value: Any) -> Any:
    """Tell 1, 1.0 and True apart, and 0.0 and -0.0, which compile to other programs."""
    if type(value) in (float, complex):
        return type(value), repr(value)
    if isinstance(value, tuple):
        return type(value), *map(_typed, value)
    return type(value), value


def _shown(value: Any) -> Any:
    """Unpack what is static, and the dicts, for the reader of a state."""
    if isinstance(value, Static):
        return value.value
    if isinstance(value, Record):
        kind, _, values, factory = value._record_
        is_object = kind not in DICTS and not isinstance(factory, PyTreeDef)
        return value if is_object else _made(value, map(_shown, values))
    packed = (Static, Record)
    return jax.tree.map(
        lambda leaf: _shown(leaf) if isinstance(leaf, packed) else leaf,
        value,
        is_leaf=lambda leaf: isinstance(leaf, packed),
    )


def _made(record: Record, values: Iterable[Any]) -> Any:
    """Make the dict or the PyTree node of a record."""
    kind, names, _, factory = record._record_
    if isinstance(factory, PyTreeDef):
        return jax.tree.unflatten(factory, values)
    made: Any = defaultdict(factory) if kind is defaultdict else kind()
    made.update(zip(names, values, strict=True))
    return made


def _with_keys(record: Record) -> Any:
    kind, names, values, factory = record._record_
    keys = names
    if not isinstance(factory, PyTreeDef):
        keys = tuple(map(DictKey if kind in DICTS else GetAttrKey, names))
    return list(zip(keys, values, strict=True)), Static((kind, names, factory))


def _unflatten(aux: Static, values: Any) -> Record:
    kind, names, factory = aux.value
    return Record(kind, names, values, factory)


def _flatten(record: Record) -> Any:
    kind, names, values, factory = record._record_
    return values, Static((kind, names, factory))


jax.tree_util.register_pytree_node(Static, lambda static: ((), static), lambda static, _: static)
jax.tree_util.register_pytree_with_keys(Record, _with_keys, _unflatten, _flatten)


def as_leaf(value: Any) -> Any:
    """Make a strongly typed JAX array of an array or number, and leave anything else alone."""
    if isinstance(value, jax.Array):
        weak = getattr(value, "weak_type", False)
        return jnp.asarray(value, value.dtype) if weak else value
    if isinstance(value, np.ndarray | np.generic):
        return jnp.array(value)  # a copy: what the caller writes into the original stays outside
    return jnp.asarray(value, jnp.result_type(value)) if type(value) in NUMBERS else value


def children(node: Any) -> Any:
    """Take one level of a PyTree apart: its children with their keys, and its structure."""
    return jax.tree_util.tree_flatten_with_path(node, is_leaf=lambda child: child is not node)


def is_node(value: Any) -> bool:
    """Whether JAX takes the value apart."""
    return not jax.tree_util.all_leaves([value])


def is_named(value: Any) -> bool:
    """Whether the value is a tuple or a NamedTuple."""
    return type(value) is tuple or (isinstance(value, tuple) and hasattr(value, "_fields"))


def tuple_keys(value: Any) -> list[Any]:
    """Give the keys by which JAX names the elements of a tuple."""
    if hasattr(value, "_fields"):
        return [GetAttrKey(name) for name in value._fields]
    return [SequenceKey(index) for index in range(len(value))]


def _slots(cls: Any) -> dict[str, Any]:
    return _slots_of(cls)


@functools.cache
def _slots_of(cls: type) -> dict[str, Any]:
    return {
        name: member
        for base in reversed(cls.__mro__)
        for name, member in vars(base).items()
        if isinstance(member, MemberDescriptorType)
    }


def read(instance: Any) -> dict[str, Any]:
    """Give the attributes of an instance by name: slots that are set, then its dict."""
    cls, found = type(instance), {}
    for name, slot in _slots(cls).items():
        try:
            found[name] = slot.__get__(instance, cls)
        except AttributeError:
            continue
    return found | (object.__getattribute__(instance, "__dict__") if has_dict(cls) else {})


def has_dict(cls: type) -> bool:
    """Whether instances can take new attributes."""
    return bool(cls.__dictoffset__)


def rebuild(node: Any, classes: set[type]) -> Any:
    """Make the object again that a state was gathered from, and note the classes met."""
    if isinstance(node, Static):
        return node.value
    if isinstance(node, Record):
        kind, names, packed, factory = node._record_
        values = [rebuild(value, classes) for value in packed]
        if kind in DICTS or isinstance(factory, PyTreeDef):
            return _made(node, values)
        classes.add(kind)
        made: Any = object.__new__(kind)
        for name, value in zip(names, values, strict=True):
            if name in _slots(kind):
                _slots(kind)[name].__set__(made, value)
            else:
                object.__getattribute__(made, "__dict__")[name] = value
        return made
    if is_named(node):
        return tuple.__new__(type(node), [rebuild(value, classes) for value in node])
    return [rebuild(value, classes) for value in node] if type(node) is list else node
