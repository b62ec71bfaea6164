"""The general strategy: an ordinary class, whose methods change it, becomes pure functions.

An object is taken apart into the arrays and numbers that its methods change, which are the state,
and everything else, which is the skeleton. A pure function puts an object together, calls the
method on it, and takes it apart again; the skeleton must come out as it went in.
"""

import copyreg
import logging
import sys
from collections import namedtuple
from collections.abc import Callable, Coroutine, Iterator, Sequence
from enum import Enum
from types import (
    BuiltinFunctionType,
    FunctionType,
    MemberDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, ParamSpec, Protocol
from weakref import ReferenceType

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import GetAttrKey, keystr, tree_map_with_path

from haiku_state.errors import AttributeKindError, SharedAttributeError, arguments
from haiku_state.errors.describe import is_weak
from haiku_state.errors.diagnosis import traced_number_errors
from haiku_state.pure.check import check_state

P = ParamSpec("P")
NUMBERS = (bool, int, float, complex)
# whose objects are part of the skeleton or rejected, but never taken apart
LIBRARIES = {*sys.stdlib_module_names, "jax", "jaxlib", "numpy"}


def functionalize(
    cls: Callable[P, Any], *methods: str, static: Sequence[str] = ()
) -> "PureClass[P]":
    r"""Turn a class whose methods change their instance into pure functions.

    .. math::
       &\mathrm{method}(\mathrm{self}, x) \to y \\
       \longmapsto\quad &\mathrm{apply}(s_t, x) \to (y, s_{t+1})

    The state is a PyTree of the attributes of an instance. Every call builds a new instance from
    the state, runs the method on it and returns the attributes of this instance as the new state;
    no other instance changes.

    Attributes that are arrays or numbers are state, even inside lists, tuples, dicts and objects of
    other ordinary classes. The numbers that ``static`` names and all other values, such as strings
    and functions, are part of the compiled program, so no method may change them. The constructor
    must create every attribute. No method may assign an attribute of the class, because all
    instances share it; a change inside such an attribute, for example an ``append`` to a list of
    the class, is not detected. The keys of a dict are sorted, as JAX sorts them, whereas an
    ``OrderedDict`` keeps its order.

    Args:
      cls: an ordinary Python class, which may be a dataclass or have slots, properties or base
        classes.
      methods: the names of the methods and properties to turn into functions; by default, all
        public methods and properties.
      static: the names of the attributes whose numbers are part of the compiled program instead of
        state, such as sizes and flags: ``"size"`` for ``self.size``, ``"buffer.size"`` for
        ``self.buffer.size``. The name of a list, tuple, dict or object stands for all numbers in
        it; arrays are always state.

    Returns:
      A NamedTuple of pure functions. ``init(*args, **kwargs) -> state`` runs the constructor, and
      for each method, a function ``(state, *args, **kwargs) -> (output, state)`` has the name of
      the method. If there is only one method, or the method is ``__call__``, its
      function is called ``apply``.

    Raises:
      ArgumentError: ``cls`` is not an ordinary class; a method does not exist, has a name that is
        already taken, or is not a plain function, for example because it is jitted; or ``static``
        names an array or an attribute that does not exist, which is found when ``init`` is called.
      AttributeKindError: raised by the pure functions if an attribute cannot be state, such as an
        open file, or if a method returns an iterator or an object of the state.
      SharedAttributeError: raised by the pure functions if two attributes refer to the same mutable
        object.
      StaticAttributeError: raised by the pure functions if a method changes a static attribute or
        an attribute of the class.
      TracedFlagError: raised under ``jit`` if a method needs the value of a number that is state,
        for example in an ``if`` statement.
      HaikuStateError: the pure functions raise any error of :func:`check_state`.

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
      <https://docs.jax.dev/en/latest/101/state.html>`__, with a simple worked example.
    """
    if not isinstance(cls, type) or not _is_ordinary(cls):
        raise arguments.functionalized_class(cls)
    members = {name: m for base in reversed(cls.__mro__) for name, m in vars(base).items()}
    public = [name for name, m in members.items() if _is_method(m) and _is_public(name)]
    chosen = methods or tuple(public)
    fields = ["apply" if name == "__call__" or len(chosen) == 1 else name for name in chosen]
    for name, field in zip(chosen, fields, strict=True):
        if name not in public or name == "init" or fields.count(field) > 1:
            raise arguments.no_method(name, public)
        if not isinstance(members[name], FunctionType | property):
            raise arguments.wrapped_method(cls, name, type(members[name]))
    static = (static,) if isinstance(static, str) else tuple(static)
    functions = [_apply(cls, name, members[name], static) for name in chosen]
    make: Any = namedtuple
    return make(f"Pure{cls.__name__}", ["init", *fields])(_init(cls, static), *functions)


def _init(cls: Any, static: Sequence[str]) -> Callable[..., Any]:
    def init(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = jax.tree.map(_own, (args, kwargs), is_leaf=_is_running)
        parting = _Parting(static)
        state = parting.part(cls(*args, **kwargs))
        if unknown := set(static) - parting.found:
            raise arguments.static_names(unknown)
        return state

    init.__doc__ = cls.__init__.__doc__
    return init


def _apply(cls: type, name: str, member: Any, static: Sequence[str]) -> Callable[..., Any]:
    call: Any = member.fget if isinstance(member, property) else member
    method = f"{cls.__name__}.{name}"

    def apply(state: Any, /, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        before = jax.tree.map(_as_array, state)
        args, kwargs = jax.tree.map(_own, (args, kwargs), is_leaf=_is_running)
        instance = _joined(before)
        shared = _shared(cls)
        with traced_number_errors(before):
            output = call(instance, *args, **kwargs)
        if changed := _restored(shared, _shared(cls)):
            raise arguments.class_attribute(method, changed)
        parting = _Parting(static)
        after = parting.part(instance)
        parting.expect_values(output, method)
        if _skeleton(before) != _skeleton(after):
            raise arguments.skeleton_changed(method, before, after, Static)
        check_state(before, after)
        return output, after

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = member.__doc__
    return apply


class PureClass(Protocol[P]):
    """The NamedTuple of pure functions that :func:`functionalize` returns, for a type checker."""

    def init(self, *args: P.args, **kwargs: P.kwargs) -> "State":
        """Run the constructor."""

    def __getattr__(self, method: str) -> Callable[..., tuple[Any, "State"]]: ...

    def __iter__(self) -> Iterator[Callable[..., Any]]: ...


# ---- The two kinds of parts, as a PyTree


class State:
    """The attributes of an object, as a PyTree node that shows them by name."""

    _cls: type
    _attributes: dict[str, Any]

    def __init__(self, cls: type, attributes: dict[str, Any]) -> None:
        vars(self).update(_cls=cls, _attributes=attributes)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self._attributes:
            raise AttributeError(f"the state of {self._cls.__name__} has no attribute {name!r}")
        return _joined(self._attributes[name], with_objects=False)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a state does not change; a pure function returns a new one")

    def __dir__(self) -> list[str]:
        return list(self._attributes)

    def __reduce__(self) -> Any:
        return State, (self._cls, self._attributes)

    def __repr__(self) -> str:
        attributes = (f"{name}={getattr(self, name)!r}" for name in self._attributes)
        return f"{self._cls.__name__}({', '.join(attributes)})"


class Static:
    """A part of the skeleton: a node without leaves, which JAX compares and never traces."""

    def __init__(self, value: Any) -> None:
        # 0.0 and -0.0 are equal, but they compile to different programs
        self.value, self.key = value, (type(value), repr(value) if type(value) is float else value)

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


jax.tree_util.register_pytree_node(Static, lambda part: ((), part), lambda part, _children: part)
jax.tree_util.register_pytree_with_keys(
    State, _flatten, lambda aux, values: State(aux[0], dict(zip(aux[1], values, strict=True)))
)


# ---- Taking apart, and putting together


class _Parting:
    """One walk over an object, which takes it apart."""

    def __init__(self, static: Sequence[str]) -> None:
        self.static = static
        self.found: set[str] = set()
        self.seen: dict[int, tuple[str, Any]] = {}

    def part(self, value: Any, path: str = "self", is_static: bool = False) -> Any:
        if isinstance(value, jax.Array | np.ndarray) and _is_numeric(value):
            if isinstance(value, np.ndarray):
                self._once(value, path)
            return _as_array(value)
        if path[len("self.") :] in self.static:
            self.found.add(path[len("self.") :])
            is_static = True
        if type(value) in NUMBERS or (isinstance(value, np.generic) and _is_numeric(value)):
            return Static(value) if is_static else _as_array(value, path)
        if _is_ordinary(type(value)):
            self._once(value, path)
            attributes = sorted(_attributes(value).items())
            return State(
                type(value), {n: self.part(v, f"{path}.{n}", is_static) for n, v in attributes}
            )
        if value is not None and not jax.tree_util.all_leaves([value]):  # a list, a dict, …
            if not isinstance(value, tuple):
                self._once(value, path)
            return tree_map_with_path(
                lambda keys, child: self.part(child, f"{path}{keystr(keys)}", is_static),
                value,
                is_leaf=lambda child: child is not value,
            )
        if value is not None and not _is_fixed(value):
            of = f" of {value.dtype}" if isinstance(value, np.ndarray) else ""
            raise AttributeKindError(path=path, kind=type(value).__name__ + of)
        return Static(value)

    def _once(self, value: Any, path: str) -> None:
        first, _value = self.seen.setdefault(id(value), (path, value))
        if first != path:
            raise SharedAttributeError(first=first, second=path)

    def expect_values(self, output: Any, method: str) -> None:
        """Reject an output that is an object of the state, or that runs on after the call."""
        for leaf in jax.tree.leaves(output, _is_running):
            if _is_running(leaf) or id(leaf) in self.seen:
                raise arguments.kind_of_output(leaf, method)


def _joined(tree: Any, with_objects: bool = True) -> Any:
    """Put together what was taken apart; without objects, leave those as states."""

    def joined(node: Any) -> Any:
        if isinstance(node, Static):
            return node.value
        if not isinstance(node, State) or not with_objects:
            return node
        instance: Any = object.__new__(node._cls)
        for name, part in node._attributes.items():
            object.__setattr__(instance, name, _joined(part))
        return instance

    return jax.tree.map(joined, tree, is_leaf=lambda node: isinstance(node, State | Static))


# ---- What is what


def _is_public(name: str) -> bool:
    return name == "__call__" or not name.startswith("_")


def _is_method(member: Any) -> bool:
    """Return whether an instance finds something of its own under the name of this member."""
    of_the_class: Any = staticmethod | classmethod | type | MemberDescriptorType
    return hasattr(type(member), "__get__") and not isinstance(member, of_the_class)


def _is_ordinary(cls: type) -> bool:
    """Return whether instances keep all they know in attributes, and nothing in memory of C."""
    is_special = issubclass(cls, hk.Module | Enum) or cls.__module__.split(".")[0] in LIBRARIES
    return not is_special and not any(map(_is_of_c, cls.__mro__[:-1]))


def _is_of_c(base: type) -> bool:
    made, begun = (vars(base).get(name) for name in ("__new__", "__init__"))
    return isinstance(made, BuiltinFunctionType) or isinstance(begun, WrapperDescriptorType)


def _is_running(value: Any) -> bool:
    return isinstance(value, Iterator | Coroutine)


def _is_fixed(value: Any) -> bool:
    """Return whether a value cannot change: it is compared by value, or it is a function."""
    owner = getattr(value, "__self__", None)
    if owner is not None and not isinstance(owner, type | ModuleType):
        return _is_fixed(owner)  # a bound method may change its owner, out of sight
    is_function = callable(value) or isinstance(value, ModuleType | Enum | logging.Logger)
    by_identity: Any = (None, object.__hash__)
    is_hashed = type(value).__hash__ not in by_identity
    return (is_function or is_hashed) and not isinstance(value, ReferenceType)


def _attributes(instance: Any) -> dict[str, Any]:
    slots = copyreg._slotnames(type(instance))  # type: ignore[attr-defined]
    in_slots = {name: getattr(instance, name) for name in slots if hasattr(instance, name)}
    return {**in_slots, **getattr(instance, "__dict__", {})}


def _shared(cls: type) -> dict[tuple[type, str], Any]:
    """Return the attributes of a class and its bases, but not what Python itself keeps there."""
    names = ((base, n, value) for base in cls.__mro__[:-1] for n, value in vars(base).items())
    return {(base, name): value for base, name, value in names if not name.startswith("__")}


def _restored(before: Any, after: Any) -> list[str]:
    """Undo what a call has assigned to classes, and return which attributes those were."""
    nothing = object()
    changed = [
        key for key in before | after if before.get(key, nothing) is not after.get(key, nothing)
    ]
    for base, name in changed:
        if (base, name) in before:
            setattr(base, name, before[base, name])
        else:
            delattr(base, name)
    return [f"{base.__name__}.{name}" for base, name in changed]


def _is_numeric(value: Any) -> bool:
    kinds = (jax.dtypes.prng_key, np.number, np.bool_)
    return any(jnp.issubdtype(value.dtype, kind) for kind in kinds)


def _as_array(value: Any, path: str = "") -> Any:
    """Make a strongly typed array; of a NumPy array a copy, which nobody else can write into."""
    if isinstance(value, jax.Array) and not is_weak(value):
        return value
    try:
        return jnp.array(value, jnp.result_type(value))
    except OverflowError as error:
        raise arguments.large_number(value, path) from error


def _skeleton(state: Any) -> Any:
    return jax.tree.structure(state)


def _own(leaf: Any) -> Any:
    """Copy a NumPy array: a method may write into its arguments."""
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf
