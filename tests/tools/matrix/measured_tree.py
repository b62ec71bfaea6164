"""Names the state of what a report is of: the package, the tests that a set runs, and the set."""

import hashlib
import subprocess
from pathlib import Path

from tools import ROOT

PUBLISHED = {"haiku_state/commands/doctor/sets.json"}  # what the matrix itself writes
NOT_RUN = ("distributions", "site", "sphinx", "tree")
NOT_RUN += ("tools/benchmarks", "tools/search", "tools/site", "tools/mutants.py")
NOT_RUN += ("tools/lessons/exemptions.py", "tools/lessons/tasks")
NOT_RUN += ("tools/matrix/gather.py", "tools/matrix/measured_tree.py", "tools/matrix/messages.py")
"""What of the tests no set runs, most of it because JAX makes no difference to it."""
NOT_ON_ALL = ("commands/test_exercises.py", "commands/test_main.py", "exercises/answers")
NOT_ON_ALL += ("exercises/test_answers.py", "exercises/test_sandbox.py", "exercises/test_walk.py")
"""What of the tests only the sets in WHOLE run."""
WHOLE = ("0.4.30", "0.6", "0.12")


def tree_hash(root: Path = ROOT) -> str:
    """Hash the names and contents of all files of the package and of the tests of every set."""
    without = (f":(exclude)tests/{part}" for part in NOT_RUN + NOT_ON_ALL)
    return digest(root, "haiku_state", "tests", *without)


def set_hash(name: str, root: Path = ROOT) -> str:
    """Hash the pins of one set, and the tests that it runs and others do not."""
    own = [f"tests/{part}" for part in NOT_ON_ALL] if name in WHOLE else []
    return digest(root, f"conf/constraints/jax-{name}.txt", *own)


def digest(root: Path, *parts: str) -> str:
    """Hash what git tracks, or would track, without what the matrix itself publishes."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *parts]
    listed = subprocess.run(command, cwd=root, capture_output=True, encoding="utf-8", check=True)
    found = hashlib.sha256()
    for name in sorted({*listed.stdout.split("\0")} - {"", *PUBLISHED}):
        if (root / name).is_file():  # or it has been deleted, and not yet committed
            found.update(name.encode() + b"\0" + (root / name).read_bytes())
    return found.hexdigest()[:16]
