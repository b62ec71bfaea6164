"""What runs a step on its devices: it compiles it, places its train state, and feeds it.

A runner is one object of five functions. Each way to run a step has a file of its own, which makes
these functions and says nothing else.
"""

import contextlib
import dataclasses
import functools
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Generic

import jax
import jax.numpy as jnp
from jax.sharding import Mesh

from haiku_state.errors import HaikuStateError, arguments
from haiku_state.errors.advice import of_runner
from haiku_state.errors.describe import (
    consumed_error,
    leaked_error,
    leaves_by_path,
    number_error,
    shared_error,
    with_dicts,
)
from haiku_state.errors.diagnosis import named_error
from haiku_state.pure.check import check_types
from haiku_state.typing import Batch, R, StepFn, T
from haiku_state.update.devices import in_mesh
from haiku_state.update.replicas import assert_replicas_equal
from haiku_state.update.train_state import TrainState

_AS_IT_IS: AbstractContextManager[Any] = contextlib.nullcontext()

CALL = ("train_state", "batch")
"""The arguments of a step."""

# what JAX raises where the layout of the arguments is wrong
_RAISED = (RuntimeError, TypeError, ValueError, IndexError)


def donating_jit(traced: Callable[..., Any], train_state: Any = None, **shardings: Any) -> Any:
    """Compile a function of ``(train_state, batch)``, which consumes the train state of an update.

    Training writes an average and never reads it. If the average were left out of the program, its
    memory would not be reused, and other leaves would be copied into each other's memory.
    """
    return jax.jit(traced, donate_argnums=consumed(traced), keep_unused=True, **shardings)


def consumed(step: Any) -> tuple[int, ...]:
    """Return which arguments a step gives away: an update its train state, an evaluation none."""
    return () if getattr(step, "is_evaluation", False) else (0,)


def on_axis(step: StepFn[T, R], axis_name: str) -> StepFn[T, R]:
    """Let a step average over an axis, without a frame of its own around the step."""
    if hasattr(step, "lower"):
        raise arguments.compiled_step(step)
    if error := arguments.uncallable("update", step, *CALL, axis_name=axis_name):
        raise error
    named: Any = functools.partial(step, axis_name=axis_name)
    return functools.update_wrapper(named, step)


def copied(train_state: T) -> T:
    """Copy a train state, with dicts for other mappings, which JAX can name and shard."""
    return jax.tree.map(jnp.copy, with_dicts(train_state))


def as_given(batch: Batch) -> Batch:
    """Leave a batch as it is."""
    return batch


def _is_result(given: Any) -> bool:
    """Return whether this is what an update returns: a train state and metrics."""
    return isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], TrainState)


@dataclasses.dataclass(eq=False)
class Runner(Generic[T, R]):
    """A compiled step, as :func:`.jit_update` and similar functions return it.

    A runner of a step from :func:`.make_update` is called as
    ``train_state, metrics = run(train_state, batch)``; a runner of a step from
    :func:`.make_evaluate` is called as ``metrics = run(train_state, batch)``. An update consumes
    its train state, but an evaluation does not.

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

    step: StepFn[T, R]
    """The pure function of a train state and a batch that the runner traces and compiles."""

    compile: Callable[[Callable[..., Any], T], Any] = donating_jit
    """``compile(step, train_state)``, a compiled function of a train state and a batch."""

    place: Callable[[T], T] = copied
    """``place(train_state)`` returns a copy of the train state where the step needs it; the
    original stays usable."""

    feed: Callable[[Batch], Batch] = as_given
    """``feed(batch)`` converts a batch of all rows into the form that the step takes."""

    one: Callable[[T], T] = copied
    """``one(train_state)`` returns a copy of one replica, which no later call consumes."""

    explain: Callable[[T, Batch], HaikuStateError | None] = lambda train_state, batch: None
    """``explain(train_state, batch)``, the named error for what JAX has rejected."""

    _: dataclasses.KW_ONLY

    feed_all: Callable[[Iterable[Batch]], Iterator[Batch]] = None  # type: ignore[assignment]
    """``feed_all(batches)`` yields the batches for the calls to the step, in order; by default, it
    applies ``feed`` to every batch."""

    axis_name: str | None = None
    """The name of the device axis, which modules need as their ``cross_replica_axis``; None if the
    step needs no axis name."""

    many_devices: bool = False
    """Whether the step runs on several devices that wait for each other."""

    mesh: Mesh | None = None
    """The mesh of the step's devices, which replaces any mesh in the context; None if the step uses
    no mesh."""

    check_replicas: bool = False
    """Whether the first call ends with a check that all replicas are still equal."""

    trace_count: int = dataclasses.field(default=0, init=False)
    """How many times JAX has traced the step, once for each new shape or dtype of its arguments.

    If the arguments are on a different device or have a different sharding, JAX compiles the step
    again without tracing it, which ``jax.log_compiles`` shows.
    """

    def __post_init__(self) -> None:
        if error := arguments.uncallable("update", self.step, *CALL):
            raise error
        functools.update_wrapper(self, self.step, updated=())  # the fields are the runner's own
        if self.feed_all is None:
            self.feed_all = functools.partial(map, self.feed)
        self.is_evaluation = not consumed(self.step)
        self.check_replicas &= not self.is_evaluation
        self._compiled: Any = None
        self._made: list[Any] = []

    def __call__(self, train_state: T, batch: Batch, /) -> R:
        """Take one step.

        Args:
          train_state: the train state to start from; an update reuses its memory.
          batch: a PyTree of arrays, in the form that ``feed`` returns.

        Returns:
          What the step returns.
        """
        try:
            if self.many_devices:
                self._refuse(train_state)
            # the checked call consumes a copy, so that the given train state outlives the error
            with in_mesh(self.mesh) if self.many_devices else _AS_IT_IS:
                given = copied(train_state) if self.check_replicas else train_state
                new, metrics = (self._compiled or self._program(given))(given, batch)
        except Exception as error:
            if named := self._named(error, train_state, batch):
                raise named from named.__cause__ or error
            raise
        if self.is_evaluation:
            return metrics
        if self.many_devices:
            self._made = [weakref.ref(leaf) for leaf in jax.tree.leaves(new)]
        if self.check_replicas:
            assert_replicas_equal(new, axis_name=self.axis_name or "devices")
            self.check_replicas = False
            for leaf in jax.tree.leaves(train_state):
                if isinstance(leaf, jax.Array):
                    leaf.delete()
        result: Any = new, metrics
        return result

    def lower(self, train_state: T, batch: Batch, /) -> Any:
        """Lower the step to a program that can be inspected, without running it.

        Args:
          train_state: a train state, or its shapes and dtypes.
          batch: a batch, or its shapes and dtypes.

        Returns:
          JAX's ``Lowered`` object; ``.compile().memory_analysis()`` gives the memory of the step in
          bytes.
        """
        try:
            with in_mesh(self.mesh) if self.many_devices else _AS_IT_IS:
                return self._program(train_state).lower(train_state, batch)
        except Exception as error:
            if named := self._named(error, train_state, batch):
                raise named from named.__cause__ or error
            raise

    def _program(self, train_state: T) -> Any:
        step: Any = self.step

        @functools.wraps(step)
        def traced(train_state: T, batch: Batch) -> Any:
            self.trace_count += 1
            result = step(train_state, batch)
            if self.is_evaluation:
                result = None, result
            elif not isinstance(result, tuple) or len(result) != 2:
                raise arguments.step_result(result)
            leaves = leaves_by_path(train_state=result[0], metrics=result[1])
            if leaked := leaked_error(leaves):
                raise leaked
            if not self.is_evaluation:
                check_types(train_state, result[0])
            return result

        self._compiled = self._compiled or self.compile(traced, train_state)
        return self._compiled

    def _refuse(self, train_state: T) -> None:
        """Reject what would end the process once the devices have started."""
        leaves = jax.tree.leaves(train_state)
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            return
        is_own = len(leaves) == len(self._made) and all(
            made() is leaf for made, leaf in zip(self._made, leaves, strict=True)
        )
        if is_own and not any(leaf.is_deleted() for leaf in leaves):
            return
        if consumed := consumed_error(train_state=train_state):
            raise consumed
        if not self.is_evaluation and (shared := shared_error(train_state=train_state)):
            raise shared

    def _named(self, error: Exception, train_state: T, batch: Batch) -> HaikuStateError | None:
        """Return the named error, with what this runner knows of it, if there is one."""
        is_swapped = isinstance(batch, TrainState) and isinstance(train_state, Mapping)
        if is_swapped or _is_result(train_state):
            return arguments.train_state(train_state)
        if isinstance(error, HaikuStateError):
            better = of_runner(error, self.axis_name)
            return None if better is error else better
        found = named_error(error, train_state=train_state, batch=batch)
        if found is None and isinstance(error, _RAISED):
            found = number_error(batch=batch) or self.explain(train_state, batch)
        return found and of_runner(found, self.axis_name)
