"""Errors of the recipes that training adds."""

from haiku_state.errors.base import HaikuStateError
from haiku_state.errors.language import deferred as _


class MissingAverageError(HaikuStateError, ValueError):
    """A train state or an opt_state has no average of some or all params."""

    TEXT_WHAT = _("the opt_state holds no average of:{paths}")
    TEXT_WHY = _(
        "`average_params` keeps the average in the opt_state; params that `freeze_params` freezes "
        "outside of it have no average: pass the whole train state, which holds their values"
    )
    MORE = "api/recipes"


class NothingFrozenError(HaikuStateError, ValueError):
    """A predicate that should select leaves to freeze does not select any."""

    TEXT_WHAT = _("the predicate does not match any leaf. The leaves are:{names}")
    TEXT_WHY = _(
        "with this predicate, nothing would be frozen, and every leaf would silently continue to "
        "change"
    )
    MORE = "api/recipes"


class LossScaleError(HaikuStateError, ValueError):
    """A loss that must be scaled exactly once is scaled twice or not at all."""

    TEXT_WHAT = _("the loss must be scaled exactly once, but {problem}.")
    TEXT_WHY = _(
        "make_scaled_update multiplies the loss by the scale, and scale_loss, which must be the "
        "outermost optimizer, divides the gradient by the scale"
    )
    MORE = "api/recipes"
