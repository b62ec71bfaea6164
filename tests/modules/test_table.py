import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from module_table import CASES, GOLDEN, signatures

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def tolerance(case):
    """One rounding more or less per operation: fusing may keep a product exact."""
    return 2e-2 if case.dtype == jnp.bfloat16 else 1e-5


def assert_close(actual, expected, case):
    assert jax.tree.structure(actual) == jax.tree.structure(expected)
    for one, other in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        one, other = np.asarray(one, np.float64), np.asarray(other, np.float64)
        np.testing.assert_allclose(one, other, rtol=tolerance(case), atol=tolerance(case))


def stack(trees):
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def describe(tree):
    return jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), tree)


@each_case
def test_jit_gives_what_eager_gives(case):
    pair, (params, state) = case.pair(), case.init()
    eager = pair.apply(params, state, None, *case.inputs(1))
    assert_close(jax.jit(pair.apply)(params, state, None, *case.inputs(1)), eager, case)


@each_case
def test_vmap_over_states_gives_what_the_loop_gives(case):
    pair, (params, state) = case.pair(), case.init()
    states = []
    for step in range(3):
        states.append(state)
        _, state = pair.apply(params, state, None, *case.inputs(step))
    inputs = [case.inputs(step) for step in (3, 4, 5)]

    loop = [pair.apply(params, s, None, *x) for s, x in zip(states, inputs, strict=True)]
    mapped = jax.vmap(lambda s, x: pair.apply(params, s, None, *x))(stack(states), stack(inputs))
    assert_close(mapped, stack(loop), case)


@each_case
def test_state_keeps_structure_shape_and_dtype(case):
    pair, (params, state) = case.pair(), case.init()
    expected = describe(state)
    for step in range(3):
        _, state = pair.apply(params, state, None, *case.inputs(step))
        assert describe(state) == expected


@each_case
def test_the_state_of_init_and_of_apply_share_one_trace(case):
    pair, (params, state) = case.pair(), case.init()
    traces = []

    @jax.jit
    def apply(params, state, inputs):
        traces.append(1)
        return pair.apply(params, state, None, *inputs)

    for step in range(3):
        _, state = apply(params, state, case.inputs(step))
    assert len(traces) == 1


@each_case
def test_output_has_the_promised_shape_and_dtype(case):
    pair, (params, state) = case.pair(), case.init()
    output, _ = pair.apply(params, state, None, *case.inputs(1))
    assert (output.shape, output.dtype) == case.output


@each_case
def test_every_device_gives_the_same(case):
    pair, (params, state) = case.pair(), case.init()
    alone = pair.apply(params, state, None, *case.inputs(1))
    apply = jax.pmap(
        lambda _, inputs: pair.apply(params, state, None, *inputs),
        in_axes=(0, None),
        devices=jax.devices()[:4],
    )
    mapped = apply(jnp.arange(4), case.inputs(1))
    assert_close(mapped, stack([alone] * 4), case)


@each_case
def test_init_and_apply_are_pure(case):
    pair = case.pair()
    with jax.checking_leaks():
        init = jax.jit(pair.init)
        first, second = (init(jax.random.key(0), *case.inputs()) for _ in range(2))
        jax.tree.map(np.testing.assert_array_equal, first, second)

        params, state = first
        before = jax.tree.map(np.array, (params, state, case.inputs(1)))
        apply = jax.jit(pair.apply)
        first, second = (apply(params, state, None, *case.inputs(1)) for _ in range(2))
    jax.tree.map(np.testing.assert_array_equal, first, second)
    jax.tree.map(np.testing.assert_array_equal, (params, state, case.inputs(1)), before)


def test_names_and_shapes_are_the_golden_ones():
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert signatures() == golden, "if this is meant: python tests/regenerate_golden.py"
