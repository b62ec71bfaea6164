"""Params and state that training does not change."""

from typing import TYPE_CHECKING, Any

import haiku as hk
import jax

from haiku_state.errors import NothingFrozenError, arguments
from haiku_state.errors.base import as_lines
from haiku_state.errors.describe import with_dicts
from haiku_state.typing import Batch, LossFn, Predicate

if TYPE_CHECKING:
    import optax


def freeze_params(
    optimizer: "optax.GradientTransformation", predicate: Predicate
) -> "optax.GradientTransformationExtraArgs":
    r"""Keep some params unchanged while the optimizer trains the other params.

    .. math:: \Delta p_i = 0 \quad \forall i \in F

    The optimizer ignores the frozen params :math:`F`: it keeps no moments for them, and weight
    decay does not shrink them. This recipe applies ``optax.multi_transform`` to Haiku's params by
    their names.

    Args:
      optimizer: an Optax optimizer for the params that are not frozen.
      predicate: ``predicate(module_name, name, value) -> bool``, a function that returns True for
        params to freeze, as in ``hk.data_structures.partition``. It may use only the shape and
        dtype of ``value``, because this argument is a gradient during an update.

    Returns:
      An optimizer for all params, which does not change the frozen params.

    Raises:
      NothingFrozenError: raised by the ``init`` of the optimizer if the predicate selects no
        params, or only params that are already frozen.

    Example:
      >>> import jax.numpy as jnp, optax
      >>> from haiku_state.recipes import freeze_params
      >>> optimizer = freeze_params(optax.sgd(0.1), lambda module, name, value: name == "w")
      >>> params = {"linear": {"w": jnp.ones(()), "b": jnp.ones(())}}
      >>> updates, opt_state = optimizer.update(params, optimizer.init(params), params)
      >>> params = optax.apply_updates(params, updates)
      >>> print(params["linear"]["w"], params["linear"]["b"].round(2))
      1.0 0.9

    References:
      Optax's documentation, `multi_transform
      <https://optax.readthedocs.io/en/latest/api/combining_optimizers.html>`__.
    """
    import optax

    if error := arguments.optimizer(optimizer):
        raise error

    def label(module: str, name: str, value: Any) -> str:
        return "frozen" if _is_shown(value) and predicate(module, name, value) else "trained"

    def labels(params: Any) -> Any:
        result = hk.data_structures.map(label, params)
        if "frozen" not in jax.tree.leaves(result):
            raise NothingFrozenError(names=_names("params", params))
        return result

    parts = optax.multi_transform({"trained": optimizer, "frozen": optax.set_to_zero()}, labels)

    # Haiku's FlatMap cannot hold the empty nodes that Optax leaves in the place of frozen params
    def init(params: Any) -> Any:
        return parts.init(with_dicts(params))

    def update(updates: Any, opt_state: Any, params: Any = None, **extra_args: Any) -> Any:
        given = with_dicts(updates), opt_state, with_dicts(params)
        changed, opt_state = parts.update(*given, **extra_args)
        return jax.tree.unflatten(jax.tree.structure(updates), jax.tree.leaves(changed)), opt_state

    return optax.GradientTransformationExtraArgs(init, update)


def freeze_state(loss_fn: LossFn, predicate: Predicate) -> LossFn:
    r"""Keep a part of the state unchanged, whatever the forward pass returns.

    .. math:: s'_i = s_i \quad \forall i \in F

    This recipe is meant for a pretrained layer whose running statistics must not change. The layer
    should also normalize by these statistics, so run it with ``is_training=False``. Because frozen
    counters do not advance, pass the predicate to the update step too:
    ``make_update(freeze_state(loss_fn, predicate), optimizer, frozen=predicate)``.

    Args:
      loss_fn: ``loss_fn(params, state, rng, batch) -> (loss, (state, metrics))``.
      predicate: ``predicate(module_name, name, value) -> bool``, a function that returns True for
        state to freeze, as in ``hk.data_structures.partition``; the argument ``value`` comes from
        the old state.

    Returns:
      A loss function with the same signature as ``loss_fn``.

    Raises:
      NothingFrozenError: raised by the returned function if the predicate selects nothing in the
        state.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state.recipes import freeze_state
      >>> def loss_fn(params, state, rng, batch):
      ...     return jnp.float32(0), ({"a": {"n": jnp.ones(2)}, "b": {"n": jnp.ones(2)}}, {})
      >>> frozen = freeze_state(loss_fn, lambda module, name, value: module == "a")
      >>> state = {"a": {"n": jnp.zeros(2)}, "b": {"n": jnp.zeros(2)}}
      >>> _, (state, _) = frozen({}, state, None, {})
      >>> print(state["a"]["n"], state["b"]["n"])
      [0. 0.] [1. 1.]

    References:
      Haiku's documentation, `Filtering data structures
      <https://dm-haiku.readthedocs.io/en/latest/api.html#haiku.data_structures.partition>`__.
    """

    def with_frozen(params: Any, state: Any, rng: Any, batch: Batch, /) -> Any:
        frozen = hk.data_structures.filter(predicate, state)
        if not frozen:
            raise NothingFrozenError(names=_names("state", state))
        result: Any = loss_fn(params, state, rng, batch)
        match result:
            case (loss, (dict() as new_state, metrics)):
                return loss, (hk.data_structures.merge(new_state, frozen), metrics)
        return result  # the update names what is wrong with it

    return with_frozen


def _names(tree: str, values: Any) -> str:
    traversed = hk.data_structures.traverse(values)
    shown = ((module, name) for module, name, value in traversed if _is_shown(value))
    return as_lines(f"{tree}[{module!r}][{name!r}]" for module, name in shown)


def _is_shown(value: Any) -> bool:
    """Return whether a value is there; an outer freeze_params leaves an empty node in its place."""
    return bool(jax.tree.leaves(value))
