"""The devices that there are, forced CPU devices among them."""

import os
from collections.abc import Sequence

import jax
import numpy as np
from jax.sharding import Mesh

from haiku_state.errors import DeviceCountError

_FORCE = "--xla_force_host_platform_device_count"


def use_devices(count: int) -> list[jax.Device]:
    """Give the first ``count`` devices, forcing CPU devices where the machine has fewer.

    A CPU counts as one device unless JAX is told otherwise before its first computation; this
    tells it, so call it first. It also gives XLA four threads per device, by the variable
    ``NPROC``: with one per device, collectives of steps that are started ahead may never end.

    Args:
      count: how many devices, at least 1.

    Returns:
      Accelerators if there are enough of them, else CPU devices.

    Raises:
      DeviceCountError: JAX has already started with fewer devices.

    Example:
      >>> from haiku_state import use_devices
      >>> len(use_devices(1))
      1

    References:
      JAX's documentation, `Sharded computation
      <https://docs.jax.dev/en/latest/sharded-computation.html>`__, on simulated devices.
    """
    flags = os.environ.get("XLA_FLAGS", "")
    if _FORCE not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {_FORCE}={count}".strip()
    # a collective keeps one thread per device waiting, and XLA's pool has one per device or core
    os.environ.setdefault("NPROC", str(max(4 * count, os.cpu_count() or 1)))
    devices = jax.local_devices()
    if len(devices) < count:
        devices = jax.local_devices(backend="cpu")
    if len(devices) < count:
        raise DeviceCountError(wanted=count, started=len(devices))
    return devices[:count]


def data_mesh(devices: Sequence[jax.Device] | None = None, axis_name: str = "data") -> Mesh:
    """Put devices in a row, along which :func:`shard_update` and its like cut the batch.

    Args:
      devices: the devices; all of all processes by default.
      axis_name: the name of the mesh's only axis.

    Returns:
      A mesh with one axis, as long as there are devices.

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
