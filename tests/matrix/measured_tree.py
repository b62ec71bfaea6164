"""Names the state of what a report is of: the package with its tests, and the set of versions."""

import hashlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = {"haiku_state/commands/doctor/sets.json"}  # what the matrix itself writes


def tree_hash(root: Path = ROOT) -> str:
    """Hash the names and contents of all files of the package and of its tests."""
    return digest(root, "haiku_state", "tests")


def set_hash(name: str, root: Path = ROOT) -> str:
    """Hash the pins of one set."""
    return digest(root, f"conf/constraints/jax-{name}.txt")


def digest(root: Path, *parts: str) -> str:
    """Hash files and folders, without what the matrix itself publishes."""
    found = hashlib.sha256()
    for file in sorted(file for part in parts for file in files(root / part)):
        relative = file.relative_to(root).as_posix()
        if relative not in PUBLISHED:
            found.update(relative.encode() + b"\0" + file.read_bytes())
    return found.hexdigest()[:16]


def files(path: Path) -> list[Path]:
    """Give a file, or all files of a folder but what Python caches there."""
    if path.is_file():
        return [path]
    found = (file for file in path.rglob("*") if "__pycache__" not in file.parts)
    return [file for file in found if file.is_file()]
