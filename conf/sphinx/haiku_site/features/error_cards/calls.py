"""What people run into: the calls that fail.

python conf/sphinx/haiku_site/features/error_cards/calls.py

runs each of them in each language, and prints what its error says as JSON: the error catalogue and
the page of problems show it, and ``tests/errors/words.txt`` has all of it to read. The numbers are
those of the page ``docs/reference/problems.md``.
"""

import contextlib
import functools
import importlib
import json
import os
import random
import sys
import tempfile
import textwrap
import warnings
from pathlib import Path
from unittest import mock

if __name__ == "__main__":  # before JAX starts
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import haiku as hk
import jax
import jax.numpy as jnp
import jmp
import numpy as np
import optax
from jax.experimental import io_callback
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import haiku_state as hs
from haiku_state import errors
from haiku_state.errors.base import LABELS
from haiku_state.errors.language import languages, reading, translated
from haiku_state.errors.versions import matched_versions

FOUR = jax.devices()[:4]
KEY = jax.random.key(0)
SGD = optax.sgd(0.1)
X = jnp.asarray(np.random.default_rng(0).normal(1, 2, (8, 4)), jnp.float32)

NORM = hs.pure_pair(hs.BatchNorm, True, True, 0.9)
HAIKUS = hs.pure_pair(hk.BatchNorm, True, True, 0.9)
COUNTER = hs.pure_pair(hs.Counter)
LINEAR = hs.pure_pair(hk.Linear, 4)
HAIKUS_LINEAR = hk.transform_with_state(lambda x: hk.Linear(1)(x))
HAIKUS_NORM = hk.transform_with_state(lambda x: hk.BatchNorm(True, True, 0.9)(x, True))
HAIKUS_DROPOUT = hk.transform_with_state(lambda x: hk.dropout(hk.next_rng_key(), 0.5, x))


def trained(pair=NORM, **inputs):
    return pair.init(KEY, X, **(inputs or {"is_training": True}))


def stack(tree):
    return jax.tree.map(lambda leaf: jnp.stack([leaf] * 4), tree)


def model(axis=None):
    return hs.pure_pair(hs.LinearRegression, True, cross_replica_axis=axis)


def loss_of(apply):
    def loss_fn(params, state, rng, batch):
        prediction, state = apply(params, state, rng, batch["x"], True)
        return jnp.mean(jnp.square(prediction)), (state, {})

    return loss_fn


def start(pair, *inputs):
    return hs.init_train_state(pair.init, SGD, KEY, *inputs)


def step(apply, train_state, **strict):
    return hs.jit_update(hs.make_update(loss_of(apply), SGD, **strict))(train_state, {"x": X})


def branch(x, is_training):
    """The layer of the training branch is never made by an init in evaluation."""
    return hk.Linear(4, name="head")(x) if is_training else x


def looks_back(x, is_training):
    """State of a branch that an init in evaluation does not visit."""
    return hs.Counter()() if is_training else jnp.zeros((), jnp.int32)


class Tally:
    """An ordinary class."""

    def __init__(self):
        self.count = 0


def scanned(rows):
    """Count the rows inside a loop of JAX, which does not know of the state."""
    counter = hs.Counter()
    return jax.lax.scan(lambda carry, row: (carry, counter()), jnp.zeros(()), rows)[1]


def leaked_state():
    """What plain Haiku silently returns."""
    pair = hk.transform_with_state(scanned)
    return pair.apply({}, COUNTER.init(None)[1], None, X)[1]


def vmapped(rows):
    def keep(row):
        hk.set_state("last", row)
        return row

    return jax.vmap(keep)(rows)


def total(x):
    """A sum that starts as an integer, to which a float is added."""
    total = hk.get_state("total", (), jnp.int32, init=jnp.zeros) + 1.5
    hk.set_state("total", total)
    return total


def drifting_loss(params, state, rng, batch):
    _, state = hs.pure_pair(total).apply({}, state, None, batch["x"])
    return jnp.sum(params["w"]), (state, {})


def without_key(params, state, rng, x, is_training):
    return HAIKUS_LINEAR.apply(params, state, x)


def without_state(params, state, rng, x, is_training):
    return HAIKUS_LINEAR.apply(params, x, rng)


def used_twice():
    train_state = start(model(), X, True)
    update = hs.jit_update(hs.make_update(loss_of(model().apply), SGD))
    update(train_state, {"x": X})
    return update(train_state, {"x": X})


def read_after_donation():
    train_state = start(model(), X, True)
    step(model().apply, train_state)
    return model().apply(train_state.params, train_state.state, None, X, False)


def target_network():
    """A train state that holds its params a second time."""

    def loss_fn(params, state, rng, batch):
        return jnp.sum(params["w"]), (state, {})

    params = {"w": jnp.ones(3)}
    train_state = start(hk.TransformedWithState(lambda rng: (params, {}), None))
    train_state = train_state._replace(state={"target": train_state.params})
    return hs.jit_update(hs.make_update(loss_fn, SGD))(train_state, {"x": X})


def on_four(axis, check_replicas=True):
    train_state = hs.replicate(start(model(axis), X, True), FOUR)
    update = hs.make_update(loss_of(model(axis).apply), SGD)
    run = hs.pmap_update(update, FOUR, check_replicas=check_replicas)
    return run(train_state, hs.split_batch({"x": X}, 4))


def pmapped(train_state, batch):
    update = hs.make_update(loss_of(model("devices").apply), SGD)
    return hs.pmap_update(update, FOUR)(train_state, batch)


def ready(axis="devices"):
    return start(model(axis), X, True)


def dropped_state(params, state, rng, batch):
    prediction, _ = model().apply(params, state, rng, batch["x"], True)
    return jnp.mean(jnp.square(prediction)), (state, {})


def spread(tree):
    return hs.replicate(tree, FOUR)


PROBLEMS = {
    "1 state under hk.transform": lambda: hs.init_train_state(
        hk.transform(lambda: hs.Counter()()).init, SGD, KEY
    ),
    "1 params alone": lambda: hs.init_train_state(
        hk.transform(lambda x: hk.Linear(2)(x)).init, SGD, KEY, X
    ),
    "1 the class itself": lambda: hs.init_train_state(
        hk.transform_with_state(hs.Counter).init, SGD, KEY, X
    ),
    "1 a module for an output": lambda: hs.pure_pair(lambda: hs.Counter()).init(None),
    "1 an init of one's own that returns params alone": lambda: hs.init_train_state(
        lambda rng: {"w": jnp.ones(3)}, SGD, KEY
    ),
    "1 neither": lambda: hs.pure_pair(3),
    "1 an ordinary class": lambda: hs.pure_pair(Tally),
    "2 init in evaluation": lambda: NORM.init(KEY, X, is_training=False),
    "2 init of Haiku's in evaluation": lambda: HAIKUS.init(KEY, X, is_training=False),
    "2 evaluation with an empty state": lambda: NORM.apply(
        trained()[0], {}, None, X, is_training=False
    ),
    "2 evaluation of Haiku's with an empty state": lambda: HAIKUS.apply(
        trained()[0], {}, None, X, is_training=False
    ),
    "2 a moving average without a value": lambda: hs.pure_pair(
        lambda: hs.ExponentialMovingAverage(0.9, name="loss").average
    ).init(None),
    "2 Haiku's moving average without a value": lambda: hs.pure_pair(
        lambda: hk.ExponentialMovingAverage(0.9, name="loss").average
    ).init(None),
    "2 state without a first value": lambda: hs.pure_pair(lambda: hk.get_state("total")).init(None),
    "4 is_training traced": lambda: jax.jit(NORM.apply)(*trained(), None, X, True),
    "4 is_training traced in Haiku's": lambda: jax.jit(HAIKUS.apply)(
        *trained(), None, X, is_training=True
    ),
    "4 is_training traced in init": lambda: jax.jit(NORM.init)(KEY, X, is_training=True),
    "5 rng left out": lambda: LINEAR.apply(*LINEAR.init(KEY, X), X),
    "5 rng left out of init": lambda: LINEAR.init(X),
    "5 state left out": lambda: LINEAR.apply(LINEAR.init(KEY, X)[0], KEY, X),
    "5 the pair of both for params": lambda: LINEAR.apply(LINEAR.init(KEY, X), {}, None, X),
    "5 rng left out of plain Haiku's apply": lambda: hs.make_update(loss_of(without_key), SGD)(
        ready(None), {"x": X}
    ),
    "5 inputs for the state of plain Haiku's apply": lambda: hs.make_update(
        loss_of(without_state), SGD
    )(ready(None), {"x": X}),
    "20 no key to draw from": lambda: hs.pure_pair(
        lambda x: hk.dropout(hk.next_rng_key(), 0.5, x)
    ).apply({}, {}, None, X),
    "20 no key to draw params from": lambda: LINEAR.init(None, X),
    "6 a parameter of a branch that init skips": lambda: hs.pure_pair(branch).apply(
        *hs.pure_pair(branch).init(KEY, X, False), None, X, True
    ),
    "6 params of a different model": lambda: LINEAR.apply({"mlp": {"w": X}}, {}, None, X),
    "6 params of a module without a bias": lambda: LINEAR.apply(
        {"linear": {"w": jnp.ones((4, 4))}}, {}, None, X
    ),
    "6 params and state swapped": lambda: LINEAR.apply(
        {"counter": {"count": 1}}, LINEAR.init(KEY, X)[0], None, X
    ),
    "6 state of a branch that init skips": lambda: hs.pure_pair(looks_back).apply(
        {}, {}, None, X, True
    ),
    "6 an empty state in training": lambda: step(model().apply, ready(None)._replace(state={})),
    "6 a renamed module": lambda: hs.pure_pair(hs.Counter, name="steps").apply(
        {}, {"counter": {"count": jnp.int32(3)}}, None
    ),
    "8 a module in a plain loss function": lambda: step(
        lambda params, state, rng, x, _: (hk.Linear(1)(x), state), ready(None)
    ),
    "8 a parameter in a plain loss function": lambda: step(
        lambda params, state, rng, x, _: (hk.get_parameter("w", (), init=jnp.ones), state),
        ready(None),
    ),
    "8 a plain function for init": lambda: hs.init_train_state(
        lambda rng, x: hs.LinearRegression()(x, True), SGD, KEY, X
    ),
    "12 jax.lax.scan around a module, at init": lambda: hs.pure_pair(scanned).init(None, X),
    "12 jax.lax.scan around a module": lambda: hs.pure_pair(scanned).apply(
        {}, COUNTER.init(None)[1], None, X
    ),
    "12 the same, compiled": lambda: jax.jit(hs.pure_pair(scanned).apply)(
        {}, COUNTER.init(None)[1], None, X
    ),
    "12 the next use of a leaked state": lambda: COUNTER.apply({}, leaked_state(), None),
    "12 jax.vmap around set_state": lambda: hs.pure_pair(vmapped).init(None, X),
    "16 a dtype that drifts": lambda: hs.pure_pair(total).apply(
        {}, {"~": {"total": jnp.int32(0)}}, None, X
    ),
    "16 a dtype that drifts in an update": lambda: hs.jit_update(
        hs.make_update(drifting_loss, SGD)
    )(
        hs.init_train_state(
            lambda rng: ({"w": jnp.ones(2)}, {"~": {"total": jnp.int32(0)}}), SGD, KEY
        ),
        {"x": X},
    ),
    "21 a train state used twice": used_twice,
    "21 a train state read afterwards": read_after_donation,
    "21 one array twice": target_network,
    "23 an axis that nothing binds": lambda: step(model("devices").apply, ready()),
    "23 at Haiku's init": lambda: hs.pure_pair(
        hk.BatchNorm, True, True, 0.9, cross_replica_axis="i"
    ).init(KEY, X, True),
    "23 at an init of one's own": lambda: hs.pure_pair(lambda x: jax.lax.pmean(x, "i")).init(
        None, X
    ),
    "27 a train state without the axis": lambda: pmapped(ready(), hs.split_batch({"x": X}, 4)),
    "27 a batch without the axis": lambda: pmapped(spread(ready()), {"x": X}),
    "27 unreplicate without the axis": lambda: hs.unreplicate(ready()),
    "28 stacked statistics in evaluation": lambda: NORM.apply(
        trained()[0], stack(trained()[1]), None, X, is_training=False
    ),
    "28 everything stacked in evaluation": lambda: NORM.apply(
        *stack(trained()), None, X, is_training=False
    ),
    "28 stacked statistics of Haiku's": lambda: HAIKUS.apply(
        trained()[0], stack(trained()[1]), None, X, is_training=False
    ),
    "28 stacked params": lambda: LINEAR.apply(stack(LINEAR.init(KEY, X)[0]), {}, None, X),
    "28 a stacked train state on one device": lambda: step(model().apply, stack(ready(None))),
    "28 saved without unreplicate": lambda: hs.storage.to_numpy(*spread(trained())),
}
"""Calls that fail, by the number of their problem and what they do."""


def switch(row):
    """Count the rows that are positive."""
    count = hk.get_state("count", (), jnp.int32, init=jnp.zeros)
    hk.cond(row.sum() > 0, lambda: hk.set_state("count", count + 1), lambda: None)
    return row


def switched():
    pair = hk.transform_with_state(lambda rows: hk.vmap(switch, split_rng=False)(rows))
    return pair.apply(*pair.init(KEY, X), None, X)


def donated_twice():
    add = jax.jit(lambda a, b: (a + 1, b + 1), donate_argnums=(0, 1))
    array = jnp.ones(3)
    return add(array, array)


def donated_in_vain():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jax.jit(jnp.sum, donate_argnums=0)(jnp.ones(3))


def donated(use):
    """Use an array after a call that it was donated to."""
    array = jnp.ones(3)
    jax.jit(lambda w: w + 1, donate_argnums=0)(array)
    return use(array)


def on_explicit_axis():
    mesh = jax.make_mesh((4,), ("data",))
    rows = jax.device_put(X, NamedSharding(mesh, P("data")))
    return jax.shard_map(lambda x: x, mesh=mesh, in_specs=P(), out_specs=P())(rows)


def without_a_sum():
    mesh = Mesh(np.array(FOUR), "data")
    total = jax.shard_map(lambda x: x.sum(0), mesh=mesh, in_specs=P("data"), out_specs=P())
    return jax.jit(total)(X)


def connected_late():
    jax.devices()
    jax.distributed.initialize("localhost:1234", 1, 0)


def more_devices():
    jax.devices()
    jax.config.update("jax_num_cpu_devices", 16)


def dict_in_file():
    np.savez("params.npz", params={"w": np.ones(3)})
    with np.load("params.npz") as arrays:
        return arrays["params"]


def table_in_cache():
    table = functools.cache(jnp.arange)
    jax.jit(lambda x: x + table(3))(1)
    return table(3) + 1


def in_parts(function):
    """Run a function on the rows of each device."""
    mesh = Mesh(np.array(FOUR), "data")
    return jax.shard_map(function, mesh=mesh, in_specs=P("data"), out_specs=P("data"))(X)


def on_a_mesh_of_two():
    two, four = (Mesh(np.array(devices), "data") for devices in (FOUR[:2], FOUR))
    rows = jax.device_put(X, NamedSharding(four, P("data")))
    with jax.set_mesh(two):
        return jax.jit(jnp.sin)(rows)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def scaled(factor, x):
    """A function whose backward rule does not take what is not differentiated."""
    return factor * x


def backward(residuals, g):
    return (g,)


scaled.defvjp(lambda factor, x: (factor * x, None), backward)


def on_host(callback, **options):
    """Return a function that asks the host for its result."""
    return lambda x: callback(np.sin, jax.ShapeDtypeStruct((), X.dtype), x, **options)


def in_mode(x, is_training):
    return hk.BatchNorm(True, True, 0.9)(x, is_training)


def shapes_alone():
    return jax.eval_shape(HAIKUS_LINEAR.init, KEY, X)


def lifted(x):
    return hk.lift(HAIKUS_NORM.init)(None, x)


def lifted_with_state(x):
    init, _updater = hk.lift_with_state(HAIKUS_NORM.init)
    return init(None, x)


def of_an_old_file():
    params, _ = LINEAR.init(KEY, X)
    old = hk.data_structures.to_immutable_dict(params)
    return jax.tree.map(jnp.add, old, params)


PLAIN = {
    "3 no has_aux": (
        lambda: jax.value_and_grad(lambda w: (w**2, {}))(1.0),
        "TypeError: Gradient only defined for scalar-output functions",
    ),
    "12 the next use of a leaked state": (
        lambda: leaked_state()["counter"]["count"] + 1,
        "UnexpectedTracerError: Encountered an unexpected tracer",
    ),
    "13 split_rng in init": (
        lambda: hk.transform(lambda x: hk.vmap(hk.Linear(2), split_rng=True)(x)).init(KEY, X),
        "ValueError: hk.vmap does not support setting split_rng to True during initialization",
    ),
    "14 state under hk.cond": (switched, "got axis spec None but output was batched on axis 0"),
    "16 another type": (
        lambda: jax.lax.scan(lambda total, x: (total + x, x), jnp.int32(0), jnp.ones(3)),
        "TypeError: scan body function carry input and carry output must have equal types",
    ),
    "16 another structure": (
        lambda: jax.lax.scan(lambda state, x: ({"x": x}, x), {}, jnp.ones(3)),
        "TypeError: scan body function carry input and carry output must have the same pytree",
    ),
    "20 no key": (
        lambda: HAIKUS_DROPOUT.apply({}, {}, None, X),
        "MissingRNGError: You must pass a non-None PRNGKey to init and/or apply",
    ),
    "21 computed with": (
        lambda: donated(lambda array: array + 1),
        "RuntimeError: Array has been deleted with shape=float32[3].",
    ),
    "21 twice in one call": (donated_twice, "Attempt to donate the same buffer twice"),
    "21 not usable": (donated_in_vain, "UserWarning: Some donated buffers were not usable"),
    "26 rows that do not divide": (
        lambda: jax.device_put(np.ones((30, 4)), NamedSharding(Mesh(np.array(FOUR), "d"), P("d"))),
        "implies that array axis 0 is partitioned 4 times, but the dimension size is 30",
    ),
    "29 put on each device": (
        lambda: jax.device_put_replicated(X, FOUR),
        "AttributeError: jax.device_put_replicated is deprecated",
    ),
    "30 explicit axes": (on_explicit_axis, "ValueError: in_specs passed to shard_map"),
    "30 replicas that may differ": (
        without_a_sum,
        "out_specs which require replication which can't be statically inferred",
    ),
    "31 the option set late": (
        more_devices,
        "RuntimeError: jax_num_cpu_devices config should be updated before backends",
    ),
    "32 connected late": (
        connected_late,
        "RuntimeError: jax.distributed.initialize() must be called before any JAX calls",
    ),
    "34 a dict in a file": (dict_in_file, "ValueError: Object arrays cannot be loaded"),
    "36 an old Haiku": (
        lambda: jax.linear_util,
        "AttributeError: module 'jax' has no attribute 'linear_util'",
    ),
    "36 an old name": (
        lambda: jax.tree_map(jnp.sin, X),
        "AttributeError: module 'jax' has no attribute 'tree_map'",
    ),
    "37 a list": (
        lambda: jax.jit(lambda sizes, x: x, static_argnums=0)([2, 3], X),
        "ValueError: Non-hashable static arguments are not supported",
    ),
    "38 the next use of a table": (
        table_in_cache,
        "UnexpectedTracerError: Encountered an unexpected tracer",
    ),
    "39 two kinds of mappings": (
        of_an_old_file,
        "ValueError: pytree structure error: different types at key path",
    ),
    "44 one row at a time": (
        lambda: HAIKUS_NORM.apply(*HAIKUS_NORM.init(KEY, X), None, X[0]),
        "ValueError: 'batch_norm/scale' with retrieved shape (1, 4) does not match shape=[4]",
    ),
    "42 a second name": (
        lambda: donated(np.asarray),
        "RuntimeError: Array has been deleted with shape=float32[3].",
    ),
    "45 a carry that varies": (
        lambda: in_parts(
            lambda x: jax.lax.scan(lambda total, row: (total + row.sum(), row), 0.0, x)[0]
        ),
        "so the manual axis types do not match",
    ),
    "45 a branch that varies": (
        lambda: in_parts(lambda x: jax.lax.cond(True, lambda: x.sum(), lambda: 0.0)),
        "so the manual axis types do not match",
    ),
    "46 no mesh for shard_map": (
        lambda: jax.shard_map(jnp.sin, in_specs=P("data"), out_specs=P("data"))(X),
        "ValueError: The context mesh cannot be empty.",
    ),
    "46 no mesh for a constraint": (
        lambda: jax.lax.with_sharding_constraint(X, P("data")),
        "RuntimeError: with_sharding_constraint requires a non-empty mesh in context",
    ),
    "46 no mesh for an array": (
        lambda: jax.device_put(X, P("data")),
        "ValueError: Please set a mesh via `jax.set_mesh`",
    ),
    "46 different devices": (
        on_a_mesh_of_two,
        "ValueError: Received incompatible devices for jitted computation.",
    ),
    "47 an argument more": (
        lambda: jax.grad(lambda x: scaled(2.0, x))(1.0),
        "TypeError: backward() takes 2 positional arguments but 3 were given",
    ),
    "47 a tracer": (
        lambda: jax.jit(jax.grad(lambda x, factor: scaled(factor, x)))(1.0, 2.0),
        "UnexpectedTracerError: Found a JAX Tracer object passed as an argument to a custom_vjp",
    ),
    "48 a pure callback": (
        lambda: jax.grad(on_host(jax.pure_callback))(1.0),
        "ValueError: Pure callbacks do not support JVP.",
    ),
    "48 a callback with effects": (
        lambda: jax.grad(on_host(io_callback))(1.0),
        "ValueError: IO callbacks do not support JVP.",
    ),
    "48 an ordered callback": (
        lambda: jax.vmap(on_host(io_callback, ordered=True))(X[0]),
        "ValueError: Cannot `vmap` ordered IO callback.",
    ),
    "49 computed with": (
        lambda: jax.eval_shape(jnp.sin, X) + 1,
        "TypeError: unsupported operand type(s) for +: 'ShapeDtypeStruct' and 'int'",
    ),
    "49 passed": (
        lambda: HAIKUS_LINEAR.apply(*shapes_alone(), None, X),
        "of type <class 'jax.ShapeDtypeStruct'> is not a valid JAX type",
    ),
    "49 a flag": (
        lambda: jax.eval_shape(hk.transform_with_state(in_mode).init, KEY, X, True),
        "TracerBoolConversionError: Attempted boolean conversion of traced array",
    ),
    "50 jax.config": (
        lambda: importlib.import_module("jax.config"),
        "ModuleNotFoundError: No module named 'jax.config'",
    ),
    "50 optix": (
        lambda: importlib.import_module("jax.experimental.optix"),
        "ModuleNotFoundError: No module named 'jax.experimental.optix'",
    ),
    "50 index_update": (
        lambda: jax.ops.index_update,
        "AttributeError: module 'jax.ops' has no attribute 'index_update'",
    ),
    "51 in place": (
        lambda: random.shuffle(jnp.arange(5)),
        "TypeError: JAX arrays are immutable and do not support in-place item assignment.",
    ),
    "51 an old name": (
        lambda: jax.random.shuffle,
        "AttributeError: module 'jax.random' has no attribute 'shuffle'",
    ),
    "52 state under hk.lift": (
        lambda: hk.transform_with_state(lifted).init(KEY, X),
        "NonEmptyStateError: For stateful lifted functions use `hk.lift_with_state`",
    ),
    "52 an updater that is not used": (
        lambda: hk.transform_with_state(lifted_with_state).init(KEY, X),
        "ValueError: LiftWithStateUpdater (from `lift_with_state`) must be used",
    ),
}
"""What JAX, Haiku and NumPy say of a problem by themselves: a call, and a part of its error."""


def elsewhere():
    train_state = jax.device_put(ready(None), FOUR[0])
    update = hs.make_update(loss_of(model().apply), SGD)
    return hs.shard_update(update, hs.data_mesh(FOUR))(train_state, {"x": X})


def without_sklearn():
    with mock.patch.dict(sys.modules, {"sklearn": None, "sklearn.datasets": None}):
        return hs.load_digits()


def without_a_library():
    with matched_versions():
        return jax.linear_util


def saved_by_another_run():
    hs.storage.save_checkpoint("run", ready(None))
    return hs.storage.save_checkpoint("run", ready(None)._replace(rng=jax.random.key(1)))


def cut_short():
    hs.storage.save_numpy("model.npz", hs.storage.to_numpy(*trained()))
    Path("model.npz").write_bytes(Path("model.npz").read_bytes()[:100])
    return hs.storage.load_numpy("model.npz")


def saved_from_another_model():
    arrays = hs.storage.to_numpy(*LINEAR.init(KEY, X))
    return hs.storage.from_numpy(arrays, *hs.pure_pair(hk.Linear, 9).init(KEY, X))


class Logger:
    """A class that keeps an open file."""

    def __init__(self):
        self.log = sys.__stdout__


class Twice:
    """A class with two names for one list."""

    def __init__(self):
        self.a = self.b = []


class Phased:
    """A class whose method changes a string."""

    def __init__(self):
        self.phase = "cold"

    def heat(self):
        self.phase = "warm"


def heated():
    init, heat = hs.functionalize(Phased, "heat")
    return heat(init())


def broken_law():
    def norm(x, is_training):
        return hk.BatchNorm(True, True, 0.9)(x, is_training)

    for law in hs.testing.laws_of(norm, jnp.arange(24.0).reshape(8, 3)):
        if str(law) == "state_stays_float32":
            law()


def lost():
    """End as a process does whose partner has died, which takes two processes and a minute."""
    raise errors.LostProcessError(present=0, expected=2, timeout=60)


OTHERS = (
    lambda: hs.check_state({"norm": {"mean": jnp.ones((1, 4))}}, {"norm": {"mean": jnp.ones(4)}}),
    lambda: hs.check_state({"counter": {"count": jnp.int32(0)}}, {"counter": {"count": 0}}),
    lambda: hs.make_update(dropped_state, SGD)(ready(None), {"x": X}),
    lambda: hs.checked(lambda *inputs: NORM.apply(*inputs, True), False)(*trained(), None, X),
    lambda: hs.make_update(lambda *inputs: jnp.float32(1), SGD)(ready(None), {"x": X}),
    lambda: hs.split_batch({"x": jnp.ones((30, 4))}, 4),
    lambda: hs.use_devices(16),
    lambda: on_four(axis=None),
    elsewhere,
    without_sklearn,
    lambda: hs.recipes.averaged_params(ready(None)),
    lambda: hs.recipes.freeze_params(SGD, lambda module, *_: module == "lineer").init(
        LINEAR.init(KEY, X)[0]
    ),
    lambda: hs.recipes.scale_loss(
        hs.recipes.scale_loss(SGD, jmp.StaticLossScale(8.0)), jmp.StaticLossScale(8.0)
    ).init(LINEAR.init(KEY, X)[0]),
    saved_by_another_run,
    cut_short,
    saved_from_another_model,
    lambda: hs.processes.start_processes("localhost:1234", 2, 0),
    hs.processes.start_processes,
    lost,
    lambda: hs.functionalize(Logger).init(),
    lambda: hs.functionalize(Twice).init(),
    heated,
    broken_law,
    lambda: hs.exercises.stub("conter"),
    without_a_library,
)
"""Calls that end in the errors that are no problem of newcomers."""


def said(error, language):
    """Return what an error prints: what happened, and the lines that it has, by name."""
    what, lines = [], {}
    labels = {name: translated(text, language).format(text="") for name, text in LABELS.items()}
    for line in str(error).replace(f"{os.getcwd()}/", "").splitlines():
        name = next((name for name in labels if line.startswith(f"  {labels[name]}")), None)
        if name is None:
            what.append(line)
        else:
            lines[name] = line.removeprefix(f"  {labels[name]}")
    return {"what": "\n".join(what), "lines": lines}


def raised(fails):
    """Run a call that fails, and return its error."""
    try:
        fails()
    except Exception as error:
        return error
    raise AssertionError(f"no error in line {fails.__code__.co_firstlineno}")


def all_raised():
    """Yield the title of each call, and what it raises in each language."""
    for title, fails in [*PROBLEMS.items(), *(("", fails) for fails in OTHERS)]:
        found = {}
        for language in languages():
            with reading(language):
                found[language] = raised(fails)
        yield title, found


def first_line(error, says=""):
    """Return the class of an error and the first line of its text, or the one that says this."""
    kind, (first, *rest) = type(error).__name__, str(error).splitlines() or [""]
    told = "" if says in f"{kind}: {first}" else next((line for line in rest if says in line), "")
    text = f"{kind}: … {told}" if told else f"{kind}: {first}"
    return textwrap.shorten(text, 200 if told else 160, placeholder=" …")


def record():
    """Run each call in each language: what its error says, and the error that it replaces."""
    found = []
    for title, (fails, says) in PLAIN.items():
        number, before = int(title.split()[0]), first_line(raised(fails), says)
        texts = {language: {"what": "", "lines": {}} for language in languages()}
        found.append({"problem": number, "error": "", "before": before, "texts": texts})
    for title, by_language in all_raised():
        number, (error, *_) = int(title.partition(" ")[0] or 0), by_language.values()
        cause = error.__cause__ if number else None
        texts = {language: said(each, language) for language, each in by_language.items()}
        shown = {"error": type(error).__name__, "before": first_line(cause) if cause else ""}
        found.append({"problem": number, **shown, "texts": texts})
    return found


def print_record():
    """Print the record alone: what the libraries print meanwhile is not a part of it."""
    with contextlib.redirect_stdout(sys.stderr):  # JAX 0.12 prints where rows do not divide
        found = record()
    json.dump(found, sys.stdout, indent=1, ensure_ascii=False)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        # the next language finds what the first has compiled
        jax.config.update("jax_compilation_cache_dir", f"{folder}/programs")
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        print_record()
        os.chdir(Path(__file__).parent)
