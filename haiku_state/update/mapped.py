"""An update step on many devices by ``pmap``: a leading device axis, and an axis name."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from haiku_state.contract import leaves_by_path
from haiku_state.diagnosis import delete, named_buffers
from haiku_state.errors import DeviceAxisError, HaikuStateError
from haiku_state.replicas import assert_replicas_equal
from haiku_state.typing import Batch, Metrics, UpdateFn
from haiku_state.update.compiled import CompiledUpdate, Explain


class CheckedUpdate(CompiledUpdate[Any]):
    """A compiled update step that compares the replicas after its first call."""

    def __init__(
        self,
        update: Callable[..., Any],
        transform: Callable[[Callable[..., Any]], Any],
        explain: Explain,
        copy: Callable[[Any], Any],
        axis_name: str,
        strict: bool,
    ) -> None:
        super().__init__(update, transform, explain)
        self._axis_name = axis_name
        self._unchecked = strict
        # on a copy, so that the caller's train state outlives an error
        self._first = named_buffers(
            lambda train_state, batch: self._compiled(copy(train_state), batch)
        )

    def __call__(self, train_state: Any, batch: Batch, /) -> tuple[Any, Metrics]:
        """Take one step, and after the first one compare the replicas."""
        if not self._unchecked:
            return super().__call__(train_state, batch)
        result: tuple[Any, Metrics] = self._call(self._first, train_state, batch)
        assert_replicas_equal(result[0], axis_name=self._axis_name)
        self._unchecked = False
        delete(train_state)
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
      update: what :func:`make_update` gave.
      axis_name: the name of the device axis.
      devices: the devices to run on; all of this process by default.
      strict: whether to compare the replicas after the first call, which they must leave equal.

    Returns:
      ``run(train_state, batch) -> (train_state, metrics)``. Train state and batch have a
      leading device axis, from :func:`replicate` and :func:`split_batch`; the metrics have
      none. The train state is donated, as in :func:`jit_update`.

    Raises:
      DeviceAxisError: at a call, if the leading device axis is missing or of another length.
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
    return CheckedUpdate(
        functools.wraps(update)(
            lambda train_state, batch: update(train_state, batch, axis_name=axis_name)
        ),
        functools.partial(pmap, out_axes=(0, None), donate_argnums=0),
        functools.partial(_explain, num_devices),
        pmap(lambda tree: jax.tree.map(jnp.copy, tree)),
        axis_name,
        strict,
    )


def _explain(num_devices: int, train_state: Any, batch: Any) -> HaikuStateError | None:
    advice = {
        "train_state": "replicate(train_state)",
        "batch": f"split_batch(batch, {num_devices})",
    }
    for path, leaf in leaves_by_path(train_state=train_state, batch=batch).items():
        shape = jnp.shape(leaf)
        if shape[:1] != (num_devices,):
            name = "batch" if path.startswith("batch") else "train_state"
            return DeviceAxisError(
                path=path,
                shape=shape,
                devices=num_devices,
                wrong="pmap_update(update)(train_state, batch)",
                right=f"{name} = {advice[name]}",
            )
    return None
