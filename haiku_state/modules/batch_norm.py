"""Batch normalization by two passes, which a large mean does not upset."""

from collections.abc import Sequence
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.errors import TracedFlagError, UnboundAxisError, arguments
from haiku_state.errors.describe import shape_error
from haiku_state.modules.moving_average import ExponentialMovingAverage


class BatchNorm(hk.Module):
    r"""Normalize each channel by its mean and variance over the batch.

    .. math::
       \mu = \operatorname{mean}(x), \qquad
       \sigma^2 = \operatorname{mean}\bigl((x - \mu)^2\bigr), \qquad
       y = \gamma\,\frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta

    Two passes: the mean first, then the mean of squared deviations. (``hk.BatchNorm`` takes
    :math:`\operatorname{mean}(x^2) - \mu^2`, which cancels when :math:`|\mu| \gg \sigma`.) With
    ``cross_replica_axis`` both means are taken over the devices too. Arguments, parameter names,
    state names and shapes match those of ``hk.BatchNorm``, so its checkpoints load here.

    The remaining error is the rounding of :math:`\mu` itself, in float32 by up to :math:`4 \cdot
    10^{-7} |\mu|`. The output is then off by :math:`4 \cdot 10^{-7} |\mu| / \sqrt{\sigma^2 +
    \epsilon}`: by 4e-4 at a mean of 1000 and a standard deviation of 1, but for a constant channel
    of 1e5, the output may be anywhere in (-1, 1) instead of 0.

    Args:
      create_scale: whether there is a trainable :math:`\gamma`, the parameter ``scale``.
      create_offset: whether there is a trainable :math:`\beta`, the parameter ``offset``.
      decay_rate: weight of the past in the running statistics, in [0, 1).
      eps: :math:`\epsilon`, added to the variance; 0 or more.
      scale_init: initializer of ``scale``; ones by default.
      offset_init: initializer of ``offset``; zeros by default.
      axis: the axes to reduce over, where negative axes count from the end; by default, all axes
        except the channels.
      cross_replica_axis: name of the device axis to average over, bound by ``jax.pmap``,
        ``jax.vmap`` or ``jax.shard_map``.
      cross_replica_axis_index_groups: groups of device indices that average among themselves.
      data_format: where the channels are: ``"channels_last"``, ``"channels_first"``, or a layout
        such as ``"NHWC"``.
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
        cross_replica_axis: str | None = None,
        cross_replica_axis_index_groups: Sequence[Sequence[int]] | None = None,
        data_format: str = "channels_last",
        name: str | None = None,
    ) -> None:
        super().__init__(name=name)
        if not eps >= 0:
            raise arguments.eps(eps)
        if not create_scale:
            _expect_none("scale_init", scale_init, "create_scale=False", "create_scale=True")
        if not create_offset:
            _expect_none("offset_init", offset_init, "create_offset=False", "create_offset=True")
        if cross_replica_axis is None:
            _expect_none(
                "cross_replica_axis_index_groups",
                cross_replica_axis_index_groups,
                "cross_replica_axis=None",
                'cross_replica_axis="devices"',
            )
        self.create_scale = create_scale
        self.create_offset = create_offset
        self.eps = eps
        self.scale_init = scale_init or jnp.ones
        self.offset_init = offset_init or jnp.zeros
        self.axis = axis
        self.cross_replica_axis = cross_replica_axis
        self.cross_replica_axis_index_groups = cross_replica_axis_index_groups
        self.channel_index = hk.get_channel_index(data_format)
        self.mean_ema = ExponentialMovingAverage(decay_rate, name="mean_ema")
        self.var_ema = ExponentialMovingAverage(decay_rate, name="var_ema")

    def __call__(
        self,
        inputs: jax.Array,
        is_training: bool,
        test_local_stats: bool = False,
        scale: jax.Array | None = None,
        offset: jax.Array | None = None,
    ) -> jax.Array:
        r"""Normalize a batch.

        Args:
          inputs: an array of a floating dtype, with at least one axis to reduce over, unless
            ``cross_replica_axis`` is set.
          is_training: a Python bool. True: normalize by the batch and advance the running
            statistics. False: normalize by the running statistics without changing them.
          test_local_stats: normalize by the batch even when ``is_training`` is False.
          scale: :math:`\gamma`, if ``create_scale`` is False; broadcasts against ``inputs``.
          offset: :math:`\beta`, if ``create_offset`` is False; broadcasts against ``inputs``.

        Returns:
          The normalized array, with the shape and dtype of ``inputs``. The statistics are computed
          and kept in at least float32.

        Raises:
          ArgumentError: ``inputs`` is not such an array or lacks an axis of ``axis``, a flag is not
            a bool, ``scale`` or ``offset`` is given although the module creates it, or the state
            has a different number of channels.
          UnboundAxisError: ``cross_replica_axis`` is not bound; only ``init`` works without the
            axis.
          TracedFlagError: ``is_training`` or ``test_local_stats`` is traced.
          UninitializedStateError: ``init`` ran with ``is_training=False``, or ``apply`` was
            given a state without the running statistics.
          DeviceStackedError: the running statistics of all devices were passed with the batch of a
            single device.
        """
        is_training = _flag("is_training", is_training)
        use_batch = is_training or _flag("test_local_stats", test_local_stats)
        if not jnp.issubdtype(inputs.dtype, jnp.floating):
            raise arguments.not_floating("inputs", inputs)
        axis = _axes(inputs, self.axis, self.channel_index)
        if not axis and (self.axis or not self.cross_replica_axis):
            raise arguments.reduced_axes(inputs, self.axis)
        dtype = np.promote_types(inputs.dtype, jnp.float32)
        shape = tuple(1 if i in axis else n for i, n in enumerate(inputs.shape))
        x = inputs.astype(dtype)

        if use_batch:
            groups = self.cross_replica_axis_index_groups
            mean = _mean(x, axis, self.cross_replica_axis, groups)
            var = _mean(jnp.square(x - mean), axis, self.cross_replica_axis, groups)
        else:
            mean = _average(self.mean_ema, shape).astype(dtype)
            var = _average(self.var_ema, shape).astype(dtype)
        if is_training:
            self.mean_ema(mean)
            self.var_ema(var)

        if self.create_scale:
            _expect_none("scale", scale, "create_scale=True", "create_scale=False")
            scale = hk.get_parameter("scale", shape, inputs.dtype, self.scale_init)
        if self.create_offset:
            _expect_none("offset", offset, "create_offset=True", "create_offset=False")
            offset = hk.get_parameter("offset", shape, inputs.dtype, self.offset_init)
        factor = jax.lax.rsqrt(var + self.eps)
        if scale is not None:
            factor = factor * _same_rank(scale, factor)
        outputs = (x - mean) * factor
        if offset is not None:
            outputs = outputs + _same_rank(offset, outputs)
        return outputs.astype(inputs.dtype)


# a function, not a method: an hk.mixed_precision policy would look at what a method returns
def _axes(inputs: jax.Array, axis: Sequence[int] | None, channel: int) -> tuple[int, ...]:
    """Return the axes to reduce over, each counted from 0; none where there is no such axis."""
    axes = range(inputs.ndim)
    if axis is None:
        return tuple(i for i in axes if i != channel % inputs.ndim)
    try:
        return tuple(sorted({axes[i] for i in axis}))
    except (IndexError, TypeError):
        return ()


def _flag(name: str, value: bool) -> bool:
    if not (isinstance(value, int) or hasattr(value, "dtype")):
        raise arguments.flag(name, value)
    try:
        return bool(value)
    except jax.errors.TracerBoolConversionError as error:
        call = "init" if hk.running_init() else "apply"
        raise TracedFlagError(name=name, call=call) from error


# a function, not a method: an hk.mixed_precision policy would round what a method returns
def _mean(
    x: jax.Array, axis: tuple[int, ...], name: str | None, groups: Sequence[Sequence[int]] | None
) -> jax.Array:
    mean = jnp.mean(x, axis, keepdims=True)
    if name is None:
        return mean
    try:
        return jax.lax.pmean(mean, name, axis_index_groups=groups)
    except NameError as error:
        if hk.running_init():  # names and shapes are the same without the other replicas
            return mean
        raise UnboundAxisError(axis=name) from error


def _average(ema: ExponentialMovingAverage, expected: tuple[int, ...]) -> jax.Array:
    average = ema.average
    if average.shape != expected:  # it might silently broadcast
        raise shape_error(f"state[{ema.module_name!r}]['average']", average.shape, expected)
    return average


def _expect_none(argument: str, value: Any, setting: str, needed: str) -> None:
    if value is not None:
        raise arguments.ignored(argument, value, setting, needed)


def _same_rank(value: jax.Array, like: jax.Array) -> jax.Array:
    return jax.lax.broadcast_to_rank(jnp.asarray(value, like.dtype), like.ndim)
