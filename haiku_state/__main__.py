"""Runs the command line: ``python -m haiku_state``."""

import os
import sys

if __name__ == "__main__":
    if sys.path[0] in ("", os.getcwd()):  # there a random.py would hide Python's; haiku-state has
        del sys.path[0]  # no such entry either
    from haiku_state.commands.main import main

    sys.exit(main())
