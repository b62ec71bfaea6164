"""Linear regression: params alone, or params and state."""

import haiku as hk
import jax
import jax.numpy as jnp

from haiku_state.modules.batch_norm import BatchNorm


class LinearRegression(hk.Module):
    r"""Predict one number per row, optionally from inputs scaled to zero mean and unit variance.

    .. math:: \hat{y}_i = \sum_j w_j\,x_{ij} + b

    Without normalization, the module has params, but its state is empty. With normalization, the
    running mean and variance of the inputs are state, which makes the module a minimal example of a
    model with both params and state.

    Args:
      normalize_inputs: whether a :class:`BatchNorm` without scale and offset normalizes the inputs
        first.
      decay_rate: the weight of the old values when the running statistics are updated, in [0, 1).
      cross_replica_axis: the name of the device axis over which the statistics of a batch are
        averaged.
      name: the module's name.

    Example:
      >>> import haiku as hk, jax.numpy as jnp
      >>> from haiku_state import LinearRegression
      >>> model = hk.transform_with_state(lambda x: LinearRegression()(x, is_training=True))
      >>> params, state = model.init(None, jnp.ones((4, 3)))
      >>> print(params["linear_regression"]["w"].shape, state)
      (3,) {}

    References:
      Hastie, Tibshirani and Friedman, *The Elements of Statistical Learning*, section 3.2.
    """

    def __init__(
        self,
        normalize_inputs: bool = False,
        decay_rate: float = 0.99,
        cross_replica_axis: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name=name)
        self.normalize_inputs = normalize_inputs
        self.decay_rate = decay_rate
        self.cross_replica_axis = cross_replica_axis

    def __call__(
        self, inputs: jax.Array, is_training: bool, mask: jax.Array | None = None
    ) -> jax.Array:
        """Predict one number for each row.

        Args:
          inputs: an array of shape (rows, features) and dtype float32.
          is_training: a Python bool with the same meaning as in :class:`BatchNorm`.
          mask: an array of shape (rows,), 1 for a real row and 0 for a padded row, as in
            :class:`BatchNorm`.

        Returns:
          The predictions, an array of shape (rows,), in the units of the targets.
        """
        if self.normalize_inputs:
            norm = BatchNorm(
                False, False, self.decay_rate, cross_replica_axis=self.cross_replica_axis
            )
            inputs = norm(inputs, is_training, mask=mask)
        w = hk.get_parameter("w", inputs.shape[1:], inputs.dtype, init=jnp.zeros)
        b = hk.get_parameter("b", (), inputs.dtype, init=jnp.zeros)
        return inputs @ w + b
