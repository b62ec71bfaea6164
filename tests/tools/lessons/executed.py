"""What the pages of the site show: the notebooks that its build has executed."""

import re
from pathlib import Path
from typing import Any

import nbformat
from haiku_site.course import OF_THE_BUILD
from support.lesson_cells import DOCS, cells
from tools.lessons.driver import lesson_names

_COLOR = re.compile(r"\x1b\[[\d;]*m")  # a kernel shows a jaxpr in colors


def executed_lessons(cache: Path, docs: Path = DOCS) -> dict[str, dict[str, Any]]:
    """The lessons among the executed notebooks, with what their cells show, as run.py has it."""
    notebooks = [nbformat.read(file, as_version=4) for file in sorted(cache.rglob("*.ipynb"))]
    known = {tuple(_source(cell) for cell in _code(book)): _code(book) for book in notebooks}
    lessons = {}
    for name in lesson_names(docs):
        found = known.get(tuple(cell.strip() for cell in cells(name, docs)))
        if found is not None:
            lessons[name] = {"cells": [_lines(cell) for cell in found], "failure": None}
    return lessons


def shown(notebook: Any) -> list[list[str]]:
    """What each code cell of a notebook shows."""
    return [_lines(cell) for cell in _code(notebook)]


def _code(notebook: Any) -> list[Any]:
    """The code cells, without those that only the build can run."""
    return [
        cell
        for cell in notebook.cells
        if cell.cell_type == "code" and not {*OF_THE_BUILD} & {*cell.metadata.get("tags", [])}
    ]


def _source(cell: Any) -> str:
    return str(cell.source).strip()


def _lines(cell: Any) -> list[str]:
    """The lines of the outputs of a cell, but for those of standard error."""
    text = ""
    for output in cell.outputs:
        if output.output_type == "stream":
            text += output.text if output.name == "stdout" else ""
        elif output.output_type != "error":
            text += output.data["text/plain"] + "\n"
    return [line.rstrip() for line in _COLOR.sub("", text).splitlines()]
