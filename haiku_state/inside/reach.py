"""What a function can reach besides its arguments, and what of it a call has changed.

A function reaches the cells of its closure, the globals that its code names, its defaults and
attributes, the instance that a method belongs to, and everything that hangs from these. Each thing
that can change is a `Holder`: it is copied before a call, compared after each line, and restored
at the end.
"""

import array
import collections
import dis
import enum
import functools
import inspect
import io
import operator
import random
import sys
import sysconfig
import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

NUMBERS = (bool, int, float, complex, np.generic)
SCALARS = (*NUMBERS, str, bytes, type(None))
CONTAINERS = (list, dict, set, bytearray, collections.deque, array.array, np.ndarray)
LARGE = 1 << 16
"""An array or container with more bytes than this is compared once, at the end of a call."""

FRAMEWORKS = {
    "chex", "equinox", "flax", "haiku", "haiku_state", "jax", "jaxlib", "jmp", "numpy", "optax",
    "orbax", "treescope",
}  # fmt: skip
"""Libraries that keep caches and stacks of their own while they trace: their inside is not told."""

PLAIN_MODULES = ("argparse", "collections", "queue", "types")
"""Modules of Python's library whose objects hold what a user puts into them."""

_PYTHON = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})
_PACKAGE = str(Path(__file__).parents[1])


class Change(NamedTuple):
    """A value that is not what it was."""

    key: Any
    """The attribute, the variable or the key of a dict; None for the container as a whole."""
    before: Any
    after: Any


class _Missing:
    def __repr__(self) -> str:
        return "missing"


MISSING = _Missing()


@functools.lru_cache(maxsize=4096)
def library_of(file: str) -> str:
    """Return the package that a file belongs to: ``"python"``, an installed one, or ``""``."""
    file = file.replace("\\", "/")
    for site in ("/site-packages/", "/dist-packages/"):
        if site in file:
            return file.partition(site)[2].partition("/")[0].removesuffix(".py")
    if file.startswith(_PACKAGE):
        return "haiku_state"
    return "python" if file.startswith((*_PYTHON, "<frozen")) else ""


def library_of_module(name: str | None) -> str:
    """Return the package that a module belongs to, as `library_of` does; a notebook has no file."""
    module = sys.modules.get(name or "")
    if file := getattr(module, "__file__", None):
        return library_of(file)
    is_python = name in sys.builtin_module_names or name in sys.stdlib_module_names
    return "python" if is_python and name != "__main__" else ""


def same(one: Any, other: Any) -> bool:
    """Return whether two values are one object, equal numbers or texts, or equal copies."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.shape == other.shape and _same_bytes(one, other)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, set):
        return one == other
    return isinstance(one, SCALARS) and bool(one == other or (one != one and other != other))


def _same_bytes(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    """Compare two arrays of one shape, with a copy of no more than a part of each at a time."""
    if one.nbytes <= LARGE or one.ndim == 0:
        return one.tobytes() == other.tobytes()
    step = max(1, LARGE * len(one) // one.nbytes)
    parts = (slice(start, start + step) for start in range(0, len(one), step))
    return all(one[part].tobytes() == other[part].tobytes() for part in parts)


def _identical(one: Any, other: Any) -> bool:
    """Return whether two iterables hold the same objects; much faster than `same`."""
    now = list(items_of(other))
    return len(one) == len(now) and all(map(operator.is_, one, now))


class Holder(ABC):
    """Something outside of the function whose content a call may change.

    Args:
      name: what the source calls it.
      form: what it is, for the report.
      value: the object itself; None for variables.
    """

    def __init__(self, name: str, form: str, value: Any = None) -> None:
        self.name, self.form, self.value = name, form, value
        self.saved = self.copy()
        size = value.nbytes if isinstance(value, np.ndarray) else sys.getsizeof(self.saved)
        self.is_large = size > LARGE
        """Whether it is compared at the end of a call, and after each line only if it differs."""

    @abstractmethod
    def copy(self) -> Any:
        """Return the content, as values that can be compared."""

    @abstractmethod
    def changes(self) -> Iterator[Change]:
        """Compare the content with what was saved."""

    @abstractmethod
    def restore(self) -> None:
        """Put what was saved back."""

    def label(self, key: Any) -> str:
        """Return what the source calls one of the values."""
        return self.name

    def children(self) -> Iterator[tuple[str, Any]]:
        """Return the values, each with its name."""
        return iter(())


class Names(Holder):
    """Names with values: variables of a closure or a module, attributes of an object."""

    def __init__(
        self,
        name: str,
        form: str,
        value: Any,
        read: Callable[[], dict[str, Any]],
        write: Callable[[str, Any], None],
        delete: Callable[[str], None],
    ) -> None:
        self._read, self._write, self._delete = read, write, delete
        super().__init__(name, form, value)

    def copy(self) -> dict[str, Any]:
        return dict(self._read())

    def changes(self) -> Iterator[Change]:
        yield from _changed_keys(self.saved, self._read())

    def restore(self) -> None:
        now = self.copy()
        for key in now.keys() - self.saved.keys():
            self._delete(key)
        for key, value in self.saved.items():
            if key not in now or now[key] is not value:
                self._write(key, value)

    def label(self, key: Any) -> str:
        return f"{self.name}.{key}" if self.name else key

    def children(self) -> Iterator[tuple[str, Any]]:
        return ((self.label(key), value) for key, value in self.saved.items())


class Container(Holder):
    """A list, dict, set, deque, bytearray or NumPy array: what changes in place."""

    def copy(self) -> Any:
        if isinstance(self.value, np.ndarray):
            return self.value.copy()
        if isinstance(self.value, dict):
            return dict(_plain(self.value).items(self.value))
        return (set if isinstance(self.value, set) else list)(items_of(self.value))

    def changes(self) -> Iterator[Change]:
        if isinstance(self.value, dict):
            yield from (changed := list(_changed_keys(self.saved, self.value)))
            if not changed and (now := list(items_of(self.value))) != (before := list(self.saved)):
                yield Change(None, before, now)
        elif isinstance(self.value, np.ndarray):
            if not same(self.saved, self.value):
                yield Change(None, self.saved, self.value.copy())
        elif isinstance(self.saved, list) and _identical(self.saved, self.value):
            return
        elif not same(self.saved, now := self.copy()):
            yield Change(None, self.saved, now)

    def restore(self) -> None:
        value, saved = self.value, self.saved
        if not any(True for _ in self.changes()):
            return
        if isinstance(value, np.ndarray):
            if value.shape != saved.shape:
                value.shape = saved.shape
            value[...] = saved
        elif isinstance(value, dict):
            _plain(value).clear(value)
            for key, item in saved.items():
                _plain(value).__setitem__(value, key, item)
        elif isinstance(value, set):
            set.clear(value)
            set.update(value, saved)
        elif isinstance(value, collections.deque):
            collections.deque.clear(value)
            collections.deque.extend(value, saved)
        elif isinstance(value, list):
            list.__setitem__(value, slice(None), saved)
        elif isinstance(value, array.array):
            value[:] = array.array(value.typecode, saved)
        else:
            value[:] = saved

    def label(self, key: Any) -> str:
        if key is not None:
            return f"{self.name}[{key!r}]"
        return self.name if isinstance(self.value, (set, dict)) else f"{self.name}[...]"

    def children(self) -> Iterator[tuple[str, Any]]:
        if isinstance(self.value, dict):
            for key, item in self.saved.items():
                yield f"{self.name}[{key!r}]", item
        elif isinstance(self.value, (list, collections.deque)):
            for index, item in enumerate(self.saved):
                yield f"{self.name}[{index}]", item
        if isinstance(self.value, (dict, set)):  # objects with attributes of their own
            yield from ((self.name, key) for key in self.saved if not isinstance(key, SCALARS))


class Generator(Holder):
    """A random generator, of Python or of NumPy: its state moves when it is asked."""

    def copy(self) -> Any:
        if isinstance(self.value, random.Random):
            return self.value.getstate()
        if isinstance(self.value, np.random.RandomState):
            return self.value.get_state(legacy=False)
        return self.value.bit_generator.state

    def changes(self) -> Iterator[Change]:
        now = self.copy()
        is_python = isinstance(self.value, random.Random)  # a tuple with hundreds of integers
        if (now != self.saved) if is_python else not same(self.saved, now):
            yield Change(None, str(self.saved), str(now))

    def restore(self) -> None:
        if isinstance(self.value, random.Random):
            self.value.setstate(self.saved)
        elif isinstance(self.value, np.random.RandomState):
            self.value.set_state(self.saved)
        else:
            self.value.bit_generator.state = self.saved


class OpenFile(Holder):
    """An open file or buffer: its position moves when it is read or written."""

    def copy(self) -> Any:
        if self.value.closed:
            return None
        text = self.value.getvalue() if hasattr(self.value, "getvalue") else ""
        return self.value.tell(), text

    def changes(self) -> Iterator[Change]:
        if (now := self.copy()) is not None and now != self.saved:
            key = "position" if now[1] == self.saved[1] else "text"
            yield Change(key, *(repr(position) for position, _ in (self.saved, now)))

    def restore(self) -> None:
        if self.value.closed or self.copy() == self.saved:
            return
        position, text = self.saved
        if hasattr(self.value, "getvalue"):
            self.value.seek(0)
            self.value.truncate()
            self.value.write(text)
        self.value.seek(position)


def _plain(value: dict[Any, Any]) -> Any:
    """The class below what a user's subclass may have overridden."""
    return collections.OrderedDict if isinstance(value, collections.OrderedDict) else dict


def items_of(container: Any) -> Iterator[Any]:
    """Iterate over a container without the methods that a subclass of it has."""
    kinds = (collections.OrderedDict, *CONTAINERS, tuple, frozenset)
    return next(kind for kind in kinds if isinstance(container, kind)).__iter__(container)


def _changed_keys(saved: dict[Any, Any], now: dict[Any, Any]) -> Iterator[Change]:
    if _identical(saved, now) and all(map(operator.is_, saved.values(), dict.values(now))):
        return
    for key in [*saved, *(key for key in list(items_of(now)) if key not in saved)]:
        before, after = saved.get(key, MISSING), dict.get(now, key, MISSING)
        if not same(before, after):
            yield Change(key, before, after)


class Reach:
    """The holders that a function reaches, and the values that it may read from them.

    Args:
      function: anything that can be called; None to reach nothing yet.
    """

    def __init__(self, function: Any = None) -> None:
        self.holders: list[Holder] = []
        self.constants: dict[str, Any] = {}
        """Numbers and arrays, by their names."""
        self.references: dict[str, Any] = {}
        """Values of ``jax.new_ref``, by their names."""
        self.streams: dict[str, Any] = {}
        """Iterators and files for writing that were made outside, by their names."""
        self.opaque: dict[str, Any] = {}
        """Objects without anything that Python can look at, by their names."""
        self.codes: list[types.CodeType] = []
        """The code of the functions that were found, except that of libraries."""
        self._found: list[tuple[str, Any, str]] = []
        self._is_walking = False
        self._attributes: set[str] = set()
        self._seen: dict[int, Any] = {}
        self._globals: dict[int, set[str]] = {}
        if function is not None:
            call: Any = inspect.getattr_static(type(function), "__call__", None)
            is_object = isinstance(call, types.FunctionType)
            name = call.__code__.co_varnames[0] if is_object else "function"  # often "self"
            self.walk(getattr(function, "__name__", name), function)

    def walk(self, name: str, value: Any, form: str = "") -> None:
        """Visit a value.

        Args:
          name: what the source calls it.
          value: anything.
          form: what it is, where that follows from where it was found.
        """
        self._found.append((name, value, form))
        if self._is_walking:
            return  # its turn comes: a recursion might be too deep
        self._is_walking, waiting = True, collections.deque[tuple[str, Any, str]]()
        while self._found or waiting:
            waiting.extendleft(reversed(self._found))
            self._found.clear()
            name, value, form = waiting.popleft()
            try:
                self._visit(name, value, form)
            except Exception:  # by code of the user, such as `__iter__` or `__repr__`
                self.opaque[name] = value
        self._is_walking = False

    def _visit(self, name: str, value: Any, form: str) -> None:
        if isinstance(value, SCALARS) or _is_array(value):
            if isinstance(value, NUMBERS) or _is_array(value):
                self.constants.setdefault(name, value)
            return
        if id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if is_reference(value):
            self.references[name] = value
        elif isinstance(value, functools.partial):
            self.walk(name, value.func)
            for index, item in enumerate(value.args):
                self.walk(f"{name}.args[{index}]", item)
            for key, item in value.keywords.items():
                self.walk(key, item)
        elif isinstance(value, types.MethodType):
            self._walk_method(value)
        elif isinstance(value, types.FunctionType):
            self._walk_function(name, value)
        elif isinstance(value, types.BuiltinMethodType):  # such as `append = history.append`
            if not isinstance(value.__self__, (type, types.ModuleType)):
                self.walk(f"{name}.__self__", value.__self__)
        elif isinstance(value, types.ModuleType):
            if not library_of_module(value.__name__):
                self._walk_globals(name, vars(value), self._attributes & vars(value).keys())
        elif isinstance(value, type):
            self._walk_class(value)
        elif callable(value) and "__wrapped__" in getattr(value, "__dict__", {}):
            self.walk(name, value.__wrapped__)
            self._walk_object(name, value)
        elif isinstance(value, random.SystemRandom):
            self.opaque[name] = value  # it has no state; what it asks for is seen
        elif isinstance(value, (random.Random, np.random.RandomState, np.random.Generator)):
            self.holders.append(Generator(name, "random", value))
        elif isinstance(value, io.IOBase):
            if value.closed or not value.seekable() or _is_written(value):
                self.streams[name] = value
            else:
                self.holders.append(OpenFile(name, "file", value))
        elif isinstance(value, Iterator) and library_of_module(type(value).__module__):
            self.streams[name] = value
        elif isinstance(value, CONTAINERS):
            self._walk_container(name, value, form)
        elif isinstance(value, (tuple, frozenset)):
            fields = getattr(value, "_fields", None)
            for index, item in enumerate(items_of(value)):
                self.walk(f"{name}.{fields[index]}" if fields else f"{name}[{index}]", item, form)
        else:
            self._walk_object(name, value)

    def knows(self, value: Any) -> bool:
        """Return whether a value was found."""
        return id(value) in self._seen

    def _add(self, holder: Holder) -> None:
        self.holders.append(holder)
        inherited = holder.form if holder.form == "argument" else ""
        for name, value in list(holder.children()):
            self.walk(name, value, inherited)

    def _walk_container(self, name: str, value: Any, form: str) -> None:
        kind = "container"
        if isinstance(value, np.ndarray):
            kind = "array"
            if value.dtype.kind not in "OSUMmV":
                self.constants[name] = value
        elif isinstance(value, dict):
            kind = "dict key"
        self._add(Container(name, form or kind, value))
        if type(value) not in CONTAINERS and not library_of_module(type(value).__module__):
            self._walk_object(name, value)  # a subclass of a container may have attributes

    def _walk_method(self, method: types.MethodType) -> None:
        function = inspect.unwrap(method.__func__)  # it may be jitted
        if isinstance(function, types.FunctionType) and function.__code__.co_varnames:
            self.walk(function.__code__.co_varnames[0], method.__self__)
        self.walk(getattr(method, "__name__", "function"), method.__func__)

    def _walk_function(self, name: str, function: types.FunctionType) -> None:
        code = function.__code__
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))

        def read() -> dict[str, Any]:
            return {key: cell.cell_contents for key, cell in cells.items() if is_filled(cell)}

        def write(key: str, value: Any) -> None:
            cells[key].cell_contents = value

        def delete(key: str) -> None:
            del cells[key].cell_contents

        if library_of(code.co_filename):  # what it wraps may be the user's
            for key, value in read().items():
                if not isinstance(value, SCALARS):
                    self.walk(key, value)
            return
        self.codes.append(code)
        read_by_code = names_in(code)
        self._attributes |= read_by_code.attributes
        if cells:
            self._add(Names("", "nonlocal", None, read, write, delete))
        self._walk_globals("", function.__globals__, read_by_code.globals)
        own = function.__dict__
        self._add(
            Names(
                name, "function attribute", function,
                lambda: own, own.__setitem__, own.__delitem__,
            )
        )  # fmt: skip
        self._walk_defaults(function)

    def _walk_defaults(self, function: types.FunctionType) -> None:
        code = function.__code__
        positional = code.co_varnames[: code.co_argcount]

        def read() -> dict[str, Any]:
            defaults = function.__defaults__ or ()
            names = positional[len(positional) - len(defaults) :]
            return {**dict(zip(names, defaults, strict=True)), **(function.__kwdefaults__ or {})}

        def write(key: str, value: Any) -> None:
            if key not in positional:
                function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), key: value}
                return
            defaults = {**read(), key: value}
            count = len(function.__defaults__ or ())
            names = positional[len(positional) - count :]
            function.__defaults__ = tuple(defaults[name] for name in names)

        values = read()
        if all(isinstance(value, SCALARS) for value in values.values()):
            return
        self.holders.append(Names("", "default", None, read, write, lambda key: None))
        for key, value in values.items():
            self.walk(key, value, "default")

    def _walk_globals(self, prefix: str, namespace: dict[str, Any], names: set[str]) -> None:
        known = self._globals.setdefault(id(namespace), set())
        if "globals" in names:  # the code may read and write any of them
            names = names | {name for name in namespace if not name.startswith("__")}
        new = {name for name in names - known if name != "__builtins__"}
        known |= new

        def read() -> dict[str, Any]:
            found = {name: namespace[name] for name in new if name in namespace}
            return {key: value for key, value in found.items() if not _is_library(value)}

        write, delete = namespace.__setitem__, namespace.__delitem__
        if new:
            self._add(Names(prefix, "global", None, read, write, delete))

    def _walk_class(self, cls: type) -> None:
        if library_of_module(cls.__module__):
            return
        for function in vars(cls).values():
            for accessor in ("fget", "fset", "fdel", "__func__", "func", "__wrapped__"):
                if isinstance(inner := getattr(function, accessor, None), types.FunctionType):
                    self.walk(inner.__name__, inner)
            if isinstance(function, types.FunctionType):
                self.walk(function.__name__, function)

        if issubclass(cls, enum.Enum):  # they keep what was looked up
            return

        def read() -> dict[str, Any]:
            return {key: value for key, value in vars(cls).items() if not _is_special(key)}

        self._add(
            Names(
                cls.__name__, "class attribute", cls, read,
                lambda key, value: type.__setattr__(cls, key, value),
                lambda key: type.__delattr__(cls, key),
            )
        )  # fmt: skip
        for base in cls.__mro__[1:]:
            self.walk(base.__name__, base)

    def _walk_object(self, name: str, value: Any) -> None:
        cls = type(value)
        library = library_of_module(cls.__module__)
        if library in FRAMEWORKS:
            self._walk_parts(name, value)
            return
        if library == "python" and cls.__module__.partition(".")[0] not in PLAIN_MODULES:
            self.opaque[name] = value
            return
        self.walk(cls.__name__, cls)
        slots = [key for base in cls.__mro__ for key in _slots(base)]
        own = getattr(value, "__dict__", None)
        if own is None and not slots:
            self.opaque[name] = value
            return

        def read() -> dict[str, Any]:
            found = {key: getattr(value, key) for key in slots if hasattr(value, key)}
            return found if own is None else {**found, **value.__dict__}

        self._add(
            Names(
                name, "attribute", value, read,
                lambda key, item: object.__setattr__(value, key, item),
                lambda key: object.__delattr__(value, key),
            )
        )  # fmt: skip

    def _walk_parts(self, name: str, value: Any) -> None:
        """Visit what a library's own object holds, such as the function that it wraps."""
        for key, item in getattr(value, "__dict__", {}).items():
            if isinstance(item, (types.FunctionType, types.MethodType, functools.partial)):
                self.walk(f"{name}.{key}", item)


class _Named(NamedTuple):
    globals: set[str]
    attributes: set[str]


@functools.lru_cache(maxsize=4096)
def names_in(code: types.CodeType) -> _Named:
    """Return the globals and the attributes that code mentions, inner functions included."""
    found = _Named(set(), set())
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_NAME"):
            found.globals.add(instruction.argval)
        elif "ATTR" in instruction.opname or "METHOD" in instruction.opname:
            found.attributes.add(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = names_in(constant)
            found.globals.update(inner.globals)
            found.attributes.update(inner.attributes)
    return found


def is_reference(value: Any) -> bool:
    """Return whether a value is a mutable cell, as ``jax.new_ref`` makes them."""
    return "Ref" in type(value).__name__ and type(value).__module__.startswith("jax")


def _is_array(value: Any) -> bool:
    return isinstance(value, jax.Array) and not is_reference(value)


def _is_written(stream: Any) -> bool:
    return stream.writable() and not hasattr(stream, "getvalue")


def _is_library(value: Any) -> bool:
    return isinstance(value, types.ModuleType) and bool(library_of_module(value.__name__))


def is_filled(cell: types.CellType) -> bool:
    """Return whether a variable of a closure has a value."""
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _slots(cls: type) -> list[str]:
    slots = vars(cls).get("__slots__", ())
    names = [slots] if isinstance(slots, str) else list(slots)
    names = [f"_{cls.__name__.lstrip('_')}{n}" if n[:2] == "__" != n[-2:] else n for n in names]
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def _is_special(key: str) -> bool:
    return key.startswith(("__", "_abc_"))
