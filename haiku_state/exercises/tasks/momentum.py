"""An optimizer whose velocity is lost."""

# The center of many points is found by gradient descent with momentum: the
# old velocity is multiplied by 0.9, and the gradient is added to it.
import jax
import jax.numpy as jnp


def loss_fn(params, points):
    return jnp.sum((points - params["center"]) ** 2) / len(points)


def init(params):
    return jax.tree.map(jnp.zeros_like, params)


def update(params, velocity, points):
    grads = jax.grad(loss_fn)(params, points)
    #: velocity = init(params)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    params = jax.tree.map(lambda p, v: p - 0.02 * v, params, velocity)
    return params, velocity


#: def train(params, batches):
#:     velocity = init(params)
#:     for points in batches:
#:         params, _ = update(params, velocity, points)
#:     return params
# <solution>
def train(params, velocity, batches):
    for points in batches:
        params, velocity = update(params, velocity, points)
    return params, velocity


# </solution>


# The exercise
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

FRESH = Idea(
    "fresh velocity",
    _(
        "The step begins with a velocity of zero, whatever it is given. One step of momentum from "
        "zero is a step of plain gradient descent."
    ),
    "state/regression_by_hand#forgetting-the-optimizers-state",
)
DROPPED = Idea(
    "dropped velocity",
    _(
        "The velocity of one step does not reach the next one. The optimizer's state is threaded "
        "like the params: into each step, and out of it."
    ),
    "state/regression_by_hand#forgetting-the-optimizers-state",
)
LOST_AT_END = Idea(
    "velocity lost at the end",
    _(
        "Training that goes on later needs the velocity too, not only the params. What the next "
        "call needs has to come out, and to come in again."
    ),
    "state/regression_by_hand#in-practice",
)
ORDER = Idea(
    "order",
    _("The params come first, and the velocity second, both as arguments and as results."),
)

FORMULA = Idea(
    "formula",
    _(
        "The new velocity is 0.9 times the old one plus the gradient, and the step follows the new "
        "one. Only where the velocity comes from has to change."
    ),
)


def _draw(rng, *shape):
    params = {"center": rng.normal(size=2).astype(np.float32)}
    velocity = {"center": rng.uniform(1, 3, size=2).astype(np.float32)}
    return params, velocity, rng.normal(size=(*shape, 3, 2)).astype(np.float32)


def _update(params, velocity, points, kept=1.0):
    center = params["center"].astype(np.float64)
    grad = 2 * (center - points.mean(axis=0))
    new = 0.9 * kept * velocity["center"] + grad
    return (
        {"center": np.float32(center - 0.02 * new)},
        {"center": np.float32(new)},
    )


def _fresh(params, velocity, points):
    return _update(params, velocity, points, kept=0.0)


def _train(params, velocity, batches, threaded=True, kept=1.0):
    start = velocity
    for points in batches:
        begin = velocity if threaded else start
        params, velocity = _update(params, begin, points, kept)
    return params, velocity


def _dropped(params, velocity, batches):
    """Return what a loop gives that drops every new velocity."""
    return _train(params, velocity, batches, threaded=False)[0], velocity


def _dropped_late(params, velocity, batches):
    return _train(params, velocity, batches, threaded=False)


def _from_zero(params, velocity, batches):
    return _train(params, {"center": 0 * velocity["center"]}, batches)


def _play(answer, params, velocity, batches):
    return answer.train(params, velocity, batches)


def _resumed(answer, params, velocity, batches):
    half = answer.train(params, velocity, batches[:2])
    return answer.train(*half, batches[2:])


LOOP = (
    Mistake(LOST_AT_END, error="train() takes 2 positional arguments"),
    Mistake(ORDER, error="'str'"),  # the keys of a dict were taken for the batches
    Mistake(LOST_AT_END, like=lambda *inputs: _train(*inputs)[0]),
    Mistake(LOST_AT_END, when=lambda result, params, velocity, batches: "['center']" in result),
    Mistake(DROPPED, like=_dropped),
    Mistake(DROPPED, like=_dropped_late),
    Mistake(FRESH, like=_from_zero),
    Mistake(ORDER, like=lambda *inputs: _train(*inputs)[::-1]),
)

EXERCISE = Exercise(
    title=_("Where does the velocity go?"),
    statement=_(
        "The loss falls no faster than without momentum, because the velocity is lost in three "
        "places. Repair `update(params, velocity, points)` and the loop, and change `train` into "
        "`train(params, velocity, batches)`, which returns a pair: "
        "the params and the velocity.\n\n"
        "The check calls `update`, and then `train` with several batches. It also trains on two "
        "of the batches, and resumes on the others: that must give the same as training on all."
    ),
    lesson="state/regression_by_hand#forgetting-the-optimizers-state",
    kind="repair",
    minutes=6,
    hints=(
        _("With which velocity does the second step begin?"),
        _(
            "Follow the name `velocity` from line to line: where does it get a value that does "
            "not come from the step before, and where is the new value dropped?"
        ),
        _(
            "`update` needs no call of `init`. In the loop, take both results: "
            "`params, velocity = update(...)`. The caller of `train` calls `init`."
        ),
    ),
    checks=(
        Check(
            _("`update` goes on from the velocity that it is given"),
            inputs=_draw,
            play=lambda answer, params, velocity, points: answer.update(params, velocity, points),
            expected=_update,
            idea=FORMULA,
            mistakes=(
                Mistake(FRESH, like=_fresh),
                Mistake(LOST_AT_END, like=lambda *inputs: _update(*inputs)[0]),
                Mistake(ORDER, like=lambda *inputs: _update(*inputs)[::-1]),
                Mistake(
                    DROPPED,
                    like=lambda params, velocity, points: (
                        _update(params, velocity, points)[0],
                        velocity,
                    ),
                ),
            ),
            properties=("again", "arguments", "pure", "jit"),
            types=True,
        ),
        Check(
            _("`train` hands the velocity on from batch to batch"),
            inputs=lambda rng: _draw(rng, 4),
            play=_play,
            expected=_train,
            idea=DROPPED,
            mistakes=LOOP,
            properties=("again", "arguments", "pure", "jit"),
        ),
        Check(
            _("Training that is resumed gives the same"),
            inputs=lambda rng: _draw(rng, 4),
            play=_resumed,
            expected=_train,
            idea=LOST_AT_END,
            mistakes=LOOP,
        ),
    ),
)
