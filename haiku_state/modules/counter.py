"""The smallest module that has state."""

import haiku as hk
import jax
import jax.numpy as jnp


class Counter(hk.Module):
    r"""Count how often the module is called.

    .. math:: n_t = n_{t-1} + 1, \qquad n_0 = 0

    Example:
      >>> import haiku as hk
      >>> from haiku_state import Counter
      >>> counter = hk.transform_with_state(lambda: Counter()())
      >>> params, state = counter.init(None)
      >>> for _ in range(3):
      ...     count, state = counter.apply(params, state, None)
      ...     print(count)
      1
      2
      3

    References:
      Haiku's documentation, `Modules, Parameters and State
      <https://dm-haiku.readthedocs.io/en/latest/api.html#modules-parameters-and-state>`__.
    """

    def __call__(self) -> jax.Array:
        """Add one to the count.

        Returns:
          The count after this call, a scalar of dtype int32.
        """
        count = hk.get_state("count", shape=(), dtype=jnp.int32, init=jnp.zeros) + 1
        hk.set_state("count", count)
        return count
