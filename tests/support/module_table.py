"""Every module of the package, once: the cross-cutting tests run over this table."""

import functools
import json
from collections.abc import Callable
from typing import NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
from support import ROOT

import haiku_state as hs

GOLDEN = ROOT / "tests/modules/golden.json"


class Case(NamedTuple):
    """One module with one set of arguments, under its public name."""

    name: str
    call: Callable
    shapes: tuple[tuple[int, ...], ...] = ()
    dtype: type = jnp.float32
    output: tuple[tuple[int, ...], type] = ((), jnp.float32)

    def pair(self):
        """The pure pair."""
        return hk.transform_with_state(self.call)

    def inputs(self, step=0):
        """The inputs of one step: of mean 1, spread 2, the same at every call."""
        rng = np.random.default_rng(step)
        return tuple(jnp.asarray(rng.normal(1, 2, shape), self.dtype) for shape in self.shapes)

    def init(self):
        """Params and state, computed once: ``init`` runs operation by operation."""
        return jax.tree.map(lambda leaf: leaf, _initial(self))


@functools.cache
def _initial(case):
    return case.pair().init(jax.random.key(0), *case.inputs())


def _case(name, call, *shapes, dtype=jnp.float32, output=None, output_dtype=None):
    shape = shapes[0] if output is None else output
    return Case(name, call, shapes, dtype, (shape, output_dtype or dtype))


CASES = [
    _case("Counter", lambda: hs.Counter()(), output=(), output_dtype=jnp.int32),
    _case("MovingAverage", lambda x: hs.MovingAverage()(x), (3,)),
    _case("MovingAverage_scalar", lambda x: hs.MovingAverage()(x), ()),
    _case("MovingAverage_bfloat16", lambda x: hs.MovingAverage()(x), (3,), dtype=jnp.bfloat16),
    _case("ExponentialMovingAverage", lambda x: hs.ExponentialMovingAverage(0.9)(x), (3,)),
    _case(
        "ExponentialMovingAverage_bfloat16",
        lambda x: hs.ExponentialMovingAverage(0.9)(x),
        (3,),
        dtype=jnp.bfloat16,
    ),
    _case("BatchNorm", lambda x: hs.BatchNorm(True, True, 0.9)(x, True), (8, 3)),
    _case("BatchNorm_eval", lambda x: _trained_then_eval(x), (8, 3)),
    _case("BatchNorm_bare", lambda x: hs.BatchNorm(False, False, 0.9)(x, True), (8, 3)),
    _case(
        "BatchNorm_nchw",
        lambda x: hs.BatchNorm(True, True, 0.9, data_format="NCHW")(x, True),
        (4, 3, 2, 2),
    ),
    _case(
        "BatchNorm_bfloat16",
        lambda x: hs.BatchNorm(True, True, 0.9)(x, True),
        (8, 3),
        dtype=jnp.bfloat16,
    ),
    _case("LinearRegression", lambda x: hs.LinearRegression()(x, True), (8, 3), output=(8,)),
    _case(
        "LinearRegression_normalized",
        lambda x: hs.LinearRegression(True)(x, True),
        (8, 3),
        output=(8,),
    ),
    _case("Classifier", lambda x: hs.Classifier([8, 4], 10)(x, True), (8, 6), output=(8, 10)),
]


def _trained_then_eval(x):
    norm = hs.BatchNorm(True, True, 0.9)
    norm(x, is_training=True)
    return norm(x, is_training=False)


def signatures() -> dict:
    """Names, shapes and dtypes of the params and the state of every case."""

    def describe(leaf):
        return f"{leaf.dtype}[{','.join(map(str, leaf.shape))}]"

    return {
        case.name: {
            kind: jax.tree.map(describe, hk.data_structures.to_mutable_dict(tree))
            for kind, tree in zip(("params", "state"), case.init(), strict=True)
        }
        for case in CASES
    }


def as_text(golden: dict) -> str:
    """The text of the golden file."""
    return json.dumps(golden, indent=2, sort_keys=True) + "\n"
