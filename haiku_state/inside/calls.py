"""A function and what it is called with: which leaves are traced, and how jit tells calls apart."""

import contextvars
import functools
import inspect
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.api_util
import jax.numpy as jnp
import numpy as np

from haiku_state.errors import arguments
from haiku_state.errors.describe import describe
from haiku_state.inside import compat
from haiku_state.inside.reach import Reach
from haiku_state.inside.watch import Place, Watch

NEEDS_A_VALUE = (jax.errors.ConcretizationTypeError, jax.errors.TracerIntegerConversionError)


class Call:
    """A function, and what it is called with."""

    def __init__(self, function: Any, args: Any, kwargs: Any) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        self.leaves, self._tree = jax.tree.flatten((args, kwargs))
        self._static = _static_leaves(function, args, kwargs)
        self.start = start_of(function)

    def static_error(self) -> Exception | None:
        """Return the error of an argument that is static and cannot be hashed."""
        function: Any = self.function
        args = self.args
        if isinstance(function, types.MethodType):
            function, args = function.__func__, (function.__self__, *args)
        static = static_names(function)
        for name, value in bound_arguments(function, args, self.kwargs).items():
            try:
                hash(value if name in static else None)
            except TypeError:
                return arguments.static_argument(name, value)
        return None

    def trace(self, body: Callable[..., Any], is_static: bool) -> Any:
        """Return the jaxpr of a function of a list of all leaves of the arguments."""
        traced = self.traced(is_static)

        def run(*values: Any) -> Any:
            return body(filled(self.leaves, traced, values))

        return jax.make_jaxpr(run)(*(self.leaves[index] for index in traced))

    def traced(self, is_static: bool) -> list[int]:
        """Return which leaves jit traces."""
        return [
            index
            for index, leaf in enumerate(self.leaves)
            if index not in self._static and is_traced(leaf, is_static)
        ]

    def walk(self, reach: Reach) -> None:
        """Find what the function reaches."""
        reach.walk(_own_name(self.function), self.function)

    def bound(self, reach: Reach, leaves: Sequence[Any]) -> Any:
        """Return arguments with other leaves, and stand-ins for streams; what changes is found."""
        names = {}
        given, named = jax.tree.unflatten(self._tree, leaves)
        for name, value in bound_arguments(self.function, given, named).items():
            reach.walk(name, value, "argument")
            names[id(value)] = name
        put = [reach.stood_in(names.get(id(leaf), "stream"), leaf) for leaf in leaves]
        if any(new is not leaf for new, leaf in zip(put, leaves, strict=True)):
            given, named = jax.tree.unflatten(self._tree, put)
        return given, named

    def run(self, watch: Watch, leaves: Sequence[Any]) -> Any:
        """Call the function with other leaves of its arguments, while it is watched."""
        given, named = self.bound(watch.reach, leaves)
        function = callable_of(self.function, watch.reach)
        context = contextvars.copy_context()  # a variable of it is restored with it
        return context.run(watch.run, lambda: function(*given, **named))

    def run_unwatched(self, leaves: Sequence[Any], reach: Reach) -> Any:
        """Call the function with other leaves of its arguments."""
        given, named = jax.tree.unflatten(self._tree, leaves)
        return callable_of(self.function, reach)(*given, **named)


def filled(leaves: Sequence[Any], traced: list[int], values: Sequence[Any]) -> list[Any]:
    """Return leaves, with other values for those that are traced."""
    found = list(leaves)
    for index, value in zip(traced, values, strict=True):
        found[index] = value
    return found


def start_of(function: Any) -> Place:
    """Where the user's function begins."""
    inner = inspect.unwrap(getattr(function, "func", function))
    inner = getattr(inner, "__func__", inner)
    if not hasattr(inner, "__code__"):  # an object
        inner = inspect.getattr_static(type(inner), "__call__", None)
    code = getattr(inspect.unwrap(inner) if inner else None, "__code__", None)
    return Place(code.co_filename, code.co_firstlineno) if code else Place("", 0)


def calls_of(instance: Any, methods: Sequence[str | tuple[Any, ...]]) -> tuple[Any, Any, Any]:
    """A function that calls the methods, and its arguments: one tuple for each method."""
    calls = [(method,) if isinstance(method, str) else tuple(method) for method in methods]
    bound = tuple(getattr(instance, name) for name, *_arguments in calls)
    return functools.partial(_call_all, bound), [call[1:] for call in calls], {}


def _call_all(bound: tuple[Any, ...], *arguments: Any) -> list[Any]:
    return [method(*given) for method, given in zip(bound, arguments, strict=True)]


def name_of(function: Any) -> str:
    """The name of a function; of the methods of an object, that of its class."""
    for inner in (function, getattr(function, "func", None), type(function)):
        if name := getattr(inner, "__qualname__", None):
            break
    if function is not inner and getattr(inner, "__name__", "") == _call_all.__name__:
        return type(function.args[0][0].__self__).__qualname__
    return str(name).rpartition("<locals>.")[2]


def _own_name(function: Any) -> str:
    """What code of the user calls what is explained: its name, or ``self`` of a callable object."""
    call: Any = inspect.getattr_static(type(function), "__call__", None)
    is_object = isinstance(call, types.FunctionType) and call.__code__.co_varnames
    return str(
        getattr(function, "__name__", call.__code__.co_varnames[0] if is_object else "function")
    )


def _static_leaves(function: Any, args: Any, kwargs: Any) -> set[int]:
    """The numbers of the leaves that `jax.jit` was told are static."""
    names = static_names(function)
    passed = {index for index, name in enumerate(_parameters(function)) if name in names}
    paths, _tree = jax.tree_util.tree_flatten_with_path((args, kwargs))
    return {
        index
        for index, (path, _leaf) in enumerate(paths)
        if (path[1].key in names if path[0].idx else path[1].idx in passed)
    }


def static_names(function: Any) -> set[str]:
    """The parameters that `jax.jit` was told are static; JAX 0.5 and older do not tell."""
    names = _parameters(getattr(function, "__func__", function))  # with the `self` of a method
    named = dict(enumerate(names)) | dict(enumerate(names, -len(names)))
    return {named.get(static, static) for static in compat.static_arguments(function)}


def _parameters(function: Any) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def is_traced(leaf: Any, is_static: bool = False) -> bool:
    if isinstance(leaf, (int, float, complex)):
        return not isinstance(leaf, bool) and not is_static
    return isinstance(leaf, (jax.Array, np.ndarray, np.generic, jax.ShapeDtypeStruct))


def outputs_of(result: Any) -> list[Any]:
    """The numbers and arrays that a function has returned."""
    if isinstance(result, (types.GeneratorType, types.CoroutineType)):
        result.close()  # a call does not run its body
    kinds = (jax.Array, np.ndarray, np.generic, int, float, complex)
    return [leaf for leaf in jax.tree.leaves(result) if isinstance(leaf, kinds)]


def programs_in(equation: Any) -> Iterator[tuple[str, Any]]:
    """The programs inside of an equation, such as the body of a scan, with their names in it."""
    for key, value in equation.params.items():
        values = value if isinstance(value, (tuple, list)) else [value]
        for index, one in enumerate(values):
            inner = getattr(one, "jaxpr", one)
            if hasattr(inner, "invars"):
                yield f"{key}[{index}]" if len(values) > 1 else key, inner


def callable_of(function: Any, reach: Reach) -> Any:
    """The function below ``jax.jit``, whose cache would hide what it does, or in a partial."""
    if isinstance(function, types.MethodType):
        return types.MethodType(callable_of(function.__func__, reach), function.__self__)
    if compat.is_jitted(function):
        return getattr(function, "__wrapped__")  # noqa: B009
    if not isinstance(function, functools.partial):
        return function
    args = [reach.stood_in(f"args[{index}]", value) for index, value in enumerate(function.args)]
    kwargs = {key: reach.stood_in(key, value) for key, value in function.keywords.items()}
    return functools.partial(callable_of(function.func, reach), *args, **kwargs)


def bound_arguments(function: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """The arguments by the names of the parameters; those of ``*args`` are numbered."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return {**{f"args[{index}]": value for index, value in enumerate(args)}, **kwargs}
    return dict(bound)


def _abstract(value: Any) -> Any:
    """What a program is compiled for: shape, dtype and weak type."""
    return jax.api_util.shaped_abstractify(value)


def signature_of(function: Any, args: Sequence[Any]) -> dict[str, Any]:
    """What the cache of `jax.jit` compares, by the names of the leaves."""
    found: dict[str, Any] = {}
    static = static_names(function)
    for name, value in bound_arguments(function, args, {}).items():
        if name in static:
            found[name] = (None, value)
            continue
        leaves, tree = jax.tree_util.tree_flatten_with_path(value)
        found[name] = tree
        for path, leaf in leaves:
            has_type = isinstance(leaf, bool) or is_traced(leaf)
            label = name + jax.tree_util.keystr(path)
            found[label] = (tree, _abstract(leaf) if has_type else leaf)
    return found


def differing(one: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    """Tell what differs between two entries of signatures; None is none."""
    if one is None or other is None:
        there = other if one is None else one
        is_leaf = isinstance(there, tuple) and there[0] is not None
        # the structure of the argument tells of a leaf that is only a part of it
        if not is_leaf or jax.tree_util.treedef_is_leaf(there[0]):
            told = describe(there[1]) if is_leaf else there
            before, after = ("–" if each is None else told for each in (one, other))
            yield "missing", before, after
        return
    if isinstance(one, tuple) and isinstance(other, tuple):
        (_tree, before), (_tree, after) = one, other
        if not hasattr(before, "shape") or not hasattr(after, "shape"):
            if type(before) is not type(after) or before != after:
                kind: Any = type(before)
                is_object = before is not None and kind.__eq__ is object.__eq__
                yield "static object" if is_object else "static value", repr(before), repr(after)
            return
        is_key = [jnp.issubdtype(each.dtype, jax.dtypes.prng_key) for each in (before, after)]
        if any(is_key) and before.dtype != after.dtype:
            yield "key", describe(before), describe(after)
            return
        forms = ("ndim" if len(before.shape) != len(after.shape) else "shape", "dtype", "weak_type")
        for form in forms:
            if getattr(before, form) != getattr(after, form):
                name = {"ndim": "rank", "weak_type": "weak type"}.get(form, form)
                yield name, describe(before), describe(after)
    elif type(one) is not type(other) or one != other:
        yield (
            "structure",
            *(value[0] if isinstance(value, tuple) else value for value in (one, other)),
        )


def distance(one: Any, other: Any) -> int:
    """How much two entries of a signature differ: least in the weak type, most in what there is."""
    if one is None or other is None:
        return 8
    types = [entry[1] if isinstance(entry, tuple) else None for entry in (one, other)]
    if not all(hasattr(each, "shape") for each in types):
        return 8 * any(True for _each in differing(one, other))
    forms = (("weak_type", 1), ("dtype", 2), ("shape", 4))
    return sum(size for form, size in forms if getattr(types[0], form) != getattr(types[1], form))


def is_equal(one: Any, other: Any) -> bool:
    """Return whether two constants of programs hold the same numbers or the same random keys."""
    if jnp.issubdtype(getattr(one, "dtype", np.float32), jax.dtypes.prng_key):
        one, other = jax.random.key_data(one), jax.random.key_data(other)
    return bool(np.array_equal(np.asarray(one), np.asarray(other), equal_nan=True))
