"""The matrix: complete only when every set was tested here and now, and told as it was measured."""

import configparser
import json
import re
import shutil
import sys
from pathlib import Path

import jax
import pytest
from haiku_site.features.compatibility import MESSAGES
from packaging.version import Version
from support import constraint_files
from support.user import User
from tools.matrix import gather, measured_tree, messages, probe

ROOT = Path(__file__).parents[2]
COPY = json.loads(gather.PUBLISHED.read_text(encoding="utf-8"))
PAGES = {
    "index.md": "```{toctree}\nhaiku/index\n```\n",
    "haiku/index.md": "```{lessons}\n```\n\n```{toctree}\ncounter\n```\n",
    "haiku/counter.md": "# A lesson\n",
}
PYTHONS = {"0.4.30": "3.10.13", "0.12": "3.13.0"}


def report(root, name="0.12", *, test="<testcase/>", shown="1", lesson="haiku/counter", **changes):
    """Write what the factor of one set would: its report, its tests and its lessons."""
    python = PYTHONS[name]
    pins = gather.pins(name, python.rpartition(".")[0], root)
    written = {"tree": measured_tree.tree_hash(root), "set": measured_tree.set_hash(name, root)}
    written |= {"version": "0.1.0", "started": 1e9, "python": python, "versions": pins}
    written |= {"features": {}, "warnings": [], **changes}
    ran = {"seconds": 1, "cells": [[shown]], "stderr": [], "failure": None}
    counts = f'tests="1" failures="{test.count("<failure")}" errors="0" time="9"'
    reports = root / "build/compat"
    reports.mkdir(parents=True, exist_ok=True)
    for suffix, text in {
        "json": json.dumps(written),
        "xml": f"<a><testsuite {counts}>{test}</testsuite></a>",
        "lessons.json": json.dumps({"jax": pins["jax"], "seconds": 2, "lessons": {lesson: ran}}),
    }.items():
        (reports / f"jax{name}.{suffix}").write_text(text)


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A tree with one lesson and two sets, both tested; the site is built on the second."""
    User(tmp_path).run("git", "init", "-q", tmp_path)
    monkeypatch.setattr(gather, "SITE", "0.12")
    monkeypatch.setattr(gather, "LESSONS", tuple(PYTHONS))
    monkeypatch.setattr(gather, "EXEMPTIONS", [])
    constraints = tmp_path / "conf/constraints"
    constraints.mkdir(parents=True)
    for name in PYTHONS:
        shutil.copy(constraint_files.FOLDER / f"jax-{name}.txt", constraints)
    shutil.copy(ROOT / "tox.ini", tmp_path)
    (tmp_path / "pyproject.toml").touch()
    for file in (gather.ADVISED, gather.PUBLISHED, ROOT / "docs/haiku/index.md"):
        (tmp_path / file.relative_to(ROOT)).parent.mkdir(parents=True)
    for page, text in PAGES.items():
        (tmp_path / "docs" / page).write_text(text, "utf-8")
    for readme in gather.LINES:
        (tmp_path / readme).write_text(f"# A\n\n{gather.BEGIN}\nold\n{gather.END}\n\nB\n", "utf-8")
    for name in PYTHONS:
        report(tmp_path, name)
    return tmp_path


@pytest.mark.parametrize(
    ("harm", "complaint"),
    [
        (lambda root: (root / "build/compat/jax0.12.json").unlink(), "no jax0.12.json"),
        (lambda root: (root / "build/compat/jax0.12.xml").unlink(), "it needs Python 3.13, 3.12"),
        (lambda root: (root / "build/compat/jax0.12.lessons.json").unlink(), "no jax0.12.lessons"),
        (lambda root: report(root, test="<testcase><failure/></testcase>"), "1 tests failed"),
        (lambda root: report(root, test="<testcase><skipped message='a GPU'/></testcase>"), "no t"),
        (lambda root: report(root, test="<testcase><skipped/></testcase>"), "without a reason"),
        (lambda root: report(root, tree="other"), "another state of package"),
        (lambda root: report(root, versions={"jax": "0.11.2"}), "jax is 0.11.2, and 0.12.0.1 is"),
        (lambda root: report(root, lesson="haiku/other"), "haiku/counter was not run"),
        (lambda root: report(root, "0.4.30", shown="2"), "haiku/counter"),
    ],
)
def test_matrix__what_is_missing_or_failed_makes_it_incomplete(root, harm, complaint, monkeypatch):
    before = [path.read_bytes() for path in root.glob("README*")]
    harm(root)
    monkeypatch.setattr(sys, "argv", ["gather.py", "--publish"])
    assert gather.main(root) == 1
    lacks = json.loads((root / "build/compat.json").read_text("utf-8"))["lacks"]
    assert any(complaint in lack for lack in lacks), lacks
    assert not (root / gather.PUBLISHED.relative_to(ROOT)).exists()
    assert [path.read_bytes() for path in root.glob("README*")] == before


def test_matrix__an_edit_makes_the_reports_old_but_not_what_is_built_or_published(root):
    new = root / "tests/test_new.py"
    new.parent.mkdir()
    new.touch()
    assert len(gather.gather(root)["lacks"]) == 2
    new.unlink()
    (root / ".gitignore").write_text("*.zip\n")
    for file in (root / gather.ADVISED.relative_to(ROOT), root / "haiku_state/notebooks/en.zip"):
        file.parent.mkdir(exist_ok=True)
        file.touch()
    assert gather.gather(root)["lacks"] == []
    with (root / "conf/constraints/jax-0.12.txt").open("a") as file:
        file.write("# edited\n")
    [lack] = gather.gather(root)["lacks"]
    assert lack.startswith("jax0.12: its report is of another state")


def test_matrix__what_no_set_runs_makes_no_report_old(root):
    settings = configparser.ConfigParser(interpolation=None, strict=False)
    settings.read(ROOT / "tox.ini", encoding="utf-8")
    factors = "testenv:jax{" + ",".join(gather.sets()) + "}"
    lines = settings["testenv"]["pytest"] + settings[factors]["commands"]
    ignored = set(re.findall(r"--ignore \{tox_root\}/tests/(\S+)", lines))
    assert {name for name in ignored if not name.endswith(".py")} <= {*measured_tree.NOT_RUN}
    for folder in measured_tree.NOT_RUN:
        no_tests = not [*(ROOT / "tests" / folder).rglob("test_*.py")]
        assert folder in ignored or no_tests, folder
        new = root / "tests" / folder / "new.py"
        new.parent.mkdir(parents=True)
        new.touch()
    assert gather.gather(root)["lacks"] == []


def test_matrix__what_three_sets_run_makes_no_report_of_another_set_old(root):
    before = {name: measured_tree.set_hash(name, root) for name in gather.sets()}
    settings = configparser.ConfigParser(interpolation=None, strict=False)
    settings.read(ROOT / "tox.ini", encoding="utf-8")
    left_out = settings["testenv"]["without_what_needs_no_jax"]
    ignored = re.findall(r"--ignore \{tox_root\}/tests/(\S+)", left_out)
    assert {*ignored} | {"exercises/answers"} == {*measured_tree.NOT_ON_ALL}
    factors = "testenv:jax{" + ",".join(gather.sets()) + "}"
    [condition] = re.findall(r"^(\S+): PYTEST_ADDOPTS", settings[factors]["set_env"], re.M)
    assert condition == "-".join(f"!jax{name}" for name in measured_tree.WHOLE)
    for name in measured_tree.NOT_ON_ALL:
        new = root / "tests" / name / "new.py"
        new.parent.mkdir(parents=True)
        new.touch()
        now = {name: measured_tree.set_hash(name, root) for name in gather.sets()}
        assert tuple(each for each in now if now[each] != before[each]) == measured_tree.WHOLE
        before = now
    assert len(gather.gather(root)["lacks"]) == 2


def test_matrix__publishing_renews_the_copy_the_advice_and_a_line_of_both_readmes(root):
    matrix = gather.gather(root)
    assert matrix["sets"]["0.12"]["tests"] == {"passed": 1, "failed": 0, "skipped": {}}
    assert (matrix["sets"]["0.12"]["seconds"], matrix["seconds"]) == (11.0, 22.0)
    gather.publish(matrix, root)
    assert json.loads((root / gather.PUBLISHED.relative_to(ROOT)).read_text("utf-8")) == matrix
    advised = json.loads((root / gather.ADVISED.relative_to(ROOT)).read_text("utf-8"))
    assert advised == {name: row["pins"] for name, row in matrix["sets"].items()}
    for readme in gather.LINES:
        text = (root / readme).read_text("utf-8")
        assert text.startswith(f"# A\n\n{gather.BEGIN}\n")
        assert text.endswith(f"\n{gather.END}\n\nB\n")
        tree = f"`{measured_tree.tree_hash(root)}`"
        for said in ("0.4.30", "0.12.0.1", "3.10", "3.13", "0.1.0", tree, matrix["date"]):
            assert said in text


def test_matrix__the_sets_may_be_tested_on_several_days(root, monkeypatch):
    def run(option):
        monkeypatch.setattr(sys, "argv", ["gather.py", option])
        code = gather.main(root)
        copy = json.loads((root / gather.PUBLISHED.relative_to(ROOT)).read_text("utf-8"))
        return code, {name: row["tree"] for name, row in copy["sets"].items()}, copy["tree"]

    before = measured_tree.tree_hash(root)
    assert run("--publish") == (0, dict.fromkeys(PYTHONS, before), before)
    (root / "haiku_state").mkdir(exist_ok=True)
    (root / "haiku_state/new.py").touch()
    now = measured_tree.tree_hash(root)
    report(root, "0.12")
    report(root, "0.4.30", test="<testcase><failure/></testcase>")
    assert run("--keep") == (1, {"0.4.30": before, "0.12": now}, None)
    assert "several states of package" in (root / "README.md").read_text("utf-8")
    # another machine, another day
    shutil.rmtree(root / "build")
    report(root, "0.4.30")
    [lack] = gather.gather(root)["lacks"]
    assert lack == "jax0.4.30: its lessons are compared with those of jax0.12; run both"
    report(root, "0.12")
    assert run("--keep") == (0, dict.fromkeys(PYTHONS, now), now)
    shutil.rmtree(root / "build")
    assert gather.gather(root)["lacks"] == []
    assert gather.gather(root)["sets"]["0.12"]["lessons"] == {"haiku/counter": "ok"}


def test_matrix__the_copy_and_the_constraints_agree():
    assert COPY["lacks"] == []
    assert list(COPY["sets"]) == gather.sets()
    for name, row in COPY["sets"].items():
        pythons = sorted(gather.pythons(name), key=Version)
        assert row["pins"] == {python: gather.pins(name, python) for python in pythons}
        minor = ".".join(row["python"].split(".")[:2])
        for library, pinned in row["pins"][minor].items():
            assert row["versions"][library] == pinned, f"{name}: measure the matrix anew"


def test_matrix__the_page_shows_what_each_set_says_to_the_calls():
    rows = json.loads(MESSAGES.read_text(encoding="utf-8"))
    assert [*rows] == [row["versions"]["jax"] for row in COPY["sets"].values()]
    for row in rows.values():
        assert {group: [*said] for group, said in row.items()} == messages.CALLS
    if jax.__version__ in rows:
        assert rows[jax.__version__] == messages.messages()


def test_matrix__doctor_and_readmes_say_what_the_copy_says():
    assert gather.ADVISED.read_text(encoding="utf-8") == gather.advised(COPY)
    for readme in gather.LINES:
        text = (ROOT / readme).read_text(encoding="utf-8")
        assert f"{gather.BEGIN}\n{gather.line(COPY, readme)}\n{gather.END}" in text


def test_tox__has_a_factor_for_each_set_and_lessons_for_some():
    settings = configparser.ConfigParser(interpolation=None, strict=False)
    settings.read(ROOT / "tox.ini", encoding="utf-8")
    sets = gather.sets()
    names = "jax{" + ",".join(sets) + "}"
    assert names in settings["tox"]["labels"]
    factors, files = settings[f"testenv:{names}"], settings["sets"]["file"]
    for name in sets:
        assert re.search(rf"^jax{re.escape(name)}\b.*: jax-{re.escape(name)}$", files, re.MULTILINE)
        assert gather.pythons(name)
    assert (gather.LESSONS[0], gather.LESSONS[-1]) == (sets[0], sets[-1])
    lessons = ",".join(f"jax{name}" for name in gather.LESSONS)
    assert f"{lessons}: python {{tox_root}}/tests/tools lessons.run" in factors["commands"]
    newest = constraint_files.FOLDER / "newest-py3.11.txt"
    assert constraint_files.lines(newest) == [f"-c jax-{gather.SITE}.txt"]


def test_matrix__this_environment_has_the_features_that_the_copy_says(monkeypatch):
    monkeypatch.setitem(probe.FEATURES, "odd", "jax.nothing()")
    name = next(
        path.stem.removeprefix("jax-")
        for path in constraint_files.JAX_FILES
        if constraint_files.pins(path)["jax"] == probe.installed("jax")
    )
    assert probe.features() == COPY["sets"][name]["features"] | {"odd": False}


def test_tox__finds_the_pythons_of_pyenv_and_uv(tmp_path, user):
    for folder in ("pyenv/versions/3.10.13", "pyenv/versions/3.9.18", "uv/cpython-3.13.0-linux"):
        (tmp_path / folder / "bin").mkdir(parents=True)
        (tmp_path / folder / "bin/python3").touch()
    (tmp_path / "pyenv/versions/jupyter/bin").mkdir(parents=True)
    places = {"PYENV_ROOT": tmp_path / "pyenv", "UV_PYTHON_INSTALL_DIR": tmp_path / "uv"}
    code = (
        f"import os, runpy; runpy.run_path({str(ROOT / 'toxfile.py')!r}); print(os.get_exec_path())"
    )
    path = user.python("-c", code, env={"PATH": "/first"} | {k: str(v) for k, v in places.items()})
    found = [folder.removeprefix(f"{tmp_path}/") for folder in eval(path.stdout)]
    assert found[0] == "/first"
    assert found[1:] == [
        "uv/cpython-3.13.0-linux/bin",
        "pyenv/versions/3.10.13/bin",
        "pyenv/versions/3.9.18/bin",
    ]
