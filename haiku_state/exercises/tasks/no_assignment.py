"""What NumPy does in place, JAX does on a copy."""

# Three functions of a NumPy program for gray images. They write into the
# arrays that they are given.


def without_border(image):
    # Return the image with zeros in its first and last row and column.
    #: image[0, :] = 0
    #: image[-1, :] = 0
    #: image[:, 0] = 0
    #: image[:, -1] = 0
    # <solution>
    image = image.at[0, :].set(0)
    image = image.at[-1, :].set(0)
    image = image.at[:, 0].set(0)
    image = image.at[:, -1].set(0)
    # </solution>
    return image


def histogram(counts, levels):
    # Count each gray level once more for each time that it occurs.
    #: for level in levels:
    #:     counts[level] += 1
    #: return counts
    # <solution>
    return counts.at[levels].add(1)
    # </solution>


def brighter(image, amount):
    # Return the image with the amount added to each pixel.
    #: image += amount
    #: return image
    # <solution>
    return image + amount
    # </solution>


# The exercise
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises import ideas
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

NO_ASSIGNMENT = Idea(
    "no assignment",
    _(
        "The values of a JAX array never change, so nothing can be assigned to its entries. Each "
        "change is a new array, and the next line has to go on with that one."
    ),
    "pure/thinking_in_jax#arrays-that-never-change",
)
UNUSED_RESULT = Idea(
    "unused result",
    _("The array came back as it was. Each change makes a new array, and nobody has kept it."),
    "pure/thinking_in_jax#arrays-that-never-change",
)
REPEATED_INDEX = Idea(
    "repeated index",
    _(
        "An index that occurs twice was counted once: all entries were read before any was "
        "written. What is written has to be an operation that adds up."
    ),
    "pure/thinking_in_jax#arrays-that-never-change",
)
IN_PLACE = Idea(
    "in place",
    _(
        "The caller's array has changed. On a JAX array, `+=` makes a new array under the same "
        "name; on a NumPy array, it writes into the memory, which the caller sees too."
    ),
    "pure/thinking_in_jax#arrays-that-never-change",
)
WHICH_ARRAY = Idea(
    "which array",
    _(
        "A JAX array has methods that a NumPy array does not have, such as `.at`. Operators and "
        "the functions of `jnp` take both."
    ),
    "pure/thinking_in_jax#which-array-comes-out",
)


def _draw_image(rng):
    return (rng.integers(1, 10, (3, 4)).astype(np.float32),)


def _draw_levels(rng):
    # eight times one of four levels: at least one of them occurs more than once
    return rng.integers(0, 9, 6).astype(np.int32), rng.integers(0, 4, 8).astype(np.int32)


def _draw_amount(rng):
    return *_draw_image(rng), np.float32(rng.integers(1, 10))


def _inside(image):
    return np.pad(image[1:-1, 1:-1], 1)


def _counted(counts, levels):
    return counts + np.bincount(levels, minlength=len(counts)).astype(np.int32)


def _counted_once(counts, levels):
    return counts + np.isin(np.arange(len(counts)), levels)


def _brighter_numpy(answer, image, amount):
    mine = np.array(image)
    return {"result": answer.brighter(mine, float(amount)), "mine": mine}


EXERCISE = Exercise(
    title=_("Arrays without assignment"),
    statement=_(
        "Repair the functions so that they work on JAX arrays and under `jax.jit` and `jax.vmap`. "
        "The check calls `without_border(image)`, `histogram(counts, levels)` and "
        "`brighter(image, amount)`; each returns an array and keeps those of its caller as they "
        "are. The first two get JAX arrays. `brighter` must also take an image that is a NumPy "
        "array."
    ),
    lesson="pure/thinking_in_jax#arrays-that-never-change",
    kind="repair",
    minutes=8,
    hints=(
        _("Which lines write into an array, and whose array is it?"),
        _(
            "Look at each line with an index on the left of `=` or `+=`, and at the line with "
            "`image += amount`."
        ),
        _(
            "`x = x.at[i].set(value)` stands for `x[i] = value`, and `.add(value)` for `+=`; "
            "`levels` can be the index as a whole."
        ),
    ),
    checks=(
        Check(
            _("`without_border` returns a new image with zeros around it"),
            inputs=_draw_image,
            play=lambda answer, image: answer.without_border(image),
            expected=_inside,
            idea=NO_ASSIGNMENT,
            mistakes=(
                Mistake(UNUSED_RESULT, like=lambda image: image),
                Mistake(NO_ASSIGNMENT, error="item assignment"),
            ),
            properties=("again", "arguments", "pure", "jit", "vmap"),
        ),
        Check(
            _("`histogram` counts every level, repeated ones too"),
            inputs=_draw_levels,
            play=lambda answer, counts, levels: answer.histogram(counts, levels),
            expected=_counted,
            idea=NO_ASSIGNMENT,
            mistakes=(
                Mistake(UNUSED_RESULT, like=lambda counts, levels: counts),
                Mistake(REPEATED_INDEX, like=_counted_once),
                Mistake(NO_ASSIGNMENT, error="item assignment"),
            ),
            properties=("again", "arguments", "pure", "jit", "vmap"),
        ),
        Check(
            _("`brighter` returns a brighter image"),
            inputs=_draw_amount,
            play=lambda answer, image, amount: answer.brighter(image, amount),
            expected=lambda image, amount: image + amount,
            idea=NO_ASSIGNMENT,
            mistakes=(Mistake(UNUSED_RESULT, like=lambda image, amount: image),),
            properties=("again", "arguments", "pure", "jit", "vmap"),
        ),
        Check(
            _("`brighter` does not change a NumPy array of its caller"),
            inputs=_draw_amount,
            play=_brighter_numpy,
            expected=lambda image, amount: {"result": image + amount, "mine": image},
            idea=ideas.CHANGED_ARGUMENT,
            mistakes=(
                Mistake(
                    IN_PLACE,
                    when=lambda got, image, amount: not np.array_equal(got["['mine']"], image),
                ),
                Mistake(WHICH_ARRAY, error="has no attribute 'at'"),
            ),
            properties=("again",),
        ),
    ),
)
