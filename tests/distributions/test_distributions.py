"""What a user gets: what is in wheel and sdist, and that it works where nothing else is."""

import hashlib
import re
import shlex
import subprocess
import sys
import tarfile
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from support.chinese import ZH

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "haiku_state"
CORE = {"jax", "jaxlib", "dm-haiku", "optax", "jmp", "numpy"}
EXTRAS = {"data", "plot", "checkpoint", "exercises", "completion", "lab", "all"}
OF_EXTRAS = {"orbax-checkpoint", "scikit-learn", "matplotlib", "rich", "sphinx", "flax", "pytest"}
IN_SDIST = {
    "pyproject.toml", "hatch_build.py", "tox.ini", "toxfile.py", "README.md", "README.zh-CN.md",
    "LICENSE", "CHANGELOG.md", "tests/conftest.py", "docs/index.md",
    "conf/constraints/jax-0.10.txt", f"docs/locale/{ZH}/LC_MESSAGES/index.po",
}  # fmt: skip


def contents(wheel):
    """Name and hash of each file in a wheel, without what only lists the others."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/RECORD")]
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in names}


def metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return Parser().parsestr(archive.read(name).decode())


def test_wheel__holds_the_whole_package_the_pages_to_read_and_nothing_else(built):
    expected = {
        file.relative_to(ROOT).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in PACKAGE.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    found = contents(built("whl"))
    pages = {name: found.pop(name) for name in [*found] if name.startswith("haiku_state/pages/")}
    assert {name: found[name] for name in found if ".dist-info/" not in name} == expected
    wanted = {*ROOT.glob("docs/**/*.md"), *ROOT.glob("docs/**/*.rst")}
    wanted |= {*ROOT.glob("docs/locale/**/*.po")} - {*ROOT.glob("docs/locale/**/api/*.po")}
    assert {*pages} == {
        f"haiku_state/pages/{file.relative_to(ROOT / 'docs').as_posix()}" for file in wanted
    }
    catalog = f"locale/{ZH}/LC_MESSAGES/haiku_state.mo"
    for name in ("py.typed", "commands/doctor/sets.json", catalog):
        assert f"haiku_state/{name}" in expected


def test_wheel__asks_for_the_core_only(built):
    found = metadata(built("whl"))
    wanted = [Requirement(line) for line in found.get_all("Requires-Dist")]
    assert {each.name for each in wanted if "extra" not in str(each.marker)} == CORE
    assert all(each.specifier for each in wanted if "extra" not in str(each.marker))
    assert set(found.get_all("Provides-Extra")) == EXTRAS
    assert found["License-Expression"] == "Apache-2.0"


def test_sdist__holds_the_sources(built):
    """The wheel was built from it: ``python -m build`` makes the one from the other."""
    with tarfile.open(built("tar.gz")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= IN_SDIST
    assert not [name for name in names if re.match(r"(build|dist|\.tox|\.git)/", name)]


def pip(python, *arguments):
    command = [python, "-m", "pip", "--disable-pip-version-check", "--quiet", *map(str, arguments)]
    subprocess.run(command, check=True)


@pytest.fixture(scope="module")
def empty_environment(built, tmp_path_factory):
    """The Python of an environment that holds the wheel and what it asks for."""
    folder = tmp_path_factory.mktemp("empty") / "environment"
    venv.create(folder, with_pip=True)
    [python] = [*folder.glob("bin/python"), *folder.glob("Scripts/python.exe")]
    minor = ".".join(map(str, sys.version_info[:2]))
    pip(python, "install", built("whl"), "-c", ROOT / f"conf/constraints/newest-py{minor}.txt")
    return python


def run(python, *arguments, folder, language="en"):
    environment = {"HAIKU_STATE_LANG": language, "PYTHONUTF8": "1", "PATH": ""}
    command = [python, *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False
    )


def test_wheel__nothing_of_the_extras_is_installed(empty_environment, tmp_path):
    ran = run(empty_environment, "-m", "pip", "list", "--format=freeze", folder=tmp_path)
    names = {line.partition("==")[0].lower() for line in ran.stdout.splitlines()}
    assert names >= CORE
    assert not names & OF_EXTRAS


def test_wheel__the_example_of_the_readme_runs_in_another_folder(empty_environment, tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    ran = run(empty_environment, "-c", example, folder=tmp_path)
    assert ran.stdout.split() == ["1", "2", "3"], ran.stderr


@pytest.mark.parametrize(("language", "said"), [("en", "  why:   "), ("zh", "  原因：")])
def test_wheel__an_error_speaks_the_language_of_the_reader(
    language, said, empty_environment, tmp_path
):
    program = "import haiku_state as hs; hs.batches({'x': range(10)}, 11)"
    ran = run(empty_environment, "-c", program, folder=tmp_path, language=language)
    assert said in ran.stderr


def test_wheel__the_widgets_have_their_style_and_their_script(empty_environment, tmp_path):
    program = "import haiku_state as hs; h = hs.History(); h.record({'a': 1.0}); h.save('h.html')"
    program += "; print(hs.record_trace(abs, (-1.0,))._repr_html_())"
    program += "; print(hs.explain(abs, -1.0)._repr_html_(), hs.record_flow(hs.Counter).svg())"
    ran = run(empty_environment, "-c", program, folder=tmp_path)
    assert ".hs-history path" in (tmp_path / "h.html").read_text(encoding="utf-8"), ran.stderr
    assert "<script" in ran.stdout
    assert ".hs-report p{" in ran.stdout
    assert "</svg>" in ran.stdout


@pytest.mark.parametrize("language", ["en", "zh"])
def test_wheel__the_doctor_finds_a_measured_set(language, empty_environment, tmp_path):
    ran = run(empty_environment, "-m", "haiku_state", "doctor", folder=tmp_path, language=language)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_wheel__there_is_a_command(empty_environment, tmp_path):
    [command] = empty_environment.parent.glob("haiku-state*")
    ran = subprocess.run(
        [command, "train", "--loud"], cwd=tmp_path, capture_output=True, encoding="utf-8"
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "haiku-state: error: unrecognized arguments: --loud\n"


def test_wheel__a_command_that_needs_more_says_what_to_install(empty_environment, tmp_path):
    ran = run(empty_environment, "-m", "haiku_state", "train", folder=tmp_path)
    assert ran.returncode == 1
    [line] = re.findall(r"`python -m (pip install .+)` installs it\n", ran.stderr)
    assert line == 'pip install "scikit-learn>=1.5.2"'
    pip(empty_environment, *shlex.split(line)[1:], "--dry-run")
