"""The general strategy: an ordinary class, whose methods change it, becomes pure functions.

Three steps, to be read from top to bottom. A state is gathered from the attributes of an object; an
object is rebuilt from a state; and a pure function is one, a call of the method, and the other.
"""

import copyreg
import functools
import logging
import sys
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Coroutine, Iterator, Sequence
from enum import Enum
from types import (
    FunctionType,
    MemberDescriptorType,
    MethodDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any
from weakref import ReferenceType

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import GetAttrKey, keystr, tree_leaves_with_path

from haiku_state.errors import AttributeKindError, SharedAttributeError, arguments
from haiku_state.errors.describe import is_key, is_weak
from haiku_state.errors.diagnosis import traced_number_errors
from haiku_state.pure.check import check_state

NUMBERS = (bool, int, float, complex)
# whose objects are part of the program if they compare by value, and are rejected otherwise
LIBRARIES = {*sys.stdlib_module_names, "jax", "jaxlib", "numpy"}


def functionalize(cls: type, *methods: str, static: Sequence[str] = ()) -> Any:
    r"""Turn a class whose methods change their instance into pure functions.

    .. math::
       &\mathrm{method}(\mathrm{self}, x) \to y \\
       \longmapsto\quad &\mathrm{apply}(s_t, x) \to (y, s_{t+1})

    The state is a PyTree of the instance's attributes. Each call makes an instance from it, runs
    the method on that instance, and collects its attributes again; no other instance changes.

    Attributes that are arrays or numbers are state, also inside lists, tuples, dicts and objects of
    other ordinary classes. The numbers that ``static`` names and everything else, such as a string
    or a function, are part of the compiled program, and no method may change them. The constructor
    must create every attribute. A dict comes back with its keys sorted, as JAX sorts
    them; an ``OrderedDict`` keeps their order.

    Args:
      cls: an ordinary Python class, such as a dataclass or one with slots, properties or bases.
      methods: the methods and properties to turn into functions; by default, all that are public.
      static: the numbers that are sizes or flags and not state, by the names of their attributes:
        ``"size"`` for ``self.size``, ``"buffer.size"`` for the size of an object inside. The name
        of a list, tuple, dict or object stands for all numbers in it; arrays are always state.

    Returns:
      A NamedTuple of ``init(*args, **kwargs) -> state``, which runs the constructor, and one
      ``(state, *args, **kwargs) -> (output, state)`` for each method, under its name. A single
      method, or ``__call__``, is called ``apply``.

    Raises:
      ArgumentError: ``cls`` is not an ordinary class, or a method does not exist, has a name that
        is taken, or is not a plain function (for example, it is jitted); or, when ``init`` is
        called, ``static`` names an array or an attribute that does not exist.
      AttributeKindError: when a function is called, if an attribute cannot be state, such as an
        open file, or if a method returns an object of the state or an iterator.
      SharedAttributeError: when a function is called, if two attributes are the same mutable
        object.
      StaticAttributeError: when a function is called, if a method changes a static attribute.
      TracedFlagError: under ``jit``, when a method is called, if Python needs the value of a number
        that is state.
      HaikuStateError: any error that :func:`check_state` raises, when a function is called.

    Example:
      >>> import jax
      >>> from haiku_state import functionalize
      >>> class Counter:
      ...     def __init__(self):
      ...         self.count = 0
      ...     def step(self):
      ...         self.count += 1
      ...         return self.count
      >>> init, apply = functionalize(Counter, "step")
      >>> state = init()
      >>> output, state = jax.jit(apply)(state)
      >>> output, state = jax.jit(apply)(state)
      >>> print(output, state)
      2 Counter(count=Array(2, dtype=int32))

    References:
      JAX's documentation, `Stateful computations
      <https://docs.jax.dev/en/latest/101/state.html>`__, a simple worked example.
    """
    if not _is_ordinary(cls):
        raise arguments.functionalized_class(cls)
    members = {name: m for base in reversed(cls.__mro__) for name, m in vars(base).items()}
    public = [name for name, m in members.items() if _is_method(m) and _is_public(name)]
    chosen = methods or tuple(public)
    fields = ["apply" if name == "__call__" or len(chosen) == 1 else name for name in chosen]
    for name, field in zip(chosen, fields, strict=True):
        if name not in public or name == "init" or fields.count(field) > 1:
            raise arguments.no_method(cls, name, public)
        if not isinstance(members[name], FunctionType | property):
            raise arguments.wrapped_method(cls, name, field, type(members[name]))
    functions = [_apply(cls, name, members[name], static) for name in chosen]
    make: Any = namedtuple
    return make(f"Pure{cls.__name__}", ["init", *fields])(_init(cls, static), *functions)


def _is_public(name: str) -> bool:
    return name == "__call__" or not name.startswith("_")


def _is_method(member: Any) -> bool:
    """Return whether an instance finds something of its own under the name of this member."""
    of_the_class: Any = staticmethod | classmethod | type | MemberDescriptorType
    return hasattr(type(member), "__get__") and not isinstance(member, of_the_class)


# ---- From an object to a state


class State:
    """The attributes of an object, as a PyTree node that shows them by name."""

    _cls: type
    _attributes: dict[str, Any]

    def __init__(self, cls: type, attributes: dict[str, Any]) -> None:
        vars(self).update(_cls=cls, _attributes=attributes)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self._attributes:
            raise AttributeError(f"the state of {self._cls.__name__} has no attribute {name!r}")
        return _shown(self._attributes[name])

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a state does not change; a pure function returns a new one")

    def __dir__(self) -> list[str]:
        return list(self._attributes)

    def __reduce__(self) -> Any:
        return State, (self._cls, self._attributes)

    def __repr__(self) -> str:
        attributes = (f"{name}={_shown(value)!r}" for name, value in self._attributes.items())
        return f"{self._cls.__name__}({', '.join(attributes)})"


class Static:
    """A value that is part of the compiled program: a different value needs a different program."""

    def __init__(self, value: Any) -> None:
        # 1, 1.0 and True are equal, and so are 0.0 and -0.0, but they compile to other programs
        key = repr(value) if type(value) in NUMBERS else value
        self.value, self.key = value, (type(value), key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return repr(self.value)


def _flatten(state: State) -> Any:
    names = tuple(state._attributes)
    children = zip(map(GetAttrKey, names), state._attributes.values(), strict=True)
    return children, (state._cls, names)


jax.tree_util.register_pytree_node(Static, lambda leaf: ((), leaf), lambda leaf, _children: leaf)
jax.tree_util.register_pytree_with_keys(
    State,
    _flatten,
    lambda aux, values: State(aux[0], dict(zip(aux[1], values, strict=True))),
)


class _Gathering:
    """One walk over an object, from which its state is gathered."""

    def __init__(self, static: Sequence[str]) -> None:
        self.static = static
        self.found: set[str] = set()
        self.objects: dict[int, tuple[str, Any]] = {}

    def gather(self, value: Any, path: str = "self", is_static: bool = False) -> Any:
        is_array = isinstance(value, jax.Array | np.ndarray)
        if not is_array and path[len("self.") :] in self.static:
            self.found.add(path[len("self.") :])
            is_static = True
        if _is_state(value):
            if isinstance(value, np.ndarray):
                self._once(value, path)
            if is_static and not is_array:
                return Static(value)
            try:
                return _as_array(value)
            except OverflowError as error:
                raise arguments.large_number(value, path) from error
        if isinstance(value, tuple):
            parts = [self.gather(v, f"{path}[{i}]", is_static) for i, v in enumerate(value)]
            return tuple.__new__(type(value), parts)
        if _is_program(value):
            return Static(value)
        self._once(value, path)
        if type(value) is list:
            return [self.gather(v, f"{path}[{i}]", is_static) for i, v in enumerate(value)]
        if type(value) is OrderedDict or (type(value) is dict and _are_sortable(value)):
            entries = [(k, self.gather(v, f"{path}[{k!r}]", is_static)) for k, v in value.items()]
            return type(value)(entries)
        if _is_ordinary(type(value)) and type(value).__module__.split(".")[0] not in LIBRARIES:
            attributes = {
                name: self.gather(attribute, f"{path}.{name}", is_static)
                for name, attribute in sorted(_attributes(value).items())
            }
            return State(type(value), attributes)
        raise AttributeKindError(path=path, kind=type(value).__name__)

    def _once(self, value: Any, path: str) -> None:
        first, _value = self.objects.setdefault(id(value), (path, value))
        if first != path:
            raise SharedAttributeError(first=first, second=path)


def _attributes(instance: Any) -> dict[str, Any]:
    slots = copyreg._slotnames(type(instance))  # type: ignore[attr-defined]
    in_slots = {name: getattr(instance, name) for name in slots if hasattr(instance, name)}
    return {**in_slots, **getattr(instance, "__dict__", {})}


def _is_state(value: Any) -> bool:
    if isinstance(value, np.ndarray | np.generic):
        return bool(jnp.issubdtype(value.dtype, np.number)) or value.dtype == bool
    return isinstance(value, jax.Array) or type(value) in NUMBERS


def _as_array(value: Any) -> Any:
    """Make a strongly typed array; of a NumPy array a copy, which nobody else can write into."""
    if isinstance(value, jax.Array) and not is_weak(value):
        return value
    return jnp.array(value, jnp.result_type(value))


def _is_program(value: Any) -> bool:
    """Return whether a value cannot change: a function, or what a library compares by value."""
    cls = type(value)
    owner = getattr(value, "__self__", None)
    if owner is not None and not isinstance(owner, type | ModuleType):
        return _is_program(owner)  # a bound method may change its owner, out of sight
    if value is None or isinstance(value, type | ModuleType | Enum | logging.Logger):
        return True
    if isinstance(value, functools.partial) or (callable(value) and hasattr(value, "__name__")):
        return True
    kinds: Any = (None, object.__hash__)
    by_value = cls.__hash__ not in kinds and not isinstance(value, ReferenceType)
    return by_value and cls.__module__.split(".")[0] in LIBRARIES


def _is_ordinary(cls: Any) -> bool:
    """Return whether instances keep all they know in attributes, and nothing in memory of C."""
    if not isinstance(cls, type) or cls is object or issubclass(cls, hk.Module | Enum):
        return False
    return not any(
        isinstance(member, MethodDescriptorType | WrapperDescriptorType)
        and member.__objclass__ is base
        for base in cls.__mro__
        if base is not object and base.__module__ != "typing"
        for member in vars(base).values()
    )


def _are_sortable(keys: Any) -> bool:
    try:
        return bool(sorted(keys) is not None and all(map(_is_program, keys)))
    except TypeError:
        return False


# ---- From a state to an object


def _rebuilt(tree: Any, with_objects: bool = True) -> Any:
    """Make the values that a state was gathered from; without objects, leave those as states."""

    def made(node: Any) -> Any:
        if isinstance(node, Static):
            return node.value
        if not isinstance(node, State) or not with_objects:
            return node
        instance: Any = object.__new__(node._cls)
        for name, part in node._attributes.items():
            object.__setattr__(instance, name, _rebuilt(part))
        return instance

    return jax.tree.map(made, tree, is_leaf=lambda node: isinstance(node, State | Static))


def _shown(tree: Any) -> Any:
    """Return a part of a state as its reader expects it, with static values."""
    return _rebuilt(tree, with_objects=False)


# ---- The pure functions


def _init(cls: Any, static: Sequence[str]) -> Callable[..., Any]:
    def init(*args: Any, **kwargs: Any) -> Any:
        gathering = _Gathering(static)
        state = gathering.gather(cls(*_copied(args), **_copied(kwargs)))
        if unknown := set(static) - gathering.found:
            raise arguments.static_names(cls, unknown, static)
        return state

    init.__doc__ = cls.__init__.__doc__
    return init


def _apply(cls: type, name: str, member: Any, static: Sequence[str]) -> Callable[..., Any]:
    method = f"{cls.__name__}.{name}"

    def apply(state: Any, /, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        before = jax.tree.map(_as_array, state)
        instance = _rebuilt(before)
        with traced_number_errors(cls, static, _numbers(before)):
            if isinstance(member, property):
                output = getattr(instance, name)
            else:
                output = member(instance, *_copied(args), **_copied(kwargs))
        gathering = _Gathering(static)
        after = gathering.gather(instance)
        for leaf in jax.tree.leaves(output, _is_running):
            if _is_running(leaf) or id(leaf) in gathering.objects:
                raise arguments.kind_of_output(leaf, method)
        _check_structure(dict(_nodes(before, "self")), dict(_nodes(after, "self")), method)
        check_state(before, after)
        return output, after

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = member.__doc__
    return apply


def _copied(value: Any) -> Any:
    """Copy the containers and NumPy arrays of a call: a method may write into its arguments."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if type(value) in (list, tuple):
        return type(value)(map(_copied, value))
    if type(value) in (dict, OrderedDict):
        return type(value)((key, _copied(entry)) for key, entry in value.items())
    return value


def _is_running(value: Any) -> bool:
    return isinstance(value, Iterator | Coroutine)


def _numbers(state: Any) -> list[str]:
    """Return the paths of the numbers of a state, as JAX names them in the argument ``state``."""
    return [
        f"state{keystr(path)}"
        for path, leaf in tree_leaves_with_path(state)
        if np.ndim(leaf) == 0 and not is_key(leaf)
    ]


def _nodes(node: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield all parts of a state by path, from the outside to the inside."""
    yield path, node
    for keys, child in tree_leaves_with_path(node, lambda part: part is not node):
        if keys:  # a leaf has no parts but itself
            yield from _nodes(child, f"{path}{keystr(keys)}")


def _check_structure(old: dict[str, Any], new: dict[str, Any], method: str) -> None:
    """Check that a method has changed the values of the state, and nothing else."""

    def kind(node: Any) -> Any:
        is_static = isinstance(node, Static)
        return node if is_static else jax.tree.structure(node, lambda part: part is not node)

    changed = [path for path in old if path in new and kind(old[path]) != kind(new[path])]
    static = [path for path in changed if Static in (type(old[path]), type(new[path]))]
    if static:
        raise arguments.static_changed(method, {path: (old[path], new[path]) for path in static})
    changes = [f"- {path}" for path in old if path not in new]
    changes += [f"+ {path}" for path in new if path not in old]
    for path in changed if not changes else []:
        changes += [f"- {path}: {_shown(old[path])!r}", f"+ {path}: {_shown(new[path])!r}"]
    if changes:
        raise arguments.attributes_changed(changes)
