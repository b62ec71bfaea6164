"""The matrix: complete only when every set was tested here and now, and told as it was measured."""

import configparser
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import constraint_files
import gather
import probe
import pytest
from haiku_site.content import measured_tree
from haiku_site.content.lesson_pages import course
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
COPY = json.loads(gather.PUBLISHED.read_text(encoding="utf-8"))
SKIP = '<skipped message="needs a GPU"/>'
PAGES = {
    "index.md": "```{toctree}\nhaiku/index\n```\n",
    "haiku/index.md": "```{lessons}\n```\n\n```{toctree}\ncounter\n```\n",
    "haiku/counter.md": "# A lesson\n",
}


def report(
    root,
    name,
    python,
    *,
    cases='<testcase name="a"/>',
    failures=0,
    shown="1",
    lesson="haiku/counter",
    **changes,
):
    """Write what one factor would."""
    written = {
        "tree": measured_tree.tree_hash(root),
        "set": measured_tree.set_hash(name, root),
        "version": "0.1.0",
        "started": 1e9,
        "python": python,
        "versions": gather.pins(name, ".".join(python.split(".")[:2]), root),
        "features": {},
        "warnings": [],
        **changes,
    }
    reports = root / "build/compat"
    reports.mkdir(parents=True, exist_ok=True)
    (reports / f"jax{name}.json").write_text(json.dumps(written))
    suite = f'<testsuite tests="{cases.count("<testcase")}" failures="{failures}" errors="0">'
    xml = reports / f"jax{name}.xml"
    xml.write_text(f"<testsuites>{suite}{cases}</testsuite></testsuites>")
    os.utime(xml, (1e9 + 170, 1e9 + 170))
    run = {"seconds": 1, "cells": [[shown]], "stderr": [], "failure": None}
    lessons = reports / f"jax{name}.lessons.json"
    jax = written["versions"]["jax"]
    lessons.write_text(json.dumps({"jax": jax, "lessons": {lesson: run}}))
    os.utime(lessons, (1e9 + 180, 1e9 + 180))


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A tree with one lesson and two sets, both tested; the site is built on the second."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    monkeypatch.setattr(gather, "SITE", "0.12")
    monkeypatch.setattr(gather, "LESSONS", ("0.4.30", "0.12"))
    monkeypatch.setattr(gather, "EXEMPTIONS", [])
    constraints = tmp_path / "conf/constraints"
    constraints.mkdir(parents=True)
    for name in ("0.4.30", "0.12"):
        shutil.copy(constraint_files.FOLDER / f"jax-{name}.txt", constraints)
    shutil.copy(ROOT / "tox.ini", tmp_path)
    (tmp_path / "pyproject.toml").touch()
    for file in (gather.ADVISED, gather.PUBLISHED, ROOT / "docs/haiku/index.md"):
        (tmp_path / file.relative_to(ROOT)).parent.mkdir(parents=True)
    for page, text in PAGES.items():
        (tmp_path / "docs" / page).write_text(text, "utf-8")
    for readme in gather.LINES:
        (tmp_path / readme).write_text(f"# A\n\n{gather.BEGIN}\nold\n{gather.END}\n\nB\n", "utf-8")
    report(tmp_path, "0.4.30", "3.10.13")
    report(tmp_path, "0.12", "3.13.0", cases=f'<testcase name="a"/><testcase>{SKIP}</testcase>')
    return tmp_path


def test_reports_of_all_sets_make_a_matrix(root):
    matrix = gather.gather(root)
    assert matrix["lacks"] == []
    assert list(matrix["sets"]) == ["0.4.30", "0.12"]
    newest = matrix["sets"]["0.12"]
    assert newest["tests"] == {"passed": 1, "failed": 0, "skipped": {"needs a GPU": 1}}
    assert (newest["seconds"], matrix["seconds"]) == (180, 360)
    assert list(newest["pins"]) == ["3.12", "3.13"]
    assert newest["lessons"] == {"haiku/counter": "ok"}
    assert newest["pins"]["3.13"]["jax"] == newest["versions"]["jax"]
    assert (matrix["version"], matrix["tree"]) == ("0.1.0", measured_tree.tree_hash(root))


@pytest.mark.parametrize(
    ("harm", "complaint"),
    [
        (lambda root: (root / "build/compat/jax0.12.json").unlink(), "no jax0.12.json"),
        (lambda root: (root / "build/compat/jax0.12.xml").unlink(), "it needs Python 3.13, 3.12"),
        (lambda root: (root / "build/compat/jax0.12.lessons.json").unlink(), "no jax0.12.lessons"),
        (lambda root: report(root, "0.12", "3.13.0", failures=1), "1 tests failed"),
        (lambda root: report(root, "0.12", "3.13.0", cases=""), "no test passed"),
        (lambda root: report(root, "0.12", "3.13.0", tree="other"), "another state of package"),
        (
            lambda root: report(root, "0.12", "3.13.0", versions={"jax": "0.11.2"}),
            "jax is 0.11.2, and 0.12.0.1 is pinned",
        ),
        (
            lambda root: report(
                root, "0.12", "3.13.0", cases=f"<testcase/>{SKIP.replace('needs a GPU', '')}"
            ),
            "skipped without a reason",
        ),
    ],
)
def test_what_is_missing_or_failed_makes_it_incomplete(root, harm, complaint):
    harm(root)
    matrix = gather.gather(root)
    assert any(complaint in lack for lack in matrix["lacks"]), matrix["lacks"]
    assert all(lack.startswith("jax0.12: ") for lack in matrix["lacks"])


def test_a_lesson_that_shows_something_else_makes_it_incomplete(root):
    report(root, "0.4.30", "3.10.13", shown="2")
    [lack] = gather.gather(root)["lacks"]
    assert lack.startswith("jax0.4.30: ")
    assert "haiku/counter" in lack


def test_a_lesson_that_no_set_has_run_is_not_published(root, monkeypatch):
    for name, python in (("0.4.30", "3.10.13"), ("0.12", "3.13.0")):
        report(root, name, python, lesson="haiku/other")
    monkeypatch.setattr(sys, "argv", ["gather.py", "--publish"])
    before = {path: path.read_bytes() for path in root.glob("README*")}
    assert gather.main(root) == 1
    lacks = json.loads((root / "build/compat.json").read_text("utf-8"))["lacks"]
    assert lacks == [f"jax{name}: haiku/counter was not run" for name in ("0.4.30", "0.12")]
    assert not (root / gather.PUBLISHED.relative_to(ROOT)).exists()
    assert {path: path.read_bytes() for path in before} == before


def test_an_edit_of_package_or_tests_makes_all_reports_old_and_one_of_a_set_its_own(root):
    for file in (root / "haiku_state/new.py", root / "tests/test_new.py"):
        file.parent.mkdir(exist_ok=True)
        file.touch()
        assert len(gather.gather(root)["lacks"]) == 2
        file.unlink()
    with (root / "conf/constraints/jax-0.12.txt").open("a") as file:
        file.write("# edited\n")
    [lack] = gather.gather(root)["lacks"]
    assert lack.startswith("jax0.12: its report is of another state")
    report(root, "0.12", "3.13.0")
    # what the matrix itself writes is no edit, and neither is what Git ignores
    (root / ".gitignore").write_text("*.zip\n")
    for file in (root / gather.ADVISED.relative_to(ROOT), root / "haiku_state/notebooks/en.zip"):
        file.parent.mkdir(exist_ok=True)
        file.touch()
    assert gather.gather(root)["lacks"] == []


def test_publishing_renews_the_copy_and_a_line_of_both_readmes(root):
    matrix = gather.gather(root)
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


def test_the_copy_and_the_constraints_agree():
    assert COPY["lacks"] == []
    assert list(COPY["sets"]) == gather.sets()
    for name, row in COPY["sets"].items():
        pythons = sorted(gather.pythons(name), key=Version)
        assert row["pins"] == {python: gather.pins(name, python) for python in pythons}
        minor = ".".join(row["python"].split(".")[:2])
        for library, pinned in row["pins"][minor].items():
            assert row["versions"][library] == pinned, f"{name}: measure the matrix anew"


def test_the_doctor_advises_what_was_measured():
    assert gather.ADVISED.read_text(encoding="utf-8") == gather.advised(COPY)


def test_the_copy_has_nothing_that_failed_and_every_python():
    rows = COPY["sets"].values()
    pythons = {row["python"].rpartition(".")[0] for row in rows}
    assert pythons == {python for row in rows for python in row["pins"]}
    for row in rows:
        assert row["tests"]["failed"] == 0
        assert row["tests"]["passed"] > 1000
        assert all(row["tests"]["skipped"])
        assert set(row["features"]) == set(probe.FEATURES)


@pytest.mark.parametrize("readme", gather.LINES)
def test_a_readme_says_what_the_copy_says(readme):
    text = (ROOT / readme).read_text(encoding="utf-8")
    assert f"{gather.BEGIN}\n{gather.line(COPY, readme)}\n{gather.END}" in text


def test_tox_has_a_factor_for_each_set():
    settings = configparser.ConfigParser(interpolation=None, strict=False)
    settings.read(ROOT / "tox.ini", encoding="utf-8")
    names = "jax{" + ",".join(gather.sets()) + "}"
    assert names in settings["tox"]["labels"]
    factors = settings[f"testenv:{names}"]
    for name in gather.sets():
        assert f"jax{name}: -c conf/constraints/jax-{name}.txt" in factors["deps"].splitlines()
        assert gather.pythons(name)


@pytest.mark.xfail(reason="haiku/see_inside is newer than the copy", strict=True)
def test_the_copy_has_every_lesson():
    for name in gather.LESSONS:
        assert set(COPY["sets"][name]["lessons"]) == set(course(ROOT / "docs"))


def test_this_environment_is_what_the_copy_says(monkeypatch):
    monkeypatch.setitem(probe.FEATURES, "odd", "jax.nothing()")
    name = next(
        path.stem.removeprefix("jax-")
        for path in constraint_files.JAX_FILES
        if constraint_files.pins(path)["jax"] == probe.installed("jax")
    )
    assert probe.features() == COPY["sets"][name]["features"] | {"odd": False}


def test_the_lessons_run_on_the_oldest_a_middle_and_the_newest_set():
    *older, newest = gather.sets()
    assert gather.LESSONS[0] == older[0]
    assert gather.LESSONS[-1] == newest
    assert set(gather.LESSONS[1:-1]) < set(older)
    text = (ROOT / "tox.ini").read_text(encoding="utf-8")
    factors = ",".join(f"jax{name}" for name in gather.LESSONS)
    assert f"{factors}: python {{tox_root}}/tests/lessons/run.py" in text
    newest_here = constraint_files.FOLDER / "newest-py3.11.txt"
    assert constraint_files.lines(newest_here) == [f"-c jax-{gather.SITE}.txt"]


def test_tox_finds_the_pythons_of_pyenv_and_uv(tmp_path):
    for folder in ("pyenv/versions/3.10.13", "pyenv/versions/3.9.18", "uv/cpython-3.13.0-linux"):
        (tmp_path / folder / "bin").mkdir(parents=True)
        (tmp_path / folder / "bin/python3").touch()
    (tmp_path / "pyenv/versions/jupyter/bin").mkdir(parents=True)
    environment = {
        "PATH": "/first",
        "PYENV_ROOT": str(tmp_path / "pyenv"),
        "UV_PYTHON_INSTALL_DIR": str(tmp_path / "uv"),
    }
    code = (
        f"import os, runpy; runpy.run_path({str(ROOT / 'toxfile.py')!r}); print(os.environ['PATH'])"
    )
    path = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()
    folders = [folder.removeprefix(f"{tmp_path}/") for folder in path.split(os.pathsep)]
    assert folders == [
        "/first",
        "uv/cpython-3.13.0-linux/bin",
        "pyenv/versions/3.10.13/bin",
        "pyenv/versions/3.9.18/bin",
    ]
