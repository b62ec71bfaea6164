"""Two ways to average a stream: over all of it, and with weights that decay into the past."""

import math
from collections.abc import Sequence
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.errors import HaikuStateError, arguments
from haiku_state.errors.describe import shape_error
from haiku_state.errors.modules import uninitialized_average


class MovingAverage(hk.Module):
    r"""Average all values so far by keeping their sum and their number.

    .. math:: s_t = s_{t-1} + x_t, \qquad n_t = n_{t-1} + 1, \qquad \bar{x}_t = s_t / n_t

    Example:
      >>> import haiku as hk, jax.numpy as jnp
      >>> from haiku_state import MovingAverage
      >>> average = hk.transform_with_state(lambda x: MovingAverage()(x))
      >>> params, state = average.init(None, jnp.float32(0))
      >>> for x in [2.0, 4.0, 6.0]:
      ...     mean, state = average.apply(params, state, None, jnp.float32(x))
      ...     print(mean)
      2.0
      3.0
      4.0

    References:
      The definition of the arithmetic mean.
    """

    def __call__(self, value: jax.Array, update_stats: bool | jax.Array = True) -> jax.Array:
        """Add one value and return the average.

        Args:
          value: the next value, an array of any shape and a floating dtype. For a padded batch,
            pass the mean over its real rows, as :func:`example_mean` computes it.
          update_stats: whether the value counts: a bool or a scalar array of dtype bool, such as
            ``mask.any()``. If it is False, the state and the average do not change.

        Returns:
          The average so far, with the shape and dtype of ``value``. The sum is kept in at least
          float32.

        Raises:
          ArgumentError: the dtype of ``value`` is not floating, or earlier values had a different
            shape.
          DeviceStackedError: the state that was passed belongs to all devices instead of a single
            device.
        """
        value, update_stats = jnp.asarray(value), jnp.asarray(update_stats, bool)
        total = hk.get_state("sum", value.shape, _state_dtype(value), init=jnp.zeros)
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros)
        _expect_shape(self, "sum", total, value, count)
        total = total + jnp.where(update_stats, value.astype(total.dtype), 0)
        count = count + jnp.asarray(update_stats, jnp.int32)
        hk.set_state("sum", total)
        hk.set_state("count", count)
        return (total / jnp.maximum(count, 1).astype(total.dtype)).astype(value.dtype)


class ExponentialMovingAverage(hk.Module):
    r"""Average with exponentially decaying weights, corrected for starting at zero.

    .. math::
       h_t = d\,h_{t-1} + (1 - d)\,x_t, \qquad \bar{x}_t = \frac{h_t}{1 - d^{\,t}}

    The state uses the names of ``hk.ExponentialMovingAverage``: ``hidden`` is :math:`h_t`,
    ``average`` is :math:`\bar{x}_t`, ``counter`` is :math:`t`. The denominator is computed as
    ``-expm1(t * log(d))``, which stays accurate where :math:`d^{\,t}` is close to one.

    The state and the computation use at least float32, because bfloat16 would round most of
    :math:`(1 - d)\,x_t` away, whereas Haiku's state has the precision of the values. Each of the
    two modules can load the state of the other module. A loaded state keeps its dtype, so convert a
    half-precision state to float32 first to gain precision.

    Args:
      decay_rate: the weight :math:`d` of the previous average, in [0, 1).
      zero_debias: whether to divide by :math:`1 - d^{\,t}`; without the division, the average is
        :math:`h_t`.
      warmup_length: the number of warm-up calls, during which the average is the last value; only
        after the warm-up do older values count. ``counter`` starts at minus this number. A warm-up
        requires ``zero_debias=False``.
      name: the module's name.

    Raises:
      ArgumentError: ``decay_rate`` is outside [0, 1), ``warmup_length`` is negative, or a warm-up
        is requested together with ``zero_debias=True``.

    Example:
      >>> import haiku as hk, jax.numpy as jnp
      >>> from haiku_state import ExponentialMovingAverage
      >>> ema = hk.transform_with_state(lambda x: ExponentialMovingAverage(0.5)(x))
      >>> params, state = ema.init(None, jnp.float32(0))
      >>> for x in [4.0, 1.0]:
      ...     average, state = ema.apply(params, state, None, jnp.float32(x))
      ...     print(average)
      4.0
      2.0

    References:
      Kingma and Ba, *Adam*, 2015, section 3, for the correction.
    """

    def __init__(
        self,
        decay_rate: float,
        zero_debias: bool = True,
        warmup_length: int = 0,
        name: str | None = None,
    ) -> None:
        super().__init__(name=name)
        if not 0.0 <= decay_rate < 1.0:
            raise arguments.decay_rate(decay_rate)
        if not warmup_length >= 0 or (zero_debias and warmup_length):
            raise arguments.warmup_length(warmup_length)
        self.decay_rate = decay_rate
        self.zero_debias = zero_debias
        self.warmup_length = warmup_length

    def initialize(self, shape: Sequence[int], dtype: Any = jnp.float32) -> None:
        """Set the average to zeros until there is a first value.

        Args:
          shape: the shape of the values to come.
          dtype: their dtype.
        """
        dtype = np.promote_types(dtype, jnp.float32)
        hk.get_state("hidden", shape, dtype, init=jnp.zeros)
        hk.get_state("average", shape, dtype, init=jnp.zeros)

    def __call__(self, value: jax.Array, update_stats: bool | jax.Array = True) -> jax.Array:
        """Add one value and return the average.

        Args:
          value: the next value, an array of any shape and a floating dtype. For a padded batch,
            pass the mean over its real rows, as :func:`example_mean` computes it.
          update_stats: whether the value is stored in the state: a bool or a scalar array of dtype
            bool, such as ``mask.any()``. If it is False, the result includes the value, but the
            state does not change.

        Returns:
          The average so far, with the shape and dtype of ``value``.

        Raises:
          ArgumentError: the dtype of ``value`` is not floating, or earlier values had a different
            shape.
          DeviceStackedError: the state that was passed belongs to all devices instead of a single
            device.
        """
        value = jnp.asarray(value)
        first_count = hk.initializers.Constant(-self.warmup_length)
        counter = hk.get_state("counter", (), jnp.int32, init=first_count) + 1
        before = hk.get_state("hidden", value.shape, _state_dtype(value), init=jnp.zeros)
        _expect_shape(self, "hidden", before, value, counter)

        dtype = np.promote_types(value.dtype, jnp.float32)
        rate = np.asarray(self.decay_rate, dtype)
        decay = jnp.where(counter > 0, rate, np.zeros_like(rate)) if self.warmup_length else rate
        hidden: Any = decay * before.astype(dtype) + (1 - decay) * value.astype(dtype)
        average = hidden
        if self.zero_debias and rate > 0:  # at 0 the denominator is 1, and log(d) infinite
            log_decay = np.asarray(math.log(rate), dtype)
            average = hidden / -jnp.expm1(counter.astype(dtype) * log_decay)

        if not isinstance(update_stats, jax.Array):
            update_stats = bool(update_stats)  # one of NumPy is none of the two objects of Python
        new = {"counter": counter, "hidden": hidden, "average": average}
        for name, leaf in new.items() if update_stats is not False else ():
            leaf = leaf if name == "counter" else leaf.astype(before.dtype)
            if update_stats is not True and not hk.running_init():
                leaf = jnp.where(update_stats, leaf, hk.get_state(name))
            hk.set_state(name, leaf)
        return average.astype(value.dtype)

    @property
    def average(self) -> jax.Array:
        """The average so far, read without adding a value."""
        try:
            return hk.get_state("average")
        except HaikuStateError:
            raise
        except ValueError as error:
            path = f"state[{self.module_name!r}]['average']"
            raise uninitialized_average(path) from error


def _state_dtype(value: jax.Array) -> Any:
    """Return the dtype to keep an average in: at least float32."""
    if not jnp.issubdtype(value.dtype, jnp.floating):
        raise arguments.not_floating("value", value)
    return np.promote_types(value.dtype, jnp.float32)


def _expect_shape(module: hk.Module, name: str, state: Any, value: Any, count: Any) -> None:
    if state.shape != value.shape:
        path = f"state[{module.module_name!r}][{name!r}]"
        raise shape_error(path, state.shape, value.shape, np.ndim(count) > 0)
