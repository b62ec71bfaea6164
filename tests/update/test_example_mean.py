"""A mean over examples counts the real rows, of all devices, in float32."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support.laws import law

import haiku_state as hs

SIZE = 1e3
FLOATS = st.floats(-SIZE, SIZE, width=32)
# float32 adds up to 24 numbers of this size, whose sum may cancel
CLOSE = {"rtol": 1e-4, "atol": 1e-6 * SIZE}


@law(50)
@given(st.data(), st.sampled_from([1, 4]), st.sampled_from([1, 6]))
def test_example_mean__is_that_of_the_real_rows(data, devices, rows):
    values = data.draw(hnp.arrays(np.float32, (devices, rows), elements=FLOATS))
    mask = data.draw(hnp.arrays(np.float32, (devices, rows), elements=st.sampled_from([0, 1])))
    real = values[mask == 1].astype(np.float64)
    expected = real.mean() if real.size else 0
    spoiled = np.where(mask == 1, values, np.float32(np.nan))
    mean = jax.vmap(lambda x, m: hs.example_mean(x, m, "d"), axis_name="d")(spoiled, mask)
    np.testing.assert_allclose(mean, np.full(devices, expected), **CLOSE)
    alone = hs.example_mean(jnp.asarray(values[0]))
    np.testing.assert_allclose(alone, values[0].astype(np.float64).mean(), **CLOSE)


def test_example_mean__takes_several_numbers_for_each_example():
    values = jnp.array([[1.0, 3.0], [100.0, 100.0]])
    assert hs.example_mean(values, jnp.array([1.0, 0.0])) == 2
    assert hs.example_mean(values) == 51


def test_example_mean__takes_one_mask_for_rows_and_time():
    values, mask = np.float32([[1, 5], [3, 7]]), np.float32([[1, 0], [1, 1]])
    assert hs.example_mean(values, mask) == np.float64(11) / 3
    assert hs.example_mean(values[:, 0], [1, 0]) == 1


def test_example_mean__sums_half_precision_in_float32():
    values = jnp.full(4, 60000, jnp.float16)  # whose sum is more than float16 holds
    mean = hs.example_mean(values)
    assert (mean, mean.dtype) == (60000, jnp.float16)
    assert hs.example_mean(jnp.array([True, False])) == 0.5
