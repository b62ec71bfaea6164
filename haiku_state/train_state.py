"""Everything that an update step carries from one batch to the next."""

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from haiku_state.contract import check_state
from haiku_state.diagnosis import named_errors
from haiku_state.errors import InitResultError
from haiku_state.typing import InitFn, Params, State

if TYPE_CHECKING:
    import optax


class TrainState(NamedTuple):
    """The five things that training threads from step to step, as one PyTree.

    Example:
      >>> from haiku_state import TrainState
      >>> TrainState._fields
      ('params', 'state', 'opt_state', 'rng', 'step')

    References:
      Haiku's documentation, `Training a model
      <https://dm-haiku.readthedocs.io/en/latest/notebooks/basics.html>`__.
    """

    params: Params
    """Haiku's parameters, changed by the optimizer."""

    state: State
    """Haiku's state, changed by the forward pass."""

    opt_state: Any
    """The optimizer's own state, changed by the optimizer."""

    rng: jax.Array
    """The random key of the next step, a scalar of a key dtype, split at every step."""

    step: jax.Array
    """The number of updates so far, a scalar of dtype int32."""


def init_train_state(
    init: InitFn,
    optimizer: "optax.GradientTransformation",
    rng: jax.Array,
    *args: Any,
    **kwargs: Any,
) -> TrainState:
    """Run ``init`` and set up the optimizer for the params it gives.

    Args:
      init: the ``init`` of :func:`pure_pair` or of ``hk.transform_with_state``.
      optimizer: an optax optimizer.
      rng: a random key; one half initializes, the other is carried along.
      args: what ``init`` takes after the key: arrays with the shapes and dtypes of a batch.
      kwargs: what ``init`` takes by name, ``is_training=True`` say.

    Returns:
      A train state at step 0.

    Raises:
      InitResultError: ``init`` returns anything but ``(params, state)``.
      HaikuStateError: ``init`` fails in one of the ways that have a name.

    Example:
      >>> import jax, jax.numpy as jnp, optax
      >>> from haiku_state import LinearRegression, init_train_state, pure_pair
      >>> model = pure_pair(LinearRegression)
      >>> train_state = init_train_state(
      ...     model.init, optax.sgd(0.1), jax.random.key(0), jnp.ones((4, 3)), is_training=True)
      >>> print(train_state.step, train_state.params["linear_regression"]["w"])
      0 [0. 0. 0.]

    References:
      Optax's documentation, `Getting started
      <https://optax.readthedocs.io/en/latest/getting_started.html>`__.
    """
    rng, init_rng = jax.random.split(rng)
    with named_errors(inputs=(args, kwargs)):
        result = init(init_rng, *args, **kwargs)
    if not isinstance(result, tuple) or len(result) != 2:
        raise InitResultError(returned=type(result).__name__)
    params, state = result
    check_state(state, state)
    return TrainState(params, state, optimizer.init(params), rng, jnp.zeros((), jnp.int32))
