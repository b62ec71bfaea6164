"""Errors about a returned state that cannot replace the state that was passed in."""

from haiku_state.errors.base import HaikuStateError
from haiku_state.errors.language import deferred as _


class StateStructureError(HaikuStateError, ValueError):
    """The returned state has different names from the state that was passed in."""

    TEXT_WHAT = _("the returned state has different names (- removed, + added):{changes}")
    TEXT_WHY = _(
        "init must create every name in every branch, and each call must return all names, even "
        "those that it does not change, because loops and checkpoints need a structure that stays "
        "the same"
    )
    MORE = "api/pure"


class StateShapeError(HaikuStateError, ValueError):
    """A leaf of the returned state has a different shape than before."""

    TEXT_WHAT = _("the returned state has different shapes:{changes}")
    TEXT_WHY = _(
        "with a new shape, the next call would need a different program: start with the shape that "
        "each call returns"
    )
    MORE = "api/pure"


class StateDtypeError(HaikuStateError, TypeError):
    """A leaf of the returned state has a different dtype than before."""

    TEXT_WHAT = _("the returned state has different dtypes:{changes}")
    TEXT_WHY = _(
        "with a new dtype, `jit` would retrace and `scan` would fail: start with a dtype that "
        "holds what each call returns, and return that dtype"
    )
    MORE = "api/pure"


class WeakTypeError(HaikuStateError, TypeError):
    """A leaf of the returned state has become weakly typed, or is no longer weakly typed."""

    TEXT_WHAT = _("the returned state has different weak types:{changes}")
    TEXT_WHY = _(
        "a Python number has a weak type, which gives way to the type of an array, so the next "
        "call would be traced again: give the number a dtype"
    )
    MORE = "api/pure"


class LeakedTracerError(HaikuStateError, TypeError):
    """Params, state or metrics contain tracers of a transformation that has ended."""

    TEXT_WHAT = _("these values were made inside a JAX transformation that has ended:{paths}")
    TEXT_WHY = _(
        "a value that is computed inside a JAX transformation can leave it only as a result: a "
        "list or an attribute that keeps the value holds a tracer, which cannot be used once the "
        "transformation has ended"
    )
    MORE = "haiku/jax_inside_haiku"


# why params or state of Haiku leak, and what to do
LEAKED_IN_HAIKU = _(
    "a JAX transformation does not know Haiku's params, state and random keys, so what a module "
    "creates, writes or draws inside it leaks out as a tracer, and so does what a list or an "
    "attribute keeps. `hk.scan`, `hk.remat`, `hk.grad` and the like carry Haiku's values through, "
    "if modules and state were created before; use `jax.jit` and `jax.vmap` around apply; return "
    "any other value as a result"
)


class DeviceStackedError(HaikuStateError, ValueError):
    """A leaf has an additional leading axis, although a single replica is expected."""

    TEXT_WHAT = _("{path} has shape {shape} instead of {expected}: it has an extra leading axis.")
    TEXT_WHY = _(
        "stacked arrays would silently broadcast. If they are the copies of all devices, take one "
        "with `unreplicate`; if they are the members of an ensemble, use `vmap_update` or "
        "`jax.vmap(apply)`; any other array must have the shape that init gave it"
    )
    MORE = "update/pmapped_update"


class CounterStoppedError(HaikuStateError, ValueError):
    """The running statistics did not advance in training."""

    TEXT_WHAT = _("these counters did not advance in training:{paths}")
    TEXT_WHY = _(
        "the returned state was dropped, is_training was False, or a mask left no rows: the "
        "running statistics stay unchanged, yet the evaluation looks plausible. If some state is "
        "meant to stay unchanged, exempt it: `frozen=lambda module, *_: module in {modules}`"
    )
    MORE = "haiku/batch_norm"


class CounterAdvancedError(HaikuStateError, ValueError):
    """The running statistics advanced in evaluation."""

    TEXT_WHAT = _("these counters advanced in evaluation:{paths}")
    TEXT_WHY = _(
        "evaluation would learn from the very data on which the model is judged: pass "
        "is_training=False to modules that take it, and update_stats=False to a moving average"
    )
    MORE = "haiku/batch_norm"
