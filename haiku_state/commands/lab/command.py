"""The ``lab`` command: the lessons as notebooks, in JupyterLab, in the reader's language."""

import argparse
import functools
import importlib.util
import json
import os
import re
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import haiku_state
from haiku_state.commands.parser import NO_FOLDER, OneLineParser
from haiku_state.errors import MissingExtraError
from haiku_state.errors.language import deferred as _
from haiku_state.errors.language import languages, reader_language, reading, translated

ARCHIVES = Path(haiku_state.__file__).parent / "notebooks"
"""Holds the notebooks, where the package was built with them: the site's build puts them here."""

WITHOUT = _(
    "this package was built without the notebooks; in a checkout, `python -m tox run -e site` "
    "makes them; elsewhere, download the notebooks from a lesson of the site and pass the file: "
    "--from {name}"
)
NO_FILE = _("there is no file {file}")
NO_ARCHIVE = _("{file} is not a file of notebooks from the site, such as {name}")
NO_PART = _("there is no part {part}; the parts are {parts}")
NEW = _("New notebooks in {folder}: {count}.")
KEPT = _("Notebooks in {folder} that were kept as you left them: {count}.")
NO_PACK = _("the language of JupyterLab itself has not changed; to change it: {command}")


def add_arguments(parser: OneLineParser) -> None:
    """Add the arguments of the command to the parser, and what runs it."""
    text = translated(_("the folder to put the notebooks in; this folder by default"))
    parser.add_argument("dir", metavar="DIR", nargs="?", type=Path, default=Path(), help=text)
    add = parser.add_option
    parser.add_language(_("language of the notebooks and of JupyterLab"))
    add("--part", metavar="PART", text=_("only one part of the course, such as state"))
    add(
        "--from",
        dest="archive",
        type=Path,
        metavar="FILE",
        text=_("a file of notebooks that was downloaded from the site"),
    )
    add("--no-browser", action="store_true", text=_("print the address without opening a browser"))
    parser.set_defaults(run=functools.partial(run, parser))


def run(parser: OneLineParser, options: argparse.Namespace) -> int:
    """Unpack the notebooks that are not there yet, and run JupyterLab until it is stopped.

    Raises:
      MissingExtraError: JupyterLab is not installed.
    """
    archive, language = _archive(parser, options)
    with reading(language):
        server = _jupyterlab()
        with zipfile.ZipFile(archive) as file:
            names = _chosen(parser, file.namelist(), options.part)
            _unpack(parser, file, names, options.dir)
        os.environ["HAIKU_STATE_LANG"] = language  # what the kernels say
        root, _slash, first = names[0].partition("/")
        words = [f"--ServerApp.root_dir={options.dir.absolute() / root}"]
        words.append(f"--LabApp.default_url=/lab/tree/{first}")
        words += ["--no-browser"] * options.no_browser
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            words.append("--allow-root")  # in a container: it listens to this machine alone
        with tempfile.TemporaryDirectory() as settings:
            server.launch_instance([*words, *_in_language(language, Path(settings))])
    return 0


def _archive(parser: OneLineParser, options: argparse.Namespace) -> tuple[Path, str]:
    """Return the file with the notebooks, and their language."""
    name = f"haiku_lessons_{options.lang or reader_language()}.zip"
    file = options.archive or ARCHIVES / name
    if not options.archive and not file.exists():
        parser.reject(WITHOUT, name=name)
    if not file.is_file():
        parser.reject(NO_FILE, file=file)
    roots: set[str] = set()
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive:
            roots = {each.partition("/")[0] for each in archive.namelist()}
    found = re.fullmatch(f"haiku_lessons_({'|'.join(languages())})", "".join(roots))
    if not found:
        parser.reject(NO_ARCHIVE, file=file, name=name)
    return file, found[1]


def _chosen(parser: OneLineParser, names: list[str], part: str | None) -> list[str]:
    """Return the notebooks of a part, or all; the first one is where a reader begins."""
    if part is None:
        return names
    chosen = [name for name in names if name.split("/")[1] == part]
    if not chosen:
        parts = dict.fromkeys(name.split("/")[1] for name in names if name.count("/") == 2)
        parser.reject(NO_PART, part=part, parts=", ".join(parts))
    return chosen


def _unpack(
    parser: OneLineParser, archive: zipfile.ZipFile, names: list[str], folder: Path
) -> None:
    """Write what is not there: a notebook that a reader has changed stays as it is."""
    existing = next((each for each in (folder, *folder.parents) if each.exists()), folder)
    if not existing.is_dir():
        parser.reject(NO_FOLDER, path=folder)
    new = [name for name in names if not (folder / name).exists()]
    archive.extractall(folder, new)
    shown = folder / names[0].partition("/")[0]
    for text, count in ((NEW, len(new)), (KEPT, len(names) - len(new))):
        if count:
            print(translated(text).format(count=count, folder=shown), flush=True)


def _jupyterlab() -> Any:
    """Return the application."""
    try:
        from jupyterlab.labapp import LabApp
    except ModuleNotFoundError as error:
        raise MissingExtraError(library="jupyterlab", extra="lab") from error
    return LabApp


def _in_language(language: str, settings: Path) -> list[str]:
    """Return the options that have JupyterLab's own words in a language, if it is installed."""
    pack = languages()[language].lab_pack
    if not pack:
        return []
    if importlib.util.find_spec(pack.replace("-", "_")) is None:
        print(translated(NO_PACK).format(command=f"python -m pip install {pack}"), flush=True)
        return []
    chosen = {"@jupyterlab/translation-extension:plugin": {"locale": language}}
    (settings / "overrides.json").write_text(json.dumps(chosen), encoding="utf-8")
    return [f"--LabApp.app_settings_dir={settings}"]
