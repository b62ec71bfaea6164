"""How long a learner waits from the shell to the last line; ``watch`` from a save to the result.

python tests/benchmarks/latency.py
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from haiku_state.exercises import names, solution
from haiku_state.exercises.course import load
from haiku_state.exercises.folder import DEFAULT, Folder
from haiku_state.exercises.judge import missing_for

sys.path.append(str(Path(__file__).parents[1]))

from user import User

COMMAND = [sys.executable, "-m", "haiku_state", "exercises"]
ROUNDS = 5


def seconds(learner, *words):
    """The time that a command takes."""
    start = time.perf_counter()
    ended = learner.run(*COMMAND, *words)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return time.perf_counter() - start


def later(learner, name):
    """The time of a check after a pause, in which the server has made the next one ready."""
    time.sleep(2)
    return seconds(learner, "check", name)


def told(what, times):
    """Print the median, and the longest."""
    slowest = max(times, key=times.get)
    print(f"{what:24} median {statistics.median(times.values()):.2f} s   "
          f"longest {times[slowest]:.2f} s ({slowest})", flush=True)  # fmt: skip


def main():
    """Check each solution: without a server and a cache, with a server, and with both."""
    possible = [name for name in names() if not missing_for(load(name))]
    with tempfile.TemporaryDirectory() as place:
        learner = User(Path(place))
        folder = Folder(learner.folder / DEFAULT)
        for name in possible:
            folder.start(name)
            folder.file_of(name).write_text(solution(name), encoding="utf-8")
        for word in ("list", "hint", "progress"):
            told(word, {n: seconds(learner, word) for n in range(ROUNDS)})
        start = time.perf_counter()
        seconds(learner, "check", possible[0])
        print(f"the first check          {time.perf_counter() - start:.2f} s")
        told("solution", {n: seconds(learner, "solution", possible[0]) for n in range(ROUNDS)})
        told("check, cold", {name: seconds(learner, "check", name) for name in possible})
        told("check at once, warm", {name: seconds(learner, "check", name) for name in possible})
        told("check after 2 s, warm", {name: later(learner, name) for name in possible})
        told("watch, after a save", dict(watched(learner, folder, possible)))


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
