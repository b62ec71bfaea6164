"""A scale for the loss, so that float16 can hold its gradient."""

import dataclasses
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from haiku_state.errors import arguments
from haiku_state.typing import Batch, LossFn, Metrics, Predicate, UpdateFn, wide_dtype
from haiku_state.update.step import make_update, scaled_loss
from haiku_state.update.train_state import TrainState

if TYPE_CHECKING:
    import jmp
    import optax


class LossScaleState(NamedTuple):
    """The opt_state of :func:`scale_loss`."""

    loss_scale: jax.Array
    """The factor of the next loss, a scalar of dtype float32."""

    good_steps: jax.Array
    """The steps since the scale last changed, a scalar of dtype int32; 0 if it never changes."""

    last_finite: jax.Array
    """Whether the last gradients were finite, so that the step was taken, a scalar bool."""

    inner: Any
    """The opt_state of the optimizer inside."""


def scale_loss(
    optimizer: "optax.GradientTransformation", loss_scale: "jmp.LossScale"
) -> "optax.GradientTransformationExtraArgs":
    r"""Divide the gradients of a scaled loss by the scale, and skip a step if they overflowed.

    .. math:: g = \frac{1}{k} \nabla (k L), \qquad
       \exists i: g_i \notin \mathbb{R} \implies \Delta p = 0

    This recipe is one half of loss scaling. It skips a step if not all gradients are finite: the
    updates are zero, and the opt_state of ``optimizer`` does not change. The other half is the
    update step from :func:`make_scaled_update`, which multiplies the loss by the scale :math:`k`.

    The returned optimizer must be the outermost optimizer, because an optimizer around it would get
    the scaled gradients or count steps that were skipped.

    Args:
      optimizer: an Optax optimizer.
      loss_scale: a jmp loss scale. By default, ``DynamicLossScale`` halves the scale when gradients
        overflow and doubles it after ``period`` steps without overflow. ``StaticLossScale`` never
        changes the scale, and ``NoOpLossScale`` has a scale of 1.

    Returns:
      An optimizer for :func:`make_scaled_update`. Its opt_state holds the scale, a flag that says
      whether the last step was taken, and the opt_state of ``optimizer``.

    Raises:
      ArgumentError: ``loss_scale`` is not a jmp loss scale.
      LossScaleError: raised by the ``init`` of the returned optimizer if ``optimizer`` already
        scales the loss, and at an update if the gradients do not come from a scaled loss.

    Example:
      >>> import jax.numpy as jnp, jmp, optax
      >>> from haiku_state.recipes import scale_loss
      >>> optimizer = scale_loss(optax.sgd(1.0), jmp.DynamicLossScale(jnp.float32(8)))
      >>> params = {"linear": {"w": jnp.float32(1)}}
      >>> opt_state = optimizer.init(params)
      >>> for gradient in (24.0, jnp.inf):
      ...     grads = {"linear": {"w": jnp.float32(gradient)}}
      ...     updates, opt_state = optimizer.update(grads, opt_state, params, is_scaled=True)
      ...     print(updates["linear"]["w"], opt_state.last_finite, opt_state.loss_scale)
      -3.0 True 8.0
      0.0 False 4.0

    References:
      Micikevicius et al., *Mixed precision training*, 2018, section 3.2. The scale is adjusted by
      `jmp <https://github.com/google-deepmind/jmp>`__. To skip steps without scaling the loss, use
      ``optax.apply_if_finite`` with :func:`.make_update`.
    """
    import jmp
    import optax

    if not isinstance(loss_scale, jmp.DynamicLossScale | jmp.StaticLossScale | jmp.NoOpLossScale):
        raise arguments.loss_scale(loss_scale)
    if error := arguments.optimizer(optimizer):
        raise error

    inner = optax.with_extra_args_support(optimizer)

    def init(params: Any) -> LossScaleState:
        inner_state = inner.init(params)
        if any(map(_is_scale, jax.tree.leaves(inner_state, is_leaf=_is_scale))):
            raise arguments.scaled_twice()
        scale = jnp.array(loss_scale.loss_scale, jnp.float32)
        counter = jnp.array(getattr(loss_scale, "counter", 0), jnp.int32)
        return LossScaleState(scale, counter, jnp.array(True), inner_state)

    def update(
        updates: Any,
        state: LossScaleState,
        params: Any = None,
        *,
        is_scaled: bool = False,
        **extra_args: Any,
    ) -> tuple[Any, LossScaleState]:
        if not is_scaled:
            raise arguments.unscaled_gradients()
        scale, counter, _finite, inner_state = state
        grads = jax.tree.map(lambda g: (g.astype(wide_dtype(g)) / scale).astype(g.dtype), updates)
        finite = jmp.all_finite(grads)
        taken = inner.update(grads, inner_state, params, **_unscaled(extra_args, grads, scale))
        not_taken = jax.tree.map(jnp.zeros_like, taken[0]), inner_state
        updates, inner_state = jmp.select_tree(finite, taken, not_taken)
        if isinstance(loss_scale, jmp.DynamicLossScale):
            # a PyTree of jmp would lose its other fields, so they come from the one that was given
            dynamic = dataclasses.replace(loss_scale, loss_scale=scale, counter=counter)
            with jax.numpy_dtype_promotion("standard"):  # jmp multiplies an integer by a bool
                dynamic = dynamic.adjust(finite)
            scale, counter = dynamic.loss_scale, dynamic.counter
        return updates, LossScaleState(scale, counter, finite, inner_state)

    return optax.GradientTransformationExtraArgs(init, update)


def make_scaled_update(
    loss_fn: LossFn,
    optimizer: "optax.GradientTransformationExtraArgs",
    *,
    strict: bool = True,
    frozen: Predicate | None = None,
    weight: Callable[[Batch], jax.Array] | None = None,
) -> UpdateFn[TrainState]:
    r"""Build an update step like :func:`.make_update`, with loss scaling.

    .. math:: (p, s, o) \mapsto
       \begin{cases} (p + \Delta p,\; s',\; o') & \nabla L(p) \in \mathbb{R}^n \\
       (p,\; s,\; o'') & \nabla L(p) \notin \mathbb{R}^n \end{cases}

    The loss is multiplied by the scale in the opt_state before its gradient is taken, so that
    float16 can hold the gradient. If a step is skipped, params and state do not change, and
    :math:`o''` differs from :math:`o` only in what it records about the scale. The metrics hold the
    loss without the scale.

    Args:
      loss_fn: the same argument as in :func:`.make_update`.
      optimizer: an optimizer from :func:`scale_loss`.
      strict: the same argument as in :func:`.make_update`.
      frozen: the same argument as in :func:`.make_update`.
      weight: the same argument as in :func:`.make_update`.

    Returns:
      ``update(train_state, batch, *, axis_name=None) -> (train_state, metrics)``.

    Raises:
      LossScaleError: raised by the returned step if :func:`scale_loss` is not the outermost
        optimizer.
      HaikuStateError: the returned step raises any error of :func:`.make_update`.

    Example:
      >>> import jax, jax.numpy as jnp, jmp, optax
      >>> from haiku_state import init_train_state, make_update
      >>> from haiku_state.recipes import make_scaled_update, scale_loss
      >>> def init(rng):
      ...     return {"w": jnp.float32(0)}, {}
      >>> def loss_fn(params, state, rng, batch):
      ...     w = params["w"].astype(jnp.float16)
      ...     return w.astype(jnp.float32) * 1e-8, (state, {})
      >>> plain = optax.sgd(1.0)
      >>> scaled = scale_loss(plain, jmp.StaticLossScale(jnp.float32(2.0**15)))
      >>> for make, optimizer in ((make_update, plain), (make_scaled_update, scaled)):
      ...     train_state = init_train_state(init, optimizer, jax.random.key(0))
      ...     train_state, metrics = make(loss_fn, optimizer)(train_state, {})
      ...     print(f"{train_state.params['w']:.0e}")
      0e+00
      -1e-08

    References:
      Micikevicius et al., *Mixed precision training*, 2018, section 3.2.
    """
    import optax

    if error := arguments.optimizer(optimizer):
        raise error
    unscaling = optax.GradientTransformationExtraArgs(
        optimizer.init, functools.partial(optimizer.update, is_scaled=True)
    )

    def update(
        train_state: TrainState, batch: Batch, *, axis_name: str | None = None
    ) -> tuple[TrainState, Metrics]:
        if not hasattr(train_state, "opt_state"):
            raise arguments.train_state(train_state)
        if not _is_scale(train_state.opt_state):
            raise arguments.inner_loss_scale()
        scale = train_state.opt_state.loss_scale
        scaled = scaled_loss(loss_fn, scale)
        step = make_update(scaled, unscaling, strict=strict, frozen=frozen, weight=weight)
        new, metrics = step(train_state, batch, axis_name=axis_name)
        return new, {**metrics, "loss": metrics["loss"] / scale}

    return update


def _unscaled(extra_args: dict[str, Any], grads: Any, scale: jax.Array) -> dict[str, Any]:
    """Return what an optimizer that searches a line is told, of the loss without the scale."""
    if "value_fn" not in extra_args:
        return extra_args
    value, value_fn = extra_args["value"], extra_args["value_fn"]
    unscaled = {"value": value / scale, "value_fn": lambda params: value_fn(params) / scale}
    return {**extra_args, **unscaled, "grad": grads}


def _is_scale(node: Any) -> bool:
    return isinstance(node, LossScaleState)
