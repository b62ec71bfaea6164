"""Start processes that train as one: JAX connects them, here its arguments are checked."""

import atexit
import functools
import os
import re
import socket
import sys
from collections.abc import Mapping
from typing import Any

import jax

from haiku_state.compat import (
    choose_collectives,
    connectable_cpu_devices,
    has_started,
    process_timeouts,
    scheduler_processes,
)
from haiku_state.errors import arguments
from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import translated
from haiku_state.errors.processes import LateStartError
from haiku_state.exchange import in_all, interruptible, values_of_all
from haiku_state.processes.watch import check_timeout, end_at_exit, watching
from haiku_state.update.devices import request_devices

# JAX ends a process by an abort with a stack dump, so our message comes these seconds before
GRACE = 40

JOINING = _(
    "haiku_state: process {index} of {count} joins the others at {address} and waits for them for "
    "at most {timeout:g} s. If JAX aborts this process with a stack dump, now or later, then a "
    "process is missing or lost, or two processes have the same process_id: look at what the other "
    "processes printed."
)
_ADDRESS = re.compile(r"(\[[^]]+\]|[^][:]+):([1-9]\d{0,4})")


def start_processes(
    coordinator: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    *,
    devices: int | None = None,
    timeout: float = 60,
    settings: Mapping[str, Any] | None = None,
) -> None:
    """Connect this process to the other processes, so that JAX can use the devices of all of them.

    Call this function in each process before JAX's first computation. When it returns, all
    processes have joined, and ``jax.devices()`` lists the devices of all processes. CPU devices
    communicate through gloo. The processes are connected by ``jax.distributed.initialize``, which
    can end a process only by an abort with a stack dump. For this reason, a line on stderr first
    says what the process waits for.

    If there is only one process on a machine, it uses all devices of this machine, under every
    scheduler. If Slurm or Open MPI starts several processes on one machine, each process gets the
    device whose index is its local id.

    Args:
      coordinator: ``"HOST:PORT"``, the address at which process 0 listens and to which the other
        processes connect.
      num_processes: the number of processes, at least 1.
      process_id: the index of this process, from 0 to ``num_processes - 1``. If neither this
        argument nor ``coordinator`` and ``num_processes`` are passed, JAX gets all three values
        from the scheduler (Slurm, Open MPI and others).
      devices: the number of devices that this process needs, 1–1024. If it has fewer, CPU devices
        are simulated, as by :func:`.use_devices`, which cannot be called once JAX has started.
      timeout: the time in seconds that this process waits for the other processes. If some of them
        have not joined by then, this process prints the text of ``ProcessStartError`` on stderr and
        ends with exit code 3.
      settings: values by name that must be the same in all processes, such as the seed and the
        number of epochs. Without this check, processes with different settings would silently
        continue to train or wait forever.

    Raises:
      ArgumentError: an argument is malformed, out of range or missing.
      LateStartError: JAX has already started.
      ProcessStartError: no scheduler is found, process 0 cannot listen at the address, JAX cannot
        connect the processes, JAX is too old for several CPU devices in each process, or the
        processes have different settings or numbers of processes, in which case every process
        raises this error.

    Example:
      >>> from haiku_state.processes import start_processes
      >>> start_processes("localhost", 2, 0)
      Traceback (most recent call last):
        ...
      haiku_state.errors.base.ArgumentError: coordinator is 'localhost', but it must be HOST:PORT.
        why:   every process must pass the address at which process 0 listens, the number of processes, and its own id, counted from 0; if a scheduler starts the processes, pass nothing
        more:  python -m haiku_state read api/processes

    References:
      JAX's documentation, `Introduction to multi-controller JAX
      <https://docs.jax.dev/en/latest/501/multiprocess.html>`__.
    """  # noqa: E501
    check_timeout(timeout)
    address, count, index = _identity(coordinator, num_processes, process_id, timeout)
    if has_started():
        raise LateStartError
    if index == 0:
        _check_port(address)
    if devices is not None:
        request_devices(devices, "devices")
    if count > 1:
        line = translated(JOINING).format(
            address=address, count=count, index=index, timeout=timeout
        )
        print(line, file=sys.stderr, flush=True)
    unjoined = arguments.unjoined(address, count, index)
    choose_collectives()
    with watching(timeout, count, unjoined):
        try:
            connect = functools.partial(
                jax.distributed.initialize,
                address,
                count,
                index,
                # Under Slurm and Open MPI, JAX would take None for the one device of the local id,
                # and waste the others of a machine with one process. An empty list hides nothing.
                local_device_ids=[] if _is_alone_on_machine() else None,
                **process_timeouts(round(timeout) + GRACE),
            )
            interruptible(connect)
        except RuntimeError as error:
            raise unjoined from error
        finally:
            if count > 1:
                atexit.register(end_at_exit, index, count, timeout + GRACE)
        _check_same({"num_processes": count, **(settings or {})}, timeout + GRACE)
        here = jax.local_device_count()  # JAX looks for the devices of all processes
    most = connectable_cpu_devices()
    if jax.default_backend() == "cpu" and most is not None and count > 1 and here > most:
        raise arguments.unconnectable_devices(here)


def _identity(address: Any, count: Any, index: Any, timeout: float) -> tuple[str, int, int]:
    """Check the arguments, or ask the scheduler where there are none."""
    if (address, count, index) == (None, None, None):
        return _scheduled(timeout)
    match = _ADDRESS.fullmatch(str(address))
    if match is None or int(match[2]) >= 2**16:
        name, value, expected = "coordinator", address, "HOST:PORT"
    elif not isinstance(count, int) or count < 1:
        name, value, expected = "num_processes", count, "1, 2, …"
    elif not isinstance(index, int) or not 0 <= index < count:
        name, value, expected = "process_id", index, "0, …, num_processes - 1"
    else:
        return address, count, index
    raise arguments.process_identity(name, value, expected)


def _scheduled(timeout: float) -> tuple[str, int, int]:
    """Return what JAX reads from the variables that a scheduler has set."""
    try:
        address, count, index = scheduler_processes(round(timeout))
    except Exception as error:  # each scheduler is asked in its own way
        raise arguments.no_scheduler(error) from error
    if address is None or count is None or index is None:
        raise arguments.no_scheduler(None)
    return address, count, index


def _is_alone_on_machine() -> bool:
    """Return whether the scheduler has started one process on each machine."""
    if "JAX_LOCAL_DEVICE_IDS" in os.environ:  # which of them to use has been chosen there
        return False
    local = os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE")
    if local is not None:  # JAX asks Open MPI first, which may itself run under Slurm
        return local == "1"
    # each machine of a Slurm step runs at least one of its tasks
    tasks = os.environ.get("SLURM_NTASKS")
    return tasks is not None and tasks == os.environ.get("SLURM_STEP_NUM_NODES")


def _check_same(settings: Mapping[str, Any], timeout: float) -> None:
    """Reject settings that are not the same in all processes, in each of them."""
    error = arguments.settings_differ(values_of_all(dict(settings), timeout))
    if error is not None:
        raise in_all(error)


def _check_port(address: str) -> None:
    """Reject a port that process 0 cannot use: JAX would end with a segmentation fault."""
    try:
        socket.create_server(("", int(address.rpartition(":")[2]))).close()
    except OSError as error:
        raise arguments.taken_port(address, error) from error
