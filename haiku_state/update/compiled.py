"""A compiled update step that counts its traces, and the ways to run it on one device."""

import functools
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import jax
import jax.numpy as jnp

from haiku_state.diagnosis import named_buffers
from haiku_state.errors import HaikuStateError
from haiku_state.typing import Batch, Metrics, UpdateFn

T = TypeVar("T")
Explain = Callable[[Any, Any], HaikuStateError | None]


class _WeaklyTyped(Exception):  # noqa: N818  # a signal, not an error
    """What the trace met has a weak type: the call must begin again with arrays."""


class CompiledUpdate(Generic[T]):
    """An update step as :func:`jit_update` and its like return it: it consumes its train state.

    A Python number in the train state or in the batch becomes an array of the dtype that stood in
    its place before, so that a new learning rate does not compile the step again.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state import jit_update
      >>> def scale(total, batch, *, axis_name=None):
      ...     return total * batch["factor"], {}
      >>> run = jit_update(scale)
      >>> total = jnp.float32(3)
      >>> for factor in (1.0, jnp.float32(2.0), 10):
      ...     total, metrics = run(total, {"factor": factor})
      >>> print(total, run.trace_count)
      60.0 1

    References:
      JAX's documentation, `Key concepts
      <https://docs.jax.dev/en/latest/key-concepts.html>`__, on tracing.
    """

    trace_count: int
    """How often JAX has traced, and so compiled, the step."""

    def __init__(
        self,
        update: Callable[..., Any],
        transform: Callable[[Callable[..., Any]], Any],
        explain: Explain | None = None,
    ) -> None:
        functools.update_wrapper(self, update)
        self.trace_count = 0
        self._dtypes: dict[Any, list[Any]] = {}
        self._numbers = False  # whether Python numbers have been met
        self._explain = explain

        def traced(train_state: Any, batch: Any) -> Any:
            leaves, structure = jax.tree.flatten((train_state, batch))
            if any(getattr(leaf, "weak_type", False) for leaf in leaves):
                raise _WeaklyTyped
            self._dtypes[structure] = [jnp.result_type(leaf) for leaf in leaves]
            self.trace_count += 1
            return update(train_state, batch)

        self._compiled: Any = transform(functools.wraps(update)(traced))
        self._run = named_buffers(self._compiled)

    def __call__(self, train_state: T, batch: Batch, /) -> tuple[T, Metrics]:
        """Take one step.

        Args:
          train_state: what to start from; its memory is reused.
          batch: named arrays.

        Returns:
          The new train state, and the metrics.
        """
        return self._call(self._run, train_state, batch)

    def _call(self, run: Callable[..., Any], train_state: Any, batch: Any) -> Any:
        try:
            if self._numbers:
                return run(*self._as_arrays(train_state, batch))
            return run(train_state, batch)
        except _WeaklyTyped:
            self._numbers = True
            return run(*self._as_arrays(train_state, batch))
        except HaikuStateError:
            raise
        except (TypeError, ValueError, IndexError) as error:
            if self._explain and (named := self._explain(train_state, batch)):
                raise named from error
            raise

    def lower(self, train_state: T, batch: Batch, /) -> Any:
        """Lower to a program for these arguments without running it, to look at it.

        Args:
          train_state: a train state, or its shapes and dtypes.
          batch: a batch, or its shapes and dtypes.

        Returns:
          JAX's ``Lowered``; ``.compile().memory_analysis()`` says what the step needs, in bytes.
        """
        return self._compiled.lower(train_state, batch)

    def _as_arrays(self, train_state: Any, batch: Any) -> Any:
        leaves, structure = jax.tree.flatten((train_state, batch))
        known = self._dtypes.get(structure) or [None] * len(leaves)
        return jax.tree.unflatten(structure, map(_as_array, leaves, known))


def _as_array(leaf: Any, known: Any) -> Any:
    if type(leaf) not in (int, float, complex) and not getattr(leaf, "weak_type", False):
        return leaf
    own = jnp.result_type(leaf)
    # an int may stand for a float, but a float must not be cut to an int
    fits = known is not None and not jnp.issubdtype(known, jax.dtypes.prng_key)
    fits = fits and _rank(own) <= _rank(known)
    return jnp.asarray(leaf, known if fits else own)


def _rank(dtype: Any) -> int:
    kinds = (jnp.integer, jnp.floating, jnp.complexfloating)
    return next((i for i, kind in enumerate(kinds) if jnp.issubdtype(dtype, kind)), -1)


def jit_update(update: UpdateFn) -> CompiledUpdate[Any]:
    """Compile an update step for one device.

    The train state is donated: its buffers are reused for the new one, and the old one can no
    longer be read.

    Args:
      update: what :func:`make_update` gave.

    Returns:
      ``run(train_state, batch) -> (train_state, metrics)``, compiled once per batch shape, as
      ``run.trace_count`` shows.

    Raises:
      DonatedBufferError: at a call, if an earlier one has consumed the train state.
      SharedBufferError: at a call, if two leaves of the train state are one array.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state import jit_update
      >>> def add(total, batch, *, axis_name=None):
      ...     return total + batch["x"].sum(), {}
      >>> total, metrics = jit_update(add)(jnp.float32(1), {"x": jnp.ones(3)})
      >>> print(total)
      4.0

    References:
      JAX's documentation, `Buffer donation
      <https://docs.jax.dev/en/latest/buffer_donation.html>`__.
    """
    return CompiledUpdate(update, donating_jit)


def donating_jit(function: Callable[..., Any]) -> Any:
    """Compile a function of ``(train_state, batch)`` that consumes its train state."""
    # Training writes an average and never reads it. Were it left out of the program, its memory
    # would not be reused, and that of the other leaves would go to their neighbors, by copies.
    return jax.jit(function, donate_argnums=0, keep_unused=True)
