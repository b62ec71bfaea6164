"""A moving average over the last four values."""

# A moving average over the last four values. As long as there are fewer, it
# is the mean of those.
from typing import NamedTuple

import jax
import jax.numpy as jnp


# Its fields are all that the average must remember.
class State(NamedTuple):
    #: total: jax.Array
    # <solution>
    last: jax.Array
    seen: jax.Array
    # </solution>


def init():
    #: return State(total=jnp.float32(0))
    # <solution>
    return State(last=jnp.zeros(4, jnp.float32), seen=jnp.int32(0))
    # </solution>


def update(state, x):
    # Return the average, x included, and the new state.
    #: total = state.total + x
    #: return total / 4, State(total)
    # <solution>
    last = jnp.append(state.last[1:], x)
    seen = jnp.minimum(state.seen + 1, 4)
    return jnp.sum(last) / seen, State(last, seen)
    # </solution>


# The exercise
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises import ideas
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

START = Idea(
    "count",
    _(
        "As long as fewer than four values have come, the mean is over those alone. How many there "
        "were is a part of the state."
    ),
)
ENOUGH = Idea(
    "all that is needed",
    _(
        "A state holds all that the future depends on. From a total alone nobody can tell what "
        "has to leave the average when a new value comes in."
    ),
)
WINDOW = Idea(
    "window",
    _("Only the last four values count. An older one has no influence any more."),
)
ORDER = Idea(
    "order",
    _("The output comes first, and the new state second: every function of the course does so."),
    "state/stateful_computations#the-general-strategy",
)
GROWING = Idea(
    "kept structure",
    _(
        "A state keeps its structure, and the shape and dtype of each leaf, from the first step "
        "to the last. One that grows is a new program at every step."
    ),
    "state/pytrees#what-is-a-leaf-and-what-is-not",
)
IN_PLACE = Idea(
    "changed in place",
    _(
        "The state that comes in is written to. But the caller may go back to an earlier state, "
        "so each update keeps it as it is, and returns a new one."
    ),
    "state/stateful_computations#state-in-state-out",
)

LENGTH = 7


def _draw(rng, length=LENGTH):
    xs = rng.uniform(1, 9, length).astype(np.float32)
    xs[rng.integers(1, length)] = 0  # a value like any other
    return (xs,)


def _run(answer, xs):
    state = answer.init()
    averages = []
    for index in range(LENGTH):
        average, state = answer.update(state, xs[index])
        averages.append(average)
    return averages


def _averages(xs):
    return [xs[max(0, index - 3) : index + 1].mean() for index in range(len(xs))]


def _without_zeros(xs):
    lasts = [xs[max(0, index - 3) : index + 1] for index in range(LENGTH)]
    return [last.sum() / np.count_nonzero(last) for last in lasts]


def _of_four(xs):
    return [xs[max(0, index - 3) : index + 1].sum() / 4 for index in range(LENGTH)]


def _of_all(xs):
    return [xs[: index + 1].mean() for index in range(LENGTH)]


def _total(xs):
    return [xs[: index + 1].sum() / 4 for index in range(LENGTH)]


def _of_four_at_most(xs):
    return [xs[: index + 1].sum() / min(index + 1, 4) for index in range(LENGTH)]


def _is_state(result, xs):
    return not any(leaf.ndim == 0 and leaf.dtype.kind == "f" for leaf in result.values())


def _compiled(answer, xs):
    traces = []

    def counted(state, x):
        traces.append(1)
        return answer.update(state, x)

    update = jax.jit(counted)
    states = [jax.tree.map(jnp.asarray, answer.init())]
    for x in xs:
        average, state = update(states[-1], x)
        states.append(state)
    return {
        "average": average,
        "traces": len(traces),
        "same structure": len({jax.tree.structure(state) for state in states}) == 1,
        "same types": len({_types(state) for state in states}) == 1,
    }


def _types(state):
    return tuple((leaf.shape, leaf.dtype.name) for leaf in jax.tree.leaves(state))


def _compiled_expected(xs):
    average = _averages(xs)[-1]
    return {"average": average, "traces": 1, "same structure": True, "same types": True}


def _grows(result, xs):
    same = result["['same structure']"] and result["['same types']"]
    return not same and result["['traces']"] > 2


def _changes_dtype(result, xs):
    return not result["['same types']"] and result["['traces']"] == 2


def _scanned(answer, xs):
    def step(state, x):
        average, state = answer.update(state, x)
        return state, average

    return jax.lax.scan(step, answer.init(), xs)[1]


def _back(answer, xs):
    state = answer.init()
    for x in xs[:5]:
        _average, state = answer.update(state, x)
    once, _state = answer.update(state, xs[5])
    _other, _state = answer.update(state, xs[6])
    again, _state = answer.update(state, xs[5])
    return once, again


EXERCISE = Exercise(
    title=_("An average of the last four values"),
    statement=_(
        "Write `init()`, which returns the first state, and `update(state, x)`, which returns the "
        "average and the new state. The average is the mean of the last four values, `x` "
        "included; of fewer at the start.\n\n"
        "Which fields `State` has is for you to find out. The check passes the state from call to "
        "call, compiles `update`, scans it, and goes back to an earlier state."
    ),
    lesson="state/practice#task-2-a-moving-average",
    kind="write",
    minutes=10,
    hints=(
        _(
            "What must `update` know, besides `x`, to compute the next average, and the one after "
            "the next?"
        ),
        _(
            "Keep the last four values in one array whose shape never changes, and beside it how "
            "many of them are real. Start with zeros."
        ),
        _(
            "`jnp.append(state.last[1:], x)` drops the oldest value and adds the new one. Divide "
            "the sum by `jnp.minimum(state.seen + 1, 4)`."
        ),
    ),
    checks=(
        Check(
            _("The averages of seven values"),
            inputs=_draw,
            play=_run,
            expected=_averages,
            idea=WINDOW,
            mistakes=(
                Mistake(START, like=_of_four),
                Mistake(START, like=_without_zeros),
                Mistake(WINDOW, like=_of_all),
                Mistake(ENOUGH, like=_total),
                Mistake(ENOUGH, like=_of_four_at_most),
                Mistake(ORDER, when=_is_state),
                Mistake(ORDER, error="has no attribute"),
                Mistake(ORDER, error="over a 0-d array"),
                Mistake(IN_PLACE, error="immutable"),
            ),
            properties=("again", "pure"),
        ),
        Check(
            _("The state keeps its shapes and dtypes, and `update` its trace"),
            inputs=_draw,
            play=_compiled,
            expected=_compiled_expected,
            idea=GROWING,
            mistakes=(
                Mistake(IN_PLACE, error="immutable"),
                Mistake(GROWING, when=_grows),
                Mistake(ideas.DTYPE, when=_changes_dtype),
            ),
            draws=1,
        ),
        Check(
            _("A scan carries the state"),
            inputs=lambda rng: _draw(rng, 20),
            play=_scanned,
            expected=lambda xs: np.stack(_averages(xs)),
            idea=GROWING,
            draws=1,
        ),
        Check(
            _("An earlier state is still there"),
            inputs=_draw,
            play=_back,
            expected=lambda xs: (xs[2:6].mean(), xs[2:6].mean()),
            idea=IN_PLACE,
            draws=1,
        ),
    ),
)
