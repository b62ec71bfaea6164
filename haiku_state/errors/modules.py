"""Errors of modules while they run."""

import re

from haiku_state.errors.base import HaikuStateError
from haiku_state.errors.language import deferred as _


class UnboundAxisError(HaikuStateError, NameError):
    """A device axis is used in a place where no transformation binds it."""

    TEXT_WHAT = _("the axis {axis!r} is used, but it is not bound here.")
    TEXT_WHY = _(
        "only pmap, vmap and shard_map, as well as pmap_update and shard_map_update, bind an axis, "
        "under the name that is passed to them; everywhere else, do not use an axis, for example "
        "by setting cross_replica_axis=None"
    )
    MORE = "update/pmapped_update"


class TracedFlagError(HaikuStateError, TypeError):
    """A flag that determines what is computed is traced, so Python cannot read its value."""

    TEXT_WHAT = _("`{name}` is traced, but Python has to read its value during tracing.")
    TEXT_WHY = _(
        "jit, vmap and scan pass tracers, whose values Python cannot read. A flag that chooses "
        "between two programs must be a Python bool when the function is traced: use the "
        "static_argnames of jit, or functools.partial. To make a choice that depends on data, use "
        "jnp.where or jax.lax.cond"
    )
    MORE = "haiku/batch_norm"


class UninitializedStateError(HaikuStateError, ValueError):
    """State is read before it has been written."""

    TEXT_WHAT = _("{path} is read before it has been written.")
    TEXT_WHY = _(
        "without `shape` and `init`, hk.get_state only reads a value that was written before: pass "
        "both arguments, or write the state in init, in every branch, and pass the state that init "
        "returns"
    )
    MORE = "haiku/build_your_own"


def uninitialized_average(path: str) -> UninitializedStateError:
    """Make the error for an exponential moving average that is read before its first value.

    Args:
      path: the path of what is missing, such as ``state['norm/~/mean_ema']['average']``.
    """
    if re.search(r"/(mean|var)_ema'", path):
        why = _(
            "only training creates the running statistics, and evaluation reads them: call init "
            "with is_training=True, and pass the state that it returns"
        )
        return UninitializedStateError(path=path, why=why, more="haiku/batch_norm")
    why = _(
        "the first call of a moving average creates its state: init must make that call "
        "or initialize the state with zeros"
    )
    return UninitializedStateError(path=path, why=why, more="api/modules")
