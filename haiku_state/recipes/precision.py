"""Half the bits where they suffice: casts around a loss function."""

from typing import TYPE_CHECKING, Any

import haiku as hk
import jax
import jax.numpy as jnp

from haiku_state.errors import arguments
from haiku_state.errors.describe import leaves_by_path
from haiku_state.modules import BatchNorm, ExponentialMovingAverage
from haiku_state.typing import Batch, LossFn, is_float

if TYPE_CHECKING:
    import jmp

# what would lose its running statistics to rounding if it computed in half precision
_AVERAGING = (BatchNorm, ExponentialMovingAverage, hk.BatchNorm, hk.ExponentialMovingAverage)


def mixed_precision(loss_fn: LossFn, policy: "jmp.Policy | str") -> LossFn:
    r"""Compute in one dtype and keep the params and the state in another dtype.

    .. math:: L(p) = \operatorname{cast}_{o}\bigl(
       \ell(\operatorname{cast}_{c}(p), \operatorname{cast}_{c}(x))\bigr)

    Params and the floating leaves of the batch are cast to the compute dtype :math:`c`, and the
    loss and the metrics are cast to the output dtype :math:`o`. The gradient has the dtype of the
    params. The state is not cast: :class:`.BatchNorm`, ``hk.BatchNorm`` and the exponential moving
    averages of this package and of Haiku compute their statistics in float32, unless you set a
    policy for these modules with ``hk.mixed_precision``. Cast the logits to float32 before a
    softmax in ``loss_fn``.

    bfloat16 has about the same range as float32, so it needs no further measures. In float16,
    however, small gradients can underflow to zero; to prevent this, use :func:`scale_loss`.

    Args:
      loss_fn: ``loss_fn(params, state, rng, batch) -> (loss, (state, metrics))``.
      policy: a ``jmp.Policy`` or a policy string, such as
        ``"params=float32,compute=bfloat16,output=float32"``.

    Returns:
      A loss function with the same signature as ``loss_fn``.

    Raises:
      ValueError: jmp cannot read the policy string.
      ArgumentError: raised by the returned function if the params do not have the dtype that the
        policy requires.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state.recipes import mixed_precision
      >>> def loss_fn(params, state, rng, batch):
      ...     loss = jnp.mean(params["linear"]["w"] * batch["x"])
      ...     print("computes in", loss.dtype)
      ...     return loss, (state, {})
      >>> half = mixed_precision(loss_fn, "params=float32,compute=bfloat16,output=float32")
      >>> loss, _ = half({"linear": {"w": jnp.ones(2)}}, {}, None, {"x": jnp.ones(2)})
      computes in bfloat16
      >>> print(loss.dtype)
      float32

    References:
      Micikevicius et al., *Mixed precision training*, 2018, section 3.
    """
    import jmp

    policy = jmp.get_policy(policy) if isinstance(policy, str) else policy

    def in_half(params: Any, state: Any, rng: Any, batch: Batch, /) -> Any:
        _check_params(params, jnp.dtype(policy.param_dtype))
        params, batch = policy.cast_to_compute((params, batch))
        with hk.intercept_methods(_average_in_float32):
            result: Any = loss_fn(params, state, rng, batch)
        match result:
            case (loss, (new_state, metrics)):
                loss, metrics = policy.cast_to_output((loss, metrics))
                return loss, (new_state, metrics)
        return result  # the update names what is wrong with it

    return in_half


def _check_params(params: Any, dtype: Any) -> None:
    wrong = [
        f"{path}: {leaf.dtype}"
        for path, leaf in leaves_by_path(params=params).items()
        if is_float(leaf) and leaf.dtype != dtype
    ]
    if wrong:
        raise arguments.param_dtypes(wrong, dtype)


def _average_in_float32(next_f: Any, args: Any, kwargs: Any, context: hk.MethodContext) -> Any:
    """Let the modules that average compute in float32, between inputs and outputs in half."""
    module = context.module
    averaging = isinstance(module, _AVERAGING) and context.method_name == "__call__"
    inputs: Any = next(filter(is_float, jax.tree.leaves((args, kwargs))), None)  # before any mask
    if not averaging or not _is_half(inputs) or hk.mixed_precision.get_policy(type(module)):
        return next_f(*args, **kwargs)
    args, kwargs = jax.tree.map(
        lambda leaf: leaf.astype(jnp.float32) if _is_half(leaf) else leaf, (args, kwargs)
    )
    return next_f(*args, **kwargs).astype(inputs.dtype)


def _is_half(leaf: Any) -> bool:
    return is_float(leaf) and leaf.dtype.itemsize < 4
