"""The available devices, including simulated CPU devices."""

import os
from collections.abc import Sequence

import jax
import numpy as np
from jax.sharding import Mesh

from haiku_state.errors import ArgumentError, DeviceCountError
from haiku_state.errors.language import deferred as _

MOST = 1024  # with so many, JAX starts in 3 s, and has 4,400 threads and 0.6 GB of memory
_FORCE = "--xla_force_host_platform_device_count"


def use_devices(count: int) -> list[jax.Device]:
    """Return the first ``count`` devices, simulating CPU devices if the machine has fewer.

    A CPU counts as one device unless JAX is told otherwise before its first computation; this
    tells it, so call it first. It also gives XLA four threads per device, by the variable
    ``NPROC``: with only one per device, collectives of steps that are dispatched ahead may
    deadlock. If it fails, the environment is as it was.

    Args:
      count: how many devices, 1–1024.

    Returns:
      Accelerators if there are enough of them, else CPU devices.

    Raises:
      ArgumentError: ``count`` is out of range.
      DeviceCountError: JAX has already started with fewer devices.

    Example:
      >>> from haiku_state import use_devices
      >>> len(use_devices(1))
      1

    References:
      JAX's documentation, `Distributed arrays and automatic parallelization
      <https://docs.jax.dev/en/latest/201/sharding.html>`__, on simulated devices.
    """
    before = dict(os.environ)
    request_devices(count, "count", "use_devices({})")
    try:
        devices = jax.local_devices()
        if len(devices) < count:
            devices = jax.local_devices(backend="cpu")
        if len(devices) < count:
            raise DeviceCountError(wanted=count, started=len(devices))
    except BaseException:  # as if it had not been called
        os.environ.clear()
        os.environ.update(before)
        raise
    return devices[:count]


def request_devices(count: int, argument: str, call: str) -> None:
    """Ask for devices in the environment, before JAX starts.

    Args:
      count: how many, 1–1024.
      argument: the name that the caller's argument has.
      call: the call that is being made, with ``{}`` in place of the number.
    """
    if not 1 <= count <= MOST:
        raise ArgumentError(
            argument=argument,
            value=count,
            expected=f"1–{MOST}",
            wrong=call.format(count),
            right=call.format(min(max(count, 1), MOST)),
            why=_(
                "each simulated device has threads of its own, and no machine has more real ones"
            ),
            more="api/update",
        )
    flags = os.environ.get("XLA_FLAGS", "")
    if _FORCE not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {_FORCE}={count}".strip()
    # a collective keeps one thread per device waiting, and XLA's pool has one per device or core
    os.environ.setdefault("NPROC", str(max(4 * count, os.cpu_count() or 1)))


def data_mesh(devices: Sequence[jax.Device] | None = None, axis_name: str = "data") -> Mesh:
    """Put devices in a row, along which :func:`shard_update` and the like shard the batch.

    Args:
      devices: the devices; by default, those of all processes.
      axis_name: the name of the mesh's only axis.

    Returns:
      A mesh with one axis, whose length is the number of devices.

    Example:
      >>> import jax
      >>> from haiku_state import data_mesh
      >>> dict(data_mesh(jax.devices()[:1]).shape)
      {'data': 1}

    References:
      JAX's documentation, `jax.sharding.Mesh
      <https://docs.jax.dev/en/latest/jax.sharding.html>`__; unlike ``jax.make_mesh``, it has the
      same meaning in every version.
    """
    return Mesh(np.array(jax.devices() if devices is None else devices), (axis_name,))
