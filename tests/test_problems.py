"""What newcomers run into: the call that goes wrong, the error that names it, the call that works.

The numbers are those of the catalog of problems. Each case is run as written, in both languages.
"""

from collections.abc import Callable
from typing import NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import haiku_state as hs
from haiku_state import errors

FOUR = jax.devices()[:4]
KEY = jax.random.key(0)
SGD = optax.sgd(0.1)
X = jnp.asarray(np.random.default_rng(0).normal(1, 2, (8, 4)), jnp.float32)
EMA = "state['batch_norm/~/mean_ema']"

NORM = hs.pure_pair(hs.BatchNorm, True, True, 0.9)
COUNTER = hs.pure_pair(hs.Counter)
LINEAR = hs.pure_pair(hk.Linear, 4)
PLAIN = hk.transform_with_state(lambda x: hk.Linear(1)(x))


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


def scanned(transform):
    """Count the rows inside of a loop."""

    def count_rows(rows):
        counter = hs.Counter()
        return transform(lambda carry, row: (carry, counter()), jnp.zeros(()), rows)[1]

    return count_rows


def leaked_state():
    """What plain Haiku hands out without a word."""
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
    return PLAIN.apply(params, state, x)


def without_state(params, state, rng, x, is_training):
    return PLAIN.apply(params, x, rng)


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

    def init(rng):
        params = {"w": jnp.ones(3)}
        return params, {"target": copy(params)}

    def loss_fn(params, state, rng, batch):
        return jnp.sum(params["w"]), (state, {})

    return hs.jit_update(hs.make_update(loss_fn, SGD))(start(hs.PurePair(init, None)), {"x": X})


def on_four(axis, strict=True):
    train_state = hs.replicate(start(model(axis), X, True), FOUR)
    update = hs.make_update(loss_of(model(axis).apply), SGD)
    run = hs.pmap_update(update, "devices", FOUR, strict=strict)
    return run(train_state, hs.split_batch({"x": X}, 4))


def pmapped(train_state, batch):
    update = hs.make_update(loss_of(model("devices").apply), SGD)
    return hs.pmap_update(update, "devices", FOUR)(train_state, batch)


def ready(axis="devices"):
    return start(model(axis), X, True)


def dropped_state(params, state, rng, batch):
    prediction, _ = model().apply(params, state, rng, batch["x"], True)
    return jnp.mean(jnp.square(prediction)), (state, {})


def spread(tree):
    return hs.replicate(tree, FOUR)


@pytest.fixture(autouse=True)
def one_key_for_all_cases():
    with jax.debug_key_reuse(False):
        yield


class Problem(NamedTuple):
    """One thing that goes wrong."""

    number: int
    wrong: Callable
    error: type[errors.HaikuStateError]
    english: str
    chinese: str
    right: Callable


PROBLEMS = {
    "1 state under hk.transform": Problem(
        1,
        lambda: hs.init_train_state(hk.transform(lambda: hs.Counter()()).init, SGD, KEY),
        errors.StatelessTransformError,
        "the function keeps state, and hk.transform has no place for it.",
        "这个函数带有状态，而 hk.transform 没有地方存放状态。",
        lambda: hs.init_train_state(hs.pure_pair(lambda: hs.Counter()()).init, SGD, KEY),
    ),
    "1 params alone": Problem(
        1,
        lambda: hs.init_train_state(hk.transform(lambda x: hk.Linear(2)(x)).init, SGD, KEY, X),
        errors.InitResultError,
        "init returned dict, not `(params, state)`.",
        "init 返回的是 dict，而不是 `(params, state)`。",
        lambda: hs.init_train_state(hs.pure_pair(lambda x: hk.Linear(2)(x)).init, SGD, KEY, X),
    ),
    "1 the class itself": Problem(
        1,
        lambda: hs.init_train_state(hk.transform_with_state(hs.Counter).init, SGD, KEY, X),
        errors.ModuleClassError,
        "a module class was called with the inputs as the arguments of its constructor.",
        "输入被当成构造函数的参数传给了模块类。",
        lambda: hs.init_train_state(hs.pure_pair(hs.Counter).init, SGD, KEY),
    ),
    "1 a module for an output": Problem(
        1,
        lambda: hs.pure_pair(lambda: hs.Counter()).init(None),
        errors.ModuleOutputError,
        "the function returned the module Counter, not an output.",
        "函数返回的是模块 Counter，而不是输出。",
        lambda: hs.pure_pair(hs.Counter).init(None),
    ),
    "1 neither": Problem(
        1,
        lambda: hs.pure_pair(3),
        errors.ModuleFactoryError,
        "3 is neither a module class nor a function.",
        "3 既不是模块类，也不是函数。",
        lambda: hs.pure_pair(hk.Linear, 3),
    ),
    "2 init in evaluation": Problem(
        2,
        lambda: NORM.init(KEY, X, is_training=False),
        errors.UninitializedStateError,
        f"{EMA}['average'] is read before anything has written it.",
        f"{EMA}['average'] 还没有写入就被读取了。",
        lambda: NORM.init(KEY, X, is_training=True),
    ),
    "2 init of Haiku's in evaluation": Problem(
        2,
        lambda: hs.pure_pair(hk.BatchNorm, True, True, 0.9).init(KEY, X, is_training=False),
        errors.UninitializedStateError,
        f"{EMA}['average'] is read before anything has written it.",
        f"{EMA}['average'] 还没有写入就被读取了。",
        lambda: hs.pure_pair(hk.BatchNorm, True, True, 0.9).init(KEY, X, is_training=True),
    ),
    "4 is_training traced": Problem(
        4,
        lambda: jax.jit(NORM.apply)(*trained(), None, X, True),
        errors.TracedFlagError,
        "`is_training` is traced, and Python has to read it while it traces.",
        "`is_training` 被追踪了，而 Python 在追踪时就必须读出它的值。",
        lambda: jax.jit(lambda *args: NORM.apply(*args, is_training=True))(*trained(), None, X),
    ),
    "4 is_training traced in Haiku's": Problem(
        4,
        lambda: jax.jit(hs.pure_pair(hk.BatchNorm, True, True, 0.9).apply)(
            *trained(), None, X, is_training=True
        ),
        errors.TracedFlagError,
        "`is_training` is traced, and Python has to read it while it traces.",
        "`is_training` 被追踪了，而 Python 在追踪时就必须读出它的值。",
        lambda: jax.jit(NORM.apply, static_argnames="is_training")(
            *trained(), None, X, is_training=True
        ),
    ),
    "5 rng left out": Problem(
        5,
        lambda: LINEAR.apply(*LINEAR.init(KEY, X), X),
        errors.PairArgumentError,
        "the argument `rng` is float32[8,4]; expected: jax.random.key(0) or None.",
        "参数 `rng` 是 float32[8,4]，应为 jax.random.key(0) or None。",
        lambda: LINEAR.apply(*LINEAR.init(KEY, X), None, X),
    ),
    "5 rng left out of init": Problem(
        5,
        lambda: LINEAR.init(X),
        errors.PairArgumentError,
        "the argument `rng` is float32[8,4]; expected: jax.random.key(0) or None.",
        "参数 `rng` 是 float32[8,4]，应为 jax.random.key(0) or None。",
        lambda: LINEAR.init(KEY, X),
    ),
    "5 state left out": Problem(
        5,
        lambda: LINEAR.apply(LINEAR.init(KEY, X)[0], KEY, X),
        errors.PairArgumentError,
        "the argument `state` is key<fry>[]; expected: {'module': {'name': array}}.",
        "参数 `state` 是 key<fry>[]，应为 {'module': {'name': array}}。",
        lambda: LINEAR.apply(LINEAR.init(KEY, X)[0], {}, KEY, X),
    ),
    "5 the pair of both for params": Problem(
        5,
        lambda: LINEAR.apply(LINEAR.init(KEY, X), {}, None, X),
        errors.PairArgumentError,
        "the argument `params` is tuple; expected: {'module': {'name': array}}.",
        "参数 `params` 是 tuple，应为 {'module': {'name': array}}。",
        lambda: LINEAR.apply(*LINEAR.init(KEY, X), None, X),
    ),
    "5 rng left out of plain Haiku's apply": Problem(
        5,
        lambda: hs.make_update(loss_of(without_key), SGD)(ready(None), {"x": X}),
        errors.PairArgumentError,
        "the argument `rng` is ArrayImpl; expected: jax.random.key(0) or None.",
        "参数 `rng` 是 ArrayImpl，应为 jax.random.key(0) or None。",
        lambda: step(model().apply, ready(None)),
    ),
    "5 inputs for the state of plain Haiku's apply": Problem(
        5,
        lambda: hs.make_update(loss_of(without_state), SGD)(ready(None), {"x": X}),
        errors.PairArgumentError,
        "the argument `state` is ArrayImpl; expected: {'module': {'name': array}}.",
        "参数 `state` 是 ArrayImpl，应为 {'module': {'name': array}}。",
        lambda: step(model().apply, ready(None)),
    ),
    "5 no key to draw from": Problem(
        5,
        lambda: hs.pure_pair(lambda x: hk.dropout(hk.next_rng_key(), 0.5, x)).apply(
            {}, {}, None, X
        ),
        errors.MissingKeyError,
        "random numbers are drawn, and rng is None.",
        "要生成随机数，但 rng 是 None。",
        lambda: hs.pure_pair(lambda x: hk.dropout(hk.next_rng_key(), 0.5, x)).apply({}, {}, KEY, X),
    ),
    "6 a parameter of a branch that init skips": Problem(
        6,
        lambda: hs.pure_pair(branch).apply(
            *hs.pure_pair(branch).init(KEY, X, False), None, X, True
        ),
        errors.UninitializedParameterError,
        "params['head']['w'] is not in params.",
        "params 里没有 params['head']['w']。",
        lambda: hs.pure_pair(branch).apply(*hs.pure_pair(branch).init(KEY, X, True), None, X, True),
    ),
    "6 state of a branch that init skips": Problem(
        6,
        lambda: hs.pure_pair(looks_back).apply({}, {}, None, X, True),
        errors.StateStructureError,
        "the returned state has other names (- gone, + new):\n    + state['counter']['count']",
        "返回的状态里名称变了（- 消失，+ 新增）：\n    + state['counter']['count']",
        lambda: hs.pure_pair(looks_back).apply(
            *hs.pure_pair(looks_back).init(None, X, True), None, X, True
        ),
    ),
    "6 an empty state in training": Problem(
        6,
        lambda: step(model().apply, ready(None)._replace(state={})),
        errors.StateStructureError,
        "the returned state has other names (- gone, + new):"
        + "".join(
            f"\n    + state['linear_regression/batch_norm/~/{ema}_ema']['{name}']"
            for ema in ("mean", "var")
            for name in ("average", "counter", "hidden")
        ),
        "返回的状态里名称变了（- 消失，+ 新增）："
        + "".join(
            f"\n    + state['linear_regression/batch_norm/~/{ema}_ema']['{name}']"
            for ema in ("mean", "var")
            for name in ("average", "counter", "hidden")
        ),
        lambda: step(model().apply, ready(None)),
    ),
    "6 a renamed module": Problem(
        6,
        lambda: hs.pure_pair(hs.Counter, name="steps").apply(
            {}, {"counter": {"count": jnp.int32(3)}}, None
        ),
        errors.StateStructureError,
        "the returned state has other names (- gone, + new):\n    + state['steps']['count']",
        "返回的状态里名称变了（- 消失，+ 新增）：\n    + state['steps']['count']",
        lambda: COUNTER.apply({}, {"counter": {"count": jnp.int32(3)}}, None),
    ),
    "8 a module in a plain loss function": Problem(
        8,
        lambda: step(lambda params, state, rng, x, _: (hk.Linear(1)(x), state), ready(None)),
        errors.OutsideTransformError,
        "a module was used outside of a transformed function.",
        "在经过变换的函数之外使用了模块。",
        lambda: step(model().apply, ready(None)),
    ),
    "8 a parameter in a plain loss function": Problem(
        8,
        lambda: step(
            lambda params, state, rng, x, _: (hk.get_parameter("w", (), init=jnp.ones), state),
            ready(None),
        ),
        errors.OutsideTransformError,
        "a module was used outside of a transformed function.",
        "在经过变换的函数之外使用了模块。",
        lambda: step(model().apply, ready(None)),
    ),
    "8 a plain function for init": Problem(
        8,
        lambda: hs.init_train_state(lambda rng, x: hs.LinearRegression()(x, True), SGD, KEY, X),
        errors.OutsideTransformError,
        "a module was used outside of a transformed function.",
        "在经过变换的函数之外使用了模块。",
        lambda: hs.init_train_state(hs.pure_pair(hs.LinearRegression).init, SGD, KEY, X, True),
    ),
    "12 jax.lax.scan around a module, at init": Problem(
        12,
        lambda: hs.pure_pair(scanned(jax.lax.scan)).init(None, X),
        errors.LeakedTracerError,
        "state was written inside a JAX transformation that has ended:"
        "\n    state['counter']['count']",
        "状态是在一个已经结束的 JAX 变换里写入的：\n    state['counter']['count']",
        lambda: hs.pure_pair(scanned(hk.scan)).init(None, X),
    ),
    "12 jax.lax.scan around a module": Problem(
        12,
        lambda: hs.pure_pair(scanned(jax.lax.scan)).apply({}, COUNTER.init(None)[1], None, X),
        errors.LeakedTracerError,
        "state was written inside a JAX transformation that has ended:"
        "\n    state['counter']['count']",
        "状态是在一个已经结束的 JAX 变换里写入的：\n    state['counter']['count']",
        lambda: hs.pure_pair(scanned(hk.scan)).apply({}, COUNTER.init(None)[1], None, X),
    ),
    "12 the same, compiled": Problem(
        12,
        lambda: jax.jit(hs.pure_pair(scanned(jax.lax.scan)).apply)(
            {}, COUNTER.init(None)[1], None, X
        ),
        errors.LeakedTracerError,
        "state was written inside a JAX transformation that has ended:"
        "\n    state['counter']['count']",
        "状态是在一个已经结束的 JAX 变换里写入的：\n    state['counter']['count']",
        lambda: jax.jit(hs.pure_pair(scanned(hk.scan)).apply)({}, COUNTER.init(None)[1], None, X),
    ),
    "12 the next use of a leaked state": Problem(
        12,
        lambda: COUNTER.apply({}, leaked_state(), None),
        errors.LeakedTracerError,
        "state was written inside a JAX transformation that has ended:"
        "\n    state['counter']['count']",
        "状态是在一个已经结束的 JAX 变换里写入的：\n    state['counter']['count']",
        lambda: COUNTER.apply({}, COUNTER.init(None)[1], None),
    ),
    "12 jax.vmap around set_state": Problem(
        12,
        lambda: hs.pure_pair(vmapped).init(None, X),
        errors.LeakedTracerError,
        "state was written inside a JAX transformation that has ended:\n    state['~']['last']",
        "状态是在一个已经结束的 JAX 变换里写入的：\n    state['~']['last']",
        lambda: jax.vmap(hs.pure_pair(hs.MovingAverage).apply, in_axes=(None, None, None, 0))(
            *hs.pure_pair(hs.MovingAverage).init(None, X[0]), None, X
        ),
    ),
    "16 a dtype that drifts": Problem(
        16,
        lambda: drifting(1.5).apply({}, {"~": {"total": jnp.int32(0)}}, None, X),
        errors.StateDtypeError,
        "the returned state has other dtypes:\n    state['~']['total']: int32[] -> weak float32[]",
        "返回的状态里 dtype 变了：\n    state['~']['total']: int32[] -> weak float32[]",
        lambda: drifting(1).apply({}, {"~": {"total": jnp.int32(0)}}, None, X),
    ),
    "16 a dtype that drifts in an update": Problem(
        16,
        lambda: hs.jit_update(hs.make_update(drifting_loss, SGD))(
            hs.init_train_state(
                lambda rng: ({"w": jnp.ones(2)}, {"~": {"total": jnp.int32(0)}}), SGD, KEY
            ),
            {"x": X},
        ),
        errors.StateDtypeError,
        "the returned state has other dtypes:\n    state['~']['total']: int32[] -> weak float32[]",
        "返回的状态里 dtype 变了：\n    state['~']['total']: int32[] -> weak float32[]",
        lambda: drifting(1).apply({}, {"~": {"total": jnp.int32(0)}}, None, X),
    ),
    "21 a train state used twice": Problem(
        21,
        lambda: use_twice(keep=False),
        errors.DonatedBufferError,
        "train_state.params['linear_regression']['b'] was given to an earlier update, "
        "and its memory is gone.",
        "train_state.params['linear_regression']['b'] 已经交给了之前的一次更新，它的内存已经失效。",
        lambda: use_twice(keep=True),
    ),
    "21 a train state read afterwards": Problem(
        21,
        read_after_donation,
        errors.DonatedBufferError,
        "params['linear_regression']['b'] was given to an earlier update, and its memory is gone.",
        "params['linear_regression']['b'] 已经交给了之前的一次更新，它的内存已经失效。",
        lambda: step(model().apply, ready(None)),
    ),
    "21 one array twice": Problem(
        21,
        lambda: target_network(lambda params: params),
        errors.SharedBufferError,
        "these leaves of the train state are one array:"
        "\n    train_state.params['w']\n    train_state.state['target']['w']",
        "训练状态里的这些叶节点是同一个数组："
        "\n    train_state.params['w']\n    train_state.state['target']['w']",
        lambda: target_network(lambda params: jax.tree.map(jnp.copy, params)),
    ),
    "23 an axis that nothing binds": Problem(
        23,
        lambda: step(model("devices").apply, ready()),
        errors.UnboundAxisError,
        "a mean over the axis 'devices' was asked for where that axis is not bound.",
        "要沿轴 'devices' 求平均，但这个轴在这里没有绑定。",
        lambda: on_four("devices"),
    ),
    "23 at Haiku's init": Problem(
        23,
        lambda: hs.pure_pair(hk.BatchNorm, True, True, 0.9, cross_replica_axis="i").init(
            KEY, X, True
        ),
        errors.UnboundAxisError,
        "a mean over the axis 'i' was asked for where that axis is not bound.",
        "要沿轴 'i' 求平均，但这个轴在这里没有绑定。",
        lambda: hs.pure_pair(hs.BatchNorm, True, True, 0.9, cross_replica_axis="i").init(
            KEY, X, True
        ),
    ),
    "27 a train state without the axis": Problem(
        27,
        lambda: pmapped(ready(), hs.split_batch({"x": X}, 4)),
        errors.DeviceAxisError,
        "train_state.params['linear_regression']['b'] has shape (), "
        "without a leading axis of 4 devices.",
        "train_state.params['linear_regression']['b'] 的形状是 ()，前面缺少长度为 4 的设备轴。",
        lambda: pmapped(spread(ready()), hs.split_batch({"x": X}, 4)),
    ),
    "27 a batch without the axis": Problem(
        27,
        lambda: pmapped(spread(ready()), {"x": X}),
        errors.DeviceAxisError,
        "batch['x'] has shape (8, 4), without a leading axis of 4 devices.",
        "batch['x'] 的形状是 (8, 4)，前面缺少长度为 4 的设备轴。",
        lambda: pmapped(spread(ready()), hs.split_batch({"x": X}, 4)),
    ),
    "27 unreplicate without the axis": Problem(
        27,
        lambda: hs.unreplicate(ready()),
        errors.DeviceAxisError,
        "tree.params['linear_regression']['b'] has shape (), without a leading axis of 4 devices.",
        "tree.params['linear_regression']['b'] 的形状是 ()，前面缺少长度为 4 的设备轴。",
        lambda: hs.unreplicate(spread(ready())),
    ),
    "28 stacked statistics in evaluation": Problem(
        28,
        lambda: NORM.apply(trained()[0], stack(trained()[1]), None, X, is_training=False),
        errors.DeviceStackedError,
        f"{EMA}['average'] has shape (4, 1, 4) where (1, 4) belongs: a device axis leads it.",
        f"{EMA}['average'] 的形状是 (4, 1, 4)，应为 (1, 4)：前面多了一个设备轴。",
        lambda: NORM.apply(*trained(), None, X, is_training=False),
    ),
    "28 stacked statistics of Haiku's": Problem(
        28,
        lambda: hs.pure_pair(hk.BatchNorm, True, True, 0.9).apply(
            trained()[0], stack(trained()[1]), None, X, is_training=False
        ),
        errors.DeviceStackedError,
        f"{EMA}['counter'] has shape (4,) where () belongs: a device axis leads it.",
        f"{EMA}['counter'] 的形状是 (4,)，应为 ()：前面多了一个设备轴。",
        lambda: hs.pure_pair(hk.BatchNorm, True, True, 0.9).apply(
            *trained(), None, X, is_training=False
        ),
    ),
    "28 stacked params": Problem(
        28,
        lambda: LINEAR.apply(stack(LINEAR.init(KEY, X)[0]), {}, None, X),
        errors.DeviceStackedError,
        "params['linear']['w'] has shape (4, 4, 4) where (4, 4) belongs: a device axis leads it.",
        "params['linear']['w'] 的形状是 (4, 4, 4)，应为 (4, 4)：前面多了一个设备轴。",
        lambda: LINEAR.apply(*LINEAR.init(KEY, X), None, X),
    ),
    "28 a stacked train state on one device": Problem(
        28,
        lambda: step(model().apply, stack(ready(None))),
        errors.DeviceStackedError,
        "train_state.step has shape (4,) where () belongs: a device axis leads it.",
        "train_state.step 的形状是 (4,)，应为 ()：前面多了一个设备轴。",
        lambda: step(model().apply, ready(None)),
    ),
    "28 saved without unreplicate": Problem(
        28,
        lambda: hs.to_numpy(*spread(trained())),
        errors.DeviceStackedError,
        "params['batch_norm']['offset'] has shape (4, 1, 4) where (1, 4) belongs: "
        "a device axis leads it.",
        "params['batch_norm']['offset'] 的形状是 (4, 1, 4)，应为 (1, 4)：前面多了一个设备轴。",
        lambda: hs.to_numpy(*hs.unreplicate(spread(trained()))),
    ),
}


def test_every_problem_of_the_list_has_a_case():
    assert {problem.number for problem in PROBLEMS.values()} | {22} == {
        1, 2, 4, 5, 6, 8, 12, 16, 21, 22, 23, 27, 28
    }  # fmt: skip


@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())
def test_the_call_ends_in_the_named_error_in_both_languages_and_the_fix_works(problem, monkeypatch):
    for language, what in (("en", problem.english), ("zh", problem.chinese)):
        monkeypatch.setenv("HAIKU_STATE_LANG", language)
        with pytest.raises(problem.error) as caught:
            problem.wrong()
        assert caught.value.what == what
        assert str(caught.value).startswith(what)
    monkeypatch.setenv("HAIKU_STATE_LANG", "en")
    problem.right()


@pytest.mark.parametrize(
    ("language", "announced"), [("en", "the replicas differ:\n"), ("zh", "各副本不一致：\n")]
)
def test_22_statistics_that_drift_apart_on_the_devices(language, announced, monkeypatch):
    monkeypatch.setenv("HAIKU_STATE_LANG", language)
    with pytest.raises(errors.ReplicaMismatchError) as caught:
        on_four(axis=None)
    first, *leaves = caught.value.what.splitlines()
    assert f"{first}\n" == announced
    assert [leaf.split(" by ")[0].strip() for leaf in leaves] == [
        f".state['linear_regression/batch_norm/~/{ema}_ema']['{name}']"
        for ema in ("mean", "var")
        for name in ("average", "hidden")
    ]
    on_four(axis="devices")
    drifted, _ = on_four(axis=None, strict=False)
    hs.assert_replicas_equal(hs.sync_state(drifted.state))


def test_22_the_train_state_outlives_the_error():
    train_state = hs.replicate(start(model(), X, True), FOUR)
    update = hs.pmap_update(hs.make_update(loss_of(model().apply), SGD), "devices", FOUR)
    with pytest.raises(errors.ReplicaMismatchError):
        update(train_state, hs.split_batch({"x": X}, 4))
    assert not any(leaf.is_deleted() for leaf in jax.tree.leaves(train_state))


def test_the_state_that_a_loss_function_drops_is_noticed():
    update = hs.make_update(dropped_state, SGD)
    for run in (update, hs.jit_update(update)):
        train_state = ready(None)
        with pytest.raises(errors.CounterStoppedError) as caught:
            run(train_state, {"x": X})
        assert caught.value.what == (
            "these counters did not advance in training:\n"
            "    state['linear_regression/batch_norm/~/mean_ema']['counter']\n"
            "    state['linear_regression/batch_norm/~/var_ema']['counter']"
        )
        assert not any(leaf.is_deleted() for leaf in jax.tree.leaves(train_state))
    hs.make_update(dropped_state, SGD, strict=False)(ready(None), {"x": X})


def test_the_original_error_is_the_cause():
    with pytest.raises(errors.MissingKeyError) as caught:
        hs.pure_pair(hk.Linear, 2).init(None, X)
    assert type(caught.value.__cause__).__name__ == "MissingRNGError"
