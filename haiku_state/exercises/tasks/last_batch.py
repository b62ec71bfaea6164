"""The last, partial batch is padded and masked, so that one program is enough."""

# A model is evaluated batch by batch. Its function `row_losses` is given: it
# takes a batch, an array with one example per row, and returns their losses.
import jax
import jax.numpy as jnp


def evaluate(row_losses, rows, size):
    # Return the mean loss of all rows.
    run = jax.jit(row_losses)
    #: means = []
    # <solution>
    total = 0.0
    # </solution>
    for first in range(0, len(rows), size):
        batch = rows[first : first + size]
        #: means.append(jnp.mean(run(batch)))
        # <solution>
        padding = size - len(batch)
        mask = jnp.arange(size) < len(batch)
        losses = run(jnp.pad(batch, [(0, padding), (0, 0)]))
        total += jnp.sum(jnp.where(mask, losses, 0.0))
        # </solution>
    #: return sum(means) / len(means)
    # <solution>
    return total / len(rows)
    # </solution>


# The exercise
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

SIZE = 4

MEAN_OF_MEANS = Idea(
    "mean of means",
    _(
        "This is the mean of the batches' means. Each batch counts the same in it, and so a row of "
        "a small batch counts more than one of a full batch."
    ),
    "update/pmapped_update#the-last-partial-batch",
)
PADDING = Idea(
    "padding counted",
    _(
        "The rows of the padding are in the mean. They are there for the shape alone: they count "
        "neither among the losses nor among the rows."
    ),
    "update/pmapped_update#the-last-partial-batch",
)
LEFT_OUT = Idea(
    "rows left out",
    _(
        "The rows of the last batch are missing. In training, other rows are left out in each "
        "epoch. In an evaluation, every row counts once."
    ),
    "update/pmapped_update#the-last-partial-batch",
)
SHAPE = Idea(
    "second shape",
    _(
        "The mean is right, and the model was compiled for another number of rows than a full "
        "batch has. Each new shape is a new program."
    ),
    "update/jitted_update#the-last-batch-of-the-epoch",
)
NOT_COMPILED = Idea(
    "compiled once",
    _("The model is to be traced once in all, compiled, and used for every batch."),
    "update/jitted_update#how-often-does-it-compile",
)


def _draw(rng, remainder=None):
    remainder = rng.integers(1, SIZE) if remainder is None else remainder
    count = 3 * SIZE + remainder
    weights = rng.normal(size=3).astype(np.float32)
    rows = rng.normal(size=(count, 3)) * np.linspace(1, 3, count)[:, None]
    return weights, rows.astype(np.float32)


def _losses(weights, rows):
    return (rows @ weights - 1.5) ** 2 + 0.5


def _play(answer, weights, rows):
    traced, calls = [], []

    def row_losses(batch):
        is_traced = isinstance(batch, jax.core.Tracer)
        (traced if is_traced else calls).append(batch.shape[0])
        return _losses(weights, batch)

    mean = answer.evaluate(row_losses, rows, SIZE)
    return {"mean": mean, "traced for": traced, "not compiled": len(calls)}


def _with(mean):
    return {"mean": mean, "traced for": [SIZE], "not compiled": 0}


def _expected(weights, rows):
    return _with(_losses(np.float64(weights), np.float64(rows)).mean())


def _batched(weights, rows, fill=None):
    losses = _losses(np.float64(weights), np.float64(rows))
    missing = -len(losses) % SIZE
    if fill == "zeros":
        losses = np.append(losses, np.full(missing, _losses(np.zeros(3), np.zeros(3))))
    return [losses[first : first + SIZE] for first in range(0, len(losses), SIZE)]


def _is_mean(value):
    """Return a predicate on the mean alone, whatever the traces were."""

    def predicate(result, weights, rows):
        return bool(np.allclose(result["['mean']"], value(weights, rows), 1e-5, 1e-5))

    return predicate


def _mean_of_means(weights, rows):
    return np.mean([batch.mean() for batch in _batched(weights, rows)])


def _with_padding(weights, rows):
    return np.concatenate(_batched(weights, rows, "zeros")).mean()


def _padding_in_sum(weights, rows):
    return np.concatenate(_batched(weights, rows, "zeros")).sum() / len(rows)


def _padding_in_count(weights, rows):
    losses = np.concatenate(_batched(weights, rows))
    return losses.sum() / (len(losses) + -len(losses) % SIZE)


def _full_batches(weights, rows):
    return np.concatenate(_batched(weights, rows)[:-1]).mean()


def _repeated(weights, rows):
    losses = np.concatenate(_batched(weights, rows))
    return np.append(losses, np.full(-len(losses) % SIZE, losses[-1])).mean()


def _last_rows_again(weights, rows):
    losses = np.concatenate(_batched(weights, rows))
    return np.append(losses[: -(len(losses) % SIZE)], losses[-SIZE:]).mean()


def _has_second_shape(result, *inputs):
    return any(path.startswith("['traced for']") and leaf != SIZE for path, leaf in result.items())


EXERCISE = Exercise(
    title=_("The last batch"),
    statement=_(
        "`evaluate(row_losses, rows, size)` cuts the rows into batches of `size` rows. The last "
        "one may have fewer. Repair `evaluate` in two respects: it returns the exact mean of the "
        "losses of all rows, and `row_losses` is traced once, for a batch of `size` rows, and "
        "compiled. `row_losses` may be given any numbers as padding."
    ),
    lesson="update/pmapped_update#the-last-partial-batch",
    kind="repair",
    minutes=10,
    hints=(
        _("How many rows does the last batch have, and how much does one of them count?"),
        _(
            "Every batch goes through `run` with the same shape. Behind `run`, a mask says which "
            "of the losses count."
        ),
        _(
            "Fill up with `jnp.pad`. The mask is `jnp.arange(size) < len(batch)`. At the end, "
            "divide the sum of all masked losses by the number of rows."
        ),
    ),
    checks=(
        Check(
            _("The mean is exact, and there is one program for all batches"),
            inputs=_draw,
            play=_play,
            expected=_expected,
            idea=NOT_COMPILED,
            mistakes=(
                Mistake(MEAN_OF_MEANS, when=_is_mean(_mean_of_means)),
                Mistake(PADDING, when=_is_mean(_with_padding)),
                Mistake(PADDING, when=_is_mean(_padding_in_sum)),
                Mistake(PADDING, when=_is_mean(_padding_in_count)),
                Mistake(PADDING, when=_is_mean(_repeated)),
                Mistake(PADDING, when=_is_mean(_last_rows_again)),
                Mistake(LEFT_OUT, when=_is_mean(_full_batches)),
                Mistake(SHAPE, when=_has_second_shape),
            ),
        ),
        Check(
            _("Rows that divide evenly are not padded by a batch"),
            inputs=lambda rng: _draw(rng, 0),
            play=_play,
            expected=_expected,
            idea=NOT_COMPILED,
            draws=1,
        ),
    ),
)
