"""What a step that donates its argument leaves to its caller."""

# Training with an average of the params. The step is given: it donates the
# train state, and returns the next one and the loss of the params it got.
import jax
import jax.numpy as jnp


def start(params):
    # Return a train state in which both parts begin as the params.
    #: return {"params": params, "average": params}
    # <solution>
    params = jax.tree.map(jnp.copy, params)
    return {"params": params, "average": jax.tree.map(jnp.copy, params)}
    # </solution>


def train(step, train_state, batches):
    # Return the last train state, and the params with the smallest loss.
    best, best_loss = None, float("inf")
    for batch in batches:
        #: before = train_state["params"]
        # <solution>
        before = jax.tree.map(jnp.copy, train_state["params"])
        # </solution>
        train_state, loss = step(train_state, batch)
        if loss < best_loss:
            best, best_loss = before, loss
    return train_state, best


# The exercise
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

TWICE = Idea(
    "shared buffer",
    _(
        "Two leaves of the train state are one array. Its memory cannot be donated twice, so each "
        "leaf needs memory of its own."
    ),
    "update/jitted_update#the-old-train-state-is-gone",
)
BOTH_PARTS = Idea(
    "both parts",
    _("In the first train state, the params and their average are both equal to `params`."),
    "update/jitted_update#the-old-train-state-is-gone",
)
GONE = Idea(
    "donated buffer",
    _(
        "An array was donated, and is read afterwards: its memory holds other numbers by now. "
        "Another name for an array, or another dict around it, is not a second array."
    ),
    "update/jitted_update#the-old-train-state-is-gone",
)
CALLER = Idea(
    "caller's params",
    _(
        "The params that the caller had passed are gone: the train state held the caller's own "
        "arrays, and the first step has donated them."
    ),
    "update/jitted_update#the-old-train-state-is-gone",
)
TOO_LATE = Idea(
    "before the step",
    _(
        "These are not the last train state and the params with the smallest loss. The loss that "
        "a step returns is that of the params that went in, and not of those that came out."
    ),
    "update/jitted_update#the-old-train-state-is-gone",
)


def _draw(rng):
    params = {"w": rng.normal(size=3).astype(np.float32), "b": np.float32(rng.normal())}
    sizes = rng.permutation(5) + 1  # the smallest loss is at any step
    batches = [np.float32(size) * rng.normal(size=3).astype(np.float32) for size in sizes]
    return params, batches


def _step(train_state, batch):
    params = train_state["params"]
    loss = ((params["w"] - batch) ** 2).mean() + params["b"] ** 2
    params = {"w": params["w"] - 0.2 * (params["w"] - batch), "b": params["b"] * 0.5}
    average = {name: 0.9 * train_state["average"][name] + 0.1 * params[name] for name in params}
    return {"params": params, "average": average}, loss


def _donating():
    donating = jax.jit(_step, donate_argnums=0)
    return lambda *arguments: donating(*arguments)  # its `__wrapped__` would donate nothing


def _started(answer, params, batches):
    before = answer.start(params)
    train_state, _loss = _donating()(before, batches[0])
    return {"next": train_state, "params": params}


def _expected_start(params, batches):
    train_state, _loss = _step({"params": params, "average": params}, batches[0])
    return {"next": train_state, "params": params}


def _trained(answer, params, batches):
    first = {name: jnp.copy(leaf) for name, leaf in params.items()}
    train_state, best = answer.train(_donating(), {"params": first, "average": params}, batches)
    return {"last": train_state, "best": best}


def _expected(params, batches):
    train_state, kept, losses = {"params": params, "average": params}, [], []
    for batch in batches:
        kept.append(train_state["params"])
        train_state, loss = _step(train_state, np.float64(batch))
        losses.append(loss)
    return {"last": train_state, "best": kept[int(np.argmin(losses))]}


def _is_gone(result, *inputs):
    return any(leaf is None for leaf in result.values())


EXERCISE = Exercise(
    title=_("What remains after a donation"),
    statement=_(
        "The step donates its train state, so the program below fails. Repair `start` and "
        "`train`. After `start(params)`, the train state can be donated, and the caller can "
        "still read `params` after any step. `train(step, train_state, batches)` returns "
        "`(train_state, best)`: the last train state, and the params whose loss was the smallest. "
        "The loss of a step is that of the params that went into it."
    ),
    lesson="update/jitted_update#the-old-train-state-is-gone",
    kind="repair",
    minutes=8,
    hints=(
        _("How many arrays are there after `start`, and who else holds them?"),
        _("Look at every place that gives a second name to an array which a step gets later."),
        _("`jax.tree.map(jnp.copy, params)` makes new arrays, if it runs before the step."),
    ),
    checks=(
        Check(
            _("The train state of `start` can be donated, and the caller keeps `params`"),
            inputs=_draw,
            play=_started,
            expected=_expected_start,
            idea=BOTH_PARTS,
            mistakes=(
                Mistake(TWICE, error="donate the same buffer twice"),
                Mistake(CALLER, when=_is_gone),
            ),
            draws=1,
        ),
        Check(
            _("`train` returns the params with the smallest loss, and they can be read"),
            inputs=_draw,
            play=_trained,
            expected=_expected,
            idea=TOO_LATE,
            mistakes=(
                Mistake(GONE, when=_is_gone),
                Mistake(GONE, error="deleted"),
                Mistake(GONE, error="donated"),
            ),
            draws=5,
        ),
    ),
)
