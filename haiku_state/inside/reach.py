"""What a call can reach besides its arguments, and what of it has changed.

A call reaches the variables, defaults and attributes of its function, the globals that the
function's code names, also in other modules, and everything that hangs from these. Whatever can
change has a content, which :func:`access` reads and puts back. A `Holder` remembers that content:
it is compared at the end of a call, and restored.
"""

import array
import collections
import contextvars
import dis
import enum
import functools
import gc
import inspect
import io
import logging
import operator
import os
import random
import re
import sys
import sysconfig
import types
import warnings
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

NUMBERS = (bool, int, float, complex, np.generic)
SCALARS = (*NUMBERS, str, bytes, type(None))
CONTAINERS = (list, dict, set, bytearray, collections.deque, array.array, np.ndarray)
GENERATORS = (random.Random, np.random.RandomState, np.random.Generator)

FRAMEWORKS = {
    "chex", "equinox", "flax", "haiku", "haiku_state", "jax", "jaxlib", "jmp", "numpy", "optax",
    "orbax", "treescope",
}  # fmt: skip
"""Libraries that keep caches and stacks of their own while they trace."""

_TRACING = {"haiku_state", "jax", "jaxlib", "numpy"}
"""Frameworks whose objects are caches themselves: their inside is not looked at."""

_PLAIN = {"_thread", "argparse", "collections", "queue", "types", "weakref"}
"""Modules of Python's library whose objects hold what a user puts into them."""

_COMPUTING = {
    "abc", "array", "bisect", "builtins", "cmath", "collections", "contextlib", "copy",
    "dataclasses", "enum", "fractions", "functools", "heapq", "itertools", "logging", "math",
    "numbers", "operator", "re", "string", "textwrap", "types", "typing", "warnings",
}  # fmt: skip
"""Modules of Python's library that ask for nothing but their arguments."""

_OURS = {"jax_random_seed_offset", "jax_check_tracer_leaks"}
"""Settings of JAX that are changed while a function is explained."""

_HIDING = {"__import__", "compile", "eval", "exec", "globals", "jit", "vars"}
"""Names in code that may reach what the code does not name, or that make something to notice."""

_REMEMBERS = re.compile("jit|map|scan|loop|cond|switch|checkpoint|remat|custom|shape")
"""What JAX calls functions whose argument it does not trace twice, and others like them."""

_MANY = 1 << 20
"""So many bytes of an array are compared at once."""
_PYTHON = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})
_PACKAGE = str(Path(__file__).parents[1])

Content = dict[Any, Any]
"""Values that can be compared, by their keys; one value with the key None has no keys."""
Access = tuple[Callable[[], Content], Callable[[Content], None]]
"""How a content is read, and how it is put back."""


class Change(NamedTuple):
    """A value that has changed."""

    key: Any
    """The attribute, the variable or the key of a dict; None for the whole content."""
    before: Any
    after: Any


class _Missing:
    def __repr__(self) -> str:
        return "missing"


MISSING = _Missing()


class StandIn:
    """Stands for an iterator or a file of the caller while a call is watched."""

    stands_for: Any


# --- who wrote it ---------------------------------------------------------------------------------


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


def library_of_object(value: Any) -> str:
    """Return the package that a value's class belongs to; some classes of C tell no module."""
    return library_of_module(getattr(type(value), "__module__", "builtins"))


# --- how a content is read and put back -----------------------------------------------------------


def access(value: Any) -> Access | None:
    """Return how the content of a value is read and put back.

    Args:
      value: anything.

    Returns:
      Two functions, or None if the value has no content that Python can look at.
    """
    if isinstance(value, dict):
        return _dict(value)
    if isinstance(value, type):
        return _class(value)
    form, how = _whole(value)
    return _object(value) if form == "kept" else how


def _whole(value: Any) -> tuple[str, Access]:
    """The content of what has no keys."""
    _kinds, form, read, put = next(one for one in _WHOLE if isinstance(value, one[0]))
    return form, (lambda: {None: read(value)}, lambda saved: put(value, saved[None]))


def _named(read: Callable[[], Content], write: Any, delete: Any) -> Access:
    """Variables or attributes: only those that differ are written back."""

    def put(saved: Content) -> None:
        now = read()
        for key in now.keys() - saved.keys():
            delete(key)
        for key, value in saved.items():
            if now.get(key, MISSING) is not value:
                write(key, value)

    return read, put


def _space(space: dict[str, Any], names: Collection[str] | None = None) -> Access:
    """Some variables of a namespace, or all; modules of libraries stay what they are."""

    def read() -> Content:
        found = {key: space[key] for key in (space if names is None else names) if key in space}
        return {key: value for key, value in found.items() if not _is_library(value)}

    return _named(read, space.__setitem__, space.__delitem__)


def _cells(function: types.FunctionType) -> Access:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))

    def read() -> Content:
        return {key: cell.cell_contents for key, cell in cells.items() if is_filled(cell)}

    def write(key: str, value: Any) -> None:
        cells[key].cell_contents = value

    return _named(read, write, lambda key: delattr(cells[key], "cell_contents"))


def _defaults(function: types.FunctionType) -> Access:
    positional, named = function.__defaults__ or (), function.__kwdefaults__ or {}
    code = function.__code__
    names = code.co_varnames[code.co_argcount - len(positional) : code.co_argcount]

    def put(saved: Content) -> None:
        function.__defaults__ = tuple(saved[name] for name in names) or None
        function.__kwdefaults__ = {key: saved[key] for key in named} or None

    return lambda: {**dict(zip(names, positional, strict=True)), **named}, put


def _dict(value: dict[Any, Any]) -> Access:
    kind: Any = collections.OrderedDict if isinstance(value, collections.OrderedDict) else dict

    def put(saved: Content) -> None:
        kind.clear(value)
        for key, item in saved.items():
            kind.__setitem__(value, key, item)

    return lambda: dict(kind.items(value)), put


def _class(value: type) -> Access:
    def read() -> Content:
        return {k: v for k, v in vars(value).items() if not k.startswith(("__", "_abc_"))}

    return _named(
        read,
        lambda key, item: type.__setattr__(value, key, item),
        lambda key: type.__delattr__(value, key),
    )


def _object(value: Any) -> Access | None:
    """Attributes, also those in slots."""
    slots = [key for base in type(value).__mro__ for key in _slots(base)]
    own = getattr(value, "__dict__", None)
    if own is None and not slots:
        return None

    def read() -> Content:
        found = {key: getattr(value, key) for key in slots if hasattr(value, key)}
        return found if own is None else {**found, **value.__dict__}

    def write(key: str, item: Any) -> None:
        if key in slots:
            object.__setattr__(value, key, item)
        else:
            dict.__setitem__(value.__dict__, key, item)

    def delete(key: str) -> None:
        object.__delattr__(value, key) if key in slots else dict.pop(value.__dict__, key)

    return _named(read, write, delete)


def _slots(cls: type) -> list[str]:
    slots = vars(cls).get("__slots__", ())
    names = [slots] if isinstance(slots, str) else list(slots)
    names = [f"_{cls.__name__.lstrip('_')}{n}" if n[:2] == "__" != n[-2:] else n for n in names]
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def _put_array(value: np.ndarray[Any, Any], saved: Any) -> None:
    if value.shape != saved.shape:
        value.shape = saved.shape
    value[...] = saved


def _read_file(value: Any) -> Any:
    """Where an open file or a buffer stands, and what is in a buffer."""
    text = value.getvalue() if hasattr(value, "getvalue") and not value.closed else ""
    try:
        return None if value.closed else (value.tell(), text)
    except OSError:  # a file whose lines are iterated over does not tell
        return MISSING, text


def _put_file(value: Any, saved: Any) -> None:
    if hasattr(value, "getvalue"):
        value.seek(0)
        value.truncate()
        value.write(saved[1])
    if saved[0] is not MISSING:
        value.seek(saved[0])


def _kept(value: Any) -> list[Any]:
    """The tracers that are kept by a cache, or by an object that is written in C."""
    kept = [list(o.values()) if isinstance(o, dict) else o for o in gc.get_referents(value)]
    leaves = [leaf for part in kept for leaf in leaves_of(part)]
    return [leaf for leaf in leaves if isinstance(leaf, jax.core.Tracer)]


def _replace(kind: Any, add: str) -> Callable[[Any, Any], None]:
    """Return what replaces the items of a container, without the methods of a subclass."""

    def put(value: Any, items: Any) -> None:
        kind.clear(value)
        getattr(kind, add)(value, items)

    return put


_WHOLE: list[tuple[Any, str, Callable[[Any], Any], Callable[[Any, Any], Any]]] = [
    (random.Random, "random", random.Random.getstate, random.Random.setstate),
    (
        np.random.RandomState,
        "random",
        lambda value: value.get_state(legacy=False),
        np.random.RandomState.set_state,
    ),
    (
        np.random.Generator,
        "random",
        lambda value: value.bit_generator.state,
        lambda value, state: setattr(value.bit_generator, "state", state),
    ),
    (np.ndarray, "array", np.ndarray.copy, _put_array),
    (list, "container", lambda value: list(items_of(value)), _replace(list, "extend")),
    (set, "container", lambda value: set(items_of(value)), _replace(set, "update")),
    (
        collections.deque,
        "container",
        lambda value: list(items_of(value)),
        _replace(collections.deque, "extend"),
    ),
    (
        (bytearray, array.array),
        "container",
        lambda value: value[:],
        lambda value, items: value.__setitem__(slice(None), items),
    ),
    (io.IOBase, "file", _read_file, _put_file),
    # restored with the context of the call
    (contextvars.ContextVar, "context variable", lambda value: value.get(MISSING), lambda *_: None),
    (functools._lru_cache_wrapper, "cache", _kept, lambda value, _saved: value.cache_clear()),
    (object, "kept", _kept, lambda *_: None),
]
"""For each kind of object its form, and how its content without keys is read and put back."""


def _environment() -> Access:
    return _named(lambda: dict(os.environ), os.environ.__setitem__, os.environ.__delitem__)


def _of_numpy() -> Access:
    """The settings of NumPy."""

    def read() -> Content:
        return {"seterr": np.geterr(), "set_printoptions": np.get_printoptions()}

    return _named(read, lambda key, value: getattr(np, key)(**value), lambda key: None)


def _settings() -> Access:
    """The settings of JAX."""

    def read() -> Content:
        return {key: value for key, value in jax.config.values.items() if key not in _OURS}

    return _named(read, jax.config.update, lambda key: None)


# --- what is compared -----------------------------------------------------------------------------


def same(one: Any, other: Any) -> bool:
    """Return whether two values are one object, equal numbers or texts, or equal copies."""
    other = original(other)
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        if one.shape != other.shape:
            return False
        first, second = _bits(one), _bits(other)
        # what NumPy makes in order to compare a part is soon free again
        parts = [slice(start, start + _MANY) for start in range(0, first.size, _MANY)]
        return all(np.array_equal(first[part], second[part]) for part in parts)
    if isinstance(one, (list, tuple)):
        if len(one) != len(other):
            return False
        return all(map(operator.is_, one, other)) or all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (set, bytearray, array.array)):
        return bool(one == other)
    return isinstance(one, SCALARS) and bool(one == other or (one != one and other != other))


def _bits(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The bytes of an array, so that NaN equals NaN; of objects, their addresses."""
    if values.dtype.hasobject:
        return np.array([id(value) for value in values.ravel().tolist()])
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8)


class Holder:
    """Something outside of the function whose content a call may change.

    Args:
      name: what the source calls it; empty for variables.
      form: what it is, for the report.
      value: the object itself; None for variables.
      how: how its content is read and put back.
    """

    def __init__(self, name: str, form: str, value: Any, how: Access) -> None:
        self.name, self.form, self.value = name, form, value
        self.read, self.put = how
        # what stands in during a call is not what was there before
        self.saved = {
            key: [*map(original, item)] if key is None and type(item) is list else original(item)
            for key, item in self.read().items()
        }

    @property
    def known(self) -> tuple[str, str]:
        """What it is recognized by in another call of the same function."""
        return self.form, self.name

    def changes(self) -> Iterator[Change]:
        """Compare the content with what was saved."""
        saved, now = self.saved, self.read()
        is_ordered = len(saved) == len(now) and all(map(operator.is_, saved, now))
        if is_ordered and all(map(operator.is_, saved.values(), now.values())):
            return
        found = False
        for key in [*saved, *(key for key in now if key not in saved)]:
            before, after = saved.get(key, MISSING), now.get(key, MISSING)
            if not same(before, after) and not self._is_remembered(key, after):
                found = True
                yield Change(key, before, after)
        if not found and not is_ordered and isinstance(self.value, dict):
            yield Change(None, list(saved), list(now))  # the order of the keys

    def _is_remembered(self, key: Any, value: Any) -> bool:
        """Whether an attribute is only computed once, as ``functools.cached_property`` does."""
        how = inspect.getattr_static(type(self.value), str(key), None)
        is_traced = any(isinstance(leaf, jax.core.Tracer) for leaf in leaves_of(value))
        return isinstance(how, functools.cached_property) and not is_traced

    def restore(self) -> None:
        """Put what was saved back."""
        now = self.read()
        if list(now) != list(self.saved) or next(self.changes(), None) is not None:
            self.put(self.saved)

    def label(self, key: Any) -> str:
        """Return what follows the name of the holder in the name of one of its values."""
        if isinstance(self.value, dict) or self.form == "environment":
            return "" if key is None else f"[{key!r}]"
        if isinstance(self.value, CONTAINERS):
            return "" if isinstance(self.value, set) else "[...]"
        if key is None:
            return ""
        private = re.sub(r"^_[A-Za-z]\w*?(__\w*[^_])$", r"\1", str(key))
        return f".{private}" if self.name else str(key)

    def path(self, key: Any) -> str:
        """Return the name of one of its values."""
        return self.name + self.label(key)

    def children(self) -> Iterator[tuple[Any, str, Any]]:
        """Yield the values with their keys and names."""
        items = self.saved.get(None, self.saved)
        if isinstance(items, dict):
            yield from ((key, self.path(key), item) for key, item in items.items())
        elif isinstance(items, list) and not isinstance(self.value, GENERATORS):
            yield from ((n, f"{self.name}[{n}]", item) for n, item in enumerate(items))
        elif isinstance(self.value, contextvars.ContextVar):
            yield None, self.name, items
        if isinstance(self.value, (dict, set)):  # objects with attributes of their own
            yield from ((MISSING, self.name, key) for key in items if not isinstance(key, SCALARS))


# --- the walk -------------------------------------------------------------------------------------


class Reach:
    """The holders that a call reaches, and the values that it may read from them.

    Args:
      stand_in: what to put in the place of an iterator, or of a file for writing, while the call
        runs: a function of its name and of it.
    """

    def __init__(self, stand_in: Callable[[str, Any], Any]) -> None:
        numpy_random = np.random.mtrand._rand
        self.holders = [
            Holder("random", "random", random._inst, _whole(random._inst)[1]),
            Holder("numpy.random", "random", numpy_random, _whole(numpy_random)[1]),
            Holder("os.environ", "environment", None, _environment()),
            Holder("jax.config", "setting", jax.config, _settings()),
            Holder("numpy", "setting", np, _of_numpy()),
        ]
        self.constants: dict[str, Any] = {}
        """Numbers and arrays, by their names."""
        self.references: dict[int, str] = {}
        """The names of the values of ``jax.new_ref``, by their ``id``."""
        self.opaque: dict[str, Any] = {}
        """Objects without anything that Python can look at, by their names."""
        self.aliases: dict[int, set[str]] = collections.defaultdict(set)
        """All names under which an object was found, by its ``id``."""
        self.codes: list[types.CodeType] = []
        """The code of the functions that were found, except that of libraries."""
        self.is_suspect = False
        """Whether a call may do what a comparison cannot see, such as ask for the time."""
        self.is_remembered = False
        """Whether JAX may know a part of the function from a trace before."""
        self._stand_in = stand_in
        self._replaced: list[Holder] = []
        self._found: list[tuple[str, Any, str]] = []
        self._is_walking = False
        self._seen: dict[Any, Any] = {}
        self._known: dict[int, set[str]] = collections.defaultdict(set)

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

    def enter(self, code: types.CodeType, space: dict[str, Any]) -> None:
        """Visit what code names outside.

        Args:
          code: that of a function of the user, or of a frame that runs.
          space: its globals.
        """
        if id(code) in self._seen:
            return
        self._seen |= {id(inner): inner for inner in nested_codes(code)}
        self.codes.append(code)
        names = names_in(code)
        everywhere = names.globals | names.attributes
        module = sys.modules.get(space.get("__name__", ""))
        if id(space) not in self._known and getattr(module, "__dict__", None) is not space:
            return  # made in the call, as for `exec`
        self.is_suspect |= not _HIDING.isdisjoint(everywhere)
        self.is_remembered |= any(map(_REMEMBERS.search, everywhere))
        for name in sorted(names.modules & sys.modules.keys()):
            self._enter_module(name, sys.modules[name], names)
        for name in sorted(names.globals & space.keys()):
            if isinstance(space[name], types.ModuleType):
                self._enter_module(name, space[name], names)
        if "globals" in names.globals:  # also those that it makes
            self._add(Holder("", "global", None, _space(space)))
        self._enter_globals("", space, names.globals)

    def stood_in(self, name: str, value: Any) -> Any:
        """Return what takes the place of a stream, or of a tuple that holds one, in the call."""
        if is_stream(value):
            return self._stand_in(name, value)
        if isinstance(value, tuple) and any(map(is_stream, items_of(value))):
            items = [self.stood_in(f"{name}[{n}]", item) for n, item in enumerate(items_of(value))]
            return type(value)._make(items) if hasattr(value, "_make") else tuple(items)
        return value

    def knows(self, value: Any) -> bool:
        """Return whether a value was found."""
        return id(value) in self._seen

    def put_streams_back(self) -> None:
        """Take the stand-ins out of what the call reaches."""
        for holder in self._replaced:
            holder.put(holder.saved)

    def _visit(self, name: str, value: Any, form: str) -> None:
        if isinstance(value, SCALARS) or _is_array(value):
            if form != "argument" and not isinstance(value, (str, bytes, type(None))):
                self.constants.setdefault(name, value)
            return
        self.aliases[id(value)].add(name)
        if id(value) in self._seen or isinstance(value, StandIn) or is_stream(value):
            return
        self._seen[id(value)] = value
        owner = value if hasattr(value, "__qualname__") else type(value)
        self._suspect(str(getattr(owner, "__module__", None)))
        if is_reference(value):
            self.references[id(value)] = name
        elif isinstance(value, functools.partial):
            self.walk(name, value.func)
            for key, item in [*enumerate(value.args), *value.keywords.items()]:
                self.walk(f"{name}.args[{key}]" if isinstance(key, int) else str(key), item)
        elif isinstance(value, types.MethodType):
            code = getattr(inspect.unwrap(value.__func__), "__code__", None)  # it may be jitted
            self.walk(code.co_varnames[0] if code else name, value.__self__)
            self.walk(getattr(value, "__name__", name), value.__func__)
        elif isinstance(value, types.FunctionType):
            self._visit_function(name, value)
        elif isinstance(value, types.BuiltinMethodType):  # such as `append = history.append`
            if not isinstance(value.__self__, (type, types.ModuleType)):
                self.walk(f"{name}.__self__", value.__self__)
        elif isinstance(value, types.ModuleType):
            if not _is_library(value):
                everything = {key for key in vars(value) if not key.startswith("__")}
                self._enter_globals(name, vars(value), everything)
        elif isinstance(value, type):
            self._visit_class(value)
        elif isinstance(value, (tuple, frozenset)):
            fields = getattr(value, "_fields", None)
            for index, item in enumerate(items_of(value)):
                self.walk(f"{name}.{fields[index]}" if fields else f"{name}[{index}]", item, form)
        elif isinstance(value, random.SystemRandom):
            self.opaque[name] = value  # it has no state; what it asks for is seen
        elif isinstance(value, functools.cached_property):
            pass  # its function is found with its class
        else:
            self._visit_object(name, value, form)

    def _visit_function(self, name: str, function: types.FunctionType) -> None:
        self.walk(name, function.__dict__.get("__wrapped__"))
        if library_of(function.__code__.co_filename):  # what it wraps may be the user's
            for key, item in _cells(function)[0]().items():
                is_python = library_of_object(item) == "python"
                if callable(item) or isinstance(item, CONTAINERS) or not is_python:
                    self.walk(key, item)
            return
        self._known[id(function.__globals__)] |= set()
        self.enter(function.__code__, function.__globals__)
        if function.__closure__:
            self._add(variables := Holder("", "nonlocal", None, _cells(function)))
            for key, item in variables.saved.items():
                if isinstance(item, types.ModuleType):  # imported in an enclosing function
                    self._enter_module(key, item, names_in(function.__code__))
        self._add(Holder(name, "function attribute", function, _space(function.__dict__)))
        defaults = Holder("", "default", None, _defaults(function))
        if not all(isinstance(value, SCALARS) for value in defaults.saved.values()):
            self._add(defaults)

    def _visit_class(self, cls: type) -> None:
        if library_of_module(cls.__module__):
            return
        for function in vars(cls).values():
            for accessor in ("fget", "fset", "fdel", "__func__", "func", "__wrapped__"):
                if isinstance(inner := getattr(function, accessor, None), types.FunctionType):
                    self.walk(inner.__name__, inner)
            if isinstance(function, (types.FunctionType, functools._lru_cache_wrapper)):
                self.walk(function.__name__, function)
        if not issubclass(cls, enum.Enum):  # they keep what was looked up
            self._add(Holder(cls.__name__, "class attribute", cls, _class(cls)))
            for base in cls.__mro__[1:]:
                self.walk(base.__name__, base)

    def _visit_object(self, name: str, value: Any, form: str) -> None:
        """Visit a container, a generator of random numbers, a file, a wrapper, or any object."""
        library, own = library_of_object(value), getattr(value, "__dict__", {})
        if isinstance(value, logging.Logger):
            settings = {key: value.__dict__[key] for key in ("level", "disabled", "propagate")}
            self._add(Holder(name, "setting", value, _space(value.__dict__, settings)))
            self._add(
                Holder(f"{name}.handlers", "setting", value.handlers, _whole(value.handlers)[1])
            )
            return
        if isinstance(value, functools._lru_cache_wrapper) or _is_wrapper(value):
            self.is_remembered = True
            self.walk(name, value.__wrapped__)
            if library in ("jax", "jaxlib") and isinstance(own, dict):
                self._add(Holder(name, "function attribute", value, _space(own)))
        kind = "dict key" if isinstance(value, dict) else _whole(value)[0]
        how = access(value)
        if kind == "kept":  # any other object
            if library in _TRACING:
                for key, item in own.items():  # such as the function that it wraps
                    if isinstance(item, (types.FunctionType, types.MethodType, functools.partial)):
                        self.walk(f"{name}.{key}", item)
                return
            self.walk(type(value).__name__, type(value))
            is_plain = library != "python" or type(value).__module__.partition(".")[0] in _PLAIN
            if is_plain and how is not None:
                kind = "attribute"
            else:
                self.opaque[name], (_form, how) = value, _whole(value)
        if kind == "array" and value.dtype.kind not in "OSUMmV" and form != "argument":
            self.constants.setdefault(name, value)
        self._add(Holder(name, form or kind, value, how))  # type: ignore[arg-type]
        if kind in ("container", "dict key") and type(value) not in CONTAINERS and not library:
            if (how := _object(value)) is not None:  # a subclass of a container has attributes
                self._add(Holder(name, form or "attribute", types.SimpleNamespace(), how))
            self.walk(type(value).__name__, type(value))

    def _add(self, holder: Holder) -> None:
        """Keep a holder, put stand-ins into it, and visit what it holds."""
        self.holders.append(holder)
        children = list(holder.children())
        stand_ins = {
            key: new
            for key, name, item in children
            if key is not MISSING and (new := self.stood_in(name, item)) is not item
        }
        if stand_ins:
            self._replaced.append(holder)
            items = holder.saved.get(None, holder.saved)
            if isinstance(items, dict):
                holder.put({**items, **stand_ins})
            else:
                holder.put({None: [stand_ins.get(n, item) for n, item in enumerate(items)]})
        form = holder.form if holder.form in ("argument", "default") else ""
        for _key, name, item in children:
            if holder.form != "global" or not isinstance(item, types.ModuleType):
                self.walk(name, item, form)  # a module only where code names it

    def _enter_module(self, name: str, module: types.ModuleType, names: "Names") -> None:
        """Visit what code names in a module."""
        space = vars(module)
        self._suspect(module.__name__, names.attributes)
        if not _is_library(module):
            is_any = {"getattr", "vars"} & names.globals or "__dict__" in names.attributes
            everything = {key for key in space if not key.startswith("__")}
            found = everything if is_any else names.attributes
            self._enter_globals(name, space, {*found, *names.stored}, names.stored)
            return
        for key in sorted(names.attributes & space.keys()):
            if isinstance(space[key], types.ModuleType):
                if (id(space), key, id(names)) not in self._seen:
                    self._seen[id(space), key, id(names)] = names
                    self._enter_module(f"{name}.{key}", space[key], names)
            elif isinstance(space[key], CONTAINERS) and space[key] is not sys.modules:
                self.walk(f"{name}.{key}", space[key])  # such as `sys.path`
        # not what it loads when it is asked
        new = names.stored | (set() if id(space) in self._known else {*space})
        new -= self._known[id(space)]
        self._known[id(space)] |= new
        if new and module is not warnings:  # whose state is that of a context
            self.holders.append(Holder(name, "attribute", module, _space(space, new)))

    def _enter_globals(
        self,
        name: str,
        space: dict[str, Any],
        names: Collection[str],
        stored: Collection[str] = (),
    ) -> None:
        known = self._known[id(space)]
        new = {n for n in names if n not in known and (n in space or not name or n in stored)}
        new -= {"__builtins__"}
        known |= new
        if new:
            self._add(Holder(name, "global", None, _space(space, sorted(new))))

    def _suspect(self, module: str, attributes: Collection[str] = ()) -> None:
        """Note whether a module may ask for the time, the system, or anything else unseen."""
        library = library_of_module(module)
        if library == "python":
            self.is_suspect |= module.partition(".")[0].strip("_") not in _COMPUTING
        elif library == "numpy":
            self.is_suspect |= "random" in (*attributes, *module.split("."))
        else:
            self.is_suspect |= library not in ("", *FRAMEWORKS)


# --- what code names ------------------------------------------------------------------------------


class Names(NamedTuple):
    """The names in code, inner functions included."""

    globals: set[str]
    attributes: set[str]
    stored: set[str]
    """The attributes that are set or deleted."""
    modules: set[str]
    reads: dict[str, dict[types.CodeType, int]]
    """The line that first reads a variable from outside, or an attribute, in each function."""


@functools.lru_cache(maxsize=4096)
def names_in(code: types.CodeType) -> Names:
    """Return the globals, attributes and modules that code names, inner functions included."""
    found = Names(set(), set(), set(), set(), {})
    for inner in nested_codes(code):
        lines, line = dict(dis.findlinestarts(inner)), inner.co_firstlineno
        for instruction in dis.get_instructions(inner):
            line = lines.get(instruction.offset) or line
            name, kind = instruction.argval, instruction.opname
            is_stored = kind.startswith(("STORE", "DELETE"))
            if kind.endswith("DEREF") and name in inner.co_freevars and not is_stored:
                found.reads.setdefault(name, {}).setdefault(inner, line)
            if instruction.opcode not in dis.hasname:
                continue  # CALL_METHOD of Python 3.10 has a number
            if kind == "IMPORT_NAME":
                found.modules.add(name)
                continue
            is_global = kind.endswith(("_NAME", "_GLOBAL", "_GLOBALS"))
            (found.globals if is_global else found.attributes).add(name)
            if is_stored:
                found.stored.add(name)
            else:
                found.reads.setdefault(name, {}).setdefault(inner, line)
    return found


def nested_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield code, and that of all functions inside of it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from nested_codes(constant)


# --- small questions ------------------------------------------------------------------------------


def items_of(container: Any) -> Iterator[Any]:
    """Iterate over a container without the methods that a subclass of it has."""
    kinds = (collections.OrderedDict, *CONTAINERS, tuple, frozenset)
    return next(kind for kind in kinds if isinstance(container, kind)).__iter__(container)


def leaves_of(tree: Any) -> list[Any]:
    """The leaves of a PyTree; none of what JAX cannot sort, or of what has a cycle."""
    try:
        return jax.tree.leaves(tree)
    except Exception:
        return []


def original(value: Any) -> Any:
    """Return what a stand-in stands for; any other value as it is."""
    if isinstance(value, StandIn):
        return value.stands_for
    return getattr(value, "stands_for", value) if type(value) is types.FunctionType else value


def is_stream(value: Any) -> bool:
    """Return whether a value is an iterator of a library, or a file that cannot be put back."""
    if isinstance(value, StandIn):
        return False
    if isinstance(value, io.IOBase):
        is_written = value.writable() and not hasattr(value, "getvalue")
        return value.closed or not value.seekable() or is_written
    return isinstance(value, Iterator) and bool(library_of_object(value))


def is_reference(value: Any) -> bool:
    """Return whether a value is a mutable cell, as ``jax.new_ref`` makes them."""
    return "Ref" in type(value).__name__ and type(value).__module__.startswith("jax")


def is_filled(cell: types.CellType) -> bool:
    """Return whether a variable of a closure has a value."""
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _is_wrapper(value: Any) -> bool:
    """Return whether a value calls another function; an attribute of the user is not asked for."""
    is_of_library = library_of_object(value) in _TRACING
    names = dir(type(value)) if is_of_library else ()
    return callable(value) and "__wrapped__" in {*names, *getattr(value, "__dict__", {})}


def _is_array(value: Any) -> bool:
    return isinstance(value, jax.Array) and not is_reference(value)


def _is_library(value: Any) -> bool:
    return isinstance(value, types.ModuleType) and bool(library_of_module(value.__name__))
