"""Runs the command line: ``python -m haiku_state``."""

import sys

from haiku_state.commands.main import main

if __name__ == "__main__":
    sys.exit(main())
