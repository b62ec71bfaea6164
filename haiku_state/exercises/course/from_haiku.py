"""From a Haiku module to plain functions

port, 8 min, beyond/five_ways#plain-jax

Replace `PeakMeter` with plain functions that give the same numbers without Haiku. `apply(params,
state, x)` returns the output and the new state. Its params are a dict of `gain`, and its state is a
dict of `peak` and `calls`. `from_haiku(params, state)` gets what `pair.init` or `pair.apply` has
returned and returns the params and the state for `apply`. `to_haiku(params, state)` goes the other
way. The check runs one half of a signal through `pair`, and the other half through `apply`.

- What does the module read, what does it set, and in which order?
- Each `hk.get_parameter` and `hk.get_state` becomes a look-up in an argument, and the two
  `hk.set_state` become one dict. For the trees, print what `pair.init` returns.
- The new state is `{'peak': …, 'calls': state['calls'] + 1}`, and the output still divides by the
  old peak. In Haiku, both trees have one more key: `peak_meter`.
"""

# %%
# A meter follows the peak of a signal: the peak falls slowly, and a louder
# sample lifts it at once. The module should be replaced by plain functions.
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
    # Return the params and the state of the module in the form that `apply`
    # uses.
    #: return params, state
    # <solution>
    return dict(params["peak_meter"]), dict(state["peak_meter"])
    # </solution>


def to_haiku(params, state):
    # Return what was passed to `from_haiku`.
    #: return params, state
    # <solution>
    return {"peak_meter": params}, {"peak_meter": state}
    # </solution>


# %% setup
import haiku as hk
import jax.numpy as jnp
import numpy as np


class PeakMeter(hk.Module):
    def __call__(self, x):
        peak = hk.get_state("peak")
        hk.set_state("peak", jnp.maximum(0.9 * peak, jnp.max(jnp.abs(x))))
        hk.set_state("calls", hk.get_state("calls") + 1)
        return hk.get_parameter("gain", []) * x / peak


pair = hk.transform_with_state(lambda x: PeakMeter()(x))


# %% inputs
def inputs(rng):
    params = {"gain": np.float32(rng.uniform(1, 3))}
    state = {"peak": np.float32(rng.uniform(2, 4)), "calls": np.int32(rng.integers(5, 50))}
    return {"peak_meter": params}, {"peak_meter": state}, rng.normal(0, 2, size=(4, 5))


# %% check `apply` gives the output and the state of the module; pure jit weak; threaded by hand
def check(answer, params, state, signal):
    return answer.apply(params["peak_meter"], state["peak_meter"], signal[0])


# %% check `apply` calls no module; once; still in Haiku
def check(answer, params, state, signal):
    called = []

    def note(method, arguments, keywords, context):
        called.append(context.method_name)
        return method(*arguments, **keywords)

    with hk.intercept_methods(note):
        answer.apply(params["peak_meter"], state["peak_meter"], signal[0])
    return {"calls of a module": len(called)}


# %% check `to_haiku` returns what was passed to `from_haiku`; again arguments weak tolerance=0; there and back
def check(answer, params, state, signal):
    back = answer.to_haiku(*answer.from_haiku(params, state))
    return tuple(map(hk.data_structures.to_mutable_dict, back))


# %% check A signal that moves from Haiku to plain functions and back gives the same numbers; ; continued run
def check(answer, params, state, signal):
    first, state = pair.apply(params, state, None, signal[0])
    params, state = answer.from_haiku(params, state)
    second, state = answer.apply(params, state, signal[1])
    third, state = answer.apply(params, state, signal[2])
    last, state = pair.apply(*answer.to_haiku(params, state), None, signal[3])
    return [first, second, third, last], state


def truth(right, params, state, signal):
    outputs = [None] * len(signal)
    for number, x in enumerate(signal):
        outputs[number], state = pair.apply(params, state, None, x)
    return outputs, state


# %% idea threaded by hand
# A module gets its params and its state from Haiku, and only inside a transformed function. In
# plain JAX, params and state are arguments, and the new state is a result.
def apply(params, state, x):
    return PeakMeter()(x), state


# %% idea still in Haiku
# The numbers are right, but the module still computes them, because `apply` calls it.
def apply(params, state, x):
    output, state = pair.apply({"peak_meter": params}, {"peak_meter": state}, None, x)
    return output, state["peak_meter"]


# %% idea old or new state
# The module computes its output before it sets the state. In a pure function, the old and the new
# value are two variables, so it matters which of them is read.
def apply(params, state, x):
    _, state = right.apply(params, state, x)
    return params["gain"] * x / state["peak"], state


# %% idea dropped state; beyond/five_ways#what-jit-sees
# The new state must hold every entry that the module sets.
def apply(params, state, x):
    output, new = right.apply(params, state, x)
    return output, {**new, "calls": state["calls"]}


# %%
def apply(params, state, x):
    output, new = right.apply(params, state, x)
    return output, {"peak": new["peak"]}


# %% idea order; state/stateful_computations#the-general-strategy
# Return the output first and the new state second, as all functions in this course do.
def apply(params, state, x):
    return right.apply(params, state, x)[::-1]


# %% idea table of names; beyond/moving_to_nnx#a-table-of-names
# Haiku's trees have two levels: the path of the module, and the name within the module. Each leaf
# needs its place in the other tree, because a leaf that is left out starts again from its initial
# value.
def from_haiku(params, state):
    return params, state


# %%
def from_haiku(params, state):
    return params["peak_meter"], state


# %% idea there and back; beyond/moving_to_nnx#moving-a-checkpoint
# A state that goes to the functions and back must be unchanged in each leaf. Otherwise a Haiku
# checkpoint can be read but never written.
def to_haiku(params, state):
    return params, state


# %% idea continued run; beyond/moving_to_nnx#moving-a-checkpoint
# A state that was moved is not a fresh start: the peak continues from where Haiku left it.


# %% right Haiku's own mapping
def to_haiku(params, state):
    trees = {"peak_meter": params}, {"peak_meter": state}
    return tuple(map(hk.data_structures.to_immutable_dict, trees))
