"""One pure update step, and the ways to run it."""

import functools
import re
from collections.abc import Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import optax

from haiku_state.contract import check_state, describe
from haiku_state.diagnosis import delete, named_buffers, named_errors
from haiku_state.errors import DeviceAxisError, DeviceStackedError, LossFunctionError
from haiku_state.replicas import assert_replicas_equal
from haiku_state.train_state import TrainState
from haiku_state.typing import Batch, CompiledUpdateFn, LossFn, Metrics, UpdateFn


def make_update(
    loss_fn: LossFn, optimizer: optax.GradientTransformation, *, strict: bool = True
) -> UpdateFn:
    r"""Build the pure update step of a loss function and an optimizer.

    .. math:: (p, s, o, r, t) \mapsto (p + \Delta p,\; s',\; o',\; r',\; t + 1)

    Here :math:`s'` is the state that the forward pass returned, and :math:`\Delta p, o'` come
    from the optimizer, given the gradient of the loss with respect to the params :math:`p`.

    With ``axis_name`` the step is one replica of many: gradients and metrics are averaged over
    that axis, and each replica draws its own random numbers. The state is averaged by the
    modules that keep it, see ``cross_replica_axis`` of :class:`BatchNorm`.

    Args:
      loss_fn: ``loss_fn(params, state, rng, batch) -> (loss, (state, metrics))``, the loss a
        float scalar and a mean over the examples, the metrics a dict of scalars.
      optimizer: an optax optimizer.
      strict: whether the state that ``loss_fn`` returns must pass :func:`check_state` with
        ``is_training=True``. False for a model whose normalization is frozen.

    Returns:
      ``update(train_state, batch, *, axis_name=None) -> (train_state, metrics)``. The metrics
      hold ``"loss"`` too.

    Raises:
      LossFunctionError: at the first call, if ``loss_fn`` returns anything else.
      DeviceStackedError: at the first call, if the train state has a device axis.
      HaikuStateError: at the first call, what :func:`check_state` finds in the returned state.

    Example:
      >>> import jax, jax.numpy as jnp, optax
      >>> from haiku_state import LinearRegression, init_train_state, make_update, pure_pair
      >>> model = pure_pair(LinearRegression)
      >>> def loss_fn(params, state, rng, batch):
      ...     prediction, state = model.apply(params, state, rng, batch["inputs"], True)
      ...     return jnp.mean((prediction - batch["targets"]) ** 2), (state, {})
      >>> batch = {"inputs": jnp.array([[0.0], [1.0]]), "targets": jnp.array([1.0, 3.0])}
      >>> train_state = init_train_state(
      ...     model.init, optax.sgd(0.1), jax.random.key(0), batch["inputs"], True)
      >>> update = make_update(loss_fn, optax.sgd(0.1))
      >>> train_state, metrics = update(train_state, batch)
      >>> print(metrics["loss"], train_state.step)
      5.0 1

    References:
      Haiku's documentation, `Training a model
      <https://dm-haiku.readthedocs.io/en/latest/notebooks/basics.html>`__.
    """
    grad_fn = jax.value_and_grad(_checked(loss_fn, strict), has_aux=True)

    def update(
        train_state: TrainState, batch: Batch, *, axis_name: str | None = None
    ) -> tuple[TrainState, Metrics]:
        params, state, opt_state, rng, step = train_state
        _expect_one_replica(step)
        rng, step_rng = jax.random.split(rng)
        if axis_name is not None:
            step_rng = jax.random.fold_in(step_rng, jax.lax.axis_index(axis_name))
        (loss, (state, metrics)), grads = grad_fn(params, state, step_rng, batch)
        metrics = {"loss": loss, **metrics}
        if axis_name is not None:
            grads, metrics = jax.lax.pmean((grads, metrics), axis_name)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        params = optax.apply_updates(params, updates)
        return TrainState(params, state, opt_state, rng, step + 1), metrics

    return cast(UpdateFn, update)


def jit_update(update: UpdateFn) -> CompiledUpdateFn:
    """Compile an update step for one device.

    The train state is donated: its buffers are reused for the new one, and the old one can no
    longer be read.

    Args:
      update: what :func:`make_update` gave.

    Returns:
      ``update(train_state, batch) -> (train_state, metrics)``, compiled once per batch shape.

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
    return cast(CompiledUpdateFn, named_buffers(jax.jit(update, donate_argnums=0)))


def pmap_update(
    update: UpdateFn,
    axis_name: str = "devices",
    devices: Sequence[jax.Device] | None = None,
    *,
    strict: bool = True,
) -> CompiledUpdateFn:
    """Run an update step on many devices, each with its part of the batch.

    Gradients and metrics are averaged over the devices, so that every replica takes the same
    step; each device draws with its own random key. The replicas' state stays equal only if the
    modules average it, with the same name as their ``cross_replica_axis``.

    Args:
      update: what :func:`make_update` gave.
      axis_name: the name of the device axis.
      devices: the devices to run on; all of this process by default.
      strict: whether to compare the replicas after the first call, which they must leave equal.

    Returns:
      ``update(train_state, batch) -> (train_state, metrics)``. Train state and batch have a
      leading device axis, from :func:`replicate` and :func:`split_batch`; the metrics have
      none. The train state is donated, as in :func:`jit_update`.

    Raises:
      DeviceAxisError: at a call, if the leading device axis is missing or of another length.
      ReplicaMismatchError: at the first call, if the replicas have drifted apart.
      DonatedBufferError: at a call, if an earlier one has consumed the train state.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from haiku_state import pmap_update, replicate, split_batch, unreplicate
      >>> def step(total, batch, *, axis_name=None):
      ...     mean = jax.lax.pmean(batch["x"].mean(), axis_name)
      ...     return total + mean, {"mean": mean}
      >>> one = jax.devices()[:1]
      >>> total, metrics = pmap_update(step, devices=one)(
      ...     replicate(jnp.float32(1), one), split_batch({"x": jnp.arange(4.0)}, 1))
      >>> print(unreplicate(total), metrics["mean"])
      2.5 1.5

    References:
      JAX's documentation, `jax.pmap
      <https://docs.jax.dev/en/latest/_autosummary/jax.pmap.html>`__.
    """
    num_devices = jax.local_device_count() if devices is None else len(devices)
    mapped = jax.pmap(
        functools.partial(update, axis_name=axis_name),
        axis_name=axis_name,
        devices=devices,
        out_axes=(0, None),
        donate_argnums=0,
    )

    # a copy, so that the caller's train state outlives an error
    copy = jax.pmap(lambda tree: jax.tree.map(jnp.copy, tree), axis_name, devices=devices)
    run = named_buffers(mapped)
    first_run = named_buffers(lambda train_state, batch: mapped(copy(train_state), batch))
    unchecked = [strict]

    @functools.wraps(update)
    def update_replicas(train_state: TrainState, batch: Batch) -> tuple[TrainState, Metrics]:
        _check_device_axis(train_state, num_devices, "train_state", "replicate(train_state)")
        _check_device_axis(batch, num_devices, "batch", f"split_batch(batch, {num_devices})")
        if not unchecked[0]:
            return run(train_state, batch)
        result = first_run(train_state, batch)
        assert_replicas_equal(result[0], axis_name=axis_name)
        unchecked[0] = False
        delete(train_state)
        return result

    return cast(CompiledUpdateFn, update_replicas)


def _expect_one_replica(step: Any) -> None:
    if jnp.ndim(step):
        raise DeviceStackedError(
            path="train_state.step",
            shape=jnp.shape(step),
            expected=(),
            wrong="jit_update(update)(train_state, batch)",
            right="jit_update(update)(unreplicate(train_state), batch)",
        )


def _check_device_axis(tree: Any, num_devices: int, name: str, right: str) -> None:
    """Raise :class:`DeviceAxisError` unless every leaf leads with an axis of ``num_devices``."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        shape = jnp.shape(leaf)
        if shape[:1] != (num_devices,):
            raise DeviceAxisError(
                path=f"{name}{jax.tree_util.keystr(path)}",
                shape=shape,
                devices=num_devices,
                wrong="pmap_update(update)(train_state, batch)",
                right=f"{name} = {right}",
            )


def _checked(loss_fn: LossFn, strict: bool) -> LossFn:
    """Say at trace time what a loss function returned instead of what it should."""

    @functools.wraps(loss_fn)
    def checked(params, state, rng, batch):  # type: ignore[no-untyped-def]
        with named_errors(params=params, state=state, batch=batch):
            result = loss_fn(params, state, rng, batch)
        match result:
            case (loss, (new_state, dict() as metrics)) if _is_loss(loss):
                if strict:
                    check_state(state, new_state, is_training=True)
                return loss, (new_state, metrics)
        # the descriptions stand for arrays, so they lose their quotes
        returned = re.sub(r"'(\w+(\[[\d,]*\])?)'(?!:)", r"\1", str(jax.tree.map(describe, result)))
        raise LossFunctionError(returned=returned)

    return cast(LossFn, checked)


def _is_loss(loss: Any) -> bool:
    return jnp.shape(loss) == () and bool(jnp.issubdtype(jnp.result_type(loss), jnp.floating))
