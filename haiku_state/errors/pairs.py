"""Errors of pure pairs: how they are made, and how they are called."""

from haiku_state.errors.base import HaikuStateError
from haiku_state.errors.language import deferred as _


class UncalledModuleError(HaikuStateError, TypeError):
    """A module was constructed where it should be called."""

    TEXT_WHAT = _("the module {module} was constructed, but it was not called.")
    TEXT_WHY = _("a module computes nothing until it is called")
    MORE = "haiku/pure_pair"


class StatelessTransformError(HaikuStateError, ValueError):
    """A stateful function was transformed with a transformation for stateless functions."""

    TEXT_WHAT = _("the function was transformed without a place for state, as by hk.transform.")
    TEXT_WHY = _(
        "the function keeps state, but its init and apply neither take nor return it; those of "
        "pure_pair, hk.transform_with_state and hk.multi_transform_with_state do"
    )
    MORE = "haiku/pure_pair"


class OutsideTransformError(HaikuStateError, ValueError):
    """A module was made or called outside a transformed function."""

    TEXT_WHAT = _("`{module}` was used outside a transformed function.")
    TEXT_WHY = _(
        "`params` and `state` belong to the init or apply that is running; outside it, there is "
        "nothing to read: call the module in a function, and transform that function"
    )
    MORE = "haiku/pure_pair"


class PairArgumentError(HaikuStateError, TypeError):
    """An argument of ``init`` or ``apply`` is in the wrong place, or is missing."""

    TEXT_WHAT = _("the argument `{argument}` is {given}; expected: {expected}.")
    TEXT_WHY = _("the order is fixed, and rng is always required: pass None if nothing is random")
    MORE = "haiku/pure_pair"


class MissingKeyError(HaikuStateError, ValueError):
    """Random numbers are drawn, but no key was given."""

    TEXT_WHAT = _("random numbers are drawn, but rng is None.")
    TEXT_WHY = _("a pure function draws from the key that it is given, and from nothing else")
    MORE = "haiku/pure_pair"


class UninitializedParameterError(HaikuStateError, ValueError):
    """``apply`` asks for a parameter that ``init`` has not made."""

    TEXT_WHAT = _("{path} is not in params.")
    TEXT_WHY = _(
        "init creates only the params on the path that its inputs take: call it with inputs that "
        "take the same branches as the inputs of apply, or create the module outside the `if`. It "
        "may also be that these params belong to a different model"
    )
    MORE = "haiku/pure_pair"


# why a parameter is missing, where the given params and state tell it
NO_PARAMS = _(
    "params is empty, but init creates the params on the path that its inputs take: call init "
    "with inputs that take the same branches as the inputs of apply, and pass what it returns"
)
SWAPPED = _(
    "the tree that was passed as the state holds this parameter, but params come before the state"
)
OTHER_PARAMS = _(
    "init creates only the params on the path that its inputs take. These params contain the "
    "module, but not this parameter: the module was made with different arguments or took a "
    "different branch, or they are only a part of what init returned"
)
