"""Everything that an update step carries from one batch to the next."""

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.errors import arguments
from haiku_state.errors.describe import is_key
from haiku_state.errors.diagnosis import init_error, named_errors
from haiku_state.pure.check import check_made
from haiku_state.typing import InitFn, Params, State

if TYPE_CHECKING:
    import optax


class TrainState(NamedTuple):
    """The five parts of a training run that are passed from step to step, as one PyTree.

    Example:
      >>> from haiku_state import TrainState
      >>> TrainState._fields
      ('params', 'state', 'opt_state', 'rng', 'step')

    References:
      Haiku's documentation, `Haiku Basics
      <https://dm-haiku.readthedocs.io/en/latest/notebooks/basics.html>`__.
    """

    params: Params
    """Haiku's parameters, changed by the optimizer."""

    state: State
    """Haiku's state, changed by the forward pass."""

    opt_state: Any
    """The optimizer's own state, changed by the optimizer."""

    rng: jax.Array
    """The random key of the next step, a scalar with a key dtype, which is split at every step."""

    step: jax.Array
    """The number of updates so far, a scalar of dtype int32."""


def init_train_state(
    init: InitFn,
    optimizer: "optax.GradientTransformation",
    rng: jax.Array,
    *args: Any,
    **kwargs: Any,
) -> TrainState:
    """Run ``init`` and set up the optimizer for the params it returns.

    Initialization and the optimizer's setup are compiled into one program, because running them
    operation by operation usually takes longer.

    Args:
      init: the ``init`` of :func:`pure_pair` or of ``hk.transform_with_state``.
      optimizer: an Optax optimizer.
      rng: a random key, which is split: one new key is used for initialization, and the train state
        keeps the other new key.
      args: the arguments that ``init`` takes after the key: arrays with the shapes and dtypes of a
        batch. Values other than arrays, such as a Python bool for ``is_training``, are static.
      kwargs: the keyword arguments of ``init``, which are treated like ``args``.

    Returns:
      A train state at step 0, in which no array occurs twice, so that an update may consume it.

    Raises:
      StatelessTransformError: ``init`` comes from ``hk.transform``, which does not support state.
      ArgumentError: ``init`` is not a function, ``optimizer`` is not an optimizer, ``rng`` is not a
        single random key, or ``init`` does not return ``(params, state)``.
      HaikuStateError: ``init`` fails with one of the errors that this package defines.

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
    if not callable(init):
        raise arguments.init_function(init)
    if error := arguments.optimizer(optimizer):
        raise error
    if not is_key(rng) or jax.random.key_data(rng).ndim != 1:
        raise arguments.random_key(rng)
    leaves, structure = jax.tree.flatten((args, kwargs))
    arrays = [leaf if isinstance(leaf, jax.Array | np.ndarray) else None for leaf in leaves]

    @jax.jit
    def initialized(rng: jax.Array, arrays: list[Any]) -> TrainState:
        inputs = [leaf if a is None else a for leaf, a in zip(leaves, arrays, strict=True)]
        args, kwargs = jax.tree.unflatten(structure, inputs)
        rng, init_rng = jax.random.split(rng)
        with named_errors(inputs=(args, kwargs)):
            result = init(init_rng, *args, **kwargs)
        if not isinstance(result, tuple) or len(result) != 2:
            raise init_error(init, result)
        params, state = result
        check_made(params, state)
        return TrainState(params, state, optimizer.init(params), rng, jnp.zeros((), jnp.int32))

    return initialized(rng, arrays)
