"""What a build shows while it runs: on a terminal a line that is renewed, elsewhere plain lines.

Sphinx reports pages in groups of up to ten, once all of a group are done, and one notebook may run
for half a minute. Here each process that reads or writes a page says so when it begins.
"""

import contextlib
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from haiku_site import compat
from sphinx.application import Sphinx

CLEAR = "\r\x1b[K"


def log(line: str) -> None:
    """Print a line that stays."""
    sys.stdout.write(f"{CLEAR * sys.stdout.isatty()}{line}\n")  # in one piece: others print too
    sys.stdout.flush()


def show(what: str) -> None:
    """Show on a terminal what is being done, until the next line."""
    if sys.stdout.isatty():
        sys.stdout.write(f"{CLEAR}{what[: shutil.get_terminal_size().columns - 1]}")
        sys.stdout.flush()


@contextlib.contextmanager
def timed(what: str) -> Iterator[None]:
    """Show what is being done, and say at the end how long it took."""
    start = time.perf_counter()
    show(what)
    yield
    log(f"{what}: {time.perf_counter() - start:.1f} s")


def _of(app: Sphinx) -> str:
    return str(app.config.language) if app.builder.name == "html" else str(app.builder.name)


def _begin(app: Sphinx, env: Any, names: list[str]) -> None:
    log(f"{_of(app)}: {len(names)} of {len(env.found_docs)} pages to read")


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    show(f"{_of(app)}: reading {name}")
    app.env.temp_data["began"] = time.time()


def _executed(app: Sphinx, document: Any) -> None:
    seconds = compat.seconds_of_execution(app.env, app.env.temp_data["began"])
    if seconds is not None:
        log(f"{_of(app)}: executed {app.env.docname} in {seconds:.1f} s")


def _write(app: Sphinx, name: str, *_: Any) -> None:
    show(f"{_of(app)}: writing {name}")


def setup(app: Sphinx) -> dict[str, Any]:
    """Say which pages are read, executed and written."""
    start = time.time()

    def end(app: Sphinx, error: Exception | None) -> None:
        if not error and app.builder.name == "html":
            files = (Path(app.builder.get_outfilename(name)) for name in app.env.found_docs)
            written = sum(file.stat().st_mtime >= start for file in files if file.exists())
            log(f"{_of(app)}: {written} pages written, {time.time() - start:.1f} s")

    app.connect("env-before-read-docs", _begin)
    app.connect("source-read", _read)
    app.connect("doctree-read", _executed)
    app.connect("html-page-context", _write)
    app.connect("build-finished", end)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
