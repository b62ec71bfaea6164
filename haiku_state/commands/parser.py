"""The parser of the command line, and its way to stderr and out."""

import argparse
import difflib
import functools
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TextIO

from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import languages, reader_language, translated, wrapped

ERROR = _("error")
NO_FOLDER = _("{path} is not a folder")


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


def problem_line(problem: str, program: str = "") -> str:
    """Return the line that says why a command ends."""
    return (
        f"{program or _typed()}: {translated(ERROR)}{languages()[reader_language()].colon}{problem}"
    )


def _typed() -> str:
    """Return how this command was typed: as a script, or as ``python -m``."""
    return "haiku-state" if Path(sys.argv[0]).stem == "haiku-state" else "haiku_state"


def in_one_line(error: BaseException) -> str:
    """Return the class of an error, and the first line of its message."""
    return f"{type(error).__name__}: {error}".strip(": ").splitlines()[0]


class _Formatter(argparse.HelpFormatter):
    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        if prefix is None and self._prog.startswith("haiku_state"):  # else of a command's name
            self._prog = f"python -m {self._prog}"
        super().add_usage(usage, actions, groups, prefix)

    # argparse counts characters, of which a Chinese one takes two columns
    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrapped(text, width).splitlines()

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return wrapped(text, width, indent)


class OneLineParser(argparse.ArgumentParser):
    """A parser with help in the reader's language, which answers a bad argument with one line.

    Args:
      words: what it is given to parse.
      settings: those of argparse.
    """

    def __init__(self, words: Sequence[str], **settings: Any) -> None:
        super().__init__(**{"prog": _typed(), **settings}, formatter_class=_Formatter)
        self._words = words

    def add_subparsers(self, **settings: Any) -> Any:
        """Let each command have a parser of the same class, for the same words."""
        same: Any = functools.partial(type(self), self._words)
        return super().add_subparsers(**settings, parser_class=same)

    def add_option(self, *names: str, text: str, **settings: Any) -> None:
        """Add an option with a help text that is in the catalog; it names the default."""
        text, default = translated(text), settings.get("default")
        if default not in (None, argparse.SUPPRESS):
            text += translated(_(" (default: {default})")).format(default=default)
        self.add_argument(*names, help=text, **settings)

    def add_language(self, text: str = _("language of the printed text")) -> None:
        """Add ``--lang``, which a command takes before and after its name."""
        self.add_argument(
            "--lang", choices=[*languages()], default=argparse.SUPPRESS, help=translated(text)
        )

    def error(self, message: str) -> NoReturn:
        """Print one line, with what may be meant by an unknown word, and exit with code 2."""
        near = self._meant(message)
        suggestion = translated(_("; did you mean {choice}?")).format(choice=near) if near else ""
        self.exit(2, problem_line(" ".join(message.split()) + suggestion, self.prog))

    def reject(self, text: str, /, **values: object) -> NoReturn:
        """Print a text that is in the catalog, with its values, and exit with code 2."""
        self.error(translated(text).format(**values))

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Print the line that ends the command and exit."""
        if message:
            say(message)
        super().exit(status)

    def _meant(self, message: str) -> str:
        """Return what is like a word of the message that is unknown."""
        known = [*_known(self)]
        for word in "=".join(self._words).split("="):
            alike = {name.lstrip("-"): name for name in known if name[:1] == "-" or word[:1] != "-"}
            near = difflib.get_close_matches(word.lstrip("-"), alike, n=1, cutoff=0.75)
            if near and word in message and word not in known:
                return alike[near[0]]
        return ""


def _known(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the options, the choices, and the commands, also those of commands."""
    for action in parser._actions:
        choices = action.choices or ()
        yield from (*action.option_strings, *map(str, choices))
        for command in choices.values() if isinstance(choices, Mapping) else ():
            yield from _known(command)
