"""The command line: ``python -m haiku_state train …`` and ``python -m haiku_state doctor``."""

import argparse
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import haiku_state as hs
from haiku_state.doctor import HELP, OneLineParser, doctor, unmatched
from haiku_state.errors import HaikuStateError
from haiku_state.typing import Metrics

try:
    from haiku_state.train import (
        MANY_PROCESSES,
        ONE_DEVICE,
        TASKS,
        WAYS,
        Epoch,
        print_table,
        save_plot,
        train,
    )
except Exception as cause:  # Optax is missing, or does not fit
    raise unmatched(cause) from cause

PLOT_FORMATS = (".png", ".svg", ".pdf")
NEEDED = ("sklearn", "rich", "matplotlib")


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(prog="haiku_state", description="State in JAX, told through Haiku.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    command = commands.add_parser(
        "train",
        help="train a model on real data",
        description="Train a model on real data that ships with scikit-learn.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    command.add_argument(
        "--model",
        choices=sorted(TASKS),
        default="classifier",
        help="classifier: digits; regression: diabetes",
    )
    command.add_argument(
        "--update", choices=list(WAYS), default="jit", help="how the update step runs"
    )
    command.add_argument(
        "--devices", type=_at_least(1), default=1, metavar="N",
        help="devices of each process; CPU devices are forced where the machine has fewer",
    )  # fmt: skip
    command.add_argument("--epochs", type=_at_least(1), default=30, metavar="E", help="epochs")
    command.add_argument(
        "--batch-size", type=_at_least(1), default=32, metavar="B",
        help="rows per update, over all devices",
    )  # fmt: skip
    command.add_argument(
        "--seed", type=_at_least(0), default=0, metavar="S", help="of split, params and order"
    )
    command.add_argument(
        "--checkpoint-dir", type=Path, metavar="DIR",
        help="save here, and go on from the newest checkpoint here",
    )  # fmt: skip
    command.add_argument(
        "--checkpoint-every", type=_at_least(1), metavar="K",
        help="updates between two checkpoints, besides the one after each epoch",
    )  # fmt: skip
    command.add_argument(
        "--coordinator", metavar="HOST:PORT",
        help="many processes meet at process 0 here; auto: as the scheduler's environment says",
    )  # fmt: skip
    command.add_argument(
        "--num-processes", type=_at_least(1), metavar="N", help="how many processes there are"
    )
    command.add_argument(
        "--process-id", type=_at_least(0), metavar="I", help="which of them this is, from 0"
    )
    command.add_argument(
        "--timeout", type=_at_least(1), default=60, metavar="SECONDS",
        help="how long to wait for a process that does not answer",
    )  # fmt: skip
    command.add_argument("--plot", type=_plot_file, metavar="FILE", help="write the curves here")
    command.set_defaults(parser=command)
    commands.add_parser("doctor", help=HELP, description=HELP)
    return parser


def _at_least(low: int):  # type: ignore[no-untyped-def]
    def whole_number(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if not low <= number < 2**31:
            raise argparse.ArgumentTypeError(f"{number} is not between {low} and 2147483647")
        return number

    return whole_number


def _plot_file(text: str) -> Path:
    path = Path(text)
    if path.suffix.lower() not in PLOT_FORMATS:
        raise argparse.ArgumentTypeError(f"{text!r} does not end in {', '.join(PLOT_FORMATS)}")
    folder = path.parent
    writable = folder.is_dir() and os.access(folder, os.W_OK) and not path.is_dir()
    if not writable or (path.exists() and not os.access(path, os.W_OK)):
        raise argparse.ArgumentTypeError(f"{text!r} cannot be written")
    return path


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
      arguments: the words after ``python -m haiku_state``; those of this process by default.

    Returns:
      0, or 1 from ``doctor`` if something would fail. A bad argument leaves by ``SystemExit``
      with code 2, after one line on stderr.
    """
    options = _parser().parse_args(arguments)
    if options.command == "doctor":
        return doctor()
    parser = options.parser
    _check(options, parser)
    try:
        rows = _train(options)
    except HaikuStateError as error:
        parser.error(error.what)
    if hs.is_main_process():
        print_table(rows, options.model)
        if options.plot:
            save_plot(rows, options.model, options.plot)
            print(f"plot {options.plot}")
    return 0


def _check(options: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    if options.update in ONE_DEVICE and options.devices != 1:
        parser.error(
            f"--update {options.update} runs on one device, not on {options.devices}; use shard"
        )
    if options.coordinator is None and (options.num_processes, options.process_id) != (None, None):
        parser.error("--num-processes and --process-id need --coordinator HOST:PORT")
    if options.coordinator is not None and options.update not in MANY_PROCESSES:
        known = " or ".join(MANY_PROCESSES)
        parser.error(f"--update {options.update} runs in one process; with many, use {known}")
    parts = options.devices * (options.num_processes or 1)
    if options.batch_size % parts:
        parser.error(f"--batch-size {options.batch_size} does not divide among {parts} devices")
    if options.checkpoint_every and not options.checkpoint_dir:
        parser.error("--checkpoint-every needs --checkpoint-dir DIR")
    needed = [*NEEDED, *(["orbax"] if options.checkpoint_dir else [])]
    if missing := [name for name in needed if importlib.util.find_spec(name) is None]:
        install = f'pip install "haiku-state[{"checkpoint" if missing == ["orbax"] else "data"}]"'
        parser.exit(1, f"{parser.prog}: error: {', '.join(missing)} not installed; {install}\n")


def _train(options: argparse.Namespace) -> list[Epoch]:
    def run(progress: Callable[[Metrics], None]) -> list[Epoch]:
        return train(
            options.model,
            options.update,
            options.devices,
            options.epochs,
            options.batch_size,
            options.seed,
            checkpoint_dir=options.checkpoint_dir,
            checkpoint_every=options.checkpoint_every,
            progress=progress,
        )

    if options.coordinator is None:
        return run(lambda metrics: None)
    where = None if options.coordinator == "auto" else options.coordinator
    hs.start_processes(where, options.num_processes, options.process_id, timeout=options.timeout)
    with hs.watch_processes(options.timeout) as watch:
        return run(watch.progress)


if __name__ == "__main__":
    sys.exit(main())
