"""One step of many independent train states, side by side."""

import functools
import re
from typing import Any

import jax
import jax.numpy as jnp

from haiku_state.errors import arguments
from haiku_state.errors.describe import with_dicts
from haiku_state.typing import R, StepFn, T
from haiku_state.update.runner import CALL, Runner, as_given


def vmap_update(
    update: StepFn[T, R], members: int = 2, *, shared_batch: bool = True
) -> Runner[T, R]:
    """Compile one step for many independent train states: an ensemble with one member per seed.

    Args:
      update: a step from :func:`make_update` or :func:`make_evaluate`.
      members: how many copies ``run.place`` makes of a train state, each with its own random key. A
        train state that already has members can have any number of them.
      shared_batch: whether all members see the same batch; False gives each member its own batch.

    Returns:
      ``run(train_state, batch) -> (train_state, metrics)``. Every leaf of the train state has a
      leading axis (members, …), which ``jax.vmap`` of :func:`init_train_state` over random keys
      produces. The metrics have this axis too, and so does the batch if it is not shared. The train
      state is donated, as in :func:`jit_update`.

    Raises:
      LeadingAxisError: when ``run`` is called, if the leaves of the train state, or of batches that
        are not shared, lack a leading axis of equal length.
      DonatedBufferError: when ``run`` is called, if an earlier call has consumed the train state.

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
    if error := arguments.uncallable("update", update, *CALL):
        raise error
    axes = (0, None if shared_batch else 0)

    def place(train_state: T) -> T:
        given = with_dicts(train_state)
        if error := arguments.members_already(given):
            raise error
        return jax.tree_util.tree_map_with_path(member_of, given)

    def member_of(path: Any, leaf: Any) -> jax.Array:
        leaf = jnp.asarray(leaf)
        return jax.random.split(leaf, members) if _is_key(path, leaf) else stacked(leaf)

    def one(train_state: T) -> T:
        if error := arguments.members_axis(train_state, None):
            raise error
        return jax.tree.map(lambda leaf: leaf[0], train_state)

    def stacked(leaf: Any) -> jax.Array:
        return jnp.stack([leaf] * members)

    return Runner(
        functools.update_wrapper(jax.vmap(update, in_axes=axes), update),
        place=place,
        feed=as_given if shared_batch else functools.partial(jax.tree.map, stacked),
        one=one,
        explain=lambda train_state, batch: arguments.members_axis(
            train_state, None if shared_batch else batch
        ),
    )


def _is_key(path: Any, leaf: jax.Array) -> bool:
    """Return whether a leaf is a random key; one of ``jax.random.PRNGKey`` is told by its name."""
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return True
    raw = jax.eval_shape(lambda: jax.random.key_data(jax.random.key(0)))
    is_named = bool(path) and re.search("rng|key", jax.tree_util.keystr(path[-1:])) is not None
    return is_named and (leaf.shape, leaf.dtype) == (raw.shape, raw.dtype)
