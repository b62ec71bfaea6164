"""Runs the cells of a lesson, so that a test can take the lesson's own functions."""

import re
from pathlib import Path
from types import ModuleType

DOCS = Path(__file__).resolve().parents[1] / "docs"
_HEADER = r"((?:---\n.*?^---\n|(?:^:[^\n]*\n)+\n?)?)"
_CELL = re.compile(rf"^```\{{code-cell\}} ipython3\n{_HEADER}(.*?)^```$", re.M | re.S)


def cells(page: str, docs: Path = DOCS, without: tuple[str, ...] = ()) -> list[str]:
    """The code of the cells of ``<docs>/<page>.md``, in order, without those of some tags."""
    tagged = _CELL.findall((docs / f"{page}.md").read_text(encoding="utf-8"))
    return [code for header, code in tagged if not {*without} & {*_tags(header)}]


def _tags(header: str) -> list[str]:
    found = re.search(r"\btags: *\[(.*?)\]", header)
    return re.split(r", *", found[1]) if found else []


def run(page: str) -> ModuleType:
    """A module that holds what the cells of a lesson define; their assertions are checked."""
    import matplotlib  # here, because it reads MPLBACKEND when it is imported

    matplotlib.use("Agg")
    lesson = ModuleType(page.replace("/", "."))
    for number, code in enumerate(cells(page)):
        exec(compile(code, f"{page}.md, cell {number}", "exec"), lesson.__dict__)
    return lesson
