"""What people run into: the call that fails, the whole text of its error, the call that works.

python conf/sphinx/haiku_site/content/error_cases.py

runs each call that fails, in each language, and prints what its error says as JSON: the error
catalogue and the page of problems show it. ``tests/errors/test_problems.py`` holds the problems to
their texts. Their numbers are those of the page ``docs/reference/problems.md``.
"""

import contextlib
import functools
import json
import os
import re
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
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
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import haiku_state as hs
from haiku_state import errors
from haiku_state.errors.language import languages, reading
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


def initialized():
    """Read a moving average that has no value yet."""
    loss = hs.ExponentialMovingAverage(0.9, name="loss")
    loss.initialize((), jnp.float32)
    return loss.average


def scanned(transform):
    """Count the rows inside a loop."""

    def count_rows(rows):
        counter = hs.Counter()
        return transform(lambda carry, row: (carry, counter()), jnp.zeros(()), rows)[1]

    return count_rows


def leaked_state():
    """What plain Haiku silently returns."""
    pair = hk.transform_with_state(scanned(jax.lax.scan))
    return pair.apply({}, COUNTER.init(None)[1], None, X)[1]


def vmapped(rows):
    def keep(row):
        hk.set_state("last", row)
        return row

    return jax.vmap(keep)(rows)


def drifting(increment):
    """A sum whose dtype depends on what is added."""

    def total(x):
        total = hk.get_state("total", (), jnp.int32, init=jnp.zeros) + increment
        hk.set_state("total", total)
        return total

    return hs.pure_pair(total)


def drifting_loss(params, state, rng, batch):
    _, state = drifting(1.5).apply({}, state, None, batch["x"])
    return jnp.sum(params["w"]), (state, {})


def without_key(params, state, rng, x, is_training):
    return HAIKUS_LINEAR.apply(params, state, x)


def without_state(params, state, rng, x, is_training):
    return HAIKUS_LINEAR.apply(params, x, rng)


def use_twice(keep):
    train_state = start(model(), X, True)
    update = hs.jit_update(hs.make_update(loss_of(model().apply), SGD))
    new, _ = update(train_state, {"x": X})
    return update(new if keep else train_state, {"x": X})


def read_after_donation():
    train_state = start(model(), X, True)
    step(model().apply, train_state)
    return model().apply(train_state.params, train_state.state, None, X, False)


def target_network(copy):
    """A train state that holds its params a second time."""

    def loss_fn(params, state, rng, batch):
        return jnp.sum(params["w"]), (state, {})

    params = {"w": jnp.ones(3)}
    train_state = start(hk.TransformedWithState(lambda rng: (params, {}), None))
    train_state = train_state._replace(state={"target": copy(train_state.params)})
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


class Problem(NamedTuple):
    """A call that fails, the error with its whole text, and a call by its right line that works."""

    fails: Callable
    error: type[errors.HaikuStateError]
    what: str
    wrong: str
    right: str
    why: str
    more: str
    works: Callable


TRAINING = "training creates the running statistics, evaluation only reads them"
FIRST_CALL = (
    "the first call of a moving average creates its state: init must make that call or initialize "
    "the state with zeros"
)
TRACED = (
    "jit replaces each argument with a tracer that has no value; the flag chooses between two"
    " programs, so it must be known in advance"
)
ORDER = "the order is fixed, and rng is always required: pass None if nothing is random"
DRAWS = "a pure function draws from the key that it is given, and from nothing else"
STRUCTURE = (
    "init must create every name in every branch, and each call must return all names; loops and "
    "checkpoints need a structure that does not change"
)
OUTSIDE = (
    "`params` and `state` belong to the init or apply that is running; outside it, there is "
    "nothing to read"
)
LEAK = (
    "a JAX transformation does not know Haiku's params and state, so what a module creates or "
    "writes inside it leaks out as a tracer. `hk.scan`, `hk.map`, `hk.grad` and the like carry "
    "them through; `jax.jit` belongs around apply"
)
RETRACE = (
    "`jit` would retrace and `scan` would fail: convert the result, or start with the "
    "dtype that each call returns"
)
REUSED = (
    "the update reuses the memory of the old train state for the new train state; keep a copy with "
    "jax.tree.map(jnp.copy, train_state)"
)
ENTRY = "pmap gives entry i of the leading axis to device i"
STACKED = (
    "these arrays are stacked: they are either the copies of all devices, made by `replicate`, or "
    "the members of an ensemble, made by `jax.vmap`, and they would silently broadcast; members "
    "belong in `jax.vmap(apply)` or `vmap_update`"
)

PROBLEMS = {
    "1 state under hk.transform": Problem(
        lambda: hs.init_train_state(hk.transform(lambda: hs.Counter()()).init, SGD, KEY),
        errors.StatelessTransformError,
        "the function was transformed with hk.transform, which has no place for state.",
        "hk.transform(f)",
        "pure_pair(f)",
        "the function keeps state, but the pair that hk.transform returns neither takes nor "
        "returns it",
        "haiku/pure_pair",
        lambda: hs.init_train_state(hs.pure_pair(lambda: hs.Counter()()).init, SGD, KEY),
    ),
    "1 params alone": Problem(
        lambda: hs.init_train_state(hk.transform(lambda x: hk.Linear(2)(x)).init, SGD, KEY, X),
        errors.StatelessTransformError,
        "the function was transformed with hk.transform, which has no place for state.",
        "hk.transform(f)",
        "pure_pair(f)",
        "a train state holds params and state, but the init of hk.transform returns only params; "
        "the init of pure_pair also returns a state, which is empty if the function has none",
        "haiku/pure_pair",
        lambda: hs.init_train_state(hs.pure_pair(lambda x: hk.Linear(2)(x)).init, SGD, KEY, X),
    ),
    "1 the class itself": Problem(
        lambda: hs.init_train_state(hk.transform_with_state(hs.Counter).init, SGD, KEY, X),
        errors.UncalledModuleError,
        "the module Counter was constructed, but it was not called.",
        "hk.transform_with_state(Counter)",
        "pure_pair(Counter)",
        "hk.transform_with_state calls its argument with the inputs, but calling a class only "
        "constructs a module, with the inputs as its arguments",
        "haiku/pure_pair",
        lambda: hs.init_train_state(hs.pure_pair(hs.Counter).init, SGD, KEY),
    ),
    "1 a module for an output": Problem(
        lambda: hs.pure_pair(lambda: hs.Counter()).init(None),
        errors.UncalledModuleError,
        "the module Counter was constructed, but it was not called.",
        "pure_pair(lambda: Counter(…))",
        "pure_pair(lambda: Counter(…)())",
        "a module computes nothing until it is called",
        "haiku/pure_pair",
        lambda: hs.pure_pair(lambda: hs.Counter()()).init(None),
    ),
    "1 an init of one's own that returns params alone": Problem(
        lambda: hs.init_train_state(lambda rng: {"w": jnp.ones(3)}, SGD, KEY),
        errors.ArgumentError,
        "init(rng, …) is {'w': float32[3]}, but it must be (params, state).",
        "return params",
        "return params, {}",
        "a train state holds params and state; without state it holds an empty dict",
        "haiku/pure_pair",
        lambda: hs.init_train_state(lambda rng: ({"w": jnp.ones(3)}, {}), SGD, KEY),
    ),
    "1 neither": Problem(
        lambda: hs.pure_pair(3),
        errors.ArgumentError,
        "module is 3, but it must be a module class or a function.",
        "pure_pair(3)",
        "pure_pair(hk.Linear, 8)",
        "each call of init or apply constructs the module or calls the function",
        "haiku/pure_pair",
        lambda: hs.pure_pair(hk.Linear, 8),
    ),
    "1 an ordinary class": Problem(
        lambda: hs.pure_pair(Tally),
        errors.ArgumentError,
        "module is Tally, but it must be a module class or a function.",
        "pure_pair(Tally)",
        "functionalize(Tally)",
        "an ordinary class keeps its state in attributes; functionalize turns them into an "
        "argument and a result",
        "haiku/pure_pair",
        lambda: hs.functionalize(Tally),
    ),
    "2 init in evaluation": Problem(
        lambda: NORM.init(KEY, X, is_training=False),
        errors.UninitializedStateError,
        "state['batch_norm/~/mean_ema']['average'] is read before anything has written it.",
        "init(rng, inputs, is_training=False)",
        "init(rng, inputs, is_training=True)",
        TRAINING,
        "haiku/batch_norm",
        lambda: NORM.init(KEY, X, is_training=True),
    ),
    "2 init of Haiku's in evaluation": Problem(
        lambda: HAIKUS.init(KEY, X, is_training=False),
        errors.UninitializedStateError,
        "state['batch_norm/~/mean_ema']['average'] is read before anything has written it.",
        "init(rng, inputs, is_training=False)",
        "init(rng, inputs, is_training=True)",
        TRAINING,
        "haiku/batch_norm",
        lambda: HAIKUS.init(KEY, X, is_training=True),
    ),
    "2 evaluation with an empty state": Problem(
        lambda: NORM.apply(trained()[0], {}, None, X, is_training=False),
        errors.UninitializedStateError,
        "state['batch_norm/~/mean_ema']['average'] is read before anything has written it.",
        "apply(params, state, rng, inputs, is_training=False)",
        "params, state = init(rng, inputs, is_training=True); apply(params, state, rng, "
        "inputs, is_training=False)",
        TRAINING,
        "haiku/batch_norm",
        lambda: NORM.apply(*trained(), None, X, is_training=False),
    ),
    "2 evaluation of Haiku's with an empty state": Problem(
        lambda: HAIKUS.apply(trained()[0], {}, None, X, is_training=False),
        errors.UninitializedStateError,
        "state['batch_norm/~/mean_ema']['average'] is read before anything has written it.",
        "apply(params, state, rng, inputs, is_training=False)",
        "params, state = init(rng, inputs, is_training=True); apply(params, state, rng, "
        "inputs, is_training=False)",
        TRAINING,
        "haiku/batch_norm",
        lambda: HAIKUS.apply(*trained(), None, X, is_training=False),
    ),
    "2 a moving average without a value": Problem(
        lambda: hs.pure_pair(lambda: hs.ExponentialMovingAverage(0.9, name="loss").average).init(
            None
        ),
        errors.UninitializedStateError,
        "state['loss']['average'] is read before anything has written it.",
        "loss.average",
        "loss.initialize(shape, dtype); loss.average",
        FIRST_CALL,
        "api/modules",
        lambda: hs.pure_pair(initialized).init(None),
    ),
    "2 Haiku's moving average without a value": Problem(
        lambda: hs.pure_pair(lambda: hk.ExponentialMovingAverage(0.9, name="loss").average).init(
            None
        ),
        errors.UninitializedStateError,
        "state['loss']['average'] is read before anything has written it.",
        "loss.average",
        "loss.initialize(shape, dtype); loss.average",
        FIRST_CALL,
        "api/modules",
        lambda: hs.pure_pair(initialized).init(None),
    ),
    "2 state without a first value": Problem(
        lambda: hs.pure_pair(lambda: hk.get_state("total")).init(None),
        errors.UninitializedStateError,
        "state['~']['total'] is read before anything has written it.",
        "hk.get_state('total')",
        "hk.get_state('total', shape, dtype, init=jnp.zeros)",
        "without `shape` and `init`, hk.get_state only reads what was written before: pass "
        "both, or write the state in init, in every branch",
        "haiku/build_your_own",
        lambda: hs.pure_pair(lambda: hk.get_state("total", (3,), jnp.int32, init=jnp.zeros)).init(
            None
        ),
    ),
    "4 is_training traced": Problem(
        lambda: jax.jit(NORM.apply)(*trained(), None, X, True),
        errors.TracedFlagError,
        "`is_training` is traced, but Python has to read it during tracing.",
        "jax.jit(apply)(…, is_training=True)",
        "jax.jit(functools.partial(apply, is_training=True))(…)",
        TRACED,
        "haiku/batch_norm",
        lambda: jax.jit(functools.partial(NORM.apply, is_training=True))(*trained(), None, X),
    ),
    "4 is_training traced in Haiku's": Problem(
        lambda: jax.jit(HAIKUS.apply)(*trained(), None, X, is_training=True),
        errors.TracedFlagError,
        "`is_training` is traced, but Python has to read it during tracing.",
        "jax.jit(apply)(…, is_training=True)",
        "jax.jit(functools.partial(apply, is_training=True))(…)",
        TRACED,
        "haiku/batch_norm",
        lambda: jax.jit(functools.partial(HAIKUS.apply, is_training=True))(*trained(), None, X),
    ),
    "4 is_training traced in init": Problem(
        lambda: jax.jit(NORM.init)(KEY, X, is_training=True),
        errors.TracedFlagError,
        "`is_training` is traced, but Python has to read it during tracing.",
        "jax.jit(init)(…, is_training=True)",
        "jax.jit(functools.partial(init, is_training=True))(…)",
        TRACED,
        "haiku/batch_norm",
        lambda: jax.jit(functools.partial(NORM.init, is_training=True))(KEY, X),
    ),
    "5 rng left out": Problem(
        lambda: LINEAR.apply(*LINEAR.init(KEY, X), X),
        errors.PairArgumentError,
        "the argument `rng` is float32[8,4]; expected: a random key or None.",
        "apply(params, state, inputs)",
        "apply(params, state, rng, inputs)",
        ORDER,
        "haiku/pure_pair",
        lambda: LINEAR.apply(*LINEAR.init(KEY, X), None, X),
    ),
    "5 rng left out of init": Problem(
        lambda: LINEAR.init(X),
        errors.PairArgumentError,
        "the argument `rng` is float32[8,4]; expected: a random key or None.",
        "init(inputs)",
        "init(rng, inputs)",
        ORDER,
        "haiku/pure_pair",
        lambda: LINEAR.init(KEY, X),
    ),
    "5 state left out": Problem(
        lambda: LINEAR.apply(LINEAR.init(KEY, X)[0], KEY, X),
        errors.PairArgumentError,
        "the argument `state` is key<fry>[]; expected: {'module': {'name': array}}.",
        "apply(params, rng, inputs)",
        "apply(params, state, rng, inputs)",
        ORDER,
        "haiku/pure_pair",
        lambda: LINEAR.apply(LINEAR.init(KEY, X)[0], {}, KEY, X),
    ),
    "5 the pair of both for params": Problem(
        lambda: LINEAR.apply(LINEAR.init(KEY, X), {}, None, X),
        errors.PairArgumentError,
        "the argument `params` is tuple; expected: {'module': {'name': array}}.",
        "apply((params, state), state, None, inputs)",
        "apply(params, state, rng, inputs)",
        ORDER,
        "haiku/pure_pair",
        lambda: LINEAR.apply(*LINEAR.init(KEY, X), None, X),
    ),
    "5 rng left out of plain Haiku's apply": Problem(
        lambda: hs.make_update(loss_of(without_key), SGD)(ready(None), {"x": X}),
        errors.PairArgumentError,
        "the argument `rng` is float32[8,4]; expected: a random key or None.",
        "apply(params, state, inputs)",
        "apply(params, state, rng, inputs)",
        ORDER,
        "haiku/pure_pair",
        lambda: step(model().apply, ready(None)),
    ),
    "5 inputs for the state of plain Haiku's apply": Problem(
        lambda: hs.make_update(loss_of(without_state), SGD)(ready(None), {"x": X}),
        errors.PairArgumentError,
        "the argument `state` is float32[8,4]; expected: {'module': {'name': array}}.",
        "apply(params, inputs, rng)",
        "apply(params, state, rng, inputs)",
        ORDER,
        "haiku/pure_pair",
        lambda: step(model().apply, ready(None)),
    ),
    "5 no key to draw from": Problem(
        lambda: hs.pure_pair(lambda x: hk.dropout(hk.next_rng_key(), 0.5, x)).apply(
            {}, {}, None, X
        ),
        errors.MissingKeyError,
        "random numbers are drawn, but rng is None.",
        "apply(params, state, None, inputs)",
        "apply(params, state, rng, inputs)",
        DRAWS,
        "haiku/pure_pair",
        lambda: hs.pure_pair(lambda x: hk.dropout(hk.next_rng_key(), 0.5, x)).apply({}, {}, KEY, X),
    ),
    "5 no key to draw params from": Problem(
        lambda: LINEAR.init(None, X),
        errors.MissingKeyError,
        "random numbers are drawn, but rng is None.",
        "init(None, inputs)",
        "init(rng, inputs)",
        DRAWS,
        "haiku/pure_pair",
        lambda: LINEAR.init(KEY, X),
    ),
    "6 a parameter of a branch that init skips": Problem(
        lambda: hs.pure_pair(branch).apply(
            *hs.pure_pair(branch).init(KEY, X, False), None, X, True
        ),
        errors.UninitializedParameterError,
        "params['head']['w'] is not in params.",
        "apply({}, state, rng, inputs)",
        "params, state = init(rng, inputs); apply(params, state, rng, inputs)",
        "params is empty, but init creates the params on the path that its inputs take: call init "
        "with inputs that take the same branches as the inputs of apply",
        "haiku/pure_pair",
        lambda: hs.pure_pair(branch).apply(*hs.pure_pair(branch).init(KEY, X, True), None, X, True),
    ),
    "6 params of a different model": Problem(
        lambda: LINEAR.apply({"mlp": {"w": X}}, {}, None, X),
        errors.UninitializedParameterError,
        "params['linear']['w'] is not in params.",
        "params, state = init(rng, other_inputs); apply(params, state, rng, inputs)",
        "params, state = init(rng, inputs); apply(params, state, rng, inputs)",
        "init creates only the params on the path that its inputs take: call it with inputs that "
        "take the same branches as the inputs of apply, or create the module outside the `if`. It "
        "may also be that these params belong to a different model",
        "haiku/pure_pair",
        lambda: LINEAR.apply(*LINEAR.init(KEY, X), None, X),
    ),
    "6 params of a module without a bias": Problem(
        lambda: LINEAR.apply({"linear": {"w": jnp.ones((4, 4))}}, {}, None, X),
        errors.UninitializedParameterError,
        "params['linear']['b'] is not in params.",
        "params, state = init(rng, other_inputs); apply(params, state, rng, inputs)",
        "params, state = init(rng, inputs); apply(params, state, rng, inputs)",
        "init creates only the params on the path that its inputs take. These params contain the "
        "module, but not this parameter: the module was made with different arguments or took a "
        "different branch",
        "haiku/pure_pair",
        lambda: LINEAR.apply(*LINEAR.init(KEY, X), None, X),
    ),
    "6 params and state swapped": Problem(
        lambda: LINEAR.apply({"counter": {"count": 1}}, LINEAR.init(KEY, X)[0], None, X),
        errors.UninitializedParameterError,
        "params['linear']['w'] is not in params.",
        "apply(state, params, rng, inputs)",
        "apply(params, state, rng, inputs)",
        "the tree that was passed as the state holds this parameter, but params come before the "
        "state",
        "haiku/pure_pair",
        lambda: LINEAR.apply(*LINEAR.init(KEY, X), None, X),
    ),
    "6 state of a branch that init skips": Problem(
        lambda: hs.pure_pair(looks_back).apply({}, {}, None, X, True),
        errors.StateStructureError,
        "the returned state has different names (- removed, + added):\n"
        "    + state['counter']['count']",
        "apply(params, state, rng, inputs)",
        "params, state = init(rng, inputs); apply(params, state, rng, inputs)",
        STRUCTURE,
        "api/pure",
        lambda: hs.pure_pair(looks_back).apply(
            *hs.pure_pair(looks_back).init(None, X, True), None, X, True
        ),
    ),
    "6 an empty state in training": Problem(
        lambda: step(model().apply, ready(None)._replace(state={})),
        errors.StateStructureError,
        "the returned state has different names (- removed, + added):\n"
        "    + state['linear_regression/batch_norm/~/mean_ema']['average']\n"
        "    + state['linear_regression/batch_norm/~/mean_ema']['counter']\n"
        "    + state['linear_regression/batch_norm/~/mean_ema']['hidden']\n"
        "    + state['linear_regression/batch_norm/~/var_ema']['average']\n"
        "    + state['linear_regression/batch_norm/~/var_ema']['counter']\n"
        "    + state['linear_regression/batch_norm/~/var_ema']['hidden']",
        "apply(params, state, rng, inputs)",
        "params, state = init(rng, inputs); apply(params, state, rng, inputs)",
        STRUCTURE,
        "api/pure",
        lambda: step(model().apply, ready(None)),
    ),
    "6 a renamed module": Problem(
        lambda: hs.pure_pair(hs.Counter, name="steps").apply(
            {}, {"counter": {"count": jnp.int32(3)}}, None
        ),
        errors.StateStructureError,
        "the returned state has different names (- removed, + added):\n"
        "    + state['steps']['count']",
        "apply(params, state, rng, inputs)",
        "params, state = init(rng, inputs); apply(params, state, rng, inputs)",
        STRUCTURE,
        "api/pure",
        lambda: COUNTER.apply({}, {"counter": {"count": jnp.int32(3)}}, None),
    ),
    "8 a module in a plain loss function": Problem(
        lambda: step(lambda params, state, rng, x, _: (hk.Linear(1)(x), state), ready(None)),
        errors.OutsideTransformError,
        "`Linear` was used outside a transformed function.",
        "Linear(…)",
        "pure_pair(Linear, …).apply(params, state, rng, …)",
        OUTSIDE,
        "haiku/pure_pair",
        lambda: hs.pure_pair(hk.Linear, 1).apply(*hs.pure_pair(hk.Linear, 1).init(KEY, X), KEY, X),
    ),
    "8 a parameter in a plain loss function": Problem(
        lambda: step(
            lambda params, state, rng, x, _: (hk.get_parameter("w", (), init=jnp.ones), state),
            ready(None),
        ),
        errors.OutsideTransformError,
        "`hk.get_parameter` was used outside a transformed function.",
        "hk.get_parameter(…)",
        "pure_pair(hk.get_parameter, …).apply(params, state, rng, …)",
        OUTSIDE,
        "haiku/pure_pair",
        lambda: hs.pure_pair(hk.get_parameter, "w", (), init=jnp.ones).apply(
            *hs.pure_pair(hk.get_parameter, "w", (), init=jnp.ones).init(KEY), KEY
        ),
    ),
    "8 a plain function for init": Problem(
        lambda: hs.init_train_state(lambda rng, x: hs.LinearRegression()(x, True), SGD, KEY, X),
        errors.OutsideTransformError,
        "`LinearRegression` was used outside a transformed function.",
        "LinearRegression(…)",
        "pure_pair(LinearRegression, …).init(rng, …)",
        OUTSIDE,
        "haiku/pure_pair",
        lambda: hs.init_train_state(hs.pure_pair(hs.LinearRegression).init, SGD, KEY, X, True),
    ),
    "12 jax.lax.scan around a module, at init": Problem(
        lambda: hs.pure_pair(scanned(jax.lax.scan)).init(None, X),
        errors.LeakedTracerError,
        "these values were made inside a JAX transformation that has ended:\n"
        "    state['counter']['count']",
        "jax.lax.scan(lambda carry, x: (carry, module(x)), carry, xs)",
        "hk.scan(lambda carry, x: (carry, module(x)), carry, xs)",
        LEAK,
        "haiku/jax_inside_haiku",
        lambda: hs.pure_pair(scanned(hk.scan)).init(None, X),
    ),
    "12 jax.lax.scan around a module": Problem(
        lambda: hs.pure_pair(scanned(jax.lax.scan)).apply({}, COUNTER.init(None)[1], None, X),
        errors.LeakedTracerError,
        "these values were made inside a JAX transformation that has ended:\n"
        "    state['counter']['count']",
        "jax.lax.scan(lambda carry, x: (carry, module(x)), carry, xs)",
        "hk.scan(lambda carry, x: (carry, module(x)), carry, xs)",
        LEAK,
        "haiku/jax_inside_haiku",
        lambda: hs.pure_pair(scanned(hk.scan)).apply({}, COUNTER.init(None)[1], None, X),
    ),
    "12 the same, compiled": Problem(
        lambda: jax.jit(hs.pure_pair(scanned(jax.lax.scan)).apply)(
            {}, COUNTER.init(None)[1], None, X
        ),
        errors.LeakedTracerError,
        "these values were made inside a JAX transformation that has ended:\n"
        "    state['counter']['count']",
        "jax.lax.scan(lambda carry, x: (carry, module(x)), carry, xs)",
        "hk.scan(lambda carry, x: (carry, module(x)), carry, xs)",
        LEAK,
        "haiku/jax_inside_haiku",
        lambda: jax.jit(hs.pure_pair(scanned(hk.scan)).apply)({}, COUNTER.init(None)[1], None, X),
    ),
    "12 the next use of a leaked state": Problem(
        lambda: COUNTER.apply({}, leaked_state(), None),
        errors.LeakedTracerError,
        "these values were made inside a JAX transformation that has ended:\n"
        "    state['counter']['count']",
        "jax.lax.scan(lambda carry, x: (carry, module(x)), carry, xs)",
        "hk.scan(lambda carry, x: (carry, module(x)), carry, xs)",
        LEAK,
        "haiku/jax_inside_haiku",
        lambda: COUNTER.apply({}, COUNTER.init(None)[1], None),
    ),
    "12 jax.vmap around set_state": Problem(
        lambda: hs.pure_pair(vmapped).init(None, X),
        errors.LeakedTracerError,
        "these values were made inside a JAX transformation that has ended:\n"
        "    state['~']['last']",
        "jax.vmap(module)(inputs)",
        "jax.vmap(apply, in_axes=(None, None, None, 0))(params, state, rng, inputs)",
        "jax.vmap does not know Haiku's state, so what a module writes inside it leaks out as a "
        "tracer. Around apply, jax.vmap returns a state for each row",
        "haiku/jax_inside_haiku",
        lambda: jax.vmap(hs.pure_pair(hs.MovingAverage).apply, in_axes=(None, None, None, 0))(
            *hs.pure_pair(hs.MovingAverage).init(None, X[0]), None, X
        ),
    ),
    "16 a dtype that drifts": Problem(
        lambda: drifting(1.5).apply({}, {"~": {"total": jnp.int32(0)}}, None, X),
        errors.StateDtypeError,
        "the returned state has different dtypes:\n"
        "    state['~']['total']: int32[] -> weak float32[]",
        'hk.set_state("total", total)',
        'hk.set_state("total", jnp.asarray(total, jnp.int32))',
        RETRACE,
        "api/pure",
        lambda: drifting(1).apply({}, {"~": {"total": jnp.int32(0)}}, None, X),
    ),
    "16 a dtype that drifts in an update": Problem(
        lambda: hs.jit_update(hs.make_update(drifting_loss, SGD))(
            hs.init_train_state(
                lambda rng: ({"w": jnp.ones(2)}, {"~": {"total": jnp.int32(0)}}), SGD, KEY
            ),
            {"x": X},
        ),
        errors.StateDtypeError,
        "the returned state has different dtypes:\n"
        "    state['~']['total']: int32[] -> weak float32[]",
        'hk.set_state("total", total)',
        'hk.set_state("total", jnp.asarray(total, jnp.int32))',
        RETRACE,
        "api/pure",
        lambda: drifting(1).apply({}, {"~": {"total": jnp.int32(0)}}, None, X),
    ),
    "21 a train state used twice": Problem(
        lambda: use_twice(keep=False),
        errors.DonatedBufferError,
        "train_state.params['linear_regression']['b'] was passed to an earlier update, which has "
        "reused its memory.",
        "new, metrics = update(train_state, batch); update(train_state, batch)",
        "train_state, metrics = update(train_state, batch)",
        REUSED,
        "update/jitted_update",
        lambda: use_twice(keep=True),
    ),
    "21 a train state read afterwards": Problem(
        read_after_donation,
        errors.DonatedBufferError,
        "params['linear_regression']['b'] was passed to an earlier update, which has reused its "
        "memory.",
        "new, metrics = update(train_state, batch); update(train_state, batch)",
        "train_state, metrics = update(train_state, batch)",
        REUSED,
        "update/jitted_update",
        lambda: step(model().apply, ready(None)),
    ),
    "21 one array twice": Problem(
        lambda: target_network(lambda params: params),
        errors.SharedBufferError,
        "these leaves of the train state are the same array:\n"
        "    train_state.params['w']\n"
        "    train_state.state['target']['w']",
        'state = {"target": params}',
        'state = {"target": jax.tree.map(jnp.copy, params)}',
        "the update reuses the memory of each leaf, but the memory of one array can be reused "
        "only once",
        "update/jitted_update",
        lambda: target_network(lambda params: jax.tree.map(jnp.copy, params)),
    ),
    "23 an axis that nothing binds": Problem(
        lambda: step(model("devices").apply, ready()),
        errors.UnboundAxisError,
        "a mean over the axis 'devices' was requested, but that axis is not bound here.",
        "apply(params, state, rng, inputs)",
        "jax.pmap(apply, axis_name='devices')(params, state, rng, inputs)",
        "pmap, vmap and shard_map bind axes, and so do pmap_update and shard_map_update; on a "
        "single device, leave cross_replica_axis as None: names and shapes are the same",
        "update/pmapped_update",
        lambda: on_four("devices"),
    ),
    "23 at Haiku's init": Problem(
        lambda: hs.pure_pair(hk.BatchNorm, True, True, 0.9, cross_replica_axis="i").init(
            KEY, X, True
        ),
        errors.UnboundAxisError,
        "a mean over the axis 'i' was requested, but that axis is not bound here.",
        "hk.BatchNorm(…, cross_replica_axis='i')",
        "haiku_state.BatchNorm(…, cross_replica_axis='i')",
        "hk.BatchNorm needs the axis in init too; the BatchNorm of this package does not, and its "
        "names and shapes are the same",
        "update/pmapped_update",
        lambda: hs.pure_pair(hs.BatchNorm, True, True, 0.9, cross_replica_axis="i").init(
            KEY, X, True
        ),
    ),
    "23 at an init of one's own": Problem(
        lambda: hs.pure_pair(lambda x: jax.lax.pmean(x, "i")).init(None, X),
        errors.UnboundAxisError,
        "a mean over the axis 'i' was requested, but that axis is not bound here.",
        "jax.lax.pmean(x, 'i')",
        "x if hk.running_init() else jax.lax.pmean(x, 'i')",
        "only pmap, vmap or shard_map binds an axis; init runs on one device, where names and "
        "shapes are the same without the mean",
        "update/pmapped_update",
        lambda: hs.pure_pair(lambda x: x if hk.running_init() else jax.lax.pmean(x, "i")).init(
            None, X
        ),
    ),
    "27 a train state without the axis": Problem(
        lambda: pmapped(ready(), hs.split_batch({"x": X}, 4)),
        errors.LeadingAxisError,
        "train_state.params['linear_regression']['b'] has shape (), but its leading axis must have"
        " length 4.",
        "pmap_update(update)(train_state, batch)",
        "train_state = replicate(train_state)",
        ENTRY,
        "update/pmapped_update",
        lambda: pmapped(spread(ready()), hs.split_batch({"x": X}, 4)),
    ),
    "27 a batch without the axis": Problem(
        lambda: pmapped(spread(ready()), {"x": X}),
        errors.LeadingAxisError,
        "batch['x'] has shape (8, 4), but its leading axis must have length 4.",
        "pmap_update(update)(train_state, batch)",
        "batch = split_batch(batch, 4)",
        ENTRY,
        "update/pmapped_update",
        lambda: pmapped(spread(ready()), hs.split_batch({"x": X}, 4)),
    ),
    "27 unreplicate without the axis": Problem(
        lambda: hs.unreplicate(ready()),
        errors.LeadingAxisError,
        "tree.params['linear_regression']['b'] has shape (), but its leading axis must have"
        " length 4.",
        "unreplicate(unreplicate(train_state))",
        "unreplicate(train_state)",
        ENTRY,
        "update/pmapped_update",
        lambda: hs.unreplicate(spread(ready())),
    ),
    "28 stacked statistics in evaluation": Problem(
        lambda: NORM.apply(trained()[0], stack(trained()[1]), None, X, is_training=False),
        errors.DeviceStackedError,
        "state['batch_norm/~/mean_ema']['counter'] has shape (4,) instead of (): it has a "
        "leading axis.",
        "apply(params, state, rng, inputs)",
        "apply(params, unreplicate(state), rng, inputs)",
        STACKED,
        "update/pmapped_update",
        lambda: NORM.apply(*trained(), None, X, is_training=False),
    ),
    "28 everything stacked in evaluation": Problem(
        lambda: NORM.apply(*stack(trained()), None, X, is_training=False),
        errors.DeviceStackedError,
        "state['batch_norm/~/mean_ema']['counter'] has shape (4,) instead of (): it has a "
        "leading axis.",
        "apply(params, state, rng, inputs)",
        "apply(unreplicate(params), unreplicate(state), rng, inputs)",
        STACKED,
        "update/pmapped_update",
        lambda: NORM.apply(*hs.unreplicate(spread(trained())), None, X, is_training=False),
    ),
    "28 stacked statistics of Haiku's": Problem(
        lambda: HAIKUS.apply(trained()[0], stack(trained()[1]), None, X, is_training=False),
        errors.DeviceStackedError,
        "state['batch_norm/~/mean_ema']['counter'] has shape (4,) instead of (): it has a "
        "leading axis.",
        "apply(params, state, rng, inputs)",
        "apply(params, unreplicate(state), rng, inputs)",
        STACKED,
        "update/pmapped_update",
        lambda: HAIKUS.apply(*trained(), None, X, is_training=False),
    ),
    "28 stacked params": Problem(
        lambda: LINEAR.apply(stack(LINEAR.init(KEY, X)[0]), {}, None, X),
        errors.DeviceStackedError,
        "params['linear']['w'] has shape (4, 4, 4) instead of (4, 4): it has a leading axis.",
        "apply(params, state, rng, inputs)",
        "apply(unreplicate(params), unreplicate(state), rng, inputs)",
        STACKED,
        "update/pmapped_update",
        lambda: LINEAR.apply(*LINEAR.init(KEY, X), None, X),
    ),
    "28 a stacked train state on one device": Problem(
        lambda: step(model().apply, stack(ready(None))),
        errors.DeviceStackedError,
        "train_state.step has shape (4,) instead of (): it has a leading axis.",
        "run(train_state, batch)",
        "run(unreplicate(train_state), batch)",
        STACKED,
        "update/pmapped_update",
        lambda: step(model().apply, ready(None)),
    ),
    "28 saved without unreplicate": Problem(
        lambda: hs.storage.to_numpy(*spread(trained())),
        errors.DeviceStackedError,
        "params['batch_norm']['offset'] has shape (4, 1, 4) instead of (1, 4): it has a "
        "leading axis.",
        "to_numpy(params, state)",
        "to_numpy(unreplicate(params), unreplicate(state))",
        STACKED,
        "update/pmapped_update",
        lambda: hs.storage.to_numpy(*hs.unreplicate(spread(trained()))),
    ),
}


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
        self.log = sys.stdout


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
    lambda: hs.exercises.stub("conter"),
    without_a_library,
)
"""Calls that end in the errors that are no problem of newcomers; other tests have their texts."""


def said(error, folder):
    """Return what an error prints: what happened, and its four lines with their labels."""
    *what, wrong, right, why, more = str(error).replace(f"{folder}/", "").splitlines()
    lines = [re.match(r" *(\w+)[:：] *(.*)", line).groups() for line in (wrong, right, why, more)]
    return {"what": "\n".join(what), "lines": lines}


def raised(fails):
    """Run a call that fails, and return its error."""
    try:
        fails()
    except Exception as error:
        return error
    raise AssertionError("no error")


def first_line(error):
    """Return the class of an error and the first line of its text, which may be long."""
    return textwrap.shorten(
        f"{type(error).__name__}: {error}".splitlines()[0], 160, placeholder=" …"
    )


def record(folder):
    """Run each call in each language: what its error says, and the error that it replaces."""
    found = []
    for title, (fails, _says) in PLAIN.items():
        number, before = int(title.split()[0]), first_line(raised(fails))
        texts = {language: {"what": "", "lines": []} for language in languages()}
        found.append({"problem": number, "error": "", "before": before, "texts": texts})
    calls = [(int(title.split()[0]), problem.fails) for title, problem in PROBLEMS.items()]
    for number, fails in [*calls, *((0, fails) for fails in OTHERS)]:
        texts, before = {}, ""
        for language in languages():
            with reading(language):
                try:
                    fails()
                except errors.HaikuStateError as error:
                    name, texts[language] = type(error).__name__, said(error, folder)
                    if error.__cause__ and number:
                        before = first_line(error.__cause__)
        found.append({"problem": number, "error": name, "before": before, "texts": texts})
    return found


def print_record(folder):
    """Print the record alone: what the libraries print meanwhile is not a part of it."""
    with contextlib.redirect_stdout(sys.stderr):  # JAX 0.12 prints where rows do not divide
        found = record(folder)
    json.dump(found, sys.stdout, indent=1, ensure_ascii=False)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        # the next language finds what the first has compiled
        jax.config.update("jax_compilation_cache_dir", f"{folder}/programs")
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        print_record(folder)
        os.chdir(Path(__file__).parent)
