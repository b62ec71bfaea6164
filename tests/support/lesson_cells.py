"""Runs the cells of a lesson, so that a test can take the lesson's own functions."""

from pathlib import Path
from types import ModuleType

from haiku_site import course
from support import ROOT

DOCS = ROOT / "docs"


def cells(page: str, docs: Path = DOCS, without: tuple[str, ...] = ()) -> list[str]:
    """The code of the cells of ``<docs>/<page>.md``, in order, without those of some tags."""
    return course.cells(docs / f"{page}.md", without)


def run(page: str) -> ModuleType:
    """A module that holds what the cells of a lesson define; their assertions are checked."""
    import matplotlib  # here, because it reads MPLBACKEND when it is imported

    matplotlib.use("Agg")
    lesson = ModuleType(page.replace("/", "."))
    for number, code in enumerate(cells(page)):
        exec(compile(code, f"{page}.md, cell {number}", "exec"), lesson.__dict__)
    return lesson
