"""A random key as state."""

# A walker makes steps of random length, forward or back. Its state is a pair:
# its place, and the random key for the steps to come.
import jax


def walk(state):
    # Make one step; return its length, and the new state.
    place, key = state
    #: step = jax.random.normal(key)
    #: return step, (place + step, key)
    # <solution>
    key, step_key = jax.random.split(key)
    step = jax.random.normal(step_key)
    return step, (place + step, key)
    # </solution>


def throw(state):
    # Throw the walker to a random place between 0 and 1, and a coin that says
    # whether it is awake; return the coin, and the new state.
    place, key = state
    #: place = jax.random.uniform(key)
    #: awake = jax.random.bernoulli(key)
    #: return awake, (place, key)
    # <solution>
    key, place_key, coin_key = jax.random.split(key, 3)
    place = jax.random.uniform(place_key)
    awake = jax.random.bernoulli(coin_key)
    return awake, (place, key)
    # </solution>


# The exercise
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

SAME_KEY = Idea(
    "key not advanced",
    _(
        "The new state holds the old key, so the next call draws the same numbers again. The key "
        "is state: what comes out has to differ from what came in."
    ),
)
OWN_KEY = Idea(
    "key from outside",
    _(
        "The numbers do not depend on the key in the state. A random function draws from the key "
        "that it is given, so that its caller determines the numbers."
    ),
)
DISTRIBUTION = Idea(
    "distribution",
    _("The numbers are random, but not from the distribution that was asked for."),
)
DEPENDENT = Idea(
    "dependent draws",
    _(
        "Two draws depend on each other: who knows one, knows something about the other. Draws "
        "with keys of their own are independent."
    ),
    "haiku/randomness#same-key-same-mask",
)

WALKERS = 2000


def _draw(rng):
    return np.int32(rng.integers(1, 1 << 30)), np.float32(rng.uniform(-5, 5))


def _two_steps(answer, seed, place):
    start = (place, jax.random.key(seed))
    one, state = answer.walk(start)
    two, state = answer.walk(state)
    other, _state = answer.walk((place, jax.random.key(seed + 1)))
    return {
        "different steps": one != two,
        "different walkers": one != other,
        "place": state[0] - (place + one + two),
    }


def _two_steps_expected(seed, place):
    return {"different steps": True, "different walkers": True, "place": 0.0}


def _stuck(result, *_inputs):
    return not result["['different steps']"] and result["['different walkers']"]


def _deaf(result, *_inputs):
    return not result["['different walkers']"]


def _many(answer, seed, place):
    def one(key):
        step, state = answer.walk((place, key))
        second, state = answer.walk(state)
        coin, thrown = answer.throw(state)
        return step, second, coin, thrown[0]

    keys = jax.random.split(jax.random.key(seed), WALKERS)
    step, second, coin, thrown = jax.device_get(jax.jit(jax.vmap(one))(keys))
    return {
        "mean step is about 0": abs(step.mean()) < 0.2,
        "spread of the steps is about 1": abs(step.std() - 1) < 0.2,
        "steps are normal": abs((abs(step) < 1).mean() - 0.683) < 0.05,
        "place is uniform": (abs(thrown.mean() - 0.5) < 0.1) & (abs(thrown.std() - 0.289) < 0.05),
        "coin is fair": abs(coin.mean() - 0.5) < 0.1,
        "coin tells the place": abs(np.corrcoef(coin, thrown)[0, 1]) > 0.2,
        "step tells the next": abs(np.corrcoef(step, second)[0, 1]) > 0.2,
    }


def _many_expected(seed, place):
    return {
        "mean step is about 0": True,
        "spread of the steps is about 1": True,
        "steps are normal": True,
        "place is uniform": True,
        "coin is fair": True,
        "coin tells the place": False,
        "step tells the next": False,
    }


def _two_throws(answer, seed, place):
    _coin, one = answer.throw((place, jax.random.key(seed)))
    _coin, two = answer.throw(one)
    return {"different places": one[0] != two[0]}


EXERCISE = Exercise(
    title=_("A random walk"),
    statement=_(
        "All steps of this walker are the same, and so are its throws. "
        "Repair `walk` and `throw`.\n\n"
        "The state is a pair `(place, key)`. `walk(state)` returns a step from the standard normal "
        "distribution, and the new state. `throw(state)` returns a fair coin, and the new state, "
        "whose place is uniform between 0 and 1. The check calls them again and again with the "
        "state that they return, and finds out whether a key is used twice."
    ),
    lesson="state/stateful_computations#you-have-met-this-before-random-keys",
    kind="repair",
    minutes=6,
    hints=(
        _("How many keys does one call need, if each key may be used only once?"),
        _("Look at the line after `place, key = state`: there, the key has to be split."),
        _(
            "In `walk`, `jax.random.split(key)` gives two keys: draw with one, and return the "
            "other. In `throw` there are two draws, so split into three."
        ),
    ),
    checks=(
        Check(
            _("Two steps are different, and the place is their sum"),
            inputs=_draw,
            play=_two_steps,
            expected=_two_steps_expected,
            idea=SAME_KEY,
            mistakes=(
                Mistake(SAME_KEY, when=_stuck),
                Mistake(OWN_KEY, when=_deaf),
            ),
            properties=("again", "pure", "keys"),
            draws=1,
        ),
        Check(
            _("Two throws lead to two different places"),
            inputs=_draw,
            play=_two_throws,
            expected=lambda seed, place: {"different places": True},
            idea=SAME_KEY,
            properties=("again", "pure", "keys"),
            draws=1,
        ),
        Check(
            _("The numbers of many walkers are distributed as they should be"),
            inputs=_draw,
            play=_many,
            expected=_many_expected,
            idea=DISTRIBUTION,
            mistakes=(
                Mistake(DEPENDENT, when=lambda result, *_i: result["['coin tells the place']"]),
                Mistake(DEPENDENT, when=lambda result, *_i: result["['step tells the next']"]),
            ),
            draws=1,
        ),
    ),
)
