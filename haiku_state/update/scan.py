"""Many update steps in one call, one after the other."""

import functools
from typing import Any

import jax
import numpy as np

from haiku_state.data import stack_batches
from haiku_state.errors import HaikuStateError, arguments
from haiku_state.pure.check import check_types
from haiku_state.typing import R, StepFn, T
from haiku_state.update.runner import CALL, Runner, consumed


def scan_update(update: StepFn[T, R], count: int = 20) -> Runner[T, R]:
    r"""Compile many update steps into one call, so that a stack of batches needs a single dispatch.

    .. math:: x_{i+1}, m_i = f(x_i, b_i), \quad i = 0, \dots, k - 1

    Here :math:`x` is the train state, :math:`b` a batch, and :math:`m` its metrics.

    Args:
      update: a step from :func:`make_update` or :func:`make_evaluate`.
      count: how many batches ``run.feed_all`` puts into one stack, at least 1. ``run.feed`` makes a
        stack of one batch.

    Returns:
      ``run(train_state, batches) -> (train_state, metrics)``. The batches come from
      :func:`stack_batches` and have leaves of shape (k, rows, …); the metrics have shape (k,).
      ``run`` compiles once per shape, and therefore once more if the last stack is shorter. The
      train state is donated, as in :func:`jit_update`.

    Raises:
      LeadingAxisError: when ``run`` is called, if leaves of the batches have unequal leading axes.
      DonatedBufferError: when ``run`` is called, if an earlier call has consumed the train state.

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
    if error := arguments.uncallable("update", update, *CALL):
        raise error
    loop: Any = jax.lax.scan if consumed(update) else _each
    return Runner(
        functools.update_wrapper(functools.partial(loop, update), update),
        feed=functools.partial(jax.tree.map, _alone),
        feed_all=functools.partial(stack_batches, count=count),
        explain=lambda train_state, batch: (
            arguments.batches_axis(batch) or _drift(update, train_state, batch)
        ),
    )


def _each(evaluate: Any, train_state: Any, batches: Any) -> Any:
    return jax.lax.map(functools.partial(evaluate, train_state), batches)


def _drift(update: Any, train_state: Any, batches: Any) -> HaikuStateError | None:
    """Return the error for a step that a scan has rejected because it returns another type."""
    try:
        first = jax.tree.map(lambda rows: rows[0], batches)
        result = jax.eval_shape(update, train_state, first)
        if not isinstance(result, tuple) or len(result) != 2:
            return arguments.step_result(result)
        check_types(train_state, result[0])
    except Exception as error:
        return error if isinstance(error, HaikuStateError) else None
    return None


def _alone(rows: Any) -> Any:
    """Make a stack of one batch, which stays on the device if it is there."""
    return (rows if isinstance(rows, jax.Array) else np.asarray(rows))[None]
