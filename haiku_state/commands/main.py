"""The command line: ``exercises``, ``read``, ``lab``, ``train``, ``explain`` and ``doctor``.

``python -m haiku_state …`` and ``haiku-state …`` are the same.
"""

import contextlib
import gc
import importlib
import io
import os
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import NoReturn

import haiku_state
from haiku_state.commands.parser import OneLineParser, discard, in_one_line, problem_line, say
from haiku_state.errors import HaikuStateError, LostProcessError, MissingExtraError
from haiku_state.errors.language import argparse_reading, languages, reading, translated
from haiku_state.errors.language import deferred as _
from haiku_state.errors.versions import matched_versions

HELP = {
    "exercises": _(
        "practice: write small programs, which are checked for their results and for purity"
    ),
    "read": _("show a page of the site, or a section of it, without a network"),
    "lab": _("open the lessons as notebooks in JupyterLab"),
    "train": _("train a model on real data that comes with scikit-learn"),
    "explain": _("show why a function is not pure"),
    "doctor": _("show which versions are installed, what fails, and what to install instead"),
}
HAVE_LANGUAGE = ("lab",)  # where it is that of files as well
SHELLS = ("bash", "zsh", "tcsh")
NO_COMMAND = _("no command was given; choose one of {commands}")
REMEDY = _("{problem}; {why}")
DOCTOR = _("{problem}; `python -m haiku_state doctor` looks for the cause")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
      arguments: the words after ``haiku-state``; by default, the words of this process.

    Returns:
      0; 1 from ``doctor`` if something would fail, from the command ``explain`` if a function is
      impure or raises an error, and from ``exercises check`` if the answer does not pass; for what
      the function :func:`explain` explains, the code that it returns. A bad argument raises
      ``SystemExit`` with code 2, after one line on stderr.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that cannot show Chinese
    if arguments is None:
        _take_over()
    words = sys.argv[1:] if arguments is None else arguments
    with _language_of(words):
        try:
            try:
                return _run(words)
            finally:
                print(end="", flush=True)  # stdout may be a closed pipe, or a file on a full disk
        except (Exception, KeyboardInterrupt) as error:
            return explain(error)


def _language_of(words: Sequence[str]) -> contextlib.AbstractContextManager[None]:
    """Speak the language of ``--lang``, also in what is said before the words are parsed."""
    given = re.search(r"(?:^|\0)--lang[=\0]([^\0]*)", "\0".join(words))
    known = given is not None and given[1] in languages()
    return reading(given[1]) if given and known else contextlib.nullcontext()


def _run(words: Sequence[str]) -> int:
    completes = any(word.startswith("--print-completion") for word in words)
    wanted = [word for word in words if word in HELP][:1]
    with argparse_reading():
        parser = _parser(words, [*HELP] if completes else wanted)
        if not words:
            parser.print_help()
            return 0
        gc.freeze()  # what was imported stays: the collector passes it by, at the end as well
        parser.set_defaults(lang=None)
        options = parser.parse_args(words)
    if options.print_completion:
        print(_completion(parser, options.print_completion))
        return 0
    if options.command is None:  # not required: an unknown option is told first
        parser.reject(NO_COMMAND, commands=", ".join(HELP))
    return int(options.run(options))


def _parser(words: Sequence[str], wanted: Sequence[str]) -> OneLineParser:
    """Return the parser; the wanted commands have their arguments.

    The others may need what is not installed, and take seconds to import.
    """
    about = translated(_("State in JAX, told through Haiku."))
    parser = OneLineParser(words, description=about)
    title = translated(_("commands"))
    commands = parser.add_subparsers(title=title, metavar="COMMAND", dest="command")
    for name, text in HELP.items():
        about = translated(text)
        command = commands.add_parser(name, help=about, description=about)
        if name not in HAVE_LANGUAGE:
            command.add_language()
        if name in wanted:
            with matched_versions():
                module = importlib.import_module(f"haiku_state.commands.{name}.command")
            module.add_arguments(command)
    parser.add_language()
    version = f"haiku_state {haiku_state.__version__}"
    parser.add_option(
        "--version", action="version", version=version, text=_("show the version and exit")
    )
    parser.add_option(
        "--print-completion",
        choices=SHELLS,
        text=_("print a script that completes this command in a shell"),
    )
    return parser


def _completion(parser: OneLineParser, shell: str) -> str:
    try:
        import shtab
    except ImportError as error:
        raise MissingExtraError(library="shtab", extra="completion") from error
    parser.prog = "haiku-state"  # a shell completes words, and `python -m` is not one
    return str(shtab.complete(parser, shell))


def _take_over() -> None:
    """Let :func:`explain` end this process, which runs nothing else."""
    warnings.formatwarning = lambda text, *_where, **_line: f"haiku_state: {text}\n"
    sys.excepthook = lambda _kind, error, _trace: sys.exit(explain(error))
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def _end(_number: int, _frame: object) -> NoReturn:
    # JAX has callbacks of the garbage collector; Python ignores a KeyboardInterrupt in such a one
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not end the report
    with contextlib.suppress(RuntimeError):  # the stream is being written to, and cannot be flushed
        explain(KeyboardInterrupt())
    os._exit(130)


def explain(error: BaseException) -> int:
    """Report in one line on stderr what has ended the command.

    This is the only place where the command line handles an error. In Python's development mode
    (``python -X dev -m haiku_state …``) it prints the traceback as well.

    Args:
      error: what was raised.

    Returns:
      The exit code: 2 if the user can correct it on the command line, 3 if another process was
      lost, 1 for everything else; as a shell counts, 130 for Ctrl-C, and 141 if nobody reads the
      output, which needs no words.
    """
    if sys.flags.dev_mode:
        traceback.print_exception(error)
    code, text = 1, in_one_line(error)
    match error:
        case KeyboardInterrupt():
            code, text = 130, translated(_("interrupted"))
        case BrokenPipeError():
            code, text = 141, ""
        case HaikuStateError() if isinstance(error, ImportError):  # it names a command
            text = translated(REMEDY).format(problem=error.what.rstrip(".。"), why=error.why)
        case HaikuStateError():
            code, text = 3 if isinstance(error, LostProcessError) else 2, error.what
        case OSError():
            pass
        case _:
            text = translated(DOCTOR).format(problem=text)
    if text:
        say(problem_line(text))
    try:
        print(end="", flush=True)
    except OSError:
        discard(sys.stdout)
    return code
