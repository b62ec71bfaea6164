"""What all errors of this package have in common."""

from collections.abc import Iterable
from typing import Any, ClassVar

from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import reader_language, translated

# the base URL of the published site, with a slash at its end; empty where it is not published
SITE = ""

# the values that may be texts of the catalog themselves; all others are code and names
TEXTS = ("expected", "kind", "problem", "value", "why")

MOST_LINES = 21
"""How many lines a list in an error has: a large network has hundreds of leaves."""

LABELS = {
    "wrong": _("wrong: {text}"),
    "right": _("right: {text}"),
    "why": _("why:   {text}"),
    "more": _("more:  {text}"),
}


def address(page: str) -> str:
    """Return where to read a page: on the published site, or offline by a command.

    Args:
      page: its path in the site without language and suffix; after ``#``, the anchor of a heading.
    """
    path, _hash, anchor = page.partition("#")
    if not SITE:
        return f"python -m haiku_state read {page}"
    return f"{SITE}{reader_language()}/{path}.html" + (f"#{anchor}" if anchor else "")


class HaikuStateError(Exception):
    """Base class of all errors that this package defines.

    Each subclass stands for one kind of mistake and holds the texts for it. The code that raises
    the error supplies the values that the texts mention. If that code knows the fix, it also
    supplies the lines ``wrong`` and ``right``, in which ``…`` stands for other code of the program.
    The values ``why`` and ``more``, if they are given, replace the texts of the class. The message
    is put together in the reader's language when the error is raised; code and names in it are not
    translated.

    Args:
      values: the values for the placeholders in the texts of the class.

    Example:
      >>> from haiku_state.errors import TracedFlagError
      >>> line = {"wrong": "jax.jit(…)", "right": 'jax.jit(…, static_argnames="is_training")'}
      >>> print(TracedFlagError(name="is_training", **line))
      `is_training` is traced, but Python has to read its value during tracing.
        wrong: jax.jit(…)
        right: jax.jit(…, static_argnames="is_training")
        why:   jit, vmap and scan pass tracers, whose values Python cannot read. A flag that chooses between two programs must be a Python bool when the function is traced: use the static_argnames of jit, or functools.partial. To make a choice that depends on data, use jnp.where or jax.lax.cond
        more:  python -m haiku_state read haiku/batch_norm
    """  # noqa: E501

    TEXT_WHAT: ClassVar[str]
    TEXT_WHY: ClassVar[str]
    MORE: ClassVar[str]
    """The page to read more on, as a path in the site without its language and suffix."""

    why: str = ""
    """The reason, in the reader's language."""

    def __init__(self, **values: Any) -> None:
        self.values = dict(values)
        texts = {name: values[name] for name in TEXTS if values.get(name)}
        values |= {name: translated(str(text)) for name, text in texts.items()}
        self.what = translated(self.TEXT_WHAT).format(**values)
        parts = {
            "wrong": values.get("wrong", ""),
            "right": values.get("right", ""),
            "why": self._part("why", translated(self.TEXT_WHY), values),
            "more": address(self._part("more", self.MORE, values)),
        }
        self.why = parts["why"]
        lines = [translated(LABELS[name]).format(text=text) for name, text in parts.items() if text]
        super().__init__("\n  ".join([self.what, *lines]))

    @staticmethod
    def _part(name: str, text: str, values: dict[str, Any]) -> str:
        if name in values and f"{{{name}}}" not in text:
            return str(values[name])
        return text.format(**values)

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError and the like would show the text as a literal

    def __reduce__(self) -> Any:
        # a value may be anything that the caller passed, and devices and functions have no pickle
        plain = str | int | float | None
        values = {n: v if isinstance(v, plain) else str(v) for n, v in self.values.items()}
        return restored, (type(self), str(self), self.what, values)


class ArgumentError(HaikuStateError, ValueError, TypeError):
    """An argument has a value that the function cannot use.

    This class is used for every argument that is out of range, has the wrong type, or conflicts
    with another argument. The code that raises the error supplies the reason.

    Args:
      values: the values ``argument``, ``value``, ``expected``, ``why`` and ``more``; also ``wrong``
        and ``right`` if the intended line is known.

    Example:
      >>> from haiku_state import batches
      >>> batches({"x": range(10)}, 11)
      Traceback (most recent call last):
        ...
      haiku_state.errors.base.ArgumentError: batch_size is 11, but it must be 1, …, 10.
        why:   a batch has at least one row; "drop" drops the rows that do not fill a batch
        more:  python -m haiku_state read api/data
    """

    TEXT_WHAT = _("{argument} is {value}, but it must be {expected}.")
    TEXT_WHY = "{why}"
    MORE = "{more}"


def restored(
    kind: type[HaikuStateError], text: str, what: str, values: dict[str, Any]
) -> HaikuStateError:
    """Rebuild an error from what ``pickle`` or another process has stored."""
    error = kind.__new__(kind)
    error.args, error.what, error.values = (text,), what, values
    return error


def as_lines(items: Iterable[object]) -> str:
    """Put each item on a line of its own, below the sentence that announces them.

    Args:
      items: what to list; if there are more than 21 items, only the first and the last ten are
        listed.
    """
    lines = [str(item) for item in items]
    if len(lines) > MOST_LINES:
        kept = MOST_LINES // 2
        more = translated(_("… and {count} more")).format(count=len(lines) - 2 * kept)
        lines[kept:-kept] = [more]
    return "".join(f"\n    {line}" for line in lines)
