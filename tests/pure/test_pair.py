import functools
import inspect

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support.module_table import CASES
from support.trees import assert_close, assert_same_bits

import haiku_state as hs
from haiku_state import errors

X = jnp.asarray(np.random.default_rng(0).normal(1, 2, (8, 4)), jnp.float32)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_pure_pair__is_haikus_pair(case):
    ours, theirs = hs.pure_pair(case.call), case.pair()
    key = jax.random.key(0)
    with jax.debug_key_reuse(False):
        params, state = ours.init(key, *case.inputs())
        assert_same_bits((params, state), theirs.init(key, *case.inputs()))
    for step in range(2):
        output, after = ours.apply(params, state, None, *case.inputs(step))
        assert_same_bits((output, after), theirs.apply(params, state, None, *case.inputs(step)))
        state = after


CLASSES = {
    "counter": (hs.Counter, (), {}, (), lambda: hs.Counter()()),
    "named": (hs.Counter, (), {"name": "steps"}, (), lambda: hs.Counter(name="steps")()),
    "norm": (
        hs.BatchNorm,
        (True, True),
        {"decay_rate": 0.9},
        (X, True),
        lambda x, t: hs.BatchNorm(True, True, 0.9)(x, t),
    ),
    "haiku's": (hk.Linear, (3,), {"with_bias": False}, (X,), lambda x: hk.Linear(3, False)(x)),
}


@pytest.mark.parametrize("case", CLASSES.values(), ids=CLASSES.keys())
def test_pure_pair__takes_a_class(case):
    module, args, kwargs, inputs, call = case
    ours, theirs = hs.pure_pair(module, *args, **kwargs), hk.transform_with_state(call)
    with jax.debug_key_reuse(False):
        key = jax.random.key(0)
        params, state = ours.init(key, *inputs)
        assert_same_bits((params, state), theirs.init(key, *inputs))
    assert_same_bits(
        ours.apply(params, state, None, *inputs), theirs.apply(params, state, None, *inputs)
    )


def test_pure_pair__gives_a_function_its_first_arguments():
    def scaled(factor, x, *, shift):
        return factor * hk.Linear(2, with_bias=False)(x) + shift

    pair = hs.pure_pair(scaled, 2.0, shift=1.0)
    params, state = pair.init(jax.random.key(0), X)
    linear = jax.tree.map(np.asarray, params["linear"])
    expected = 2 * (np.asarray(X) @ linear["w"]) + 1
    assert_close(pair.apply(params, state, None, X)[0], expected)
    same = hs.pure_pair(functools.partial(scaled, 2.0, shift=1.0))
    assert_same_bits(same.apply(params, state, None, X), pair.apply(params, state, None, X))


def test_pure_pair__is_pure_and_compiles_once():
    pair, traces = hs.pure_pair(hs.Counter), []

    @jax.jit
    def apply(state):
        traces.append(1)
        return pair.apply({}, state, None)

    params, state = pair.init(None)
    assert (params, state) == ({}, {"counter": {"count": 0}})
    counts = []
    for _ in range(3):
        count, state = apply(state)
        counts.append(int(count))
    assert (counts, len(traces)) == ([1, 2, 3], 1)
    assert pair.init(None) == ({}, {"counter": {"count": 0}})


@pytest.mark.parametrize("rng", [None, 3, "new", "old", "words"])
def test_pure_pair__takes_every_kind_of_key(rng):
    with jax.legacy_prng_key("allow"):
        keys = {"new": jax.random.key(0), "old": jax.random.PRNGKey(0)}
        keys["words"] = np.asarray(keys["old"])
        rng = keys.get(rng, rng) if isinstance(rng, str) else rng
        pair = hs.pure_pair(hk.Linear, 2)
        params, state = pair.init(0 if rng is None else rng, X)
        pair.apply(params, state, rng, X)


@pytest.mark.parametrize("rng", [X, 1.5, "seed", jnp.zeros(2), {}])
def test_pure_pair__refuses_anything_else_as_a_key(rng):
    with pytest.raises(errors.PairArgumentError, match=r"^the argument `rng` is "):
        hs.pure_pair(hk.Linear, 2).init(rng, X)


@pytest.mark.parametrize(("given", "shown"), [(3, "3"), ("Counter", "'Counter'")])
def test_pure_pair__refuses_what_is_neither_a_module_nor_a_function(given, shown):
    with pytest.raises(errors.ArgumentError) as caught:
        hs.pure_pair(given)
    assert caught.value.what == (f"module is {shown}, but it must be a module class or a function.")


MISPLACED = {
    "a key for the state": (({}, jax.random.key(0), X), "state"),
    "inputs for the state": (({}, X, None), "state"),
    "the result of init": ((({}, {}), {}, None), "params"),
    "a train state": ((hs.TrainState(*[{}] * 5), {}, None), "params"),
    "a list": (([], {}, None), "params"),
    "a dict for the key": (({}, {}, {"x": X}), "rng"),
    "a number for the key": (({}, {}, 0.5, X), "rng"),
}


@pytest.mark.parametrize(("arguments", "named"), MISPLACED.values(), ids=MISPLACED)
def test_pure_pair__names_a_misplaced_argument(arguments, named):
    with pytest.raises(errors.PairArgumentError) as caught:
        hs.pure_pair(hk.Linear, 2).apply(*arguments)
    assert caught.value.values["argument"] == named


def test_pure_pair__none_stands_for_no_params_and_no_state():
    double = hs.pure_pair(lambda x: 2 * x)
    output, state = double.apply(None, None, None, X)
    np.testing.assert_array_equal(output, 2 * X)
    assert state == {}
    with pytest.raises(errors.StateStructureError):
        hs.pure_pair(hs.Counter).apply(None, None, None)


def test_pure_pair__names_another_number_of_features_at_apply():
    linear = hs.pure_pair(hk.Linear, 2)
    params, state = linear.init(jax.random.key(0), jnp.ones((8, 7)))
    features = X.shape[1]
    with pytest.raises(errors.ArgumentError) as caught:
        linear.apply(params, state, None, X)
    what = f"params['linear']['w'] is (7, 2), but it must be ({features}, 2)."
    assert caught.value.what == what
    assert isinstance(caught.value.__cause__, ValueError)


def test_pure_pair__two_sizes_for_one_module_are_haikus_own_error():
    def call(x):
        linear = hk.Linear(2)
        return linear(x), linear(x[:, 1:])

    with pytest.raises(ValueError, match="retrieved shape") as caught:
        hs.pure_pair(call).init(jax.random.key(0), X)
    assert not isinstance(caught.value, errors.HaikuStateError)


@pytest.mark.parametrize("seed", [7, np.int32(7), np.uint32(7), np.int64(7)])
def test_pure_pair__a_seed_stands_for_its_key_under_jit_too(seed):
    noise = hs.pure_pair(lambda: jax.random.normal(hk.next_rng_key(), (3,)))
    expected, _ = noise.apply({}, {}, jax.random.key(7))
    output, _ = jax.jit(noise.apply)({}, {}, seed)
    np.testing.assert_array_equal(output, expected)
    jax.jit(noise.init)(seed)


NORMS = {"ours": hs.BatchNorm, "haiku's": hk.BatchNorm}


@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize("norm", NORMS.values(), ids=NORMS)
@pytest.mark.parametrize("is_training", [True, False])
def test_pure_pair__refuses_a_stacked_state_before_it_broadcasts(norm, is_training):
    pair = hs.pure_pair(norm, False, False, 0.9)
    params, state = pair.init(None, X, is_training=True)
    stacked = jax.tree.map(lambda leaf: jnp.stack([leaf] * 4), state)
    for apply in (pair.apply, hs.checked(pair.apply)):
        with pytest.raises(
            errors.DeviceStackedError, match=r"'counter'\] has shape \(4,\) instead"
        ):
            apply(params, stacked, None, X, is_training)


@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize("norm", NORMS.values(), ids=NORMS)
def test_pure_pair__a_lifted_ensemble_has_a_stacked_state_by_right(norm):
    member = hk.transform_with_state(lambda x: norm(True, True, 0.9)(x, True))

    def ensemble(x):
        def init(x):
            return jax.vmap(lambda _: member.init(None, x))(jnp.arange(4))

        lifted, updater = hk.lift_with_state(init, name="members")
        params, state = lifted(x)
        outputs, state = jax.vmap(member.apply, in_axes=(0, 0, None, None))(params, state, None, x)
        updater.update(state)
        return outputs

    pair = hs.pure_pair(ensemble)

    def loss_fn(params, state, rng, batch):
        outputs, state = pair.apply(params, state, rng, batch["x"])
        return jnp.mean(outputs), (state, {})

    train_state = hs.init_train_state(pair.init, optax.sgd(0.1), jax.random.key(0), X)
    new, _ = hs.make_update(loss_fn, optax.sgd(0.1))(train_state, {"x": X})
    counter = new.state["members/batch_norm/~/mean_ema"]["counter"]
    assert counter.tolist() == [1, 1, 1, 1]

    def forgets(params, state, rng, batch):
        loss, (_, metrics) = loss_fn(params, state, rng, batch)
        return loss, (state, metrics)

    with pytest.raises(errors.CounterStoppedError):  # it is protected as any other
        hs.make_update(forgets, optax.sgd(0.1))(new, {"x": X})


def test_pure_pair__names_a_leak_that_is_read_in_the_same_call():
    def call(rows):
        counter = hs.Counter()
        jax.lax.scan(lambda carry, row: (carry, counter()), jnp.zeros(()), rows)
        return counter()

    with pytest.raises(errors.LeakedTracerError, match=r"has ended:\n    (<lambda> at |Dyn)"):
        hs.pure_pair(call).init(None, X)


def test_make_update__a_leak_from_elsewhere_is_jaxs_own_error():
    leaked = []
    jax.vmap(leaked.append)(X)

    def loss_fn(params, state, rng, batch):
        return jnp.sum(leaked[0]), (state, {})

    update = hs.make_update(loss_fn, optax.sgd(0.1))
    pair = hs.pure_pair(hk.Linear, 2)
    train_state = hs.init_train_state(pair.init, optax.sgd(0.1), jax.random.key(0), X)
    with pytest.raises(jax.errors.UnexpectedTracerError):
        update(train_state, {})


def test_pure_pair__an_error_of_the_users_own_passes_unchanged():
    with pytest.raises(AttributeError, match="startswith") as caught:
        hs.pure_pair(lambda: hs.Counter(name=3)()).init(None)
    assert not isinstance(caught.value, errors.HaikuStateError)
    with pytest.raises(AttributeError, match="startswith") as caught:
        hs.pure_pair(lambda x: x.startswith("a")).init(None, X)
    assert not isinstance(caught.value, errors.HaikuStateError)

    def fails(x):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match=r"^mine$"):
        hs.pure_pair(fails).init(None, X)
    with pytest.raises(ValueError, match="channels_middle"):
        hs.pure_pair(hs.BatchNorm, True, True, 0.9, data_format="channels_middle").init(None, X)


@pytest.mark.skipif(jax.__version_info__ < (0, 9), reason="older JAX does not name the leaf")
@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize("norm", NORMS.values(), ids=NORMS)
def test_pure_pair__names_a_normalization_inside_vmap(norm):
    def mapped(x):
        return hk.vmap(norm(True, True, 0.9), in_axes=(0, None), split_rng=False)(x, True)

    with pytest.raises(errors.ArgumentError) as caught:
        hs.pure_pair(mapped).init(jax.random.key(0), jnp.ones((2, 4, 3)))
    assert caught.value.what == (
        "state['batch_norm/~/mean_ema']['average'] is one value for each row, but it must be one "
        "value for all rows."
    )


class Doubled(hs.Counter):
    def __call__(self, x, factor=2):
        return x * factor * super().__call__()


def test_pure_pair__has_the_arguments_of_the_module():
    pair = hs.pure_pair(Doubled)
    assert [*inspect.signature(pair.init).parameters] == ["rng", "x", "factor"]
    assert [*inspect.signature(pair.apply).parameters] == ["params", "state", "rng", "x", "factor"]
