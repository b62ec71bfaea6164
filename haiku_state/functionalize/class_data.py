"""Keep a class as it is: what a method changes in it is put back, and reported."""

import contextlib
from collections import deque
from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

from haiku_state.errors import ClassStateError
from haiku_state.functionalize.kinds import is_plain

_MISSING = object()


@contextlib.contextmanager
def unchanged(classes: Iterable[type], method: str) -> Iterator[None]:
    """Put the classes back as they were, whatever happens inside.

    Args:
      classes: the classes of all objects at hand.
      method: the name of what runs inside.

    Raises:
      ClassStateError: what ran inside changed an attribute of a class, a list, dict, set or array
        in one, or the default value of a method's argument.
    """
    bases = {base for cls in classes for base in cls.__mro__ if is_plain(base)} - {object}
    before = {base: dict(vars(base)) for base in bases}
    containers = [
        (base, name, container, _content(container))
        for base in bases
        for name, member in vars(base).items()
        for container in _containers(member, base.__module__)
    ]
    changed: list[tuple[type, str]] = []
    try:
        yield
    finally:
        for base, name, container, content in containers:
            if not _is_same(_content(container), content):
                _restore(container, content)
                changed.append((base, name))
        for base, members in before.items():
            changed += [(base, name) for name in _restore_members(base, members)]
    for base, name in changed:
        raise ClassStateError(method=method, cls=base.__name__, name=name)


def _restore_members(base: type, members: dict[str, Any]) -> list[str]:
    now = dict(vars(base))
    names = [
        name
        for name in now | members
        if now.get(name, _MISSING) is not members.get(name, _MISSING)
        and (name in members or not _is_cache(name))
    ]
    for name in names:
        # past a metaclass that forbids it
        if name in members:
            type.__setattr__(base, name, members[name])
        else:
            type.__delattr__(base, name)
    return names


def _is_cache(name: str) -> bool:
    # Python fills __annotations__ and its like when they are first asked for
    return name.startswith("__") and name.endswith("__")


def _containers(value: Any, module: str) -> list[Any]:
    """Give what can change inside a member of a class."""
    found: dict[int, Any] = {}
    rest = [value]
    while rest:
        value = rest.pop()
        if id(value) in found:
            continue
        if isinstance(value, FunctionType):
            rest += [value.__defaults__, value.__kwdefaults__]
        elif isinstance(value, staticmethod | classmethod):
            rest.append(value.__func__)
        elif isinstance(value, property):
            rest += [value.fget, value.fset, value.fdel]
        elif isinstance(value, tuple):
            rest += value
        elif isinstance(value, list | set | dict | deque | np.ndarray | bytearray):
            found[id(value)] = value
            rest += value.values() if isinstance(value, dict) else ()
            rest += value if isinstance(value, list | deque) else ()
        elif type(value).__module__ == module and not isinstance(value, type):
            rest.append(getattr(value, "__dict__", None))
    return list(found.values())


def _content(container: Any) -> Any:
    if isinstance(container, np.ndarray):
        return container.copy()
    if isinstance(container, dict):
        return list(container.items())
    return list(container)


def _is_same(now: Any, before: Any) -> bool:
    if isinstance(now, np.ndarray):
        return now.shape == before.shape and now.tobytes() == before.tobytes()
    flat = [[x for e in content for x in _pair(e)] for content in (now, before)]
    return list(map(id, flat[0])) == list(map(id, flat[1]))


def _pair(element: Any) -> tuple[Any, ...]:
    return element if type(element) is tuple else (element,)


def _restore(container: Any, content: Any) -> None:
    if isinstance(container, np.ndarray):
        container[...] = content
    elif isinstance(container, list | bytearray):
        container[:] = content
    else:
        container.clear()
        extend = getattr(container, "update", None) or container.extend
        extend(content)
