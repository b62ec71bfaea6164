"""One pure update step."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import keystr, tree_leaves_with_path

from haiku_state.errors import DeviceStackedError, LossFunctionError, arguments
from haiku_state.errors.describe import describe_tree, leaked_error, leaves_by_path
from haiku_state.errors.diagnosis import loss_errors, opt_state_errors
from haiku_state.pure.check import check_state
from haiku_state.typing import Batch, LossFn, Metrics, Predicate, UpdateFn, is_float, wide_dtype
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
) -> UpdateFn[TrainState]:
    r"""Build the pure update step from a loss function and an optimizer.

    .. math:: (p, s, o, r, t) \mapsto (p + \Delta p,\; s',\; o',\; r',\; t + 1)

    Here :math:`s'` is the state that the forward pass returned, and :math:`\Delta p, o'` come
    from the optimizer, given the gradient of the loss with respect to the params :math:`p`. If the
    optimizer skips the step because the gradient is not finite, the state does not change either:
    :math:`s' = s`. The optimizers that can skip steps are ``optax.apply_if_finite``,
    ``optax.MultiSteps`` with ``should_skip_update_fn``, and :func:`.scale_loss`.

    If ``axis_name`` is given, the step runs as one of many replicas along that axis: gradients and
    metrics are averaged over the axis, and each replica draws its own random numbers. The state is
    averaged by the modules that keep it; see ``cross_replica_axis`` of :class:`BatchNorm`.

    Args:
      loss_fn: ``loss_fn(params, state, rng, batch) -> (loss, (state, metrics))``, where the loss is
        a float scalar and a mean over the examples, and the metrics are a dict of scalars.
      optimizer: an Optax optimizer.
      strict: whether the state that ``loss_fn`` returns must pass :func:`check_state` with
        ``is_training=True``.
      frozen: which statistics need not advance, in the form that :func:`check_state` takes.
      weight: ``weight(batch)`` returns the number of examples in a device's part of the batch, for
        devices with unequal parts; for example, ``lambda batch: batch["mask"].sum()``. Gradients
        and metrics are then means over the examples of all devices. By default, all devices have
        the same weight. Within a device, ``loss_fn`` itself must exclude the padded rows: it should
        average with :func:`example_mean` and the mask, and pass the mask to :class:`BatchNorm` too.

    Returns:
      ``update(train_state, batch, *, axis_name=None) -> (train_state, metrics)``. The metrics
      include ``"loss"``.

    Raises:
      ArgumentError: ``loss_fn`` cannot be called with ``(params, state, rng, batch)``, or
        ``optimizer`` is not an optimizer; also when ``update`` is called, if its first argument is
        not a train state.
      LossFunctionError: when ``update`` is called, if ``loss_fn`` does not return
        ``(loss, (state, metrics))``.
      DeviceStackedError: when ``update`` is called, if the train state has a device axis.
      HaikuStateError: any error that :func:`check_state` raises, when ``update`` is called.

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

    if error := arguments.uncallable("loss_fn", loss_fn, "params", "state", "rng", "batch"):
        raise error
    if error := arguments.optimizer(optimizer):
        raise error
    taken = inspect.signature(optimizer.update).parameters
    optimizer = optax.with_extra_args_support(optimizer)

    def update(
        train_state: TrainState, batch: Batch, *, axis_name: str | None = None
    ) -> tuple[TrainState, Metrics]:
        if not isinstance(train_state, tuple) or len(train_state) != 5:
            raise arguments.train_state(train_state)
        params, state, opt_state, rng, step = train_state
        if jnp.ndim(step):
            raise DeviceStackedError(path="train_state.step", shape=jnp.shape(step), expected=())
        rng, step_rng = jax.random.split(rng)
        if axis_name is not None:
            step_rng = jax.random.fold_in(step_rng, jax.lax.axis_index(axis_name))

        rows = None if weight is None or axis_name is None else _relative(weight(batch), axis_name)
        has_rows = rows is None or rows > 0

        def mean(tree: Any) -> Any:
            if axis_name is None:
                return tree
            if has_rows is not True:  # the mean over no example may be NaN
                tree = jax.tree.map(lambda leaf: jnp.where(has_rows, leaf, 0), tree)
            return device_mean(tree, axis_name)

        # weighted before the gradient is taken: it passes through the statistics of all devices
        mean_fn = loss_fn if rows is None else scaled_loss(loss_fn, rows)
        grad_fn = jax.value_and_grad(mean_fn, has_aux=True)

        @jax.custom_vjp  # JAX would differentiate a mean over devices on each device alone
        def value_fn(params: Any) -> jax.Array:
            return mean(mean_fn(params, state, step_rng, batch)[0])

        def value_and_grads(params: Any) -> tuple[jax.Array, Any]:
            (value, _), grads = grad_fn(params, state, step_rng, batch)
            return mean((value, grads))

        def scaled(grads: Any, scale: jax.Array) -> tuple[Any]:
            return (jax.tree.map(lambda grad: grad * scale.astype(grad.dtype), grads),)

        value_fn.defvjp(value_and_grads, scaled)

        with loss_errors(params=params, state=state, batch=batch):
            result, grads = grad_fn(params, state, step_rng, batch)
            loss, new_state, metrics = expect_loss(result)
            if strict:
                check_state(state, new_state, is_training=True, frozen=frozen)
                # in the mappings that it came in, as a loop needs it
                new_state = jax.tree.unflatten(
                    jax.tree.structure(state), jax.tree.leaves(new_state)
                )

        metrics = jax.tree.map(as_metric, metrics)
        if rows is not None:
            metrics = jax.tree.map(lambda metric: metric * rows, metrics)
        metrics = {"loss": as_metric(loss), **metrics}
        loss, grads, metrics = mean((loss, grads, metrics))
        extra = {"value": loss, "grad": grads, "value_fn": value_fn}  # for those that search a line
        if all(each.kind is not each.VAR_KEYWORD for each in taken.values()):
            extra = {name: extra[name] for name in extra if name in taken}  # optax.contrib.sam
        with opt_state_errors(optimizer, opt_state, params):
            updates, opt_state = optimizer.update(grads, opt_state, params, **extra)
        params = optax.apply_updates(params, updates)
        for is_taken in taken_steps(opt_state):
            keep = functools.partial(jnp.where, is_taken)
            new_state = jax.tree.map(keep, new_state, state)
        return TrainState(params, new_state, opt_state, rng, step + 1), metrics

    return update


def expect_loss(result: Any) -> tuple[jax.Array, Any, dict[str, Any]]:
    """Take apart what a loss function returned.

    Args:
      result: ``(loss, (state, metrics))``: the loss a float scalar, the metrics numbers by name.

    Returns:
      The loss, the state and the metrics.

    Raises:
      LossFunctionError: it is anything else.
      LeakedTracerError: a metric was computed inside ``jax.lax.scan``, ``jax.vmap`` or the like.
    """
    match result:
        case (loss, (state, Mapping() as metrics)) if _is_scalar(loss, jnp.floating):
            if leaked := leaked_error(leaves_by_path(metrics=dict(metrics))):
                raise leaked
            arrays = [name for name, value in metrics.items() if not _is_scalar(value)]
            if not arrays and "loss" not in metrics:
                return loss, state, dict(metrics)
    raise LossFunctionError(value=describe_tree(result))


def scaled_loss(loss_fn: LossFn, factor: jax.Array) -> LossFn:
    """Multiply what a loss function returns as its loss, in float32 at least.

    Args:
      loss_fn: ``loss_fn(params, state, rng, batch) -> (loss, (state, metrics))``.
      factor: a floating scalar.
    """

    @functools.wraps(loss_fn)
    def scaled(*arguments: Any) -> Any:
        result: Any = loss_fn(*arguments)
        match result:
            case (loss, aux) if is_float(loss):
                return loss.astype(wide_dtype(loss)) * factor, aux
        return result  # what takes it apart names what is wrong with it

    return scaled


def _relative(count: Any, axis_name: str) -> jax.Array:
    """Divide the number of examples here by the mean of those numbers over the devices."""
    if jnp.ndim(count):
        raise arguments.weight(count)
    count = as_metric(count)
    mean = jax.lax.pmean(count, axis_name)
    return count / jnp.where(mean > 0, mean, 1)


def _is_scalar(value: Any, kind: Any = np.number) -> bool:
    if not isinstance(value, jax.Array | np.ndarray | np.generic | int | float):
        return False
    kinds = (kind, np.bool_) if kind is np.number else (kind,)
    return np.shape(value) == () and any(jnp.issubdtype(jnp.result_type(value), k) for k in kinds)


def taken_steps(opt_state: Any) -> list[jax.Array]:
    """Return whether each optimizer that may skip a step has taken it."""
    named = [(keystr(path[-2:]), leaf) for path, leaf in tree_leaves_with_path(opt_state)]
    taken = [leaf for name, leaf in named if name.endswith(".last_finite")]
    return taken + [~leaf for name, leaf in named if name.endswith(".skip_state['should_skip']")]


def example_mean(
    values: jax.Array, mask: jax.Array | None = None, axis_name: str | None = None
) -> jax.Array:
    r"""Average over examples, with the same weight for each example and none for padded rows.

    .. math:: \frac{\sum_d \sum_i m_{di} x_{di}}{\sum_d \sum_i m_{di}}

    Here :math:`d` is the index of a device, :math:`i` is the index of a row on that device, and
    :math:`m` is the mask. Do not pass ``axis_name`` inside a loss function, because the loss should
    be the mean over the device's own rows: :func:`make_update` averages over the devices.

    Args:
      values: a floating-point array of shape (rows, …), with one row for each example.
      mask: an array that is 1 for an example and 0 for a padded row, of shape (rows,) or of the
        shape of the first axes of ``values``; by default, every row is an example. Where a gradient
        is taken, the values of padded rows must be finite, because a NaN can make the gradient NaN
        even if the mask excludes the NaN.
      axis_name: the name of the device axis, for a mean over the rows of all devices.

    Returns:
      The mean, a scalar with the dtype of ``values``; 0 if there is no example.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state import example_mean
      >>> print(example_mean(jnp.array([1.0, 3.0, 8.0]), jnp.array([1.0, 1.0, 0.0])))
      2.0

    References:
      :func:`batches` with ``remainder="pad"`` makes the mask.
    """
    values = jnp.asarray(values)
    wide = as_metric(values)
    rows = jnp.ones(()) if mask is None else jnp.asarray(mask)
    rows = rows.astype(wide.dtype).reshape(rows.shape + (1,) * (values.ndim - rows.ndim))
    weights = jnp.broadcast_to(rows, values.shape)
    # `where`, so that a NaN in a padded row does not spoil the sum
    total = jnp.sum(jnp.where(weights > 0, wide * weights, 0))
    count = jnp.sum(weights)
    if axis_name is not None:
        total, count = jax.lax.psum((total, count), axis_name)
    mean = total / jnp.where(count > 0, count, 1)
    return mean.astype(values.dtype) if is_float(values) else mean


def as_metric(value: Any) -> jax.Array:
    """Make an array of float32 at least, whose mean is the same on every runner."""
    value = jnp.asarray(value)
    return value.astype(wide_dtype(value) if is_float(value) else jnp.result_type(float))


def device_mean(tree: Any, axis_name: str) -> Any:
    """Average over the devices, in float32 at least.

    Args:
      tree: a PyTree of floating arrays, each of any shape.
      axis_name: the device axis.

    Returns:
      The same PyTree, with the same dtypes.
    """
    wide = jax.tree.map(lambda leaf: leaf.astype(wide_dtype(leaf)), tree)
    means = jax.lax.pmean(wide, axis_name)
    return jax.tree.map(lambda mean, leaf: mean.astype(leaf.dtype), means, tree)
