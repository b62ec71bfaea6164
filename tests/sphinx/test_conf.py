"""The settings that would hide a defect if they were too generous."""

import ast
import re
from pathlib import Path

import pytest

CONF = (Path(__file__).parents[2] / "conf/sphinx/conf.py").read_text(encoding="utf-8")


def setting(name):
    (value,) = (
        node.value
        for node in ast.parse(CONF).body
        if isinstance(node, ast.Assign) and node.targets[0].id == name
    )
    return ast.literal_eval(value)


@pytest.mark.parametrize(
    ("kind", "target", "ignored"),
    [
        ("py:class", "jax.Array", True),
        ("py:class", "collections.abc.Mapping", True),
        ("py:func", "pmap_updat", False),
        ("py:class", "BatchNrm", False),
        ("py:class", "haiku_state.BatchNrm", False),
        ("py:func", "jax.jit", False),
    ],
)
def test_conf__only_types_of_other_libraries_may_lead_nowhere(kind, target, ignored):
    assert setting("nitpicky") is True
    # as Sphinx matches them: kind and target each as a whole
    matches = [
        re.fullmatch(k, kind) and re.fullmatch(t, target)
        for k, t in setting("nitpick_ignore_regex")
    ]
    assert any(matches) is ignored
