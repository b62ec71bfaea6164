"""One lesson, cell by cell, as a notebook runs it, and what each cell shows."""

import contextlib
import io
import os
import sys
import time
from pathlib import Path
from typing import Any


def make_shell() -> Any:
    """An IPython shell whose displays go to standard output; figures are drawn, as on the page."""
    from IPython.core.displayhook import DisplayHook
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    class WithoutPrompt(DisplayHook):  # type: ignore[misc]
        def write_output_prompt(self) -> None:
            """The page shows the value alone."""

    class Shell(InteractiveShell):  # type: ignore[misc]
        displayhook_class = WithoutPrompt

    settings = Config()
    settings.HistoryManager.enabled = False
    settings.InteractiveShell.colors = "nocolor"
    return Shell.instance(config=settings)


def play(shell: Any, page: Path, cells: list[str]) -> dict[str, Any]:
    """Run a lesson in this process, up to the first cell that fails.

    Returns:
      What a lesson is in the result file; the lines of standard error, which pages do not compare,
      are kept beside them.
    """
    os.chdir(page.parent)
    start = time.perf_counter()
    shown: list[list[str]] = []
    errors, failure = io.StringIO(), None
    for number, code in enumerate(cells):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            # stored, because the hook that shows a value looks there for a last semicolon
            result = shell.run_cell(code, store_history=True)
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            text = str(error).strip().splitlines()
            failure = f"cell {number}: {type(error).__name__}: {text[-1] if text else ''}"
            print(out.getvalue(), file=sys.stderr)  # the traceback, for whoever mends it
            break
        shown.append([line.rstrip() for line in out.getvalue().splitlines()])
    return {
        "seconds": round(time.perf_counter() - start, 1),
        "cells": shown,
        "stderr": errors.getvalue().splitlines(),
        "failure": failure,
    }
