"""One pure update step."""

import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import jax
import jax.numpy as jnp

from haiku_state.contract import check_state, describe
from haiku_state.diagnosis import named_errors
from haiku_state.errors import DeviceStackedError, LossFunctionError
from haiku_state.pieces.scaling import finite_of, scale_of, scaled_loss
from haiku_state.train_state import TrainState
from haiku_state.typing import Batch, LossFn, Metrics, UpdateFn

if TYPE_CHECKING:
    import optax


def example_mean(
    values: jax.Array, mask: jax.Array | None = None, axis_name: str | None = None
) -> jax.Array:
    r"""Average over examples, not over devices or padded rows.

    .. math:: \frac{\sum_d \sum_i m_{di} x_{di}}{\sum_d \sum_i m_{di}}

    Here :math:`d` counts the devices, :math:`i` the rows of a device, and :math:`m` is the mask.
    In a loss function give no axis name: its mean is over the device's own rows, and
    :func:`make_update` weighs the devices.

    Args:
      values: one number per example, shape (rows, …), floating.
      mask: shape (rows,), 1 for an example and 0 for a padded row; all examples by default.
      axis_name: the device axis, where the mean is over the rows of all devices.

    Returns:
      The mean, a scalar of the dtype of ``values``; 0 if there is no example.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state import example_mean
      >>> print(example_mean(jnp.array([1.0, 3.0, 8.0]), jnp.array([1.0, 1.0, 0.0])))
      2.0

    References:
      :func:`batches` with ``remainder="pad"`` makes the mask.
    """
    rows = jnp.ones(values.shape[:1], values.dtype) if mask is None else mask.astype(values.dtype)
    rows = rows.reshape(rows.shape + (1,) * (values.ndim - 1))
    weights = jnp.broadcast_to(rows, values.shape)
    # where, so that what stands in a padded row cannot spoil the sum
    total = jnp.sum(jnp.where(weights > 0, values * weights, jnp.zeros_like(values)))
    count = jnp.sum(weights)
    if axis_name is not None:
        total, count = jax.lax.psum((total, count), axis_name)
    return total / jnp.maximum(count, jnp.ones_like(count))


def make_update(
    loss_fn: LossFn,
    optimizer: "optax.GradientTransformation",
    *,
    strict: bool = True,
    weight: Callable[[Batch], jax.Array] | None = None,
) -> UpdateFn:
    r"""Build the pure update step of a loss function and an optimizer.

    .. math:: (p, s, o, r, t) \mapsto (p + \Delta p,\; s',\; o',\; r',\; t + 1)

    Here :math:`s'` is the state that the forward pass returned, and :math:`\Delta p, o'` come
    from the optimizer, given the gradient of the loss with respect to the params :math:`p`.

    With ``axis_name`` the step is one replica of many: gradients and metrics are averaged over
    that axis, and each replica draws its own random numbers. The state is averaged by the
    modules that keep it, see ``cross_replica_axis`` of :class:`BatchNorm`.

    Args:
      loss_fn: ``loss_fn(params, state, rng, batch) -> (loss, (state, metrics))``, the loss a
        float scalar and a mean over the examples, the metrics a dict of scalars.
      optimizer: an optax optimizer.
      strict: whether the state that ``loss_fn`` returns must pass :func:`check_state` with
        ``is_training=True``. False for a model whose normalization is frozen.
      weight: ``weight(batch)``, the number of examples that a device's part of the batch counts
        for, where devices have unequal parts: ``lambda batch: batch["mask"].sum()``. Gradients
        and metrics are then means over the examples. All devices count the same by default.

    Returns:
      ``update(train_state, batch, *, axis_name=None) -> (train_state, metrics)``. The metrics
      hold ``"loss"`` too.

    Raises:
      LossFunctionError: at the first call, if ``loss_fn`` returns anything else.
      DeviceStackedError: at the first call, if the train state has a device axis.
      HaikuStateError: at the first call, what :func:`check_state` finds in the returned state.

    Example:
      >>> import jax, jax.numpy as jnp, optax
      >>> from haiku_state import LinearRegression, init_train_state, make_update, pure_pair
      >>> model = pure_pair(LinearRegression)
      >>> def loss_fn(params, state, rng, batch):
      ...     prediction, state = model.apply(params, state, rng, batch["inputs"], True)
      ...     return jnp.mean((prediction - batch["targets"]) ** 2), (state, {})
      >>> batch = {"inputs": jnp.array([[0.0], [1.0]]), "targets": jnp.array([1.0, 3.0])}
      >>> train_state = init_train_state(
      ...     model.init, optax.sgd(0.1), jax.random.key(0), batch["inputs"], True)
      >>> update = make_update(loss_fn, optax.sgd(0.1))
      >>> train_state, metrics = update(train_state, batch)
      >>> print(metrics["loss"], train_state.step)
      5.0 1

    References:
      Haiku's documentation, `Training a model
      <https://dm-haiku.readthedocs.io/en/latest/notebooks/basics.html>`__.
    """
    import optax

    def update(
        train_state: TrainState, batch: Batch, *, axis_name: str | None = None
    ) -> tuple[TrainState, Metrics]:
        params, state, opt_state, rng, step = train_state
        _expect_one_replica(step)
        rng, step_rng = jax.random.split(rng)
        if axis_name is not None:
            step_rng = jax.random.fold_in(step_rng, jax.lax.axis_index(axis_name))
        scale = scale_of(opt_state)
        grad_fn = jax.value_and_grad(_checked(scaled_loss(loss_fn, scale), strict), has_aux=True)
        (loss, (new_state, metrics)), grads = grad_fn(params, state, step_rng, batch)
        metrics = {"loss": loss if scale is None else scale.unscale(loss), **metrics}
        if axis_name is not None:
            grads, metrics = _mean((grads, metrics), weight and weight(batch), axis_name)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        if scale is not None:  # a step that overflowed is not taken, by the state neither
            finite = finite_of(opt_state)
            new_state = jax.tree.map(lambda new, old: jnp.where(finite, new, old), new_state, state)
        params = optax.apply_updates(params, updates)
        return TrainState(params, new_state, opt_state, rng, step + 1), metrics

    return cast(UpdateFn, update)


def _mean(tree: Any, weight: Any, axis_name: str) -> Any:
    """Average over the devices, each weighed by its number of examples."""
    if weight is None:
        return jax.lax.pmean(tree, axis_name)
    total = jax.lax.psum(weight, axis_name)

    def mean(leaf: jax.Array) -> jax.Array:
        # where, since the mean over no example may be NaN
        weighed = jnp.where(weight > 0, leaf * weight.astype(leaf.dtype), jnp.zeros_like(leaf))
        return jax.lax.psum(weighed, axis_name) / total.astype(leaf.dtype)

    return jax.tree.map(mean, tree)


def _expect_one_replica(step: Any) -> None:
    if jnp.ndim(step):
        raise DeviceStackedError(
            path="train_state.step",
            shape=jnp.shape(step),
            expected=(),
            wrong="jit_update(update)(train_state, batch)",
            right="jit_update(update)(unreplicate(train_state), batch)",
        )


def _checked(loss_fn: LossFn, strict: bool) -> LossFn:
    """Say at trace time what a loss function returned instead of what it should."""

    @functools.wraps(loss_fn)
    def checked(params, state, rng, batch):  # type: ignore[no-untyped-def]
        with named_errors(params=params, state=state, batch=batch):
            result = loss_fn(params, state, rng, batch)
        match result:
            case (loss, (new_state, dict() as metrics)) if _is_loss(loss):
                if strict:
                    check_state(state, new_state, is_training=True)
                return loss, (new_state, metrics)
        # the descriptions stand for arrays, so they lose their quotes
        returned = re.sub(r"'(\w+(\[[\d,]*\])?)'(?!:)", r"\1", str(jax.tree.map(describe, result)))
        raise LossFunctionError(returned=returned)

    return cast(LossFn, checked)


def _is_loss(loss: Any) -> bool:
    return jnp.shape(loss) == () and bool(jnp.issubdtype(jnp.result_type(loss), jnp.floating))
