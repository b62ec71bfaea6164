"""The bug gallery on the JAX that is installed: each bug is there, and each fix right."""

import json
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = "reference/bug_gallery"


@pytest.mark.slow
def test_bug_gallery__every_cell_runs_and_holds_what_it_asserts(user, tmp_path):
    # in a process of its own: the strict settings of the tests would find the bugs
    out = tmp_path / "gallery.json"
    done = user.python(TESTS / "tools", "lessons.run", PAGE, "--out", out)
    assert done.returncode == 0, done.stderr
    [lesson] = json.loads(out.read_text(encoding="utf-8"))["lessons"].values()
    assert lesson["stderr"] == []
