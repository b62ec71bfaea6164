"""Why a function is not pure: `explain`, `explain_retrace`, and `assert_pure` for tests."""

import array
import ast
import collections
import contextlib
import dis
import re
import types
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np

from haiku_state.compat import is_live
from haiku_state.errors.describe import describe
from haiku_state.errors.language import deferred as _
from haiku_state.inside import compat
from haiku_state.inside.advice import advice, is_branched, is_read
from haiku_state.inside.calls import (
    NEEDS_A_VALUE,
    Call,
    calls_of,
    differing,
    is_equal,
    name_of,
    outputs_of,
    programs_in,
    signature_of,
    start_of,
)
from haiku_state.inside.reach import MISSING, Reach, leaves_of, names_in, nested_codes, original
from haiku_state.inside.report import Finding, Report, Sentence, shown
from haiku_state.inside.watch import Event, Place, Sought, Stopped, Watch, expressions_on

_MANY_BYTES = 1 << 20
_FEW_OBJECTS = 4
"""Of more objects that a line changes, one is named."""
_TRACED = (jax.Array, np.ndarray, int, float, complex, np.generic, array.array, type(None))
"""What jit can take and return, if need be as an array."""
_REFERENCES = {"get": "read", "swap": "write", "addupdate": "write"}
_CALLBACKS = ("debug_callback", "io_callback", "pure_callback")


def explain(
    function: Callable[..., Any],
    /,
    *args: Any,
    methods: Sequence[str | tuple[Any, ...]] | None = None,
    **kwargs: Any,
) -> Report:
    """Report what a function does besides computing its result from its arguments.

    The function is traced, as by ``jax.make_jaxpr``, so it never sees the values of the arrays in
    its arguments. When the call ends, even with an exception, everything outside the function that
    it can reach is compared with what it was before, and restored. If something has changed, the
    statement that changed it is then searched for line by line.

    Args:
      function: the function to examine: a function, a method, a partial, a callable object, a
        jitted function, the ``apply`` of a Haiku pair, or a class.
      *args: the arguments of the call: arrays of any shape, ``jax.ShapeDtypeStruct``, PyTrees, or
        any other values, which are static. Numbers are traced, as under ``jax.jit``, unless the
        function needs their values.
      methods: if ``function`` is a class, the methods to call in turn on an instance that is
        constructed with the arguments; each method is given by its name or as
        ``("name", *arguments)``.
      **kwargs: the keyword arguments of the call, which are treated like ``args``.

    Returns:
      A report with the findings in the order of their lines, the notes, and what could not be seen.
      If the function raises an exception, the report contains the exception too.

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
        try:
            instance = _constructed(function, args, kwargs)
        except Stopped:
            return explain(function, *args, **kwargs)
        function, args, kwargs = calls_of(instance, methods)
    call = Call(function, args, kwargs)
    if (error := call.static_error()) is not None:
        return Report(name_of(function), error=error)
    with contextlib.ExitStack() as caches:
        run = _watched(call, caches)
        reach = run.watch.reach
        findings = [_finding(event, reach) for event in _told_apart(run.watch.events)]
        if not findings and (run.has_leak or reach.is_suspect or reach.opaque):
            findings = list(_unexplained(call, run))
    references, notes, called = _effects(run)
    notes += [*_new_functions(run)]
    findings += references
    changed: dict[str, Finding] = {}
    for finding in findings:
        changed.setdefault(finding.name, finding)
    reached = {e.holder.path(e.key).partition("[")[0] for e in run.watch.events if e.holder}
    for read in _frozen(reach, called):
        change = changed.get(read.name, changed.get(f"{read.name}[...]"))
        if change is None and read.name not in reached:
            notes.append(read)
        elif change and read.name in reach.constants:
            findings += [read] if _is_before(read, change, run.watch.visited) else []
    return Report(
        function=name_of(function),
        findings=_ordered(findings, call.start),
        notes=_ordered(notes, call.start),
        unseen=tuple(_unseen(run, call)),
        error=run.error,
    )


def assert_pure(
    function: Callable[..., Any],
    /,
    *args: Any,
    methods: Sequence[str | tuple[Any, ...]] | None = None,
    allow: Collection[str] = (),
    **kwargs: Any,
) -> None:
    """Raise an error if :func:`.explain` reports a finding that is not allowed; meant for tests.

    Args:
      function: the same as in :func:`.explain`.
      *args: the same as in :func:`.explain`.
      methods: the same as in :func:`.explain`.
      allow: the findings to allow, given by name, such as ``"logger.info"``, or by kind or form,
        such as ``"log"``.
      **kwargs: the same as in :func:`.explain`.

    Raises:
      AssertionError: if ``allow`` does not cover all findings, or if the function raises an error.

    Example:
      >>> import jax.numpy as jnp
      >>> import haiku_state as hs
      >>> def double(x):
      ...     print("tracing")
      ...     return 2 * x
      >>> hs.assert_pure(jnp.tanh, 0.5)
      >>> hs.assert_pure(double, 0.5, allow=["print"])
    """
    allowed = {allow} if isinstance(allow, str) else {*allow}
    report = explain(function, *args, methods=methods, **kwargs)
    findings = tuple(
        one for one in report.findings if allowed.isdisjoint((one.kind, one.form, one.name))
    )
    if findings or report.error is not None:
        raise AssertionError(str(replace(report, findings=findings))) from report.error


def explain_retrace(
    function: Callable[..., Any], /, first: Sequence[Any], second: Sequence[Any]
) -> Report:
    """Report why a jitted function is traced, and so compiled, again for a second call.

    Args:
      function: a jitted function, or a function to be jitted.
      first: the arguments of one call.
      second: the arguments of a later call.

    Returns:
      A report with a finding of kind ``"retrace"`` for each leaf that differs in shape, dtype, weak
      type or, if it is static, in value. There is no finding if the second call uses the program of
      the first call.

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
            return Report(name_of(function), error=error, is_retrace=True)
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
    return Report(name_of(function), tuple(map(_advised, findings)), is_retrace=True)


def _constructed(cls: Any, args: Any, kwargs: Any) -> Any:
    """Make an object; what its class changes outside is put back."""
    call = Call(cls, args, kwargs)
    watch = Watch(call.start)
    call.walk(watch.reach)
    try:
        return watch.run(lambda: cls(*args, **kwargs))
    finally:
        watch.reach.put_streams_back()


def _told_apart(events: list[Event]) -> list[Event]:
    """Name what a line of two objects changes by the ways to them."""
    holders: dict[Any, set[int]] = collections.defaultdict(set)
    for event in events:
        holders[event.name, event.place].add(id(event.holder))
    return [
        event._replace(name=event.holder.path(event.key))
        if event.holder
        and event.kind in ("mutation", "leak")
        and 1 < len(holders[event.name, event.place]) <= _FEW_OBJECTS
        else event
        for event in events
    ]


class _Run(NamedTuple):
    """One trace."""

    watch: Watch
    jaxpr: Any
    error: BaseException | None
    stopped: Place | None
    has_leak: bool
    """Whether a tracer outlives a transformation inside of the function."""
    is_lazy: bool
    """Whether the function returns a generator or a coroutine, whose body no call runs."""
    is_static: bool
    """Whether numbers had to be passed as they are."""


def _watched(call: Call, caches: contextlib.ExitStack) -> _Run:
    """Trace a function as often as it takes, each time as if JAX had not traced any part before."""

    def traced(is_static: bool = False, *sought: Sought) -> _Run:
        watch = Watch(call.start, *sought)
        call.walk(watch.reach)
        is_hidden = watch.reach.is_suspect or watch.reach.opaque or watch.reach.is_remembered
        caches.enter_context(compat.traced_anew(bool(is_hidden)))
        return _traced(call, watch, is_static)

    run = traced()
    if run.error is not None and any(type(leaf) in (int, float) for leaf in call.leaves):
        static = traced(True)
        if static.error is None or isinstance(run.error, NEEDS_A_VALUE):
            run = static
    if sought := run.watch.changed:
        run.watch.reach.holders.clear()  # and with them the copies of large arrays
        run = traced(run.is_static, sought)
        if missing := run.watch.not_located():
            run = traced(run.is_static, sought, missing)
    return run


def _traced(call: Call, watch: Watch, is_static: bool) -> _Run:
    jaxpr: Any = None
    error: Exception | None = None
    stopped: Place | None = None
    has_leak = is_lazy = False

    def body(leaves: list[Any]) -> list[Any]:
        nonlocal has_leak, is_lazy
        result = call.run(watch, leaves)
        is_lazy = isinstance(result, (types.GeneratorType, types.CoroutineType))
        outputs = outputs_of(result)
        live = [leaf for leaf in outputs if _is_live(leaf)]
        has_leak = len(live) < len(outputs)
        return live

    try:
        jaxpr = call.trace(body, is_static)
        if any(isinstance(constant, jax.core.Tracer) for constant in jaxpr.consts):
            has_leak, jaxpr = True, None
    except jax.errors.UnexpectedTracerError as caught:
        error, has_leak = caught, True
    except (Stopped, SystemExit) as caught:
        if isinstance(caught, SystemExit) and not watch.has_stopped_thread:
            raise
        stopped = watch.place
    except Exception as caught:
        error = caught
    finally:
        watch.reach.put_streams_back()
    return _Run(watch, jaxpr, error, stopped, has_leak, is_lazy, is_static)


def _unexplained(call: Call, run: _Run) -> Iterator[Finding]:
    """Trace a function that nothing was found in once more, and tell what differs or leaks."""

    def body(leaves: list[Any]) -> list[Any]:
        return outputs_of(call.run_unwatched(leaves, run.watch.reach))

    try:
        with jax.checking_leaks():
            again = call.trace(body, run.is_static)
    except Exception as error:
        if str(error).startswith("Leaked ") or run.has_leak:
            yield _leak(str(error), call.start, run.watch.reach)
        return
    if run.jaxpr is not None:
        yield from _differences(run.jaxpr, again, call.start)


def _leak(message: str, start: Place, reach: Reach) -> Finding:
    """Tell which line stores the tracer that outlives its trace: JAX says what refers to it.

    For a gradient under jit, JAX 0.7 to 0.10 do not.
    """
    names = re.findall(r"referred to by .*?(\w+)(?:'\]|' of the frame .*)?$", message, re.MULTILINE)
    codes = [inner for code in reach.codes for inner in nested_codes(code)]
    lines = {Place(c.co_filename, line) for c in codes for _, line in dis.findlinestarts(c) if line}
    nodes = [(place, node) for place in sorted(lines) for node in expressions_on(place)]
    for name in names:
        found = []
        for place, node in nodes:
            written = ast.unparse(node)
            if isinstance(node, ast.Call) and written.startswith(f"hk.set_state({name!r}"):
                found.append((True, place, f"hk.set_state({name!r})"))
            elif isinstance(getattr(node, "ctx", None), ast.Store):
                found += [(False, place, written)] if written.rpartition(".")[2] == name else []
        if found:
            _is_state, place, written = max(found)
            return _advised(Finding("leak", written, *place, "tracer", "", "a tracer"))
    return _advised(Finding("leak", "a tracer", *start, "unknown", "", "a tracer"))


def _effects(run: _Run) -> tuple[list[Finding], list[Finding], set[types.CodeType]]:
    """What the program itself does in every call: uses of refs, and calls of Python functions.

    Returns:
      The findings, the notes, and the code of the functions that the program calls.
    """
    found: list[Finding] = []
    notes: list[Finding] = []
    names = run.watch.reach.references
    called = Reach(lambda name, value: value)

    def visit(jaxpr: Any, outer: dict[Any, str]) -> None:
        for equation in jaxpr.eqns:
            known = ["" if hasattr(v, "val") else outer.get(v, "") for v in equation.invars]
            place = Place(*(compat.place_of(equation) or ("", 0)))
            kind = equation.primitive.name
            if kind in _REFERENCES and known[0]:
                name = f"{known[0]}[...]"
                found.append(Finding("reference", name, *place, _REFERENCES[kind]))
            elif kind in _CALLBACKS:
                before = len(called.codes)
                function = equation.params["callback"]
                called.walk("callback", getattr(function, "callback_func", function))
                if kind == "io_callback":
                    found.append(Finding("effect", kind, *place, kind))
                elif len(called.codes) > before or kind == "pure_callback":  # not `debug.print`
                    notes.append(Finding("effect", kind, *place, kind))
            for _name, inner in programs_in(equation):
                visit(inner, dict(zip(inner.invars, known[-len(inner.invars) :], strict=False)))

    if run.jaxpr is not None:
        constants = zip(run.jaxpr.jaxpr.constvars, run.jaxpr.consts, strict=True)
        visit(run.jaxpr.jaxpr, {variable: names.get(id(c), "") for variable, c in constants})
    # of `counter[...] += 1`, which reads and writes, the write
    found.sort(key=lambda one: one.form, reverse=True)
    return found, notes, {inner for code in called.codes for inner in nested_codes(code)}


def _is_live(leaf: Any) -> bool:
    return not isinstance(leaf, jax.core.Tracer) or is_live(leaf)


def _ordered(findings: Sequence[Finding], start: Place) -> tuple[Finding, ...]:
    """One finding for each name and line, those of the function's own file first."""
    unique = {(one.kind, one.name, one.file, one.line): one for one in reversed(findings)}
    for kind, *place in list(unique):  # as os.makedirs, which looks before it makes
        if kind == "output":
            unique.pop(("hidden input", *place), None)  # type: ignore[arg-type]
    return tuple(
        sorted(unique.values(), key=lambda one: (one.file != start.file, one.file, one.line))
    )


def _finding(event: Event, reach: Reach) -> Finding:
    before, after = shown(event.before), shown(event.after)
    if before == after:  # such as those of two tracers
        before = after = ""
    finding = Finding(event.kind, event.name, *event.place, event.form, before, after)
    holder, names = event.holder, {event.name}
    if holder is None or holder.form == "random":
        codes = [code for code in reach.codes if code.co_filename == event.place.file]
        branches = is_branched("", codes, [event.place.line])
        return _advised(finding, True, event.is_inner, branches)
    names |= {holder.path(event.key)}
    if holder.form in ("argument", "container", "dict key", "array", "default"):
        names |= reach.aliases[id(original(holder.value))]
    is_told_by_form = holder.form in ("argument", "cache", "setting", "environment")
    if event.kind == "mutation" and not is_told_by_form:
        values = [event.before, event.after]
        if event.after is MISSING or isinstance(holder.value, (set, bytearray)):
            return _advised(finding, as_form="caller")
        if not all(map(_is_traced, values)):
            is_text = all(_is_traced(value, (*_TRACED, str, bytes)) for value in values)
            return _advised(finding, as_form="caller" if is_text else "object")
    # an item that is stored into a list or an array replaces another one
    is_adding = isinstance(holder.value, (dict, set)) or holder.value is None
    return _advised(
        finding,
        is_read(names, reach.codes, not is_adding),
        event.is_inner,
        any(is_branched(name, reach.codes) for name in names),
    )


def _is_traced(value: Any, kinds: tuple[Any, ...] = _TRACED) -> bool:
    """Whether jit can take and return a value; also a container that is compared as a whole."""
    leaves = leaves_of(value) if isinstance(value, (list, tuple, dict)) else [value]
    return value is MISSING or all(isinstance(leaf, kinds) for leaf in leaves)


def _advised(finding: Finding, *details: bool, as_form: str = "") -> Finding:
    told = advice(finding.kind, as_form or finding.form, finding.name, *details)
    return replace(finding, advice=told)


def _differences(first: Any, second: Any, start: Place) -> Iterator[Finding]:
    """The first equation of two programs that is not the same."""
    constants = [
        variable
        for variable, *values in zip(
            first.jaxpr.constvars, first.consts, second.consts, strict=False
        )
        if not is_equal(*values)
    ]
    for one, other in zip(first.eqns, second.eqns, strict=False):
        # without the addresses of functions in it
        texts = [re.sub("0x[0-9a-f]+", "", str(equation)) for equation in (one, other)]
        is_new = any(used is constant for used in one.invars for constant in constants)
        if is_new or texts[0] != texts[1]:
            place = Place(*(compat.place_of(one) or start))
            calls = [node for node in expressions_on(place) if isinstance(node, ast.Call)]
            name = ast.unparse(calls[0].func) if calls else one.primitive.name
            yield _advised(Finding("frozen value", name, *place, "differs"))
            return


def _frozen(reach: Reach, called: set[types.CodeType]) -> Iterator[Finding]:
    """The numbers and arrays from outside that the code reads, one note for each name.

    Not those that only functions read which the program calls: they do so in every call.
    """
    places: dict[str, Place] = {}
    for code in reach.codes:
        for name, lines in names_in(code).reads.items():
            for inner, line in lines.items():
                if inner not in called and inner.co_filename != "<string>":
                    places.setdefault(name, Place(inner.co_filename, line))
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
        text = shown(values[0]) if len(values) == 1 and not arrays else _kinds(values)
        form = "big array" if size >= _MANY_BYTES else "number"
        # a default of a dataclass is found three times: keep the attribute of the object
        read = Finding("frozen value", name, *places[where], form, text, size=size)
        found[where, text] = _advised(read)
    yield from found.values()


def _is_before(read: Finding, change: Finding, visited: dict[Place, int]) -> bool:
    """Whether the line that reads a value runs before the one that changes it."""
    place = Place(read.file, read.line)
    return place in visited and visited[place] < visited[Place(change.file, change.line)]


def _kinds(values: list[Any]) -> str:
    return describe(values[0]) if len(values) == 1 else f"×{len(values)}"


def _new_functions(run: _Run) -> Iterator[Finding]:
    """The functions that are made and jitted in the call: each call compiles them again."""
    for function, place in run.watch.jitted:
        if isinstance(function, types.FunctionType) and not run.watch.reach.knows(function):
            yield _advised(Finding("retrace", function.__name__, *place, "new function"))


def _unseen(run: _Run, call: Call) -> Iterator[Sentence]:
    watch = run.watch
    named = {name for code in watch.reach.codes for name in names_in(code).reads}
    for name, value in watch.reach.opaque.items():
        kind: Any = type(value)
        is_value = kind.__hash__ is not object.__hash__ or kind is object
        is_named = not named.isdisjoint(re.findall(r"\w+", name))
        if is_named and not is_value and name not in watch.kept:
            yield Sentence(_("what happens inside `{name}`"), name=name)
    if watch.other_threads:
        yield Sentence(_("changes by another thread, which ran during the call"))
    for name in watch.kept:
        yield Sentence(_("how to remove the tracer from `{name}`, which still holds it"), name=name)
    if run.stopped is not None:
        stopped = _(
            "the code after line {line}, because it would change something outside the function"
        )
        yield Sentence(stopped, line=run.stopped.line)
    if run.is_lazy:
        yield Sentence(_("the body of a generator or a coroutine, because a call does not run it"))
    if any(isinstance(leaf, np.ndarray) for leaf in call.leaves):
        yield Sentence(
            _("in-place changes to NumPy arguments, because JAX arrays were passed instead")
        )
    if run.is_static:
        yield Sentence(
            _("calls with other numbers, because the function needs the values of its arguments")
        )
