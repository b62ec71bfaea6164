"""What a call can reach besides its arguments, and what of it has changed.

A call reaches the cells, defaults and attributes of its function, the globals that the function's
code names, also in other modules, and everything that hangs from these. Each thing that can change
is a `Holder`: it is copied when it is found, compared at the end of a call, and restored.
"""

import array
import collections
import contextvars
import copy
import dis
import enum
import functools
import gc
import inspect
import io
import itertools
import operator
import os
import random
import re
import sys
import sysconfig
import types
import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

NUMBERS = (bool, int, float, complex, np.generic)
SCALARS = (*NUMBERS, str, bytes, type(None))
CONTAINERS = (list, dict, set, bytearray, collections.deque, array.array, np.ndarray)

FRAMEWORKS = {
    "chex", "equinox", "flax", "haiku", "haiku_state", "jax", "jaxlib", "jmp", "numpy", "optax",
    "orbax", "treescope",
}  # fmt: skip
"""Libraries that keep caches and stacks of their own while they trace."""

TRACING = {"haiku_state", "jax", "jaxlib", "numpy"}
"""Frameworks whose objects are caches themselves: their inside is not looked at."""

PLAIN_MODULES = ("_thread", "argparse", "collections", "queue", "types", "weakref")
"""Modules of Python's library whose objects hold what a user puts into them."""

COMPUTING = {
    "abc", "array", "bisect", "builtins", "cmath", "collections", "contextlib", "copy",
    "dataclasses", "enum", "fractions", "functools", "heapq", "itertools", "logging", "math",
    "numbers", "operator", "re", "string", "textwrap", "types", "typing", "warnings",
}  # fmt: skip
"""Modules of Python's library that neither ask for anything nor keep anything unseen."""

_OURS = {"jax_random_seed_offset", "jax_check_tracer_leaks"}
"""Settings of JAX that are changed while a function is explained."""

_WATCHED_NAMES = {"__import__", "compile", "eval", "exec", "globals", "jit", "vars"}
_REMEMBERS = re.compile("jit|map|scan|loop|cond|switch|checkpoint|remat|custom|shape")
"""What JAX calls functions whose argument it does not trace twice, and others like them."""

_PYTHON = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})
_PACKAGE = str(Path(__file__).parents[1])


class Change(NamedTuple):
    """A value that has changed."""

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


def library_of_object(value: Any) -> str:
    """Return the package that a value's class belongs to; some classes of C tell no module."""
    return library_of_module(getattr(type(value), "__module__", "builtins"))


def same(one: Any, other: Any) -> bool:
    """Return whether two values are one object, equal numbers or texts, or equal copies."""
    if one is other:
        return True
    other = original(other)
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.shape == other.shape and np.array_equal(_bits(one), _bits(other))
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and (
            all(map(operator.is_, one, other)) or all(map(same, one, other))
        )
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, set):
        return one == other
    return isinstance(one, SCALARS) and bool(one == other or (one != one and other != other))


def _bits(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The bytes of an array, so that NaN equals NaN; of objects, their addresses."""
    if values.dtype.hasobject:
        return np.array([id(value) for value in values.ravel().tolist()])
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8)


@dataclass
class Holder:
    """Something outside of the function whose content a call may change.

    Args:
      name: what the source calls it.
      form: what it is, for the report.
      value: the object itself; None for variables.
      read: returns the content, as values that can be compared, by their keys; one value with the
        key None for what has no keys.
      put: puts such a content back.
      label: what the source calls one of the values: a template with ``name`` and ``key``.
    """

    name: str
    form: str
    value: Any
    read: Callable[[], dict[Any, Any]]
    put: Callable[[dict[Any, Any]], None]
    label: str = "{name}.{key}"
    saved: dict[Any, Any] = field(init=False)
    foreign: set[Any] = field(default_factory=set)
    """The keys of what another thread changes, which are neither compared nor restored."""

    def __post_init__(self) -> None:
        self.saved = self.read()

    def changes(self) -> Iterator[Change]:
        """Compare the content with what was saved."""
        saved, now = self.saved, self.read()
        is_equal = len(saved) == len(now) and all(map(operator.is_, saved, now))
        if is_equal and all(map(operator.is_, saved.values(), now.values())):
            return
        found = False
        for key in [*saved, *(key for key in now if key not in saved)]:
            if key in self.foreign:
                continue
            before, after = saved.get(key, MISSING), now.get(key, MISSING)
            if not same(before, after):
                found = True
                yield Change(key, before, after)
        if not found and not is_equal and isinstance(self.value, dict):
            yield Change(None, list(saved), list(now))  # the order of the keys

    def restore(self) -> None:
        """Put what was saved back."""
        if next(self.changes(), None) is not None:
            now = self.read() if self.foreign else {}
            self.put(self.saved | {key: now[key] for key in self.foreign & now.keys()})

    def name_of(self, key: Any) -> str:
        """Return what the source calls one of the values."""
        if key is None:
            is_whole = isinstance(self.value, (set, dict)) or "{key" not in self.label
            return self.name if is_whole else f"{self.name}[...]"
        if not self.name:
            return str(key)
        return self.label.format(name=self.name, key=key)


def _named(write: Callable[[str, Any], None], delete: Callable[[str], None], read: Any) -> Any:
    """Return a function that puts variables or attributes back."""

    def put(saved: dict[str, Any]) -> None:
        now = read()
        for key in now.keys() - saved.keys():
            delete(key)
        for key, value in saved.items():
            if key not in now or now[key] is not value:
                write(key, value)

    return put


def _container(name: str, form: str, value: Any) -> Holder:
    """A list, dict, set, deque, bytearray or NumPy array: what changes in place."""

    def read() -> dict[Any, Any]:
        if isinstance(value, dict):
            return dict(_plain(value).items(value))
        if isinstance(value, np.ndarray):
            return {None: value.copy()}
        return {None: (set if isinstance(value, set) else list)(items_of(value))}

    def put(saved: dict[Any, Any]) -> None:
        if isinstance(value, dict):
            _plain(value).clear(value)
            for key, item in saved.items():
                _plain(value).__setitem__(value, key, item)
            return
        items = saved[None]
        if isinstance(value, np.ndarray):
            if value.shape != items.shape:
                value.shape = items.shape
            value[...] = items
        elif isinstance(value, (set, collections.deque)):
            kind = set if isinstance(value, set) else collections.deque
            kind.clear(value)  # type: ignore[arg-type]
            (set.update if kind is set else collections.deque.extend)(value, items)  # type: ignore[arg-type]
        elif isinstance(value, list):
            list.__setitem__(value, slice(None), items)
        else:
            value[:] = array.array(value.typecode, items) if hasattr(value, "typecode") else items

    return Holder(name, form, value, read, put, "{name}[{key!r}]")


def _generator(name: str, value: Any) -> Holder:
    """A random generator, of Python or of NumPy: its state moves when it is asked."""

    def read() -> dict[Any, Any]:
        if isinstance(value, random.Random):
            return {None: value.getstate()}
        if isinstance(value, np.random.RandomState):
            return {None: value.get_state(legacy=False)}
        return {None: value.bit_generator.state}

    def put(saved: dict[Any, Any]) -> None:
        if isinstance(value, random.Random):
            value.setstate(saved[None])
        elif isinstance(value, np.random.RandomState):
            value.set_state(saved[None])
        else:
            value.bit_generator.state = saved[None]

    return Holder(name, "random", value, read, put, "{name}")


def _open_file(name: str, value: Any) -> Holder:
    """An open file or buffer: its position moves when it is read or written."""
    is_buffer = hasattr(value, "getvalue")

    def read() -> dict[Any, Any]:
        if value.closed:
            return {}
        return {"position": value.tell(), "text": value.getvalue() if is_buffer else ""}

    def put(saved: dict[Any, Any]) -> None:
        if value.closed:
            return
        if is_buffer:
            value.seek(0)
            value.truncate()
            value.write(saved["text"])
        value.seek(saved["position"])

    return Holder(name, "file", value, read, put, "{name}")


def _keeper(name: str, value: Any) -> Holder:
    """A cache or an object written in C: only a tracer that it keeps is a change."""

    def read() -> dict[Any, Any]:
        kept = [list(o.values()) if isinstance(o, dict) else o for o in gc.get_referents(value)]
        leaves = itertools.chain(*map(leaves_of, kept))
        return {None: [leaf for leaf in leaves if isinstance(leaf, jax.core.Tracer)]}

    if isinstance(value, functools._lru_cache_wrapper):
        return Holder(name, "cache", value, read, lambda saved: value.cache_clear(), "{name}")
    return Holder(name, "kept", value, read, lambda saved: None, "{name}")


def _environment() -> Holder:
    return Holder(
        "os.environ", "environment", None, lambda: dict(os.environ),
        _named(os.environ.__setitem__, os.environ.__delitem__, lambda: dict(os.environ)),
        "{name}[{key!r}]",
    )  # fmt: skip


def _settings() -> Holder:
    def read() -> dict[str, Any]:
        return {key: value for key, value in jax.config.values.items() if key not in _OURS}

    def put(saved: dict[str, Any]) -> None:
        for key, value in read().items():
            if not same(value, saved[key]):
                jax.config.update(key, saved[key])

    return Holder("jax.config", "setting", jax.config, read, put)


def _plain(value: dict[Any, Any]) -> Any:
    """The class below what a user's subclass may have overridden."""
    return collections.OrderedDict if isinstance(value, collections.OrderedDict) else dict


def items_of(container: Any) -> Iterator[Any]:
    """Iterate over a container without the methods that a subclass of it has."""
    kinds = (collections.OrderedDict, *CONTAINERS, tuple, frozenset)
    return next(kind for kind in kinds if isinstance(container, kind)).__iter__(container)


class StandIn:
    """Stands for an iterator or a file of the caller while a call is watched."""

    def __init__(self, name: str, stream: Any) -> None:
        self._name, self._stream = name, stream


def original(value: Any) -> Any:
    """Return what a stand-in stands for; any other value as it is."""
    if isinstance(value, StandIn):
        return value._stream
    return getattr(value, "stands_for", value) if type(value) is types.FunctionType else value


class Reach:
    """The holders that a call reaches, and the values that it may read from them.

    Args:
      stand_in: what to put in the place of an iterator, or of a file for writing, while the call
        runs: a function of its name and of it.
    """

    def __init__(self, stand_in: Callable[[str, Any], StandIn] = StandIn) -> None:
        self.holders = [
            _generator("random", random._inst),
            _generator("numpy.random", np.random.mtrand._rand),
            _environment(),
            _settings(),
        ]
        self.constants: dict[str, Any] = {}
        """Numbers and arrays, by their names."""
        self.references: dict[int, str] = {}
        """The names of the values of ``jax.new_ref``, by their ``id``."""
        self.opaque: dict[str, Any] = {}
        """Objects without anything that Python can look at, by their names."""
        self.codes: list[types.CodeType] = []
        """The code of the functions that were found, except that of libraries."""
        self.is_suspect = False
        """Whether a call may do what a comparison cannot see, such as ask for the time."""
        self.is_closed = True
        """Whether everything that was found can be looked at."""
        self.is_remembered = False
        """Whether JAX may know a part of the function from a trace before."""
        self.functions: dict[types.CodeType, types.FunctionType] = {}
        """The user's functions that were found, by their code."""
        self._stand_in = stand_in
        self._replaced: list[Holder] = []
        self._found: list[tuple[str, Any, str]] = []
        self._is_walking = False
        self._seen: dict[int, Any] = {}
        self._globals: dict[int, set[str]] = {}
        self._codes: dict[int, types.CodeType] = {}

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
                self.opaque[name], self.is_closed = value, False
        self._is_walking = False

    def enter(self, code: types.CodeType, namespace: dict[str, Any]) -> None:
        """Visit what code names outside.

        Args:
          code: that of a function of the user, or of a frame that runs.
          namespace: its globals.
        """
        if id(code) in self._codes:
            return
        self._codes |= {id(inner): inner for inner in nested_codes(code)}
        self.codes.append(code)
        named = names_in(code)
        module = sys.modules.get(namespace.get("__name__", ""))
        if id(namespace) not in self._globals and getattr(module, "__dict__", 0) is not namespace:
            return  # made in the call, as for `exec`
        names = named.globals | named.attributes
        self.is_suspect |= bool(_WATCHED_NAMES & names)
        self.is_remembered |= any(map(_REMEMBERS.search, names))
        for name in sorted(named.modules):
            self._suspect(name)
            if name in sys.modules:
                self._walk_module(name, sys.modules[name], named)
        for name in sorted(named.globals & namespace.keys()):
            if isinstance(namespace[name], types.ModuleType):
                self._walk_module(name, namespace[name], named)
        everything = {name for name in namespace if not name.startswith("__")}
        self._walk_globals(
            "", namespace, everything if "globals" in named.globals else named.globals
        )

    def _suspect(self, module: str, attributes: Collection[str] = ()) -> None:
        """Note whether what a library does has to be watched."""
        library = library_of_module(module)
        is_asking = library == "python" and module.partition(".")[0].strip("_") not in COMPUTING
        is_unknown = library not in ("", "python", *FRAMEWORKS)
        is_drawing = library == "numpy" and "random" in (*attributes, *module.split("."))
        self.is_suspect |= is_asking or is_unknown or is_drawing
        self.is_closed &= not (is_asking or is_unknown)

    def stood_in(self, name: str, value: Any) -> Any:
        """Return what takes the place of a stream, or of a tuple that holds one, in the call."""
        if is_stream(value):
            return self._stand_in(name, value)
        if isinstance(value, tuple) and any(is_stream(item) for item in items_of(value)):
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
            if form != "argument" and (isinstance(value, NUMBERS) or _is_array(value)):
                self.constants.setdefault(name, value)
            return
        if id(value) in self._seen or isinstance(value, StandIn):
            return
        self._seen[id(value)] = value
        if not isinstance(value, types.ModuleType):
            owner = value if hasattr(value, "__qualname__") else type(value)
            self._suspect(str(getattr(owner, "__module__", None)))
        if is_reference(value):
            self.references[id(value)], self.is_suspect = name, True
        elif isinstance(value, functools.partial):
            self.walk(name, value.func)
            for index, item in enumerate(value.args):
                self.walk(f"{name}.args[{index}]", item)
            for key, item in value.keywords.items():
                self.walk(key, item)
        elif isinstance(value, types.MethodType):
            function = inspect.unwrap(value.__func__)  # it may be jitted
            if isinstance(function, types.FunctionType) and function.__code__.co_varnames:
                self.walk(function.__code__.co_varnames[0], value.__self__)
            self.walk(getattr(value, "__name__", "function"), value.__func__)
        elif isinstance(value, types.FunctionType):
            self._walk_function(name, value)
            if "__wrapped__" in value.__dict__:
                self.walk(name, value.__dict__["__wrapped__"])
        elif isinstance(value, types.BuiltinMethodType):  # such as `append = history.append`
            if not isinstance(value.__self__, (type, types.ModuleType)):
                self.is_closed &= isinstance(value.__self__, CONTAINERS)
                self.walk(f"{name}.__self__", value.__self__)
        elif isinstance(value, types.ModuleType):
            if not library_of_module(value.__name__):
                self._globals.setdefault(id(vars(value)), set())
                self._walk_globals(name, vars(value), {k for k in vars(value) if k[:2] != "__"})
        elif isinstance(value, type):
            self._walk_class(value)
        elif isinstance(value, functools._lru_cache_wrapper):
            self.walk(name, value.__wrapped__)
            self.holders.append(_keeper(name, value))
        elif _is_wrapper(value):
            self.is_remembered = True
            self.walk(name, value.__wrapped__)
            is_jitted = library_of_object(value) in ("jax", "jaxlib")
            if is_jitted and isinstance(own := getattr(value, "__dict__", None), dict):
                put = _named(own.__setitem__, own.__delitem__, lambda: own)
                self._add(Holder(name, "function attribute", value, lambda: dict(own), put))
            self._walk_object(name, value)
        elif isinstance(value, contextvars.ContextVar):  # restored with the context of the call
            read = lambda: {None: value.get(MISSING)}  # noqa: E731
            self._add(Holder(name, "context variable", value, read, lambda saved: None, "{name}"))
        elif isinstance(value, random.SystemRandom):
            self.opaque[name] = value  # it has no state; what it asks for is seen
        elif isinstance(value, (random.Random, np.random.RandomState, np.random.Generator)):
            self.holders.append(_generator(name, value))
        elif isinstance(value, io.IOBase):
            if not is_stream(value):
                self.holders.append(_open_file(name, value))
        elif isinstance(value, CONTAINERS):
            self._walk_container(name, value, form)
        elif isinstance(value, (tuple, frozenset)):
            fields = getattr(value, "_fields", None)
            for index, item in enumerate(items_of(value)):
                self.walk(f"{name}.{fields[index]}" if fields else f"{name}[{index}]", item, form)
        elif not is_stream(value):
            self._walk_object(name, value, form)

    def again(self, stand_in: Callable[[str, Any], StandIn]) -> "Reach":
        """Return what was found, for another call of the same function."""
        other = copy.copy(self)
        for name, found in vars(self).items():  # which the other call adds to
            if isinstance(found, (dict, list)):
                setattr(other, name, copy.copy(found))
        other._globals = {key: set(names) for key, names in self._globals.items()}
        other._stand_in, other._replaced = stand_in, []
        other.holders = [holder for holder in self.holders if holder.form != "argument"]
        for holder in self._replaced:
            other._add(holder, is_new=False)
        return other

    def _add(self, holder: Holder, form: str = "", is_new: bool = True) -> None:
        if is_new:
            self.holders.append(holder)
        children = list(_children(holder))
        places = holder.saved.get(None, holder.saved)
        keys = list(places) if isinstance(places, dict) else range(len(children))
        stand_ins = {
            key: new
            for key, (name, item) in zip(keys, children, strict=False)
            if (new := self.stood_in(name, item)) is not item
        }
        if stand_ins:
            self._replaced.append(holder)
            if places is holder.saved:
                holder.put({**places, **stand_ins})
            else:
                holder.put({None: [stand_ins.get(n, item) for n, item in enumerate(places)]})
        for name, item in children if is_new else ():
            if holder.form != "global" or not isinstance(item, types.ModuleType):
                self.walk(name, item, form)  # a module only where code names it

    def _walk_container(self, name: str, value: Any, form: str) -> None:
        kind = "container"
        if isinstance(value, np.ndarray):
            kind = "array"
            if value.dtype.kind not in "OSUMmV" and form != "argument":
                self.constants[name] = value
        elif isinstance(value, dict):
            kind = "dict key"
        self._add(_container(name, form or kind, value), form if form == "argument" else "")
        if type(value) not in CONTAINERS and not library_of_object(value):
            self._walk_object(name, value, form)  # a subclass of a container may have attributes

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
                is_python = library_of_object(value) == "python"
                if callable(value) or isinstance(value, CONTAINERS) or not is_python:
                    self.walk(key, value)
            return
        self.functions.setdefault(code, function)
        self._globals.setdefault(id(function.__globals__), set())
        self.enter(code, function.__globals__)
        if cells:
            self._add(Holder("", "nonlocal", None, read, _named(write, delete, read)))
        own = function.__dict__
        put = _named(own.__setitem__, own.__delitem__, lambda: own)
        self._add(Holder(name, "function attribute", function, lambda: dict(own), put))
        self._walk_defaults(function)

    def _walk_defaults(self, function: types.FunctionType) -> None:
        positional = function.__code__.co_varnames[: function.__code__.co_argcount]
        saved = function.__defaults__, function.__kwdefaults__

        def read() -> dict[str, Any]:
            defaults = function.__defaults__ or ()
            names = positional[len(positional) - len(defaults) :]
            return {**dict(zip(names, defaults, strict=True)), **(function.__kwdefaults__ or {})}

        def put(content: dict[str, Any]) -> None:
            defaults, keywords = saved
            function.__defaults__ = defaults and tuple(
                content[name] for name in positional[len(positional) - len(defaults) :]
            )
            function.__kwdefaults__ = keywords and {key: content[key] for key in keywords}

        holder = Holder("", "default", None, read, put)
        if not all(isinstance(value, SCALARS) for value in holder.saved.values()):
            self._add(holder, "default")

    def _walk_module(self, name: str, module: types.ModuleType, named: "_Named") -> None:
        """Visit what code names in a module of the user; of a library, also what it does not."""
        space = vars(module)
        self._suspect(module.__name__, named.attributes)
        if not library_of_module(module.__name__):
            self._globals.setdefault(id(space), set())
            is_any = (
                not {"getattr", "vars"}.isdisjoint(named.globals) or "__dict__" in named.attributes
            )
            everything = {key for key in space if not key.startswith("__")}
            self._walk_globals(name, space, everything if is_any else named.attributes)
            return
        for key in sorted(named.attributes & space.keys()):
            if isinstance(space[key], types.ModuleType):
                self._walk_module(f"{name}.{key}", space[key], named)
            elif isinstance(space[key], CONTAINERS) and space[key] is not sys.modules:
                self.walk(f"{name}.{key}", space[key])  # such as `sys.path`
        known = self._globals.setdefault(id(space), set())
        new = (
            {*space} if not known else set()
        ) | named.stored  # not what it loads when it is asked
        known |= new

        def read() -> dict[str, Any]:
            return {key: original(space[key]) for key in new if key in space}

        put = _named(space.__setitem__, space.__delitem__, read)
        if new and module is not warnings:  # whose state is that of a context
            self.holders.append(Holder(name, "attribute", module, read, put))

    def _walk_globals(self, prefix: str, namespace: dict[str, Any], names: set[str]) -> None:
        known = self._globals.setdefault(id(namespace), set())
        new = sorted(name for name in names - known if name in namespace or not prefix)
        new = [name for name in new if name != "__builtins__"]
        known.update(new)

        def read() -> dict[str, Any]:
            found = {name: namespace[name] for name in new if name in namespace}
            return {key: value for key, value in found.items() if not _is_library(value)}

        put = _named(namespace.__setitem__, namespace.__delitem__, read)
        if new:
            self._add(Holder(prefix, "global", None, read, put))

    def _walk_class(self, cls: type) -> None:
        if library_of_module(cls.__module__):
            return
        for function in vars(cls).values():
            for accessor in ("fget", "fset", "fdel", "__func__", "func", "__wrapped__"):
                if isinstance(inner := getattr(function, accessor, None), types.FunctionType):
                    self.walk(inner.__name__, inner)
            if isinstance(function, (types.FunctionType, functools._lru_cache_wrapper)):
                self.walk(function.__name__, function)
        if issubclass(cls, enum.Enum):  # they keep what was looked up
            return

        def read() -> dict[str, Any]:
            return {k: v for k, v in vars(cls).items() if not k.startswith(("__", "_abc_"))}

        def write(key: str, value: Any) -> None:
            type.__setattr__(cls, key, value)

        put = _named(write, lambda key: type.__delattr__(cls, key), read)
        self._add(Holder(cls.__name__, "class attribute", cls, read, put))
        for base in cls.__mro__[1:]:
            self.walk(base.__name__, base)

    def _walk_object(self, name: str, value: Any, form: str = "") -> None:
        cls = type(value)
        library = library_of_object(value)
        own = getattr(value, "__dict__", None)
        if library in TRACING:
            for key, item in (own or {}).items():  # such as the function that it wraps
                if isinstance(item, (types.FunctionType, types.MethodType, functools.partial)):
                    self.walk(f"{name}.{key}", item)
            return
        self.walk(cls.__name__, cls)
        slots = [key for base in cls.__mro__ for key in _slots(base)]
        is_plain = library != "python" or cls.__module__.partition(".")[0] in PLAIN_MODULES
        if not is_plain or (own is None and not slots):
            self.opaque[name], self.is_closed = value, False
            self.holders.append(_keeper(name, value))
            return

        def read() -> dict[str, Any]:
            found = {key: getattr(value, key) for key in slots if hasattr(value, key)}
            return found if own is None else {**found, **value.__dict__}

        def write(key: str, item: Any) -> None:
            if key in slots:
                object.__setattr__(value, key, item)
            else:
                dict.__setitem__(value.__dict__, key, item)

        def delete(key: str) -> None:
            object.__delattr__(value, key) if key in slots else dict.pop(value.__dict__, key)

        put = _named(write, delete, read)
        self._add(Holder(name, "attribute", value, read, put), form if form == "argument" else "")


class _Named(NamedTuple):
    globals: set[str]
    attributes: set[str]
    stored: set[str]
    """The attributes that are set or deleted."""
    modules: set[str]


@functools.lru_cache(maxsize=4096)
def names_in(code: types.CodeType) -> _Named:
    """Return the globals, attributes and modules that code names, inner functions included."""
    found = _Named(set(), set(), set(), set())
    for instruction in (one for inner in nested_codes(code) for one in dis.get_instructions(inner)):
        if instruction.opcode not in dis.hasname:
            continue  # CALL_METHOD of Python 3.10 has a number
        name, kind = instruction.argval, instruction.opname
        if kind == "IMPORT_NAME":
            found.modules.add(name)
        elif kind.endswith(("_NAME", "_GLOBAL", "_GLOBALS")):
            found.globals.add(name)
        else:
            found.attributes.add(name)
            if kind in ("STORE_ATTR", "DELETE_ATTR"):
                found.stored.add(name)
    return found


def nested_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield code, and that of all functions inside of it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from nested_codes(constant)


def _children(holder: Holder) -> Iterator[tuple[str, Any]]:
    """The values, each with its name."""
    items = holder.saved.get(None, holder.saved)
    if isinstance(items, dict):
        yield from ((holder.name_of(key), item) for key, item in items.items())
    elif isinstance(items, list):
        yield from ((f"{holder.name}[{index}]", item) for index, item in enumerate(items))
    elif holder.form == "context variable":
        yield holder.name, items
    if isinstance(holder.value, (dict, set)):  # objects with attributes of their own
        yield from ((holder.name, key) for key in items if not isinstance(key, SCALARS))


def leaves_of(tree: Any) -> list[Any]:
    """The leaves of a PyTree; none of what JAX cannot sort, or of what has a cycle."""
    try:
        return jax.tree.leaves(tree)
    except Exception:
        return []


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


def _is_wrapper(value: Any) -> bool:
    """Return whether a value calls another function; an attribute of the user is not asked for."""
    is_of_library = library_of_object(value) in TRACING
    names = dir(type(value)) if is_of_library else ()
    return callable(value) and "__wrapped__" in {*names, *getattr(value, "__dict__", {})}


def _is_array(value: Any) -> bool:
    return isinstance(value, jax.Array) and not is_reference(value)


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
