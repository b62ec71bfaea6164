"""Functions of the lessons on five ways and on NNX, on params and states that they do not show."""

import contextlib
import copy
import warnings

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from hypothesis import given
from hypothesis import strategies as st
from support.laws import law
from support.lesson_cells import cells, run
from support.trees import bits

HAS_MODES = "mode" in eqx.nn.BatchNorm.__annotations__
SHAPES = {
    "params": {
        "first": {"w": (4, 3)},
        "norm": {"scale": (1, 3), "offset": (1, 3)},
        "last": {"w": (3, 1), "b": (1,)},
    },
    "state": {
        f"norm/~/{name}": {"average": (1, 3), "hidden": (1, 3), "counter": ()}
        for name in ("mean_ema", "var_ema")
    },
}
# 32 roundings of float32: the libraries add in different orders, and terms may exceed their sum
CLOSE = 2.0**-18


@contextlib.contextmanager
def as_users_do():
    # Flax, Equinox and the pages themselves mix dtypes and ranks
    with (
        jax.numpy_dtype_promotion("standard"),
        jax.numpy_rank_promotion("allow"),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # what other libraries deprecate in each other
        yield


@pytest.fixture(scope="module")
def page():
    """The lesson that moves a checkpoint to NNX."""
    with as_users_do():
        yield run("beyond/moving_to_nnx")


@pytest.fixture(scope="module")
def ways():
    """The lesson that writes one model with a BatchNorm in five ways."""
    with as_users_do():
        yield run("beyond/five_ways_batch_norm")


def any_bits(seed, counter):
    """Leaves of arbitrary bits but no NaN: subnormals, infinities and minus zero among them."""
    rng = np.random.default_rng(seed)

    def leaf(shape):
        if shape == ():
            return np.int32(counter)
        drawn = rng.integers(0, 2**32, size=shape, dtype=np.uint32).view(np.float32)
        drawn.flat[0] = rng.choice(np.float32([-0.0, 1e-45, np.inf, -np.inf, 3e38]))
        return np.where(np.isnan(drawn), np.float32(1), drawn)

    is_shape = dict(is_leaf=lambda node: isinstance(node, tuple))
    return (jax.tree.map(leaf, SHAPES[part], **is_shape) for part in ("params", "state"))


def trained(page, seed, counter):
    """Leaves as training leaves them: ``average`` is ``hidden``, corrected in float64."""
    rng = np.random.default_rng(seed)
    params = {
        path: {name: rng.normal(size=shape).astype(np.float32) for name, shape in leaves.items()}
        for path, leaves in SHAPES["params"].items()
    }
    average = {
        "norm/~/mean_ema": rng.normal(scale=3, size=(1, 3)).astype(np.float32),
        "norm/~/var_ema": rng.uniform(0.1, 9, size=(1, 3)).astype(np.float32),
    }
    state = {
        path: {
            "average": value,
            "hidden": (value * (1 - page.DECAY**counter)).astype(np.float32),
            "counter": np.int32(counter),
        }
        for path, value in average.items()
    }
    return params, state


def check_close(one, other):
    one, other = np.float64(one), np.float64(other)
    assert np.abs(one - other).max() <= CLOSE * max(1, np.abs(other).max())


SEEDS = st.integers(0, 2**32 - 1)


def test_moving_to_nnx__has_its_functions_once():
    text = "\n".join(cells("beyond/moving_to_nnx"))
    assert "mystnb" not in text
    assert text.count("def haiku_to_nnx") == text.count("def nnx_to_haiku") == 1


def test_five_ways__the_reference_has_the_gradient_of_finite_differences(ways):
    batches, step = ways.batches[:1], 1e-6
    found = ways.by_hand(ways.start, batches)["grads"]
    for name, grad in found.items():
        for index in np.ndindex(grad.shape):
            losses = []
            for sign in (1, -1):
                moved = {key: np.array(leaf, np.float64) for key, leaf in ways.start.items()}
                moved[name][index] += sign * step
                losses.append(ways.by_hand(moved, batches)["losses"][0])
            # central differences are off by step² and by float64's rounding over step
            assert abs((losses[0] - losses[1]) / (2 * step) - grad[index]) < 1e-8


def test_five_ways__every_way_is_on_the_page(ways):
    expected = {"numpy", "plain", "haiku", "nnx", "equinox"}
    assert set(ways.results) == expected | ({"refs"} if ways.new_ref is not None else set())


@law(40)
@given(seed=SEEDS, counter=st.integers(-(2**31), 2**31 - 1))
def test_haiku_to_nnx__and_back_keeps_every_bit(page, seed, counter):
    params, state = any_bits(seed, counter)
    before = bits((params, state))
    model = page.haiku_to_nnx(params, state, page.NNXModel())
    assert bits(page.nnx_to_haiku(model)) == before
    assert bits((params, state)) == before


@law(15)
@given(seed=SEEDS, counter=st.integers(1, 10_000), stock=st.booleans())
def test_haiku_to_nnx__both_evaluate_alike(page, seed, counter, stock):
    params, state = trained(page, seed, counter)
    x = np.random.default_rng(seed).normal(size=(5, 4)).astype(np.float32)
    expected, _ = page.pair.apply(params, state, None, x, False)
    norm = nnx.BatchNorm if stock else page.DebiasedBatchNorm
    model = page.haiku_to_nnx(params, state, page.NNXModel(norm))
    check_close(model(x, False), expected)
    params, state = page.nnx_to_haiku(model)
    again, _ = page.pair.apply(params, state, None, x, False)
    assert np.array_equal(again, expected)


@pytest.mark.parametrize("counter", [1, 3, 200])
def test_haiku_to_nnx__training_goes_on_alike_after_a_move(page, counter):
    params, state = trained(page, counter, counter)
    model = page.haiku_to_nnx(params, state, page.NNXModel())
    params, state = page.nnx_to_haiku(model)
    for batch in page.batches[:5]:
        params, state, expected = page.haiku_step(params, state, batch)
        loss = page.nnx_step(model, batch)
        check_close(loss, expected)
    for one, other in zip(
        *map(jax.tree.leaves, (page.nnx_to_haiku(model), (params, state))), strict=True
    ):
        check_close(one, other)


@law(15)
@given(seed=SEEDS, counter=st.integers(0, 10_000))
def test_haiku_to_nnx__the_layer_of_flax_keeps_params_and_averages(page, seed, counter):
    params, state = any_bits(seed, counter)
    model = page.haiku_to_nnx(params, state, page.NNXModel(nnx.BatchNorm))
    back_params, back_state = page.nnx_to_haiku(model)
    assert bits(back_params) == bits(params)
    for path, leaves in back_state.items():
        average = bits(state[path]["average"])
        assert bits(leaves["average"]) == bits(leaves["hidden"]) == average
        assert leaves["counter"] == page.settled_count(page.DECAY)
        assert leaves["counter"].dtype == jnp.int32
    assert jax.tree.structure(back_state) == jax.tree.structure(state)


@pytest.mark.parametrize("decay", [0.01, 0.5, 0.9, 0.99, 0.999, 0.9999])
def test_settled_count__nothing_is_corrected_there(page, decay):
    count = page.settled_count(decay)
    assert np.float32(1 - decay**count) == 1
    assert np.float32(1 - decay ** (count // 2)) < 1


@pytest.mark.parametrize("part", ["params", "state"])
@pytest.mark.parametrize("change", ["missing", "extra"])
def test_haiku_to_nnx__names_a_leaf_that_the_table_does_not(page, part, change):
    trees = copy.deepcopy(dict(zip(("params", "state"), trained(page, 0, 1), strict=True)))
    path, leaves = next(iter(trees[part].items()))
    if change == "missing":
        name, _ = leaves.popitem()
    else:
        name, leaves["other"] = "other", np.zeros(3, np.float32)
    with pytest.raises(KeyError) as caught:
        page.haiku_to_nnx(*trees.values(), page.NNXModel())
    assert caught.value.args[0] == [(path, name)]


def test_haiku_to_nnx__a_leaf_of_another_size_is_an_error(page):
    params, state = trained(page, 0, 1)
    params["first"]["w"] = np.zeros((5, 3), np.float32)
    with pytest.raises((TypeError, ValueError), match="reshape"):
        page.haiku_to_nnx(params, state, page.NNXModel())


@law(10)
@given(seed=SEEDS, counter=st.integers(1, 10_000))
def test_haiku_to_equinox__evaluates_alike(ways, seed, counter):
    params, state = trained(ways, seed, counter)
    model, moved = ways.haiku_to_equinox(params, state)
    assert bits(ways.from_equinox(model)) == bits(ways.from_haiku(params))
    statistics = moved.get(model.norm.statistics)
    assert bits(statistics) == bits(ways.from_haiku_state(state))
    for average, path in zip(ways.averages(statistics), state, strict=True):
        check_close(average, state[path]["average"][0])
    x = np.random.default_rng(seed).normal(size=(5, 4)).astype(np.float32)
    expected, _ = ways.pair.apply(params, state, None, x, False)
    check_close(model(x, moved, False)[0], expected)


@pytest.mark.skipif(not HAS_MODES, reason="this Equinox has no mode that keeps a counter")
@pytest.mark.parametrize("counter", [1, 20, 5000])
def test_five_ways__a_haiku_state_in_the_layer_of_equinox(ways, counter):
    _, state = trained(ways, counter, counter)
    leaves = ways.from_haiku_state(state)
    make_norm = eqx.nn.make_with_state(eqx.nn.BatchNorm)
    layer, moved = make_norm(3, "rows", momentum=ways.DECAY, mode="batch")
    count = jnp.asarray(int(leaves["count"]))  # weakly typed, as Equinox wants it
    moved = moved.set(layer.batch_counter, count)
    moved = moved.set(layer.batch_state_index, (leaves["mean"], leaves["var"]))
    h = np.random.default_rng(counter).normal(size=(5, 3)).astype(np.float32)
    over = {"axis_name": "rows", "in_axes": (0, None), "out_axes": (0, None)}
    found, _ = jax.vmap(eqx.nn.inference_mode(layer), **over)(h, moved)
    mean, var = (np.float64(state[path]["average"]) for path in state)
    check_close(found, (h - mean) / np.sqrt(var + ways.EPS))


@pytest.mark.parametrize("steps", [1, 5, 40])
def test_moving_to_nnx__hidden_averages_of_a_layer_that_flax_has_trained(page, steps):
    model = page.haiku_to_nnx(*trained(page, 0, 1), page.NNXModel(nnx.BatchNorm))
    fresh = {"mean": jnp.zeros(3), "var": jnp.ones(3)}
    nnx.update(model, {"norm": fresh})
    twin = page.haiku_to_nnx(*trained(page, 0, 1), page.NNXModel())
    nothing = {"hidden_mean": jnp.zeros(3), "hidden_var": jnp.zeros(3), "count": jnp.int32(0)}
    nnx.update(twin, {"norm": nothing})
    for i in range(steps):
        page.nnx_step(model, page.batches[i % page.STEPS])
        page.nnx_step(twin, page.batches[i % page.STEPS])
    check_close(model.norm.mean[...], twin.norm.hidden_mean[...])
    check_close(model.norm.var[...] - page.DECAY**steps, twin.norm.hidden_var[...])
