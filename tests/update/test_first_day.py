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
from support.runners import RUNNERS, four, mesh, two_axes

import haiku_state as hs
from haiku_state.errors import (
    ArgumentError,
    LeadingAxisError,
    LeakedTracerError,
    UnboundAxisError,
)
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
        "loss_fn is GradientTransformationExtraArgs, but it must be loss_fn(params, state, rng, "
        "batch).",
    ),
    "the pair as a loss": (
        lambda: hs.make_update(PAIR, SGD),
        "loss_fn is TransformedWithState, but it must be loss_fn(params, state, rng, batch).",
    ),
    "a loss without a key": (
        lambda: hs.make_update(metrics_fn, SGD),
        "loss_fn is metrics_fn(params, state, batch), but it must be loss_fn(params, state, rng, "
        "batch).",
    ),
    "metrics with a key": (
        lambda: hs.make_evaluate(loss_fn),
        "metrics_fn is loss_fn(params, state, key, batch), but it must be metrics_fn(params, "
        "state, batch).",
    ),
    "shapes as inputs": (
        lambda: hs.init_train_state(
            PAIR.init, SGD, jax.random.key(0), jax.ShapeDtypeStruct((16, 3), np.float32)
        ),
        "inputs[0][0] is float32[16,3], but it must be an array of numbers.",
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
        "train_state is dict, but it must be TrainState.",
    ),
    "params alone": (
        lambda: UPDATE(start().params, BATCH),
        "train_state is dict, but it must be TrainState.",
    ),
    "the whole result": (
        lambda: UPDATE(UPDATE(start(), BATCH), BATCH),
        "train_state is (train_state, metrics), but it must be TrainState.",
    ),
    "the batch first in an evaluation": (
        lambda: hs.make_evaluate(metrics_fn)(BATCH, start()),
        "train_state is dict, but it must be TrainState.",
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


@pytest.mark.parametrize("name", RUNNERS)
def test_a_loss_function_is_no_step(name):
    found = told(lambda: RUNNERS[name](loss_fn))
    assert found.startswith("update is loss_fn(params, state, key, batch), but it must be update(")


@pytest.mark.parametrize("name", ["pmap", "shard_map"])
def test_a_step_of_many_devices_takes_the_name_of_their_axis(name):
    assert told(lambda: RUNNERS[name](lambda total, batch: (total, {}))) == (
        "update is <lambda>(total, batch), but it must be update(train_state, batch, axis_name=…)."
    )


@pytest.mark.parametrize("name", RUNNERS)
def test_what_a_function_wraps_may_have_other_arguments(name):
    def regression_loss(params, batch):
        return jnp.sum(params["w"] * batch)

    @functools.wraps(regression_loss)
    def loss_fn(params, state, rng, batch):
        return regression_loss(params, batch), (state, {})

    update = hs.make_update(loss_fn, SGD)

    @functools.wraps(regression_loss)
    def step(*given, **named):
        return update(*given, **named)

    run = RUNNERS[name](step)
    first = hs.init_train_state(lambda rng: ({"w": jnp.float32(1)}, {}), SGD, jax.random.key(0))
    train_state, _ = run(run.place(first), run.feed(np.ones(8, np.float32)))
    assert run.one(train_state).params["w"] < 1


def test_a_step_of_one_device_needs_no_axis():
    assert hs.jit_update(lambda total, batch: (total + batch, {}))(1.0, 2.0)[0] == 3.0
    assert hs.jit_update(max)  # of C, without a signature


@pytest.mark.filterwarnings("ignore:Python iterable type:DeprecationWarning")
@pytest.mark.parametrize("name", RUNNERS)
def test_an_iterator_is_no_batch(name):
    what = "batch is list_iterator, but it must be an array of numbers."
    assert told(lambda: ran(name, iter([BATCH]))) == what


@pytest.mark.parametrize("name", ["shard", "shard_map", "two axes"])
@pytest.mark.parametrize("where", ["another device", "copied"])
def test_a_batch_that_lies_elsewhere_is_named_and_may_be_fed(name, where):
    place = jax.devices()[5] if where != "copied" else NamedSharding(mesh(), P())
    batch = jax.device_put(BATCH, place)
    with pytest.raises(ArgumentError) as caught:
        ran(name, batch)
    assert caught.value.values["argument"] == "batch['inputs']"
    assert "`feed`" in caught.value.why
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


@pytest.mark.parametrize("name", RUNNERS)
def test_the_batch_first_is_named_on_every_runner(name):
    run = RUNNERS[name](UPDATE)
    train_state = run.place(start())
    assert told(lambda: run(run.feed(BATCH), train_state)) == (
        "train_state is dict, but it must be TrainState."
    )


@pytest.mark.parametrize("name", RUNNERS)
def test_the_whole_result_is_named_on_every_runner(name):
    run = RUNNERS[name](UPDATE)
    result = run(run.place(start()), run.feed(BATCH))
    assert told(lambda: run(result, run.feed(BATCH))) == (
        "train_state is (train_state, metrics), but it must be TrainState."
    )


@pytest.mark.parametrize("name", ["pmap", "shard", "shard_map"])
def test_parts_of_a_batch_with_different_rows_are_named(name):
    """They broadcast: each device got two rows of the one and one row of the other."""
    with pytest.raises(LeadingAxisError) as caught:
        RUNNERS[name](UPDATE).feed({"x": np.ones(8), "y": np.ones(4)})
    assert caught.value.what == (
        "batch['y'] has shape (4,), but batch['x'] has shape (8,): their leading axes differ."
    )


Named = collections.namedtuple("Named", ["inputs", "targets", "mask"])


def test_an_evaluation_reads_the_mask_of_a_named_tuple():
    evaluate = hs.make_evaluate(lambda params, state, batch: ({"error": batch.inputs[:, 0]}, state))
    batch = Named(np.float32([[1], [3], [80]]), np.zeros(3), np.float32([1, 1, 0]))
    assert evaluate(start(), batch) == {"error": 2.0, "examples": 2.0}


def test_a_metric_in_half_precision_is_averaged_in_float32():
    hits = (np.arange(1000) % 1000 < 723).astype(jnp.bfloat16)
    evaluate = hs.make_evaluate(lambda params, state, batch: ({"hits": batch}, state))
    assert evaluate(start(), hits)["hits"] == np.float32(0.723)


def test_a_metric_cannot_have_the_name_of_the_number_of_examples():
    evaluate = hs.make_evaluate(lambda params, state, batch: ({"examples": batch}, state))
    assert 'none of them named "examples"' in told(lambda: evaluate(start(), np.ones(3)))


@pytest.mark.usefixtures("standard_promotion")
def test_a_parameter_may_have_any_name():
    params = {"should_skip": jnp.float32(1), "last_finite": jnp.float32(1)}

    def loss_fn(params, state, rng, batch):
        return params["should_skip"] ** 2 + params["last_finite"], ({"n": state["n"] + 1}, {})

    adam = optax.adam(0.1)
    train_state = hs.init_train_state(
        lambda rng: (params, {"n": jnp.int32(0)}), adam, jax.random.key(0)
    )
    after, _ = hs.make_update(loss_fn, adam)(train_state, ())
    assert after.state["n"] == 1


def test_a_mesh_of_two_axes_splits_the_batch_along_the_first():
    run = hs.shard_map_update(UPDATE, two_axes())
    assert run.axis_name == "devices"
    _, metrics = run(run.place(start()), run.feed(BATCH))
    assert metrics["loss"] == pytest.approx(np.mean(BATCH["targets"] ** 2), rel=1e-6)


@pytest.mark.parametrize("name", ["jit", "pmap", "shard", "shard_map"])
def test_a_metric_that_leaks_is_named(name):
    def step(total, batch, *, axis_name=None):
        jax.lax.scan(lambda carry, row: (carry, kept.append(row)), 0, jnp.ones(2))
        return total, {"kept": kept[-1]}

    kept = []
    run = RUNNERS[name](step)
    with pytest.raises(LeakedTracerError, match=r"metrics\['kept'\]"):
        run(run.place(jnp.float32(0)), run.feed(np.ones(8, np.float32)))


@pytest.mark.parametrize("name", RUNNERS)
def test_an_axis_that_is_not_bound_is_named_with_the_one_that_is(name):
    def step(total, batch, *, axis_name=None):
        return total + jax.lax.pmean(batch.sum(), "batch"), {}

    run = RUNNERS[name](step)
    with pytest.raises(UnboundAxisError) as caught:
        run(run.place(jnp.float32(0)), run.feed(np.ones(8, np.float32)))
    bound = f"averages over the axis '{run.axis_name}'" if run.axis_name else "binds no axis"
    assert caught.value.what == "the axis 'batch' is used, but it is not bound here."
    assert caught.value.why.startswith(f"this runner {bound}")


@pytest.mark.parametrize("name", RUNNERS)
def test_a_step_of_ones_own_may_carry_a_dict(name):
    """An error of its own stays, and is not taken for that of swapped arguments."""

    def step(carried, batch, *, axis_name=None):
        raise LookupError("of the user")

    run = RUNNERS[name](step)
    with pytest.raises(LookupError, match="of the user"):
        run(run.place({"w": jnp.float32(0)}), run.feed(np.ones(8, np.float32)))
