"""Shapes are computed while jit traces, values when the function runs."""

# Two functions that change the shape of an array. They work, but not under
# jit.
import jax.numpy as jnp


def flat_images(images):
    # Return a row of pixels for each image.
    #: pixels = jnp.prod(jnp.array(images.shape[1:]))
    # <solution>
    pixels = images.shape[1] * images.shape[2]
    # </solution>
    return images.reshape(images.shape[0], pixels)


def block_levels(signal, size):
    # Cut the signal into blocks of this size, without the rest at its end.
    # Return the square root of the mean square of each block.
    #: blocks = jnp.floor(signal.shape[0] / size).astype(int)
    # <solution>
    blocks = signal.shape[0] // size
    # </solution>
    rows = signal[: blocks * size].reshape(blocks, size)
    return jnp.sqrt(jnp.mean(jnp.square(rows), axis=1))


# The exercise
import jax
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

STATIC_SHAPE = Idea(
    "static shape",
    _(
        "Under jit, the result of an operation of `jnp` is a tracer, even if its input is a shape. "
        "But how long an array is must be known during tracing."
    ),
    "pure/thinking_in_jax#static-and-traced-operations",
)
TRACED_VALUE = Idea(
    "traced value",
    _(
        "NumPy was asked to compute with a tracer, which has no values yet. What depends on the "
        "values of an argument must be recorded."
    ),
    "pure/thinking_in_jax#static-and-traced-operations",
)
THE_REST = Idea(
    "the rest",
    _(
        "The length of the signal need not be a multiple of `size`. What is left over at its end "
        "belongs to no block."
    ),
)
SAME_RESULT = Idea(
    "same result",
    _(
        "Without `jit`, the result stays what it was. Only how a length is computed has to change; "
        "rows and columns stay where they are."
    ),
)
_UNKNOWN_LENGTH = (
    Mistake(STATIC_SHAPE, error="Shapes must be 1D sequences of concrete values"),
    Mistake(STATIC_SHAPE, error="ConcretizationTypeError"),
    Mistake(STATIC_SHAPE, error="TracerIntegerConversionError"),
    Mistake(STATIC_SHAPE, error="IndexError: "),
    Mistake(TRACED_VALUE, error="TracerArrayConversionError"),
    Mistake(THE_REST, error="cannot reshape array"),
    Mistake(THE_REST, error="array split does not result in an equal division"),
)


def _draw_images(rng):
    return (rng.normal(size=rng.integers(2, 6, 3)).astype(np.float32),)


def _draw_signal(rng):
    # the rest of the division is never 0
    size = int(rng.integers(3, 6))
    length = size * int(rng.integers(2, 5)) + int(rng.integers(1, size))
    return rng.normal(size=length).astype(np.float32), size


def _levels(signal, size):
    blocks = len(signal) // size
    rows = np.float64(signal[: blocks * size]).reshape(blocks, size)
    return np.sqrt(np.square(rows).mean(axis=1))


def _from_the_end(signal, size):
    return _levels(signal[len(signal) % size :], size)


def _counts_the_rest(got, signal, size):
    return len(got[""]) > len(signal) // size


EXERCISE = Exercise(
    title=_("Shapes that are known in advance"),
    statement=_(
        "Repair both functions so that they work under `jax.jit` as well. The check calls "
        "`flat_images(images)` with an array of several images, each with rows and columns, and "
        "`block_levels(signal, size)` with an array and a Python integer, which is a static "
        "argument. The results stay what they are without `jit`."
    ),
    lesson="pure/thinking_in_jax#static-and-traced-operations",
    kind="repair",
    minutes=6,
    hints=(
        _("Which numbers in these functions depend on a shape only, and which on the values?"),
        _("Look at the lines with `pixels =` and `blocks =`: which library computes them?"),
        _(
            "A shape is a tuple of Python integers: `np.prod` and `math.prod` multiply them, and "
            "`//` divides two of them and rounds down."
        ),
    ),
    checks=(
        Check(
            _("`flat_images` works with and without `jit`"),
            inputs=_draw_images,
            play=lambda answer, images: answer.flat_images(images),
            expected=lambda images: images.reshape(len(images), -1),
            idea=SAME_RESULT,
            mistakes=_UNKNOWN_LENGTH,
            properties=("again", "arguments", "pure", "jit"),
        ),
        Check(
            _("`block_levels` returns the level of each whole block"),
            inputs=_draw_signal,
            play=lambda answer, signal, size: answer.block_levels(signal, size),
            expected=_levels,
            idea=SAME_RESULT,
            mistakes=(
                *_UNKNOWN_LENGTH,
                Mistake(THE_REST, when=_counts_the_rest),
                Mistake(THE_REST, like=_from_the_end),
            ),
            properties=("again", "arguments"),
        ),
        Check(
            _("`block_levels` works under `jit`, with `size` as a static argument"),
            inputs=_draw_signal,
            play=lambda answer, signal, size: jax.jit(answer.block_levels, static_argnums=1)(
                signal, size
            ),
            expected=_levels,
            idea=STATIC_SHAPE,
            mistakes=_UNKNOWN_LENGTH,
            properties=("again", "arguments", "pure"),
        ),
    ),
)
