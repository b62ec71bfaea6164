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


def per_device(x, is_training):
    return hs.BatchNorm(True, True, 0.9)(x, is_training)


def shared(x, is_training):
    return hs.BatchNorm(True, True, 0.9, cross_replica_axis="devices")(x, is_training)


def regression(x, is_training):
    return hs.LinearRegression(True)(x, is_training)


def classifier(x, is_training):
    return hs.Classifier([8, 4], 10)(x, is_training)


FLAGGED = {
    per_device: {"is_per_device": True},
    shared: {"axis_name": "devices"},
    regression: {"is_per_device": True},
    classifier: {"is_per_device": True},
}


@functools.cache
def laws(of):
    if of in FLAGGED:
        x = jnp.asarray(np.random.default_rng(0).normal(1, 2, (8, 6)), jnp.float32)
        return {str(law): law for law in laws_of(of, x, **FLAGGED[of])}
    return {str(law): law for law in laws_of(of.call, *of.inputs())}


@pytest.mark.parametrize(
    "of", [*CASES, *FLAGGED], ids=lambda of: getattr(of, "name", "") or of.__name__
)
@pytest.mark.parametrize("law", LAWS)
def test_modules__keep_the_laws(of, law):
    laws(of)[law]()


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
