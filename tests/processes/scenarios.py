"""What becomes of processes that train as one where something goes wrong, as a table.

    python tests/processes/scenarios.py [WORD]...

runs those whose name has one of the words, or all, and exits with 1 if one of them ends otherwise
than it should. All take some minutes, so pytest runs three of them unless it runs what is slow.
"""

import contextlib
import dataclasses
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import jax
import optax  # noqa: F401  imported once, before all forks
import orbax.checkpoint  # noqa: F401
import sklearn.datasets
import sklearn.model_selection  # noqa: F401

from haiku_state.commands.main import main
from haiku_state.compat import connectable_cpu_devices

LIMIT = 120  # seconds after which a process is killed, and its scenario has failed
TIMEOUT = 20  # seconds that the processes are told to wait; a loaded machine starts slowly
ENDLESS = ("--epochs", "100000")
ABORT = -signal.SIGABRT
SLOW_END = 40 if connectable_cpu_devices() else 0  # as many seconds later JAX 0.4.30 may end
LOST = {3, ABORT, 1}  # JAX may be faster than Python: by an abort, or as 0.7 and 0.8 do


class Forked(BaseException):
    """Carries a forked process out of all functions, so that it ends as any other program does."""


class Process:
    """A forked process that runs the command line."""

    def __init__(self, arguments: Sequence[str], output: Path) -> None:
        self._output, self._start, self.seconds, self.code = output, time.monotonic(), 0.0, None
        self.pid = os.fork()
        if not self.pid:
            for descriptor in (1, 2):
                with Path(f"{self._output}.{descriptor}").open("wb") as file:
                    os.dup2(file.fileno(), descriptor)
            raise Forked(arguments)

    def text(self, descriptor: int) -> str:
        with contextlib.suppress(FileNotFoundError):
            return Path(f"{self._output}.{descriptor}").read_text(errors="replace")
        return ""

    def poll(self) -> bool:
        """Return whether it has ended."""
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.seconds = time.monotonic() - self._start
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
            elif self.seconds > LIMIT:
                os.kill(self.pid, signal.SIGKILL)
        return self.code is not None

    def says(self) -> str:
        """Return the line that tells its end: our sentence, or else the last line."""
        skipped = re.compile(r"\s*$|.*\[Gloo\]|haiku_state: process \d+ of \d+ joins")
        lines = [line for line in self.text(2).splitlines() if not skipped.match(line)]
        ours = [
            line
            for line in lines
            if re.match(r"haiku_state( train)?: (error|stopped|interrupted)", line)
        ]
        named = [line for line in lines if re.match(r"haiku_state\.errors\.\S+: ", line)]
        raw = [line for line in lines if re.match(r"Traceback|[\w.]*Error: ", line)]
        printed = [line for line in self.text(1).splitlines() if "[Gloo]" not in line]
        return (ours or named or raw[-1:] or printed[-1:] or lines[-1:] or [""])[0]


@dataclasses.dataclass
class Scenario:
    """What the processes are told, what happens to them, and how each must end."""

    name: str
    each: Sequence[Sequence[str]]
    """The arguments of each process, besides those of all."""

    codes: Sequence[int | set[int]]
    """The exit code of each process, or those that it may have."""

    says: str = ""
    """What each process that ends by itself must say, as a pattern."""

    act: Callable[["Run"], None] = lambda run: None
    within: float = TIMEOUT + 12 + SLOW_END
    is_told: bool = False
    """Whether one must say it, who may take the others with it, by an abort."""

    def run(self, folder: Path) -> tuple[bool, str]:
        """Run it; return whether all ended as they should, and the row of the table."""
        run = Run(self, folder)
        for index, arguments in enumerate(self.each):
            run.add(index, arguments)
        self.act(run)
        run.wait()
        good = len(run.processes) == len(self.codes)
        for process, codes in zip(run.processes, self.codes, strict=True):
            good &= process.code in (codes if isinstance(codes, set) else {codes})
            good &= process.seconds - run.acted < self.within
            text = process.text(2)
            if process.code in (2, 3, 130, 143):
                good &= re.search(self.says, process.says()) is not None
            good &= process.code == ABORT or "Traceback" not in text
        good &= not self.is_told or any(process.code in (2, 3) for process in run.processes)
        codes = " ".join(str(process.code) for process in run.processes)
        seconds = " ".join(f"{process.seconds - run.acted:.1f}" for process in run.processes)
        says = dict.fromkeys(filter(None, (process.says()[:200] for process in run.processes)))
        return good, f"| {self.name} | {codes} | {seconds} | {' / '.join(says)} |"


class Run:
    """The processes of one scenario."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        self._scenario, self.folder = scenario, folder
        with socket.create_server(("", 0)) as server:
            self.port = server.getsockname()[1]
        self.processes: list[Process] = []
        self.acted = 0.0
        self._start = time.monotonic()

    def add(self, index: int, arguments: Sequence[str]) -> None:
        """Start one more process."""
        common = {
            "--model": "regression",
            "--update": "shard",
            "--epochs": "2",
            "--batch-size": "48",
            "--coordinator": f"localhost:{self.port}",
            "--num-processes": str(max(2, len(self._scenario.each))),
            "--process-id": str(index),
            "--timeout": str(TIMEOUT),
        }
        given = [text.format(folder=self.folder, port=self.port) for text in arguments]
        common |= dict(zip(given[::2], given[1::2], strict=True))
        words = [word for pair in common.items() if pair[1] != "-" for word in pair]
        output = self.folder / f"output{len(self.processes)}"
        self.processes.append(Process(["train", *words], output))

    def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so, or all have ended."""
        while not is_so() and not all([process.poll() for process in self.processes]):
            time.sleep(0.002)
        self.acted = time.monotonic() - self._start

    def wait(self) -> None:
        while not all([process.poll() for process in self.processes]):
            time.sleep(0.01)

    def signal(self, number: int, *indices: int) -> None:
        for index in indices:
            if not self.processes[index].poll():
                os.kill(self.processes[index].pid, number)

    def is_waiting(self) -> bool:
        return (
            "joins the others" in self.processes[0].text(2) and time.monotonic() > self._start + 2
        )

    def is_training(self) -> bool:
        return "\n    3 " in self.processes[0].text(1)

    def is_saving(self) -> bool:
        saved = (self.folder / "run" / "2").exists()
        return saved and any((self.folder / "run").glob("*.orbax-checkpoint-tmp-new"))


def sends(number: int, *indices: int, when: str = "is_training") -> Callable[[Run], None]:
    """Return what sends a signal to some processes at a certain time."""

    def act(run: Run) -> None:
        run.until(getattr(run, when))
        run.signal(number, *indices)

    return act


def stops_for_good(*indices: int, when: str = "is_training") -> Callable[[Run], None]:
    """Return what stops some processes, and kills them when the others have ended."""

    def act(run: Run) -> None:
        sends(signal.SIGSTOP, *indices, when=when)(run)
        others = [p for i, p in enumerate(run.processes) if i not in indices]
        while not all([process.poll() for process in others]):
            time.sleep(0.01)
        run.signal(signal.SIGKILL, *indices)

    return act


def stops_for(seconds: float, index: int) -> Callable[[Run], None]:
    """Return what stops a process for some seconds."""

    def act(run: Run) -> None:
        sends(signal.SIGSTOP, index)(run)
        time.sleep(seconds)
        run.signal(signal.SIGCONT, index)
        time.sleep(1)
        run.signal(signal.SIGTERM, index)

    return act


def twice(index: int) -> Callable[[Run], None]:
    """Return what starts a process with an id that is taken, and ends the others then."""

    def act(run: Run) -> None:
        run.until(run.is_training)
        run.add(index, ())
        while not run.processes[-1].poll():
            time.sleep(0.01)
        run.signal(signal.SIGKILL, 0, 1)

    return act


def occupied(run: Run) -> None:
    """The port is in use already, and process 0 starts late."""
    with socket.create_server(("", run.port)):
        run.add(0, ())
        run.wait()


def later(seconds: float) -> Callable[[Run], None]:
    """Return what starts process 1 after process 0."""

    def act(run: Run) -> None:
        time.sleep(seconds)
        run.add(1, ())

    return act


RUN = ("--checkpoint-dir", "{folder}/run")
SAVING = (*ENDLESS, *RUN, "--checkpoint-every", "1")
KILL, TERM, INT = signal.SIGKILL, signal.SIGTERM, signal.SIGINT


def differ(option: str, first: str, second: str, *others: str) -> Scenario:
    """Return the scenario in which an option differs between two processes."""
    name = option.removeprefix("--").replace("-", "_")
    return Scenario(
        f"{option} {first} and {second}",
        [(option, first, *others), (option, second, *others)],
        [2, 2],
        rf"processes have different settings.*{name}",
    )


SCENARIOS = [
    Scenario("both the same", [()] * 2, [0, 0]),
    Scenario("three the same", [()] * 3, [0, 0, 0]),
    Scenario("both the same, with checkpoints", [RUN] * 2, [0, 0]),
    differ("--seed", "0", "1"),
    differ("--epochs", "2", "5"),
    differ("--epochs", "5", "2"),
    differ("--model", "regression", "classifier"),
    differ("--batch-size", "48", "32"),
    differ("--update", "shard", "shard_map"),
    differ("--devices", "1", "2"),
    differ("--timeout", "20", "25"),
    differ("--checkpoint-dir", "{folder}/a", "{folder}/b"),
    differ("--checkpoint-dir", "{folder}/a", "-"),
    differ("--checkpoint-dir", "-", "{folder}/a"),
    differ("--checkpoint-every", "2", "3", *RUN),
    Scenario(
        "--seed 1 in the third of three",
        [(), (), ("--seed", "1")],
        [2, 2, 2],
        r"processes have different settings.*seed",
    ),
    Scenario(
        "--num-processes 2 and 3",
        [("--num-processes", "2"), ("--num-processes", "3")],
        [{2, *LOST}] * 2,
        r"processes have different settings.*num_processes|could not join",
        is_told=True,
    ),
    Scenario(
        "--num-processes 3 and 2",
        [("--num-processes", "3"), ("--num-processes", "2")],
        [{2, *LOST}] * 2,
        "a different num_processes",
        is_told=True,
    ),
    Scenario(
        "process 1 never comes",
        [("--num-processes", "2")],
        [3],
        "could not join the others",
    ),
    Scenario(
        "process 0 never comes",
        [("--num-processes", "2", "--process-id", "1")],
        [3],
        "could not join the others",
    ),
    Scenario(
        "one of three never comes",
        [("--num-processes", "3")] * 2,
        [{2, *LOST}] * 2,  # the first to end may take the connection of the other with it
        "could not join the others",
        is_told=True,
    ),
    Scenario(
        "process 0 twice from the start",
        [("--process-id", "0")] * 2,
        [{2, *LOST}] * 2,  # JAX may find the port taken before this package does
        "process 0|could not",
        is_told=True,
    ),
    Scenario(
        "process 1 twice from the start",
        [
            ("--num-processes", "3"),
            ("--num-processes", "3"),
            ("--num-processes", "3", "--process-id", "1"),
        ],
        [{2, *LOST}] * 3,
        "could not join",
        is_told=True,
    ),
    Scenario(
        "process 1 killed in training",
        [ENDLESS] * 2,
        [LOST, -9],
        "waiting for another",
        sends(KILL, 1),
    ),
    Scenario(
        "process 0 killed in training",
        [ENDLESS] * 2,
        [-9, LOST],
        "waiting for another",
        sends(KILL, 0),
    ),
    Scenario(
        "process 2 of three killed in training",
        [ENDLESS] * 3,
        [LOST, LOST, -9],
        "waiting for another",
        sends(KILL, 2),
    ),
    Scenario(
        "process 1 killed in a save",
        [SAVING] * 2,
        [LOST, -9],
        "waiting for another",
        sends(KILL, 1, when="is_saving"),
    ),
    Scenario(
        "process 0 killed in a save",
        [SAVING] * 2,
        [-9, LOST],
        "waiting for another",
        sends(KILL, 0, when="is_saving"),
    ),
    Scenario(
        "process 2 of three killed in a save",
        [SAVING] * 3,
        [LOST, LOST, -9],
        "waiting for another",
        sends(KILL, 2, when="is_saving"),
    ),
    Scenario(
        "process 1 stopped (SIGSTOP) in training",
        [ENDLESS] * 2,
        [3, -9],
        "waiting for another",
        stops_for_good(1),
    ),
    Scenario(
        "process 0 stopped (SIGSTOP) in training",
        [ENDLESS] * 2,
        [-9, LOST],
        "waiting for another",
        stops_for_good(0),
    ),
    Scenario(
        "process 1 stopped (SIGSTOP) in a save",
        [SAVING] * 2,
        [3, -9],
        "waiting for another",
        stops_for_good(1, when="is_saving"),
    ),
    Scenario(
        "process 0 stopped (SIGSTOP) in a save",
        [SAVING] * 2,
        [-9, LOST],
        "waiting for another",
        stops_for_good(0, when="is_saving"),
    ),
    Scenario(
        "process 1 stopped for 3 s, then SIGTERM",
        [ENDLESS] * 2,
        [143, 143],
        "SIGTERM",
        stops_for(3, 1),
    ),
    Scenario("SIGTERM to process 0", [ENDLESS] * 2, [143, 143], "SIGTERM", sends(TERM, 0)),
    Scenario("SIGTERM to process 1", [ENDLESS] * 2, [143, 143], "SIGTERM", sends(TERM, 1)),
    Scenario("SIGTERM to both", [ENDLESS] * 2, [143, 143], "SIGTERM", sends(TERM, 0, 1)),
    Scenario(
        "SIGTERM to process 1, with checkpoints",
        [(*ENDLESS, *RUN)] * 2,
        [143, 143],
        "SIGTERM",
        sends(TERM, 1),
    ),
    Scenario(
        "SIGTERM to both in a save",
        [SAVING] * 2,
        [143, 143],
        "SIGTERM",
        sends(TERM, 0, 1, when="is_saving"),
    ),
    Scenario("SIGINT to both", [ENDLESS] * 2, [{130, *LOST}] * 2, "interrupted", sends(INT, 0, 1)),
    Scenario(
        "SIGINT to process 0",
        [ENDLESS] * 2,
        [130, LOST],
        "interrupted|waiting for another",
        sends(INT, 0),
    ),
    Scenario(
        "SIGINT to process 1",
        [ENDLESS] * 2,
        [LOST, 130],
        "interrupted|waiting for another",
        sends(INT, 1),
    ),
    Scenario(
        "SIGINT to both in a save",
        [SAVING] * 2,
        [130, 130],
        "stopped by Ctrl-C, saved in",
        sends(INT, 0, 1, when="is_saving"),
    ),
]

ALONE = ("--coordinator", "-", "--num-processes", "-", "--process-id", "-")
SCENARIOS += [
    Scenario("one process: SIGTERM", [(*ALONE, *ENDLESS)], [-15], "", sends(TERM, 0)),
    Scenario(
        "one process: SIGTERM, with checkpoints",
        [(*ALONE, *ENDLESS, *RUN)],
        [143],
        "SIGTERM",
        sends(TERM, 0),
    ),
    Scenario(
        "one process: SIGINT, with checkpoints",
        [(*ALONE, *ENDLESS, *RUN)],
        [130],
        "stopped by Ctrl-C, saved in",
        sends(INT, 0),
    ),
    Scenario("one process: SIGINT", [(*ALONE, *ENDLESS)], [130], "interrupted", sends(INT, 0)),
    Scenario(
        "SIGINT while it waits for process 1",
        [("--num-processes", "2")],
        [130],
        "interrupted",
        sends(INT, 0, when="is_waiting"),
    ),
    Scenario("process 1 comes 3 s later", [("--num-processes", "2")], [0, 0], "", later(3)),
    Scenario(
        "process 0 again while both train",
        [ENDLESS] * 2,
        [{-9, *LOST}, {-9, *LOST}, 2],
        "cannot listen|waiting for",
        twice(0),
    ),
    Scenario(
        "process 1 again while both train",
        [ENDLESS] * 2,
        [{-9, *LOST}, {-9, *LOST}, 3],
        "could not join|waiting for",
        twice(1),
    ),
    Scenario("port in use", [], [2], "Address already in use", occupied),
]


def table(words: Sequence[str]) -> bool:
    """Print the table of the scenarios whose name has one of the words."""
    print(f"JAX {jax.__version__}, --timeout {TIMEOUT}\n")
    head = "| scenario | exit codes | seconds | what it says |\n|---|---|---|---|"
    print(head, flush=True)  # or else each forked process would print it as well
    all_good = True
    for scenario in SCENARIOS:
        if not words or any(word in scenario.name for word in words):
            folder = Path(tempfile.mkdtemp())
            good, row = scenario.run(folder)
            shutil.rmtree(folder)
            print(row if good else f"{row} **unexpected** |", flush=True)
            all_good &= good
    return all_good


if __name__ == "__main__":
    # a shell's background job ignores it, and what it starts inherits that
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        code = int(not table(sys.argv[1:]))
    except Forked as forked:
        order = forked
    else:
        sys.exit(code)
    sys.argv[1:] = order.args[0]  # as a process of its own has them: Ctrl-C then ends it at once
    sys.exit(main())
