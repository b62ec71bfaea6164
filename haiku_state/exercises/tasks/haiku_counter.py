"""A module with state of its own."""

# A door counts the people in a room. The module keeps the count as Haiku's
# state.
import haiku as hk
import jax.numpy as jnp


class Door(hk.Module):
    def __call__(self, people):
        # Let these people in, and return how many are in the room then.
        #: return None
        # <solution>
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros) + people
        hk.set_state("count", count)
        return count
        # </solution>

    def reset(self):
        # Set the count to 0, and return how many were in the room before.
        #: return None
        # <solution>
        count = hk.get_state("count", (), jnp.int32, init=jnp.zeros)
        hk.set_state("count", jnp.zeros_like(count))
        return count
        # </solution>


# The exercise
import haiku as hk
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake
from haiku_state.exercises.ideas import INITIAL, NAME, NOT_STATE, NOT_WRITTEN

RESET = Idea(
    "constructor",
    _(
        "The constructor runs again in each run, and so does what it writes into the state: the "
        "state of the run before is overwritten."
    ),
    "haiku/your_own_modules#check-yourself",
)
BEFORE = Idea(
    "before or after",
    _("The state has two values in a run: the one that was read, and the one that was written."),
    "haiku/pure_pair#hktransform_with_state-makes-the-pair",
)


def has_state(got, *_inputs):
    """Return whether `init` has returned any state."""
    return any(path.startswith("[1]") for path in got)


def in_params(got, *_inputs):
    """Return whether `init` has returned any params, where the module has none."""
    return any(path.startswith("[0]") for path in got)


def _draw(rng):
    return np.int32(rng.integers(10, 99)), rng.integers(1, 9, 3).astype(np.int32)


def _init(answer, people):
    return hk.transform_with_state(lambda number: answer.Door()(number)).init(None, people)


def _calls(answer, count, people):
    pair = hk.transform_with_state(lambda number: answer.Door()(number))
    state, outputs = {"door": {"count": count}}, []
    for number in people:
        output, state = pair.apply({}, state, None, number)
        outputs.append(output)
    return outputs, state


def _state(count):
    return {"door": {"count": np.int32(count)}}


def _sums(count, people):
    sums = count + np.cumsum(people, dtype=np.int32)
    return list(sums), _state(sums[-1])


def _reset(answer, count, people):
    def functions():
        door = answer.Door()
        return lambda number: door(number), (lambda number: door(number), lambda: door.reset())

    enter, reset = hk.multi_transform_with_state(functions).apply
    _, empty = hk.transform_with_state(lambda: answer.Door().reset()).init(None)
    state = {"door": {"count": count}}
    _, state = enter({}, state, None, people[0])
    before, state = reset({}, state, None)
    after, new_state = enter({}, state, None, people[1])
    return empty, before, state, after, new_state


EXERCISE = Exercise(
    title=_("A module that counts"),
    statement=_(
        "Write the module `Door`. Its state is one number, `count`: int32, of shape `()`, 0 at "
        "first. `Door()(people)` adds the number `people` to it and returns the new count. "
        "`reset()` sets it to 0 and returns the count from before. The check transforms the module "
        "and calls it in several runs."
    ),
    lesson="haiku/pure_pair#a-module-that-counts",
    kind="write",
    minutes=6,
    hints=(
        _("Which function reads a number of the state, and which one writes it?"),
        _(
            "Both methods begin with `hk.get_state` and end with `hk.set_state` and `return`. Who "
            "gives the initial value?"
        ),
        _(
            'Read with `hk.get_state("count", (), jnp.int32, init=jnp.zeros)`, and write with '
            '`hk.set_state("count", …)`.'
        ),
    ),
    checks=(
        Check(
            _("`init` returns the initial state, a count of 0"),
            inputs=lambda rng: (np.int32(rng.integers(1, 9)),),
            play=_init,
            expected=lambda people: ({}, _state(0)),
            idea=NOT_STATE,
            mistakes=(
                Mistake(INITIAL, error="perhaps set an init function"),
                Mistake(INITIAL, when=lambda got, people: [*got] == ["[1]['door']['count']"]),
                Mistake(NOT_STATE, when=in_params),
                Mistake(NAME, when=has_state),
            ),
            types=True,
        ),
        Check(
            _("each call adds to the count of the run before"),
            inputs=_draw,
            play=_calls,
            expected=_sums,
            idea=NOT_WRITTEN,
            mistakes=(
                Mistake(
                    RESET,
                    like=lambda count, people: (list(people), _state(people[-1])),
                ),
                Mistake(
                    BEFORE,
                    like=lambda count, people: (
                        [count, *_sums(count, people)[0][:-1]],
                        _sums(count, people)[1],
                    ),
                ),
                Mistake(
                    NOT_WRITTEN,
                    like=lambda count, people: (list(count + people), _state(count)),
                ),
            ),
            properties=("again", "arguments", "pure", "jit", "vmap"),
            types=True,
        ),
        Check(
            _("`reset` returns the count, and the next run starts from 0"),
            inputs=_draw,
            play=_reset,
            expected=lambda count, people: (
                _state(0),
                np.int32(count + people[0]),
                _state(0),
                people[1],
                _state(people[1]),
            ),
            idea=NOT_WRITTEN,
            mistakes=(
                Mistake(
                    BEFORE,
                    like=lambda count, people: (
                        *(_state(0), 0, _state(0)),
                        *(people[1], _state(people[1])),
                    ),
                ),
                Mistake(INITIAL, error="perhaps set an init function"),
            ),
            properties=("again", "arguments", "pure", "jit"),
            types=True,
        ),
    ),
)
