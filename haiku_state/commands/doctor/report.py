"""Prints what the doctor has found, in the reader's language; code and names stay as they are."""

import platform
import sys
from collections.abc import Sequence

from haiku_state.commands.doctor.trial import Step
from haiku_state.commands.doctor.versions import CORE, NAMES, Findings, install_line
from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import translated


def print_versions(findings: Findings) -> None:
    """Print what is installed next to the nearest tested set."""
    found, pins = findings.found, findings.pins
    print(f"haiku_state doctor: Python {findings.python}, {sys.platform} {platform.machine()}\n")
    print(translated(_("the installed versions, and the versions of the nearest tested set")))
    for name in NAMES:
        if name in found or name in CORE:
            mark = translated(_("differs")) if name in findings.differing else ""
            row = f"  {name:<18}{found.get(name, '-'):<12}{pins.get(name, ''):<12}{mark}"
            print(row.rstrip())
    print(flush=True)  # what comes next takes some seconds


def print_outcome(
    findings: Findings,
    steps: list[Step],
    breaking: Sequence[str] = (),
    hiding: Sequence[str] = (),
) -> int:
    """Print how each step went, then what to do.

    Args:
      findings: what is installed.
      steps: how each step went.
      breaking: the settings of the environment that make a step fail.
      hiding: the files of this folder that make a step fail.

    Returns:
      0 if everything works, 1 if something fails.
    """
    print(translated(_("steps")))
    for name, status, detail in steps:
        print(f"  {status:<4}  {name:<18}  {detail}".rstrip())
    failing = [step.name for step in steps if step.status == "FAIL"]
    print("\n" + translated(_("result")))
    if failing:
        text = _("This would fail: {failing}.")
    elif findings.tested:
        text = _("All steps work, and this set of versions is tested.")
    else:
        text = _("All steps work, but this set of versions was not tested.")
    print("  " + translated(text).format(failing=", ".join(failing)))
    if hiding:
        text = _(
            "The cause is in this folder: Python imports {files} from it instead of the library of "
            "the same name. Rename what is listed here to solve the problem."
        )
        print("  " + translated(text).format(files=", ".join(hiding)))
    elif breaking:  # then nothing has to be installed
        text = _("The cause is an environment variable: everything works without {settings}")
        settings = " ".join(breaking).replace("PYTHONOPTIMIZE=2", "PYTHONOPTIMIZE=2 (python -OO)")
        print("  " + translated(text).format(settings=settings))
    elif findings.nearest is None:
        text = _(
            "No set of versions was tested with Python {python}; the tested sets are for Python "
            "{pythons}."
        )
        pythons = ", ".join(findings.pythons)
        print("  " + translated(text).format(python=findings.python, pythons=pythons))
    elif failing or not findings.tested:
        text = _("To install the tested set {name}:")
        print("  " + translated(text).format(name=findings.nearest))
        print("  " + install_line(findings))
    return 1 if failing else 0
