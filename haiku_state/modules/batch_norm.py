"""Batch normalization whose variance is right at any mean."""

from collections.abc import Sequence

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.errors import (
    DeviceStackedError,
    ModuleArgumentError,
    TracedFlagError,
    UnboundAxisError,
)
from haiku_state.modules.moving_average import ExponentialMovingAverage


class BatchNorm(hk.Module):
    r"""Normalize each channel by its mean and variance over the batch.

    .. math::
       \mu = \operatorname{mean}(x), \qquad
       \sigma^2 = \operatorname{mean}\bigl((x - \mu)^2\bigr), \qquad
       y = \gamma\,\frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta

    Two passes: the mean first, then the mean of squared deviations. (``hk.BatchNorm`` takes
    :math:`\operatorname{mean}(x^2) - \mu^2`, which cancels when :math:`|\mu| \gg \sigma`.) With
    ``cross_replica_axis`` both means are taken over the devices too. Arguments, parameter
    names, state names and shapes are those of ``hk.BatchNorm``, so its checkpoints load here.

    Args:
      create_scale: whether there is a trained :math:`\gamma`, the parameter ``scale``.
      create_offset: whether there is a trained :math:`\beta`, the parameter ``offset``.
      decay_rate: weight of the past in the running statistics, in [0, 1).
      eps: :math:`\epsilon`, added to the variance.
      scale_init: initializer of ``scale``; ones by default.
      offset_init: initializer of ``offset``; zeros by default.
      axis: the axes to reduce over; all but the channels by default.
      cross_replica_axis: name of the device axis to average over, bound by ``jax.pmap``,
        ``jax.vmap`` or ``jax.shard_map``.
      cross_replica_axis_index_groups: groups of device indices that average among themselves.
      data_format: where the channels are: ``"channels_last"``, ``"channels_first"``, or the
        likes of ``"NHWC"``.
      name: the module's name.

    Raises:
      ModuleArgumentError: two arguments contradict each other.

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
        _forbid(not create_scale and scale_init is not None, "scale_init", "create_scale=False")
        _forbid(not create_offset and offset_init is not None, "offset_init", "create_offset=False")
        _forbid(
            cross_replica_axis is None and cross_replica_axis_index_groups is not None,
            "cross_replica_axis_index_groups",
            "cross_replica_axis=None",
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
          inputs: an array of rank 2 or more and a floating dtype.
          is_training: a Python bool. True: normalize by the batch and advance the running
            statistics. False: normalize by the running statistics and leave them.
          test_local_stats: normalize by the batch even when ``is_training`` is False.
          scale: :math:`\gamma`, if ``create_scale`` is False; broadcasts against ``inputs``.
          offset: :math:`\beta`, if ``create_offset`` is False; broadcasts against ``inputs``.

        Returns:
          The normalized array, with the shape and dtype of ``inputs``. The statistics are
          computed in float32 at least.

        Raises:
          ModuleArgumentError: ``scale`` or ``offset`` is given although it is created.
          UnboundAxisError: ``cross_replica_axis`` is not bound; only ``init`` can do without.
          TracedFlagError: ``is_training`` or ``test_local_stats`` is traced.
          UninitializedStateError: ``init`` ran with ``is_training=False``.
          DeviceStackedError: the running statistics of all devices came with a batch of one.
        """
        is_training = _flag("is_training", is_training)
        use_batch = is_training or _flag("test_local_stats", test_local_stats)
        _forbid(self.create_scale and scale is not None, "scale", "create_scale=True")
        _forbid(self.create_offset and offset is not None, "offset", "create_offset=True")
        dtype = np.promote_types(inputs.dtype, jnp.float32)
        channel = self.channel_index % inputs.ndim
        over = (i for i in range(inputs.ndim) if i != channel) if self.axis is None else self.axis
        axis = tuple(i % inputs.ndim for i in over)
        shape = tuple(1 if i in axis else n for i, n in enumerate(inputs.shape))
        x = inputs.astype(dtype)

        if use_batch:
            groups = self.cross_replica_axis_index_groups
            mean = _mean(x, axis, self.cross_replica_axis, groups)
            var = _mean(jnp.square(x - mean), axis, self.cross_replica_axis, groups)
        else:
            mean = _one_replica(self.mean_ema, shape).astype(dtype)
            var = _one_replica(self.var_ema, shape).astype(dtype)
        if is_training:
            self.mean_ema(mean.astype(inputs.dtype))
            self.var_ema(var.astype(inputs.dtype))

        if self.create_scale:
            scale = hk.get_parameter("scale", shape, inputs.dtype, self.scale_init)
        if self.create_offset:
            offset = hk.get_parameter("offset", shape, inputs.dtype, self.offset_init)
        outputs = (x - mean) * _times(jax.lax.rsqrt(var + self.eps), scale)
        if offset is not None:
            outputs = outputs + _same_rank(offset, outputs)
        return outputs.astype(inputs.dtype)


def _flag(name: str, value: bool) -> bool:
    try:
        return bool(value)
    except jax.errors.TracerBoolConversionError as error:
        raise TracedFlagError(name=name) from error


# no method: a policy of hk.mixed_precision would round what a method returns
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


def _one_replica(ema: ExponentialMovingAverage, expected: tuple[int, ...]) -> jax.Array:
    average = ema.average
    if average.shape[1:] == expected:
        raise DeviceStackedError(
            path=f"state[{ema.module_name!r}]['average']",
            shape=average.shape,
            expected=expected,
            wrong="apply(params, state, rng, inputs)",
            right="apply(unreplicate(params), unreplicate(state), rng, inputs)",
        )
    return average


def _forbid(contradiction: bool, given: str, against: str) -> None:
    if contradiction:
        raise ModuleArgumentError(name="BatchNorm", given=given, against=against)


def _same_rank(value: jax.Array, like: jax.Array) -> jax.Array:
    return jax.lax.broadcast_to_rank(jnp.asarray(value, like.dtype), like.ndim)


def _times(x: jax.Array, scale: jax.Array | None) -> jax.Array:
    return x if scale is None else x * _same_rank(scale, x)
