"""Errors of pure pairs: how they are made, and how they are called."""

from haiku_state.errors.base import HaikuStateError
from haiku_state.errors.language import deferred as _


class UncalledModuleError(HaikuStateError, TypeError):
    """A module was constructed but not called."""

    TEXT_WHAT = _("the module {module} was constructed, but it was not called.")
    TEXT_WHY = _(
        "a module computes nothing until it is called: call the module with its inputs and return "
        "the output"
    )
    MORE = "haiku/pure_pair"


class StatelessTransformError(HaikuStateError, ValueError):
    """A stateful function was transformed with a transformation for stateless functions."""

    TEXT_WHAT = _(
        "the function was transformed without support for state, for example by hk.transform."
    )
    TEXT_WHY = _(
        "the function keeps state, but this init does not return the state, or this apply does not "
        "take it: use pure_pair, hk.transform_with_state or hk.multi_transform_with_state"
    )
    MORE = "haiku/pure_pair"


class OutsideTransformError(HaikuStateError, ValueError):
    """A module was created or called outside a transformed function."""

    TEXT_WHAT = _("`{module}` was used outside a transformed function.")
    TEXT_WHY = _(
        "a module finds its `params` and `state` in the init or apply that is running, but none is "
        "running here: call the module in a function, and transform that function"
    )
    MORE = "haiku/pure_pair"


class PairArgumentError(HaikuStateError, TypeError):
    """An argument of ``init`` or ``apply`` is missing or in the wrong position."""

    TEXT_WHAT = _("the argument `{argument}` is {given}; expected: {expected}.")
    TEXT_WHY = _(
        "the order of the arguments is fixed, and rng is always required: pass None if nothing is "
        "random"
    )
    MORE = "haiku/pure_pair"


class MissingKeyError(HaikuStateError, ValueError):
    """A function draws random numbers, but no random key was passed."""

    TEXT_WHAT = _("random numbers are drawn, but rng is None.")
    TEXT_WHY = _(
        "a pure function draws random numbers only from the key that it is given: pass a key as rng"
    )
    MORE = "haiku/pure_pair"


class UninitializedParameterError(HaikuStateError, ValueError):
    """``apply`` needs a parameter that ``init`` has not created."""

    TEXT_WHAT = _("{path} is not in params.")
    TEXT_WHY = _(
        "init creates only the params on the path that its inputs take: call it with inputs that "
        "take the same branches as the inputs of apply, or create the module outside the `if`. It "
        "may also be that these params belong to a different model"
    )
    MORE = "haiku/pure_pair"


# why a parameter is missing, where the given params and state tell it
NO_PARAMS = _(
    "params is empty, but init creates params on the path that its inputs take: call init with "
    "inputs that take the same branches as the inputs of apply, and pass the params that it returns"
)
SWAPPED = _(
    "this parameter is in the tree that was passed as the state: pass the params first, and then "
    "the state"
)
OTHER_PARAMS = _(
    "init creates only the params on the path that its inputs take. These params contain the "
    "module, but not this parameter: the module was made with different arguments, or it took a "
    "different branch, or these params are only a part of what init returned"
)
