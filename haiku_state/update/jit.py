"""An update step on one device, by ``jit``."""

from haiku_state.typing import R, StepFn, T
from haiku_state.update.packed import Packed
from haiku_state.update.runner import Runner


def jit_update(update: StepFn[T, R], *, packed_bytes: int = 0) -> Runner[T, R]:
    """Compile an update step for one device.

    The train state is donated: its buffers are reused for the new train state, and the old train
    state can no longer be read.

    Args:
      update: a step from :func:`make_update` or :func:`make_evaluate`.
      packed_bytes: between two calls, leaves of at most this many bytes are kept in one array for
        each dtype; 0 packs no leaves. This makes a small network faster, because the cost of a call
        comes from its arrays. The train state must come from ``run.place``, which makes a
        :class:`.PackedState` of it, and ``run.one`` returns it as it was.

    Returns:
      ``run(train_state, batch) -> (train_state, metrics)``, compiled once per batch shape, as
      ``run.trace_count`` shows.

    Raises:
      DonatedBufferError: when called, if an earlier call has consumed the train state.
      SharedBufferError: when called, if two leaves of the train state are one array.
      ArgumentError: when called, if ``packed_bytes`` is not 0 and the train state does not come
        from ``run.place``.

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
    return Packed(update, packed_bytes) if packed_bytes else Runner(update)
