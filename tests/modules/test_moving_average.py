import functools

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import oracles
from support.laws import law
from support.tolerances import FEW_ROUNDINGS, MANY_ROUNDINGS
from support.trees import assert_close

import haiku_state as hs
from haiku_state.errors import ArgumentError, DeviceStackedError, UninitializedStateError

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


def test_movingaverage__has_the_sum_the_count_and_the_average():
    params, state = SUM_AND_COUNT.init(None, jnp.float32(0))
    seen = []
    for value in (2, 4, 6, 8, 10):
        average, state = SUM_AND_COUNT.apply(params, state, None, jnp.float32(value))
        inner = state["moving_average"]
        seen.append((float(inner["sum"]), int(inner["count"]), float(average)))
    assert seen == [(2, 1, 2), (6, 2, 3), (12, 3, 4), (20, 4, 5), (30, 5, 6)]


def test_movingaverage__averages_arrays_elementwise():
    values = np.random.default_rng(0).normal(5, 2, (20, 2, 3))
    outputs, _ = averages(SUM_AND_COUNT, values)
    assert_close(outputs[-1], values.mean(0), MANY_ROUNDINGS)


@pytest.mark.parametrize(("decay", "steps"), [(0.0, 3), (0.5, 1), (0.9, 3), (0.999, 200)])
def test_exponentialmovingaverage__is_the_weighted_mean(decay, steps):
    values = np.random.default_rng(steps).normal(1, 2, (steps, 4))
    outputs, state = averages(exponential(decay), values)
    expected = oracles.exponential_average(values, decay)
    assert_close(outputs[-1], expected, 2 * FEW_ROUNDINGS)
    inner = state["exponential_moving_average"]
    np.testing.assert_array_equal(inner["average"], outputs[-1])
    assert inner["counter"] == steps
    hidden = expected * (1 - decay**steps)
    # float32 leaves 5 of its 7 digits to 1 - decay at 0.999
    assert_close(inner["hidden"], hidden, 3 * MANY_ROUNDINGS)


def test_exponentialmovingaverage__few_steps_keep_their_digits_and_haikus_do_not():
    values = [3.0, 3.0, 3.0]
    ours, _ = averages(exponential(0.999), values)
    haikus = hk.transform_with_state(lambda x: hk.ExponentialMovingAverage(0.999)(x))
    with jax.numpy_dtype_promotion("standard"):
        theirs, _ = averages(haikus, values)
    # a few units in the last place, and a digit more
    assert max(abs(x / 3 - 1) for x in ours) < 3e-7
    assert max(abs(x / 3 - 1) for x in theirs) > 3e-6


def test_exponentialmovingaverage__bfloat16_stays_finite_where_haikus_does_not():
    values = [2.0, 4.0, 6.0]
    ours, state = averages(exponential(0.999), values, jnp.bfloat16)
    assert {x.dtype for x in ours} == {jnp.dtype(jnp.bfloat16)}
    expected = [oracles.exponential_average(values[:n], 0.999) for n in (1, 2, 3)]
    # bfloat16 keeps 8 bits of what is returned; the state keeps 24
    np.testing.assert_allclose(np.asarray(ours, np.float64), expected, rtol=2**-8)
    kept = state["exponential_moving_average"]["average"]
    assert kept.dtype == jnp.float32
    assert_close(kept, expected[-1])

    haikus = hk.transform_with_state(lambda x: hk.ExponentialMovingAverage(0.999)(x))
    with jax.numpy_dtype_promotion("standard"):
        theirs, _ = averages(haikus, values, jnp.bfloat16)
    assert jnp.isnan(theirs[0])


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_movingaverage__keeps_the_average_of_a_thousand_values_in_half_precision(dtype):
    values = jnp.asarray(np.random.default_rng(5).normal(3, 1, 1000), dtype)
    for pair, decay in ((SUM_AND_COUNT, 1.0), (exponential(0.99), 0.99)):
        params, state = pair.init(None, values[0])

        def step(state, value, pair=pair, params=params):
            return pair.apply(params, state, None, value)[::-1]

        state, outputs = jax.lax.scan(step, state, values)
        assert outputs.dtype == dtype
        expected = oracles.exponential_average(values, decay)
        np.testing.assert_allclose(np.float64(outputs[-1]), expected, rtol=jnp.finfo(dtype).eps)


@pytest.mark.parametrize("module", [hs.MovingAverage, lambda: hs.ExponentialMovingAverage(0.9)])
def test_movingaverage__refuses_integers(module):
    pair = hk.transform_with_state(lambda x: module()(x))
    with pytest.raises(
        ArgumentError, match=r"^value is int32\[3\], but it must be an array of a f"
    ):
        pair.init(None, jnp.arange(3))


@pytest.mark.parametrize("module", [hs.MovingAverage, lambda: hs.ExponentialMovingAverage(0.9)])
@pytest.mark.parametrize(("before", "error"), [((4, 3), DeviceStackedError), ((2,), ArgumentError)])
def test_movingaverage__refuses_a_state_of_another_shape(module, before, error):
    pair = hk.transform_with_state(lambda x: module()(x))
    _, state = pair.init(None, jnp.ones(before))
    if error is DeviceStackedError:  # of as many replicas
        state = jax.vmap(lambda x: pair.init(None, x)[1])(jnp.ones(before))
    with pytest.raises(error, match=r"^state\['.*'\]\['(sum|hidden)'\]"):
        pair.apply({}, state, None, jnp.ones(3))


def test_exponentialmovingaverage__no_weight_for_the_past_makes_no_infinity():
    pair = exponential(0.0)
    params, state = pair.init(None, jnp.float32(0))
    with jax.debug_infs(True):
        average, _ = pair.apply(params, state, None, jnp.float32(7))
    assert average == 7


def test_exponentialmovingaverage__average_is_the_last_one():
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
def test_exponentialmovingaverage__refuses_a_decay_rate_outside_the_unit_interval(decay):
    pair = exponential(decay)
    with pytest.raises(ArgumentError) as caught:
        pair.init(None, jnp.float32(0))
    assert caught.value.what == (f"decay_rate is {decay}, but it must be a number in [0, 1).")


pairs = st.sampled_from([SUM_AND_COUNT, *map(exponential, DECAYS)])
numbers = st.floats(-1e6, 1e6, width=32)
# 30 steps, each rounded to half of 1.2e-7; the smallest numbers have fewer digits
ROUNDING, SMALLEST = 2e-6, 1e-37


@law(20)
@given(pairs, numbers, st.integers(1, 30))
def test_movingaverage__of_a_constant_is_the_constant(pair, value, steps):
    outputs, _ = averages(pair, [value] * steps)
    np.testing.assert_allclose(outputs, value, rtol=ROUNDING, atol=SMALLEST)


@law(20)
@given(pairs, st.lists(numbers, min_size=1, max_size=30))
def test_movingaverage__lies_between_the_least_and_the_greatest(pair, values):
    outputs, _ = averages(pair, values)
    slack = ROUNDING * max(map(abs, values)) + SMALLEST
    assert min(values) - slack <= outputs[-1] <= max(values) + slack


# the arguments that both take, besides the decay
ARGUMENTS = {
    "plain": {},
    "no debias": {"zero_debias": False},
    "warm-up": {"zero_debias": False, "warmup_length": 3},
    "long warm-up": {"zero_debias": False, "warmup_length": 9},
}


@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
@pytest.mark.parametrize("arguments", ARGUMENTS.values(), ids=ARGUMENTS.keys())
def test_exponentialmovingaverage__each_argument_does_what_it_does_in_haiku(arguments, dtype):
    ours = hk.transform_with_state(
        lambda x, keep: hs.ExponentialMovingAverage(0.75, **arguments, name="ema")(x, keep)
    )
    theirs = hk.transform_with_state(
        lambda x, keep: hk.ExponentialMovingAverage(0.75, **arguments, name="ema")(x, keep)
    )
    values = jnp.asarray(np.random.default_rng(3).normal(1, 2, (8, 5)), dtype)
    if dtype == jnp.bfloat16 and "warmup_length" in arguments:
        # a select of two dtypes: Haiku's own warm-up works in float32 only
        with pytest.raises(TypeError, match="same dtypes"):
            theirs.init(None, values[0], True)
        ours.init(None, values[0], True)
        return
    # in bfloat16, Haiku rounds each of eight steps by up to 4e-3
    tolerance = 4e-2 if dtype == jnp.bfloat16 else MANY_ROUNDINGS
    (_, state), (_, their_state) = (pair.init(None, values[0], True) for pair in (ours, theirs))
    for step, value in enumerate(values):
        keep = step % 3 != 2
        before = state
        output, state = ours.apply({}, state, None, value, keep)
        their_output, their_state = theirs.apply({}, their_state, None, value, keep)
        assert output.dtype == their_output.dtype == dtype
        for one, other in [
            (output, their_output),
            *((state["ema"][name], their_state["ema"][name]) for name in their_state["ema"]),
        ]:
            assert_close(one, other, tolerance)
        assert jax.tree.map(jnp.shape, state) == jax.tree.map(jnp.shape, their_state)
        if not keep:
            jax.tree.map(np.testing.assert_array_equal, state, before)


def test_exponentialmovingaverage__the_warm_up_follows_the_definition():
    values = np.random.default_rng(4).normal(1, 2, 10)
    pair = hk.transform_with_state(
        lambda x: hs.ExponentialMovingAverage(0.9, zero_debias=False, warmup_length=3)(x)
    )
    outputs, state = averages(pair, values)
    expected = values[2]
    for step, value in enumerate(values):
        expected = value if step < 3 else 0.9 * expected + 0.1 * value
        assert_close(outputs[step], expected)
    assert state["exponential_moving_average"]["counter"] == 7


@pytest.mark.parametrize("module", [hs, hk], ids=["ours", "haiku's"])
def test_exponentialmovingaverage__initialize_makes_an_average_to_read_at_first(module):
    def call(x):
        ema = module.ExponentialMovingAverage(0.9)
        ema.initialize((3,), jnp.float32)
        return ema.average, ema(x)

    pair = hk.transform_with_state(call)
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        params, state = pair.init(None, jnp.ones(3))
        (before, after), _ = pair.apply(params, state, None, jnp.ones(3))
    assert list(before) == [0, 0, 0]
    np.testing.assert_allclose(after, 1, rtol=FEW_ROUNDINGS)


REFUSED = {
    "both": (
        {"warmup_length": 3},
        "warmup_length is 3, but it must be 0 with zero_debias=True.",
    ),
    "negative": (
        {"warmup_length": -1, "zero_debias": False},
        "warmup_length is -1, but it must be a number of at least 0.",
    ),
}


@pytest.mark.parametrize(("arguments", "text"), REFUSED.values(), ids=REFUSED.keys())
def test_exponentialmovingaverage__refuses_a_senseless_warm_up_as_haiku_does(arguments, text):
    def pair_of(module):
        return hk.transform_with_state(
            lambda x: module.ExponentialMovingAverage(0.9, **arguments)(x)
        )

    with pytest.raises(ArgumentError) as caught:
        pair_of(hs).init(None, jnp.ones(3))
    assert caught.value.what == text
    with pytest.raises(ValueError, match=r"warm|Zero debias"):
        pair_of(hk).init(None, jnp.ones(3))


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float32])
def test_exponentialmovingaverage__what_is_initialized_is_kept_in_float32(dtype):
    def f():
        hs.ExponentialMovingAverage(0.9).initialize((2,), dtype)

    _, state = hk.transform_with_state(f).init(None)
    assert {leaf.dtype for leaf in jax.tree.leaves(state)} == {jnp.dtype("float32")}


def test_exponentialmovingaverage__names_an_average_that_nothing_has_begun():
    read = hk.transform_with_state(lambda: hs.ExponentialMovingAverage(0.9).average)
    with pytest.raises(UninitializedStateError):
        read.apply({}, {}, None)
