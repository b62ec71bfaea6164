"""A loop of JAX around a module."""

# Water flows into a tank for some hours. In each hour, a tenth of what was
# in it drains out.
import haiku as hk
import jax
import jax.numpy as jnp


class Tank(hk.Module):
    def __call__(self, inflow):
        level = 0.9 * hk.get_state("level", (), init=jnp.zeros) + inflow
        hk.set_state("level", level)
        return level


def forward(inflows):
    tank = Tank()

    def hour(carry, inflow):
        return carry, tank(inflow)

    #: _, levels = jax.lax.scan(hour, None, inflows)
    # <solution>
    _, levels = hk.scan(hour, None, inflows)
    # </solution>
    return levels


model = hk.transform_with_state(forward)


# The exercise
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises import ideas
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

BAKED_IN = Idea(
    "baked-in state",
    _(
        "JAX traces the body of the loop once, as a function of the carry and the input. The level "
        "is neither of the two, so each hour starts from the same one."
    ),
    "haiku/jax_inside_haiku#calling-a-module-in-a-loop",
)
OVERWRITTEN = Idea(
    "not written",
    _("The loop has the right levels, but the state that `apply` returns is not the last of them."),
    "haiku/jax_inside_haiku#hkscan",
)
FROM_HOUR_TO_HOUR = Idea(
    "from hour to hour",
    _(
        "The levels are not those of the tank: the first hour goes on from the level in the state, "
        "and each other hour from the level of the hour before."
    ),
    "haiku/jax_inside_haiku#hkscan",
)
UNROLLED = Idea(
    "unrolled loop",
    _(
        "A Python loop is traced once for each hour, so the program grows with the inputs. A scan "
        "is traced once, whatever their number."
    ),
    "haiku/jax_inside_haiku#calling-a-module-in-a-loop",
)


LEVEL = "[1]['tank']['level']"


def _draw(rng):
    level = np.float32(rng.uniform(20, 40))
    return level, rng.uniform(1, 5, 4).astype(np.float32)


def _apply(answer, level, inflows):
    return answer.model.apply({}, {"tank": {"level": level}}, None, inflows)


def _truth(level, inflows, *, carried=True):
    levels = [np.float64(level)]
    for inflow in np.float64(inflows):
        levels.append(0.9 * (levels[-1] if carried else levels[0]) + inflow)
    return np.stack(levels[1:]), {"tank": {"level": levels[-1]}}


def _two_days(answer, inflows):
    _, state = answer.model.init(None, inflows)
    first = state["tank"]["level"]
    _, state = answer.model.apply({}, state, None, inflows)
    levels, state = answer.model.apply({}, state, None, inflows)
    return first, levels, state


def _two_days_truth(inflows):
    _, state = _truth(0.0, inflows)
    return 0.0, *_truth(state["tank"]["level"], inflows)


def _grows(answer, level, inflows):
    def equations(hours):
        long = np.resize(np.asarray(inflows), hours)
        state = {"tank": {"level": level}}
        apply = answer.model.apply
        return len(jax.make_jaxpr(lambda s, x: apply({}, s, None, x))(state, long).eqns)

    return {"the program grows": equations(30) > equations(10)}


EXERCISE = Exercise(
    title=_("A leak in a tank"),
    statement=_(
        "`model.apply({}, state, None, inflows)` should return the level after each hour, and the "
        "state with the last level. Repair `forward`. `Tank` is right as it is, and the loop is to "
        "be traced once, however many hours there are."
    ),
    lesson="haiku/jax_inside_haiku#hkscan",
    kind="repair",
    minutes=5,
    hints=(
        _("Which function sees the level change: the one outside the loop, or the body of it?"),
        _("`hour` is right. Look at who calls it."),
        _("Haiku has a scan of its own, with the same arguments, that carries the state along."),
    ),
    checks=(
        Check(
            _("each hour goes on from the level of the hour before"),
            inputs=_draw,
            play=_apply,
            expected=_truth,
            idea=FROM_HOUR_TO_HOUR,
            mistakes=(
                Mistake(
                    BAKED_IN,
                    when=lambda got, *inputs: bool(
                        np.allclose(got["[0]"], _truth(*inputs, carried=False)[0], 1e-4, 1e-4)
                    ),
                ),
                Mistake(ideas.LEAK, when=lambda got, *_: got.get(LEVEL, 0) is None),
                Mistake(
                    OVERWRITTEN,
                    when=lambda got, *inputs: bool(
                        np.allclose(got["[0]"], _truth(*inputs)[0], 1e-4, 1e-4)
                    ),
                ),
            ),
            properties=("again", "arguments", "pure", "jit", "vmap"),
        ),
        Check(
            _("`init` returns an empty tank, and a second day goes on from the first"),
            inputs=lambda rng: _draw(rng)[1:],
            play=_two_days,
            expected=_two_days_truth,
            idea=OVERWRITTEN,
            properties=("pure", "jit"),
        ),
        Check(
            _("the body of the loop is traced once, for 10 hours as for 30"),
            inputs=_draw,
            play=_grows,
            expected=lambda level, inflows: {"the program grows": False},
            idea=UNROLLED,
        ),
    ),
)
