"""Values, cells, and what a moved state means."""

# Read the five programs, and work out what each of them returns.
import haiku as hk
import jax
import jax.numpy as jnp


def count(state):
    return state + 1, state + 1


def one():
    state, outputs = jnp.int32(0), []
    for _number in range(3):
        output, _new = jax.jit(count)(state)
        outputs.append(int(output))
    return outputs


def two():
    _old, state = count(jnp.int32(0))
    count(state)
    output, _new = count(state)
    return int(output)


def three():
    # A ref needs a newer JAX, but you can read this program on any.
    ref = jax.new_ref(jnp.int32(0))
    other, saved = ref, ref[...]
    ref[...] = ref[...] + 1
    return [int(other[...]), int(saved)]


def four():
    pair = hk.transform_with_state(lambda x: hk.Linear(1)(x))
    params, state = pair.init(jax.random.key(0), jnp.ones(3))
    jaxpr = jax.make_jaxpr(pair.apply)(params, state, None, jnp.ones(3))
    return [len(jaxpr.in_avals), len(jaxpr.out_avals)]


def five():
    def forward(x):
        return hk.ExponentialMovingAverage(0.5, name="ema")(x)

    pair = hk.transform_with_state(forward)
    params, state = pair.init(None, 0.0)
    _output, state = pair.apply(params, state, None, 8.0)
    return [float(state["ema"][name]) for name in ("hidden", "average")]


# Put the value that each program returns in place of each None.
#: first = None
#: second = None
#: third = None
#: fourth = None
#: fifth = None
# <solution>
first = [1, 1, 1]
second = 2
third = [1, 0]
fourth = [3, 1]
fifth = [4.0, 8.0]
# </solution>


# The exercise
from haiku_state.compat import has_new_ref
from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

FORGOTTEN = Idea(
    "forgotten state",
    _(
        "A call changes nothing by itself. What the loop does not take from one call, it cannot "
        "give to the next."
    ),
    "beyond/five_ways#plain-jax",
)
VALUE = Idea(
    "state is a value",
    _("A state that was kept is still what it was, however often it has been used since."),
    "beyond/five_ways#what-threaded-state-can-do",
)
CELL = Idea(
    "second name",
    _(
        "A second name for a ref is the same memory. What was read from it is a value, and stays "
        "what it was."
    ),
    "beyond/five_ways#what-a-ref-can-do",
)
ARRAYS = Idea(
    "arrays of jit",
    _(
        "Count leaves: each array of params and state goes in, and so does the input. Output and "
        "state come out. A tree without leaves, and a None, count for nothing, and `apply` does "
        "not return params."
    ),
    "beyond/five_ways#what-jit-sees",
)
HIDDEN = Idea(
    "hidden average",
    _(
        "Haiku keeps two averages. One starts at zero and leans towards it, the other is corrected "
        "for that start; evaluation reads the corrected one."
    ),
    "beyond/moving_to_nnx#the-built-in-layers",
)


def _third():
    return three() if has_new_ref() else [1, 0]


EXERCISE = Exercise(
    title=_("Quiz: where to go next"),
    statement=_(
        "Five short programs: what does each return? Set `first` to what `one()` returns, `second` "
        "to what `two()` returns, and so on. Read them first; you may run them afterwards."
    ),
    lesson="beyond/five_ways#what-threaded-state-can-do",
    kind="quiz",
    minutes=7,
    hints=(
        _("For each program: which value does each call get, and who keeps what it returns?"),
        _(
            "Look at the names on the left of each `=`: what is called `_new` is not used again. "
            "And look for two names of one thing."
        ),
        _(
            "In `one`, the variable `state` is set once. In `three`, `other` is the ref, and "
            "`saved` is a number. In `four`, a linear layer has two params and no state."
        ),
    ),
    checks=(
        Check(
            _("`first`: a loop and its state"),
            play=lambda answer: answer.first,
            expected=one,
            idea=FORGOTTEN,
            mistakes=(Mistake(FORGOTTEN, like=lambda: [1, 2, 3]),),
            draws=1,
        ),
        Check(
            _("`second`: one state, used twice"),
            play=lambda answer: answer.second,
            expected=two,
            idea=VALUE,
            draws=1,
        ),
        Check(
            _("`third`: a ref, its second name, and what was read"),
            play=lambda answer: answer.third,
            expected=_third,
            idea=CELL,
            draws=1,
        ),
        Check(
            _("`fourth`: how many arrays go in, and how many come out"),
            play=lambda answer: answer.fourth,
            expected=four,
            idea=ARRAYS,
            draws=1,
        ),
        Check(
            _("`fifth`: the two averages after one step"),
            play=lambda answer: answer.fifth,
            expected=five,
            idea=HIDDEN,
            draws=1,
        ),
    ),
)
