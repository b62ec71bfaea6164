"""Errors of the example modules."""

from haiku_state.errors.base import HaikuStateError
from haiku_state.language import deferred as _


class ModuleArgumentError(HaikuStateError, ValueError):
    """A module was given arguments that contradict each other."""

    TEXT_WHAT = _("{name} was given `{given}` together with `{against}`.")
    TEXT_WRONG = "{given}=…, {against}"
    TEXT_RIGHT = "{against}"
    TEXT_WHY = _(
        "one of the two would be ignored without a word; leave it out, or change the other"
    )
    MORE = "docs/api/modules.rst"


class ModuleRangeError(HaikuStateError, ValueError):
    """A module's argument lies outside its range."""

    TEXT_WHAT = _("{argument} is {value}, outside {range}.")
    TEXT_WRONG = "{module}({argument}={value})"
    TEXT_RIGHT = "{module}({argument}={fitting})"
    TEXT_WHY = _("outside this range the average would never change, or never settle")
    MORE = "docs/api/modules.rst"


class UnboundAxisError(HaikuStateError, NameError):
    """A module averages over a device axis that is not bound where it runs."""

    TEXT_WHAT = _("a mean over the axis {axis!r} was asked for where that axis is not bound.")
    TEXT_WRONG = "jax.jit(apply)(params, state, rng, inputs)"
    TEXT_RIGHT = "jax.pmap(apply, axis_name={axis!r})(…)"
    TEXT_WHY = _(
        "cross_replica_axis names an axis that only pmap, vmap or shard_map can bind; "
        "on one device leave it None: names and shapes are the same"
    )
    MORE = "docs/update/pmapped_update.md"


class TracedFlagError(HaikuStateError, TypeError):
    """A flag that chooses what is computed is traced, so Python cannot read it."""

    TEXT_WHAT = _("`{name}` is traced, and Python has to read it while it traces.")
    TEXT_WRONG = "jax.jit(apply)(params, state, rng, inputs, {name}=True)"
    TEXT_RIGHT = "jax.jit(functools.partial(apply, {name}=True))(params, state, rng, inputs)"
    TEXT_WHY = _(
        "jit replaces each argument by a tracer without a value; the flag chooses between two "
        "programs, so it must be known before"
    )
    MORE = "docs/haiku/batch_norm.md"


class UninitializedStateError(HaikuStateError, ValueError):
    """State is read that nothing has written yet."""

    TEXT_WHAT = _("{path} is read before anything has written it.")
    TEXT_WRONG = "init(rng, inputs, is_training=False)"
    TEXT_RIGHT = "init(rng, inputs, is_training=True)"
    TEXT_WHY = _("training creates the running statistics, evaluation only reads them")
    MORE = "docs/haiku/batch_norm.md"
