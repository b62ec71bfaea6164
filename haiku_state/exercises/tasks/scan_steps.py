"""A Python loop over steps becomes one scan."""

# A line through zero is fitted batch by batch. The train state counts the
# batches whose loss was large.
import jax
import jax.numpy as jnp


def step(train_state, batch):
    # Return the next train state and the loss.
    w = train_state["w"]
    errors = w * batch["x"] - batch["y"]
    loss = jnp.mean(jnp.square(errors))
    w = w - 0.2 * jnp.mean(errors * batch["x"])
    #: large = train_state["large"] + jnp.where(loss > 1, 1.0, 0.0)
    # <solution>
    large = train_state["large"] + jnp.where(loss > 1, 1, 0)
    # </solution>
    return {"w": w, "large": large}, loss


def train(train_state, batches):
    # Return the last train state, and the losses of all steps in one array.
    #: losses = []
    #: for i in range(len(batches["x"])):
    #:     batch = jax.tree.map(lambda leaf: leaf[i], batches)
    #:     train_state, loss = step(train_state, batch)
    #:     losses.append(loss)
    #: return train_state, jnp.stack(losses)
    # <solution>
    return jax.lax.scan(step, train_state, batches)
    # </solution>


# The exercise
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

STEPS = 6

CARRY = Idea(
    "carry",
    _(
        "All iterations of a scan run one program. So what an iteration passes on must have the "
        "type of what it got: the structure, and the shape and dtype of each leaf."
    ),
    "update/many_steps#what-the-carry-must-keep",
)
STACKED = Idea(
    "stacked outputs",
    _(
        "The loss of every step is asked for. A body returns its carry and an output, and the "
        "outputs of all iterations come back stacked."
    ),
    "update/many_steps#a-loop-inside-the-compiled-program",
)
UNROLLED = Idea(
    "unrolled loop",
    _(
        "The results are right, and the program grows with the number of steps: each iteration of "
        "a Python loop is written down, and so is each one of a scan that is unrolled."
    ),
    "update/many_steps#why-not-unroll-the-loop",
)
LOOP = Idea(
    "same steps",
    _(
        "Whether a loop runs in Python or in the compiled program, the steps are the same: each "
        "one takes the next batch, and what the step before has returned."
    ),
    "update/many_steps#scanning-the-update-step",
)


def _draw(rng):
    train_state = {"w": np.float32(rng.normal()), "large": np.int32(rng.integers(1, 9))}
    x = rng.normal(size=(STEPS, 8)).astype(np.float32)
    noise = rng.normal(size=(STEPS, 8)) * rng.permutation(STEPS)[:, None] / 3
    return train_state, {"x": x, "y": (2 * x + noise).astype(np.float32)}


def _expected(train_state, batches):
    w, large, losses = np.float64(train_state["w"]), train_state["large"], []
    for x, y in zip(np.float64(batches["x"]), np.float64(batches["y"]), strict=True):
        errors = w * x - y
        losses.append((errors**2).mean())
        w = w - 0.2 * (errors * x).mean()
        large = np.int32(large + (losses[-1] > 1))
    return {"w": np.float32(w), "large": large}, np.float32(losses)


def _last_only(train_state, batches):
    train_state, losses = _expected(train_state, batches)
    return train_state, losses[-1]


def _size(answer, train_state, batches):
    # count the lines of the lowered program, in which an unrolled scan is written out too
    sizes = []
    for times in (1, 2):
        some = {name: np.concatenate([leaf] * times) for name, leaf in batches.items()}
        program = jax.jit(lambda *arguments: answer.train(*arguments)).lower(train_state, some)
        sizes.append(program.as_text().count(" = "))
    return {"operations added by more steps": sizes[1] - sizes[0]}


EXERCISE = Exercise(
    title=_("From a loop to a scan"),
    statement=_(
        "`train` takes many steps in one call. Its results are right, but its program grows with "
        "the number of steps. Rewrite it with `jax.lax.scan`. `train(train_state, batches)` gets "
        "batches that are already stacked, so that the first axis of each leaf is that of the "
        "steps, and returns the last train state and an array with the losses of all steps. Each "
        "leaf of the train state keeps its dtype: the count is an integer."
    ),
    lesson="update/many_steps#scanning-the-update-step",
    kind="port",
    minutes=8,
    hints=(
        _("Which value does each iteration pass on to the next, and which does it only report?"),
        _(
            "The signature of `step` is already that of the body of a scan. Only one of its lines "
            "changes a type."
        ),
        _(
            "`jax.lax.scan(step, train_state, batches)` returns both results. In `step`, what is "
            "added to the count has to be an integer."
        ),
    ),
    checks=(
        Check(
            _("The train state keeps its types, and the losses are those of the loop"),
            inputs=_draw,
            play=lambda answer, train_state, batches: answer.train(train_state, batches),
            expected=_expected,
            idea=LOOP,
            mistakes=(
                Mistake(CARRY, error="carry"),
                Mistake(STACKED, like=_last_only),
                Mistake(STACKED, when=lambda result, *inputs: result["[1]"].shape != (STEPS,)),
                Mistake(STACKED, when=lambda result, *inputs: "[1]" not in result),
            ),
            properties=("again", "arguments", "pure", "jit"),
            types=True,
        ),
        Check(
            _("The program has the same size for any number of steps"),
            inputs=_draw,
            play=_size,
            expected=lambda train_state, batches: {"operations added by more steps": 0},
            idea=UNROLLED,
            draws=1,
        ),
    ),
)
