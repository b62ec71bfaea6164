"""What jit does, call by call: which line Python runs, which equation it writes, what comes out."""

import ast
import contextlib
import dataclasses
import functools
import inspect
import io
import itertools
import linecache
import re
import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.errors import HaikuStateError, arguments
from haiku_state.errors.describe import describe
from haiku_state.inside import compat
from haiku_state.inside.calls import (
    differing,
    distance,
    is_traced,
    programs_in,
    signature_of,
)
from haiku_state.inside.reach import is_filled, leaves_of, library_of
from haiku_state.inside.trace_data import Trace, TraceSource, TraceStep, TraceValue
from haiku_state.inside.watch import resolved

_MOST, _FEW = 60, 8
"""So many characters of a value are shown, and an array of so many elements."""
_MOST_OF_RESULT = 240
_MANY_ITEMS = 100
"""A container of more items is not looked at."""
_TOLD = ("name", "fmt", "length", "reverse", "dimensions")
"""What is shown of an equation that calls another program, or Python."""


def record_trace(
    function: Callable[..., Any], /, *calls: tuple[Any, ...] | Callable[[Any], tuple[Any, ...]]
) -> Trace:
    """Call a jitted function several times and record what happens at each step.

    During the first call, Python runs the function on tracers, and jit writes an equation for each
    operation. A later call runs only the compiled program, unless a shape, a dtype or a static
    value is new. Lines of the function and of the user's functions that it calls are recorded, but
    lines of libraries are not. The function really runs, so any change that it makes to outside
    objects persists.

    Args:
      function: a function, a method, a callable object, or the ``apply`` of a Haiku pair.
        ``record_trace`` jits the function; an argument that is a bool, or that contains anything
        other than arrays and numbers, is static. A function that is already jitted is called as it
        is, so Python does not run if a program that was compiled earlier fits the call.
      *calls: the arguments of each call: a tuple, or a function that returns such a tuple when
        given the result of the previous call, so that a state can be passed along.

    Returns:
      The steps of all calls. If a call raises an error, the error is the last step of that call.
      The recording ends there if the next call needs the result of that call.

    Raises:
      ArgumentError: the arguments of a call are not a tuple, or there is no call.

    Example:
      >>> import haiku_state as hs
      >>> def count(n):
      ...     n = n + 1
      ...     return n, n
      >>> trace = hs.record_trace(count, (0,), lambda result: (result[1],))
      >>> [step.kind for step in trace.steps]
      ['call', 'line', 'line', 'return', 'run', 'call', 'run']
      >>> trace.programs[0][-1]
      'return b, b'

    References:
      JAX's documentation, `How transformations work: tracing
      <https://docs.jax.dev/en/latest/101/transformations.html#how-transformations-work-tracing>`__.
    """
    recorder = _Recorder(function)
    result: Any = None
    for call in calls or [None]:
        if callable(call) and recorder.has_failed:
            break
        given = call(result) if callable(call) else call
        if not isinstance(given, tuple):
            raise arguments.traced_call(given)
        result = recorder.call(given, threaded=callable(call))
    return Trace(
        recorder.name, tuple(recorder.sources), tuple(recorder.programs), tuple(recorder.steps)
    )


class _Recorder:
    def __init__(self, function: Any) -> None:
        self.function = function
        inner = inspect.unwrap(getattr(function, "func", function))
        self.name = str(getattr(inner, "__name__", type(inner).__name__))
        self.sources: list[TraceSource] = []
        self.programs: list[tuple[str, ...]] = []
        self.steps: list[TraceStep] = []
        self._number = 0
        self._jitted: Any = None
        self._static: list[int] = []
        self._signatures: list[dict[str, Any]] = []
        self._equations: list[tuple[Any, int]] = []
        self._raised: types.FrameType | None = None
        self._has_run = False
        self.has_failed = False
        """Whether the last call ended with an error."""
        self._program_of: dict[int, tuple[int, Any]] = {}
        self._names: dict[int, list[ast.expr]] = {}
        self._is_user: dict[str, bool] = {}
        self._inner = inner
        self._printed = io.StringIO()

    def call(self, args: tuple[Any, ...], threaded: bool) -> Any:
        """Trace the function if it has to be, and run its program."""
        self._number += 1
        self._jitted = self._jitted or self._jit(args)
        shown = ", ".join(map(_shown, args))
        self._add("call", text=f"{self.name}({shown})", threaded=threaded)
        start, self._equations, self._has_run = len(self.steps), [], False
        signature = signature_of(
            self.function,
            [
                _Static(arg, isinstance(arg, bool)) if index in self._static else arg
                for index, arg in enumerate(args)
            ],
        )
        try:
            try:
                with self._recording():
                    traced = self._jitted.trace(*args)
            finally:
                first = self.steps[start - 1]
                if self._has_run:
                    first = first._replace(traced=True, reasons=self._changes(signature))
                self.steps[start - 1] = first
            program = self._program(traced.jaxpr, start)
            if not self._has_run:
                count = len(self.programs[program])
                self.steps[start - 1] = first._replace(program=program, written=count)
            with contextlib.redirect_stdout(self._printed):
                result = jax.block_until_ready(self._jitted(*args))
                jax.effects_barrier()
            count = len(self.programs[program])
            text = _shown(result, _MOST_OF_RESULT)
            self._add("run", text=text, program=program, written=count)
            self.has_failed = False
        except Exception as error:
            self._add("error", text=_told(error))
            result, self.has_failed = None, True
        self._signatures.append(signature)
        return result

    def _jit(self, args: tuple[Any, ...]) -> Any:
        if hasattr(self.function, "lower") and hasattr(self.function, "trace"):
            return self.function
        self._static = [
            index
            for index, arg in enumerate(args)
            if not all(
                is_traced(leaf) or (isinstance(leaf, bool) and leaf is not arg)
                for leaf in jax.tree.leaves(arg)
            )
        ]

        @functools.wraps(self.function)
        def own(*args: Any) -> Any:  # JAX finds what it has traced by the function
            self._has_run = True
            return self.function(*args)

        return jax.jit(own, static_argnums=self._static)

    def _add(self, kind: str, frame: Any = None, **fields: Any) -> None:
        printed = self._printed.getvalue()
        self._printed.seek(0)
        self._printed.truncate()
        values = self._values(frame or _outside(self._inner))
        self.steps.append(
            TraceStep(self._number, kind, values=tuple(values), printed=printed, **fields)
        )

    # while Python runs

    @contextlib.contextmanager
    def _recording(self) -> Iterator[None]:
        before = sys.gettrace()
        with contextlib.redirect_stdout(self._printed):
            sys.settrace(self._on_call)
            try:
                yield
            finally:
                sys.settrace(before)

    def _on_call(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if code is compat.equation_code():
            self._has_run = True
            self._equations.append((frame.f_locals["eqn"].source_info, len(self.steps) - 1))
            return None
        if not code.co_flags & inspect.CO_OPTIMIZED:
            return None  # the body of a class
        file = code.co_filename
        if file not in self._is_user:
            # "<string>" is also what dataclasses generate, and from Python 3.13 on a `-c` program
            has_lines = file != "<string>" and bool(linecache.getlines(file))
            self._is_user[file] = has_lines and not library_of(file)
        return self._on_line if self._is_user[file] else None

    def _on_line(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        if event == "exception":
            self._raised = frame
        elif event in ("line", "return") and not (event == "return" and self._raised is frame):
            self._has_run = True
            source = self._source_of(frame.f_code)
            line = frame.f_lineno - self.sources[source].first
            text = _shown(arg, _MOST_OF_RESULT) if event == "return" else ""
            names = {"source": source, "line": line, "function": frame.f_code.co_name}
            self._add(event, frame, text=text, **names)
            self._raised = None
        return self._on_line

    def _source_of(self, code: types.CodeType) -> int:
        """The function that a code belongs to, or the function around it."""
        for index, source in enumerate(self.sources):
            is_inside = 0 <= code.co_firstlineno - source.first < len(source.lines)
            if source.file == code.co_filename and is_inside:
                return index
        lines, first = inspect.getsourcelines(code)
        text = textwrap.dedent("".join(lines)).rstrip()
        self.sources.append(
            TraceSource(code.co_name, code.co_filename, first, tuple(text.split("\n")))
        )
        return len(self.sources) - 1

    def _values(self, frame: Any) -> Iterator[TraceValue]:
        if frame is None:
            return
        for node in self._names_in(frame.f_code):
            try:
                value = resolved(node, frame)  # which runs no code of the user
                text = _shown(value) if _is_data(value) else ""
            except Exception:  # also of a list that holds itself
                continue
            if text:
                is_tracer = any(isinstance(leaf, jax.core.Tracer) for leaf in leaves_of(value))
                yield TraceValue(ast.unparse(node), text, is_tracer)

    def _names_in(self, code: types.CodeType) -> list[ast.expr]:
        """The names and the attributes that a function's own code mentions, each once."""
        if id(code) not in self._names:
            found: dict[str, ast.expr] = {}
            own = {*code.co_varnames, *code.co_cellvars, *code.co_freevars, *code.co_names}
            with contextlib.suppress(OSError, SyntaxError):
                lines, _first = inspect.getsourcelines(code)
                for node in ast.walk(ast.parse(textwrap.dedent("".join(lines)))):
                    if isinstance(node, ast.arg) and node.arg in own:
                        found.setdefault(node.arg, ast.Name(node.arg))
                    elif isinstance(node, ast.Name | ast.Attribute) and _root(node) in own:
                        found.setdefault(ast.unparse(node), node)
            self._names[id(code)] = list(found.values())
        return self._names[id(code)]

    # when it has run

    def _program(self, jaxpr: Any, start: int) -> int:
        """Keep the program of a trace, and tell each step how much of it was written."""
        if id(jaxpr) in self._program_of:
            return self._program_of[id(jaxpr)][0]
        index, last = len(self.programs), len(self.steps) - 1
        at = {id(info): step for info, step in self._equations}
        lines = list(_lines_of(jaxpr.jaxpr, at, last - 1, []))
        for index_of in range(len(lines) - 1, 0, -1):  # none is shown after one that follows it
            (text, step), (_next, after) = lines[index_of - 1], lines[index_of]
            lines[index_of - 1] = text, min(step, after)
        self.programs.append(tuple(text for text, _step in lines))
        self._program_of[id(jaxpr)] = index, jaxpr  # which keeps the id its own
        for number in range(start, len(self.steps)):
            count = 1 + sum(step < number for _text, step in lines[1:])  # after the inputs
            self.steps[number] = self.steps[number]._replace(program=index, written=count)
        return index

    def _changes(self, signature: dict[str, Any]) -> tuple[str, ...]:
        """What differs from the nearest of the calls before, for one that is traced again."""
        found = []
        for before in reversed(self._signatures):
            names = [*before, *(name for name in signature if name not in before)]
            pairs = {name: (before.get(name), signature.get(name)) for name in names}
            texts = [
                f"{name}: {one} → {other}"
                for name, pair in pairs.items()
                for _form, one, other in differing(*pair)
            ]
            reasons = tuple(dict.fromkeys(texts))  # dtype and weak type are in one text
            found.append((sum(distance(*pair) for pair in pairs.values()), reasons))
        return min(found, key=lambda each: each[0], default=(0, ()))[1]


@dataclasses.dataclass(frozen=True)
class _Static:
    """A static argument; a bool is no number."""

    value: Any
    is_bool: bool = False

    def __repr__(self) -> str:
        return repr(self.value)


class _Outside(NamedTuple):
    """What a function of the user sees while it does not run, in the form of a frame."""

    f_code: types.CodeType
    f_locals: dict[str, Any]
    f_globals: dict[str, Any]


def _outside(function: Any) -> _Outside | None:
    if not isinstance(function, types.FunctionType | types.MethodType):
        function = getattr(function, "__call__", function)  # noqa: B004
    inner = getattr(function, "__func__", function)
    if not isinstance(inner, types.FunctionType) or library_of(inner.__code__.co_filename):
        return None
    code = inner.__code__
    cells = zip(code.co_freevars, inner.__closure__ or (), strict=True)
    closure = {name: cell.cell_contents for name, cell in cells if is_filled(cell)}
    if inner is not function:
        closure |= dict(zip(code.co_varnames[:1], [function.__self__], strict=False))
    return _Outside(code, closure, inner.__globals__)


def _root(node: ast.expr) -> str:
    """The name that a chain of attributes begins with."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_data(value: Any) -> bool:
    """Return whether a value is data: not a function, a module, or an object of the user's."""
    if isinstance(value, list | tuple | dict | set):
        items = value.values() if isinstance(value, dict) else value
        return len(value) <= _MANY_ITEMS and all(map(_is_data, items))
    return isinstance(
        value, jax.Array | np.ndarray | np.generic | int | float | complex | str | None
    )


def _told(error: Exception) -> str:
    """What an error says first."""
    lines = error.what if isinstance(error, HaikuStateError) else str(error)
    told = [line.strip() for line in lines.splitlines() if line.strip()]
    if told and told[0].endswith(":"):
        told = [told[0].partition(" Traceback (most")[0], told[-1]]
    return ": ".join([type(error).__name__, " ".join(told[: 1 + (len(told) == 2)])])


def _shown(value: Any, most: int = _MOST) -> str:
    """A value in a few characters."""
    if isinstance(value, jax.core.Tracer):
        return describe(value)
    if isinstance(value, jax.Array) and value.is_deleted():
        return f"{describe(value)} (deleted)"
    if isinstance(value, jax.Array | np.ndarray | np.generic):
        if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
            with jax.ensure_compile_time_eval():  # the equation is not the user's
                words = np.asarray(jax.random.key_data(jnp.asarray(value)))
            return f"{describe(value)} {_shown(words)}" if words.size <= _FEW else describe(value)
        if value.size > _FEW:
            return describe(value)
        rounded = np.asarray(value)
        if np.issubdtype(rounded.dtype, np.inexact):
            decimals = rounded.round(4)
            is_lost = (abs(rounded) < 1e-3) & (decimals != rounded)
            if is_lost.any():  # 3e-05 is not 0
                return str(np.vectorize(lambda one: float(f"{one:.4g}"))(rounded).tolist())
            rounded = decimals
        if rounded.ndim == 0:
            return str(rounded[()])
        return " ".join(np.array2string(rounded, separator=", ").split()).replace("[ ", "[")
    if isinstance(value, dict):
        text = (
            "{" + ", ".join(f"{key!r}: {_shown(item, most)}" for key, item in value.items()) + "}"
        )
    elif isinstance(value, list):
        text = f"[{', '.join(_shown(item, most) for item in value)}]"
    elif isinstance(value, tuple):
        fields = getattr(value, "_fields", ())
        items = [_shown(item, most) for item in value]
        if fields:
            named = ", ".join(f"{name}={item}" for name, item in zip(fields, items, strict=True))
            text = f"{type(value).__name__}({named})"
        else:
            text = f"({', '.join(items)}{',' * (len(items) == 1)})"
    else:
        text = repr(value)
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _plain(printed: Any) -> str:
    """What JAX prints, without the colors that it has in a terminal and in a notebook."""
    return re.sub(r"\x1b\[[\d;]*m", "", str(printed))


def _lines_of(
    jaxpr: Any, at: dict[int, int], last: int, seen: list[Any], printed: str = ""
) -> Iterator[tuple[str, int]]:
    """Yield the inputs of a program, its equations and what it returns, each with its step.

    A program of the user inside of an equation, such as the body of a scan, comes after it; one
    that is called again, only the first time.

    Args:
      jaxpr: the program.
      at: the step at which an equation was written, by the id of its source_info.
      last: the step for all others.
      seen: the programs inside that have come already.
      printed: the program as JAX prints it within the one around it, whose letters go on there.
    """
    inputs, *equations, outputs = _printed(jaxpr, printed or _plain(jaxpr))
    steps = [at.get(id(equation.source_info), last) for equation in jaxpr.eqns]
    yield inputs, last
    for equation, text, own in zip(jaxpr.eqns, equations, steps, strict=True):
        programs = dict(sorted(programs_in(equation), key=lambda pair: pair[0].partition("[")[0]))
        blocks = _blocks(text)
        if len(blocks) != len(programs):  # such as one that is printed before
            blocks = [""] * len(programs)
        inner: list[list[tuple[str, int]]] = []
        for (name, program), block in zip(programs.items(), blocks, strict=True):
            if any(program is one for one in seen):
                continue
            seen.append(program)
            lines = [*_lines_of(program, at, own, seen, block)]
            file, is_run = compat.file_of(program), any(step != own for _text, step in lines)
            if is_run or (file and not library_of(file)):
                (head, first), *rest = lines
                inner.append([(f"{name}: {head}" if len(programs) > 1 else head, first), *rest])
        # in the order in which they were written
        inner.sort(key=lambda lines: min(step for _text, step in lines))
        is_short = programs or {"callback", "fmt"} & equation.params.keys()
        yield _shortened(equation, text) if is_short else text, own
        for line, step in itertools.chain(*inner):
            yield "  " + line.replace("\n", "\n  "), step
    yield outputs, last


def _shortened(equation: Any, text: str) -> str:
    """Return an equation without the parameters that do not tell what it does."""
    words, count = text.split(), len(equation.outvars)
    written = words[: count + 1 if count else 0]  # with the "="
    name = words[len(written)].partition("[")[0]
    params = {key: equation.params[key] for key in _TOLD if equation.params.get(key)}
    if "name" not in params and (match := re.match(r"[^{]*?\[\s*name=(\w+)", text)):
        params = {"name": match[1], **params}
    told = " ".join(f"{key}={value}" for key, value in params.items())
    read = words[len(words) - len(equation.invars) :]
    return " ".join([*written, f"{name}[{told}]" if told else name, *read])


def _blocks(text: str) -> list[str]:
    """Return the programs within an equation as JAX prints them, with the indent of outer ones."""
    found: list[str] = []
    start = text.find("{ lambda")
    while start >= 0:
        depth, end = 0, start
        for end in range(start, len(text)):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            if not depth:
                break
        block = text[start : end + 1]
        indent = re.match(" *", block.rpartition("\n")[2])
        more = len(indent[0]) - 2 if "\n" in block and indent else 0
        found.append(block.replace("\n" + " " * more, "\n"))
        start = text.find("{ lambda", end)
    return found


def _printed(jaxpr: Any, text: str) -> tuple[str, ...]:
    """Return the inputs of a program as JAX prints them, its equations, and what it returns."""
    # programs that it calls more than once may stand before it
    head, _let, body = text[text.rfind("\n{ lambda") + 1 :].partition(". let")
    body, _in, outputs = body.rpartition(" in (")
    equations: list[str] = []
    if "\n" not in body:  # a short one stands on one line
        equations = [part.strip() for part in body.split(";") if part.strip()]
    for line in body.split("\n") if "\n" in body else ():
        if re.match(r" {4}[^\s\])}]", line):
            equations.append(line.strip())
        elif line.strip():
            equations[-1] += "\n" + line[4:].rstrip()
    if len(equations) != len(jaxpr.eqns):
        equations = [_plain(equation).strip() for equation in jaxpr.eqns]
    inputs = head.removeprefix("{ ").rstrip().replace("\n    ", "\n  ")
    return inputs, *equations, f"return {outputs.rpartition(')')[0].rstrip(',')}".rstrip()
