"""One step of many independent train states, side by side."""

from typing import Any

import jax
import jax.numpy as jnp

from haiku_state.errors import arguments
from haiku_state.errors.describe import with_dicts
from haiku_state.typing import Batch, R, StepFn, T
from haiku_state.update.runner import Runner


class _Vmap(Runner[T, R]):
    def __init__(self, step: StepFn[T, R], members: int, shared_batch: bool) -> None:
        super().__init__(step)
        self._members, self._shared_batch = members, shared_batch
        self._step = jax.vmap(step, in_axes=(0, None if shared_batch else 0))

    def place(self, train_state: T) -> T:
        def members(leaf: Any) -> jax.Array:
            leaf = jnp.asarray(leaf)
            if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
                return jax.random.split(leaf, self._members)
            return jnp.stack([leaf] * self._members)

        return jax.tree.map(members, with_dicts(train_state))

    def feed(self, batch: Batch) -> Batch:
        if self._shared_batch:
            return batch
        return {name: jnp.stack([values] * self._members) for name, values in batch.items()}

    def one(self, train_state: T) -> T:
        return jax.tree.map(lambda leaf: leaf[0], train_state)

    def explain(self, train_state: T, batch: Batch) -> Any:
        return arguments.members_axis(train_state, None if self._shared_batch else batch)


def vmap_update(
    update: StepFn[T, R], members: int = 2, *, shared_batch: bool = True
) -> Runner[T, R]:
    """Compile one step of many independent train states: an ensemble, one member per seed.

    Args:
      update: a step from :func:`make_update` or :func:`make_evaluate`.
      members: how many copies ``run.place`` makes of one train state, each with a random key of its
        own. A train state that has members already can have any number of them.
      shared_batch: whether all members see the same batch; False gives each member its own batch.

    Returns:
      ``run(train_state, batch) -> (train_state, metrics)``. Every leaf of the train state has a
      leading axis (members, …), as ``jax.vmap`` of :func:`init_train_state` over random keys gives
      it; so do the metrics, and the batch if it is not shared. The train state is donated, as in
      :func:`jit_update`.

    Raises:
      LeadingAxisError: when called, if the leaves do not share their leading axis.
      DonatedBufferError: when called, if an earlier call has consumed the train state.

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
    return _Vmap(update, members, shared_batch)
