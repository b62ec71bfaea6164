"""Where the wheel and the sdist lie that ``tox run -e dist`` has built."""

from pathlib import Path

import pytest


def pytest_addoption(parser):
    parser.addoption("--dist-folder", type=Path)


@pytest.fixture(scope="session")
def built(pytestconfig):
    """The only file of a kind: ``built("whl")``."""
    folder = pytestconfig.getoption("dist_folder", None)
    if folder is None:
        pytest.skip("`tox run -e dist` builds what these tests look at")

    def one(ending):
        [file] = folder.glob(f"*.{ending}")
        return file

    return one
