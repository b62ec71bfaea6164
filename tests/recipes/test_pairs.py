"""Every pair of recipes in both orders: the step of the same recipes in NumPy, or a named error."""

import functools
import itertools

import jax
import jax.numpy as jnp
import jmp
import numpy as np
import optax
import pytest
from support.models import FLOAT16, start_from
from support.tolerances import MANY_ROUNDINGS
from support.trees import assert_close

import haiku_state as hs
from haiku_state import recipes
from haiku_state.errors import ArgumentError, LossScaleError, NothingFrozenError

RATE, DECAY, SCALE = 0.0625, 0.75, 2.0**10
RNG = np.random.default_rng(0)
# numbers that float16 holds
BATCHES = [
    {name: RNG.integers(-8, 8, shape).astype(np.float32) / 8 for name, shape in SHAPES.items()}
    for SHAPES in 3 * [{"x": (8, 2), "y": (8,)}]
]
PARAMS = {"linear": {"w": np.array([0.5, -0.25]), "b": np.array(0.125)}}
STATE = {"seen": {"mean": np.zeros(2), "steps": np.int32(0)}, "kept": {"mean": np.zeros(2)}}


def is_b(module, name, value):
    return name == "b"


def is_vector(module, name, value):
    return value.shape == (2,)


def is_kept(module, name, value):
    return module == "kept"


# The package's recipes, around a loss function and an optimizer in JAX.


def loss_fn(params, state, rng, batch):
    """Squared error of a line through centered inputs; two running means of the inputs."""
    before = state["kept"]["mean"].astype(batch["x"].dtype)[None]
    prediction = jnp.dot(batch["x"] - before, params["linear"]["w"]) + params["linear"]["b"]
    mean = jnp.mean(batch["x"].astype(jnp.float32), axis=0)
    state = {
        "seen": {
            "mean": (state["seen"]["mean"] + mean) / 2,
            "steps": state["seen"]["steps"] + 1,
        },
        "kept": {"mean": (state["kept"]["mean"] + mean) / 2},
    }
    return jnp.mean(jnp.square(prediction - batch["y"])), (state, {})


LOSSES = {
    "accumulate each": lambda f: recipes.accumulate(f, 2, statistics="each"),
    "accumulate once": lambda f: recipes.accumulate(f, 2, statistics="once"),
    "mixed_precision": lambda f: recipes.mixed_precision(f, FLOAT16),
    "freeze_state": lambda f: recipes.freeze_state(f, is_kept),
}
OPTIMIZERS = {
    "average_params": lambda o: recipes.average_params(o, DECAY),
    "freeze_params b": lambda o: recipes.freeze_params(o, is_b),
    "freeze_params w": lambda o: recipes.freeze_params(o, is_vector),
    "scale_loss": lambda o: recipes.scale_loss(o, jmp.DynamicLossScale(jnp.float32(SCALE))),
}

# The same in NumPy: a loss function returns (loss, grads, state), an optimizer is a function of
# (grads, memory, params) that returns (updates, memory), with one memory for the whole chain.


def hand_loss(params, state, batch):
    x, y = np.float64(batch["x"]), np.float64(batch["y"])
    centered = x - state["kept"]["mean"]
    error = centered @ params["linear"]["w"] + params["linear"]["b"] - y
    grads = {"linear": {"w": 2 * centered.T @ error / len(y), "b": 2 * error.mean()}}
    seen, kept = state["seen"], state["kept"]
    state = {
        "seen": {"mean": (seen["mean"] + x.mean(0)) / 2, "steps": seen["steps"] + 1},
        "kept": {"mean": (kept["mean"] + x.mean(0)) / 2},
    }
    return np.square(error).mean(), grads, state


def hand_parts(function, hands_on):
    def parts(params, state, batch):
        results, before = [], state
        for i in range(2):
            rows = {name: values[i::2] for name, values in batch.items()}
            results.append(function(params, before, rows))
            before = results[-1][2] if hands_on else before
        loss, grads, mean = jax.tree.map(lambda *leaves: np.mean(leaves, axis=0), *results)
        return loss, grads, results[-1][2] if hands_on else mean

    return parts


def hand_keep(function):
    def kept(params, state, batch):
        loss, grads, after = function(params, state, batch)
        return loss, grads, {**after, "kept": state["kept"]}

    return kept


def hand_sgd(grads, memory, params):
    trace = jax.tree.map(lambda g, t: g + t / 2, grads, memory["trace"])
    return jax.tree.map(lambda t: -RATE * t, trace), {**memory, "trace": trace}


def hand_average(optimizer):
    def averaging(grads, memory, params):
        updates, memory = optimizer(grads, memory, params)
        new = jax.tree.map(np.add, params, updates)
        average = jax.tree.map(lambda a, p: DECAY * a + (1 - DECAY) * p, memory["average"], new)
        return updates, {**memory, "average": average}

    return averaging


def hand_freeze(optimizer, name):
    """The optimizer inside never sees what is frozen."""

    def shown(tree):
        return {"linear": {key: leaf for key, leaf in tree["linear"].items() if key != name}}

    def whole(tree, hidden):
        return {"linear": {**tree["linear"], name: hidden}}

    def freezing(grads, memory, params):
        inner = {key: shown(tree) for key, tree in memory.items()}
        updates, inner = optimizer(shown(grads), inner, shown(params))
        memory = {key: whole(tree, memory[key]["linear"][name]) for key, tree in inner.items()}
        return whole(updates, np.zeros_like(params["linear"][name])), memory

    return freezing


HAND_LOSSES = {
    "accumulate each": lambda f: hand_parts(f, True),
    "accumulate once": lambda f: hand_parts(f, False),
    "mixed_precision": lambda f: f,
    "freeze_state": hand_keep,
}
HAND_OPTIMIZERS = {
    "average_params": hand_average,
    "freeze_params b": lambda o: hand_freeze(o, "b"),
    "freeze_params w": lambda o: hand_freeze(o, "w"),
    "scale_loss": lambda o: o,
}

# (inner, outer) of what is refused, in all other pairs both are right
REFUSED = {
    ("mixed_precision", "mixed_precision"),
    ("freeze_params b", "freeze_params b"),
    ("freeze_params w", "freeze_params w"),
    *(("scale_loss", name) for name in OPTIMIZERS),
}
PAIRS = [
    pair
    for pair in itertools.product([*LOSSES, *OPTIMIZERS], repeat=2)
    # a loss function and an optimizer have no order
    if not (pair[0] in OPTIMIZERS and pair[1] in LOSSES) and pair not in REFUSED
]


def wrapped(function, table, pair):
    return functools.reduce(lambda f, name: table[name](f) if name in table else f, pair, function)


def make(pair):
    optimizer = wrapped(optax.sgd(RATE, momentum=0.5), OPTIMIZERS, pair)
    update = recipes.make_scaled_update if "scale_loss" in pair else hs.make_update
    return optimizer, update(wrapped(loss_fn, LOSSES, pair), optimizer)


def start(optimizer):
    return start_from(*jax.tree.map(jnp.asarray, (PARAMS, STATE)), optimizer)


@functools.cache
def everything():
    """Three steps of each pair, and one that overflows: all pairs are one compiled program."""
    made = [make(pair) for pair in PAIRS]

    updates = [update for _, update in made]

    def every_step(train_states, batch):
        return [run(each, batch) for run, each in zip(updates, train_states, strict=True)]

    train_states, losses = [start(optimizer) for optimizer, _ in made], []
    lowered = jax.jit(every_step).lower(train_states, BATCHES[0])
    step = lowered.compile({"xla_backend_optimization_level": 0})  # it runs four times only
    for batch in BATCHES:
        results = step(train_states, batch)
        train_states = [train_state for train_state, _ in results]
        losses.append([float(metrics["loss"]) for _, metrics in results])
    overflowing = {"x": BATCHES[0]["x"], "y": np.full(8, np.inf, np.float32)}
    after = [train_state for train_state, _ in step(train_states, overflowing)]
    by_pair = zip(train_states, zip(*losses, strict=True), after, strict=True)
    return dict(zip(PAIRS, by_pair, strict=True))


def by_hand(pair):
    function = wrapped(hand_loss, HAND_LOSSES, pair)
    optimizer = wrapped(hand_sgd, HAND_OPTIMIZERS, pair)
    params, state, losses = PARAMS, STATE, []
    memory = {"trace": jax.tree.map(np.zeros_like, params), "average": params}
    for batch in BATCHES:
        loss, grads, state = function(params, state, batch)
        updates, memory = optimizer(grads, memory, params)
        params = jax.tree.map(np.add, params, updates)
        losses.append(loss)
    return params, state, losses, memory["average"]


# float16 rounds by up to 5e-4, in each of the three steps
HALF = 2e-3


def tolerance_of(pair):
    return HALF if "mixed_precision" in pair else MANY_ROUNDINGS


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_recipes__a_pair_takes_the_step_written_by_hand(pair):
    train_state, losses, _ = everything()[pair]
    params, state, expected_losses, average = by_hand(pair)
    tolerance = tolerance_of(pair)
    found = (train_state.params, train_state.state, list(losses))
    assert_close(found, (params, state, expected_losses), tolerance)
    assert int(train_state.state["seen"]["steps"]) == state["seen"]["steps"]
    for name in ("b", "w"):
        if f"freeze_params {name}" in pair:
            assert np.all(train_state.params["linear"][name] == PARAMS["linear"][name])
    if pair.count("average_params") == 1:
        assert_close(recipes.averaged_params(train_state), average, tolerance)


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if "scale_loss" in pair], ids="-".join)
def test_recipes__a_pair_with_a_scale_skips_a_step_that_overflows(pair):
    before, _, after = everything()[pair]
    assert not after.opt_state.last_finite
    assert after.opt_state.loss_scale == SCALE / 2
    kept = [(tree.params, tree.state, tree.opt_state.inner) for tree in (before, after)]
    jax.tree.map(np.testing.assert_array_equal, *kept)


OUTERMOST = "from scale_loss as the outermost optimizer"
TWICE = "the loss would be scaled twice"
AROUND = {**OPTIMIZERS, "optax.chain": lambda o: optax.chain(optax.clip(1.0), o)}


@pytest.mark.parametrize("outer", AROUND)
@pytest.mark.parametrize("update", [hs.make_update, recipes.make_scaled_update])
def test_scale_loss__refuses_anything_around_it(outer, update):
    def one_step():
        optimizer = AROUND[outer](OPTIMIZERS["scale_loss"](optax.sgd(RATE)))
        update(loss_fn, optimizer)(start(optimizer), BATCHES[0])

    reason = OUTERMOST if update is recipes.make_scaled_update else "do not come from a scaled loss"
    with pytest.raises(LossScaleError, match=TWICE if outer == "scale_loss" else reason):
        one_step()


def test_scale_loss__refuses_another_one_deep_inside():
    scale = OPTIMIZERS["scale_loss"]
    with pytest.raises(LossScaleError, match=TWICE):
        start(scale(optax.chain(optax.clip(1.0), scale(optax.sgd(RATE)))))


@pytest.mark.parametrize("name", LOSSES)
def test_make_scaled_update__goes_with_scale_loss_around_each_loss(name):
    scaled, plain = OPTIMIZERS["scale_loss"](optax.sgd(RATE)), optax.sgd(RATE)
    function = LOSSES[name](loss_fn)
    with pytest.raises(LossScaleError) as caught:
        hs.make_update(function, scaled)(start(scaled), BATCHES[0])
    assert caught.value.what == (
        "the loss must be scaled exactly once, but the gradients do not come from a scaled loss."
    )
    with pytest.raises(LossScaleError, match=OUTERMOST):
        recipes.make_scaled_update(function, plain)(start(plain), BATCHES[0])


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_recipes__extra_arguments_reach_the_optimizer_inside(name):
    def update(updates, state, params=None, *, factor, **_):
        return jax.tree.map(lambda u: u * factor, updates), state

    inner = optax.GradientTransformationExtraArgs(lambda params: optax.EmptyState(), update)
    optimizer = OPTIMIZERS[name](inner)
    params = jax.tree.map(jnp.float32, PARAMS)
    more = {"is_scaled": True} if name == "scale_loss" else {}
    updates, _ = optimizer.update(params, optimizer.init(params), params, factor=-2.0, **more)
    factors = {leaf: -2 / SCALE if more else -2 for leaf in ("w", "b")}
    factors[name[-1]] = 0  # what is frozen
    for leaf, value in PARAMS["linear"].items():
        np.testing.assert_array_equal(updates["linear"][leaf], factors[leaf] * value)


@pytest.mark.parametrize("name", ["b", "w"])
def test_freeze_params__cannot_freeze_inside_what_is_frozen_outside(name):
    other = {"b": "w", "w": "b"}[name]
    with pytest.raises(NothingFrozenError) as caught:
        start(make(2 * (f"freeze_params {name}",))[0])
    assert caught.value.what == (
        f"the predicate does not match any leaf. The leaves are:\n    params['linear']['{other}']"
    )


def test_mixed_precision__refuses_params_that_are_already_cast():
    with pytest.raises(ArgumentError, match=r"float16, but it must be float32"):
        make(2 * ("mixed_precision",))[1](start(optax.sgd(RATE, momentum=0.5)), BATCHES[0])


def in_groups(first, second):
    return optax.multi_transform({"a": first, "b": second}, {"linear": {"w": "a", "b": "b"}})


@pytest.mark.parametrize(
    "optimizer",
    [
        recipes.average_params(recipes.average_params(optax.sgd(RATE), 0.5), 0.9),
        in_groups(
            recipes.average_params(optax.sgd(RATE), 0.5),
            recipes.average_params(optax.sgd(RATE), 0.9),
        ),
    ],
    ids=["around", "beside"],
)
def test_averaged_params__refuses_two_averages_and_takes_none_of_them(optimizer):
    for given in (start(optimizer), start(optimizer).opt_state):
        with pytest.raises(ArgumentError) as caught:
            recipes.averaged_params(given)
        assert caught.value.what == (
            "opt_state is an opt_state with several averages, but it must be an opt_state with a "
            "single average."
        )


def small_gradients():
    """By each order of the loss recipes and with or without a scale, the step of -1e-8."""

    def loss_fn(params, state, rng, batch):
        product = jnp.mean((params["w"] * batch["x"]).astype(jnp.float32))
        return product * jnp.float32(-1e-8), (state, {})

    among = {"mixed_precision", "accumulate each", "accumulate once"}
    orders = [(), ("mixed_precision",), *(order for order in PAIRS if set(order) <= among)]
    scaled = recipes.scale_loss(optax.sgd(1.0), jmp.StaticLossScale(jnp.float32(2.0**15)))
    cases, updates, train_states = [], [], []
    for order, is_scaled in itertools.product(orders, (False, True)):
        optimizer = scaled if is_scaled else optax.sgd(1.0)
        update = recipes.make_scaled_update if is_scaled else hs.make_update
        cases.append((order, is_scaled))
        updates.append(update(wrapped(loss_fn, LOSSES, order), optimizer))
        train_states.append(start_from({"w": jnp.zeros(())}, {}, optimizer))
    batch = {"x": np.ones(8, np.float32)}
    run = jax.jit(lambda states: [f(s, batch)[0] for f, s in zip(updates, states, strict=True)])
    steps = [float(train_state.params["w"]) for train_state in run(train_states)]
    return list(zip(cases, steps, strict=True))


def test_scale_loss__a_gradient_of_1e_minus_8_survives_in_each_order():
    for (order, is_scaled), step in small_gradients():
        if "mixed_precision" in order and not is_scaled:
            assert step == 0, order  # the smallest float16 is 6e-8: this is what the scale is for
        else:
            np.testing.assert_allclose(step, 1e-8, rtol=HALF, err_msg=str(order))


@pytest.mark.parametrize("name", LOSSES)
def test_reestimate_state__works_through_each_loss_and_for_averaged_params(name):
    """The mean of the states after each batch alone, for the averaged params of a pair."""
    function, by_hand = LOSSES[name](loss_fn), HAND_LOSSES[name](hand_loss)
    train_state, _, _ = everything()[(name, "average_params")]
    params = recipes.averaged_params(train_state)
    fresh = start(optax.sgd(RATE)).state

    def apply(params, state, rng, batch):
        loss, (state, _) = function(params, state, rng, batch)
        return loss, state

    state = recipes.reestimate_state(jax.jit(apply), params, fresh, BATCHES)
    alone = [by_hand(jax.tree.map(np.float64, params), STATE, batch)[2] for batch in BATCHES]
    for module in ("seen", "kept"):
        mean = np.mean([each[module]["mean"] for each in alone], axis=0)
        assert_close(state[module]["mean"], mean, tolerance_of(name))
    assert int(state["seen"]["steps"]) == alone[0]["seen"]["steps"]
