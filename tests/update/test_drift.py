"""A step whose train state comes back with another type is named, on every runner alike."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.runners import each, every_runner, train

import haiku_state as hs
from haiku_state.errors import (
    StateDtypeError,
    StateShapeError,
    StateStructureError,
    WeakTypeError,
)

pytestmark = pytest.mark.usefixtures("standard_promotion")


def start():
    return {"alpha": jnp.float32(0), "count": jnp.int32(0), "w": jnp.zeros(2)}


BATCH = {"x": np.ones(8, np.float32)}


def step_of(name, change):
    def step(train_state, batch, *, axis_name=None):
        return {**train_state, name: change(train_state[name])}, {}

    return step


DRIFTS = {
    "dtype": (
        "count",
        lambda n: n + 1.0,
        StateDtypeError,
        r"\['count'\]: int32\[2?\] -> .*float32",
    ),
    "half": (
        "w",
        lambda w: w.astype(jnp.float16),
        StateDtypeError,
        r"\['w'\]: float32\[(2,)?2\] -> ",
    ),
    "weak": (
        "alpha",
        lambda a: jnp.asarray(1.0),
        WeakTypeError,
        r"\['alpha'\]: float32\[2?\] -> weak",
    ),
    "shape": (
        "w",
        lambda w: jnp.concatenate([w, w]),
        StateShapeError,
        r"\['w'\]: float32\[(2,)?2\] -> ",
    ),
    "a name more": ("w", lambda w: {"w": w}, StateStructureError, r"- train_state\['w'\]"),
}


@pytest.mark.parametrize("drift", DRIFTS)
@every_runner
def test_runner__names_a_leaf_that_drifts_and_keeps_the_train_state(runner, drift):
    leaf, change, error, text = DRIFTS[drift]
    run = runner(step_of(leaf, change))
    placed = run.place(start())
    with pytest.raises(error, match=text) as caught:
        run(placed, run.feed(BATCH))
    assert "train_state[" in str(caught.value)
    assert "wrong:" not in str(caught.value)
    assert jax.tree.all(jax.tree.map(lambda leaf: bool(jnp.all(leaf == 0)), placed))


@each("jit_update", "scan_update", "vmap_update")
def test_runner__names_a_leaf_that_begins_weak(runner):
    """As SAC's ``alpha = jnp.asarray(0.)``, which the optimizer makes strong."""
    run = runner(step_of("alpha", lambda alpha: alpha - jnp.float32(0.1)))
    weak = {**start(), "alpha": jnp.asarray(0.0)}
    with pytest.raises(
        WeakTypeError, match=r"train_state\['alpha'\]: weak float32\[2?\] -> float32"
    ):
        run(run.place(weak), run.feed(BATCH))


@every_runner
def test_runner__compiles_a_step_that_keeps_its_types_once(runner):
    run = runner(step_of("count", lambda n: n + 1))
    train_state, _ = train(run, start(), 3 * [BATCH])
    assert train_state["count"] == 3
    assert run.trace_count == 1


def test_scan_update__does_not_hide_an_error_of_the_step():
    def step(train_state, batch, *, axis_name=None):
        raise TypeError("mine")

    run = hs.scan_update(step)
    with pytest.raises(TypeError, match="mine") as caught:
        run(run.place(start()), run.feed(BATCH))
    assert caught.value.__context__ is None
