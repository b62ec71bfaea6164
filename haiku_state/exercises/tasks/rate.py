"""What should be static, and what not."""

# Some steps of gradient descent, with a weight decay that pulls x towards 0.
import functools

import jax


def loss_fn(x):
    return (x - 3.0) ** 2


#: settings = {"weight_decay": 0.1}
#:
#:
#: @functools.partial(jax.jit, static_argnames=("learning_rate", "steps"))
#: def descend(x, learning_rate, steps):
#:     for _step in range(steps):
#:         slope = jax.grad(loss_fn)(x) + settings["weight_decay"] * x
#:         x = x - learning_rate * slope
#:     return x
# <solution>
@functools.partial(jax.jit, static_argnames="steps")
def descend(x, learning_rate, weight_decay, steps):
    for _step in range(steps):
        slope = jax.grad(loss_fn)(x) + weight_decay * x
        x = x - learning_rate * slope
    return x


# </solution>

# The exercise
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises.counting import counted_runs, is_one_program
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

FROZEN = Idea(
    "frozen value",
    _(
        "The weight decay does not have the value that the check passes. What is read from outside "
        "while jit traces stays as it is; what the caller is to choose has to be an argument."
    ),
    "state/practice#a-learning-rate-in-a-global-variable",
)
STATIC = Idea(
    "static value",
    _(
        "A static argument is a part of the program, so each new value is traced and compiled "
        "again. A number that only goes into arithmetic needs no program of its own."
    ),
    "state/practice#the-learning-rate-as-a-static-argument",
)
NEEDED = Idea(
    "static length",
    _(
        "How often a Python loop runs, Python must know while it traces. A traced number has no "
        "value that `range` could use."
    ),
    "state/practice#what-should-be-static-then",
)
NOT_COMPILED = Idea(
    "not compiled",
    _("A call of `descend` runs op by op, or in more than one program."),
    "state/practice#what-should-be-static-then",
)
KINDS = Idea(
    "argument",
    _("Numbers that change from call to call are ordinary arguments: they are traced once."),
    "state/practice#the-learning-rate-as-an-ordinary-argument",
)

CALLS = 4
OUTSIDE = 0.1  # the weight decay of the stub


def _draw(rng):
    x = np.float32(rng.uniform(-5, 5))
    return x, rng.uniform(0.05, 0.2, CALLS), rng.uniform(0.2, 0.6, CALLS)


def _place(x, learning_rate, weight_decay, steps):
    for _step in range(steps):
        x = x - learning_rate * (2 * (x - 3) + weight_decay * x)
    return x


def _places(x, rates, decays):
    start = float(x)
    return [_place(start, *both, 3) for both in zip(rates, decays, strict=True)]


def _frozen(x, rates, decays):
    """Return the places with the weight decay of the stub, or with the first one."""
    start = float(x)
    return [[_place(start, rate, decay, 3) for rate in rates] for decay in (OUTSIDE, decays[0])]


def _is_frozen(result, x, rates, decays):
    got = [result[f"[{call}]"] for call in range(CALLS)]
    return any(np.allclose(got, frozen, 1e-4, 1e-4) for frozen in _frozen(x, rates, decays))


def _play(answer, x, rates, decays):
    pairs = zip(np.asarray(rates).tolist(), np.asarray(decays).tolist(), strict=True)
    return [answer.descend(x, rate, decay, 3) for rate, decay in pairs]


def _traces(answer, x, rates, decays):
    given = x, float(rates[0]), float(decays[0])
    with counted_runs(answer.loss_fn) as runs:
        answer.descend(*given, 2)
        first = len(runs)
        for call in range(1, CALLS):
            answer.descend(x, float(rates[call]), float(decays[call]), 2)
    again = len(runs) > first
    if not again:  # an array cannot be static, whatever function gives the slope
        answer.descend(x, rates[0], decays[0], 2)
    return {
        "compiled": is_one_program(lambda *given: answer.descend(*given, 2), *given),
        "traced again for other values": again,
    }


def _not_compiled(result, *_inputs):
    return not result["['compiled']"]


EXERCISE = Exercise(
    title=_("Static or not"),
    statement=_(
        "`descend` is compiled again for each learning rate, and does not notice when the weight "
        "decay in `settings` is changed. Make it `descend(x, learning_rate, weight_decay, steps)`. "
        "It stays compiled by `jax.jit`.\n\n"
        "The check calls it with many learning rates and values of the weight decay, and counts "
        "how often it calls `loss_fn`, which stays as it is."
    ),
    lesson="state/practice#should-the-learning-rate-be-static",
    kind="repair",
    minutes=5,
    hints=(
        _("Which of the three numbers must Python itself know, in order to run the function?"),
        _("Look at `static_argnames`, and at everything in the loop that is not an argument."),
        _("Only `steps` stays static. The weight decay becomes an argument as the rate is one."),
    ),
    checks=(
        Check(
            _("Each call uses its own learning rate and weight decay"),
            inputs=_draw,
            play=_play,
            expected=_places,
            idea=KINDS,
            mistakes=(
                Mistake(FROZEN, error="takes 3 positional arguments"),
                Mistake(FROZEN, error="too many positional arguments"),
                Mistake(FROZEN, error="descend() got"),
                Mistake(FROZEN, when=_is_frozen),
                Mistake(NEEDED, error="Tracer' object cannot be interpreted as an integer"),
                Mistake(NEEDED, error="TracerIntegerConversionError"),
            ),
            properties=("again",),
        ),
        Check(
            _("Other values are not traced again"),
            inputs=_draw,
            play=_traces,
            expected=lambda x, rates, decays: {
                "compiled": True,
                "traced again for other values": False,
            },
            idea=STATIC,
            mistakes=(
                Mistake(NOT_COMPILED, when=_not_compiled),
                Mistake(STATIC, error="Non-hashable static arguments"),
            ),
            draws=1,
        ),
        Check(
            _("The number of steps can be chosen"),
            inputs=_draw,
            play=lambda answer, x, rates, decays: answer.descend(x, 0.1, 0.2, steps=5),
            expected=lambda x, rates, decays: _place(float(x), 0.1, 0.2, 5),
            idea=NEEDED,
            properties=("pure",),
            draws=1,
        ),
    ),
)
