"""One pure evaluation step, which reads a train state and does not change it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haiku_state.errors import DeviceStackedError, arguments
from haiku_state.errors.diagnosis import named_errors
from haiku_state.pure.check import check_state
from haiku_state.typing import Batch, EvaluateFn, Metrics, Params, State
from haiku_state.update.step import as_metric, example_mean
from haiku_state.update.train_state import TrainState


def make_evaluate(
    metrics_fn: Callable[[Params, State, Batch], tuple[Mapping[str, Any], State]],
) -> EvaluateFn[TrainState]:
    r"""Build an evaluation step from a function that returns metrics for each example.

    .. math:: (p, s, x) \mapsto \frac{\sum_i w_i\,m(p, s, x)_i}{\sum_i w_i}

    Here :math:`w` is ``batch["mask"]`` or ``batch.mask``, which is 1 for an example and 0 for a
    padded row, as :func:`batches` makes it with ``remainder="pad"``; without a mask, all rows are
    examples. All runners accept an evaluation step in place of an update step, and all of them give
    the same means. The train state is neither changed nor consumed.

    Args:
      metrics_fn: ``metrics_fn(params, state, batch) -> (metrics, state)``. The metrics are a dict
        of arrays of shape (rows, …), which hold the values of each example. The state must be the
        one that ``apply`` returned with ``is_training=False``: if ``metrics_fn`` returned the state
        that it was given, a mistaken ``is_training=True`` could not be detected.

    Returns:
      ``evaluate(train_state, batch, *, axis_name=None) -> metrics``. The metrics contain the mean
      of each metric, a scalar of at least float32, and ``"examples"``, the number of examples that
      were averaged; see :func:`mean_metrics`.

    Raises:
      ArgumentError: ``metrics_fn`` cannot be called with ``(params, state, batch)``; also when
        ``evaluate`` is called, if ``metrics_fn`` does not return metrics of each example together
        with a state.
      CounterAdvancedError: when ``evaluate`` is called, if ``metrics_fn`` returns a state whose
        statistics have been updated.
      DeviceStackedError: when ``evaluate`` is called, if the train state has a device axis.

    Example:
      >>> import jax, jax.numpy as jnp, numpy as np, optax
      >>> from haiku_state import batches, init_train_state, jit_update, LinearRegression
      >>> from haiku_state import make_evaluate, mean_metrics, pure_pair
      >>> model = pure_pair(LinearRegression)
      >>> def metrics_fn(params, state, batch):
      ...     prediction, state = model.apply(params, state, None, batch["inputs"], False)
      ...     return {"error": jnp.abs(prediction - batch["targets"])}, state
      >>> data = {"inputs": np.ones((3, 2)), "targets": np.array([1.0, 2.0, 6.0])}
      >>> train_state = init_train_state(
      ...     model.init, optax.sgd(0.1), jax.random.key(0), data["inputs"], True)
      >>> run = jit_update(make_evaluate(metrics_fn))
      >>> padded = batches(data, 2, remainder="pad")
      >>> mean_metrics(run(train_state, run.feed(batch)) for batch in padded)
      {'error': 3.0}

    References:
      :func:`example_mean`.
    """
    if error := arguments.uncallable("metrics_fn", metrics_fn, "params", "state", "batch"):
        raise error

    def evaluate(train_state: TrainState, batch: Batch, *, axis_name: str | None = None) -> Metrics:
        if not hasattr(train_state, "params"):
            raise arguments.train_state(train_state)
        params, state, step = train_state.params, train_state.state, train_state.step
        if jnp.ndim(step):
            raise DeviceStackedError(path="train_state.step", shape=jnp.shape(step), expected=())
        with named_errors(params=params, state=state, batch=batch):
            result = metrics_fn(params, state, batch)
            if not isinstance(result, tuple) or len(result) != 2:
                raise arguments.evaluated(result)
            values, after = result
            mask, rows = _mask_of(batch), _rows_of(values, batch)
            check_state(state, after, is_training=False)
        means = {
            name: example_mean(as_metric(each), mask, axis_name) for name, each in values.items()
        }
        examples = jnp.float32(rows) if mask is None else jnp.sum(mask, dtype=jnp.float32)
        if axis_name is not None:
            examples = jax.lax.psum(examples, axis_name)
        return {**means, "examples": examples}

    evaluate.is_evaluation = True  # type: ignore[attr-defined]
    return evaluate


def _rows_of(values: Any, batch: Batch) -> int:
    """Return how many rows metrics have: as many as some part of the batch, and as its mask."""
    if not isinstance(values, Mapping) or not values or "examples" in values:
        raise arguments.example_metrics(values)
    parts = {np.shape(leaf)[:1] for leaf in jax.tree.leaves(batch)}
    mask = {np.shape(leaf)[:1] for leaf in [_mask_of(batch)] if leaf is not None}
    rows = {np.shape(each)[:1] for each in values.values()} | mask
    if len(rows) > 1 or rows == {()} or not rows <= parts:
        raise arguments.example_metrics(values)
    [(count,)] = rows
    return count


def _mask_of(batch: Batch) -> Any:
    if isinstance(batch, Mapping):
        return batch.get("mask")
    return None if hasattr(batch, "dtype") else getattr(batch, "mask", None)


def mean_metrics(metrics: Metrics | Iterable[Metrics]) -> dict[str, float]:
    r"""Average the metrics of several batches over all their examples.

    .. math:: \frac{\sum_b n_b\,m_b}{\sum_b n_b}

    Args:
      metrics: the results of calls to an evaluation step, each with ``"examples"``. A stack of
        results from :func:`scan_update` counts as several results, and a single result need not be
        in a list.

    Returns:
      A dict with the mean of each metric as a Python float, or NaN if there is no example.

    Raises:
      ArgumentError: the metrics lack ``"examples"``, the number of examples that were averaged.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state import mean_metrics
      >>> mean_metrics([{"accuracy": 1.0, "examples": 3}, {"accuracy": 0.5, "examples": 1}])
      {'accuracy': 0.875}

    References:
      :func:`make_evaluate`.
    """
    metrics = [metrics] if isinstance(metrics, Mapping) else metrics
    rows: list[dict[str, Any]] = [dict(jax.device_get(each)) for each in metrics]
    if not all("examples" in row for row in rows):
        raise arguments.uncounted_metrics(rows)
    columns = {
        name: np.concatenate([np.ravel(row[name]) for row in rows]).astype(np.float64)
        for name in (rows[0] if rows else ())
    }
    counts = columns.pop("examples", np.zeros(0))
    total = counts.sum()
    return {
        name: float(np.dot(counts, values) / total) if total else float("nan")
        for name, values in columns.items()
    }
