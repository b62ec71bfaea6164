"""The mode of a BatchNorm, in init, in training and in evaluation."""

# A normalization in its three uses. Three things are wrong with how the mode
# is chosen.
import jax

import haiku_state as hs

pair = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9, name="norm")
#: apply = jax.jit(pair.apply)
# <solution>
apply = jax.jit(pair.apply, static_argnames="is_training")
# </solution>


def start(x):
    # Return the first state.
    #: _, state = pair.init(None, x, is_training=False)
    # <solution>
    _, state = pair.init(None, x, is_training=True)
    # </solution>
    return state


def learn(state, x):
    # Return the normalized batch and the new state.
    return apply({}, state, None, x, is_training=True)


def evaluate(state, x):
    # Return the normalized rows; a row does not depend on the others.
    #: outputs, _ = apply({}, state, None, x, is_training=True)
    # <solution>
    outputs, _ = apply({}, state, None, x, is_training=False)
    # </solution>
    return outputs


# The exercise
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises.counting import counted_runs
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake
from haiku_state.exercises.ideas import EVALUATION, TRAINING

FIRST = Idea(
    "nothing to read",
    _(
        "In evaluation the layer only reads its running statistics, and during `init` there are "
        "none yet. Which mode creates them?"
    ),
    "haiku/batch_norm#initializing-in-evaluation-mode",
)
TRACED = Idea(
    "traced mode",
    _(
        "The mode decides which Python code runs, so it must be known while JAX traces. An "
        "ordinary argument of a compiled function is a tracer, and has no value then."
    ),
    "haiku/batch_norm#tracing-the-mode",
)
CONTINUED = Idea(
    "first state",
    _("`init` runs the module and returns its initial state: nothing has been counted yet."),
    "haiku/pure_pair#check-yourself",
)
NO_UPDATE = Idea(
    "nothing learned",
    _(
        "The running statistics are the same as before. Only one of the two modes updates them, "
        "and this is the function that has to."
    ),
    "haiku/batch_norm#training-and-evaluation",
)
NOT_COMPILED = Idea(
    "not compiled",
    _(
        "The module's Python code ran again for a batch of the same shape. A function that is "
        "compiled once and kept goes through its record instead."
    ),
    "pure/thinking_in_jax#to-jit-or-not-to-jit",
)
ROWS = Idea(
    "rows alone",
    _("`evaluate` returns the normalized rows alone: an evaluation has no new state to hand on."),
)
NAMES = ("mean_ema", "var_ema")


def _batch(rng):
    return rng.normal(rng.uniform(-3, 3, 2), rng.uniform(1, 2, 2), (8, 2)).astype(np.float32)


def _draw(rng):
    counter, hidden = np.int32(rng.integers(3, 9)), rng.uniform(1, 2, (2, 1, 2))
    state = {
        f"norm/~/{name}": {
            "hidden": h.astype(np.float32),
            "average": (h / (1 - 0.9**counter)).astype(np.float32),
            "counter": counter,
        }
        for name, h in zip(NAMES, hidden, strict=True)
    }
    return state, _batch(rng)


def _batch_statistics(x):
    x = np.float64(x)
    return x.mean(0, keepdims=True), x.var(0, keepdims=True)


def _normalized(x, mean, var):
    return (np.float64(x) - mean) / np.sqrt(var + 1e-5)


def _started(x):
    return {
        f"norm/~/{name}": {"hidden": np.zeros((1, 2)), "average": value, "counter": np.int32(0)}
        for name, value in zip(NAMES, _batch_statistics(x), strict=True)
    }


def _learned(state, x):
    new = {}
    for name, value in zip(NAMES, _batch_statistics(x), strict=True):
        before = state[f"norm/~/{name}"]
        hidden, counter = 0.9 * before["hidden"] + 0.1 * value, before["counter"] + 1
        average = hidden / (1 - 0.9 ** np.float64(counter))
        new[f"norm/~/{name}"] = {"hidden": hidden, "average": average, "counter": counter}
    return _normalized(x, *_batch_statistics(x)), new


def _in_evaluation(state, x):
    return _normalized(x, *(state[f"norm/~/{name}"]["average"] for name in NAMES))


def _evaluate(answer, state, x):
    return answer.evaluate(state, x), answer.evaluate(state, x[:1])


def _evaluated(state, x):
    outputs = _in_evaluation(state, x)
    return outputs, outputs[:1]


def _compiled(answer, state, x):
    """Call each function twice; return how often the second call runs the module's code."""
    seen = {}
    for name in ("learn", "evaluate"):
        function = getattr(answer, name)
        function(state, x)
        with counted_runs(hs.BatchNorm.__call__) as runs:
            function(state, x + 1)
        seen[name] = len(runs)
    return seen


FLAG = Mistake(TRACED, error="TracedFlagError")

EXERCISE = Exercise(
    title=_("Three uses, two modes"),
    statement=_(
        "Repair the program. `start(x)` returns the first state, `learn(state, x)` the normalized "
        "batch and the new state, and `evaluate(state, x)` the normalized rows. The module stays "
        "compiled in `learn` and `evaluate`. A row that is evaluated alone gives the same as in a "
        "batch."
    ),
    lesson="haiku/batch_norm#four-ways-to-lose-the-state",
    kind="repair",
    minutes=6,
    hints=(
        _("In which of the three functions does the module have to see the batch's statistics?"),
        _(
            "One fault is in the call of `jax.jit`, one in that of `pair.init`, and one in "
            "`evaluate`. What does `jax.jit` do with an argument that is a bool?"
        ),
        _('`jax.jit(pair.apply, static_argnames="is_training")` keeps the mode a Python value.'),
    ),
    checks=(
        Check(
            _("`start` returns the statistics of the first batch, and counters of 0"),
            inputs=lambda rng: (_batch(rng),),
            play=lambda answer, x: answer.start(x),
            expected=_started,
            idea=CONTINUED,
            mistakes=(
                Mistake(FIRST, error="UninitializedStateError"),
                FLAG,
                Mistake(FIRST, error="No value for"),
            ),
            properties=("again", "pure", "jit"),
            tolerance=1e-4,
        ),
        Check(
            _("`learn` normalizes by the batch, and updates the running statistics"),
            inputs=_draw,
            play=lambda answer, state, x: answer.learn(state, x),
            expected=_learned,
            idea=TRAINING,
            mistakes=(
                FLAG,
                Mistake(NO_UPDATE, like=lambda state, x: (_in_evaluation(state, x), state)),
                Mistake(NO_UPDATE, like=lambda state, x: (_learned(state, x)[0], state)),
            ),
            properties=("again", "arguments", "pure", "jit"),
            tolerance=1e-4,
        ),
        Check(
            _("`evaluate` gives each row the same output, alone or in a batch"),
            inputs=_draw,
            play=_evaluate,
            expected=_evaluated,
            idea=EVALUATION,
            mistakes=(FLAG, Mistake(ROWS, when=lambda got, *_: "[0]" not in got)),
            properties=("again", "arguments", "pure", "jit"),
            tolerance=1e-4,
        ),
        Check(
            _("`learn` and `evaluate` are compiled, and run no Python code in a second call"),
            inputs=_draw,
            play=_compiled,
            expected=lambda state, x: {"learn": 0, "evaluate": 0},
            idea=NOT_COMPILED,
            draws=1,
        ),
    ),
)
