import contextlib
import inspect

import haiku as hk
import jax
import jax.numpy as jnp
import jmp
import numpy as np
import pytest
from support import oracles
from support.tolerances import FEW_ROUNDINGS, MANY_ROUNDINGS
from support.trees import assert_close, assert_same_bits

import haiku_state as hs
from haiku_state.errors import ArgumentError, UnboundAxisError

# arguments, shape of the inputs, axes that are averaged
LAYOUTS = {
    "rows": ({}, (16, 3), (0,)),
    "N...C": ({"data_format": "N...C", "create_scale": False}, (6, 5, 3), (0, 1)),
    "NHWC": ({"data_format": "NHWC", "create_offset": False}, (4, 3, 2, 5), (0, 1, 2)),
    "NCHW": ({"data_format": "NCHW", "eps": 0.1}, (4, 5, 3, 2), (0, 2, 3)),
    "channels_first": (
        {"data_format": "channels_first", "create_scale": False, "create_offset": False},
        (6, 3, 5),
        (0, 2),
    ),
    "axis": ({"axis": (0,)}, (6, 5, 3), (0,)),
    "axis inside": ({"axis": [1]}, (6, 5, 3), (1,)),
}
each_layout = pytest.mark.parametrize(
    ("arguments", "shape", "axes"), LAYOUTS.values(), ids=LAYOUTS.keys()
)
MEAN, VAR = "batch_norm/~/mean_ema", "batch_norm/~/var_ema"


def pair_of(norm, **arguments):
    arguments = {"create_scale": True, "create_offset": True, "decay_rate": 0.9, **arguments}

    def call(x, is_training, *at_call):
        with contextlib.ExitStack() as stack:
            if norm is hk.BatchNorm:  # which the strictness of the tests refuses
                stack.enter_context(jax.numpy_dtype_promotion("standard"))
                stack.enter_context(jax.numpy_rank_promotion("allow"))
            return norm(**arguments, name="batch_norm")(x, is_training, *at_call)

    return hk.transform_with_state(call)


def inputs_of(shape, step=0, dtype=jnp.float32):
    return jnp.asarray(np.random.default_rng(step).normal(0.5, 2, shape), dtype)


def trained(pair, shape, steps=3, dtype=jnp.float32):
    """Params that differ from their initial values, and the state of a few batches."""
    params, state = pair.init(None, inputs_of(shape, dtype=dtype), True)
    params = jax.tree.map(
        lambda p: p + jnp.linspace(0.5, 2, p.size, dtype=p.dtype).reshape(p.shape), params
    )
    for step in range(steps):
        _, state = pair.apply(params, state, None, inputs_of(shape, step, dtype), True)
    return params, state


def affine(params):
    inner = params.get("batch_norm", {})
    return {name: np.float64(inner[name]) for name in inner}


def describe(tree):
    return jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), tree)


# two sums over the rows, and a division by the root of the second
NORMALIZED = 2 * FEW_ROUNDINGS
# Haiku takes the mean of squares less the squared mean
AS_HAIKUS = MANY_ROUNDINGS


@pytest.mark.parametrize("method", ["__init__", "__call__"])
def test_batchnorm__takes_the_arguments_of_haikus(method):
    ours, theirs = (
        inspect.signature(getattr(norm, method)).parameters for norm in (hs.BatchNorm, hk.BatchNorm)
    )
    *own, last = ours.values()
    own += [] if last.name == "mask" else [last]
    described = [(p.name, p.kind, p.default) for p in own]
    assert described == [(p.name, p.kind, p.default) for p in theirs.values()]


@each_layout
def test_batchnorm__gives_what_haiku_and_numpy_give(arguments, shape, axes):
    ours, theirs = (pair_of(norm, **arguments) for norm in (hs.BatchNorm, hk.BatchNorm))
    (params, state), (their_params, their_state) = (
        trained(ours, shape, 4),
        trained(theirs, shape, 4),
    )
    assert describe((params, state)) == describe((their_params, their_state))
    assert_close(state, their_state, AS_HAIKUS)
    batches = [oracles.batch_norm(inputs_of(shape, step), axes) for step in range(4)]
    for name, values in ((MEAN, [b[1] for b in batches]), (VAR, [b[2] for b in batches])):
        assert_close(state[name]["average"], oracles.exponential_average(values, 0.9), NORMALIZED)
        assert state[name]["counter"] == 4

    x, eps = inputs_of(shape, 9), arguments.get("eps", 1e-5)
    kept = {"mean": state[MEAN]["average"], "var": state[VAR]["average"]}
    for is_training, statistics in ((True, {}), (False, kept)):
        output, after = ours.apply(params, state, None, x, is_training)
        their_output, _ = theirs.apply(params, state, None, x, is_training)
        assert_close(output, their_output, AS_HAIKUS)
        expected, _, _ = oracles.batch_norm(x, axes, eps, **affine(params), **statistics)
        assert_close(output, expected, NORMALIZED)
    jax.tree.map(np.testing.assert_array_equal, after, state)  # evaluation leaves it


@pytest.mark.parametrize(("maker", "user"), [(hk, hs), (hs, hk)], ids=["loads", "is loaded"])
def test_batchnorm__a_checkpoint_moves_between_haiku_and_here(maker, user):
    params, state = trained(pair_of(maker.BatchNorm), (16, 3), steps=5)
    x = inputs_of((16, 3), 9)
    expected, _ = pair_of(maker.BatchNorm).apply(params, state, None, x, False)
    output, _ = pair_of(user.BatchNorm).apply(params, state, None, x, False)
    assert_close(output, expected)


def test_batchnorm__local_stats_normalize_by_the_batch_and_leave_the_state():
    pair, theirs = pair_of(hs.BatchNorm), pair_of(hk.BatchNorm)
    params, state = trained(pair, (16, 3))
    x = inputs_of((16, 3), 9)
    output, after = pair.apply(params, state, None, x, False, True)
    jax.tree.map(np.testing.assert_array_equal, after, state)
    expected, _, _ = oracles.batch_norm(x, (0,), **affine(params))
    assert_close(output, expected, NORMALIZED)
    their_output, their_state = theirs.apply(params, state, None, x, False, True)
    assert_close(output, their_output, AS_HAIKUS)
    assert_same_bits(after, their_state)


@pytest.mark.parametrize("kind", [int, np.bool_, jnp.bool_])
@pytest.mark.parametrize("flag", [True, False])
def test_batchnorm__a_flag_that_is_no_bool_of_python_means_the_same(kind, flag):
    pair, x = pair_of(hs.BatchNorm), inputs_of((16, 3), 9)
    params, state = trained(pair, (16, 3))
    expected, kept = pair.apply(params, state, None, x, flag)
    found, after = pair.apply(params, state, None, x, kind(flag))
    jax.tree.map(np.testing.assert_array_equal, (found, after), (expected, kept))
    assert after[MEAN]["counter"] == 3 + flag


@pytest.mark.parametrize(("is_training", "shape"), [(True, ()), (False, (3,)), (True, (16, 3))])
def test_batchnorm__scale_and_offset_can_be_given(is_training, shape):
    bare = {"create_scale": False, "create_offset": False}
    params, state = trained(pair_of(hs.BatchNorm, **bare), (16, 3))
    x, scale, offset = (inputs_of(s, step) for step, s in enumerate([(16, 3), shape, shape]))
    output, _ = pair_of(hs.BatchNorm, **bare).apply(
        params, state, None, x, is_training, False, scale, offset
    )
    theirs, _ = pair_of(hk.BatchNorm, **bare).apply(
        params, state, None, x, is_training, False, scale, offset
    )
    assert_close(output, theirs, AS_HAIKUS)
    assert output.shape == (16, 3)


def test_batchnorm__a_negative_axis_counts_from_the_end():
    shape = (6, 5, 3)
    params, state = trained(pair_of(hs.BatchNorm, axis=(0, 1)), shape)
    x = inputs_of(shape, 9)
    for is_training in (True, False):
        output, after = pair_of(hs.BatchNorm, axis=(-3, -2)).apply(
            params, state, None, x, is_training
        )
        expected = pair_of(hs.BatchNorm, axis=(0, 1)).apply(params, state, None, x, is_training)
        jax.tree.map(np.testing.assert_array_equal, (output, after), expected)
    assert describe(trained(pair_of(hs.BatchNorm, axis=(-3, -2)), shape)) == describe(
        trained(pair_of(hk.BatchNorm, axis=(0, 1)), shape)
    )


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_batchnorm__half_precision_keeps_its_dtype_and_computes_in_float32(dtype):
    params, state = trained(pair_of(hs.BatchNorm), (64, 3), dtype=dtype)
    x = inputs_of((64, 3), 3, dtype)
    output, after = pair_of(hs.BatchNorm).apply(params, state, None, x, True)
    quiet, _ = pair_of(hs.BatchNorm).apply(params, state, None, x, False)
    their_params, their_state = trained(pair_of(hk.BatchNorm), (64, 3), 1, dtype)
    assert describe(params) == describe(their_params)
    wide = jax.tree.map(lambda s: s.astype(jnp.float32) if s.ndim else s, their_state)
    assert describe(after) == describe(wide)
    assert output.dtype == quiet.dtype == dtype
    x = np.asarray(x, np.float64)
    expected, _, _ = oracles.batch_norm(x, (0,), **affine(params))
    assert_close(output, expected, float(jnp.finfo(dtype).eps))


def test_batchnorm__a_half_precision_checkpoint_moves_between_haiku_and_here(standard_promotion):
    half, x = jnp.bfloat16, inputs_of((64, 3), 9, jnp.bfloat16)
    made = {norm: trained(pair_of(norm.BatchNorm), (64, 3), dtype=half) for norm in (hs, hk)}
    for maker, user in ((hk, hs), (hs, hk)):
        params, state = made[maker]
        outputs = {}
        for norm in (maker, user):
            apply = hs.pure_pair(
                lambda x, is_training, norm=norm: norm.BatchNorm(
                    True, True, 0.9, name="batch_norm"
                )(x, is_training)
            ).apply  # which checks the state
            outputs[norm], _ = apply(params, state, None, x, is_training=False)
            _, after = apply(params, state, None, x, is_training=True)
            assert describe(after) == describe(state)
        # Haiku's rounds each of its four operations to bfloat16
        assert_close(outputs[hs], outputs[hk], 4 * float(jnp.finfo(half).eps))


def test_batchnorm__a_policy_does_not_round_the_mean_before_the_variance():
    wide, half = jnp.float32, jnp.bfloat16
    policy = jmp.Policy(param_dtype=wide, compute_dtype=wide, output_dtype=half)
    inputs = np.random.default_rng(0).normal(100.3, 1, (256, 3)).astype(np.float32)
    pair = hs.pure_pair(hs.BatchNorm, True, True, 0.9)
    hk.mixed_precision.set_policy(hs.BatchNorm, policy)
    try:
        params, state = pair.init(None, inputs, is_training=True)
        outputs, state = pair.apply(params, state, None, inputs, is_training=True)
    finally:
        hk.mixed_precision.clear_policy(hs.BatchNorm)
    assert outputs.dtype == half
    expected = np.var(inputs.astype(np.float64), axis=0, keepdims=True)
    variance = state["batch_norm/~/var_ema"]["average"]
    np.testing.assert_allclose(variance, expected, rtol=1e-3)  # bfloat16 has a third of a digit


@pytest.mark.parametrize(("mean", "rows"), [(0.0, 256), (1e3, 256), (1e4, 32), (1e4, 4096)])
def test_batchnorm__has_unit_spread_at_any_mean_and_haikus_has_not(mean, rows):
    x = jnp.asarray(np.random.default_rng(rows).normal(mean, 1, (rows, 4)), jnp.float32)

    def spread(norm):
        pair = pair_of(norm, create_scale=False, create_offset=False)
        output, _ = pair.apply(*pair.init(None, x, True), None, x, True)
        return np.asarray(output, np.float64).std(0)

    unit = 1e-3  # float32 rounds inputs of 1e4 by up to 5e-4
    np.testing.assert_allclose(spread(hs.BatchNorm), 1, atol=unit)
    theirs = spread(hk.BatchNorm)
    if mean == 0:
        np.testing.assert_allclose(theirs, 1, atol=unit)
    elif mean == 1e3:
        assert np.abs(theirs - 1).max() > unit
    else:
        assert np.isnan(theirs).any()


@pytest.mark.parametrize(
    ("mean", "rows", "spread"), [(1e5, 24140, 0.0), (1e5, 24140, 1.0), (0.1, 257, 1.0)]
)
def test_batchnorm__is_off_by_what_the_rounding_of_the_mean_explains(mean, rows, spread):
    x = np.random.default_rng(0).normal(mean, spread, (rows, 1)).astype(np.float32)
    pair = pair_of(hs.BatchNorm, create_scale=False, create_offset=False)
    state = jax.eval_shape(lambda: pair.init(None, jnp.ones((2, 1)), True)[1])
    state = jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), state)
    output, _ = pair.apply({}, state, None, jnp.asarray(x), True)
    expected, _, var = oracles.batch_norm(x, (0,))
    # a few roundings of the mean, in units of the spread
    limit = 4e-7 * mean / np.sqrt(var + 1e-5) + FEW_ROUNDINGS * np.abs(expected)
    assert (np.abs(output - expected) <= limit).all()
    assert np.abs(output).max() < 1 or spread


GROUPS = {
    "all": (None, [range(8)]),
    "pairs": ([[0, 4], [1, 5], [2, 6], [3, 7]], [(0, 4), (1, 5), (2, 6), (3, 7)]),
}


@pytest.mark.parametrize(("groups", "members"), GROUPS.values(), ids=GROUPS.keys())
def test_batchnorm__statistics_cover_the_devices_of_a_group(groups, members):
    params, state = pair_of(hs.BatchNorm).init(None, inputs_of((4, 3)), True)
    # each device sees rows around another mean: the spread between them counts too
    x = inputs_of((8, 4, 3)) + jnp.arange(8.0).reshape(8, 1, 1)

    def on_devices(norm):
        pair = pair_of(norm, cross_replica_axis="devices", cross_replica_axis_index_groups=groups)
        return jax.pmap(lambda x: pair.apply(params, state, None, x, True), axis_name="devices")(x)

    (output, after), theirs = on_devices(hs.BatchNorm), on_devices(hk.BatchNorm)
    assert describe((output, after)) == describe(theirs)
    assert_close((output, after), theirs, 4 * AS_HAIKUS)  # the rows' mean is up to 8
    for group in map(list, members):
        expected, mean, var = oracles.batch_norm(x[np.array(group)], (0, 1))
        assert_close(output[np.array(group)], expected, 2 * NORMALIZED)
        for device in group:
            for name, value in ((MEAN, mean), (VAR, var)):
                average = after[name]["average"][device]
                np.testing.assert_allclose(average, value[0], rtol=FEW_ROUNDINGS)


def test_batchnorm__init_does_without_the_axis_and_apply_says_how_to_bind_it():
    pair = pair_of(hs.BatchNorm, cross_replica_axis="devices")
    x = inputs_of((4, 3))
    params, state = pair.init(None, x, True)
    assert describe((params, state)) == describe(pair_of(hk.BatchNorm).init(None, x, True))
    pair.apply(params, state, None, x, False)
    with pytest.raises(UnboundAxisError) as caught:
        pair.apply(params, state, None, x, True)
    assert str(caught.value) == (
        "the axis 'devices' is used, but it is not bound here.\n"
        "  why:   only pmap, vmap and shard_map, as well as pmap_update and shard_map_update, bind "
        "an axis, under the name that is passed to them; everywhere else, do not use an axis, for "
        "example by setting cross_replica_axis=None\n"
        "  more:  python -m haiku_state read update/pmapped_update"
    )
    with pytest.raises(UnboundAxisError, match=r"^the axis 'devices'"):
        jax.jit(lambda x: pair.apply(params, state, None, x, True))(x)


# arguments, at the call; the value as it is shown, and the setting against it
CONTRADICTIONS = {
    "scale_init": (
        {"create_scale": False, "scale_init": jnp.zeros},
        (),
        ("zeros", "create_scale=False"),
    ),
    "offset_init": (
        {"create_offset": False, "offset_init": jnp.zeros},
        (),
        ("zeros", "create_offset=False"),
    ),
    "cross_replica_axis_index_groups": (
        {"cross_replica_axis_index_groups": [[0, 1]]},
        (),
        ("[[0, 1]]", "cross_replica_axis=None"),
    ),
    "scale": (
        {},
        (False, np.ones(3, np.float32)),
        ("float32[3]", "create_scale=True"),
    ),
    "offset": ({}, (False, None, 1.0), ("1.0", "create_offset=True")),
}


@pytest.mark.parametrize("given", CONTRADICTIONS)
def test_batchnorm__refuses_arguments_that_contradict_each_other(given):
    arguments, at_call, (shown, setting) = CONTRADICTIONS[given]
    with pytest.raises(ArgumentError) as caught:
        pair_of(hs.BatchNorm, **arguments).init(None, inputs_of((4, 3)), True, *at_call)
    assert caught.value.what == (f"{given} is {shown}, but it must be None ({setting}).")
    with pytest.raises(ValueError, match=r"Cannot|must"):
        pair_of(hk.BatchNorm, **arguments).init(None, inputs_of((4, 3)), True, *at_call)


def test_batchnorm__an_unknown_data_format_is_haikus_error():
    with pytest.raises(ValueError, match="channels_middle"):
        pair_of(hs.BatchNorm, data_format="channels_middle").init(None, inputs_of((4, 3)), True)


FLOATING = "an array of a floating dtype"
ONE_EXAMPLE = "an array of rank 2 or more"


def no_such_axis(axis):
    return (
        "axis (inputs: float32[4,3])",
        axis,
        "a tuple of one or more axes of the inputs",
    )


ROWS = np.ones((4, 3), np.float32)
# arguments of the module, the inputs, is_training; what the error says
REFUSED = {
    "int32": ({}, ROWS.astype(np.int32), True, ("inputs", "int32[4,3]", FLOATING)),
    "bool": ({}, ROWS > 0, True, ("inputs", "bool[4,3]", FLOATING)),
    "complex": ({}, ROWS.astype(np.complex64), True, ("inputs", "complex64[4,3]", FLOATING)),
    "scalar": ({}, ROWS[0, 0], True, ("inputs", "float32[]", ONE_EXAMPLE)),
    "one example": ({}, ROWS[0], True, ("inputs", "float32[3]", ONE_EXAMPLE)),
    "axis beyond": ({"axis": (2,)}, ROWS, True, no_such_axis((2,))),
    "axis before": ({"axis": (0, -3)}, ROWS, True, no_such_axis((0, -3))),
    "no axis": ({"axis": ()}, ROWS, True, no_such_axis(())),
    "a number as axis": ({"axis": -2}, ROWS, True, no_such_axis(-2)),
    "eps": ({"eps": -1e-5}, ROWS, True, ("eps", -1e-5, "a number of at least 0")),
    "eps NaN": (
        {"eps": float("nan")},
        ROWS,
        True,
        ("eps", "nan", "a number of at least 0"),
    ),
    "string": ({}, ROWS, "False", ("is_training", "'False'", "a bool")),
    "None": ({}, ROWS, None, ("is_training", "None", "a bool")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_batchnorm__refuses_what_it_cannot_normalize(name):
    arguments, x, is_training, (argument, value, expected) = REFUSED[name]
    with pytest.raises(ArgumentError) as caught:
        pair_of(hs.BatchNorm, **arguments).init(None, x, is_training)
    assert caught.value.what == (f"{argument} is {value}, but it must be {expected}.")


def test_batchnorm__an_axis_that_is_named_twice_counts_once():
    x = inputs_of((6, 5, 3))
    once, twice = (pair_of(hs.BatchNorm, axis=axis) for axis in [(0,), (0, -3)])
    jax.tree.map(np.testing.assert_array_equal, once.init(None, x, True), twice.init(None, x, True))


def test_batchnorm__a_device_axis_is_enough_for_one_example():
    pair = pair_of(hs.BatchNorm, cross_replica_axis="rows")
    x = inputs_of((16, 3))
    params, state = pair.init(None, x[0], True)
    apply = jax.vmap(
        lambda row: pair.apply(params, state, None, row, True),
        axis_name="rows",
        out_axes=(0, None),  # the state is the same for all rows
    )
    output, _ = apply(x)
    expected, _, _ = oracles.batch_norm(x, (0,))
    assert_close(output, expected, NORMALIZED)


@pytest.mark.parametrize("channels", [1, 2, 5])  # one would silently broadcast
@pytest.mark.parametrize("is_training", [True, False])
def test_batchnorm__refuses_a_state_of_another_number_of_channels(is_training, channels):
    pair = pair_of(hs.BatchNorm, create_scale=False, create_offset=False)
    _, state = pair.init(None, inputs_of((4, channels)), True)
    with pytest.raises(ArgumentError) as caught:
        pair.apply({}, state, None, inputs_of((4, 3)), is_training)
    name = "hidden" if is_training else "average"
    assert str(caught.value) == (
        f"state['batch_norm/~/mean_ema']['{name}'] is (1, {channels}), but it must be (1, 3).\n"
        "  why:   init determines all shapes from the features of its inputs and the arguments of "
        "the module: both must be the same in apply\n"
        "  more:  python -m haiku_state read haiku/pure_pair"
    )


def test_batchnorm__all_arguments_of_a_call_have_names():
    norm = hk.transform_with_state(
        lambda **named: hs.BatchNorm(False, False, 0.9)(test_local_stats=True, **named)
    )
    x = jnp.arange(6.0).reshape(3, 2)
    params, state = norm.init(None, inputs=x, is_training=True)
    given = {"inputs": x, "is_training": False, "scale": jnp.float32(2), "offset": jnp.float32(3)}
    out, _ = norm.apply(params, state, None, **given)
    plain, _ = norm.apply(params, state, None, inputs=x, is_training=False)
    assert_close(out, 2 * np.float64(plain) + 3)
