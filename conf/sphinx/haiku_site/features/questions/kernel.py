"""What the cell before prints with a part of it replaced: the answers of a question.

In a cell with the tag ``answers``, each ``instead(old, new)`` runs the program of the cell before
once more, from the names that it began with, and prints what that printed, as one line of JSON.
Nothing that the program assigns is kept.
"""

import ast
import contextlib
import io
import json
import linecache
from typing import Any


class Answers:
    """Remembers the last two cells, each with the names that it began with."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.cells: list[tuple[str, dict[str, Any]]] = []

    def remember(self, info: Any) -> None:
        """Note a cell that is about to run."""
        self.cells = [*self.cells[-1:], (info.raw_cell, dict(self.shell.user_ns))]

    def instead(self, *changes: str) -> None:
        """Run the cell before with ``old, new, …`` replaced, and print the answer."""
        source, names = self.cells[0]
        pairs = list(zip(changes[::2], changes[1::2], strict=True))
        for old, new in pairs:
            if source.count(old) != 1:
                raise ValueError(
                    f"{old!r} is {source.count(old)} times in the cell before, not once"
                )
            source = source.replace(old, new)
        print(json.dumps({"changes": pairs, "output": output_of(source, dict(names))}))


def output_of(source: str, names: dict[str, Any]) -> str:
    """Run a program as a cell; return what it prints, with its last value or its error."""
    printed = io.StringIO()
    name = "<answer>"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    tree = ast.parse(source)
    shown = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        try:
            exec(compile(tree, name, "exec"), names)
            if isinstance(shown, ast.Expr):
                value = eval(compile(ast.Expression(shown.value), name, "eval"), names)
                if value is not None:
                    print(repr(value))
        except Exception as error:
            print(f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")
    return printed.getvalue().strip()


def load_ipython_extension(shell: Any) -> None:
    """Give the cells ``instead``."""
    answers = Answers(shell)
    shell.events.register("pre_run_cell", answers.remember)
    shell.user_ns["instead"] = answers.instead
