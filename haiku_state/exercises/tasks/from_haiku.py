"""A Haiku module as plain functions, with its state."""

# A meter follows the peak of a signal: the peak falls slowly, and a louder
# sample lifts it at once. The module is to be replaced by plain functions.
import haiku as hk
import jax.numpy as jnp


class PeakMeter(hk.Module):
    def __call__(self, x):
        gain = hk.get_parameter("gain", [], init=jnp.ones)
        peak = hk.get_state("peak", [], init=jnp.ones)
        calls = hk.get_state("calls", [], jnp.int32, init=jnp.zeros)
        output = gain * x / peak
        hk.set_state("peak", jnp.maximum(0.9 * peak, jnp.max(jnp.abs(x))))
        hk.set_state("calls", calls + 1)
        return output


pair = hk.transform_with_state(lambda x: PeakMeter()(x))


def apply(params, state, x):
    # Return the output and the new state, without Haiku.
    #: output = PeakMeter()(x)
    #: return output, state
    # <solution>
    output = params["gain"] * x / state["peak"]
    peak = jnp.maximum(0.9 * state["peak"], jnp.max(jnp.abs(x)))
    return output, {"peak": peak, "calls": state["calls"] + 1}
    # </solution>


def from_haiku(params, state):
    # Return the params and the state of the module as those of `apply`.
    #: return params, state
    # <solution>
    return dict(params["peak_meter"]), dict(state["peak_meter"])
    # </solution>


def to_haiku(params, state):
    # Return what `from_haiku` was given.
    #: return params, state
    # <solution>
    return {"peak_meter": params}, {"peak_meter": state}
    # </solution>


# The exercise
from collections.abc import Mapping

import jax
import numpy as np

from haiku_state.errors.language import deferred as _
from haiku_state.exercises import ideas
from haiku_state.exercises.exercise import Check, Exercise, Idea, Mistake

PLAIN = "beyond/five_ways#plain-jax"
MOVING = "beyond/moving_to_nnx#moving-a-checkpoint"
OUTSIDE = Idea(
    "threaded by hand",
    _(
        "A module gets its params and its state from Haiku, and only inside a transformed "
        "function. In plain JAX they are arguments, and the new state is a result."
    ),
    PLAIN,
)
STILL_HAIKU = Idea(
    "still in Haiku",
    _("The numbers are right, and the module still computes them: `apply` calls it."),
    PLAIN,
)
OLD_OR_NEW = Idea(
    "old or new state",
    _(
        "The module computes its output before it sets the state. In a pure function, the old and "
        "the new value are two variables, and it matters which one is read."
    ),
    PLAIN,
)
DROPPED = Idea(
    "dropped state",
    _("The new state has to hold every entry that the module sets."),
    "beyond/five_ways#what-jit-sees",
)
ORDER = Idea(
    "order",
    _("The output comes first, and the new state second: every function of the course does so."),
    "state/stateful_computations#the-general-strategy",
)
NAMES = Idea(
    "table of names",
    _(
        "Haiku's trees have two levels: the path of the module, and the name in it. Each leaf "
        "needs its place in the other tree, and a leaf that is left out starts over."
    ),
    "beyond/moving_to_nnx#a-table-of-names",
)
BACK = Idea(
    "there and back",
    _(
        "What goes to the functions and back must be what it was, leaf by leaf. Otherwise a "
        "checkpoint of Haiku can be read, and never written."
    ),
    MOVING,
)
CONTINUED = Idea(
    "continued run",
    _("A state that was moved is not a new start: the peak goes on from where Haiku left it."),
    MOVING,
)


def _draw(rng):
    params = {"gain": np.float32(rng.uniform(1, 3))}
    state = {"peak": np.float32(rng.uniform(2, 4)), "calls": np.int32(rng.integers(5, 50))}
    return params, state, rng.normal(0, 2, size=(4, 5)).astype(np.float32)


def _one(params, state, x):
    x, peak = np.float64(x), np.float64(state["peak"])
    new = max(0.9 * peak, np.abs(x).max())
    output = params["gain"] * x / peak
    return output, {"peak": np.float32(new), "calls": state["calls"] + np.int32(1)}


def _first(params, state, signal):
    output, state = _one(params, state, signal[0])
    return np.float32(output), state


def _with_new_peak(params, state, signal):
    output, new = _one(params, state, signal[0])
    return output * state["peak"] / new["peak"], new


def _modules(answer, params, state, signal):
    called = []

    def note(method, arguments, keywords, context):
        called.append(context.method_name)
        return method(*arguments, **keywords)

    with hk.intercept_methods(note):
        answer.apply(params, state, signal[0])
    return {"calls of a module": len(called)}


def _in_haiku(params, state, signal):
    params, state = {"peak_meter": params}, {"peak_meter": state}
    outputs = []
    for x in signal:
        output, state = pair.apply(params, state, None, x)
        outputs.append(output)
    return jnp.stack(outputs), state


def _moved(answer, params, state, signal):
    haiku_params, haiku_state = {"peak_meter": params}, {"peak_meter": state}
    first, haiku_state = pair.apply(haiku_params, haiku_state, None, signal[0])
    params, state = answer.from_haiku(haiku_params, haiku_state)
    outputs = [first]
    for x in signal[1:3]:
        output, state = answer.apply(params, state, x)
        outputs.append(output)
    haiku_params, haiku_state = answer.to_haiku(params, state)
    last, haiku_state = pair.apply(haiku_params, haiku_state, None, signal[3])
    return jnp.stack([*outputs, last]), jax.tree.map(jnp.asarray, dict(haiku_state))


def _trees(rng):
    params, state, _signal = _draw(rng)
    return {"peak_meter": params}, {"peak_meter": state}


def _back(answer, params, state):
    return _plain(answer.to_haiku(*answer.from_haiku(params, state)))


def _plain(tree):
    """Return a tree with dicts in the place of other mappings, as Haiku returns some."""
    if isinstance(tree, Mapping):
        return {name: _plain(branch) for name, branch in tree.items()}
    return tuple(map(_plain, tree)) if isinstance(tree, tuple) else tree


EXERCISE = Exercise(
    title=_("From a Haiku module to plain functions"),
    statement=_(
        "Replace `PeakMeter` with plain functions that give the same numbers without Haiku. "
        "`apply(params, state, x)` returns the output and the new state. Its params are a dict of "
        "`gain`, and its state is a dict of `peak` and `calls`. `from_haiku(params, state)` gets "
        "what `pair.init` or `pair.apply` has returned, and returns the params and the state for "
        "`apply`. `to_haiku(params, state)` goes the other way. The check runs one "
        "half of a signal through `pair`, and the other half through `apply`."
    ),
    lesson=PLAIN,
    kind="port",
    minutes=8,
    hints=(
        _("What does the module read, what does it set, and in which order?"),
        _(
            "Each `hk.get_parameter` and `hk.get_state` becomes a look-up in an argument, and the "
            "two `hk.set_state` become one dict. For the trees, print what `pair.init` returns."
        ),
        _(
            "The new state is `{'peak': …, 'calls': state['calls'] + 1}`, and the output still "
            "divides by the old peak. In Haiku, both trees have one key more: `peak_meter`."
        ),
    ),
    checks=(
        Check(
            _("`apply` gives the output and the state of the module"),
            inputs=_draw,
            play=lambda answer, params, state, signal: answer.apply(params, state, signal[0]),
            expected=_first,
            idea=OUTSIDE,
            mistakes=(
                Mistake(OLD_OR_NEW, like=_with_new_peak),
                Mistake(ORDER, like=lambda *inputs: _first(*inputs)[::-1]),
                Mistake(
                    DROPPED, when=lambda leaves, params, state, signal: (
                        "[1]['calls']" not in leaves or "[1]['peak']" not in leaves
                        or leaves["[1]['calls']"] == state["calls"]
                    )
                ),
            ),
            properties=("again", "arguments", "pure", "jit"),
            types=True,
        ),
        Check(
            _("`apply` calls no module"),
            inputs=_draw,
            play=_modules,
            expected=lambda params, state, signal: {"calls of a module": 0},
            idea=STILL_HAIKU,
            draws=1,
        ),
        Check(
            _("`to_haiku` gives back what `from_haiku` was given"),
            inputs=_trees,
            play=_back,
            expected=lambda params, state: (params, state),
            idea=BACK,
            mistakes=(Mistake(NAMES, error="KeyError"),),
            properties=("again", "arguments"),
            types=True,
            tolerance=0.0,
        ),
        Check(
            _("A signal that changes over from Haiku and back gives the same numbers"),
            inputs=_draw,
            play=_moved,
            expected=_in_haiku,
            idea=CONTINUED,
            mistakes=(
                Mistake(NAMES, error="KeyError"),
                Mistake(NAMES, error="ValueError"),
                Mistake(ideas.STRUCTURE, error="TypeError"),
            ),
        ),
    ),
)  # fmt: skip
