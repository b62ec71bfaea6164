"""A second result passes beside the loss that is differentiated."""

# A classifier whose loss function also returns what it found on its way.
import jax
import jax.numpy as jnp


def loss_fn(params, batch):
    logits = batch["inputs"] @ params["w"] + params["b"]
    true = jax.nn.one_hot(batch["labels"], logits.shape[1])
    loss = -jnp.mean(jnp.sum(true * jax.nn.log_softmax(logits), axis=1))
    found = {
        "labels": jnp.argmax(logits, axis=1),
        "largest": jnp.max(jnp.abs(logits)),
    }
    return loss, found


def update(params, batch, learning_rate):
    # Return the new params, the loss and what was found.
    #: grads = jax.grad(loss_fn)(params, batch)
    #: loss, found = loss_fn(params, batch)
    # <solution>
    value_and_grad = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, found), grads = value_and_grad(params, batch)
    # </solution>
    steps = jax.tree.map(lambda g: learning_rate * g, grads)
    return jax.tree.map(jnp.subtract, params, steps), loss, found


# The exercise
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises import ideas
from haiku_state.exercises.counting import counted_runs
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

SECOND_RESULT = Idea(
    "second result",
    _(
        "A gradient belongs to a single number. If a function returns more, the transformation has "
        "to be told what is differentiated and what is only passed through."
    ),
    "pure/transformations#a-result-beside-the-loss",
)
VALUE_FIRST = Idea(
    "value first",
    _(
        "The transformed function returns a pair: what the original one returns comes first, and "
        "the gradient second."
    ),
    "pure/transformations#a-result-beside-the-loss",
)
TWICE = Idea(
    "twice",
    _(
        "The loss function was run a second time for what its first run had found already. That "
        "costs time, and as soon as the function has state, its two runs may differ."
    ),
    "pure/transformations#a-result-beside-the-loss",
)
NO_SIDE_DOOR = Idea(
    "side door",
    _(
        "While `grad` traces the loss, what is computed from params is a tracer. Only a result of "
        "the function comes out as an array; what is kept elsewhere stays a tracer."
    ),
    "pure/transformations#a-result-beside-the-loss",
)
THREE_RESULTS = Idea(
    "three results",
    _(
        "The caller needs three results, in this order: the new params, the loss, and what was "
        "found."
    ),
)
DOWNHILL = Idea(
    "downhill",
    _("The step follows the gradient downhill, scaled by the learning rate."),
    "pure/transformations#all-of-them-together",
)

LATE = Idea(
    "late loss",
    _(
        "The new params are right. The loss and what was found belong to the params with which the "
        "step began: the run that is differentiated has them."
    ),
    "pure/transformations#a-result-beside-the-loss",
)


def _draw(rng):
    params = {
        "w": rng.normal(size=(3, 4)).astype(np.float32),
        "b": rng.normal(size=4).astype(np.float32),
    }
    batch = {
        "inputs": rng.normal(size=(6, 3)).astype(np.float32),
        "labels": rng.integers(0, 4, 6).astype(np.int32),
    }
    return params, batch, np.float32(rng.uniform(0.1, 0.5))


def _update(params, batch, learning_rate):
    inputs, labels = np.float64(batch["inputs"]), batch["labels"]
    logits = inputs @ params["w"] + params["b"]
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    loss = -np.log(shares[np.arange(len(labels)), labels]).mean()
    error = (shares - np.eye(4)[labels]) / len(labels)
    new_params = {
        "w": params["w"] - learning_rate * inputs.T @ error,
        "b": params["b"] - learning_rate * error.sum(axis=0),
    }
    return new_params, loss, {"labels": logits.argmax(axis=1), "largest": np.abs(logits).max()}


def _runs(answer, params, batch, learning_rate):
    """Update, and count how often the loss function runs meanwhile."""
    # a shape that no other check has, so that a compiled update is traced
    longer = {name: jnp.concatenate([leaf, leaf]) for name, leaf in batch.items()}
    with counted_runs(answer.loss_fn) as runs:
        answer.update(params, longer, learning_rate)
    return {"runs": len(runs), "results of `loss_fn`": len(answer.loss_fn(params, batch))}


def _has_tracers(got, *_inputs):
    found = [got[path] for path in got if path.startswith("[2]")]
    return any(leaf is None for leaf in found)


def _other_results(got, *_inputs):
    return not {"[0]['w']", "[1]", "[2]['labels']"} <= set(got)


def _late(got, *inputs):
    new_params, loss, _found = _update(*inputs)
    right = all(
        np.allclose(got[f"[0]['{name}']"], new_params[name], 1e-4, 1e-4) for name in new_params
    )
    return right and not np.allclose(got["[1]"], loss, 1e-4, 1e-4)


_MISTAKES = (
    Mistake(SECOND_RESULT, error="Gradient only defined for scalar-output functions"),
    Mistake(SECOND_RESULT, error="expected function with aux output"),
    Mistake(ideas.LEAK, error="UnexpectedTracerError"),
    # a dict of params was taken for a pair: two strings
    Mistake(VALUE_FIRST, error="Dict key mismatch"),
    Mistake(VALUE_FIRST, error="pytree structure error"),
    Mistake(VALUE_FIRST, error="Expected dict, got"),
    Mistake(VALUE_FIRST, error="too many values to unpack"),
    Mistake(VALUE_FIRST, error="not enough values to unpack"),
    Mistake(NO_SIDE_DOOR, when=_has_tracers),
    Mistake(THREE_RESULTS, when=_other_results),
    Mistake(LATE, when=_late),
)

EXERCISE = Exercise(
    title=_("More than a loss"),
    statement=_(
        "Repair `update(params, batch, learning_rate)`: it returns the new params, the loss, and "
        "the dict `found` that the loss function returns beside it, in this order. `loss_fn` stays "
        "as it is, and runs once in each call of `update`."
    ),
    lesson="pure/transformations#a-result-beside-the-loss",
    kind="repair",
    minutes=5,
    hints=(
        _("How many numbers does `loss_fn` return, and how many of them are to be differentiated?"),
        _("Look at the line with `jax.grad`, and at the second run of `loss_fn` below it."),
        _(
            "`jax.value_and_grad(loss_fn, has_aux=True)` returns a function whose result is "
            "`(loss, found), grads`."
        ),
    ),
    checks=(
        Check(
            _("`update` returns the new params, the loss and what was found"),
            inputs=_draw,
            play=lambda answer, params, batch, rate: answer.update(params, batch, rate),
            expected=_update,
            idea=DOWNHILL,
            mistakes=_MISTAKES,
            properties=("again", "arguments", "pure", "jit"),
        ),
        Check(
            _("`loss_fn` runs once"),
            inputs=_draw,
            play=_runs,
            expected=lambda params, batch, learning_rate: {"runs": 1, "results of `loss_fn`": 2},
            idea=TWICE,
            draws=1,
        ),
    ),
)
