"""Where executed notebooks are kept: one folder per version of all that they run.

Jupyter-cache tells notebooks apart by their cells alone, so after an edit of the package it would
hand out the old outputs. The folder's name therefore holds a hash of the package's source, of the
versions of the libraries below it, of the data that pages read, and of how figures are drawn.
"""

import hashlib
import importlib.metadata
import importlib.util
import platform
import shutil
from pathlib import Path

from haiku_site import ROOT, SPHINX, features

DATA = ROOT / "docs/reference"
LIBRARIES = ("jax", "jaxlib", "dm-haiku", "optax", "flax", "equinox", "orbax-checkpoint")
LIBRARIES += ("numpy", "scikit-learn", "matplotlib", "ipython")

UNUSED = {"__pycache__", "exercises"}
"""Folders that no cell uses."""


def fingerprint(package: Path, versions: dict[str, str], data: Path) -> str:
    """Hash a package's sources and texts, the versions of its dependencies, and a folder's JSON."""
    digest = hashlib.sha256(repr(sorted(versions.items())).encode())
    sources = [(package, "*.py"), (data, "*.json")]
    sources += [(package / "locale", pattern) for pattern in ("*.po", "*.json")]  # no *.mo: built
    for folder, pattern in sources:
        digest.update(files_hash(folder, pattern).encode())
    return digest.hexdigest()[:16]


def files_hash(folder: Path, pattern: str) -> str:
    """Hash the names and the contents of all files of a kind."""
    digest = hashlib.sha256()
    files = (file for file in folder.rglob(pattern) if not {*file.parts} & UNUSED)
    for file in sorted(files):
        digest.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def installed_versions() -> dict[str, str]:
    """Return the versions that a notebook's outputs depend on."""
    versions = {name: importlib.metadata.version(name) for name in LIBRARIES}
    return versions | {"python": platform.python_version()}


def installed_package() -> Path:
    """Return the folder of the package, without spending seconds on importing it."""
    spec = importlib.util.find_spec("haiku_state")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def cache_path(root: Path) -> Path:
    """Return the cache folder for the present package, and remove those of its earlier sources.

    The folders of other environments stay, so that nothing is executed again in going back to one.
    """
    execute = Path(__file__).parent
    drawn = {
        "figures": files_hash(execute, "figures.py") + files_hash(SPHINX, "matplotlibrc"),
        "kernel": files_hash(features.FOLDER, "kernel.py"),
    }
    versions = installed_versions()
    environment = hashlib.sha256(repr(sorted(versions.items())).encode()).hexdigest()[:8]
    path = root / f"{environment}-{fingerprint(installed_package(), versions | drawn, DATA)}"
    for old in root.glob(f"{environment}-*"):
        if old != path:
            shutil.rmtree(old)
    return path
