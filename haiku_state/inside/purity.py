"""Why a function is not pure: `explain`, `explain_retrace`, and `assert_pure` for tests."""

import ast
import collections
import contextlib
import dis
import functools
import re
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.api_util
import jax.numpy as jnp
import numpy as np

from haiku_state.compat import is_live
from haiku_state.errors.describe import describe
from haiku_state.errors.language import deferred as _
from haiku_state.inside import compat
from haiku_state.inside.calls import (
    Call,
    bound_arguments,
    callable_of,
    differing,
    is_equal,
    outputs_of,
    signature_of,
    start_of,
)
from haiku_state.inside.reach import Reach
from haiku_state.inside.report import Finding, Report, Sentence
from haiku_state.inside.rewrite import Rewrite, in_words, rewrite
from haiku_state.inside.verify import verified
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
    """Report everything that a function does besides computing its result from its arguments.

    The function is traced, as ``jax.make_jaxpr`` does, and it never runs on the values of its
    arguments. Everything that it can reach outside is compared and restored at the end of the call,
    even after an exception; if something has changed, the change is then looked for line by line.

    Args:
      function: a function, a method, a partial, a callable object, a jitted function, or the
        ``apply`` of a Haiku pair; also a class.
      *args: the arguments of the call: arrays of any shape, ``jax.ShapeDtypeStruct``, PyTrees, and
        anything else, which is static. Numbers are traced, as ``jax.jit`` traces them, unless the
        function needs their values.
      methods: for a class, which is constructed with the arguments: the methods to call one after
        the other, each by its name, or as ``("name", *arguments)``.
      **kwargs: like ``args``.

    Returns:
      The findings in the order of their lines, the notes, and what could not be seen. An exception
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
    call = Call(function, args, kwargs)
    if (error := call.static_error()) is not None:
        return Report(_name(function), error=error)
    with contextlib.ExitStack() as caches:
        run = _watched(call, caches)
        findings = [_finding(event) for event in run.watch.events]
        reach = run.watch.reach
        if not findings and run.jaxpr is not None and (reach.is_suspect or not reach.is_closed):
            findings = list(_unexplained(call, run))
    start = call.start
    changed: dict[str, Finding] = {}
    for finding in findings:
        changed.setdefault(finding.name, finding)
    reached = {event.reached for event in run.watch.events}
    notes = list(_new_functions(run))
    for read in _frozen(reach):
        change = changed.get(read.name, changed.get(f"{read.name}[...]"))
        if change is None and not reached & {read.name, f"{read.name}[...]"}:
            notes.append(read)
        elif change and read.name in reach.constants:
            findings += [read] if _is_before(read, change, run.watch.visited) else []
    return Report(
        function=_name(function),
        findings=_verified(_ordered(findings, start), call, run),
        notes=tuple(replace(n, rewrite=in_words(rewrite(n))) for n in _ordered(notes, start)),
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
      AssertionError: if there is any finding, with the report; also if the function cannot be
        traced at all.

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
      function: a jitted function, or a function to be jitted.
      first: the arguments of one call.
      second: the arguments of a later call.

    Returns:
      A finding of kind ``"retrace"`` for each leaf that differs in shape, dtype, weak type or, if
      it is static, in value. There is no finding if the second call uses the program of the first
      call.

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
    for args in (first, second):
        if (error := Call(function, args, {}).static_error()) is not None:
            return Report(_name(function), error=error, is_retrace=True)
    start = start_of(function)
    before, after = (signature_of(function, args) for args in (first, second))
    findings = [
        Finding("retrace", name, start.file, start.line, form, str(one), str(other))
        for name in [*before, *(name for name in after if name not in before)]
        for form, one, other in differing(before.get(name), after.get(name))
    ]
    if not findings:
        with contextlib.ExitStack() as caches:
            findings = list(_new_functions(_watched(Call(function, second, {}), caches)))
    found = tuple(replace(one, rewrite=_fitting(one, function, first, second)) for one in findings)
    return Report(_name(function), found, is_retrace=True)


def _fitting(finding: Finding, function: Any, first: Any, second: Any) -> Rewrite:
    """Return what makes both calls fit one program, with its code if it does."""
    new = rewrite(finding)
    after = []
    for args in (first, second):
        space = jax.tree.map(lambda leaf: leaf, bound_arguments(function, args, {}))
        with contextlib.suppress(Exception):  # what the code makes of other arguments
            exec(new.outside, {"jnp": jnp}, space)
        after.append(signature_of(lambda arguments: None, [space]))
    name = next((name for name in after[0] if name.endswith(f"['{finding.name}']")), "")
    is_right = name and not list(differing(after[0][name], after[1].get(name)))
    return new if is_right else in_words(new)


class _Run(NamedTuple):
    """One trace."""

    watch: Watch
    jaxpr: Any
    error: BaseException | None
    stopped: Place | None
    has_leak: bool
    """Whether a tracer outlives a transformation inside of the function."""
    is_static: bool
    """Whether numbers had to be passed as they are."""


def _watched(call: Call, caches: contextlib.ExitStack) -> _Run:
    """Trace a function as often as it takes, each time as if JAX had not traced any part before."""
    reach = Reach()
    call.walk(reach)
    reach.put_streams_back()
    is_anew = reach.is_suspect or reach.is_remembered or not reach.is_closed

    def traced(is_static: bool = False, **settings: Any) -> _Run:
        caches.enter_context(compat.traced_anew(is_anew))
        return _traced(call, Watch(call.start, reach, **settings), is_static)

    run = traced(is_quick=True)
    if run.error is not None and any(type(leaf) in (int, float) for leaf in call.leaves):
        static = traced(True, is_quick=True)
        if static.error is None or isinstance(run.error, _NEEDS_A_VALUE):
            run = static
    if (sought := run.watch.changed) or run.has_leak:
        known = {"sought": sought, "has_leak": run.has_leak}
        run = traced(run.is_static, foreign=run.watch.foreign, **known)
        if missing := run.watch.not_located():
            known |= {"foreign": run.watch.foreign, "everywhere": missing}
            run = traced(run.is_static, **known)
    return run


def _traced(call: Call, watch: Watch, is_static: bool) -> _Run:
    jaxpr: Any = None
    error: Exception | None = None
    stopped: Place | None = None
    has_leak = False
    gone: list[tuple[str, Place, Any]] = []

    def body(leaves: list[Any]) -> list[Any]:
        nonlocal has_leak
        try:
            result = call.run(watch, leaves, lambda function: function())
        finally:
            gone.extend(leak for leak in watch.stored if not _is_live(leak[2]))
        watch.is_lazy = isinstance(result, (types.GeneratorType, types.CoroutineType))
        outputs = outputs_of(result)
        if dead := [leaf for leaf in outputs if not _is_live(leaf)]:
            has_leak = True
            returned = [leak for leak in gone if any(leak[2] is leaf for leaf in dead)]
            watch.events += _leaks(returned or gone[-1:])  # the last, if one is computed with it
        return [leaf for leaf in outputs if _is_live(leaf)]

    try:
        jaxpr = call.trace(body, is_static)
        if any(isinstance(constant, jax.core.Tracer) for constant in jaxpr.consts):
            has_leak, jaxpr = True, None
            watch.events += _leaks(gone[-1:])
    except jax.errors.UnexpectedTracerError as caught:
        error, has_leak = caught, True
        watch.events += _leaks(gone[-1:])
    except Stopped:
        stopped = watch.place
    except Exception as caught:
        error = caught
    return _Run(watch, jaxpr, error, stopped, has_leak, is_static)


def _unexplained(call: Call, run: _Run) -> Iterator[Finding]:
    """Trace a function that nothing was found in once more, and tell what differs or leaks."""

    def body(leaves: list[Any]) -> list[Any]:
        given, named = call.arguments(leaves)
        return outputs_of(callable_of(call.function, run.watch.reach)(*given, **named))

    try:
        with jax.checking_leaks():
            again = call.trace(body, run.is_static)
    except Exception as error:
        if str(error).startswith("Leaked "):
            name = re.findall(r"is referred to by (?:\S*\.)?(\w+)$", str(error), re.MULTILINE)
            yield Finding("leak", (name or ["tracer"])[-1], *call.start, "kept", "", "a tracer")
        return
    yield from _differences(run.jaxpr, again, call.start)


def _leaks(stored: list[tuple[str, Place, Any]]) -> list[Event]:
    return [Event("leak", name, place, "tracer", None, value) for name, place, value in stored]


def _is_live(leaf: Any) -> bool:
    return not isinstance(leaf, jax.core.Tracer) or is_live(leaf)


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


def _verified(findings: Sequence[Finding], call: Call, run: _Run) -> tuple[Finding, ...]:
    """Give each finding the rewrite of its line, with the code that was run."""
    changes = {(event.name, event.place): event.change for event in run.watch.events}
    found = []
    for finding in findings:
        change = changes.get((finding.name, Place(finding.file, finding.line)))
        new = rewrite(finding)
        new = verified(new, finding.file, change, call, run.watch, run.is_static)
        found.append(replace(finding, rewrite=new))
    return tuple(found)


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


def _differences(first: Any, second: Any, start: Place) -> Iterator[Finding]:
    """The first equation of two programs that is not the same."""
    constants = [
        variable
        for variable, one, other in zip(
            first.jaxpr.constvars, first.consts, second.consts, strict=False
        )
        if not is_equal(one, other)
    ]
    for one, other in zip(first.eqns, second.eqns, strict=False):
        is_new = any(used is constant for used in one.invars for constant in constants)
        if is_new or not _is_same(one, other):
            place = Place(*(compat.place_of(one) or start))
            calls = [node for node in expressions_on(place) if isinstance(node, ast.Call)]
            name = ast.unparse(calls[0].func) if calls else one.primitive.name
            yield Finding("frozen value", name, *place, "differs")
            return


def _is_same(one: Any, other: Any) -> bool:
    """Whether two equations compute the same, apart from what their variables are called."""
    with contextlib.suppress(Exception):  # parameters that cannot be compared
        literals = [
            [getattr(value, "val", None) for value in equation.invars] for equation in (one, other)
        ]
        types = [[value.aval for value in (*e.invars, *e.outvars)] for e in (one, other)]
        is_alike = one.primitive is other.primitive and types[0] == types[1]
        if is_alike and literals[0] == literals[1] and one.params == other.params:
            return True
    # without the addresses of functions in it
    texts = [re.sub("0x[0-9a-f]+", "", str(equation)) for equation in (one, other)]
    return texts[0] == texts[1]


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
        if isinstance(function, types.FunctionType) and not run.watch.reach.knows(function):
            yield Finding("retrace", function.__name__, *place, "new function")


def _unseen(run: _Run) -> Iterator[Sentence]:
    watch, named = run.watch, {name for code in run.watch.reach.codes for name, _ in _reads(code)}
    for name, value in watch.reach.opaque.items():
        kind: Any = type(value)
        is_value = kind.__hash__ is not object.__hash__ or kind is object
        is_named = not named.isdisjoint(re.findall(r"\w+", name))
        if is_named and not is_value and name not in watch.kept:
            yield Sentence(_("the inside of `{name}`"), name=name)
    for holder in watch.reach.holders:
        for key in holder.foreign:
            other = _("what this call does to `{name}`: another thread changes it")
            yield Sentence(other, name=holder.name_of(key))
    for name in watch.kept:
        yield Sentence(_("a way to take the tracer out of `{name}`: it is still there"), name=name)
    if run.stopped is not None:
        stopped = _("the code after line {line}: it would change something outside the function")
        yield Sentence(stopped, line=run.stopped.line)
    if watch.is_lazy:
        yield Sentence(_("the body of a generator or a coroutine: a call does not run it"))
    if run.is_static:
        yield Sentence(_("numbers as arguments: the function needs their values"))
