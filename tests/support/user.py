"""Processes as a user starts them: in another folder, and without any variable of the tests.

The tests force eight CPU devices before JAX starts, choose English, and know the folders of the
tree. A process that inherits this shows nothing about what a user meets. All tests start their
processes here, which ``tree/test_user.py`` enforces.
"""

import contextlib
import os
import random
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

PIPE = subprocess.PIPE
KEPT = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH")
"""What a user's shell has, whoever the user is."""


class User:
    """Somebody with a home, who works in a folder.

    Args:
      place: an empty folder, for the home and for what the processes write.
    """

    def __init__(self, place: Path) -> None:
        self.home, self.folder = place / "home", place / "work"
        for made in (self.home, self.folder):
            made.mkdir(exist_ok=True)

    def environment(self, **more: str) -> dict[str, str]:
        """Return all variables that a process has."""
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        return {**kept, "HOME": str(self.home), **more}

    def run(self, *command: Any, env: dict[str, str] | None = None, **options: Any) -> Any:
        """Run a command to its end, and return what it has printed; ``env`` adds variables."""
        return subprocess.run(list(map(str, command)), **self._options(env, options), check=False)

    def start(self, *command: Any, env: dict[str, str] | None = None, **options: Any) -> Any:
        """Start a command, for a test that waits for it or ends it."""
        return subprocess.Popen(list(map(str, command)), **self._options(env, options))

    def python(self, *arguments: Any, **options: Any) -> Any:
        """Run the Python of the tests."""
        return self.run(sys.executable, *arguments, **options)

    def haiku_state(self, *arguments: Any, **options: Any) -> Any:
        """Run the command line of the package."""
        return self.python("-m", "haiku_state", *arguments, **options)

    def _options(self, env: dict[str, str] | None, options: dict[str, Any]) -> dict[str, Any]:
        default = {"cwd": self.folder, "encoding": "utf-8"}
        default |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return {**default, "env": self.environment(**(env or {})), **options}


def free_port() -> int:
    """Return a port where nobody listens, below those that a system gives to connections."""
    while True:
        port = random.SystemRandom().randrange(10000, 32768)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("localhost", port))
            return port
