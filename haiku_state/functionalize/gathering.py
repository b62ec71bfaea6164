"""Gather the attributes of an object, and refuse what a PyTree cannot carry."""

import functools
import inspect
from collections.abc import Iterable
from enum import Enum
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import DictKey, GetAttrKey, SequenceKey, keystr

from haiku_state.errors import AttributeKindError, SharedAttributeError
from haiku_state.functionalize.attributes import (
    DICTS,
    NUMBERS,
    Record,
    Static,
    as_leaf,
    children,
    has_dict,
    is_named,
    is_node,
    read,
    tuple_keys,
)
from haiku_state.functionalize.kinds import (
    has_methods,
    hides_state,
    is_frozen,
    is_plain,
    is_static,
    reachable,
    stored_names,
)

# a class attribute of these types is the default of an attribute, not a table or a method
_DEFAULTS = (*NUMBERS, str, bytes, tuple, Enum, type(None), np.generic, np.ndarray, jax.Array)


class Gathered:
    """One walk over an object: the state, and which objects it met.

    Args:
      instance: an object of an ordinary class.
      classes: those of the objects inside it, as far as they are known.

    Raises:
      AttributeKindError: an attribute cannot be carried.
      SharedAttributeError: two attributes are one mutable object.
    """

    def __init__(self, instance: Any, classes: Iterable[type] = ()) -> None:
        stored = _stored_by({type(instance), *classes})
        while True:
            self.stored = stored
            self.objects: dict[int, tuple[Any, Any]] = {}
            self.buffers: list[tuple[str, np.ndarray[Any, Any]]] = []
            self.callables: list[tuple[Any, Any]] = []
            self.classes: set[type] = set()
            self.state: Record = self._object(instance, ())
            stored = _stored_by(self.classes)
            if stored == self.stored:
                break
        module = type(instance).__module__
        for value, path in self.callables:
            if any(id(v) in self.objects or hides_state(v, module) for v in reachable(value)):
                raise _refusal(value, path)

    def owns(self, value: Any) -> bool:
        """Whether the value is one of the objects met, or a function that refers to one."""
        return any(type(v) in self.classes and id(v) in self.objects for v in reachable(value))

    def _value(self, value: Any, path: Any, stored: bool) -> Any:
        if value is None or isinstance(value, jax.Array):
            return as_leaf(value)
        if isinstance(value, np.ndarray | np.generic):
            return self._numpy(value, path)
        if type(value) in NUMBERS:
            return as_leaf(value) if stored else Static(value)
        if type(value) is list:
            self._once(value, path)
            return [self._value(v, (*path, SequenceKey(i)), True) for i, v in enumerate(value)]
        if type(value) in DICTS:
            return self._dict(value, path)
        if is_named(value):
            keyed = zip(tuple_keys(value), value, strict=True)
            return _packed(value, [self._value(v, (*path, key), stored) for key, v in keyed])
        if is_node(value):
            return self._node(value, path)
        if is_static(value):
            return self._static(value, path)
        if is_plain(type(value)):
            return self._object(value, path)
        raise _refusal(value, path)

    def _static(self, value: Any, path: Any) -> Static:
        if isinstance(value, frozenset):
            for element in value:
                self._constant(element, path)
        elif callable(value) and not isinstance(value, type):
            self.callables.append((value, path))
        return Static(value)

    def _constant(self, value: Any, path: Any) -> None:
        # an element of a frozenset and the key of a dict stay the objects that they are
        if value is not None and not isinstance(self._value(value, path, False), Static):
            raise _refusal(value, path)

    def _numpy(self, value: Any, path: Any) -> Any:
        numeric = jnp.issubdtype(value.dtype, np.number) or value.dtype == bool
        if numeric and (isinstance(value, np.generic) or type(value) is np.ndarray):
            if isinstance(value, np.ndarray) and value.flags.writeable:
                for first, buffer in self.buffers:
                    if np.may_share_memory(buffer, value):
                        raise SharedAttributeError(first=first, second=name_of(path))
                self.buffers.append((name_of(path), value))
            return as_leaf(value)
        if isinstance(value, np.generic):
            return Static(value)
        raise _refusal(value, path)

    def _dict(self, value: Any, path: Any) -> Record:
        self._once(value, path)
        for key in value:
            self._constant(key, path)
        factory = getattr(value, "default_factory", None)
        if factory is not None:
            self.callables.append((factory, path))
        packed = [self._value(v, (*path, DictKey(key)), True) for key, v in value.items()]
        return Record(type(value), value, packed, factory)

    def _node(self, value: Any, path: Any) -> Any:
        self._once(value, path)
        if isinstance(value, functools.partial):
            self.callables.append((value.func, path))
        keyed, treedef = children(value)
        packed = [self._value(v, (*path, *key), True) for key, v in keyed]
        return Record(type(value), [key for (key,), _ in keyed], packed, treedef)

    def _object(self, value: Any, path: Any) -> Any:
        cls = type(value)
        if not is_plain(cls):
            raise _refusal(value, path)
        attributes = read(value)
        if path and not attributes and not has_methods(cls):
            return Static(value)  # a marker, compared by identity
        self._once(value, path)
        self.classes.add(cls)
        if has_dict(cls):
            attributes |= _defaults(cls, self.stored - attributes.keys())
        packed = [
            self._value(v, (*path, GetAttrKey(name)), name in self.stored)
            for name, v in attributes.items()
        ]
        return Record(cls, attributes, packed)

    def _once(self, value: Any, path: Any) -> None:
        first, _ = self.objects.setdefault(id(value), (path, value))
        within_itself = len(first) < len(path) and path[: len(first)] == first
        immutable = isinstance(value, functools.partial) or is_frozen(type(value))
        if first is not path and (within_itself or not immutable):
            raise SharedAttributeError(first=name_of(first), second=name_of(path))


def _stored_by(classes: Iterable[type]) -> frozenset[str]:
    return frozenset(name for cls in classes for name in stored_names(cls))


def name_of(path: Any) -> str:
    """Write a path as the class itself would."""
    return f"self{keystr(path)}"


def _refusal(value: Any, path: Any) -> AttributeKindError:
    names = [key.name for key in path if isinstance(key, GetAttrKey)] or ["value"]
    return AttributeKindError(path=name_of(path), kind=type(value).__name__, name=names[-1])


def _packed(value: Any, packed: list[Any]) -> Any:
    if packed and all(isinstance(element, Static) for element in packed):
        return Static(value)
    return tuple.__new__(type(value), packed)


def _defaults(cls: type, names: frozenset[str]) -> dict[str, Any]:
    """Give what the class itself holds for attributes that the instance does not have yet."""
    held = {name: inspect.getattr_static(cls, name, ...) for name in sorted(names)}
    return {name: value for name, value in held.items() if isinstance(value, _DEFAULTS)}
