"""Half the bits where they suffice: casts around a loss function."""

from typing import TYPE_CHECKING, Any

import haiku as hk
import jax
import jax.numpy as jnp

from haiku_state.errors.base import as_lines
from haiku_state.errors.pieces import ParamDtypeError, PrecisionPolicyError
from haiku_state.modules import BatchNorm, ExponentialMovingAverage
from haiku_state.pieces.leaves import is_float
from haiku_state.typing import Batch, LossFn

if TYPE_CHECKING:
    import jmp

# what would lose its running statistics to rounding if it computed in half precision
_AVERAGING = (BatchNorm, ExponentialMovingAverage, hk.BatchNorm, hk.ExponentialMovingAverage)


def mixed_precision(loss_fn: LossFn, policy: "jmp.Policy | str") -> LossFn:
    r"""Compute in one dtype, and keep the params and the state in another.

    .. math:: L(p) = \operatorname{cast}_{o}\bigl(
       \ell(\operatorname{cast}_{c}(p), \operatorname{cast}_{c}(x))\bigr)

    Params and the floating leaves of the batch are cast to the compute dtype :math:`c`, the loss
    and the metrics to the output dtype :math:`o`. The gradient has the dtype of the params. The
    state keeps its dtypes: :class:`BatchNorm`, ``hk.BatchNorm`` and both exponential moving
    averages take their statistics in float32, unless you gave them a policy of their own by
    ``hk.mixed_precision``. Cast the logits to float32 before a softmax in ``loss_fn``.

    bfloat16 has the range of float32 and needs nothing else. float16 has not: small gradients
    vanish, and :func:`scale_loss` keeps them.

    Args:
      loss_fn: ``loss_fn(params, state, rng, batch) -> (loss, (state, metrics))``.
      policy: a ``jmp.Policy``, or its text.

    Returns:
      A loss function of the same signature.

    Raises:
      PrecisionPolicyError: jmp cannot read the text.
      ParamDtypeError: at a call, if the params have another dtype than the policy says.

    Example:
      >>> import jax.numpy as jnp
      >>> from haiku_state import mixed_precision
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

    if isinstance(policy, str):
        try:
            policy = jmp.get_policy(policy)
        except ValueError as error:
            raise PrecisionPolicyError(text=policy) from error
    return MixedPrecision(loss_fn, policy)


class MixedPrecision:
    """What :func:`mixed_precision` returns."""

    def __init__(self, loss_fn: LossFn, policy: "jmp.Policy") -> None:
        self.loss_fn = loss_fn
        self.policy = policy

    def __call__(self, params: Any, state: Any, rng: Any, batch: Batch, /) -> Any:
        """Cast, compute the loss, and cast back."""
        policy = self.policy
        _check_params(params, jnp.dtype(policy.param_dtype))
        params, batch = policy.cast_to_compute((params, batch))
        with hk.intercept_methods(_average_in_float32):
            result: Any = self.loss_fn(params, state, rng, batch)
        match result:
            case (loss, (new_state, metrics)):
                loss, metrics = policy.cast_to_output((loss, metrics))
                return loss, (_cast_like(new_state, state), metrics)
        return result  # for the update to name what is wrong with it


def _check_params(params: Any, dtype: Any) -> None:
    wrong = [
        f"params{jax.tree_util.keystr(path)}: {leaf.dtype}"
        for path, leaf in jax.tree_util.tree_leaves_with_path(params)
        if is_float(leaf) and leaf.dtype != dtype
    ]
    if wrong:
        raise ParamDtypeError(dtype=dtype, paths=as_lines(wrong))


def _cast_like(tree: Any, like: Any) -> Any:
    structures: list[Any] = [jax.tree.structure(tree), jax.tree.structure(like)]
    if structures[0] != structures[1]:
        return tree  # for the update to name what is wrong with it
    return jax.tree.map(
        lambda leaf, old: leaf.astype(old.dtype) if is_float(leaf) and is_float(old) else leaf,
        tree,
        like,
    )


def _average_in_float32(next_f: Any, args: Any, kwargs: Any, context: hk.MethodContext) -> Any:
    """Let the modules that average compute in float32, between inputs and outputs in half."""
    module = context.module
    averaging = isinstance(module, _AVERAGING) and context.method_name == "__call__"
    halves = {leaf.dtype for leaf in jax.tree.leaves((args, kwargs)) if _is_half(leaf)}
    if not averaging or not halves or hk.mixed_precision.get_policy(type(module)) is not None:
        return next_f(*args, **kwargs)
    args, kwargs = jax.tree.map(
        lambda leaf: leaf.astype(jnp.float32) if _is_half(leaf) else leaf, (args, kwargs)
    )
    return next_f(*args, **kwargs).astype(halves.pop())


def _is_half(leaf: Any) -> bool:
    return is_float(leaf) and leaf.dtype.itemsize < 4
