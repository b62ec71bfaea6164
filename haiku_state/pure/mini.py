"""``hk.transform_with_state`` rebuilt in four short layers, to be read from top to bottom.

An impure function reads and writes a frame, which holds params, state and a random key and lies on
top of a stack. ``init`` and ``apply`` push a new frame, call the function, pop the frame and return
its contents. The stack is the same afterwards, which makes both of them pure as long as the
function has no other side effects. When neither of them is running, the stack is empty, and every
function that needs a frame raises ``OutsideTransformError``.

Names, values and random numbers are the same as in Haiku; a comment at the end of the source file
lists what this version lacks.

References:
  Haiku's documentation, `API <https://dm-haiku.readthedocs.io/en/latest/api.html>`__.
"""

import dataclasses
import functools
import inspect
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from haiku_state import errors

# ---- Layer 1: a stack of frames
#
# A module asks for a parameter by its name alone, without saying in which dictionary it is. So
# there has to be a place where the dictionaries are while the module runs: a stack, because an
# `apply` may run inside of an `apply`. It is the only global variable of this file, and it is
# empty before and after each run. A frame also knows which method is running, since the name of a
# parameter depends on that.


@dataclasses.dataclass
class _Frame:
    """What a run of ``init`` or ``apply`` reads and writes, and which method is running in it."""

    # The first five fields are shared by all frames of one run.
    params: dict[str, dict[str, Any]]  # {path: {name: value}}, as in Haiku
    state: dict[str, dict[str, Any]]
    initial: dict[str, dict[str, Any]]  # the first value of each name in state
    rng: list[Any]  # the key in a list of one, so that it can be replaced for all of them
    is_init: bool

    # The others change from method to method. The transformed function itself has no module.
    names: Counter[str] = dataclasses.field(default_factory=Counter)  # given to modules made in it
    module: "Module | None" = None
    method: str | None = None
    caller: Any = None  # the frame that called the method

    @property
    def path(self) -> str:
        """Where the params and the state that are asked for are in the dictionaries."""
        return "~" if self.module is None else self.module.module_name


_frames: list[_Frame] = []


def _current_frame(module: str = "Module") -> _Frame:
    """Return the frame on top; ``module`` is the class that the error names if there is none."""
    if not _frames:
        raise errors.OutsideTransformError(module=module)
    return _frames[-1]


def _run(frame: _Frame, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a function with a frame on top of the stack."""
    _frames.append(frame)
    try:
        return function(*args, **kwargs)
    finally:  # even if the function raises: the next run must not find this frame
        _frames.pop()


# ---- Layer 2: params, state and keys
#
# These are what an impure function calls. Each of them reads or writes the frame on top, and does
# nothing else. A parameter is made once, in `init`, and read from then on. State is read and
# written in both; what `init` returns is the first value of each name, not the last, so that a
# counter that `init` has run once still starts at 0. The key is replaced at every use: that is
# state too, although nobody returns it.


def get_parameter(name: str, shape: Any, dtype: Any = jnp.float32, init: Any = None) -> jax.Array:
    """Read a parameter; in ``init``, the first read creates it.

    Args:
      name: the name of the parameter within the module; equal names give the same parameter.
      shape: the shape of the parameter.
      dtype: the dtype of the parameter.
      init: a function that makes the initial value from the shape and the dtype.

    Raises:
      UninitializedParameterError: the params that were passed to ``apply`` do not contain this
        parameter, or ``init`` is missing when the parameter has to be created.
    """
    frame = _current_frame()
    if name not in frame.params.get(frame.path, {}):
        if init is None or not frame.is_init:
            raise errors.UninitializedParameterError(path=f"params[{frame.path!r}][{name!r}]")
        value = init(shape, dtype)
        frame.params.setdefault(frame.path, {})[name] = value
    return frame.params[frame.path][name]


def get_state(name: str, shape: Any = None, dtype: Any = jnp.float32, init: Any = None) -> Any:
    """Read state; if ``shape`` and ``init`` are given, the first read creates the state.

    The arguments are the same as in :func:`get_parameter`.

    Returns:
      The value that was written last, in this run or an earlier run.

    Raises:
      UninitializedStateError: no state has been written under this name, and ``shape`` or ``init``
        is missing.
    """
    frame = _current_frame()
    if name not in frame.state.get(frame.path, {}):
        if init is None or shape is None:
            raise errors.UninitializedStateError(path=f"state[{frame.path!r}][{name!r}]")
        set_state(name, init(shape, dtype))
    return frame.state[frame.path][name]


def set_state(name: str, value: Any) -> None:
    """Write state; ``init`` returns the first value that is written under each name."""
    frame = _current_frame()
    frame.initial.setdefault(frame.path, {}).setdefault(name, value)
    frame.state.setdefault(frame.path, {})[name] = value


def next_rng_key() -> jax.Array:
    """Return a new key, split off the given key; raise ``MissingKeyError`` if no key was given."""
    frame = _current_frame()
    if frame.rng[0] is None:
        raise errors.MissingKeyError()
    frame.rng[0], key = jax.random.split(frame.rng[0])
    return key


def running_init() -> bool:
    """Return True while ``init`` runs, and False while ``apply`` runs."""
    return _current_frame().is_init


# ---- Layer 3: modules
#
# A module holds no arrays, only the path under which the frame holds them. The path says who made
# the module, in which method, and which of several equal ones it is. That is why each method is
# wrapped: while it runs, the frame on top is one that names the module, and shares everything else
# with the frame below.


def _in_own_frame(name: str, method: Any) -> Callable[..., Any]:
    """Wrap a method of a module, so that each call of it has a frame that names the module."""

    @functools.wraps(method)
    def wrapper(self: "Module", *args: Any, **kwargs: Any) -> Any:
        caller = _current_frame(module=type(self).__name__)
        if name == "__init__" and caller.module is self:  # super().__init__() has its frame already
            return method(self, *args, **kwargs)
        frame = dataclasses.replace(
            caller, names=Counter(), module=self, method=name, caller=caller
        )
        return _run(frame, method, self, *args, **kwargs)

    return wrapper


def _snake_case(class_name: str) -> str:
    """Return ``batch_norm`` for ``BatchNorm``, and ``my_mlp_layer`` for ``MyMLPLayer``."""
    after_lowercase = r"(?<=[a-z\d])(?=[A-Z])"
    before_lowercase = r"\B(?=[A-Z][a-z])"
    return re.sub(f"{after_lowercase}|{before_lowercase}", "_", class_name).lower()


def _unique_name(name: str, names: Counter[str]) -> str:
    """Number a name that was given before: ``linear``, ``linear_1``, ``linear_2``."""
    if numbered := re.fullmatch(r"(.*)_(0|[1-9]\d*)", name):  # by the user: count on from there
        stem, number = numbered[1], int(numbered[2])
        names[stem] = max(names[stem], number + 1)
        return name
    number = names[name]
    names[name] += 1
    return f"{name}_{number}" if number else name


def _module_path(maker: _Frame, name: str) -> str:
    """Join the path of the module that makes a new one, the method that does so, and its name."""
    if maker.module is None:
        return name
    if maker.method == "__call__":
        return f"{maker.path}/{name}"
    if maker.method == "__init__":
        return f"{maker.path}/~/{name}"
    return f"{maker.path}/~{maker.method}/{name}"


class Module:
    """Base class of modules; methods look up params and state under the module's name.

    Args:
      name: the name of the module, by default the class name in snake case; equal names are
        numbered.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state.pure import mini
      >>> class Shift(mini.Module):
      ...     def __call__(self, x):
      ...         return x + mini.get_parameter("b", (), init=jnp.zeros)
      >>> pair = mini.transform(lambda x: [Shift()(x), Shift()(x)])
      >>> list(pair.init(None, 1.0))
      ['shift', 'shift_1']
    """

    name: str
    module_name: str  # the path: the names of all modules around it, and its own

    def __init_subclass__(cls) -> None:
        members = {"__init__": cls.__init__, **vars(cls)}  # __init__ even if it is inherited
        for name, member in members.items():
            is_special = name.startswith("__") and name not in ("__init__", "__call__")
            if isinstance(member, property):
                setattr(cls, name, member.getter(_in_own_frame(name, member.fget)))
            elif inspect.isfunction(member) and not is_special:
                setattr(cls, name, _in_own_frame(name, member))

    def __init__(self, name: str | None = None) -> None:
        maker = _current_frame().caller
        self.name = _unique_name(name or _snake_case(type(self).__name__), maker.names)
        self.module_name = _module_path(maker, self.name)


# ---- Layer 4: the transformations
#
# A frame in, a call, a frame out. `apply` gives the frame a copy of the state, so the function
# writes into the copy, and the state that was passed in is as it was. From outside there is only a
# function of its arguments. `jax.jit` runs it once, with tracers in the frame; the compiled program
# has no stack and no frames any more.


class Pair(NamedTuple):
    """A pair of pure functions that together replace one impure function."""

    init: Callable[..., Any]
    apply: Callable[..., Any]


def transform_with_state(f: Callable[..., Any]) -> Pair:
    """Turn a function that reads and writes params and state into two pure functions.

    Args:
      f: the function to transform, which may create and call modules.

    Returns:
      The pair ``init(rng, *args) -> (params, state)`` and
      ``apply(params, state, rng, *args) -> (output, state)``. Neither of the two functions changes
      its arguments.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state.pure import mini
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
        frame = _Frame(params={}, state={}, initial={}, rng=[rng], is_init=True)
        _run(frame, f, *args, **kwargs)
        return frame.params, frame.initial

    def apply(params: Any, state: Any, rng: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        copy = {path: dict(values) for path, values in state.items()}
        frame = _Frame(params=params, state=copy, initial={}, rng=[rng], is_init=False)
        output = _run(frame, f, *args, **kwargs)
        return output, frame.state

    return Pair(init, apply)


def transform(f: Callable[..., Any]) -> Pair:
    """Turn a function that reads params and keeps no state into two pure functions.

    Returns:
      The pair ``init(rng, *args) -> params`` and ``apply(params, rng, *args) -> output``.

    Raises:
      StatelessTransformError: raised by ``init`` and ``apply`` if ``f`` keeps state.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state.pure import mini
      >>> pair = mini.transform(lambda x: x * mini.get_parameter("w", (), init=jnp.ones))
      >>> params = pair.init(None, 2.0)
      >>> print(params, pair.apply(params, None, 2.0))
      {'~': {'w': Array(1., dtype=float32)}} 2.0
    """

    def stateless(*args: Any, **kwargs: Any) -> Any:
        output = f(*args, **kwargs)
        if _current_frame().state:
            raise errors.StatelessTransformError()
        return output

    pair = transform_with_state(stateless)

    def init(rng: Any, *args: Any, **kwargs: Any) -> Any:
        params, _ = pair.init(rng, *args, **kwargs)
        return params

    def apply(params: Any, rng: Any, *args: Any, **kwargs: Any) -> Any:
        output, _ = pair.apply(params, {}, rng, *args, **kwargs)
        return output

    return Pair(init, apply)


# ---- What Haiku has, and this file does not
#
# Haiku rejects what is accepted here: a stored shape other than the one asked for; None as a
# parameter; one numbered name given twice; a name that is not an identifier; a module that does
# not call `super().__init__()`.
#
# And it has more: a stack for each thread; an integer as `rng`, and None as `state`; `hk.Module()`
# itself, modules that are dataclasses, and setters that run under the module's name;
# `hk.transparent` and `hk.name_like`, which change the names of what a method makes; `params_dict`
# and `state_dict`, all that a module and its submodules own; `hk.DO_NOT_STORE`, by which an
# initializer, a creator or a setter keeps a value out; name scopes, lifting, interceptors, custom
# creators, getters and setters; `hk.scan` and the like.
