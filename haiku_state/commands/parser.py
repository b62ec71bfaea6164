"""The parser of the command line, and its way to stderr and out."""

import argparse
import os
import sys
from typing import NoReturn, TextIO


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


class OneLineParser(argparse.ArgumentParser):
    """A parser that answers a bad argument with one line."""

    def error(self, message: str) -> NoReturn:
        """Print one line, and exit with code 2."""
        self.exit(2, f"{self.prog}: error: {' '.join(message.split())}")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Print the line that ends the command, and exit."""
        if message:
            say(message)
        super().exit(status)
