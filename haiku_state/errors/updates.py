"""Errors of update steps, devices and data."""

from typing import Any

from haiku_state.errors.base import HaikuStateError
from haiku_state.errors.language import deferred as _


class LossFunctionError(HaikuStateError, TypeError):
    """A loss function does not return ``(loss, (state, metrics))``."""

    TEXT_WHAT = _("loss_fn does not return `(loss, (state, metrics))`: {value}.")
    TEXT_WHY = _(
        "the gradient needs one scalar loss of a floating dtype; return the new state and the "
        "metrics along with the loss. A metric is one number, because it is averaged over devices "
        'and microbatches; the update itself adds the metric "loss"'
    )
    MORE = "update/jitted_update"


class DonatedBufferError(HaikuStateError, RuntimeError):
    """A train state was used again after an update had consumed it."""

    TEXT_WHAT = _("{path} was passed to an earlier update, which has reused its memory.")
    TEXT_WHY = _(
        "the update reuses the memory of the old train state for the new train state: continue "
        "with the train state that it returned, or keep a copy of the old one, made by "
        "jax.tree.map(jnp.copy, train_state)"
    )
    MORE = "update/jitted_update"


class SharedBufferError(HaikuStateError, ValueError):
    """Two leaves of a train state share one buffer, which cannot be donated twice."""

    TEXT_WHAT = _("these leaves are the same array:{paths}")
    TEXT_WHY = _(
        "the update reuses the memory of each leaf, but the memory of one array can be reused only "
        "once: copy all but one of these leaves with jnp.copy"
    )
    MORE = "update/jitted_update"


class BatchDivisionError(HaikuStateError, ValueError):
    """The rows of a batch cannot be divided into equal parts."""

    TEXT_WHAT = _("a batch of {rows} rows cannot be divided equally among {parts} {kind}.")
    TEXT_WHY = _(
        "every device must get the same number of rows, because all devices run the same program"
    )
    MORE = "update/pmapped_update"

    def __init__(self, kind: str = _("devices"), **values: Any) -> None:
        super().__init__(kind=kind, **values)


class DeviceCountError(HaikuStateError, ValueError):
    """More devices were requested than JAX has started with."""

    TEXT_WHAT = _("{wanted} devices were requested, but JAX has started with {started}.")
    TEXT_WHY = _(
        "the number of CPU devices is fixed when JAX starts, by XLA_FLAGS, jax_num_cpu_devices or "
        "use_devices: request enough devices there, before the first computation"
    )
    MORE = "update/devices"


class ReplicaMismatchError(HaikuStateError, ValueError):
    """Replicas that should be equal are different."""

    TEXT_WHAT = _("the replicas differ:{paths}")
    TEXT_WHY = _(
        "each device has its own rows and random keys, and some of the results that it computes "
        'from them are not combined over the devices: pass `cross_replica_axis="{axis}"` to '
        "modules that keep statistics, use `jax.lax.pmean` for other averages and `jax.lax.psum` "
        "for counts; if the replicas are meant to differ, pass check_replicas=False to the runner"
    )
    MORE = "update/meshes"


class LeadingAxisError(HaikuStateError, ValueError):
    """The leading axis of a leaf is missing or has the wrong length."""

    TEXT_WHAT = _("{path} has shape {shape}, but {problem}.")
    TEXT_WHY = "{why}"
    MORE = "{more}"


class MeshPlacementError(HaikuStateError, ValueError):
    """The placement of a leaf of a train state does not fit the update step on a mesh."""

    TEXT_WHAT = _(
        "{path} of shape {shape} has the placement {found}, which does not fit the mesh {mesh}."
    )
    TEXT_WHY = _(
        "a compiled step on a mesh expects each leaf with a fixed placement and returns it with "
        "the same placement: pass a train state of one replica to `place` of the runner, which "
        "puts its leaves there"
    )
    MORE = "api/update"
