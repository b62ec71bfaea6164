"""The bug gallery on the JAX that is installed: each bug is there, and each fix right."""

import json
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = "reference/bug_gallery"


def test_every_cell_runs_and_holds_what_it_asserts(tmp_path):
    # in a process of its own: the strict settings of the tests would find the bugs
    out = tmp_path / "gallery.json"
    command = [sys.executable, TESTS / "lessons/run.py", PAGE, "--out", out]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    [lesson] = json.loads(out.read_text(encoding="utf-8"))["lessons"].values()
    assert lesson["stderr"] == []
