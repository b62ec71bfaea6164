import functools
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


@functools.cache
def eager(case):
    """Three steps, operation by operation: the state before, the inputs, output and state after."""
    pair, (params, state) = case.pair(), case.init()
    steps = []
    for step in range(3):
        inputs = case.inputs(step)
        result = pair.apply(params, state, None, *inputs)
        steps.append((state, inputs, result))
        _, state = result
    return steps


@each_case
def test_jit_gives_what_eager_gives_in_one_trace(case):
    pair, (params, state), traces = case.pair(), case.init(), []

    @jax.jit
    def apply(params, state, inputs):
        traces.append(1)
        return pair.apply(params, state, None, *inputs)

    for _, inputs, expected in eager(case):
        result = apply(params, state, inputs)
        assert_close(result, expected, case)
        _, state = result
    assert len(traces) == 1


@each_case
def test_vmap_over_states_gives_what_the_loop_gives(case):
    pair, (params, _) = case.pair(), case.init()
    states, inputs, results = zip(*eager(case), strict=True)
    mapped = jax.vmap(lambda s, x: pair.apply(params, s, None, *x))(stack(states), stack(inputs))
    assert_close(mapped, stack(results), case)


@each_case
def test_output_and_state_keep_what_was_promised(case):
    for before, _, (output, after) in eager(case):
        assert describe(after) == describe(before)
        assert (output.shape, output.dtype) == case.output


@each_case
def test_init_and_apply_are_pure(case):
    pair, (params, _), (state, inputs, expected) = case.pair(), case.init(), eager(case)[1]
    before = jax.tree.map(np.array, (params, state, inputs))
    result = pair.apply(params, state, None, *inputs)
    jax.tree.map(np.testing.assert_array_equal, result, expected)
    jax.tree.map(np.testing.assert_array_equal, (params, state, inputs), before)
    with jax.checking_leaks():
        jax.eval_shape(pair.init, jax.random.key(0), *inputs)
        jax.eval_shape(pair.apply, params, state, None, *inputs)


def test_names_and_shapes_are_the_golden_ones():
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert signatures() == golden, "if this is meant: python tests/regenerate_golden.py"
