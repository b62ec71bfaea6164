"""Prints what the doctor has found, in the reader's language; code and names stay as they are."""

import platform
import sys
import unicodedata
from collections.abc import Iterable

from haiku_state.doctor.trial import Step
from haiku_state.doctor.versions import (
    CORE,
    EXTRAS,
    NAMES,
    PLUGINS,
    Findings,
    install_line,
    notes,
)
from haiku_state.language import deferred as _
from haiku_state.language import translated


def print_report(findings: Findings, steps: Iterable[Step]) -> int:
    """Print the versions, then each step as it comes, then what to do.

    Returns:
      0 if all would work, 1 if something would fail.
    """
    _print_versions(findings)
    print()
    print(translated(_("set")))
    print(f"  {_about_set(findings)}")
    print()
    print(translated(_("steps")), flush=True)
    done = []
    for step in steps:
        done.append(step)
        print(_step_line(step), flush=True)
    failing = [step.name for step in done if step.status == "FAIL"]
    too_old = [f"{name} {findings.found[name]}" for name in findings.too_old]
    others = notes(findings) + _no_accelerator(findings, done)
    if too_old or others:
        print()
        print(translated(_("notes")))
        for name in findings.too_old:
            print(f"  FAIL  {_about_too_old(findings, name)}")
        for line in others:
            print(f"  note  {line}")
    print()
    print(translated(_("result")))
    for line in _result(findings, ", ".join([*failing, *too_old])):
        print(f"  {line}")
    return 1 if failing or too_old else 0


def _print_versions(findings: Findings) -> None:
    found, pins = findings.found, findings.pins
    print(f"haiku_state doctor: Python {findings.python}, {sys.platform} {platform.machine()}")
    print()
    compared = translated(_("set {name}")).format(name=findings.nearest) if pins else ""
    print(_row(translated(_("versions")), translated(_("installed")), compared, indent=0))
    wrong = [*findings.differing, *findings.beside] if pins else []
    for name in NAMES:
        if name in found:
            mark = translated(_("differs")) if name in wrong else ""
            print(_row(name, found[name], pins.get(name, ""), mark))
        elif name in EXTRAS:
            text = _("not installed; it comes with {extra}")
            print(_row(name, "-", translated(text).format(extra=f"haiku-state[{EXTRAS[name]}]")))
        elif name in CORE:
            print(_row(name, "-", pins.get(name, ""), translated(_("not installed"))))


def _about_set(findings: Findings) -> str:
    if findings.nearest is None:
        return translated(_("This is not a measured set."))
    measured = findings.table.sets[findings.nearest]
    if findings.measured:
        text = _("This is the measured set {name}: on {date}, {tests} on Python {python}.")
    else:
        text = _(
            "This is not a measured set. The nearest is set {name}: on {date}, {tests} on "
            "Python {python}."
        )
    return translated(text).format(
        name=findings.nearest,
        date=findings.table.date,
        tests=_about_tests(measured["tests"]),
        python=measured["python"],
    )


def _about_too_old(findings: Findings, name: str) -> str:
    text = _("{name} {found} is too old: {oldest} is the oldest that the package supports.")
    oldest = findings.table.oldest(name)
    return translated(text).format(name=name, found=findings.found[name], oldest=oldest)


def _about_tests(tests: dict[str, int]) -> str:
    if tests["failed"]:
        text = _("{passed} tests passed and {failed} failed")
        return translated(text).format(passed=tests["passed"], failed=tests["failed"])
    return translated(_("{passed} tests passed")).format(passed=tests["passed"])


def _step_line(step: Step) -> str:
    detail = step.detail
    if step.status == "skip":
        text = _("not tried: it needs {other}") if detail else _("not tried")
        detail = translated(text).format(other=detail)
    seconds = "" if step.seconds is None else f"{step.seconds:.1f} s"
    return f"  {step.status:<4}  {step.name:<18}  {seconds:>7}  {detail}".rstrip()


def _no_accelerator(findings: Findings, steps: Iterable[Step]) -> list[str]:
    """A plugin that is there and is not used."""
    on_cpu = any(s.name == "jax.devices()" and s.detail.startswith("cpu:") for s in steps)
    text = _(
        "{plugin} is installed, and JAX uses the CPU: no GPU is seen, or JAX_PLATFORMS is set."
    )
    return [
        translated(text).format(plugin=plugin)
        for plugin in PLUGINS
        if on_cpu and plugin in findings.found
    ]


def _result(findings: Findings, failing: str) -> list[str]:
    line = install_line(findings, works=not failing)
    if not failing:
        if findings.measured:
            return [translated(_("All steps work, on a measured set."))]
        if line is None:
            return [translated(_("All steps work, on a set that was not measured."))]
        text = _("All steps work, on a set that was not measured. For the nearest measured one:")
        return [translated(text), line]
    if line is None:
        text = _("This would fail: {failing}. Take a Python with a measured set: {pythons}.")
        pythons = ", ".join(findings.table.pythons())
        return [translated(text).format(failing=failing, pythons=pythons)]
    if "--force-reinstall" in line:
        text = _("This would fail: {failing}. The versions are right, so install them again:")
    else:
        text = _("This would fail: {failing}. To install a measured set:")
    return [translated(text).format(failing=failing), line]


def _row(*cells: str, indent: int = 2) -> str:
    widths = (20 - indent, 12, 12)
    padded = [_pad(cell, width) for cell, width in zip(cells, widths, strict=False)]
    return " " * indent + "".join([*padded, *cells[len(widths) :]]).rstrip()


def _pad(text: str, width: int) -> str:
    """Fill up to a width on the screen, where a Chinese character takes two columns."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return text + " " * max(1, width - len(text) - wide)
