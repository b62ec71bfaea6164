import functools
import json

import jax.numpy as jnp
import numpy as np
import pytest
from support.module_table import CASES, GOLDEN, signatures

import haiku_state as hs
from haiku_state.testing import laws_of

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
LAWS = [str(law) for law in laws_of(lambda: None)]


def norm(axis=None):
    return lambda x, is_training: hs.BatchNorm(True, True, 0.9, cross_replica_axis=axis)(
        x, is_training
    )


# what is told whether it trains, and what else its laws need to know
TOLD = {
    "BatchNorm is_per_device": (norm(), {"is_per_device": True}),
    "BatchNorm axis_name": (norm("devices"), {"axis_name": "devices"}),
    "LinearRegression is_per_device": (
        lambda x, is_training: hs.LinearRegression(True)(x, is_training),
        {"is_per_device": True},
    ),
    "Classifier is_per_device": (
        lambda x, is_training: hs.Classifier([8, 4], 10)(x, is_training),
        {"is_per_device": True},
    ),
}


@functools.cache
def laws(name):
    if name in TOLD:
        call, options = TOLD[name]
        x = jnp.asarray(np.random.default_rng(0).normal(1, 2, (8, 6)), jnp.float32)
        found = laws_of(call, x, **options)
    else:
        [case] = (case for case in CASES if case.name == name)
        found = laws_of(case.call, *case.inputs())
    return {str(law): law for law in found}


@pytest.mark.parametrize("name", [*(case.name for case in CASES), *TOLD])
@pytest.mark.parametrize("law", LAWS)
def test_modules__keep_the_laws(name, law):
    laws(name)[law]()


@each_case
def test_modules__output_has_the_promised_shape_and_dtype(case):
    (params, state), outputs = case.init(), []
    for step in range(3):
        output, state = case.pair().apply(params, state, None, *case.inputs(step))
        outputs.append((output.shape, output.dtype))
    assert outputs == [case.output] * 3


def test_modules__names_and_shapes_are_the_golden_ones():
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert signatures() == golden, "if this is meant: python tests/tools golden"
