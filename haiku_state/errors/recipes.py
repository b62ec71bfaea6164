"""Errors of the recipes that training adds."""

from haiku_state.errors.base import HaikuStateError
from haiku_state.errors.language import deferred as _


class MissingAverageError(HaikuStateError, ValueError):
    """The given object contains no averaged params."""

    TEXT_WHAT = _("there is no average of:{paths}")
    TEXT_WHY = _(
        "the average is kept by `average_params` in the opt_state; params that `freeze_params` "
        "freezes outside of it have no average, and only the whole train state holds their values"
    )
    MORE = "api/recipes"


class NothingFrozenError(HaikuStateError, ValueError):
    """A predicate that should select leaves selects none."""

    TEXT_WHAT = _("the predicate matches no leaf. The leaves are:{names}")
    TEXT_WHY = _("nothing would be frozen, and every leaf would silently continue to change")
    MORE = "api/recipes"


class LossScaleError(HaikuStateError, ValueError):
    """A loss is scaled twice, or not at all, where it must be scaled once."""

    TEXT_WHAT = _("the loss must be scaled exactly once, but {problem}.")
    TEXT_WHY = _(
        "make_scaled_update multiplies the loss by the scale, and scale_loss, which must be the "
        "outermost optimizer, divides the gradient by the scale"
    )
    MORE = "api/recipes"
