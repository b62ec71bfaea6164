"""Errors of training in many processes."""

from haiku_state.errors.base import HaikuStateError
from haiku_state.language import deferred as _


class ProcessArgumentError(HaikuStateError, ValueError):
    """An argument that says which of how many processes this is does not fit."""

    TEXT_WHAT = _("{argument} is {value!r}, and it must be {expected}.")
    TEXT_WRONG = "start_processes({wrong})"
    TEXT_RIGHT = "start_processes({right})"
    TEXT_WHY = _(
        "all processes give the address at which process 0 listens and their number, and each "
        "an id of its own, counted from 0; where a scheduler starts them, give nothing"
    )
    MORE = "docs/api/distributed.rst"


class ProcessEnvironmentError(HaikuStateError, ValueError):
    """The environment does not say which of how many processes this is."""

    TEXT_WHAT = _("start_processes() was given nothing, and the environment has no {missing}.")
    TEXT_WRONG = "start_processes()"
    TEXT_RIGHT = 'start_processes("localhost:1234", 2, 0)'
    TEXT_WHY = _(
        "without arguments, JAX asks the scheduler that started the process (Slurm, Open MPI, "
        "Kubernetes, a TPU pod); without a scheduler, say it"
    )
    MORE = "docs/api/distributed.rst"


class LateStartError(HaikuStateError, RuntimeError):
    """Processes are started after JAX."""

    TEXT_WHAT = _("JAX has already started in this process.")
    TEXT_WRONG = "jax.devices(); start_processes()"
    TEXT_RIGHT = "start_processes(); jax.devices()"
    TEXT_WHY = _(
        "JAX looks for the devices of all processes once, when it starts: call start_processes "
        "once, before the first array"
    )
    MORE = "docs/api/distributed.rst"


class CoordinatorAddressError(HaikuStateError, OSError):
    """Process 0 cannot listen at the address where the others look for it."""

    TEXT_WHAT = _("process 0 cannot listen at {address}: {reason}.")
    TEXT_WRONG = 'start_processes("{address}", {expected}, 0)'
    TEXT_RIGHT = 'start_processes("{other}", {expected}, 0)'
    TEXT_WHY = _("the port must be free on the machine of process 0; choose another in all")
    MORE = "docs/api/distributed.rst"


class ProcessDevicesError(HaikuStateError, RuntimeError):
    """A version of JAX cannot connect several CPU devices of one process."""

    TEXT_WHAT = _("each process has {devices} CPU devices, and this JAX can connect one of them.")
    TEXT_WRONG = 'XLA_FLAGS="--xla_force_host_platform_device_count={devices}"'
    TEXT_RIGHT = 'XLA_FLAGS="--xla_force_host_platform_device_count=1"'
    TEXT_WHY = _(
        "before JAX 0.4.33 the devices of a process connect one after the other, while each "
        "waits for all of them: the first update would never end"
    )
    MORE = "docs/api/distributed.rst"


class MissingProcessError(HaikuStateError, RuntimeError):
    """Not all processes have come."""

    TEXT_WHAT = _(
        "{expected} processes were to meet at {address}; after {timeout:g} s these had not come:"
        "{missing}"
    )
    TEXT_WRONG = 'start_processes("{address}", {expected}, {present})'
    TEXT_RIGHT = 'start_processes("{address}", {expected}, {absent})'
    TEXT_WHY = _(
        "all processes run one program together, and none can begin without the others: start "
        "each of them, so that it can reach that address"
    )
    MORE = "docs/api/distributed.rst"


class LostProcessError(MissingProcessError):
    """A process that had come died, or stands still."""

    TEXT_WHAT = _(
        "process {present} of {expected} waits for another one that died, or has stood still for "
        "{timeout:g} s."
    )
    TEXT_WRONG = "for batch in data: train_state, metrics = update(train_state, batch)"
    TEXT_RIGHT = "train_state = restore_checkpoint(directory, train_state)"
    TEXT_WHY = _(
        "each update needs all processes: what one loses all lose; start them again, from the "
        "last checkpoint"
    )


class EndedProcessError(LostProcessError):
    """A process was ended from outside Python."""

    TEXT_WHAT = _(
        "process {present} of {expected} was ended by a signal, or by JAX because another one died."
    )
