"""The tasks of *On your own*: each is solved on its page, and ends as its statement says."""

import json
from pathlib import Path

import pytest
from haiku_site.course import course, tasks
from support.lesson_cells import DOCS

TESTS = Path(__file__).parents[1]
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


def run(user, out, *arguments):
    """Run the tasks as a learner, and return what ended how."""
    done = user.python(TESTS / "tools", "lessons.run", "--tasks", "--out", out, *arguments)
    return done, json.loads(out.read_text(encoding="utf-8"))["lessons"]


@pytest.mark.slow
def test_tasks__those_of_all_lessons_end_as_they_say(user, tmp_path):
    done, lessons = run(user, tmp_path / "tasks.json")
    assert {name: lesson["failure"] for name, lesson in lessons.items() if lesson["failure"]} == {}
    counts = {name: len(lesson["tasks"]) for name, lesson in lessons.items()}
    assert counts == {name: len(tasks(DOCS / f"{name}.md")) for name in course(DOCS)}
    assert done.returncode == 0, done.stderr


def test_tasks__one_that_ends_otherwise_is_seen(user, tmp_path):
    for file, text in (("docs/pure/small.md", PAGE), ("solutions/pure/small.py", SOLUTIONS)):
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    options = ["--docs", tmp_path / "docs", "--solutions", tmp_path / "solutions"]
    done, lessons = run(user, tmp_path / "tasks.json", *options)
    assert done.returncode == 1, done.stderr
    failures = lessons["pure/small"]["tasks"]
    assert failures["1"] is None
    assert failures["2"].startswith("AssertionError: Of 3 it makes -6 is not in: Negate.")
    assert failures["3"] == "NotImplementedError: no solution"
