"""The average of the params over the last steps, and the running statistics that belong to it."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from haiku_state.contract import check_state
from haiku_state.errors.base import as_lines
from haiku_state.errors.pieces import (
    DecayRateError,
    MissingAverageError,
    MissingParamsError,
    NoBatchesError,
    UsedStateError,
)
from haiku_state.pieces.leaves import is_float, wide_dtype
from haiku_state.typing import Params, State

if TYPE_CHECKING:
    import optax


class AveragedParamsState(NamedTuple):
    """The opt_state of :func:`average_params`."""

    average: Any
    """The averaged params, each with the shape of the param, float32 at least."""

    inner: Any
    """The opt_state of the optimizer inside."""


def average_params(
    optimizer: "optax.GradientTransformation", decay: float
) -> "optax.GradientTransformationExtraArgs":
    r"""Keep an average of the params over the last steps, beside the params themselves.

    .. math::
       a_0 = p_0, \qquad a_t = d\,a_{t-1} + (1 - d)\,p_t
           = d^{\,t} p_0 + (1 - d) \sum_{i=1}^{t} d^{\,t-i}\,p_i

    The average begins at the initial params, which still have the weight :math:`d^{\,t}` after
    :math:`t` steps. It lies in the opt_state, so whatever carries a train state carries it: a
    checkpoint, ``jax.lax.scan``, :func:`replicate`. The params of the training stay as they are;
    evaluate with :func:`averaged_params`, and with a state from :func:`reestimate_state`, since
    the running statistics belong to the params that were not averaged.

    With :func:`scale_loss` put this piece inside, so that a step that is not taken does not
    count: ``scale_loss(average_params(optimizer, 0.99), loss_scale)``.

    Args:
      optimizer: an optax optimizer.
      decay: the weight :math:`d` of the past, in [0, 1).

    Returns:
      An optimizer with the same updates. Its opt_state holds the average, of the params' shapes
      and float32 at least, and the opt_state of ``optimizer``.

    Raises:
      DecayRateError: ``decay`` is outside [0, 1).
      MissingParamsError: at an update, if it is not given the params.

    Example:
      >>> import jax.numpy as jnp, optax
      >>> from haiku_state import average_params, averaged_params
      >>> optimizer = average_params(optax.sgd(1.0), decay=0.5)
      >>> params = {"linear": {"w": jnp.float32(8)}}
      >>> opt_state = optimizer.init(params)
      >>> for _ in range(2):
      ...     updates, opt_state = optimizer.update({"linear": {"w": 4.0}}, opt_state, params)
      ...     params = optax.apply_updates(params, updates)
      ...     print(params["linear"]["w"], averaged_params(opt_state)["linear"]["w"])
      4.0 6.0
      0.0 3.0

    References:
      Polyak and Juditsky, *Acceleration of stochastic approximation by averaging*, 1992;
      ``optax.incremental_update``, the same step outside of an optimizer.
    """
    import optax

    if not 0.0 <= decay < 1.0:
        raise DecayRateError(value=decay)
    inner = optax.with_extra_args_support(optimizer)

    def init(params: Any) -> AveragedParamsState:
        # a copy: a buffer that is both param and average could not be donated
        average = jax.tree.map(lambda p: jnp.array(p, wide_dtype(p), copy=True), params)
        return AveragedParamsState(average, inner.init(params))

    def update(
        updates: Any, state: AveragedParamsState, params: Any = None, **extra_args: Any
    ) -> tuple[Any, AveragedParamsState]:
        if params is None:
            raise MissingParamsError()
        updates, inner_state = inner.update(updates, state.inner, params, **extra_args)
        # a + (1 - d)(p - a), and not d a + (1 - d) p, so that what is frozen keeps every bit
        average = jax.tree.map(
            lambda a, p: a + (1 - decay) * (p.astype(a.dtype) - a),
            state.average,
            optax.apply_updates(params, updates),
        )
        return updates, AveragedParamsState(average, inner_state)

    return optax.GradientTransformationExtraArgs(init, update)


def averaged_params(train_state: Any) -> Params:
    """Take the averaged params out of a train state.

    Args:
      train_state: a train state or its opt_state, with :func:`average_params` anywhere among its
        optimizers; on one device, replicated or sharded.

    Returns:
      The average, as params for ``apply``, float32 at least. It is the array in the train state
      itself, which the next update consumes. Params that :func:`freeze_params` froze around the
      average have their own value.

    Raises:
      MissingAverageError: there is no average, or not of all params.

    Example:
      >>> import jax.numpy as jnp, optax
      >>> from haiku_state import average_params, averaged_params
      >>> optimizer = optax.chain(optax.clip(1.0), average_params(optax.sgd(0.1), 0.99))
      >>> averaged_params(optimizer.init({"linear": {"w": jnp.ones(2)}}))
      {'linear': {'w': Array([1., 1.], dtype=float32)}}

    References:
      :func:`average_params`.
    """
    found = [
        node
        for node in jax.tree.leaves(train_state, is_leaf=_is_averaged)
        if isinstance(node, AveragedParamsState)
    ]
    whole = hasattr(train_state, "opt_state")
    given = "train_state" if whole else "opt_state"
    if not found:
        raise MissingAverageError(paths=as_lines(["params"]), given=given)
    average = found[0].average
    if whole:
        return jax.tree.map(
            lambda a, p: p if _is_masked(a) else a,
            average,
            train_state.params,
            is_leaf=_is_masked,
        )
    leaves = jax.tree_util.tree_leaves_with_path(average, is_leaf=_is_masked)
    if missing := [jax.tree_util.keystr(path) for path, leaf in leaves if _is_masked(leaf)]:
        paths = as_lines(f"params{path}" for path in missing)
        raise MissingAverageError(paths=paths, given=given)
    return average


def reestimate_state(
    apply: Callable[..., tuple[Any, State]],
    params: Params,
    state: State,
    batches: Iterable[Any],
    rng: jax.Array | None = None,
) -> State:
    r"""Estimate the running statistics anew, for params that were not trained with them.

    .. math:: \bar{s} = \frac{1}{n} \sum_{b=1}^{n} s_b

    Here :math:`s_b` is the state after batch :math:`b` alone, begun from the fresh ``state``. For
    :class:`BatchNorm` and ``hk.BatchNorm``, whose averages are corrected for the start, the
    result is the mean of the batches' means and the mean of the batches' variances, each batch
    with equal weight.

    Args:
      apply: ``apply(params, state, rng, batch) -> (output, state)`` in training mode; compile it
        by ``jax.jit`` first.
      params: the params to estimate for, from :func:`averaged_params` say.
      state: a fresh state from ``init``, whose averages have seen nothing.
      batches: what to estimate from; every batch is used once.
      rng: a random key for ``apply``; each batch gets its own. None if it draws nothing.

    Returns:
      A state with the structure, shapes and dtypes of ``state``. Floating leaves are averaged;
      the others, counters say, are those of the first batch.

    Raises:
      NoBatchesError: ``batches`` is empty.
      UsedStateError: a ``counter`` in ``state`` is above 0.
      HaikuStateError: what :func:`check_state` finds with ``is_training=True``.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from haiku_state import BatchNorm, pure_pair, reestimate_state
      >>> model = pure_pair(BatchNorm, True, True, 0.9)
      >>> def apply(params, state, rng, x):
      ...     return model.apply(params, state, rng, x, is_training=True)
      >>> params, fresh = model.init(None, jnp.ones((2, 1)), is_training=True)
      >>> state = reestimate_state(
      ...     jax.jit(apply), params, fresh, [jnp.array([[1.0], [3.0]]), jnp.array([[5.0], [9.0]])])
      >>> for name in ("mean", "var"):
      ...     print(state[f"batch_norm/~/{name}_ema"]["average"].round(3))
      [[4.5]]
      [[2.5]]

    References:
      Izmailov et al., *Averaging weights leads to wider optima and better generalization*, 2018,
      section 3.2; ``torch.optim.swa_utils.update_bn``.
    """
    if used := [path for path, counter in _counters(state) if _is_positive(counter)]:
        raise UsedStateError(paths=as_lines(used))
    average: Any = None
    for index, batch in enumerate(batches):
        key = None if rng is None else jax.random.fold_in(rng, index)
        _, after = apply(params, state, key, batch)
        check_state(state, after, is_training=True)
        if average is None:
            average = jax.tree.map(lambda s: s.astype(wide_dtype(s)) if is_float(s) else s, after)
        else:
            average = jax.tree.map(
                lambda a, s, n=index + 1: a + (s.astype(a.dtype) - a) / n if is_float(s) else a,
                average,
                after,
            )
    if average is None:
        raise NoBatchesError()
    return jax.tree.map(lambda a, s: a.astype(s.dtype) if is_float(a) else a, average, state)


def _counters(state: State) -> Iterable[tuple[str, Any]]:
    """The counters of the exponential moving averages, by path."""
    for module, values in state.items():
        if isinstance(values, Mapping) and {"counter", "hidden", "average"} <= set(values):
            yield f"state[{module!r}]['counter']", values["counter"]


def _is_positive(counter: Any) -> bool:
    return not isinstance(counter, jax.core.Tracer) and bool(jnp.any(counter > 0))


def _is_averaged(node: Any) -> bool:
    return isinstance(node, AveragedParamsState)


def _is_masked(node: Any) -> bool:
    return type(node).__name__ == "MaskedNode"  # optax's, without importing it
