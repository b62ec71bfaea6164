"""Whether the notebooks of the built site run on their own, and show what their pages show.

python tests/tools lessons.notebooks build/site
python tests/tools lessons.notebooks build/site --lang en haiku/batch_norm update/meshes

It runs in an environment that `pip install "haiku-state[lab]"` has made: `tox run -e notebooks`.
"""

import argparse
import os
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from tools.lessons.compare import differences
from tools.lessons.driver import LIMIT
from tools.lessons.executed import shown
from tools.lessons.exemptions import EXEMPTIONS

from haiku_state.errors.language import languages


def main() -> int:
    """Run notebooks, each with a kernel and in a folder of its own, and name what differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("lessons", nargs="*", help="haiku/batch_norm …; all by default")
    parser.add_argument("--lang", choices=[*languages()], action="append", help="all by default")
    options = parser.parse_intermixed_args()
    os.environ |= {"HAIKU_STATE_LANG": "en", "JAX_PLATFORMS": "cpu"}  # as the site was built
    problems = 0
    for language in options.lang or languages():
        folder = options.site / language / "notebooks"
        files = [file.relative_to(folder) for file in sorted(folder.glob("*/*.ipynb"))]
        files = [file for file in files if file.parts[0] != "exercises"]  # they wait for answers
        names = options.lessons or [file.with_suffix("").as_posix() for file in files]
        for name in names:
            found = run(folder / f"{name}.ipynb", name)
            print(f"{language}/{name}: {'differs' if found else 'ok'}", *found, sep="\n  ")
            sys.stdout.flush()
            problems += bool(found)
    return int(bool(problems))


def run(file: Path, name: str) -> list[str]:
    """Return what a notebook shows otherwise than its file, or how it fails."""
    notebook = nbformat.read(file, as_version=4)
    published = {"jax": "", "lessons": {name: {"cells": shown(notebook), "failure": None}}}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    failure = None
    with tempfile.TemporaryDirectory() as folder:
        try:
            NotebookClient(
                notebook, timeout=LIMIT, resources={"metadata": {"path": folder}}
            ).execute()
        except CellExecutionError as error:
            failure = f"{error.ename}: {error.evalue}".splitlines()[0]
    lesson = {"cells": shown(notebook), "failure": failure}
    seen = {"jax": version("jax"), "lessons": {name: lesson}}
    return [str(each) for each in differences(published, seen, EXEMPTIONS)]


if __name__ == "__main__":
    sys.exit(main())
