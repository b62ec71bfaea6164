import sys
from importlib.metadata import distributions, version

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from support import constraint_files

OURS_AND_INSTALLERS = {"haiku-state", "pip", "setuptools", "wheel", "uv"}

each_file = pytest.mark.parametrize("path", constraint_files.JAX_FILES, ids=lambda path: path.stem)


@each_file
def test_constraints__pin_everything_and_record_no_address(path):
    for line in constraint_files.lines(path):
        requirement = Requirement(line)
        [specifier] = requirement.specifier
        assert (specifier.operator, "*" in specifier.version) == ("==", False), line
        assert requirement.url is None, line
    text = path.read_text(encoding="utf-8")
    assert not any(mark in text for mark in ("://", "--", "@", "sha256"))


@each_file
def test_constraints__are_named_for_their_jax(path):
    jax = constraint_files.pins(path)["jax"]
    assert f"{jax}.".startswith(path.stem.removeprefix("jax-") + ".")
    assert constraint_files.pins(path)["jaxlib"] == jax


@pytest.mark.parametrize("minor", ["3.10", "3.11", "3.12", "3.13"])
def test_constraints__the_newest_of_a_python_are_one_of_the_files(minor):
    path = constraint_files.FOLDER / f"newest-py{minor}.txt"
    [line] = constraint_files.lines(path)
    assert line.removeprefix("-c ") in [file.name for file in constraint_files.JAX_FILES]


def test_constraints__are_what_is_installed():
    installed = {
        canonicalize_name(found.metadata["Name"]): found.version for found in distributions()
    }
    [path] = [
        path
        for path in constraint_files.JAX_FILES
        if constraint_files.pins(path)["jax"] == version("jax")
    ]
    pins = constraint_files.pins(path)
    astray = {
        name: (found, pins.get(name))
        for name, found in installed.items()
        if name not in OURS_AND_INSTALLERS and pins.get(name) != found
    }
    assert astray == {}, f"{path.name} on Python {sys.version.split()[0]}: (installed, pinned)"
