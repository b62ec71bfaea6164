"""Errors of the pieces that training is put together from."""

from haiku_state.errors.base import HaikuStateError
from haiku_state.language import deferred as _


class MicrobatchError(HaikuStateError, ValueError):
    """A batch cannot be cut into equal microbatches."""

    TEXT_WHAT = _("{path} has shape {shape}: its rows do not divide into {count} equal parts.")
    TEXT_WRONG = 'accumulate(loss_fn, {count}, statistics="{statistics}")'
    TEXT_RIGHT = "batches(data, batch_size={fitting})"
    TEXT_WHY = _(
        "the mean of the parts' means is the mean of the batch only if the parts are equal"
    )
    MORE = "docs/api/pieces.rst"


class AccumulationArgumentError(HaikuStateError, ValueError):
    """An argument of ``accumulate`` is not one of those that it knows."""

    TEXT_WHAT = _("{argument}={value!r} is not one of {valid}.")
    TEXT_WRONG = "accumulate(loss_fn, {count!r}, statistics={statistics!r})"
    TEXT_RIGHT = 'accumulate(loss_fn, 4, statistics="once")'
    TEXT_WHY = _("the batch or its running statistics would be treated in a way that nobody chose")
    MORE = "docs/api/pieces.rst"


class AccumulatedGradientError(HaikuStateError, TypeError):
    """A gradient was asked for that an accumulated loss does not have."""

    TEXT_WHAT = _("the gradient of an accumulated loss was asked for with regard to its {part}.")
    TEXT_WRONG = "{wrong}"
    TEXT_RIGHT = "jax.value_and_grad(accumulate(loss_fn, …), has_aux=True)"
    TEXT_WHY = _("it keeps one gradient, that of the loss by the params; any other would be zero")
    MORE = "docs/api/pieces.rst"


class DecayRateError(HaikuStateError, ValueError):
    """The decay of an average lies outside its range."""

    TEXT_WHAT = _("decay is {value}, outside [0, 1).")
    TEXT_WRONG = "average_params(optimizer, decay={value})"
    TEXT_RIGHT = "average_params(optimizer, decay=0.99)"
    TEXT_WHY = _("outside this range the average would never change, or never settle")
    MORE = "docs/api/pieces.rst"


class MissingParamsError(HaikuStateError, ValueError):
    """An optimizer that averages the params was not given them."""

    TEXT_WHAT = _("the optimizer averages the params, and was not given them.")
    TEXT_WRONG = "optimizer.update(grads, opt_state)"
    TEXT_RIGHT = "optimizer.update(grads, opt_state, params)"
    TEXT_WHY = _("the average is taken over the params after each update")
    MORE = "docs/api/pieces.rst"


class MissingAverageError(HaikuStateError, ValueError):
    """There are no averaged params where they were looked for."""

    TEXT_WHAT = _("there is no average of:{paths}")
    TEXT_WRONG = "averaged_params({given})"
    TEXT_RIGHT = "optimizer = average_params(optimizer, 0.99); averaged_params(train_state)"
    TEXT_WHY = _(
        "the average is kept by `average_params` in the opt_state; what `freeze_params` freezes "
        "outside of it has none, and only the whole train state has its value"
    )
    MORE = "docs/api/pieces.rst"


class NoBatchesError(HaikuStateError, ValueError):
    """There is no batch to estimate the statistics from."""

    TEXT_WHAT = _("there is no batch to estimate the state from.")
    TEXT_WRONG = "reestimate_state(apply, params, state, [])"
    TEXT_RIGHT = "reestimate_state(apply, params, state, batches(data, 32))"
    TEXT_WHY = _("the statistics are a mean over batches; an iterator is empty after its first use")
    MORE = "docs/api/pieces.rst"


class UsedStateError(HaikuStateError, ValueError):
    """The state already holds statistics."""

    TEXT_WHAT = _("the state already holds statistics:{paths}")
    TEXT_WRONG = "reestimate_state(apply, params, train_state.state, batches)"
    TEXT_RIGHT = (
        "_, fresh = init(rng, inputs, True); reestimate_state(apply, params, fresh, batches)"
    )
    TEXT_WHY = _("the old statistics belong to other params, and would be averaged in")
    MORE = "docs/api/pieces.rst"


class NothingFrozenError(HaikuStateError, ValueError):
    """The predicate holds for nothing."""

    TEXT_WHAT = _("the predicate holds for no leaf. There are:{names}")
    TEXT_WRONG = '{function}(…, lambda module, name, value: module == "lineer")'
    TEXT_RIGHT = '{function}(…, lambda module, name, value: module == "linear")'
    TEXT_WHY = _("everything would go on changing without a word")
    MORE = "docs/api/pieces.rst"


class PrecisionPolicyError(HaikuStateError, ValueError):
    """The text of a precision policy cannot be read."""

    TEXT_WHAT = _("{text!r} is no precision policy.")
    TEXT_WRONG = "mixed_precision(loss_fn, {text!r})"
    TEXT_RIGHT = 'mixed_precision(loss_fn, "params=float32,compute=bfloat16,output=float32")'
    TEXT_WHY = _("`jmp.get_policy` reads the keys params, compute and output, each with a dtype")
    MORE = "docs/api/pieces.rst"


class ParamDtypeError(HaikuStateError, TypeError):
    """The params have another dtype than the precision policy says."""

    TEXT_WHAT = _("the policy says that params are {dtype}, and these are not:{paths}")
    TEXT_WRONG = "params = jax.tree.map(lambda x: x.astype(jnp.bfloat16), params)"
    TEXT_RIGHT = "params = policy.cast_to_param(params)"
    TEXT_WHY = _("the update changes the params as they are kept, in their own dtype")
    MORE = "docs/api/pieces.rst"


class LossScaleTypeError(HaikuStateError, TypeError):
    """A loss scale is none of those of jmp."""

    TEXT_WHAT = _("the loss scale is of type {given}, which is none of jmp's.")
    TEXT_WRONG = "scale_loss(optimizer, 2.0**15)"
    TEXT_RIGHT = "scale_loss(optimizer, jmp.DynamicLossScale(jnp.float32(2.0**15)))"
    TEXT_WHY = _("jmp says how the scale changes: DynamicLossScale, StaticLossScale, NoOpLossScale")
    MORE = "docs/api/pieces.rst"


class LossScaleTwiceError(HaikuStateError, ValueError):
    """The loss is scaled more than once."""

    TEXT_WHAT = _("the opt_state holds {count} loss scales.")
    TEXT_WRONG = "scale_loss(scale_loss(optimizer, scale), scale)"
    TEXT_RIGHT = "scale_loss(optimizer, scale)"
    TEXT_WHY = _("the loss is scaled once, and the gradient would be divided by each")
    MORE = "docs/api/pieces.rst"
