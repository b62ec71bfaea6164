"""Errors of ``functionalize``: classes that cannot become pure functions as they are."""

from haiku_state.errors.base import HaikuStateError
from haiku_state.errors.language import deferred as _


class AttributeKindError(HaikuStateError, TypeError):
    """A value has a type that cannot be part of a state."""

    TEXT_WHAT = _("{path} is of type {kind}, which cannot be part of a state.")
    TEXT_WHY = _(
        "such a value may change unnoticed or refer back to the instance: in attributes, keep only "
        "arrays, numbers, lists, tuples, dicts and objects of your own classes, and pass "
        "everything else to the method"
    )
    MORE = "api/pure"


class SharedAttributeError(HaikuStateError, ValueError):
    """Two attributes refer to the same mutable object."""

    TEXT_WHAT = _("{first} and {second} are the same mutable object.")
    TEXT_WHY = _(
        "in a PyTree, every leaf is independent, so a change through one name would no longer be "
        "visible through the other name"
    )
    MORE = "api/pure"


class StaticAttributeError(HaikuStateError, TypeError):
    """A method changed a static attribute, which is part of the compiled program."""

    TEXT_WHAT = _("{method} changed something that is not state:{changes}")
    TEXT_WHY = _(
        "an attribute that is neither an array nor a number, or that is named in `static`, is part "
        "of the compiled program; if a method changes a value, store it as an array, a number or a "
        "bool"
    )
    MORE = "api/pure"
