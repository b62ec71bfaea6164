"""``hk.transform_with_state`` built anew, in four short layers to be read from top to bottom.

An impure function reads and writes the frame on top of a stack. ``init`` and ``apply`` put a
new frame there, call the function, take the frame away and return what it holds. From outside
nothing has changed, so both are pure.

Names, values and random numbers are those of Haiku. In Haiku proper, each thread has its own
stack, and more is refused: a stored shape other than the one asked for, None as a parameter, one
numbered name given twice, a name that is no identifier, a module that does not call
``super().__init__()``. In Haiku proper, rng may be an integer, state may be None, a module may
be a dataclass or ``hk.Module()`` itself, its setters run under its name, and there are name
scopes, lifting, interceptors, custom getters, and ``hk.scan`` and its like.

All of it raises ``OutsideTransformError`` where neither ``init`` nor ``apply`` is running.

References:
  Haiku's documentation, `API <https://dm-haiku.readthedocs.io/en/latest/api.html>`__.
"""

import inspect
import re
from collections import Counter, namedtuple
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from haiku_state import errors

# Layer 1, a stack of frames: what a run of init or apply reads and writes, and where it is now.
# params, state and initial are {path: {name: value}}; rng is a list, so that it can be replaced;
# init is True in init. Then the method that runs: the names it has given, its module, its own
# name, the frame it was called from.

_Frame = namedtuple(
    "_Frame",
    "params state initial rng init counts module method caller",
    defaults=[None, None, None],
)
_frames: list[_Frame] = []


def _frame(module: str = "Module") -> _Frame:
    if not _frames:
        raise errors.OutsideTransformError(module=module)
    return _frames[-1]


def _path() -> str:
    return getattr(_frame().module, "module_name", "~")


def _run(frame: _Frame, f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    _frames.append(frame)
    try:
        return f(*args, **kwargs)
    finally:  # also when f raises: the next run must not find this frame
        _frames.pop()


# Layer 2, params, state and keys: each function reads or writes the frame on top.


def get_parameter(name: str, shape: Any, dtype: Any = jnp.float32, init: Any = None) -> jax.Array:
    """Read a parameter; in ``init``, the first reading creates it.

    Args:
      name: its name within the module; equal names give the same parameter.
      shape: its shape.
      dtype: its dtype.
      init: makes the first value from shape and dtype.

    Raises:
      UninitializedParameterError: ``apply`` lacks it, or ``init`` is not told the first value.
    """
    params, path = _frame().params, _path()
    if name not in params.get(path, {}):
        if init is None or not running_init():
            raise errors.UninitializedParameterError(path=f"params[{path!r}][{name!r}]")
        params.setdefault(path, {})[name] = init(shape, dtype)
    return params[path][name]


def get_state(name: str, shape: Any = None, dtype: Any = jnp.float32, init: Any = None) -> Any:
    """Read state; given ``init``, the first reading creates it.

    The arguments are those of :func:`get_parameter`.

    Returns:
      What was written last, in this run or in an earlier one.

    Raises:
      UninitializedStateError: nothing was written, and ``shape`` or ``init`` is missing.
    """
    state, path = _frame().state, _path()
    if name not in state.get(path, {}):
        if init is None or shape is None:
            raise errors.UninitializedStateError(path=f"state[{path!r}][{name!r}]")
        set_state(name, init(shape, dtype))
    return state[path][name]


def set_state(name: str, value: Any) -> None:
    """Write state; the first value of a name is the one that ``init`` will return."""
    _frame().initial.setdefault(_path(), {}).setdefault(name, value)
    _frame().state.setdefault(_path(), {})[name] = value


def next_rng_key() -> jax.Array:
    """Split a new key off the one that was given; ``MissingKeyError`` if that is None."""
    rng = _frame().rng
    if rng[0] is None:
        raise errors.MissingKeyError()
    rng[0], key = jax.random.split(rng[0])
    return key


def running_init() -> bool:
    """Tell ``init``, where it is True, from ``apply``."""
    return _frame().init


# Layer 3, modules: they hold no arrays, they name those in the frame.


def _entered(name: str, method: Any) -> Callable[..., Any]:
    def wrapper(self: "Module", *args: Any, **kwargs: Any) -> Any:
        frame = _frame(type(self).__name__)
        if name != "__init__" or frame.module is not self:  # super().__init__() is inside already
            frame = frame._replace(counts=Counter(), module=self, method=name, caller=frame)
        return _run(frame, method, self, *args, **kwargs)

    return wrapper


class Module:
    """Base class of modules; every method and property runs under the module's name.

    Args:
      name: the class name in snake case by default; equal names are numbered.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state import mini
      >>> class Shift(mini.Module):
      ...     def __call__(self, x):
      ...         return x + mini.get_parameter("b", (), init=jnp.zeros)
      >>> pair = mini.transform(lambda x: [Shift()(x), Shift()(x)])
      >>> list(pair.init(None, 1.0))
      ['shift', 'shift_1']
    """

    def __init_subclass__(cls) -> None:
        for name, member in {"__init__": cls.__init__, **vars(cls)}.items():
            if isinstance(member, property):
                setattr(cls, name, member.getter(_entered(name, member.fget)))
            elif inspect.isfunction(member) and re.match("__(init|call)__$|(?!__)", name):
                setattr(cls, name, _entered(name, member))

    def __init__(self, name: str | None = None) -> None:
        caller = _frame().caller
        name = (
            name
            or re.sub(r"(?<=[a-z\d])(?=[A-Z])|\B(?=[A-Z][a-z])", "_", type(self).__name__).lower()
        )
        stem = re.sub(r"_(0|[1-9]\d*)$", "", name)
        number = int(name[len(stem) + 1 :] or caller.counts[stem])
        caller.counts[stem] = max(number + 1, caller.counts[stem])
        self.name = f"{name}_{number}" if number and name == stem else name
        step = {None: "", "__call__": "/", "__init__": "/~/"}.get(
            caller.method, f"/~{caller.method}/"
        )
        self.module_name: str = getattr(caller.module, "module_name", "") + step + self.name


# Layer 4, the transformations: a frame in, a call, a frame out.

Pair = namedtuple("Pair", "init apply")


def transform_with_state(f: Callable[..., Any]) -> Pair:
    """Turn a function that reads and writes params and state into two pure functions.

    Args:
      f: the function; it may make and call modules.

    Returns:
      The pair ``init(rng, *args) -> (params, state)`` and
      ``apply(params, state, rng, *args) -> (output, state)``. What is passed in stays as it is.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state import mini
      >>> class Counter(mini.Module):
      ...     def __call__(self):
      ...         count = mini.get_state("count", (), jnp.int32, init=jnp.zeros) + 1
      ...         mini.set_state("count", count)
      ...         return count
      >>> init, apply = mini.transform_with_state(lambda: Counter()())
      >>> params, state = init(None)
      >>> for _ in range(2):
      ...     count, state = apply(params, state, None)
      ...     print(count)
      1
      2
    """

    def init(rng: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        frame = _Frame({}, {}, {}, [rng], True, Counter())
        _run(frame, f, *args, **kwargs)
        return frame.params, frame.initial

    def apply(params: Any, state: Any, rng: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        frame = _Frame(params, {k: dict(v) for k, v in state.items()}, {}, [rng], False, Counter())
        return _run(frame, f, *args, **kwargs), frame.state

    return Pair(init, apply)


def transform(f: Callable[..., Any]) -> Pair:
    """Turn a function that reads params, and keeps no state, into two pure functions.

    Returns:
      The pair ``init(rng, *args) -> params`` and ``apply(params, rng, *args) -> output``.

    Raises:
      StatelessTransformError: by the pair, if ``f`` keeps state.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state import mini
      >>> pair = mini.transform(lambda x: x * mini.get_parameter("w", (), init=jnp.ones))
      >>> params = pair.init(None, 2.0)
      >>> print(params, pair.apply(params, None, 2.0))
      {'~': {'w': Array(1., dtype=float32)}} 2.0
    """

    def stateless(*args: Any, **kwargs: Any) -> Any:
        output = f(*args, **kwargs)
        if _frame().state:
            raise errors.StatelessTransformError()
        return output

    init, apply = transform_with_state(stateless)
    return Pair(
        lambda rng, *args, **kwargs: init(rng, *args, **kwargs)[0],
        lambda params, rng, *args, **kwargs: apply(params, {}, rng, *args, **kwargs)[0],
    )
