"""The parser of the command line, and its way to stderr and out."""

import argparse
import difflib
import os
import re
import sys
from typing import Any, NoReturn, TextIO

from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import languages, reader_language, translated, wrapped

ERROR = _("error")
NO_FOLDER = _("{path} is not a folder")
FROM_ARGPARSE = [
    _("argument {option}: {problem}"),
    _("the following arguments are required: {names}"),
    _("unrecognized arguments: {words}"),
    _("invalid choice: {value} (choose from {choices})"),
    _("expected one argument"),
    _("ambiguous option: {option} could match {options}"),
    _("ignored explicit argument {value}"),
]
"""What argparse itself says, which it says in English only."""


def say(line: str) -> None:
    """Print a line on stderr, if it can be written to: it may be closed, or on a full disk."""
    if sys.stderr is None:
        return
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Send what a stream still holds nowhere, so that Python does not fail on it when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def problem_line(program: str, problem: str) -> str:
    """Return the line that says why a command ends."""
    return f"{program}: {translated(ERROR)}{languages()[reader_language()].colon}{problem}"


def in_one_line(error: BaseException) -> str:
    """Return the class of an error, and the first line of its message."""
    return f"{type(error).__name__}: {error}".strip(": ").splitlines()[0]


class _Formatter(argparse.HelpFormatter):
    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        prefix = translated(_("usage")) + ": " if prefix is None else prefix
        super().add_usage(usage, actions, groups, prefix)

    # argparse counts characters, of which a Chinese one takes two columns
    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrapped(text, width).splitlines()

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return wrapped(text, width, indent)


class OneLineParser(argparse.ArgumentParser):
    """A parser with help in the reader's language, which answers a bad argument with one line."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings, add_help=False, formatter_class=_Formatter)
        self._group = self.add_argument_group(translated(_("options")))
        self.add_option("-h", "--help", action="help", text=_("show this help message and exit"))

    def add_option(self, *names: str, text: str, **settings: Any) -> None:
        """Add an option with a help text that is in the catalog; it names the default."""
        text, default = translated(text), settings.get("default")
        if default is not None:
            text += translated(_(" (default: {default})")).format(default=default)
        self._group.add_argument(*names, help=text, **settings)

    def error(self, message: str) -> NoReturn:
        """Print one line in the reader's language and exit with code 2."""
        self.exit(2, problem_line(self.prog, _in_language(" ".join(message.split()))))

    def reject(self, text: str, /, **values: object) -> NoReturn:
        """Print a text that is in the catalog, with its values, and exit with code 2."""
        self.error(translated(text).format(**values))

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Print the line that ends the command and exit."""
        if message:
            say(message)
        super().exit(status)


def _in_language(message: str) -> str:
    """Return a message of argparse in the reader's language."""
    for text in FROM_ARGPARSE:
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>.*?)", re.escape(text))
        if match := re.fullmatch(pattern, message):
            values = match.groupdict()
            if "problem" in values:
                values["problem"] = _in_language(values["problem"])
            return translated(text).format(**values) + _suggestion(**values)
    return message


def _suggestion(value: str = "", choices: str = "", **_others: str) -> str:
    """Return what may be meant by a choice that is none."""
    known = re.findall(r"[\w.-]+", choices)
    near = difflib.get_close_matches(value.strip("'"), known, n=1)
    return translated(_("; did you mean {choice}?")).format(choice=near[0]) if near else ""
