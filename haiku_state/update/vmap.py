"""One step of many independent train states, side by side."""

import functools
from typing import Any

import jax

from haiku_state.errors.language import deferred as _
from haiku_state.typing import UpdateFn
from haiku_state.update.compiled import CompiledUpdate, donating_jit, explain_leading_axis


def vmap_update(update: UpdateFn, *, shared_batch: bool = True) -> CompiledUpdate[Any]:
    """Compile one step of many independent train states: an ensemble, one member per seed.

    Args:
      update: an update step from :func:`make_update`.
      shared_batch: whether all members see the same batch; False gives each its own.

    Returns:
      ``run(train_state, batch) -> (train_state, metrics)``. Every leaf of the train state has a
      leading axis (members, …), as ``jax.vmap`` of :func:`init_train_state` over random keys gives
      it; so do the metrics, and the batch if it is not shared. The train state is donated, as in
      :func:`jit_update`.

    Raises:
      LeadingAxisError: at a call, if the leaves do not share their leading axis.
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
      JAX's documentation, `Transformations: grad and vmap
      <https://docs.jax.dev/en/latest/101/transformations.html>`__.
    """
    members = jax.vmap(update, in_axes=(0, None if shared_batch else 0))
    stacked = "jax.vmap(lambda key: init_train_state(init, optimizer, key, x))(keys)"
    advice = {"train_state": f"train_state = {stacked}"}
    if not shared_batch:
        advice["batch"] = "batch = jax.tree.map(lambda *rows: jnp.stack(rows), *batches)"
    return CompiledUpdate(
        functools.wraps(update)(members),
        donating_jit,
        explain_leading_axis(
            advice,
            wrong="vmap_update(update)(train_state, batch)",
            why=_("entry i of the leading axis of all leaves is member i"),
            more="update/many_steps",
        ),
    )
