"""Runs the probe in a process of its own, so that no failure of it is one of the doctor."""

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from haiku_state.doctor.probe import MARK, STEPS
from haiku_state.language import deferred as _
from haiku_state.language import translated

TIMEOUT = 180


class Step(NamedTuple):
    """One thing that was tried."""

    name: str
    status: str
    """``ok``, ``FAIL`` or ``skip``."""

    detail: str = ""
    seconds: float | None = None


def try_steps(
    checkpoint: bool, python: str = sys.executable, timeout: float = TIMEOUT
) -> Iterator[Step]:
    """Try each step, and give what came of it as soon as it is known.

    Args:
      checkpoint: whether Orbax is installed, so that checkpoints must work.
      python: the interpreter to try.
      timeout: how long all steps together may take, in seconds.
    """
    wanted = [name for name in STEPS if checkpoint or name != "save_checkpoint"]
    # as text: the package itself may not be importable, and its folder must not be on the path
    source = Path(__file__).with_name("probe.py").read_text(encoding="utf-8")
    command = [python, "-W", "ignore", "-c", source, *wanted]
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            encoding="utf-8",
            errors="replace",
        ) as child,
    ):
        late = threading.Event()

        def stop() -> None:
            late.set()
            child.kill()

        timer = threading.Timer(timeout, stop)
        timer.start()
        left = wanted
        try:
            assert child.stdout is not None
            for line in child.stdout:
                if line.startswith(MARK):
                    yield Step(**json.loads(line[len(MARK) :]))
                    left = left[1:]
            child.wait()
        finally:
            timer.cancel()
            child.kill()
        if left:
            yield Step(left[0], "FAIL", _why(late.is_set(), timeout, child.returncode, errors))
            yield from (Step(name, "skip") for name in left[1:])


def _why(late: bool, timeout: float, code: int, errors: IO[bytes]) -> str:
    if late:
        return translated(_("no answer within {timeout:g} seconds")).format(timeout=timeout)
    errors.seek(0)
    lines = [line for line in errors.read().decode("utf-8", "replace").splitlines() if line.strip()]
    text = translated(_("the process ended with exit code {code}: {line}"))
    return text.format(code=code, line=lines[-1].strip() if lines else "-")
