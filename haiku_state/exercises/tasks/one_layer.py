"""Two inputs through one encoder."""

# Two pictures of the same person should be close to each other. The distance
# is taken between what an encoder makes of them.
import haiku as hk
import jax.numpy as jnp


def functions():
    # <solution>
    encoder = hk.Linear(4, name="encoder")

    # </solution>
    def encode(x):
        #: encoder = hk.Linear(4, name="encoder")
        return jnp.tanh(encoder(x))

    def distance(a, b):
        return jnp.sum((encode(a) - encode(b)) ** 2, axis=-1)

    return distance, (encode, distance)


model = hk.multi_transform(functions)
encode, distance = model.apply


# The exercise
import jax
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

LESSON = "haiku/pure_pair#where-the-names-in-params-and-state-come-from"
TWO_INSTANCES = Idea(
    "two instances",
    _(
        "Each new instance gets params of its own, whatever name it is given: Haiku numbers those "
        "of the same name. Params are shared by calling the same instance again."
    ),
    LESSON,
)
OTHER_PATH = Idea(
    "path",
    _(
        "The params are not where they are expected. The path comes from the name of the module, "
        "and from where it is created."
    ),
    LESSON,
)
SELF = Idea(
    "distance to itself",
    _("Two equal inputs have the distance 0 only if both go through the same params."),
    LESSON,
)

SAME_FUNCTIONS = Idea(
    "same functions",
    _(
        "Only where the encoder is created has to change. `encode` and `distance` compute what "
        "they did, and occur in `model.apply` in this order."
    ),
    LESSON,
)


def _draw(rng):
    w, b = rng.normal(0, 0.5, (3, 4)), rng.normal(0, 1, 4)
    params = {"encoder": {"w": w.astype(np.float32), "b": b.astype(np.float32)}}
    a, b = rng.normal(0, 1, (2, 5, 3)).astype(np.float32)
    return params, a, b


def _shapes(answer, seed, a, b):
    params = answer.model.init(jax.random.key(seed), a, b)
    return jax.tree_util.tree_map(lambda leaf: np.int32(leaf.shape), params)


def _encoded(params, x):
    x = np.float64(x)
    return np.tanh(x @ params["encoder"]["w"] + params["encoder"]["b"])


def _play(answer, params, a, b):
    encode, distance = answer.model.apply
    return (
        encode(params, None, a),
        distance(params, None, a, b),
        distance(params, None, a, a),
    )


def _distances(params, a, b):
    squares = (_encoded(params, a) - _encoded(params, b)) ** 2
    return _encoded(params, a), squares.sum(axis=-1), np.zeros(len(a))


WRONG_NUMBER = Mistake(TWO_INSTANCES, when=lambda got, *_: len(got) != 2)
NO_PARAMS = Mistake(TWO_INSTANCES, error="Unable to retrieve parameter")

EXERCISE = Exercise(
    title=_("Two inputs, one encoder"),
    statement=_(
        "`distance(a, b)` compares two batches, and `encode(x)` encodes one. Both are to use one "
        "and the same encoder. Repair `functions`: `model.init` makes the params of one module, "
        "`encoder`, and each of the two functions in `model.apply` works with them."
    ),
    lesson=LESSON,
    kind="repair",
    minutes=5,
    hints=(
        _("How many instances of `hk.Linear` are made when `distance` runs once?"),
        _("Look at where the instance is made. How often does that line run?"),
        _("Make `encoder` in `functions`, before `encode`, which then only calls it."),
    ),
    checks=(
        Check(
            _("`init` makes the params of one encoder"),
            inputs=lambda rng: (np.uint32(rng.integers(2**31)), *_draw(rng)[1:]),
            play=_shapes,
            expected=lambda seed, a, b: {
                "encoder": {"w": np.array([3, 4], np.int32), "b": np.array([4], np.int32)},
            },
            idea=OTHER_PATH,
            mistakes=(NO_PARAMS, WRONG_NUMBER),
        ),
        Check(
            _("`encode` and `distance` use the params of this encoder"),
            inputs=_draw,
            play=_play,
            expected=_distances,
            idea=SAME_FUNCTIONS,
            mistakes=(
                NO_PARAMS,
                Mistake(SELF, when=lambda got, *_: bool(np.abs(got["[2]"]).max() > 1e-5)),
            ),
            properties=("again", "arguments", "pure", "jit"),
        ),
    ),
)
