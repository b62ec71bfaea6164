"""An update step on many devices by ``pmap``: a leading device axis, and an axis name."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.sharding import NamedSharding, PartitionSpec

from haiku_state.compat import is_committed
from haiku_state.errors import arguments
from haiku_state.errors.describe import division_error, with_dicts
from haiku_state.typing import Batch, R, StepFn, T
from haiku_state.update.devices import data_mesh
from haiku_state.update.replicas import replicate, split_batch, unreplicate
from haiku_state.update.runner import Runner, consumed, on_axis


def pmap_update(
    update: StepFn[T, R],
    devices: Sequence[jax.Device] | None = None,
    axis_name: str = "devices",
    *,
    check_replicas: bool = True,
) -> Runner[T, R]:
    """Run an update step on many devices, each with its part of the batch.

    Gradients and metrics are averaged over the devices, so that every replica takes the same step,
    and each device draws random numbers with its own key. The replicas keep equal states only if
    the modules average their state with ``axis_name`` as their ``cross_replica_axis``.

    Args:
      update: a step from :func:`make_update` or :func:`make_evaluate`.
      devices: the devices to run on; by default, all devices of this process.
      axis_name: the name of the device axis.
      check_replicas: whether to check after the first call that the replicas are still equal.

    Returns:
      ``run(train_state, batch) -> (train_state, metrics)``. The train state and the batch have a
      leading device axis: ``run.place`` adds it to the train state, as :func:`replicate` does, and
      ``run.feed`` adds it to the batch, as :func:`split_batch` does. The metrics have no device
      axis. The train state is donated, as in :func:`jit_update`.

    Raises:
      ArgumentError: ``devices`` is a name or a number instead of a list of devices, or ``update``
        is already compiled.
      LeadingAxisError: when ``run`` is called, if the leading device axis is missing or has the
        wrong length.
      SharedBufferError: when ``run`` is called, if two leaves of the train state share one array.
      ReplicaMismatchError: if the replicas are no longer equal after the first call to ``run``.
      DonatedBufferError: when ``run`` is called, if an earlier call has consumed the train state.

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
    if error := arguments.devices(devices, "pmap_update(…, {})"):  # jax.pmap has the name there
        raise error
    used = jax.local_devices() if devices is None else devices
    on_each = NamedSharding(data_mesh(used, axis_name), PartitionSpec(axis_name))

    def compile(traced: Callable[..., Any], train_state: T) -> Any:
        options: Any = {"out_axes": (0, None), "donate_argnums": consumed(traced)}
        return jax.pmap(traced, axis_name, devices=used, **options)

    def feed(batch: Batch) -> Batch:
        if error := division_error(batch, len(used)):
            raise error
        return jax.tree.map(placed, split_batch(batch, len(used)))

    def placed(rows: Any) -> Any:
        """Send an array that lies on chosen devices to those of this runner."""
        return jax.device_put(rows, on_each) if is_committed(rows) else rows

    return Runner(
        on_axis(update, axis_name),
        compile,
        place=lambda train_state: replicate(with_dicts(train_state), used, axis_name),
        feed=feed,
        one=unreplicate,
        explain=lambda train_state, batch: (
            arguments.devices_axis(train_state, batch, len(used))
            or arguments.batch_elsewhere(batch, on_each)
        ),
        axis_name=axis_name,
        many_devices=True,
        check_replicas=check_replicas,
    )
