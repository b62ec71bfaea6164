"""What a returned state must keep, checked when a function is traced."""

import contextlib
import contextvars
import functools
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haiku_state import errors
from haiku_state.errors.arguments import shape_advice
from haiku_state.errors.base import as_lines
from haiku_state.errors.describe import (
    Leaves,
    describe,
    is_weak,
    leaked_error,
    leaves_by_path,
    stacked_error,
    with_dicts,
)
from haiku_state.typing import Predicate

# the counter of a moving average: `ema` or `average` is a word in the path of its module, as in
# `batch_norm/~/mean_ema` and `exponential_moving_average_1`
_COUNTER = re.compile(r"(.*\['(?:[^']*[/_])?(?:ema|average)(?:[/_][^']*)?'\])\['counter'\]")
_inside = contextvars.ContextVar("inside a function that checks the state", default=False)


def check_state(
    before: Any, after: Any, is_training: bool | None = None, *, frozen: Predicate | None = None
) -> None:
    r"""Check that a returned state can replace the state that was passed in.

    .. math:: \operatorname{type}(s_{t+1}) = \operatorname{type}(s_t)

    The type of a state is its structure and the shape, dtype and weak type of each leaf. In
    addition, no leaf may be a tracer of a transformation that has ended. The counters of the
    exponential moving averages in the state, as in :class:`BatchNorm` and ``hk.BatchNorm``, must
    have changed in training but not in evaluation. The check only compares types and object
    identity, so it costs nothing in a compiled step.

    An average has the leaves ``counter``, ``hidden`` and ``average``, and the name of its module
    has ``ema`` or ``average`` as a word. It is recognized at any depth: the state may be a dict or
    tuple of the states of several models.

    While a function is being traced, a counter that another compiled function returns may look
    changed although it is not. In that case, check the inner function instead.

    Args:
      before: the state that was passed in, a PyTree of arrays.
      after: the state that was returned.
      is_training: True: the counters must advance. False: they must not advance. None: they may
        advance.
      frozen: ``frozen(module_name, name, value)``, True for a counter that need not advance,
        because it belongs to a normalization that training does not change or to another model in
        the state. The module's name is preceded by the names of the containers that hold it, as in
        ``"generator/batch_norm/…"``.

    Raises:
      StateStructureError: a name was removed or added.
      LeakedTracerError: state was written inside ``jax.lax.scan``, ``jax.vmap`` or the like.
      DeviceStackedError: a counter has a leading axis either before or after the call, but not
        both.
      StateShapeError: a shape has changed.
      StateDtypeError: a dtype has changed.
      WeakTypeError: a Python number replaced an array, or the reverse.
      CounterStoppedError: the running statistics did not change in training.
      CounterAdvancedError: the running statistics changed in evaluation.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state import check_state
      >>> state = {"counter": {"count": jnp.int32(1)}}
      >>> check_state(state, {"counter": {"count": jnp.int32(2)}})
      >>> check_state(state, {"counter": {"count": jnp.float32(2)}})
      Traceback (most recent call last):
        ...
      haiku_state.errors.state.StateDtypeError: the returned state has different dtypes:
          state['counter']['count']: int32[] -> float32[]
        wrong: hk.set_state("count", count)
        right: hk.set_state("count", jnp.asarray(count, jnp.int32))
        why:   `jit` would retrace and `scan` would fail: convert the result, or start with the dtype that each call returns
        more:  en/api/pure.html

    References:
      JAX's documentation, `jax.lax.scan
      <https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html>`__, on the type of a carry.
    """  # noqa: E501
    old, new = leaves_by_path(state=before), leaves_by_path(state=after)
    _check_structure(before, after, old, new)
    if leaked := leaked_error(new):
        raise leaked
    counters = average_counters(before)
    for path in counters:
        shapes = np.shape(old[path]), np.shape(new[path])
        if shapes[0] != shapes[1]:
            raise stacked_error(path, max(shapes), ())
    _check_each(old, new, np.shape, errors.StateShapeError)
    _check_each(old, new, jnp.result_type, errors.StateDtypeError)
    _check_each(old, new, is_weak, errors.WeakTypeError)
    moved = [path for path in counters if _moved(old[path], new[path])]
    still = [path for path in average_counters(before, frozen) if path not in moved]
    if is_training is True and still:
        modules = sorted(map(_module_of, still))
        raise errors.CounterStoppedError(paths=as_lines(still), modules=modules)
    if is_training is False and moved:
        raise errors.CounterAdvancedError(paths=as_lines(moved))


def checked(
    function: Callable[..., Any],
    is_training: bool | None = None,
    *,
    frozen: Predicate | None = None,
) -> Callable[..., Any]:
    """Wrap an ``apply`` or an update so that :func:`check_state` checks each of its calls.

    In a compiled function, the check runs while JAX traces it and leaves nothing in the program.

    Args:
      function: ``apply(params, state, rng, *args, **kwargs) -> (output, state)``, or
        ``update(train_state, batch) -> (train_state, metrics)``.
      is_training: as in :func:`check_state`; a bool that a call passes as ``is_training``, by
        position or by name, takes precedence.
      frozen: as in :func:`check_state`.

    Returns:
      A function with the arguments and results of ``function``.

    Raises:
      HaikuStateError: any error that :func:`check_state` raises, when the function is called.

    Example:
      >>> import haiku as hk, jax
      >>> from haiku_state import Counter, checked
      >>> pair = hk.transform_with_state(lambda: Counter()())
      >>> params, state = pair.init(None)
      >>> count, state = jax.jit(checked(pair.apply))(params, state, None)
      >>> print(count)
      1

    References:
      :func:`check_state`.
    """

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with one_check():
            result = function(*args, **kwargs)
        flag = flag_of(function, *args, **kwargs)
        given = inspect.signature(function).bind(*args, **kwargs)
        first, *others = (*given.args, *given.kwargs.values())
        is_update = hasattr(first, "state")
        check_state(
            first.state if is_update else others[0],
            result[0].state if is_update else result[1],
            is_training if flag is None else flag,
            frozen=frozen,
        )
        return result

    return wrapper


def check_made(params: Any, state: Any) -> None:
    """Check that ``init`` returns arrays, and no tracers of a transformation that has ended.

    Args:
      params: what it returns as params.
      state: what it returns as state.

    Raises:
      LeakedTracerError: params or state were made inside ``jax.lax.scan`` or the like.
    """
    if leaked := leaked_error(leaves_by_path(params=params, state=state)):
        raise leaked


def flag_of(function: Callable[..., Any], *args: Any, **kwargs: Any) -> bool | None:
    """Return the ``is_training`` of a call, however it is spelled; None where there is no bool."""
    try:
        given = inspect.signature(function).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return None
    given.apply_defaults()
    flag = {**given.kwargs, **given.arguments}.get("is_training")
    return bool(flag) if isinstance(flag, bool | np.bool_) else None


@contextlib.contextmanager
def one_check(active: bool = True) -> Iterator[bool]:
    """Leave the check of a returned state to the outermost function that checks.

    Args:
      active: whether the function that enters here makes the check.

    Yields:
      Whether it is the outermost function.
    """
    inside = _inside.get()
    token = _inside.set(inside or active)
    try:
        yield not inside
    finally:
        _inside.reset(token)


def _check_structure(before: Any, after: Any, old: Leaves, new: Leaves) -> None:
    changes = [f"- {path}" for path in old if path not in new]
    changes += [f"+ {path}" for path in new if path not in old]
    structures = [str(jax.tree.structure(with_dicts(state))) for state in (before, after)]
    if not changes and structures[0] != structures[1]:
        changes = [f"- {structures[0]}", f"+ {structures[1]}"]
    if changes:
        raise errors.StateStructureError(changes=as_lines(changes))


def _check_each(
    old: Leaves, new: Leaves, look: Callable[[Any], Any], error: type[errors.HaikuStateError]
) -> None:
    changed = [path for path in new if look(old[path]) != look(new[path])]
    if changed:
        changes = (f"{path}: {describe(old[path])} -> {describe(new[path])}" for path in changed)
        name = re.findall(r"\w+", changed[0])[-1]
        before, after = old[changed[0]], new[changed[0]]
        values = {"name": name, "dtype": jnp.result_type(before)}
        if error is errors.StateShapeError:
            values |= shape_advice(name, np.shape(before), np.shape(after))
        raise error(changes=as_lines(changes), **values)


def average_counters(state: Any, frozen: Predicate | None = None) -> Leaves:
    """Return the counters of the exponential moving averages in a state, by path.

    Args:
      state: a PyTree of arrays.
      frozen: as in :func:`check_state`: those to leave out.
    """
    leaves, counters = leaves_by_path(state=state), {}
    for path, leaf in leaves.items():
        average = _COUNTER.fullmatch(path)
        if not average or any(f"{average[1]}['{n}']" not in leaves for n in ("hidden", "average")):
            continue
        if frozen is None or not frozen(_module_of(path), "counter", leaf):
            counters[path] = leaf
    return counters


def _module_of(path: str) -> str:
    """Return ``"gan/norm"`` for ``state['gan']['norm']['counter']``."""
    return "/".join(re.findall(r"[^][.']+", path)[1:-1])


def _moved(old: Any, new: Any) -> bool:
    if isinstance(old, jax.core.Tracer) or isinstance(new, jax.core.Tracer):
        return old is not new
    return not np.array_equal(old, new)
