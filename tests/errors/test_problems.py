"""What the errors of newcomers' problems leave behind."""

import haiku as hk
import jax
import pytest
from haiku_site.features.error_cards.calls import (
    FOUR,
    SGD,
    X,
    dropped_state,
    loss_of,
    model,
    on_four,
    ready,
    start,
)

import haiku_state as hs
from haiku_state import errors


@pytest.fixture(autouse=True)
def one_key_for_all_cases():
    with jax.debug_key_reuse(False):
        yield


@pytest.mark.parametrize(
    ("language", "announced"), [("en", "the replicas differ:\n"), ("zh", "各副本不一致：\n")]
)
def test_pmap_update__names_statistics_that_drift_apart(language, announced, monkeypatch):
    monkeypatch.setenv("HAIKU_STATE_LANG", language)
    with pytest.raises(errors.ReplicaMismatchError) as caught:
        on_four(axis=None)
    first, *leaves = caught.value.what.splitlines()
    assert f"{first}\n" == announced
    assert [leaf.split(" by ")[0].strip() for leaf in leaves] == [
        f"state['linear_regression/batch_norm/~/{ema}_ema']['{name}']"
        for ema in ("mean", "var")
        for name in ("average", "hidden")
    ]
    on_four(axis="devices")
    drifted, _ = on_four(axis=None, check_replicas=False)
    hs.assert_replicas_equal(hs.sync_state(drifted.state))


def test_pmap_update__the_train_state_outlives_the_error():
    train_state = hs.replicate(start(model(), X, True), FOUR)
    update = hs.pmap_update(hs.make_update(loss_of(model().apply), SGD), FOUR)
    with pytest.raises(errors.ReplicaMismatchError):
        update(train_state, hs.split_batch({"x": X}, 4))
    assert not any(leaf.is_deleted() for leaf in jax.tree.leaves(train_state))


def test_make_update__a_state_that_the_loss_function_drops_is_noticed():
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


def test_pure_pair__the_original_error_is_the_cause():
    with pytest.raises(errors.MissingKeyError) as caught:
        hs.pure_pair(hk.Linear, 2).init(None, X)
    assert type(caught.value.__cause__).__name__ == "MissingRNGError"
