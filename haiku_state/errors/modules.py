"""Errors of modules while they run."""

import re
from typing import Any

from haiku_state.errors.base import HaikuStateError
from haiku_state.errors.language import deferred as _


class UnboundAxisError(HaikuStateError, NameError):
    """A module averages over a device axis that is not bound where it runs."""

    TEXT_WHAT = _("a mean over the axis {axis!r} was requested, but that axis is not bound here.")
    TEXT_WRONG = "apply(params, state, rng, inputs)"
    TEXT_RIGHT = "jax.pmap(apply, axis_name={axis!r})(params, state, rng, inputs)"
    TEXT_WHY = _(
        "pmap, vmap and shard_map bind axes, and so do pmap_update and shard_map_update; on a "
        "single device, leave cross_replica_axis as None: names and shapes are the same"
    )
    MORE = "update/pmapped_update"


class TracedFlagError(HaikuStateError, TypeError):
    """A flag that chooses what is computed is traced, so Python cannot read it."""

    TEXT_WHAT = _("`{name}` is traced, but Python has to read it during tracing.")
    TEXT_WRONG = "jax.jit(…)(…, {name}=True)"
    TEXT_RIGHT = "jax.jit(functools.partial(…, {name}=True))(…)"
    TEXT_WHY = _(
        "jit replaces each argument with a tracer that has no value; the flag chooses between two "
        "programs, so it must be known in advance"
    )
    MORE = "haiku/batch_norm"


class UninitializedStateError(HaikuStateError, ValueError):
    """State is read before anything has written it."""

    TEXT_WHAT = _("{path} is read before anything has written it.")
    TEXT_WRONG = "hk.get_state({name})"
    TEXT_RIGHT = "hk.get_state({name}, shape, dtype, init=jnp.zeros)"
    TEXT_WHY = _(
        "without `shape` and `init`, hk.get_state only reads what was written before: pass both, "
        "or write the state in init, in every branch"
    )
    MORE = "haiku/build_your_own"

    def __init__(self, **values: Any) -> None:
        super().__init__(**{"name": values["path"].rpartition("[")[2][:-1], **values})


def uninitialized_average(path: str, in_init: bool) -> UninitializedStateError:
    """Make the error for an exponential moving average that is read before its first value.

    Args:
      path: the path of what is missing, such as ``state['norm/~/mean_ema']['average']``.
      in_init: whether ``init`` is running, rather than ``apply``.

    Returns:
      The error. For the averages of a batch normalization, it advises to initialize in training.
    """
    module = path.split("'")[1].rpartition("/")[2]
    if not re.fullmatch(r"(mean|var)_ema", module):
        return UninitializedStateError(
            path=path,
            wrong=f"{module}.average",
            right=f"{module}.initialize(shape, dtype); {module}.average",
            why=_(
                "the first call of a moving average creates its state: init must make that call "
                "or initialize the state with zeros"
            ),
            more="api/modules",
        )
    create = "init(rng, inputs, is_training={})"
    read = "apply(params, state, rng, inputs, is_training=False)"
    return UninitializedStateError(
        path=path,
        wrong=create.format(False) if in_init else read,
        right=create.format(True) if in_init else f"params, state = {create.format(True)}; {read}",
        why=_("training creates the running statistics, evaluation only reads them"),
        more="haiku/batch_norm",
    )
