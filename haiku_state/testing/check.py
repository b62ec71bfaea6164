"""A module is run through the laws: one result for each, as a report or as a test."""

import html
import unittest
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax

from haiku_state import errors
from haiku_state.errors import arguments
from haiku_state.errors.base import address
from haiku_state.errors.describe import number_error
from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import translated
from haiku_state.inside.both import in_both_languages
from haiku_state.inside.report import Sentence
from haiku_state.testing.laws import LAWS, Statement
from haiku_state.testing.subject import Subject, accepts

HEAD = _("`{module}`: laws kept: {kept}, broken: {broken}, not applicable: {skipped}")
OUTCOMES = {"kept": _("kept"), "broken": _("broken"), "skipped": _("not applicable")}
LEAKED = _("a tracer of an earlier call is used: see no_tracer_is_left")
MEANT = _("if the module is meant to break these laws: exclude={names}")
MARKS = {"kept": "✓", "broken": "✗", "skipped": "–"}


class LawResult(NamedTuple):
    """What became of one law.

    Example:
      >>> from haiku_state.testing import LawResult
      >>> print(LawResult("scan_equals_loop", "kept", "`scan` carries the state as a loop does"))
      ✓ scan_equals_loop

    References:
      :func:`.check_module`.
    """

    name: str
    """The name of the law."""

    outcome: str
    """``"kept"``, ``"broken"``, or ``"skipped"`` for a law that says nothing of the module."""

    text: str
    """What the law says."""

    what: str = ""
    """What broke the law, or why it does not apply."""

    page: str = ""
    """The page that explains the law, as a path in the site without its language and suffix."""

    def __str__(self) -> str:
        what = self.what.shown() if isinstance(self.what, Sentence) else self.what
        return f"{MARKS[self.outcome]} {self.name}{f': {what}' if what else ''}"


@dataclass(frozen=True, repr=False)
class LawReport:
    """What :func:`.check_module` returns: one line for each law.

    ``print`` shows the report as text, and a notebook shows it as a table, both in the reader's
    language.

    Args:
      module: the name of the module or function.
      results: the result of each law, in the order of the laws.

    Example:
      >>> from haiku_state.testing import LawReport
      >>> print(LawReport("net"))
      `net`: laws kept: 0, broken: 0, not applicable: 0

    References:
      :func:`.check_module`.
    """

    module: str
    results: tuple[LawResult, ...] = ()

    @property
    def broken(self) -> tuple[LawResult, ...]:
        """The laws that the module breaks."""
        return tuple(result for result in self.results if result.outcome == "broken")

    def __str__(self) -> str:
        lines = [self._head()]
        for result in self.results:
            lines.append(f"  {result}")
            if result.outcome == "broken":
                lines += [f"    {translated(result.text)}", f"    {address(result.page)}"]
        return "\n".join([*lines, *self._foot()])

    __repr__ = __str__

    def _head(self) -> str:
        outcomes = [result.outcome for result in self.results]
        counts = {outcome: outcomes.count(outcome) for outcome in OUTCOMES}
        return translated(HEAD).format(module=self.module, **counts)

    def _foot(self) -> list[str]:
        names = [result.name for result in self.broken]
        return [translated(MEANT).format(names=names)] if names else []

    def _repr_html_(self) -> str:
        def render() -> str:
            rows = []
            for name, outcome, text, what, page in self.results:
                what = what.shown() if isinstance(what, Sentence) else what
                what += f" · {address(page)}" if outcome == "broken" else ""
                cells = translated(OUTCOMES[outcome]), name, translated(text), what
                rows.append("".join(f"<td>{html.escape(cell)}</td>" for cell in cells))
            body = "".join(f"<tr>{row}</tr>" for row in rows)
            foot = "".join(f"<p>{html.escape(line)}</p>" for line in self._foot())
            return f"<p>{html.escape(self._head())}</p><table>{body}</table>{foot}"

        return in_both_languages(render)


class Law:
    """One law of one module, as a test: calling it tries it.

    Args:
      name: the name of the law.
      statement: what it says, and what tries it.
      module: what it is tried on.
      called: the name of the module.

    Example:
      >>> import haiku_state as hs
      >>> laws = hs.testing.laws_of(lambda: hs.Counter()())
      >>> str(laws[0]), laws[0]()
      ('init_is_deterministic', None)

    References:
      :func:`.laws_of`.
    """

    def __init__(self, name: str, statement: Statement, module: Subject, called: str) -> None:
        self.name, self._statement, self._module, self._called = name, statement, module, called

    def __str__(self) -> str:
        return self.name

    def __call__(self) -> None:
        """Try the law. Pytest and unittest count a law that does not apply as skipped.

        Raises:
          BrokenLawError: the module breaks it.
        """
        result = self.result()
        if result.outcome == "skipped":
            raise unittest.SkipTest(result.what)
        if result.outcome == "broken":
            raise errors.BrokenLawError(
                module=self._called,
                law=self.name,
                problem=str(result).partition(": ")[2],
                why=translated(result.text),
                more=result.page,
            )

    def result(self) -> LawResult:
        """Try the law.

        Returns:
          What became of it. An exception breaks the law, unless a plain call raises it too.

        Raises:
          Exception: ``init`` or ``apply`` raises it in a plain call.
        """
        text, page, broken_by = self._statement
        self._module.check_call()
        try:
            what: str | None = broken_by(self._module)
        except unittest.SkipTest as skipped:
            return LawResult(self.name, "skipped", text, skipped.args[0], page)
        except Exception as error:
            said = [line.strip() for line in str(error).splitlines() if line.strip()]
            end = 2 if said and said[0].endswith(":") else 1
            what = " ".join([f"{type(error).__name__}:", *said[:end]]).rstrip(": ")
            # newer versions of JAX say it of a tracer that they find outside a trace
            if "Tracer'> is not a valid JAX type" in what or isinstance(
                error, jax.errors.UnexpectedTracerError
            ):
                what = Sentence(LEAKED)
        return LawResult(self.name, "broken" if what else "kept", text, what or "", page)


def laws_of(
    make: Callable[..., Any] | Any,
    *inputs: Any,
    train: Mapping[str, Any] | None = None,
    evaluation: Mapping[str, Any] | None = None,
    axis_name: str | None = None,
    is_per_device: bool = False,
    key: Any = 0,
    exclude: Collection[str] = (),
) -> list[Law]:
    """Return the laws of a module as tests, for ``pytest.mark.parametrize``.

    Args:
      make: the same as in :func:`.check_module`, as are all other arguments.
      *inputs: the inputs of a call.
      train: the keyword arguments of a call in training.
      evaluation: the keyword arguments of a call in evaluation.
      axis_name: the name of the device axis that the module uses.
      is_per_device: whether each device is meant to keep a state of its own.
      key: the random key of every call, or its seed.
      exclude: the names of laws to leave out.

    Returns:
      The laws in their order. Calling one raises :class:`.BrokenLawError` if the module breaks it,
      and ``str`` gives its name.

    Raises:
      ArgumentError: see :func:`.check_module`.

    Example:
      >>> import haiku_state as hs, jax.numpy as jnp
      >>> x = jnp.arange(12.0).reshape(4, 3)
      >>> for law in hs.testing.laws_of(lambda x: hs.MovingAverage()(x), x):
      ...     if str(law).startswith("state"):
      ...         print(law, law())
      state_keeps_its_type None
      state_stays_float32 None

    References:
      :func:`.check_module`.
    """
    left_out = (exclude,) if isinstance(exclude, str) else tuple(exclude)
    for name in left_out:
        if name not in LAWS:
            raise arguments.law(name, list(LAWS))
    for name, flags in (("train", train), ("evaluation", evaluation)):
        if not isinstance(flags, Mapping | None):
            raise arguments.flags(name, flags)
    for leaf in jax.tree.leaves(inputs):
        if isinstance(leaf, bool) or number_error(inputs=leaf):
            raise arguments.tested_input(leaf)
    if accepts(make, "is_training"):
        train = {"is_training": True} if train is None else train
        evaluation = {"is_training": False} if evaluation is None else evaluation
    if not isinstance(axis_name, str | None):
        raise arguments.no_axis(axis_name)
    module = Subject(make, inputs, train or {}, evaluation, axis_name, is_per_device, key)
    called = getattr(make, "__name__", type(make).__name__)
    return [Law(n, each, module, called) for n, each in LAWS.items() if n not in left_out]


def check_module(
    make: Callable[..., Any] | Any,
    *inputs: Any,
    train: Mapping[str, Any] | None = None,
    evaluation: Mapping[str, Any] | None = None,
    axis_name: str | None = None,
    is_per_device: bool = False,
    key: Any = 0,
    exclude: Collection[str] = (),
) -> LawReport:
    r"""Try the laws that a module with state should keep.

    Examples of such laws are that ``init`` depends only on its key and its inputs, that the state
    keeps its names, shapes and dtypes, that ``jit``, ``scan`` and ``vmap`` compute what Python
    computes, that evaluation does not change the state, and that several devices, for which
    ``vmap`` stands in, keep one state. A :class:`.LawReport` lists all of them.

    Two ways to compute the same result may differ by rounding. How much is measured on the module
    itself: each number that goes in is rounded once more, to the least precise type of the program,
    and 30 times the effect is allowed (3 times in half precision), or :math:`10^{-5}` in float32,
    whichever is greater, relative to :math:`1 + |x|`. So numbers far below 1 are not told apart:
    scale the inputs to about 1. A small module takes a few seconds, and a network such as ResNet-18
    takes a minute.

    Args:
      make: a function that calls the module, as ``hk.transform_with_state`` takes it, a module
        class whose constructor needs no arguments, or a pair of ``init`` and ``apply``.
      *inputs: the inputs of one call, PyTrees of arrays. If they share a leading axis, it is taken
        for the axis of examples.
      train: the keyword arguments of a call in training, such as ``{"training": True}``. By default
        ``{"is_training": True}`` if the signature of ``make`` has such a parameter, and none
        otherwise.
      evaluation: the keyword arguments of a call in evaluation. By default
        ``{"is_training": False}`` if the signature has such a parameter. If there is no such call,
        the laws of evaluation do not apply, and the law of several devices applies only if
        ``axis_name`` is given.
      axis_name: the name of the device axis that the module uses, such as its
        ``cross_replica_axis``, or any name for a module that uses none. If the module uses the
        axis, all laws but that of several devices bind it to a single one. Groups of devices, as in
        ``cross_replica_axis_index_groups``, cannot be tried.
      is_per_device: True for a module that is meant to keep a state of its own on each device, such
        as a normalization without ``cross_replica_axis``.
      key: the random key of every call, or a seed for ``jax.random.key``. A module that stores keys
        made by ``jax.random.PRNGKey`` needs such a key.
      exclude: the names of laws to leave out.

    Returns:
      A :class:`.LawReport` with one result for each law. A law that is kept for these inputs may be
      broken for others.

    Raises:
      ArgumentError: ``make`` is neither a function nor a pair, ``init`` or ``apply`` does not
        return two results, an input or a result is not an array, ``train`` or ``evaluation`` is not
        a mapping, the module uses an axis that ``axis_name`` does not name, or several, or a name
        in ``exclude`` is not the name of a law.
      Exception: ``init`` or ``apply`` raises it in a plain call.

    Example:
      >>> import haiku as hk, haiku_state as hs, jax.numpy as jnp
      >>> def norm(x, is_training):
      ...     return hk.BatchNorm(True, True, 0.9)(x, is_training)
      >>> x = jnp.arange(24.0).reshape(8, 3)
      >>> report = hs.testing.check_module(norm, x)
      >>> "devices_agree" in [result.name for result in report.broken]
      True

    References:
      scikit-learn's ``check_estimator``, which does this for estimators.
    """
    laws = laws_of(
        make,
        *inputs,
        train=train,
        evaluation=evaluation,
        axis_name=axis_name,
        is_per_device=is_per_device,
        key=key,
        exclude=exclude,
    )
    called = getattr(make, "__name__", type(make).__name__)
    return LawReport(called, tuple(law.result() for law in laws))
