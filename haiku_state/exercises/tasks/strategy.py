"""The general strategy, applied to a class."""

# A water tank: what does not fit into it is spilled. The class remembers two
# numbers. The functions below it get them in a dict.
import jax.numpy as jnp


class Tank:
    def __init__(self):
        self.level = jnp.float32(0)
        self.spilled = jnp.float32(0)

    def fill(self, amount):
        total = self.level + amount
        self.level = jnp.minimum(total, 10.0)
        self.spilled += total - self.level
        return self.level

    def drain(self):
        water = self.level
        self.level = jnp.zeros_like(self.level)
        return water


#: tank = Tank()
#:
#:
def fill(state, amount):
    #: return tank.fill(amount), state
    # <solution>
    total = state["level"] + amount
    level = jnp.minimum(total, 10.0)
    spilled = state["spilled"] + total - level
    return level, {"level": level, "spilled": spilled}
    # </solution>


def drain(state):
    #: return tank.drain(), state
    # <solution>
    level = jnp.zeros_like(state["level"])
    return state["level"], {"level": level, "spilled": state["spilled"]}
    # </solution>


# The exercise
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

STRATEGY = Idea(
    "strategy",
    _(
        "Whatever a method reads from `self` comes out of the state that is passed in, and "
        "whatever it assigns to `self` goes into the state that is returned."
    ),
)
ORDER = Idea(
    "order",
    _("The output comes first, and the new state second: every function of the course does so."),
)
DROPPED = Idea(
    "dropped state",
    _("The new state does not come out, so the next call would start from the old one."),
    "state/stateful_computations#state-in-state-out",
)
FORGOTTEN = Idea(
    "forgotten attribute",
    _(
        "The state keeps all attributes of the class, in every function: also those that one "
        "method does not touch."
    ),
)
TOO_LATE = Idea(
    "late read",
    _(
        "The output is what the method returns. It may be the value of an attribute before the "
        "method changes it."
    ),
)


def _draw(rng):
    level, spilled = np.float32(rng.uniform(3, 9)), np.float32(rng.uniform(1, 5))
    return {"level": level, "spilled": spilled}, np.float32(rng.uniform(8, 20))


def _filled(state, amount):
    total = state["level"] + amount
    level = np.minimum(total, np.float32(10))
    return level, {"level": level, "spilled": state["spilled"] + (total - level)}


def _drained(state, amount):
    return state["level"], {"level": np.float32(0), "spilled": state["spilled"]}


def _day(answer, state, amount):
    seen = []
    for share in (0.1, 1.0, 0.5):
        level, state = answer.fill(state, share * amount)
        water, state = answer.drain(state)
        seen.append((level, water))
    return seen, answer.fill(state, amount)


def _day_expected(state, amount):
    seen = []
    for share in (0.1, 1.0, 0.5):
        level, state = _filled(state, np.float32(share) * amount)
        water, state = _drained(state, amount)
        seen.append((level, water))
    return seen, _filled(state, amount)


def _misses(result, state, amount):
    return "[1]['level']" in result and "[1]['spilled']" not in result


def _unchanged(result, state, amount):
    return all(result[f"[1]['{name}']"] == value for name, value in state.items())


def _only(name):
    return lambda state, amount: (name(state, amount)[0], name(state, amount)[1]["level"])


EXERCISE = Exercise(
    title=_("A tank as pure functions"),
    statement=_(
        "Write `fill` and `drain` as pure functions that do what the methods of `Tank` do. Each "
        "takes the state, a dict with the keys `level` and `spilled`, and returns what the method "
        "returns and the new state, a dict with the same keys.\n\n"
        "The check calls `fill(state, amount)` and `drain(state)` with many different states. It "
        "also compiles and vectorizes them."
    ),
    lesson="state/stateful_computations#the-general-strategy",
    kind="port",
    minutes=8,
    hints=(
        _("Which attributes does each method read, and which does it assign?"),
        _(
            "Go through `Tank.fill` line by line. Each `self.level` that is read becomes "
            '`state["level"]`, and each that is assigned becomes an ordinary variable.'
        ),
        _(
            "Both functions end with `return output, "
            '{"level": ..., "spilled": ...}`. In `drain`, the output is the old level.'
        ),
    ),
    checks=(
        Check(
            _("`fill` returns the level and the new state"),
            inputs=_draw,
            play=lambda answer, state, amount: answer.fill(state, amount),
            expected=_filled,
            idea=STRATEGY,
            mistakes=(
                Mistake(ORDER, like=lambda state, amount: _filled(state, amount)[::-1]),
                Mistake(DROPPED, like=lambda state, amount: _filled(state, amount)[0]),
                Mistake(DROPPED, when=_unchanged),
                Mistake(FORGOTTEN, like=_only(_filled)),
                Mistake(FORGOTTEN, when=_misses),
            ),
            properties=("again", "arguments", "pure", "jit", "vmap"),
            types=True,
        ),
        Check(
            _("`drain` returns the water and the new state"),
            inputs=_draw,
            play=lambda answer, state, amount: answer.drain(state),
            expected=_drained,
            idea=STRATEGY,
            mistakes=(
                Mistake(ORDER, like=lambda state, amount: _drained(state, amount)[::-1]),
                Mistake(DROPPED, when=_unchanged),
                Mistake(DROPPED, like=lambda state, amount: state["level"]),
                Mistake(FORGOTTEN, like=_only(_drained)),
                Mistake(FORGOTTEN, when=_misses),
                Mistake(
                    TOO_LATE,
                    like=lambda state, amount: (np.float32(0), _drained(state, amount)[1]),
                ),
            ),
            properties=("again", "arguments", "pure", "jit", "vmap"),
            types=True,
        ),
        Check(
            _("A tank that is filled and drained three times is right in the end"),
            inputs=_draw,
            play=_day,
            expected=_day_expected,
            idea=STRATEGY,
            properties=("jit",),
        ),
    ),
)
