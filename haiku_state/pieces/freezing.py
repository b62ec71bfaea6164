"""Params and state that training leaves as they are."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import haiku as hk
import jax

from haiku_state.errors.base import as_lines
from haiku_state.errors.pieces import NothingFrozenError
from haiku_state.pieces.scaling import scaled_loss
from haiku_state.typing import Batch, LossFn

if TYPE_CHECKING:
    import optax

Predicate = Callable[[str, str, Any], bool]


def freeze_params(
    optimizer: "optax.GradientTransformation", predicate: Predicate
) -> "optax.GradientTransformationExtraArgs":
    r"""Leave some params as they are, whatever the optimizer does to the others.

    .. math:: \Delta p_i = 0 \quad \text{if} \quad i \in F

    The optimizer never sees the frozen params :math:`F`: it keeps no moments of them, and weight
    decay does not shrink them. It is ``optax.multi_transform`` with Haiku's names.

    Args:
      optimizer: an optax optimizer for the other params.
      predicate: ``predicate(module_name, name, value) -> bool``, True for what is frozen, as in
        ``hk.data_structures.partition``. Of the value only shape and dtype count: at an update
        it is the gradient.

    Returns:
      An optimizer for all params.

    Raises:
      NothingFrozenError: at ``init``, if the predicate holds for no param.

    Example:
      >>> import jax.numpy as jnp, optax
      >>> from haiku_state import freeze_params
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

    def label(module: str, name: str, value: Any) -> str:
        return "frozen" if predicate(module, name, value) else "trained"

    def labels(params: Any) -> Any:
        result = hk.data_structures.map(label, params)
        if "frozen" not in jax.tree.leaves(result):
            raise NothingFrozenError(names=_names("params", params), function="freeze_params")
        return result

    return cast(
        "optax.GradientTransformationExtraArgs",
        optax.multi_transform({"trained": optimizer, "frozen": optax.set_to_zero()}, labels),
    )


def freeze_state(loss_fn: LossFn, predicate: Predicate) -> LossFn:
    r"""Keep some of the state as it is, whatever the forward pass returns.

    .. math:: s'_i = s_i \quad \text{if} \quad i \in F

    For a pretrained layer whose running statistics must not move. That alone is half of it: the
    layer should also normalize by them, so run it with ``is_training=False``. Frozen counters
    stand still, so ``make_update(freeze_state(loss_fn, predicate), optimizer, strict=False)``.

    Args:
      loss_fn: ``loss_fn(params, state, rng, batch) -> (loss, (state, metrics))``.
      predicate: ``predicate(module_name, name, value) -> bool``, True for what is frozen, as in
        ``hk.data_structures.partition``; the value is that of the old state.

    Returns:
      A loss function of the same signature.

    Raises:
      NothingFrozenError: at a call, if the predicate holds for nothing in the state.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state import freeze_state
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
    return FrozenState(loss_fn, predicate)


class FrozenState:
    """What :func:`freeze_state` returns."""

    def __init__(self, loss_fn: LossFn, predicate: Predicate) -> None:
        self.loss_fn = loss_fn
        self.predicate = predicate

    def scaled(self, scale: Any) -> LossFn:
        """Multiply the loss by a scale before the gradient is taken, not after."""
        return FrozenState(scaled_loss(self.loss_fn, scale), self.predicate)

    def __call__(self, params: Any, state: Any, rng: Any, batch: Batch, /) -> Any:
        """Compute the loss, and put the frozen leaves back."""
        frozen = hk.data_structures.filter(self.predicate, state)
        if not frozen:
            raise NothingFrozenError(names=_names("state", state), function="freeze_state")
        result: Any = self.loss_fn(params, state, rng, batch)
        match result:
            case (loss, (dict() as new_state, metrics)):
                return loss, (hk.data_structures.merge(new_state, frozen), metrics)
        return result  # for the update to name what is wrong with it


def _names(tree: str, values: Any) -> str:
    traversed = hk.data_structures.traverse(values)
    return as_lines(f"{tree}[{module!r}][{name!r}]" for module, name, _ in traversed)
