"""One training step: params, state and optimizer state go in, and the next ones come out."""

# A line is fitted to inputs that are first divided by their scale. The scale
# is a moving average, so it is state.
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.1, momentum=0.9)


def loss_fn(params, state, batch):
    # Return the loss, and beside it the new state.
    size = jnp.mean(jnp.abs(batch["inputs"]))
    scale = 0.9 * state["scale"] + 0.1 * size
    predictions = params["w"] * batch["inputs"] / scale + params["b"]
    loss = jnp.mean(jnp.square(predictions - batch["targets"]))
    return loss, {"scale": scale}


def train_step(train_state, batch):
    # Return the next train state and the loss.
    params, state = train_state["params"], train_state["state"]
    opt_state = train_state["opt_state"]
    #: loss = jnp.float32(0)
    # <solution>
    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, state), grads = grad_fn(params, state, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    # </solution>
    new = {"params": params, "state": state, "opt_state": opt_state}
    return new, loss


# The exercise
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

BUNDLE = Idea(
    "one bundle",
    _(
        "The train state holds all that goes from step to step. Each of its parts changes in a "
        "step, and the next step has to begin with all of the new ones."
    ),
    "update/jitted_update#one-bundle",
)
AUX = Idea(
    "auxiliary result",
    _(
        "A gradient is the gradient of one number. A function that returns more than this number "
        "has to be declared as such."
    ),
    "update/jitted_update#a-loss-that-returns-the-state",
)
DROPPED_STATE = Idea(
    "dropped state",
    _(
        "The forward pass has made a new state, and the train state that comes out still holds the "
        "old one."
    ),
    "update/jitted_update#a-loss-that-returns-the-state",
)
DROPPED_OPT_STATE = Idea(
    "dropped opt_state",
    _(
        "The optimizer remembers something from step to step, here the momentum. What comes out is "
        "still what it remembered before this step."
    ),
    "update/jitted_update#one-bundle",
)
TWO_PASSES = Idea(
    "two passes",
    _(
        "The state has advanced twice in one step. One forward pass is enough: it gives the loss, "
        "the new state and what the gradient needs."
    ),
    "update/jitted_update#a-loss-that-returns-the-state",
)
DIRECTION = Idea(
    "direction",
    _(
        "The params have moved in the wrong direction. An optimizer returns what is to be added to "
        "the params: its sign and the learning rate are already in it."
    ),
    "update/jitted_update#one-bundle",
)


def _draw(rng, batches=()):
    def number(low, high):
        return np.float32(rng.uniform(low, high))

    def array():
        return rng.normal(size=(*batches, 8)).astype(np.float32)

    velocity = {"w": number(-0.5, 0.5), "b": number(-0.5, 0.5)}
    train_state = {
        "params": {"w": number(-1, 1), "b": number(-1, 1)},
        "state": {"scale": number(0.8, 1.5)},
        "opt_state": (optax.TraceState(trace=velocity), optax.EmptyState()),
    }
    return train_state, {"inputs": array(), "targets": array()}


def _next(train_state, batch, passes=1, sign=1):
    """Compute a step by hand."""
    params, scale = train_state["params"], train_state["state"]["scale"]
    x, y = np.float64(batch["inputs"]), np.float64(batch["targets"])
    for _pass in range(passes):
        scale = 0.9 * np.float64(scale) + 0.1 * abs(x).mean()
    error = np.float64(params["w"]) * x / scale + params["b"] - y
    grads = {"w": (2 * error * x / scale).mean(), "b": (2 * error).mean()}
    before = train_state["opt_state"][0].trace
    velocity = {name: grads[name] + 0.9 * np.float64(before[name]) for name in grads}
    new = {
        "params": {name: np.float32(params[name] - sign * 0.1 * velocity[name]) for name in grads},
        "state": {"scale": np.float32(scale)},
        "opt_state": (
            optax.TraceState(trace={name: np.float32(velocity[name]) for name in grads}),
            optax.EmptyState(),
        ),
    }
    return new, np.float32((error**2).mean())


def _keeps(part):
    """Return what a step computes that keeps one part of the train state as it was."""

    def result(train_state, batch):
        new, loss = _next(train_state, batch)
        return {**new, part: train_state[part]}, loss

    return result


def _advances_twice(result, train_state, batch):
    twice, _loss = _next(train_state, batch, passes=2)
    return abs(result["[0]['state']['scale']"] - twice["state"]["scale"]) < 1e-5


def _run(answer, train_state, batches):
    step = jax.jit(lambda train_state, batch: answer.train_step(train_state, batch))
    losses = []
    for index in range(len(batches["inputs"])):
        batch = {name: leaf[index] for name, leaf in batches.items()}
        train_state, loss = step(train_state, batch)
        losses.append(loss)
    return train_state, jnp.stack(losses)


def _expected_run(train_state, batches):
    losses = []
    for index in range(len(batches["inputs"])):
        batch = {name: leaf[index] for name, leaf in batches.items()}
        train_state, loss = _next(train_state, batch)
        losses.append(loss)
    return train_state, np.stack(losses)


EXERCISE = Exercise(
    title=_("A training step"),
    statement=_(
        "Complete `train_step`. The train state is a dict with `params`, `state` and `opt_state`. "
        "One call takes the gradient of `loss_fn` with respect to the params, asks `optimizer` "
        "for the updates, and returns `(new_train_state, loss)`, where the new train state is a "
        "dict with the same structure. `loss_fn` and `optimizer` stay as they are."
    ),
    lesson="update/jitted_update#one-bundle",
    kind="write",
    minutes=10,
    hints=(
        _("Which three parts of the train state change in a step, and what computes each of them?"),
        _(
            "`loss_fn` returns a pair. Look up in the lesson how `jax.value_and_grad` is told so, "
            "and how its result is nested."
        ),
        _(
            "`(loss, state), grads = jax.value_and_grad(loss_fn, has_aux=True)(…)`, and then "
            "`optimizer.update` and `optax.apply_updates`."
        ),
    ),
    checks=(
        Check(
            _("One step changes params, state and optimizer state, and returns the loss"),
            inputs=_draw,
            play=lambda answer, train_state, batch: answer.train_step(train_state, batch),
            expected=_next,
            idea=BUNDLE,
            mistakes=(
                Mistake(AUX, error="Gradient only defined for scalar-output functions"),
                Mistake(AUX, error="grad requires real- or complex-valued inputs"),
                Mistake(DROPPED_STATE, like=_keeps("state")),
                Mistake(DROPPED_OPT_STATE, like=_keeps("opt_state")),
                Mistake(
                    DIRECTION, like=lambda train_state, batch: _next(train_state, batch, 1, -1)
                ),
                Mistake(TWO_PASSES, when=_advances_twice),
            ),
            properties=("again", "arguments", "pure", "jit"),
            types=True,
            tolerance=1e-4,
        ),
        Check(
            _("Four steps, compiled, continue from each other"),
            inputs=lambda rng: _draw(rng, (4,)),
            play=_run,
            expected=_expected_run,
            idea=BUNDLE,
            tolerance=1e-4,
            draws=1,
        ),
    ),
)
