# right: leaf by leaf
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
    output = params["gain"] * x / state["peak"]
    return output, {"peak": peak, "calls": state["calls"] + 1}


def from_haiku(params, state):
    own = state["peak_meter"]
    gain = params["peak_meter"]["gain"]
    return {"gain": gain}, {"peak": own["peak"], "calls": own["calls"]}


def to_haiku(params, state):
    return {"peak_meter": params}, {"peak_meter": state}

# wrong: old or new state
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
    return params["peak_meter"], state["peak_meter"]


def to_haiku(params, state):
    return {"peak_meter": params}, {"peak_meter": state}

# wrong: dropped state
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
    output = params["gain"] * x / state["peak"]
    return output, {**state, "peak": peak}


def from_haiku(params, state):
    return params["peak_meter"], state["peak_meter"]


def to_haiku(params, state):
    return {"peak_meter": params}, {"peak_meter": state}

# wrong: dropped state
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
    output = params["gain"] * x / state["peak"]
    return output, {"peak": peak}


def from_haiku(params, state):
    return params["peak_meter"], state["peak_meter"]


def to_haiku(params, state):
    return {"peak_meter": params}, {"peak_meter": state}

# wrong: order
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
    output = params["gain"] * x / state["peak"]
    return {"peak": peak, "calls": state["calls"] + 1}, output


def from_haiku(params, state):
    return params["peak_meter"], state["peak_meter"]


def to_haiku(params, state):
    return {"peak_meter": params}, {"peak_meter": state}

# wrong: threaded by hand
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
    peak = hk.get_state("peak", [], init=jnp.ones)
    output = params["gain"] * x / state["peak"]
    return output, {"peak": peak, "calls": state["calls"] + 1}


def from_haiku(params, state):
    return params["peak_meter"], state["peak_meter"]


def to_haiku(params, state):
    return {"peak_meter": params}, {"peak_meter": state}

# wrong: table of names
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
    output = params["gain"] * x / state["peak"]
    return output, {"peak": peak, "calls": state["calls"] + 1}


def from_haiku(params, state):
    return params, state


def to_haiku(params, state):
    return params, state

# wrong: there and back
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
    output = params["gain"] * x / state["peak"]
    return output, {"peak": peak, "calls": state["calls"] + 1}


def from_haiku(params, state):
    return params["peak_meter"], state["peak_meter"]


def to_haiku(params, state):
    return params, state

# wrong: mutation
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
    output = params["gain"] * x / state["peak"]
    state["peak"] = peak
    state["calls"] = state["calls"] + 1
    return output, state


def from_haiku(params, state):
    return params["peak_meter"], state["peak_meter"]


def to_haiku(params, state):
    return {"peak_meter": params}, {"peak_meter": state}

# wrong: still in Haiku
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
    output, (_, state) = _run(x, *to_haiku(params, state))
    return output, state


def _run(x, params, state):
    output, state = pair.apply(params, state, None, x)
    return output, from_haiku(params, state)


def from_haiku(params, state):
    return params["peak_meter"], state["peak_meter"]


def to_haiku(params, state):
    return {"peak_meter": params}, {"peak_meter": state}

# wrong: changed argument
import haiku as hk
import jax
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

# right: Haiku's own mapping
import haiku as hk
import jax
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


@jax.jit
def apply(params, state, x):
    loudest = jnp.linalg.norm(x, ord=jnp.inf)
    output = params["gain"] * x / state["peak"]
    peak = jnp.where(loudest > 0.9 * state["peak"], loudest, 0.9 * state["peak"])
    return output, {"calls": state["calls"] + 1, "peak": peak}


def from_haiku(params, state):
    flat = {name: value for _, name, value in hk.data_structures.traverse(params)}
    flat_state = {name: value for _, name, value in hk.data_structures.traverse(state)}
    return flat, flat_state


def to_haiku(params, state):
    trees = {"peak_meter": params}, {"peak_meter": state}
    return tuple(map(hk.data_structures.to_immutable_dict, trees))
