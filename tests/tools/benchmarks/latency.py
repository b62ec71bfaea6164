"""How long a learner waits: for a command, and in the one command from a save to the verdict.

python tests/tools benchmarks.latency
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from support.user import User
from tools.walk import Stay

from haiku_state.exercises import names, solution
from haiku_state.exercises.courses import ours
from haiku_state.exercises.folder import DEFAULT, Folder
from haiku_state.exercises.judge import missing_for

COMMAND = [sys.executable, "-m", "haiku_state", "exercises"]
ROUNDS = 5
PAUSE = 5
"""Seconds between two saves, in which the next check is made ready."""


def seconds(learner, *words):
    """The time that a command takes."""
    start = time.perf_counter()
    ended = learner.run(*COMMAND, *words)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return time.perf_counter() - start


def told(what, times):
    """Print the median, and the longest."""
    slowest = max(times, key=times.get)
    print(f"{what:24} median {statistics.median(times.values()):.2f} s   "
          f"longest {times[slowest]:.2f} s ({slowest})", flush=True)  # fmt: skip


def saved(stay, possible):
    """Yield for each exercise the seconds from a save of its solution to the verdict."""
    for name in possible:
        while f"{name}.py" not in "".join(stay.lines[-4:]):
            stay.press("n")
        time.sleep(PAUSE)
        start = time.perf_counter()
        stay.save(name, solution(name) + "\n")
        yield name, time.perf_counter() - start
        assert any(line.startswith("passed: ") for line in stay.lines), name


def main():
    """Time the commands, a check of each solution as a process of its own, and after a save."""
    possible = [name for name in names() if not missing_for(ours().load(name))]
    with tempfile.TemporaryDirectory() as place:
        learner = User(Path(place))
        stay = Stay(learner, "en")
        told("save to verdict", dict(saved(stay, possible)))
        stay.quit()
        folder = Folder(learner.folder / DEFAULT)
        for name in possible:
            folder.start(name)
        for word in ("list", "hint", "progress"):
            told(word, {n: seconds(learner, word) for n in range(ROUNDS)})
        told("check, a process", {name: seconds(learner, "check", name) for name in possible})


if __name__ == "__main__":
    main()
