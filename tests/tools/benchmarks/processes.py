"""The driver's side of the workers: start them, ask them one at a time, end them."""

import contextlib
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from tools import ROOT
from tools.benchmarks.problem import Size

FOLDER = ROOT / "tests"


class WorkerError(Exception):
    """A worker has died."""


class Worker:
    """One contender in a process of its own."""

    def __init__(self, contender: str, size: Size, devices: int = 1) -> None:
        self.name = contender
        options = {} if devices == 1 else {"devices": devices}
        task = {"contender": contender, "size": size._asdict(), "options": options}
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  # closed in close
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tools.benchmarks.worker", json.dumps(task)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            bufsize=1,
            cwd=FOLDER,
            env=environment(devices),
        )

    @functools.cached_property
    def ready(self) -> dict[str, Any]:
        """What it says when it is set up: on how many devices, or what is missing."""
        return self._answer()

    def ask(self, **command: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the answer that fails to come says it better
            self._process.stdin.write(json.dumps(command) + "\n")
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        self._process.wait()
        self._errors.seek(0)
        raise WorkerError(f"{self.name} has died:\n{self._errors.read()[-3000:]}")

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()  # the end of its loop
        self._process.stdout.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()


@contextlib.contextmanager
def started(workers: dict[str, Any]) -> Iterator[dict[str, Worker]]:
    """Start workers, ``{label: arguments of Worker}``, wait for all of them, and end them."""
    with contextlib.ExitStack() as stack:
        running = {}
        for label, arguments in workers.items():
            running[label] = Worker(**arguments)
            stack.callback(running[label].close)
        for worker in running.values():
            _ = worker.ready
        yield running


def environment(devices: int = 1) -> dict[str, str]:
    """Give the environment of a process that measures: one CPU, cut into so many devices."""
    values = {"JAX_PLATFORMS": "cpu", **os.environ}
    values.pop("PYTHONDONTWRITEBYTECODE", None)
    force = "--xla_force_host_platform_device_count"
    flags = [flag for flag in values.get("XLA_FLAGS", "").split() if not flag.startswith(force)]
    values["XLA_FLAGS"] = " ".join([*flags, f"{force}={devices}"])
    if devices > 1:  # as use_devices does: with fewer threads, collectives may wait for ever
        values["NPROC"] = str(max(4 * devices, os.cpu_count() or 1))
    return values


def seconds_to_import(modules: str) -> float:
    """Import modules, ``"jax, haiku"`` say, in a fresh process, and take the time."""
    code = (
        "import time; start = time.perf_counter()\n"
        f"import {modules}\n"
        "print(time.perf_counter() - start)"
    )
    return float(_output("-c", code))


def seconds_of_program(name: str) -> tuple[float, float]:
    """Run a program of ``cold.py`` in a fresh process.

    Returns:
      The time from its start to its end, and the loss that it has printed.
    """
    start = time.perf_counter()
    loss = float(_output("-m", "tools.benchmarks.cold", name))
    return time.perf_counter() - start, loss


def _output(*arguments: str) -> str:
    result = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=FOLDER,
        env=environment(),
        check=False,
    )
    if result.returncode:
        raise WorkerError(f"{' '.join(arguments)} has failed:\n{result.stderr[-3000:]}")
    return result.stdout
