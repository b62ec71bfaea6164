"""A process that has imported everything, and has a fork ready for the answer that comes next.

The first check starts it. It belongs to one user, listens in a folder that nobody else can enter,
and ends after ten minutes without a question. Where it cannot be, a command checks for itself.

A fork, a checker, starts the processes that an answer needs before there is one. The server accepts
a connection and sends it there.
"""

import contextlib
import hashlib
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

IDLE_SECONDS = 600
LOOK_SECONDS = 5
"""How often a server looks whether its folder is still there."""
START_SECONDS = 30
PRELOADED = ("haiku_state.exercises.sandbox.child", "optax")
"""What takes long to import, of what the answers need."""
ANSWER_SECONDS = 600
"""Longer than any check: each process of it has a limit of its own."""


def ask_server(request: dict[str, Any]) -> dict[str, Any] | None:
    """Return what the server answers; None if there is none, or if it ends before it has answered.

    Args:
      request: ``name`` and ``text`` of the exercise, ``source`` and ``path`` of the answer, and the
        ``language`` to tell the result in.

    Returns:
      Whether the answer has ``passed``, and the ``text`` that says so.
    """
    if not hasattr(os, "fork") or not hasattr(socket, "AF_UNIX"):
        return None
    try:
        with _connected() as stream:
            stream.sendall(json.dumps(request).encode() + b"\n")
            with stream.makefile("rb") as lines:
                answer: dict[str, Any] = json.loads(lines.readline())
                return answer
    except (OSError, ValueError):  # no folder, no room on the disk, or a server that was killed
        return None


@contextlib.contextmanager
def _connected() -> Iterator[socket.socket]:
    place = _folder() / "socket"
    end = time.monotonic() + START_SECONDS
    started: subprocess.Popen[bytes] | None = None
    while True:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream:
            stream.settimeout(ANSWER_SECONDS)
            try:
                stream.connect(str(place))
            except (FileNotFoundError, ConnectionRefusedError):
                if started is not None and (started.poll() or time.monotonic() > end):
                    raise
                started = started or _start()
                time.sleep(0.02)
                continue
            yield stream
            return


def _start() -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-P"] if sys.version_info >= (3, 11) else [sys.executable]
    nowhere = subprocess.DEVNULL
    return subprocess.Popen(
        [*command, "-m", __name__], stdin=nowhere, stdout=nowhere, stderr=nowhere,
        cwd="/", start_new_session=True,
    )  # fmt: skip


def _folder() -> Path:
    """Return the folder of the server for this installation and these settings; make it.

    Raises:
      OSError: if it cannot be made, or is not this user's alone.
    """
    settings = {k: v for k, v in os.environ.items() if k.startswith(("JAX_", "XLA_", "PYTHON"))}
    files = sorted(Path(__file__).parents[2].rglob("*.py"))
    stamp = [sys.executable, settings, [(str(f), f.stat().st_mtime_ns) for f in files]]
    name = hashlib.sha256(json.dumps(stamp, sort_keys=True).encode()).hexdigest()[:12]
    base = os.environ.get("XDG_RUNTIME_DIR") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    folder = Path(base).expanduser() / "haiku_state" / name
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    state = folder.stat()
    if state.st_uid != os.getuid() or state.st_mode & 0o077:
        raise PermissionError(folder)
    return folder


def serve() -> None:
    """Answer until nobody has asked for ten minutes; end at once if another server is there."""
    import fcntl

    for name in PRELOADED:
        importlib.import_module(name)

    folder = _folder()
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        place = folder / "socket"
        place.unlink(missing_ok=True)  # of a server that was killed
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
            listening.bind(str(place))
            place.chmod(0o600)
            listening.listen()
            try:
                _serve(listening, place, lock)
            finally:
                place.unlink(missing_ok=True)


def _serve(listening: socket.socket, place: Path, lock: IO[str]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a checker
    waiting: socket.socket | None = _checker(listening, lock)
    busy: set[socket.socket] = set()
    last = time.monotonic()
    while time.monotonic() - last < IDLE_SECONDS and place.exists():
        ready = select.select([listening, *busy], [], [], LOOK_SECONDS)[0]
        for ended in busy.intersection(ready):
            busy.remove(ended)
            ended.close()
        if listening in ready:
            last = time.monotonic()
            with listening.accept()[0] as stream:
                waiting = waiting or _checker(listening, lock, *busy)
                with contextlib.suppress(BrokenPipeError):  # its command then checks for itself
                    socket.send_fds(waiting, [b" "], [stream.fileno()])
            busy.add(waiting)
            waiting = None
        elif waiting is None and not busy:  # not earlier: the answer has the processors
            waiting = _checker(listening, lock)


def _checker(*others: IO[str] | socket.socket) -> socket.socket:
    """Fork; return where the fork waits for a connection. It ends if this process does."""
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        for one in (ours, *others):
            one.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        with contextlib.suppress(Exception):
            _answer(theirs)
        os._exit(0)
    theirs.close()
    return ours


def _answer(server: socket.socket) -> None:
    from haiku_state.errors.language import reading
    from haiku_state.exercises.cells import read
    from haiku_state.exercises.judge import judge
    from haiku_state.exercises.sandbox.process import KINDS, Process

    with contextlib.ExitStack() as stack:
        ready = [stack.enter_context(Process(kind, True)) for kind in KINDS]
        _message, files, _flags, _address = socket.recv_fds(server, 1, 1)
        if not files:  # the server has ended
            return
        with socket.socket(fileno=files[0]) as stream, stream.makefile("rb") as lines:
            request = json.loads(lines.readline())
            exercise = read(request["name"], request["text"])
            with reading(request["language"]):
                result = judge(exercise, request["source"], Path(request["path"]), True, ready)
                answer = {"passed": result.passed, "text": str(result)}
            stream.sendall(json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    serve()
