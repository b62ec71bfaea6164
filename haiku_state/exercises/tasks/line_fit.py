"""A regression by hand, with more than one input."""

# A weighted sum of three inputs and a bias is fitted to the targets. The
# params are a dict with the keys "weights", of shape (3,), and "bias", of
# shape ().
import jax
import jax.numpy as jnp


def init(key):
    # Return params that are drawn from the standard normal distribution.
    #: ...
    # <solution>
    weights_key, bias_key = jax.random.split(key)
    weights = jax.random.normal(weights_key, (3,))
    return {"weights": weights, "bias": jax.random.normal(bias_key)}
    # </solution>


def loss_fn(params, x, y):
    # Return the mean of the squared errors; x has the shape (n, 3), y (n,).
    #: ...
    # <solution>
    prediction = x @ params["weights"] + params["bias"]
    return jnp.mean((prediction - y) ** 2)
    # </solution>


def update(params, x, y, learning_rate):
    # Return the params after one step, and the loss before it.
    #: ...
    # <solution>
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    params = jax.tree.map(lambda p, g: p - learning_rate * g, params, grads)
    return params, loss
    # </solution>


# The exercise
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises import ideas
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

ORDER = Idea(
    "order",
    _("Here the new params come first, and the loss second, as in the `update` of the lesson."),
)
DROPPED = Idea(
    "dropped params",
    _(
        "The params that come out are those that came in. Unless the step returns new ones, "
        "nothing is learned."
    ),
)
STEP = Idea(
    "gradient step",
    _("A step goes against the gradient of the loss, by the learning rate times the gradient."),
)
DIRECTION = Idea(
    "direction",
    _("The gradient points to where the loss grows. A step of gradient descent goes against it."),
)
LATE_LOSS = Idea(
    "late loss",
    _(
        "The loss belongs to the params with which the step began. `jax.value_and_grad` returns it "
        "together with the gradients, without computing it again."
    ),
)
MEAN = Idea(
    "mean",
    _("The loss is a mean over the batch. A sum grows with the number of examples."),
)
LOSS = Idea(
    "loss",
    _("The loss is one number: the mean of the squared distances between prediction and target."),
)
RANDOM = Idea(
    "random params",
    _(
        "Every number of the params is drawn on its own, from the standard normal distribution: "
        "other keys give other params, and no two numbers are the same."
    ),
    "state/regression_by_hand#params-drawn-at-random",
)

FORM = Idea(
    "form",
    _("The params are a dict of `weights`, an array of three numbers, and `bias`, a single one."),
)


def _batch(rng):
    params = {
        "weights": rng.normal(size=3).astype(np.float32),
        "bias": np.float32(rng.normal()),
    }
    x = rng.normal(size=(8, 3)).astype(np.float32)
    return params, x, (rng.normal(size=8) + 2).astype(np.float32)


def _errors(params, x, y):
    return x.astype(np.float64) @ params["weights"] + params["bias"] - y


def _loss(params, x, y):
    return np.float32(np.mean(_errors(params, x, y) ** 2))


def _update(params, x, y, learning_rate):
    errors = _errors(params, x, y)
    weights = params["weights"] - learning_rate * 2 * errors @ x / len(x)
    bias = params["bias"] - learning_rate * 2 * errors.mean()
    new = {"weights": weights.astype(np.float32), "bias": np.float32(bias)}
    return new, _loss(params, x, y)


def _upwards(params, x, y, learning_rate):
    return _update(params, x, y, -learning_rate)


def _late(params, x, y, learning_rate):
    new, _loss_before = _update(params, x, y, learning_rate)
    return new, _loss(new, x, y)


def _not_learned(params, x, y, learning_rate):
    return params, _loss(params, x, y)


def _shapes(answer, seed):
    params = answer.init(jax.random.key(seed))
    return jax.tree.map(lambda leaf: list(jnp.shape(leaf)), params)


def _many(answer, seed):
    keys = jax.random.split(jax.random.key(seed), 2000)
    params = jax.device_get(jax.jit(jax.vmap(answer.init))(keys))
    numbers = np.column_stack([params["weights"], params["bias"]])
    dependence = np.cov(numbers.T) - np.eye(4) * numbers.var(axis=0)
    return {
        "mean about 0": abs(numbers.mean(axis=0)) < 0.2,
        "spread about 1": abs(numbers.std(axis=0) - 1) < 0.2,
        "independent": abs(dependence).max() < 0.3,
    }


def _many_expected(seed):
    return {
        "mean about 0": np.full(4, True),
        "spread about 1": np.full(4, True),
        "independent": True,
    }


def _trained(answer, seed, x, y):
    params = answer.init(jax.random.key(seed))

    def step(params, _nothing):
        return answer.update(params, x, y, 0.1)

    params, losses = jax.lax.scan(step, params, length=1000)
    return params, losses[-1]


def _trained_expected(seed, x, y):
    design = np.column_stack([x, np.ones(len(x))]).astype(np.float64)
    solution = np.linalg.lstsq(design, y.astype(np.float64), rcond=None)[0]
    params = {"weights": solution[:3], "bias": solution[3]}
    return params, np.mean(_errors(params, x, y) ** 2)


EXERCISE = Exercise(
    title=_("A regression with three inputs"),
    statement=_(
        "Write `init(key)`, `loss_fn(params, x, y)` and `update(params, x, y, learning_rate)`. "
        "The prediction is the sum of the three inputs, each times its weight, plus the bias.\n\n"
        "`update` makes one step of gradient descent. It returns a pair: the new params, and the "
        "loss before the step. The check compares with NumPy, and lets `update` run a thousand "
        "times from the params of `init`."
    ),
    lesson="state/regression_by_hand#loss-and-update",
    kind="write",
    minutes=10,
    hints=(
        _("What does each of the three functions need, and what does it return?"),
        _(
            "In `init`, make one key for the weights and one for the bias. In `update`, "
            "`jax.value_and_grad(loss_fn)` gives the loss and a tree of gradients."
        ),
        _(
            '`x @ params["weights"]` is the sum for all rows at once. The step is a '
            "`jax.tree.map` of `p - learning_rate * g` over `params` and the gradients."
        ),
    ),
    checks=(
        Check(
            _("`init` returns three weights and a bias, and uses no key twice"),
            inputs=lambda rng: (np.int32(rng.integers(1, 1 << 30)),),
            play=_shapes,
            expected=lambda seed: {"weights": [3], "bias": []},
            idea=RANDOM,
            mistakes=(Mistake(FORM, when=lambda got, seed: True),),
            properties=("pure", "keys"),
            draws=1,
        ),
        Check(
            _("The params of many keys are independent, and normally distributed"),
            inputs=lambda rng: (np.int32(rng.integers(1, 1 << 30)),),
            play=_many,
            expected=_many_expected,
            idea=RANDOM,
            draws=1,
        ),
        Check(
            _("`loss_fn` returns the mean of the squared errors"),
            inputs=_batch,
            play=lambda answer, params, x, y: answer.loss_fn(params, x, y),
            expected=_loss,
            idea=LOSS,
            mistakes=(Mistake(MEAN, like=lambda params, x, y: len(x) * _loss(params, x, y)),),
            properties=("arguments", "pure", "jit"),
            tolerance=1e-4,
        ),
        Check(
            _("`update` returns the new params and the loss"),
            inputs=lambda rng: (*_batch(rng), np.float32(rng.uniform(0.02, 0.1))),
            play=lambda answer, *inputs: answer.update(*inputs),
            expected=_update,
            idea=STEP,
            mistakes=(
                Mistake(ORDER, like=lambda *inputs: _update(*inputs)[::-1]),
                Mistake(DROPPED, like=_not_learned),
                Mistake(DIRECTION, like=_upwards),
                Mistake(LATE_LOSS, like=_late),
                Mistake(ideas.RETRACED, error="Non-hashable static arguments"),
            ),
            properties=("again", "arguments", "pure", "jit"),
            types=True,
            tolerance=1e-4,
        ),
        Check(
            _("A thousand updates reach the exact answer"),
            inputs=lambda rng: (
                np.int32(rng.integers(1, 1 << 30)),
                rng.normal(size=(64, 3)).astype(np.float32),
                rng.normal(size=64).astype(np.float32),
            ),
            play=_trained,
            expected=_trained_expected,
            idea=STEP,
            tolerance=1e-3,
            draws=1,
        ),
    ),
)
