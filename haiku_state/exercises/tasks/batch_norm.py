"""Batch normalization from its formula."""

# Normalize each column of a batch. The module remembers a typical mean and
# variance, so that it can also normalize a single row.
import haiku as hk
import jax.numpy as jnp


class Normalize(hk.Module):
    def __init__(self, decay_rate, name=None):
        super().__init__(name=name)
        self.decay_rate = decay_rate

    def __call__(self, x, is_training):
        mean = hk.get_state("mean", x.shape[1:], init=jnp.zeros)
        var = hk.get_state("var", x.shape[1:], init=jnp.ones)
        # So far, this is the evaluation. Add the training.
        # <solution>
        if is_training:
            d, running_mean, running_var = self.decay_rate, mean, var
            mean = x.mean(axis=0)
            var = ((x - mean) ** 2).mean(axis=0)
            hk.set_state("mean", d * running_mean + (1 - d) * mean)
            hk.set_state("var", d * running_var + (1 - d) * var)
        # </solution>
        return (x - mean) / jnp.sqrt(var + 1e-5)


# The exercise
import haiku as hk
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake
from haiku_state.exercises.ideas import EVALUATION, NOT_WRITTEN, TRAINING, UNCHANGED, WEIGHTS

VARIANCE = Idea(
    "variance",
    _(
        "The variance is the mean of the squared deviations, over all rows of the batch: neither "
        "its root, nor divided by one row less."
    ),
    "haiku/batch_norm#far-from-zero",
)
CHANNELS = Idea(
    "one per column",
    _("Each column has a mean and a variance of its own. They are taken over the rows."),
    "haiku/batch_norm#the-layer-whose-state-matters",
)
ONE_PASS = Idea(
    "cancellation",
    _(
        "In float32, the difference of two large and nearly equal numbers has no digits left. With "
        "inputs far from zero, a variance must not be computed as such a difference."
    ),
    "haiku/batch_norm#far-from-zero",
)

RUNNING = Idea(
    "running statistics",
    _(
        "The outputs are right. Both running statistics are updated, each from its old value and "
        "that of the batch, and by the decay rate that the module is given."
    ),
)


def _draw(rng):
    x = rng.normal(rng.uniform(-5, 5, 3), rng.uniform(0.5, 2, 3), (6, 3)).astype(np.float32)
    state = {"mean": rng.normal(0, 1, 3), "var": rng.uniform(1, 3, 3)}
    state = {name: value.astype(np.float32) for name, value in state.items()}
    return np.float32(rng.uniform(0.6, 0.9)), state, x


def _draw_far(rng):
    mean = rng.uniform(1e4, 3e4, 2)
    return (rng.normal(mean, 1.0, (16, 2)).astype(np.float32),)


def _train(answer, decay_rate, state, x):
    pair = hk.transform_with_state(lambda x: answer.Normalize(decay_rate, name="norm")(x, True))
    return pair.apply({}, {"norm": state}, None, x)


def _evaluate(answer, decay_rate, state, x):
    pair = hk.transform_with_state(lambda x: answer.Normalize(decay_rate, name="norm")(x, False))
    outputs, new_state = pair.apply({}, {"norm": state}, None, x)
    one_row, _ = pair.apply({}, {"norm": state}, None, x[:1])
    return outputs, one_row, new_state


def _far(answer, x):
    pair = hk.transform_with_state(lambda x: answer.Normalize(0.5, name="norm")(x, True))
    _, state = pair.init(None, x)
    outputs, state = pair.apply({}, state, None, x)
    return outputs, state["norm"]["var"]


def _statistics(decay_rate, state, x, *, axis=0, ddof=0, power=1.0):
    """Return those of the batch, and the running ones after it."""
    d, x = np.float64(decay_rate), np.float64(x)
    batch = {"mean": x.mean(axis=axis), "var": x.var(axis=axis, ddof=ddof) ** power}
    return batch, {name: d * state[name] + (1 - d) * batch[name] for name in batch}


def _normalized(x, by):
    return (x - by["mean"]) / np.sqrt(by["var"] + 1e-5)


def _trained(decay_rate, state, x, *, by="batch", kept=True, **other):
    batch, running = _statistics(decay_rate, state, x, **other)
    statistics = {"batch": batch, "old": state, "new": running}[by]
    return _normalized(np.float64(x), statistics), {"norm": running if kept else state}


def _evaluated(decay_rate, state, x):
    outputs = _normalized(np.float64(x), state)
    return outputs, outputs[:1], {"norm": state}


def _as_in_training(decay_rate, state, x, *, kept=False):
    outputs, state = _trained(decay_rate, state, x, kept=kept)
    return outputs, np.zeros((1, 3)), state


def _written(decay_rate, state, x):
    running = _statistics(decay_rate, state, x)[1]
    return *_evaluated(decay_rate, state, x)[:2], {"norm": running}


def _far_truth(x):
    outputs, state = _trained(0.5, {"mean": np.zeros(2), "var": np.ones(2)}, x)
    return outputs, state["norm"]["var"]


def _mistaken(idea, **mistake):
    return Mistake(idea, like=lambda *inputs: _trained(*inputs, **mistake))


EXERCISE = Exercise(
    title=_("Batch normalization from its formula"),
    statement=_(
        "Complete the module `Normalize`. With `is_training=True` it normalizes each column of `x` "
        "by the mean and the variance of this batch, and updates the running statistics: each of "
        "`mean` and `var` in the state becomes `decay_rate` times its old value plus "
        "`1 - decay_rate` times the value of the batch. With `is_training=False` it normalizes by "
        "the running statistics, and changes nothing. It must also be right for inputs with a mean "
        "of 10,000 and a standard deviation of 1."
    ),
    lesson="haiku/batch_norm#the-layer-whose-state-matters",
    kind="write",
    minutes=10,
    hints=(
        _("Which statistics does each of the two modes use, and which mode writes the state?"),
        _(
            "An `if is_training:` before the `return` can compute the statistics of the batch, "
            "write the running ones, and let the last line use those of the batch."
        ),
        _(
            "The variance is `((x - mean) ** 2).mean(axis=0)`, with the mean of the batch; both "
            "are written with `hk.set_state`, as weighted sums of the old and the new value."
        ),
    ),
    checks=(
        Check(
            _("in training: the batch's own statistics, and new running ones"),
            inputs=_draw,
            play=_train,
            expected=_trained,
            idea=TRAINING,
            mistakes=(
                Mistake(CHANNELS, when=lambda got, *inputs: got["[1]['norm']['var']"].ndim == 0),
                _mistaken(CHANNELS, axis=None),
                _mistaken(TRAINING, by="old", kept=False),
                _mistaken(TRAINING, by="old"),
                _mistaken(TRAINING, by="new"),
                _mistaken(NOT_WRITTEN, kept=False),
                _mistaken(VARIANCE, ddof=1),
                _mistaken(VARIANCE, power=0.5),
                Mistake(
                    VARIANCE,
                    like=lambda *inputs: (_trained(*inputs)[0], _trained(*inputs, power=0.5)[1]),
                ),
                Mistake(
                    WEIGHTS,
                    like=lambda decay_rate, *rest: _trained(np.float32(1 - decay_rate), *rest),
                ),
                Mistake(
                    RUNNING,
                    when=lambda got, *inputs: np.allclose(
                        got["[0]"], _trained(*inputs)[0], 1e-3, 1e-3
                    ),
                ),
                Mistake(CHANNELS, error="incompatible shapes for broadcasting"),
            ),
            properties=("again", "arguments", "pure", "jit", "vmap"),
            tolerance=1e-4,
        ),
        Check(
            _("in evaluation: the running statistics, which stay as they are"),
            inputs=_draw,
            play=_evaluate,
            expected=_evaluated,
            idea=EVALUATION,
            mistakes=(
                Mistake(EVALUATION, like=_as_in_training),
                Mistake(EVALUATION, like=lambda *inputs: _as_in_training(*inputs, kept=True)),
                Mistake(UNCHANGED, like=_written),
            ),
            properties=("again", "arguments", "pure", "jit"),
            tolerance=1e-4,
        ),
        Check(
            _("far from zero, the variance is still right"),
            inputs=_draw_far,
            play=_far,
            expected=_far_truth,
            idea=ONE_PASS,
            tolerance=2e-2,
        ),
    ),
)
