"""How long a learner waits: ``check``, beside the import of JAX alone, and ``watch`` after a save.

python tests/exercises/latency.py
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from haiku_state.exercises import names, solution
from haiku_state.exercises.folder import DEFAULT, Folder
from haiku_state.exercises.tasks import load

sys.path.append(str(Path(__file__).parents[1]))

from user import User

COMMAND = [sys.executable, "-m", "haiku_state", "exercises"]


def seconds(learner, *words):
    """The time that a command takes."""
    start = time.perf_counter()
    assert learner.run(*words).returncode == 0
    return time.perf_counter() - start


def main():
    """Check each solution in a fresh process, in turn with the import; then save it in a watch."""
    possible = [name for name in names() if not (needs := load(name).needs) or not needs()]
    with tempfile.TemporaryDirectory() as place:
        learner = User(Path(place))
        folder = Folder(learner.folder / DEFAULT)
        imports, checks = [], {}
        for name in possible:
            folder.start(name)
            folder.file_of(name).write_text(solution(name), encoding="utf-8")
            imports.append(seconds(learner, sys.executable, "-c", "import jax"))
            checks[name] = seconds(learner, *COMMAND, "check", name)
            print(f"{name:18} check {checks[name]:.1f} s", flush=True)
        saves = dict(watched(learner, folder, possible))
    slow = sorted(checks.values())[len(checks) * 3 // 4]
    print(f"import jax: {statistics.median(imports):.1f} s (median of {len(imports)})")
    print(f"check: median {statistics.median(checks.values()):.1f} s, "
          f"three of four within {slow:.1f} s, {sum(t < 4 for t in checks.values())} of "
          f"{len(checks)} under 4 s")  # fmt: skip
    print(f"watch, from save to result: median {statistics.median(saves.values()):.1f} s, "
          f"{sum(t < 2 for t in saves.values())} of {len(saves)} under 2 s, "
          f"longest {max(saves, key=saves.get)} {max(saves.values()):.1f} s")  # fmt: skip


def watched(learner, folder, possible):
    """Yield for each exercise the seconds from a save to its result."""
    watching = learner.start(*COMMAND, "watch")
    try:
        watching.stdout.readline()
        for name in (possible[0], *possible):  # the first one waits for the imports
            time.sleep(2)
            start = time.perf_counter()
            folder.file_of(name).write_text(solution(name), encoding="utf-8")
            while not watching.stdout.readline().startswith(("passed", "not yet")):
                pass
            yield name, time.perf_counter() - start
    finally:
        watching.terminate()
        watching.communicate()


if __name__ == "__main__":
    main()
