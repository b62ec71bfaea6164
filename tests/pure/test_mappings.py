"""Mappings that are no dicts: Haiku's ``FlatMap``, as old pickles have it."""

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support.runners import RUNNERS, axis_of

import haiku_state as hs
from haiku_state.errors import CounterAdvancedError, ReplicaMismatchError, StateShapeError

X = jnp.ones((4, 3))
flat = hk.data_structures.to_immutable_dict


def forward(axis=None):
    def call(x, is_training):
        return jnp.mean(hs.BatchNorm(True, True, 0.9, cross_replica_axis=axis)(x, is_training))

    return hs.pure_pair(call)


def made(pair):
    return map(flat, pair.init(None, X, True))


def test_a_pair_takes_them_and_names_their_leaves():
    pair = forward()
    params, state = made(pair)
    output, after = pair.apply(params, state, None, X, True)
    expected = pair.apply(*pair.init(None, X, True), None, X, True)
    jax.tree.map(np.testing.assert_array_equal, (output, dict(after)), expected)
    path = r"state\['batch_norm/~/mean_ema'\]\['hidden'\]: float32\[1,3\] -> float32\[3\]"
    wrong = {**after, "batch_norm/~/mean_ema": {**after["batch_norm/~/mean_ema"]}}
    wrong["batch_norm/~/mean_ema"]["hidden"] = jnp.zeros(3)
    with pytest.raises(StateShapeError, match=path):
        hs.check_state(state, wrong)
    with pytest.raises(CounterAdvancedError, match="mean_ema"):  # the counters are seen
        hs.check_state(state, flat(after), is_training=False)


@pytest.mark.parametrize("runner", RUNNERS.values(), ids=RUNNERS)
def test_every_runner_trains_them(runner):
    pair = forward(axis_of(runner))

    def loss_fn(params, state, rng, batch):
        loss, state = pair.apply(params, state, rng, batch["x"], True)
        return loss, (state, {})

    optimizer = hs.recipes.freeze_params(
        optax.sgd(0.1), lambda module, name, value: name == "scale"
    )
    update = hs.make_update(loss_fn, optimizer)
    ends = []
    for mapping in (flat, dict):
        train_state = hs.init_train_state(
            lambda rng, m=mapping: tuple(map(m, forward().init(None, X, True))),
            optimizer,
            jax.random.key(0),
        )
        run = runner(update)
        placed = run.place(train_state)
        for _ in range(2):
            placed, _ = run(placed, run.feed({"x": np.arange(24, dtype=np.float32).reshape(8, 3)}))
        assert run.trace_count == 1
        ends.append(run.one(placed))
    jax.tree.map(np.testing.assert_array_equal, *map(jax.tree.leaves, (ends[0][:3], ends[1][:3])))


def test_a_checkpoint_has_their_names_and_comes_back(tmp_path):
    params, state = made(forward())
    train_state = hs.TrainState(params, state, (), jax.random.key(0), jnp.int32(3))
    folder = hs.storage.save_checkpoint(tmp_path, train_state)
    plain = train_state._replace(params=dict(params), state=dict(state))
    for like in (train_state, plain):
        again = hs.storage.restore_checkpoint(tmp_path, like).train_state
        assert jax.tree.structure(again) == jax.tree.structure(like)
        jax.tree.map(np.testing.assert_array_equal, again[:2], like[:2])
    assert "train_state.params['batch_norm']['scale']" in (folder / "manifest/metadata").read_text()


def test_replicas_that_drift_are_named():
    tree = flat({"bn": {"mean": jnp.array([0.0, 1.0])}})
    with pytest.raises(ReplicaMismatchError, match=r"\['bn'\]\['mean'\] by 1\n"):
        hs.assert_replicas_equal(tree)


@pytest.mark.parametrize("make", [hs.jit_update, hs.scan_update])
def test_a_train_state_that_was_not_placed_keeps_its_mapping(make):
    """A loop could not carry another one, and ``jit`` would trace again."""
    pair = forward()

    def loss_fn(params, state, rng, batch):
        loss, state = pair.apply(params, state, rng, batch["x"], True)
        return loss, (state, {})

    run, key = make(hs.make_update(loss_fn, optax.sgd(0.1))), jax.random.key(0)
    train_state = hs.init_train_state(lambda rng: tuple(made(pair)), optax.sgd(0.1), key)
    expected = jax.tree.structure(train_state)
    for _ in range(2):
        train_state, _ = run(train_state, run.feed({"x": np.ones((4, 3), np.float32)}))
    assert (run.trace_count, jax.tree.structure(train_state)) == (1, expected)
