"""How often the Python code of a jitted function runs."""

# Each of these functions calls a jitted function several times. How many lines
# does it print in all?
import functools

import jax
import jax.numpy as jnp


def first_program():
    @jax.jit
    def double(x):
        print("double", x)
        return 2 * x

    for start in range(4):
        double(jnp.arange(start, start + 3))


def second_program():
    @jax.jit
    def largest(x):
        print("largest", x)
        return x.max()

    for size in [2, 3, 2, 3, 3]:
        largest(jnp.zeros(size, jnp.float32))
        largest(jnp.zeros(size, jnp.int32))


def third_program():
    @functools.partial(jax.jit, static_argnums=1)
    def power(x, n):
        print("power", n)
        return x**n

    for x in [1.0, 2.0, 3.0]:
        for n in [2, 3]:
            power(x, n)


def fourth_program():
    @jax.jit
    def layers(x):
        for layer in range(3):
            print("layer", layer)
            x = jnp.tanh(x)
        return x

    for start in [0.0, 1.0]:
        layers(jnp.full(4, start))


# Replace each None by a number.
#: first = None
#: second = None
#: third = None
#: fourth = None
# <solution>
first = 1
second = 4
third = 2
fourth = 3
# </solution>


# The exercise
import contextlib
import io

from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

ONE_TRACE = Idea(
    "one trace",
    _(
        "The Python code of a jitted function runs while jit traces. Other values of the same "
        "shape and dtype go through the record, and no Python code runs."
    ),
    "pure/thinking_in_jax#what-jit-sees",
)
SHAPE = Idea(
    "shape",
    _("A record fits one shape only. An array of a different shape is traced again."),
    "pure/thinking_in_jax#what-jit-sees",
)
DTYPE = Idea(
    "dtype",
    _(
        "A tracer has a shape and a dtype, and the record depends on both. What was traced "
        "before is not traced again."
    ),
    "pure/thinking_in_jax#what-jit-sees",
)
STATIC = Idea(
    "static argument",
    _(
        "The value of a static argument is part of the record, so each new value is traced. The "
        "values of the other arguments are not part of it."
    ),
    "pure/thinking_in_jax#an-if-on-an-argument",
)
UNROLLED = Idea(
    "unrolled loop",
    _(
        "A Python loop runs during tracing, and runs in full: the record holds the operations of "
        "all its rounds, one after the other."
    ),
    "pure/thinking_in_jax#a-timeline-of-trace-and-run",
)


def _lines_of(program):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        program()
    return printed.getvalue().count("\n")


def _is(number):
    return lambda got: got[""] == number


EXERCISE = Exercise(
    title=_("How many lines are printed?"),
    statement=_(
        "Each of the four functions, from `first_program` to `fourth_program`, calls a jitted "
        "function that prints. Read them without running them, and set `first`, `second`, `third` "
        "and `fourth` to the number of lines that each of them prints."
    ),
    lesson="pure/thinking_in_jax#what-jit-sees",
    kind="predict",
    minutes=6,
    hints=(
        _("At which moment does the Python code of a jitted function run?"),
        _(
            "For each call, write down the shape and the dtype of the traced arguments and the "
            "value of the static one. How many of these notes are different?"
        ),
        _(
            "Count the traces first, then multiply by the lines that one run of the Python code "
            "prints, with all rounds of its loop."
        ),
    ),
    checks=(
        Check(
            _("`first`: other values"),
            play=lambda answer: answer.first,
            expected=lambda: _lines_of(first_program),
            idea=ONE_TRACE,
            draws=1,
        ),
        Check(
            _("`second`: other shapes and dtypes"),
            play=lambda answer: answer.second,
            expected=lambda: _lines_of(second_program),
            idea=DTYPE,
            mistakes=(
                Mistake(SHAPE, when=_is(1)),
                Mistake(ONE_TRACE, when=_is(10)),
            ),
            draws=1,
        ),
        Check(
            _("`third`: a static argument"),
            play=lambda answer: answer.third,
            expected=lambda: _lines_of(third_program),
            idea=STATIC,
            draws=1,
        ),
        Check(
            _("`fourth`: a loop inside"),
            play=lambda answer: answer.fourth,
            expected=lambda: _lines_of(fourth_program),
            idea=UNROLLED,
            mistakes=(Mistake(ONE_TRACE, when=_is(6)),),
            draws=1,
        ),
    ),
)
