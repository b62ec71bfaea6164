"""What a returned state must keep, checked when a function is traced."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import keystr, tree_leaves_with_path

from haiku_state import errors
from haiku_state.errors import arguments
from haiku_state.errors.base import as_lines
from haiku_state.errors.describe import (
    Leaves,
    describe,
    is_weak,
    leaked_error,
    leaves_by_path,
    with_dicts,
)
from haiku_state.typing import Predicate

Function = TypeVar("Function", bound=Callable[..., Any])


def check_state(
    before: Any, after: Any, is_training: bool | None = None, *, frozen: Predicate | None = None
) -> None:
    r"""Check that a returned state can replace the state that was passed in.

    .. math:: \operatorname{type}(s_{t+1}) = \operatorname{type}(s_t)

    The type of a state is its structure and the shape, dtype and weak type of each leaf. In
    addition, no leaf may be a tracer of a transformation that has ended. The counters of the
    exponential moving averages in the state, as in :class:`BatchNorm` and ``hk.BatchNorm``, must
    have changed in training but not in evaluation. While JAX traces a function, the check compares
    only types and object identity, so it adds no work to the compiled step.

    The check recognizes an exponential moving average as a dict with the names ``counter``,
    ``hidden`` and ``average``, at any depth: the state may also be a dict or tuple of the states of
    several models.

    While a function is traced, a counter that another compiled function returns may look changed
    although its value is the same. In that case, check that other function instead.

    Args:
      before: the state that was passed in, a PyTree of arrays.
      after: the state that was returned.
      is_training: True if the counters must advance, False if they must not advance, None if they
        may advance.
      frozen: ``frozen(module_name, name, value)``, a function that returns True for a counter that
        need not advance, because it belongs to a normalization that training does not change or to
        another model in the state. The module's name is preceded by the names of the containers
        that hold the module, as in ``"generator/batch_norm/…"``.

    Raises:
      StateStructureError: a name was removed from the state or added to it.
      LeakedTracerError: the returned state contains a tracer, because it was written inside
        ``jax.lax.scan``, ``jax.vmap`` or a similar transformation.
      DeviceStackedError: a counter has a leading axis in only one of the two states.
      StateShapeError: the shape of a leaf has changed.
      StateDtypeError: the dtype of a leaf has changed.
      WeakTypeError: a Python number has replaced an array, or an array has replaced a Python
        number.
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
        why:   with a new dtype, `jit` would retrace and `scan` would fail: start with a dtype that holds what each call returns, and return that dtype
        more:  python -m haiku_state read api/pure

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
            raise errors.DeviceStackedError(path=path, shape=max(shapes), expected=())
    _check_each(old, new, np.shape, errors.StateShapeError)
    _check_each(old, new, jnp.result_type, errors.StateDtypeError)
    _check_each(old, new, is_weak, errors.WeakTypeError)
    moved = [path for path in counters if _moved(old[path], new[path])]
    must_move = average_counters(before, frozen)
    still = {path: module for path, (module, _) in must_move.items() if path not in moved}
    if is_training is True and still:
        raise errors.CounterStoppedError(paths=as_lines(still), modules=sorted(still.values()))
    if is_training is False and moved:
        raise errors.CounterAdvancedError(paths=as_lines(moved))


def checked(
    function: Function, is_training: bool | None = None, *, frozen: Predicate | None = None
) -> Function:
    """Wrap an ``apply`` or an update so that :func:`check_state` checks each of its calls.

    In a compiled function, the check runs only while JAX traces the function and adds nothing to
    the program.

    Args:
      function: ``apply(params, state, rng, *args, **kwargs) -> (output, state)``, or
        ``update(train_state, batch) -> (train_state, metrics)``.
      is_training: the same argument as in :func:`check_state`, used for all calls.
      frozen: the same argument as in :func:`check_state`.

    Returns:
      A function with the same arguments and results as ``function``.

    Raises:
      ArgumentError: raised by the returned function if ``function`` is neither an ``apply`` nor an
        update.
      HaikuStateError: the returned function raises any error of :func:`check_state`.

    Example:
      >>> import haiku as hk, jax
      >>> from haiku_state import Counter, checked
      >>> pair = hk.transform_with_state(lambda: Counter()())
      >>> params, state = pair.init(None)
      >>> count, state = jax.jit(checked(pair.apply))(params, state, None)
      >>> print(count)
      1

    References:
      :func:`check_state`, which checks a single pair of states.
    """

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        given = inspect.signature(function).bind(*args, **kwargs)
        first, *others = (*given.args, *given.kwargs.values())
        is_update = hasattr(first, "state")
        if not is_update and len(others) < 2:  # an apply has params, state and rng
            raise arguments.train_state(first)
        before = first.state if is_update else others[0]
        after = result[0].state if is_update else result[1]
        check_state(before, after, is_training, frozen=frozen)
        return result

    return cast(Function, wrapper)


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


def _check_structure(before: Any, after: Any, old: Leaves, new: Leaves) -> None:
    changes = [f"- {path}" for path in old if path not in new]
    changes += [f"+ {path}" for path in new if path not in old]
    structures = [str(jax.tree.structure(with_dicts(state))) for state in (before, after)]
    if not changes and structures[0] != structures[1]:
        changes = [f"- {structures[0]}", f"+ {structures[1]}"]
    if changes:
        raise errors.StateStructureError(changes=as_lines(changes))


def check_types(before: Any, after: Any) -> None:
    """Check that a step returns a train state of the type that it was given.

    Args:
      before: a PyTree of arrays and numbers.
      after: what the step returned in its place.

    Raises:
      HaikuStateError: as :func:`check_state`, of the structure, a shape, a dtype or a weak
        type. Optax may give its own opt_state weak types.
    """
    old, new = leaves_by_path(train_state=before), leaves_by_path(train_state=after)
    _check_structure(before, after, old, new)
    _check_each(old, new, np.shape, errors.StateShapeError)
    _check_each(old, new, jnp.result_type, errors.StateDtypeError)
    # the line searches of Optax start with weak types, which their user cannot change
    new = {path: leaf for path, leaf in new.items() if ".opt_state" not in path}
    _check_each(old, new, is_weak, errors.WeakTypeError)


def _check_each(
    old: Leaves,
    new: Leaves,
    look: Callable[[Any], Any],
    error: type[errors.HaikuStateError],
) -> None:
    changed = [path for path in new if look(old[path]) != look(new[path])]
    if changed:
        changes = (f"{path}: {describe(old[path])} -> {describe(new[path])}" for path in changed)
        path = changed[0]
        facts = {"path": path, "before": old[path], "after": new[path]}
        raise error(changes=as_lines(changes), **facts)


def average_counters(state: Any, frozen: Predicate | None = None) -> dict[str, tuple[str, Any]]:
    """Return the counters of the moving averages in a state by path, each with its module's name.

    Args:
      state: a PyTree of arrays.
      frozen: as in :func:`check_state`: those to leave out.
    """
    counters = {}
    for keys, average in tree_leaves_with_path(with_dicts(state), is_leaf=_is_average):
        if _is_average(average):
            module = "/".join(str(_name_of(key)) for key in keys)
            if frozen is None or not frozen(module, "counter", average["counter"]):
                counters[f"state{keystr(keys)}['counter']"] = module, average["counter"]
    return counters


def _is_average(node: Any) -> bool:
    return isinstance(node, Mapping) and {"counter", "hidden", "average"} <= node.keys()


def _name_of(key: Any) -> Any:
    """Return the name in a key of a path: ``"norm"`` of ``['norm']`` and of ``.norm``."""
    return next(getattr(key, field) for field in ("key", "name", "idx") if hasattr(key, field))


def _moved(old: Any, new: Any) -> bool:
    if isinstance(old, jax.core.Tracer) or isinstance(new, jax.core.Tracer):
        return old is not new
    return not np.array_equal(old, new)
