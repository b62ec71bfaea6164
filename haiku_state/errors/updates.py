"""Errors of update steps, devices and data."""

from haiku_state.errors.base import HaikuStateError
from haiku_state.language import deferred as _


class LossFunctionError(HaikuStateError, TypeError):
    """A loss function does not return ``(loss, (state, metrics))``."""

    TEXT_WHAT = _("loss_fn returned {returned} (dtypes and shapes).")
    TEXT_WRONG = "return loss, state"
    TEXT_RIGHT = 'return loss, (state, {{"accuracy": accuracy}})'
    TEXT_WHY = _(
        "the gradient needs one scalar loss of a floating dtype; the new state and the "
        "metrics ride along"
    )
    MORE = "docs/update/jitted_update.md"


class DonatedBufferError(HaikuStateError, RuntimeError):
    """A train state was used again after an update had consumed it."""

    TEXT_WHAT = _("{path} was given to an earlier update, and its memory is gone.")
    TEXT_WRONG = "new, metrics = update(train_state, batch); update(train_state, batch)"
    TEXT_RIGHT = "train_state, metrics = update(train_state, batch)"
    TEXT_WHY = _(
        "the update reuses the memory of the old train state for the new one; keep a copy "
        "by jax.tree.map(jnp.copy, train_state)"
    )
    MORE = "docs/update/jitted_update.md"


class SharedBufferError(HaikuStateError, ValueError):
    """Two leaves of a train state are one buffer, which cannot be donated twice."""

    TEXT_WHAT = _("these leaves of the train state are one array:{paths}")
    TEXT_WRONG = 'state = {{"target": params}}'
    TEXT_RIGHT = 'state = {{"target": jax.tree.map(jnp.copy, params)}}'
    TEXT_WHY = _("the update reuses the memory of each leaf, and can do so once")
    MORE = "docs/update/jitted_update.md"


class BatchSizeError(HaikuStateError, ValueError):
    """A batch is larger than the data, or empty."""

    TEXT_WHAT = _("a batch of {batch_size} rows cannot be cut from {rows} rows.")
    TEXT_WRONG = "batches(data, {batch_size})"
    TEXT_RIGHT = "batches(data, {fitting})"
    TEXT_WHY = _("an epoch needs at least one whole batch")
    MORE = "docs/api/data.rst"


class BatchDivisionError(HaikuStateError, ValueError):
    """The devices do not divide the rows of a batch."""

    TEXT_WHAT = _("a batch of {rows} rows does not divide among {devices} devices.")
    TEXT_WRONG = "{wrong}"
    TEXT_RIGHT = "batches(data, batch_size={fitting})"
    TEXT_WHY = _("every device must get the same number of rows: they run one program")
    MORE = "docs/update/pmapped_update.md"


class BatchRuleError(HaikuStateError, ValueError):
    """The rule for the last partial batch is not known."""

    TEXT_WHAT = _("remainder={remainder!r} is not one of {known}.")
    TEXT_WRONG = "batches(data, {batch_size}, remainder={remainder!r})"
    TEXT_RIGHT = 'batches(data, {batch_size}, remainder="drop")'
    TEXT_WHY = _("the last rows would be treated in a way that nobody chose")
    MORE = "docs/api/data.rst"


class DeviceCountError(HaikuStateError, ValueError):
    """More devices were asked for than there are."""

    TEXT_WHAT = _("{wanted} devices were asked for, and JAX has started with {started}.")
    TEXT_WRONG = "jax.devices(); use_devices({wanted})"
    TEXT_RIGHT = "use_devices({wanted}); jax.devices()"
    TEXT_WHY = _(
        "the number of CPU devices is fixed when JAX starts them: ask before the first computation"
    )
    MORE = "docs/update/pmapped_update.md"


class DeviceAxisError(HaikuStateError, ValueError):
    """A leading device axis is missing, or has the wrong length."""

    TEXT_WHAT = _("{path} has shape {shape}, without a leading axis of {devices} devices.")
    TEXT_WRONG = "{wrong}"
    TEXT_RIGHT = "{right}"
    TEXT_WHY = _("pmap gives entry i of the leading axis to device i")
    MORE = "docs/update/pmapped_update.md"


class ReplicaMismatchError(HaikuStateError, ValueError):
    """Replicas that should be equal are not."""

    TEXT_WHAT = _("the replicas differ:{paths}")
    TEXT_WRONG = "{wrong}"
    TEXT_RIGHT = "{right}"
    TEXT_WHY = _("each device saw other rows, and nothing averaged what it computed from them")
    MORE = "docs/update/pmapped_update.md"


class StackAxisError(HaikuStateError, ValueError):
    """Leaves that are stacked along one axis do not share its length."""

    TEXT_WHAT = _("{path} has shape {shape}, and {first} has shape {length}.")
    TEXT_WRONG = "{wrong}"
    TEXT_RIGHT = "{right}"
    TEXT_WHY = _("entry i of the first axis of all leaves is one batch, or one member")
    MORE = "docs/update/many_steps.md"


class MeshPlacementError(HaikuStateError, ValueError):
    """A leaf of a train state is not where the update step on a mesh needs it."""

    TEXT_WHAT = _(
        "{path} of shape {shape} has the placement {found}, which does not fit the mesh {mesh}."
    )
    TEXT_WRONG = "{wrong}"
    TEXT_RIGHT = "{right}"
    TEXT_WHY = _("a compiled step on a mesh takes and leaves every leaf where it lies")
    MORE = "docs/api/update.rst"


class TrainingMismatchError(HaikuStateError, ValueError):
    """A checkpoint is of a run with other settings."""

    TEXT_WHAT = _("the checkpoints in {directory} are of another run:{differences}")
    TEXT_WRONG = "train --checkpoint-dir {directory}"
    TEXT_RIGHT = "train --checkpoint-dir {directory}-2"
    TEXT_WHY = _("the position in the data has a meaning for the same data and order only")
    MORE = "docs/api/checkpoint.rst"


class MissingExtraError(HaikuStateError, ImportError):
    """An optional library is not installed."""

    TEXT_WHAT = _("{library} is not installed.")
    TEXT_WRONG = "pip install haiku-state"
    TEXT_RIGHT = 'pip install "haiku-state[{extra}]"'
    TEXT_WHY = _("the core of the package does without it")
    MORE = "README.md"
