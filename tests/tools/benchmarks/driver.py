"""The command line: which groups, how long, where to; and what becomes of a broken limit."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from tools.benchmarks import limits, report
from tools.benchmarks.contenders import CONTENDERS
from tools.benchmarks.groups import COLD, GROUPS, IMPORTS, Options
from tools.benchmarks.problem import SIZES

LEAST_ROUNDS = 7


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write, and check.

    Returns:
      The exit code: 1 if a limit fails and ``--check`` is given.
    """
    chosen = _parse(arguments)
    options = Options(
        rounds=chosen.rounds,
        seconds=chosen.seconds,
        sizes=chosen.sizes,
        contenders=chosen.contenders,
        devices=chosen.devices,
        done=lambda text: print(".", end="", flush=True, file=sys.stderr),
    )
    document = {
        "machine": report.machine(),
        "versions": report.versions(),
        "date": report.now(),
        "options": {name: value for name, value in vars(chosen).items() if name != "out"},
        "load": [report.load()],
        "results": [],
        "limits": [],
    }
    console = Console(width=None if sys.stdout.isatty() else 160)
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    for group in chosen.groups:
        for result in GROUPS[group](options):
            print(file=sys.stderr)
            report.print_result(result, console)
            document["results"].append(result)
            document["load"] = [document["load"][0], report.load()]
            document["limits"] = limits.check(document["results"], limits.LIMITS)
            # after each result, so that a later failure loses none
            chosen.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")

    for limit in document["limits"]:
        print(f"{'holds' if limit['holds'] else 'FAILS'}  {limit['text']}")
    print(f"load {' to '.join(map(str, document['load']))}; written: {chosen.out}")
    return int(chosen.check and not all(limit["holds"] for limit in document["limits"]))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run.py", description=__doc__)
    add = parser.add_argument
    add("groups", nargs="*", metavar="group", help=f"of {', '.join(GROUPS)}; all by default")
    add("--rounds", type=int, help=f"repeats of each contender, {LEAST_ROUNDS} at least")
    add("--seconds", type=float, help="how long one repeat of the baseline takes, about")
    add("--sizes", nargs="+", choices=SIZES, default=list(SIZES), help="batch x width")
    add("--devices", nargs="+", type=int, help="how many, in the group devices")
    add("--contenders", nargs="+", choices=[*CONTENDERS, *IMPORTS, *COLD], help="only these")
    add("--quick", action="store_true", help="a smoke run: few and short repeats")
    add("--check", action="store_true", help="exit code 1 if a limit fails")
    add("--out", type=Path, default=Path("build/bench/benchmarks.json"), help="the JSON file")
    chosen = parser.parse_args(arguments)
    chosen.groups = chosen.groups or list(GROUPS)
    if unknown := set(chosen.groups) - set(GROUPS):
        parser.error(f"no such group: {', '.join(sorted(unknown))}")
    if chosen.rounds is not None and chosen.rounds < LEAST_ROUNDS and not chosen.quick:
        parser.error(f"--rounds must be {LEAST_ROUNDS} at least: a median of fewer says little")
    chosen.rounds = chosen.rounds or (3 if chosen.quick else 15)
    chosen.seconds = chosen.seconds or (0.02 if chosen.quick else 0.2)
    chosen.devices = chosen.devices or ([1, 2] if chosen.quick else [1, 2, 4, 8])
    return chosen
