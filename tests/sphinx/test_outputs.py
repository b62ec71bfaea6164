"""Which outputs keep their columns."""

import pytest
from haiku_site.content.outputs import has_columns

TABLE = """\
          losses    grads
numpy      0e+00    0e+00
haiku      2e-07    1e-07"""
NAMES = """\
rows       float32[8,4]
x.T        float32[4]
x          float32[8]"""
ERROR = """\
TracedFlagError: `is_training` is traced.
  wrong: jax.jit(apply)(…)
  right: jax.jit(apply, static_argnums=4)(…)
  why:   jit replaces each argument by a tracer"""


@pytest.mark.parametrize("text", [TABLE, NAMES])
def test_a_table_has_columns(text):
    assert has_columns(text)


@pytest.mark.parametrize(
    "text", ["", "one line", ERROR, TABLE.replace("\n", "\n" + 81 * "-" + "\n"), NAMES[:-22]]
)
def test_other_text_has_none(text):
    assert not has_columns(text)
