import functools

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import haiku_state as hs
from haiku_state.errors import ModuleArgumentError

DECAYS = (0.0, 0.5, 0.9, 0.99, 0.999)
SUM_AND_COUNT = hk.transform_with_state(lambda x: hs.MovingAverage()(x))


@functools.cache
def exponential(decay):
    return hk.transform_with_state(lambda x: hs.ExponentialMovingAverage(decay)(x))


@functools.cache
def compiled(pair):
    return jax.jit(pair.apply)


def averages(pair, values, dtype=jnp.float32):
    values = jnp.asarray(np.asarray(values), dtype)
    params, state = pair.init(None, values[0])
    outputs = []
    for value in values:
        output, state = compiled(pair)(params, state, None, value)
        outputs.append(output)
    return outputs, state


def test_the_sum_the_count_and_the_average():
    params, state = SUM_AND_COUNT.init(None, jnp.float32(0))
    seen = []
    for value in (2, 4, 6, 8, 10):
        average, state = SUM_AND_COUNT.apply(params, state, None, jnp.float32(value))
        inner = state["moving_average"]
        seen.append((float(inner["sum"]), int(inner["count"]), float(average)))
    assert seen == [(2, 1, 2), (6, 2, 3), (12, 3, 4), (20, 4, 5), (30, 5, 6)]


def test_arrays_are_averaged_elementwise():
    values = np.random.default_rng(0).normal(5, 2, (20, 2, 3))
    outputs, _ = averages(SUM_AND_COUNT, values)
    np.testing.assert_allclose(outputs[-1], values.mean(0), rtol=1e-5)


@pytest.mark.parametrize("decay", DECAYS)
@pytest.mark.parametrize("steps", [1, 3, 200])
def test_exponential_average_is_the_weighted_mean(decay, steps):
    values = np.random.default_rng(steps).normal(1, 2, (steps, 4))
    outputs, state = averages(exponential(decay), values)
    expected = oracles.exponential_average(values, decay)
    np.testing.assert_allclose(outputs[-1], expected, rtol=2e-6, atol=2e-6)
    inner = state["exponential_moving_average"]
    np.testing.assert_array_equal(inner["average"], outputs[-1])
    assert inner["counter"] == steps
    hidden = expected * (1 - decay**steps)
    # float32 leaves 5 of its 7 digits to 1 - decay at 0.999
    np.testing.assert_allclose(inner["hidden"], hidden, rtol=3e-5, atol=3e-6)


def test_few_steps_of_a_slow_average_keep_their_digits_and_haikus_do_not():
    values = [3.0, 3.0, 3.0]
    ours, _ = averages(exponential(0.999), values)
    haikus = hk.transform_with_state(lambda x: hk.ExponentialMovingAverage(0.999)(x))
    with jax.numpy_dtype_promotion("standard"):
        theirs, _ = averages(haikus, values)
    assert max(abs(x / 3 - 1) for x in ours) < 3e-7
    assert max(abs(x / 3 - 1) for x in theirs) > 3e-6


def test_bfloat16_stays_finite_where_haikus_does_not():
    values = [2.0, 4.0, 6.0]
    ours, state = averages(exponential(0.999), values, jnp.bfloat16)
    assert {x.dtype for x in ours} == {jnp.dtype(jnp.bfloat16)}
    assert state["exponential_moving_average"]["hidden"].dtype == jnp.bfloat16
    expected = [oracles.exponential_average(values[:n], 0.999) for n in (1, 2, 3)]
    # bfloat16 keeps 8 bits, and hidden is rounded at every step
    np.testing.assert_allclose(np.asarray(ours, np.float64), expected, rtol=2e-2)

    haikus = hk.transform_with_state(lambda x: hk.ExponentialMovingAverage(0.999)(x))
    with jax.numpy_dtype_promotion("standard"):
        theirs, _ = averages(haikus, values, jnp.bfloat16)
    assert jnp.isnan(theirs[0])


def test_average_is_the_last_one_without_a_new_value():
    def call(x, read):
        average = hs.ExponentialMovingAverage(0.5)
        return average.average if read else average(x)

    pair = hk.transform_with_state(call)
    params, state = pair.init(None, jnp.float32(0), False)
    written, state = pair.apply(params, state, None, jnp.float32(7), False)
    read, unchanged = pair.apply(params, state, None, jnp.float32(0), True)
    assert read == written == 7
    assert unchanged == state


@pytest.mark.parametrize("decay", [-0.1, 1.0, 1.5, float("nan")])
def test_a_decay_rate_outside_the_unit_interval_is_refused(decay):
    pair = exponential(decay)
    with pytest.raises(ModuleArgumentError) as caught:
        pair.init(None, jnp.float32(0))
    assert str(caught.value) == (
        f"decay_rate is {decay}, outside [0, 1).\n"
        f"  wrong: ExponentialMovingAverage({decay})\n"
        "  right: ExponentialMovingAverage(0.99)\n"
        "  why:   it is the weight of the past; at 1 nothing new would ever count"
    )


pairs = st.sampled_from([SUM_AND_COUNT, *map(exponential, DECAYS)])
numbers = st.floats(-1e6, 1e6, width=32)
# 30 steps, each rounded to half of 1.2e-7
ROUNDING = 2e-6
law = settings(max_examples=40, deadline=None, derandomize=True, database=None)


@law
@given(pairs, numbers, st.integers(1, 30))
def test_law_the_average_of_a_constant_is_the_constant(pair, value, steps):
    outputs, _ = averages(pair, [value] * steps)
    np.testing.assert_allclose(outputs, value, rtol=ROUNDING, atol=1e-37)


@law
@given(pairs, st.lists(numbers, min_size=1, max_size=30))
def test_law_the_average_lies_between_the_least_and_the_greatest(pair, values):
    outputs, _ = averages(pair, values)
    slack = ROUNDING * max(map(abs, values)) + 1e-37
    assert min(values) - slack <= outputs[-1] <= max(values) + slack
