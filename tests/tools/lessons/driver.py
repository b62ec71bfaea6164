"""Runs the lessons, two at a time, each in a process of its own.

The processes are forked from one that has imported what all lessons import, and has not asked JAX
for its devices: so a lesson may still choose them, as its first cell does, and the seconds of
``import jax`` are spent once.
"""

import argparse
import functools
import gc
import json
import multiprocessing
import multiprocessing.connection
import os
import platform
import re
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from support.lesson_cells import DOCS, cells
from tools.lessons.learner import SOLUTIONS, do_tasks
from tools.lessons.shell import make_shell, play

PARTS = ("pure", "state", "haiku", "update", "beyond")
_IMPORT = re.compile(r"^(?:import|from) ([\w.]+)", re.MULTILINE)
# as the site's build and its kernels set them
ENVIRONMENT = {
    "HAIKU_STATE_LANG": "en",
    "JAX_PLATFORMS": "cpu",
    "MATPLOTLIBRC": str(DOCS.parent / "conf/sphinx/matplotlibrc"),
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
}
LIMIT = 300.0  # seconds for one lesson


def lesson_names(docs: Path) -> list[str]:
    """The pages of the lessons, each with at least one cell."""
    pages = [page for part in PARTS for page in sorted((docs / part).glob("*.md"))]
    names = [page.relative_to(docs).with_suffix("").as_posix() for page in pages]
    return [name for name in names if cells(name, docs)]


def shared_imports(names: list[str], docs: Path) -> list[str]:
    """The modules that more than one lesson imports."""
    imports = [set(_IMPORT.findall("\n".join(cells(name, docs)))) for name in names]
    modules = {module for one in imports for module in one if sum(module in i for i in imports) > 1}
    if "haiku_state" in modules:
        modules.add("sklearn.datasets")  # haiku_state imports it with the first data set
    return sorted(modules)


def run_all(
    shell: Any, names: list[str], docs: Path, do: Callable[..., Any], jobs: int = 2
) -> dict[str, dict[str, Any]]:
    """Run lessons, or whatever ``do`` does with a lesson, in forked processes."""
    context = multiprocessing.get_context("fork")
    waiting, running, results = list(names), {}, {}
    while waiting or running:
        while waiting and len(running) < jobs:
            name = waiting.pop(0)
            receive, send = context.Pipe(duplex=False)
            process = context.Process(target=_child, args=(do, shell, name, docs, send))
            process.start()
            send.close()
            running[receive] = name, process, time.monotonic() + LIMIT
        ready = multiprocessing.connection.wait(list(running), timeout=1.0)
        late = [pipe for pipe, (_, _, limit) in running.items() if time.monotonic() > limit]
        for pipe in {*ready, *late}:
            name, process, _ = running.pop(pipe)
            results[name] = _result(pipe, process)
            print(f"{name}: {results[name]['failure'] or 'ok'}", file=sys.stderr, flush=True)
    return {name: results[name] for name in names}


def _result(pipe: Any, process: Any) -> dict[str, Any]:
    failure = f"no end after {LIMIT:.0f} seconds"
    if pipe.poll():
        try:
            lesson = pipe.recv()
            process.join()
            return lesson
        except EOFError:
            process.join()
            failure = f"the process ended with code {process.exitcode}"
    process.kill()
    process.join()
    return {"seconds": LIMIT, "cells": [], "stderr": [], "failure": failure}


def _child(do: Callable[..., Any], shell: Any, name: str, docs: Path, send: Any) -> None:
    send.send(do(shell, name, docs))


def _play(shell: Any, name: str, docs: Path) -> dict[str, Any]:
    return play(shell, docs / f"{name}.md", cells(name, docs))


def _learn(solutions: Path, shell: Any, name: str, docs: Path) -> dict[str, Any]:
    results = do_tasks(shell, name, docs, solutions)
    failed = [f"task {number}: {failure}" for number, failure in results.items() if failure]
    return {"tasks": results, "failure": "; ".join(failed)}


def main() -> int:
    """Run the lessons, write their results, and fail if one of them has failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lessons", nargs="*", help="haiku/batch_norm …; all by default")
    parser.add_argument("--out", type=Path, help="a JSON file")
    parser.add_argument(
        "--own-random", action="store_true", help="with the random numbers of JAX before 0.5"
    )
    parser.add_argument(
        "--tasks", action="store_true", help="what lessons ask to do on one's own, instead"
    )
    parser.add_argument("--docs", type=Path, default=DOCS, help=argparse.SUPPRESS)
    parser.add_argument("--solutions", type=Path, default=SOLUTIONS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.lessons or lesson_names(options.docs)
    do = functools.partial(_learn, options.solutions) if options.tasks else _play
    start = time.perf_counter()
    os.environ.update(ENVIRONMENT)
    if not options.own_random:
        os.environ["JAX_THREEFRY_PARTITIONABLE"] = "1"  # random numbers as on JAX 0.5 and newer
    with tempfile.TemporaryDirectory() as folder:
        os.environ["IPYTHONDIR"] = folder
        shell = make_shell()  # before Matplotlib, which looks for one when it is imported
        for module in shared_imports(names, options.docs):
            import_module(module)
        gc.freeze()  # children do not copy the pages of what is imported
        lessons = run_all(shell, names, options.docs, do)
    report = {
        "jax": version("jax"),
        "python": platform.python_version(),
        "seconds": round(time.perf_counter() - start, 1),
        "cpu_seconds": round(sum(os.times()[:4]), 1),  # with those of the processes it started
        "lessons": lessons,
    }
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(f"{len(lessons)} lessons in {report['seconds']} s, {report['cpu_seconds']} s of CPU")
    return int(any(lesson["failure"] for lesson in lessons.values()))
