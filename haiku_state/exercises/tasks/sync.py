"""Running statistics that have drifted apart become equal again."""

# The replicas of a state have drifted apart. The first axis of each leaf is
# the device axis, with an entry for each replica.
import jax
import jax.numpy as jnp


def sync(state):
    # Return the state with the mean over the replicas in place of each
    # average. A leaf of integers is a count, and stays as it is.
    #: return jax.tree.map(lambda leaf: leaf, state)
    # <solution>
    def mean(leaf):
        if not jnp.issubdtype(leaf.dtype, jnp.floating):
            return leaf
        return jnp.broadcast_to(leaf.mean(axis=0), leaf.shape)

    return jax.tree.map(mean, state)
    # </solution>


# The exercise
import sys

import numpy as np

import haiku_state as hs
from haiku_state.errors.language import deferred as _
from haiku_state.exercises import ideas
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

DEVICES = 4

APART = Idea(
    "replicas apart",
    _(
        "The replicas still differ. Each of them has seen its own rows, and nothing but an "
        "exchange makes them equal."
    ),
    "update/pmapped_update#fixing-it-afterwards",
)
ONE_REPLICA = Idea(
    "one of four answers",
    _(
        "The replicas are equal now, because all are copies of one of them. What the other three "
        "have seen is lost."
    ),
    "update/pmapped_update#without-the-name-of-the-axis",
)
DEVICE_AXIS = Idea(
    "device axis",
    _(
        "The first axis is that of the devices, and the others belong to the state itself. Only "
        "along the first one is there something to average, and each replica needs the result."
    ),
    "update/pmapped_update#the-device-axis",
)
COUNTS = Idea(
    "counts",
    _(
        "The averages are right, and the counts are not. A count is an integer that is equal on "
        "all replicas. Averaged, it becomes a float; added up, it counts each step four times."
    ),
    "update/pmapped_update#check-yourself",
)
BY_HAND = Idea(
    "by hand",
    _("The state is right, and `hs.sync_state` has computed it. Here, its work is yours."),
    "update/pmapped_update#fixing-it-afterwards",
)
AXIS = Idea(
    "unbound axis",
    _(
        "The name of an axis exists only inside a function that is mapped over it. Out here, the "
        "device axis is an ordinary axis of the arrays."
    ),
    "update/devices#exchange-along-the-axis",
)


def _draw(rng):
    def average(*shape):
        return rng.uniform(0.5, 4.0, size=(DEVICES, *shape)).astype(np.float32)

    count = np.full((DEVICES,), rng.integers(5, 99), np.int32)
    state = {
        "mean_ema": {"average": average(2), "counter": count},
        "var_ema": {"average": average(1, 2), "counter": count.copy()},
        "loss": (average(),),
        "rows": count.copy(),
        "rate": rng.integers(1, 32, DEVICES).astype(np.float16),  # its mean is exact
    }
    return (state,)


def _mapped(function, state):
    def one(leaf):
        if leaf.dtype.kind == "i":
            return leaf
        return function(np.float64(leaf)).astype(leaf.dtype)

    return jax.tree.map(one, state)


def _expected(state):
    return _mapped(lambda leaf: np.broadcast_to(leaf.mean(axis=0), leaf.shape), state)


def _of_all_axes(state):
    return _mapped(lambda leaf: np.full(leaf.shape, leaf.mean()), state)


def _of_own_axes(state):
    def mean(leaf):
        own = tuple(range(1, leaf.ndim))
        return np.broadcast_to(leaf.mean(axis=own, keepdims=True), leaf.shape)

    return _mapped(mean, state)


def _copied(state):
    return _mapped(lambda leaf: np.broadcast_to(leaf[0], leaf.shape), state)


def _has_other_shapes(result, state):
    return result["['var_ema']['average']"].shape != state["var_ema"]["average"].shape


def _has_other_counts(result, state):
    counts, expected = result["['mean_ema']['counter']"], state["mean_ema"]["counter"]
    return counts.shape != expected.shape or bool((counts != expected).any())


def _differ(result, state):
    return bool(np.ptp(result["['mean_ema']['average']"], axis=0).max() > 1e-4)


def _calls(answer, state):
    called = []

    def note(frame, event, argument):
        if event == "call" and frame.f_code is hs.sync_state.__code__:
            called.append(event)

    sys.setprofile(note)
    try:
        answer.sync(state)
    finally:
        sys.setprofile(None)
    return {"calls of hs.sync_state": len(called)}


def _dtypes(state):
    return jax.tree.map(lambda leaf: str(leaf.dtype), state)


def _with_float_counts(state):
    return jax.tree.map(lambda dtype: dtype if "float" in dtype else "float32", _dtypes(state))


EXERCISE = Exercise(
    title=_("Replicas that have drifted apart"),
    statement=_(
        "Write `sync(state)`. Each leaf of the state has an entry for each of the four replicas "
        "along its first axis. Return a state with the same structure, shapes and dtypes: where a "
        "leaf holds floats, every replica gets the mean over the replicas; a leaf of integers is "
        "a count, and stays as it is. Do it by hand, without `hs.sync_state`."
    ),
    lesson="update/pmapped_update#fixing-it-afterwards",
    kind="write",
    minutes=8,
    hints=(
        _("Which axis of a leaf is averaged, and what shape must come back?"),
        _(
            "Write a function for one leaf. It first asks whether the dtype is that of a float, "
            "and `jax.tree.map` applies it to all leaves."
        ),
        _("For a leaf of floats: `jnp.broadcast_to(leaf.mean(axis=0), leaf.shape)`."),
    ),
    checks=(
        Check(
            _("Every replica has the mean over the replicas, and the counts stay"),
            inputs=_draw,
            play=lambda answer, state: answer.sync(state),
            expected=_expected,
            idea=APART,
            mistakes=(
                Mistake(AXIS, error="unbound axis"),
                Mistake(AXIS, error="NameError"),
                Mistake(ONE_REPLICA, like=_copied),
                Mistake(DEVICE_AXIS, like=_of_all_axes),
                Mistake(DEVICE_AXIS, like=_of_own_axes),
                Mistake(DEVICE_AXIS, when=_has_other_shapes),
                Mistake(APART, when=_differ),
                Mistake(COUNTS, when=_has_other_counts),
            ),
            properties=("again", "arguments", "pure"),
        ),
        Check(
            _("The counts are still integers, and each leaf keeps its dtype"),
            inputs=_draw,
            play=lambda answer, state: _dtypes(answer.sync(state)),
            expected=_dtypes,
            idea=ideas.DTYPE,
            mistakes=(Mistake(COUNTS, like=_with_float_counts),),
            draws=1,
        ),
        Check(
            _("It is done without `hs.sync_state`"),
            inputs=_draw,
            play=_calls,
            expected=lambda state: {"calls of hs.sync_state": 0},
            idea=BY_HAND,
            draws=1,
        ),
    ),
)
