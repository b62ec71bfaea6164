"""The lessons on several JAX: what a run of them holds, and what counts as a difference."""

import copy
import json
from importlib.metadata import version
from pathlib import Path

import nbformat
import pytest
from haiku_site.course import OF_THE_BUILD, course
from myst_nb.core.read import read_myst_markdown_notebook
from support.lesson_cells import DOCS, cells
from tools.lessons.compare import Exemption, differences, outcome, outcomes, stale
from tools.lessons.driver import lesson_names
from tools.lessons.executed import executed_lessons

TESTS = Path(__file__).parents[1]
CELL = "```{{code-cell}} ipython3\n{}\n```\n"
LESSONS = {
    "pure/good": [
        # too late if the process that all lessons share has asked for the devices
        'import os\nos.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=3"',
        'import jax, sys\nprint("devices", len(jax.devices()))\nprint("x", file=sys.stderr)\n1 + 1',
        'from IPython.display import display\ndisplay({"a": 1})\n"not shown";',
        "import matplotlib.pyplot as plt\nplt.plot([0, 1]);",
    ],
    "state/broken": ['print("before")', 'raise ValueError("first\\nthe second line")', "3"],
    "haiku/skipping": ['import jax\nprint("skipped: jax.new_thing needs JAX 9 or newer")'],
    "update/dying": ["import os\nos._exit(7)"],
}


def test_lessons_run__holds_what_each_cell_shows_and_where_a_lesson_has_failed(user, tmp_path):
    docs = tmp_path
    for name, codes in LESSONS.items():
        page = docs / f"{name}.md"
        page.parent.mkdir()
        page.write_text("\n".join(["# A lesson", *map(CELL.format, codes)]), encoding="utf-8")
    (docs / "pure/index.md").write_text("# No cells\n", encoding="utf-8")
    out = docs / "build/new/lessons.json"
    done = user.python(TESTS / "tools", "lessons.run", "--docs", docs, "--out", out)
    assert done.returncode == 1, done.stderr
    assert "ValueError: first" in done.stderr  # the traceback
    report = json.loads(out.read_text(encoding="utf-8"))
    lesson = report["lessons"]["pure/good"]
    assert lesson["cells"] == [
        [],
        ["devices 3", "2"],
        ["{'a': 1}"],
        ["<Figure size 480x270 with 1 Axes>"],
    ]
    assert lesson["stderr"] == ["x"]
    assert report["jax"] == version("jax")
    assert report["lessons"]["state/broken"]["cells"] == [["before"]]
    assert outcomes(report) == {
        "pure/good": "ok",
        "state/broken": "cell 1: ValueError: the second line",
        "haiku/skipping": "ok; skipped: jax.new_thing needs JAX 9 or newer",
        "update/dying": "the process ended with code 7",
    }


PUBLISHED = {
    "jax": "0.10.2",
    "lessons": {
        "a/b": {
            "failure": None,
            "cells": [["loss 0.1234 after 20 steps", "float32[3] 3e-07"], [], ["12 ms", "refs 1"]],
        },
        "a/c": {"failure": None, "cells": [["x"]]},
    },
}
CLOCK = Exemption("a/b", r"\bms\b", "a time", measured=True)
REFS = Exemption("a/b", r"^refs ", "refs need JAX 0.6", jax="<0.6")


def changed(cell=0, line=None, text=None, jax="0.4.30", lesson="a/b"):
    run = copy.deepcopy(PUBLISHED) | {"jax": jax}
    lines = run["lessons"][lesson]["cells"][cell]
    if line is not None:
        lines[line : line + 1] = [] if text is None else [text]
    return run


@pytest.mark.parametrize(
    ("line", "text", "is_equal"),
    [
        (0, "loss 0.1235 after 20 steps", True),  # one in the last digit
        (0, "loss 0.1237 after 20 steps", False),
        (0, "loss nan after 20 steps", False),
        (0, "cost 0.1234 after 20 steps", False),
        (0, "loss 0.1234 after 21 steps", False),
        (1, "float64[3] 3e-07", False),
        (1, "float32[3] 9e-08", True),  # both are roundings of float32
        (1, "float32[3] 3e-05", False),
        (1, None, False),
    ],
)
def test_differences__are_more_than_a_rounding(line, text, is_equal):
    found = differences(PUBLISHED, changed(line=line, text=text), ())
    assert [(one.lesson, one.cell) for one in found] == ([] if is_equal else [("a/b", 0)])


def test_differences__a_missing_cell_a_missing_lesson_and_a_failure_are_some():
    run = changed()
    del run["lessons"]["a/b"]["cells"][2]
    run["lessons"]["a/c"] = {"failure": "cell 0: KeyError: 'x'", "cells": []}
    assert [str(one) for one in differences(PUBLISHED, run, ())] == [
        "a/b, cell 2: 3 cells are published, 2 are run",
        "a/c, cell 0: cell 0: KeyError: 'x'",
    ]
    del run["lessons"]["a/c"]
    assert "a/c, cell 0: not run" in map(str, differences(PUBLISHED, run, ()))


def test_outcome__a_skipped_cell_is_one_and_no_difference():
    run = changed(line=0, text="skipped: refs need JAX 0.6 or newer")
    assert differences(PUBLISHED, run, ()) == []
    assert outcome(run["lessons"]["a/b"]) == "ok; skipped: refs need JAX 0.6 or newer"
    # what is shown besides is compared
    run["lessons"]["a/b"]["cells"][0][1] = "float32[4] 3e-07"
    assert [str(one) for one in differences(PUBLISHED, run, ())] == [
        "a/b, cell 0: 'float32[4] 3e-07' is not published"
    ]


def test_exemptions__one_is_of_a_line_and_of_a_version():
    slow = changed(cell=2, line=0, text="80 ms")
    assert differences(PUBLISHED, slow, ())
    assert differences(PUBLISHED, slow, [CLOCK]) == []
    for jax, number in (("0.4.30", 0), ("0.7.2", 1)):
        without = changed(cell=2, line=1, jax=jax)
        assert len(differences(PUBLISHED, without, [CLOCK, REFS])) == number
    assert differences(PUBLISHED, changed(cell=2, line=1), [CLOCK._replace(lesson="a/c")])


def test_exemptions__one_that_no_run_needs_is_stale():
    with_refs, without = changed(), changed(cell=2, line=1)
    assert stale(PUBLISHED, [with_refs, without], [CLOCK, REFS]) == []
    assert stale(PUBLISHED, [with_refs], [CLOCK, REFS]) == [
        "a/b: no run needs the exemption of '^refs ' any more"
    ]


def test_lessons_check__names_what_differs_and_what_is_skipped(user, tmp_path):
    skipping = changed(line=0, text="skipped: refs need JAX 0.6 or newer")
    wrong = changed(lesson="a/c", line=0, text="y", jax="0.12.0.1")
    for name, run in (("published", PUBLISHED), ("old", skipping), ("new", wrong)):
        (tmp_path / f"{name}.json").write_text(json.dumps(run), encoding="utf-8")

    def check(*names):
        files = [tmp_path / f"{name}.json" for name in names]
        done = user.python(TESTS / "tools", "lessons.check", *files)
        assert done.stderr == ""
        return done.returncode, done.stdout.splitlines()

    assert check("published", "old") == (
        0,
        [
            "JAX 0.4.30: 4 cells, 2 numbers, 0 of them not equal, by 0e+00 at most",
            "  a/b: ok; skipped: refs need JAX 0.6 or newer",
        ],
    )
    failed, lines = check("published", "published", "old", "new")
    assert failed == 1
    assert lines[-1] == "JAX 0.12.0.1: a/c, cell 0: 'x' became 'y'"


def test_lesson_names__are_those_of_the_site_and_so_are_their_cells():
    names = lesson_names(DOCS)
    assert sorted(names) == sorted(course(DOCS))
    for name in names:
        text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
        book = read_myst_markdown_notebook(text)
        read = [
            cell.source.strip()
            for cell in book.cells
            if cell.cell_type == "code" and not {*OF_THE_BUILD} & {*cell.metadata.get("tags", [])}
        ]
        assert [code.strip() for code in cells(name)] == read, name


def test_executed_lessons__hold_what_the_page_shows(tmp_path):
    (tmp_path / "docs/haiku").mkdir(parents=True)
    page = tmp_path / "docs/haiku/one.md"
    page.write_text(CELL.format("print(1)\nprint(2)"), encoding="utf-8")
    outputs = [
        nbformat.v4.new_output("stream", name="stdout", text="1\n\x1b[34;1m2\x1b[39;22m\n"),
        nbformat.v4.new_output("stream", name="stderr", text="not compared\n"),
        nbformat.v4.new_output("display_data", {"text/plain": "<Figure>", "image/png": ""}),
    ]
    cell = nbformat.v4.new_code_cell("print(1)\nprint(2)", outputs=outputs)
    asked = nbformat.v4.new_code_cell("instead(…)", metadata={"tags": ["answers"]})
    nbformat.write(nbformat.v4.new_notebook(cells=[cell, asked]), tmp_path / "base.ipynb")
    assert executed_lessons(tmp_path, tmp_path / "docs") == {
        "haiku/one": {"cells": [["1", "2", "<Figure>"]], "failure": None}
    }
