"""Where the wheel and the sdist lie that ``tox run -e dist`` has built."""

from pathlib import Path

import pytest


def pytest_addoption(parser):
    parser.addoption("--dist-folder", type=Path, required=True)


@pytest.fixture(scope="session")
def built(pytestconfig):
    """The only file of a kind: ``built("whl")``."""

    def one(ending):
        [file] = pytestconfig.getoption("dist_folder").glob(f"*.{ending}")
        return file

    return one
