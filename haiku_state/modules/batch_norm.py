"""Batch normalization by two passes, which a large mean does not upset."""

from collections.abc import Sequence
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.errors import UnboundAxisError, arguments
from haiku_state.errors.describe import shape_error
from haiku_state.modules.moving_average import ExponentialMovingAverage


class BatchNorm(hk.Module):
    r"""Normalize each channel by its mean and variance over the batch.

    .. math::
       \mu = \operatorname{mean}(x), \qquad
       \sigma^2 = \operatorname{mean}\bigl((x - \mu)^2\bigr), \qquad
       y = \gamma\,\frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta

    The statistics take two passes: first the mean, then the mean of the squared deviations.
    (``hk.BatchNorm`` computes :math:`\operatorname{mean}(x^2) - \mu^2`, which loses precision when
    :math:`|\mu| \gg \sigma`.) With ``cross_replica_axis``, both means are also taken over the
    devices. The signature of the constructor, the names of params and state, and all shapes match
    those of ``hk.BatchNorm``, so its checkpoints load here.

    With a mask, the mean and the variance are computed over the real rows only, so that padded rows
    change neither the output of other rows nor the running statistics:

    .. math:: \mu = \frac{\sum_i m_i x_i}{\sum_i m_i}

    The result still contains the rounding error of :math:`\mu`, typically a few units in the last
    place: in float32, a few times :math:`10^{-7} |\mu|`, depending on the number of rows and on the
    backend. The error of the output is this error divided by :math:`\sqrt{\sigma^2 + \epsilon}`,
    for example a few ten-thousandths at a mean of 1000 and a standard deviation of 1. For a channel
    that is constantly 1e5, the output may be anywhere in (-1, 1) instead of 0.

    Args:
      create_scale: whether the module has a trainable :math:`\gamma`, the parameter ``scale``.
      create_offset: whether the module has a trainable :math:`\beta`, the parameter ``offset``.
      decay_rate: the weight of the old values when the running statistics are updated, in [0, 1).
      eps: the number :math:`\epsilon` that is added to the variance, 0 or more.
      scale_init: the initializer of ``scale``; by default, all entries are one.
      offset_init: the initializer of ``offset``; by default, all entries are zero.
      axis: the axes over which the mean and the variance are taken, where negative axes count from
        the end; by default, all axes except the channel axis.
      cross_replica_axis: the name of the device axis over which the statistics are averaged; the
        axis must be bound by ``jax.pmap``, ``jax.vmap`` or ``jax.shard_map``.
      cross_replica_axis_index_groups: groups of device indices; the statistics are averaged only
        within each group.
      data_format: which axis holds the channels: ``"channels_last"``, ``"channels_first"``, or a
        layout such as ``"NHWC"``.
      name: the module's name.

    Raises:
      ArgumentError: ``decay_rate`` is outside [0, 1), ``eps`` is negative, or two arguments
        contradict each other.

    Example:
      >>> import haiku as hk, jax.numpy as jnp
      >>> from haiku_state import BatchNorm
      >>> norm = hk.transform_with_state(lambda *inputs: BatchNorm(True, True, 0.9)(*inputs))
      >>> x = jnp.array([[1.0], [3.0]])
      >>> params, state = norm.init(None, x, True)
      >>> y, state = norm.apply(params, state, None, x, True)
      >>> print(y.round(2).tolist())
      [[-1.0], [1.0]]
      >>> print(state["batch_norm/~/mean_ema"]["average"].round(3))
      [[2.]]

    References:
      Ioffe and Szegedy, *Batch Normalization*, 2015, algorithm 1.
    """

    def __init__(
        self,
        create_scale: bool,
        create_offset: bool,
        decay_rate: float,
        eps: float = 1e-5,
        scale_init: hk.initializers.Initializer | None = None,
        offset_init: hk.initializers.Initializer | None = None,
        axis: Sequence[int] | None = None,
        cross_replica_axis: str | Sequence[str] | None = None,
        cross_replica_axis_index_groups: Sequence[Sequence[int]] | None = None,
        data_format: str = "channels_last",
        name: str | None = None,
    ) -> None:
        super().__init__(name=name)
        self.create_scale, self.scale_init = create_scale, scale_init
        self.create_offset, self.offset_init = create_offset, offset_init
        self.eps = eps
        self.axis = axis
        self.cross_replica_axis = cross_replica_axis
        self.cross_replica_axis_index_groups = cross_replica_axis_index_groups
        self.channel_index = hk.get_channel_index(data_format)
        self.mean_ema = ExponentialMovingAverage(decay_rate, name="mean_ema")
        self.var_ema = ExponentialMovingAverage(decay_rate, name="var_ema")
        if error := arguments.batch_norm(self):
            raise error

    def __call__(
        self,
        inputs: jax.Array,
        is_training: bool,
        test_local_stats: bool = False,
        scale: jax.Array | None = None,
        offset: jax.Array | None = None,
        *,
        mask: jax.Array | None = None,
    ) -> jax.Array:
        r"""Normalize a batch.

        Args:
          inputs: an array of a floating dtype. It must have at least one axis to average over,
            unless ``cross_replica_axis`` is set.
          is_training: a Python bool. If it is True, the module normalizes by the statistics of the
            batch and updates the running statistics. If it is False, the module normalizes by the
            running statistics without changing them.
          test_local_stats: whether to normalize by the statistics of the batch even if
            ``is_training`` is False.
          scale: the array :math:`\gamma`, which is passed if ``create_scale`` is False and is
            broadcast against ``inputs``.
          offset: the array :math:`\beta`, which is passed if ``create_offset`` is False and is
            broadcast against ``inputs``.
          mask: the mask :math:`m`, 1 for a real row and 0 for a padded row, as :func:`batches`
            makes it. Its shape is (rows,) or the lengths of the first axes of ``inputs``. A batch
            without real rows does not change the running statistics.

        Returns:
          The normalized array, with the shape and dtype of ``inputs``. The statistics are computed
          and kept in at least float32.

        Raises:
          ArgumentError: ``inputs`` is not an array of a floating dtype or lacks an axis that
            ``axis`` names, ``mask`` does not fit the rows, a flag is not a bool, ``scale`` or
            ``offset`` is passed although the module creates it, or the state has a different number
            of channels than ``inputs``.
          UnboundAxisError: ``apply`` is called where the axis ``cross_replica_axis`` is not bound;
            only ``init`` works without the axis.
          TracedFlagError: ``is_training`` or ``test_local_stats`` is traced.
          UninitializedStateError: ``init`` ran with ``is_training=False``, or ``apply`` was
            given a state without the running statistics.
          DeviceStackedError: the running statistics of all devices were passed together with the
            batch of a single device.
        """
        is_training = arguments.read_flag("is_training", is_training)
        use_batch = is_training or arguments.read_flag("test_local_stats", test_local_stats)
        if not hasattr(inputs, "dtype"):
            raise arguments.not_floating("inputs", inputs)
        axis = _reduced(inputs.ndim, self.axis, self.channel_index)
        mask = None if mask is None else jnp.asarray(mask)
        if error := arguments.batch_norm_call(self, axis, inputs, scale, offset, mask):
            raise error
        dtype = np.promote_types(inputs.dtype, jnp.float32)
        shape = tuple(1 if i in axis else n for i, n in enumerate(inputs.shape))
        x = inputs.astype(dtype)

        if use_batch:
            mean, has_rows = _mean(x, mask, axis, self)
            var, has_rows = _mean(jnp.square(x - mean), mask, axis, self)
        else:
            mean, var = (
                _running(ema, shape).astype(dtype) for ema in (self.mean_ema, self.var_ema)
            )
        if is_training:
            self.mean_ema(mean, has_rows)
            self.var_ema(var, has_rows)

        if self.create_scale:
            scale = hk.get_parameter("scale", shape, inputs.dtype, self.scale_init or jnp.ones)
        if self.create_offset:
            offset = hk.get_parameter("offset", shape, inputs.dtype, self.offset_init or jnp.zeros)
        factor = jax.lax.rsqrt(var + self.eps)
        if scale is not None:
            factor = factor * _same_rank(scale, factor)
        outputs = (x - mean) * factor
        if offset is not None:
            outputs = outputs + _same_rank(offset, outputs)
        return outputs.astype(inputs.dtype)


# functions, not methods: an hk.mixed_precision policy would round what a method returns
def _mean(
    x: jax.Array, mask: jax.Array | None, axis: tuple[int, ...], norm: BatchNorm
) -> tuple[jax.Array, Any]:
    """Average over the real rows of all devices; also return whether there are any."""
    if mask is None:
        return _over_devices(jax.lax.pmean, jnp.mean(x, axis, keepdims=True), norm), True
    weight = jnp.reshape(mask, mask.shape + (1,) * (x.ndim - mask.ndim)).astype(x.dtype)
    weight = jnp.broadcast_to(weight, x.shape)
    # `where`, so that a NaN in a padded row does not spoil the sum
    total = jnp.sum(jnp.where(weight > 0, weight * x, 0), axis, keepdims=True)
    count = jnp.sum(weight, axis, keepdims=True)
    total, count = _over_devices(jax.lax.psum, (total, count), norm)
    return total / jnp.where(count > 0, count, 1), jnp.any(count > 0)


def _over_devices(reduce: Any, tree: Any, norm: BatchNorm) -> Any:
    name, groups = norm.cross_replica_axis, norm.cross_replica_axis_index_groups
    if name is None:
        return tree
    try:
        return reduce(tree, name, axis_index_groups=groups)
    except NameError as error:
        if hk.running_init():  # names and shapes are the same without the other replicas
            return tree
        raise UnboundAxisError(axis=name) from error


def _reduced(rank: int, axis: Sequence[int] | None, channel: int) -> tuple[int, ...]:
    """Return the axes to reduce over, each counted from 0; none where there is no such axis."""
    axes = range(rank)
    if axis is None:
        return tuple(i for i in axes if i != channel % rank)
    try:
        return tuple(sorted({axes[i] for i in axis}))
    except (IndexError, TypeError):
        return ()


def _running(ema: ExponentialMovingAverage, expected: tuple[int, ...]) -> jax.Array:
    average = ema.average
    if average.shape != expected:  # it might silently broadcast
        counter = ema.state_dict().get(f"{ema.module_name}/counter")
        path = f"state[{ema.module_name!r}]['average']"
        raise shape_error(path, average.shape, expected, counter is not None and counter.ndim > 0)
    return average


def _same_rank(value: jax.Array, like: jax.Array) -> jax.Array:
    return jax.lax.broadcast_to_rank(jnp.asarray(value, like.dtype), like.ndim)
