"""What happens while a function is traced: which of its lines changes, asks for or prints what.

Everything that the call reaches is compared at its end. Only if something has changed, the function
is traced again, with a report of each line, and what the line names is compared after it.

What leaves no trace in Python is seen at the edges of the program: files, folders, processes and
sockets by an audit hook of the interpreter, prints and logs by stand-ins, and the clock by the
calls of functions that are written in C.
"""

import ast
import builtins
import contextlib
import copy
import functools
import gc
import inspect
import io
import itertools
import linecache
import logging
import os
import random
import sys
import threading
import types
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

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
    leaves_of,
    library_of,
    library_of_module,
    library_of_object,
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
    holder: Holder | None = None
    """What was changed."""
    key: Any = None
    """The part of it that was changed."""
    is_inner: bool = False
    """Whether the line is in a function that JAX traces on its own, such as the body of a scan."""


class Stopped(BaseException):
    """Ends a trace where going on would change something that cannot be put back."""


Sought = dict[tuple[str, str], set[Any]]
"""The keys that have changed, by the form and the name of their holder."""

_MARKING = """
    os.chdir os.chmod os.chown os.exec os.fork os.kill os.link os.mkdir os.posix_spawn os.remove
    os.rename os.rmdir os.spawn os.symlink os.system os.truncate os.utime shutil.copyfile
    shutil.move shutil.rmtree socket.bind socket.connect socket.sendto sqlite3.connect
    subprocess.Popen tempfile.mkdtemp tempfile.mkstemp
"""
_AUDITED = {
    "open": ("hidden input", "file", False),
    "os.listdir": ("hidden input", "system", False),
    "os.scandir": ("hidden input", "system", False),
    "builtins.input": ("hidden input", "input", True),
    **dict.fromkeys(_MARKING.split(), ("output", "system", True)),
}
"""What the interpreter reports: its kind and form, and whether going on would leave a mark."""
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT

_CLOCK = """
    time time_ns perf_counter perf_counter_ns monotonic monotonic_ns process_time process_time_ns
    thread_time thread_time_ns localtime gmtime ctime asctime strftime
"""
_SYSTEM = """
    access cpu_count getcwd getloadavg getlogin getpid getppid getrandom get_terminal_size getuid
    lstat read stat times
"""
_ASKING: dict[tuple[str | None, str], str] = {
    **{("time", name): "clock" for name in _CLOCK.split()},
    **{(None, f"datetime.{name}"): "clock" for name in ("now", "today", "utcnow")},
    (None, "date.today"): "clock",
    **{(module, name): "system" for module in ("posix", "nt") for name in _SYSTEM.split()},
    ("posix", "urandom"): "random",
    ("nt", "urandom"): "random",
    ("_uuid", "generate_time_safe"): "system",
}  # fmt: skip
"""Functions in C that ask for more than their arguments, and what they ask for."""

_CHANGING = {
    ("posix", "write"), ("posix", "umask"), ("nt", "write"), ("_signal", "signal"),
    ("atexit", "register"), ("gc", "disable"), ("gc", "enable"), ("sys", "setrecursionlimit"),
}  # fmt: skip
"""Functions in C that change something outside, which the interpreter does not report."""

_ROWS = {"writer.writerow", "writer.writerows"}
"""Methods in C that write to a file which cannot be seen in their object."""
_NAMES = {
    name.rpartition(".")[2]
    for name in (*_ROWS, *(name for _module, name in (*_ASKING, *_CHANGING)))
}
_TIMES = {"gmtime": 1, "localtime": 1, "ctime": 1, "asctime": 1, "strftime": 2}
"""These get the time as an argument, if they get so many."""
_SEEDING = {"PRNGKey", "RandomState", "Random", "default_rng", "fold_in", "key", "seed"}
_SEEDED = (np.random.RandomState, np.random.default_rng, random.Random)

_SILENT = FRAMEWORKS - {"numpy"}
_BOOKKEEPING = ("warnings.py", "linecache.py", "tokenize.py", "inspect.py")
"""Files of Python's library that ask on their own account."""
_WAITING = (
    "/threading.py",
    "/queue.py",
    "/futures/_base.py",
    "/futures/thread.py",
    "/selectors.py",
)
"""Files of Python's library that look at the clock in order to wait."""
_SEED = random.Random.seed.__code__
_ENVIRONMENT = {type(os.environ).__getitem__.__code__, type(os.environ).__iter__.__code__}
*_AROUND_JIT, _JIT = compat.jit_codes()
_FEW = 20
"""So many things that have changed are compared after each line, whatever it names."""
_ONE_THREAD = threading.RLock()
"""What is replaced belongs to all threads."""

_OF_ARRAYS = ("at", "dtype", "ndim", "shape", "size")
"""Attributes of an array that compute nothing."""

_UNKNOWN = object()


class Watch:
    """Collects the events of one call.

    Args:
      start: the place to name where no line of the user's code was seen.
      sought: what an earlier call of the same function has changed: to be found, line by line.
        None to be told only that something has changed.
      everywhere: what of it no line names, to be compared after each of them.
    """

    _active: "Watch | None" = None

    def __init__(
        self, start: Place, sought: Sought | None = None, everywhere: Sought | None = None
    ) -> None:
        self.reach = Reach(lambda name, value: _Stream(self, name, value))
        self.place = start
        self.events: list[Event] = []
        self.changed: Sought = {}
        """What is not as it was at the end."""
        self.kept: list[str] = []
        """The names of what still holds a tracer."""
        self.jitted: list[tuple[Any, Place]] = []
        """The functions that were given to ``jax.jit``."""
        self.visited: dict[Place, int] = {}
        """The lines of the user's code, numbered in the order of their first run."""
        self.other_threads = False
        """Whether code of the user ran in another thread, and something has changed."""
        self.has_stopped_thread = False
        """Whether another thread, which the function has started, was stopped."""
        self._sought, self._everywhere = sought, everywhere or {}
        self._is_on = True  # frames that sleep may return after the end
        self._thread = threading.get_ident()
        self._others = {thread.ident for thread in threading.enumerate()} - {self._thread}
        self._frame: types.FrameType | None = None
        self._outer: Any = None
        self._count = 0
        self._always: list[Holder] = []
        self._named: dict[int, list[Holder]] = defaultdict(list)
        self._last: dict[tuple[int, Any], Any] = {}
        self._is_user: dict[str, bool] = {}

    def run(self, function: Callable[[], Any]) -> Any:
        """Call a function that is watched, and put everything back."""
        tools = sys.gettrace(), sys.getprofile()
        self._outer = compat.trace_state()
        try:
            with _ONE_THREAD, _no_collection(), self._edges():
                self._sort_holders()
                if self._sought is not None:
                    sys.settrace(self._enter)
                if self.reach.is_suspect:
                    sys.setprofile(self._profile)
                try:
                    return function()
                finally:
                    sys.setprofile(None)
                    sys.settrace(None)
                    self._is_on = False
                    self._compare_all()
        finally:
            for holder in self.reach.holders:
                with contextlib.suppress(Exception):  # the others are restored all the same
                    holder.restore()
                    if holder.form == "kept" and next(holder.changes(), None):
                        self.kept.append(holder.name)
            sys.settrace(tools[0])
            sys.setprofile(tools[1])

    def not_located(self) -> Sought:
        """Return what has changed without a line that was seen to do it."""
        seen = {(*event.holder.known, event.key) for event in self.events if event.holder}
        missing = {
            known: {key for key in keys if (*known, key) not in seen}
            for known, keys in self.changed.items()
        }
        return {known: keys for known, keys in missing.items() if keys}

    # what the interpreter reports

    def _enter(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        """A function begins: a million times for a large model."""
        is_user = self._is_user.get(frame.f_code.co_filename)
        if is_user is False or (is_user is None and not self.is_of_user(frame)):
            return None
        self._visit(frame)
        return self._line

    def _visit(self, frame: types.FrameType) -> None:
        if not self.reach.knows(frame.f_code):
            self.reach.enter(frame.f_code, frame.f_globals)
            self._sort_holders()

    def _line(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        """A line begins, or a function ends: compare what the line before could have changed."""
        if not self._is_on:
            return None
        self._compare_line()
        if event == "return":  # the rest of the line that called it
            frame = next(filter(self.is_of_user, _callers(frame.f_back)), frame)
        self._stand(frame)
        self.visited.setdefault(self.place, len(self.visited))
        return self._line

    def _profile(self, frame: types.FrameType, event: str, arg: Any) -> None:
        """A function in C is called, or a function begins."""
        if event == "c_call":
            if arg.__name__ in _NAMES:
                self._asked(frame, arg)
        elif event == "call":
            code = frame.f_code
            is_user = self._is_user.get(code.co_filename)
            if is_user or (is_user is None and self.is_of_user(frame)):
                self._visit(frame)
            elif code in _ENVIRONMENT:
                key = f"[{frame.f_locals['key']!r}]" if "key" in frame.f_locals else ""
                self.note("hidden input", "environment", f"os.environ{key}", frame)
            elif code is _SEED and frame.f_locals.get("a") is None:
                self.note("hidden input", "random", "random.Random", frame)
            elif code is _JIT:
                user = next(f for f in _callers(frame.f_back) if f.f_code not in _AROUND_JIT)
                if self.is_of_user(user):
                    self.jitted.append((frame.f_locals.get("fun"), _place(user)))

    def _asked(self, frame: types.FrameType, function: Any) -> None:
        name = function.__qualname__
        form = _ASKING.get((function.__module__, name))
        if form and not self._is_given(frame, name):
            self.note("hidden input", form, name, frame)
        if (function.__module__, name) in _CHANGING and self.note("output", "system", name, frame):
            raise Stopped
        opaque = self.reach.opaque.values()
        if name in _ROWS and any(function.__self__ is one for one in opaque):
            self.note("output", "file", name, frame)
            raise Stopped

    def audited(self, event: str, args: tuple[Any, ...]) -> None:
        """The interpreter is about to do something outside of the process."""
        kind, form, is_marked = _AUDITED[event]
        if event == "open":
            _path, mode, flags = args
            is_marked = bool({*(mode or "")} & {*"wax+"} or (flags or 0) & _WRITING)
            kind = "output" if is_marked else kind
        name = event.removeprefix("builtins.")
        if self.note(kind, form, name, sys._getframe(2)) and is_marked:
            self.has_stopped_thread |= threading.get_ident() != self._thread
            # which ends a thread silently
            raise SystemExit if threading.get_ident() != self._thread else Stopped

    # what has changed

    def _sort_holders(self) -> None:
        """Of the holders that were found since, note which ones are to be compared, and when."""
        new, self._count = self.reach.holders[self._count :], len(self.reach.holders)
        for holder in new:
            if holder.known not in (self._sought or {}):
                continue
            has_name = holder.value is not None and holder.form not in ("random", "file")
            is_many = len(self._sought or {}) > _FEW
            if has_name and is_many and holder.known not in self._everywhere:
                self._named[id(holder.value)].append(holder)
            else:
                self._always.append(holder)

    def _compare_line(self) -> None:
        if self._frame is None:
            return
        found = {id(holder): holder for holder in self._always}
        for node in self._nodes(ast.Name, ast.Attribute, ast.Subscript) if self._named else ():
            for holder in self._named.get(id(self._value(node)), ()):
                found[id(holder)] = holder
        for holder in found.values():
            for change in holder.changes():
                key = id(holder), change.key
                before = self._last.get(key, change.before)
                if key not in self._last or not same(before, change.after):
                    self._last[key] = change.after
                    self.events.append(self._event(holder, change, before))

    def _compare_all(self) -> None:
        """Compare everything at the end; forget the changes that were undone by then."""
        if self._sought is not None:
            self._compare_line()
        for holder in self.reach.holders:
            with contextlib.suppress(Exception):
                keys = {change.key for change in holder.changes()}
                if isinstance(holder.value, types.ModuleType) and library_of_object(holder.value):
                    keys -= {key for key in keys if str(key).startswith("_")}  # such as a cache
                if keys:
                    self.changed.setdefault(holder.known, set()).update(keys)
        self.events = [
            event
            for event in self.events
            if event.holder is None or event.key in self.changed.get(event.holder.known, ())
        ]
        threads = [f for ident, f in sys._current_frames().items() if ident != self._thread]
        has_user = any(any(map(self.is_of_user, _callers(frame))) for frame in threads)
        self.other_threads = bool(self.changed) and has_user

    def _event(self, holder: Holder, change: Change, before: Any) -> Event:
        kind, after = "mutation", change.after
        if holder.form in ("random", "file") and holder.value is not None:
            is_written = holder.form == "file" and change.before[1] != change.after[1]
            kind = "output" if is_written else "hidden input"
            name = next(self._uses(holder.value), holder.name)
            is_inner = compat.trace_state() != self._outer
            place, form = self.place, holder.form
            return Event(kind, name, place, form, holder=holder, key=change.key, is_inner=is_inner)
        if holder.form != "argument" and tracers_in(after, before):
            kind = "leak"
        form = holder.form
        if form == "argument" and not isinstance(holder.value, CONTAINERS):
            form = "attribute"
        if form in ("cache", "kept"):
            after = after[0]
        how = inspect.getattr_static(type(holder.value), str(change.key), None)
        if isinstance(how, functools.cached_property):
            form = "cache"
        name = self._written(holder, change.key)
        is_inner = compat.trace_state() != self._outer
        return Event(kind, name, self.place, form, before, after, holder, change.key, is_inner)

    # where the user's code stands, and what it calls things

    def note(
        self, kind: str, form: str, name: str, frame: types.FrameType, is_asked: bool = True
    ) -> bool:
        """Note what a call does, unless a framework does it on its own account.

        Args:
          kind: that of the finding.
          form: what it asks for or changes.
          name: what to call it where the source does not tell.
          frame: what does it.
          is_asked: whether what Python's library does for its own purposes is left out.

        Returns:
          Whether the user's code has called it.
        """
        if threading.get_ident() in self._others or not self._is_on:
            return False
        is_own = threading.get_ident() == self._thread
        caller: types.FrameType | None = None
        callee = name.rpartition(".")[2]
        for caller in _callers(frame):
            if self.is_of_user(caller):
                break
            callee = caller.f_code.co_name
            file = caller.f_code.co_filename.replace("\\", "/")
            is_known = file.endswith(_BOOKKEEPING) or "/logging/" in file or "/asyncio/" in file
            is_known |= form == "clock" and file.endswith(_WAITING)
            is_import = file.startswith("<frozen importlib")
            if is_import or (is_asked and is_known) or library_of(file) in _SILENT:
                return False
        else:
            if is_own:
                return False
            caller = None  # such as a thread of a pool
        if caller is None or not is_own:  # where the function has started the thread
            self.events.append(Event(kind, name, self.place, form))
            return True
        self._stand(caller)
        is_inner = compat.trace_state() != self._outer
        node = standing(caller)
        if node is None:  # Python 3.10 does not tell it where there are two calls
            calls = self._nodes(ast.Call)
            node = next((c for c in calls if getattr(c.func, "attr", "") == callee), None)
        called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if form == "iterator":
            name = ast.unparse(node) if called == "next" else name  # type: ignore[arg-type]
        elif called and (form != "environment" or "env" in called):
            name = called
        if form == "clock" and any(_is_seed_of(call, node) for call in self._nodes(ast.Call)):
            form = "seed"
        if ("os.environ", self.place) in [(one.name, one.place) for one in self.events[-1:]]:
            return True  # all of it is read, one after the other
        self.events.append(Event(kind, name, self.place, form, is_inner=is_inner))
        return True

    def is_of_user(self, frame: types.FrameType) -> bool:
        """Return whether a frame runs code of the user."""
        file = frame.f_code.co_filename
        if file == "<string>":  # made from a text, as the methods of a dataclass are
            module = frame.f_globals.get("__name__", "")
            return not (module.startswith("namedtuple_") or library_of_module(module))
        if file not in self._is_user:
            self._is_user[file] = not library_of(file)
        return self._is_user[file]

    def _stand(self, frame: types.FrameType) -> None:
        self._frame, self.place = frame, _place(frame)

    def _nodes(self, *kinds: Any) -> list[Any]:
        """The expressions of some kinds on the present line."""
        return [node for node in expressions_on(self.place) if isinstance(node, kinds)]

    def _value(self, node: ast.expr) -> Any:
        with contextlib.suppress(Exception):
            return resolved(node, self._frame)  # type: ignore[arg-type]
        return _UNKNOWN

    def _written(self, holder: Holder, key: Any) -> str:
        """Name what has changed as the present line does; else by the way from the function."""
        if holder.value is None:
            return holder.path(key)
        for node in self._nodes(ast.Name, ast.Attribute, ast.Subscript, ast.Call):
            if self._value(node) is holder.value:
                return ast.unparse(node) + holder.label(key)
        stored = [node for node in self._nodes(ast.Subscript) if isinstance(node.ctx, ast.Store)]
        return ast.unparse(stored[0]) if len(stored) == 1 else holder.path(key)

    def _uses(self, value: Any) -> Iterator[str]:
        """The calls on the present line of a method of an object, or with it as an argument."""
        for call in self._nodes(ast.Call):
            given = [call.func, *call.args, *(keyword.value for keyword in call.keywords)]
            parts = [getattr(self._value(given[0]), "__self__", None), *map(self._value, given[1:])]
            if any(part is value for part in parts):
                name = ast.unparse(call.func)
                yield ast.unparse(call) if name == "next" else name

    def _is_given(self, frame: types.FrameType, name: str) -> bool:
        """Whether a call gets what it would else ask for: a time, or a seed."""
        user = next(filter(self.is_of_user, _callers(frame)), None)
        node = standing(user) if user else None
        if not isinstance(node, ast.Call):
            return False
        if name == "urandom":
            with contextlib.suppress(Exception):
                return bool(node.args) and resolved(node.func, user) in _SEEDED  # type: ignore[arg-type]
            return False
        is_it = ast.unparse(node.func).rpartition(".")[2] == name
        return is_it and len(node.args) >= _TIMES.get(name, sys.maxsize)

    # the edges of the program

    @contextlib.contextmanager
    def _edges(self) -> Iterator[None]:
        """Put stand-ins where the program touches the world, and listen to the interpreter."""
        handle, show = logging.Logger.callHandlers, warnings._showwarnmsg_impl  # type: ignore[attr-defined]

        def log(logger: logging.Logger, record: logging.LogRecord) -> None:
            name = f"logging.{record.levelname.lower()}"
            if not self.note("output", "log", name, sys._getframe(1), is_asked=False):
                handle(logger, record)

        def warn(message: warnings.WarningMessage) -> None:
            if not self.note("output", "log", "warnings.warn", sys._getframe(1), is_asked=False):
                show(message)

        log.stands_for, warn.stands_for = handle, show  # type: ignore[attr-defined]
        replaced: list[tuple[Any, str, Any]] = [
            (logging.Logger, "callHandlers", log),
            (warnings, "_showwarnmsg_impl", warn),
            (sys, "stdout", _Printed(self, sys.stdout)),
            (sys, "stderr", _Printed(self, sys.stderr)),
            (Watch, "_active", self),
        ]
        _listen()
        with contextlib.ExitStack() as stack:
            stack.enter_context(warnings.catch_warnings())  # one that is not shown is not used up
            for place, name, value in replaced:
                stack.callback(setattr, place, name, getattr(place, name))
                setattr(place, name, value)
            yield


@functools.lru_cache
def _listen() -> None:
    """Let the interpreter report to the watch that is active; this cannot be undone."""

    def report(event: str, args: tuple[Any, ...]) -> None:
        if event in _AUDITED and (watch := Watch._active) is not None:
            watch.audited(event, args)

    sys.addaudithook(report)


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


class _Printed(StandIn):
    """Stands for stdout or stderr."""

    def __init__(self, watch: Watch, stream: Any) -> None:
        self._watch, self.stands_for = watch, stream

    def write(self, text: str) -> int:
        if not text.strip() or self._watch.note("output", "print", "print", sys._getframe(1)):
            return len(text)
        return int(self.stands_for.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stands_for, name)


class _Stream(StandIn):
    """Stands for an iterator or a file of the caller.

    A copy of the iterator is asked, and it stays where it is; nothing is written to the file.
    """

    def __init__(self, watch: Watch, name: str, stream: Any) -> None:
        self._watch, self._name, self.stands_for = watch, name, stream
        self._copied: Any = None

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # for `isinstance`
        return type(self.stands_for)

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return next(self._asked(f"next({self._name})"))

    def write(self, text: Any) -> int:
        self._watch.note("output", "file", f"{self._name}.write", sys._getframe(1))
        return len(text)

    def writelines(self, lines: Any) -> None:
        self.write("".join(map(str, lines)))

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.stands_for, name)
        is_asking = callable(value) and not name.startswith("__")
        if isinstance(self.stands_for, io.IOBase) and name.startswith("read") and is_asking:
            self._watch.note("hidden input", "file", f"{self._name}.{name}", sys._getframe(1))
            raise Stopped  # it would not stay where it is
        if isinstance(self.stands_for, io.IOBase) or not is_asking:
            return value
        return lambda *args: getattr(self._asked(f"{self._name}.{name}"), name)(*args)

    def _asked(self, name: str) -> Any:
        self._watch.note("hidden input", "iterator", name, sys._getframe(2))
        if self._copied is None:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    self._copied = copy.deepcopy(self.stands_for)
            except Exception as error:  # a generator cannot be copied
                raise Stopped from error
        return self._copied


# --- source ---------------------------------------------------------------------------------------


def _callers(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _place(frame: types.FrameType) -> Place:
    return Place(frame.f_code.co_filename, frame.f_lineno)


def expressions_on(place: Place) -> list[Any]:
    """Return the expressions that are on a line, outer ones first."""
    return _by_line(place.file, "".join(linecache.getlines(place.file))).get(place.line, [])


@functools.lru_cache(maxsize=64)
def _by_line(file: str, source: str) -> dict[int, list[Any]]:
    found = defaultdict(list)
    with contextlib.suppress(SyntaxError, ValueError):  # a cell of a notebook with a magic command
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.expr):
                for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                    found[line].append(node)
    return dict(found)


def standing(frame: types.FrameType) -> ast.expr | None:
    """Return the call, item or comparison at which a frame stands; Python 3.10 tells the line."""
    nodes = [
        node
        for node in expressions_on(_place(frame))
        if isinstance(node, (ast.Call, ast.Subscript, ast.Compare))
    ]
    if not hasattr(frame.f_code, "co_positions"):
        return nodes[0] if len(nodes) == 1 else None
    positions = itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None)
    _line, line, _column, column = next(positions)
    return next((n for n in nodes if (n.end_lineno, n.end_col_offset) == (line, column)), None)


def _is_seed_of(call: ast.Call, node: Any) -> bool:
    """Return whether a call makes a key or a generator, and another stands in its arguments."""
    is_seeded = ast.unparse(call.func).rpartition(".")[2] in _SEEDING
    return is_seeded and call is not node and any(one is node for one in ast.walk(call))


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
    if isinstance(owner, jax.Array) and node.attr not in _OF_ARRAYS:
        raise NameError(node.attr)  # `x.T` would write an equation
    if isinstance(owner, types.ModuleType) or library_of_object(owner):
        return getattr(owner, node.attr)
    value = inspect.getattr_static(owner, node.attr)
    if isinstance(value, property) or not library_of_object(value):
        return value  # a descriptor of the user is not asked
    is_stored = isinstance(value, (types.MemberDescriptorType, types.GetSetDescriptorType))
    if is_stored or type(value).__name__ == "_tuplegetter":
        return value.__get__(owner)
    return getattr(value, "__func__", value)


def tracers_in(value: Any, known: Any = None) -> list[Any]:
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
