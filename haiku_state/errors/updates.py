"""Errors of update steps, devices and data."""

from typing import Any

from haiku_state.errors.base import HaikuStateError
from haiku_state.errors.language import deferred as _


class LossFunctionError(HaikuStateError, TypeError):
    """A loss function does not return ``(loss, (state, metrics))``."""

    TEXT_WHAT = _("loss_fn does not return `(loss, (state, metrics))`: {value}.")
    TEXT_WHY = _(
        "the gradient needs one scalar loss of a floating dtype; the new state and the metrics "
        "are returned with it. A metric is one number, because it is averaged over devices and "
        'microbatches; the update itself adds the metric "loss"'
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
    """Two leaves of a train state are one buffer, which cannot be donated twice."""

    TEXT_WHAT = _("these are the same array:{paths}")
    TEXT_WHY = _(
        "the update reuses the memory of each leaf, but the memory of one array can be reused "
        "only once: copy all but one of them with jnp.copy"
    )
    MORE = "update/jitted_update"


class BatchDivisionError(HaikuStateError, ValueError):
    """The rows of a batch do not divide into equal parts."""

    TEXT_WHAT = _("a batch of {rows} rows does not divide among {parts} {kind}.")
    TEXT_WHY = _(
        "every device must get the same number of rows, because all devices run the same program"
    )
    MORE = "update/pmapped_update"

    def __init__(self, kind: str = _("devices"), **values: Any) -> None:
        super().__init__(kind=kind, **values)


class DeviceCountError(HaikuStateError, ValueError):
    """More devices were requested than there are."""

    TEXT_WHAT = _("{wanted} devices were requested, but JAX has started with {started}.")
    TEXT_WHY = _(
        "the number of CPU devices is fixed when JAX starts, by XLA_FLAGS, jax_num_cpu_devices or "
        "use_devices: request enough there, before the first computation"
    )
    MORE = "update/devices"


class ReplicaMismatchError(HaikuStateError, ValueError):
    """Replicas that should be equal differ."""

    TEXT_WHAT = _("the replicas differ:{paths}")
    TEXT_WHY = _(
        "each device has rows and random keys of its own, and what it computes from them is not "
        'averaged: modules that take `cross_replica_axis="{axis}"` average their statistics, and '
        "`jax.lax.pmean` averages, and `jax.lax.psum` counts, anything else; a runner whose "
        "replicas may differ takes check_replicas=False"
    )
    MORE = "update/meshes"


class LeadingAxisError(HaikuStateError, ValueError):
    """The leading axis of a leaf is missing, or has the wrong length."""

    TEXT_WHAT = _("{path} has shape {shape}, but {problem}.")
    TEXT_WHY = "{why}"
    MORE = "{more}"


class MeshPlacementError(HaikuStateError, ValueError):
    """A leaf of a train state is not where the update step on a mesh needs it."""

    TEXT_WHAT = _(
        "{path} of shape {shape} has the placement {found}, which does not fit the mesh {mesh}."
    )
    TEXT_WHY = _(
        "a compiled step on a mesh expects each leaf with a fixed placement and returns it with "
        "the same placement: `place` of the runner puts a train state of one replica there"
    )
    MORE = "api/update"
