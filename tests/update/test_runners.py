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
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from support import oracles
from support.digits import ADAM, SGD, batches, initial, on_one_device, start, update_of
from support.models import line, padded, real_rows, rows, start_from
from support.runners import (
    AXIS,
    RUNNERS,
    axis_of,
    columns,
    each,
    each_replicated,
    every_runner,
    four,
    mesh,
    train,
    two_axes,
)
from support.tolerances import FEW_ROUNDINGS, MANY_ROUNDINGS
from support.trees import assert_close, distance

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

# the members of vmap_update draw, and are compared, in tests of their own
each_runner = each(*(name for name in RUNNERS if name != "vmap_update"))
each_meshed = each("shard_update", "shard_map_update")
each_of_many_devices = each("pmap_update", "shard_update", "shard_map_update")


@functools.cache
def on_digits(runner):
    """The step on digits, compiled once for all tests of this file."""
    return runner(update_of(SGD, axis_of(runner)))


def describe(train_state):
    return jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype, leaf.sharding), train_state)


@each_runner
def test_runner__five_steps_agree_with_one_device(runner):
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
    if runner is RUNNERS["pmap_update"]:
        hs.assert_replicas_equal(train_state)
    together = run.one(train_state)
    assert distance(together.params, alone.params) < FEW_ROUNDINGS
    assert distance(together.state, alone.state) < MANY_ROUNDINGS
    assert distance(together.opt_state, alone.opt_state) < MANY_ROUNDINGS
    assert together.step == alone.step == 5
    assert jnp.all(jax.random.key_data(together.rng) == jax.random.key_data(alone.rng))
    np.testing.assert_allclose(history, losses, atol=MANY_ROUNDINGS)
    assert traces == [traces[0]] * 5
    assert traces[0] <= before + 1


@pytest.mark.slow
@each_runner
@pytest.mark.usefixtures("standard_promotion")
def test_runner__twenty_steps_of_adam_agree_with_one_device(runner):
    alone, losses = on_one_device(ADAM)
    run, history = runner(update_of(ADAM, axis_of(runner))), []
    train_state = run.place(start(ADAM))
    for batch in batches():
        train_state, metrics = run(train_state, run.feed(batch))
        history.append(np.asarray(metrics["loss"]).item())
    together = run.one(train_state)
    # ten times those of five steps: Adam divides by small numbers
    assert distance(together.params, alone.params) < 10 * FEW_ROUNDINGS
    assert distance(together.state, alone.state) < 10 * MANY_ROUNDINGS
    assert distance(together.opt_state, alone.opt_state) < 10 * MANY_ROUNDINGS
    np.testing.assert_allclose(history, losses, atol=MANY_ROUNDINGS)
    assert run.trace_count == 1


def test_scan_update__takes_the_steps_of_single_calls():
    alone, losses = on_one_device(SGD, 5)
    run, train_state, history = hs.scan_update(update_of(SGD)), start(SGD), []
    for stack in hs.stack_batches(batches()[:5], 3):
        train_state, metrics = run(train_state, stack)
        history += metrics["loss"].tolist()
    assert distance(train_state[:3], alone[:3]) < FEW_ROUNDINGS
    np.testing.assert_allclose(history, losses, atol=FEW_ROUNDINGS)
    assert run.trace_count == 2  # 3, then 2


def test_shard_update__keeps_a_parameter_and_its_moments_cut_along_the_second_axis():
    run = on_digits(RUNNERS["shard_update two axes"])
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

    return hs.make_update(loss_fn, optimizer), start_from({"w": jnp.zeros(())}, {}, optimizer)


def ones(factor=1.0):
    return {"x": np.full(4, factor, np.float32)}


@pytest.mark.usefixtures("standard_promotion")
@each("jit_update", "shard_map_update")
def test_runner__uses_a_new_learning_rate_without_a_trace(runner):
    update, train_state = tiny(optax.inject_hyperparams(optax.sgd)(learning_rate=0.5))
    run, expected = runner(update), 0.0
    train_state = run.place(train_state)
    for rate, factor in [(0.5, 2), (0.25, 3), (1, 4)]:
        rate = jnp.float32(rate)
        expected -= float(rate) * factor  # now, for the step consumes it
        train_state.opt_state.hyperparams["learning_rate"] = rate
        train_state, _ = run(train_state, run.feed(ones(factor)))
        np.testing.assert_allclose(train_state.params["w"], expected, rtol=FEW_ROUNDINGS)
        assert train_state.opt_state.hyperparams["learning_rate"].dtype == jnp.float32
    assert run.trace_count == 1


@each("jit_update", "scan_update", "pmap_update", "shard_update two axes")
@pytest.mark.usefixtures("compiled_anew")
def test_runner__does_not_double_the_memory_of_the_train_state(runner):
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
    if (
        runner is RUNNERS["pmap_update"]
    ):  # newer ones leave out what training writes and never reads
        read = [size for path, size in here.items() if not path.endswith("['average']")]
        expected.add(sum(read) + key)
    assert program.memory_analysis().alias_size_in_bytes in expected


@each_runner
def test_runner__consumes_the_old_train_state_and_names_a_second_use(runner):
    run = on_digits(runner)
    old, batch = run.place(start(SGD)), run.feed(batches()[0])
    # its checks keep a call from JAX's fast path, where 0.9 and 0.10 die of a consumed train state
    with jax.debug_key_reuse(False):
        new, _ = run(old, batch)
        newer, _ = run(new, batch)
        run(newer, batch)
        for used in (old, newer):
            # its newer versions keep the state, which training writes and never reads
            freed = (used.params, used.opt_state) if runner is RUNNERS["pmap_update"] else used
            assert all(leaf.is_deleted() for leaf in jax.tree.leaves(freed))
            first = r"^train_state\.params\['classifier/batch_norm'\]"
            with pytest.raises(DonatedBufferError, match=first):
                run(used, batch)


@pytest.mark.parametrize("check_replicas", [True, False])
@each_replicated
def test_runner__names_a_consumed_train_state_at_the_first_call_too(runner, check_replicas):
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


@each_of_many_devices
def test_runner__refuses_what_another_has_consumed_before_devices_start(runner, monkeypatch):
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


def test_jit_update__a_train_state_with_one_array_twice_survives_the_error():
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
@each_of_many_devices
def test_runner__refuses_one_array_twice_before_devices_start(runner, twice, placed):
    """Otherwise some of them start, and a minute later XLA ends the process."""
    run = runner(tiny()[0])
    run.check_replicas = False
    train_state = tiny()[1]
    if placed or runner is RUNNERS["pmap_update"]:
        train_state = run.place(train_state)
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
def test_runner__a_new_one_is_one_function():
    alone, _ = on_one_device(SGD, 5)
    run = thread_update(update_of(SGD))
    train_state = run.place(start(SGD))
    for batch in batches()[:5]:
        train_state, _ = run(train_state, run.feed(batch))
        assert train_state.step.devices() == {jax.devices()[1]}
    assert distance(run.one(train_state)[:3], alone[:3]) == 0


@pytest.mark.usefixtures("keys_may_move")
@pytest.mark.parametrize("runner", [*RUNNERS.values(), thread_update], ids=[*RUNNERS, "new"])
def test_runner__five_frames_of_ours_are_between_a_call_and_the_module(runner):
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


def test_named_error__an_update_that_fails_halfway_is_no_donated_buffer():
    train_state = {"w": jnp.ones(3)}
    train_state["w"].delete()
    lost = RuntimeError("Gloo all-reduce failed: Connection closed by peer")
    assert named_error(lost, train_state=train_state) is None
    deleted = RuntimeError("Array has been deleted with shape=float32[3].")
    assert isinstance(named_error(deleted, train_state=train_state), DonatedBufferError)


@each("jit_update", "scan_update", "vmap_update")
def test_runner__feed_leaves_a_batch_on_its_device(runner):
    fed = runner(tiny()[0]).feed({"x": jnp.ones(4)})
    assert isinstance(fed["x"], jax.Array)


def test_shard_update__place_leaves_the_given_train_state_alone():
    given, run = start(SGD), on_digits(RUNNERS["shard_update two axes"])
    copy = jax.tree.map(np.array, given._replace(rng=jax.random.key_data(given.rng)))
    run(run.place(given), batches()[0])
    kept = given._replace(rng=jax.random.key_data(given.rng))
    jax.tree.map(np.testing.assert_array_equal, kept, copy)


@pytest.mark.parametrize("shared", [True, False])
def test_vmap_update__trains_each_member_as_if_it_were_alone(shared):
    params, state = jax.tree.map(lambda *leaves: jnp.stack(leaves), initial(0), initial(1))
    ensemble = jax.vmap(
        lambda params, state, seed: hs.init_train_state(
            lambda rng: (params, state), SGD, jax.random.key(seed)
        )
    )(params, state, jnp.arange(2))
    singles = [start(SGD, seed) for seed in range(2)]
    run = hs.vmap_update(update_of(SGD), shared_batch=shared)
    alone = on_digits(RUNNERS["jit_update"])
    for step in range(3):
        own = [batches()[step] if shared else batches()[step + member] for member in range(2)]
        batch = own[0] if shared else next(hs.stack_batches(own, 2))
        ensemble, metrics = run(ensemble, batch)
        results = [alone(single, rows) for single, rows in zip(singles, own, strict=True)]
        singles = [train_state for train_state, _ in results]
        losses = [float(result[1]["loss"]) for result in results]
        np.testing.assert_allclose(metrics["loss"], losses, atol=MANY_ROUNDINGS)
    for member, single in enumerate(singles):
        mine = jax.tree.map(lambda leaf, member=member: leaf[member], ensemble)
        assert distance(mine[:3], single[:3]) < MANY_ROUNDINGS
    assert run.trace_count == 1
    weights = ensemble.params["classifier/linear"]["w"]
    assert distance(weights[0], weights[1]) > 0.01  # far more than rounding


@each_replicated
def test_make_update__weight_counts_unequal_parts_by_their_examples(runner):
    """The last batch of 5 rows on four devices: 2, 2, 1 and none."""
    batch, pair, sgd = rows(5), line(), optax.sgd(0.1)
    by_w, by_b = oracles.squared_error_gradient(*batch.values(), np.zeros(3), 0)

    def loss_fn(params, state, key, batch):
        prediction, state = pair.apply(params, state, key, batch["inputs"])
        errors = jnp.square(prediction - batch["targets"])
        mean = jnp.sum(errors * batch["mask"]) / jnp.sum(batch["mask"])  # NaN where there is none
        return mean, (state, {"twice": 2 * mean})

    run = runner(hs.make_update(loss_fn, sgd, weight=real_rows))
    given = hs.init_train_state(pair.init, sgd, jax.random.key(0), batch["inputs"])
    train_state, metrics = train(run, given, [padded(batch, 8)])
    mean = np.square(batch["targets"]).mean()
    assert_close(train_state.params["linear_regression"], {"w": -0.1 * by_w, "b": -0.1 * by_b})
    assert_close(metrics, {"loss": mean, "twice": 2 * mean})


def drawing():
    """The gradient is the mean of the rows, of whose entries dropout has left out half."""

    def loss_fn(params, state, rng, batch):
        rows = hk.dropout(rng, 0.5, batch["x"])
        return jnp.dot(jnp.mean(rows, axis=0), params["w"]), (state, {})

    optimizer = optax.sgd(1.0)
    return hs.make_update(loss_fn, optimizer), start_from({"w": jnp.zeros(2)}, {}, optimizer)


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


@each_runner
@pytest.mark.usefixtures("standard_promotion")  # for hk.dropout
def test_runner__with_an_axis_draws_for_each_device_and_else_with_one_key(runner):
    if runner is RUNNERS["shard_update two axes"] and not jax.config.jax_threefry_partitionable:
        pytest.skip("JAX issue 21232, as shard_update says")
    several = [{"x": rows(8, seed)["inputs"][:, :2]} for seed in range(2)]
    with jax.debug_key_reuse(False):
        one_key, own_keys = dropped_out(several, None), dropped_out(several, 4)
    assert np.abs(one_key - own_keys).min() > 0.01  # far more than rounding
    update, train_state = drawing()
    run = runner(update)
    train_state, _ = train(run, train_state, several)
    assert_close(train_state.params["w"], one_key if run.axis_name is None else own_keys)


@each_replicated
def test_runner__finds_copies_that_drift_apart_and_keeps_the_train_state(runner):
    pair = hk.transform_with_state(lambda x: hs.BatchNorm(True, True, 0.9)(x, True))  # no axis

    def loss_fn(params, state, rng, batch):
        outputs, state = pair.apply(params, state, rng, batch["x"])
        return jnp.mean(outputs), (state, {})

    inputs, sgd = rows(mean=2, spread=3)["inputs"], optax.sgd(0.1)
    update = hs.make_update(loss_fn, sgd)
    run = runner(update)
    batch = run.feed({"x": inputs})
    train_state = run.place(hs.init_train_state(pair.init, sgd, jax.random.key(0), inputs))
    with pytest.raises(ReplicaMismatchError) as caught:
        run(train_state, batch)
    assert "    state['batch_norm/~/mean_ema']['average'] by " in str(caught.value)
    assert 'cross_replica_axis="devices"' in str(caught.value)
    assert not any(leaf.is_deleted() for leaf in jax.tree.leaves(train_state))
    drifted, _ = runner(update, check_replicas=False)(train_state, batch)
    hs.assert_replicas_equal(drifted.params)
    with pytest.raises(ReplicaMismatchError):
        hs.assert_replicas_equal(drifted)
    hs.assert_replicas_equal(drifted, atol=20)  # more than the statistics of four rows differ by


@pytest.mark.skipif(jax.__version_info__ < (0, 9), reason="make_mesh means Auto before JAX 0.9")
@pytest.mark.parametrize("runner", [hs.shard_update, hs.shard_map_update])
def test_runner__refuses_a_mesh_of_explicit_axes_with_the_mesh_to_make(runner):
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
def test_runner__names_a_train_state_that_lies_elsewhere(runner):
    update, free = tiny()
    run, elsewhere = runner(update), jax.device_put(free, jax.devices()[0])
    with pytest.raises(MeshPlacementError) as caught:
        run(elsewhere, ones())
    assert caught.value.what.startswith("train_state.params['w'] of shape ()")
    assert caught.value.what.endswith("which does not fit the mesh {'devices': 4}.")
    run(run.place(elsewhere), ones())
    run(free, ones())  # what no device has been chosen for goes where it is needed


def test_shard_map_update__wants_whole_copies():
    train_state = hs.shard_train_state(start(SGD), two_axes(), columns)
    run = hs.shard_map_update(update_of(SGD, AXIS), two_axes())
    with pytest.raises(MeshPlacementError, match=r"\['classifier/linear'\]\['w'\] of shape"):
        run(train_state, batches()[0])


def test_shard_train_state__names_a_rule_that_the_mesh_cannot_follow():
    def rule(path, leaf):
        return P("devices") if path.endswith("['classifier/linear_1']['b']") else None

    with pytest.raises(
        MeshPlacementError, match=r"\['classifier/linear_1'\]\['b'\] of shape \(10,\)"
    ):
        hs.shard_train_state(start(SGD), mesh(), rule)


@each_meshed
def test_runner__names_rows_that_the_devices_do_not_divide(runner):
    update, train_state = tiny()
    run = runner(update)
    train_state = run.place(train_state)
    with pytest.raises(
        BatchDivisionError, match="a batch of 30 rows cannot be divided equally among 4"
    ):
        run(train_state, {"x": np.ones(30, np.float32)})
    run(train_state, ones())


def test_pmap_update__names_a_missing_device_axis_and_keeps_the_train_state():
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


def test_pmap_update__takes_all_devices_by_default():
    update, train_state = tiny()
    batch = hs.split_batch({"x": np.ones(8, np.float32)}, 8)
    train_state, _ = hs.pmap_update(update)(hs.replicate(train_state), batch)
    assert train_state.step.tolist() == [1] * jax.local_device_count() == [1] * 8


@each(*(name for name in RUNNERS if name not in ("jit_update", "vmap_update")))
def test_runner__names_a_number_without_rows_in_a_call_and_in_lower(runner):
    update, train_state = tiny()
    run = runner(update)
    for use in (run, run.lower):
        with pytest.raises((ArgumentError, LeadingAxisError), match=r"batch\['x'\]"):
            use(run.place(train_state), {"x": 2.0})


def test_scan_update__names_leaves_of_unequal_stacks():
    update, train_state = tiny()
    run, stack = hs.scan_update(update), {"x": np.ones((4, 2), np.float32)}
    with pytest.raises(LeadingAxisError) as caught:
        run(train_state, {**stack, "y": np.ones((3, 2), np.float32)})
    assert caught.value.what == (
        "batch['y'] has shape (3, 2), but batch['x'] has shape (4, 2): their leading axes differ."
    )
    run(train_state, stack)


def test_vmap_update__names_a_train_state_without_members():
    with pytest.raises(LeadingAxisError, match=r"train_state\.params\["):
        hs.vmap_update(update_of(SGD))(start(SGD), batches()[0])


@every_runner
def test_runner__has_the_name_of_its_update(runner):
    def my_step(total, batch, *, axis_name=None):
        """Add."""
        return total, {}

    assert (runner(my_step).__name__, runner(my_step).__doc__) == ("my_step", "Add.")
