"""Watch over processes that train as one: when one is lost, the others end."""

import contextlib
import os
import re
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import TimeoutError
from typing import Any, NoReturn

import jax
from jax.experimental import multihost_utils

from haiku_state.compat import has_joined, key_value_store
from haiku_state.errors import HaikuStateError, arguments
from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import translated
from haiku_state.errors.processes import LostProcessError
from haiku_state.exchange import all_end_well, interruptible

LOST = 3  # the exit code after another process is lost

FAREWELL = 1  # seconds that a process which has failed gives the others to hear of it

UNFINISHED = _(
    "haiku_state: process {index} of {count} has finished, but another process has failed or has "
    "not finished, and it may be waiting for this process"
)

# an XlaRuntimeError says so, and in newer versions of JAX a ValueError
_BROKEN = re.compile(
    r"gloo|nccl|coordination service|connection (closed|reset) by peer|heartbeat", re.IGNORECASE
)
_lost = threading.Event()


class ProcessWatch:
    """The object that :func:`watch_processes` yields; report each update to this object.

    Example:
      >>> from haiku_state.processes import watch_processes
      >>> with watch_processes() as watch:
      ...     print(type(watch).__name__)
      ProcessWatch
    """

    def __init__(self, timeout: float) -> None:
        self._timeout, self._last = timeout, time.monotonic()
        self._done = threading.Event()

    def progress(self, result: Any = None) -> None:
        """Report that an update has finished.

        Args:
          result: the result of the update, such as the metrics. The method waits until the result
            is computed, because JAX returns before the computation is done.
        """
        jax.block_until_ready(result)
        self._last = time.monotonic()

    def _wait(self, silence: HaikuStateError) -> None:
        # JAX releases Python's lock while it waits for other processes, so this thread runs
        while (left := self._last + self._timeout - time.monotonic()) > 0:
            if self._done.wait(left):
                return
        sys.stderr.write("".join(traceback.format_exception_only(silence)))
        if isinstance(silence, LostProcessError):
            # where process 0 is stopped, it never answers
            with contextlib.suppress(RuntimeError, TimeoutError):
                interruptible(lambda: all_end_well(False, FAREWELL), 2 * FAREWELL)
            _end_last(LOST)
        end_processes(LOST)  # the others have not joined, so none of them waits


@contextlib.contextmanager
def watching(timeout: float, count: int, silence: HaikuStateError) -> Iterator[ProcessWatch]:
    """End this process with a message after ``timeout`` seconds without progress.

    A single process waits for nobody, so nothing is watched there.
    """
    watch = ProcessWatch(timeout)
    if count > 1:
        threading.Thread(target=watch._wait, args=[silence], daemon=True).start()
    try:
        yield watch
    finally:
        watch._done.set()


@contextlib.contextmanager
def watch_processes(timeout: float = 300) -> Iterator[ProcessWatch]:
    """End this process with an explanation if another process dies or hangs.

    If a process dies, the other processes are left in an update that waits for it. This context
    manager, placed around the training loop, ends them in the following cases:

    - If an update fails because a connection is broken, ``LostProcessError`` is raised.
    - If there is no progress for ``timeout`` seconds, the process prints the text of
      ``LostProcessError`` on stderr and ends with exit code 3. The same happens if one device of
      this process has lost its connection while another device continues to wait.

    JAX watches the processes too and may react first: when process 0 dies, for example, JAX aborts
    the other processes with a stack dump. The line that :func:`start_processes` prints explains
    what such a stack dump means.

    At exit, each process waits until all processes have finished. If another process fails, or
    takes 40 seconds longer than the timeout of :func:`start_processes`, the waiting process says so
    on stderr and ends with exit code 3. A process that ends because of an exception does not wait,
    so that the other processes notice the failure at once. If all processes raise the same error,
    however, as they do for different settings, they wait for each other. After the loss of a
    process, the exit code is 3. An exception that the program catches has no effect on the exit.
    ``sys.exit`` waits; if the other processes cannot finish, call :func:`end_processes` instead.

    Args:
      timeout: the time in seconds without progress after which the process ends. It must be longer
        than the longest update; the first update includes the compilation.

    Returns:
      A context manager that yields a :class:`ProcessWatch`. Call its method ``progress(result)``
      after each update.

    Raises:
      ArgumentError: ``timeout`` is not a positive number of seconds.
      LostProcessError: the connection to another process is broken.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state import jit_update
      >>> from haiku_state.processes import watch_processes
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
      <https://docs.jax.dev/en/latest/501/multiprocess.html>`__.
    """
    check_timeout(timeout)
    index, count = (jax.process_index(), jax.process_count()) if has_joined() else (0, 1)
    lost = LostProcessError(present=index, expected=count, timeout=timeout)
    with watching(timeout, count, lost) as watch:
        try:
            yield watch
        except (RuntimeError, ValueError) as error:
            if isinstance(error, LostProcessError) or (count > 1 and _BROKEN.search(str(error))):
                _lost.set()
                raise lost from error
            raise


@contextlib.contextmanager
def watch_sigterm() -> Iterator[Callable[[int], bool]]:
    """Let a run that receives SIGTERM save a last checkpoint.

    A scheduler sends SIGTERM some time before it ends a process. With several processes, the signal
    may reach only one of them, although all of them must stop after the same update. After
    :func:`start_processes`, JAX therefore catches the signal and lets the processes agree on this
    update.

    Returns:
      A context manager that yields ``stops(update)``. Call this function after each update with the
      number of the update, 0, 1, …. It returns True if the program should save a checkpoint and end
      after this update. Inside the context, SIGTERM does nothing else.

    Example:
      >>> import os, signal
      >>> from haiku_state.processes import watch_sigterm
      >>> with watch_sigterm() as stops:
      ...     for update in range(5):
      ...         if update == 2:
      ...             os.kill(os.getpid(), signal.SIGTERM)
      ...         if stops(update):
      ...             print("saved after", update)
      ...             break
      saved after 2

    References:
      JAX's documentation, `Fault Tolerant Distributed JAX
      <https://docs.jax.dev/en/latest/501/fault-tolerance.html>`__.
    """
    if has_joined() and jax.process_count() > 1:
        yield multihost_utils.reached_preemption_sync_point
        return
    received = threading.Event()
    before = signal.signal(signal.SIGTERM, lambda *_: received.set())
    try:
        yield lambda update: received.is_set()
    finally:
        signal.signal(signal.SIGTERM, before)


def end_processes(code: int = 0) -> NoReturn:
    """End this process at once, without waiting for the others.

    On a normal exit, JAX waits until all processes have finished. After the loss of a process, this
    wait takes minutes and ends in an abort. This function instead flushes the output that has been
    printed and exits at once, without running the other functions that were registered to run at
    exit.

    Args:
      code: the exit code of the process.

    Example:
      >>> from haiku_state.processes import end_processes
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
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def end_in_failure(code: int) -> NoReturn:
    """End this process, and first tell those that wait for it at their end."""
    all_end_well(False, FAREWELL)
    _end_last(code)


def _end_last(code: int) -> NoReturn:
    _store, index = key_value_store()
    if index == 0:
        time.sleep(FAREWELL)  # JAX aborts those that are still there when it has ended
    end_processes(code)


def end_at_exit(index: int, count: int, timeout: float) -> None:
    """Keep JAX from waiting at exit for a process that is lost, or that has failed.

    :func:`start_processes` registers it right after JAX's own function, so it runs just before
    that one, and after all functions that the program has registered since. JAX itself would abort
    a process that has ended well, if another one cannot.
    """
    error = getattr(sys, "last_value", None)  # Python sets it when one has left the program
    if _lost.is_set() or isinstance(error, LostProcessError):
        end_in_failure(LOST)
    if error is not None and not hasattr(error, "in_all_processes"):
        end_in_failure(1)
    if not all_end_well(True, timeout):
        sys.stderr.write(translated(UNFINISHED).format(index=index, count=count) + "\n")
        _end_last(LOST)


def check_timeout(timeout: Any) -> None:
    """Reject a timeout that a thread cannot wait for."""
    if not (isinstance(timeout, int | float) and 0 < timeout <= threading.TIMEOUT_MAX):
        raise arguments.timeout(timeout)
