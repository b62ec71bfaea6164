"""Three reasons for which one step is traced again and again."""

# The step is given: `step(params, total, batch, rate)` returns the next params
# and the sum of all losses so far.
import jax
import jax.numpy as jnp


def train(step, params, batches, rates):
    # Return the last params and the sum of the losses.
    #: total = 0.0
    # <solution>
    total = jnp.float32(0)
    run = jax.jit(step)
    # </solution>
    for batch, rate in zip(batches, rates, strict=True):
        #: run = jax.jit(lambda *args: step(*args), static_argnums=3)
        params, total = run(params, total, batch, rate)
    return params, total


# The exercise
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises import ideas
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

STEPS = 6
VALUES = 3

NEW_FUNCTION = Idea(
    "new function",
    _(
        "The step was traced in each iteration. JAX keeps a compiled program for each function "
        "object, and a new function has none yet. A Python loop that is itself "
        "compiled is written out: the program has the step once for each iteration."
    ),
    "update/jitted_update#a-new-function-each-time",
)
STATIC_VALUE = Idea(
    "static value",
    _(
        "The step was traced for each new value of an argument. A static argument is a constant of "
        "the program, so each of its values needs a program of its own."
    ),
    "update/jitted_update#the-learning-rate-is-not-a-static-argument",
)
WEAK_START = Idea(
    "weak start",
    _(
        "The step was traced twice: in the first call, an argument had a different type than in "
        "all later ones. The type of a Python number is weak, and that of an array is not."
    ),
    "update/jitted_update#python-numbers-and-weak-types",
)
NOT_COMPILED = Idea(
    "not compiled",
    _("The step ran op by op, at least once. A step is traced once, and compiled."),
    "update/jitted_update#how-often-does-it-compile",
)


def _draw(rng):
    params = rng.normal(size=3).astype(np.float32)
    batches = [rng.normal(size=(4, 3)).astype(np.float32) for _step in range(STEPS)]
    first = rng.uniform(0.1, 0.3)
    # as Python numbers, and each of them twice
    rates = [float(first / 2 ** (step // 2)) for step in range(STEPS)]
    return params, batches, rates


def _step(params, total, batch, rate):
    loss = ((batch - params) ** 2).mean()
    grads = 2 * (params - batch).mean(axis=0) / 3
    return params - rate * grads, total + loss


def _train(answer, params, batches, rates):
    kinds = []

    def step(params, total, batch, rate):
        kinds.append(isinstance(params, jax.core.Tracer))
        return _step(params, total, batch, rate)

    params, total = answer.train(step, params, batches, rates)
    counts = {"traces": kinds.count(True), "not compiled": kinds.count(False)}
    return {"params": params, "total": total, **counts}


def _expected(params, batches, rates):
    params, total = np.float64(params), 0.0
    for batch, rate in zip(batches, rates, strict=True):
        params, total = _step(params, total, np.float64(batch), rate)
    return {"params": params, "total": total, "traces": 1, "not compiled": 0}


def _with_first_rate(params, batches, rates):
    return _expected(params, batches, rates[:1] * len(rates))


def _traced(least, most):
    return lambda result, *inputs: least <= result["['traces']"] <= most


EXERCISE = Exercise(
    title=_("Traced once"),
    statement=_(
        "`train` is right, and slow: it traces and compiles `step` in every iteration. Repair it, "
        "so that `step` is traced once for all batches and rates. The check calls "
        "`train(step, params, batches, rates)` with a list of batches of one shape and a list of "
        "Python numbers, and counts the traces. There are three causes."
    ),
    lesson="update/jitted_update#how-often-does-it-compile",
    kind="repair",
    minutes=8,
    hints=(
        _(
            "For each argument of `run`: is its type the same in all calls? And is it the same "
            "function that is called?"
        ),
        _("The causes are in the line with `total`, and twice in the line with `jax.jit`."),
        _(
            "Call `jax.jit(step)` once, before the loop and with nothing static, and begin with "
            "`jnp.float32(0)`."
        ),
    ),
    checks=(
        Check(
            _("The step is traced once, and the result is the same"),
            inputs=_draw,
            play=_train,
            expected=_expected,
            idea=NEW_FUNCTION,
            mistakes=(
                Mistake(ideas.FROZEN_VALUE, like=_with_first_rate),
                Mistake(NOT_COMPILED, when=lambda result, *inputs: result["['not compiled']"] > 0),
                Mistake(WEAK_START, when=_traced(2, 2)),
                Mistake(STATIC_VALUE, when=_traced(VALUES, VALUES + 1)),
                Mistake(NEW_FUNCTION, when=_traced(STEPS, STEPS)),
            ),
        ),
    ),
)
