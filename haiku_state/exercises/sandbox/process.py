"""The checker's side of a learner's process: it starts it, asks it, and ends it.

Python's own fork server imports everything once, and each answer gets a fresh fork of it; it ends
with the program that started it. Where there is none, each process imports for itself.
"""

import contextlib
import importlib
import itertools
import json
import multiprocessing
import os
import secrets
import signal
import sys
import tempfile
import threading
import time
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

HAS_FORK_SERVER = "forkserver" in multiprocessing.get_all_start_methods()
CONTEXT: Any = multiprocessing.get_context("forkserver" if HAS_FORK_SERVER else "spawn")
CHILD = "haiku_state.exercises.sandbox.child"
START_SECONDS = 60
GIBIBYTES = 4
MORE_SECONDS = 10  # for a process that no longer ends by itself
MANY_BYTES = 1 << 20
TIME_IS_UP = 124
"""The exit code of a process that has computed too long, as that of ``timeout``."""

KINDS = ("answers", "solutions")
"""Processes of one kind share a cache of compiled programs; a learner's must not feed the other."""

_STARTING = threading.Lock()


@dataclass
class Ended:
    """What came from a learner's process.

    Args:
      messages: what it told, in order.
      how: how it ended: done, time, output, or died.
      code: its exit code.
      printed: what the learner's code has printed.
    """

    messages: list[dict[str, Any]] = field(default_factory=list)
    how: str = "died"
    code: int | None = None
    printed: str = ""


def prepare() -> None:
    """Let the imports begin now, in another process."""
    if HAS_FORK_SERVER and multiprocessing.parent_process() is None:
        from multiprocessing import forkserver

        CONTEXT.set_forkserver_preload([CHILD])
        forkserver.ensure_running()


def begin(channel: Connection, printed: Connection, folder: str, cache: str) -> None:
    """Do what a learner's process does; it is imported there, and not here.

    A fork has the files of the fork server too, to which a learner could write.
    """
    if HAS_FORK_SERVER:
        kept = sorted({0, 1, 2, channel.fileno(), printed.fileno()})
        for low, high in itertools.pairwise([*kept, os.sysconf("SC_OPEN_MAX")]):
            os.closerange(low + 1, high)
    importlib.import_module(CHILD).main(channel, printed, folder, cache)


def cache_folder(kind: str) -> str:
    """Return a folder of the user's own for compiled programs; "" where none can be made."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or "~/.cache"
    folder = Path(base).expanduser() / "haiku_state" / "compiled" / kind
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return str(folder)
    except (OSError, RuntimeError):  # nothing can be written there, or nobody is at home
        return ""


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Hide the main program, which Python would otherwise import in the new process as well."""
    with _STARTING:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = types.ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


class Process:
    """A process for programs, which waits for its exercise; as a context, it ends with it.

    Nothing that the checker makes up later can be known to it.

    Args:
      kind: one of ``KINDS``.
    """

    def __init__(self, kind: str) -> None:
        prepare()
        self._folder = tempfile.TemporaryDirectory(
            prefix="haiku_state_", ignore_cleanup_errors=True
        )
        self.folder = self._folder.name
        self._channel, theirs = CONTEXT.Pipe()
        self._stream, printed = CONTEXT.Pipe(duplex=False)
        self._process = CONTEXT.Process(
            target=begin, args=(theirs, printed, self.folder, cache_folder(kind))
        )
        with _without_main():
            self._process.start()
        theirs.close()
        printed.close()
        self._printed = bytearray()
        self._too_much = False
        self._reader = threading.Thread(target=self._read_printed, daemon=True)
        self._reader.start()

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_error: object) -> None:
        self._kill()
        self._process.join()
        self._reader.join()
        self._channel.close()
        self._stream.close()
        with _STARTING:  # Python 3.10 polls all its processes when it starts one
            self._process.close()
        self._folder.cleanup()

    def stage(self, exercise: dict[str, Any]) -> dict[str, Any]:
        """Let it run the cells of the checks, before there is an answer; return what it tells.

        Args:
          exercise: its ``name``, ``folder`` and ``text``, and the folder ``work``.
        """
        self._ask(exercise)
        return self._next(time.monotonic() + START_SECONDS) or {}

    def load(self, program: dict[str, Any], end: float) -> dict[str, Any] | None:
        """Let it run a program; return what it tells, or None if it ends.

        Args:
          program: ``path`` and ``source``, ``is_whole``, and the ``seconds`` that it may compute.
          end: when it has to have ended.
        """
        self._ask(program)
        return self._next(end)

    def run(self, program: dict[str, Any], question: dict[str, Any], seconds: int) -> Ended:
        """Load an answer, ask a question, and wait for the end.

        Args:
          program: as for :meth:`load`.
          question: ``checks`` and ``seed``.
          seconds: how long it may take.

        Returns:
          All that it told.
        """
        ended = Ended()
        end = time.monotonic() + seconds + MORE_SECONDS
        loaded = self.load(program, end)
        if loaded is not None and "error" in loaded:
            ended.messages.append(loaded)
            if loaded["error"] is None:
                ended.messages += self.ask(question, end)
            is_over = loaded["error"] or ended.messages[-1].get("done")
            ended.how = "done" if is_over else "died"
        if ended.how == "died":  # it has closed its channel, and is about to end
            self._process.join(2)
            ended.code = self._process.exitcode
            is_late = ended.code == TIME_IS_UP or time.monotonic() >= end - MORE_SECONDS
            ended.how = "time" if is_late else "died"
        self._kill()
        self._process.join()
        self._reader.join(5)  # it reads to the end of what was printed
        ended.how = "output" if self._too_much else ended.how
        ended.printed = self._printed.decode(errors="replace")
        return ended

    def ask(self, question: dict[str, Any], end: float) -> list[dict[str, Any]]:
        """Return the answers to a question, of which the last one is ``done`` unless it ends."""
        nonce = secrets.token_hex(16)
        self._ask({**question, "nonce": nonce})
        messages = []
        while (message := self._next(end)) is not None and message.get("nonce") == nonce:
            messages.append(message)
            if message.get("done"):
                break
        return messages

    def _ask(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):  # it has ended
            self._channel.send_bytes(json.dumps(message).encode())

    def _next(self, end: float) -> dict[str, Any] | None:
        """Return its next message; None if it ends, if time is over, or if somebody else wrote."""
        try:
            if not self._channel.poll(max(end - time.monotonic(), 0)):
                return None
            message = json.loads(self._channel.recv_bytes())
        except (EOFError, OSError, ValueError):
            return None
        return message if isinstance(message, dict) else None

    def _read_printed(self) -> None:
        with contextlib.suppress(OSError, EOFError), self._stream:
            while data := os.read(self._stream.fileno(), 1 << 16):
                if len(self._printed) < MANY_BYTES:
                    self._printed += data
                elif not self._too_much:
                    self._too_much = True
                    self._kill()

    def _kill(self) -> None:
        """End the process, and what it has started, which is in its group."""
        with contextlib.suppress(ProcessLookupError, PermissionError, AttributeError):
            os.killpg(self._process.pid or 0, signal.SIGKILL)
        with contextlib.suppress(ValueError):  # it was closed
            self._process.kill()
