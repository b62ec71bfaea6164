"""Names the state of the tree that a report is of."""

import hashlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MEASURED = ("haiku_state", "tests", "conf", "docs", "pyproject.toml", "tox.ini")
PUBLISHED = {"haiku_state/compat.json"}  # what the matrix itself writes


def tree_hash(root: Path = ROOT) -> str:
    """Hash the names and contents of what the tests of a factor read."""
    digest = hashlib.sha256()
    for file in sorted(file for part in MEASURED for file in files(root / part)):
        name = file.relative_to(root).as_posix()
        if name not in PUBLISHED:
            digest.update(name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def files(path: Path) -> list[Path]:
    """Give a file, or all files of a folder but what Python caches there."""
    if path.is_file():
        return [path]
    found = (file for file in path.rglob("*") if "__pycache__" not in file.parts)
    return [file for file in found if file.is_file()]
