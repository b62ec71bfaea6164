"""A gradient step that is clipped, on any PyTree."""

# A gradient step that never goes too far: where the norm of the gradients is
# above `max_norm`, all of them are shrunk by the same factor to that norm.
import jax
import jax.numpy as jnp


def norm(tree):
    # Return the square root of the sum of all squares.
    #: return jnp.sqrt(jnp.sum(tree**2))
    # <solution>
    leaves = jax.tree.leaves(tree)
    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in leaves))
    # </solution>


def clipped_step(params, grads, learning_rate, max_norm):
    # Return the new params.
    scale = jnp.minimum(1.0, max_norm / norm(grads))
    #: return params - learning_rate * scale * grads
    # <solution>
    size = learning_rate * scale
    return jax.tree.map(lambda p, g: p - size * g, params, grads)
    # </solution>


# The exercise
import functools

import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises import ideas
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

TREE = Idea(
    "tree of arrays",
    _(
        "`**`, `-` and `*` are operations on arrays. A PyTree is a container, and the operation "
        "has to reach the arrays at its ends, however deep they lie."
    ),
)
ONE_NORM = Idea(
    "norm of each leaf",
    _(
        "There is one norm for the whole tree: the squares of all leaves are added before the "
        "root is taken."
    ),
    "state/pytrees#on-your-own",
)
DIRECTION = Idea(
    "direction",
    _("The gradients point to where the loss grows. A step of gradient descent goes against them."),
)
ANY_TREE = Idea(
    "any structure",
    _(
        "The model may have any number of layers, in any containers: the function must not say "
        "how deep the tree is, or what its nodes are called."
    ),
)
SAME_STEP = Idea(
    "same step",
    _(
        "For all leaves the step is what it was for a single array: the scale comes from the norm "
        "of the gradients, and is at most 1."
    ),
)

_SHAPES = (
    lambda new: {"hidden": {"w": new(2, 2), "b": new(2)}, "output": {"w": new(2)}},
    lambda new: new(4),
    lambda new: [new(2), (new(), {"a": new(3), "deep": {"er": [new(2, 2)]}})],
    lambda new: {"w": new(5), "frozen": None, "more": (new(1), new())},
)


def _trees(rng, number):
    def new(*shape):
        return np.asarray(rng.normal(size=shape), np.float32)

    return _SHAPES[number](new), _SHAPES[number](new)


def _draw(rng, number=None):
    number = int(rng.integers(len(_SHAPES))) if number is None else number
    params, grads = _trees(rng, number)
    learning_rate = np.float32(rng.uniform(0.1, 0.5))
    max_norm = np.float32(_norm(grads) * rng.choice([0.3, 0.6]))
    return params, grads, learning_rate, max_norm


def _draw_small(rng):
    params, grads, learning_rate, max_norm = _draw(rng, 0)
    return params, grads, learning_rate, np.float32(20 * max_norm)


def _norm(tree):
    leaves = jax.tree_util.tree_leaves(tree)
    return np.sqrt(sum(float((leaf.astype(np.float64) ** 2).sum()) for leaf in leaves))


def _step(params, grads, learning_rate, max_norm):
    scale = learning_rate * min(1.0, max_norm / _norm(grads))
    return jax.tree_util.tree_map(lambda p, g: np.float32(p - scale * g), params, grads)


def _upwards(params, grads, learning_rate, max_norm):
    return _step(params, grads, -learning_rate, max_norm)


def _flat(params, grads, learning_rate, max_norm):
    return jax.tree_util.tree_leaves(_step(params, grads, learning_rate, max_norm))


def _each_leaf(params, grads, learning_rate, max_norm):
    return jax.tree_util.tree_map(lambda p, g: _step(p, g, learning_rate, max_norm), params, grads)


def _norms(tree):
    return jax.tree_util.tree_map(_norm, tree)


def _play(answer, params, grads, learning_rate, max_norm):
    return answer.clipped_step(params, grads, learning_rate, max_norm)


def _play_compiled(answer, params, grads, learning_rate, max_norm):
    return jax.jit(answer.clipped_step)(params, grads, learning_rate, max_norm)


def _other_leaves(got, params, *_rest):
    return len(got) != len(jax.tree_util.tree_leaves(params, is_leaf=lambda node: node is None))


WRONG_STEPS = (
    Mistake(TREE, error="unsupported operand"),
    Mistake(ONE_NORM, like=_each_leaf),
    Mistake(DIRECTION, like=_upwards),
    Mistake(ideas.STRUCTURE, like=_flat),
    Mistake(ANY_TREE, when=_other_leaves),
    Mistake(ANY_TREE, error="AttributeError"),
    Mistake(ANY_TREE, error="TypeError"),
    Mistake(ANY_TREE, error="KeyError"),
)

EXERCISE = Exercise(
    title=_("A clipped gradient step for any PyTree"),
    statement=_(
        "`norm` and `clipped_step` work if the params are a single array. Make them work for "
        "every PyTree of arrays.\n\n"
        "`norm(tree)` returns one number for the whole tree. "
        "`clipped_step(params, grads, learning_rate, max_norm)` returns new params of the same "
        "structure. The check calls them with dicts, lists and tuples inside each other, and with "
        "a single array."
    ),
    lesson="state/pytrees#one-function-for-all-leaves",
    kind="repair",
    minutes=8,
    hints=(
        _("Which of the two functions returns a tree, and which returns one number?"),
        _(
            "`jax.tree.map` walks several trees in lockstep and returns a tree, and "
            "`jax.tree.leaves` returns the list of all leaves. Each function needs one of them."
        ),
        _(
            "In `norm`, add `jnp.sum(leaf**2)` for all `leaf in jax.tree.leaves(tree)`. In the "
            "step, map a function of one leaf of `params` and one of `grads`."
        ),
    ),
    checks=(
        Check(
            _("`norm` adds the squares of all leaves"),
            inputs=lambda rng: _trees(rng, 0)[:1],
            play=lambda answer, tree: answer.norm(tree),
            expected=lambda tree: np.float32(_norm(tree)),
            idea=ONE_NORM,
            mistakes=(
                Mistake(TREE, error="unsupported operand"),
                Mistake(ONE_NORM, like=_norms),
            ),
            properties=("arguments", "pure", "jit"),
        ),
        Check(
            _("`clipped_step` returns new params for two layers"),
            inputs=lambda rng: _draw(rng, 0),
            play=_play,
            expected=_step,
            idea=SAME_STEP,
            mistakes=WRONG_STEPS,
            properties=("again", "arguments", "pure", "jit", "vmap"),
            types=True,
        ),
        Check(
            _("`clipped_step` keeps small gradients as they are"),
            inputs=_draw_small,
            play=_play_compiled,
            expected=_step,
            idea=SAME_STEP,
            mistakes=WRONG_STEPS,
            draws=1,
        ),
        *(
            Check(
                title,
                inputs=functools.partial(_draw, number=number),
                play=_play_compiled,
                expected=_step,
                idea=ANY_TREE,
                mistakes=WRONG_STEPS[1:],
                types=True,
                draws=1,
            )
            for number, title in (
                (1, _("A single array is a tree too")),
                (2, _("Lists, tuples and dicts, inside each other")),
                (3, _("A place that holds `None` stays empty")),
            )
        ),
    ),
)
