"""Many processes that train as one: start them, watch them, give each its part of the data."""

import re
from collections.abc import Sequence
from typing import Any, TypeVar

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from haiku_state.compat import (
    choose_collectives,
    connectable_cpu_devices,
    has_started,
    scheduler_processes,
)
from haiku_state.errors import BatchDivisionError
from haiku_state.errors.processes import (
    LateStartError,
    ProcessArgumentError,
    ProcessDevicesError,
    ProcessEnvironmentError,
)
from haiku_state.rendezvous import meet
from haiku_state.watch import ProcessWatch as ProcessWatch
from haiku_state.watch import end_processes as end_processes
from haiku_state.watch import watch_processes as watch_processes
from haiku_state.watch import watching

Tree = TypeVar("Tree")

_ADDRESS = re.compile(r"(\[[^]]+\]|[^][:]+):(\d{1,5})")
_ARGUMENTS = ("coordinator", "num_processes", "process_id")


def start_processes(
    coordinator: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    *,
    timeout: float = 60,
) -> None:
    """Connect this process with the others, so that their devices become one set.

    Call it in each process, before JAX's first computation. When it returns, all processes have
    come, and ``jax.devices()`` lists the devices of all. CPU devices reach each other by gloo.

    Args:
      coordinator: ``"HOST:PORT"``, where process 0 listens and the others find it.
      num_processes: how many processes there are, at least 1.
      process_id: which of them this is, from 0 to ``num_processes - 1``. Without these three, the
        scheduler's environment is asked (Slurm, Open MPI and others), by JAX itself.
      timeout: how long the first of the processes waits for the last, in seconds.

    Raises:
      ProcessArgumentError: an argument is malformed, out of range or left out.
      ProcessEnvironmentError: nothing is given, and no scheduler is found.
      LateStartError: JAX has already started.
      CoordinatorAddressError: process 0 cannot listen at the address.
      MissingProcessError: not all processes came in time.
      ProcessDevicesError: this JAX is too old for several CPU devices in each process.

    Example:
      >>> from haiku_state import start_processes
      >>> start_processes("localhost", 2, 0)
      Traceback (most recent call last):
        ...
      haiku_state.errors.processes.ProcessArgumentError: coordinator is 'localhost', and it must be HOST:PORT.
        wrong: start_processes('localhost', 2, 0)
        right: start_processes('localhost:1234', 2, 0)
        why:   all processes give the address at which process 0 listens and their number, and each an id of its own, counted from 0; where a scheduler starts them, give nothing
        more:  docs/api/distributed.rst

    References:
      JAX's documentation, `Introduction to multi-controller JAX
      <https://docs.jax.dev/en/latest/multi_process.html>`__.
    """  # noqa: E501
    address, count, index = _given(coordinator, num_processes, process_id, timeout)
    if has_started():
        raise LateStartError
    meet(address, count, index, timeout)
    choose_collectives()
    with watching(timeout, index, count):
        # JAX gives up by an abort with a stack dump, so its patience must be the longer one
        patience = round(timeout) + 60
        jax.distributed.initialize(address, count, index, initialization_timeout=patience)
        devices = jax.local_device_count()
    most = connectable_cpu_devices()
    if jax.default_backend() == "cpu" and most is not None and count > 1 and devices > most:
        raise ProcessDevicesError(devices=devices)


def process_part() -> tuple[int, int]:
    """Say which part of each batch this process reads.

    Returns:
      ``(index, count)``, the id of this process and the number of all. Of a batch of ``rows`` rows
      it reads ``rows * index // count`` to ``rows * (index + 1) // count``.

    Example:
      >>> from haiku_state import process_part
      >>> process_part()
      (0, 1)

    References:
      JAX's documentation, `jax.process_index
      <https://docs.jax.dev/en/latest/_autosummary/jax.process_index.html>`__.
    """
    return jax.process_index(), jax.process_count()


def is_main_process() -> bool:
    """Say whether this is the process that writes what is to be written once.

    Metrics are the same on every process, and so are the params: one prints and saves them.

    Returns:
      True in process 0.

    Example:
      >>> from haiku_state import is_main_process
      >>> if is_main_process():
      ...     print("loss 0.5")
      loss 0.5

    References:
      JAX's documentation, `jax.process_index
      <https://docs.jax.dev/en/latest/_autosummary/jax.process_index.html>`__.
    """
    return jax.process_index() == 0


def global_batch(batch: Tree, mesh: Mesh) -> Tree:
    """Put together the rows that the processes have read, each its own.

    No rows travel: each device gets its part from the process that it belongs to.

    Args:
      batch: a PyTree of NumPy arrays of shape (rows here, …), the same shapes in every process.
      mesh: the devices of all processes; the batch is cut along its first axis.

    Returns:
      The same PyTree with leaves of shape (rows here × processes, …), in the order of the mesh.

    Raises:
      BatchDivisionError: the devices of this process do not divide its rows.

    Example:
      >>> import jax, numpy as np
      >>> from haiku_state import data_mesh, global_batch
      >>> mesh = data_mesh(jax.devices()[:1])
      >>> batch = global_batch({"x": np.arange(4, dtype=np.float32)}, mesh)
      >>> batch["x"].shape, batch["x"].sharding.mesh == mesh
      ((4,), True)

    References:
      JAX's documentation, `jax.make_array_from_process_local_data
      <https://docs.jax.dev/en/latest/_autosummary/jax.make_array_from_process_local_data.html>`__.
    """
    sharding = NamedSharding(mesh, PartitionSpec(mesh.axis_names[0]))
    parts = len(sharding.addressable_devices) * mesh.shape[mesh.axis_names[0]] // mesh.size

    def put(leaf: Any) -> jax.Array:
        if len(leaf) % parts:
            raise BatchDivisionError(
                rows=len(leaf),
                devices=parts,
                fitting=mesh.shape[mesh.axis_names[0]] * max(1, len(leaf) // parts),
                wrong="global_batch(batch, mesh)",
            )
        return jax.make_array_from_process_local_data(sharding, leaf)

    return jax.tree.map(put, batch)


def _given(address: Any, count: Any, index: Any, timeout: float) -> tuple[str, int, int]:
    """Check the arguments, or ask the scheduler where there are none."""
    given = [address, count, index]
    if given == [None, None, None]:
        try:
            address, count, index = scheduler_processes(round(timeout))
        except KeyError as error:
            raise ProcessEnvironmentError(missing=error.args[0]) from None
        if None in (address, count, index):
            raise ProcessEnvironmentError(missing="SLURM_PROCID, OMPI_COMM_WORLD_RANK, …")
        return address, count, index
    match = isinstance(address, str) and _ADDRESS.fullmatch(address)
    if not match or not 0 < int(match[2]) < 2**16:
        raise _argument(given, 0, "HOST:PORT", "localhost:1234")
    if type(count) is not int or count < 1:
        raise _argument(given, 1, "1, 2, …", 2)
    if type(index) is not int or not 0 <= index < count:
        raise _argument(given, 2, f"0, …, {count - 1}", count - 1)
    return address, count, index


def _argument(given: Sequence[Any], place: int, expected: str, fitting: Any) -> Exception:
    right = [*given[:place], fitting, *given[place + 1 :]]
    return ProcessArgumentError(
        argument=_ARGUMENTS[place],
        value=given[place],
        expected=expected,
        wrong=", ".join(map(repr, given)),
        right=", ".join(map(repr, right)),
    )
