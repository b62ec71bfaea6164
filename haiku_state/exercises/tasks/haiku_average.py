"""A zero-debiased moving average as a module."""

# The optimizer Adam divides each step by the root of an average of squared
# gradients. The module keeps that average, and corrects its start at zero.
import haiku as hk
import jax.numpy as jnp


class SquaredAverage(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, gradient):
        # Update the average, and return it without the error of its start.
        #: hidden = jnp.zeros(gradient.shape)
        #: return hidden
        # <solution>
        shape, dtype = gradient.shape, gradient.dtype
        hidden = hk.get_state("hidden", shape, dtype, init=jnp.zeros)
        counter = hk.get_state("counter", (), jnp.int32, init=jnp.zeros) + 1
        hidden += (1 - self.decay_rate) * (gradient**2 - hidden)
        hk.set_state("hidden", hidden)
        hk.set_state("counter", counter)
        return hidden / (1 - self.decay_rate**counter)
        # </solution>


# The exercise
import haiku as hk
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake
from haiku_state.exercises.ideas import INITIAL, NAME, NOT_STATE, NOT_WRITTEN, WEIGHTS
from haiku_state.exercises.tasks.haiku_counter import has_state, in_params

START = Idea(
    "start at zero",
    _(
        "After t steps from zero, the moving average holds only a share of a full average. The "
        "output is still too small at the first steps."
    ),
    "haiku/batch_norm#an-average-that-starts-right",
)
COUNTER = Idea(
    "counted first",
    _(
        "The share that is divided by is that of the average *after* this step, so this step is "
        "counted too."
    ),
    "haiku/batch_norm#an-average-that-starts-right",
)
TWICE = Idea(
    "corrected twice",
    _(
        "The next step goes on from what is kept in the state. If that is corrected already, the "
        "correction is applied once more in each step."
    ),
    "haiku/batch_norm#an-average-that-starts-right",
)
FORMULA = Idea(
    "moving average",
    _(
        "In each step the average keeps a part of itself, and takes the rest from the new value: "
        "here, the square of the gradient."
    ),
    "haiku/batch_norm#an-average-that-starts-right",
)


def _draw(rng):
    return np.float32(rng.uniform(0.4, 0.9)), rng.normal(0, 3, (3, 2)).astype(np.float32)


def _draw_state(rng):
    return *_draw(rng), rng.uniform(1, 5, 2).astype(np.float32), np.int32(rng.integers(2, 5))


def _init(answer, decay_rate, gradients):
    pair = hk.transform_with_state(lambda x: answer.SquaredAverage(decay_rate, name="v")(x))
    return pair.init(None, gradients[0])


def _is_there(got, *_inputs):
    return sorted(got) == ["[1]['v']['counter']", "[1]['v']['hidden']"]


def _from_zero(answer, decay_rate, gradients):
    pair = hk.transform_with_state(lambda x: answer.SquaredAverage(decay_rate, name="v")(x))
    (_, state), outputs = pair.init(None, gradients[0]), []
    for gradient in gradients:
        output, state = pair.apply({}, state, None, gradient)
        outputs.append(output)
    return outputs, state


def _from_state(answer, decay_rate, gradients, hidden, counter):
    pair = hk.transform_with_state(lambda x: answer.SquaredAverage(decay_rate, name="v")(x))
    state, outputs = {"v": {"hidden": hidden, "counter": counter}}, []
    for gradient in gradients:
        output, state = pair.apply({}, state, None, gradient)
        outputs.append(output)
    return outputs, state


def _truth(
    decay_rate,
    gradients,
    hidden=(0.0, 0.0),
    counter=0,
    *,
    share=lambda d, t: 1 - d**t,
    swapped=False,
    kept=("hidden", "counter"),
):
    """Return the outputs and the last state; the arguments after the star make mistakes."""
    state = {"hidden": np.float64(hidden), "counter": np.int32(counter)}
    d, outputs = np.float64(decay_rate), []
    past = 1 - d if swapped else d
    for gradient in np.float64(gradients):
        hidden = past * state["hidden"] + (1 - past) * gradient**2
        new = {"hidden": hidden, "counter": state["counter"] + 1}
        with np.errstate(divide="ignore", invalid="ignore"):
            outputs.append(hidden / share(d, np.float64(new["counter"])))
        if kept == "output":
            state = {**new, "hidden": outputs[-1]}
        else:
            state.update({name: new[name] for name in kept})
    return outputs, {"v": state}


def _mistaken(idea, **mistake):
    return Mistake(idea, like=lambda *inputs: _truth(*inputs, **mistake))


MISTAKES = (
    _mistaken(START, share=lambda d, t: 1),
    _mistaken(COUNTER, share=lambda d, t: 1 - d ** (t - 1)),
    _mistaken(WEIGHTS, swapped=True),
    _mistaken(WEIGHTS, swapped=True, share=lambda d, t: 1 - (1 - d) ** t),
    _mistaken(TWICE, kept="output"),
    _mistaken(NOT_WRITTEN, kept=()),
    _mistaken(NOT_WRITTEN, kept=("hidden",)),
    _mistaken(NOT_WRITTEN, kept=("counter",)),
)


EXERCISE = Exercise(
    title=_("An average of squares that starts right"),
    statement=_(
        "Write `SquaredAverage(decay_rate)(gradient)`: it returns the zero-debiased moving average "
        "of `gradient**2`. Its state has two leaves. `hidden` is the average before the "
        "correction: it has the shape and dtype of `gradient`, and starts as zeros. `counter` is "
        "the number of steps so far: int32, of shape `()`."
    ),
    lesson="haiku/batch_norm#an-average-that-starts-right",
    kind="write",
    minutes=10,
    hints=(
        _("Which two values does a step need from the step before it?"),
        _(
            "Read both with `hk.get_state`, compute both new values, write both with "
            "`hk.set_state`; only the value behind `return` is corrected."
        ),
        _(
            "The new `hidden` is `decay_rate * hidden + (1 - decay_rate) * gradient**2`, and the "
            "output is `hidden / (1 - decay_rate**counter)` with the new counter."
        ),
    ),
    checks=(
        Check(
            _("`init` returns zeros, in the shapes and dtypes that are asked for"),
            inputs=_draw,
            play=_init,
            expected=lambda decay_rate, gradients: (
                {},
                {"v": {"hidden": np.zeros(2, np.float32), "counter": np.int32(0)}},
            ),
            idea=NOT_STATE,
            mistakes=(
                Mistake(INITIAL, error="perhaps set an init function"),
                Mistake(INITIAL, when=_is_there),
                Mistake(NOT_STATE, when=in_params),
                Mistake(NAME, when=has_state),
            ),
            types=True,
        ),
        Check(
            _("the first steps are averaged and corrected"),
            inputs=_draw,
            play=_from_zero,
            expected=_truth,
            idea=FORMULA,
            mistakes=MISTAKES,
        ),
        Check(
            _("it goes on from any state, and returns the next one"),
            inputs=_draw_state,
            play=_from_state,
            expected=_truth,
            idea=FORMULA,
            mistakes=MISTAKES,
            properties=("again", "arguments", "pure", "jit", "vmap"),
        ),
    ),
)
