"""Answers to `from_haiku`."""


# %% right: the names in between are kept, the module is gone
import jax.numpy as jnp


def apply(params, state, x):
    gain = params["gain"]
    peak = state["peak"]
    calls = state["calls"]
    output = gain * x / peak
    loudest = jnp.abs(x).max()
    new_peak = jnp.maximum(peak * 0.9, loudest)
    new_state = {"calls": calls + 1, "peak": new_peak}
    return output, new_state


def from_haiku(params, state):
    return params["peak_meter"], state["peak_meter"]


def to_haiku(params, state):
    return {"peak_meter": dict(params)}, {"peak_meter": dict(state)}


# %% right: a NamedTuple, compiled, where instead of maximum
from typing import Any, NamedTuple

import jax
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


class Metered(NamedTuple):
    output: jax.Array
    state: dict


class Trees(NamedTuple):
    params: Any
    state: Any


@jax.jit
def apply(params, state, x):
    fallen, loudest = 0.9 * state["peak"], jnp.max(jnp.abs(x))
    peak = jnp.where(loudest > fallen, loudest, fallen)
    output = params["gain"] * x / state["peak"]
    return Metered(output, {**state, "peak": peak, "calls": state["calls"] + jnp.int32(1)})


def from_haiku(params, state):
    return Trees(*(dict(tree["peak_meter"]) for tree in (params, state)))


def to_haiku(params, state):
    return Trees(*({"peak_meter": tree} for tree in (params, state)))


# %% right: Haiku's trees are read leaf by leaf
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
    output = params["gain"] * x / state["peak"]
    peak = jnp.maximum(0.9 * state["peak"], jnp.max(jnp.abs(x)))
    return output, {"peak": peak, "calls": state["calls"] + 1}


def _leaves_of(tree):
    return {name: value for _module, name, value in hk.data_structures.traverse(tree)}


def from_haiku(params, state):
    return _leaves_of(params), _leaves_of(state)


def to_haiku(params, state):
    return {"peak_meter": {**params}}, {"peak_meter": {**state}}


# %% right: the name of the module is found, lambdas
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

NAME = "peak_meter"

from_haiku = lambda *trees: tuple(dict(tree[NAME]) for tree in trees)
to_haiku = lambda *trees: tuple({NAME: dict(tree)} for tree in trees)


def next_state(state, x):
    peak = jnp.max(jnp.append(jnp.abs(x).ravel(), 0.9 * state["peak"]))
    return dict(peak=peak, calls=state["calls"] + 1)


apply = lambda params, state, x: (params["gain"] * x / state["peak"], next_state(state, x))


# %% right: the state is copied and the copy is changed
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
    new = dict(state)
    output = params["gain"] * (x / state["peak"])
    new["peak"] = jnp.maximum(0.9 * new["peak"], jnp.maximum(x.max(), -x.min()))
    new["calls"] += 1
    return output, new


def from_haiku(params, state):
    (params,) = params.values()
    (state,) = state.values()
    return {"gain": params["gain"]}, {"peak": state["peak"], "calls": state["calls"]}


def to_haiku(params, state):
    return (
        {"peak_meter": {"gain": params["gain"]}},
        {"peak_meter": {"peak": state["peak"], "calls": state["calls"]}},
    )


# %% right: Haiku's own mapping there and back
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
    output = params["gain"] * x / state["peak"]
    peak = jnp.maximum(0.9 * state["peak"], jnp.max(jnp.abs(x)))
    return output, {"peak": peak, "calls": state["calls"] + 1}


def from_haiku(params, state):
    params = hk.data_structures.to_mutable_dict(params)
    state = hk.data_structures.to_mutable_dict(state)
    return params.pop("peak_meter"), state.pop("peak_meter")


def to_haiku(params, state):
    params = hk.data_structures.to_immutable_dict({"peak_meter": params})
    return params, hk.data_structures.to_immutable_dict({"peak_meter": state})


# %% right: a class, and its methods at module level
import haiku as hk
import jax.numpy as jnp


class Meter:
    decay = 0.9
    path = "peak_meter"

    def apply(self, params, state, x):
        old_peak, calls = state["peak"], state["calls"]
        peak = jnp.maximum(self.decay * old_peak, jnp.linalg.norm(x.ravel(), ord=jnp.inf))
        return params["gain"] * x / old_peak, {"peak": peak, "calls": calls + 1}

    def from_haiku(self, params, state):
        return params[self.path], state[self.path]

    def to_haiku(self, params, state):
        return {self.path: params}, {self.path: state}


meter = Meter()
apply, from_haiku, to_haiku = meter.apply, meter.from_haiku, meter.to_haiku


# %% right: scan over the samples lets the peak follow them
import jax
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
    follow = lambda peak, sample: (jnp.maximum(peak, jnp.abs(sample)), None)
    peak, _ = jax.lax.scan(follow, 0.9 * state["peak"], jnp.ravel(x))
    scale = params["gain"] / state["peak"]
    return scale * x, {"peak": peak, "calls": state["calls"] + 1}


def from_haiku(params, state):
    return dict(params["peak_meter"]), dict(state["peak_meter"])


def to_haiku(params, state):
    return {"peak_meter": params}, {"peak_meter": state}


# %% wrong: threaded by hand | table of names
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
    output = PeakMeter()(x)
    return output, state


def from_haiku(params, state):
    # Return the params and the state of the module in the form that `apply`
    # uses.
    return params, state


def to_haiku(params, state):
    # Return what was passed to `from_haiku`.
    return params, state


# %% wrong: still in Haiku
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
    output, state = pair.apply(*to_haiku(params, state), None, x)
    return output, state["peak_meter"]


def from_haiku(params, state):
    return dict(params["peak_meter"]), dict(state["peak_meter"])


def to_haiku(params, state):
    return {"peak_meter": params}, {"peak_meter": state}


# %% wrong: still in Haiku
# the class is gone, but Haiku still looks up the names
import haiku as hk
import jax.numpy as jnp


def meter(x):
    gain = hk.get_parameter("gain", [], init=jnp.ones)
    peak = hk.get_state("peak", [], init=jnp.ones)
    calls = hk.get_state("calls", [], jnp.int32, init=jnp.zeros)
    hk.set_state("peak", jnp.maximum(0.9 * peak, jnp.max(jnp.abs(x))))
    hk.set_state("calls", calls + 1)
    return gain * x / peak


plain = hk.transform_with_state(meter)


def apply(params, state, x):
    output, state = plain.apply({"~": params}, {"~": state}, None, x)
    return output, dict(state["~"])


def from_haiku(params, state):
    return dict(params["peak_meter"]), dict(state["peak_meter"])


def to_haiku(params, state):
    return {"peak_meter": params}, {"peak_meter": state}


# %% wrong: old or new state
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
    peak = jnp.maximum(0.9 * state["peak"], jnp.max(jnp.abs(x)))
    output = params["gain"] * x / peak
    return output, {"peak": peak, "calls": state["calls"] + 1}


def from_haiku(params, state):
    return dict(params["peak_meter"]), dict(state["peak_meter"])


def to_haiku(params, state):
    return {"peak_meter": params}, {"peak_meter": state}


# %% wrong: dropped state
# the calls are not counted
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
    output = params["gain"] * x / state["peak"]
    peak = jnp.maximum(0.9 * state["peak"], jnp.max(jnp.abs(x)))
    return output, {"peak": peak, "calls": state["calls"]}


def from_haiku(params, state):
    return dict(params["peak_meter"]), dict(state["peak_meter"])


def to_haiku(params, state):
    return {"peak_meter": params}, {"peak_meter": state}


# %% wrong: dropped state | structure
# only what is changed in a new way comes out
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
    output = params["gain"] * x / state["peak"]
    peak = jnp.maximum(0.9 * state["peak"], jnp.max(jnp.abs(x)))
    return output, {"peak": peak}


def from_haiku(params, state):
    return dict(params["peak_meter"]), dict(state["peak_meter"])


def to_haiku(params, state):
    return {"peak_meter": params}, {"peak_meter": state}


# %% wrong: order
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
    output = params["gain"] * x / state["peak"]
    peak = jnp.maximum(0.9 * state["peak"], jnp.max(jnp.abs(x)))
    return {"peak": peak, "calls": state["calls"] + 1}, output


def from_haiku(params, state):
    return dict(params["peak_meter"]), dict(state["peak_meter"])


def to_haiku(params, state):
    return {"peak_meter": params}, {"peak_meter": state}


# %% wrong: changed argument
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
    output = params["gain"] * x / state["peak"]
    state["peak"] = jnp.maximum(0.9 * state["peak"], jnp.max(jnp.abs(x)))
    state["calls"] = state["calls"] + 1
    return output, state


def from_haiku(params, state):
    return dict(params["peak_meter"]), dict(state["peak_meter"])


def to_haiku(params, state):
    return {"peak_meter": params}, {"peak_meter": state}


# %% wrong: changed argument
# pop takes the entry out of the caller's trees
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
    output = params["gain"] * x / state["peak"]
    peak = jnp.maximum(0.9 * state["peak"], jnp.max(jnp.abs(x)))
    return output, {"peak": peak, "calls": state["calls"] + 1}


def from_haiku(params, state):
    return params.pop("peak_meter"), state.pop("peak_meter")


def to_haiku(params, state):
    return {"peak_meter": params}, {"peak_meter": state}


# %% wrong: table of names
# the name of the class, and not the path
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
    output = params["gain"] * x / state["peak"]
    peak = jnp.maximum(0.9 * state["peak"], jnp.max(jnp.abs(x)))
    return output, {"peak": peak, "calls": state["calls"] + 1}


def from_haiku(params, state):
    return dict(params["peak_meter"]), dict(state["peak_meter"])


def to_haiku(params, state):
    return {"PeakMeter": params}, {"PeakMeter": state}


# %% wrong: table of names
# a fresh state of the module
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
    output = params["gain"] * x / state["peak"]
    peak = jnp.maximum(0.9 * state["peak"], jnp.max(jnp.abs(x)))
    return output, {"peak": peak, "calls": state["calls"] + 1}


def from_haiku(params, state):
    return dict(params["peak_meter"]), {"peak": jnp.ones([]), "calls": jnp.zeros([], jnp.int32)}


def to_haiku(params, state):
    return {"peak_meter": params}, {"peak_meter": state}


# %% wrong: dtype
# the count becomes a float
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
    output = params["gain"] * x / state["peak"]
    peak = jnp.maximum(0.9 * state["peak"], jnp.max(jnp.abs(x)))
    return output, {"peak": peak, "calls": state["calls"] + 1.0}


def from_haiku(params, state):
    return dict(params["peak_meter"]), dict(state["peak_meter"])


def to_haiku(params, state):
    return {"peak_meter": params}, {"peak_meter": state}


# %% wrong: table of names
# the count begins again
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
    output = params["gain"] * x / state["peak"]
    peak = jnp.maximum(0.9 * state["peak"], jnp.max(jnp.abs(x)))
    return output, {"peak": peak, "calls": state["calls"] + 1}


def from_haiku(params, state):
    return dict(params["peak_meter"]), dict(state["peak_meter"])


def to_haiku(params, state):
    return {"peak_meter": params}, {"peak_meter": {"peak": state["peak"], "calls": 0}}


# %% wrong: -
# the gain is forgotten, which is 1 only at first
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
    output = x / state["peak"]
    peak = jnp.maximum(0.9 * state["peak"], jnp.max(jnp.abs(x)))
    return output, {"peak": peak, "calls": state["calls"] + 1}


def from_haiku(params, state):
    return dict(params["peak_meter"]), dict(state["peak_meter"])


def to_haiku(params, state):
    return {"peak_meter": params}, {"peak_meter": state}


# %% wrong: -
# without abs, a peak below zero is not seen
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
    output = params["gain"] * x / state["peak"]
    peak = jnp.maximum(0.9 * state["peak"], jnp.max(x))
    return output, {"peak": peak, "calls": state["calls"] + 1}


def from_haiku(params, state):
    return dict(params["peak_meter"]), dict(state["peak_meter"])


def to_haiku(params, state):
    return {"peak_meter": params}, {"peak_meter": state}


# %% wrong: -
# the loudest sample falls, too
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
    output = params["gain"] * x / state["peak"]
    peak = 0.9 * jnp.maximum(state["peak"], jnp.max(jnp.abs(x)))
    return output, {"peak": peak, "calls": state["calls"] + 1}


def from_haiku(params, state):
    return dict(params["peak_meter"]), dict(state["peak_meter"])


def to_haiku(params, state):
    return {"peak_meter": params}, {"peak_meter": state}
