"""What somebody writes on the first day works, or is told in a sentence what it is."""

import collections
import dataclasses
import functools
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from runners import RUNNERS, four, mesh

import haiku_state as hs
from haiku_state.errors import ArgumentError
from haiku_state.storage import to_numpy

PAIR = hs.pure_pair(lambda x: hs.LinearRegression()(x, True))
RNG = np.random.default_rng(0)
BATCH = {
    "inputs": RNG.normal(size=(16, 3)).astype(np.float32),
    "targets": RNG.normal(size=16).astype(np.float32),
}
SGD = optax.sgd(0.1)


def loss_fn(params, state, key, batch):
    prediction, state = PAIR.apply(params, state, key, batch["inputs"])
    return jnp.mean((prediction - batch["targets"]) ** 2), (state, {})


def metrics_fn(params, state, batch):
    prediction, state = PAIR.apply(params, state, None, batch["inputs"])
    return {"error": (prediction - batch["targets"]) ** 2}, state


UPDATE = hs.make_update(loss_fn, SGD)


def start(optimizer=SGD):
    return hs.init_train_state(PAIR.init, optimizer, jax.random.key(0), BATCH["inputs"])


def told(call):
    """The first sentence of the error."""
    with pytest.raises(ArgumentError) as caught:
        call()
    return caught.value.what


def ran(name, batch=BATCH, step=UPDATE):
    run = RUNNERS[name](step)
    return run(run.place(start()), batch)


CALLS = {
    "a function that makes an optimizer": (
        lambda: hs.make_update(loss_fn, optax.sgd),
        "optimizer is sgd, but it must be an Optax optimizer.",
    ),
    "a learning rate": (
        lambda: hs.make_update(loss_fn, 0.1),
        "optimizer is weak float32[], but it must be an Optax optimizer.",
    ),
    "swapped": (
        lambda: hs.make_update(SGD, loss_fn),
        "loss_fn is GradientTransformationExtraArgs, but it must be a function of `(params, state, "
        "rng, batch)`.",
    ),
    "the pair as a loss": (
        lambda: hs.make_update(PAIR, SGD),
        "loss_fn is TransformedWithState, but it must be a function of `(params, state, rng, "
        "batch)`.",
    ),
    "the pair as an init": (
        lambda: hs.init_train_state(PAIR, SGD, jax.random.key(0), BATCH["inputs"]),
        "init is TransformedWithState, but it must be a function that returns params and state.",
    ),
    "a train state for a function that makes an optimizer": (
        lambda: start(optax.adam),
        "optimizer is adam, but it must be an Optax optimizer.",
    ),
    "the batch first": (
        lambda: hs.jit_update(UPDATE)(BATCH, start()),
        "train_state is dict, but it must be a TrainState.",
    ),
    "params alone": (
        lambda: UPDATE(start().params, BATCH),
        "train_state is dict, but it must be a TrainState.",
    ),
    "the whole result": (
        lambda: UPDATE(UPDATE(start(), BATCH), BATCH),
        "train_state is (train_state, metrics), but it must be a TrainState.",
    ),
    "the batch first in an evaluation": (
        lambda: hs.make_evaluate(metrics_fn)(BATCH, start()),
        "train_state is dict, but it must be a TrainState.",
    ),
    "replicate to a name": (
        lambda: hs.replicate({"w": jnp.ones(3)}, "i"),
        "devices is 'i', but it must be a list of devices.",
    ),
    "a mesh of a name": (
        lambda: hs.data_mesh("i"),
        "devices is 'i', but it must be a list of devices.",
    ),
    "a mesh of a number": (
        lambda: hs.data_mesh(4),
        "devices is 4, but it must be a list of devices.",
    ),
    "pmap with a number": (
        lambda: hs.pmap_update(UPDATE, 4),
        "devices is 4, but it must be a list of devices.",
    ),
    "shard with a number": (
        lambda: hs.shard_update(UPDATE, 4),
        "mesh is weak int32[], but it must be a mesh.",
    ),
    "shard with an axis that does not exist": (
        lambda: hs.shard_map_update(UPDATE, mesh(), "model"),
        "axis_name is 'model', but it must be 'devices'.",
    ),
    "copies of copies": (
        lambda: hs.replicate(hs.replicate({"w": jnp.ones(3)}, four()), four()),
        None,
    ),
    "a random key for NumPy": (
        lambda: to_numpy({}, {"dropout": {"rng": jax.random.key(0)}}),
        "state['dropout']['rng'] is a random key, but it must be an array of numbers.",
    ),
    "members of members": (
        lambda: hs.vmap_update(UPDATE).place(hs.vmap_update(UPDATE).place(start())),
        None,
    ),
    "words": (
        lambda: ran("jit", {**BATCH, "names": np.array(["a"] * 16)}),
        "batch['names'] is <U1[16], but it must be an array of numbers.",
    ),
}


@pytest.mark.parametrize("case", CALLS)
def test_a_call_is_named(case):
    call, what = CALLS[case]
    found = told(call)
    assert found == what or what is None


@pytest.mark.parametrize("name", ["shard", "shard_map", "two axes"])
@pytest.mark.parametrize("where", ["another device", "copied"])
def test_a_batch_that_lies_elsewhere_is_named_and_may_be_fed(name, where):
    place = jax.devices()[5] if where != "copied" else NamedSharding(mesh(), P())
    batch = jax.device_put(BATCH, place)
    with pytest.raises(ArgumentError) as caught:
        ran(name, batch)
    assert caught.value.values["argument"] == "batch['inputs']"
    assert caught.value.values["right"] == "run(…, run.feed(…))"
    run = RUNNERS[name](UPDATE)
    _, metrics = run(run.place(start()), run.feed(batch))
    assert metrics["loss"] == pytest.approx(np.mean(BATCH["targets"] ** 2), rel=1e-6)


def test_pmap_is_fed_from_any_device():
    run = RUNNERS["pmap"](UPDATE)
    _, metrics = run(run.place(start()), run.feed(jax.device_put(BATCH, jax.devices()[5])))
    assert metrics["loss"] == pytest.approx(np.mean(BATCH["targets"] ** 2), rel=1e-6)


@pytest.mark.parametrize("name", ["shard", "shard_map"])
@pytest.mark.usefixtures("standard_promotion")
def test_a_train_state_of_a_second_optimizer_is_named(name):
    run = RUNNERS[name](UPDATE)
    run(run.place(start()), run.feed(BATCH))
    assert told(lambda: run(run.place(start(optax.adam(0.1))), run.feed(BATCH))).startswith(
        "train_state is "
    )
    run(run.place(start()), run.feed(BATCH))  # and the runner is as it was


@pytest.mark.parametrize("name", ["pmap", "shard_map"])
def test_a_runner_that_compares_replicas_is_not_traced(name):
    run = RUNNERS[name](UPDATE)
    train_state = run.place(start())
    assert " is traced, but it must be an array." in told(
        lambda: jax.jit(run)(train_state, run.feed(BATCH))
    )


@pytest.mark.parametrize("name", ["pmap", "shard_map"])
@pytest.mark.parametrize("compiled", [jax.jit, hs.jit_update])
def test_a_compiled_step_cannot_be_given_an_axis(name, compiled):
    assert told(lambda: RUNNERS[name](compiled(UPDATE))).endswith(
        "but it must be a step that is not compiled."
    )


def test_a_runner_around_a_runner_has_its_own_devices():
    """Its fields were those of the inner one, so that nothing was sharded."""
    run = RUNNERS["shard"](hs.jit_update(UPDATE))
    assert run.many_devices
    train_state, _ = run(run.place(start()), run.feed(BATCH))
    assert len(train_state.step.sharding.device_set) == 4


@pytest.mark.parametrize("name", RUNNERS)
@pytest.mark.usefixtures("standard_promotion")
def test_sam_trains_as_in_a_plain_loop(name):
    def sam():
        ascent = optax.chain(optax.contrib.normalize(), optax.sgd(0.05))
        return optax.contrib.sam(optax.sgd(0.1), ascent, sync_period=2)

    first = start(sam())
    params, opt_state = first.params, sam().init(first.params)
    for _ in range(4):
        grads = jax.grad(loss_fn, has_aux=True)(params, first.state, None, BATCH)[0]
        updates, opt_state = sam().update(grads, opt_state, params)
        params = optax.apply_updates(params, updates)
    run = RUNNERS[name](hs.make_update(loss_fn, sam()))
    train_state = run.place(first)
    for _ in range(4):
        train_state, _metrics = run(train_state, run.feed(BATCH))
    found = run.one(train_state).params["linear_regression"]
    np.testing.assert_allclose(found["w"], params["linear_regression"]["w"], atol=1e-6)


@functools.partial(jax.tree_util.register_dataclass, data_fields=["count"], meta_fields=[])
@dataclasses.dataclass
class Counted(collections.abc.Mapping):
    """As ``chex.dataclass`` makes them: old Optax has such states."""

    count: Any

    def __getitem__(self, name):
        return getattr(self, name)

    def __iter__(self):
        return iter(["count"])

    def __len__(self):
        return 1


@pytest.mark.parametrize("name", RUNNERS)
def test_a_dataclass_that_is_a_mapping_stays_what_it_is(name):
    def step(train_state, batch, *, axis_name=None):
        return Counted(train_state.count + 1), {}

    run = RUNNERS[name](step)
    counted = Counted(jnp.float32(0))
    train_state, _ = run(run.place(counted), run.feed(np.ones(4, np.float32)))
    assert run.one(train_state).count == 1


@pytest.mark.skipif(jax.__version_info__ < (0, 9), reason="older JAX does not name the leaf")
@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize("norm", [hs.BatchNorm, hk.BatchNorm])
def test_batch_norm_inside_vmap_is_named(norm):
    def mapped(x):
        return hk.vmap(norm(True, True, 0.9), in_axes=(0, None), split_rng=False)(x, True)

    pair = hs.pure_pair(mapped)
    found = told(lambda: pair.init(jax.random.key(0), jnp.ones((2, 4, 3))))
    assert found == (
        "state['batch_norm/~/mean_ema']['average'] is one value for each row, but it must be one "
        "value for all rows."
    )
