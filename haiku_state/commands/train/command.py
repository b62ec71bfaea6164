"""The ``train`` command: its arguments, what is checked before anything runs, and the run."""

import argparse
import contextlib
import functools
import importlib.util
import math
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import haiku_state as hs
from haiku_state.commands.main import explain
from haiku_state.commands.parser import NO_FOLDER, OneLineParser, say
from haiku_state.commands.train.loop import ON_MESH, ONE_DEVICE, UPDATES, train
from haiku_state.commands.train.models import TASKS
from haiku_state.commands.train.report import Epoch, print_row, save_plot
from haiku_state.errors import MissingExtraError
from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import translated

PLOT_FORMATS = (".png", ".svg", ".pdf")
NEEDED = {"sklearn": "data", "matplotlib": "plot", "orbax": "checkpoint"}
"""Libraries, and the extra of this package that each comes with."""
SAME = (
    "model", "update", "devices", "epochs", "batch_size", "seed", "checkpoint_dir",
    "checkpoint_every", "timeout",
)  # fmt: skip
"""Options that must be the same in all processes."""

ONLY_ONE = _("--update {update} runs on one device, not on {devices}; use --update shard")
ONE_PROCESS = _(
    "--update {update} runs in one process; with several processes, use {first} or {second}"
)
ENDING = _("Ctrl-C: saving after this update; a second Ctrl-C ends the run at once, without saving")
ENOUGH = _("the run in {folder} already has {done} epochs, more than --epochs {epochs}")
NOT_SAVED = _("stopped by {signal}, not saved")
NOT_WRITTEN = _("{path} cannot be written: {reason}")


def add_arguments(parser: OneLineParser) -> None:
    """Add the arguments of the command to the parser, and what runs it."""
    add = parser.add_option
    positive, not_negative = _whole_number(1), _whole_number(0)
    # fmt: off
    add("--model", choices=sorted(TASKS), default="classifier",
        text=_("classifier: digits; regression: diabetes"))
    add("--update", choices=UPDATES, default="jit", text=_("how the update step runs"))
    add("--devices", type=_whole_number(1, at_most=1024), default=1, metavar="N",
        text=_("devices per process; CPU devices are simulated if the machine has fewer"))
    add("--epochs", type=positive, default=30, metavar="E", text=_("number of epochs to train"))
    add("--batch-size", type=positive, default=32, metavar="B",
        text=_("rows per update, over all devices"))
    add("--seed", type=_whole_number(0, at_most=2**32 - 1), default=0, metavar="S",
        text=_("seed of the data split, the params and the row order"))
    add("--checkpoint-dir", type=_folder, metavar="DIR",
        text=_("save checkpoints in this folder and resume from the newest checkpoint"))
    add("--checkpoint-every", type=positive, metavar="K",
        text=_("save every K updates as well as after each epoch"))
    add("--coordinator", metavar="HOST:PORT",
        text=_("address of process 0, to which all processes connect; auto: ask the scheduler"))
    add("--num-processes", type=positive, metavar="N", text=_("total number of processes"))
    add("--process-id", type=not_negative, metavar="I", text=_("index of this process, from 0"))
    add("--timeout", type=positive, default=60, metavar="SECONDS",
        text=_("how many seconds to wait for a process that does not answer"))
    add("--plot", type=_plot_file, metavar="FILE", text=_("the file in which the curves are drawn"))
    # fmt: on
    parser.set_defaults(run=functools.partial(run, parser))


def _rejected(text: str, /, **values: object) -> argparse.ArgumentTypeError:
    return argparse.ArgumentTypeError(translated(text).format(**values))


def _whole_number(at_least: int, at_most: float = math.inf) -> Callable[[str], int]:
    def whole_number(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise _rejected(_("{text} is not a whole number"), text=repr(text)) from None
        if number < at_least:
            raise _rejected(_("{number} is less than {limit}"), number=number, limit=at_least)
        if number > at_most:
            raise _rejected(_("{number} is more than {limit}"), number=number, limit=at_most)
        return number

    return whole_number


def _folder(text: str) -> Path:
    path = Path(text)
    places = (each for each in (path, *path.parents) if each.exists() or each.is_symlink())
    # a link to nothing is no folder, nor is a URL, which a path would change
    if not text or "://" in text or not next(places, path).is_dir():
        raise _rejected(NO_FOLDER, path=repr(text))
    return path


def _plot_file(text: str) -> Path:
    path = Path(text)
    if path.suffix.lower() not in PLOT_FORMATS:
        ends = ", ".join(PLOT_FORMATS)
        raise _rejected(_("{path} does not end in {ends}"), path=repr(text), ends=ends)
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name):
            pass  # only an attempt tells whether it can be written
    except OSError as error:
        raise _rejected(NOT_WRITTEN, path=repr(text), reason=error.strerror) from None
    if path.is_dir():
        raise _rejected(NOT_WRITTEN, path=repr(text), reason=translated(_("the path is a folder")))
    return path


def run(parser: OneLineParser, options: argparse.Namespace) -> int:
    """Check the options, train, and show the result.

    Returns:
      0. Options that do not go together raise ``SystemExit``, after one line on stderr.
    """
    check(parser, options)
    interrupted = threading.Event()
    rows = _train(options, interrupted)
    if len(rows) < options.epochs:
        folder = options.checkpoint_dir
        text = _("stopped by {signal}, saved in {folder}") if folder else NOT_SAVED
        code, name = (130, "Ctrl-C") if interrupted.is_set() else (143, "SIGTERM")
        parser.exit(code, f"{parser.prog}: {translated(text).format(signal=name, folder=folder)}")
    if hs.processes.is_main_process():
        if len(rows) > options.epochs:
            text = translated(ENOUGH)
            values = {"folder": options.checkpoint_dir, "epochs": options.epochs}
            print(text.format(done=len(rows), **values))
        print(f"test {TASKS[options.model].score_name} {rows[-1].test_score:.4f}")
        if options.plot:
            save_plot(rows, options.model, options.plot)
            print(f"plot {options.plot}")
    return 0


@contextlib.contextmanager
def _watch_signals(saves: bool, interrupted: threading.Event) -> Iterator[Callable[[int], bool]]:
    """Watch for SIGTERM, and let Ctrl-C do the same once if that saves something."""
    before = signal.getsignal(signal.SIGINT)

    def ask(_number: int, _frame: object) -> None:
        signal.signal(signal.SIGINT, before)
        with contextlib.suppress(RuntimeError):  # the stream is being written to
            say(translated(ENDING))
        interrupted.set()
        os.kill(os.getpid(), signal.SIGTERM)

    with hs.processes.watch_sigterm() as stops:
        if saves and before != signal.SIG_IGN:  # as it is in the background of a shell
            signal.signal(signal.SIGINT, ask)
        try:
            yield stops
        finally:
            signal.signal(signal.SIGINT, before)


def check(parser: OneLineParser, options: argparse.Namespace) -> None:
    """Reject options that do not go together, and name the extra that is not installed."""
    update, devices = options.update, options.devices
    if update in ONE_DEVICE and devices != 1:
        parser.reject(ONLY_ONE, update=update, devices=devices)
    numbered = options.num_processes is not None or options.process_id is not None
    if numbered and options.coordinator in (None, "auto"):
        parser.reject(_("--num-processes and --process-id need --coordinator HOST:PORT"))
    if options.coordinator not in (None, "auto") and not options.num_processes:
        parser.reject(_("--coordinator HOST:PORT needs --num-processes and --process-id"))
    if options.coordinator is not None and update not in ON_MESH:
        first, second = ON_MESH
        parser.reject(ONE_PROCESS, update=update, first=first, second=second)
    if options.checkpoint_every and not options.checkpoint_dir:
        parser.reject(_("--checkpoint-every needs --checkpoint-dir DIR"))
    for name, extra in NEEDED.items():
        is_needed = {"data": True, "plot": options.plot, "checkpoint": options.checkpoint_dir}
        if is_needed[extra] and importlib.util.find_spec(name) is None:
            raise MissingExtraError(library=name, extra=extra)


def _train(options: argparse.Namespace, interrupted: threading.Event) -> list[Epoch]:
    watch_signals = functools.partial(
        _watch_signals, options.checkpoint_dir is not None, interrupted
    )
    run_training = functools.partial(
        train,
        options.model,
        options.update,
        options.devices,
        options.epochs,
        options.batch_size,
        options.seed,
        checkpoint_dir=options.checkpoint_dir,
        checkpoint_every=options.checkpoint_every,
        report=functools.partial(print_row, options.model),
    )
    if options.coordinator is None:
        if options.checkpoint_dir is None:
            return run_training()
        with watch_signals() as stops:
            return run_training(stops=stops)
    address = None if options.coordinator == "auto" else options.coordinator
    hs.processes.start_processes(
        address,
        options.num_processes,
        options.process_id,
        devices=options.devices,
        timeout=options.timeout,
        settings={name: vars(options)[name] for name in SAME},
    )
    try:
        with (
            hs.processes.watch_processes(options.timeout) as watch,
            watch_signals() as stops,
        ):
            return run_training(progress=watch.progress, stops=stops)
    except (Exception, KeyboardInterrupt) as error:
        hs.processes.end_processes(explain(error))  # JAX would wait for the others
