"""From a ref to a threaded state."""

# A level meter divides each sample by its level: the highest sample so far,
# which fades by a tenth from call to call.
import jax.numpy as jnp


def meter(level, sample):
    #: level[...] = jnp.maximum(0.9 * level[...], jnp.abs(sample))
    #: return sample / level[...]
    # <solution>
    level = jnp.maximum(0.9 * level, jnp.abs(sample))
    return sample / level, level
    # </solution>


def reset(level):
    # Fade the level to nothing.
    #: level[...] = jnp.zeros_like(level[...])
    # <solution>
    return None, jnp.zeros_like(level)
    # </solution>


# Which of these may stay in a ref, and which has to be threaded? Write "ref"
# or "thread" for each.
choices = {
    # A count of the calls that you only look at while you search for a bug.
    #: "calls for debugging": None,
    # <solution>
    "calls for debugging": "ref",
    # </solution>
    # The params: a run that has diverged goes back to those of an hour ago.
    #: "params": None,
    # <solution>
    "params": "thread",
    # </solution>
    # The level of each of a hundred channels, which vmap meters at once with
    # the function above.
    #: "levels of the channels": None,
    # <solution>
    "levels of the channels": "thread",
    # </solution>
}


# The exercise
import jax
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
    _("A ref keeps its last value by itself. A threaded state is lost unless it is returned."),
)
OLD_STATE = Idea(
    "late state",
    _(
        "`ref[...]` reads what is in the ref at that moment. Where the ref was already written, "
        "the threaded program needs the new value too."
    ),
)
FORMULA = Idea(
    "formula",
    _(
        "The numbers are those of another formula: the new level is what is left of the old one, "
        "or the size of the sample if that is larger, and the output is divided by it."
    ),
)
CHOICE = Idea(
    "ref or thread",
    _(
        "A value can be kept, copied and mapped. A ref is one place in memory, in which only the "
        "last value stands. Ask of each state whether somebody needs more than the last value."
    ),
)


def _draw(rng):
    return np.float32(rng.uniform(1, 3)), np.float32(rng.uniform(-2.5, -0.5))


def _metered(level, sample):
    level = np.maximum(np.float32(0.9) * level, np.abs(sample))
    return sample / level, level


def _back(answer, level, sample):
    _output, one = answer.meter(level, sample)
    two, _level = answer.meter(one, 5 * sample)
    again, _level = answer.meter(one, sample)
    return two, again


def _back_expected(level, sample):
    one = _metered(level, sample)[1]
    return _metered(one, 5 * sample)[0], _metered(one, sample)[0]


def _channels(answer, levels, samples):
    def step(levels, row):
        outputs, levels = jax.vmap(answer.meter)(levels, row)
        return levels, outputs

    return jax.lax.scan(step, levels, samples)


def _channels_expected(levels, samples):
    outputs = []
    for row in samples:
        output, levels = _metered(levels, row)
        outputs.append(output)
    return levels, np.stack(outputs)


def _right_choices(answer):
    right = (("calls for debugging", "ref"), ("params", "thread"))
    right += (("levels of the channels", "thread"),)
    return {"right choices": sum(answer.choices.get(name) == choice for name, choice in right)}


IN_PLACE = (
    Mistake(ideas.REFERENCE, error="immutable"),
    Mistake(ideas.REFERENCE, error="does not support item assignment"),
)

EXERCISE = Exercise(
    title=_("When not to use a ref"),
    statement=_(
        "`meter` and `reset` write to a ref. But the level is to be rolled back and mapped, so "
        "port both to a threaded state: `meter(level, sample)` returns the output and the new "
        "level, `reset(level)` returns `None` and the new level. The check passes the level as "
        "an array.\n\n"
        'Then decide for each state in `choices`: `"ref"` or `"thread"`.'
    ),
    lesson="state/stateful_computations#the-other-way-a-ref",
    kind="port",
    minutes=7,
    hints=(
        _("What does a caller have to keep in order to go back to an earlier level?"),
        _(
            "Look at each `level[...]`. On the right of `=`, it becomes `level`. On the left, it "
            "becomes a new value under the same name."
        ),
        _(
            "`meter` ends with `return sample / level, level`, and `reset` returns a pair too. As "
            "to the choices: only what nobody saves, maps or rolls back may stay in a ref."
        ),
    ),
    checks=(
        Check(
            _("`meter` returns the output and the new level"),
            inputs=_draw,
            play=lambda answer, level, sample: answer.meter(level, sample),
            expected=_metered,
            idea=FORMULA,
            mistakes=(
                *IN_PLACE,
                Mistake(ORDER, like=lambda level, sample: _metered(level, sample)[::-1]),
                Mistake(DROPPED, like=lambda level, sample: _metered(level, sample)[0]),
                Mistake(DROPPED, like=lambda level, sample: (_metered(level, sample)[0], level)),
                Mistake(
                    OLD_STATE,
                    like=lambda level, sample: (sample / level, _metered(level, sample)[1]),
                ),
            ),
            properties=("again", "arguments", "pure", "jit", "vmap"),
            types=True,
        ),
        Check(
            _("`reset` returns `None` and a level of 0"),
            inputs=_draw,
            play=lambda answer, level, sample: answer.reset(level),
            expected=lambda level, sample: (None, np.float32(0)),
            idea=ideas.REFERENCE,
            mistakes=(
                *IN_PLACE,
                Mistake(DROPPED, like=lambda level, sample: None),
                Mistake(ORDER, like=lambda level, sample: (np.float32(0), None)),
            ),
            properties=("again", "arguments", "pure", "jit", "vmap"),
            types=True,
        ),
        Check(
            _("The level is rolled back"),
            inputs=_draw,
            play=_back,
            expected=_back_expected,
            idea=FORMULA,
        ),
        Check(
            _("A scan carries the levels of eight channels, mapped by vmap"),
            inputs=lambda rng: (
                rng.uniform(1, 3, 8).astype(np.float32),
                rng.normal(size=(5, 8)).astype(np.float32),
            ),
            play=_channels,
            expected=_channels_expected,
            idea=ideas.REFERENCE,
        ),
        Check(
            _("`choices` says which state may stay in a ref"),
            play=_right_choices,
            expected=lambda: {"right choices": 3},
            idea=CHOICE,
            draws=1,
        ),
    ),
)
