"""Errors of pure pairs: how they are made, and how they are called."""

from haiku_state.errors.base import HaikuStateError
from haiku_state.language import deferred as _


class ModuleFactoryError(HaikuStateError, TypeError):
    """Something that is neither a module class nor a function should become a pair."""

    TEXT_WHAT = _("{given} is neither a module class nor a function.")
    TEXT_WRONG = "pure_pair({given})"
    TEXT_RIGHT = "pure_pair(hk.Linear, 8)"
    TEXT_WHY = _(
        "the pair calls it at each init and apply; an ordinary class goes through functionalize"
    )
    MORE = "docs/haiku/pure_pair.md"


class ModuleOutputError(HaikuStateError, TypeError):
    """The function of a pair returned a module instead of an output."""

    TEXT_WHAT = _("the function returned the module {module}, not an output.")
    TEXT_WRONG = "pure_pair(lambda: {module}(…))"
    TEXT_RIGHT = "pure_pair({module}, …)"
    TEXT_WHY = _("a module does nothing until it is called with inputs")
    MORE = "docs/haiku/pure_pair.md"


class ModuleClassError(HaikuStateError, TypeError):
    """A module class was transformed, and took the inputs for its own arguments."""

    TEXT_WHAT = _("a module class was called with the inputs as the arguments of its constructor.")
    TEXT_WRONG = "hk.transform_with_state(Counter)"
    TEXT_RIGHT = "pure_pair(Counter)"
    TEXT_WHY = _(
        "hk.transform_with_state calls what it is given with the inputs, and a class "
        "called is constructed"
    )
    MORE = "docs/haiku/pure_pair.md"


class StatelessTransformError(HaikuStateError, ValueError):
    """A function with state went through the transformation for functions without."""

    TEXT_WHAT = _("the function keeps state, and hk.transform has no place for it.")
    TEXT_WRONG = "hk.transform(f)"
    TEXT_RIGHT = "pure_pair(f)"
    TEXT_WHY = _("the pair of hk.transform neither takes nor returns state")
    MORE = "docs/haiku/pure_pair.md"


class InitResultError(HaikuStateError, TypeError):
    """An ``init`` does not return ``(params, state)``."""

    TEXT_WHAT = _("init returned {returned}, not `(params, state)`.")
    TEXT_WRONG = "init_train_state(hk.transform(f).init, …)"
    TEXT_RIGHT = "init_train_state(pure_pair(f).init, …)"
    TEXT_WHY = _("a train state holds `params` and `state`; without state it holds an empty one")
    MORE = "docs/haiku/pure_pair.md"


class OutsideTransformError(HaikuStateError, ValueError):
    """A module was made or called outside of a transformed function."""

    TEXT_WHAT = _("a module was used outside of a transformed function.")
    TEXT_WRONG = "{module}()(…)"
    TEXT_RIGHT = "pure_pair({module}).apply(params, state, rng, …)"
    TEXT_WHY = _(
        "`params` and `state` belong to the init or apply that is running; outside there is "
        "none to read them from"
    )
    MORE = "docs/haiku/pure_pair.md"


class PairArgumentError(HaikuStateError, TypeError):
    """An argument of ``init`` or ``apply`` stands in the wrong place, or is missing."""

    TEXT_WHAT = _("the argument `{argument}` is {given}; expected: {expected}.")
    TEXT_WRONG = "{wrong}"
    TEXT_RIGHT = "{right}"
    TEXT_WHY = _("the order is fixed, and rng is always there: None where nothing draws")
    MORE = "docs/haiku/pure_pair.md"


class MissingKeyError(HaikuStateError, ValueError):
    """Random numbers are drawn, and no key was given."""

    TEXT_WHAT = _("random numbers are drawn, and rng is None.")
    TEXT_WRONG = "apply(params, state, None, inputs)"
    TEXT_RIGHT = "apply(params, state, rng, inputs)"
    TEXT_WHY = _("a pure function draws from the key that it is given, and from nothing else")
    MORE = "docs/haiku/pure_pair.md"


class UninitializedParameterError(HaikuStateError, ValueError):
    """``apply`` asks for a parameter that ``init`` has not made."""

    TEXT_WHAT = _("{path} is not in params.")
    TEXT_WRONG = "if is_training: x = hk.Linear(8)(x)"
    TEXT_RIGHT = "x = hk.Linear(8)(x)"
    TEXT_WHY = _(
        "init creates every parameter: it must visit each branch. Or these params belong to "
        "another model, or stand where the state belongs"
    )
    MORE = "docs/haiku/pure_pair.md"
