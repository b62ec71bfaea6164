"""One update step: what it asks of its loss function, and what it hands to its optimizer."""

import re

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import optax.contrib
import pytest
from support.models import real_rows, start_from
from support.runners import each, each_replicated, every_runner, train

import haiku_state as hs
from haiku_state.errors import (
    DonatedBufferError,
    LeakedTracerError,
    LossFunctionError,
)

# what is made of the loss and the state, and how the error shows it: where JAX cannot differentiate
# the result, in its words
WRONG_RESULTS = {
    "the loss alone": (lambda loss, state: loss, "the result is not a pair"),
    "no metrics": (lambda loss, state: (loss, state), r"\(float32\[\], {'s': float32\[2\]}\)"),
    "flat": (lambda loss, state: (loss, state, {}), "the result is not a pair"),
    "metrics first": (
        lambda loss, state: ((state, {}), loss),
        "Gradient only defined for scalar.*",
    ),
    "one loss per row": (lambda loss, state: (loss[None], (state, {})), r".* had shape:? \(1,\).*"),
    "an integer loss": (
        lambda loss, state: (loss.astype(jnp.int32), (state, {})),
        "grad requires real-.*, but got int32.*",
    ),
    "metrics no dict": (
        lambda loss, state: (loss, (state, [loss])),
        r"\(float32\[\], \({'s': float32\[2\]}, \[float32\[\]\]\)\)",
    ),
    "the loss as a metric": (
        lambda loss, state: (loss, (state, {"loss": loss})),
        r"\(float32\[\], \({'s': float32\[2\]}, {'loss': float32\[\]}\)\)",
    ),
    "an array as a metric": (
        lambda loss, state: (loss, (state, {"ids": jnp.arange(8)})),
        r"\(float32\[\], \({'s': float32\[2\]}, {'ids': int32\[8\]}\)\)",
    ),
    "a text as a metric": (
        lambda loss, state: (loss, (state, {"name": "a"})),
        r"\(float32\[\], \({'s': float32\[2\]}, {'name': str}\)\)",
    ),
}


def square(make_result):
    """A step and a train state; the loss function returns what is made of loss and state."""
    update = hs.make_update(
        lambda params, state, rng, batch: make_result(params["w"] ** 2, state), optax.sgd(0.1)
    )
    return update, start_from({"w": jnp.ones(())}, {"s": jnp.ones(2)}, optax.sgd(0.1))


@pytest.mark.parametrize(("give", "told"), WRONG_RESULTS.values(), ids=WRONG_RESULTS)
def test_make_update__names_a_wrong_result_of_the_loss_function(give, told):
    update, train_state = square(give)
    with pytest.raises(LossFunctionError) as caught:
        hs.jit_update(update)(train_state, {})
    first, *_ = str(caught.value).splitlines()
    assert re.fullmatch(rf"loss_fn does not return `\(loss, \(state, metrics\)\)`: {told}\.", first)
    assert not any(leaf.is_deleted() for leaf in jax.tree.leaves(train_state))


def test_make_update__runs_a_failing_loss_function_once_and_keeps_its_error():
    calls = []

    def loss_fn(params, state, rng, batch):
        calls.append(1)
        return jax.grad(lambda x: x)(params["w"] * jnp.ones(3))  # JAX's words about another result

    _, train_state = square(None)
    with pytest.raises(TypeError, match="scalar-output") as caught:
        hs.jit_update(hs.make_update(loss_fn, optax.sgd(0.1)))(train_state, {})
    assert not isinstance(caught.value, LossFunctionError)
    assert len(calls) == 1


METRICS = {
    "python": lambda: {"a": 2.5, "b": 3, "c": True},
    "numpy": lambda: {"a": np.float16(2.5), "b": np.int64(3), "c": np.bool_(True)},
    "jax": lambda: {"a": jnp.bfloat16(2.5), "b": jnp.int32(3), "c": jnp.bool_(True)},
    "a mapping that is no dict": lambda: hk.data_structures.to_immutable_dict(
        {"a": 2.5, "b": 3, "c": True}
    ),
}


@pytest.mark.parametrize("metrics", METRICS.values(), ids=METRICS)
@every_runner
@pytest.mark.parametrize("weight", [None, lambda batch: jnp.sum(batch["x"])])
def test_make_update__a_metric_is_a_mean_in_float32(runner, metrics, weight):
    def loss_fn(params, state, rng, batch):
        return params["w"] ** 2, (state, metrics())

    _, train_state = square(None)
    run = runner(hs.make_update(loss_fn, optax.sgd(0.1), weight=weight))
    _, found = run(run.place(train_state), run.feed({"x": np.ones(4, np.float32)}))
    for name, value in {"a": 2.5, "b": 3, "c": 1, "loss": 1}.items():
        assert found[name].dtype == jnp.float32
        np.testing.assert_array_equal(found[name], np.full(found[name].shape, value))


@each_replicated
def test_make_update__no_example_at_all_has_the_gradient_0(runner):
    def loss_fn(params, state, rng, batch):
        mean = jnp.sum(batch["x"] * batch["mask"]) / jnp.sum(batch["mask"])  # NaN
        return params["w"] * mean, (state, {"mean": mean})

    _, train_state = square(None)
    run = runner(hs.make_update(loss_fn, optax.sgd(0.1), weight=real_rows))
    batch = {"x": np.ones(4, np.float32), "mask": np.zeros(4, np.float32)}
    train_state, metrics = train(run, train_state, [batch])
    assert train_state.params["w"] == 1
    assert (metrics["loss"], metrics["mean"]) == (0, 0)


def test_make_update__asks_for_a_weight_only_where_devices_are_averaged():
    """So the batches of a single device need no mask."""
    _, train_state = square(None)
    update = hs.make_update(
        lambda params, state, rng, batch: (params["w"] ** 2, (state, {})),
        optax.sgd(0.1),
        weight=real_rows,
    )
    hs.jit_update(update)(train_state, {"x": np.ones(4, np.float32)})


TARGETS = np.float32([[-1, 0], [3, 4], [0, 5], [2, -1]])  # their mean is [1, 2]
SPREAD = np.float32([2.5, 6.5])  # and this their variance


def quadratic(params, state, rng, batch):
    """Its mean over all targets is lowest at [1, 2], and 0 there."""
    error = jnp.square(params["w"] - batch["target"]) - SPREAD
    return jnp.mean(error @ jnp.array([1.0, 10.0])), (state, {})


SEARCHING = {
    "polyak_sgd": lambda: optax.polyak_sgd(max_learning_rate=1.0),
    "lbfgs": lambda: optax.lbfgs(),
    "backtracking": lambda: optax.chain(
        optax.sgd(1.0), optax.scale_by_backtracking_linesearch(max_backtracking_steps=15)
    ),
    "reduce_on_plateau": lambda: optax.chain(
        optax.sgd(0.09), optax.contrib.reduce_on_plateau(patience=2, factor=0.5)
    ),
}


@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize("make", SEARCHING.values(), ids=SEARCHING)
@each("jit_update", "scan_update", "pmap_update", "shard_map_update")
def test_make_update__value_and_value_fn_are_means_over_devices(make, runner):
    """What an optimizer gets that looks at the loss; on each device alone it is another one."""
    optimizer = make()
    run = runner(hs.make_update(quadratic, optimizer))
    train_state = start_from({"w": jnp.zeros(2)}, {}, optimizer)
    train_state, metrics = train(run, train_state, 40 * [{"target": TARGETS}])
    # so near in 40 steps; on one device alone, the lowest point is at its own target
    np.testing.assert_allclose(train_state.params["w"], [1, 2], atol=0.05)
    assert abs(np.ravel(metrics["loss"])[-1]) < 0.02
    assert train_state.step == 40


def test_make_update__gives_a_pure_update():
    update, train_state = square(lambda loss, state: (loss, (state, {})))
    with jax.debug_key_reuse(False):
        results = [update(train_state, {}) for _ in range(2)]
    first, second = ([str(leaf) for leaf in jax.tree.leaves(result)] for result in results)
    assert first == second
    assert (train_state.step, train_state.params["w"]) == (0, 1)
    assert (results[0][0].step, results[0][0].step.dtype) == (1, jnp.int32)


def test_jit_update__lowers_a_step_of_plain_numbers_as_a_call_traces_it():
    def loss_fn(params, state, rng, batch):
        return params["w"] * batch["f"], (state, {})

    train_state = start_from({"w": jnp.ones(())}, {}, optax.sgd(0.5))
    run = hs.jit_update(hs.make_update(loss_fn, optax.sgd(0.5)))
    compiled = run.lower(train_state, {"f": 2.0}).compile()
    new, metrics = compiled(train_state, {"f": 2.0})
    assert (new.params["w"], metrics["loss"]) == (0.0, 2.0)


def test_make_update__names_a_metric_that_leaks():
    def leaky(loss, state):
        jax.lax.scan(lambda carry, row: (carry, kept.append(row)), 0, jnp.ones(2))
        return loss, (state, {"kept": kept[-1]})

    kept = []
    update, train_state = square(leaky)
    with pytest.raises(LeakedTracerError, match=r"metrics\['kept'\]"):
        update(train_state, {})


def test_make_update__its_step_takes_arguments_by_name_and_the_axis_only_so():
    update, train_state = square(lambda loss, state: (loss, (state, {})))
    after, _ = update(train_state=train_state, batch={})
    assert after.step == 1
    with pytest.raises(TypeError, match="positional"):
        update(train_state, {}, "devices")


def test_make_update__takes_both_by_name_and_its_options_only_so():
    _, train_state = square(None)

    def loss_fn(params, state, rng, batch):
        return jnp.square(params["w"]).sum(), (state, {})

    after, _ = hs.make_update(optimizer=optax.sgd(0.25), loss_fn=loss_fn)(train_state, {})
    assert after.params["w"] == train_state.params["w"] / 2
    with pytest.raises(TypeError, match="positional"):
        hs.make_update(loss_fn, optax.sgd(0.25), False)


def test_make_update__names_a_deleted_batch():
    def loss_fn(params, state, rng, batch):
        return jnp.mean(params["w"] * batch["x"]), (state, {})

    _, train_state = square(None)
    batch = {"x": jnp.ones(3)}
    batch["x"].delete()
    with pytest.raises(DonatedBufferError, match=r"batch\['x'\] was passed"):
        hs.make_update(loss_fn, optax.sgd(0.1))(train_state, batch)
