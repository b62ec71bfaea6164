"""An average of the params beside the params."""

# The weights of a linear model jump around from step to step. An average of
# them is kept in the train state, and is used for evaluation.
import jax
import jax.numpy as jnp


def predict(params, state, x):
    return (x - state["mean"]) @ params["w"]


def loss_fn(params, state, batch):
    mean = 0.9 * state["mean"] + 0.1 * jnp.mean(batch["x"], axis=0)
    state = {"mean": mean}
    error = predict(params, state, batch["x"]) - batch["y"]
    return jnp.mean(jnp.square(error)), state


def start(params, state):
    # Return the train state with which training begins.
    #: return {"params": params, "average": None, "state": state}
    # <solution>
    return {"params": params, "average": params, "state": state}
    # </solution>


def update(train_state, batch, decay):
    # Take one step, and return the new train state.
    params, state = train_state["params"], train_state["state"]
    grads, state = jax.grad(loss_fn, has_aux=True)(params, state, batch)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    #: return {"params": params, "average": None, "state": state}
    # <solution>

    def blend(a, p):
        return decay * a + (1 - decay) * p

    average = jax.tree.map(blend, train_state["average"], params)
    return {"params": params, "average": average, "state": state}
    # </solution>


def evaluate(train_state, x):
    # Return the prediction of the averaged params.
    #: return predict(train_state["params"], train_state["state"], x)
    # <solution>
    return predict(train_state["average"], train_state["state"], x)
    # </solution>


# The exercise
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises import ideas
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

LESSON = "update/averaged_params#the-last-steps-jump-around"
BESIDE = Idea(
    "beside the params",
    _(
        "The average is one more part of the train state. It comes in with it, and a new one goes "
        "out with it."
    ),
    LESSON,
)
FIRST_PARAMS = Idea(
    "start of the average",
    _(
        "An average that starts at zero remembers the zero for many steps. Here it begins at the "
        "initial params."
    ),
    LESSON,
)
SWAPPED = Idea(
    "swapped rates",
    _("The decay rate says how much of the old average stays, and it is close to 1."),
    LESSON,
)
OLD_PARAMS = Idea(
    "one step behind",
    _("The average takes in the params that the step has just computed, not those before it."),
    LESSON,
)
FEEDBACK = Idea(
    "params replaced",
    _(
        "Training must go on from the params themselves. The average only watches, and must not "
        "change what the next step does."
    ),
    LESSON,
)
DROPPED = Idea(
    "dropped state",
    _("The running mean comes out of the loss function, and belongs to the new train state too."),
    "update/jitted_update#a-loss-that-returns-the-state",
)
EVALUATION = Idea(
    "averaged params",
    _("The average is kept for evaluation: a prediction is made with it, and not with the params "
      "of the last step."),
    LESSON,
)  # fmt: skip


def _vector(rng):
    return rng.normal(size=3).astype(np.float32)


def _draw(rng):
    train_state = {
        "params": {"w": _vector(rng)},
        "average": {"w": _vector(rng)},
        "state": {"mean": _vector(rng)},
    }
    x = rng.normal(1, 1, size=(4, 3)).astype(np.float32)
    batch = {"x": x, "y": rng.normal(size=4).astype(np.float32)}
    return train_state, batch, np.float32(rng.uniform(0.6, 0.9))


def _after(train_state, batch, decay, old=False, swapped=False):
    x, w = np.float64(batch["x"]), np.float64(train_state["params"]["w"])
    mean = 0.9 * train_state["state"]["mean"] + 0.1 * x.mean(axis=0)
    error = (x - mean) @ w - batch["y"]
    new = w - 0.1 * 2 * (x - mean).T @ error / len(x)
    keep = 1 - decay if swapped else decay
    average = keep * train_state["average"]["w"] + (1 - keep) * (w if old else new)
    return {"params": {"w": new}, "average": {"w": average}, "state": {"mean": mean}}


def _scanned(answer, train_state, batch, decay):
    train_state = answer.start(train_state["params"], train_state["state"])

    def body(carry, _none):
        return answer.update(carry, batch, decay), None

    return jax.lax.scan(body, train_state, None, length=5)[0]


def _five(train_state, batch, decay):
    train_state = {**train_state, "average": train_state["params"]}
    for _number in range(5):
        train_state = _after(train_state, batch, decay)
    return train_state


def _fed_back(leaves, train_state, batch, decay):
    return np.array_equal(leaves["['params']['w']"], leaves["['average']['w']"])


def _like(**changes):
    return lambda *inputs: _after(*inputs, **changes)


EXERCISE = Exercise(
    title=_("An average of the params"),
    statement=_(
        "Complete the three functions. A train state is a dict of `params`, `average` and `state`, "
        "and the average has the structure of the params. `start(params, state)` returns the first "
        "one. `update(train_state, batch, decay)` returns the next one: after the step, `decay` of "
        "the old average stays, and the rest comes from the new params. "
        "`evaluate(train_state, x)` returns the prediction of the averaged params with the state."
    ),
    lesson=LESSON,
    kind="write",
    minutes=7,
    hints=(
        _("Which two trees does the new average depend on, and which of them has just been made?"),
        _(
            "Look at the line that computes the new params: a `jax.tree.map` over two trees. The "
            "average is computed in the same way, from the old average and these params."
        ),
        _("For each leaf it is `decay * a + (1 - decay) * p`. At the start, `a` is `p`."),
    ),
    checks=(
        Check(
            _("`start` begins the average at the params"),
            inputs=_draw,
            play=lambda answer, train_state, batch, decay: answer.start(
                train_state["params"], train_state["state"]
            ),
            expected=lambda train_state, batch, decay: {
                **train_state,
                "average": train_state["params"],
            },
            idea=BESIDE,
            mistakes=(
                Mistake(
                    FIRST_PARAMS,
                    when=lambda leaves, *inputs: not leaves["['average']['w']"].any(),
                ),
            ),
            properties=("again", "pure"),
            types=True,
        ),
        Check(
            _("`update` returns the new params, average and state"),
            inputs=_draw,
            play=lambda answer, train_state, batch, decay: answer.update(train_state, batch, decay),
            expected=_after,
            idea=BESIDE,
            mistakes=(
                Mistake(OLD_PARAMS, like=_like(old=True)),
                Mistake(SWAPPED, like=_like(swapped=True)),
                Mistake(FEEDBACK, when=_fed_back),
                Mistake(
                    DROPPED,
                    like=lambda train_state, batch, decay: {
                        **_after(train_state, batch, decay),
                        "state": train_state["state"],
                    },
                ),
            ),
            properties=("again", "arguments", "pure", "jit"),
            tolerance=1e-4,
        ),
        Check(
            _("Five steps in a scan keep the train state as it is"),
            inputs=_draw,
            play=_scanned,
            expected=_five,
            idea=ideas.STRUCTURE,
            draws=1,
            types=False,
            tolerance=1e-4,
        ),
        Check(
            _("`evaluate` uses the average"),
            inputs=_draw,
            play=lambda answer, train_state, batch, decay: answer.evaluate(train_state, batch["x"]),
            expected=lambda train_state, batch, decay: (
                (np.float64(batch["x"]) - train_state["state"]["mean"])
                @ train_state["average"]["w"]
            ),
            idea=EVALUATION,
            properties=("again", "arguments", "pure", "jit"),
            tolerance=1e-4,
        ),
    ),
)
