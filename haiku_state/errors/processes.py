"""Errors of training in many processes."""

from typing import Any

from haiku_state.errors.base import HaikuStateError
from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import translated


class LateStartError(HaikuStateError, RuntimeError):
    """``start_processes`` was called after JAX had started."""

    TEXT_WHAT = _("JAX has already started in this process.")
    TEXT_WHY = _(
        "JAX looks for the devices of all processes only once, when it starts: call "
        "start_processes once, before you create the first array"
    )
    MORE = "api/processes"


class ProcessStartError(HaikuStateError, RuntimeError):
    """A process cannot be connected to the other processes.

    Args:
      values: the texts ``what`` and ``why``, and the values for their placeholders.
    """

    TEXT_WHAT = "{what}"
    TEXT_WHY = "{why}"
    MORE = "api/processes"

    def __init__(self, **values: Any) -> None:
        what, why = translated(values["what"]).format(**values), translated(values["why"])
        super().__init__(**{**values, "what": what, "why": why})


class LostProcessError(HaikuStateError, RuntimeError):
    """Another process of the same training run has died or hangs."""

    TEXT_WHAT = _(
        "process {present} of {expected} is waiting for another process, which has died or has "
        "been stuck for {timeout:g} s."
    )
    TEXT_WHY = _(
        "each update needs all processes: if one process is lost, all of them stop, so start all "
        "of them again from the last checkpoint"
    )
    MORE = "api/processes"
