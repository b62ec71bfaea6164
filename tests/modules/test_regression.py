import haiku as hk
import numpy as np
import optax
import pytest
from support import oracles
from support.models import line, squared_error, start
from support.tolerances import CANCELLED, MANY_ROUNDINGS
from support.trees import assert_close

import haiku_state as hs

RNG = np.random.default_rng(0)
INPUTS = RNG.normal([0, 5, -3], [1, 4, 0.5], (64, 3)).astype(np.float32)
TARGETS = (INPUTS @ np.array([1.0, -2.0, 3.0]) + RNG.normal(4, 0.5, 64)).astype(np.float32)


def pair_of(*arguments):
    return hk.transform_with_state(lambda x, training: hs.LinearRegression(*arguments)(x, training))


def test_linearregression__predicts_inputs_times_w_plus_b():
    pair = pair_of()
    params, state = pair.init(None, INPUTS, True)
    assert state == {}
    assert not np.any(pair.apply(params, state, None, INPUTS, True)[0])

    w, b = np.array([1.0, 2.0, 3.0], np.float32), np.float32(4)
    output, _ = pair.apply({"linear_regression": {"w": w, "b": b}}, {}, None, INPUTS, False)
    assert_close(output, np.float64(INPUTS) @ w + b, MANY_ROUNDINGS)


@pytest.mark.parametrize("is_training", [True, False])
def test_linearregression__normalizes_inputs_without_scale_and_offset(is_training):
    pair = pair_of(True, 0.9)
    params, state = pair.init(None, INPUTS, True)
    assert set(params) == {"linear_regression"}
    assert set(state) == {f"linear_regression/batch_norm/~/{n}_ema" for n in ("mean", "var")}
    _, state = pair.apply(params, state, None, INPUTS, True)

    w = np.array([1.0, 2.0, 3.0], np.float32)
    params = {"linear_regression": {"w": w, "b": np.float32(4)}}
    output, _ = pair.apply(params, state, None, INPUTS, is_training)
    # after one batch the running statistics are the batch's
    expected = oracles.batch_norm(INPUTS, (0,))[0] @ w + 4
    assert_close(output, expected, MANY_ROUNDINGS)


def test_linearregression__gradient_descent_arrives_at_least_squares():
    pair, sgd, batch = line(True), optax.sgd(0.2), {"inputs": INPUTS, "targets": TARGETS}
    update = hs.jit_update(hs.make_update(squared_error(pair), sgd))
    train_state = start(pair, sgd, batch)
    for _ in range(300):
        train_state, _ = update(train_state, batch)
    quiet = line(True, is_training=False)
    prediction, _ = quiet.apply(train_state.params, train_state.state, None, INPUTS)

    w, b = oracles.least_squares(INPUTS, TARGETS)
    assert_close(prediction, np.float64(INPUTS) @ w + b, CANCELLED)


@pytest.mark.parametrize("normalize_inputs", [True, False])
def test_linearregression__the_axis_name_reaches_the_normalization(normalize_inputs):
    pair = pair_of(normalize_inputs, 0.9, "devices")
    params, state = pair.init(None, INPUTS, True)
    if normalize_inputs:
        with pytest.raises(NameError, match="'devices'"):
            pair.apply(params, state, None, INPUTS, True)
    else:
        pair.apply(params, state, None, INPUTS, True)
