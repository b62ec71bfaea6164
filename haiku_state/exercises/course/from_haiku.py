"""From a Haiku module to plain functions

port, medium, 8 min, beyond/five_ways#plain-jax

Replace `PeakMeter` with plain functions that give the same numbers without Haiku. `apply(params,
state, x)` returns the output and the new state. Its params are a dict of `gain`, and its state is a
dict of `peak` and `calls`. `from_haiku(params, state)` gets what `pair.init` or `pair.apply` has
returned and returns the params and the state for `apply`. `to_haiku(params, state)` goes the other
way. So a signal can be metered by `pair` at first, then by `apply`, and by `pair` again.

- What does the module read, what does it set, and in which order?
- Each `hk.get_parameter` and `hk.get_state` becomes a look-up in an argument, and the two
  `hk.set_state` become one dict. For the trees, print what `pair.init` returns.
- The new state is `{'peak': …, 'calls': state['calls'] + 1}`, and the output still divides by the
  old peak. In Haiku, both trees are one level deeper, under `peak_meter`.
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
import numpy as np

from haiku_state.exercises.counting import counted_runs


# %% inputs
def inputs(rng):
    params = {"gain": np.float32(rng.uniform(1, 3))}
    state = {"peak": np.float32(rng.uniform(2, 4)), "calls": np.int32(rng.integers(5, 50))}
    signal = rng.uniform(-1, 1, size=(2, 5))
    signal[0, 2] = -rng.uniform(5, 8)  # lifts the peak, which falls in the second half
    return {"peak_meter": params}, {"peak_meter": state}, signal


# %% check `apply` returns the same results as the module; pure jit types once; first, second, state
def check(answer, params, state, signal):
    first, state = answer.apply(params["peak_meter"], state["peak_meter"], signal[0])
    second, state = answer.apply(params["peak_meter"], state, signal[1])
    return first, second, state


def closed_form(params, state, signal):
    gain, state = params["peak_meter"]["gain"], state["peak_meter"]
    lifted = abs(signal[0]).max()
    first, second = gain * signal[0] / state["peak"], gain * signal[1] / lifted
    return first, second, {"peak": 0.9 * lifted, "calls": state["calls"] + 2}


# %% check `apply` reads nothing through Haiku; once
def check(answer, params, state, signal):
    with counted_runs(hk.get_state) as runs:
        answer.apply(params["peak_meter"], state["peak_meter"], signal)  # a new shape
    return {"calls of hk.get_state": len(runs)}


# %% check `from_haiku` returns what `apply` needs, and `to_haiku` converts it back; arguments types once tolerance=0
def check(answer, params, state, signal):
    params, state = answer.from_haiku(params, state)
    back = map(hk.data_structures.to_mutable_dict, answer.to_haiku(params, state))
    return {"params": dict(params), "state": dict(state), "back": tuple(back)}


# %% idea threaded by hand
# A module gets its params and its state from Haiku, and only inside a transformed function. In
# plain JAX, params and state must be arguments, and the new state must be a result.
def apply(params, state, x):
    return PeakMeter()(x), state


# %% idea still in Haiku
# The numbers are right, but the module still computes them. `apply` must not call it.
def apply(params, state, x):
    output, state = pair.apply({"peak_meter": params}, {"peak_meter": state}, None, x)
    return output, state["peak_meter"]


# %% idea old or new state
# The module computes its output before it sets the state. In a pure function, the old and the new
# value are two variables, so the output must be computed with the old value.
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
    output, new = right.apply(params, {"calls": 0, **state}, x)
    return output, {"peak": new["peak"]}


# %% idea order; state/stateful_computations#the-general-strategy
# The output must be returned first, and the new state second.
def apply(params, state, x):
    return right.apply(params, state, x)[::-1]


# %% idea table of names; beyond/moving_to_nnx#a-table-of-names
# Haiku's trees have two levels: the path of the module, and the name within the module. Each leaf
# must get its place in the other tree, because a leaf that is left out starts again from its
# initial value.
def from_haiku(params, state):
    return params, state


# %%
def from_haiku(params, state):
    return params["peak_meter"], state


# %%
def from_haiku(params, state):
    return dict(params["peak_meter"]), {"peak": jnp.ones([]), "calls": jnp.int32(0)}


# %%
def to_haiku(params, state):
    return params, state


# %%
def to_haiku(params, state):
    return {"PeakMeter": params}, {"PeakMeter": state}


# %%
def from_haiku(params, state):
    return params, state


def to_haiku(params, state):
    return params, state


# %% right Haiku's own type of mapping
def to_haiku(params, state):
    trees = {"peak_meter": params}, {"peak_meter": state}
    return tuple(map(hk.data_structures.to_immutable_dict, trees))
