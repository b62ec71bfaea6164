"""Watch over processes that train as one: when one is lost, end the others at once."""

import atexit
import contextlib
import os
import re
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from typing import Any, NoReturn

import jax

from haiku_state.errors.processes import EndedProcessError, LostProcessError

LOST = 3
_LOOK = 1.0  # how often to look for errors, in seconds
_BROKEN = re.compile(r"gloo|nccl|coordination|connection (closed|reset) by peer|heartbeat", re.I)
_GUARD = "import sys; text = sys.stdin.buffer.read(); sys.stderr.buffer.write(text)"
_guards: "set[subprocess.Popen[bytes]]" = set()


class ProcessWatch:
    """What :func:`watch_processes` gives: it wants to hear of each update.

    Example:
      >>> from haiku_state import watch_processes
      >>> with watch_processes() as watch:
      ...     print(type(watch).__name__)
      ProcessWatch
    """

    def __init__(self, timeout: float, index: int, count: int) -> None:
        self._values: dict[str, Any] = {"present": index, "expected": count, "timeout": timeout}
        self._timeout, self._last = timeout, time.monotonic()
        self._pending: Any = None
        self._ended = threading.Event()
        self._guard = None
        if count > 1:
            self._guard = _guard(_as_printed(EndedProcessError(**self._values)))
            threading.Thread(target=self._wait, name="watch_processes", daemon=True).start()

    def progress(self, result: Any = None) -> None:
        """Say that an update has come to its end.

        Args:
          result: what the update returned, the metrics say. It is waited for: JAX returns before
            the computation is done.
        """
        self._pending = result
        jax.block_until_ready(result)
        self._pending, self._last = None, time.monotonic()

    def _is_lost(self, error: BaseException) -> bool:
        """Say whether an error tells that another process is lost."""
        broken = isinstance(error, RuntimeError) and _BROKEN.search(str(error)) is not None
        return broken and self._guard is not None

    def _loss(self) -> LostProcessError:
        """Give the error that tells that another process is lost."""
        return LostProcessError(**self._values)

    def _stop(self) -> None:
        """Wait for no more progress."""
        self._ended.set()

    def _end(self) -> None:
        """Watch no longer, not even over how this process ends."""
        self._stop()
        if self._guard is not None:
            _dismiss(self._guard)

    def _wait(self) -> None:
        # JAX releases Python's lock while it waits for the others, so this thread runs
        failed = False
        while not self._ended.wait(max(0.0, min(_LOOK, self._left()))):
            failed_before, failed = failed, self._has_failed()
            # an error that is there for a while has not reached the thread that should raise it
            if self._left() <= 0 or (failed and failed_before):
                sys.stderr.write(_as_printed(self._loss()))
                end_processes(LOST)

    def _left(self) -> float:
        return self._last + self._timeout - time.monotonic()

    def _has_failed(self) -> bool:
        """Say whether one device has met an error while another one waits on."""
        try:
            for leaf in jax.tree.leaves(self._pending):
                for shard in getattr(leaf, "addressable_shards", ()):
                    if shard.data.is_ready():
                        shard.data.block_until_ready()
        except Exception as error:  # also of an array that has been donated meanwhile
            return self._is_lost(error)
        return False


@contextlib.contextmanager
def watch_processes(timeout: float = 300) -> Iterator[ProcessWatch]:
    """End this process, and say why, when another one dies or stands still.

    A process that vanishes leaves the others inside an update that waits for it, for ever or until
    JAX aborts. Around the training loop, this ends them in time:

    - An update fails because a connection broke: ``LostProcessError`` is raised.
    - No progress for ``timeout`` seconds, or an error on some devices that leaves the others
      waiting: the text of ``LostProcessError`` on stderr, and exit code 3.
    - JAX aborts the process, as it does when process 0 dies, or a signal ends it: the text of
      ``EndedProcessError`` on stderr, after JAX's own words, which cannot be kept back.

    After an error that leaves the ``with`` block, of whatever class, the program ends without
    waiting for the others, with exit code 3 for a lost process and 1 otherwise; so they notice. A
    program that catches it calls :func:`end_processes` when it is done.

    Args:
      timeout: in seconds, longer than the longest update; the first one includes the compilation.

    Returns:
      A context manager. Its target has ``progress(result)``, to be called after each update.

    Raises:
      LostProcessError: a connection to another process broke.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state import jit_update, watch_processes
      >>> run = jit_update(lambda total, batch, *, axis_name=None: (total + batch["x"].sum(), {}))
      >>> total = jnp.float32(0)
      >>> with watch_processes(timeout=300) as watch:
      ...     for batch in [{"x": jnp.ones(3)}] * 2:
      ...         total, metrics = run(total, batch)
      ...         watch.progress(total)
      >>> print(total)
      6.0

    References:
      JAX's documentation, `Introduction to multi-controller JAX
      <https://docs.jax.dev/en/latest/multi_process.html>`__.
    """
    with watching(timeout, jax.process_index(), jax.process_count()) as watch:
        yield watch


@contextlib.contextmanager
def watching(timeout: float, index: int, count: int) -> Iterator[ProcessWatch]:
    """Do what :func:`watch_processes` does, also before JAX knows the processes."""
    watch = ProcessWatch(timeout, index, count)
    try:
        yield watch
    except BaseException as error:
        watch._stop()
        code = error.code if isinstance(error, SystemExit) else 1
        if not code:
            watch._end()
            raise
        lost = watch._is_lost(error)
        # registered after JAX's own, so it runs before: JAX would wait minutes for the others
        atexit.register(end_processes, LOST if lost else code if isinstance(code, int) else 1)
        if lost:
            raise watch._loss() from error
        raise
    watch._end()


def end_processes(code: int = 0) -> NoReturn:
    """End this process at once, without waiting for the others.

    At its normal end JAX waits until all processes have come to theirs. After one is lost that
    takes minutes, and ends in an abort. This writes out what has been printed, and ends; other
    functions that were registered to run at the end do not run.

    Args:
      code: the exit code.

    Example:
      >>> from haiku_state import end_processes
      >>> def main(train, save):
      ...     try:
      ...         train()
      ...     except RuntimeError:
      ...         save()
      ...         end_processes(3)
      >>> main(lambda: print("trained"), lambda: print("saved"))
      trained

    References:
      Python's documentation, `os._exit <https://docs.python.org/3/library/os.html#os._exit>`__.
    """
    for guard in tuple(_guards):
        _dismiss(guard)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _guard(text: str) -> "subprocess.Popen[bytes]":
    """Start a process that prints the text when this one ends, however it ends."""
    guard = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _GUARD], stdin=subprocess.PIPE, start_new_session=True
    )
    _guards.add(guard)
    with contextlib.suppress(OSError):
        assert guard.stdin is not None
        guard.stdin.write(text.encode())
        guard.stdin.flush()
    return guard


def _dismiss(guard: "subprocess.Popen[bytes]") -> None:
    _guards.discard(guard)
    guard.kill()
    guard.wait()
    if guard.stdin is not None:
        guard.stdin.close()


def _as_printed(error: Exception) -> str:
    return "".join(traceback.format_exception_only(error))
