"""One pure update step."""

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

import jax
import jax.numpy as jnp

from haiku_state.errors import HaikuStateError, LossFunctionError
from haiku_state.errors.describe import describe_tree, stacked_error
from haiku_state.errors.diagnosis import named_errors
from haiku_state.pure.check import check_state, one_check
from haiku_state.typing import Batch, LossFn, Metrics, Predicate, UpdateFn
from haiku_state.update.train_state import TrainState

if TYPE_CHECKING:
    import optax


def make_update(
    loss_fn: LossFn,
    optimizer: "optax.GradientTransformation",
    *,
    strict: bool = True,
    frozen: Predicate | None = None,
    weight: Callable[[Batch], jax.Array] | None = None,
) -> UpdateFn:
    r"""Build the pure update step of a loss function and an optimizer.

    .. math:: (p, s, o, r, t) \mapsto (p + \Delta p,\; s',\; o',\; r',\; t + 1)

    Here :math:`s'` is the state that the forward pass returned, and :math:`\Delta p, o'` come
    from the optimizer, given the gradient of the loss with respect to the params :math:`p`.

    With ``axis_name`` the step is one replica of many: gradients and metrics are averaged over
    that axis, and each replica draws its own random numbers. The modules that keep the state
    average it; see ``cross_replica_axis`` of :class:`BatchNorm`.

    Args:
      loss_fn: ``loss_fn(params, state, rng, batch) -> (loss, (state, metrics))``, where the loss is
        a float scalar and a mean over the examples, and the metrics are a dict of scalars.
      optimizer: an Optax optimizer.
      strict: whether the state that ``loss_fn`` returns must pass :func:`check_state` with
        ``is_training=True``.
      frozen: as in :func:`check_state`: the statistics that need not advance.
      weight: ``weight(batch)``, the number of examples that a device's part of the batch counts
        for, where devices have unequal parts: ``lambda batch: batch["mask"].sum()``. Gradients
        and metrics are then means over the examples. All devices count the same by default.

    Returns:
      ``update(train_state, batch, *, axis_name=None) -> (train_state, metrics)``. The metrics
      include ``"loss"``.

    Raises:
      LossFunctionError: at the first call, if ``loss_fn`` returns anything else.
      DeviceStackedError: at the first call, if the train state has a device axis.
      HaikuStateError: at the first call, the errors of :func:`check_state`.

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
      Haiku's documentation, `Haiku Basics
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

        loss_and_grads = jax.value_and_grad(loss_fn, has_aux=True)
        with _named(loss_fn, params, state, step_rng, batch), one_check(strict):
            result, grads = loss_and_grads(params, state, step_rng, batch)
            loss, (new_state, metrics) = expect_loss(result)
            if strict:
                check_state(state, new_state, is_training=True, frozen=frozen)

        metrics = {"loss": loss, **metrics}
        if axis_name is not None:
            grads, metrics = _mean((grads, metrics), weight and weight(batch), axis_name)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        params = optax.apply_updates(params, updates)
        return TrainState(params, new_state, opt_state, rng, step + 1), metrics

    return cast(UpdateFn, update)


def example_mean(
    values: jax.Array, mask: jax.Array | None = None, axis_name: str | None = None
) -> jax.Array:
    r"""Average over examples, not over devices or padded rows.

    .. math:: \frac{\sum_d \sum_i m_{di} x_{di}}{\sum_d \sum_i m_{di}}

    Here :math:`d` counts the devices, :math:`i` the rows of a device, and :math:`m` is the mask.
    Inside a loss function pass no axis name: its mean is over the device's own rows, and
    :func:`make_update` weights the devices.

    Args:
      values: one number per example, shape (rows, …), floating.
      mask: shape (rows,), 1 for an example and 0 for a padded row; all examples by default.
      axis_name: the device axis, if the mean is over the rows of all devices.

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
    # `where`, so that a NaN in a padded row does not spoil the sum
    total = jnp.sum(jnp.where(weights > 0, values * weights, jnp.zeros_like(values)))
    count = jnp.sum(weights)
    if axis_name is not None:
        total, count = jax.lax.psum((total, count), axis_name)
    return total / jnp.maximum(count, jnp.ones_like(count))


def expect_loss(result: Any) -> Any:
    """Return what a loss function returned, if it is ``(loss, (state, metrics))``.

    Args:
      result: the loss, a float scalar; the state; the metrics, a dict without ``"loss"``.

    Raises:
      LossFunctionError: it is anything else.
    """
    wrong = "return loss, state"
    match result:
        case (loss, (_, dict() as metrics)) if _is_scalar(loss):
            if "loss" not in metrics:
                return result
            wrong = 'return loss, (state, {"loss": loss})'
    raise LossFunctionError(returned=describe_tree(result), wrong=wrong)


@contextlib.contextmanager
def _named(loss_fn: LossFn, params: Any, state: Any, rng: Any, batch: Any) -> Iterator[None]:
    """Name what goes wrong in a loss function."""
    with named_errors(params=params, state=state, batch=batch):
        try:
            yield
        except HaikuStateError:
            raise
        except (TypeError, ValueError):
            # JAX refused the result, or the loss function itself failed: a second call tells which
            _expect_result_of(loss_fn, params, state, rng, batch)
            raise


def _expect_result_of(loss_fn: LossFn, *arguments: Any) -> None:
    try:
        result = loss_fn(*arguments)
    except Exception:
        return  # it fails by itself, and the caller raises that error
    expect_loss(result)


def _expect_one_replica(step: Any) -> None:
    if jnp.ndim(step):
        call = "jit_update(update)(train_state, batch)"
        raise stacked_error("train_state.step", jnp.shape(step), (), call)


def _mean(tree: Any, weight: Any, axis_name: str) -> Any:
    """Average over the devices, each weighted by its number of examples."""
    if weight is None:
        return jax.lax.pmean(tree, axis_name)
    total = jax.lax.psum(weight, axis_name)

    def mean(leaf: jax.Array) -> jax.Array:
        # `where`, since the mean over no example may be NaN
        weighted = jnp.where(weight > 0, leaf * weight.astype(leaf.dtype), jnp.zeros_like(leaf))
        return jax.lax.psum(weighted, axis_name) / total.astype(leaf.dtype)

    return jax.tree.map(mean, tree)


def _is_scalar(loss: Any) -> bool:
    return jnp.shape(loss) == () and bool(jnp.issubdtype(jnp.result_type(loss), jnp.floating))
