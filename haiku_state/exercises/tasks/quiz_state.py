"""Questions about state that goes in and comes out."""

# What does each of these functions return? Write the value below it: a
# number, or a tuple of numbers.
import jax
import jax.numpy as jnp


def old_state():
    def sell(stock, number):
        return number, stock - number

    start = jnp.int32(10)
    _, later = sell(start, 4)
    sold, later = sell(start, 1)
    return int(sold), int(later)


#: first = None
# <solution>
first = (1, 9)
# </solution>


def list_as_state():
    def push(stack, x):
        stack.append(x)
        return len(stack), stack

    start = [1]
    _, one = push(start, 2)
    _, two = push(start, 3)
    return len(start), len(one), len(two)


#: second = None
# <solution>
second = (3, 3, 3)
# </solution>


def different_numbers():
    key = jax.random.key(7)
    drawn = []
    while len(drawn) < 4:
        _, draw_key = jax.random.split(key)
        drawn.append(float(jax.random.normal(draw_key)))
    return len(set(drawn))


#: third = None
# <solution>
third = 1
# </solution>


def leaves():
    state = {
        "w": jnp.zeros((4, 5)),
        "shape": (4, 5),
        "velocity": None,
        "name": "w",
    }
    return len(jax.tree.leaves(state))


#: fourth = None
# <solution>
fourth = 4
# </solution>


def from_outside():
    settings = {"rate": 1}

    @jax.jit
    def step(x):
        return x - settings["rate"]

    one = step(jnp.int32(10))
    settings["rate"] = 2
    two = step(jnp.int32(10))
    three = step(jnp.array([10, 10]))[0]
    return int(one), int(two), int(three)


#: fifth = None
# <solution>
fifth = (9, 9, 8)
# </solution>


def dropped():
    def update(params, velocity, grad):
        velocity = velocity + grad
        return params + velocity, velocity

    params, velocity = 0, 0
    for grad in (1, 2, 3):
        params, _ = update(params, velocity, grad)
    return params, velocity


#: sixth = None
# <solution>
sixth = (6, 0)
# </solution>


# The exercise
import functools

from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Check, Exercise, Idea

VALUE = Idea(
    "state as a value",
    _(
        "A call does not change the state that it gets. Look which state goes into the second "
        "call: the result of the first call, or the state from which the first began?"
    ),
    "state/stateful_computations#the-general-strategy",
)
SHARED = Idea(
    "one object",
    _(
        "`push` has the form of a pure function, but is not one. Ask how many lists are made, and "
        "how many names they have."
    ),
    "state/stateful_computations#state-in-state-out",
)
KEY = Idea(
    "key as state",
    _(
        "The output of `split` has two parts: the key to draw with, and the key to go on with. "
        "Look where each of them goes."
    ),
    "state/stateful_computations#you-have-met-this-before-random-keys",
)
LEAVES = Idea(
    "leaf or node",
    _(
        "JAX asks of each part whether it is a container, not whether it is an array. A tuple is "
        "one, whatever is in it; a string is not; `None` is an empty place."
    ),
    "state/pytrees#what-is-a-leaf-and-what-is-not",
)
TRACED = Idea(
    "read while tracing",
    _(
        "A value from outside is read each time the function is traced, and at no other time. Ask "
        "of each call whether it needs a new trace."
    ),
    "state/practice#a-learning-rate-in-a-global-variable",
)
DROPPED = Idea(
    "dropped state",
    _(
        "Follow the velocity through the loop: with which value does each call begin, and what "
        "becomes of the new one?"
    ),
    "state/regression_by_hand#forgetting-the-optimizers-state",
)


def _returned(program):
    with jax.debug_key_reuse(False):  # one of them shows what a reused key does
        return program()


_TITLES = (
    ("first", old_state, VALUE, _("What `old_state` returns")),
    ("second", list_as_state, SHARED, _("What `list_as_state` returns")),
    ("third", different_numbers, KEY, _("What `different_numbers` returns")),
    ("fourth", leaves, LEAVES, _("What `leaves` returns")),
    ("fifth", from_outside, TRACED, _("What `from_outside` returns")),
    ("sixth", dropped, DROPPED, _("What `dropped` returns")),
)

EXERCISE = Exercise(
    title=_("Six programs with state"),
    statement=_(
        "Read the six functions, and set `first` to `sixth` to what they return: a number, or a "
        "tuple of numbers. Think before you run them. The check runs them, and compares."
    ),
    lesson="state/practice#check-yourself",
    kind="quiz",
    minutes=8,
    hints=(
        _("For each call: which state goes in, and who keeps the one that comes out?"),
        _(
            "Pay attention to the names on the left of `=`: `_` drops what it gets. And in "
            "`from_outside`, to the shapes of the arguments."
        ),
        _(
            "`list_as_state` makes one list. `different_numbers` splits the same key four times. "
            "In `from_outside`, only the third call is traced again."
        ),
    ),
    checks=tuple(
        Check(
            title,
            play=lambda answer, name=name: getattr(answer, name),
            expected=functools.partial(_returned, program),
            idea=idea,
            draws=1,
        )
        for name, program, idea, title in _TITLES
    ),
)
