"""Types: what a pure pair and an update step take and return."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias, TypeVar

import jax

Params: TypeAlias = Mapping[str, Mapping[str, jax.Array]]
"""Haiku's parameters, ``{module path: {name: array}}``, which the optimizer changes."""

State: TypeAlias = Mapping[str, Mapping[str, jax.Array]]
"""Haiku's state, ``{module path: {name: array}}``, which the forward pass changes."""

Batch: TypeAlias = Mapping[str, Any]
"""Named arrays with one shared leading axis, one row per example."""

Metrics: TypeAlias = Mapping[str, jax.Array]
"""Named scalars of one update step."""

Predicate: TypeAlias = Callable[[str, str, Any], bool]
"""``predicate(module_name, name, value)``, as in ``hk.data_structures.partition``."""

T = TypeVar("T")


class InitFn(Protocol):
    """``init(rng, *args) -> (params, state)``, as ``hk.transform_with_state`` returns it."""

    def __call__(self, rng: jax.Array, *args: Any, **kwargs: Any) -> tuple[Any, Any]: ...


class ApplyFn(Protocol):
    """``apply(params, state, rng, *args) -> (output, state)``, as the pair returns it."""

    def __call__(
        self, params: Any, state: Any, rng: Any, /, *args: Any, **kwargs: Any
    ) -> tuple[Any, Any]: ...


class LossFn(Protocol):
    """``loss_fn(params, state, rng, batch) -> (loss, (state, metrics))``."""

    def __call__(
        self, params: Any, state: Any, rng: jax.Array, batch: Batch, /
    ) -> tuple[jax.Array, tuple[Any, Metrics]]: ...


class UpdateFn(Protocol):
    """``update(train_state, batch) -> (train_state, metrics)``, a pure function."""

    def __call__(
        self, train_state: T, batch: Batch, *, axis_name: str | None = None
    ) -> tuple[T, Metrics]: ...
