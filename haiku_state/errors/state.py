"""Errors about a returned state that cannot replace the state that was passed in."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.errors.base import HaikuStateError
from haiku_state.errors.language import deferred as _

_AGES = {"old": "before", "new": "after"}


def _wider(old: Any, new: Any) -> Any:
    """Return the dtype that holds the numbers of both, so that no advice rounds any."""
    try:
        with jax.numpy_dtype_promotion("standard"):
            return jnp.promote_types(old, new)
    except (TypeError, ValueError):  # a random key is no number
        return new


class StateStructureError(HaikuStateError, ValueError):
    """The returned state has different names than the state that was passed in."""

    TEXT_WHAT = _("the returned state has different names (- removed, + added):{changes}")
    TEXT_WRONG = "apply(params, state, rng, inputs)"
    TEXT_RIGHT = "params, state = init(rng, inputs); apply(params, state, rng, inputs)"
    TEXT_WHY = _(
        "init must create every name in every branch, and each call must return all names; loops "
        "and checkpoints need a structure that does not change"
    )
    MORE = "api/pure"

    def __init__(self, **values: Any) -> None:
        if "\n    + " not in values["changes"]:
            wrong, right = "return output, new_state", "return output, {**state, **new_state}"
            values = {"wrong": wrong, "right": right, **values}
        super().__init__(**values)


class StateShapeError(HaikuStateError, ValueError):
    """A leaf of the returned state has a different shape."""

    TEXT_WHAT = _("the returned state has different shapes:{changes}")
    TEXT_WRONG = "{path}.shape == {old_shape}"
    TEXT_RIGHT = "{path}.shape == {new_shape}"
    TEXT_WHY = _(
        "the next call would need a different program: start with the shape that each call returns"
    )
    MORE = "api/pure"

    def __init__(self, **values: Any) -> None:
        shapes = {f"{age}_shape": np.shape(values[key]) for age, key in _AGES.items()}
        super().__init__(**{**shapes, **values})


class StateDtypeError(HaikuStateError, TypeError):
    """A leaf of the returned state has a different dtype."""

    TEXT_WHAT = _("the returned state has different dtypes:{changes}")
    TEXT_WRONG = "{path}.dtype == jnp.{old_dtype}"
    TEXT_RIGHT = "{path}.dtype == jnp.{dtype}"
    TEXT_WHY = _(
        "`jit` would retrace and `scan` would fail: start with a dtype that holds what each call "
        "returns, and return that dtype"
    )
    MORE = "api/pure"

    def __init__(self, **values: Any) -> None:
        old, new = (jnp.result_type(values[key]) for key in _AGES.values())
        values |= {"old_dtype": old, "new_dtype": new, "dtype": _wider(old, new)}
        super().__init__(**values)


class WeakTypeError(HaikuStateError, TypeError):
    """A leaf of the returned state has become weakly typed, or is no longer weakly typed."""

    TEXT_WHAT = _("the returned state has different weak types:{changes}")
    TEXT_WRONG = "{path} = 0"
    TEXT_RIGHT = "{path} = jnp.{dtype}(0)"
    TEXT_WHY = _(
        "a Python number has a weak type, which gives way to the type of an array: the next call "
        "would be traced again"
    )
    MORE = "api/pure"

    def __init__(self, **values: Any) -> None:
        super().__init__(**{"dtype": jnp.result_type(values["before"]), **values})


class LeakedTracerError(HaikuStateError, TypeError):
    """Params, state or metrics are tracers of a transformation that has ended."""

    TEXT_WHAT = _("these values were made inside a JAX transformation that has ended:{paths}")
    TEXT_WRONG = "jax.lax.scan(lambda carry, x: (carry, module(x)), carry, xs)"
    TEXT_RIGHT = "hk.scan(lambda carry, x: (carry, module(x)), carry, xs)"
    TEXT_WHY = _(
        "a JAX transformation does not know Haiku's params and state, so what a module creates or "
        "writes inside it leaks out as a tracer. `hk.scan`, `hk.map`, `hk.grad` and the like "
        "carry them through; `jax.jit` belongs around apply"
    )
    MORE = "haiku/jax_inside_haiku"


# why a value leaks that is neither params nor state
LEAKED_VALUE = _(
    "a value that is computed inside a JAX transformation can leave it only as a result: anything "
    "else that keeps it, such as a list, holds a tracer without a value"
)

# why state leaks out of jax.vmap, and what to do
LEAKED_BY_VMAP = _(
    "jax.vmap does not know Haiku's state, so what a module writes inside it leaks out as a "
    "tracer. Around apply, jax.vmap returns a state for each row"
)


class DeviceStackedError(HaikuStateError, ValueError):
    """The leaves have a leading axis of replicas where one replica is expected."""

    TEXT_WHAT = _("{path} has shape {shape} instead of {expected}: it has a leading axis.")
    TEXT_WHY = _(
        "these arrays are stacked: they are either the copies of all devices, made by `replicate`, "
        "or the members of an ensemble, made by `jax.vmap`, and they would silently broadcast; "
        "members belong in `jax.vmap(apply)` or `vmap_update`"
    )
    MORE = "update/pmapped_update"


class CounterStoppedError(HaikuStateError, ValueError):
    """The running statistics did not advance in training."""

    TEXT_WHAT = _("these counters did not advance in training:{paths}")
    TEXT_WRONG = "outputs, _ = apply(params, state, rng, inputs, is_training=True)"
    TEXT_RIGHT = "outputs, state = apply(params, state, rng, inputs, is_training=True)"
    TEXT_WHY = _(
        "the returned state was dropped, or is_training was False: the running statistics keep "
        "their initial values, yet evaluation looks plausible. If some state is meant to stay "
        "unchanged, exempt it in make_update or checked: `frozen=lambda module, *_: module in "
        "{modules}`"
    )
    MORE = "haiku/batch_norm"


class CounterAdvancedError(HaikuStateError, ValueError):
    """The running statistics advanced in evaluation."""

    TEXT_WHAT = _("these counters advanced in evaluation:{paths}")
    TEXT_WRONG = "apply(params, state, rng, inputs, is_training=True)"
    TEXT_RIGHT = "apply(params, state, rng, inputs, is_training=False)"
    TEXT_WHY = _("evaluation would learn from the very data that the model is judged by")
    MORE = "haiku/batch_norm"
