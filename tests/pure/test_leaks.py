"""What is made inside a JAX transformation and leaks out of it, in every place where it can."""

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support.models import start_from
from support.runners import every_runner

import haiku_state as hs
from haiku_state.errors import ArgumentError, LeakedTracerError

X = jnp.ones((4, 3))
SGD = optax.sgd(0.1)


def key():
    return jax.random.key(0)


def linear():
    return hk.Linear(3, w_init=jnp.ones, name="linear")


# a module of its own in each of JAX's transformations, which know nothing of Haiku
AROUND_A_MODULE = {
    "map": lambda x: jax.lax.map(linear(), x),
    "scan": lambda x: jax.lax.scan(lambda carry, row: (carry, linear()(row)), 0, x)[1],
    "fori_loop": lambda x: jax.lax.fori_loop(0, 2, lambda i, y: linear()(y), x),
    "checkpoint": lambda x: jax.checkpoint(linear())(x),
    "jit": lambda x: jax.jit(linear())(x),
    "vmap": lambda x: jax.vmap(linear())(x),
    "grad": lambda x: jax.grad(lambda y: jnp.sum(linear()(y)))(x),
    "cond": lambda x: jax.lax.cond(x.sum() > 0, linear(), linear(), x),
}


@pytest.mark.parametrize("function", AROUND_A_MODULE.values(), ids=AROUND_A_MODULE)
def test_pure_pair__init_gives_arrays_or_names_the_leak(function):
    pair, haiku_pair = hs.pure_pair(function), hk.transform_with_state(function)
    starts = {
        "pair": lambda: pair.init(key(), X),
        "compiled": lambda: jax.jit(pair.init)(key(), X),
        "train state": lambda: hs.init_train_state(pair.init, SGD, key(), X),
        "train state of Haiku's pair": lambda: hs.init_train_state(haiku_pair.init, SGD, key(), X),
    }
    for name, start in starts.items():
        try:
            made = start()
        except LeakedTracerError:
            continue
        assert not any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(made)), name


def test_pure_pair__lists_params_that_leak_with_what_to_write():
    with pytest.raises(LeakedTracerError) as caught:
        hs.pure_pair(AROUND_A_MODULE["map"]).init(key(), X)
    told = str(caught.value)
    assert "    params['linear']['w']\n" in told
    assert "`hk.scan`" in told


@pytest.mark.parametrize("loop", [hk.map, lambda f, x: hk.scan(lambda c, r: (c, f(r)), 0, x)[1]])
def test_pure_pair__names_a_module_made_in_a_loop_of_haiku(loop):
    def wrong(x):
        return loop(lambda row: linear()(row), x)

    def right(x):
        module = linear()
        return loop(module, x)

    with pytest.raises(
        ArgumentError, match=r"a function that creates params, but it must be a func"
    ):
        hs.pure_pair(wrong).init(key(), X)
    assert hs.pure_pair(right).init(key(), X)[0]["linear"]["w"].shape == (3, 3)


KEPT = []


def keeping(value):
    """Compute inside a scan, and keep the tracer."""
    KEPT.clear()
    jax.lax.scan(lambda carry, x: (carry, KEPT.append(carry + x)), value, jnp.ones(3))
    return KEPT[0]


def metric_in_a_loss(params, state, rng, batch):
    loss = jnp.sum(params["w"]) * jnp.mean(batch["x"])
    return loss, (state, {"kept": keeping(loss)})


def params_of_an_update(train_state, batch, *, axis_name=None):
    return train_state + keeping(jnp.mean(batch["x"])), {}


def metrics_of_an_update(train_state, batch, *, axis_name=None):
    return train_state, {"kept": keeping(jnp.mean(batch["x"]))}


@pytest.mark.parametrize("step", [metric_in_a_loss, params_of_an_update, metrics_of_an_update])
@every_runner
def test_runner__names_a_leak_of_a_step(step, runner):
    train_state, is_carried = jnp.zeros(()), step is params_of_an_update
    # where JAX itself meets the tracer, the function that made it is named
    is_carried |= step is metrics_of_an_update and runner in (hs.scan_update, hs.vmap_update)
    if step is metric_in_a_loss:
        train_state = start_from({"w": jnp.ones(2)}, {}, SGD)
        step = hs.make_update(step, SGD)
    run = runner(step)
    batch = run.feed({"x": np.ones(4, np.float32)})
    with (
        jax.debug_key_reuse(False),  # which would look at the leaked tracer first
        pytest.raises(LeakedTracerError, match="made inside a JAX transformation") as caught,
    ):
        run(run.place(train_state), batch)
    assert ("    metrics['kept']\n" in str(caught.value)) != is_carried
    assert "can leave it only as a result" in str(caught.value)
