"""What a test starts as a user's process has nothing of the tests."""

import ast
import json
import os
from pathlib import Path

from support.chinese import ZH

TESTS = Path(__file__).parents[1]
OTHERS = {
    "support/user.py": "starts them all",
    "tools/benchmarks": "each contender gets the devices and threads that are compared",
    "distributions": "runs without JAX, and makes environments of its own",
    "inside/test_purity.py": "a function that begins one is stopped before",
    "inside/test_seeds.py": "runs the tests themselves, each time with another seed of hashes",
    "tools/lessons": "gives each lesson the settings of the site's kernels",
    "tools/matrix": "asks the environment of tox itself",
    "tools/site": "runs Lighthouse",
    "storage/test_resume.py": "a server has imported the libraries for fifty processes, each of "
    "which chooses its own device",
}
"""Files and folders whose processes are not a user's, and why."""
STARTERS = {"subprocess", "multiprocessing"}


def imported(source):
    """The modules that a file imports, by the first part of their names."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").split(".")[0]


def test_user__no_test_starts_a_process_in_another_way():
    found = []
    for file in sorted(TESTS.rglob("*.py")):
        place = file.relative_to(TESTS)
        if {each.as_posix() for each in (place, *place.parents)}.isdisjoint(OTHERS) and STARTERS & {
            *imported(file.read_text("utf-8"))
        }:
            found.append(place.as_posix())
    assert found == []


def test_user__the_search_finds_both_ways_of_importing():
    source = "def test():\n    import subprocess as s\n    from multiprocessing.pool import Pool\n"
    assert {*imported(source)} == STARTERS


def test_user__a_process_knows_nothing_of_the_tests(user, monkeypatch):
    for name in ("XLA_FLAGS", "JAX_PLATFORMS", "PYTHONPATH", "HAIKU_STATE_LANG", "NPROC"):
        monkeypatch.setenv(name, "of the tests")
    program = "import json, os; print(json.dumps([os.getcwd(), {**os.environ}]))"
    folder, variables = json.loads(user.python("-c", program, env={"LANG": f"{ZH}.UTF-8"}).stdout)
    assert Path(folder) == user.folder.resolve()
    assert not {"XLA_FLAGS", "PYTHONPATH", "HAIKU_STATE_LANG", "NPROC"} & variables.keys()
    assert not any(name.startswith("JAX") for name in variables)
    assert variables["HOME"] == str(user.home) != os.environ.get("HOME")
    assert variables["LANG"] == f"{ZH}.UTF-8"
