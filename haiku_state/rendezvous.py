"""Where processes meet before JAX connects them: who does not come is known by name."""

import contextlib
import json
import os
import socket
import time
from typing import Any

from haiku_state.errors import as_lines
from haiku_state.errors.processes import (
    CoordinatorAddressError,
    MissingProcessError,
    ProcessArgumentError,
)


def meet(address: str, count: int, index: int, timeout: float) -> None:
    """Wait until all processes have come.

    Process 0 listens at the address where JAX will listen later; the others call it, and all hear
    who is missing. JAX itself aborts a process that waits too long, or lets it wait for ever.

    Args:
      address: ``"HOST:PORT"`` of process 0.
      count: how many processes there are.
      index: which of them this is.
      timeout: how long the first of them waits for the last, in seconds.

    Raises:
      CoordinatorAddressError: process 0 cannot listen there.
      MissingProcessError: not all came in time.
      ProcessArgumentError: process 0 expects another number of processes.

    Example:
      >>> from haiku_state.rendezvous import meet
      >>> meet("localhost:1234", count=1, index=0, timeout=5)

    References:
      Python's documentation, `socket <https://docs.python.org/3/library/socket.html>`__.
    """
    host, _, port = address.rpartition(":")
    if index == 0:
        try:
            missing, why = _receive(int(port), count, timeout), ""
        except OSError as error:
            raise CoordinatorAddressError(
                address=address,
                reason=os.strerror(error.errno or 0),
                expected=count,
                other=f"{host}:{int(port) % 65535 + 1}",
            ) from error
    else:
        missing, why = _call((host.strip("[]"), int(port)), count, index, timeout)
    if isinstance(missing, int):
        raise ProcessArgumentError(
            argument="num_processes",
            value=count,
            expected=missing,
            wrong=f"{address!r}, {count}, {index}",
            right=f"{address!r}, {missing}, {index}",
        )
    if missing:
        raise MissingProcessError(
            address=address,
            expected=count,
            timeout=timeout,
            missing=as_lines(f"process_id={absent}{why}" for absent in missing),
            present=index,
            absent=missing[0],
        )


def _receive(port: int, count: int, timeout: float) -> list[int]:
    """Let the others call process 0, and tell all of them who is missing."""
    dual = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if dual else socket.AF_INET
    deadline = time.monotonic() + timeout
    callers: dict[int, socket.socket] = {}
    with contextlib.ExitStack() as stack:
        server = socket.create_server(("", port), family=family, dualstack_ipv6=dual)
        stack.enter_context(server)
        while len(callers) < count - 1 and (left := deadline - time.monotonic()) > 0:
            server.settimeout(left)
            with contextlib.suppress(OSError, ValueError, TypeError):  # nobody, or a stranger
                caller = stack.enter_context(server.accept()[0])
                caller.settimeout(1)
                theirs, index, left = json.loads(caller.makefile().readline(99))
                if theirs != count:
                    caller.sendall(b"%d\n" % count)
                elif index in range(1, count):
                    # the first to come sets the time for all
                    deadline = min(deadline, time.monotonic() + left)
                    callers[index] = caller
        missing = [index for index in range(1, count) if index not in callers]
        for caller in callers.values():
            with contextlib.suppress(OSError):
                caller.sendall(json.dumps(missing).encode() + b"\n")
    return missing


def _call(address: tuple[str, int], count: int, index: int, timeout: float) -> tuple[Any, str]:
    """Call process 0, and hear who is missing, or how many processes it expects."""
    deadline = time.monotonic() + timeout
    why = ""
    while (left := deadline - time.monotonic()) > 0:
        try:
            with socket.create_connection(address, timeout=left) as server:
                server.settimeout(left + 5)  # process 0 answers before, if it lives
                server.sendall(json.dumps([count, index, left]).encode() + b"\n")
                return json.loads(server.makefile().readline()), ""
        except OSError as error:
            why = f" ({error.strerror or error})"
        except ValueError:
            why = " (EOF)"
        time.sleep(0.1)
    return [0], why
