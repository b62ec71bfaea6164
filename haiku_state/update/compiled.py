"""What all runners of an update step share: it is compiled once, and counts its traces."""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import jax
import jax.numpy as jnp

from haiku_state.errors import HaikuStateError, LeadingAxisError
from haiku_state.errors.describe import consumed_error, leaves_by_path
from haiku_state.errors.diagnosis import named_error
from haiku_state.typing import Batch, Metrics

T = TypeVar("T")
Explain = Callable[..., HaikuStateError | None]


class CompiledUpdate(Generic[T]):
    """The update step that :func:`.jit_update` and the like return: it consumes its train state.

    Args:
      update: the update step, a pure function of a train state and a batch.
      transform: ``jax.jit``, ``jax.pmap`` or another transformation that compiles it.
      explain: called with ``train_state=`` and ``batch=`` after JAX has refused them; returns the
        named error, or None if it does not know the reason.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state import jit_update
      >>> def add(total, batch, *, axis_name=None):
      ...     return total + batch["x"].sum(), {}
      >>> run = jit_update(add)
      >>> total = jnp.float32(1)
      >>> for rows in (3, 3, 2):
      ...     total, metrics = run(total, {"x": jnp.ones(rows)})
      >>> print(total, run.trace_count)
      9.0 2

    References:
      JAX's documentation, `How transformations work: tracing
      <https://docs.jax.dev/en/latest/101/transformations.html#how-transformations-work-tracing>`__.
    """

    trace_count: int
    """How often JAX has traced, and therefore compiled, the step."""

    def __init__(
        self,
        update: Callable[..., Any],
        transform: Callable[[Callable[..., Any]], Any],
        explain: Explain = lambda **trees: None,
    ) -> None:
        functools.update_wrapper(self, update)
        self.trace_count = 0
        self._explain = explain

        def traced(train_state: Any, batch: Any) -> Any:
            self.trace_count += 1
            return update(train_state, batch)

        self._compiled: Any = transform(functools.wraps(update)(traced))
        self._run = self._compiled

    def __call__(self, train_state: T, batch: Batch, /) -> tuple[T, Metrics]:
        """Take one step.

        Args:
          train_state: what to start from; its memory is reused.
          batch: named arrays.

        Returns:
          The new train state, and the metrics.
        """
        with self._named(train_state, batch):
            result: tuple[T, Metrics] = self._run(train_state, batch)
        return result

    def lower(self, train_state: T, batch: Batch, /) -> Any:
        """Lower to a program for these arguments without running it, to look at it.

        Args:
          train_state: a train state, or its shapes and dtypes.
          batch: a batch, or its shapes and dtypes.

        Returns:
          JAX's ``Lowered``; ``.compile().memory_analysis()`` tells the memory of the step, in
          bytes.
        """
        with self._named(train_state, batch):
            return self._compiled.lower(train_state, batch)

    @contextlib.contextmanager
    def _named(self, train_state: T, batch: Batch) -> Iterator[None]:
        try:
            yield
        except HaikuStateError:
            raise
        except (RuntimeError, TypeError, ValueError, IndexError) as error:
            trees = {"train_state": train_state, "batch": batch}
            if named := named_error(error, **trees) or self._explain(**trees):
                raise named from error
            raise


class CompiledOnDevices(CompiledUpdate[T]):
    """A compiled update step that runs on several devices at once.

    It refuses itself what an earlier call has consumed: JAX 0.9 and 0.10 would end the process with
    a segmentation fault.
    """

    def __call__(self, train_state: T, batch: Batch, /) -> tuple[T, Metrics]:
        """Take one step."""
        if consumed := consumed_error(train_state=train_state):
            raise consumed
        return super().__call__(train_state, batch)


def donating_jit(function: Callable[..., Any], **shardings: Any) -> Any:
    """Compile a function of ``(train_state, batch)`` that consumes its train state."""
    # Training writes an average and never reads it. If the average were left out of the program,
    # its memory would not be reused, and other leaves would be copied into each other's memory.
    return jax.jit(function, donate_argnums=0, keep_unused=True, **shardings)


def explain_leading_axis(
    advice: dict[str, str], wrong: str, why: str, more: str, length: int | None = None
) -> Explain:
    """Return a function that finds the first leaf whose leading axis has the wrong length.

    Args:
      advice: the name of each tree whose leaves have the axis, and the line that makes it.
      wrong: the call that failed.
      why: what the leading axis is for.
      more: the page to read more on.
      length: the right length; by default the greatest, which the other leaves lack.

    Returns:
      A function of the trees by name, such as :class:`CompiledUpdate` calls to explain an error.
    """

    def explain(**trees: Any) -> HaikuStateError | None:
        leaves = leaves_by_path(**{name: trees[name] for name in advice})
        shapes = {path: jnp.shape(leaf) for path, leaf in leaves.items()}
        expected = length or max((shape[0] for shape in shapes.values() if shape), default=1)
        for path, shape in shapes.items():
            if shape[:1] != (expected,):
                right = next(line for name, line in advice.items() if path.startswith(name))
                values = {"path": path, "shape": shape, "length": expected}
                return LeadingAxisError(**values, wrong=wrong, right=right, why=why, more=more)
        return None

    return explain
