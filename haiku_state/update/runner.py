"""What runs a step on its devices: it compiles it, places its train state, and feeds it.

A runner says in its own file only what differs from this one: how the step is compiled, where the
train state is, what a batch looks like there, and how to read one replica back.
"""

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic

import jax
import jax.numpy as jnp

from haiku_state.errors import HaikuStateError, arguments
from haiku_state.errors.describe import (
    consumed_error,
    leaked_error,
    leaves_by_path,
    shared_error,
    with_dicts,
)
from haiku_state.errors.diagnosis import named_error
from haiku_state.typing import Batch, R, StepFn, T
from haiku_state.update.replicas import assert_replicas_equal

# what JAX raises where the layout of the arguments is wrong
_RAISED = (RuntimeError, TypeError, ValueError, IndexError)


class Runner(Generic[T, R]):
    """A step that is compiled once, as :func:`.jit_update` and similar functions return it.

    With the step of :func:`.make_update`, it is called as ``train_state, metrics = run(train_state,
    batch)``; with the step of :func:`.make_evaluate`, it is called as ``metrics = run(train_state,
    batch)``. An update consumes its train state, but an evaluation does not.

    Args:
      step: a pure function of a train state and a batch.
      axis_name: the name of the axis over which the step averages; None if it sees all rows.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state import jit_update
      >>> def add(total, batch, *, axis_name=None):
      ...     return total + batch["x"].sum(), {}
      >>> run = jit_update(add)
      >>> total = run.place(jnp.float32(1))
      >>> for rows in (3, 3, 2):
      ...     total, metrics = run(total, run.feed({"x": jnp.ones(rows)}))
      >>> print(run.one(total), run.trace_count)
      9.0 2

    References:
      JAX's documentation, `How transformations work: tracing
      <https://docs.jax.dev/en/latest/101/transformations.html#how-transformations-work-tracing>`__.
    """

    axis_name: str | None = None
    """The name over which modules average, as their ``cross_replica_axis``."""

    trace_count: int
    """How many times JAX has traced, and therefore compiled, the step."""

    check_replicas = False
    """Whether the first call must leave all replicas equal."""

    many_devices = False
    """Whether the step runs on several devices, which wait for each other."""

    def __init__(self, step: StepFn[T, R], axis_name: str | None = None) -> None:
        functools.update_wrapper(self, step)
        self.axis_name = axis_name
        self.trace_count = 0
        self.is_evaluation: bool = getattr(step, "is_evaluation", False)
        # what is traced; without a frame of its own around the step
        self._step: Any = functools.partial(step, axis_name=axis_name) if axis_name else step
        self._compiled: Any = None
        self._made: set[int] = set()

    # What a runner may say differently.

    def compile(self, traced: Callable[..., Any], train_state: T) -> Any:
        """Compile the step, which returns ``(train_state, metrics)``, and no train state to read.

        Args:
          traced: the step, a function of a train state and a batch.
          train_state: the first one.
        """
        return self.jit(traced)

    def place(self, train_state: T) -> T:
        """Put a copy of a train state where the step needs it; the given train state stays usable.

        Other mappings become dicts, which JAX can name and shard.
        """
        return self.copy(with_dicts(train_state))

    def feed(self, batch: Batch) -> Batch:
        """Bring a batch of all rows into the form that the step takes."""
        return batch

    def feed_all(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Feed batch after batch; :func:`.scan_update` takes several batches in one call."""
        return map(self.feed, batches)

    def one(self, train_state: T) -> T:
        """Read one replica back as a copy, which no later call consumes."""
        return self.copy(train_state)

    def copy(self, train_state: T) -> T:
        """Copy a train state that is in its place."""
        return jax.tree.map(jnp.copy, train_state)

    def unpack(self, train_state: Any) -> Any:
        """Give the step its train state, in the program that is traced."""
        return train_state

    def pack(self, train_state: Any) -> Any:
        """Give the program the train state that it returns."""
        return train_state

    def explain(self, train_state: T, batch: Batch) -> HaikuStateError | None:
        """Name what JAX has rejected, if this runner knows the reason."""
        return None

    # What all runners do.

    def __call__(self, train_state: T, batch: Batch, /) -> R:
        """Take one step.

        Args:
          train_state: the train state to start from; an update reuses its memory.
          batch: named arrays, in the form that :meth:`feed` returns.

        Returns:
          What the step returns.
        """
        is_first = self.check_replicas and not self.is_evaluation
        try:
            if self.many_devices:
                self._refuse(train_state)
            # the first call consumes a copy, so that the given train state outlives an error
            given = self.copy(train_state) if is_first else train_state
            new, metrics = (self._compiled or self._program(given))(given, batch)
        except Exception as error:
            if named := self._named(error, train_state, batch):
                raise named from error
            raise
        if is_first:
            assert_replicas_equal(new, axis_name=self.axis_name or "devices")
            self.check_replicas = False
            _delete(train_state)
        if self.many_devices:
            self._made = set(map(id, jax.tree.leaves(new)))
        result: Any = metrics if self.is_evaluation else (new, metrics)
        return result

    def lower(self, train_state: T, batch: Batch, /) -> Any:
        """Lower the step to a program that can be inspected, without running it.

        Args:
          train_state: a train state, or its shapes and dtypes.
          batch: a batch, or its shapes and dtypes.

        Returns:
          JAX's ``Lowered``; ``.compile().memory_analysis()`` gives the memory of the step in bytes.
        """
        try:
            return self._program(train_state).lower(train_state, batch)
        except Exception as error:
            if named := self._named(error, train_state, batch):
                raise named from error
            raise

    def jit(self, function: Callable[..., Any], **shardings: Any) -> Any:
        """Compile a function of ``(train_state, batch)``, which consumes that of an update."""
        # Training writes an average and never reads it. If the average were left out of the
        # program, its memory would not be reused, and other leaves would be copied into each
        # other's memory.
        donated = () if self.is_evaluation else 0
        return jax.jit(function, donate_argnums=donated, keep_unused=True, **shardings)

    def _program(self, train_state: T) -> Any:
        @functools.wraps(self._step)
        def traced(train_state: T, batch: Batch) -> Any:
            self.trace_count += 1
            result: Any = self._step(self.unpack(train_state), batch)
            if self.is_evaluation:
                result = None, result
            elif not isinstance(result, tuple) or len(result) != 2:
                raise arguments.step_result(result)
            leaves = leaves_by_path(train_state=result[0], metrics=result[1])
            if leaked := leaked_error(leaves):
                raise leaked
            return self.pack(result[0]), result[1]

        self._compiled = self._compiled or self.compile(traced, train_state)
        return self._compiled

    def _refuse(self, train_state: T) -> None:
        """Reject what would end the process once the devices have started."""
        leaves = jax.tree.leaves(train_state)
        arrays = set(map(id, leaves))
        is_own = len(arrays) == len(leaves) and arrays <= self._made
        if is_own and not any(leaf.is_deleted() for leaf in leaves):
            return
        if consumed := consumed_error(train_state=train_state):
            raise consumed
        if not self.is_evaluation and (shared := shared_error(train_state=train_state)):
            raise shared

    def _named(self, error: Exception, train_state: T, batch: Batch) -> HaikuStateError | None:
        if isinstance(error, HaikuStateError):
            return None
        named = named_error(error, train_state=train_state, batch=batch)
        return named or (self.explain(train_state, batch) if isinstance(error, _RAISED) else None)


def _delete(tree: Any) -> None:
    """Free the memory of each array, as donation does."""
    for leaf in jax.tree.leaves(tree):
        if isinstance(leaf, jax.Array):
            leaf.delete()
