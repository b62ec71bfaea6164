"""Errors that say what happened, the wrong line, the right line, and why."""


class HaikuStateError(Exception):
    """Base class of every error that this package raises on purpose.

    Args:
      what: what happened, in a line or a short list.
      wrong: the line of code that leads here.
      right: the line to write instead.
      why: the reason, in a sentence or two.
    """

    def __init__(self, what: str, wrong: str, right: str, why: str) -> None:
        super().__init__(what, wrong, right, why)
        self.what = what

    def __str__(self) -> str:
        what, wrong, right, why = self.args
        return f"{what}\n  wrong: {wrong}\n  right: {right}\n  why:   {why}"


class ModuleArgumentError(HaikuStateError, ValueError):
    """A module was given arguments that contradict each other."""


class UnboundAxisError(HaikuStateError, NameError):
    """A module averages over a device axis that is not bound where it runs."""


class LossFunctionError(HaikuStateError, TypeError):
    """A loss function does not return ``(loss, (state, metrics))``."""


class BatchSizeError(HaikuStateError, ValueError):
    """A batch does not fit the data or the devices."""


class BatchRuleError(HaikuStateError, ValueError):
    """The rule for the last partial batch is not known."""


class DeviceCountError(HaikuStateError, ValueError):
    """More devices were asked for than there are."""


class DeviceAxisError(HaikuStateError, ValueError):
    """A leading device axis is missing, or has the wrong length."""


class ReplicaMismatchError(HaikuStateError, ValueError):
    """Replicas that should be equal are not."""


class MissingExtraError(HaikuStateError, ImportError):
    """An optional library is not installed."""
