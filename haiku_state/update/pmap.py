"""An update step on many devices by ``pmap``: a leading device axis, and an axis name."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from haiku_state.typing import Batch, Metrics, UpdateFn
from haiku_state.update.compiled import (
    CompiledOnDevices,
    CompiledUpdate,
    Explain,
    explain_leading_axis,
)
from haiku_state.update.replicas import ENTRY_PER_DEVICE, assert_replicas_equal


class CheckedUpdate(CompiledOnDevices[Any]):
    """A compiled update step that compares the replicas after its first call.

    Args:
      update: as in :class:`CompiledUpdate`.
      transform: as in :class:`CompiledUpdate`.
      explain: as in :class:`CompiledUpdate`.
      copy: copies a train state and keeps its placement.
      axis_name: the name of the device axis, for the advice in the error.
    """

    def __init__(
        self,
        update: Callable[..., Any],
        transform: Callable[[Callable[..., Any]], Any],
        explain: Explain,
        copy: Callable[[Any], Any],
        axis_name: str,
    ) -> None:
        super().__init__(update, transform, explain)
        self._axis_name = axis_name
        self._is_checked = False
        # the first call consumes a copy, so that the caller's train state outlives an error
        self._run = lambda train_state, batch: self._compiled(copy(train_state), batch)

    def __call__(self, train_state: Any, batch: Batch, /) -> tuple[Any, Metrics]:
        """Take one step, and compare the replicas after the first one."""
        result: tuple[Any, Metrics] = super().__call__(train_state, batch)
        if not self._is_checked:
            assert_replicas_equal(result[0], axis_name=self._axis_name)
            self._is_checked, self._run = True, self._compiled
            _delete(train_state)
        return result


def pmap_update(
    update: UpdateFn,
    axis_name: str = "devices",
    devices: Sequence[jax.Device] | None = None,
    *,
    strict: bool = True,
) -> CompiledUpdate[Any]:
    """Run an update step on many devices, each with its part of the batch.

    Gradients and metrics are averaged over the devices, so that every replica takes the same
    step; each device draws with its own random key. The replicas' state stays equal only if the
    modules average it, with the same name as their ``cross_replica_axis``.

    Args:
      update: an update step from :func:`make_update`.
      axis_name: the name of the device axis.
      devices: the devices to run on; by default, those of this process.
      strict: whether to check after the first call that the replicas are still equal.

    Returns:
      ``run(train_state, batch) -> (train_state, metrics)``. Train state and batch have a
      leading device axis, from :func:`replicate` and :func:`split_batch`; the metrics have
      none. The train state is donated, as in :func:`jit_update`.

    Raises:
      LeadingAxisError: at a call, if the leading device axis is missing or has the wrong length.
      ReplicaMismatchError: at the first call, if the replicas have drifted apart.
      DonatedBufferError: at a call, if an earlier one has consumed the train state.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from haiku_state import pmap_update, replicate, split_batch, unreplicate
      >>> def step(total, batch, *, axis_name=None):
      ...     mean = jax.lax.pmean(batch["x"].mean(), axis_name)
      ...     return total + mean, {"mean": mean}
      >>> one = jax.devices()[:1]
      >>> total, metrics = pmap_update(step, devices=one)(
      ...     replicate(jnp.float32(1), one), split_batch({"x": jnp.arange(4.0)}, 1))
      >>> print(unreplicate(total), metrics["mean"])
      2.5 1.5

    References:
      JAX's documentation, `jax.pmap
      <https://docs.jax.dev/en/latest/_autosummary/jax.pmap.html>`__.
    """
    num_devices = jax.local_device_count() if devices is None else len(devices)
    pmap = functools.partial(jax.pmap, axis_name=axis_name, devices=devices)
    on_each = functools.wraps(update)(functools.partial(update, axis_name=axis_name))
    mapped = functools.partial(pmap, out_axes=(0, None), donate_argnums=0)
    explain = explain_leading_axis(
        {
            "train_state": "train_state = replicate(train_state)",
            "batch": f"batch = split_batch(batch, {num_devices})",
        },
        wrong="pmap_update(update)(train_state, batch)",
        why=ENTRY_PER_DEVICE,
        more="update/pmapped_update",
        length=num_devices,
    )
    if not strict:
        return CompiledOnDevices(on_each, mapped, explain)
    copy = pmap(lambda tree: jax.tree.map(jnp.copy, tree))
    return CheckedUpdate(on_each, mapped, explain, copy, axis_name)


def _delete(tree: Any) -> None:
    """Free the memory of each array, as donation does."""
    for leaf in jax.tree.leaves(tree):
        if isinstance(leaf, jax.Array):
            leaf.delete()
