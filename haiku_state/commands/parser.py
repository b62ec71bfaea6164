"""The parser of the command line."""

import argparse
import contextlib
import sys
from typing import NoReturn


def say(line: str) -> None:
    """Print a line on stderr, if it can be written to: it may be closed, or on a full disk."""
    with contextlib.suppress(OSError, AttributeError):
        sys.stderr.write(line + "\n")


class OneLineParser(argparse.ArgumentParser):
    """A parser that answers a bad argument with one line."""

    def error(self, message: str) -> NoReturn:
        """Print one line, and exit with code 2."""
        say(f"{self.prog}: error: {' '.join(message.split())}")
        self.exit(2)
