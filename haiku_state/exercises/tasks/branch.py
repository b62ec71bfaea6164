"""A choice by a value is an operation, and a choice by a flag is a static argument."""

# The Huber loss grows with the square of a small error, and only linearly with
# a large one.
import functools

import jax
import jax.numpy as jnp


def huber(error, limit):
    # Return the loss of one error, which is a single number.
    size = jnp.abs(error)
    small = 0.5 * error**2
    large = limit * (size - 0.5 * limit)
    #: if size <= limit:
    #:     return small
    #: return large
    # <solution>
    return jnp.where(size <= limit, small, large)
    # </solution>


#: @jax.jit
# <solution>
@functools.partial(jax.jit, static_argnames="average")
# </solution>
def losses(errors, limit, average):
    # Return the mean of all losses, or the loss of each error.
    each = jax.vmap(huber, in_axes=(0, None))(errors, limit)
    if average:
        return each.mean()
    return each


# The exercise
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises import ideas
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

IF_ON_A_TRACER = Idea(
    "if on a tracer",
    _(
        "A Python `if` is decided during tracing, when the argument has no value yet. A choice "
        "that depends on a value has to be an operation itself."
    ),
    "pure/thinking_in_jax#an-if-on-an-argument",
)
STATIC_FLAG = Idea(
    "static flag",
    _(
        "The flag decides which shape the result has, so it decides which program is compiled. Its "
        "value has to be known during tracing."
    ),
    "pure/thinking_in_jax#an-if-on-an-argument",
)
NOT_STATIC = Idea(
    "not static",
    _(
        "An array cannot be a static argument: it has no hash, and its values change all the time. "
        "Static is what has few values, such as a flag."
    ),
    "pure/transformations#the-learning-rate-is-not-a-static-argument",
)
NOT_COMPILED = Idea(
    "not compiled",
    _("Without `jit`, each call runs one operation after the other. The function stays compiled."),
    "pure/thinking_in_jax#to-jit-or-not-to-jit",
)
SIDES = Idea(
    "sides",
    _("The two sides are swapped: the first one belongs to a condition that is true."),
    "pure/thinking_in_jax#an-if-on-an-argument",
)
SIGN = Idea(
    "sign",
    _("Whether an error is large is decided by its size: a large negative error is large too."),
)
_ON_A_TRACER = (
    Mistake(IF_ON_A_TRACER, error="TracerBoolConversionError"),
    Mistake(IF_ON_A_TRACER, error="ConcretizationTypeError"),
    Mistake(ideas.NOT_TRACEABLE, error="TracerArrayConversionError"),
)
_ON_THE_FLAG = (
    Mistake(NOT_STATIC, error="Non-hashable static arguments"),
    Mistake(STATIC_FLAG, error="TracerBoolConversionError"),
    Mistake(STATIC_FLAG, error="ConcretizationTypeError"),
    Mistake(STATIC_FLAG, error="must have identical types"),
    Mistake(STATIC_FLAG, error="branches must have equal output types"),
    Mistake(NOT_COMPILED, when=lambda got, *_inputs: not got["['compiled']"]),
)


def _draw_error(rng):
    limit = rng.uniform(0.5, 2)
    small, large = limit * rng.uniform((0.1, 1.1), (0.9, 1.9))
    return np.float32(small), np.float32(large), np.float32(limit)


def _draw_errors(rng):
    limit = rng.uniform(0.5, 2)
    return (limit * rng.uniform(-2, 2, 12)).astype(np.float32), np.float32(limit)


def _small(error):
    return 0.5 * np.square(np.float64(error))


def _large(error, limit):
    return np.float64(limit) * (np.abs(np.float64(error)) - 0.5 * np.float64(limit))


def _huber(error, limit):
    return np.where(np.abs(error) <= limit, _small(error), _large(error, limit))


def _swapped(error, limit):
    return np.where(np.abs(error) > limit, _small(error), _large(error, limit))


def _signed(error, limit):
    return np.where(error <= limit, _small(error), np.float64(limit) * (error - 0.5 * limit))


def _on_each_side(huber, small, large, limit):
    errors = {"small": small, "small, negative": -small, "large": large, "large, negative": -large}
    return {name: huber(error, limit) for name, error in errors.items()}


def _both(answer, errors, limit):
    return {
        "mean": answer.losses(errors, limit, True),
        "each": answer.losses(errors, limit, average=False),
        "compiled": hasattr(answer.losses, "lower"),
    }


EXERCISE = Exercise(
    title=_("An if that cannot be decided yet"),
    statement=_(
        "Repair `huber(error, limit)` so that it works under `jax.jit` and `jax.vmap` too, where "
        "`error` and `limit` are single numbers. Then repair `losses(errors, limit, average)`, "
        "which stays a jitted function: `errors` is an array of one axis, and `average` is `True` "
        "or `False`. Called with `True`, it returns one number; with `False`, it returns as many "
        "as there are errors."
    ),
    lesson="pure/thinking_in_jax#an-if-on-an-argument",
    kind="repair",
    minutes=8,
    hints=(
        _(
            "Which of the two `if` statements depends on a value that changes all the time, and "
            "which one on a flag?"
        ),
        _("In `huber`, the `if` itself must go. In `losses`, look at the line above `def`."),
        _(
            "`jnp.where(condition, a, b)` chooses for each entry; `static_argnums` or "
            "`static_argnames` tells `jit` which argument it gets as a value."
        ),
    ),
    checks=(
        Check(
            _("`huber` chooses by a value"),
            inputs=_draw_error,
            play=lambda answer, *inputs: _on_each_side(answer.huber, *inputs),
            expected=lambda small, large, limit: _on_each_side(_huber, small, large, limit),
            idea=IF_ON_A_TRACER,
            mistakes=(
                *_ON_A_TRACER,
                Mistake(SIDES, like=functools.partial(_on_each_side, _swapped)),
                Mistake(SIGN, like=functools.partial(_on_each_side, _signed)),
            ),
            properties=("again", "arguments", "pure", "jit", "vmap"),
        ),
        Check(
            _("`losses` chooses by a flag, and is compiled"),
            inputs=_draw_errors,
            play=_both,
            expected=lambda errors, limit: {
                "mean": _huber(errors, limit).mean(),
                "each": _huber(errors, limit),
                "compiled": True,
            },
            idea=STATIC_FLAG,
            mistakes=_ON_THE_FLAG,
            properties=("again", "arguments"),
        ),
    ),
)
