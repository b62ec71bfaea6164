"""Lets tox find the Pythons that pyenv and uv have installed, after those on PATH."""

import os
import re
from pathlib import Path

HOME = Path.home()
FOLDERS = (
    Path(os.environ.get("PYENV_ROOT", HOME / ".pyenv")) / "versions",
    Path(os.environ.get("UV_PYTHON_INSTALL_DIR", HOME / ".local/share/uv/python")),
)


def installed() -> list[str]:
    """Return the folders of the interpreters, newest first."""
    found = [
        (tuple(map(int, version.groups())), str(python.parent))
        for folder in FOLDERS
        for python in folder.glob("*/bin/python3")
        if (version := re.search(r"(\d+)\.(\d+)\.(\d+)", python.parts[-3]))
    ]
    return [folder for _, folder in sorted(found, reverse=True)]


os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", ""), *installed()])
