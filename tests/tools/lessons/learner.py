"""The tasks of *On your own*, done as a learner does them: on the page, by editing its cells.

``tasks/<lesson>.py`` holds a solution of each task, below a line ``# %% 1``. It runs where the
page's cells have run, without those that draw its figures and check its numbers, and may call two
functions:

- ``rerun(fragment, {old: new})`` runs the one cell that contains the fragment again, as edited,
  and returns what it prints.
- ``says(text)`` fails unless the task's statement on the page says this.
"""

import contextlib
import io
import os
import re
from pathlib import Path
from typing import Any

from haiku_site.course import tasks
from support.lesson_cells import cells

SOLUTIONS = Path(__file__).parent / "tasks"
HEADING = re.compile(r"^# %% (\d)\n", re.MULTILINE)


def do_tasks(
    shell: Any, name: str, docs: Path, solutions: Path = SOLUTIONS
) -> dict[int, str | None]:
    """Run a lesson and the solutions of its tasks in this process.

    Returns:
      For each task of the page, what went wrong with it, or None.
    """
    page, codes = docs / f"{name}.md", cells(name, docs, without=("plot", "check"))
    os.chdir(page.parent)
    for number, code in enumerate(codes):
        if failure := _run(shell, code)[0]:
            return dict.fromkeys(tasks(page), f"without its checks, cell {number}: {failure}")
    before = dict(shell.user_ns)
    file = solutions / f"{name}.py"
    written = HEADING.split(file.read_text(encoding="utf-8") if file.exists() else "")[1:]
    solved = dict(zip(map(int, written[::2]), written[1::2], strict=True))
    results: dict[int, str | None] = {}
    for number, statement in tasks(page).items():
        shell.user_ns.update(rerun=_Rerun(shell, codes), says=_Says(statement))
        code = solved.pop(number, "raise NotImplementedError('no solution')")
        results[number], _printed = _run(shell, code)
        for added in shell.user_ns.keys() - before.keys():
            del shell.user_ns[added]
        shell.user_ns.update(before)
    return results | {number: "the page has no such task" for number in solved}


def _run(shell: Any, code: str) -> tuple[str | None, str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        result = shell.run_cell(code, store_history=True)
    error = result.error_before_exec or result.error_in_exec
    failure = None if error is None else f"{type(error).__name__}: {error}"
    return failure, out.getvalue()


class _Rerun:
    def __init__(self, shell: Any, codes: list[str]) -> None:
        self.shell, self.codes = shell, codes

    def __call__(self, fragment: str, edits: dict[str, str] | None = None) -> str:
        [code] = [code for code in self.codes if fragment in code]
        for old, new in (edits or {}).items():
            assert code.count(old) == 1, f"{old!r} stands {code.count(old)} times in the cell"
            code = code.replace(old, new)
        failure, printed = _run(self.shell, code)
        assert failure is None, failure
        return printed


class _Says:
    def __init__(self, statement: str) -> None:
        self.statement = _flat(statement)

    def __call__(self, *texts: object) -> None:
        for text in texts:
            assert _flat(str(text)) in self.statement, f"{text!s} is not in: {self.statement}"


def _flat(text: str) -> str:
    return " ".join(text.replace("\N{MINUS SIGN}", "-").split())
