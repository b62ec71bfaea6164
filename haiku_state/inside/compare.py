"""What purity means: call after call, a function does the same in Python and under jit."""

import collections
import contextlib
import contextvars
import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.errors import arguments
from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import translated
from haiku_state.inside import compat
from haiku_state.inside.calls import (
    Call,
    callable_of,
    filled,
    name_of,
    outputs_of,
    start_of,
)
from haiku_state.inside.reach import Holder, Reach, same
from haiku_state.inside.report import shown
from haiku_state.inside.watch import Stopped, Watch

EQUAL = _("`{function}` does the same in Python and under jit, in {count} calls.")
DIFFERS = _("`{function}` does not do the same in Python and under jit: {what} of call {call}")
STOPPED = _(
    "`{function}` cannot be compared, because call {call} would change something that cannot be "
    "restored."
)
PYTHON, JITTED, NOTHING = _("in Python"), _("under jit"), _("nothing")
OUTPUT, ERROR = _("the output"), _("the error")

_TWICE = 2
_SEQUENCES = (list, tuple, collections.deque)
_ARRAYS = (jax.Array, np.ndarray, np.generic, int, float, complex)
_RTOL, _ATOL = 1e-4, 1e-6
"""What the order of operations may change, which is not the same in a compiled program."""


class Comparison(NamedTuple):
    """The result of :func:`.compare`.

    Example:
      >>> from haiku_state.inside import Comparison
      >>> print(Comparison("double", 2))
      `double` does the same in Python and under jit, in 2 calls.

    References:
      :func:`.compare`.
    """

    function: str
    """The name of the function."""

    calls: int
    """How many calls were compared."""

    call: int = 0
    """The number of the first call that differs, counted from 1; 0 if no call differs."""

    what: str = ""
    """What differs, either ``"output"``, ``"error"``, or the name of something that the call
    changed, printed or read."""

    eager: str = ""
    """The differing value after the call in Python, shortened to a few characters."""

    jitted: str = ""
    """The differing value after the call under jit, shortened to a few characters."""

    @property
    def equal(self) -> bool:
        """Whether the function does the same in Python and under jit."""
        return not self.call

    def __str__(self) -> str:
        named = {"output": OUTPUT, "error": ERROR}.get(self.what)
        what = translated(named) if named else f"`{self.what}`"
        text = EQUAL if self.equal else DIFFERS if self.what else STOPPED
        said = translated(text).format(
            function=self.function, count=self.calls, call=self.call, what=what
        )
        if self.equal or not self.what:
            return said
        sides = (PYTHON, self.eager), (JITTED, self.jitted)
        return "\n".join([said, *(f"  {translated(side)}: {value}" for side, value in sides)])


def compare(function: Callable[..., Any], /, *calls: tuple[Any, ...]) -> Comparison:
    """Call a function in Python and under jit, and report the first difference.

    Purity means that it makes no difference whether Python runs a function in every call, or jit
    traces the function once and then runs only the compiled program. The calls are made in order
    and then repeated once. All of this happens first in Python with jit disabled, and then under
    ``jax.jit``. For each call, the two runs are compared: their outputs, their errors, what the
    function printed or read, and everything outside that it can reach. Floats may differ by 1e-6 or
    by one part in 10,000.

    The function really runs, on copies of the containers and the NumPy arrays in its arguments.
    Changes that it makes to outside objects are undone, and what it prints is not shown, unless it
    uses ``jax.debug.print``. If the function tries to write a file, start a process or connect to a
    network, the call is stopped before that happens.

    Args:
      function: the same as in :func:`.explain`.
      *calls: the arguments of each call, as a tuple.

    Returns:
      A :class:`.Comparison` with the first difference, if there is one. Finding no difference does
      not prove purity: other arguments may reveal a difference, and a side effect that is the same
      in every call, such as setting an attribute to a constant, looks the same under jit.

    Raises:
      ArgumentError: the arguments of a call are not a tuple, or there is no call.

    Example:
      >>> import haiku_state as hs
      >>> counts = {"calls": 0}
      >>> def scale(x):
      ...     counts["calls"] += 1
      ...     return x * counts["calls"]
      >>> print(hs.inside.compare(scale, (1.0,)))
      `scale` does not do the same in Python and under jit: the output of call 2
        in Python: 2.0
        under jit: 1.0

    References:
      JAX's documentation, `Common gotchas: pure functions
      <https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html#pure-functions>`__.
    """
    for call in calls or [None]:
        if not isinstance(call, tuple):
            raise arguments.traced_call(call)
    sequence, name = calls * _TWICE, name_of(function)
    with compat.traced_anew():
        with jax.disable_jit():
            eager = _Run(function, sequence).outcomes
        jitted = _Run(function, sequence, is_jitted=True).outcomes
        if any("error" in one for one in jitted) and not any("error" in one for one in eager):
            static = _Run(function, sequence, is_jitted=True, is_static=True).outcomes
            if not any("error" in one for one in static):  # it needs the values of its numbers
                jitted = static
    for number, (one, other) in enumerate(zip(eager, jitted, strict=False), 1):
        if not one:
            return Comparison(name, len(sequence), number)
        for what in dict.fromkeys(("error", *one, *other)):
            sides = one.get(what, ...), other.get(what, ...)
            if not _is_same(*sides):
                return Comparison(name, len(sequence), number, what, *map(_in_short, sides))
    return Comparison(name, len(sequence))


Outcome = dict[str, Any]
"""What a call has done: its ``output``, its ``error``, and the things that it has changed."""


class _Run:
    """The same calls, one after the other, in one of the two ways.

    Args:
      function: what is called.
      sequence: the arguments of the calls.
      is_jitted: whether it is called under jit.
      is_static: whether numbers are passed as they are, because the function needs their values.
    """

    def __init__(
        self,
        function: Any,
        sequence: Sequence[tuple[Any, ...]],
        is_jitted: bool = False,
        is_static: bool = False,
    ) -> None:
        self.outcomes: list[Outcome] = []
        """What each call has done; empty for one that was stopped."""
        self._is_jitted, self._is_static = is_jitted, is_static
        self._programs: list[tuple[Any, list[Any], Any]] = []
        self._changed: list[Holder] = []
        self._watch = Watch(start_of(function))
        reach = self._watch.reach
        calls = [Call(function, args, {}) for args in sequence]
        calls[0].walk(reach)
        self._function = callable_of(function, reach)
        bound = [call.bound(reach, [*map(_copied, call.leaves)])[0] for call in calls]

        def run() -> None:
            for call, given in zip(calls, bound, strict=True):
                self._call(call, given)

        sizes = {id(cache): cache.cache_info().currsize for cache in _caches(reach)}
        try:
            contextvars.copy_context().run(self._watch.run, run)
        except (Stopped, SystemExit) as caught:
            if isinstance(caught, SystemExit) and not self._watch.has_stopped_thread:
                raise
            self.outcomes.append({})
        finally:
            reach.put_streams_back()
            for cache in _caches(reach):
                if cache.cache_info().currsize != sizes.get(id(cache), 0):
                    cache.cache_clear()
            if any(holder.form in ("array", "argument") for holder in self._changed):
                jax.clear_caches()  # JAX keeps the constant that it has made of an array

    def _call(self, call: Call, given: tuple[Any, ...]) -> None:
        outcome: Outcome = {"output": []}
        before = len(self._watch.events)
        try:
            result = self._jitted(call, given) if self._is_jitted else self._function(*given)
            outcome["output"] = [*map(_copied, jax.block_until_ready(outputs_of(result)))]
            jax.effects_barrier()
        except Exception as error:
            outcome["error"] = error
        for event in self._watch.events[before:]:  # each as often as it occurs
            outcome[event.name] = [*outcome.get(event.name, []), event.kind]
        for holder in self._watch.reach.holders:
            with contextlib.suppress(Exception):
                for change in holder.changes():
                    outcome[holder.path(change.key)] = _copied(change.after)
                    self._changed.append(holder)
        self.outcomes.append(outcome)

    def _jitted(self, call: Call, given: tuple[Any, ...]) -> Any:
        """Run the program for such arguments, which is compiled if there is none yet."""
        leaves, tree = jax.tree.flatten(given)
        traced = call.traced(self._is_static)
        static = filled(leaves, traced, [None] * len(traced))
        fitting = [p for other, known, p in self._programs if other == tree and same(known, static)]
        if not fitting:

            @jax.jit
            def program(*values: Any) -> Any:
                again = jax.tree.unflatten(tree, filled(static, traced, values))
                return outputs_of(self._function(*again))

            fitting = [program]
            self._programs.append((tree, static, program))
        return fitting[0](*(leaves[index] for index in traced))


def _caches(reach: Reach) -> list[Any]:
    """The functions that remember what they have returned."""
    values = [holder.value for holder in reach.holders]
    return [value for value in values if isinstance(value, functools._lru_cache_wrapper)]


def _copied(value: Any) -> Any:
    is_array = isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer)
    if is_array and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return jax.random.clone(value)  # the same key is used in each call
    kinds = (np.ndarray, list, dict, set, collections.deque)
    return copy.copy(value) if isinstance(value, kinds) else value


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal but for rounding; of most objects only the class counts."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_same(one[key], other[key]) for key in one)
    if isinstance(one, _SEQUENCES) and isinstance(other, _SEQUENCES):
        return len(one) == len(other) and all(map(_is_same, one, other))
    if type(one) is type(other) and isinstance(one, (str, bytes, int, set)):
        return bool(one == other)
    arrays = [value for value in (one, other) if isinstance(value, _ARRAYS)]
    if len(arrays) < 2 or any(isinstance(value, jax.core.Tracer) for value in arrays):
        return type(one) is type(other)
    try:
        one, other = map(_as_numbers, arrays)
        if one.dtype == other.dtype == object:
            return _is_same(list(one.flat), list(other.flat))
        return one.shape == other.shape and bool(np.allclose(one, other, _RTOL, _ATOL, True))
    except TypeError:  # a key and another array
        return type(one) is type(other)


def _as_numbers(value: Any) -> np.ndarray[Any, Any]:
    is_key = jnp.issubdtype(getattr(value, "dtype", np.float32), jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(value) if is_key else value)


def _in_short(value: Any) -> str:
    if isinstance(value, Exception):
        value = f"{type(value).__name__}: {value}".splitlines()[0]
    if isinstance(value, list) and len(value) == 1:
        return _in_short(value[0])
    if value is ...:
        return translated(NOTHING)
    is_array = isinstance(value, (jax.Array, np.ndarray)) and not isinstance(value, jax.core.Tracer)
    if is_array and not jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = np.asarray(value).tolist()
    return value if isinstance(value, str) else shown(value)
