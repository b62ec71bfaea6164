"""Names the state of what a report is of: the package, the tests that a set runs, and the set."""

import hashlib
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = {"haiku_state/commands/doctor/sets.json"}  # what the matrix itself writes
NOT_RUN = ("benchmarks", "distributions", "search", "site", "sphinx", "tree")
NOT_RUN += ("lessons/exemptions.py", "lessons/tasks", "matrix/gather.py", "matrix/messages.py")
"""What of the tests no set runs, most of it because JAX makes no difference to it."""


def tree_hash(root: Path = ROOT) -> str:
    """Hash the names and contents of all files of the package and of the tests that a set runs."""
    without = (f":(exclude)tests/{part}" for part in NOT_RUN)
    return digest(root, "haiku_state", "tests", *without)


def set_hash(name: str, root: Path = ROOT) -> str:
    """Hash the pins of one set."""
    return digest(root, f"conf/constraints/jax-{name}.txt")


def digest(root: Path, *parts: str) -> str:
    """Hash what git tracks, or would track, without what the matrix itself publishes."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *parts]
    listed = subprocess.run(command, cwd=root, capture_output=True, encoding="utf-8", check=True)
    found = hashlib.sha256()
    for name in sorted({*listed.stdout.split("\0")} - {"", *PUBLISHED}):
        if (root / name).is_file():  # or it has been deleted, and not yet committed
            found.update(name.encode() + b"\0" + (root / name).read_bytes())
    return found.hexdigest()[:16]
