"""An update step on one device, by ``jit``."""

from haiku_state.typing import R, StepFn, T
from haiku_state.update.runner import Runner


def jit_update(update: StepFn[T, R]) -> Runner[T, R]:
    """Compile an update step for one device.

    The train state is donated: its buffers are reused for the new train state, and the old train
    state can no longer be read.

    Args:
      update: a step from :func:`make_update` or :func:`make_evaluate`.

    Returns:
      ``run(train_state, batch) -> (train_state, metrics)``, which is traced and compiled once per
      batch shape; ``run.trace_count`` counts the traces. With batches from
      ``jax.device_put(batch, device)``, there is one more compilation than with batches that are
      not placed on a device.

    Raises:
      DonatedBufferError: when ``run`` is called, if an earlier call has consumed the train state.
      SharedBufferError: when ``run`` is called, if two leaves of the train state share one array.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state import jit_update
      >>> def add(total, batch, *, axis_name=None):
      ...     return total + batch["x"].sum(), {}
      >>> total, metrics = jit_update(add)(jnp.float32(1), {"x": jnp.ones(3)})
      >>> print(total)
      4.0

    References:
      JAX's documentation, `Buffer donation
      <https://docs.jax.dev/en/latest/201/jit.html#buffer-donation>`__.
    """
    return Runner(update)
