"""An update step on many devices by ``pmap``: a leading device axis, and an axis name."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from haiku_state.errors import arguments
from haiku_state.errors.describe import division_error, with_dicts
from haiku_state.typing import Batch, R, StepFn, T
from haiku_state.update.replicas import replicate, split_batch, unreplicate
from haiku_state.update.runner import Runner


class _Pmap(Runner[T, R]):
    many_devices = True

    def __init__(self, step: StepFn[T, R], devices: Sequence[jax.Device], axis_name: str) -> None:
        super().__init__(step, axis_name)
        self._devices = devices
        self._pmap = functools.partial(jax.pmap, axis_name=axis_name, devices=devices)

    def compile(self, traced: Callable[..., Any], train_state: T) -> Any:
        donated = () if self.is_evaluation else 0
        return self._pmap(traced, out_axes=(0, None), donate_argnums=donated)

    def place(self, train_state: T) -> T:
        return replicate(with_dicts(train_state), self._devices, self.axis_name or "")

    def feed(self, batch: Batch) -> Batch:
        if error := division_error(batch, len(self._devices), "run.feed(batch)"):
            raise error
        return split_batch(batch, len(self._devices))

    def one(self, train_state: T) -> T:
        return unreplicate(train_state)

    def explain(self, train_state: T, batch: Batch) -> Any:
        return arguments.devices_axis(train_state, batch, len(self._devices))

    def copy(self, train_state: T) -> T:
        copied: T = self._pmap(lambda tree: jax.tree.map(jnp.copy, tree))(train_state)
        return copied


def pmap_update(
    update: StepFn[T, R],
    devices: Sequence[jax.Device] | None = None,
    axis_name: str = "devices",
    *,
    check_replicas: bool = True,
) -> Runner[T, R]:
    """Run an update step on many devices, each with its part of the batch.

    Gradients and metrics are averaged over the devices, so that every replica takes the same
    step; each device draws with its own random key. The replicas' state stays equal only if the
    modules average it, with the same name as their ``cross_replica_axis``.

    Args:
      update: a step from :func:`make_update` or :func:`make_evaluate`.
      devices: the devices to run on; by default, all devices of this process.
      axis_name: the name of the device axis.
      check_replicas: whether to check after the first call that the replicas are still equal.

    Returns:
      ``run(train_state, batch) -> (train_state, metrics)``. Train state and batch have a
      leading device axis, from ``run.place`` (:func:`replicate`) and ``run.feed``
      (:func:`split_batch`); the metrics have none. The train state is donated, as in
      :func:`jit_update`.

    Raises:
      ArgumentError: ``devices`` is a name.
      LeadingAxisError: when called, if the leading device axis is missing or has the wrong length.
      SharedBufferError: when called, if two leaves of the train state are one array.
      ReplicaMismatchError: when first called, if the replicas have drifted apart.
      DonatedBufferError: when called, if an earlier call has consumed the train state.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from haiku_state import pmap_update
      >>> def step(total, batch, *, axis_name=None):
      ...     mean = jax.lax.pmean(batch["x"].mean(), axis_name)
      ...     return total + mean, {"mean": mean}
      >>> run = pmap_update(step, jax.devices()[:1])
      >>> total = run.place(jnp.float32(1))
      >>> total, metrics = run(total, run.feed({"x": jnp.arange(4.0)}))
      >>> print(run.one(total), metrics["mean"])
      2.5 1.5

    References:
      JAX's documentation, `jax.pmap
      <https://docs.jax.dev/en/latest/_autosummary/jax.pmap.html>`__.
    """
    if isinstance(devices, str):  # where jax.pmap has the name
        raise arguments.devices(devices)
    run = _Pmap(update, jax.local_devices() if devices is None else devices, axis_name)
    run.check_replicas = check_replicas
    return run
