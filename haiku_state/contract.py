"""What a returned state must keep, checked when a function is traced."""

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.compat import is_live
from haiku_state.errors import (
    CounterAdvancedError,
    CounterStoppedError,
    DeviceStackedError,
    HaikuStateError,
    LeakedTracerError,
    StateDtypeError,
    StateShapeError,
    StateStructureError,
    WeakTypeError,
)
from haiku_state.errors.base import as_lines

Leaves = dict[str, Any]

_AVERAGE = {"counter", "hidden", "average"}


def check_state(before: Any, after: Any, is_training: bool | None = None) -> None:
    r"""Check that a returned state can take the place of the one that was passed in.

    .. math:: \operatorname{type}(s_{t+1}) = \operatorname{type}(s_t)

    The type of a state is its structure, and the shape, dtype and weak type of each leaf. Besides,
    no leaf may be a tracer of a transformation that has ended, and none may have a device axis that
    the other lacks. The counters of the exponential moving averages in the state (those of
    :class:`BatchNorm` and of ``hk.BatchNorm``) must be scalars; they must have changed in training,
    and not in evaluation. Only types are looked at, and whether a leaf is the same object: a
    compiled step pays nothing.

    Where a function is being traced, a counter that came back from another compiled function may
    look changed although it is not: check that inner function instead.

    Args:
      before: the state that was passed in, a PyTree of arrays.
      after: the state that was returned.
      is_training: True: the counters must advance. False: they must not. None: they may.

    Raises:
      StateStructureError: a name is gone or new.
      LeakedTracerError: state was written inside ``jax.lax.scan``, ``jax.vmap`` or their like.
      DeviceStackedError: one of the two has a leading device axis.
      StateShapeError: a shape has changed.
      StateDtypeError: a dtype has changed.
      WeakTypeError: a Python number took the place of an array, or the reverse.
      CounterStoppedError: the running statistics stood still in training.
      CounterAdvancedError: the running statistics moved in evaluation.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state import check_state
      >>> state = {"counter": {"count": jnp.int32(1)}}
      >>> check_state(state, {"counter": {"count": jnp.int32(2)}})
      >>> check_state(state, {"counter": {"count": jnp.float32(2)}})
      Traceback (most recent call last):
        ...
      haiku_state.errors.state.StateDtypeError: the returned state has other dtypes:
          state['counter']['count']: int32[] -> float32[]
        wrong: count = count + 1.0
        right: count = count + 1
        why:   the arithmetic promoted it: jit would trace again, `scan` would refuse; begin with the dtype that it ends with
        more:  docs/api/contract.rst

    References:
      JAX's documentation, `jax.lax.scan
      <https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html>`__, on the type of a carry.
    """  # noqa: E501
    old, new = leaves_by_path(state=before), leaves_by_path(state=after)
    _check_structure(before, after, old, new)
    tracers = {path: leaf for path, leaf in new.items() if isinstance(leaf, jax.core.Tracer)}
    if leaked := [path for path, tracer in tracers.items() if not is_live(tracer)]:
        raise LeakedTracerError(paths=as_lines(leaked))
    counters = list(_counters(before))
    _check_device_axis(old, new, counters)
    _check_each(old, new, np.shape, StateShapeError)
    _check_each(old, new, _dtype, StateDtypeError)
    _check_each(old, new, _is_weak, WeakTypeError)
    moved = [path for path in counters if _moved(old[path], new[path])]
    if is_training is True and (still := [path for path in counters if path not in moved]):
        raise CounterStoppedError(paths=as_lines(still))
    if is_training is False and moved:
        raise CounterAdvancedError(paths=as_lines(moved))


def checked(function: Callable[..., Any], is_training: bool | None = None) -> Callable[..., Any]:
    """Wrap an ``apply`` or an update, so that each of its calls goes through :func:`check_state`.

    In a compiled function the check runs while JAX traces it, and leaves nothing behind.

    Args:
      function: ``apply(params, state, rng, *args, **kwargs) -> (output, state)``, or
        ``update(train_state, batch) -> (train_state, metrics)``.
      is_training: as in :func:`check_state`; a bool that a call gives as ``is_training=``
        comes first.

    Returns:
      A function with the arguments and results of ``function``.

    Raises:
      HaikuStateError: at a call, whatever :func:`check_state` finds.

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
        result = function(*args, **kwargs)
        flag = kwargs.get("is_training")
        is_update = hasattr(args[0], "state")
        check_state(
            args[0].state if is_update else args[1],
            result[0].state if is_update else result[1],
            flag if isinstance(flag, bool) else is_training,
        )
        return result

    return wrapper


def leaves_by_path(**trees: Any) -> Leaves:
    """Give the leaves of PyTrees by path, each path beginning with the name of its tree."""
    return {
        f"{name}{jax.tree_util.keystr(path)}": leaf
        for name, tree in trees.items()
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
    }


def _check_structure(before: Any, after: Any, old: Leaves, new: Leaves) -> None:
    changes = [f"- {path}" for path in old if path not in new]
    changes += [f"+ {path}" for path in new if path not in old]
    structures = [str(jax.tree.structure(state)) for state in (before, after)]
    if not changes and structures[0] != structures[1]:
        changes = [f"- {structures[0]}", f"+ {structures[1]}"]
    if changes:
        raise StateStructureError(changes=as_lines(changes))


def _check_device_axis(old: Leaves, new: Leaves, counters: list[str]) -> None:
    stacked = {path: () for path in counters if np.ndim(old[path])}
    found = old
    for tree, other in ((old, new), (new, old)):
        expected = {path: np.shape(leaf) for path, leaf in other.items()}
        lengths = {
            np.shape(leaf)[:1] if np.shape(leaf)[1:] == expected[path] else ()
            for path, leaf in tree.items()
        }
        # one axis more in every leaf, of one length: a module would not do that
        if len(tree) > 1 and len(lengths) == 1 and lengths != {()}:
            stacked, found = expected, tree
    for path, shape in stacked.items():
        raise DeviceStackedError(
            path=path,
            shape=np.shape(found[path]),
            expected=shape,
            wrong="apply(params, state, rng, inputs)",
            right="apply(unreplicate(params), unreplicate(state), rng, inputs)",
        )


def _check_each(
    old: Leaves, new: Leaves, look: Callable[[Any], Any], error: type[HaikuStateError]
) -> None:
    changes = [
        f"{path}: {describe(old[path])} -> {describe(leaf)}"
        for path, leaf in new.items()
        if look(old[path]) != look(leaf)
    ]
    if changes:
        raise error(changes=as_lines(changes))


def _counters(state: Any) -> Iterator[str]:
    if isinstance(state, Mapping):
        for module, values in state.items():
            if isinstance(values, Mapping) and set(values) >= _AVERAGE:
                yield f"state[{module!r}]['counter']"


def _moved(old: Any, new: Any) -> bool:
    if old is new:
        return False
    if isinstance(old, jax.core.Tracer) or isinstance(new, jax.core.Tracer):
        return True
    return bool(np.any(np.asarray(old) != np.asarray(new)))


def _dtype(leaf: Any) -> Any:
    return jnp.result_type(leaf)


def _is_weak(leaf: Any) -> bool:
    return type(leaf) in (int, float, complex) or bool(getattr(leaf, "weak_type", False))


def describe(leaf: Any) -> str:
    """Write dtype and shape of a leaf as in ``float32[8,3]``."""
    if not hasattr(leaf, "dtype") and not isinstance(leaf, int | float | complex):
        return type(leaf).__name__
    weak = "weak " if _is_weak(leaf) else ""
    return f"{weak}{getattr(leaf, 'dtype', _dtype(leaf))}[{','.join(map(str, np.shape(leaf)))}]"
