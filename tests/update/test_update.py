import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import oracles
import pytest

import haiku_state as hs
from haiku_state.errors import (
    BatchDivisionError,
    DonatedBufferError,
    LeadingAxisError,
    LossFunctionError,
    ReplicaMismatchError,
    SharedBufferError,
)
from haiku_state.errors.diagnosis import named_error

FOUR = jax.devices()[:4]
SGD = optax.sgd(0.1, momentum=0.9)


def batches_of(count=5, rows=32, features=64):
    """Rows as the digits have them: 64 values of mean 2 and spread 3, ten classes."""
    rng = np.random.default_rng(0)
    return [
        {
            "inputs": rng.normal(2, 3, (rows, features)).astype(np.float32),
            "targets": rng.integers(0, 10, rows).astype(np.int32),
        }
        for _ in range(count)
    ]


def pair_of(module, *arguments, axis=None):
    return hk.transform_with_state(
        lambda x: module(*arguments, cross_replica_axis=axis)(x, is_training=True)
    )


def cross_entropy(pair):
    def loss_fn(params, state, rng, batch):
        logits, state = pair.apply(params, state, rng, batch["inputs"])
        labels = jax.nn.one_hot(batch["targets"], 10)
        loss = -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * labels, axis=-1))
        correct = jnp.argmax(logits, -1).astype(jnp.int32) == batch["targets"]
        return loss, (state, {"accuracy": jnp.mean(correct.astype(jnp.float32))})

    return loss_fn


def squared_error(pair):
    def loss_fn(params, state, rng, batch):
        prediction, state = pair.apply(params, state, rng, batch["inputs"])
        targets = batch["targets"].astype(jnp.float32)
        return jnp.mean(jnp.square(prediction - targets)), (state, {})

    return loss_fn


def start(pair, inputs, seed=0):
    return hs.init_train_state(pair.init, SGD, jax.random.key(seed), inputs)


def run_jit(loss, pair, batches):
    update = hs.jit_update(hs.make_update(loss(pair), SGD))
    train_state, history = start(pair, batches[0]["inputs"]), []
    for batch in batches:
        train_state, metrics = update(train_state, batch)
        history.append(metrics)
    return train_state, history


def run_pmap(loss, pair, batches, strict=True):
    update = hs.pmap_update(hs.make_update(loss(pair), SGD), "devices", FOUR, strict=strict)
    train_state = hs.replicate(start(pair, batches[0]["inputs"]), FOUR)
    history = []
    for batch in batches:
        train_state, metrics = update(train_state, hs.split_batch(batch, 4))
        history.append(metrics)
    return train_state, history


def either_way(mapped, loss_fn, pair, batch):
    """The update compiled one way or the other, and what it takes."""
    update, train_state = hs.make_update(loss_fn, SGD), start(pair, batch["inputs"])
    if not mapped:
        return hs.jit_update(update), train_state, batch
    update = hs.pmap_update(update, devices=FOUR)
    return update, hs.replicate(train_state, FOUR), hs.split_batch(batch, 4)


def distance(one, other):
    return max(
        float(np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64)).max())
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    )


def take(tree, replica):
    return jax.tree.map(lambda leaf: leaf[replica], tree)


def describe(tree):
    return jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), tree)


@pytest.fixture
def regression():
    """One step's ingredients: pair, loss function, batch, and the float64 gradient."""
    rng = np.random.default_rng(1)
    inputs = rng.normal(0, 1, (16, 3)).astype(np.float32)
    targets = rng.normal(0, 1, 16).astype(np.float32)
    pair = hk.transform_with_state(lambda x: hs.LinearRegression()(x, is_training=True))
    gradient = oracles.squared_error_gradient(inputs, targets, np.zeros(3), 0)
    return pair, squared_error(pair), {"inputs": inputs, "targets": targets}, gradient


def test_jit_takes_the_gradient_step(regression):
    pair, loss_fn, batch, (by_w, by_b) = regression
    update = hs.jit_update(hs.make_update(loss_fn, optax.sgd(0.1)))
    train_state = hs.init_train_state(pair.init, optax.sgd(0.1), jax.random.key(0), batch["inputs"])
    train_state, metrics = update(train_state, batch)
    params = train_state.params["linear_regression"]
    np.testing.assert_allclose(params["w"], -0.1 * by_w, atol=1e-7)
    np.testing.assert_allclose(params["b"], -0.1 * by_b, atol=1e-7)
    np.testing.assert_allclose(metrics["loss"], np.square(batch["targets"]).mean(), rtol=1e-6)


def test_pmap_takes_the_gradient_step_of_the_whole_batch(regression):
    pair, loss_fn, batch, (by_w, by_b) = regression
    update = hs.pmap_update(hs.make_update(loss_fn, optax.sgd(0.1)), "devices", FOUR)
    train_state = hs.init_train_state(pair.init, optax.sgd(0.1), jax.random.key(0), batch["inputs"])
    train_state, metrics = update(hs.replicate(train_state, FOUR), hs.split_batch(batch, 4))
    hs.assert_replicas_equal(train_state)
    params = hs.unreplicate(train_state).params["linear_regression"]
    np.testing.assert_allclose(params["w"], -0.1 * by_w, atol=1e-7)
    np.testing.assert_allclose(params["b"], -0.1 * by_b, atol=1e-7)
    assert metrics["loss"].shape == ()
    np.testing.assert_allclose(metrics["loss"], np.square(batch["targets"]).mean(), rtol=1e-6)


def test_five_steps_on_four_devices_are_five_steps_on_one():
    batches = batches_of()
    alone, one_history = run_jit(cross_entropy, pair_of(hs.Classifier, [32], 10), batches)
    pair = pair_of(hs.Classifier, [32], 10, 0.9, axis="devices")
    replicas, history = run_pmap(cross_entropy, pair, batches)
    hs.assert_replicas_equal(replicas)
    together = hs.unreplicate(replicas)
    assert distance(together.params, alone.params) < 1e-6
    assert distance(together.state, alone.state) < 1e-5
    for metrics, expected in zip(history, one_history, strict=True):
        assert set(metrics) == {"loss", "accuracy"}
        np.testing.assert_allclose(metrics["loss"], expected["loss"], rtol=1e-5)
        np.testing.assert_allclose(metrics["accuracy"], expected["accuracy"], rtol=1e-6)
    assert history[-1]["loss"] != history[0]["loss"]


def test_without_the_axis_name_the_running_statistics_drift_apart():
    batches = batches_of(features=8)
    alone, _ = run_jit(squared_error, pair_of(hs.LinearRegression, True, 0.9), batches)
    without = pair_of(hs.LinearRegression, True, 0.9)
    with pytest.raises(
        ReplicaMismatchError, match=r"\.state\['linear_regression/batch_norm/~/mean"
    ):
        run_pmap(squared_error, without, batches)
    replicas, _ = run_pmap(squared_error, without, batches, strict=False)
    hs.assert_replicas_equal(replicas.params)
    spread = jax.tree.map(lambda leaf: np.ptp(np.asarray(leaf), 0).max(), replicas.state)
    assert max(jax.tree.leaves(spread)) > 1
    for replica in range(4):
        assert distance(take(replicas.state, replica), alone.state) > 1

    axis = pair_of(hs.LinearRegression, True, 0.9, axis="devices")
    replicas, _ = run_pmap(squared_error, axis, batches)
    assert distance(hs.unreplicate(replicas.state), alone.state) < 1e-5


@pytest.mark.parametrize("mapped", [False, True])
def test_structure_shapes_and_dtypes_are_kept_and_steps_counted(mapped, regression):
    pair, loss_fn, batch, _ = regression
    update, train_state, batch = either_way(mapped, loss_fn, pair, batch)
    expected = describe(train_state)
    for step in (1, 2, 3):
        train_state, _ = update(train_state, batch)
        assert describe(train_state) == expected
        assert train_state.step.dtype == jnp.int32
        assert np.all(train_state.step == step)


@pytest.mark.parametrize("mapped", [False, True])
def test_one_trace_per_batch_shape(mapped, regression):
    pair, loss_fn, batch, _ = regression
    traces = []

    def counted(*arguments):
        traces.append(1)
        return loss_fn(*arguments)

    update, train_state = hs.make_update(counted, SGD), start(pair, batch["inputs"])
    half = {name: values[:8] for name, values in batch.items()}
    if mapped:
        update, train_state = hs.pmap_update(update, devices=FOUR), hs.replicate(train_state, FOUR)
        batch, half = hs.split_batch(batch, 4), hs.split_batch(half, 4)
    else:
        update = hs.jit_update(update)
    for expected, rows in [(1, batch), (1, batch), (1, batch), (2, half), (2, batch), (2, half)]:
        train_state, _ = update(train_state, rows)
        assert len(traces) == expected


@pytest.mark.parametrize("mapped", [False, True])
def test_the_old_train_state_is_donated(mapped, regression):
    pair, loss_fn, batch, _ = regression
    update, old, batch = either_way(mapped, loss_fn, pair, batch)
    new, _ = update(old, batch)
    assert all(leaf.is_deleted() for leaf in jax.tree.leaves(old.params))
    assert not any(leaf.is_deleted() for leaf in jax.tree.leaves(new))


@pytest.mark.parametrize("strict", [True, False])
def test_a_donated_train_state_is_named_at_the_first_call_and_at_later_ones(strict, regression):
    pair, loss_fn, batch, _ = regression
    old, parts = hs.replicate(start(pair, batch["inputs"]), FOUR), hs.split_batch(batch, 4)
    first, second = (
        hs.pmap_update(hs.make_update(loss_fn, SGD), devices=FOUR, strict=strict) for _ in range(2)
    )
    first(old, parts)
    for update in (first, second):
        with (
            jax.debug_key_reuse(False),
            pytest.raises(DonatedBufferError, match=r"^train_state\.params\['linear_regression'\]"),
        ):
            update(old, parts)


def test_a_train_state_with_one_array_twice_survives_the_error():
    def loss_fn(params, state, rng, batch):
        return jnp.sum(params["w"]), (state, {})

    update = hs.jit_update(hs.make_update(loss_fn, SGD))
    train_state = hs.init_train_state(lambda rng: ({"w": jnp.ones(3)}, {}), SGD, jax.random.key(0))
    train_state = train_state._replace(state={"target": train_state.params})
    with pytest.raises(SharedBufferError):
        update(train_state, {})
    assert not any(leaf.is_deleted() for leaf in jax.tree.leaves(train_state))
    copied = jax.tree.map(jnp.copy, train_state.state)
    update(train_state._replace(state=copied), {})


def test_the_update_itself_is_pure(regression):
    pair, loss_fn, batch, _ = regression
    update, train_state = hs.make_update(loss_fn, SGD), start(pair, batch["inputs"])
    with jax.debug_key_reuse(False):
        first, second = update(train_state, batch), update(train_state, batch)
    for one, other in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        assert jnp.all(one == other)
    assert train_state.step == 0


def drawing_loss(params, state, rng, batch):
    """Its state is what it drew, which nothing averages."""
    draw = jax.random.uniform(rng)
    loss = jnp.sum(jnp.square(params["w"])) + 0 * jnp.mean(batch["x"])
    return loss, ({"draw": draw}, {"draw": draw, "square": jnp.square(draw)})


def drawing_train_state():
    return hs.init_train_state(
        lambda rng: ({"w": jnp.ones(())}, {"draw": jnp.zeros(())}), SGD, jax.random.key(0)
    )


def test_each_device_and_each_step_draws_its_own_numbers_and_the_keys_stay_equal():
    update = hs.pmap_update(hs.make_update(drawing_loss, SGD), devices=FOUR, strict=False)
    train_state, draws = hs.replicate(drawing_train_state(), FOUR), []
    for _ in range(3):
        train_state, metrics = update(train_state, {"x": jnp.ones((4, 2))})
        draws += train_state.state["draw"].tolist()
        hs.assert_replicas_equal(train_state.rng)
        np.testing.assert_allclose(metrics["draw"], np.mean(draws[-4:]), rtol=1e-6)
        np.testing.assert_allclose(metrics["square"], np.square(draws[-4:]).mean(), rtol=1e-6)
    assert len(set(draws)) == 12


def test_each_step_on_one_device_draws_its_own_numbers():
    update, train_state, draws = (
        hs.jit_update(hs.make_update(drawing_loss, SGD)),
        drawing_train_state(),
        [],
    )
    for _ in range(4):
        train_state, metrics = update(train_state, {"x": jnp.ones(2)})
        draws.append(float(metrics["draw"]))
    assert len(set(draws)) == 4


WRONG_RESULTS = {
    "the loss alone": (lambda loss, state: loss, "float32[]"),
    "no metrics": (lambda loss, state: (loss, state), "(float32[], {'s': float32[2]})"),
    "flat": (lambda loss, state: (loss, state, {}), "(float32[], {'s': float32[2]}, {})"),
    "metrics first": (
        lambda loss, state: ((state, {}), loss),
        "(({'s': float32[2]}, {}), float32[])",
    ),
    "one loss per row": (
        lambda loss, state: (loss[None], (state, {})),
        "(float32[1], ({'s': float32[2]}, {}))",
    ),
    "an integer loss": (
        lambda loss, state: (loss.astype(jnp.int32), (state, {})),
        "(int32[], ({'s': float32[2]}, {}))",
    ),
    "metrics no dict": (
        lambda loss, state: (loss, (state, [loss])),
        "(float32[], ({'s': float32[2]}, [float32[]]))",
    ),
}


@pytest.mark.parametrize(("give", "returned"), WRONG_RESULTS.values(), ids=WRONG_RESULTS.keys())
@pytest.mark.parametrize("wrap", [lambda update: update, hs.jit_update], ids=["eager", "jit"])
def test_a_wrong_result_of_the_loss_function_is_named(wrap, give, returned):
    train_state = hs.init_train_state(
        lambda rng: ({"w": jnp.ones(())}, {"s": jnp.ones(2)}), SGD, jax.random.key(0)
    )
    update = wrap(hs.make_update(lambda p, s, rng, batch: give(p["w"], s), SGD))
    with pytest.raises(LossFunctionError) as caught:
        update(train_state, {})
    assert str(caught.value) == (
        f"loss_fn returned {returned} (dtypes and shapes).\n"
        "  wrong: return loss, state\n"
        '  right: return loss, (state, {"accuracy": accuracy})\n'
        "  why:   the gradient needs one scalar loss of a floating dtype; the new state and the "
        'metrics ride along, and the update itself adds the metric "loss"\n'
        "  more:  en/update/jitted_update.html"
    )
    assert not any(leaf.is_deleted() for leaf in jax.tree.leaves(train_state))


def test_a_missing_device_axis_is_named_and_the_train_state_stays_usable(regression):
    pair, loss_fn, batch, _ = regression
    update = hs.pmap_update(hs.make_update(loss_fn, SGD), devices=FOUR)
    alone, parts = start(pair, batch["inputs"]), hs.split_batch(batch, 4)
    replicas = hs.replicate(start(pair, batch["inputs"]), FOUR)
    why = (
        "  why:   pmap gives entry i of the leading axis to device i\n"
        "  more:  en/update/pmapped_update.html"
    )

    with pytest.raises(LeadingAxisError) as caught:
        update(alone, parts)
    assert str(caught.value) == (
        "train_state.params['linear_regression']['b'] has shape (), "
        "but its leading axis must have length 4.\n"
        "  wrong: pmap_update(update)(train_state, batch)\n"
        "  right: train_state = replicate(train_state)\n" + why
    )
    with pytest.raises(LeadingAxisError) as caught:
        update(replicas, batch)
    assert str(caught.value) == (
        "batch['inputs'] has shape (16, 3), but its leading axis must have length 4.\n"
        "  wrong: pmap_update(update)(train_state, batch)\n"
        "  right: batch = split_batch(batch, 4)\n" + why
    )
    with pytest.raises(LeadingAxisError, match=r"^batch\['inputs'\] has shape \(2, 8, 3\)"):
        update(replicas, hs.split_batch(batch, 2))
    update(replicas, parts)


def test_all_devices_are_the_default(regression):
    pair, loss_fn, batch, _ = regression
    update = hs.pmap_update(hs.make_update(loss_fn, SGD))
    count = jax.local_device_count()
    train_state, _ = update(
        hs.replicate(start(pair, batch["inputs"])), hs.split_batch(batch, count)
    )
    assert train_state.step.tolist() == [1] * count == [1] * 8


def test_a_batch_that_the_devices_do_not_divide_is_refused():
    with pytest.raises(BatchDivisionError, match=r"^a batch of 30 rows does not divide among 4"):
        hs.split_batch(batches_of(1, rows=30)[0], 4)


def test_an_update_that_fails_halfway_is_not_a_donated_buffer():
    train_state = {"w": jnp.ones(3)}
    train_state["w"].delete()
    lost = RuntimeError("Gloo all-reduce failed: Connection closed by peer")
    assert named_error(lost, train_state=train_state) is None
    deleted = RuntimeError("Array has been deleted with shape=float32[3].")
    assert isinstance(named_error(deleted, train_state=train_state), DonatedBufferError)
