"""Three impurities in one function."""

# A thermometer reports noisy readings. Its state is the number of readings
# and the highest of them.
import jax
import jax.numpy as jnp

#: import numpy as np
#:
#: readings = []
#: noise = np.random.default_rng(0)


def measure(state, rng, temperature):
    #: reading = temperature + noise.normal()
    #: readings.append(reading)
    #: state["count"] += 1
    #: state["highest"] = jnp.max(jnp.stack(readings))
    #: return reading, state
    # <solution>
    reading = temperature + jax.random.normal(rng)
    count = state["count"] + 1
    highest = jnp.maximum(state["highest"], reading)
    return reading, {"count": count, "highest": highest}
    # </solution>


# The exercise
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises import ideas
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

GENERATOR = Idea(
    "hidden randomness",
    _(
        "The noise has to come from the key that is passed in, and from nothing else. A generator "
        "of NumPy changes a state of its own at each draw, and a key of one's own is always the "
        "same."
    ),
    "pure/transformations#what-purity-buys",
)
REMEMBERED = Idea(
    "hidden memory",
    _(
        "The function remembers something outside of its arguments, so the state that it is given "
        "does not decide alone what comes out."
    ),
    "haiku/see_inside#which-tool-sees-which-bug",
)

HIGHEST = Idea(
    "highest reading",
    _(
        "The highest reading is one of two: the highest before, which is in the state, or the "
        "reading of this call."
    ),
)


def _draw(rng):
    highest = rng.uniform(20, 30)
    state = {"count": np.int32(rng.integers(3, 9)), "highest": np.float32(highest)}
    temperatures = highest + np.array([-9.0, 9.0, 1.0, 18.0])
    return state, np.uint32(rng.integers(2**31)), temperatures.astype(np.float32)


def _play(answer, state, seed, temperatures):
    readings, states = [], []
    for index, key in enumerate(jax.random.split(jax.random.key(seed), 4)):
        reading, state = answer.measure(state, key, temperatures[index])
        readings.append(reading)
        states.append(jax.tree_util.tree_map(lambda leaf: leaf, state))
    return readings, states


def _readings(seed, temperatures):
    keys = jax.random.split(jax.random.key(seed), len(temperatures))
    noise = [np.float64(jax.random.normal(key)) for key in keys]
    return [t + n for t, n in zip(temperatures, noise, strict=True)]


def _truth(state, seed, temperatures):
    readings = _readings(seed, temperatures)
    highest = np.maximum.accumulate([state["highest"], *readings])[1:]
    counts = np.int32(state["count"] + np.arange(1, 5))
    return readings, [{"count": c, "highest": h} for c, h in zip(counts, highest, strict=True)]


def _forgets(state, seed, temperatures):
    readings, states = _truth(state, seed, temperatures)
    both = zip(readings, states, strict=True)
    return readings, [{**new_state, "highest": reading} for reading, new_state in both]


def _other_noise(got, state, seed, temperatures):
    readings = np.array([got[f"[0][{i}]"] for i in range(len(temperatures))])
    noise = np.abs(readings - temperatures)
    return bool((noise < 7).all() and not np.allclose(readings, _readings(seed, temperatures)))


EXERCISE = Exercise(
    title=_("Find the impurities"),
    statement=_(
        "`measure(state, rng, temperature)` returns the reading and the new state, a dict with "
        "`count` and `highest`. Three things make it impure. Repair it, so that `explain` finds "
        "nothing, the noise is `jax.random.normal(rng)`, and the highest reading is that of "
        "`state` and of this call. `hs.explain(measure, state, rng, temperature)` shows you where "
        "to look."
    ),
    lesson="haiku/see_inside#which-tool-sees-which-bug",
    kind="repair",
    minutes=8,
    hints=(
        _("What does `measure` read or change that is neither an argument nor a result?"),
        _(
            "Look at the generator, at the list, and at the two lines that assign to `state`. "
            "Which of the arguments is not used at all?"
        ),
        _(
            'Return a new dict with `state["count"] + 1` and '
            '`jnp.maximum(state["highest"], reading)`.'
        ),
    ),
    checks=(
        Check(
            _("the readings and the states follow from the arguments"),
            inputs=_draw,
            play=_play,
            expected=_truth,
            idea=REMEMBERED,
            mistakes=(
                Mistake(GENERATOR, when=_other_noise),
                Mistake(HIGHEST, like=_forgets),
                Mistake(ideas.NOT_TRACEABLE, error="TracerBoolConversionError"),
            ),
            properties=("again", "arguments", "pure", "jit", "vmap"),
        ),
    ),
)
