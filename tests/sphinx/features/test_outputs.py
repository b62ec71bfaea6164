"""What cells print: in one piece, and which of it keeps its columns."""

import pytest
from docutils import nodes
from docutils.utils import new_document
from haiku_site.features.outputs import JoinStreams, KeepColumns, has_columns

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


def printed(text, kind):
    return nodes.literal_block(text, text, classes=["output", kind])


def test_outputs__pieces_are_joined_where_the_first_stands():
    document = new_document("page")
    output = nodes.container(nb_element="cell_code_output")
    output += [printed("a, ", "stream"), printed("late\n", "stderr"), nodes.image()]
    output += [printed("b\n", "stream"), printed("r\n\n", "stderr")]
    document += output
    JoinStreams(document).apply()
    kinds = [getattr(node, "rawsource", node.tagname) for node in output]
    assert kinds == ["a, b\n", "late\nr\n", ""]
    assert output[0].astext() == output[0].rawsource  # or it is not highlighted
    # columns are looked for in the whole text
    assert JoinStreams.default_priority < KeepColumns.default_priority


@pytest.mark.parametrize("text", [TABLE, NAMES])
def test_outputs__a_table_has_columns(text):
    assert has_columns(text)


@pytest.mark.parametrize(
    "text", ["", "one line", ERROR, TABLE.replace("\n", "\n" + 81 * "-" + "\n"), NAMES[:-22]]
)
def test_outputs__other_text_has_no_columns(text):
    assert not has_columns(text)
