"""A scale for the loss, so that float16 can hold its gradient."""

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import jax
import jax.numpy as jnp

from haiku_state.errors.pieces import LossScaleTwiceError, LossScaleTypeError
from haiku_state.pieces.leaves import is_float, wide_dtype
from haiku_state.typing import LossFn

if TYPE_CHECKING:
    import jmp
    import optax


class LossScaleState(NamedTuple):
    """The opt_state of :func:`scale_loss`."""

    loss_scale: jax.Array
    """What the next loss is multiplied by, a scalar of dtype float32."""

    good_steps: jax.Array
    """The steps since the scale last changed, a scalar of dtype int32; 0 if it never changes."""

    finite: jax.Array
    """Whether the last gradients were finite, so that the step was taken, a scalar bool."""

    inner: Any
    """The opt_state of the optimizer inside."""


def scale_loss(
    optimizer: "optax.GradientTransformation", loss_scale: "jmp.LossScale"
) -> "optax.GradientTransformationExtraArgs":
    r"""Scale the loss up, so that float16 can hold its gradient, and the gradient down again.

    .. math:: g = \frac{1}{k} \nabla (k L), \qquad
       \Delta p = 0 \quad \text{if} \quad \exists i: g_i \notin \mathbb{R}

    This is one half: it divides the gradients by the scale :math:`k`. A step whose gradients are
    not all finite is not taken: its updates are zero, and the opt_state inside stays as it was.
    The other half is in :func:`make_update`, which finds the scale in the opt_state, multiplies
    the loss by it, reports the loss without it, and keeps the state of a step that is not taken.

    Put it outermost, around the whole optimizer: whatever else stands around it meets the scaled
    gradients, or steps that were not taken.

    Args:
      optimizer: an optax optimizer.
      loss_scale: of jmp. ``DynamicLossScale`` halves when gradients overflow, and doubles after
        ``period`` good steps; ``StaticLossScale`` never changes; ``NoOpLossScale`` is 1.

    Returns:
      An optimizer whose opt_state holds the scale, whether the last step was taken, and the
      opt_state of ``optimizer``.

    Raises:
      LossScaleTypeError: ``loss_scale`` is none of jmp's.
      LossScaleTwiceError: at ``init``, if ``optimizer`` scales the loss already.

    Example:
      >>> import jax.numpy as jnp, jmp, optax
      >>> from haiku_state import scale_loss
      >>> optimizer = scale_loss(optax.sgd(1.0), jmp.DynamicLossScale(jnp.float32(8)))
      >>> params = {"linear": {"w": jnp.float32(1)}}
      >>> opt_state = optimizer.init(params)
      >>> for scaled_gradient in (24.0, jnp.inf):
      ...     grads = {"linear": {"w": jnp.float32(scaled_gradient)}}
      ...     updates, opt_state = optimizer.update(grads, opt_state, params)
      ...     print(updates["linear"]["w"], opt_state.finite, opt_state.loss_scale)
      -3.0 True 8.0
      0.0 False 4.0

    References:
      Micikevicius et al., *Mixed precision training*, 2018, section 3.2. The adjustment is
      `jmp <https://github.com/google-deepmind/jmp>`__'s; ``optax.apply_if_finite`` skips steps
      without a scale.
    """
    import jmp
    import optax

    if not isinstance(loss_scale, jmp.DynamicLossScale | jmp.StaticLossScale | jmp.NoOpLossScale):
        raise LossScaleTypeError(given=type(loss_scale).__name__)
    inner = optax.with_extra_args_support(optimizer)

    def init(params: Any) -> LossScaleState:
        inner_state = inner.init(params)
        if found := _scales(inner_state):
            raise LossScaleTwiceError(count=1 + len(found))
        scale = jnp.array(loss_scale.loss_scale, jnp.float32)
        counter = jnp.array(getattr(loss_scale, "counter", 0), jnp.int32)
        return LossScaleState(scale, counter, jnp.array(True), inner_state)

    def update(
        updates: Any, state: LossScaleState, params: Any = None, **extra_args: Any
    ) -> tuple[Any, LossScaleState]:
        scale, counter, _, inner_state = state
        grads = jax.tree.map(
            lambda g: (g.astype(wide_dtype(g)) / scale).astype(g.dtype),
            updates,
        )
        finite = jmp.all_finite(grads)
        taken = inner.update(grads, inner_state, params, **extra_args)
        not_taken = jax.tree.map(jnp.zeros_like, taken[0]), inner_state
        updates, inner_state = jmp.select_tree(finite, taken, not_taken)
        if isinstance(loss_scale, jmp.DynamicLossScale):
            # what jmp would lose in a PyTree comes from the one that was given
            dynamic = dataclasses.replace(loss_scale, loss_scale=scale, counter=counter)
            with jax.numpy_dtype_promotion("standard"):  # jmp multiplies an integer by a bool
                dynamic = dynamic.adjust(finite)
            scale, counter = dynamic.loss_scale, dynamic.counter
        return updates, LossScaleState(scale, counter, finite, inner_state)

    return optax.GradientTransformationExtraArgs(init, update)


def scale_of(opt_state: Any) -> "jmp.StaticLossScale | None":
    """Find what the next loss is to be multiplied by.

    Args:
      opt_state: the opt_state of any optimizer.

    Returns:
      The scale of :func:`scale_loss`, wherever it stands in the opt_state; None without one.

    Raises:
      LossScaleTwiceError: there is more than one.
    """
    found = _scales(opt_state)
    if len(found) > 1:
        raise LossScaleTwiceError(count=len(found))
    if not found:
        return None
    import jmp

    return jmp.StaticLossScale(found[0].loss_scale)


def finite_of(opt_state: Any) -> jax.Array:
    """Say whether the last step was taken.

    Args:
      opt_state: the opt_state after an update of :func:`scale_loss`.

    Returns:
      A scalar bool; True without :func:`scale_loss`.
    """
    found = _scales(opt_state)
    return found[0].finite if found else jnp.array(True)


def scaled_loss(loss_fn: LossFn, loss_scale: Any) -> LossFn:
    """Multiply a loss, in float32 at least, so that its gradient comes out scaled.

    A loss function that computes its own gradient gets the scale instead: a factor after it would
    come too late for the small numbers that the scale is there to save.

    Args:
      loss_fn: ``loss_fn(params, state, rng, batch) -> (loss, (state, metrics))``.
      loss_scale: what :func:`scale_of` found, or a scalar of dtype float32.

    Returns:
      A loss function of the same signature.
    """
    scale = getattr(loss_scale, "loss_scale", loss_scale)
    if scale is None:
        return loss_fn
    if hasattr(loss_fn, "scaled"):  # a method, which functools.wraps does not copy
        return cast(LossFn, loss_fn.scaled(scale))

    def scaled(params: Any, state: Any, rng: Any, batch: Any) -> Any:
        result: Any = loss_fn(params, state, rng, batch)
        match result:
            case (loss, aux) if is_float(loss):
                wide = loss.astype(wide_dtype(loss))
                return wide * scale, aux
        return result  # for the update to name what is wrong with it

    return scaled


def _scales(opt_state: Any) -> list[LossScaleState]:
    found = [
        node
        for node in jax.tree.leaves(opt_state, is_leaf=_is_scale)
        if isinstance(node, LossScaleState)
    ]
    return found + [deeper for node in found for deeper in _scales(node.inner)]


def _is_scale(node: Any) -> bool:
    return isinstance(node, LossScaleState)
