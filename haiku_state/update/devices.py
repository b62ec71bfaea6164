"""The available devices, including simulated CPU devices."""

import contextlib
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

import jax
import numpy as np
from jax.sharding import Mesh

from haiku_state.compat import has_mesh, has_started, set_mesh
from haiku_state.errors import arguments
from haiku_state.errors.arguments import device_count

F = TypeVar("F", bound=Callable[..., Any])

MOST = 1024  # with so many, JAX starts in 3 s, and has 4,400 threads and 0.6 GB of memory
_FORCE = "--xla_force_host_platform_device_count"


def use_devices(count: int) -> list[jax.Device]:
    """Return the first ``count`` devices, simulating CPU devices if the machine has fewer.

    A CPU counts as one device unless JAX is told otherwise before its first computation. This
    function tells JAX, so it must be called first. For more than one device, it also sets the
    variable ``NPROC``, unless that is already set, so that XLA has at least four threads per
    device: with one thread per device, collectives of steps that are dispatched ahead may deadlock.
    If the function fails, the environment does not change.

    Args:
      count: how many devices, 1–1024.

    Returns:
      Accelerators if there are enough of them, otherwise CPU devices.

    Raises:
      ArgumentError: ``count`` is out of range.
      DeviceCountError: JAX has already started with fewer devices, or the environment asks for
        fewer devices.

    Example:
      >>> from haiku_state import use_devices
      >>> len(use_devices(1))
      1

    References:
      JAX's documentation, `Distributed arrays and automatic parallelization
      <https://docs.jax.dev/en/latest/201/sharding.html>`__, on simulated devices.
    """
    before, was_started = dict(os.environ), has_started()
    request_devices(count, "count")
    try:
        devices = jax.local_devices()
        if len(devices) < count:
            devices = jax.local_devices(backend="cpu")
        if len(devices) < count:
            set_by = None if was_started else _count_is_set_by(before)
            raise device_count(count, len(devices), set_by)
    except BaseException:  # as if it had not been called
        os.environ.clear()
        os.environ.update(before)
        raise
    return devices[:count]


def in_mesh(mesh: Mesh | None) -> contextlib.AbstractContextManager[Any]:
    """Replace a mesh that ``jax.set_mesh`` has put in the context.

    Args:
      mesh: the mesh of what runs inside; None for what names its devices itself.
    """
    return set_mesh(mesh) if has_mesh() else contextlib.nullcontext()


def outside_mesh(function: F) -> F:
    """Let a function name its devices itself, whatever mesh is in the context."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        with in_mesh(None):
            return function(*args, **kwargs)

    return cast(F, called)


def request_devices(count: int, argument: str) -> None:
    """Ask for devices in the environment, before JAX starts.

    Args:
      count: how many, 1–1024.
      argument: the name that the caller's argument has.
    """
    if not 1 <= count <= MOST:
        raise arguments.device_number(argument, count, MOST)
    flags = os.environ.get("XLA_FLAGS", "")
    if _FORCE not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {_FORCE}={count}".strip()
    if count > 1:
        # a collective keeps one thread per device waiting, and XLA's pool has one per device or
        # core; without collectives, more threads than cores make a step 15 % slower
        os.environ.setdefault("NPROC", str(max(4 * count, os.cpu_count() or 1)))


def _count_is_set_by(environment: Mapping[str, str]) -> str | None:
    """Return the variable of the environment that has chosen the number of CPU devices."""
    if _FORCE in environment.get("XLA_FLAGS", ""):
        return "XLA_FLAGS"
    return "JAX_NUM_CPU_DEVICES" if "JAX_NUM_CPU_DEVICES" in environment else None


def data_mesh(devices: Sequence[jax.Device] | None = None, axis_name: str = "devices") -> Mesh:
    """Arrange devices in a mesh with one axis, for :func:`shard_update` and similar functions.

    Args:
      devices: the devices of the mesh; by default, the devices of all processes.
      axis_name: the name of the mesh's only axis.

    Returns:
      A mesh with one axis, whose length is the number of devices.

    Raises:
      ArgumentError: ``devices`` is a name or a number instead of a list of devices.

    Example:
      >>> import jax
      >>> from haiku_state import data_mesh
      >>> dict(data_mesh(jax.devices()[:1]).shape)
      {'devices': 1}

    References:
      JAX's documentation, `jax.sharding.Mesh
      <https://docs.jax.dev/en/latest/jax.sharding.html>`__; unlike ``jax.make_mesh``, it has the
      same meaning in every version.
    """
    if error := arguments.devices(devices, "data_mesh({})"):
        raise error
    return Mesh(np.array(jax.devices() if devices is None else devices), (axis_name,))
