"""The advice of an error is true for the case at hand: the same class met in different ways."""

import functools
from typing import NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support.models import start_from
from support.tolerances import MANY_ROUNDINGS

import haiku_state as hs
from haiku_state import errors

X = jnp.ones((4, 3))


def test_assert_replicas_equal__sees_a_difference_of_imaginary_parts():
    with pytest.raises(errors.ReplicaMismatchError, match=r"\['z'\] by 2\n"):
        hs.assert_replicas_equal({"z": jnp.array([1 + 1j, 1 + 3j])})
    hs.assert_replicas_equal({"z": jnp.array([1 + 1j, 1 + 1j])})


def test_assert_replicas_equal__of_many_leaves_the_first_and_the_last_are_shown():
    tree = {f"layer_{i:03}": jnp.array([0.0, 1.0]) for i in range(212)}
    with pytest.raises(errors.ReplicaMismatchError) as caught:
        hs.assert_replicas_equal(tree)
    told = str(caught.value).splitlines()
    assert len(told) < 30
    assert "    ['layer_000'] by 1" in told
    assert "    … and 192 more" in told
    assert "    ['layer_211'] by 1" in told


DEVICES = {
    "XLA_FLAGS": ("--xla_force_host_platform_device_count=2", "=4"),
    "JAX_NUM_CPU_DEVICES": ("2", "=4"),
}


@pytest.mark.parametrize("name", DEVICES)
def test_use_devices__a_number_that_the_environment_has_chosen_is_not_called_started(name, user):
    if name == "JAX_NUM_CPU_DEVICES" and not hasattr(jax.config, "jax_num_cpu_devices"):
        pytest.skip("this JAX does not read it")
    value, right = DEVICES[name]
    program = "import haiku_state as hs; hs.use_devices(4)"
    ran = user.python("-c", program, env={name: value, "HAIKU_STATE_LANG": "en"})
    assert f"  wrong: {name}={value}\n" in ran.stderr
    assert f"{right}\n" in ran.stderr
    assert "environment sets" in ran.stderr


def loss_fn(params, state, rng, batch):
    return jnp.sum(params["w"]), (state, {})


OPT_STATES = {
    "another optimizer": lambda params: optax.adam(0.1).init(params),
    "plain tuples": lambda params: ((), ()),
    "none": lambda params: None,
}


@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize("make", OPT_STATES.values(), ids=OPT_STATES)
def test_make_update__an_opt_state_of_another_optimizer_is_named(make):
    optimizer = optax.chain(optax.clip(1.0), optax.sgd(0.1, momentum=0.9))
    train_state = start_from({"w": jnp.ones(2)}, {}, optimizer)
    wrong = train_state._replace(opt_state=make(train_state.params))
    run = hs.jit_update(hs.make_update(loss_fn, optimizer))
    with pytest.raises(errors.ArgumentError, match=r"^train_state\.opt_state is "):
        run(wrong, {})


def test_batches__takes_lists_and_ranges_and_names_ragged_ones():
    batch = next(hs.batches({"x": range(10), "y": [[1.0, 2.0]] * 10}, 4))
    assert (batch["x"].tolist(), batch["y"].shape) == ([0, 1, 2, 3], (4, 2))
    for ragged in ({"x": [[1], [1, 2]]}, {"x": 3}, {"x": range(3), "y": range(4)}):
        with pytest.raises(errors.ArgumentError, match="the same number of rows"):
            hs.batches(ragged, 1)


def test_jit_update__an_update_that_returns_one_thing_is_told_to_return_two():
    run = hs.jit_update(lambda total, batch, *, axis_name=None: total + 1)
    with pytest.raises(errors.ArgumentError, match=r"must be \(train_state, metrics\)"):
        run(jnp.zeros(()), {"x": np.ones(2)})


# ---- Where no line is sure, the text says what holds

LINEAR = hs.pure_pair(hs.LinearRegression)
NORM = hs.pure_pair(hs.BatchNorm, True, True, 0.9, cross_replica_axis="devices")


def squared(params, state, rng, batch):
    prediction, state = LINEAR.apply(params, state, rng, batch["x"], True)
    return jnp.mean(prediction**2), (state, {})


def errors_of(params, state, batch):
    prediction, state = LINEAR.apply(params, state, None, batch["x"], False)
    return {"error": jnp.square(prediction - 1)}, state


UPDATE = hs.make_update(squared, optax.sgd(0.1))


def started(key):
    return hs.init_train_state(LINEAR.init, optax.sgd(0.1), key, X, True)


def members(make, count=3):
    return jax.vmap(make)(jax.random.split(jax.random.key(0), count))


def stacked_params():
    params, state = members(lambda key: LINEAR.init(key, X, True))
    LINEAR.apply(params, state, None, X, True)


def keeps_in_a_list():
    losses = []

    def loss_fn(params, state, rng, batch):
        jax.lax.scan(lambda carry, row: (carry, losses.append(row.sum())), 0.0, batch["x"])
        return losses[-1] * params["linear_regression"]["b"], (state, {})

    hs.jit_update(hs.make_update(loss_fn, optax.sgd(0.1)))(started(jax.random.key(0)), {"x": X})


class Cached:
    """A value that is computed at its first use, which is inside a loop."""

    def __init__(self):
        self.w, self.cache = jnp.ones(3), [jnp.zeros(())]

    def step(self, x):
        def add(total, row):
            self.cache[0] = jnp.sum(self.w**2)
            return total + row.sum() * self.cache[0], None

        return jax.lax.scan(add, jnp.zeros(()), x)[0]


class Growing:
    def __init__(self):
        self.seen = jnp.zeros((1, 3))

    def step(self, x):
        self.seen = jnp.concatenate([self.seen, x])


class Turned:
    def __init__(self):
        self.table = jnp.zeros((2, 3))

    def step(self, x):
        self.table = self.table.T


def of_class(cls):
    init, apply = hs.functionalize(cls, "step")
    apply(init(), X)


def growing_module():
    def f(x):
        seen = hk.get_state("seen", (1, 3), jnp.float32, init=jnp.zeros)
        hk.set_state("seen", jnp.concatenate([seen, x]))

    pair = hs.pure_pair(f)
    pair.apply(*pair.init(None, X), None, X)


def plain_state():
    def loss_fn(params, state, rng, batch):
        return jnp.sum(params["w"]), ({"n": state["n"] + 1.5}, {})

    optimizer = optax.sgd(0.1)
    start = start_from({"w": jnp.ones(2)}, {"n": jnp.int32(0)}, optimizer)
    hs.jit_update(hs.make_update(loss_fn, optimizer))(start, {})


def shared_names():
    """Two statements write one state: which of them it is cannot be known."""

    def f(x):
        a = hk.get_state("twice", (), jnp.float32, init=jnp.zeros)
        hk.set_state("twice", a.astype(jnp.bfloat16))
        hk.set_state("twice", a.astype(jnp.float16))

    pair = hs.pure_pair(f)
    pair.apply(*pair.init(None, X), None, X)


UNSURE = {
    "an ensemble under jit": (
        lambda: hs.jit_update(UPDATE)(members(started), {"x": X}),
        errors.DeviceStackedError,
        "members of an ensemble",
    ),
    "an ensemble evaluated under jit": (
        lambda: hs.jit_update(hs.make_evaluate(errors_of))(members(started), {"x": X}),
        errors.DeviceStackedError,
        "members of an ensemble",
    ),
    "params stacked by vmap": (stacked_params, errors.DeviceStackedError, "jax.vmap(apply)"),
    "an axis in a bare apply": (
        lambda: NORM.apply(*NORM.init(None, X, True), None, X, True),
        errors.UnboundAxisError,
        "under the name that is passed to them",
    ),
    "an axis in a pmap of another name": (
        lambda: jax.pmap(
            lambda x: NORM.apply(*NORM.init(None, X, True), None, x, True), axis_name="i"
        )(X[None]),
        errors.UnboundAxisError,
        "under the name that is passed to them",
    ),
    "a list in a loop": (keeps_in_a_list, errors.LeakedTracerError, "as a result"),
    "a cache in a loop": (
        functools.partial(of_class, Cached),
        errors.LeakedTracerError,
        "an attribute",
    ),
    "a class that grows": (functools.partial(of_class, Growing), errors.StateShapeError, "start"),
    "a class that transposes": (
        functools.partial(of_class, Turned),
        errors.StateShapeError,
        "start",
    ),
    "a module that grows": (growing_module, errors.StateShapeError, "start"),
    "a state without a module": (plain_state, errors.StateDtypeError, "start with a dtype"),
    "a state that is written twice": (shared_names, errors.StateDtypeError, "start with a dtype"),
    "a number in a batch": (
        lambda: hs.split_batch({"x": X, "epoch": 3}, 2),
        errors.ArgumentError,
        "batch['epoch'] is weak int32[]",
    ),
}


@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize(("fails", "kind", "said"), UNSURE.values(), ids=UNSURE)
def test_errors__where_no_line_is_sure_none_is_given(fails, kind, said):
    with jax.debug_key_reuse(False), pytest.raises(kind) as caught:
        fails()
    assert said in str(caught.value)
    assert "right:" not in str(caught.value)
    assert "unreplicate(" not in str(caught.value)


def test_vmap_update__an_ensemble_is_evaluated_and_saved(tmp_path):
    with jax.debug_key_reuse(False):
        ensemble = members(started)
        ensemble, _ = hs.vmap_update(UPDATE)(ensemble, {"x": X})
        evaluated = hs.vmap_update(hs.make_evaluate(errors_of))(ensemble, {"x": X})
        fresh = members(started)
    w, b = (np.float64(ensemble.params["linear_regression"][name]) for name in "wb")
    predicted = np.float64(X) @ w[..., None]
    expected = np.mean((predicted[..., 0] + b[:, None] - 1) ** 2, axis=1)
    np.testing.assert_allclose(evaluated["error"], expected, rtol=MANY_ROUNDINGS)
    folder = hs.storage.save_checkpoint(tmp_path, ensemble)
    assert folder.name == "1"
    restored = hs.storage.restore_checkpoint(tmp_path, fresh).train_state
    jax.tree.map(
        np.testing.assert_array_equal,
        (restored.params, restored.state, restored.step),
        (ensemble.params, ensemble.state, ensemble.step),
    )


def test_save_checkpoint__copies_on_devices_are_no_ensemble(tmp_path):
    with jax.debug_key_reuse(False):
        copies = hs.replicate(started(jax.random.key(0)), jax.devices()[:2])
        with pytest.raises(errors.DeviceStackedError):
            hs.storage.save_checkpoint(tmp_path, copies)


class Own(NamedTuple):
    w: jax.Array
    step: jax.Array


def test_restore_checkpoint__an_own_tuple_is_not_told_to_init_a_train_state(tmp_path):
    hs.storage.save_checkpoint(tmp_path, Own(jnp.ones(3), jnp.int32(0)))
    with pytest.raises(errors.SavedMismatchError) as caught:
        hs.storage.restore_checkpoint(tmp_path, Own(jnp.ones(4), jnp.int32(0)))
    assert "init_train_state" not in str(caught.value)
