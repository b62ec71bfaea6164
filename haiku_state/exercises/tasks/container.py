"""A container of one's own, as a PyTree."""

# A swing has an angle and a speed, which change from step to step, and a
# method of integration, by which Python chooses the formula.
from dataclasses import dataclass, replace

import jax


@dataclass
class Swing:
    angle: jax.Array
    speed: jax.Array
    method: str


# <solution>
jax.tree_util.register_dataclass(
    Swing,
    data_fields=["angle", "speed"],
    meta_fields=["method"],
)
# </solution>


# Return the swing after a short time.
def step(swing, seconds):
    #: angle = swing.angle + seconds * swing.speed
    #: if swing.method == "euler":
    #:     swing.speed -= seconds * swing.angle
    #: else:
    #:     swing.speed -= seconds * angle
    #: swing.angle = angle
    #: return swing
    # <solution>
    angle = swing.angle + seconds * swing.speed
    if swing.method == "euler":
        speed = swing.speed - seconds * swing.angle
    else:
        speed = swing.speed - seconds * angle
    return replace(swing, angle=angle, speed=speed)
    # </solution>


# The exercise
import jax.numpy as jnp
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

UNKNOWN = Idea(
    "unknown class",
    _(
        "For JAX, an object of a class that it does not know is one leaf, and not an array. It "
        "has to be told what is inside."
    ),
)
STATIC = Idea(
    "static field",
    _(
        "A string cannot be an array. A field by which Python chooses what is computed belongs to "
        "the structure of the tree, not to its leaves."
    ),
)
DATA = Idea(
    "data field",
    _(
        "Numbers that change from call to call have to be leaves. What is a part of the structure "
        "is compiled in, and an array cannot even be compared there."
    ),
)
ROUND_TRIP = Idea(
    "round trip",
    _(
        "JAX takes the object apart and puts it together again. Each part must come back to the "
        "place where it was."
    ),
    "state/pytrees#flatten-and-unflatten",
)
IN_PLACE = Idea(
    "changed in place",
    _(
        "The swing that was passed in has changed. A pure step does not touch it, and returns a "
        "new one."
    ),
    "state/stateful_computations#state-in-state-out",
)

METHOD = Idea(
    "method",
    _("A step changes the angle and the speed. The new swing has the method of the old one."),
)
SAME_STEP = Idea(
    "same step",
    _(
        "The numbers of a step stay what they were. Euler's method changes the speed by the old "
        "angle, the leapfrog method by the new one."
    ),
)


def _draw(rng):
    angle, speed = rng.uniform(0.5, 1.5, 2).astype(np.float32)
    return angle, speed + np.float32(2), np.float32(rng.uniform(0.1, 0.3))


def _leaves(answer, angle, speed, seconds):
    swing = answer.Swing(angle, speed, "euler")
    number = len(jax.tree.leaves(swing))
    return {"leaves": number, "known": not any(leaf is swing for leaf in jax.tree.leaves(swing))}


def _round_trip(answer, angle, speed, seconds):
    seen = {}
    for method in ("euler", "leapfrog"):
        doubled = jax.tree.map(lambda leaf: 2 * leaf, answer.Swing(angle, speed, method))
        seen[method] = {**_shown(doubled), "method": doubled.method}
    return seen


def _shown(swing):
    return {"angle": swing.angle, "speed": swing.speed}


def _stepped(method):
    def play(answer, angle, speed, seconds):
        first = answer.Swing(angle, speed, method)
        second = answer.step(first, seconds)
        return {"before": _shown(first), "after": _shown(second)}

    def expected(angle, speed, seconds):
        before = {"angle": angle, "speed": speed}
        later = angle + seconds * speed
        faster = speed - seconds * (angle if method == "euler" else later)
        return {"before": before, "after": {"angle": later, "speed": faster}}

    return play, expected


def _changed(result, angle, *_inputs):
    return result["['before']['angle']"] != angle


def _compiled(answer, angle, speed, seconds):
    traces = []

    def counted(swing):
        traces.append(1)
        return answer.step(swing, seconds)

    fast = jax.jit(counted)
    for factor in (1, 2, 3):
        swing = fast(answer.Swing(factor * angle, speed, "euler"))
    by_data = len(traces)
    after = fast(answer.Swing(angle, speed, "leapfrog"))
    many = jax.vmap(counted)(answer.Swing(jnp.stack([angle, speed]), jnp.ones(2), "euler"))
    return {
        "angle": swing.angle,
        "traces for three angles": by_data,
        "traces for two methods": len(traces) - (many is not None),
        "keeps its method": after.method == "leapfrog",
        "angles of two swings": many.angle,
    }


def _other_method(leaves, *_inputs):
    return not leaves["['keeps its method']"]


def _compiled_expected(angle, speed, seconds):
    return {
        "angle": 3 * angle + seconds * speed,
        "traces for three angles": 1,
        "traces for two methods": 2,
        "keeps its method": True,
        "angles of two swings": np.stack([angle, speed]) + seconds,
    }


EXERCISE = Exercise(
    title=_("A container of your own"),
    statement=_(
        "`Swing` is to be a container that JAX understands, and `step` a pure function that can "
        "be compiled.\n\n"
        "The check makes swings by `Swing(angle, speed, method)`, where the method is "
        '`"euler"` or `"leapfrog"`, and calls `step(swing, seconds)`, also under `jax.jit` and '
        "`jax.vmap`. A new angle or speed must not be traced again, a new method has to be. The "
        "swing that is passed to `step` stays as it is."
    ),
    lesson="state/pytrees#a-container-of-your-own",
    kind="repair",
    minutes=8,
    hints=(
        _("Which of the three fields can be an array, and which cannot?"),
        _(
            "Below the class, register it with `jax.tree_util.register_dataclass`, as the lesson "
            "does. And in `step`, look for assignments to `swing.`."
        ),
        _(
            '`data_fields` are `["angle", "speed"]`, and `meta_fields` is a list of the third. '
            "`dataclasses.replace(swing, angle=..., speed=...)` makes a new swing."
        ),
    ),
    checks=(
        Check(
            _("JAX finds two leaves in a swing"),
            inputs=_draw,
            play=_leaves,
            expected=lambda angle, speed, seconds: {"leaves": 2, "known": True},
            idea=DATA,
            mistakes=(
                Mistake(UNKNOWN, when=lambda result, *_i: not result["['known']"]),
                Mistake(STATIC, when=lambda result, *_i: result["['leaves']"] == 3),
                Mistake(DATA, when=lambda result, *_i: result["['leaves']"] < 2),
                Mistake(DATA, error="unhashable"),
            ),
        ),
        Check(
            _("A swing that is taken apart comes back as it was"),
            inputs=_draw,
            play=_round_trip,
            expected=lambda angle, speed, seconds: {
                method: {"angle": 2 * angle, "speed": 2 * speed, "method": method}
                for method in ("euler", "leapfrog")
            },
            idea=ROUND_TRIP,
        ),
        *(
            Check(
                title,
                inputs=_draw,
                play=_stepped(method)[0],
                expected=_stepped(method)[1],
                idea=SAME_STEP,
                mistakes=(Mistake(IN_PLACE, when=_changed), Mistake(IN_PLACE, error="Frozen")),
                properties=("pure", "jit"),
            )
            for method, title in (
                ("euler", _("A step by Euler's method")),
                ("leapfrog", _("A step by the leapfrog method")),
            )
        ),
        Check(
            _("Three angles share one trace, and each method has its own"),
            inputs=_draw,
            play=_compiled,
            expected=_compiled_expected,
            idea=DATA,
            mistakes=(
                Mistake(METHOD, when=lambda leaves, *_i: not leaves["['keeps its method']"]),
            ),
            draws=1,
        ),
    ),
)
