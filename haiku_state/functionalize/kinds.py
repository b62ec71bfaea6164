"""What a value is: state, part of the program, or something that changes out of sight."""

import dis
import functools
import gc
import inspect
import io
import random
from collections.abc import Iterator
from enum import Enum
from pathlib import PurePath
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CodeType,
    CoroutineType,
    EllipsisType,
    FunctionType,
    GeneratorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any
from weakref import ReferenceType

import numpy as np

_CONSTRUCTORS = {"__init__", "__post_init__", "__new__"}
_LIBRARIES = {"jax", "jaxlib"}
_HIDDEN = (io.IOBase, Iterator, np.random.Generator, np.random.RandomState, random.Random)
_BOUND = (MethodType, BuiltinFunctionType, MethodWrapperType)


def has_methods(cls: type) -> bool:
    return any(
        isinstance(member, FunctionType) for base in cls.__mro__ for member in vars(base).values()
    )


def stored_names(cls: Any) -> frozenset[str]:
    """Give the names of the attributes that methods other than the constructor assign."""
    return _stored_names(cls)


@functools.cache
def _stored_names(cls: type) -> frozenset[str]:
    return frozenset(
        instruction.argval
        for base in cls.__mro__
        for name, member in vars(base).items()
        if name not in _CONSTRUCTORS
        for code in _codes(member)
        for instruction in dis.get_instructions(code)
        if instruction.opname in ("STORE_ATTR", "DELETE_ATTR")
    )


def _codes(member: Any) -> Iterator[CodeType]:
    """Give all code of a member of a class, with what a decorator or a lambda hides."""
    seen: list[Any] = []
    rest = [member]
    while rest:
        part = rest.pop()
        if any(part is other for other in seen):
            continue
        seen.append(part)
        if isinstance(part, CodeType):
            yield part
            rest += [const for const in part.co_consts if isinstance(const, CodeType)]
        elif isinstance(part, FunctionType):
            rest += [part.__code__, *(p for p in _referents(part) if isinstance(p, FunctionType))]
        elif isinstance(part, property):
            rest += [part.fget, part.fset, part.fdel]
        elif isinstance(part, staticmethod | classmethod):
            rest.append(part.__func__)
        elif isinstance(part, functools.cached_property | functools.partialmethod):
            rest.append(part.func)


def reachable(value: Any) -> Iterator[Any]:
    """Give a function, a generator or a container, and all that it refers to."""
    seen: set[int] = set()
    rest = [value]
    while rest:
        value = rest.pop()
        if id(value) not in seen:
            seen.add(id(value))
            yield value
            rest += _referents(value)


def hides_state(value: Any, module: str) -> bool:
    """Whether something that a function refers to changes out of sight when it is called.

    Args:
      value: the function, or what it refers to.
      module: where the class is from; a library may write into its closures to prepare them.

    Returns:
      True if it does.
    """
    if isinstance(value, _BOUND):
        return value.__self__ is not None and _is_mutable(value.__self__)
    if isinstance(value, FunctionType):
        ours = str(value.__module__).partition(".")[0] == module.partition(".")[0]
        return ours and _writes_outside(value.__code__)
    return isinstance(value, _HIDDEN) and not is_plain(type(value))


def _referents(value: Any) -> list[Any]:
    """Give what a function, a generator or a container refers to."""
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, GeneratorType | CoroutineType | AsyncGeneratorType):
        return list(_locals(value).values())
    if isinstance(value, Iterator) and not is_plain(type(value)):
        return gc.get_referents(value)
    if isinstance(value, MethodType):
        return [value.__self__, value.__func__]
    held = []
    if isinstance(value, FunctionType):
        held = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
        held += [cell.cell_contents for cell in value.__closure__ or () if _is_full(cell)]
    wraps = callable(value) and inspect.getattr_static(value, "__wrapped__", None) is not None
    return [*held, value.__wrapped__] if wraps else held


def _locals(value: Any) -> dict[str, Any]:
    if isinstance(value, GeneratorType):
        return inspect.getgeneratorlocals(value)
    if isinstance(value, CoroutineType):
        return inspect.getcoroutinelocals(value)
    return dict(value.ag_frame.f_locals) if value.ag_frame else {}


def _is_full(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _is_mutable(owner: Any) -> bool:
    """Whether a call of a bound method may change its owner."""
    if isinstance(owner, type | ModuleType):
        return False
    return bool(stored_names(type(owner))) if is_plain(type(owner)) else not is_static(owner)


def _writes_outside(code: CodeType) -> bool:
    """Whether a function assigns a variable of the function that it was made in."""
    return any(
        instruction.opname == "STORE_DEREF" and instruction.argval in code.co_freevars
        for instruction in dis.get_instructions(code)
    )


def is_plain(cls: Any) -> bool:
    """Whether instances keep all they know in attributes, and nothing in the memory of C code."""
    return _is_plain(cls)


@functools.cache
def _is_plain(cls: type) -> bool:
    return not any(
        isinstance(member, MethodDescriptorType | WrapperDescriptorType)
        and member.__objclass__ is base
        for base in cls.__mro__
        if base is not object and base.__module__ != "typing"
        for member in vars(base).values()
    )


def is_static(value: Any) -> bool:
    """Whether the value stands for itself: a function, or hashable by value."""
    cls = type(value)
    if isinstance(value, type | ModuleType | EllipsisType | Enum | PurePath) or cls is object:
        return True
    library = cls.__module__.partition(".")[0] in _LIBRARIES
    if library or cls.__module__ == "typing" or isinstance(value, FunctionType | functools.partial):
        found = True
    elif is_plain(cls):
        named = inspect.getattr_static(value, "__name__", None) is not None
        found = callable(value) and named and not stored_names(cls)
    else:
        by_value = getattr(cls, "__hash__", None) is not object.__hash__
        found = (callable(value) or by_value) and not isinstance(value, ReferenceType)
    return found and _is_hashable(value)  # last: a tracer inside may not like to be hashed


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def is_frozen(cls: type) -> bool:
    """Whether the class is a frozen dataclass, of which two equal copies are as good as one."""
    return bool(getattr(getattr(cls, "__dataclass_params__", None), "frozen", False))
