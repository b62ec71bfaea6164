"""The gradient of each example, and the mean of the clipped ones."""

# A logistic regression in which no single example may pull too hard.
import jax
import jax.numpy as jnp


def example_loss(params, x, y):
    # The loss of one example; y is 0 or 1.
    logit = jnp.dot(params["w"], x) + params["b"]
    return jnp.logaddexp(0.0, logit) - y * logit


def example_grads(params, xs, ys):
    # Return the gradient of each example, with the examples as first axis.
    #: return None
    # <solution>
    grad_fn = jax.grad(example_loss)
    return jax.vmap(grad_fn, in_axes=(None, 0, 0))(params, xs, ys)
    # </solution>


def clipped_mean(params, xs, ys, limit):
    # Shorten each gradient that is longer than the limit to that length, and
    # return the mean.
    grads = example_grads(params, xs, ys)
    #: return None
    # <solution>
    lengths = jnp.sqrt(jnp.sum(grads["w"] ** 2, axis=1) + grads["b"] ** 2)
    scales = jnp.minimum(1.0, limit / lengths)
    return {
        "w": jnp.mean(scales[:, None] * grads["w"], axis=0),
        "b": jnp.mean(scales * grads["b"]),
    }
    # </solution>


# The exercise
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

EACH_EXAMPLE = Idea(
    "each example",
    _(
        "A gradient belongs to one number, here to the loss of one example. The derivative is a "
        "function of one example, so it can be made a function of many."
    ),
    "pure/transformations#all-of-them-together",
)
SHARED = Idea(
    "shared argument",
    _(
        "All examples use the same params. `vmap` takes an argument apart along its first axis "
        "unless it is told that the examples share it."
    ),
    "pure/transformations#vmap-many-at-once",
)
TOO_EARLY = Idea(
    "too early a mean",
    _(
        "In a mean, a single large gradient can no longer be told from the others. Each one has to "
        "be clipped while it still stands alone."
    ),
    "pure/transformations#all-of-them-together",
)
ONE_LENGTH = Idea(
    "one length",
    _(
        "A gradient is one vector, although it is stored in two leaves. It has one length, over "
        "both of them, and is shortened as a whole, so that its direction stays."
    ),
    "pure/transformations#on-your-own",
)
AT_MOST = Idea(
    "at most",
    _("The limit is the largest length. A gradient that is shorter already stays as it is."),
)
MEAN = Idea(
    "mean",
    _("The result is a mean over the examples: it does not grow with their number."),
)
FORM = Idea(
    "form",
    _("The gradient has the form of what was differentiated: a dict with the keys of params."),
    "pure/transformations#grad-the-direction",
)


def _draw(rng):
    params = {
        "w": rng.normal(size=3).astype(np.float32),
        "b": np.float32(rng.normal()),
    }
    xs = rng.normal(size=(8, 3)).astype(np.float32)
    return params, xs, rng.integers(0, 2, 8).astype(np.float32)


def _draw_with_limit(rng):
    params, xs, ys = _draw(rng)
    # one gradient is shorter than this, and one has an entry that is larger
    grads = _grads(params, xs, ys)
    largest = max(np.abs(grads["w"]).max(), np.abs(grads["b"]).max())
    return params, xs, ys, np.float32((_lengths(grads).min() + largest) / 2)


def _grads(params, xs, ys):
    xs = np.float64(xs)
    logits = xs @ np.float64(params["w"]) + np.float64(params["b"])
    slopes = 1 / (1 + np.exp(-logits)) - ys
    return {"w": slopes[:, None] * xs, "b": slopes}


def _lengths(grads):
    return np.sqrt(np.square(grads["w"]).sum(axis=1) + np.square(grads["b"]))


def _mean(scales_w, scales_b, grads):
    return {
        "w": (scales_w[:, None] * grads["w"]).mean(axis=0),
        "b": (scales_b * grads["b"]).mean(),
    }


def _clipped_mean(params, xs, ys, limit):
    grads = _grads(params, xs, ys)
    scales = np.minimum(1, limit / _lengths(grads))
    return _mean(scales, scales, grads)


def _clipped_afterwards(params, xs, ys, limit):
    grads = _grads(params, xs, ys)
    mean = {"w": grads["w"].mean(axis=0), "b": grads["b"].mean()}
    scale = np.minimum(1, limit / np.sqrt(np.square(mean["w"]).sum() + mean["b"] ** 2))
    return {"w": scale * mean["w"], "b": scale * mean["b"]}


def _clipped_by_leaf(params, xs, ys, limit):
    grads = _grads(params, xs, ys)
    scales_w = np.minimum(1, limit / np.sqrt(np.square(grads["w"]).sum(axis=1)))
    scales_b = np.minimum(1, limit / np.abs(grads["b"]))
    return _mean(scales_w, scales_b, grads)


def _clipped_by_entry(params, xs, ys, limit):
    grads = _grads(params, xs, ys)
    return {name: grads[name].clip(-limit, limit).mean(axis=0) for name in grads}


def _all_of_one_length(params, xs, ys, limit):
    grads = _grads(params, xs, ys)
    scales = limit / _lengths(grads)
    return _mean(scales, scales, grads)


def _not_clipped(params, xs, ys, limit):
    grads = _grads(params, xs, ys)
    return {"w": grads["w"].mean(axis=0), "b": grads["b"].mean()}


def _sum(params, xs, ys, limit):
    return {name: 8 * grad for name, grad in _clipped_mean(params, xs, ys, limit).items()}


def _one_gradient(got, params, *_rest):
    return got["['w']"].shape == params["w"].shape


EXERCISE = Exercise(
    title=_("A gradient for each example"),
    statement=_(
        "Write `example_grads(params, xs, ys)`: the gradients of `example_loss` with respect to "
        "params, one for each example, as a dict like params whose leaves have the examples as "
        "first axis. `xs` has a row and `ys` an entry for each example.\n\n"
        "Then write `clipped_mean(params, xs, ys, limit)`. The length of a gradient is the square "
        "root of the sum of the squares of all its numbers, in `w` and `b` together. Gradients "
        "that are longer than `limit` are scaled down to this length, the others stay as they are; "
        "the result is the mean over the examples, a dict like params."
    ),
    lesson="pure/transformations#all-of-them-together",
    kind="write",
    minutes=10,
    hints=(
        _("Which function returns the gradient of one example, and what makes it one of many?"),
        _(
            "In `example_grads`, params are the same for all examples, and `xs` and `ys` are not: "
            "look up `in_axes`. In `clipped_mean`, compute one factor for each example."
        ),
        _(
            "`in_axes=(None, 0, 0)` goes with the three arguments, and "
            "`jnp.minimum(1.0, limit / lengths)` are the factors; `scales[:, None]` fits them to "
            "`w`."
        ),
    ),
    checks=(
        Check(
            _("`example_grads` returns the gradient of each example"),
            inputs=_draw,
            play=lambda answer, params, xs, ys: answer.example_grads(params, xs, ys),
            expected=_grads,
            idea=EACH_EXAMPLE,
            mistakes=(
                Mistake(FORM, like=lambda *inputs: tuple(_grads(*inputs).values())),
                Mistake(EACH_EXAMPLE, when=_one_gradient),
                Mistake(SHARED, error="vmap got inconsistent sizes"),
                Mistake(SHARED, error="vmap was requested to map its argument"),
                Mistake(EACH_EXAMPLE, error="Gradient only defined for scalar-output functions"),
            ),
            properties=("again", "arguments", "pure", "jit"),
        ),
        Check(
            _("`clipped_mean` returns the mean of the clipped gradients"),
            inputs=_draw_with_limit,
            play=lambda answer, params, xs, ys, limit: answer.clipped_mean(params, xs, ys, limit),
            expected=_clipped_mean,
            idea=ONE_LENGTH,
            mistakes=(
                Mistake(TOO_EARLY, like=_clipped_afterwards),
                Mistake(TOO_EARLY, like=_not_clipped),
                Mistake(ONE_LENGTH, like=_clipped_by_leaf),
                Mistake(ONE_LENGTH, like=_clipped_by_entry),
                Mistake(AT_MOST, like=_all_of_one_length),
                Mistake(MEAN, like=_sum),
                Mistake(MEAN, when=lambda got, params, *_rest: got["['w']"].ndim == 2),
            ),
            properties=("again", "arguments", "pure", "jit"),
        ),
    ),
)
