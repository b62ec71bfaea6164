"""What processes that train together tell each other, apart from what their devices compute.

It is JSON: others may write to the port of the coordinator, and a pickle would run code.
"""

import itertools
import json
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import jax

from haiku_state.compat import key_value_store
from haiku_state.errors import LostProcessError

TIMEOUT = 300  # seconds; JAX gives processes as long to connect

_exchanges = itertools.count()


def gathered(value: Any) -> list[Any]:
    """Return the values of all processes, in their order; each of them must call this."""
    try:
        return values_of_all(value, TIMEOUT)
    except RuntimeError as error:
        present, expected = jax.process_index(), jax.process_count()
        raise LostProcessError(present=present, expected=expected, timeout=TIMEOUT) from error


def values_of_all(value: Any, seconds: float) -> list[Any]:
    """Exchange a value with all processes, through the key-value store that connects them.

    Unlike collectives, it needs no devices, and works where the processes disagree on anything.

    Args:
      value: what this process gives, as JSON takes it: tuples come back as lists, and
        what JSON does not know, such as a path, as text.
      seconds: how long to wait for the others.

    Returns:
      The value of each process, in the order of their ids.

    Raises:
      RuntimeError: one of them is lost, or does not come.
    """
    store, index = key_value_store()
    if store is None:  # this process is alone
        return [value]
    name, wait = f"haiku_state/{next(_exchanges)}", round(1000 * seconds)
    # as text: jaxlib 0.4.38 dies on Python 3.13 of a segmentation fault when it returns bytes
    store.key_value_set(f"{name}/{index:09}", json.dumps(value, default=str))
    interruptible(lambda: store.wait_at_barrier(f"{name}/given", wait))
    found = sorted(store.key_value_dir_get(name))
    # the store ends with process 0, which must not be before all have read it
    interruptible(lambda: store.wait_at_barrier(f"{name}/taken", wait))
    if index == 0:  # all others may have ended by now, or are about to
        store.key_value_delete(name)
    return [json.loads(text) for _, text in found]


def all_end_well(is_well: bool, seconds: float) -> bool:
    """Tell all processes how this one ends, and learn whether all of them have come to a good end.

    Args:
      is_well: whether this process does.
      seconds: how long to wait for the others.
    """
    store, index = key_value_store()
    if store is None:
        return is_well
    name, wait = "haiku_state/end", round(1000 * seconds)
    try:
        store.key_value_set(f"{name}/{index:09}", json.dumps(is_well))
        store.wait_at_barrier(f"{name}/given", wait)
        found = store.key_value_dir_get(name)
        store.wait_at_barrier(f"{name}/taken", wait)
    except RuntimeError:
        return False
    return all(json.loads(text) for _, text in found)


def in_all(error: Exception) -> Exception:
    """Mark an error that each process raises, because each has been told the same.

    All of them end of it, so they wait for each other at exit, as after a normal end: a process
    that ended at once would take the others with it before they have printed their error.
    """
    error.in_all_processes = True  # type: ignore[attr-defined]
    return error


def interruptible(call: Callable[[], Any], seconds: float | None = None) -> Any:
    """Call a function in a thread: Python sees no Ctrl-C while the main thread waits in C++.

    Raises:
      TimeoutError: it has not returned after so many seconds.
    """
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except Exception as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future.result(seconds)
