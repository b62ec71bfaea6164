"""What comes out when functions are not pure, or look as if they were not."""

# Five programs. What does each of them return?
import jax
import jax.numpy as jnp


def first_program():
    settings = {"factor": 2.0}
    scale = jax.jit(lambda x: settings["factor"] * x)
    scale(jnp.ones(3))
    settings["factor"] = 10.0
    return float(scale(jnp.ones(3))[0]), float(scale(jnp.ones(4))[0])


def second_program():
    x = jnp.zeros(3)
    y = x
    y += 1
    y.at[0].set(5)
    return float(x[0]), float(y[0])


def third_program():
    seen = []

    def square(x):
        seen.append(x)
        return x**2

    for start in [0.0, 5.0]:
        jax.vmap(square)(start + jnp.arange(5.0))
    return len(seen)


def fourth_program():
    width = 3.0
    height = 2 * width

    def area(width):
        return width * height

    return float(jax.grad(area)(width))


def fifth_program():
    @jax.jit
    def by_shape(x):
        return x[0] if x.shape[0] > 2 else x[1]

    @jax.jit
    def by_value(x):
        return x[0] if x[0] > 2 else x[1]

    results = []
    for f in [by_shape, by_value]:
        try:
            results.append(float(f(jnp.array([7.0, 8.0, 9.0]))))
        except jax.errors.TracerBoolConversionError:
            results.append("error")
    return tuple(results)


# Replace each None by the value: a number, or a tuple of two values, of which
# one may be the text "error".
#: first = None
#: second = None
#: third = None
#: fourth = None
#: fifth = None
# <solution>
first = (2.0, 10.0)
second = (0.0, 1.0)
third = 2
fourth = 6.0
fifth = (7.0, "error")
# </solution>


# The exercise
from haiku_state.errors.language import deferred as _
from haiku_state.exercises import ideas
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

UNTIL_THE_NEXT_TRACE = Idea(
    "until the next trace",
    _(
        "What a function reads from outside is read in each trace, and not in each call. So it "
        "matters which of the calls are traced."
    ),
    "pure/thinking_in_jax#what-jit-sees",
)
NEVER_CHANGE = Idea(
    "arrays never change",
    _(
        "The values of a JAX array never change. Each line that seems to change one makes a new "
        "array: ask which names, if any, stand for it afterwards."
    ),
    "pure/thinking_in_jax#arrays-that-never-change",
)
ALL_AT_ONCE = Idea(
    "all at once",
    _(
        "`vmap` does not call the function for each row. It calls it with one tracer that stands "
        "for all rows."
    ),
    "pure/transformations#vmap-many-at-once",
)
TRACED_ANEW = Idea(
    "traced again",
    _("It is `jit` that keeps its record for later calls. `vmap` alone traces in each call."),
    "pure/transformations#what-purity-buys",
)
ARGUMENT_ALONE = Idea(
    "argument alone",
    _(
        "`grad` differentiates with respect to the argument. A value that was computed outside "
        "is a constant for it, wherever it came from."
    ),
    "pure/transformations#what-purity-buys",
)
SHAPE_IS_KNOWN = Idea(
    "shape is known",
    _("A tracer has a shape, and no value. Ask for each `if` which of the two it is decided by."),
    "pure/thinking_in_jax#static-and-traced-operations",
)


EXERCISE = Exercise(
    title=_("Quiz: pure functions"),
    statement=_(
        "Read the five programs without running them, and set `first`, `second`, `third`, "
        "`fourth` and `fifth` to what `first_program()` and the others return. Where a program "
        "returns a tuple, write a tuple."
    ),
    lesson="pure/transformations#what-purity-buys",
    kind="quiz",
    minutes=8,
    hints=(
        _("Which lines of each program run during a trace, and how many traces are there?"),
        _(
            "For each call, ask what a tracer stands in for, and which of its properties are "
            "known. For each assignment, ask whether a new array is made."
        ),
        _(
            "In the first program, two shapes are traced, at two different moments. In the fourth "
            "one, `height` is a number already when `grad` begins."
        ),
    ),
    checks=(
        Check(
            _("`first`: a value from outside"),
            play=lambda answer: answer.first,
            expected=lambda: first_program(),
            idea=UNTIL_THE_NEXT_TRACE,
            mistakes=(Mistake(ideas.FROZEN_VALUE, like=lambda: (10.0, 10.0)),),
            draws=1,
        ),
        Check(
            _("`second`: two names"),
            play=lambda answer: answer.second,
            expected=lambda: second_program(),
            idea=NEVER_CHANGE,
            draws=1,
        ),
        Check(
            _("`third`: five rows"),
            play=lambda answer: answer.third,
            expected=lambda: third_program(),
            idea=ALL_AT_ONCE,
            mistakes=(Mistake(TRACED_ANEW, like=lambda: 1),),
            draws=1,
        ),
        Check(
            _("`fourth`: a derivative"),
            play=lambda answer: answer.fourth,
            expected=lambda: fourth_program(),
            idea=ARGUMENT_ALONE,
            draws=1,
        ),
        Check(
            _("`fifth`: two decisions"),
            play=lambda answer: answer.fifth,
            expected=lambda: fifth_program(),
            idea=SHAPE_IS_KNOWN,
            draws=1,
        ),
    ),
)
