"""Errors of a returned state that does not keep its contract."""

from haiku_state.errors.base import HaikuStateError
from haiku_state.language import deferred as _


class StateStructureError(HaikuStateError, ValueError):
    """The returned state has other names than the one that was passed in."""

    TEXT_WHAT = _("the returned state has other names (- gone, + new):{changes}")
    TEXT_WRONG = "apply(params, {{}}, rng, inputs)"
    TEXT_RIGHT = "params, state = init(rng, inputs); apply(params, state, rng, inputs)"
    TEXT_WHY = _(
        "init must create every name, in every branch; loops and checkpoints need one structure"
    )
    MORE = "docs/api/contract.rst"


class StateShapeError(HaikuStateError, ValueError):
    """A leaf of the returned state has another shape."""

    TEXT_WHAT = _("the returned state has other shapes:{changes}")
    TEXT_WRONG = "mean = jnp.mean(x, axis=0)"
    TEXT_RIGHT = "mean = jnp.mean(x, axis=0, keepdims=True)"
    TEXT_WHY = _(
        "a reduction dropped an axis, or the shape depends on the batch; the next call "
        "would be another program"
    )
    MORE = "docs/api/contract.rst"


class StateDtypeError(HaikuStateError, TypeError):
    """A leaf of the returned state has another dtype."""

    TEXT_WHAT = _("the returned state has other dtypes:{changes}")
    TEXT_WRONG = "count = count + 1.0"
    TEXT_RIGHT = "count = count + 1"
    TEXT_WHY = _(
        "the arithmetic promoted it: jit would trace again, `scan` would refuse; "
        "begin with the dtype that it ends with"
    )
    MORE = "docs/api/contract.rst"


class WeakTypeError(HaikuStateError, TypeError):
    """A leaf of the returned state is weakly typed, or no longer is."""

    TEXT_WHAT = _("the returned state has other weak types:{changes}")
    TEXT_WRONG = "total = 0.0"
    TEXT_RIGHT = "total = jnp.float32(0)"
    TEXT_WHY = _(
        "a Python number has a weak type, which gives way to that of an array: the next "
        "call would be traced again"
    )
    MORE = "docs/api/contract.rst"


class LeakedTracerError(HaikuStateError, TypeError):
    """The returned state holds tracers of a transformation that has ended."""

    TEXT_WHAT = _("state was written inside a JAX transformation that has ended:{paths}")
    TEXT_WRONG = "jax.lax.scan(lambda carry, x: (carry, module(x)), carry, xs)"
    TEXT_RIGHT = "hk.scan(lambda carry, x: (carry, module(x)), carry, xs)"
    TEXT_WHY = _(
        "a JAX transformation sees no state: what a module writes inside leaks out as a "
        "tracer. `hk.scan`, `hk.vmap` and their like carry the state through"
    )
    MORE = "docs/api/contract.rst"


class DeviceStackedError(HaikuStateError, ValueError):
    """A device axis leads the leaves where one replica belongs."""

    TEXT_WHAT = _("{path} has shape {shape} where {expected} belongs: a device axis leads it.")
    TEXT_WRONG = "{wrong}"
    TEXT_RIGHT = "{right}"
    TEXT_WHY = _(
        "these are the stacked copies of all devices; on one device they would broadcast "
        "without a word"
    )
    MORE = "docs/update/pmapped_update.md"


class CounterStoppedError(HaikuStateError, ValueError):
    """The running statistics did not advance in training."""

    TEXT_WHAT = _("these counters did not advance in training:{paths}")
    TEXT_WRONG = "outputs, _ = apply(params, state, rng, inputs, is_training=True)"
    TEXT_RIGHT = "outputs, state = apply(params, state, rng, inputs, is_training=True)"
    TEXT_WHY = _(
        "the returned state was dropped, or is_training was False: the running statistics "
        "stay those of init, and evaluation looks plausible all the same"
    )
    MORE = "docs/haiku/batch_norm.md"


class CounterAdvancedError(HaikuStateError, ValueError):
    """The running statistics advanced in evaluation."""

    TEXT_WHAT = _("these counters advanced in evaluation:{paths}")
    TEXT_WRONG = "apply(params, state, rng, inputs, is_training=True)"
    TEXT_RIGHT = "apply(params, state, rng, inputs, is_training=False)"
    TEXT_WHY = _("evaluation would learn from the data that it is to judge by")
    MORE = "docs/haiku/batch_norm.md"
