"""What a boundary adds to an error of a check, because it knows its caller.

An error of a check holds facts: a path, and what was there before and after. A pure pair knows that
its caller is a module of Haiku, and a runner knows which axis it binds.
"""

import contextlib
from collections.abc import Iterator

from haiku_state.errors.base import HaikuStateError
from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import translated
from haiku_state.errors.modules import UnboundAxisError
from haiku_state.errors.state import LEAKED_IN_HAIKU, LeakedTracerError


def with_texts(error: HaikuStateError, **texts: str) -> HaikuStateError:
    """Return an error with other texts; its facts, and where it arose, are the same."""
    better = type(error)(**{**error.values, **texts})
    better.__cause__ = error.__cause__
    return better.with_traceback(error.__traceback__)


@contextlib.contextmanager
def leaks_of_haiku() -> Iterator[None]:
    """Say of each leak inside that it is in a function of Haiku, which has its own ways out.

    Raises:
      LeakedTracerError: the same error.
    """
    try:
        yield
    except LeakedTracerError as error:
        raise with_texts(error, why=LEAKED_IN_HAIKU) from error.__cause__


def of_runner(error: HaikuStateError, axis_name: str | None) -> HaikuStateError:
    """Say which axis a runner binds, of an error about another.

    Args:
      error: what a step raised.
      axis_name: the name of the axis that the runner binds.
    """
    if not isinstance(error, UnboundAxisError):
        return error
    if axis_name is None:
        why = _(
            "this runner binds no axis, because its step sees all rows: do not use an axis, for "
            "example by setting cross_replica_axis=None"
        )
        return with_texts(error, why=why)
    why = _(
        "this runner averages over the axis {axis!r}: use this name wherever something is averaged "
        "over the devices, for example in cross_replica_axis={axis!r}"
    )
    return with_texts(error, why=translated(why).format(axis=axis_name))
