"""What six programs with Haiku return."""

# Write down what each of the six programs returns, before you run it. All
# answers are whole numbers.
import haiku as hk
import jax
import jax.numpy as jnp

import haiku_state as hs


def count_twice():
    counter = hs.Counter()
    counter()
    return counter()


def first_program():
    _, state = hs.pure_pair(count_twice).init(None)
    return state["counter"]["count"]


def second_program():
    pair = hs.pure_pair(count_twice)
    _, state = pair.init(None)
    _, later = pair.apply({}, state, None)
    _, _ = pair.apply({}, later, None)
    output, _ = pair.apply({}, later, None)
    return output


def third_program():
    def count():
        counters = [hs.Counter() for _ in range(3)]
        counters[0]()
        counters[1]()
        return counters[0]()

    _, state = hk.transform_with_state(count).init(None)
    return len(state)


def fourth_program():
    norm = hs.pure_pair(hs.BatchNorm, False, False, decay_rate=0.9)
    x = jnp.array([[1.0], [3.0]])
    _, state = norm.init(None, x, is_training=True)
    for is_training in [True, True, False, False]:
        _, state = norm.apply({}, state, None, x, is_training=is_training)
    return state["batch_norm/~/mean_ema"]["counter"]


def fifth_program():
    def drop(x):
        return hs.Counter()(), hk.dropout(hk.next_rng_key(), 0.5, x)

    pair, masks = hs.pure_pair(drop), set()
    rng, x = jax.random.key(0), jnp.ones(64)
    _, state = pair.init(rng, x)
    for _ in range(3):
        (_, output), state = pair.apply({}, state, rng, x)
        masks.add(tuple(output.tolist()))
    return len(masks)


def sixth_program():
    def count_in_a_loop():
        counter = hs.Counter()
        _, counts = jax.lax.scan(lambda _, x: (_, counter()), None, length=3)
        return counts[-1]

    pair = hk.transform_with_state(count_in_a_loop)
    output, _ = pair.apply({}, {"counter": {"count": jnp.int32(5)}}, None)
    return output


#: first = None
#: second = None
#: third = None
#: fourth = None
#: fifth = None
#: sixth = None
# <solution>
first = 0
second = 4
third = 2
fourth = 2
fifth = 1
sixth = 6
# </solution>


# The exercise
from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Check, Exercise, Idea

INITIAL = Idea(
    "initial state",
    _(
        "`init` runs the function to learn what it asks for. Which values of the state does it "
        "return: those from before this run, or those from after it?"
    ),
    "haiku/pure_pair#check-yourself",
)
THREADED = Idea(
    "threaded state",
    _(
        "A call of `apply` goes on from the state that is passed to it, whatever other calls there "
        "have been. Follow the name of the state from line to line."
    ),
    "haiku/pure_pair#hktransform_with_state-makes-the-pair",
)
PATHS = Idea(
    "paths",
    _(
        "The state has a path for each instance that has asked for state. Calling an instance "
        "twice makes no second path, and what is never called asks for nothing."
    ),
    "haiku/pure_pair#where-the-names-in-params-and-state-come-from",
)
MODES = Idea(
    "two modes",
    _("The running statistics are updated in one of the two modes only, and not by `init`."),
    "haiku/batch_norm#training-and-evaluation",
)
KEYS = Idea(
    "key is not state",
    _(
        "Haiku splits the key within a run. From run to run, the masks depend on the key that is "
        "passed in; the state does not carry it."
    ),
    "haiku/randomness#same-key-same-mask",
)
BAKED_IN = Idea(
    "baked-in state",
    _(
        "`jax.lax.scan` traces the body once, as a function of its carry and its input. What the "
        "module has in its state is neither of the two."
    ),
    "haiku/jax_inside_haiku#calling-a-module-in-a-loop",
)


def _fifth():
    # it uses a key again on purpose, and Haiku's dropout multiplies a bool by a float
    with jax.debug_key_reuse(False), jax.numpy_dtype_promotion("standard"):
        return int(fifth_program())


EXERCISE = Exercise(
    title=_("Quiz: modules and their state"),
    statement=_(
        "Predict what each of the six programs returns, and set `first` to `sixth` to the numbers. "
        "Think first; then you may run the programs too."
    ),
    lesson="haiku/index#haiku-the-plumbing-done-for-you",
    kind="quiz",
    minutes=8,
    hints=(
        _("For each program: which state goes into the last call, and which key?"),
        _(
            "Look at the names to the left of each `=`. A result that is named `_` is gone, and a "
            "name that is used twice is the same value twice."
        ),
        _(
            "Go through a program line by line, and write down the count in the state after each "
            "call of `init` and `apply`."
        ),
    ),
    checks=(
        Check(
            _("`first`: the count in the state that `init` returns"),
            play=lambda answer: answer.first,
            expected=lambda: int(first_program()),
            idea=INITIAL,
            draws=1,
        ),
        Check(
            _("`second`: the output of the last call"),
            play=lambda answer: answer.second,
            expected=lambda: int(second_program()),
            idea=THREADED,
            draws=1,
        ),
        Check(
            _("`third`: the number of paths in the state"),
            play=lambda answer: answer.third,
            expected=lambda: int(third_program()),
            idea=PATHS,
            draws=1,
        ),
        Check(
            _("`fourth`: the counter after two batches in each mode"),
            play=lambda answer: answer.fourth,
            expected=lambda: int(fourth_program()),
            idea=MODES,
            draws=1,
        ),
        Check(
            _("`fifth`: the number of different outputs of the dropout"),
            play=lambda answer: answer.fifth,
            expected=_fifth,
            idea=KEYS,
            draws=1,
        ),
        Check(
            _("`sixth`: the last count of the loop"),
            play=lambda answer: answer.sixth,
            expected=lambda: int(sixth_program()),
            idea=BAKED_IN,
            draws=1,
        ),
    ),
)
