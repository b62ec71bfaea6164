"""The ``doctor`` command: it has no arguments."""

import argparse
import platform

from haiku_state.commands.doctor.probe import STEPS
from haiku_state.commands.doctor.report import print_outcome, print_versions
from haiku_state.commands.doctor.trial import breaking_variables, hiding_files, try_steps
from haiku_state.commands.doctor.versions import compare, installed, read_sets


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Register in the parser what runs the command."""
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print what is installed, what works and what to do.

    Returns:
      0 if everything works, 1 if something fails.
    """
    findings = compare(installed(), read_sets(), platform.python_version())
    print_versions(findings)
    checkpoint = "orbax-checkpoint" in findings.found
    steps = try_steps([name for name in STEPS if checkpoint or name != "save_checkpoint"])
    hiding = hiding_files(steps)
    return print_outcome(findings, steps, [] if hiding else breaking_variables(steps), hiding)
