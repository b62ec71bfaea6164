"""State in, state out."""

# The counter of a shop's door adds as many people as come in at once. Its
# state is the count.


def count(state, increment):
    # Return how many people came in, and the new state.
    #: global total
    #: total = total + increment
    #: return total
    # <solution>
    return increment, state + increment
    # </solution>


def reset(state):
    # Return nothing, and the state from which the counter starts again.
    #: state = 0
    #: return state
    # <solution>
    return None, state * 0
    # </solution>


# The exercise
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises import ideas
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

ORDER = Idea(
    "order",
    _("The output comes first, and the new state second: every function of the course does so."),
    "state/stateful_computations#the-general-strategy",
)
DROPPED = Idea(
    "dropped state",
    _("The new state does not come out, so the next call would start from the old one."),
    "state/stateful_computations#state-in-state-out",
)

PAIR = Idea(
    "output and state",
    _(
        "Two things come out, as a pair: the output, and the state from which the next call goes "
        "on. Each of them has its own value."
    ),
    "state/stateful_computations#the-general-strategy",
)


def _draw(rng):
    return np.int32(rng.integers(10, 99)), np.int32(rng.integers(1, 9))


EXERCISE = Exercise(
    title=_("A counter as two pure functions"),
    statement=_(
        "Write `count` and `reset` as pure functions: each takes the state, and returns an output "
        "and the new state. The output of `count` is the increment, that of `reset` is `None`."
    ),
    lesson="state/stateful_computations#the-general-strategy",
    kind="write",
    minutes=5,
    hints=(
        _("Which two things does a caller need from `count` in order to call it once more?"),
        _("Look at the line with `return`: the output and the new state are there as a pair."),
        _("The new state is `state + increment`; put it behind the output, with a comma between."),
    ),
    checks=(
        Check(
            _("`count` returns the increment and the new state"),
            inputs=_draw,
            play=lambda answer, state, increment: answer.count(state, increment),
            expected=lambda state, increment: (increment, state + increment),
            idea=PAIR,
            mistakes=(
                Mistake(DROPPED, like=lambda state, increment: (increment, state)),
                Mistake(ORDER, like=lambda state, increment: (state + increment, increment)),
                Mistake(DROPPED, like=lambda state, increment: state + increment),
                Mistake(ideas.HIDDEN_INPUT, error="'total' is not defined"),
            ),
            properties=("again", "arguments", "pure", "jit", "vmap"),
            types=True,
        ),
        Check(
            _("`reset` returns `None` and a state of 0"),
            inputs=_draw,
            play=lambda answer, state, increment: answer.reset(state),
            expected=lambda state, increment: (None, np.int32(0)),
            idea=PAIR,
            mistakes=(
                Mistake(DROPPED, like=lambda state, increment: (None, state)),
                Mistake(DROPPED, like=lambda state, increment: None),
                Mistake(ideas.DTYPE, like=lambda state, increment: (None, 0.0)),
            ),
            properties=("again", "arguments", "pure", "jit"),
            types=True,
        ),
    ),
)
