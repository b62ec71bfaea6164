"""A module under test: its pair, its inputs, and how its results are compared."""

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.errors import UnboundAxisError, arguments
from haiku_state.errors.describe import describe, leaves_by_path, number_error, with_dicts
from haiku_state.errors.language import deferred as _
from haiku_state.inside.report import Sentence
from haiku_state.pure.check import check_made

UNBOUND = re.compile(r"unbound axis name: (\w+)")
MISSING = _("{path} is only in one of the two results")
STRUCTURES = _("{path}: the two results have different structures")
DIFFERS = _("{path}: {one} and {other}")

CALLS = 3

SMALLEST = {3: 0.3, 8: 1e-2, 11: 1e-2, 24: 1e-5, 53: 1e-12}
"""The relative difference that is always allowed, by the significant bits of the numbers."""

ROUNDINGS = 30
"""How many times the effect of one rounding two ways of computing the same may differ.

A deep network multiplies what it rounds; so the effect is measured, on the module itself.
"""

GREATEST = 0.5
"""From this effect on, nothing can be said: the module is chaotic, or too little of it is exact."""

FLOATS = {"bf16": 8, "f16": 11, "f32": 24, "f64": 53, "c64": 24, "c128": 53}
TYPES = re.compile(r"\b(f8_\w+|bf16|f16|f32|f64|c64|c128)\[")  # as a jaxpr writes them


class Subject:
    """What the laws are tried on.

    Args:
      make: the function that ``hk.transform_with_state`` takes, or a pair.
      inputs: its inputs, PyTrees of arrays.
      train: the keyword arguments of a call in training.
      evaluation: the keyword arguments of a call in evaluation; None if there is no such call.
      axis_name: the name of the axis that the module may use; None if it uses none.
      is_per_device: whether each device keeps a state of its own, and means to.
      key: the random key of every call, or its seed.
    """

    def __init__(
        self,
        make: Any,
        inputs: tuple[Any, ...],
        train: Mapping[str, Any],
        evaluation: Mapping[str, Any] | None,
        axis_name: str | None,
        is_per_device: bool,
        key: Any,
    ) -> None:
        self.pair = _pair_of(make)
        self.key = jax.random.key(key) if isinstance(key, int | np.integer) else key
        self.inputs, self.train, self.evaluation = inputs, train, evaluation
        self.axis_name, self.is_per_device = axis_name, is_per_device
        self._moves_integers = False  # whether rounding alone does, which `allowed` finds

    @property
    def other_key(self) -> Any:
        """Another random key."""
        return jax.random.fold_in(unused(self.key), 1)

    @property
    def start(self) -> tuple[Any, Any]:
        """Params and state, as ``init`` returns them; each time another copy."""
        return tuple(copied(self._made))

    @property
    def trained(self) -> tuple[Any, Any]:
        """Params, and the state after one call in training; each time another copy."""
        return self.start[0], copied(self._first[1])

    @functools.cached_property
    def evaluated(self) -> tuple[Any, Any]:
        """The result of a call in evaluation."""
        return self._checked(self.evaluate(self.key))

    def evaluate(self, key: Any) -> tuple[Any, Any]:
        """Call the module in evaluation, with the state after one call in training."""
        return self.apply(*self.trained, flags=self.evaluation, key=key)

    @functools.cached_property
    def _made(self) -> tuple[Any, Any]:
        params, state = self._checked_two(self.init())
        check_made(params, state)
        return params, state

    @functools.cached_property
    def _first(self) -> tuple[Any, Any]:
        return self._checked(self.apply(*self.start))

    @functools.cached_property
    def _uses_axis(self) -> bool:
        """Whether a call needs the axis, and so a transformation around it."""
        try:
            made = self.pair.init(unused(self.key), *copied(self.inputs), **self.train)
            for flags in self.modes:
                given = copied((*made, self.key, *self.inputs))
                self.pair.apply(*given, **flags)
        except NameError:
            return True
        return False

    def check_call(self) -> None:
        """Call the module in training and in evaluation; what this raises is not about a law.

        Raises:
          ArgumentError: the module uses an axis without a name, or several, or it does not return
            an output of arrays and a state.
          Exception: any other that ``init`` or ``apply`` raises.
        """
        try:
            self._call()
        except NameError as error:
            if (axis := _unbound(error)) is None:
                raise
            others = self.inputs, self.train, self.evaluation
            bound = Subject(self.pair, *others, axis, self.is_per_device, self.key)
            try:
                bound._call()
            except NameError as second:
                if _unbound(second) is not None:
                    raise arguments.tested_axes(self.pair) from error
            raise arguments.tested_axis(self.axis_name, axis) from error

    def _call(self) -> None:
        _results = self._first, self.evaluation is None or self.evaluated

    def _checked_two(self, result: Any) -> Any:
        if not (isinstance(result, tuple | list) and len(result) == 2):
            raise arguments.under_test(self.pair)
        return result

    def _checked(self, result: tuple[Any, Any]) -> tuple[Any, Any]:
        check_made(self.start[0], self._checked_two(result)[1])
        if error := number_error("api/testing", params=self.start[0], **named(result)):
            raise error
        return result

    def init(self, inputs: tuple[Any, ...] | None = None) -> tuple[Any, Any]:
        """Call ``init`` as in training."""
        call = functools.partial(self.pair.init, **self.train)
        return self._on_one_device(call, (self.key,), inputs)

    def apply(
        self,
        params: Any,
        state: Any,
        inputs: tuple[Any, ...] | None = None,
        *,
        key: Any = None,
        flags: Mapping[str, Any] | None = None,
        has_axis: bool = True,
    ) -> tuple[Any, Any]:
        """Call ``apply``, in training unless other flags are given.

        Args:
          params: the parameters.
          state: the state.
          inputs: other inputs than those of the module.
          key: another random key.
          flags: other keyword arguments than those of training.
          has_axis: whether the axis is to be bound here, because the caller binds none.
        """
        call = functools.partial(self.pair.apply, **(self.train if flags is None else flags))
        given = params, state, self.key if key is None else key
        if not has_axis:
            return call(*unused(given), *(self.inputs if inputs is None else inputs))
        return self._on_one_device(call, given, inputs)

    def _on_one_device(
        self, call: Callable[..., Any], given: tuple[Any, ...], inputs: tuple[Any, ...] | None
    ) -> Any:
        """Call with the axis bound to a single device, if the module uses one."""
        inputs = copied(self.inputs) if inputs is None else inputs
        given, inputs = tuple(map(unused, given)), unused(inputs)
        if self.axis_name is None or not self._uses_axis:
            return call(*given, *inputs)

        def one(rows: tuple[Any, ...], _device: Any) -> Any:
            return call(*given, *rows)

        rows = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], inputs)
        result = jax.vmap(one, axis_name=self.axis_name)(rows, jnp.zeros(1))
        return jax.tree.map(lambda leaf: leaf[0], result)

    @property
    def modes(self) -> list[Mapping[str, Any]]:
        """The keyword arguments of a call in training, and of one in evaluation if there is one."""
        return [self.train, *([] if self.evaluation is None else [self.evaluation])]

    def traced(self, flags: Mapping[str, Any] | None = None) -> Callable[..., tuple[Any, Any]]:
        """Return ``apply`` as a function of arrays that JAX has not traced before.

        Args:
          flags: other keyword arguments than those of training.
        """

        def apply(params: Any, state: Any, inputs: Any, key: Any = None) -> tuple[Any, Any]:
            return self.apply(params, state, inputs, key=key, flags=flags)

        return apply

    @functools.cached_property
    def is_random(self) -> bool:
        """Whether the state after a call in training depends on the random key."""
        run = jax.jit(self.traced())  # one program for both keys
        keys = unused((self.key, self.other_key))
        results = [run(*copied((*self.trained, self.inputs)), key)[1] for key in keys]
        return _worst(*results)[0] > 0

    @functools.cached_property
    def allowed(self) -> float:
        """The relative difference that rounding may make in a few calls; infinite if any."""
        given = *self.start, self.inputs
        try:
            found = set(TYPES.findall(str(jax.make_jaxpr(self.traced())(*unused(given)))))
        except Exception:  # Python decides by a value: another law says so
            found = set()
        least = min((FLOATS.get(name, 3) for name in found), default=24)
        rng = np.random.default_rng(0)

        def rounded(leaf: Any) -> Any:
            if not is_inexact(leaf):
                return leaf
            leaf = jnp.asarray(leaf)
            step = max(2.0 ** (1 - least), _eps(leaf))
            return leaf * (1 + step * rng.choice([-1.0, 1.0], leaf.shape)).astype(leaf.dtype)

        run = jax.jit(self.traced())

        def after(params: Any, state: Any, inputs: Any) -> tuple[Any, Any]:
            for _call in range(CALLS):
                output, state = run(params, state, unused(inputs))
            return output, state

        try:
            results = after(*unused(given)), after(*jax.tree.map(rounded, unused(given)))
        except Exception:
            return SMALLEST[least]
        whole = [[leaf for leaf in jax.tree.leaves(r) if not is_inexact(leaf)] for r in results]
        self._moves_integers = _worst(*whole)[0] > 0
        effect = _worst(*results)[0]
        allowed = max(SMALLEST[least], (ROUNDINGS if least > 11 else 3) * effect)
        return allowed if allowed < GREATEST else np.inf

    def difference(self, one: Any, other: Any, allowed: float | None = None) -> Sentence | None:
        """Return how two results differ by more than is allowed, or None.

        Args:
          one: a dict of what is compared, by its names.
          other: what it is compared with.
          allowed: the relative difference that is allowed; by default, what rounding may make.
        """
        leaves = [leaves_by_path(**tree) for tree in (one, other)]
        for path in dict.fromkeys([*leaves[0], *leaves[1]]):
            if not all(path in each for each in leaves):
                return Sentence(MISSING, path=path)
        for name in one:
            structures = [str(jax.tree.structure(with_dicts(tree[name]))) for tree in (one, other)]
            if structures[0] != structures[1]:
                return Sentence(STRUCTURES, path=name)
        allowed = self.allowed if allowed is None else allowed
        for path, leaf in leaves[0].items():
            twin = leaves[1][path]
            if np.shape(leaf) != np.shape(twin):
                return Sentence(DIFFERS, path=path, one=describe(leaf), other=describe(twin))
            gap, *values = _worst(leaf, twin)
            if not gap <= (allowed if is_inexact(leaf) or self._moves_integers else 0):
                shown = [f"{value:.7g}" for value in values]
                if shown[0] == shown[1]:
                    shown = [f"{value:.17g}" for value in values]
                return Sentence(DIFFERS, path=path, one=shown[0], other=shown[1])
        return None


def named(result: tuple[Any, Any]) -> dict[str, Any]:
    """Name the output and the state that a call returns."""
    return {"output": result[0], "state": result[1]}


def is_inexact(leaf: Any) -> bool:
    """Whether a leaf holds numbers that are rounded."""
    return not is_typed_key(leaf) and bool(jnp.issubdtype(jnp.result_type(leaf), jnp.inexact))


def is_floating(leaf: Any) -> bool:
    """Whether a leaf holds real numbers that are rounded."""
    return is_inexact(leaf) and bool(jnp.issubdtype(jnp.result_type(leaf), jnp.floating))


def is_typed_key(leaf: Any) -> bool:
    """Whether a leaf is a random key of the new style, which is not an array of numbers."""
    dtype = getattr(leaf, "dtype", None)
    return dtype is not None and bool(jnp.issubdtype(dtype, jax.dtypes.prng_key))


def unused(tree: Any) -> Any:
    """Return a tree with copies of its random keys, whose uses ``jax_debug_key_reuse`` counts."""
    if not any(map(is_typed_key, jax.tree.leaves(tree))):
        return tree  # with the containers of the caller, which the module may change
    return jax.tree.map(lambda x: jax.random.clone(x) if is_typed_key(x) else x, tree)


def copied(tree: Any) -> Any:
    """Return a tree whose containers and arrays are copies, which a call may change or delete."""
    return unused(jax.tree.map(lambda x: x.copy() if _is_array(x) else x, tree))


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray | jax.Array) and not is_typed_key(leaf)


def _unbound(error: NameError) -> Any:
    """Return the name of the axis that is not bound; None if the error is not about an axis."""
    if isinstance(error, UnboundAxisError):
        return error.values["axis"]
    found = UNBOUND.search(str(error))
    return found and found[1]


def accepts(make: Any, name: str) -> bool:
    """Whether a function, or the call of a class or a pair, has a parameter of a name."""
    if isinstance(make, type):
        call = make.__call__
    elif isinstance(make, tuple):
        call = make[-1]
    else:
        call = make
    try:
        return name in inspect.signature(call).parameters
    except (TypeError, ValueError):
        return False


def _pair_of(make: Any) -> Any:
    """Return the pair of a function, a class, or a pair."""
    if isinstance(make, type):
        return hk.transform_with_state(lambda *args, **kwargs: make()(*args, **kwargs))
    if "without_apply_rng" in getattr(getattr(make, "apply", None), "__qualname__", ""):
        raise arguments.under_test(make)
    is_pair = isinstance(make, tuple) and len(make) == 2 and all(map(callable, make))
    if is_pair and not isinstance(make, hk.Transformed):
        return hk.TransformedWithState(*make)
    if not callable(make):
        raise arguments.under_test(make)
    return hk.transform_with_state(make)


def _eps(leaf: Any) -> float:
    return float(jnp.finfo(leaf.dtype).eps)  # type: ignore[no-untyped-call]


def _worst(one: Any, other: Any) -> tuple[float, Any, Any]:
    """Return the greatest difference of two trees, relative to 1 + |x|, and the two numbers."""
    worst: tuple[float, Any, Any] = 0.0, None, None
    for leaf, twin in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        left, right = (np.ravel(_as_numbers(each)) for each in (leaf, twin))
        if not left.size:
            continue
        with np.errstate(all="ignore"):
            gap = np.abs(left - right) / (1 + np.abs(right))
        gap = np.where((left == right) | np.isnan(left) & np.isnan(right), 0, gap)
        at = int(np.argmax(np.where(np.isnan(gap), np.inf, gap)))
        if not gap[at] <= worst[0]:
            worst = float(gap[at]), left[at], right[at]
    return worst


def _as_numbers(leaf: Any) -> Any:
    numbers = np.asarray(jax.random.key_data(leaf) if is_typed_key(leaf) else leaf)
    return numbers.astype(np.complex128 if np.iscomplexobj(numbers) else np.float64)
