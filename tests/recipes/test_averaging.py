import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support import oracles
from support.runners import RUNNERS, axis_of

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

DECAY = 0.8
MODEL = hs.pure_pair(hs.LinearRegression, True, 0.9)
MEAN, VAR = (f"linear_regression/batch_norm/~/{name}_ema" for name in ("mean", "var"))


def step_from(params):
    """Gradients for which SGD at rate 1 gives the next params."""
    return jax.tree.map(lambda p: 0.5 * p - 1, params)


def loss_fn(params, state, rng, batch):
    prediction, state = MODEL.apply(params, state, rng, batch["inputs"], True)
    return jnp.mean(jnp.square(prediction - batch["targets"])), (state, {})


def batches_of(count=6, rows=16, features=3):
    rng = np.random.default_rng(0)
    return [
        {
            "inputs": rng.normal(2, 3, (rows, features)).astype(np.float32),
            "targets": rng.normal(0, 1, rows).astype(np.float32),
        }
        for _ in range(count)
    ]


def start(optimizer, seed=0):
    return hs.init_train_state(
        MODEL.init, optimizer, jax.random.key(seed), batches_of(1)[0]["inputs"], True
    )


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


def test_the_average_has_the_weights_of_the_formula():
    optimizer = average_params(optax.sgd(1.0), DECAY)
    params = {"linear": {"w": jnp.array([4.0, -3.0])}}
    opt_state = optimizer.init(params)
    history = [np.float64([4, -3])]
    np.testing.assert_array_equal(averaged_params(opt_state)["linear"]["w"], [4, -3])
    for _ in range(5):
        updates, opt_state = optimizer.update(step_from(params), opt_state, params)
        params = optax.apply_updates(params, updates)
        history.append(history[-1] - (0.5 * history[-1] - 1))
        np.testing.assert_allclose(params["linear"]["w"], history[-1], rtol=1e-6)
        np.testing.assert_allclose(
            averaged_params(opt_state)["linear"]["w"], average_of(history), rtol=1e-6
        )


def test_the_training_is_the_same_as_without():
    plain, averaging = optax.sgd(0.1, momentum=0.9), average_params(optax.sgd(0.1, 0.9), DECAY)
    runs = [hs.jit_update(hs.make_update(loss_fn, optimizer)) for optimizer in (plain, averaging)]
    one, other = start(plain), start(averaging)
    for batch in batches_of(3):
        (one, _), (other, _) = runs[0](one, batch), runs[1](other, batch)
    np.testing.assert_array_equal(w_and_b(one.params), w_and_b(other.params))


@pytest.mark.usefixtures("standard_promotion")  # for optax.adam
def test_a_compiled_step_carries_it():
    optimizer = optax.chain(optax.clip(5.0), average_params(optax.adam(0.1), DECAY))
    run, train_state = hs.jit_update(hs.make_update(loss_fn, optimizer)), start(optimizer)
    history = [w_and_b(train_state.params)]
    for batch in batches_of(4):
        train_state, _ = run(train_state, batch)
        history.append(w_and_b(train_state.params))
    expected = average_of(history)
    np.testing.assert_allclose(w_and_b(averaged_params(train_state)), expected, rtol=1e-5)
    assert np.abs(expected - history[-1]).max() > 0.01
    assert run.trace_count == 1


def test_nothing_in_the_opt_state_shares_memory_with_the_params():
    params = {"linear": {"w": jnp.ones(3)}}
    opt_state = average_params(optax.sgd(0.1), DECAY).init(params)
    own = averaged_params(opt_state)["linear"]["w"].unsafe_buffer_pointer()
    assert own != params["linear"]["w"].unsafe_buffer_pointer()
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(opt_state))
    assert not any(leaf.weak_type for leaf in jax.tree.leaves(opt_state))


def test_the_average_of_bfloat16_params_is_float32():
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
    np.testing.assert_allclose(average, 1 + 0.999**1000, rtol=1e-4)


def test_extra_arguments_reach_the_optimizer_inside():
    def update(updates, state, params=None, *, factor, **_):
        return jax.tree.map(lambda u: u * factor, updates), state

    inner = optax.GradientTransformationExtraArgs(lambda params: optax.EmptyState(), update)
    optimizer = average_params(inner, DECAY)
    params = {"linear": {"w": jnp.ones(())}}
    updates, _ = optimizer.update(params, optimizer.init(params), params, factor=-3.0)
    assert updates["linear"]["w"] == -3


def test_what_is_frozen_has_its_own_value():
    def is_w(module, name, value):
        return name == "w"

    params = {"linear": {"b": jnp.ones(()), "w": jnp.full(2, 7.0)}}

    def train(optimizer):
        opt_state = optimizer.init(params)
        updates, opt_state = optimizer.update(params, opt_state, params)
        new = optax.apply_updates(params, updates)
        return hs.TrainState(new, {}, opt_state, None, None)

    for optimizer in (
        average_params(freeze_params(optax.sgd(0.5), is_w), DECAY),
        freeze_params(average_params(optax.sgd(0.5), DECAY), is_w),
    ):
        average = averaged_params(train(optimizer))["linear"]
        np.testing.assert_array_equal(average["w"], [7, 7])
        np.testing.assert_allclose(average["b"], 0.8 * 1 + 0.2 * 0.5, rtol=1e-6)
    with pytest.raises(MissingAverageError) as caught:
        averaged_params(train(optimizer).opt_state)
    assert caught.value.what == "the opt_state holds no average of:\n    params['linear']['w']"


def test_a_train_state_without_an_average_is_named():
    with pytest.raises(MissingAverageError) as caught:
        averaged_params(start(optax.sgd(0.1)))
    assert caught.value.what == ("the opt_state holds no average of:\n    params")


@pytest.mark.parametrize("decay", [1.0, -0.1, float("nan")])
def test_a_decay_out_of_range_is_named(decay):
    with pytest.raises(ArgumentError) as caught:
        average_params(optax.sgd(0.1), decay)
    assert caught.value.what == f"decay_rate is {decay}, but it must be a number in [0, 1)."


def test_an_update_without_the_params_is_named():
    optimizer = average_params(optax.sgd(0.1), DECAY)
    params = {"linear": {"w": jnp.ones(2)}}
    with pytest.raises(ArgumentError, match="params is None"):
        optimizer.update(params, optimizer.init(params))


def apply(params, state, rng, batch):
    return MODEL.apply(params, state, rng, batch["inputs"], True)


def test_state_is_the_mean_of_the_statistics_of_the_batches():
    # the last batch is shorter, and counts the same
    batches = [*batches_of(5), *batches_of(1, rows=4)]
    fresh = start(optax.sgd(0.1)).state
    state = reestimate_state(apply, start(optax.sgd(0.1)).params, fresh, iter(batches))
    inputs = [np.float64(batch["inputs"]) for batch in batches]
    expected = {MEAN: [x.mean(0) for x in inputs], VAR: [x.var(0) for x in inputs]}
    for name, values in expected.items():
        np.testing.assert_allclose(state[name]["average"][0], np.mean(values, 0), rtol=1e-6)
        np.testing.assert_allclose(state[name]["hidden"], 0.1 * state[name]["average"], rtol=1e-5)
        assert state[name]["counter"] == 1
    hs.check_state(fresh, state)
    assert fresh[MEAN]["counter"] == 0


def test_training_goes_on_from_there():
    batches, train_state = batches_of(4), start(optax.sgd(0.1))
    state = reestimate_state(apply, train_state.params, train_state.state, batches[:3])
    _, state = apply(train_state.params, state, None, batches[3])
    means = [np.float64(batch["inputs"]).mean(0) for batch in batches]
    expected = oracles.exponential_average([np.mean(means[:3], 0), means[3]], 0.9)
    np.testing.assert_allclose(state[MEAN]["average"][0], expected, rtol=1e-5)


def test_averaged_params_need_their_own_statistics():
    """The normalized layer lies behind a trained one, so its inputs depend on the params."""
    model = hs.pure_pair(hs.Classifier, [16], 10, 0.9)
    rng = np.random.default_rng(1)
    inputs = rng.normal(1, 1, (4, 64, 8)).astype(np.float32)
    targets = rng.integers(0, 10, (4, 64))

    def classify(params, state, rng, batch):
        logits, state = model.apply(params, state, rng, batch["x"], True)
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), batch["y"][:, None], 1)
        return -jnp.mean(picked), (state, {})

    optimizer = average_params(optax.sgd(2.0), 0.9)
    train_state = hs.init_train_state(model.init, optimizer, jax.random.key(0), inputs[0], True)
    fresh = jax.tree.map(np.array, train_state.state)  # a copy: the update reuses the memory
    run = hs.jit_update(hs.make_update(classify, optimizer))
    for index in range(40):
        batch = {"x": inputs[index % 4], "y": targets[index % 4].astype(np.int32)}
        train_state, _ = run(train_state, batch)

    average = averaged_params(train_state)
    reestimated = reestimate_state(
        jax.jit(lambda p, s, rng, x: model.apply(p, s, rng, x, True)), average, fresh, inputs
    )
    hidden = np.float64(inputs) @ np.float64(average["classifier/linear"]["w"])
    mean, var = hidden.mean(1).mean(0), hidden.var(1).mean(0)
    name = "classifier/batch_norm/~/{}_ema".format
    np.testing.assert_allclose(reestimated[name("mean")]["average"][0], mean, atol=1e-4)
    np.testing.assert_allclose(reestimated[name("var")]["average"][0], var, rtol=1e-4)

    norm, last = average["classifier/batch_norm"], average["classifier/linear_1"]
    normalized, _, _ = oracles.batch_norm(
        hidden[0], 0, 1e-5, np.float64(norm["scale"][0]), np.float64(norm["offset"][0]), mean, var
    )
    expected = np.maximum(normalized, 0) @ np.float64(last["w"]) + np.float64(last["b"])

    def error(state):
        logits, _ = model.apply(average, state, None, inputs[0], False)
        return np.abs(logits - expected).max()

    assert error(reestimated) < 1e-3
    assert error(train_state.state) > 0.02


def test_each_batch_has_its_own_key_and_other_leaves_are_those_of_the_first():
    def drawing(params, state, rng, batch):
        draw = jax.random.uniform(rng)
        drawn.append(float(draw))
        return None, {"a": {"draw": draw, "last": jnp.int32(batch)}}

    drawn, fresh = [], {"a": {"draw": jnp.zeros(()), "last": jnp.int32(0)}}
    state = reestimate_state(drawing, {}, fresh, [5, 6, 7], jax.random.key(0))
    assert len(set(drawn)) == 3
    np.testing.assert_allclose(state["a"]["draw"], np.mean(drawn), rtol=1e-6)
    assert state["a"]["last"] == 5


def test_an_empty_iterator_is_named():
    train_state, batches = start(optax.sgd(0.1)), iter(batches_of(1))
    reestimate_state(apply, train_state.params, train_state.state, batches)
    with pytest.raises(ArgumentError, match="batches is empty"):
        reestimate_state(apply, train_state.params, train_state.state, batches)


def test_a_used_state_is_named():
    train_state, batches = start(optax.sgd(0.1)), batches_of(1)
    _, used = apply(train_state.params, train_state.state, None, batches[0])
    with pytest.raises(ArgumentError, match="state is a state that already holds statistics"):
        reestimate_state(apply, train_state.params, used, batches)


def test_an_apply_that_is_not_training_is_named():
    train_state, batches = start(optax.sgd(0.1)), batches_of(1)
    with pytest.raises(CounterStoppedError):
        reestimate_state(
            lambda p, s, rng, batch: MODEL.apply(p, s, rng, batch["inputs"], False),
            train_state.params,
            train_state.state,
            batches,
        )


def warmed_up(step):
    """The decay of public training scripts: at first the average nearly follows the params."""
    return jnp.minimum(0.6, (1 + step) / (10 + step)).astype(jnp.float32)


@pytest.mark.usefixtures("standard_promotion")
def test_a_decay_rate_may_warm_up():
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
        np.testing.assert_allclose(averaged_params(opt_state)["linear"]["w"], a, rtol=1e-6)


@pytest.mark.parametrize("decay", [0.8, warmed_up], ids=["constant", "warmed up"])
@pytest.mark.parametrize("name", ["jit", "scan", "pmap", "shard_map"])
@pytest.mark.usefixtures("standard_promotion")
def test_the_state_is_averaged_with_the_params(name, decay):
    """On every runner, with the weights by hand; counters are those of the state."""
    axis = axis_of(RUNNERS[name])
    model = hs.pure_pair(hs.LinearRegression, True, 0.9, cross_replica_axis=axis)

    def loss_fn(params, state, rng, batch):
        prediction, state = model.apply(params, state, rng, batch["inputs"], True)
        return jnp.mean(jnp.square(prediction - batch["targets"])), (state, {})

    optimizer = average_params(optax.sgd(0.1), decay)
    batches = batches_of()
    first = hs.init_train_state(
        model.init, optimizer, jax.random.key(0), batches[0]["inputs"], True
    )
    run = RUNNERS[name](average_state(hs.make_update(loss_fn, optimizer), decay))
    train_state = run.place(AveragedTrainState(*first, first.state))
    average = statistics(first.state)
    weights = w_and_b(first.params).astype(np.float64)
    for step, batch in enumerate(batches):
        train_state, _metrics = run(train_state, run.feed(batch))
        d = decay if isinstance(decay, float) else min(0.6, (1 + step) / (10 + step))
        one = run.one(train_state)
        average = d * average + (1 - d) * statistics(one.state)
        weights = d * weights + (1 - d) * w_and_b(one.params).astype(np.float64)
        np.testing.assert_allclose(statistics(one.average), average, rtol=1e-5)
        np.testing.assert_allclose(w_and_b(averaged_params(one)), weights, rtol=1e-5, atol=1e-6)
        assert one.average[MEAN]["counter"] == one.state[MEAN]["counter"] == step + 1
    assert run.trace_count == 1
    read = one._replace(params=averaged_params(one), state=one.average)

    def metrics_fn(params, state, batch):
        outputs, state = model.apply(params, state, None, batch["inputs"], False)
        return {"mean": outputs}, state

    evaluate = hs.make_evaluate(metrics_fn)
    mean, var = (average[: average.size // 2], average[average.size // 2 :])
    normal = (batches[0]["inputs"] - mean) / np.sqrt(var + 1e-5)
    expected = (normal @ weights[:-1] + weights[-1]).mean()
    assert hs.jit_update(evaluate)(read, batches[0])["mean"] == pytest.approx(expected, abs=1e-5)


def statistics(state):
    """The running means and variances, as float64."""
    return np.concatenate([np.ravel(state[name]["average"]) for name in (MEAN, VAR)]).astype(float)


def test_the_average_of_a_state_is_of_its_dtype():
    def update(train_state, batch, *, axis_name=None):
        return train_state._replace(state={"m": {"x": batch}}, step=train_state.step + 1), {}

    x = jnp.ones(2, jnp.bfloat16)
    first = hs.TrainState({}, {"m": {"x": x}}, (), jax.random.key(0), jnp.int32(0))
    step = average_state(update, 0.5)
    train_state, _ = step(AveragedTrainState(*first, first.state), 3 * x)
    assert train_state.average["m"]["x"].dtype == jnp.bfloat16
    np.testing.assert_array_equal(np.asarray(train_state.average["m"]["x"], float), [2, 2])


def test_a_decay_of_the_state_out_of_range_is_named():
    with pytest.raises(ArgumentError) as caught:
        average_state(lambda train_state, batch: (train_state, {}), 1.0)
    assert caught.value.what == "decay_rate is 1.0, but it must be a number in [0, 1)."


def test_the_average_of_a_function_that_makes_an_optimizer_is_refused():
    with pytest.raises(ArgumentError) as caught:
        average_params(optax.sgd, 0.9)
    assert caught.value.what == "optimizer is sgd, but it must be an Optax optimizer."


def test_the_average_of_the_state_does_not_count_a_skipped_step():
    def loss_fn(params, state, rng, batch):
        return params["a"]["w"] * batch, ({"a": {"s": batch}}, {})

    optimizer = optax.apply_if_finite(optax.sgd(0.1), 5)
    step = average_state(hs.make_update(loss_fn, optimizer), 0.5)
    start = hs.init_train_state(
        lambda rng: ({"a": {"w": jnp.float32(1)}}, {"a": {"s": jnp.float32(0)}}),
        optimizer,
        jax.random.key(0),
    )
    train_state = AveragedTrainState(*start, start.state)
    averages = []
    for batch in (4.0, jnp.nan, jnp.nan, 8.0):
        train_state, _ = step(train_state, jnp.float32(batch))
        averages.append(float(train_state.average["a"]["s"]))
    assert averages == [2, 2, 2, 5]
