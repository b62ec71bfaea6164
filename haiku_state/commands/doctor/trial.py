"""Runs the probe in a separate process, so that its failures do not become the doctor's."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from typing import NamedTuple

from haiku_state.commands.doctor.probe import MARK, STEPS
from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import translated

TIMEOUT = 180
SUSPECTS = ("JAX_", "XLA_", "CUDA_", "LD_LIBRARY_PATH", "PYTHONOPTIMIZE")
"""How the names of the variables begin that change what the libraries do."""


class Step(NamedTuple):
    """One thing that was tried."""

    name: str
    status: str
    """``ok`` or ``FAIL``."""

    detail: str


def environment() -> dict[str, str]:
    """Return the variables of this process; ``PYTHONOPTIMIZE`` stands for ``-OO`` too."""
    optimize = {"PYTHONOPTIMIZE": str(sys.flags.optimize)} if sys.flags.optimize else {}
    return {**os.environ, **optimize}


def try_steps(
    wanted: Sequence[str] = tuple(STEPS),
    timeout: float = TIMEOUT,
    variables: dict[str, str] | None = None,
    folder: str | None = None,
) -> list[Step]:
    """Try one step after the other, until one fails.

    Args:
      wanted: the names of the steps.
      timeout: how long all steps together may take, in seconds.
      variables: the environment; by default, the environment of this process.
      folder: the current folder, in which Python looks first; by default, that of this process.
    """
    # as text: the package itself may not be importable, and its folder must not be on the path
    source = Path(__file__).with_name("probe.py").read_text(encoding="utf-8")
    command = [sys.executable, "-W", "ignore", "-c", source, *wanted]
    try:
        ran = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
            env=environment() if variables is None else variables,
            cwd=folder,
        )
        output = ran.stdout
        why = _last_words(ran.returncode, ran.stderr)
    except subprocess.TimeoutExpired as late:
        output = late.stdout or b""
        why = translated(_("no answer within {timeout:g} seconds")).format(timeout=timeout)
    lines = output.decode("utf-8", "replace").splitlines()
    done = [Step(*json.loads(line[len(MARK) :])) for line in lines if line.startswith(MARK)]
    if len(done) < len(wanted) and all(step.status == "ok" for step in done):
        done.append(Step(wanted[len(done)], "FAIL", why))  # it took the process with it
    return done


def hiding_files(steps: list[Step]) -> list[str]:
    """Find the files of the current folder that are imported in the place of a library.

    Args:
      steps: how each step went.

    Returns:
      The names of those with which the step that failed fails in another folder, where it works
      without them; nothing if it does not, or if nothing failed.
    """
    here = Path.cwd()
    found = {path.name: path.stem for path in here.glob("*.py")}
    found |= {f"{path.parent.name}/": path.parent.name for path in here.glob("*/__init__.py")}
    hiding = sorted(path for path, name in found.items() if _is_elsewhere(name))
    if all(step.status == "ok" for step in steps) or not hiding:
        return []

    def works(*names: str) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            for name in names:
                (Path(folder) / name).symlink_to(here / name)
            again = try_steps([step.name for step in steps], folder=folder)
        return all(step.status == "ok" for step in again)

    if not works():
        return []
    return [name for name in hiding if not works(name)] or hiding


def _is_elsewhere(name: str) -> bool:
    """Return whether Python, or what is installed, has a module of this name."""
    places = [place for place in sys.path if place not in ("", str(Path.cwd()))]
    return name in sys.stdlib_module_names or PathFinder.find_spec(name, places) is not None


def breaking_variables(steps: list[Step]) -> list[str]:
    """Find the variables without which the step that failed works.

    Args:
      steps: how each step went.

    Returns:
      ``NAME=value`` of one variable if removing it is enough; otherwise, of all suspects if the
      step works without them; nothing if it does not, or if nothing failed.
    """
    variables = environment()
    suspects = [name for name in variables if name.startswith(SUSPECTS)]

    def works(without: list[str]) -> bool:
        left = {name: value for name, value in variables.items() if name not in without}
        again = try_steps([step.name for step in steps], variables=left)
        return all(step.status == "ok" for step in again)

    if all(step.status == "ok" for step in steps) or not suspects or not works(suspects):
        return []
    found = next(([name] for name in suspects if works([name])), suspects)
    return [f"{name}={variables[name]}" for name in found]


def _last_words(code: int, errors: bytes) -> str:
    lines = [line for line in errors.decode("utf-8", "replace").splitlines() if line.strip()]
    text = translated(_("the process ended with exit code {code}: {line}"))
    return text.format(code=code, line=lines[-1].strip() if lines else "-")
