"""A gradient in parts."""

# A batch that does not fit into memory goes through a loss function in
# microbatches, one after the other.
import jax
import jax.numpy as jnp


def example_loss(params, state, batch):
    mean = 0.9 * state + 0.1 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] - batch["y"]
    return jnp.mean(jnp.square(error)), mean


def accumulate(loss_fn, params, state, batch, count):
    # Return the gradient of the whole batch, and the state that has seen
    # every microbatch.
    #: return jax.grad(loss_fn, has_aux=True)(params, state, batch)
    # <solution>
    def cut(leaf):
        return leaf.reshape(count, -1, *leaf.shape[1:])

    def body(carry, part):
        total, state = carry
        grads, state = jax.grad(loss_fn, has_aux=True)(params, state, part)
        return (jax.tree.map(jnp.add, total, grads), state), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    batches = jax.tree.map(cut, batch)
    (total, state), _ = jax.lax.scan(body, (zeros, state), batches)
    return jax.tree.map(lambda leaf: leaf / count, total), state
    # </solution>


# The exercise
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

LESSON = "update/accumulation#the-same-gradient-in-parts"
STATISTICS = "update/accumulation#what-the-running-statistics-see"
SUM = Idea(
    "sum or mean",
    _(
        "The loss is a mean over rows, and so is its gradient. The gradient of the whole is the "
        "mean of those of equal parts; their sum is too long by the number of the parts."
    ),
    LESSON,
)
LAST_PART = Idea(
    "last part only",
    _(
        "The gradient is that of the last microbatch. What the earlier ones have found must be "
        "carried on to the end."
    ),
    LESSON,
)
THREADED = Idea(
    "threaded state",
    _(
        "The state has seen one microbatch only. Each microbatch has to begin with the state that "
        "the one before it returned."
    ),
    STATISTICS,
)
DROPPED = Idea(
    "dropped state",
    _("The state that comes out is the one that went in: what the microbatches returned is lost."),
    STATISTICS,
)
WHOLE = Idea(
    "one at a time",
    _(
        "The loss function was given all rows at once. Only one microbatch at a time should have "
        "to fit into memory."
    ),
    LESSON,
)
UNROLLED = Idea(
    "unrolled loop",
    _(
        "A Python loop is traced round by round, so that the program grows with the number of the "
        "microbatches. There is a loop that is traced once."
    ),
    "update/many_steps#a-loop-inside-the-compiled-program",
)
CHOSEN = Idea(
    "chosen count",
    _("The number of microbatches is an argument: the caller chooses it again in each call."),
    LESSON,
)
GRADIENT = Idea(
    "equal parts",
    _("Each row must be in one of the microbatches, and each microbatch must count the same."),
    LESSON,
)
COUNT, ROWS = 4, 16


def _draw(rng):
    params = {"w": rng.normal(size=3).astype(np.float32), "b": np.float32(rng.normal())}
    x = rng.normal(1, 1, size=(ROWS, 3)).astype(np.float32)
    batch = {"x": x, "y": rng.normal(2, 1, size=ROWS).astype(np.float32)}
    state = {"mean": rng.normal(size=3).astype(np.float32), "count": np.int32(rng.integers(5, 50))}
    return params, state, batch


def _loss(params, state, batch):
    mean = 0.8 * state["mean"] + 0.2 * jnp.mean(batch["x"], axis=0)
    error = batch["x"] @ params["w"] + params["b"] - batch["y"]
    return jnp.mean(jnp.square(error)), {"mean": mean, "count": state["count"] + 1}


def _in_parts(answer, params, state, batch):
    grads, new_state = answer.accumulate(_loss, params, state, batch, COUNT)
    return {"grads": grads, "state": new_state}


def _expected(params, state, batch, grad_rows=slice(None), factor=1, parts=None):
    x, y = np.float64(batch["x"])[grad_rows], np.float64(batch["y"])[grad_rows]
    error = x @ params["w"] + params["b"] - y
    grads = {"w": factor * 2 * x.T @ error / len(x), "b": factor * 2 * error.mean()}
    return {"grads": grads, "state": _advanced(state, batch, COUNT, parts)}


def _advanced(state, batch, count, only=None):
    mean = np.float64(state["mean"])
    means = np.float64(batch["x"]).reshape(count, -1, 3).mean(axis=1)
    for part in means if only is None else means[only]:
        mean = 0.8 * mean + 0.2 * part
    return {"mean": mean, "count": state["count"] + (count if only is None else len(means[only]))}


def _seen(answer, params, state, batch):
    seen = []

    def loss_fn(params, state, batch):
        seen.append(batch["x"].shape[0])
        return _loss(params, state, batch)

    count = 8
    program = jax.make_jaxpr(lambda *given: answer.accumulate(loss_fn, *given, count))
    outside = [one.primitive.name for one in program(params, state, batch).jaxpr.eqns]
    return {
        "rows": max(seen),
        "traced once": len(seen) < count,
        "all in the loop": "dot_general" not in outside,
    }


def _like(**changes):
    return lambda *inputs: _expected(*inputs, **changes)


def _same_state(leaves, params, state, batch):
    return leaves["['state']['count']"] == state["count"]


def _one_step(leaves, params, state, batch):
    return leaves["['state']['count']"] == state["count"] + 1


def _other_count(leaves, params, state, batch):
    return leaves["['state']['count']"] != state["count"] + COUNT


EXERCISE = Exercise(
    title=_("Gradient accumulation"),
    statement=_(
        "Write `accumulate(loss_fn, params, state, batch, count)`. The loss function is called as "
        "`loss_fn(params, state, batch)`, and returns a loss, which is a mean over the rows, and "
        "the new state; `example_loss` is one. Cut the batch into `count` microbatches of "
        "consecutive rows, and run one after the other in `jax.lax.scan`. Each starts from the "
        "state of the one before. Return the gradient of the whole batch with respect to the "
        "params, and the last state."
    ),
    lesson=LESSON,
    kind="write",
    minutes=10,
    hints=(
        _("What does one round of the loop need from the rounds before it?"),
        _(
            "Look at the carry of the scan: it holds the sum of the gradients so far, and the "
            "state. The microbatches are what the scan goes over, so each leaf of the batch needs "
            "a leading axis of length `count`."
        ),
        _(
            "`leaf.reshape(count, -1, *leaf.shape[1:])` makes that axis. The carry starts with "
            "zeros and `state`; after the scan, divide the sum by `count`."
        ),
    ),
    checks=(
        Check(
            _("The gradient is that of the whole batch, and the state sees all microbatches"),
            inputs=_draw,
            play=_in_parts,
            expected=_expected,
            idea=GRADIENT,
            mistakes=(
                Mistake(SUM, like=_like(factor=4)),
                Mistake(LAST_PART, like=_like(grad_rows=slice(12, 16))),
                Mistake(LAST_PART, like=_like(grad_rows=slice(12, 16), factor=0.25)),
                Mistake(WHOLE, when=lambda leaves, params, state, batch: _is_whole(
                    leaves, params, state, batch)),
                Mistake(DROPPED, when=_same_state),
                Mistake(THREADED, when=_one_step),
                Mistake(CHOSEN, when=_other_count),
                Mistake(WHOLE, error="has no leading axis"),
            ),
            properties=("again", "arguments", "pure", "jit"),
            tolerance=1e-4,
        ),
        Check(
            _("The loss function sees one microbatch at a time, and is not traced for each"),
            inputs=_draw,
            play=_seen,
            expected=lambda params, state, batch: {
                "rows": 2,
                "traced once": True,
                "all in the loop": True,
            },
            idea=WHOLE,
            mistakes=(
                Mistake(UNROLLED, when=lambda leaves, *inputs: not leaves["['traced once']"]),
                Mistake(WHOLE, when=lambda leaves, *inputs: leaves["['rows']"] == 2),
                Mistake(CHOSEN, when=lambda leaves, *inputs: leaves["['rows']"] < ROWS),
            ),
            draws=1,
        ),
    ),
)  # fmt: skip


def _is_whole(leaves, params, state, batch):
    mean = 0.8 * state["mean"] + 0.2 * batch["x"].mean(axis=0)
    return np.allclose(leaves["['state']['mean']"], mean, 1e-4, 1e-4)
