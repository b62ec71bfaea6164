"""A multilayer perceptron with batch normalization, for the digits."""

from collections.abc import Sequence

import haiku as hk
import jax

from haiku_state.modules.batch_norm import BatchNorm


class Classifier(hk.Module):
    r"""Map rows to class scores by linear layers with batch normalization and ReLU between them.

    .. math:: h_{k+1} = \operatorname{relu}(\operatorname{BatchNorm}(W_k h_k)), \qquad
       \text{logits} = W_K h_K + b_K

    The hidden layers have no bias, because the normalization would subtract it again.

    Args:
      hidden_sizes: the widths of the hidden layers.
      num_classes: the number of classes, which is also the number of scores for each row.
      decay_rate: the weight of the old values when the running statistics are updated, in [0, 1).
      cross_replica_axis: the name of the device axis over which the statistics of a batch are
        averaged.
      name: the module's name.

    Example:
      >>> import haiku as hk, jax, jax.numpy as jnp
      >>> from haiku_state import Classifier
      >>> model = hk.transform_with_state(lambda x: Classifier([8], 10)(x, is_training=True))
      >>> params, state = model.init(jax.random.key(0), jnp.ones((4, 64)))
      >>> print(sorted(params))
      ['classifier/batch_norm', 'classifier/linear', 'classifier/linear_1']
      >>> print(sorted(state))
      ['classifier/batch_norm/~/mean_ema', 'classifier/batch_norm/~/var_ema']

    References:
      Ioffe and Szegedy, *Batch Normalization*, 2015, section 3.2, for the order of the layers.
    """

    def __init__(
        self,
        hidden_sizes: Sequence[int],
        num_classes: int,
        decay_rate: float = 0.9,
        cross_replica_axis: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name=name)
        self.hidden_sizes = hidden_sizes
        self.num_classes = num_classes
        self.decay_rate = decay_rate
        self.cross_replica_axis = cross_replica_axis

    def __call__(
        self, inputs: jax.Array, is_training: bool, mask: jax.Array | None = None
    ) -> jax.Array:
        """Compute the class scores of each row.

        Args:
          inputs: an array of shape (rows, features) and dtype float32.
          is_training: a Python bool with the same meaning as in :class:`BatchNorm`.
          mask: an array of shape (rows,), 1 for a real row and 0 for a padded row, as in
            :class:`BatchNorm`.

        Returns:
          The logits, an array of shape (rows, num_classes) and dtype float32.
        """
        for size in self.hidden_sizes:
            inputs = hk.Linear(size, with_bias=False)(inputs)
            norm = BatchNorm(
                True, True, self.decay_rate, cross_replica_axis=self.cross_replica_axis
            )
            inputs = jax.nn.relu(norm(inputs, is_training, mask=mask))
        return hk.Linear(self.num_classes)(inputs)
