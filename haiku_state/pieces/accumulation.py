"""A large batch in the memory of a small one: gradients accumulated over microbatches."""

from typing import Any, Literal

import jax
import jax.numpy as jnp

from haiku_state.contract import check_state, describe
from haiku_state.errors import LossFunctionError
from haiku_state.errors.pieces import (
    AccumulatedGradientError,
    AccumulationArgumentError,
    MicrobatchError,
)
from haiku_state.pieces.leaves import is_float, wide_dtype
from haiku_state.pieces.scaling import scaled_loss
from haiku_state.typing import Batch, LossFn

STATISTICS = ("each", "once")


def accumulate(
    loss_fn: LossFn,
    count: int,
    *,
    statistics: Literal["each", "once"],
    strict: bool = True,
) -> LossFn:
    r"""Compute a loss and its gradient one microbatch after the other.

    .. math::
       L(p) = \frac{1}{n} \sum_{i=1}^{n} L_i(p), \qquad
       \nabla L(p) = \frac{1}{n} \sum_{i=1}^{n} \nabla L_i(p)

    Each microbatch runs forward and backward before the next one begins, so that the step needs
    the memory of one: the batch is as large as it likes. Without normalization the update is that
    of the whole batch. With :class:`BatchNorm` it is not: each microbatch is normalized by its
    own mean and variance. What becomes of the running statistics is said by ``statistics``.

    Microbatch ``i`` has the rows ``i``, ``i + count``, ``i + 2 * count`` and so on, so that each
    device of a sharded batch works on its own rows. All microbatches count the same, so pad none.

    The result has a gradient by the params, computed together with the loss. Put other pieces
    inside: ``accumulate(mixed_precision(loss_fn, policy), 4, statistics="once")``.

    Where each microbatch is a call of its own, from a loader say, ``optax.MultiSteps(optimizer,
    count)`` does it from the optimizer's side: it holds the gradients in the opt_state and takes
    a step at every ``count``-th call. The running statistics then move as with ``"each"``.

    Args:
      loss_fn: ``loss_fn(params, state, rng, batch) -> (loss, (state, metrics))``, the loss a
        mean over the examples.
      count: the number of microbatches, at least 1; it must divide the rows.
      statistics: ``"each"`` hands the state from one microbatch to the next, so that running
        statistics advance ``count`` times per update. ``"once"`` starts each microbatch from the
        same state and averages the floating leaves of what they return, so that running
        statistics advance once; other leaves, counters say, must come out the same everywhere.
      strict: whether each returned state must pass :func:`check_state` with
        ``is_training=True``, as in :func:`make_update`.

    Returns:
      A loss function of the same signature. Its loss and metrics are the means over the
      microbatches, each of which draws with its own random key.

    Raises:
      AccumulationArgumentError: ``count`` is below 1, or ``statistics`` is neither of the two.
      MicrobatchError: at a call, if the rows do not divide.
      LossFunctionError: at a call, if ``loss_fn`` returns anything else.
      AccumulatedGradientError: where a gradient by anything but the params is asked for, or one
        of the metrics or of the state.
      HaikuStateError: at a call, what :func:`check_state` finds in a returned state.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from haiku_state import accumulate
      >>> def loss_fn(params, state, rng, batch):
      ...     return jnp.mean((params["w"] - batch["x"]) ** 2), (state, {})
      >>> batch = {"x": jnp.arange(8.0)}
      >>> whole, parts = loss_fn, accumulate(loss_fn, 4, statistics="once")
      >>> for function in (whole, parts):
      ...     (loss, _), grads = jax.value_and_grad(function, has_aux=True)(
      ...         {"w": jnp.float32(0)}, {}, jax.random.key(0), batch)
      ...     print(loss, grads["w"])
      17.5 -7.0
      17.5 -7.0

    References:
      Optax's documentation, `Gradient accumulation
      <https://optax.readthedocs.io/en/latest/_collections/examples/gradient_accumulation.html>`__.
    """
    valid = {"count": "1, 2, …", "statistics": "'each', 'once'"}
    given = {"count": count, "statistics": statistics}
    holds = {
        "count": isinstance(count, int) and count >= 1,
        "statistics": statistics in STATISTICS,
    }
    for argument, good in holds.items():
        if not good:
            raise AccumulationArgumentError(
                argument=argument, value=given[argument], valid=valid[argument], **given
            )
    return Accumulated(loss_fn, count, statistics, strict)


class Accumulated:
    """What :func:`accumulate` returns: a loss function that computes its own gradient."""

    def __init__(
        self, loss_fn: LossFn, count: int, statistics: str, strict: bool, scale: Any = None
    ) -> None:
        self.loss_fn = loss_fn
        self.count = count
        self.statistics = statistics
        self.strict = strict
        self.scale = scale

    def scaled(self, scale: Any) -> LossFn:
        """Multiply the loss by a scale before the gradient is taken, not after."""
        return Accumulated(self.loss_fn, self.count, self.statistics, self.strict, scale)

    def __call__(self, params: Any, state: Any, rng: Any, batch: Batch, /) -> Any:
        """Compute the mean loss; its gradient too, where one is asked for."""
        parts = (None if rng is None else jax.random.split(rng, self.count), self._cut(batch))

        @jax.custom_vjp
        def mean_loss(params, state, parts, scale):  # type: ignore[no-untyped-def]
            return self._run(params, state, parts, scale)[0]

        def forward(params: Any, state: Any, parts: Any, scale: Any) -> Any:
            _no_gradient_by(state=state, batch=parts)
            params, state, parts, scale = _values((params, state, parts, scale))
            return self._run(params, state, parts, scale, with_grads=True)

        def backward(grads: Any, cotangents: Any) -> Any:
            by_loss, others = cotangents
            if not all(map(_is_zero, jax.tree.leaves(others, is_leaf=_is_zero))):
                wrong = 'loss, (state, metrics) = …; loss + metrics["penalty"]'
                raise AccumulatedGradientError(part="metrics", wrong=wrong)
            by_params = jax.tree.map(lambda g: g * by_loss.astype(g.dtype), grads)
            return by_params, None, None, None

        mean_loss.defvjp(forward, backward, symbolic_zeros=True)
        return mean_loss(params, state, parts, self.scale)

    def _cut(self, batch: Batch) -> Any:
        for path, leaf in jax.tree_util.tree_leaves_with_path(batch):
            shape = jnp.shape(leaf)
            if not shape or shape[0] % self.count:
                rows = shape[0] if shape else 0
                raise MicrobatchError(
                    path=f"batch{jax.tree_util.keystr(path)}",
                    shape=shape,
                    count=self.count,
                    statistics=self.statistics,
                    fitting=self.count * max(1, rows // self.count),
                )

        def cut(leaf: Any) -> Any:
            rows, *rest = leaf.shape
            return leaf.reshape(rows // self.count, self.count, *rest).swapaxes(0, 1)

        return jax.tree.map(cut, batch)

    def _run(
        self, params: Any, state: Any, parts: Any, scale: Any, with_grads: bool = False
    ) -> Any:
        each = self.statistics == "each"
        loss_fn = scaled_loss(self.loss_fn, scale)

        def objective(params: Any, state: Any, key: Any, batch: Any) -> Any:
            result = loss_fn(params, state, key, batch)
            match result:
                case (loss, (new_state, dict() as metrics)) if jnp.shape(loss) == ():
                    check_state(state, new_state, is_training=True if self.strict else None)
                    return loss, (new_state, metrics)
            raise LossFunctionError(returned=str(jax.tree.map(describe, result)).replace("'", ""))

        def step(carry: Any, part: Any) -> Any:
            grads, kept = carry
            before = kept if each else state
            if with_grads:
                compute = jax.value_and_grad(objective, has_aux=True)
                (loss, (after, metrics)), more = compute(params, before, *part)
                grads = jax.tree.map(lambda g, m: g + m.astype(g.dtype), grads, more)
            else:
                loss, (after, metrics) = objective(params, before, *part)
            kept = after if each else jax.tree.map(_add, kept, after)
            return (grads, kept), (loss, metrics)

        grads = jax.tree.map(_zeros, params) if with_grads else None
        kept = state if each else jax.tree.map(lambda s: _zeros(s) if is_float(s) else s, state)
        (grads, kept), results = jax.lax.scan(step, (grads, kept), parts)
        loss, metrics = jax.tree.map(lambda leaf: jnp.mean(leaf, axis=0), results)
        if with_grads:
            grads = jax.tree.map(lambda g, p: (g / self.count).astype(p.dtype), grads, params)
        if not each:
            kept = jax.tree.map(
                lambda k, s: (k / self.count).astype(s.dtype) if is_float(s) else k, kept, state
            )
        return (loss, (kept, metrics)), grads


def _zeros(leaf: Any) -> jax.Array:
    # float32 at least, so that small summands are not lost
    return jnp.zeros(leaf.shape, wide_dtype(leaf))


def _add(total: Any, leaf: Any) -> Any:
    return total + leaf.astype(total.dtype) if is_float(total) else leaf


def _no_gradient_by(**arguments: Any) -> None:
    for name, argument in arguments.items():
        if any(leaf.perturbed for leaf in jax.tree.leaves(argument, is_leaf=_is_primal)):
            wrong = "jax.grad(accumulate(loss_fn, …), argnums=1)"
            raise AccumulatedGradientError(part=name, wrong=wrong)


def _values(arguments: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf.value, arguments, is_leaf=_is_primal)


def _is_primal(leaf: Any) -> bool:
    return hasattr(leaf, "perturbed")


def _is_zero(leaf: Any) -> bool:
    return isinstance(leaf, jax.custom_derivatives.SymbolicZero)
