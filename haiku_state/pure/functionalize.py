"""The general strategy: an ordinary class, whose methods change it, becomes pure functions.

Four steps, to be read from top to bottom. A state is gathered from the attributes of an object; an
object is rebuilt from a state; a method runs on it; and what has come of it is gathered again.
"""

import contextlib
import copyreg
import functools
import gc
import itertools
import re
import sys
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from types import (
    CellType,
    FunctionType,
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
from jax.tree_util import DictKey, GetAttrKey, keystr, tree_leaves_with_path

from haiku_state.errors import (
    ArgumentError,
    AttributeKindError,
    HaikuStateError,
    SharedAttributeError,
    StateStructureError,
    StaticAttributeError,
    TracedFlagError,
)
from haiku_state.errors.base import as_lines
from haiku_state.errors.describe import is_key, is_weak
from haiku_state.errors.diagnosis import where_a_value_is_needed
from haiku_state.errors.language import deferred as _
from haiku_state.pure.check import check_state

NUMBERS = (bool, int, float, complex)
DICTS = (dict, OrderedDict)
# where a class that compares its objects by value never changes them
LIBRARIES = {*sys.stdlib_module_names, "jax", "jaxlib", "numpy"}

Nodes = dict[str, Any]


def functionalize(cls: type, *methods: str, static: Sequence[str] = ()) -> Any:
    r"""Turn a class whose methods change their instance into pure functions.

    .. math::
       &\mathrm{method}(\mathrm{self}, x) \to y \\
       \longmapsto\quad &\mathrm{apply}(s_t, x) \to (y, s_{t+1})

    The state is a PyTree of the instance's attributes. Each call makes an instance from it, runs
    the method on that instance, and gathers its attributes again; no other instance changes.

    Attributes that are arrays or numbers are state, also inside lists, tuples, dicts and objects of
    other ordinary classes. The numbers that ``static`` names and everything else, such as a string
    or a function, are part of the compiled program, and no method may change them. The constructor
    must create every attribute.

    Args:
      cls: an ordinary Python class, such as a dataclass or one with slots, properties or bases.
      methods: the methods and properties to turn into functions; by default all public ones.
      static: the numbers that are sizes or flags and not state, by their attributes: ``"size"``
        for ``self.size``, ``"buffer.size"`` for that of an object inside. A list, tuple, dict or
        object may be named for all numbers in it; arrays are always state.

    Returns:
      A NamedTuple of ``init(*args, **kwargs) -> state``, which runs the constructor, and one
      ``(state, *args, **kwargs) -> (output, state)`` for each method, under its name. A single
      method, or ``__call__``, is called ``apply``.

    Raises:
      ArgumentError: ``cls`` is not an ordinary class, a method does not exist or its name is taken,
        or, at ``init``, ``static`` names an array, or an attribute that does not exist.
      AttributeKindError: at a call, if an attribute cannot be carried, such as an open file, or a
        method returns an object of the state or an iterator.
      SharedAttributeError: at a call, if two attributes are the same mutable object.
      StaticAttributeError: at a call, if a method changes a static attribute or its class.
      TracedFlagError: at a call under ``jit``, if Python needs the value of a number of the state.
      HaikuStateError: at a call, the errors of :func:`check_state`.

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
        raise _not_ordinary(cls)
    members = {name: m for base in reversed(cls.__mro__) for name, m in vars(base).items()}
    public = [
        name
        for name, member in members.items()
        if isinstance(member, FunctionType | property)
        and (name == "__call__" or not name.startswith("_"))
    ]
    chosen = methods or tuple(public)
    fields = ["apply" if name == "__call__" or len(chosen) == 1 else name for name in chosen]
    for name, field in zip(chosen, fields, strict=True):
        if name not in public or name == "init" or fields.count(field) > 1:
            raise _no_method(cls, name, public)
    functions = [_apply(cls, name, members[name], static) for name in chosen]
    make: Any = namedtuple
    return make(f"Pure{cls.__name__}", ["init", *fields])(_init(cls, static), *functions)


# ---- The pure functions


def _init(cls: Any, static: Sequence[str]) -> Callable[..., Any]:
    def init(*args: Any, **kwargs: Any) -> Any:
        members = _members([cls])
        instance = cls(*_copied(args), **_copied(kwargs))
        _check_classes(members, _members([cls]), f"{cls.__name__}.__init__")
        gathering = _Gathering(static, {})
        state = gathering.gather(instance)
        if unknown := set(static) - gathering.found:
            raise ArgumentError(
                argument="static",
                value=", ".join(map(repr, sorted(unknown))),
                expected=_("names of attributes that are not arrays"),
                wrong=f"functionalize({cls.__name__}, static={tuple(static)!r})",
                right=f'functionalize({cls.__name__}, static=("size",))',
                why=_(
                    "each is an attribute of the instance, or, as in `buffer.size`, of an object "
                    "that it holds"
                ),
                more="api/pure",
            )
        return state

    init.__doc__ = cls.__init__.__doc__
    return init


def _apply(cls: type, name: str, member: Any, static: Sequence[str]) -> Callable[..., Any]:
    method = f"{cls.__name__}.{name}"

    def apply(state: Any, /, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        before = jax.tree.map(_as_array, state)
        nodes = dict(_nodes(before, "self"))
        instance = _rebuilt(before)
        classes = [node._cls for node in nodes.values() if isinstance(node, State)]
        members = _members(classes)
        with _traced(cls, static, nodes):
            if isinstance(member, property):
                output = getattr(instance, name)
            else:
                output = member(instance, *_copied(args), **_copied(kwargs))
        _check_classes(members, _members(classes), method)
        gathering = _Gathering(static, nodes)
        after = gathering.gather(instance)
        gathering.check_output(output, method)
        _check_structure(nodes, dict(_nodes(after, "self")), method)
        check_state(before, after)
        return output, after

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = member.__doc__
    return apply


# ---- From an object to a state


class State:
    """The attributes of an object, as a PyTree node that shows them by name.

    The entries of a dict are one as well: JAX would sort them, and a loop over them would differ.
    """

    _cls: type
    _attributes: dict[Any, Any]

    def __init__(self, cls: type, attributes: dict[Any, Any]) -> None:
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
        if self._cls in DICTS:
            return repr(_shown(self))
        attributes = (f"{name}={_shown(value)!r}" for name, value in self._attributes.items())
        return f"{self._cls.__name__}({', '.join(attributes)})"


class Static:
    """A value that is part of the compiled program: another value compiles another one."""

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
    keys = map(DictKey if state._cls in DICTS else GetAttrKey, names)
    return zip(keys, state._attributes.values(), strict=True), (state._cls, names)


jax.tree_util.register_pytree_node(Static, lambda leaf: ((), leaf), lambda leaf, _children: leaf)
jax.tree_util.register_pytree_with_keys(
    State,
    _flatten,
    lambda aux, values: State(aux[0], dict(zip(aux[1], values, strict=True))),
)


class _Gathering:
    """One walk over an object, from which its state is gathered."""

    def __init__(self, static: Sequence[str], before: Nodes) -> None:
        self.static = static
        self.before = before
        self.found: set[str] = set()
        self.objects: dict[int, tuple[str, Any]] = {}
        self.programs: dict[str, Any] = {}

    def gather(self, instance: Any) -> Any:
        state = self._value(instance, "self", False)
        for path, value in self.programs.items():
            if _refers_to(value, self.objects, set()):
                raise AttributeKindError(
                    path=path,
                    kind=type(value).__name__,
                    wrong=f"{path} = lambda x: x * self.scale",
                    right="def scaled(self, x): return x * self.scale",
                    why=_(
                        "it refers to the object that it was made for, and each call runs on "
                        "another one; make it a method"
                    ),
                )
        return state

    def _value(self, value: Any, path: str, is_static: bool) -> Any:
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
                raise _too_large(value, path) from error
        if isinstance(value, tuple):
            parts = [self._value(v, f"{path}[{i}]", is_static) for i, v in enumerate(value)]
            return tuple.__new__(type(value), parts)
        if _is_program(value):
            self.programs[path] = value
            return Static(value)
        self._once(value, path)
        if type(value) is list:
            return [self._value(v, f"{path}[{i}]", is_static) for i, v in enumerate(value)]
        if type(value) in DICTS and all(map(_is_program, value)):
            names = self._in_order(value, path)
            entries = {k: self._value(value[k], f"{path}[{k!r}]", is_static) for k in names}
            return State(type(value), entries)
        if _is_ordinary(type(value)):
            attributes = {
                name: self._value(attribute, f"{path}.{name}", is_static)
                for name, attribute in sorted(_attributes(value).items())
            }
            return State(type(value), attributes)
        raise AttributeKindError(path=path, kind=type(value).__name__)

    def _once(self, value: Any, path: str) -> None:
        first, _value = self.objects.setdefault(id(value), (path, value))
        if first != path:
            raise SharedAttributeError(first=first, second=path)

    def _in_order(self, value: dict[Any, Any], path: str) -> list[Any]:
        """Undo what is not a change: ``jax.tree.map`` inside a method sorts the keys of a dict."""
        names, before = list(value), self.before.get(path)
        if not isinstance(before, State) or before._attributes.keys() != value.keys():
            return names
        try:
            return list(before._attributes) if names == sorted(names) else names
        except TypeError:  # jax.tree.map could not have sorted them either
            return names

    def check_output(self, output: Any, method: str) -> None:
        """Refuse an output that holds an object of the state, or runs on after the call."""
        for leaf in jax.tree.leaves(output, _is_running):
            if _is_running(leaf) or _refers_to(leaf, self.objects, set()):
                raise AttributeKindError(
                    path=f"{method}()",
                    kind=type(leaf).__name__,
                    wrong="return self",
                    right="return self.value",
                    why=_("a pure function returns values; the new state is returned beside them"),
                )


def _attributes(instance: Any) -> dict[str, Any]:
    slots = copyreg._slotnames(type(instance))  # type: ignore[attr-defined]
    in_slots = {name: getattr(instance, name) for name in slots if hasattr(instance, name)}
    return {**in_slots, **getattr(instance, "__dict__", {})}


def _is_state(value: Any) -> bool:
    if isinstance(value, np.ndarray | np.generic):
        return bool(jnp.issubdtype(value.dtype, np.number)) or value.dtype == bool
    return isinstance(value, jax.Array) or type(value) in NUMBERS


def _is_running(value: Any) -> bool:
    return isinstance(value, Iterator | Coroutine)


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
    if value is None or isinstance(value, type | ModuleType | Enum):
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


def _refers_to(value: Any, objects: Mapping[int, Any], seen: set[int]) -> bool:
    """Return whether a value is one of the objects, or a function that refers to one."""
    if id(value) in seen or isinstance(value, type | ModuleType | np.ndarray):
        return False
    if id(value) in objects:
        return True
    seen.add(id(value))
    if isinstance(value, list | tuple | dict | CellType | functools.partial):
        inner = gc.get_referents(value)
    else:
        names = ("__self__", "__wrapped__", "__closure__", "__defaults__", "__kwdefaults__")
        inner = [getattr(value, name, None) for name in names]
    return any(_refers_to(each, objects, seen) for each in inner)


# ---- From a state to an object, and what has become of it


def _rebuilt(tree: Any, with_objects: bool = True) -> Any:
    """Make the values that a state was gathered from; without objects, leave those as states."""

    def made(node: Any) -> Any:
        if isinstance(node, Static):
            return node.value
        if not isinstance(node, State) or not (with_objects or node._cls in DICTS):
            return node
        values = {name: _rebuilt(part, with_objects) for name, part in node._attributes.items()}
        if node._cls in DICTS:
            return node._cls(values)
        instance: Any = object.__new__(node._cls)
        for name, value in values.items():
            object.__setattr__(instance, name, value)
        return instance

    return jax.tree.map(made, tree, is_leaf=lambda node: isinstance(node, State | Static))


def _shown(tree: Any) -> Any:
    """Return a part of a state as its reader expects it, with dicts and static values."""
    return _rebuilt(tree, with_objects=False)


def _copied(value: Any) -> Any:
    """Copy the containers and NumPy arrays of a call: a method may write into its arguments."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if type(value) in (list, tuple):
        return type(value)(map(_copied, value))
    if type(value) in DICTS:
        return type(value)((key, _copied(entry)) for key, entry in value.items())
    return value


def _nodes(node: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield all parts of a state by path, from the outside to the inside."""
    yield path, node
    for keys, child in tree_leaves_with_path(node, lambda part: part is not node):
        if keys:  # a leaf has no parts but itself
            yield from _nodes(child, f"{path}{keystr(keys)}")


def _kind(node: Any) -> Any:
    """Return what a method must not change: a static value, or the structure of this node."""
    if isinstance(node, Static):
        return node
    return jax.tree.structure(node, lambda part: part is not node)


def _check_structure(old: Nodes, new: Nodes, method: str) -> None:
    """Check that a method has changed the values of the state, and nothing else."""
    changed = [path for path in old if path in new and _kind(old[path]) != _kind(new[path])]
    static = [path for path in changed if Static in (type(old[path]), type(new[path]))]
    if static:
        cls, texts = method.split(".")[0], {}
        if any(type(_shown(old[path])) in NUMBERS for path in static):
            texts = {"wrong": f"functionalize({cls}, static=…)", "right": f"functionalize({cls})"}
        changes = [f"{path}: {old[path]!r} -> {new[path]!r}" for path in static]
        raise StaticAttributeError(method=method, changes=as_lines(changes), **texts)
    changes = [f"- {path}" for path in old if path not in new]
    changes += [f"+ {path}" for path in new if path not in old]
    for path in changed if not changes else []:
        changes += [f"- {path}: {_shown(old[path])!r}", f"+ {path}: {_shown(new[path])!r}"]
    if changes:
        raise StateStructureError(
            changes=as_lines(changes),
            wrong="def step(self): self.extra = jnp.zeros(3)",
            right="def __init__(self): self.extra = jnp.zeros(3)",
            why=_(
                "the constructor must create every attribute; its kind, and the length and order "
                "of a container, stay as they are"
            ),
            more="api/pure",
        )


# ---- What a method must not do


def _members(classes: Iterable[type]) -> dict[tuple[type, str], list[Any]]:
    """Return what classes hold by name; a list, dict or set is followed by what it holds itself."""
    members = {
        (base, name): [value]
        for cls in classes
        for base in filter(_is_ordinary, cls.__mro__)
        for name, value in vars(base).items()
        if not name.startswith("__")
    }
    for held in members.values():
        if type(held[0]) in (list, set):
            held += held[0]
        elif type(held[0]) is dict:
            held += itertools.chain(*held[0].items())
    return members


def _check_classes(before: Any, after: Any, method: str) -> None:
    """Check that a method has changed no class, which all instances share."""
    changed = [
        f"{base.__name__}.{name}"
        for base, name in {**before, **after}
        if [*map(id, before.get((base, name), []))] != [*map(id, after.get((base, name), []))]
    ]
    if changed:
        raise StaticAttributeError(
            method=method,
            changes=as_lines(changed),
            wrong=f"{changed[0]} = …",
            right=f"self.{changed[0].split('.')[1]} = …",
            why=_("all instances share their class; state is what init returns, one for each call"),
        )


@contextlib.contextmanager
def _traced(cls: type, static: Sequence[str], nodes: Nodes) -> Iterator[None]:
    """Name the number of the state that JAX has traced where Python needs its value."""
    try:
        yield
    except HaikuStateError:
        raise
    except (TypeError, IndexError) as error:
        told = where_a_value_is_needed(error)
        # the attribute, without the places in the containers that it holds
        paths = [re.sub(r"(\[[^].]*\])+$", "", path) for path in nodes if _is_scalar(nodes[path])]
        paths = [path for path in paths if re.search(rf"\.{re.escape(path[5:])}\b", told)] or [
            path for path in paths if re.search(rf"\.{path.split('.')[-1]}\b", told)
        ]
        if not paths:
            raise  # it is an argument of the method
        used = list(dict.fromkeys(paths))
        names = ", ".join(f'"{name}"' for name in (*static, *(path[5:] for path in used)))
        raise TracedFlagError(
            name=", ".join(used),
            wrong=f"functionalize({cls.__name__})",
            right=f"functionalize({cls.__name__}, static=({names},))",
            why=_(
                "a number is state, so jit replaces it by a tracer without a value; a size or a "
                "flag must be static, and a number that methods change cannot be: choose with "
                "jnp.where or jax.lax.cond instead"
            ),
            more="api/pure",
        ) from error


def _is_scalar(node: Any) -> bool:
    return isinstance(node, jax.Array) and np.ndim(node) == 0 and not is_key(node)


def _too_large(value: int, path: str) -> ArgumentError:
    range_of = np.iinfo(jnp.result_type(int))
    return ArgumentError(
        argument=path,
        value=value,
        expected=f"{range_of.min}–{range_of.max}",
        wrong=f"{path} = {value}",
        right=f"{path} = {float(value)}",
        why=_(
            "a number is state, which JAX keeps in 32 bits unless jax_enable_x64 is set; a number "
            "that no method changes may also be named in static"
        ),
        more="api/pure",
    )


def _not_ordinary(given: Any) -> ArgumentError:
    name = getattr(given, "__name__", None) or f"{type(given).__name__}(…)"
    return ArgumentError(
        argument="cls",
        value=name,
        expected=_("an ordinary Python class"),
        wrong=f"functionalize({name})",
        right=f"pure_pair({name})",
        why=_(
            "functionalize carries the attributes of a class's instances; a Haiku module or a "
            "function keeps its state elsewhere"
        ),
        more="api/pure",
    )


def _no_method(cls: type, name: str, public: list[str]) -> ArgumentError:
    return ArgumentError(
        argument="methods",
        value=repr(name),
        expected=", ".join(public) or "()",
        wrong=f"functionalize({cls.__name__}, {name!r})",
        right=f"functionalize({cls.__name__})",
        why=_(
            "each name must be that of a public method or property, and appear once; `init` is the "
            "constructor"
        ),
        more="api/pure",
    )
