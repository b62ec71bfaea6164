"""What an error says is true of the program that raised it, and it says no more."""

import functools

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import PartitionSpec as P
from support.oracles import batch_norm
from support.tolerances import MANY_ROUNDINGS

import haiku_state as hs
from haiku_state import errors, recipes
from haiku_state.errors.describe import number_error

SGD = optax.sgd(0.1)
X = np.arange(24, dtype=np.float32).reshape(8, 3)
LINEAR = hs.pure_pair(lambda x: hs.LinearRegression()(x, True))


def loss_fn(params, state, rng, batch):
    out, state = LINEAR.apply(params, state, rng, batch["x"])
    return jnp.mean((out - batch["y"]) ** 2), (state, {})


BATCH = {"x": X, "y": np.ones(8, np.float32)}
UPDATE = hs.make_update(loss_fn, SGD)


def start(init=LINEAR.init, inputs=X):
    return hs.init_train_state(init, SGD, jax.random.key(0), inputs)


def four():
    return jax.devices()[:4]


def jitted(init, methods):
    """Call a method of a new class under jit."""
    names = {"__init__": init, "step": methods} if callable(methods) else methods
    functions = hs.functionalize(type("C", (), names), "step")
    return jax.jit(functions.apply)(functions.init(), jnp.float32(2))


def of_bound_axis():
    class Net(hk.Module):
        cross_replica_axis = "devices"

        def __call__(self, x):
            return jax.lax.pmean(x, "batch")

    def loss(params, state, rng, batch):
        return jnp.mean(pair.apply(params, state, rng, batch)[0]), (state, {})

    pair = hs.pure_pair(Net)
    run = hs.pmap_update(hs.make_update(loss, SGD), four())
    run(run.place(start(lambda rng, x: ({"a": {"b": jnp.ones(())}}, {}))), run.feed(X))


def leaked(kept):
    def f(x):
        def body(carry, row):
            kept.append(row)
            return carry, row

        jax.lax.scan(body, 0.0, x)
        return sum(kept)

    hs.pure_pair(f).init(None, X)


def in_vmap(run, train_state, batch=BATCH):
    return hs.vmap_update(UPDATE, 4, **run)(train_state, batch)


def with_integer(rng, x):
    return {"poly": {"degree": jnp.int32(2), "w": jnp.ones(3)}}, {}


def predict(params, state, rng, batch):
    return jnp.mean(batch["x"] @ params["poly"]["w"]), (state, {})


class Foreign:
    """As a tensor of another library, whose dtype NumPy does not know."""

    dtype, shape, ndim = "float32", (8,), 1

    def __array__(self):
        return np.zeros(8, np.float32)


def average(x):
    return hs.MovingAverage()(x)


def two_names():
    array = jnp.ones(4)
    other = jax.device_put(array, jax.devices()[0])
    return {"a": array, "b": other}, {"x": X}


def twice(train_state):
    params = train_state.params
    return train_state._replace(state={"target": params, "other": {"rng": train_state.rng}})


# the program; what it is told; what it is not told
CASES = {
    "an axis that is bound is not blamed": (
        of_bound_axis,
        errors.UnboundAxisError,
        "this runner averages over the axis 'devices'",
        "wrong:",
    ),
    "a sum over an axis is no mean": (
        lambda: jax.jit(hs.pure_pair(lambda x: jax.lax.psum(x, "i")).apply)({}, {}, None, X),
        errors.UnboundAxisError,
        "the axis 'i' is used",
        "mean",
    ),
    "a test with and": (
        lambda: jitted(
            lambda self: setattr(self, "n", 0),
            lambda self, x: self.n + 1 if self.n > 1 and x > 0 else x,
        ),
        errors.TracedFlagError,
        "`self.n` is traced",
        "wrong:",
    ),
    "a number in a dict": (
        lambda: jitted(
            lambda self: setattr(self, "stats", {"n": 0}),
            lambda self, x: x if self.stats["n"] < 3 else -x,
        ),
        errors.TracedFlagError,
        "`self.stats['n']` is traced",
        "wrong:",
    ),
    "an array of words": (
        lambda: jitted(lambda self: setattr(self, "names", np.array(["a"])), lambda self, x: x),
        errors.AttributeKindError,
        "self.names is of type ndarray of <U1",
        "",
    ),
    "a sum that starts as an integer": (
        lambda: jitted(
            lambda self: setattr(self, "n", 0), lambda self, x: setattr(self, "n", self.n + x)
        ),
        errors.StateDtypeError,
        "start with a dtype that holds what each call returns",
        "wrong:",
    ),
    "a list in a scan": (
        lambda: leaked([]),
        errors.LeakedTracerError,
        "has ended:",
        "state[",
    ),
    "one row instead of a batch": (
        lambda: LINEAR.apply(*LINEAR.init(None, X), None, X[0]),
        errors.ArgumentError,
        "init determines all shapes",
        "stacked",
    ),
    "an average of another shape": (
        lambda: hs.pure_pair(average).apply(
            *hs.pure_pair(average).init(None, jnp.zeros(3)), None, jnp.float32(0)
        ),
        errors.ArgumentError,
        "init determines all shapes",
        "stacked",
    ),
    "a batch that is not stacked": (
        lambda: hs.scan_update(UPDATE)(start(), BATCH),
        errors.ArgumentError,
        "init determines all shapes",
        "stacked",
    ),
    "params that are stacked": (
        lambda: LINEAR.apply(
            *jax.tree.map(lambda leaf: jnp.stack([leaf] * 2), LINEAR.init(None, X)), None, X
        ),
        errors.DeviceStackedError,
        "stacked",
        "",
    ),
    "an integer among the params": (
        lambda: hs.make_update(predict, SGD)(start(with_integer), BATCH),
        errors.ArgumentError,
        "params['poly']['degree'] is int32[], but it must be an array of a floating dtype.",
        "loss_fn",
    ),
    "an ensemble without members": (
        lambda: in_vmap({}, start()),
        errors.LeadingAxisError,
        "train_state.params['linear_regression']['b'] has shape (), but it must have a leading",
        "length",
    ),
    "a batch without members": (
        lambda: in_vmap({"shared_batch": False}, hs.vmap_update(UPDATE, 4).place(start())),
        errors.LeadingAxisError,
        "batch['x'] has shape (8, 3), but train_state.params['linear_regression']['b'] has shape "
        "(4,): their leading axes differ.",
        "",
    ),
    "one replica alone": (
        lambda: hs.unreplicate(start()),
        errors.LeadingAxisError,
        ".params['linear_regression']['b'] has shape (), but it must have a leading axis.",
        "length",
    ),
    "the mean of one replica": (
        lambda: hs.sync_state({"a": {"b": jnp.float32(0)}}),
        errors.LeadingAxisError,
        "it must have a leading axis",
        "",
    ),
    "one replica that is compared": (
        lambda: hs.assert_replicas_equal({"a": jnp.float32(0)}),
        errors.LeadingAxisError,
        "['a'] has shape (), but it must have a leading axis.",
        "tree",
    ),
    "a number among microbatches": (
        lambda: recipes.accumulate(loss_fn, 4, statistics="each")(
            *start()[:2], None, {**BATCH, "beta": 1.0}
        ),
        errors.ArgumentError,
        "batch['beta'] is weak float32[], but it must be an array with an entry for each row.",
        "0 rows",
    ),
    "no state to freeze": (
        lambda: recipes.freeze_state(loss_fn, lambda *_: False)(*start()[:2], None, BATCH),
        errors.NothingFrozenError,
        "every leaf would silently continue to change",
        "params",
    ),
    "a step of dicts under checked": (
        lambda: hs.checked(lambda train_state, batch: (train_state, {}))({"x": 1}, BATCH),
        errors.ArgumentError,
        "train_state is dict, but it must be TrainState.",
        "names",
    ),
    "three arrays in one place": (
        lambda: hs.shard_update(UPDATE, hs.data_mesh(four()))(twice(start()), BATCH),
        errors.SharedBufferError,
        "train_state.params['linear_regression']['w'] = train_state.state['target']",
        "",
    ),
    "a state that is not averaged": (
        lambda: hs.jit_update(recipes.average_state(UPDATE, 0.9))(start(), BATCH),
        errors.ArgumentError,
        "train_state is TrainState, but it must be AveragedTrainState.",
        "",
    ),
    "a dict for a scaled step": (
        lambda: recipes.make_scaled_update(loss_fn, SGD)({}, BATCH),
        errors.ArgumentError,
        "train_state is dict, but it must be TrainState.",
        "outermost",
    ),
    "a function that makes an optimizer, frozen": (
        lambda: recipes.freeze_params(optax.adam, lambda *_: True),
        errors.ArgumentError,
        "optimizer is adam, but it must be an Optax optimizer.",
        "",
    ),
    "a function that makes an optimizer, scaled": (
        lambda: recipes.make_scaled_update(loss_fn, optax.adam),
        errors.ArgumentError,
        "optimizer is adam, but it must be an Optax optimizer.",
        "",
    ),
    "one device": (
        lambda: hs.pmap_update(UPDATE, jax.devices()[0]),
        errors.ArgumentError,
        "but it must be a list of devices.",
        "wrong:",
    ),
    "a mesh as devices": (
        lambda: hs.pmap_update(UPDATE, hs.data_mesh(four())),
        errors.ArgumentError,
        "but it must be a list of devices.",
        "wrong:",
    ),
    "an axis that the mesh has not": (
        lambda: hs.shard_train_state(start(), hs.data_mesh(four()), lambda *_: P("model")),
        errors.MeshPlacementError,
        "An entry names axes of the mesh",
        "",
    ),
    "an adam for an adamw": (
        lambda: hs.make_update(loss_fn, optax.adamw(optax.constant_schedule(0.1)))(
            hs.init_train_state(LINEAR.init, optax.adam(0.1), jax.random.key(0), X), BATCH
        ),
        errors.ArgumentError,
        "ScaleByScheduleState",
        "",
    ),
    "arguments by name alone": (
        lambda: hs.make_update(lambda *, params, state, rng, batch: 0, SGD),
        errors.ArgumentError,
        "loss_fn is <lambda>(*, params, state, rng, batch), but it must be loss_fn(params,",
        "",
    ),
    "a scan without metrics": (
        lambda: hs.scan_update(lambda train_state, batch: train_state)(
            start(), jax.tree.map(lambda leaf: leaf[None], BATCH)
        ),
        errors.ArgumentError,
        "an update step returns a train state and metrics",
        "branch",
    ),
    "one memory in two objects": (
        lambda: hs.jit_update(lambda tree, batch: (tree, {}))(*two_names()),
        errors.SharedBufferError,
        "train_state['a'] = train_state['b']",
        "",
    ),
    "a list of lists": (
        lambda: hs.split_batch({"x": X.tolist()}, 4),
        errors.ArgumentError,
        "turn a list of numbers into an array",
        "",
    ),
    "weights of classes in a batch": (
        lambda: hs.split_batch({**BATCH, "weights": np.ones(10)}, 4),
        errors.LeadingAxisError,
        "batch['x'] has shape (8, 3), but batch['weights'] has shape (10,)",
        "",
    ),
    "metrics of an update": (
        lambda: hs.mean_metrics([{"loss": 1.0}]),
        errors.ArgumentError,
        'metrics is loss, but it must be metrics with "examples".',
        "",
    ),
}


@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize("case", CASES)
def test_errors__say_what_is_true(case):
    call, kind, told, not_told = CASES[case]
    with pytest.raises(kind) as caught:
        call()
    assert told in str(caught.value)
    assert not not_told or not_told not in str(caught.value)


def test_errors__a_tensor_of_another_library_is_left_to_jax():
    assert number_error(batch={"x": Foreign()}) is None


def test_functionalize__a_number_of_numpy_may_be_static():
    """A size is often a product of NumPy, which ``static`` refused as an array."""

    class Flat:
        def __init__(self, shape):
            self.width = np.prod(shape)

        def step(self, x):
            return jnp.reshape(x, (-1, self.width))

    init, apply = hs.functionalize(Flat, "step", static=("width",))
    rows, _ = jax.jit(apply)(init((2, 3)), jnp.arange(12.0))
    np.testing.assert_array_equal(rows, np.arange(12.0).reshape(2, 6))


@pytest.mark.parametrize("args", [(hs.BatchNorm, True, True), (hs.BatchNorm,)])
def test_pure_pair__one_of_a_partial_is_that_of_the_class(args):
    rest = (True, True, 0.5)[len(args) - 1 :]
    pair = hs.pure_pair(functools.partial(*args), *rest)
    params, state = pair.init(None, X, True)
    out, _ = pair.apply(params, state, None, X, True)
    np.testing.assert_allclose(out, batch_norm(X, 0)[0], rtol=MANY_ROUNDINGS)


def test_mean_metrics__one_result_of_an_evaluation_is_a_mean():
    assert hs.mean_metrics({"error": 2.0, "examples": 3}) == {"error": 2.0}


@pytest.mark.parametrize("make", [hs.shard_update, hs.shard_map_update])
def test_runner__may_be_called_twice_in_a_compiled_program(make):
    options = {"check_replicas": False} if make is hs.shard_map_update else {}
    run = make(UPDATE, hs.data_mesh(four()), **options)
    train_state, batch = run.place(start()), run.feed(BATCH)
    twice, _ = jax.jit(lambda t, b: run(run(t, b)[0], b))(train_state, batch)
    assert twice.step == 2
