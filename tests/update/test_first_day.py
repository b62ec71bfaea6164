"""What somebody writes on the first day works, or is told in a sentence what it is."""

import collections.abc
import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from support import models
from support.models import line, rows, squared_error, start_from
from support.runners import (
    RUNNERS,
    each,
    each_replicated,
    every_runner,
    four,
    mesh,
    train,
    two_axes,
)
from support.tolerances import FEW_ROUNDINGS
from support.trees import assert_close

import haiku_state as hs
from haiku_state.errors import ArgumentError, LeadingAxisError, UnboundAxisError
from haiku_state.storage import to_numpy

PAIR, BATCH, SGD = line(), rows(), optax.sgd(0.1)
LOSS = pytest.approx(np.mean(BATCH["targets"] ** 2), rel=FEW_ROUNDINGS)
loss_fn = squared_error(PAIR)


def metrics_fn(params, state, batch):
    prediction, state = PAIR.apply(params, state, None, batch["inputs"])
    return {"error": (prediction - batch["targets"]) ** 2}, state


UPDATE = hs.make_update(loss_fn, SGD)


def start(optimizer=SGD):
    return models.start(PAIR, optimizer, BATCH)


def told(call):
    """The first sentence of the error."""
    with pytest.raises(ArgumentError) as caught:
        call()
    return caught.value.what


def ran(runner, batch):
    run = runner(UPDATE)
    return run(run.place(start()), batch)


CALLS = {
    "make_update a function that makes an optimizer": (
        lambda: hs.make_update(loss_fn, optax.sgd),
        "optimizer is sgd, but it must be an Optax optimizer.",
    ),
    "make_update a learning rate": (
        lambda: hs.make_update(loss_fn, 0.1),
        "optimizer is weak float32[], but it must be an Optax optimizer.",
    ),
    "make_update swapped": (
        lambda: hs.make_update(SGD, loss_fn),
        "loss_fn is GradientTransformationExtraArgs, but it must be loss_fn(params, state, rng, "
        "batch).",
    ),
    "make_update the pair": (
        lambda: hs.make_update(PAIR, SGD),
        "loss_fn is TransformedWithState, but it must be loss_fn(params, state, rng, batch).",
    ),
    "make_update a loss without a key": (
        lambda: hs.make_update(metrics_fn, SGD),
        "loss_fn is metrics_fn(params, state, batch), but it must be loss_fn(params, state, rng, "
        "batch).",
    ),
    "make_evaluate metrics with a key": (
        lambda: hs.make_evaluate(loss_fn),
        "metrics_fn is loss_fn(params, state, rng, batch), but it must be metrics_fn(params, "
        "state, batch).",
    ),
    "init_train_state shapes as inputs": (
        lambda: hs.init_train_state(
            PAIR.init, SGD, jax.random.key(0), jax.ShapeDtypeStruct((16, 3), np.float32)
        ),
        "inputs[0][0] is float32[16,3], but it must be an array of numbers.",
    ),
    "init_train_state the pair": (
        lambda: hs.init_train_state(PAIR, SGD, jax.random.key(0), BATCH["inputs"]),
        "init is TransformedWithState, but it must be a function that returns params and state.",
    ),
    "init_train_state a function that makes an optimizer": (
        lambda: start(optax.adam),
        "optimizer is adam, but it must be an Optax optimizer.",
    ),
    "make_update params for the train state": (
        lambda: UPDATE(start().params, BATCH),
        "train_state is dict, but it must be TrainState.",
    ),
    "make_update a list for the train state": (
        lambda: UPDATE([*start()], BATCH),
        "train_state is list, but it must be TrainState.",
    ),
    "make_update the whole result": (
        lambda: UPDATE(UPDATE(start(), BATCH), BATCH),
        "train_state is (train_state, metrics), but it must be TrainState.",
    ),
    "make_evaluate the batch first": (
        lambda: hs.make_evaluate(metrics_fn)(BATCH, start()),
        "train_state is dict, but it must be TrainState.",
    ),
    "replicate a name for the devices": (
        lambda: hs.replicate({"w": jnp.ones(3)}, "i"),
        "devices is 'i', but it must be a list of devices.",
    ),
    "data_mesh a name": (
        lambda: hs.data_mesh("i"),
        "devices is 'i', but it must be a list of devices.",
    ),
    "data_mesh a number": (
        lambda: hs.data_mesh(4),
        "devices is 4, but it must be a list of devices.",
    ),
    "pmap_update a number for the devices": (
        lambda: hs.pmap_update(UPDATE, 4),
        "devices is 4, but it must be a list of devices.",
    ),
    "shard_update a number for the mesh": (
        lambda: hs.shard_update(UPDATE, 4),
        "mesh is weak int32[], but it must be a mesh.",
    ),
    "shard_map_update an axis that does not exist": (
        lambda: hs.shard_map_update(UPDATE, mesh(), "model"),
        "axis_name is 'model', but it must be 'devices'.",
    ),
    "replicate copies": (
        lambda: hs.replicate(hs.replicate({"w": jnp.ones(3)}, four()), four()),
        None,
    ),
    "to_numpy a random key": (
        lambda: to_numpy({}, {"dropout": {"rng": jax.random.key(0)}}),
        "state['dropout']['rng'] is a random key, but it must be an array of numbers.",
    ),
    "vmap_update members of members": (
        lambda: hs.vmap_update(UPDATE).place(hs.vmap_update(UPDATE).place(start())),
        None,
    ),
    "jit_update words": (
        lambda: ran(hs.jit_update, {**BATCH, "names": np.array(["a"] * 16)}),
        "batch['names'] is <U1[16], but it must be an array of numbers.",
    ),
}


@pytest.mark.parametrize("case", CALLS)
def test_haiku_state__names_a_wrong_call(case):
    call, what = CALLS[case]
    found = told(call)
    assert found == what or what is None


@every_runner
def test_runner__refuses_a_loss_function(runner):
    found = told(lambda: runner(loss_fn))
    assert found.startswith("update is loss_fn(params, state, rng, batch), but it must be update(")


@each_replicated
def test_runner__of_many_devices_wants_a_step_with_the_name_of_their_axis(runner):
    assert told(lambda: runner(lambda total, batch: (total, {}))) == (
        "update is <lambda>(total, batch), but it must be update(train_state, batch, axis_name=…)."
    )


@every_runner
def test_runner__takes_a_step_that_wraps_other_arguments(runner):
    def regression_loss(params, batch):
        return jnp.sum(params["w"] * batch)

    @functools.wraps(regression_loss)
    def loss_fn(params, state, rng, batch):
        return regression_loss(params, batch), (state, {})

    update = hs.make_update(loss_fn, SGD)

    @functools.wraps(regression_loss)
    def step(*given, **named):
        return update(*given, **named)

    first = start_from({"w": jnp.float32(1)}, {}, SGD)
    train_state, _ = train(runner(step), first, [np.ones(8, np.float32)])
    assert train_state.params["w"] < 1


def test_jit_update__takes_a_step_without_an_axis():
    assert hs.jit_update(lambda total, batch: (total + batch, {}))(1.0, 2.0)[0] == 3.0
    assert hs.jit_update(max)  # of C, without a signature


@pytest.mark.filterwarnings("ignore:Python iterable type:DeprecationWarning")
@every_runner
def test_runner__refuses_an_iterator_as_batch(runner):
    what = "batch is list_iterator, but it must be an array of numbers."
    assert told(lambda: ran(runner, iter([BATCH]))) == what


@each("shard_update", "shard_map_update", "shard_update two axes")
@pytest.mark.parametrize("where", ["another device", "copied"])
def test_runner__names_a_batch_that_lies_elsewhere_and_feeds_it(runner, where):
    place = jax.devices()[5] if where != "copied" else NamedSharding(mesh(), P())
    batch = jax.device_put(BATCH, place)
    with pytest.raises(ArgumentError) as caught:
        ran(runner, batch)
    assert caught.value.values["argument"] == "batch['inputs']"
    assert "`feed`" in caught.value.why
    assert train(runner(UPDATE), start(), [batch])[1]["loss"] == LOSS


def test_pmap_update__is_fed_from_any_device():
    batch = jax.device_put(BATCH, jax.devices()[5])
    assert train(RUNNERS["pmap_update"](UPDATE), start(), [batch])[1]["loss"] == LOSS


@each("shard_update", "shard_map_update")
@pytest.mark.usefixtures("standard_promotion")
def test_runner__names_a_train_state_of_a_second_optimizer(runner):
    run = runner(UPDATE)
    run(run.place(start()), run.feed(BATCH))
    assert told(lambda: run(run.place(start(optax.adam(0.1))), run.feed(BATCH))).startswith(
        "train_state is "
    )
    run(run.place(start()), run.feed(BATCH))  # and the runner is as it was


@each_replicated
def test_runner__that_compares_replicas_is_not_traced(runner):
    run = runner(UPDATE)
    train_state = run.place(start())
    assert " is traced, but it must be an array." in told(
        lambda: jax.jit(run)(train_state, run.feed(BATCH))
    )


@each_replicated
@pytest.mark.parametrize("compiled", [jax.jit, hs.jit_update])
def test_runner__gives_a_compiled_step_no_axis(runner, compiled):
    assert told(lambda: runner(compiled(UPDATE))).endswith(
        "but it must be a step that is not compiled."
    )


def test_shard_update__around_a_runner_has_its_own_devices():
    """Its fields were those of the inner one, so that nothing was sharded."""
    run = RUNNERS["shard_update"](hs.jit_update(UPDATE))
    assert run.many_devices
    train_state, _ = run(run.place(start()), run.feed(BATCH))
    assert len(train_state.step.sharding.device_set) == 4


@every_runner
@pytest.mark.usefixtures("standard_promotion")
def test_runner__trains_sam_as_a_plain_loop_does(runner):
    def sam():
        ascent = optax.chain(optax.contrib.normalize(), optax.sgd(0.05))
        return optax.contrib.sam(optax.sgd(0.1), ascent, sync_period=2)

    first = start(sam())
    params, opt_state = first.params, sam().init(first.params)
    for _ in range(4):
        grads = jax.grad(loss_fn, has_aux=True)(params, first.state, None, BATCH)[0]
        updates, opt_state = sam().update(grads, opt_state, params)
        params = optax.apply_updates(params, updates)
    train_state, _ = train(runner(hs.make_update(loss_fn, sam())), first, 4 * [BATCH])
    assert_close(train_state.params, params)


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


@every_runner
def test_runner__keeps_a_dataclass_that_is_a_mapping(runner):
    def step(train_state, batch, *, axis_name=None):
        return Counted(train_state.count + 1), {}

    train_state, _ = train(runner(step), Counted(jnp.float32(0)), [np.ones(4, np.float32)])
    assert train_state.count == 1


@every_runner
def test_runner__names_the_batch_first(runner):
    run = runner(UPDATE)
    train_state = run.place(start())
    assert told(lambda: run(run.feed(BATCH), train_state)) == (
        "train_state is dict, but it must be TrainState."
    )


@every_runner
def test_runner__names_the_whole_result(runner):
    run = runner(UPDATE)
    result = run(run.place(start()), run.feed(BATCH))
    assert told(lambda: run(result, run.feed(BATCH))) == (
        "train_state is (train_state, metrics), but it must be TrainState."
    )


@each("pmap_update", "shard_update", "shard_map_update")
def test_runner__feed_names_parts_with_different_rows(runner):
    """They broadcast: each device got two rows of the one and one row of the other."""
    with pytest.raises(LeadingAxisError) as caught:
        runner(UPDATE).feed({"x": np.ones(8), "y": np.ones(4)})
    assert caught.value.what == (
        "batch['y'] has shape (4,), but batch['x'] has shape (8,): their leading axes differ."
    )


@pytest.mark.usefixtures("standard_promotion")
def test_make_update__a_parameter_may_have_any_name():
    params = {"should_skip": jnp.float32(1), "last_finite": jnp.float32(1)}

    def loss_fn(params, state, rng, batch):
        return params["should_skip"] ** 2 + params["last_finite"], ({"n": state["n"] + 1}, {})

    adam = optax.adam(0.1)
    train_state = start_from(params, {"n": jnp.int32(0)}, adam)
    after, _ = hs.make_update(loss_fn, adam)(train_state, ())
    assert after.state["n"] == 1


def test_shard_map_update__splits_the_batch_along_the_first_of_two_axes():
    run = hs.shard_map_update(UPDATE, two_axes())
    assert run.axis_name == "devices"
    assert train(run, start(), [BATCH])[1]["loss"] == LOSS


@every_runner
def test_runner__names_an_axis_that_is_not_bound_with_the_one_that_is(runner):
    def step(total, batch, *, axis_name=None):
        return total + jax.lax.pmean(batch.sum(), "batch"), {}

    run = runner(step)
    with pytest.raises(UnboundAxisError) as caught:
        run(run.place(jnp.float32(0)), run.feed(np.ones(8, np.float32)))
    bound = f"averages over the axis '{run.axis_name}'" if run.axis_name else "binds no axis"
    assert caught.value.what == "the axis 'batch' is used, but it is not bound here."
    assert caught.value.why.startswith(f"this runner {bound}")


@every_runner
def test_runner__lets_an_error_of_a_step_that_carries_a_dict_pass(runner):
    """An error of its own stays, and is not taken for that of swapped arguments."""

    def step(carried, batch, *, axis_name=None):
        raise LookupError("of the user")

    run = runner(step)
    with pytest.raises(LookupError, match="of the user"):
        run(run.place({"w": jnp.float32(0)}), run.feed(np.ones(8, np.float32)))
