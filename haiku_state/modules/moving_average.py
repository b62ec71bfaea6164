"""Two ways to average a stream: over all of it, and with the past fading."""

import math

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.errors import ModuleArgumentError


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
      name: the module's name.

    Raises:
      ModuleArgumentError: ``decay_rate`` is outside [0, 1).

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

    def __init__(self, decay_rate: float, name: str | None = None) -> None:
        super().__init__(name=name)
        if not 0.0 <= decay_rate < 1.0:
            raise ModuleArgumentError(
                f"decay_rate is {decay_rate}, outside [0, 1).",
                f"ExponentialMovingAverage({decay_rate})",
                "ExponentialMovingAverage(0.99)",
                "it is the weight of the past; at 1 nothing new would ever count",
            )
        self.decay_rate = decay_rate

    def __call__(self, value: jax.Array) -> jax.Array:
        """Add one value.

        Args:
          value: the next value, of any shape and a floating dtype.

        Returns:
          The average so far, with the shape and dtype of ``value``.
        """
        value = jnp.asarray(value)
        counter = hk.get_state("counter", (), jnp.int32, init=jnp.zeros) + 1
        hidden = hk.get_state("hidden", value.shape, value.dtype, init=jnp.zeros)

        dtype = np.promote_types(value.dtype, jnp.float32)
        decay = np.asarray(self.decay_rate, dtype)
        log_decay = math.log(decay) if decay > 0 else -math.inf
        zero_debias = -jnp.expm1(counter.astype(dtype) * np.asarray(log_decay, dtype))
        hidden = decay * hidden.astype(dtype) + (1 - decay) * value.astype(dtype)
        average = (hidden / zero_debias).astype(value.dtype)

        hk.set_state("counter", counter)
        hk.set_state("hidden", hidden.astype(value.dtype))
        hk.set_state("average", average)
        return average

    @property
    def average(self) -> jax.Array:
        """The average so far, without a new value."""
        return hk.get_state("average")
