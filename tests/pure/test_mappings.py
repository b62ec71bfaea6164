"""Mappings that are no dicts: Haiku's ``FlatMap``, as old pickles have it."""

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support.models import start_from
from support.runners import axis_of, every_runner, train

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


def test_pure_pair__takes_a_flatmap_and_names_its_leaves():
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


def loss_of(pair):
    def loss_fn(params, state, rng, batch):
        loss, state = pair.apply(params, state, rng, batch["x"], True)
        return loss, (state, {})

    return loss_fn


@every_runner
def test_runner__trains_a_flatmap(runner):
    optimizer = hs.recipes.freeze_params(
        optax.sgd(0.1), lambda module, name, value: name == "scale"
    )
    update = hs.make_update(loss_of(forward(axis_of(runner))), optimizer)
    batch, ends = {"x": np.arange(24, dtype=np.float32).reshape(8, 3)}, []
    for mapping in (flat, dict):
        train_state = start_from(*map(mapping, forward().init(None, X, True)), optimizer)
        run = runner(update)
        ends.append(train(run, train_state, 2 * [batch])[0])
        assert run.trace_count == 1
    jax.tree.map(np.testing.assert_array_equal, *map(jax.tree.leaves, (ends[0][:3], ends[1][:3])))


def test_save_checkpoint__a_flatmap_has_its_names_and_comes_back(tmp_path):
    params, state = made(forward())
    train_state = hs.TrainState(params, state, (), jax.random.key(0), jnp.int32(3))
    folder = hs.storage.save_checkpoint(tmp_path, train_state)
    plain = train_state._replace(params=dict(params), state=dict(state))
    for like in (train_state, plain):
        again = hs.storage.restore_checkpoint(tmp_path, like).train_state
        assert jax.tree.structure(again) == jax.tree.structure(like)
        jax.tree.map(np.testing.assert_array_equal, again[:2], like[:2])
    assert "train_state.params['batch_norm']['scale']" in (folder / "manifest/metadata").read_text()


def test_assert_replicas_equal__names_the_leaves_of_a_flatmap():
    tree = flat({"bn": {"mean": jnp.array([0.0, 1.0])}})
    with pytest.raises(ReplicaMismatchError, match=r"\['bn'\]\['mean'\] by 1\n"):
        hs.assert_replicas_equal(tree)


@pytest.mark.parametrize("make", [hs.jit_update, hs.scan_update])
def test_runner__keeps_the_flatmap_of_a_train_state_that_was_not_placed(make):
    """A loop could not carry another one, and ``jit`` would trace again."""
    pair, sgd = forward(), optax.sgd(0.1)
    run = make(hs.make_update(loss_of(pair), sgd))
    train_state = start_from(*made(pair), sgd)
    expected = jax.tree.structure(train_state)
    for _ in range(2):
        train_state, _ = run(train_state, run.feed({"x": np.ones((4, 3), np.float32)}))
    assert (run.trace_count, jax.tree.structure(train_state)) == (1, expected)
