"""Where executed notebooks are kept: one folder per version of all that they run.

Jupyter-cache tells notebooks apart by their cells alone, so after an edit of the package it would
hand out the old outputs. The folder's name therefore holds a hash of the package's source and of
the versions of the libraries below it.
"""

import hashlib
import importlib.metadata
import importlib.util
import platform
import shutil
from pathlib import Path

LIBRARIES = ("jax", "jaxlib", "dm-haiku", "optax", "numpy", "scikit-learn", "matplotlib", "ipython")


def fingerprint(package: Path, versions: dict[str, str]) -> str:
    """Hash the source files of a package and the versions of what it stands on."""
    digest = hashlib.sha256(repr(sorted(versions.items())).encode())
    for file in sorted(package.rglob("*.py")):
        digest.update(file.relative_to(package).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def installed_versions() -> dict[str, str]:
    """Give the versions that a notebook's outputs depend on."""
    versions = {name: importlib.metadata.version(name) for name in LIBRARIES}
    return versions | {"python": platform.python_version()}


def installed_package() -> Path:
    """Give the folder of the package, without the seconds that importing it would take."""
    spec = importlib.util.find_spec("haiku_state")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def cache_path(root: Path) -> Path:
    """Give the cache folder for the package as it is now, and remove all others under ``root``."""
    path = root / fingerprint(installed_package(), installed_versions())
    for old in root.glob("*") if root.is_dir() else ():
        if old != path:
            shutil.rmtree(old)
    return path
