"""Errors of ``functionalize``: classes that cannot become pure functions as they are."""

from haiku_state.errors.base import HaikuStateError
from haiku_state.errors.language import deferred as _


class AttributeKindError(HaikuStateError, TypeError):
    """A value is of a kind that a state cannot carry."""

    TEXT_WHAT = _("{path} is of type {kind}, which cannot be part of a state.")
    TEXT_WHY = _(
        "such a value may change unnoticed or refer back to the instance; in attributes, keep "
        "arrays, numbers, lists, tuples, dicts and objects of your own classes, and pass "
        "everything else to the method"
    )
    MORE = "api/pure"


class SharedAttributeError(HaikuStateError, ValueError):
    """Two attributes are the same mutable object."""

    TEXT_WHAT = _("{first} and {second} are the same mutable object.")
    TEXT_WHY = _(
        "in a PyTree each leaf is independent: a change through one name would no longer be seen "
        "through the other"
    )
    MORE = "api/pure"


class StaticAttributeError(HaikuStateError, TypeError):
    """A method changed a static attribute, which is part of the compiled program."""

    TEXT_WHAT = _("{method} changed something that is not state:{changes}")
    TEXT_WHY = _(
        "anything that is not an array or a number, or that is named in `static`, is part of the "
        "compiled program; keep what a method changes as a number or a bool"
    )
    MORE = "api/pure"
