"""What happens while a function is traced: which of its lines changes, asks for or prints what.

What has changed is compared at the end. Only if something has, the function is traced again, with a
report of each line, and what the line names is compared after it. The interpreter also reports each
call of a function that is written in C, if the user's code reaches more than frameworks.
"""

import ast
import builtins
import contextlib
import copy
import functools
import gc
import inspect
import io
import logging
import os
import pathlib
import random
import sys
import threading
import time
import types
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import haiku as hk
import jax
import numpy as np

from haiku_state.inside import compat
from haiku_state.inside.reach import (
    CONTAINERS,
    FRAMEWORKS,
    Change,
    Holder,
    Reach,
    StandIn,
    is_filled,
    items_of,
    leaves_of,
    library_of,
    library_of_module,
    library_of_object,
    same,
)
from haiku_state.inside.statements import parsed


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
    change: tuple[str, str, Any] | None = None
    """The form and the name of the holder, and the key, of what was changed."""

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
_FEW = 20
"""So many things that have changed are compared after each line, whatever it names."""
_ALONE = 0.1
"""So many seconds nothing runs, to see what another thread changes."""
_ONE_THREAD = threading.RLock()  # what is replaced belongs to all threads
_ENVIRONMENT = {
    getattr(type(os.environ), method).__code__
    for method in ("__getitem__", "__contains__", "__iter__")
}
_SEED = random.Random.seed.__code__
_SET_STATE = hk.set_state.__code__
*_AROUND_JIT, _JIT = compat.jit_codes()
Sought = dict[tuple[str, str], set[Any]]
"""The keys that have changed, by the form and the name of their holder."""


class Watch:
    """Collects the events of one call.

    Args:
      start: the place to name where no line of the user's code was seen.
      reach: what the function reaches.
      sought: what an earlier call of the same function has changed: to be found, line by line.
        None to be told only that something has changed.
      everywhere: what of it no line names, to be compared after each of them.
      foreign: what is not compared, because another thread changes it.
      has_leak: whether to remember which tracers are stored where.
      is_quick: whether the interpreter need not report anything, unless what the call reaches is
        suspect.
      is_silent: whether it does not report anything.
    """

    def __init__(
        self,
        start: Place,
        reach: Reach,
        sought: Sought | None = None,
        everywhere: Sought | None = None,
        foreign: Sought | None = None,
        has_leak: bool = False,
        is_quick: bool = False,
        is_silent: bool = False,
    ) -> None:
        self.reach = reach.again(self.stream)
        self.place = start
        self.events: list[Event] = []
        self.changed: Sought = {}
        """What is not as it was at the end."""
        self.located: set[tuple[str, str, Any]] = set()
        """The form, the name and the key of what a line was seen to change."""
        self.foreign: Sought = dict(foreign or {})
        """What another thread changes."""
        self.stored: list[tuple[str, Place, Any]] = []
        """Tracers that were stored where an inner transformation may not have ended yet."""
        self.jitted: list[tuple[Any, Place]] = []
        """The functions that were given to ``jax.jit``."""
        self.visited: dict[Place, int] = {}
        """The lines of the user's code, numbered in the order of their first run."""
        self._has_leak, self._is_quick, self._is_silent = has_leak, is_quick, is_silent
        self.is_lazy = False
        self.kept: list[str] = []
        """The names of what still holds a tracer."""
        self._sought, self._everywhere = sought, everywhere or {}
        self._is_asking, self._is_on = False, True  # frames that sleep may return after the end
        self._thread = threading.get_ident()
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
        self._entered: dict[int, types.CodeType] = {}
        self._count = 0
        self._always: list[Holder] = []
        self._named: dict[int, list[Holder]] = defaultdict(list)
        self._last: dict[tuple[int, Any], Any] = {}
        self._inner: dict[tuple[int, str], Any] = {}
        self._is_user: dict[str, bool] = {}

    def stream(self, name: str, value: Any) -> StandIn:
        """Return what stands for an iterator or a file of the caller while it is watched."""
        return (_Sink if isinstance(value, io.IOBase) else _Stream)(self, name, value)

    def run(self, function: Callable[[], Any]) -> Any:
        """Call a function, with what the interpreter reports, and put everything back."""
        with self._watching():
            return function()

    @contextlib.contextmanager
    def _watching(self) -> Iterator[None]:
        tools = sys.gettrace(), sys.getprofile()
        try:
            with _ONE_THREAD, _no_collection(), self._replaced_edges():
                self._sort_holders()
                is_enough = self._is_quick and not self.reach.is_suspect
                if not (is_enough or self._is_silent):
                    sys.settrace(self._call)
                    self._ask_for_calls(True)
                try:
                    yield
                finally:
                    self._ask_for_calls(False)
                    self._is_on = False
                    sys.settrace(None)
                    self._compare_all()
        finally:
            self.reach.put_streams_back()
            for holder in self.reach.holders:
                with contextlib.suppress(Exception):  # the others are restored all the same
                    holder.restore()
                    if holder.form == "kept" and next(holder.changes(), None):
                        self.kept.append(holder.name)
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
            if id(code) not in self._entered:
                self._entered[id(code)] = code
                self.reach.enter(code, frame.f_globals)
                self._sort_holders()
            self._ask_for_calls(True)
            if self._sought is None and not self._has_leak:
                frame.f_trace_lines = False
                return self._leave_user
            return self._line
        if (report := self._reports.get(id(code))) is not None:
            report(frame)
        if self._is_asking and library_of(code.co_filename) in _SILENT:
            self._ask_for_calls(False)
            frame.f_trace_lines = False
            return self._leave
        return None

    def _ask_for_calls(self, is_wanted: bool) -> None:
        if self._is_asking is not is_wanted and self._is_on:
            self._is_asking = is_wanted
            sys.setprofile(self._profile if is_wanted else None)

    def _leave(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        if event == "return":
            self._ask_for_calls(True)
        return self._leave

    def _leave_user(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        if event == "return" and self._is_in_framework(frame.f_back):
            self._ask_for_calls(False)
        return self._leave_user

    def _is_in_framework(self, frame: types.FrameType | None) -> bool:
        return frame is not None and library_of(frame.f_code.co_filename) in _SILENT

    def _line(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        if not self._is_on:
            return None
        self._compare_line()
        if event == "return":
            if self._is_in_framework(frame.f_back):
                self._ask_for_calls(False)
            frame = self._user_above(frame) or frame
        self._frame, self.place = frame, Place(frame.f_code.co_filename, frame.f_lineno)
        self.visited.setdefault(self.place, len(self.visited))
        return self._line

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
            self._store([(f"hk.set_state({name!r})", place, leaf) for leaf in _tracers(value)])

    def _report_jit(self, frame: types.FrameType) -> None:
        above = (f for f in _callers(frame.f_back) if f.f_code not in _AROUND_JIT)
        if (user := next(above)) and self._is_of_user(user):
            place = Place(user.f_code.co_filename, user.f_lineno)
            self.jitted.append((frame.f_locals.get("fun"), place))

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
        name = names[0] if names else self.reach.references.get(id(reference), "ref")
        last = self.events[-1] if self.events else None
        if last is not None and last[:3] == ("reference", f"{name}[...]", self.place):
            self.events.pop()  # `counter[...] += 1` reads and writes
        self._add("reference", f"{name}[...]", how)

    def _profile(self, frame: types.FrameType, event: str, arg: Any) -> None:
        if event != "c_call" or getattr(arg, "__qualname__", "") not in _QUALIFIED:
            return
        called = getattr(arg, "__module__", None), getattr(arg, "__qualname__", "")
        if called == _CSV and arg.__self__ not in self.reach.opaque.values():
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

    # what has changed

    def _sort_holders(self) -> None:
        """Note of the holders that were found since which ones are to be compared, and when."""
        new, self._count = self.reach.holders[self._count :], len(self.reach.holders)
        for holder in new:
            known = holder.form, holder.name
            holder.foreign |= self.foreign.get(known, set())
            if known not in (self._sought or {}):
                continue
            has_name = holder.value is not None and holder.form not in ("random", "file")
            if has_name and known not in self._everywhere and len(self._sought or {}) > _FEW:
                self._named[id(holder.value)].append(holder)
            else:
                self._always.append(holder)

    def _compare_line(self) -> None:
        """Compare what the line before could have changed."""
        if self._frame is None:
            return
        for holder in self._always:
            self._compare(holder)
        if self._named:
            found: dict[int, Holder] = {}
            for node in self._nodes((ast.Name, ast.Attribute, ast.Subscript)):
                with contextlib.suppress(Exception):
                    value = resolved(node, self._frame)
                    found |= {id(holder): holder for holder in self._named.get(id(value), ())}
            for holder in found.values():
                self._compare(holder)
        if self._has_leak:
            with contextlib.suppress(Exception):  # by code of the user, such as `__repr__`
                self._note_inner(self._frame)

    def _compare(self, holder: Holder) -> None:
        for change in holder.changes():
            key = id(holder), change.key
            before = self._last.get(key, change.before)
            if key not in self._last or not same(before, change.after):
                self._last[key] = change.after
                self._changed(holder, change, before)

    def _compare_all(self) -> None:
        """Compare everything at the end; forget the changes that were undone by then."""
        if self._sought is not None:
            self._compare_line()
        changed = {}
        for holder in self.reach.holders:
            with contextlib.suppress(Exception):
                if keys := {change.key for change in holder.changes()}:
                    changed[id(holder)] = holder, keys
        if changed and any(map(self._has_user, self._other_threads())):
            seen = [(holder, keys, holder.read()) for holder, keys in changed.values()]
            time.sleep(_ALONE)
            for holder, keys, before in seen:
                now = holder.read()
                holder.foreign |= {k for k in keys if not same(before.get(k), now.get(k))}
                if holder.foreign:
                    self.foreign[holder.form, holder.name] = holder.foreign
        for holder, keys in changed.values():
            if own := keys - holder.foreign:
                self.changed.setdefault((holder.form, holder.name), set()).update(own)
        self.events = [
            event
            for event in self.events
            if event.change is None or event.change[2] in self.changed.get(event.change[:2], ())
        ]

    def not_located(self) -> Sought:
        """Return what has changed without a line that was seen to do it."""
        found: Sought = {}
        for (form, name), keys in self.changed.items():
            if missing := {key for key in keys if (form, name, key) not in self.located}:
                found[form, name] = missing
        return found

    def _other_threads(self) -> list[types.FrameType]:
        return [f for ident, f in sys._current_frames().items() if ident != self._thread]

    def _has_user(self, frame: types.FrameType) -> bool:
        return any(map(self._is_of_user, _callers(frame)))

    def _changed(self, holder: Holder, change: Change, before: Any) -> None:
        known = holder.form, holder.name, change.key
        self.located.add(known)
        if holder.form in ("random", "file") and holder.value is not None:
            is_text = change.key == "text"
            names = self._called(lambda value: getattr(value, "__self__", None) is holder.value)
            if holder.form == "file":
                names = self._called(lambda value: value is print, guess=False) or names
            for name in names[: 1 if holder.form == "file" else None] or [holder.name]:
                kind = "output" if is_text else "hidden input"
                self.events.append(Event(kind, name, self.place, holder.form, change=known))
            return
        is_leak = bool(_tracers(change.after, before)) and holder.form != "argument"
        name, kind = self._as_written(holder, change), "leak" if is_leak else "mutation"
        after = change.after[0] if holder.form in ("cache", "kept") else change.after
        reached = holder.name_of(change.key)
        self._add(kind, name, holder.form, before, after, known, reached)

    def _store(self, stored: list[tuple[str, Place, Any]]) -> None:
        if self._has_leak:
            self.stored += stored

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
                self._store([(name + part, self.place, tracer) for tracer in tracers])
                self._inner[key] = item

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
          The outermost frame that the user's code called; None if a framework asked on its own, or
          another thread.
        """
        if threading.get_ident() != self._thread:
            return None
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
        label, wanted = holder.name_of(change.key), holder.value
        if wanted is None:
            return label
        is_object = change.key is not None and not holder.label.endswith("[{key!r}]")
        for node in self._nodes((ast.Name, ast.Attribute, ast.Subscript)):
            is_attribute = isinstance(node, ast.Attribute) and change.key in (
                node.attr, _mangled(node.attr, wanted)
            )  # fmt: skip
            if not is_object and self._resolves(node, lambda value: value is wanted):
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
        opened, asked, handle = io.open, builtins.input, logging.Logger.callHandlers
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
            if watch._find_user(sys._getframe(1)) is None:
                return asked(prompt)
            watch._add("hidden input", "input", "input")
            raise Stopped

        # where Python 3.10 keeps a copy of `io.open`
        accessor = getattr(pathlib, "_NormalAccessor", types.SimpleNamespace(open=opened))
        open_file.stands_for = opened  # type: ignore[attr-defined]
        ask.stands_for = asked  # type: ignore[attr-defined]
        warn.stands_for = shown  # type: ignore[attr-defined]
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
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector from running code of others in the middle of any line."""
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_enabled:
            gc.enable()


class _Printed(StandIn, io.TextIOBase):
    """Stands for stdout or stderr."""

    def __init__(self, watch: Watch, stream: Any) -> None:
        super().__init__("", stream)
        self._watch = watch

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


class _Sink(StandIn):
    """Stands for a file of the caller that is open for writing; nothing is written."""

    def __init__(self, watch: Watch, name: str, stream: Any) -> None:
        super().__init__(name, stream)
        self._watch = watch

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


class _Stream(StandIn):
    """Stands for an iterator of the caller; a copy of it is asked, and it stays where it is."""

    def __init__(self, watch: Watch, name: str, stream: Any) -> None:
        super().__init__(name, stream)
        self._watch = watch
        self._copy: Any = None

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # for `isinstance`
        return type(self._stream)

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        self._watch._find_user(sys._getframe(1))
        names = self._watch._called(lambda value: value is next, guess=False)
        name = self._watch._written_argument(self) if names else self._name
        self._watch._add("hidden input", f"next({name or self._name})", "iterator")
        return next(self._copied())

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._stream, name)
        if not callable(value) or name.startswith("__"):
            return value

        def call(*args: Any, **kwargs: Any) -> Any:  # such as `send` of a generator
            self._watch._find_user(sys._getframe(1))
            names = self._watch._called(lambda _value: False, guess=False, name=name)
            self._watch._add("hidden input", (names or [f"{self._name}.{name}"])[0], "iterator")
            return getattr(self._copied(), name)(*args, **kwargs)

        return call

    def _copied(self) -> Any:
        if self._copy is None:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    self._copy = copy.deepcopy(self._stream)
            except Exception as error:  # a generator cannot be copied
                raise Stopped from error
        return self._copy


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
        elif not isinstance(leaf, type) and not library_of_object(leaf):
            inside = leaves_of(list(getattr(leaf, "__dict__", {}).values()))
        if id(leaf) not in before:
            found += [part for part in inside if isinstance(part, jax.core.Tracer)]
    return found


def expressions_on(place: Place) -> list[Any]:
    """Return the expressions that are on a line, outer ones first."""
    tree = parsed(place.file)
    if not hasattr(tree, "by_line"):
        found = defaultdict(list)
        for node in ast.walk(tree):
            if isinstance(node, ast.expr):
                for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                    found[line].append(node)
        tree.by_line = found  # type: ignore[attr-defined]
    return tree.by_line.get(place.line, [])  # type: ignore[attr-defined]


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
        code = frame.f_code
        is_local = node.id in {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
        outside = () if is_local else (frame.f_globals, vars(builtins))  # a local may have no value
        for names in (frame.f_locals, *outside):
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
    if isinstance(owner, types.ModuleType) or library_of_object(owner):
        return getattr(owner, node.attr)
    value = inspect.getattr_static(owner, _mangled(node.attr, owner))
    if isinstance(value, property) or not library_of_object(value):
        return value  # a descriptor of the user is not asked
    is_stored = isinstance(value, (types.MemberDescriptorType, types.GetSetDescriptorType))
    if is_stored or type(value).__name__ == "_tuplegetter":
        return value.__get__(owner)
    return getattr(value, "__func__", value)
