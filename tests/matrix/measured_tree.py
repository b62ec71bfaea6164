"""Names the state of what a report is of: the package, and the set of versions."""

import hashlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = {"haiku_state/compat.json"}  # what the matrix itself writes


def tree_hash(name: str, root: Path = ROOT) -> str:
    """Hash the names and contents of the package's files, and those of one set."""
    digest = hashlib.sha256()
    measured = (root / "haiku_state", root / f"conf/constraints/jax-{name}.txt")
    for file in sorted(file for part in measured for file in files(part)):
        relative = file.relative_to(root).as_posix()
        if relative not in PUBLISHED:
            digest.update(relative.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def files(path: Path) -> list[Path]:
    """Give a file, or all files of a folder but what Python caches there."""
    if path.is_file():
        return [path]
    found = (file for file in path.rglob("*") if "__pycache__" not in file.parts)
    return [file for file in found if file.is_file()]
