"""An ordinary Python class becomes a NamedTuple of pure functions."""

from collections import Counter, namedtuple
from collections.abc import Callable, Iterator
from enum import Enum
from types import FunctionType
from typing import Any

import haiku as hk
import jax
import numpy as np

from haiku_state.errors import (
    MethodNameError,
    PlainClassError,
    ReturnsSelfError,
)
from haiku_state.functionalize.attributes import (
    DICTS,
    Record,
    as_leaf,
    is_named,
    rebuild,
)
from haiku_state.functionalize.class_data import unchanged
from haiku_state.functionalize.gathering import Gathered
from haiku_state.functionalize.keeping import check_kept, in_order_of
from haiku_state.functionalize.kinds import is_plain


def functionalize(cls: type, *methods: str) -> Any:
    r"""Turn a class whose methods change their instance into pure functions.

    .. math::
       &\mathrm{method}(\mathrm{self}, x) \to y \\
       \longmapsto\quad &\mathrm{apply}(s_t, x) \to (y, s_{t+1})

    The state is a PyTree of the instance's attributes. Each call makes an instance of it, runs the
    method on that, and gathers its attributes again; the class itself and its other instances stay
    as they are.

    Arrays are state, and so are numbers in lists and dicts; any other number or bool is state if
    some method besides the constructor assigns an attribute of its name. Everything else, the
    sizes and flags that only the constructor assigns among it, is part of the compiled program.

    Args:
      cls: an ordinary Python class; a dataclass, slots, properties, bases and nested objects of
        other classes are all welcome.
      methods: the methods and properties to make functions of; by default all public ones.

    Returns:
      A NamedTuple of ``init(*args, **kwargs) -> state``, which runs the constructor, and one
      ``(state, *args, **kwargs) -> (output, state)`` for each method, under its name; the only
      one, and ``__call__``, is called ``apply``.

    Raises:
      PlainClassError: ``cls`` is a Haiku module, a function, or written in C.
      MethodNameError: there is no such method, or its name is taken.
      AttributeKindError: at a call, an attribute can be no state, an open file say.
      SharedAttributeError: at a call, two attributes are one mutable object.
      ClassStateError: at a call, a method changed its class.
      ReturnsSelfError: at a call, a method returned its instance.
      StaticAttributeError: at a call, a method changed an attribute that is no array.
      HaikuStateError: at a call, whatever :func:`check_state` finds in the new state.

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
      <https://docs.jax.dev/en/latest/stateful-computations.html>`__, a simple worked example.
    """
    if not _is_ordinary(cls):
        given = getattr(cls, "__name__", None) or f"{type(cls).__name__}(…)"
        raise PlainClassError(given=given)
    public = _public(cls)
    chosen = methods or tuple(public)
    fields = ["apply" if name == "__call__" or len(chosen) == 1 else name for name in chosen]
    taken = Counter(["init", *fields])
    for name, field in zip(chosen, fields, strict=True):
        if name not in public or name == "init" or taken[field] > 1:
            raise MethodNameError(name=name, cls=cls.__name__, methods=", ".join(public) or "none")
    functions = [_apply(cls, name, public[name]) for name in chosen]
    make: Any = namedtuple
    return make(f"Pure{cls.__name__}", ["init", *fields])(_init(cls), *functions)


def _is_ordinary(cls: Any) -> bool:
    if not isinstance(cls, type) or cls is object or not is_plain(cls):
        return False
    return not issubclass(cls, hk.Module | Enum)


def _public(cls: type) -> dict[str, Any]:
    """Give the methods and properties by name, those of the bases first."""
    members = {name: m for base in reversed(cls.__mro__) for name, m in vars(base).items()}
    return {
        name: member
        for name, member in members.items()
        if isinstance(member, FunctionType | property)
        and (not name.startswith("_") or name == "__call__")
    }


def _init(cls: Any) -> Callable[..., Record]:
    def init(*args: Any, **kwargs: Any) -> Record:
        with unchanged([cls], f"{cls.__name__}.__init__"):
            instance = cls(*_copied(args), **_copied(kwargs))
        return Gathered(instance).state

    init.__doc__ = cls.__init__.__doc__
    return init


def _apply(cls: type, name: str, member: Any) -> Callable[..., tuple[Any, Any]]:
    method = f"{cls.__name__}.{name}"

    def apply(state: Any, /, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        before = jax.tree.map(as_leaf, state)
        classes: set[type] = set()
        instance = rebuild(before, classes)
        with unchanged(classes, method):
            output = _called(instance, name, member)(*_copied(args), **_copied(kwargs))
        gathered = Gathered(instance, classes)
        for leaf in jax.tree.leaves(output, is_leaf=lambda node: isinstance(node, Iterator)):
            if gathered.owns(leaf):
                raise ReturnsSelfError(method=method, kind=type(leaf).__name__)
        after = in_order_of(before, gathered.state)
        check_kept(before, after, method)
        return output, after

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = member.__doc__
    return apply


def _called(instance: Any, name: str, member: Any) -> Callable[..., Any]:
    if isinstance(member, property):
        return lambda: getattr(instance, name)
    return instance if name == "__call__" else getattr(instance, name)


def _copied(value: Any) -> Any:
    """Copy the containers and NumPy arrays among the arguments: a method may write into them."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if type(value) is list:
        return [_copied(element) for element in value]
    if is_named(value):
        return tuple.__new__(type(value), map(_copied, value))
    if type(value) in DICTS:
        made = value.copy()
        made.update((key, _copied(element)) for key, element in value.items())
        return made
    return value
