"""What all errors of this package have in common."""

import functools
from collections.abc import Iterable
from typing import Any, ClassVar

from haiku_state.language import deferred as _
from haiku_state.language import translated

LABELS = _("wrong: {wrong}\n  right: {right}\n  why:   {why}\n  more:  {more}")


class HaikuStateError(Exception):
    """Base class of every error that this package raises on purpose.

    Each class stands for one cause, and holds the texts for it. The code that raises it gives the
    values that the texts mention. The text is put together when the error is raised, in the
    reader's language; code and names in it stay as they are.

    Args:
      values: what the placeholders of the texts stand for.

    Example:
      >>> from haiku_state.errors import BatchSizeError
      >>> print(BatchSizeError(batch_size=64, rows=40, fitting=32))
      a batch of 64 rows cannot be cut from 40 rows.
        wrong: batches(data, 64)
        right: batches(data, 32)
        why:   an epoch needs at least one whole batch
        more:  docs/api/data.rst
    """

    TEXT_WHAT: ClassVar[str]
    TEXT_WRONG: ClassVar[str]
    TEXT_RIGHT: ClassVar[str]
    TEXT_WHY: ClassVar[str]
    MORE: ClassVar[str]

    def __init__(self, **values: Any) -> None:
        self.values = values
        self.what = translated(self.TEXT_WHAT).format(**values)
        super().__init__(
            self.what
            + "\n  "
            + translated(LABELS).format(
                wrong=self.TEXT_WRONG.format(**values),
                right=self.TEXT_RIGHT.format(**values),
                why=translated(self.TEXT_WHY).format(**values),
                more=self.MORE,
            )
        )

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError and its like would show the text as a literal

    def __reduce__(self) -> Any:
        return functools.partial(type(self), **self.values), ()


def as_lines(items: Iterable[object]) -> str:
    """Put each item on a line of its own, below the sentence that announces them."""
    return "".join(f"\n    {item}" for item in items)
