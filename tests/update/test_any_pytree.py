"""Batches of any PyTree in every runner; a key of its own for each member."""

import collections
import dataclasses
import functools
from typing import Any, NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support.models import line, rows
from support.runners import RUNNERS
from support.tolerances import FEW_ROUNDINGS, MANY_ROUNDINGS

import haiku_state as hs


class Rows(NamedTuple):
    x: Any
    y: Any
    mask: Any = None


@functools.partial(jax.tree_util.register_dataclass, data_fields=["x", "y"], meta_fields=["name"])
@dataclasses.dataclass
class Named:
    x: Any
    y: Any
    name: str = "train"


def x_and_y(batch):
    return batch["x"], batch["y"]


SHAPES = {
    "NamedTuple with None": (Rows, lambda b: (b.x, b.y)),
    "dataclass": (Named, lambda b: (b.x, b.y)),
    "one array": (lambda x, y: np.c_[x, y], lambda b: (b[:, :-1], b[:, -1])),
    "OrderedDict": (lambda x, y: collections.OrderedDict(y=y, x=x), x_and_y),
    "FlatMap": (lambda x, y: hk.data_structures.to_immutable_dict({"x": x, "y": y}), x_and_y),
    "JAX arrays": (lambda x, y: {"x": jnp.asarray(x), "y": jnp.asarray(y)}, x_and_y),
    "dict": (lambda x, y: {"inputs": x, "targets": y}, lambda b: (b["inputs"], b["targets"])),
    "tuple": (lambda x, y: (x, y), lambda b: b),
    "nested": (
        lambda x, y: {"features": {"x": x}, "targets": y},
        lambda b: (b["features"]["x"], b["targets"]),
    ),
}


# the shape of a loss where it is not a single one
LOSSES = {"scan_update": (3,), "vmap_update": (2,), "own batches": (2,)}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", [*RUNNERS, "own batches"])
def test_runner__trains_and_evaluates_on_any_pytree(name, shape):
    make, parts = SHAPES[shape]
    runner = (
        (lambda u: hs.vmap_update(u, shared_batch=False))
        if name == "own batches"
        else RUNNERS[name]
    )
    pair = line()
    x, y = rows(48).values()
    data = make(x, y)

    def loss_fn(params, state, key, batch):
        inputs, targets = parts(batch)
        prediction, state = pair.apply(params, state, key, inputs)
        loss = jnp.mean((prediction - targets) ** 2)
        return loss, (state, {"twice": 2 * loss})

    def metrics_fn(params, state, batch):
        inputs, targets = parts(batch)
        prediction, state = pair.apply(params, state, None, inputs)
        return {"error": (prediction - targets) ** 2}, state

    sgd = optax.sgd(0.1)
    ts = hs.init_train_state(pair.init, sgd, jax.random.key(0), x)
    w, losses = np.zeros(4), []
    for i in range(3):
        part = slice(16 * i, 16 * i + 16)
        one = np.c_[x[part], np.ones(16)].astype(np.float64)
        error = one @ w - y[part]
        losses.append(np.mean(error**2))
        w -= 0.1 * 2 / 16 * one.T @ error
    run, evaluate = runner(hs.make_update(loss_fn, sgd)), runner(hs.make_evaluate(metrics_fn))
    placed, history = run.place(ts), []
    for batch in run.feed_all(hs.batches(data, 16)):
        placed, metrics = run(placed, batch)
        loss = metrics["loss"]
        assert loss.shape == LOSSES.get(name, ())
        np.testing.assert_array_equal(metrics["twice"], 2 * loss)
        history += loss.tolist() if name == "scan_update" else [np.ravel(loss)[0]]
    final = run.one(placed).params["linear_regression"]
    np.testing.assert_allclose(np.r_[final["w"], final["b"]], w, atol=FEW_ROUNDINGS)
    np.testing.assert_allclose(history, losses, rtol=MANY_ROUNDINGS)
    found = hs.mean_metrics(evaluate(placed, b) for b in evaluate.feed_all(hs.batches(data, 16)))
    true = np.mean((np.c_[x, np.ones(48)] @ w - y) ** 2)
    assert found["error"] == pytest.approx(true, rel=MANY_ROUNDINGS)


@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize("key", [jax.random.key, jax.random.PRNGKey])
def test_vmap_update__gives_each_member_a_key_of_its_own(key):
    with jax.legacy_prng_key("allow"):
        members_differ(key)


def members_differ(key):
    pair = hs.pure_pair(
        lambda x: (
            jnp.mean(hk.dropout(hk.next_rng_key(), 0.5, x))
            * hk.get_parameter("w", (), init=jnp.ones)
        )
    )

    def loss_fn(params, state, rng, batch):
        loss, state = pair.apply(params, state, rng, batch)
        return loss, (state, {})

    for optimizer in (optax.sgd(0.1), optax.chain(optax.add_noise(0.1, 0.5, 0), optax.sgd(0.1))):
        ts = hs.init_train_state(pair.init, optimizer, key(0), jnp.ones(64))
        run = hs.vmap_update(hs.make_update(loss_fn, optimizer), 3)
        ensemble, metrics = run(run.place(ts), np.arange(64.0, dtype=np.float32))
        assert len(set(metrics["loss"].tolist())) == 3
    assert len(set(ensemble.params["~"]["w"].tolist())) == 3  # the noise too
