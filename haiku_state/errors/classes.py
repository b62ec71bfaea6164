"""Errors of ``functionalize``: classes that cannot become pure functions as they are."""

from haiku_state.errors.base import HaikuStateError
from haiku_state.language import deferred as _


class PlainClassError(HaikuStateError, TypeError):
    """Something other than an ordinary Python class should be functionalized."""

    TEXT_WHAT = _("{given} is not an ordinary Python class.")
    TEXT_WRONG = "functionalize({given})"
    TEXT_RIGHT = "pure_pair({given})"
    TEXT_WHY = _(
        "functionalize carries the attributes of a class's instances; a Haiku module or a "
        "function has its state elsewhere"
    )
    MORE = "docs/api/functionalize.rst"


class MethodNameError(HaikuStateError, AttributeError):
    """A class has no such method, or the name is taken."""

    TEXT_WHAT = _("{name!r} cannot be a function of {cls}; its methods are {methods}.")
    TEXT_WRONG = "functionalize({cls}, {name!r})"
    TEXT_RIGHT = "functionalize({cls})"
    TEXT_WHY = _(
        "each name must be a method or property of the class; `init` stands for the "
        "constructor, and a name that begins with _ is private"
    )
    MORE = "docs/api/functionalize.rst"


class AttributeKindError(HaikuStateError, TypeError):
    """An attribute is of a kind that cannot be carried."""

    TEXT_WHAT = _("{path} is of type {kind}, which cannot be carried as state.")
    TEXT_WRONG = "self.{name} = …"
    TEXT_RIGHT = "self.{name} = jnp.asarray(…)"
    TEXT_WHY = _(
        "it changes out of sight, or refers back to the instance; keep arrays, numbers, "
        "containers and objects of your own classes, and pass the rest to the method"
    )
    MORE = "docs/api/functionalize.rst"


class SharedAttributeError(HaikuStateError, ValueError):
    """Two attributes are one mutable object."""

    TEXT_WHAT = _("{first} and {second} are one mutable object.")
    TEXT_WRONG = "self.a = self.b = []"
    TEXT_RIGHT = "self.a, self.b = [], []"
    TEXT_WHY = _(
        "in a PyTree each leaf stands for itself: a change through one name would no "
        "longer be seen through the other"
    )
    MORE = "docs/api/functionalize.rst"


class ReturnsSelfError(HaikuStateError, TypeError):
    """A method returned its own instance, or an object that the instance holds."""

    TEXT_WHAT = _("{method} returned an object of the class {kind} that belongs to the state.")
    TEXT_WRONG = "return self"
    TEXT_RIGHT = "return self.value"
    TEXT_WHY = _("a pure function returns values; the new state is returned beside them already")
    MORE = "docs/api/functionalize.rst"


class StaticAttributeError(HaikuStateError, TypeError):
    """A method changed an attribute that is not an array."""

    TEXT_WHAT = _("{method} changed attributes that are no arrays:{changes}")
    TEXT_WRONG = 'self.phase = "warm"'
    TEXT_RIGHT = "self.warm = True"
    TEXT_WHY = _(
        "what is not an array is part of the compiled program; a number or a bool that a "
        "method assigns is carried as an array"
    )
    MORE = "docs/api/functionalize.rst"


class ClassStateError(HaikuStateError, TypeError):
    """A method changed its class, which all instances share."""

    TEXT_WHAT = _("{method} changed {cls}.{name}, which all instances share.")
    TEXT_WRONG = "{cls}.{name} = …"
    TEXT_RIGHT = "self.{name} = …"
    TEXT_WHY = _("state is what init returns: one for each call of init, and none behind them")
    MORE = "docs/api/functionalize.rst"
