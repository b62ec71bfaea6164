"""The advice of an error is true for the case at hand: the same class met in different ways."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import haiku_state as hs
from haiku_state import errors

X = jnp.ones((4, 3))


def lines(error):
    """The wrong line and the right line."""
    _, wrong, right, *_ = [line for line in str(error.value).splitlines() if line[:4] != "    "]
    return wrong.removeprefix("  wrong: "), right.removeprefix("  right: ")


DRIFTED = {
    "batch norm": (
        {"batch_norm/~/mean_ema": {"average": jnp.array([0.0, 1.0])}},
        'BatchNorm(True, True, 0.9, cross_replica_axis="devices")',
    ),
    "moving average": (
        {"moving_average": {"sum": jnp.array([0.0, 1.0])}},
        'hk.set_state("sum", jax.lax.pmean(sum, "devices"))',
    ),
    "vector quantizer": (
        {"vector_quantizer_ema/~/ema_dw": {"hidden": jnp.array([0.0, 1.0])}},
        'hk.set_state("hidden", jax.lax.pmean(hidden, "devices"))',
    ),
    "params": (
        hs.TrainState({"linear": {"w": jnp.array([0.0, 1.0])}}, {}, (), (), ()),
        'grads = jax.lax.pmean(jax.grad(loss_fn)(params), "devices")',
    ),
    "an array": (jnp.array([0.0, 1.0]), 'value = jax.lax.pmean(f(rows), "devices")'),
}


@pytest.mark.parametrize(("tree", "right"), DRIFTED.values(), ids=DRIFTED)
def test_what_averages_replicas_depends_on_what_drifted(tree, right):
    with pytest.raises(errors.ReplicaMismatchError) as caught:
        hs.assert_replicas_equal(tree)
    assert lines(caught)[1] == right


def test_complex_replicas_that_differ_in_the_imaginary_part_are_not_equal():
    with pytest.raises(errors.ReplicaMismatchError, match=r"\['z'\] by 2\n"):
        hs.assert_replicas_equal({"z": jnp.array([1 + 1j, 1 + 3j])})
    hs.assert_replicas_equal({"z": jnp.array([1 + 1j, 1 + 1j])})


def test_a_report_of_many_leaves_shows_the_first_and_the_last():
    tree = {f"layer_{i:03}": jnp.array([0.0, 1.0]) for i in range(212)}
    with pytest.raises(errors.ReplicaMismatchError) as caught:
        hs.assert_replicas_equal(tree)
    told = str(caught.value).splitlines()
    assert len(told) < 30
    assert "    ['layer_000'] by 1" in told
    assert "    … and 192 more" in told
    assert "    ['layer_211'] by 1" in told


SHAPES = {  # before, after: the right line
    "a reduction": ((1, 3), (3,), "x = jnp.mean(x, axis=0, keepdims=True)"),
    "a longer batch": ((4, 3), (8, 3), 'hk.set_state("x", jnp.zeros((4, 3), x.dtype)'),
    "a shorter batch": ((4, 3), (2, 3), 'hk.set_state("x", jnp.zeros((4, 3), x.dtype)'),
    "something else": ((4, 3), (5, 7), 'hk.get_state("x", (5, 7), …)'),
}


@pytest.mark.parametrize(("before", "after", "right"), SHAPES.values(), ids=SHAPES)
def test_what_to_do_about_a_shape_depends_on_how_it_changed(before, after, right):
    with pytest.raises(errors.StateShapeError) as caught:
        hs.check_state({"m": {"x": jnp.zeros(before)}}, {"m": {"x": jnp.zeros(after)}})
    advice = lines(caught)[1]
    assert advice.startswith(right)
    if "batch" in right or "jnp.zeros" in advice:  # it works, whatever the batch
        x, kept = jnp.ones(after), []
        names = {
            "jnp": jnp,
            "x": x,
            "hk": type("hk", (), {"set_state": lambda n, v: kept.append(v)}),
        }
        eval(advice, names)
        assert kept[0].shape == before


DEVICES = {
    "XLA_FLAGS": ("--xla_force_host_platform_device_count=2", "=4"),
    "JAX_NUM_CPU_DEVICES": ("2", "=4"),
}


@pytest.mark.parametrize("name", DEVICES)
def test_a_number_of_devices_that_the_environment_has_chosen_is_not_called_started(name, user):
    if name == "JAX_NUM_CPU_DEVICES" and not hasattr(jax.config, "jax_num_cpu_devices"):
        pytest.skip("this JAX does not read it")
    value, right = DEVICES[name]
    program = "import haiku_state as hs; hs.use_devices(4)"
    ran = user.python("-c", program, env={name: value, "HAIKU_STATE_LANG": "en"})
    assert f"  wrong: {name}={value}\n" in ran.stderr
    assert f"{right}\n" in ran.stderr
    assert "environment sets" in ran.stderr


def loss_fn(params, state, rng, batch):
    return jnp.sum(params["w"]), (state, {})


OPT_STATES = {
    "another optimizer": lambda params: optax.adam(0.1).init(params),
    "plain tuples": lambda params: ((), ()),
    "none": lambda params: None,
}


@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize("make", OPT_STATES.values(), ids=OPT_STATES)
def test_an_opt_state_that_is_not_the_optimizer_s_is_named(make):
    optimizer = optax.chain(optax.clip(1.0), optax.sgd(0.1, momentum=0.9))
    train_state = hs.init_train_state(
        lambda rng: ({"w": jnp.ones(2)}, {}), optimizer, jax.random.key(0)
    )
    wrong = train_state._replace(opt_state=make(train_state.params))
    run = hs.jit_update(hs.make_update(loss_fn, optimizer))
    with pytest.raises(errors.ArgumentError, match=r"^train_state\.opt_state is ") as caught:
        run(wrong, {})
    repaired = eval(lines(caught)[1].partition(" = ")[2], {**globals(), **locals()})
    assert jax.tree.structure(repaired) == jax.tree.structure(train_state)


def test_lists_and_ranges_are_data_and_ragged_ones_are_named():
    batch = next(hs.batches({"x": range(10), "y": [[1.0, 2.0]] * 10}, 4))
    assert (batch["x"].tolist(), batch["y"].shape) == ([0, 1, 2, 3], (4, 2))
    for ragged in ({"x": [[1], [1, 2]]}, {"x": 3}, {"x": range(3), "y": range(4)}):
        with pytest.raises(errors.ArgumentError, match="the same number of rows"):
            hs.batches(ragged, 1)


@pytest.mark.parametrize("call", ["position", "name"])
@pytest.mark.parametrize("is_training", [True, False])
def test_the_mode_of_a_call_counts_however_it_is_spelled(call, is_training):
    """A module that does the opposite of what it is told."""

    class Contrary(hs.BatchNorm):
        def __call__(self, inputs, is_training):
            return super().__call__(inputs, not is_training)

    expected = errors.CounterStoppedError if is_training else errors.CounterAdvancedError
    pair = hs.pure_pair(Contrary, True, True, 0.9)
    params, state = pair.init(None, X, False)
    flag = ([is_training], {}) if call == "position" else ([], {"is_training": is_training})
    for apply in (pair.apply, hs.checked(hs.pure_pair(Contrary, True, True, 0.9).apply)):
        with pytest.raises(expected):
            apply(params, state, None, X, *flag[0], **flag[1])


def test_a_name_where_jax_pmap_has_one_is_told_where_it_belongs():
    with pytest.raises(errors.ArgumentError, match="devices is 'i'") as caught:
        hs.pmap_update(lambda train_state, batch, *, axis_name=None: (train_state, {}), "i")
    assert lines(caught)[1] == "pmap_update(update, axis_name='i')"


def test_an_update_that_returns_one_thing_is_told_to_return_two():
    run = hs.jit_update(lambda total, batch, *, axis_name=None: total + 1)
    with pytest.raises(errors.ArgumentError, match=r"must be \(train_state, metrics\)"):
        run(jnp.zeros(()), {"x": np.ones(2)})
