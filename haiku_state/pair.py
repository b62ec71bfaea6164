"""From a module, or a function that uses modules, to a pure pair."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.contract import check_state, checked, describe
from haiku_state.diagnosis import A_KEY, A_TREE, misplaced, named_errors
from haiku_state.errors import ModuleFactoryError, ModuleOutputError
from haiku_state.typing import ApplyFn, InitFn, Params, State


class PurePair(NamedTuple):
    """Two pure functions that stand for one module.

    They are called as ``params, state = pair.init(rng, *inputs)`` and
    ``output, state = pair.apply(params, state, rng, *inputs)``.

    Example:
      >>> from haiku_state import PurePair
      >>> PurePair._fields
      ('init', 'apply')

    References:
      Haiku's documentation, `Transforms
      <https://dm-haiku.readthedocs.io/en/latest/api.html#haiku-transforms>`__.
    """

    init: InitFn
    """``init(rng, *inputs) -> (params, state)``."""

    apply: ApplyFn
    """``apply(params, state, rng, *inputs) -> (output, state)``."""


def pure_pair(module: Callable[..., Any], /, *args: Any, **kwargs: Any) -> PurePair:
    r"""Make a pure pair of a module class, or of a function that uses modules.

    .. math::
       f \mapsto\ &\mathrm{init}(r, x) = (p, s) \\
       &\mathrm{apply}(p, s, r, x) = (f(x), s')

    It is ``hk.transform_with_state`` with three things more. A class may be given as it is. What
    newcomers run into ends in a named error, with the one of Haiku or JAX as its cause. And the
    state that ``apply`` returns must fit the one that it was given, see :func:`check_state`; to
    do without that check, call ``hk.transform_with_state``.

    Args:
      module: a subclass of ``hk.Module``, or a function that makes modules and calls them.
      args: what the class takes to construct a module; for a function, its first arguments.
      kwargs: the same, by name.

    Returns:
      A :class:`PurePair`. Its functions take a random key as ``rng``, or None where nothing draws
      random numbers, and the inputs of the module or function, by place or by name.

    Raises:
      ModuleFactoryError: ``module`` is neither a module class nor a function.
      ModuleOutputError: at a call, if the function returns a module.
      PairArgumentError: at a call, if ``params``, ``state`` or ``rng`` is something else.
      HaikuStateError: at a call, the error that names what went wrong in it.

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
    transformed = hk.transform_with_state(_function_of(module, args, kwargs))
    checked_apply = checked(transformed.apply)

    def init(rng: Any, *inputs: Any, **named: Any) -> tuple[Params, State]:
        _expect_key(rng, "init(inputs)", "init(rng, inputs)")
        with named_errors(inputs=(inputs, named)):
            params, state = transformed.init(rng, *inputs, **named)
        check_state(state, state)
        return params, state

    def apply(params: Any, state: Any, rng: Any, *inputs: Any, **named: Any) -> tuple[Any, State]:
        wrong, right = "apply(params, rng, inputs)", "apply(params, state, rng, inputs)"
        for name, tree in (("params", params), ("state", state)):
            if tree is not None and not isinstance(tree, Mapping):
                raise misplaced(name, describe(tree), A_TREE, wrong, right)
        _expect_key(rng, "apply(params, state, inputs)", right)
        state = {} if state is None else state  # Haiku takes None for nothing
        with named_errors(params=params, state=state, inputs=(inputs, named)):
            return checked_apply(params, state, rng, *inputs, **named)

    return PurePair(init, apply)


def _function_of(
    module: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Callable[..., Any]:
    if isinstance(module, type) and issubclass(module, hk.Module):
        make: Callable[..., Any] = module
        return lambda *inputs, **named: make(*args, **kwargs)(*inputs, **named)
    if isinstance(module, type) or not callable(module):
        given = module.__name__ if isinstance(module, type) else repr(module)
        raise ModuleFactoryError(given=given)

    @functools.wraps(module)
    def function(*inputs: Any, **named: Any) -> Any:
        output = module(*args, *inputs, **kwargs, **named)
        if isinstance(output, hk.Module):
            raise ModuleOutputError(module=type(output).__name__)
        return output

    return function


def _expect_key(rng: Any, wrong: str, right: str) -> None:
    if rng is None or isinstance(rng, int):
        return
    dtype = getattr(rng, "dtype", None)
    new_style = dtype is not None and jnp.issubdtype(dtype, jax.dtypes.prng_key)
    old_style = dtype == np.uint32 and np.shape(rng)[-1:] in ((2,), (4,))
    if not new_style and not old_style:
        raise misplaced("rng", describe(rng), A_KEY, wrong, right)
