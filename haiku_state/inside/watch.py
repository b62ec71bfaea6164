"""What happens while a function is traced: which of its lines changes, asks for or prints what.

The interpreter reports each line of the user's code, and each call of a function that is written
in C. After each line all holders are compared, so a change belongs to the line before.
"""

import ast
import builtins
import contextlib
import copy
import functools
import inspect
import io
import linecache
import logging
import os
import pathlib
import random
import sys
import threading
import types
import warnings
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

import haiku as hk
import jax
import numpy as np

from haiku_state import compat
from haiku_state.inside.reach import (
    CONTAINERS,
    FRAMEWORKS,
    Change,
    Container,
    Generator,
    Holder,
    Names,
    OpenFile,
    Reach,
    is_filled,
    items_of,
    library_of,
    library_of_module,
    same,
)


class Place(NamedTuple):
    """A line of source."""

    file: str
    line: int


class Event(NamedTuple):
    """Something that a line did."""

    kind: str
    name: str
    place: Place
    form: str = ""
    before: Any = None
    after: Any = None
    change: tuple[int, Any] | None = None
    """The holder and the key of what was changed."""

    reached: str = ""
    """What the function itself calls it, where the line has a different name."""


class Stopped(BaseException):
    """Ends a trace where going on would change something that cannot be put back."""


_CLOCK = """
    time time_ns perf_counter perf_counter_ns monotonic monotonic_ns process_time process_time_ns
    thread_time thread_time_ns localtime gmtime ctime asctime strftime
"""
_SYSTEM = """
    urandom getrandom getpid getppid getcwd listdir scandir stat lstat access cpu_count getloadavg
    times getuid getlogin get_terminal_size read
"""
_LEAVES_A_MARK = """
    mkdir remove unlink rename replace rmdir symlink link truncate utime chmod chown write system
    kill fork execv posix_spawn chdir
"""
CALLS: dict[tuple[str | None, str], tuple[str, str]] = {
    **{("time", name): ("hidden input", "clock") for name in _CLOCK.split()},
    **{
        (None, f"{kind}.{name}"): ("hidden input", "clock")
        for kind in ("datetime", "date")
        for name in ("now", "today", "utcnow")
    },
    ("_uuid", "generate_time_safe"): ("hidden input", "system"),
    ("_socket", "socket.connect"): ("output", "system"),
    ("_posixsubprocess", "fork_exec"): ("output", "system"),
    ("_winapi", "CreateProcess"): ("output", "system"),
    (_CSV := (None, "writer.writerow")): ("output", "file"),
}
"""Functions in C that ask for more than their arguments, or that change a file or a process."""
for _module in ("posix", "nt"):
    CALLS |= {(_module, name): ("hidden input", "system") for name in _SYSTEM.split()}
    CALLS |= {(_module, name): ("output", "system") for name in _LEAVES_A_MARK.split()}
CALLS |= {("posix", "urandom"): ("hidden input", "random")}

_SILENT = FRAMEWORKS - {"numpy"}
_QUALIFIED = {name for _module, name in CALLS}
# these get the time as an argument, if they get so many
_TIMES = {"gmtime": 1, "localtime": 1, "ctime": 1, "asctime": 1, "strftime": 2}
# what Python's own library asks for on its own account
_BOOKKEEPING = tuple(f"{name}.py" for name in ("warnings", "linecache", "tokenize", "inspect"))
_MANY = 2000
"""So many things are compared after each line; what is beyond, as large things are."""
_ONE_THREAD = threading.RLock()  # what is replaced belongs to all threads
_ENVIRONMENT = {
    getattr(type(os.environ), method).__code__
    for method in ("__getitem__", "__contains__", "__iter__")
}
_SEED = random.Random.seed.__code__
_SET_STATE = hk.set_state.__code__
*_AROUND_JIT, _JIT = compat.jit_codes()


class Watch:
    """Collects the events of one call.

    Args:
      reach: what the function can reach.
      start: the place to name where no line of the user's code was seen.
      how: ``"watched"``; ``"closely"``, with what is too slow for each line; or ``"unwatched"``,
        which only keeps what a call does from having an effect.
      changed: the large holders' values to compare after each line, by ``id``.
    """

    def __init__(
        self, reach: Reach, start: Place, how: str = "watched", changed: Collection[int] = ()
    ) -> None:
        self.place = start
        self.events: list[Event] = []
        self.stored: list[tuple[str, Place, Any]] = []
        """Tracers that were stored where an inner transformation may not have ended yet."""
        self.jitted: list[tuple[Any, Place]] = []
        """The functions that were given to ``jax.jit``."""
        self.visited: dict[Place, int] = {}
        """The lines of the user's code, numbered in the order of their first run."""
        self.needs_exact = False
        self.is_lazy = False
        self._is_asking = False
        self.changed = set(changed)
        """The large things that are not what they were, by ``id``."""
        self._how = how
        self._frame: types.FrameType | None = None
        self._reports: dict[int, Callable[[types.FrameType], None]] = {
            **{id(code): self._report_environment for code in _ENVIRONMENT},
            id(_SEED): self._report_seed,
            id(_SET_STATE): self._report_set_state,
            id(_JIT): self._report_jit,
            **{
                id(code): functools.partial(self._report_reference, how)
                for code, how in compat.reference_accesses().items()
            },
        }
        self._names = {id(value): name for name, value in reach.references.items()}
        self._holders: list[Holder] = [
            *reach.holders,
            Generator("random", "random", random._inst),
            Generator("numpy.random", "random", np.random.mtrand._rand),
            _Environment(),
        ]
        self._streams = reach.streams
        self._opaque = {id(value) for value in reach.opaque.values()}
        self._last: dict[tuple[int, Any], Any] = {}
        self._inner: dict[tuple[int, str], Any] = {}
        self._is_user: dict[str, bool] = {}

    def add_arguments(self, reach: Reach) -> None:
        """Watch what was passed as well."""
        self._holders += reach.holders
        for holder in self._holders[_MANY:]:  # such as the rows of a table
            holder.is_large = True

    def stream(self, name: str, value: Any) -> Any:
        """Return what stands for an iterator or a file of the caller while it is watched."""
        kind = _Sink if isinstance(value, io.IOBase) else _Stream
        return kind(self, name, value)

    def _stand_in(self, value: Any, names: dict[int, str]) -> Any:
        """What takes the place of a stream, or of a tuple that holds one; else the value itself."""
        if id(value) in names:
            return self.stream(names[id(value)], value)
        if isinstance(value, tuple) and any(id(item) in names for item in items_of(value)):
            items = [self._stand_in(item, names) for item in items_of(value)]
            return type(value)._make(items) if hasattr(value, "_make") else tuple(items)
        return value

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Have the interpreter report what happens inside, and put everything back."""
        tools = sys.gettrace(), sys.getprofile()
        try:
            with contextlib.ExitStack() as stack:
                stack.enter_context(_ONE_THREAD)
                stack.enter_context(self._replaced_streams())
                stack.enter_context(self._replaced_edges())
                if self._how != "unwatched":
                    sys.settrace(self._call)
                    self._ask_for_calls(True)
                try:
                    yield
                finally:
                    self._ask_for_calls(False)
                    sys.settrace(None)
                    self._settle(at_end=True)
                    self._drop_undone()
        finally:
            for holder in self._holders:
                with contextlib.suppress(Exception):  # the others are restored all the same
                    holder.restore()
            sys.settrace(tools[0])
            sys.setprofile(tools[1])

    # what the interpreter reports

    def _is_of_user(self, frame: types.FrameType) -> bool:
        file = frame.f_code.co_filename
        if file == "<string>":  # made from a text, as the methods of a dataclass are
            module = frame.f_globals.get("__name__", "")
            return not (module.startswith("namedtuple_") or library_of_module(module))
        if file not in self._is_user:
            self._is_user[file] = not library_of(file)
        return self._is_user[file]

    def _call(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        # a million times for a large model: the hash of a code object would cost more than all else
        code = frame.f_code
        is_user = self._is_user.get(code.co_filename)
        if is_user or (is_user is None and self._is_of_user(frame)):
            self._ask_for_calls(True)
            return self._line
        if (report := self._reports.get(id(code))) is not None:
            report(frame)
        if self._is_asking and library_of(code.co_filename) in _SILENT:
            self._ask_for_calls(False)
            frame.f_trace_lines = False
            return self._leave
        return None

    def _ask_for_calls(self, is_wanted: bool) -> None:
        if self._is_asking is not is_wanted:
            self._is_asking = is_wanted
            sys.setprofile(self._profile if is_wanted else None)

    def _leave(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        if event == "return":
            self._ask_for_calls(True)
        return self._leave

    def _report_environment(self, frame: types.FrameType) -> None:
        if inner := self._find_user(frame):
            names = self._called(lambda value: _code(value) is inner.f_code, guess=False)
            is_one = "key" in frame.f_locals and self._nodes((ast.Subscript, ast.Compare))
            key = f"[{frame.f_locals['key']!r}]" if is_one else ""
            self._add("hidden input", (names or [f"os.environ{key}"])[0], "environment")

    def _report_seed(self, frame: types.FrameType) -> None:
        if frame.f_locals.get("a") is None and self._find_user(frame):
            names = self._called(lambda value: value in (random.Random, random.seed))
            self._add("hidden input", (names or ["random.Random"])[0], "random")

    def _report_set_state(self, frame: types.FrameType) -> None:
        if (user := self._user_above(frame)) is not None:
            place = Place(user.f_code.co_filename, user.f_lineno)
            name, value = (frame.f_locals.get(key) for key in ("name", "value"))
            self.stored += [(f"hk.set_state({name!r})", place, leaf) for leaf in _tracers(value)]

    def _report_jit(self, frame: types.FrameType) -> None:
        above = (f for f in _callers(frame.f_back) if f.f_code not in _AROUND_JIT)
        if (user := next(above)) and self._is_of_user(user):
            place = Place(user.f_code.co_filename, user.f_lineno)
            self.jitted.append((frame.f_locals.get("fun"), place))

    def _line(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        self._settle()
        if event == "return":
            if frame.f_back is not None and library_of(frame.f_back.f_code.co_filename) in _SILENT:
                self._ask_for_calls(False)
            frame = self._user_above(frame) or frame
        self._frame, self.place = frame, Place(frame.f_code.co_filename, frame.f_lineno)
        self.visited.setdefault(self.place, len(self.visited))
        return self._line

    def _settle(self, at_end: bool = False) -> None:
        for holder in self._holders:
            if holder.is_large and not (at_end or id(holder.value) in self.changed):
                continue
            for change in holder.changes():
                key = id(holder), change.key
                before = self._last.get(key, change.before)
                if key in self._last and same(before, change.after):
                    continue
                self._last[key] = change.after
                self._changed(holder, change, before)
        if self._how == "closely" and self._frame is not None:
            with contextlib.suppress(Exception):  # by code of the user, such as `__repr__`
                self._note_inner(self._frame)

    def _drop_undone(self) -> None:
        """Forget the changes that were undone before the end."""
        last = {(id(holder), c.key) for holder in self._holders for c in holder.changes()}
        self.events = [
            event for event in self.events if event.change is None or event.change in last
        ]

    def _changed(self, holder: Holder, change: Change, before: Any) -> None:
        if holder.is_large:
            self.needs_exact = True
            self.changed.add(id(holder.value))
        if isinstance(holder, Generator):
            names = self._called(lambda value: getattr(value, "__self__", None) is holder.value)
            for name in names or [holder.name]:
                self._add("hidden input", name, "random")
        elif isinstance(holder, OpenFile):
            is_text = change.key == "text"
            own = self._called(lambda value: getattr(value, "__self__", None) is holder.value)
            names = self._called(lambda value: value is print, guess=False) or own
            self._add("output" if is_text else "hidden input", (names or [holder.name])[0], "file")
        else:
            is_leak = bool(_tracers(change.after, before)) and holder.form != "argument"
            name = self._as_written(holder, change)
            kind = "leak" if is_leak else "mutation"
            known = id(holder), change.key
            reached = holder.label(change.key)
            self._add(kind, name, holder.form, before, change.after, known, reached)

    def _note_inner(self, frame: types.FrameType) -> None:
        """Remember which tracers a function stores in variables and objects around it."""
        code = frame.f_code
        for name in (*code.co_freevars, *code.co_varnames[: code.co_argcount]):
            value = frame.f_locals.get(name)
            parts: dict[str, Any]
            if isinstance(value, jax.core.Tracer):
                parts = {"": value} if name in code.co_freevars else {}
            elif isinstance(value, dict):
                parts = {f"[{key!r}]": item for key, item in dict.items(value)}
            elif isinstance(value, CONTAINERS):
                parts = {"[...]": list(items_of(value))}
            else:
                own = getattr(value, "__dict__", {})
                parts = {f".{key}": item for key, item in own.items()}
            for part, item in parts.items():
                key = (id(value), part) if part else (id(code), name)
                tracers = _tracers(item, self._inner.get(key))
                self.stored += [(name + part, self.place, tracer) for tracer in tracers]
                self._inner[key] = item

    def _report_reference(self, how: str, frame: types.FrameType) -> None:
        if self._user_above(frame) is None:
            return
        self._find_user(frame, anywhere=True)
        reference = frame.f_locals.get("ref_or_view", frame.f_locals.get("ref"))
        reference = getattr(reference, "ref", reference)  # a view, as from `ref.at[0]`
        names = [
            ast.unparse(node.value)
            for node in self._nodes(ast.Subscript)
            if self._resolves(node.value, lambda value: value is reference)
        ]
        name = names[0] if names else self._names.get(id(reference), "ref")
        last = self.events[-1] if self.events else None
        if last is not None and last[:3] == ("reference", f"{name}[...]", self.place):
            self.events.pop()  # `counter[...] += 1` reads and writes
        self._add("reference", f"{name}[...]", how)

    def _profile(self, frame: types.FrameType, event: str, arg: Any) -> None:
        if event != "c_call" or getattr(arg, "__qualname__", "") not in _QUALIFIED:
            return
        called = getattr(arg, "__module__", None), getattr(arg, "__qualname__", "")
        if called == _CSV and id(arg.__self__) not in self._opaque:
            return  # a table that the function makes itself
        if called not in CALLS or (inner := self._find_user(frame, quiet=True)) is None:
            return
        code = inner.f_code
        names = self._called(
            lambda value: value == arg if inner is self._frame else _code(value) is code,
            name=called[1] if inner is self._frame else code.co_name,
        )
        kind, form = CALLS[called]
        if any(self._is_given(call, called[1]) for call in self._nodes(ast.Call)):
            return
        self._add(kind, (names or [".".join(filter(None, called))])[0], form)
        if kind == "output":
            raise Stopped

    # where the user's code stands

    def _user_above(self, frame: types.FrameType) -> types.FrameType | None:
        return next((f for f in _callers(frame.f_back) if self._is_of_user(f)), None)

    def _find_user(
        self, frame: types.FrameType, quiet: bool = False, anywhere: bool = False
    ) -> types.FrameType | None:
        """Make the nearest frame of the user the present one.

        Args:
          frame: where to begin.
          quiet: whether what Python's library does on its own account is left out.
          anywhere: whether a framework may lie between.

        Returns:
          The outermost frame that the user's code called; None if a framework asked on its own.
        """
        inner = frame
        for caller in _callers(frame):
            if self._is_of_user(caller):
                self._frame = caller
                self.place = Place(caller.f_code.co_filename, caller.f_lineno)
                return inner
            file = caller.f_code.co_filename
            if file.startswith("<frozen importlib") or (quiet and _is_bookkeeping(file)):
                return None
            if not anywhere and library_of(file) in _SILENT:
                return None
            inner = caller
        return None

    # names, as the source has them

    def _nodes(self, kind: Any) -> list[Any]:
        """The parts of that kind that are on the present line."""
        return [node for node in expressions_on(self.place) if isinstance(node, kind)]

    def _resolves(self, node: ast.expr, is_it: Callable[[Any], bool]) -> bool:
        with contextlib.suppress(Exception):
            return self._frame is not None and is_it(resolved(node, self._frame))
        return False

    def _is_given(self, call: ast.Call, called: str) -> bool:
        """Whether a call gets what it would else ask for: a time, or a seed."""
        if called == "urandom":
            known = (np.random.RandomState, random.Random)
            return bool(call.args) and self._resolves(call.func, lambda value: value in known)
        is_it = ast.unparse(call.func).rpartition(".")[2] == called
        return is_it and len(call.args) >= _TIMES.get(called, sys.maxsize)

    def _called(
        self, is_it: Callable[[Any], bool], guess: bool = True, name: str = ""
    ) -> list[str]:
        """The functions called on the present line that match, as they are written there.

        Args:
          is_it: what to ask of each function.
          guess: whether the only call of a line is taken also if it does not match.
          name: what the function calls itself, for one that cannot be found without running code.
        """
        calls = self._nodes(ast.Call)
        found = [ast.unparse(call.func) for call in calls if self._resolves(call.func, is_it)]
        if name and not found:
            found = [ast.unparse(call.func) for call in calls if _last_name(call.func) == name][:1]
        if guess and not found and len({ast.unparse(call.func) for call in calls}) == 1:
            found = [ast.unparse(calls[0].func)]
        return list(dict.fromkeys(found))

    def _written_argument(self, wanted: Any) -> str | None:
        """What the present line calls an object that it passes to a function."""
        for call in self._nodes(ast.Call):
            for node in call.args:
                if self._resolves(node, lambda value: value is wanted):
                    return ast.unparse(node)
        return None

    def _as_written(self, holder: Holder, change: Change) -> str:
        """Name a change as the present line does; else by the way from the function."""
        label, wanted = holder.label(change.key), holder.value
        if wanted is None:
            return label
        for node in self._nodes((ast.Name, ast.Attribute, ast.Subscript)):
            is_attribute = isinstance(node, ast.Attribute) and change.key in (
                node.attr, _mangled(node.attr, wanted)
            )  # fmt: skip
            if isinstance(holder, Container) and self._resolves(
                node, lambda value: value is wanted
            ):
                return ast.unparse(node) + label.removeprefix(holder.name)
            if is_attribute and self._resolves(node.value, lambda value: value is wanted):
                return ast.unparse(node)
        for node in self._nodes(ast.Name):  # as in `setattr(self, name, value)`
            if self._resolves(node, lambda value: value is wanted):
                return f"{node.id}.{change.key}"
        stored = [node for node in self._nodes(ast.Subscript) if isinstance(node.ctx, ast.Store)]
        return ast.unparse(stored[0]) if len(stored) == 1 else label

    def _add(self, kind: str, name: str, *details: Any) -> None:
        self.events.append(Event(kind, name, self.place, *details))

    # the edges of the program

    @contextlib.contextmanager
    def _replaced_edges(self) -> Iterator[None]:
        opened, handle = io.open, logging.Logger.callHandlers
        shown = warnings._showwarnmsg_impl  # type: ignore[attr-defined]
        watch = self

        def open_file(file: Any, mode: str = "r", *args: Any, **settings: Any) -> Any:
            inner = watch._find_user(sys._getframe(1), quiet=True)
            if inner is None:
                return opened(file, mode, *args, **settings)
            known = (open_file, opened)
            names = watch._called(
                lambda value: value in known or _code(value) is inner.f_code,
                name=inner.f_code.co_name,
            )
            if not {*mode} & {*"wax+"}:
                watch._add("hidden input", (names or ["open"])[0], "file")
                return opened(file, mode, *args, **settings)
            watch._add("output", (names or ["open"])[0], "file")
            return io.BytesIO() if "b" in mode else io.StringIO()

        def log(logger: logging.Logger, record: logging.LogRecord) -> None:
            inner = watch._find_user(sys._getframe(1))
            if inner is None:
                handle(logger, record)
                return
            names = watch._called(lambda value: _code(value) is inner.f_code)
            name = (names or [f"logging.{record.levelname.lower()}"])[0]
            watch._add("output", name, "log")

        def warn(message: warnings.WarningMessage) -> None:
            is_own = watch._find_user(sys._getframe(1)) is not None
            names = watch._called(lambda value: value is warnings.warn, guess=False)
            if is_own and names:
                watch._add("output", names[0], "log")
            else:
                shown(message)

        def ask(prompt: object = "") -> str:
            watch._find_user(sys._getframe(1))
            watch._add("hidden input", "input", "input")
            raise Stopped

        # where Python 3.10 keeps a copy of `io.open`
        accessor = getattr(pathlib, "_NormalAccessor", types.SimpleNamespace(open=opened))
        replaced: list[tuple[Any, str, Any]] = [
            (accessor, "open", staticmethod(open_file)),
            (io, "open", open_file),
            (builtins, "open", open_file),
            (builtins, "input", ask),
            (logging.Logger, "callHandlers", log),
            (warnings, "_showwarnmsg_impl", warn),
            (sys, "stdout", _Printed(self, sys.stdout)),
            (sys, "stderr", _Printed(self, sys.stderr)),
        ]
        with contextlib.ExitStack() as stack:
            stack.enter_context(warnings.catch_warnings())  # one that is not shown is not used up
            for place, name, value in replaced:
                stack.callback(setattr, place, name, getattr(place, name))
                setattr(place, name, value)
            yield

    @contextlib.contextmanager
    def _replaced_streams(self) -> Iterator[None]:
        names = {id(stream): name for name, stream in self._streams.items()}
        originals: list[tuple[Any, Any, Any]] = []
        for holder in self._holders:
            saved: Any = holder.saved
            if isinstance(holder, Names) or isinstance(holder.value, (list, dict)):
                items = saved.items() if isinstance(saved, dict) else enumerate(saved)
                found = {
                    key: stand_in
                    for key, value in list(items)
                    if (stand_in := self._stand_in(value, names)) is not value
                }
                for key, stand_in in found.items():
                    originals.append((saved, key, saved[key]))
                    saved[key] = stand_in
                if found:
                    holder.restore()
        try:
            yield
        finally:
            for saved, key, value in originals:
                saved[key] = value


class _Printed(io.TextIOBase):
    """Stands for stdout or stderr."""

    def __init__(self, watch: Watch, stream: Any) -> None:
        self._watch, self._stream = watch, stream

    def write(self, text: str) -> int:
        inner = self._watch._find_user(sys._getframe(1), quiet=True)
        if inner is None:
            return int(self._stream.write(text))
        if text.strip():
            known = (print, self.write)
            code = inner.f_code
            names = self._watch._called(lambda value: value in known or _code(value) is code)
            self._watch._add("output", (names or ["print"])[0], "print")
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def close(self) -> None:
        """Leave the stream as it is: the garbage collector closes what it finds."""

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        return int(self._stream.fileno())

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return str(self._stream.encoding)


class _Sink:
    """Stands for a file of the caller that is open for writing; nothing is written."""

    def __init__(self, watch: Watch, name: str, stream: Any) -> None:
        self._watch, self._name, self._stream = watch, name, stream

    def write(self, text: Any) -> int:
        self._watch._find_user(sys._getframe(1))
        names = self._watch._called(lambda value: value is print or value == self.write)
        self._watch._add("output", (names or [f"{self._name}.write"])[0], "file")
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Stream:
    """Stands for an iterator of the caller; the iterator itself is not advanced."""

    def __init__(self, watch: Watch, name: str, stream: Any) -> None:
        self._watch, self._name, self._stream = watch, name, stream
        self._copy: Any = None

    def __iter__(self) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def send(self, value: Any) -> Any:
        """A generator's: what it does with the value cannot be undone."""
        self._watch._find_user(sys._getframe(1))
        names = self._watch._called(lambda value: value == self.send)
        self._watch._add("hidden input", (names or [f"{self._name}.send"])[0], "iterator")
        raise Stopped

    def __next__(self) -> Any:
        self._watch._find_user(sys._getframe(1))
        names = self._watch._called(lambda value: value is next, guess=False)
        name = self._watch._written_argument(self) if names else self._name
        self._watch._add("hidden input", f"next({name or self._name})", "iterator")
        if self._copy is None:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    self._copy = copy.deepcopy(self._stream)
            except Exception as error:  # a generator cannot be copied
                raise Stopped from error
        return next(self._copy)


class _Environment(Names):
    """The environment variables of this process."""

    def __init__(self) -> None:
        write, delete = os.environ.__setitem__, os.environ.__delitem__
        super().__init__("os.environ", "environment", None, lambda: dict(os.environ), write, delete)

    def label(self, key: Any) -> str:
        return f"os.environ[{key!r}]"


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _callers(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_bookkeeping(file: str) -> bool:
    return file.endswith(_BOOKKEEPING) or "/logging/" in file.replace("\\", "/")


def _code(value: Any) -> Any:
    value = getattr(value, "__func__", value)
    return getattr(inspect.unwrap(value), "__code__", None)


def _tracers(value: Any, known: Any = None) -> list[Any]:
    """The tracers in a value that were not there before, also in a function or an object."""
    before = {id(leaf) for leaf in leaves_of(known)}
    found = []
    for leaf in leaves_of(list(value) if isinstance(value, set) else value):
        inside = [leaf]
        if isinstance(leaf, functools.partial):
            inside = leaves_of((leaf.args, leaf.keywords))
        elif isinstance(leaf, types.MethodType):
            inside = leaves_of(list(getattr(leaf.__self__, "__dict__", {}).values()))
        elif isinstance(leaf, types.FunctionType):
            inside = [cell.cell_contents for cell in leaf.__closure__ or () if is_filled(cell)]
        elif isinstance(leaf, np.ndarray) and leaf.dtype == object:
            inside = list(leaf.flat)
        elif not isinstance(leaf, type) and not library_of_module(type(leaf).__module__):
            inside = leaves_of(list(getattr(leaf, "__dict__", {}).values()))
        if id(leaf) not in before:
            found += [part for part in inside if isinstance(part, jax.core.Tracer)]
    return found


def leaves_of(tree: Any) -> list[Any]:
    """The leaves of a PyTree; none of what JAX cannot sort, or of what has a cycle."""
    try:
        return jax.tree.leaves(tree)
    except Exception:
        return []


def expressions_on(place: Place) -> list[Any]:
    """Return the nodes of the syntax tree that are on a line, outer ones first."""
    return [
        node for node in _parsed(place.file) if node.lineno <= place.line <= (node.end_lineno or 0)
    ]


_PARSED: dict[str, tuple[int, list[Any]]] = {}


def _parsed(file: str) -> list[Any]:
    """The expressions in a file; parsed again when its text has changed, as a notebook's may."""
    text = "".join(linecache.getlines(file))
    if _PARSED.get(file, (None,))[0] != hash(text):
        nodes: list[Any] = []
        with contextlib.suppress(SyntaxError):
            nodes = [node for node in ast.walk(ast.parse(text)) if hasattr(node, "lineno")]
        _PARSED[file] = hash(text), nodes
    return _PARSED[file][1]


def _mangled(name: str, owner: Any) -> str:
    """The name that Python gives to an attribute of ``owner`` that begins with two underscores."""
    if name.startswith("__") and not name.endswith("__"):
        for cls in type(owner).__mro__:
            private = f"_{cls.__name__.lstrip('_')}{name}"
            if inspect.getattr_static(owner, private, owner) is not owner:
                return private
    return name


def resolved(node: ast.expr, frame: types.FrameType) -> Any:
    """The value of a chain of attributes and keys, without running any code of the user."""
    if isinstance(node, ast.Name):
        for names in (frame.f_locals, frame.f_globals, vars(builtins)):
            if node.id in names:
                return names[node.id]
        raise NameError(node.id)
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "type" and len(node.args) == 1:
        return type(resolved(node.args[0], frame))
    if isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Constant, ast.Name)):
        items = resolved(node.value, frame)
        is_name = isinstance(node.slice, ast.Name)
        key = resolved(node.slice, frame) if is_name else node.slice.value  # type: ignore[union-attr]
        if isinstance(items, dict):
            return dict.__getitem__(items, key)
        if type(items) in (list, tuple):
            return items[key]
    if not isinstance(node, ast.Attribute):
        raise NameError(ast.dump(node))
    owner = resolved(node.value, frame)
    if isinstance(owner, types.ModuleType) or library_of_module(type(owner).__module__):
        return getattr(owner, node.attr)
    value = inspect.getattr_static(owner, _mangled(node.attr, owner))
    if isinstance(value, property) or not library_of_module(type(value).__module__):
        return value  # a descriptor of the user is not asked
    is_stored = isinstance(value, (types.MemberDescriptorType, types.GetSetDescriptorType))
    if is_stored or type(value).__name__ == "_tuplegetter":
        return value.__get__(owner)
    return getattr(value, "__func__", value)
