"""From a module, or a function that uses modules, to a pure pair."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.errors import DeviceStackedError, arguments
from haiku_state.errors.advice import leaks_of_haiku
from haiku_state.errors.diagnosis import named_errors
from haiku_state.modules import ExponentialMovingAverage
from haiku_state.pure.check import check_made, check_state


def pure_pair(module: Callable[..., Any], /, *args: Any, **kwargs: Any) -> hk.TransformedWithState:
    r"""Make a pure pair, ``init`` and ``apply``, from a module class or a function using modules.

    .. math::
       f \mapsto\ &\mathrm{init}(r, x) = (p, s) \\
       &\mathrm{apply}(p, s, r, x) = (f(x), s')

    This is ``hk.transform_with_state`` with three additions: you can pass a module class directly;
    common mistakes raise errors that explain them, with the original error of Haiku or JAX as the
    cause; and the state that ``apply`` returns must match the state that was passed to it (see
    :func:`check_state`). To skip that check, call ``hk.transform_with_state``.

    Args:
      module: a subclass of ``hk.Module``, or a function that creates and calls modules.
      args: the positional arguments of the constructor or, if ``module`` is a function, the first
        arguments of the function.
      kwargs: the keyword arguments of the constructor or the function.

    Returns:
      An ``hk.TransformedWithState`` of ``init(rng, *inputs) -> (params, state)`` and
      ``apply(params, state, rng, *inputs) -> (output, state)``. Both functions take a random key as
      ``rng``, or None if nothing draws random numbers, and the inputs of the module or function,
      positionally or by keyword. The signatures of ``init`` and ``apply`` list these inputs.

    Raises:
      ArgumentError: ``module`` is neither a module class nor a function.
      UncalledModuleError: raised by ``init`` and ``apply`` if the function returns a module that it
        has not called.
      PairArgumentError: raised by ``init`` and ``apply`` if ``params``, ``state`` or ``rng`` is
        missing or has the wrong type.
      HaikuStateError: raised by ``init`` and ``apply`` for other mistakes; the class of the error
        says which mistake it is.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from haiku_state import BatchNorm, Counter, pure_pair
      >>> counter = pure_pair(Counter)
      >>> params, state = counter.init(None)
      >>> count, state = counter.apply(params, state, None)
      >>> print(count)
      1
      >>> norm = pure_pair(BatchNorm, create_scale=True, create_offset=True, decay_rate=0.9)
      >>> params, state = norm.init(None, jnp.ones((4, 3)), is_training=True)
      >>> params["batch_norm"]["scale"].shape
      (1, 3)

    References:
      Haiku's documentation, `Transforms
      <https://dm-haiku.readthedocs.io/en/latest/api.html#haiku-transforms>`__.
    """
    while isinstance(module, functools.partial):
        args, kwargs = (*module.args, *args), {**module.keywords, **kwargs}
        module = module.func
    transformed = hk.transform_with_state(_function_of(module, args, kwargs))

    @functools.wraps(transformed.init)
    def init(rng: Any, *inputs: Any, **named: Any) -> Any:
        with leaks_of_haiku(), named_errors(inputs=(inputs, named)):
            made = transformed.init(_key(rng), *inputs, **named)
            check_made(*made)
        return made

    @functools.wraps(transformed.apply)
    def apply(params: Any, state: Any, rng: Any, *inputs: Any, **named: Any) -> Any:
        state = {} if state is None else state  # Haiku treats None as an empty state
        trees = {"params": params, "state": state, "inputs": (inputs, named)}
        with leaks_of_haiku(), named_errors(**trees):
            output, new_state = transformed.apply(params, state, _key(rng), *inputs, **named)
            check_state(state, new_state)
        return output, new_state

    return hk.TransformedWithState(init, apply)


def _function_of(
    module: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Callable[..., Any]:
    if isinstance(module, type) and issubclass(module, hk.Module):
        make: Callable[..., Any] = module

        def call(*inputs: Any, **named: Any) -> Any:
            with hk.custom_getter(_refuse_stacked, params=False, state=True):
                return make(*args, **kwargs)(*inputs, **named)

        methods = [vars(base)["__call__"] for base in module.__mro__ if "__call__" in vars(base)]
        if methods:
            signature = inspect.signature(methods[0])
            _self, *parameters = signature.parameters.values()
            call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return call
    if isinstance(module, type) or not callable(module):
        raise arguments.module(module)

    @functools.wraps(module)
    def function(*inputs: Any, **named: Any) -> Any:
        with hk.custom_getter(_refuse_stacked, params=False, state=True):
            output = module(*args, *inputs, **kwargs, **named)
        if isinstance(output, hk.Module):
            raise arguments.uncalled(output)
        return output

    bound = inspect.signature(functools.partial(module, *args, **kwargs))
    function.__signature__ = bound  # type: ignore[attr-defined]
    return function


def _refuse_stacked(next_getter: Any, value: Any, context: Any) -> Any:
    """Reject the statistics of many replicas, which would silently broadcast."""
    if isinstance(context.module, hk.ExponentialMovingAverage | ExponentialMovingAverage):
        counter: Any = context.module.state_dict().get(f"{context.module_name}/counter")
        if np.ndim(counter):
            path = f"state[{context.module_name!r}]['counter']"
            raise DeviceStackedError(path=path, shape=np.shape(counter), expected=())
    return next_getter(value)


def _key(rng: Any) -> Any:
    """Make a key of a seed that is an array, as ``jit`` makes one of a Python number."""
    is_seed = np.ndim(rng) == 0 and jnp.issubdtype(getattr(rng, "dtype", bool), jnp.integer)
    return jax.random.key(rng) if is_seed else rng
