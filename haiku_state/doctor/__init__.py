"""The ``doctor`` command: which versions are here, whether they fit, what would fail, what helps.

It works where ``import jax`` or ``import haiku`` fails: it looks at the metadata of what is
installed, and tries the rest in a process of its own.
"""

import argparse
import io
import sys
from collections.abc import Sequence
from typing import NoReturn

from haiku_state.doctor.report import print_report
from haiku_state.doctor.trial import try_steps
from haiku_state.doctor.versions import CORE, Table, examine, install_line
from haiku_state.errors.versions import UnmatchedVersionsError

HELP = "say which versions are installed, what would fail, and what to install instead"


class OneLineParser(argparse.ArgumentParser):
    """A parser that answers a bad argument with one line."""

    def error(self, message: str) -> NoReturn:
        """Print one line, and leave with exit code 2."""
        self.exit(2, f"{self.prog}: error: {message}\n")


def doctor() -> int:
    """Print what is installed, what works and what to do.

    Returns:
      0 if all would work, 1 if something would fail.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal that has no Chinese must not end it
        sys.stdout.reconfigure(errors="replace")
    findings = examine(Table.read())
    return print_report(findings, try_steps("orbax-checkpoint" in findings.found))


def unmatched(cause: Exception) -> BaseException:
    """Say what to raise where the package cannot be imported.

    Args:
      cause: what importing Haiku, or what else the package needs, has raised.

    Returns:
      An error with the versions and the line to install others. If this process was started as
      ``python -m haiku_state doctor``, the report has been printed, and it is a ``SystemExit``.
    """
    if (arguments := _asked_for()) is not None:
        OneLineParser(prog="haiku_state doctor", description=HELP).parse_args(arguments)
        return SystemExit(doctor())
    findings = examine(Table.read())
    here = {name: findings.found[name] for name in CORE if name in findings.found}
    asked = " ".join(f'"{name}=={version}"' for name, version in here.items())
    said = (str(cause).splitlines() or [""])[0]
    return UnmatchedVersionsError(
        versions=", ".join(f"{name} {version}" for name, version in here.items()) or "-",
        said=f"{type(cause).__name__}: {said}",
        wrong=f"python -m pip install {asked}" if asked else "import haiku_state",
        right=install_line(findings, works=False) or "python -m haiku_state doctor",
    )


def _asked_for() -> Sequence[str] | None:
    """The words after ``python -m haiku_state doctor``, if that is what runs here."""
    # while the package is being imported, sys.argv[0] stands for the two words of -m
    before = sys.orig_argv[-len(sys.argv) - 1 : 1 - len(sys.argv) or None]
    if sys.argv[1:2] == ["doctor"] and "".join(before).endswith("mhaiku_state"):
        return sys.argv[2:]
    return None
