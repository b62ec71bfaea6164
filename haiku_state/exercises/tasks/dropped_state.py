"""A training loop that drops the new state."""

# A linear regression on normalized inputs. The training runs without an
# error, and the predictions are off.
import haiku as hk
import jax
import jax.numpy as jnp

import haiku_state as hs


def forward(x, is_training):
    x = hs.BatchNorm(False, False, decay_rate=0.9, name="norm")(x, is_training)
    return hk.Linear(1, name="last")(x)[:, 0]


model = hs.pure_pair(forward)


def loss_fn(params, state, x, y):
    outputs, state = model.apply(params, state, None, x, is_training=True)
    return jnp.mean((outputs - y) ** 2), state


def train(params, state, batches):
    for x, y in batches:
        grad_fn = jax.grad(loss_fn, has_aux=True)
        #: grads, _ = grad_fn(params, state, x, y)
        # <solution>
        grads, state = grad_fn(params, state, x, y)
        # </solution>
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, state


def predict(params, state, x):
    outputs, _ = model.apply(params, state, None, x, is_training=False)
    return outputs


# The exercise
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake
from haiku_state.exercises.ideas import EVALUATION, UNCHANGED

DROPPED = Idea(
    "dropped state",
    _(
        "The forward pass returns a new state in each step, and the next step starts from the old "
        "one. A counter of the running statistics that stands still is the sign of it."
    ),
    "haiku/batch_norm#dropping-the-new-state",
)
RESTARTED = Idea(
    "state restarted",
    _(
        "The state of the last step comes out, but that step did not go on from the one before it: "
        "the running statistics have seen one batch only."
    ),
    "haiku/pure_pair#hktransform_with_state-makes-the-pair",
)
PARAMS = Idea(
    "params and state",
    _(
        "The params are changed by following the gradient, and the state by the forward pass. Each "
        "step needs both from the step before it."
    ),
    "haiku/regression#a-module-with-params",
)
BATCHES = 2
AVERAGES = ("mean_ema", "var_ema")


def _draw(rng):
    w, mean = rng.normal(0, 1, (2, 1)), rng.uniform(1, 3, 2)
    params = {"last": {"w": w.astype(np.float32), "b": np.zeros(1, np.float32)}}
    counter, hidden = np.int32(rng.integers(1, 5)), rng.uniform(1, 2, (2, 1, 2))
    state = {
        f"norm/~/{name}": {
            "hidden": h.astype(np.float32),
            "average": (h / (1 - 0.9**counter)).astype(np.float32),
            "counter": counter,
        }
        for name, h in zip(AVERAGES, hidden, strict=True)
    }
    x = rng.normal(mean, 1.5, (BATCHES, 8, 2)).astype(np.float32)
    return params, state, x, (x.sum(-1) + 1).astype(np.float32)


def _train(answer, params, state, x, y):
    batches = [(x[i], y[i]) for i in range(BATCHES)]
    params, state = answer.train(params, state, batches)
    return params, {name: state[f"norm/~/{name}"] for name in AVERAGES}


def _predict(answer, params, state, x, y):
    outputs = answer.predict(params, state, x[0])
    one_row = answer.predict(params, state, x[0][:1])
    return outputs, one_row


def _truth(params, state, x, y, *, carried=True, returned=True):
    """Return params and state after training; ``carried`` and ``returned`` make the mistakes."""
    w, b = np.float64(params["last"]["w"]), np.float64(params["last"]["b"])
    first = {name: dict(state[f"norm/~/{name}"]) for name in AVERAGES}
    kept = first
    for rows, targets in zip(np.float64(x), np.float64(y), strict=True):
        mean, var = rows.mean(0, keepdims=True), rows.var(0, keepdims=True)
        new = {}
        for name, value in zip(AVERAGES, (mean, var), strict=True):
            before = (kept if carried else first)[name]
            hidden = 0.9 * before["hidden"] + 0.1 * value
            counter = before["counter"] + 1
            average = hidden / (1 - 0.9 ** np.float64(counter))
            new[name] = {"hidden": hidden, "average": average, "counter": counter}
        kept = new
        normal = (rows - mean) / np.sqrt(var + 1e-5)
        error = (normal @ w + b)[:, 0] - targets
        w = w - 0.1 * 2 * (normal.T @ error)[:, None] / len(error)
        b = b - 0.1 * 2 * error.mean()
    return {"last": {"w": w, "b": b}}, kept if returned else first


def _counts_more(got, *inputs):
    params, state = _truth(*inputs)
    trained = np.allclose(got["[0]['last']['w']"], params["last"]["w"], 1e-4, 1e-4)
    return trained and bool(got["[1]['mean_ema']['counter']"] > state["mean_ema"]["counter"])


def _predicted(params, state, x, y, by=None):
    rows = np.float64(x[0])
    mean, var = by or [state[f"norm/~/{name}"]["average"] for name in AVERAGES]
    last = params["last"]
    outputs = ((rows - mean) / np.sqrt(var + 1e-5) @ last["w"] + last["b"])[:, 0]
    return outputs, outputs[:1]


def _by_batch(params, state, x, y):
    rows = np.float64(x[0])
    outputs, _one = _predicted(params, state, x, y, (rows.mean(0), rows.var(0)))
    return outputs, params["last"]["b"]


EXERCISE = Exercise(
    title=_("Where the running statistics get lost"),
    statement=_(
        "`train(params, state, batches)` takes one step for each pair `(x, y)` of the list "
        "`batches`, and returns params and state. Repair it, so that `predict` can rely on what "
        "the training has seen. The check calls `train` and `predict`, and looks at the state that "
        "comes out."
    ),
    lesson="haiku/batch_norm#dropping-the-new-state",
    kind="repair",
    minutes=5,
    hints=(
        _("Which number in the state tells how many batches the model has seen?"),
        _("Look at what `grad_fn` returns beside the gradients, and at where it goes."),
        _("The line with `grad_fn` gives the second result the name `_`. Which name is right?"),
    ),
    checks=(
        Check(
            _("`train` returns the params and the state after all batches"),
            inputs=_draw,
            play=_train,
            expected=_truth,
            idea=PARAMS,
            mistakes=(
                Mistake(DROPPED, like=lambda *inputs: _truth(*inputs, returned=False)),
                Mistake(RESTARTED, like=lambda *inputs: _truth(*inputs, carried=False)),
                Mistake(UNCHANGED, when=_counts_more),
            ),
            properties=("again", "arguments", "pure", "jit"),
            tolerance=1e-4,
        ),
        Check(
            _("`predict` normalizes by the state that it is given"),
            inputs=_draw,
            play=_predict,
            expected=_predicted,
            idea=EVALUATION,
            mistakes=(Mistake(EVALUATION, like=_by_batch),),
            properties=("again", "arguments", "pure", "jit"),
            tolerance=1e-4,
        ),
    ),
)
