"""Types of the arguments and results of pure pairs, loss functions and update steps."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias, TypeVar

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np

Params: TypeAlias = hk.Params
"""Haiku's parameters, ``{module path: {name: array}}``, which the optimizer changes."""

State: TypeAlias = hk.State
"""Haiku's state, ``{module path: {name: array}}``, which the forward pass changes."""

PyTree: TypeAlias = Any
"""Nested containers of arrays, such as dicts and tuples, that JAX functions accept."""

Batch: TypeAlias = Any
"""A PyTree of arrays that share a leading axis, with one row per example, such as a dict."""

Metrics: TypeAlias = Mapping[str, jax.Array]
"""The metrics of one update step, as a mapping from names to scalars."""

Predicate: TypeAlias = Callable[[str, str, Any], bool]
"""A function ``predicate(module_name, name, value)``, as in ``hk.data_structures.partition``."""

T = TypeVar("T")
R = TypeVar("R")
T_contra = TypeVar("T_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


class InitFn(Protocol):
    """A function ``init(rng, *args) -> (params, state)``, as in ``hk.transform_with_state``."""

    def __call__(self, rng: jax.Array, *args: Any, **kwargs: Any) -> tuple[hk.Params, hk.State]: ...


class LossFn(Protocol):
    """A loss function, ``loss_fn(params, state, rng, batch) -> (loss, (state, metrics))``."""

    def __call__(
        self, params: Any, state: Any, rng: Any, batch: Any, /
    ) -> tuple[jax.Array, tuple[hk.State, Mapping[str, Any]]]: ...


class StepFn(Protocol[T_contra, R_co]):
    """A pure function ``step(train_state, batch)``: an update step or an evaluation step."""

    def __call__(
        self, train_state: T_contra, batch: Any, /, *, axis_name: str | None = None
    ) -> R_co: ...


UpdateFn: TypeAlias = StepFn[T, tuple[T, Metrics]]
"""An update step, ``update(train_state, batch) -> (train_state, metrics)``."""

EvaluateFn: TypeAlias = StepFn[T, Metrics]
"""An evaluation step, ``evaluate(train_state, batch) -> metrics``."""


def is_float(leaf: Any) -> bool:
    """Return whether a leaf is an array of a floating or complex dtype."""
    return hasattr(leaf, "dtype") and bool(jnp.issubdtype(leaf.dtype, jnp.inexact))


def wide_dtype(leaf: Any) -> Any:
    """Return the dtype to sum in: at least float32 for floating leaves, their own for others."""
    return np.promote_types(leaf.dtype, np.float32) if is_float(leaf) else leaf.dtype
