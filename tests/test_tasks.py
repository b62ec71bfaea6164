"""The tasks of *On your own*: each is solved on its page, and ends as its statement says."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from haiku_site.content.course import course, tasks
from lesson_cells import DOCS

TESTS = Path(__file__).parent
PAGE = """\
# A lesson

```{code-cell} ipython3
def double(x):
    return 2 * x
```

```{code-cell} ipython3
:tags: [check]

assert double(3) == 6
```

## On your own

1. Triple instead. Of 3 it makes 9.
2. Negate. Of 3 it makes −3,
   which is less than 0.
3. This one is not solved.

## In practice
"""
SOLUTIONS = """\
# %% 1
rerun("def double", {"2 * x": "3 * x"})
says(f"it makes {double(3)}")
# %% 2
assert double(3) == 6  # as the page has it
says(f"Of 3 it makes {-double(3)}")
"""


def run(*arguments):
    """Run the tasks in a process of its own, without the devices that conftest.py forces."""
    env = {key: value for key, value in os.environ.items() if key != "XLA_FLAGS"}
    command = [sys.executable, TESTS / "lessons/run.py", "--tasks", *map(str, arguments)]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=900)


@pytest.fixture(scope="module")
def lessons(tmp_path_factory):
    out = tmp_path_factory.mktemp("tasks") / "tasks.json"
    run("--out", out)
    return json.loads(out.read_text(encoding="utf-8"))["lessons"]


@pytest.mark.parametrize("name", course(DOCS))
def test_the_tasks_of_a_lesson_end_as_it_says(lessons, name):
    assert lessons[name]["failure"] == ""
    assert len(lessons[name]["tasks"]) == len(tasks(DOCS / f"{name}.md"))


def test_a_task_that_ends_otherwise_is_seen(tmp_path):
    for file, text in (("docs/pure/small.md", PAGE), ("solutions/pure/small.py", SOLUTIONS)):
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    out = tmp_path / "tasks.json"
    options = ["--docs", tmp_path / "docs", "--solutions", tmp_path / "solutions", "--out", out]
    done = run(*options)
    assert done.returncode == 1, done.stderr
    failures = json.loads(out.read_text(encoding="utf-8"))["lessons"]["pure/small"]["tasks"]
    assert failures["1"] is None
    assert failures["2"].startswith("AssertionError: Of 3 it makes -6 is not in: Negate.")
    assert failures["3"] == "NotImplementedError: no solution"
