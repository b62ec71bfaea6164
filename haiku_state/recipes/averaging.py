"""The average of the params over the last steps, and the running statistics that belong to it."""

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp

from haiku_state.errors import MissingAverageError, arguments
from haiku_state.errors.base import as_lines
from haiku_state.pure.check import average_counters, check_state
from haiku_state.typing import (
    Batch,
    Metrics,
    Params,
    Predicate,
    State,
    UpdateFn,
    is_float,
    wide_dtype,
)
from haiku_state.update.step import taken_steps
from haiku_state.update.train_state import TrainState

if TYPE_CHECKING:
    import optax


DecayRate: TypeAlias = float | Callable[[jax.Array], Any]


class AveragedParamsState(NamedTuple):
    """What :func:`average_params` adds to the opt_state."""

    average: Any
    """The averaged params, each with the shape of the param, in at least float32."""

    step: jax.Array
    """The number of updates so far, a scalar of dtype int32."""


class AveragedTrainState(NamedTuple):
    """A :class:`.TrainState` with an additional field for the average of :func:`average_state`."""

    params: Params
    state: State
    opt_state: Any
    rng: jax.Array
    step: jax.Array
    average: State
    """The averaged state, with the shapes and dtypes of ``state``."""


def average_params(
    optimizer: "optax.GradientTransformation", decay_rate: DecayRate
) -> "optax.GradientTransformationExtraArgs":
    r"""Keep an exponential moving average of the params, alongside the params themselves.

    .. math::
       a_0 = p_0, \qquad a_t = d\,a_{t-1} + (1 - d)\,p_t
           = d^{\,t} p_0 + (1 - d) \sum_{i=1}^{t} d^{\,t-i}\,p_i

    The average starts at the initial params, which still have the weight :math:`d^{\,t}` after
    :math:`t` steps. This weight decreases faster if the decay rate is small at first:
    ``lambda step: jnp.minimum(0.999, (1 + step) / (10 + step))``. The average is part of the
    opt_state, so it goes wherever the train state goes: into a checkpoint, through
    ``jax.lax.scan``, onto all devices with :func:`.replicate`. It does not affect the params that
    are trained. For evaluation, use :func:`averaged_params` and a state from
    :func:`reestimate_state`, because the running statistics belong to the params that were not
    averaged. Alternatively, :func:`average_state` averages the running statistics in the same way.

    To combine this recipe with :func:`scale_loss`, apply this recipe first, so that skipped steps
    do not enter the average: ``scale_loss(average_params(optimizer, 0.99), loss_scale)``. In an
    ``optax.chain``, put this recipe last, because it computes the average from the final updates.

    Args:
      optimizer: an Optax optimizer.
      decay_rate: the weight :math:`d` of the previous average, in [0, 1); or a schedule as in
        Optax, which gets the number of earlier updates, :math:`t - 1`, and returns this weight.

    Returns:
      An optimizer with the same updates. Its opt_state holds the opt_state of ``optimizer`` and the
      average, which has the shapes of the params and at least the precision of float32.

    Raises:
      ArgumentError: ``decay_rate`` is outside [0, 1), or the returned optimizer is called without
        the params.

    Example:
      >>> import jax.numpy as jnp, optax
      >>> from haiku_state.recipes import average_params, averaged_params
      >>> optimizer = average_params(optax.sgd(1.0), decay_rate=0.5)
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
      ``optax.incremental_update``, which does the same step outside an optimizer.
    """
    import optax

    if error := arguments.optimizer(optimizer):
        raise error
    rate_at = _rate_at(decay_rate)

    def init(params: Any) -> AveragedParamsState:
        # a copy: a buffer that is both param and average could not be donated
        average = jax.tree.map(lambda p: jnp.array(p, wide_dtype(p), copy=True), params)
        return AveragedParamsState(average, jnp.zeros((), jnp.int32))

    def update(
        updates: Any, state: AveragedParamsState, params: Any = None
    ) -> tuple[Any, AveragedParamsState]:
        if params is None:
            raise arguments.missing_params()
        after = optax.apply_updates(params, updates)
        average = _moved(state.average, after, rate_at(state.step))
        return updates, AveragedParamsState(average, state.step + 1)

    return optax.chain(optimizer, optax.GradientTransformation(init, update))


def average_state(
    update: UpdateFn[TrainState], decay_rate: DecayRate
) -> UpdateFn[AveragedTrainState]:
    r"""Keep an exponential moving average of the state, alongside the state itself.

    .. math:: a_t = d\,a_{t-1} + (1 - d)\,s_t

    This recipe does for the running statistics what :func:`average_params` does for the params:
    with the same decay rate, both averages have the same weights. It needs no extra pass over the
    data. With such a pass, :func:`reestimate_state` computes the statistics of the averaged params
    themselves.

    Args:
      update: an update step from :func:`.make_update`.
      decay_rate: the decay rate, as in :func:`average_params`. A schedule gets
        ``train_state.step``, which also counts the steps that the optimizer skips. A skipped step
        does not change the average.

    Returns:
      An update step like ``update``, for a train state with one more field. The first train state
      is ``AveragedTrainState(*train_state, train_state.state)``, and an evaluation uses
      ``train_state._replace(params=averaged_params(train_state), state=train_state.average)``. In
      the average, leaves that are not floating, such as counters, have the values of the current
      state.

    Raises:
      ArgumentError: ``decay_rate`` is outside [0, 1), or the returned step is called with a train
        state that has no average.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from haiku_state import TrainState, jit_update
      >>> from haiku_state.recipes import AveragedTrainState, average_state
      >>> def update(train_state, batch, *, axis_name=None):
      ...     return train_state._replace(state={"ema": {"mean": batch.mean()}}), {}
      >>> state = {"ema": {"mean": jnp.float32(0)}}
      >>> start = TrainState({}, state, (), jax.random.key(0), jnp.int32(0))
      >>> run = jit_update(average_state(update, decay_rate=0.5))
      >>> train_state = run.place(AveragedTrainState(*start, start.state))
      >>> for batch in (jnp.array([4.0]), jnp.array([8.0])):
      ...     train_state, metrics = run(train_state, batch)
      ...     print(train_state.state["ema"]["mean"], train_state.average["ema"]["mean"])
      4.0 2.0
      8.0 5.0

    References:
      Brock et al., *High-performance large-scale image recognition without normalization*, 2021,
      whose training program averages params and state in this way.
    """
    rate_at = _rate_at(decay_rate)

    def averaged(
        train_state: AveragedTrainState, batch: Batch, *, axis_name: str | None = None
    ) -> tuple[AveragedTrainState, Metrics]:
        if not hasattr(train_state, "average"):
            raise arguments.train_state(train_state, "AveragedTrainState")
        *parts, average = train_state
        after, metrics = update(TrainState(*parts), batch, axis_name=axis_name)
        moved = _moved(average, after.state, rate_at(train_state.step))
        for is_taken in taken_steps(after.opt_state):
            moved = jax.tree.map(functools.partial(jnp.where, is_taken), moved, average)
        return AveragedTrainState(*after, moved), metrics

    return averaged


def _rate_at(decay_rate: DecayRate) -> Callable[[jax.Array], Any]:
    """Return the decay rate as a function of the number of updates before."""
    if callable(decay_rate):
        return decay_rate
    if not 0.0 <= decay_rate < 1.0:
        raise arguments.decay_rate(decay_rate, "api/recipes")
    return lambda count: decay_rate


def _moved(average: Any, values: Any, decay_rate: Any) -> Any:
    """Move an average towards new values; what is no floating number is replaced."""

    def moved(a: Any, x: Any) -> Any:
        if not is_float(a):
            return x
        old, new = (leaf.astype(wide_dtype(a)) for leaf in (a, x))
        # a + (1 - d)(x - a), and not d a + (1 - d) x, so that what is frozen keeps every bit
        return (old + jnp.asarray(1 - decay_rate, old.dtype) * (new - old)).astype(a.dtype)

    return jax.tree.map(moved, average, values)


def averaged_params(train_state: Any) -> Params:
    """Return the averaged params of a train state.

    Args:
      train_state: a train state or its opt_state, which may be on one device, replicated or
        sharded. One of its optimizers must be an :func:`average_params`, at any depth.

    Returns:
      The averaged params, which can be passed to ``apply``, in at least float32. They are the same
      arrays as in the train state, so the next update may donate their memory. Params that a
      :func:`freeze_params` around the average freezes keep their own values.

    Raises:
      MissingAverageError: the train state has no average, or the average does not cover all params.
      ArgumentError: the train state has more than one average.

    Example:
      >>> import jax.numpy as jnp, optax
      >>> from haiku_state.recipes import average_params, averaged_params
      >>> optimizer = optax.chain(optax.clip(1.0), average_params(optax.sgd(0.1), 0.99))
      >>> averaged_params(optimizer.init({"linear": {"w": jnp.ones(2)}}))
      {'linear': {'w': Array([1., 1.], dtype=float32)}}

    References:
      :func:`average_params`, which computes the average.
    """
    import optax

    def is_average(node: Any) -> bool:
        return isinstance(node, AveragedParamsState)

    def is_masked(node: Any) -> bool:
        return isinstance(node, optax.MaskedNode)

    is_whole = hasattr(train_state, "opt_state")
    nodes = jax.tree.leaves(train_state, is_leaf=is_average)
    averages = [node.average for node in nodes if is_average(node)]
    if len(averages) > 1:
        raise arguments.several_averages()
    # without any average, a MaskedNode stands for all params, as it does for a frozen one
    average = averages[0] if averages else optax.MaskedNode()
    if is_whole and not is_masked(average):
        return jax.tree.map(
            lambda a, p: p if is_masked(a) else a, average, train_state.params, is_leaf=is_masked
        )
    leaves = jax.tree_util.tree_leaves_with_path(average, is_leaf=is_masked)
    missing = [f"params{jax.tree_util.keystr(path)}" for path, leaf in leaves if is_masked(leaf)]
    if missing:
        raise MissingAverageError(paths=as_lines(missing))
    return average


def reestimate_state(
    apply: Callable[..., tuple[Any, State]],
    params: Params,
    state: State,
    batches: Iterable[Any],
    rng: jax.Array | None = None,
    *,
    frozen: Predicate | None = None,
) -> State:
    r"""Re-estimate the running statistics for params that have none of their own, such as averages.

    .. math:: \bar{s} = \frac{1}{n} \sum_{b=1}^{n} s_b

    Here :math:`s_b` is the state that ``apply`` returns for batch :math:`b` when it starts from the
    fresh ``state``. For :class:`.BatchNorm` and ``hk.BatchNorm``, whose averages are corrected for
    starting at zero, the result is the mean of the batch means and the mean of the batch variances,
    with equal weight for each batch.

    Args:
      apply: ``apply(params, state, rng, batch) -> (output, state)`` in training mode; for speed,
        compile this function with ``jax.jit`` first.
      params: the params for which the statistics are estimated, such as the result of
        :func:`averaged_params`.
      state: a fresh state from ``init``, whose averages contain no data yet.
      batches: the batches from which the statistics are estimated; every batch is used once.
      rng: a random key for ``apply``, from which each batch gets its own key; pass None if
        ``apply`` draws no random numbers.
      frozen: the same argument as in :func:`.check_state`; frozen state may already contain
        statistics.

    Returns:
      A state with the structure, shapes and dtypes of ``state``. Its floating leaves are averages;
      other leaves, such as counters, have their values after the first batch.

    Raises:
      ArgumentError: ``batches`` is empty, or ``state`` already holds statistics.
      HaikuStateError: the function raises any error of :func:`.check_state` with
        ``is_training=True``.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from haiku_state import BatchNorm, pure_pair
      >>> from haiku_state.recipes import reestimate_state
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
    if any(_is_positive(counter) for _, counter in average_counters(state, frozen).values()):
        raise arguments.used_statistics()
    average: Any = None
    for index, batch in enumerate(batches):
        key = None if rng is None else jax.random.fold_in(rng, index)
        _output, after = apply(params, state, key, batch)
        check_state(state, after, is_training=True, frozen=frozen)
        if average is None:
            average = after
        average = jax.tree.map(
            lambda a, s, n=index + 1: a + (s - a) / n if is_float(s) else a, average, after
        )
    if average is None:
        raise arguments.no_batches()
    return average


def _is_positive(counter: Any) -> bool:
    return not isinstance(counter, jax.core.Tracer) and bool(jnp.any(counter > 0))
