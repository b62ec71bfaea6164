"""Two ways to average a stream: over all of it, and with the past fading."""

import math
from collections.abc import Sequence
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.errors import ModuleArgumentError, ModuleRangeError, UninitializedStateError


class MovingAverage(hk.Module):
    r"""Average everything seen so far, from a sum and a count.

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

    def __call__(self, value: jax.Array) -> jax.Array:
        """Add one value.

        Args:
          value: the next value, of any shape and a floating dtype.

        Returns:
          The average so far, with the shape and dtype of ``value``.
        """
        value = jnp.asarray(value)
        total = hk.get_state("sum", value.shape, value.dtype, init=jnp.zeros) + value
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros) + 1
        hk.set_state("sum", total)
        hk.set_state("count", count)
        return total / count.astype(value.dtype)


class ExponentialMovingAverage(hk.Module):
    r"""Average with weights that decay into the past, corrected for the start at zero.

    .. math::
       h_t = d\,h_{t-1} + (1 - d)\,x_t, \qquad \bar{x}_t = \frac{h_t}{1 - d^{\,t}}

    The state has the names of ``hk.ExponentialMovingAverage``: ``hidden`` is :math:`h_t`,
    ``average`` is :math:`\bar{x}_t`, ``counter`` is :math:`t`. The denominator is computed as
    ``-expm1(t * log(d))``, which keeps its digits where :math:`d^{\,t}` is close to one, and
    in float32 at least, also for a bfloat16 ``value``.

    Args:
      decay_rate: the weight :math:`d` of the past, in [0, 1).
      zero_debias: whether to divide by :math:`1 - d^{\,t}`; without it the average is
        :math:`h_t`.
      warmup_length: for so many calls the average is the last value, and only then the past
        begins to count; ``counter`` starts at minus this number. Needs ``zero_debias=False``.
      name: the module's name.

    Raises:
      ModuleRangeError: ``decay_rate`` is outside [0, 1), or ``warmup_length`` negative.
      ModuleArgumentError: there are both a warm-up and the correction.

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
        _expect(0.0 <= decay_rate < 1.0, "decay_rate", decay_rate, "[0, 1)", 0.99)
        _expect(warmup_length >= 0, "warmup_length", warmup_length, "[0, ∞)", 0)
        if zero_debias and warmup_length:
            raise ModuleArgumentError(
                name="ExponentialMovingAverage",
                given="warmup_length",
                against="zero_debias=True",
            )
        self.decay_rate = decay_rate
        self.zero_debias = zero_debias
        self.warmup_length = warmup_length

    def initialize(self, shape: Sequence[int], dtype: Any = jnp.float32) -> None:
        """Let the average be zeros until there is a first value.

        Args:
          shape: the shape of the values to come.
          dtype: their dtype.
        """
        hk.get_state("hidden", shape, dtype, init=jnp.zeros)
        hk.get_state("average", shape, dtype, init=jnp.zeros)

    def __call__(self, value: jax.Array, update_stats: bool = True) -> jax.Array:
        """Add one value.

        Args:
          value: the next value, of any shape and a floating dtype.
          update_stats: whether the state keeps the value; False only tells what the average
            would be.

        Returns:
          The average so far, with the shape and dtype of ``value``.
        """
        value = jnp.asarray(value)
        counter = hk.get_state("counter", (), jnp.int32, init=self._first_count) + 1
        hidden = hk.get_state("hidden", value.shape, value.dtype, init=jnp.zeros)

        dtype = np.promote_types(value.dtype, jnp.float32)
        rate = np.asarray(self.decay_rate, dtype)
        decay = jnp.where(counter > 0, rate, np.zeros_like(rate)) if self.warmup_length else rate
        average: Any = decay * hidden.astype(dtype) + (1 - decay) * value.astype(dtype)
        hidden = average.astype(value.dtype)
        if self.zero_debias:
            log_decay = math.log(rate) if rate > 0 else -math.inf
            average = average / -jnp.expm1(counter.astype(dtype) * np.asarray(log_decay, dtype))
        average = average.astype(value.dtype)

        if update_stats:
            hk.set_state("counter", counter)
            hk.set_state("hidden", hidden)
            hk.set_state("average", average)
        return average

    @property
    def average(self) -> jax.Array:
        """The average so far, without a new value."""
        try:
            return hk.get_state("average")
        except ValueError as error:
            path = f"state[{self.module_name!r}]['average']"
            raise UninitializedStateError(path=path) from error

    def _first_count(self, shape: Sequence[int], dtype: Any) -> jax.Array:
        return jnp.full(shape, -self.warmup_length, dtype)


def _expect(holds: bool, argument: str, value: float, valid: str, fitting: float) -> None:
    if not holds:
        raise ModuleRangeError(
            module="ExponentialMovingAverage",
            argument=argument,
            value=value,
            range=valid,
            fitting=fitting,
        )
