"""An evaluation step: one mean on every runner, and nothing of the train state changes."""

from typing import Any, NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.digits import SGD, start
from support.runners import every_runner
from support.tolerances import FEW_ROUNDINGS, MANY_ROUNDINGS

import haiku_state as hs
from haiku_state.errors import (
    ArgumentError,
    CounterAdvancedError,
    DeviceStackedError,
    StateStructureError,
)

ROWS = 100  # in batches of 32: the last has 4 rows, and 28 that are padded


def classify(x):
    return hs.Classifier([32], 10, 0.9)(x, is_training=False)


PAIR = hk.transform_with_state(classify)


def metrics_fn(params, state, batch):
    logits, state = PAIR.apply(params, state, None, batch["inputs"])
    right = jnp.argmax(logits, axis=-1) == batch["targets"]
    return {"accuracy": right, "norm": jnp.sum(jnp.square(logits), axis=-1)}, state


@pytest.fixture(scope="module")
def expected():
    """The means over all rows, in float64, of what each row gives alone."""
    data = {name: values[:ROWS] for name, values in hs.load_digits().test.items()}
    train_state = start(SGD)
    logits, _ = PAIR.apply(train_state.params, train_state.state, None, data["inputs"])
    logits = np.float64(logits)
    right = logits.argmax(-1) == data["targets"]
    return data, {"accuracy": right.mean(), "norm": np.square(logits).sum(-1).mean()}


def x_alone(params, state, batch):
    return {"x": batch["x"]}, state


def empty():
    return hs.TrainState({}, {}, (), jax.random.key(0), jnp.int32(0))


ROWS_OF_ONES = {"x": np.ones(8, np.float32)}


@every_runner
def test_make_evaluate__gives_the_mean_over_all_examples(runner, expected):
    data, means = expected
    run = runner(hs.make_evaluate(metrics_fn))
    placed = run.place(start(SGD))
    padded = run.feed_all(hs.batches(data, 32, remainder="pad"))
    found = hs.mean_metrics(run(placed, batch) for batch in padded)
    assert found == pytest.approx(means, rel=MANY_ROUNDINGS)
    assert not any(leaf.is_deleted() for leaf in jax.tree.leaves(placed))
    assert run.trace_count == 1
    kept = run.one(placed)
    jax.tree.map(np.testing.assert_array_equal, kept[:3], start(SGD)[:3])


@every_runner
def test_make_evaluate__padded_rows_alone_count_for_nothing(runner):
    run = runner(hs.make_evaluate(x_alone))
    batch = {"x": np.full(8, np.nan, np.float32), "mask": np.zeros(8, np.float32)}
    metrics = run(run.place(empty()), run.feed(batch))
    assert np.all(metrics["examples"] == 0)
    assert np.all(metrics["x"] == 0)
    assert np.isnan(hs.mean_metrics([metrics])["x"])


def test_make_evaluate__averages_half_precision_and_integers_in_float32():
    half = np.full(4, 60000, np.float16)  # whose sum is more than float16 holds
    evaluate = hs.make_evaluate(lambda params, state, batch: (dict(batch), state))
    metrics = evaluate(empty(), {"half": half, "count": np.arange(4)})
    assert (metrics["half"], metrics["count"], metrics["examples"]) == (60000, 1.5, 4)
    assert {leaf.dtype for leaf in metrics.values()} == {np.dtype(np.float32)}


@pytest.mark.parametrize("kind", [bool, np.int8, np.float16, jnp.bfloat16])
def test_make_evaluate__counts_examples_in_float32_whatever_the_mask_is(kind):
    rows = 4096 + 3  # more than half precision or an int8 can count
    mask = np.arange(rows) != 0
    x = np.where(mask, 2, 5).astype(np.float32)
    metrics = hs.make_evaluate(x_alone)(empty(), {"x": x, "mask": jnp.asarray(mask, kind)})
    assert (metrics["x"], metrics["examples"]) == (2, rows - 1)
    assert {leaf.dtype for leaf in metrics.values()} == {np.dtype(np.float32)}


@pytest.mark.parametrize(
    ("result", "batch"),
    [
        ({"loss": jnp.float32(1)}, ROWS_OF_ONES),
        (jnp.ones(8), ROWS_OF_ONES),
        ({"loss": jnp.ones(3)}, ROWS_OF_ONES),
        ({"a": np.ones(4), "b": np.ones(2)}, {"a": np.ones(4), "b": np.ones(2)}),
        ({"a": np.float32(4)}, {"a": np.float32(4)}),
    ],
)
def test_make_evaluate__names_a_metric_that_is_not_one_number_for_each_example(result, batch):
    evaluate = hs.make_evaluate(lambda params, state, batch: (result, state))
    for run in (evaluate, hs.jit_update(evaluate)):
        with pytest.raises(ArgumentError, match="named arrays with one entry for each row of the"):
            run(empty(), batch)


def test_make_evaluate__refuses_a_metric_named_examples():
    evaluate = hs.make_evaluate(lambda params, state, batch: ({"examples": batch}, state))
    with pytest.raises(ArgumentError, match='none of them named "examples"'):
        evaluate(empty(), np.ones(3))


def test_make_evaluate__names_stacked_replicas():
    run = hs.jit_update(hs.make_evaluate(metrics_fn))
    with pytest.raises(DeviceStackedError, match=r"^train_state\.step has shape"):
        run(hs.replicate(start(SGD)), ROWS_OF_ONES)


def test_mean_metrics__counts_batches_by_their_examples():
    """As one mean in float64, also of stacks, and of what Python and NumPy give."""
    rng = np.random.default_rng(0)
    values, counts = rng.normal(0, 1, 6), rng.integers(1, 9, 6)
    single = [{"x": v, "examples": c} for v, c in zip(values[:3], counts[:3], strict=True)]
    stack = {"x": jnp.asarray(values[3:], jnp.float32), "examples": counts[3:]}
    found = hs.mean_metrics(iter([*single, stack]))
    assert found["x"] == pytest.approx(np.average(values, weights=counts), rel=FEW_ROUNDINGS)
    assert hs.mean_metrics([]) == {}


@every_runner
@pytest.mark.parametrize("is_training", [True, False])
def test_make_evaluate__names_an_evaluation_that_learns(runner, is_training):
    pair = hk.transform_with_state(lambda x, flag: hs.Classifier([32], 10, 0.9)(x, flag))

    def metrics_fn(params, state, batch):
        logits, state = pair.apply(params, state, None, batch["inputs"], is_training)
        return {"norm": jnp.sum(jnp.square(logits), axis=-1)}, state

    run = runner(hs.make_evaluate(metrics_fn))
    placed, batch = run.place(start(SGD)), run.feed({"inputs": np.ones((8, 64), np.float32)})
    if not is_training:
        assert np.all(run(placed, batch)["examples"] == 8)
        return
    with pytest.raises(CounterAdvancedError, match=r"mean_ema'\]\['counter'\]"):
        run(placed, batch)


@pytest.mark.parametrize(
    "metrics_fn",
    [
        lambda params, state, batch: {"x": batch["x"]},
        lambda params, state, batch: None,
        lambda params, state, batch: ({"x": batch["x"]}, state, 1),
    ],
)
@every_runner
def test_make_evaluate__names_metrics_without_the_state(runner, metrics_fn):
    run = runner(hs.make_evaluate(metrics_fn))
    with pytest.raises(ArgumentError, match=r"but it must be \(metrics, state\)"):
        run(run.place(empty()), run.feed(ROWS_OF_ONES))


def test_make_evaluate__names_a_state_that_lost_a_name():
    def metrics_fn(params, state, batch):
        return {"x": batch["x"]}, dict(list(state.items())[1:])

    with pytest.raises(StateStructureError):
        hs.make_evaluate(metrics_fn)(start(SGD), ROWS_OF_ONES)


def test_make_evaluate__a_mask_may_have_the_first_axes_of_the_metrics():
    """Sentences of different lengths: one number for each word, and a mask over the words."""
    words = np.float32([[1, 2, 0], [5, 0, 0], [7, 7, 7]])
    mask = np.float32([[1, 1, 0], [1, 0, 0], [0, 0, 0]])
    found = hs.make_evaluate(x_alone)(empty(), {"x": words, "mask": mask})
    assert (found["x"], found["examples"]) == ((1 + 2 + 5) / 3, 3)


class Masked(NamedTuple):
    x: Any
    mask: Any


def test_make_evaluate__reads_the_mask_of_a_named_tuple():
    evaluate = hs.make_evaluate(lambda params, state, batch: ({"x": batch.x}, state))
    batch = Masked(np.float32([1, 3, 80]), np.float32([1, 1, 0]))
    assert evaluate(empty(), batch) == {"x": 2.0, "examples": 2.0}
