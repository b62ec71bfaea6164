"""Every runner of an update step: equal results, one trace, one copy of the train state."""

import functools
import pathlib
import traceback

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from support import oracles
from support.digits import ADAM, SGD, batches, distance, initial, on_one_device, start, update_of
from support.runners import AXIS, RUNNERS, axis_of, columns, four, mesh, two_axes

import haiku_state as hs
from haiku_state.errors import (
    ArgumentError,
    BatchDivisionError,
    DonatedBufferError,
    LeadingAxisError,
    MeshPlacementError,
    ReplicaMismatchError,
    SharedBufferError,
)
from haiku_state.errors.diagnosis import named_error


def each(*names):
    return pytest.mark.parametrize("runner", [RUNNERS[name] for name in names], ids=names)


# the members of vmap draw, and are compared, in tests of their own
each_runner = each(*(name for name in RUNNERS if name != "vmap"))
# those in which each device runs the step on its own rows
each_replicated = each("pmap", "shard_map")
each_meshed = each("shard", "shard_map")


@functools.cache
def on_digits(runner):
    """The step on digits, compiled once for all tests of this file."""
    return runner(update_of(SGD, axis_of(runner)))


def describe(train_state):
    return jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype, leaf.sharding), train_state)


@each_runner
def test_five_steps_on_digits_agree_with_one_device(runner):
    """And they need one trace, and leave every leaf where it lies and of its dtype."""
    alone, losses = on_one_device(SGD, 5)
    run, history, traces = on_digits(runner), [], []
    before, train_state = run.trace_count, run.place(start(SGD))
    expected = describe(train_state)
    for batch in batches()[:5]:
        train_state, metrics = run(train_state, run.feed(batch))
        traces.append(run.trace_count)
        history.append(np.asarray(metrics["loss"]).item())
        assert describe(train_state) == expected
    if runner is RUNNERS["pmap"]:
        hs.assert_replicas_equal(train_state)
    together = run.one(train_state)
    assert distance(together.params, alone.params) < 1e-6
    assert distance(together.state, alone.state) < 1e-5
    assert distance(together.opt_state, alone.opt_state) < 1e-5
    assert together.step == alone.step == 5
    assert jnp.all(jax.random.key_data(together.rng) == jax.random.key_data(alone.rng))
    np.testing.assert_allclose(history, losses, atol=1e-5)
    assert traces == [traces[0]] * 5
    assert traces[0] <= before + 1


@pytest.mark.slow
@each_runner
@pytest.mark.usefixtures("standard_promotion")
def test_twenty_steps_of_adam_on_digits_agree_with_one_device(runner):
    alone, losses = on_one_device(ADAM)
    run, history = runner(update_of(ADAM, axis_of(runner))), []
    train_state = run.place(start(ADAM))
    for batch in batches():
        train_state, metrics = run(train_state, run.feed(batch))
        history.append(np.asarray(metrics["loss"]).item())
    together = run.one(train_state)
    assert distance(together.params, alone.params) < 1e-5
    assert distance(together.state, alone.state) < 1e-4
    assert distance(together.opt_state, alone.opt_state) < 1e-4
    np.testing.assert_allclose(history, losses, atol=1e-5)
    assert run.trace_count == 1


def test_scanned_steps_are_those_of_single_calls():
    alone, losses = on_one_device(SGD, 5)
    run, train_state, history = hs.scan_update(update_of(SGD)), start(SGD), []
    for stack in hs.stack_batches(batches()[:5], 3):
        train_state, metrics = run(train_state, stack)
        history += metrics["loss"].tolist()
    assert distance(train_state[:3], alone[:3]) < 1e-6
    np.testing.assert_allclose(history, losses, atol=1e-6)
    assert run.trace_count == 2  # 3, then 2


@pytest.fixture
def line():
    """One step's ingredients: pair, loss function, batch, and the params after a step of SGD."""
    rng = np.random.default_rng(1)
    inputs = rng.normal(0, 1, (16, 3)).astype(np.float32)
    targets = rng.normal(0, 1, 16).astype(np.float32)
    by_w, by_b = oracles.squared_error_gradient(inputs, targets, np.zeros(3), 0)
    pair = hk.transform_with_state(lambda x: hs.LinearRegression()(x, is_training=True))

    def loss_fn(params, state, key, batch):
        prediction, state = pair.apply(params, state, key, batch["inputs"])
        loss = jnp.mean(jnp.square(prediction - batch["targets"]))
        return loss, (state, {"twice": 2 * loss})

    return pair, loss_fn, {"inputs": inputs, "targets": targets}, (-0.1 * by_w, -0.1 * by_b)


@each_runner
def test_one_step_is_that_of_the_whole_batch_s_gradient(runner, line):
    """Momentum and Adam hide a gradient that is too large by a factor: this is plain descent."""
    pair, loss_fn, batch, (w, b) = line
    train_state = hs.init_train_state(pair.init, optax.sgd(0.1), jax.random.key(0), batch["inputs"])
    run = runner(hs.make_update(loss_fn, optax.sgd(0.1)))
    train_state, metrics = run(run.place(train_state), run.feed(batch))
    params = run.one(train_state).params["linear_regression"]
    np.testing.assert_allclose(params["w"], w, atol=1e-7)
    np.testing.assert_allclose(params["b"], b, atol=1e-7)
    loss = np.square(batch["targets"]).mean()
    assert metrics["loss"].shape == ((1,) if runner is RUNNERS["scan"] else ())
    np.testing.assert_allclose(metrics["loss"], loss, rtol=1e-6)
    np.testing.assert_allclose(metrics["twice"], 2 * loss, rtol=1e-6)


def test_a_parameter_stays_cut_along_the_second_axis_and_its_moments_too():
    run = on_digits(RUNNERS["two axes"])
    train_state, metrics = run(run.place(start(SGD)), batches()[0])
    cut = {
        jax.tree_util.keystr(path)
        for path, leaf in jax.tree_util.tree_leaves_with_path(train_state)
        if leaf.sharding == NamedSharding(two_axes(), P(None, "model"))
    }
    assert cut == {
        ".params['classifier/linear']['w']",
        ".opt_state[0].trace['classifier/linear']['w']",
    }
    shards = train_state.params["classifier/linear"]["w"].addressable_shards
    assert {shard.data.shape for shard in shards} == {(64, 16)}
    assert metrics["loss"].sharding.is_fully_replicated


def tiny(optimizer=None):
    """A step of few operations, whose gradient is the mean of ``x``."""
    optimizer = optimizer or optax.sgd(1.0)

    def loss_fn(params, state, rng, batch):
        return params["w"] * jnp.mean(batch["x"]), (state, {})

    return hs.make_update(loss_fn, optimizer), hs.init_train_state(
        lambda rng: ({"w": jnp.zeros(())}, {}), optimizer, jax.random.key(0)
    )


def ones(factor=1.0):
    return {"x": np.full(4, factor, np.float32)}


@pytest.mark.usefixtures("standard_promotion")
@each("jit", "shard_map")
def test_a_new_learning_rate_is_used_and_not_traced(runner):
    update, train_state = tiny(optax.inject_hyperparams(optax.sgd)(learning_rate=0.5))
    run, expected = runner(update), 0.0
    train_state = run.place(train_state)
    for rate, factor in [(0.5, 2), (0.25, 3), (1, 4)]:
        rate = jnp.float32(rate)
        expected -= float(rate) * factor  # now, for the step consumes it
        train_state.opt_state.hyperparams["learning_rate"] = rate
        train_state, _ = run(train_state, run.feed(ones(factor)))
        np.testing.assert_allclose(train_state.params["w"], expected, rtol=1e-6)
        assert train_state.opt_state.hyperparams["learning_rate"].dtype == jnp.float32
    assert run.trace_count == 1


@each("jit", "scan", "pmap", "two axes")
@pytest.mark.usefixtures("compiled_anew")
def test_the_memory_of_the_train_state_is_not_doubled(runner):
    """XLA's own account: each leaf gives its memory to its successor."""
    run = runner(update_of(SGD, axis_of(runner)))
    train_state = run.place(start(SGD))
    program = run.lower(train_state, run.feed(batches()[0])).compile()
    here = {
        jax.tree_util.keystr(path): shard.data.nbytes
        for path, leaf in jax.tree_util.tree_leaves_with_path(train_state._replace(rng=None))
        for shard in leaf.addressable_shards
        if shard.device == jax.devices()[0]
    }
    key = 8
    expected = {sum(here.values()) + key}
    if runner is RUNNERS["pmap"]:  # newer ones leave out what training writes and never reads
        read = [size for path, size in here.items() if not path.endswith("['average']")]
        expected.add(sum(read) + key)
    assert program.memory_analysis().alias_size_in_bytes in expected


@each_runner
def test_the_old_train_state_is_consumed_and_a_second_use_is_named(runner):
    run = on_digits(runner)
    old, batch = run.place(start(SGD)), run.feed(batches()[0])
    # its checks keep a call from JAX's fast path, where 0.9 and 0.10 die of a consumed train state
    with jax.debug_key_reuse(False):
        new, _ = run(old, batch)
        newer, _ = run(new, batch)
        run(newer, batch)
        for used in (old, newer):
            # its newer versions keep the state, which training writes and never reads
            freed = (used.params, used.opt_state) if runner is RUNNERS["pmap"] else used
            assert all(leaf.is_deleted() for leaf in jax.tree.leaves(freed))
            first = r"^train_state\.params\['classifier/batch_norm'\]"
            with pytest.raises(DonatedBufferError, match=first):
                run(used, batch)


@pytest.mark.parametrize("check_replicas", [True, False])
@each_replicated
def test_a_consumed_train_state_is_named_at_the_first_call_too(runner, check_replicas):
    update, train_state = tiny()
    first, second = (runner(update, check_replicas=check_replicas) for _ in range(2))
    train_state, batch = first.place(train_state), first.feed(ones())
    first(train_state, batch)
    for run in (first, second):
        with (
            jax.debug_key_reuse(False),
            pytest.raises(DonatedBufferError, match=r"^train_state\.params\['w'\]"),
        ):
            run(train_state, batch)


@each("pmap", "shard", "shard_map")
def test_what_another_runner_has_consumed_is_refused_before_devices_start(runner, monkeypatch):
    first, second = (runner(tiny()[0]) for _ in range(2))
    train_state, batch = first.place(tiny()[1]), first.feed(ones())
    for _ in range(2):  # the pmap of JAX 0.11 consumes nothing that the check of replicas has read
        train_state, _ = first(train_state, batch)
    second.check_replicas = False
    second(train_state, batch)
    monkeypatch.setattr(first, "_compiled", None)  # where nothing is left that could start
    with pytest.raises(DonatedBufferError, match=r"^train_state\.params\['w'\]"):
        first(train_state, batch)
    assert first._compiled is None


def test_a_train_state_with_one_array_twice_survives_the_error():
    update, train_state = tiny()
    run = hs.jit_update(update)
    shared = train_state._replace(state={"target": train_state.params})
    with pytest.raises(SharedBufferError):
        run(shared, ones())
    assert not any(leaf.is_deleted() for leaf in jax.tree.leaves(shared))
    run(shared._replace(state=jax.tree.map(jnp.copy, shared.state)), ones())


def alias(tree):
    """The same memory in other objects: each of its arrays is put where it is already."""
    return jax.tree.map(lambda leaf: jax.device_put(leaf, leaf.sharding), tree)


@pytest.mark.parametrize("placed", [True, False])
@pytest.mark.parametrize("twice", [lambda tree: tree, alias], ids=["one object", "one memory"])
@each("pmap", "shard", "shard_map")
def test_one_array_twice_is_refused_before_devices_start(runner, twice, placed):
    """Otherwise some of them start, and a minute later XLA ends the process."""
    run = runner(tiny()[0])
    run.check_replicas = False
    train_state = run.place(tiny()[1]) if placed or runner is RUNNERS["pmap"] else tiny()[1]
    shared = train_state._replace(state={"target": twice(train_state.params)})
    with pytest.raises(SharedBufferError, match=r"params\['w'\] = .*\.state\['target'\]"):
        run(shared, run.feed(ones()))
    assert run.trace_count == 0
    train_state, _ = run(train_state, run.feed(ones()))
    shared = train_state._replace(state={"target": twice(train_state.params)})
    with pytest.raises(SharedBufferError):
        run(shared, run.feed(ones()))
    run(train_state, run.feed(ones()))


def thread_update(update):
    """A new runner: it says where the train state and the batch are."""

    def put(tree):
        return jax.device_put(tree, jax.devices()[1])

    def one(train_state):
        return jax.device_put(train_state, jax.devices()[0])

    return hs.update.Runner(update, place=put, feed=put, one=one)


@pytest.fixture
def keys_may_move():
    """JAX 0.4 takes a key that was put on a different device for one that was used."""
    with jax.debug_key_reuse(False):
        yield


@pytest.mark.usefixtures("keys_may_move")
def test_a_new_runner_is_one_function():
    alone, _ = on_one_device(SGD, 5)
    run = thread_update(update_of(SGD))
    train_state = run.place(start(SGD))
    for batch in batches()[:5]:
        train_state, _ = run(train_state, run.feed(batch))
        assert train_state.step.devices() == {jax.devices()[1]}
    assert distance(run.one(train_state)[:3], alone[:3]) == 0


@pytest.mark.usefixtures("keys_may_move")
@pytest.mark.parametrize("runner", [*RUNNERS.values(), thread_update], ids=[*RUNNERS, "new"])
def test_five_frames_of_ours_are_between_a_call_and_the_module(runner):
    """Two compute, the update and the pair's function; three name errors."""
    package, found = str(pathlib.Path(hs.__file__).parent), []

    class Seen(hk.Module):
        def __call__(self, x):
            frames = [frame for frame in traceback.extract_stack() if package in frame.filename]
            found.append([frame.name for frame in frames])
            return jnp.mean(x) * hk.get_parameter("w", (), init=jnp.ones)

    pair = hs.pure_pair(Seen)

    def loss_fn(params, state, rng, batch):
        loss, state = pair.apply(params, state, rng, batch["x"])
        return loss, (state, {})

    optimizer = optax.sgd(0.1)
    run = runner(hs.make_update(loss_fn, optimizer))
    fresh = hs.init_train_state(pair.init, optimizer, jax.random.key(0), ones()["x"])
    found.clear()
    run(run.place(fresh), run.feed(ones()))
    assert set(map(tuple, found)) == {("__call__", "traced", "update", "apply", "call")}


def test_an_update_that_fails_halfway_is_not_a_donated_buffer():
    train_state = {"w": jnp.ones(3)}
    train_state["w"].delete()
    lost = RuntimeError("Gloo all-reduce failed: Connection closed by peer")
    assert named_error(lost, train_state=train_state) is None
    deleted = RuntimeError("Array has been deleted with shape=float32[3].")
    assert isinstance(named_error(deleted, train_state=train_state), DonatedBufferError)


@each("jit", "scan", "vmap")
def test_a_batch_that_is_on_the_device_stays_there(runner):
    fed = runner(tiny()[0]).feed({"x": jnp.ones(4)})
    assert isinstance(fed["x"], jax.Array)


def test_placing_a_train_state_leaves_the_given_one_alone():
    given, run = start(SGD), on_digits(RUNNERS["two axes"])
    copy = jax.tree.map(np.array, given._replace(rng=jax.random.key_data(given.rng)))
    run(run.place(given), batches()[0])
    kept = given._replace(rng=jax.random.key_data(given.rng))
    jax.tree.map(np.testing.assert_array_equal, kept, copy)


@pytest.mark.parametrize("shared", [True, False])
def test_each_member_of_an_ensemble_trains_as_if_it_were_alone(shared):
    params, state = jax.tree.map(lambda *leaves: jnp.stack(leaves), initial(0), initial(1))
    ensemble = jax.vmap(
        lambda params, state, seed: hs.init_train_state(
            lambda rng: (params, state), SGD, jax.random.key(seed)
        )
    )(params, state, jnp.arange(2))
    singles = [start(SGD, seed) for seed in range(2)]
    run, alone = hs.vmap_update(update_of(SGD), shared_batch=shared), on_digits(RUNNERS["jit"])
    for step in range(3):
        own = [batches()[step] if shared else batches()[step + member] for member in range(2)]
        batch = own[0] if shared else next(hs.stack_batches(own, 2))
        ensemble, metrics = run(ensemble, batch)
        results = [alone(single, rows) for single, rows in zip(singles, own, strict=True)]
        singles = [train_state for train_state, _ in results]
        losses = [float(result[1]["loss"]) for result in results]
        np.testing.assert_allclose(metrics["loss"], losses, atol=1e-5)
    for member, single in enumerate(singles):
        mine = jax.tree.map(lambda leaf, member=member: leaf[member], ensemble)
        assert distance(mine[:3], single[:3]) < 1e-5
    assert run.trace_count == 1
    weights = ensemble.params["classifier/linear"]["w"]
    assert jnp.abs(weights[0] - weights[1]).max() > 0.01


@each_replicated
def test_unequal_parts_count_by_their_examples(runner):
    """The last batch of 5 rows on four devices: 2, 2, 1 and none."""
    rng = np.random.default_rng(3)
    inputs = rng.normal(0, 1, (5, 3)).astype(np.float32)
    targets = rng.normal(0, 1, 5).astype(np.float32)
    by_w, by_b = oracles.squared_error_gradient(inputs, targets, np.zeros(3), 0)
    pair = hk.transform_with_state(lambda x: hs.LinearRegression()(x, is_training=True))

    def loss_fn(params, state, key, batch):
        prediction, state = pair.apply(params, state, key, batch["inputs"])
        errors = jnp.square(prediction - batch["targets"])
        mean = jnp.sum(errors * batch["mask"]) / jnp.sum(batch["mask"])  # NaN where there is none
        return mean, (state, {"twice": 2 * mean})

    padded = next(iter(hs.batches({"inputs": inputs, "targets": targets}, 5, remainder="pad")))
    padded = {
        name: np.concatenate([values, np.zeros((3, *values.shape[1:]), np.float32)])
        for name, values in padded.items()
    }
    update = hs.make_update(loss_fn, optax.sgd(0.1), weight=lambda batch: jnp.sum(batch["mask"]))
    train_state = hs.init_train_state(pair.init, optax.sgd(0.1), jax.random.key(0), inputs)
    run = runner(update)
    train_state, metrics = run(run.place(train_state), run.feed(padded))
    params = run.one(train_state).params["linear_regression"]
    np.testing.assert_allclose(params["w"], -0.1 * by_w, atol=1e-7)
    np.testing.assert_allclose(params["b"], -0.1 * by_b, atol=1e-7)
    np.testing.assert_allclose(metrics["loss"], np.square(targets).mean(), rtol=1e-6)
    np.testing.assert_allclose(metrics["twice"], 2 * np.square(targets).mean(), rtol=1e-6)


FLOATS = st.floats(-1e3, 1e3, width=32)


@settings(max_examples=50, deadline=None, derandomize=True, database=None)
@given(st.data(), st.sampled_from([1, 4]), st.sampled_from([1, 6]))
def test_a_mean_over_examples_is_that_of_the_real_rows(data, devices, rows):
    values = data.draw(hnp.arrays(np.float32, (devices, rows), elements=FLOATS))
    mask = data.draw(hnp.arrays(np.float32, (devices, rows), elements=st.sampled_from([0, 1])))
    real = values[mask == 1].astype(np.float64)
    expected = real.mean() if real.size else 0
    spoiled = np.where(mask == 1, values, np.float32(np.nan))
    mean = jax.vmap(lambda x, m: hs.example_mean(x, m, "d"), axis_name="d")(spoiled, mask)
    np.testing.assert_allclose(mean, np.full(devices, expected), rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(
        hs.example_mean(jnp.asarray(values[0])), values[0].astype(np.float64).mean(),
        rtol=1e-4, atol=1e-3,
    )  # fmt: skip


def test_a_mean_over_examples_of_several_numbers_each():
    values = jnp.array([[1.0, 3.0], [100.0, 100.0]])
    assert hs.example_mean(values, jnp.array([1.0, 0.0])) == 2
    assert hs.example_mean(values) == 51


def drawing():
    """The gradient is the mean of the rows, of whose entries dropout has left out half."""

    def loss_fn(params, state, rng, batch):
        rows = hk.dropout(rng, 0.5, batch["x"])
        return jnp.dot(jnp.mean(rows, axis=0), params["w"]), (state, {})

    def init(rng):
        return {"w": jnp.zeros(2)}, {}

    optimizer = optax.sgd(1.0)
    return hs.make_update(loss_fn, optimizer), hs.init_train_state(
        init, optimizer, jax.random.key(0)
    )


def dropped_out(batches, devices):
    """The params after a step on each batch, whose rows are cut among devices; None is one key."""
    w, rng = np.zeros(2), jax.random.split(jax.random.key(0))[0]
    for batch in batches:
        rng, key = jax.random.split(rng)
        keys = [key] if devices is None else [jax.random.fold_in(key, i) for i in range(devices)]
        parts = np.split(np.float64(batch["x"]), len(keys))
        masks = [jax.random.bernoulli(k, 0.5, x.shape) for k, x in zip(keys, parts, strict=True)]
        w -= np.mean(
            [2 * x * np.asarray(mask) for x, mask in zip(parts, masks, strict=True)], axis=(0, 1)
        )
    return w


@pytest.mark.usefixtures("standard_promotion")  # for hk.dropout
def test_with_dropout_jit_scan_and_shard_agree_and_pmap_and_shard_map_draw_for_each_device():
    rows = np.random.default_rng(0).normal(0, 1, (2, 8, 2)).astype(np.float32)
    several = [{"x": x} for x in rows]
    with jax.debug_key_reuse(False):
        one_key, own_keys = dropped_out(several, None), dropped_out(several, 4)
    assert np.abs(one_key - own_keys).min() > 0.01
    for name, runner in RUNNERS.items():
        if name == "two axes" and not jax.config.jax_threefry_partitionable:
            continue  # JAX issue 21232, as shard_update says
        if name == "vmap":
            continue  # each member draws with a key of its own
        update, train_state = drawing()
        run = runner(update)
        train_state = run.place(train_state)
        for batch in several:
            train_state, _ = run(train_state, run.feed(batch))
        w = run.one(train_state).params["w"]
        expected = one_key if run.axis_name is None else own_keys
        np.testing.assert_allclose(w, expected, atol=1e-6, err_msg=name)


@each_replicated
def test_copies_that_drift_apart_are_found_and_the_train_state_survives(runner):
    pair = hk.transform_with_state(lambda x: hs.BatchNorm(True, True, 0.9)(x, True))  # no axis

    def loss_fn(params, state, rng, batch):
        outputs, state = pair.apply(params, state, rng, batch["x"])
        return jnp.mean(outputs), (state, {})

    inputs = np.random.default_rng(0).normal(2, 3, (16, 3)).astype(np.float32)
    update, fresh = hs.make_update(loss_fn, optax.sgd(0.1)), jax.random.key(0)
    run = runner(update)
    batch = run.feed({"x": inputs})
    given = hs.init_train_state(pair.init, optax.sgd(0.1), fresh, inputs)
    train_state = run.place(given)
    with pytest.raises(ReplicaMismatchError) as caught:
        run(train_state, batch)
    assert "    state['batch_norm/~/mean_ema']['average'] by " in str(caught.value)
    assert 'cross_replica_axis="devices"' in str(caught.value)
    assert not any(leaf.is_deleted() for leaf in jax.tree.leaves(train_state))
    drifted, _ = runner(update, check_replicas=False)(train_state, batch)
    hs.assert_replicas_equal(drifted.params)
    with pytest.raises(ReplicaMismatchError):
        hs.assert_replicas_equal(drifted)
    hs.assert_replicas_equal(drifted, atol=20)


def test_copies_on_a_mesh_of_two_axes_are_compared_part_by_part():
    train_state = hs.shard_train_state(start(SGD), two_axes(), columns)
    hs.assert_replicas_equal(train_state)
    parts = [jax.device_put(np.float32([i // 2, i % 2]), device) for i, device in enumerate(four())]
    sharding = NamedSharding(two_axes(), P("model"))
    broken = jax.make_array_from_single_device_arrays((4,), sharding, parts)
    with pytest.raises(ReplicaMismatchError, match=r"\['x'\] by 1\n"):
        hs.assert_replicas_equal({"x": broken})


@pytest.mark.skipif(jax.__version_info__ < (0, 9), reason="make_mesh means Auto before JAX 0.9")
@pytest.mark.parametrize("runner", [hs.shard_update, hs.shard_map_update])
def test_a_mesh_of_explicit_axes_is_refused_with_the_mesh_to_make(runner):
    """JAX itself refuses a matrix product over a cut axis there, and a batch not yet in place."""
    mesh = jax.make_mesh((2, 2), (AXIS, "model"), devices=four())
    with pytest.raises(ArgumentError) as caught:
        runner(update_of(SGD), mesh)
    given, made = caught.value.what.split(", but it must be a mesh with ")
    assert given == f"mesh is {mesh}"
    types = eval(f"dict({made.strip('`.')})", {"jax": jax})
    runner(update_of(SGD), jax.make_mesh((2, 2), (AXIS, "model"), devices=four(), **types))
    # placing is the same on both
    assert hs.shard_train_state(start(SGD), mesh).step.sharding.mesh == mesh
    batch = hs.processes.global_batch(batches()[0], mesh)
    assert batch["inputs"].sharding == NamedSharding(mesh, P(AXIS))


@each_meshed
def test_a_train_state_that_lies_elsewhere_is_named(runner):
    update, free = tiny()
    run, elsewhere = runner(update), jax.device_put(free, jax.devices()[0])
    with pytest.raises(MeshPlacementError) as caught:
        run(elsewhere, ones())
    assert caught.value.what.startswith("train_state.params['w'] of shape ()")
    assert caught.value.what.endswith("which does not fit the mesh {'devices': 4}.")
    run(run.place(elsewhere), ones())
    run(free, ones())  # what no device has been chosen for goes where it is needed


def test_shard_map_wants_whole_copies():
    train_state = hs.shard_train_state(start(SGD), two_axes(), columns)
    run = hs.shard_map_update(update_of(SGD, AXIS), two_axes())
    with pytest.raises(MeshPlacementError, match=r"\['classifier/linear'\]\['w'\] of shape"):
        run(train_state, batches()[0])


def test_a_rule_that_the_mesh_cannot_follow_is_named():
    def rule(path, leaf):
        return P("devices") if path.endswith("['classifier/linear_1']['b']") else None

    with pytest.raises(
        MeshPlacementError, match=r"\['classifier/linear_1'\]\['b'\] of shape \(10,\)"
    ):
        hs.shard_train_state(start(SGD), mesh(), rule)


@each_meshed
def test_rows_that_the_devices_do_not_divide_are_named(runner):
    update, train_state = tiny()
    run = runner(update)
    train_state = run.place(train_state)
    with pytest.raises(
        BatchDivisionError, match="a batch of 30 rows cannot be divided equally among 4"
    ):
        run(train_state, {"x": np.ones(30, np.float32)})
    run(train_state, ones())


def test_a_missing_device_axis_is_named_and_the_train_state_stays_usable():
    update, alone = tiny()
    run, replicas = hs.pmap_update(update, devices=four()), hs.replicate(alone, four())
    parts = hs.split_batch(ones(), 4)
    with pytest.raises(LeadingAxisError) as caught:
        run(alone, parts)
    assert caught.value.what == (
        "train_state.params['w'] has shape (), but it must have a leading axis."
    )
    with pytest.raises(LeadingAxisError) as caught:
        run(replicas, {"x": np.ones((2, 2), np.float32)})
    assert caught.value.what == (
        "batch['x'] has shape (2, 2), but its leading axis must have length 4."
    )
    run(replicas, parts)


def test_all_devices_are_the_default():
    update, train_state = tiny()
    batch = hs.split_batch({"x": np.ones(8, np.float32)}, 8)
    train_state, _ = hs.pmap_update(update)(hs.replicate(train_state), batch)
    assert train_state.step.tolist() == [1] * jax.local_device_count() == [1] * 8


@each(*(name for name in RUNNERS if name not in ("jit", "vmap")))
def test_a_number_has_no_rows_and_is_named_in_a_call_and_in_lower(runner):
    update, train_state = tiny()
    run = runner(update)
    for use in (run, run.lower):
        with pytest.raises((ArgumentError, LeadingAxisError), match=r"batch\['x'\]"):
            use(run.place(train_state), {"x": 2.0})


def test_leaves_of_unequal_stacks_are_named():
    update, train_state = tiny()
    run, stack = hs.scan_update(update), {"x": np.ones((4, 2), np.float32)}
    with pytest.raises(LeadingAxisError) as caught:
        run(train_state, {**stack, "y": np.ones((3, 2), np.float32)})
    assert caught.value.what == (
        "batch['y'] has shape (3, 2), but batch['x'] has shape (4, 2): their leading axes differ."
    )
    run(train_state, stack)


def test_a_train_state_without_members_is_named():
    with pytest.raises(LeadingAxisError, match=r"train_state\.params\["):
        hs.vmap_update(update_of(SGD))(start(SGD), batches()[0])


def test_the_compiled_step_carries_the_name_of_the_update():
    def my_step(total, batch, *, axis_name=None):
        """Add."""
        return total, {}

    for runner in RUNNERS.values():
        assert (runner(my_step).__name__, runner(my_step).__doc__) == ("my_step", "Add.")
