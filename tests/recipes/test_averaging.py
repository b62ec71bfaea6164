import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support import models, oracles
from support.models import cross_entropy, line, rows, squared_error, start_from
from support.runners import axis_of, each, train
from support.tolerances import CANCELLED, MANY_ROUNDINGS
from support.trees import assert_close

import haiku_state as hs
from haiku_state.errors import ArgumentError, CounterStoppedError, MissingAverageError
from haiku_state.recipes import (
    AveragedTrainState,
    average_params,
    average_state,
    averaged_params,
    freeze_params,
    reestimate_state,
)
from haiku_state.recipes.averaging import AveragedParamsState

DECAY, SGD = 0.8, optax.sgd(0.1)
MODEL = line(True)
loss_fn = squared_error(MODEL)
MEAN, VAR = (f"linear_regression/batch_norm/~/{name}_ema" for name in ("mean", "var"))


def step_from(params):
    """Gradients for which SGD at rate 1 gives the next params."""
    return jax.tree.map(lambda p: 0.5 * p - 1, params)


def batches_of(count):
    return [rows(seed=seed, mean=2, spread=3) for seed in range(count)]


def start(optimizer=SGD):
    return models.start(MODEL, optimizer, rows())


def average_of(history, decay=DECAY):
    """The initial params with the weight of all that was before them, and then one by one."""
    history = np.float64(history)
    steps = len(history) - 1
    weights = [decay**steps, *((1 - decay) * decay ** (steps - i) for i in range(1, steps + 1))]
    assert np.isclose(sum(weights), 1)
    return np.tensordot(weights, history, 1)


def w_and_b(params):
    params = params["linear_regression"]
    return np.concatenate([np.ravel(params["w"]), np.ravel(params["b"])])


def test_average_params__has_the_weights_of_the_formula():
    optimizer = average_params(optax.sgd(1.0), DECAY)
    params = {"linear": {"w": jnp.array([4.0, -3.0])}}
    opt_state = optimizer.init(params)
    history = [np.float64([4, -3])]
    np.testing.assert_array_equal(averaged_params(opt_state)["linear"]["w"], [4, -3])
    for _ in range(5):
        updates, opt_state = optimizer.update(step_from(params), opt_state, params)
        params = optax.apply_updates(params, updates)
        history.append(history[-1] - (0.5 * history[-1] - 1))
        assert_close(params["linear"]["w"], history[-1])
        assert_close(averaged_params(opt_state)["linear"]["w"], average_of(history))


def test_average_params__does_not_change_the_training():
    plain, averaging = optax.sgd(0.1, momentum=0.9), average_params(optax.sgd(0.1, 0.9), DECAY)
    runs = [hs.jit_update(hs.make_update(loss_fn, optimizer)) for optimizer in (plain, averaging)]
    one, other = start(plain), start(averaging)
    for batch in batches_of(3):
        (one, _), (other, _) = runs[0](one, batch), runs[1](other, batch)
    np.testing.assert_array_equal(w_and_b(one.params), w_and_b(other.params))


@pytest.mark.usefixtures("standard_promotion")  # for optax.adam
def test_average_params__is_carried_by_a_compiled_step_inside_a_chain():
    optimizer = optax.chain(optax.clip(5.0), average_params(optax.adam(0.1), DECAY))
    run, train_state = hs.jit_update(hs.make_update(loss_fn, optimizer)), start(optimizer)
    history = [w_and_b(train_state.params)]
    for batch in batches_of(4):
        train_state, _ = run(train_state, batch)
        history.append(w_and_b(train_state.params))
    expected = average_of(history)
    assert_close(w_and_b(averaged_params(train_state)), expected, MANY_ROUNDINGS)
    assert np.abs(expected - history[-1]).max() > 0.01  # far more than rounding
    assert run.trace_count == 1


def test_average_params__shares_no_memory_with_the_params():
    params = {"linear": {"w": jnp.ones(3)}}
    opt_state = average_params(optax.sgd(0.1), DECAY).init(params)
    own = averaged_params(opt_state)["linear"]["w"].unsafe_buffer_pointer()
    assert own != params["linear"]["w"].unsafe_buffer_pointer()
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(opt_state))
    assert not any(leaf.weak_type for leaf in jax.tree.leaves(opt_state))


def test_average_params__of_bfloat16_is_float32():
    optimizer = average_params(optax.sgd(1.0), 0.999)
    params = {"linear": {"w": jnp.ones((), jnp.bfloat16)}}
    opt_state = optimizer.init(params)
    grads = {"linear": {"w": jnp.zeros((), jnp.bfloat16)}}
    opt_state = opt_state[0], AveragedParamsState({"linear": {"w": jnp.float32(2)}}, jnp.int32(0))
    for _ in range(1000):
        _, opt_state = jax.jit(optimizer.update)(grads, opt_state, params)
    average = averaged_params(opt_state)["linear"]["w"]
    assert average.dtype == jnp.float32
    # in bfloat16 it would still be 2: its neighbor below is 0.8 % away, and a step is 0.1 %
    # 1000 steps of 0.1 % of the way, each rounded
    np.testing.assert_allclose(average, 1 + 0.999**1000, rtol=CANCELLED)


def test_averaged_params__of_the_opt_state_alone_names_what_is_frozen():
    optimizer = freeze_params(average_params(SGD, DECAY), lambda module, name, value: name == "w")
    opt_state = optimizer.init({"linear": {"b": jnp.ones(()), "w": jnp.ones(2)}})
    with pytest.raises(MissingAverageError) as caught:
        averaged_params(opt_state)
    assert caught.value.what == "the opt_state holds no average of:\n    params['linear']['w']"


def test_averaged_params__names_a_train_state_without_an_average():
    with pytest.raises(MissingAverageError) as caught:
        averaged_params(start())
    assert caught.value.what == ("the opt_state holds no average of:\n    params")


AVERAGING = {"average_params": average_params, "average_state": average_state}


@pytest.mark.parametrize("average", AVERAGING.values(), ids=AVERAGING)
@pytest.mark.parametrize("decay", [1.0, -0.1, float("nan")])
def test_recipes__names_a_decay_rate_out_of_range(average, decay):
    of = SGD if average is average_params else hs.make_update(loss_fn, SGD)
    with pytest.raises(ArgumentError) as caught:
        average(of, decay)
    assert caught.value.what == f"decay_rate is {decay}, but it must be a number in [0, 1)."


def test_average_params__names_an_update_without_the_params():
    optimizer = average_params(SGD, DECAY)
    params = {"linear": {"w": jnp.ones(2)}}
    with pytest.raises(ArgumentError, match="params is None"):
        optimizer.update(params, optimizer.init(params))


def apply(params, state, rng, batch):
    return MODEL.apply(params, state, rng, batch["inputs"])


def test_reestimate_state__is_the_mean_of_the_statistics_of_the_batches():
    # the last batch is shorter, and counts the same
    batches = [*batches_of(5), rows(4)]
    fresh = start().state
    state = reestimate_state(apply, start().params, fresh, iter(batches))
    inputs = [np.float64(batch["inputs"]) for batch in batches]
    expected = {MEAN: [x.mean(0) for x in inputs], VAR: [x.var(0) for x in inputs]}
    for name, values in expected.items():
        assert_close(state[name]["average"][0], np.mean(values, 0))
        # 1 - 0.9 in float32 has a digit less
        assert_close(state[name]["hidden"], 0.1 * state[name]["average"], MANY_ROUNDINGS)
        assert state[name]["counter"] == 1
    hs.check_state(fresh, state)
    assert fresh[MEAN]["counter"] == 0


def test_reestimate_state__training_goes_on_from_there():
    batches, train_state = batches_of(4), start()
    state = reestimate_state(apply, train_state.params, train_state.state, batches[:3])
    _, state = apply(train_state.params, state, None, batches[3])
    means = [np.float64(batch["inputs"]).mean(0) for batch in batches]
    expected = oracles.exponential_average([np.mean(means[:3], 0), means[3]], 0.9)
    assert_close(state[MEAN]["average"][0], expected, MANY_ROUNDINGS)


def test_reestimate_state__averaged_params_need_their_own_statistics():
    """The normalized layer lies behind a trained one, so its inputs depend on the params."""
    model = hs.pure_pair(lambda x: hs.Classifier([16], 10, 0.9)(x, True))
    quiet = hs.pure_pair(lambda x: hs.Classifier([16], 10, 0.9)(x, False))
    rng = np.random.default_rng(1)
    inputs = rng.normal(1, 1, (4, 64, 8)).astype(np.float32)
    targets = rng.integers(0, 10, (4, 64)).astype(np.int32)
    batches = [{"inputs": x, "targets": y} for x, y in zip(inputs, targets, strict=True)]

    optimizer = average_params(optax.sgd(2.0), 0.9)
    train_state = models.start(model, optimizer, batches[0])
    fresh = jax.tree.map(np.array, train_state.state)  # a copy: the update reuses the memory
    run = hs.jit_update(hs.make_update(cross_entropy(model), optimizer))
    train_state, _ = train(run, train_state, 10 * batches)

    average = averaged_params(train_state)
    reestimated = reestimate_state(jax.jit(model.apply), average, fresh, inputs)
    hidden = np.float64(inputs) @ np.float64(average["classifier/linear"]["w"])
    mean, var = hidden.mean(1).mean(0), hidden.var(1).mean(0)
    name = "classifier/batch_norm/~/{}_ema".format
    assert_close(reestimated[name("mean")]["average"][0], mean, CANCELLED)
    assert_close(reestimated[name("var")]["average"][0], var, CANCELLED)

    norm, last = average["classifier/batch_norm"], average["classifier/linear_1"]
    normalized, _, _ = oracles.batch_norm(
        hidden[0], 0, 1e-5, np.float64(norm["scale"][0]), np.float64(norm["offset"][0]), mean, var
    )
    expected = np.maximum(normalized, 0) @ np.float64(last["w"]) + np.float64(last["b"])

    def error(state):
        logits, _ = quiet.apply(average, state, None, inputs[0])
        return np.abs(logits - expected).max()

    assert error(reestimated) < 1e-3  # ten times what the statistics are off by, through a layer
    assert error(train_state.state) > 0.02  # far more than rounding


def test_reestimate_state__each_batch_has_its_own_key_and_other_leaves_are_of_the_first():
    def drawing(params, state, rng, batch):
        draw = jax.random.uniform(rng)
        drawn.append(float(draw))
        return None, {"a": {"draw": draw, "last": jnp.int32(batch)}}

    drawn, fresh = [], {"a": {"draw": jnp.zeros(()), "last": jnp.int32(0)}}
    state = reestimate_state(drawing, {}, fresh, [5, 6, 7], jax.random.key(0))
    assert len(set(drawn)) == 3
    assert_close(state["a"]["draw"], np.mean(drawn))
    assert state["a"]["last"] == 5


def test_reestimate_state__names_an_empty_iterator():
    train_state, batches = start(), iter(batches_of(1))
    reestimate_state(apply, train_state.params, train_state.state, batches)
    with pytest.raises(ArgumentError, match="batches is empty"):
        reestimate_state(apply, train_state.params, train_state.state, batches)


def test_reestimate_state__names_a_used_state():
    train_state, batches = start(), batches_of(1)
    _, used = apply(train_state.params, train_state.state, None, batches[0])
    with pytest.raises(ArgumentError, match="state is a state that already holds statistics"):
        reestimate_state(apply, train_state.params, used, batches)


def test_reestimate_state__names_an_apply_that_is_not_training():
    evaluating = line(True, is_training=False)
    with pytest.raises(CounterStoppedError):
        reestimate_state(evaluating.apply, *start()[:2], [rows()["inputs"]])


def warmed_up(step):
    """The decay of public training scripts: at first the average nearly follows the params."""
    return jnp.minimum(0.6, (1 + step) / (10 + step)).astype(jnp.float32)


@pytest.mark.usefixtures("standard_promotion")
def test_average_params__decay_rate_may_warm_up():
    optimizer = average_params(optax.sgd(1.0), warmed_up)
    params = {"linear": {"w": jnp.array([4.0, -3.0])}}
    opt_state = optimizer.init(params)
    p = a = np.float64([4, -3])
    for step in range(8):  # from the sixth on, the rate is 0.6
        updates, opt_state = optimizer.update(step_from(params), opt_state, params)
        params = optax.apply_updates(params, updates)
        p = 0.5 * p + 1
        d = min(0.6, (1 + step) / (10 + step))
        a = d * a + (1 - d) * p
        assert_close(averaged_params(opt_state)["linear"]["w"], a)


@pytest.mark.parametrize("decay", [0.8, warmed_up], ids=["constant", "warmed up"])
@each("jit_update", "scan_update", "pmap_update", "shard_map_update")
@pytest.mark.usefixtures("standard_promotion")
def test_average_state__averages_the_state_with_the_params(runner, decay):
    """With the weights by hand; counters are those of the state."""
    model = line(True, axis_of(runner))
    optimizer = average_params(SGD, decay)
    batches = batches_of(6)
    first = models.start(model, optimizer, batches[0])
    run = runner(average_state(hs.make_update(squared_error(model), optimizer), decay))
    train_state = run.place(AveragedTrainState(*first, first.state))
    average = statistics(first.state)
    weights = w_and_b(first.params).astype(np.float64)
    for step, batch in enumerate(batches):
        train_state, _metrics = run(train_state, run.feed(batch))
        d = decay if isinstance(decay, float) else min(0.6, (1 + step) / (10 + step))
        one = run.one(train_state)
        average = d * average + (1 - d) * statistics(one.state)
        weights = d * weights + (1 - d) * w_and_b(one.params).astype(np.float64)
        assert_close(statistics(one.average), average, MANY_ROUNDINGS)
        assert_close(w_and_b(averaged_params(one)), weights, MANY_ROUNDINGS)
        assert one.average[MEAN]["counter"] == one.state[MEAN]["counter"] == step + 1
    assert run.trace_count == 1
    read = one._replace(params=averaged_params(one), state=one.average)
    quiet = line(True, is_training=False)

    def metrics_fn(params, state, batch):
        outputs, state = quiet.apply(params, state, None, batch["inputs"])
        return {"mean": outputs}, state

    evaluate = hs.make_evaluate(metrics_fn)
    mean, var = (average[: average.size // 2], average[average.size // 2 :])
    normal = (batches[0]["inputs"] - mean) / np.sqrt(var + 1e-5)
    expected = (normal @ weights[:-1] + weights[-1]).mean()
    assert_close(hs.jit_update(evaluate)(read, batches[0])["mean"], expected, MANY_ROUNDINGS)


def statistics(state):
    """The running means and variances, as float64."""
    return np.concatenate([np.ravel(state[name]["average"]) for name in (MEAN, VAR)]).astype(float)


def test_average_state__keeps_the_dtype():
    def update(train_state, batch, *, axis_name=None):
        return train_state._replace(state={"m": {"x": batch}}, step=train_state.step + 1), {}

    x = jnp.ones(2, jnp.bfloat16)
    first = hs.TrainState({}, {"m": {"x": x}}, (), jax.random.key(0), jnp.int32(0))
    step = average_state(update, 0.5)
    train_state, _ = step(AveragedTrainState(*first, first.state), 3 * x)
    assert train_state.average["m"]["x"].dtype == jnp.bfloat16
    np.testing.assert_array_equal(np.asarray(train_state.average["m"]["x"], float), [2, 2])


def test_average_params__refuses_a_function_that_makes_an_optimizer():
    with pytest.raises(ArgumentError) as caught:
        average_params(optax.sgd, 0.9)
    assert caught.value.what == "optimizer is sgd, but it must be an Optax optimizer."


def test_average_state__does_not_count_a_skipped_step():
    def loss_fn(params, state, rng, batch):
        return params["a"]["w"] * batch, ({"a": {"s": batch}}, {})

    optimizer = optax.apply_if_finite(SGD, 5)
    step = average_state(hs.make_update(loss_fn, optimizer), 0.5)
    first = start_from({"a": {"w": jnp.float32(1)}}, {"a": {"s": jnp.float32(0)}}, optimizer)
    train_state = AveragedTrainState(*first, first.state)
    averages = []
    for batch in (4.0, jnp.nan, jnp.nan, 8.0):
        train_state, _ = step(train_state, jnp.float32(batch))
        averages.append(float(train_state.average["a"]["s"]))
    assert averages == [2, 2, 2, 5]
