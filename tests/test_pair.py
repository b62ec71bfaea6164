import functools
import re

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from module_table import CASES

import haiku_state as hs
from haiku_state import errors

X = jnp.asarray(np.random.default_rng(0).normal(1, 2, (8, 4)), jnp.float32)


def assert_equal(one, other):
    assert jax.tree.structure(one) == jax.tree.structure(other)
    jax.tree.map(np.testing.assert_array_equal, one, other)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_is_haikus_pair(case):
    ours, theirs = hs.pure_pair(case.call), case.pair()
    key = jax.random.key(0)
    with jax.debug_key_reuse(False):
        params, state = ours.init(key, *case.inputs())
        assert_equal((params, state), theirs.init(key, *case.inputs()))
    for step in range(2):
        output, after = ours.apply(params, state, None, *case.inputs(step))
        assert_equal((output, after), theirs.apply(params, state, None, *case.inputs(step)))
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
def test_a_class_goes_as_it_is(case):
    module, args, kwargs, inputs, call = case
    ours, theirs = hs.pure_pair(module, *args, **kwargs), hk.transform_with_state(call)
    with jax.debug_key_reuse(False):
        key = jax.random.key(0)
        params, state = ours.init(key, *inputs)
        assert_equal((params, state), theirs.init(key, *inputs))
    assert_equal(
        ours.apply(params, state, None, *inputs), theirs.apply(params, state, None, *inputs)
    )


def test_a_function_may_get_its_first_arguments_here():
    def scaled(factor, x, *, shift):
        return factor * hk.Linear(2, with_bias=False)(x) + shift

    pair = hs.pure_pair(scaled, 2.0, shift=1.0)
    params, state = pair.init(jax.random.key(0), X)
    linear = jax.tree.map(np.asarray, params["linear"])
    expected = 2 * (np.asarray(X) @ linear["w"]) + 1
    np.testing.assert_allclose(
        pair.apply(params, state, None, X)[0], expected, rtol=1e-6, atol=1e-6
    )
    same = hs.pure_pair(functools.partial(scaled, 2.0, shift=1.0))
    assert_equal(same.apply(params, state, None, X), pair.apply(params, state, None, X))


def test_the_pair_is_pure_and_compiles_once():
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
def test_every_kind_of_key_is_taken(rng):
    with jax.legacy_prng_key("allow"):
        keys = {"new": jax.random.key(0), "old": jax.random.PRNGKey(0)}
        keys["words"] = np.asarray(keys["old"])
        rng = keys.get(rng, rng) if isinstance(rng, str) else rng
        pair = hs.pure_pair(hk.Linear, 2)
        params, state = pair.init(0 if rng is None else rng, X)
        pair.apply(params, state, rng, X)


@pytest.mark.parametrize("rng", [X, 1.5, "seed", jnp.zeros(2), {}])
def test_anything_else_is_no_key(rng):
    with pytest.raises(errors.PairArgumentError, match=r"^the argument `rng` is "):
        hs.pure_pair(hk.Linear, 2).init(rng, X)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (3, "3"),
        ("Counter", "'Counter'"),
        (dict, "dict"),
        (errors.HaikuStateError, "HaikuStateError"),
    ],
)
def test_what_is_no_module_and_no_function_is_refused(given, shown):
    with pytest.raises(errors.ModuleFactoryError) as caught:
        hs.pure_pair(given)
    assert str(caught.value) == (
        f"{shown} is neither a module class nor a function.\n"
        f"  wrong: pure_pair({shown})\n"
        "  right: pure_pair(hk.Linear, 8)\n"
        "  why:   the pair calls it at each init and apply; an ordinary class goes through "
        "functionalize\n"
        "  more:  docs/haiku/pure_pair.md"
    )


def test_none_stands_for_no_params_and_no_state_as_in_haiku():
    double = hs.pure_pair(lambda x: 2 * x)
    output, state = double.apply(None, None, None, X)
    np.testing.assert_array_equal(output, 2 * X)
    assert state == {}
    with pytest.raises(errors.StateStructureError):
        hs.pure_pair(hs.Counter).apply(None, None, None)


def test_params_of_another_size_are_haikus_own_error():
    params = {"linear": {"w": jnp.zeros((4, 3)), "b": jnp.zeros(3)}}
    with pytest.raises(ValueError, match=r"retrieved shape \(4, 3\) does not match") as caught:
        hs.pure_pair(hk.Linear, 2).apply(params, {}, None, X)
    assert not isinstance(caught.value, errors.HaikuStateError)


def test_a_leak_that_is_read_in_the_same_call_is_named_too():
    def call(rows):
        counter = hs.Counter()
        jax.lax.scan(lambda carry, row: (carry, counter()), jnp.zeros(()), rows)
        return counter()

    with pytest.raises(errors.LeakedTracerError, match=re.escape("has ended:\n    state[…]")):
        hs.pure_pair(call).init(None, X)


def test_a_leak_that_has_nothing_to_do_with_state_is_jaxs_own_error():
    leaked = []
    jax.vmap(leaked.append)(X)

    def loss_fn(params, state, rng, batch):
        return jnp.sum(leaked[0]), (state, {})

    update = hs.make_update(loss_fn, optax.sgd(0.1))
    pair = hs.pure_pair(hk.Linear, 2)
    train_state = hs.init_train_state(pair.init, optax.sgd(0.1), jax.random.key(0), X)
    with pytest.raises(jax.errors.UnexpectedTracerError):
        update(train_state, {})


def test_an_error_of_the_users_own_passes_unchanged():
    with pytest.raises(AttributeError, match="startswith") as caught:
        hs.pure_pair(lambda x: x.startswith("a")).init(None, X)
    assert not isinstance(caught.value, errors.HaikuStateError)

    def fails(x):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match=r"^mine$"):
        hs.pure_pair(fails).init(None, X)
    with pytest.raises(ValueError, match="channels_middle"):
        hs.pure_pair(hs.BatchNorm, True, True, 0.9, data_format="channels_middle").init(None, X)
