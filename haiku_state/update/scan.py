"""Many update steps in one call, one after the other."""

import functools
from typing import Any

import jax

from haiku_state.errors.language import deferred as _
from haiku_state.typing import UpdateFn
from haiku_state.update.compiled import CompiledUpdate, donating_jit, explain_leading_axis


def scan_update(update: UpdateFn) -> CompiledUpdate[Any]:
    r"""Compile many update steps into one call: one dispatch for a whole stack of batches.

    .. math:: x_{i+1}, m_i = f(x_i, b_i), \quad i = 0, \dots, k - 1

    Here :math:`x` is the train state, :math:`b` a batch, and :math:`m` its metrics.

    Args:
      update: an update step from :func:`make_update`.

    Returns:
      ``run(train_state, batches) -> (train_state, metrics)``, the batches with leaves of shape
      (k, rows, …), from :func:`stack_batches`, the metrics of shape (k,). It compiles once per
      shape, so once more for a shorter last stack. The train state is donated, as in
      :func:`jit_update`.

    Raises:
      LeadingAxisError: at a call, if the leaves do not share their leading axis.
      DonatedBufferError: at a call, if an earlier one has consumed the train state.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state import scan_update
      >>> def add(total, batch, *, axis_name=None):
      ...     return total + batch["x"].sum(), {"total": total}
      >>> total, metrics = scan_update(add)(jnp.float32(0), {"x": jnp.ones((3, 2))})
      >>> print(total, metrics["total"])
      6.0 [0. 2. 4.]

    References:
      JAX's documentation, `jax.lax.scan
      <https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html>`__.
    """

    @functools.wraps(update)
    def steps(train_state: Any, batches: Any) -> Any:
        return jax.lax.scan(update, train_state, batches)

    return CompiledUpdate(
        steps,
        donating_jit,
        explain_leading_axis(
            {"batch": "run(train_state, next(stack_batches(batches, 8)))"},
            wrong="run(train_state, batch)",
            why=_("entry i of the leading axis of all leaves is batch i"),
            more="update/many_steps",
        ),
    )
