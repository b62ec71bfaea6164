"""Many update steps in one call: one after the other, or side by side."""

import functools
from typing import Any

import jax
import jax.numpy as jnp

from haiku_state.contract import leaves_by_path
from haiku_state.errors import HaikuStateError, StackAxisError
from haiku_state.typing import UpdateFn
from haiku_state.update.compiled import CompiledUpdate, Explain, donating_jit


def scan_update(update: UpdateFn) -> CompiledUpdate[Any]:
    r"""Compile many update steps into one call: one dispatch for a whole stack of batches.

    .. math:: x_{i+1}, m_i = f(x_i, b_i), \quad i = 0, \dots, k - 1

    Here :math:`x` is the train state, :math:`b` a batch, and :math:`m` its metrics.

    Args:
      update: what :func:`make_update` gave.

    Returns:
      ``run(train_state, batches) -> (train_state, metrics)``, the batches with leaves of shape
      (k, rows, …), from :func:`stack_batches`, the metrics of shape (k,). It compiles once per
      shape, so once more for a last shorter stack. The train state is donated, as in
      :func:`jit_update`.

    Raises:
      StackAxisError: at a call, if the leaves do not share their first axis.
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

    wrong, right = "run(train_state, batch)", "run(train_state, next(stack_batches(batches, 8)))"
    return CompiledUpdate(steps, donating_jit, _explain_axis(wrong, right, "batch"))


def vmap_update(update: UpdateFn, *, shared_batch: bool = True) -> CompiledUpdate[Any]:
    """Compile one step of many independent train states: an ensemble, one member per seed.

    Args:
      update: what :func:`make_update` gave.
      shared_batch: whether all members see the same batch; False gives each its own.

    Returns:
      ``run(train_state, batch) -> (train_state, metrics)``. Every leaf of the train state has a
      leading axis (members, …), as ``jax.vmap`` of :func:`init_train_state` over random keys gives
      it; so have the metrics, and the batch if it is not shared. The train state is donated, as in
      :func:`jit_update`.

    Raises:
      StackAxisError: at a call, if the leaves do not share their first axis.
      DonatedBufferError: at a call, if an earlier one has consumed the train state.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state import vmap_update
      >>> def add(total, batch, *, axis_name=None):
      ...     return total + batch["x"].sum(), {}
      >>> totals, metrics = vmap_update(add)(jnp.array([0.0, 10.0]), {"x": jnp.ones(3)})
      >>> print(totals)
      [ 3. 13.]

    References:
      JAX's documentation, `Automatic vectorization
      <https://docs.jax.dev/en/latest/automatic-vectorization.html>`__.
    """
    members = jax.vmap(update, in_axes=(0, None if shared_batch else 0))
    return CompiledUpdate(
        functools.wraps(update)(lambda train_state, batch: members(train_state, batch)),
        donating_jit,
        _explain_axis(
            "vmap_update(update)(train_state, batch)",
            "train_state = jax.vmap(lambda key: init_train_state(init, optimizer, key, x))(keys)",
            *(["train_state"] if shared_batch else ["train_state", "batch"]),
        ),
    )


def _explain_axis(wrong: str, right: str, *names: str) -> Explain:
    """Say which leaves of the arguments called ``names`` do not share one first axis."""

    def explain(train_state: Any, batch: Any) -> HaikuStateError | None:
        trees = {"train_state": train_state, "batch": batch}
        shapes = {
            path: jnp.shape(leaf)
            for path, leaf in leaves_by_path(**{name: trees[name] for name in names}).items()
        }
        for path, shape in shapes.items():
            first, length = next(iter(shapes.items()))
            if not shape or shape[:1] != length[:1]:
                return StackAxisError(
                    path=path, shape=shape, first=first, length=length, wrong=wrong, right=right
                )
        return None

    return explain
