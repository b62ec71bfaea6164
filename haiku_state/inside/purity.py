"""Why a function is not pure: `explain`, `explain_retrace`, and `assert_pure` for tests."""

import ast
import collections
import contextlib
import dis
import functools
import inspect
import re
import types
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.api_util
import jax.numpy as jnp
import numpy as np

from haiku_state import compat
from haiku_state.errors.describe import describe
from haiku_state.errors.language import deferred as _
from haiku_state.inside.reach import Reach, library_of_module
from haiku_state.inside.report import Finding, Report, Sentence
from haiku_state.inside.watch import Event, Place, Stopped, Watch, expressions_on

_MANY_BYTES = 1 << 20
_NEEDS_A_VALUE = (jax.errors.ConcretizationTypeError, jax.errors.TracerIntegerConversionError)


def explain(
    function: Callable[..., Any],
    /,
    *args: Any,
    methods: Sequence[str | tuple[Any, ...]] | None = None,
    **kwargs: Any,
) -> Report:
    """Report what a function does besides computing its result from its arguments.

    The function is traced, as ``jax.make_jaxpr`` does, and never run on the values of its
    arguments. What it can reach from outside is compared after each of its lines, and restored
    at the end, also after an exception.

    Args:
      function: a function, a method, a partial, a callable object, a jitted function, or the
        ``apply`` of a Haiku pair; also a class.
      *args: what to call it with: arrays of any shape, ``jax.ShapeDtypeStruct``, PyTrees, and
        anything else, which is static. Numbers are traced, as ``jax.jit`` traces them, unless the
        function needs their values.
      methods: for a class, which is constructed with the arguments: the methods to call one after
        the other, each by its name, or as ``("name", *arguments)``.
      **kwargs: like ``args``.

    Returns:
      The findings in order of their lines, the notes, and what could not be seen. An exception
      that the function raises is in the report too.

    Example:
      >>> import haiku_state as hs
      >>> calls = []
      >>> def double(x):
      ...     calls.append("double")
      ...     return 2 * x
      >>> report = hs.explain(double, 1.0)
      >>> report.pure
      False
      >>> [(finding.kind, finding.name) for finding in report.findings]
      [('mutation', 'calls[...]')]
      >>> calls
      []

    References:
      JAX's documentation, `Common gotchas: pure functions
      <https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html#pure-functions>`__.
    """
    if methods is not None:
        function, args, kwargs = _calls_of(function(*args, **kwargs), methods)
    with contextlib.ExitStack() as caches:
        run = _traced_anew(function, args, kwargs, caches)
        findings = [_finding(event) for event in run.watch.events]
        if not findings and run.jaxpr is not None:
            again = _traced(function, args, kwargs, "unwatched", run.is_static)
            findings = list(_differences(run, again))
    changed: dict[str, Finding] = {}
    for finding in findings:
        changed.setdefault(finding.name, finding)
    reached = {event.reached for event in run.watch.events}
    notes = list(_new_functions(run))
    for read in _frozen(run.reach):
        change = changed.get(read.name, changed.get(f"{read.name}[...]"))
        if change is None and not reached & {read.name, f"{read.name}[...]"}:
            notes.append(read)
        elif change and read.name in run.reach.constants:
            findings += [read] if _is_before(read, change, run.watch.visited) else []
    return Report(
        function=_name(function),
        findings=_ordered(findings, run.start),
        notes=_ordered(notes, run.start),
        unseen=tuple(_unseen(run)),
        error=run.error,
    )


def assert_pure(
    function: Callable[..., Any],
    /,
    *args: Any,
    methods: Sequence[str | tuple[Any, ...]] | None = None,
    **kwargs: Any,
) -> None:
    """Raise an error if :func:`.explain` finds anything, for tests.

    Args:
      function: as for :func:`.explain`.
      *args: as for :func:`.explain`.
      methods: as for :func:`.explain`.
      **kwargs: as for :func:`.explain`.

    Raises:
      AssertionError: with the report; also if the function cannot be traced at all.

    Example:
      >>> import jax.numpy as jnp
      >>> import haiku_state as hs
      >>> hs.assert_pure(jnp.tanh, 0.5)
    """
    report = explain(function, *args, methods=methods, **kwargs)
    if report.findings or report.error is not None:
        raise AssertionError(str(report)) from report.error


def explain_retrace(
    function: Callable[..., Any], /, first: Sequence[Any], second: Sequence[Any]
) -> Report:
    """Report why a jitted function is traced, and so compiled, again for a second call.

    Args:
      function: a jitted function, or one to jit.
      first: the arguments of one call.
      second: the arguments of a later call.

    Returns:
      A finding of kind ``"retrace"`` for each leaf that differs in shape, dtype, weak type or, if
      it is static, in value; none if the second call uses the program of the first.

    Example:
      >>> import jax
      >>> import jax.numpy as jnp
      >>> from haiku_state.inside import explain_retrace
      >>> double = jax.jit(lambda x: 2 * x)
      >>> report = explain_retrace(double, [jnp.ones(3)], [jnp.ones(4)])
      >>> [(finding.name, finding.before, finding.after) for finding in report.findings]
      [('x', 'float32[3]', 'float32[4]')]

    References:
      JAX's documentation, `Just-in-time compilation
      <https://docs.jax.dev/en/latest/201/jit.html>`__.
    """
    start = _start(Reach(function))
    before, after = (signature_of(function, args) for args in (first, second))
    findings = [
        Finding("retrace", name, start.file, start.line, form, str(one), str(other))
        for name in [*before, *(name for name in after if name not in before)]
        for form, one, other in differing(before.get(name), after.get(name))
    ]
    if not findings:
        with contextlib.ExitStack() as caches:
            findings = list(_new_functions(_traced_anew(function, second, {}, caches)))
    return Report(_name(function), tuple(findings))


class _Run(NamedTuple):
    """One trace."""

    start: Place
    reach: Reach
    watch: Watch
    jaxpr: Any
    error: BaseException | None
    stopped: Place | None
    is_static: bool
    """Whether numbers had to be passed as they are."""


def _traced_anew(function: Any, args: Any, kwargs: Any, caches: contextlib.ExitStack) -> _Run:
    """Trace a function as often as it takes, each time as if JAX had not traced any part before."""
    caches.enter_context(compat.traced_anew())
    run = _traced(function, args, kwargs)
    leaves = jax.tree.leaves((args, kwargs))
    if run.error is not None and any(type(leaf) in (int, float) for leaf in leaves):
        caches.enter_context(compat.traced_anew())
        static = _traced(function, args, kwargs, is_static=True)
        if static.error is None or isinstance(run.error, _NEEDS_A_VALUE):
            run = static
    if run.watch.needs_exact:
        caches.enter_context(compat.traced_anew())
        run = _traced(function, args, kwargs, "closely", run.is_static, run.watch.changed)
    return run


def _traced(
    function: Any,
    args: Any,
    kwargs: Any,
    how: str = "watched",
    is_static: bool = False,
    changed: Collection[int] = (),
) -> _Run:
    reach = Reach(function)
    start = _start(reach)
    watch = Watch(reach, start, how, changed)
    leaves, tree = jax.tree.flatten((args, kwargs))
    told = _static_leaves(function, args, kwargs)
    traced = [
        index
        for index, leaf in enumerate(leaves)
        if index not in told and is_traced(leaf, is_static)
    ]
    jaxpr: Any = None
    error: Exception | None = None
    stopped: Place | None = None
    gone: list[tuple[str, Place, Any]] = []

    def run(*values: Any) -> Any:
        filled = list(leaves)
        for index, value in zip(traced, values, strict=True):
            filled[index] = value
        given, named = jax.tree.unflatten(tree, filled)
        passed = Reach()
        for name, value in _bound(function, given, named).items():
            passed.walk(name, value, "argument")
        watch.add_arguments(passed)
        streams = {id(value): name for name, value in passed.streams.items()}
        for index, leaf in enumerate(leaves):
            if id(leaf) in streams:
                filled[index] = watch.stream(streams[id(leaf)], leaf)
        given, named = jax.tree.unflatten(tree, filled) if streams else (given, named)
        try:
            with watch.watching():
                result = _callable(function, reach, watch)(*given, **named)
        finally:
            gone.extend(leak for leak in watch.stored if not _is_live(leak[2]))
        if isinstance(result, (types.GeneratorType, types.CoroutineType)):
            result.close()
            watch.is_lazy = True
        outputs = [leaf for leaf in jax.tree.leaves(result) if _is_output(leaf)]
        dead = [leaf for leaf in outputs if not _is_live(leaf)]
        if dead:
            watch.needs_exact = True
            returned = [leak for leak in gone if any(leak[2] is leaf for leaf in dead)]
            watch.events += _leaks(returned or gone[-1:])  # the last, if one is computed with it
        return [leaf for leaf in outputs if _is_live(leaf)]

    try:
        jaxpr = jax.make_jaxpr(run)(*(leaves[index] for index in traced))
        if any(isinstance(constant, jax.core.Tracer) for constant in jaxpr.consts):
            watch.needs_exact, jaxpr = True, None
            watch.events += _leaks(gone[-1:])
    except jax.errors.UnexpectedTracerError as caught:
        error, watch.needs_exact = caught, True
        watch.events += _leaks(gone[-1:])
    except Stopped:
        stopped = watch.place
    except Exception as caught:
        error = caught
    return _Run(start, reach, watch, jaxpr, error, stopped, is_static)


def _start(reach: Reach) -> Place:
    """Where the user's function begins."""
    codes = reach.codes
    return Place(codes[0].co_filename, codes[0].co_firstlineno) if codes else Place("", 0)


def _leaks(stored: list[tuple[str, Place, Any]]) -> list[Event]:
    return [Event("leak", name, place, "tracer", None, value) for name, place, value in stored]


def _static_leaves(function: Any, args: Any, kwargs: Any) -> set[int]:
    """The numbers of the leaves that `jax.jit` was told are static."""
    names = _static_names(function)
    passed = {index for index, name in enumerate(_parameters(function)) if name in names}
    paths, _tree = jax.tree_util.tree_flatten_with_path((args, kwargs))
    return {
        index
        for index, (path, _leaf) in enumerate(paths)
        if (path[1].key in names if path[0].idx else path[1].idx in passed)
    }


def _static_names(function: Any) -> set[str]:
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


def _is_output(leaf: Any) -> bool:
    return isinstance(leaf, (jax.Array, np.ndarray, np.generic, int, float, complex))


def _is_live(leaf: Any) -> bool:
    return not isinstance(leaf, jax.core.Tracer) or compat.is_live(leaf)


def _callable(function: Any, reach: Reach, watch: Watch) -> Any:
    """The function below ``jax.jit``, whose cache would hide what it does, or in a partial."""
    if isinstance(function, types.MethodType):
        return types.MethodType(_callable(function.__func__, reach, watch), function.__self__)
    if hasattr(function, "lower") and hasattr(function, "__wrapped__"):
        return function.__wrapped__
    if not isinstance(function, functools.partial):
        return function
    streams = {id(value): watch.stream(name, value) for name, value in reach.streams.items()}
    args = [streams.get(id(value), value) for value in function.args]
    kwargs = {key: streams.get(id(value), value) for key, value in function.keywords.items()}
    return functools.partial(_callable(function.func, reach, watch), *args, **kwargs)


def _bound(function: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """The arguments by the names of the parameters; those of ``*args`` are numbered."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return {**{f"args[{index}]": value for index, value in enumerate(args)}, **kwargs}
    return dict(bound)


def _calls_of(instance: Any, methods: Sequence[str | tuple[Any, ...]]) -> tuple[Any, Any, Any]:
    """A function that calls the methods, and its arguments: one tuple for each method."""
    calls = [(method,) if isinstance(method, str) else tuple(method) for method in methods]
    bound = tuple(getattr(instance, name) for name, *_arguments in calls)
    return functools.partial(_call_all, bound), [call[1:] for call in calls], {}


def _call_all(bound: tuple[Any, ...], *arguments: Any) -> list[Any]:
    return [method(*given) for method, given in zip(bound, arguments, strict=True)]


def _name(function: Any) -> str:
    for inner in (function, getattr(function, "func", None), type(function)):
        if name := getattr(inner, "__qualname__", None):
            break
    if function is not inner and getattr(inner, "__name__", "") == _call_all.__name__:
        return type(function.args[0][0].__self__).__qualname__
    return str(name).rpartition("<locals>.")[2]


def _ordered(findings: Sequence[Finding], start: Place) -> tuple[Finding, ...]:
    """One finding for each name and line, those of the function's own file first."""
    unique = {(one.kind, one.name, one.file, one.line): one for one in reversed(findings)}
    for kind, *place in list(unique):  # as os.makedirs, which looks before it makes
        if kind == "output":
            unique.pop(("hidden input", *place), None)  # type: ignore[arg-type]
    return tuple(
        sorted(unique.values(), key=lambda one: (one.file != start.file, one.file, one.line))
    )


def _finding(event: Event) -> Finding:
    before, after = _shown(event.before), _shown(event.after)
    return Finding(event.kind, event.name, *event.place, event.form, before, after)


def _shown(value: Any) -> str:
    """A value in a few characters."""
    if value is None:
        return ""
    if isinstance(value, jax.core.Tracer):
        return f"a tracer {describe(value)}"
    if isinstance(value, (list, tuple)) and len(value) <= 4:
        text = f"[{', '.join(map(_shown, value))}]"
    else:
        try:
            text = " ".join(repr(value).split())
        except Exception:
            text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _differences(first: _Run, second: _Run) -> Iterator[Finding]:
    """The first equation of two traces that is not the same, where nothing else was seen."""
    if first.jaxpr is None or second.jaxpr is None:
        return
    constants = [
        variable
        for variable, one, other in zip(
            first.jaxpr.jaxpr.constvars, first.jaxpr.consts, second.jaxpr.consts, strict=False
        )
        if not _is_equal(one, other)
    ]
    for one, other in zip(first.jaxpr.eqns, second.jaxpr.eqns, strict=False):
        if _text(one) != _text(other) or any(used is c for used in one.invars for c in constants):
            place = Place(*(compat.place_of(one) or first.start))
            calls = [node for node in expressions_on(place) if isinstance(node, ast.Call)]
            name = ast.unparse(calls[0].func) if calls else one.primitive.name
            yield Finding("frozen value", name, *place, "differs")
            return


def _text(equation: Any) -> str:
    return re.sub("0x[0-9a-f]+", "", str(equation))  # without the addresses of functions in it


def _is_equal(one: Any, other: Any) -> bool:
    if jnp.issubdtype(getattr(one, "dtype", np.float32), jax.dtypes.prng_key):
        one, other = jax.random.key_data(one), jax.random.key_data(other)
    return bool(np.array_equal(np.asarray(one), np.asarray(other), equal_nan=True))


def _frozen(reach: Reach) -> Iterator[Finding]:
    """The numbers and arrays from outside that the code reads, one note for each name."""
    places: dict[str, Place] = {}
    for code in reach.codes:
        for name, place in _reads(code):
            places.setdefault(name, place)
    groups = collections.defaultdict(list)
    for name, value in reach.constants.items():
        groups[name.partition("[")[0]].append(value)
    found: dict[tuple[str, str], Finding] = {}
    for name, values in groups.items():
        where = name.rpartition(".")[2]
        if where not in places:
            continue
        arrays = [value for value in values if isinstance(value, (jax.Array, np.ndarray))]
        size = sum(value.size * value.dtype.itemsize for value in arrays)
        shown = _shown(values[0]) if len(values) == 1 and not arrays else _kinds(values)
        form = "big array" if size >= _MANY_BYTES else "number"
        # a default of a dataclass is found three times: keep the attribute of the object
        found[where, shown] = Finding("frozen value", name, *places[where], form, shown, size=size)
    yield from found.values()


def _abstract(value: Any) -> Any:
    """What a program is compiled for: shape, dtype and weak type."""
    return jax.api_util.shaped_abstractify(value)


def _is_before(read: Finding, change: Finding, visited: dict[Place, int]) -> bool:
    """Whether the line that reads a value runs before the one that changes it."""
    place = Place(read.file, read.line)
    return place in visited and visited[place] < visited[Place(change.file, change.line)]


def _kinds(values: list[Any]) -> str:
    return describe(values[0]) if len(values) == 1 else f"×{len(values)}"


def _reads(code: types.CodeType) -> Iterator[tuple[str, Place]]:
    """The variables from outside and the attributes that a function's code reads, and where."""
    lines, line = dict(dis.findlinestarts(code)), code.co_firstlineno
    for instruction in dis.get_instructions(code):
        line = lines.get(instruction.offset) or line
        is_attribute = "ATTR" in instruction.opname or "METHOD" in instruction.opname
        is_free = "DEREF" in instruction.opname and instruction.argval in code.co_freevars
        is_global = instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME")
        is_read = not instruction.opname.startswith(("STORE", "DELETE"))
        if is_read and (is_attribute or is_free or is_global):
            yield instruction.argval, Place(code.co_filename, line)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _reads(constant)


def _new_functions(run: _Run) -> Iterator[Finding]:
    """The functions that are made and jitted in the call: each call compiles them again."""
    for function, place in run.watch.jitted:
        if isinstance(function, types.FunctionType) and not run.reach.knows(function):
            yield Finding("retrace", function.__name__, *place, "new function")


def _unseen(run: _Run) -> Iterator[Sentence]:
    for name, value in run.reach.opaque.items():
        if library_of_module(type(value).__module__) != "python":
            yield Sentence(_("the inside of `{name}`"), name=name)
    if run.stopped is not None:
        stopped = _("what follows line {line}: going on would change something outside")
        yield Sentence(stopped, line=run.stopped.line)
    if run.watch.is_lazy:
        yield Sentence(_("the body of a generator or a coroutine: a call does not run it"))
    if run.is_static:
        yield Sentence(_("numbers as arguments: the function needs their values"))


def signature_of(function: Any, args: Sequence[Any]) -> dict[str, Any]:
    """What the cache of `jax.jit` compares, by the names of the leaves."""
    found: dict[str, Any] = {}
    static = _static_names(function)
    for name, value in _bound(function, args, {}).items():
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
    if one is None or other is None:
        return  # told by the structure of the argument
    if isinstance(one, tuple) and isinstance(other, tuple):
        (_tree, before), (_tree, after) = one, other
        if not hasattr(before, "shape") or not hasattr(after, "shape"):
            if before != after:
                yield "static value", repr(before), repr(after)
            return
        for form in ("shape", "dtype", "weak_type"):
            if getattr(before, form) != getattr(after, form):
                yield form.replace("_", " "), describe(before), describe(after)
                return
    elif type(one) is not type(other) or one != other:
        yield (
            "structure",
            *(value[0] if isinstance(value, tuple) else value for value in (one, other)),
        )
