"""A large batch in the memory of a small batch: gradients accumulated over microbatches."""

import functools
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp

from haiku_state.errors import arguments
from haiku_state.pure.check import check_state
from haiku_state.typing import Batch, LossFn, Predicate, is_float, wide_dtype
from haiku_state.update.step import as_metric, expect_loss


def accumulate(
    loss_fn: LossFn,
    count: int,
    *,
    statistics: Literal["each", "once"],
    strict: bool = True,
    frozen: Predicate | None = None,
    weight: Callable[[Batch], jax.Array] | None = None,
) -> LossFn:
    r"""Compute a loss and its gradient one microbatch at a time, to save memory.

    .. math::
       L(p) = \frac{\sum_i w_i L_i(p)}{\sum_i w_i}, \qquad
       \nabla L(p) = \frac{\sum_i w_i \nabla L_i(p)}{\sum_i w_i}

    The microbatches run one after another, and the backward pass computes each of them a second
    time, so that only one microbatch is in memory at a time (``jax.checkpoint`` inside
    ``jax.lax.scan``). This allows a much larger batch at the cost of about a third more computing
    time. If the loss uses neither normalization nor random numbers, the update is the same as with
    the whole batch, up to rounding. With :class:`.BatchNorm`, the update is different, because each
    microbatch is normalized by its own mean and variance. ``statistics`` determines how the running
    statistics advance.

    Microbatch ``i`` consists of the rows ``i``, ``i + count``, ``i + 2 * count`` and so on, so that
    each device of a sharded batch works on its own rows. By default, all microbatches have the same
    weight :math:`w_i`; if the batch is padded, pass ``weight``.

    If each microbatch is passed to a separate call, for example because it comes from a data
    loader, use ``optax.MultiSteps(optimizer, count)`` instead. This optimizer accumulates the
    gradients in its opt_state and changes the params only at every ``count``-th call. The running
    statistics then advance as with ``"each"``.

    Args:
      loss_fn: ``loss_fn(params, state, rng, batch) -> (loss, (state, metrics))``, where the loss is
        a mean over the examples.
      count: the number of microbatches, at least 1; it must divide the number of rows.
      statistics: how the running statistics advance. ``"each"`` passes the state from one
        microbatch to the next, so they advance ``count`` times per update. ``"once"`` starts each
        microbatch from the same state and averages the floating leaves of the resulting states, so
        they advance once; other leaves, such as counters, must be the same in all of these states.
        The average gives all states the same weight, except that it leaves out a state that has not
        changed.
      strict: whether each returned state must pass :func:`.check_state` with
        ``is_training=True``, as in :func:`.make_update`.
      frozen: the same argument as in :func:`.make_update`.
      weight: ``weight(microbatch)``, a function that returns the number of examples in a microbatch
        of a padded batch. The argument ``weight`` of :func:`.make_update` is needed as well.

    Returns:
      A loss function with the same signature. Its loss and metrics are means over the microbatches,
      and each microbatch draws with its own random key.

    Raises:
      ArgumentError: ``count`` is below 1, or ``statistics`` is neither ``"each"`` nor ``"once"``.
      BatchDivisionError: raised by the returned function if ``count`` does not divide the number of
        rows.
      LossFunctionError: raised by the returned function if ``loss_fn`` does not return
        ``(loss, (state, metrics))``.
      HaikuStateError: the returned function raises any error of :func:`.check_state`.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from haiku_state.recipes import accumulate
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
    fits = isinstance(count, int) and count >= 1
    if not fits or statistics not in ("each", "once"):
        raise arguments.microbatches(count, statistics, fits)
    hands_on = statistics == "each"

    def accumulated(params: Any, state: Any, rng: Any, batch: Batch, /) -> Any:
        # the gradients are summed in float32 at least, so that small gradients are not lost
        wide = jax.tree.map(lambda p: p.astype(wide_dtype(p)), params)

        def one_loss(wide: Any, before: Any, rng: Any, rows: Any) -> Any:
            narrow = jax.tree.map(lambda w, p: w.astype(p.dtype), wide, params)
            loss, after, metrics = expect_loss(loss_fn(narrow, before, rng, rows))
            metrics = jax.tree.map(as_metric, metrics)
            check_state(before, after, is_training=True if strict else None, frozen=frozen)
            return loss, after, metrics

        def step(before: Any, part: Any) -> Any:
            before = jax.lax.stop_gradient(before)
            loss, after, metrics = jax.checkpoint(one_loss, prevent_cse=False)(wide, before, *part)
            if hands_on:
                return after, (loss, metrics, None)
            return before, (loss, metrics, (after, _differ(before, after)))

        keys = None if rng is None else jax.random.split(rng, count)
        parts = keys, _microbatches(batch, count)
        last, (losses, metrics, results) = jax.lax.scan(step, state, parts)
        weights = jnp.ones(count) if weight is None else jax.vmap(weight)(parts[1])
        loss, metrics = jax.tree.map(functools.partial(_mean, weights), (losses, metrics))
        if not hands_on:
            states, moved = results
            moved |= ~jnp.any(moved)
            last = jax.tree.map(
                lambda leaf: _mean(moved, leaf) if is_float(leaf) else leaf[jnp.argmax(moved)],
                states,
            )
        return loss, (last, metrics)

    return accumulated


def _microbatches(batch: Batch, count: int) -> Any:
    if error := arguments.uneven_microbatches(batch, count):
        raise error

    def cut(leaf: Any) -> Any:
        rows, *rest = jnp.shape(leaf)
        return jnp.reshape(leaf, (rows // count, count, *rest)).swapaxes(0, 1)

    return jax.tree.map(cut, batch)


def _mean(weights: jax.Array, leaf: jax.Array) -> jax.Array:
    wide = leaf.astype(wide_dtype(leaf))
    weights = weights.astype(wide.dtype).reshape(-1, *[1] * (leaf.ndim - 1))
    total = jnp.sum(weights)
    # `where`, since the mean over no example may be NaN
    weighted = jnp.sum(jnp.where(weights != 0, weights * wide, 0), axis=0)
    return (weighted / jnp.where(total != 0, total, 1)).astype(leaf.dtype)


def _differ(before: Any, after: Any) -> jax.Array:
    """Return whether a microbatch has changed the state: one of padded rows alone has not."""
    pairs = zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True)
    return functools.reduce(jnp.logical_or, [jnp.any(a != b) for a, b in pairs], jnp.array(False))
