"""Build the site: English executed once, the others from the same outputs, all checked.

python conf/sphinx/build.py                     build/site/, only what has changed since then
python conf/sphinx/build.py docs/a.md           build/page/, in seconds: one page, or several
python conf/sphinx/build.py --update-catalogs   docs/locale/, for the translator; or for a few pages
python conf/sphinx/build.py --compare           what the second language costs
python conf/sphinx/build.py --lagging           build/site/, though translations lag behind
"""

import argparse
import functools
import gc
import hashlib
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from haiku_site import compat
from haiku_site.course import cells
from haiku_site.execute.cache import cache_path, files_hash
from haiku_site.execute.figures import configure_kernels
from haiku_site.execute.kernels import forked_kernels
from haiku_site.finish.check_site import check_site, check_styles
from haiku_site.finish.metadata import add_entrances
from haiku_site.finish.publish import publish
from haiku_site.notebooks.write import FOLDER, archive, check_notebooks
from haiku_site.progress import log, timed
from haiku_site.translate.gate.catalogs import (
    EMPTY,
    FUZZY,
    check_catalogs,
    check_current,
    update_catalogs,
)
from jupyter_cache import get_cache
from sphinx.application import Sphinx
from sphinx.errors import SphinxParallelError
from sphinx.util.docutils import docutils_namespace, patch_docutils

from haiku_state.errors.language import languages

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DOCS, BUILD, LOCALE = ROOT / "docs", ROOT / "build", ROOT / "docs/locale"
WORK = BUILD / "sphinx"


def main() -> int:
    """Run the steps, and stop at the first that fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument(
        "--update-catalogs", action="store_true", help="update the translation catalogs"
    )
    modes.add_argument("--compare", action="store_true", help="time both languages against English")
    modes.add_argument(
        "--lagging", action="store_true", help="build, and mark translations that lag behind"
    )
    parser.add_argument("pages", nargs="*", type=Path, help="build these alone, for their writer")
    parser.add_argument(
        "--language", choices=[*languages()], help="of the pages; English by default"
    )
    options = parser.parse_args()
    if options.language and (options.update_catalogs or not options.pages):
        parser.error("--language needs the pages to build")
    if options.lagging and options.pages:
        parser.error("--lagging is for the whole site: a page alone may lag behind anyway")
    start = time.perf_counter()
    os.environ["HAIKU_STATE_LANG"] = "en"  # error texts on the pages, whatever the locale is
    configure_kernels(BUILD / "ipython")
    with forked_kernels():  # first, so that it imports beside this process
        import haiku_state  # noqa: F401  once, before processes are forked from this one

        if options.pages:
            names = _names(options.pages)
            if options.update_catalogs:
                failed = _update_pages(names)
            else:
                failed = _build_pages(names, options.language or "en")
        else:
            _invalidate_cache_unless(_build_fingerprint(), _look_fingerprint())
            run = functools.partial(_build, options.lagging)
            modes = {options.update_catalogs: _update_catalogs, options.compare: _compare}
            failed = modes.get(True, run)()
            if failed:  # Sphinx would not warn again about a page that has not changed since
                _invalidate_cache_unless("", "")
    log(f"{'failed' if failed else 'done'} after {time.perf_counter() - start:.1f} s")
    return failed


def _names(pages: list[Path]) -> list[str]:
    """Return how Sphinx names the pages."""
    for page in pages:
        if not (page.is_file() and page.resolve().is_relative_to(DOCS)):
            log(f"{page} is not a page; the pages are in {DOCS.relative_to(ROOT)}/")
            sys.exit(2)
    return [page.resolve().relative_to(DOCS).with_suffix("").as_posix() for page in pages]


def _alone(names: list[str]) -> dict[str, Any]:
    return {
        "include_patterns": [f"{name}.*" for name in names],
        "root_doc": names[0],
        "nitpicky": False,
        "suppress_warnings": ["myst.xref_missing", "ref", "toc", "image.not_readable"],
    }


def _build_pages(names: list[str], language: str) -> int:
    """Build a few pages alone. What they link to is not read, so a link to it is plain text."""
    out = BUILD / "page" / language
    _invalidate_cache_unless(_build_fingerprint(), _look_fingerprint())
    doctrees = WORK / "doctrees" / f"page-{language}"
    failed = _run_sphinx("html", language, out, doctrees, **_alone(names))
    if failed:  # as for the site: Sphinx would not warn again
        shutil.rmtree(doctrees, ignore_errors=True)
    for name in names if not failed else []:
        log(f"open {out / name}.html")
    return failed


def _update_pages(names: list[str]) -> int:
    """Merge the English of a few pages into their catalogs."""
    for name in names:
        if "```{toctree}" in next(DOCS.glob(f"{name}.*")).read_text(encoding="utf-8"):
            log(f"{name} names other pages, whose titles are in its catalog: update all")
            return 2
    out = BUILD / "page" / "gettext"
    shutil.rmtree(out, ignore_errors=True)
    doctrees = WORK / "doctrees" / "page-gettext"
    failed = _run_sphinx("gettext", "en", out, doctrees, **_alone(names))
    if not failed:
        for template in [each for each in out.rglob("*.pot") if each.stem == "sphinx"]:
            template.unlink()
        update_catalogs(out, LOCALE, names)
    return failed


def _update_catalogs() -> int:
    """Merge the English of the pages into the catalogs."""
    if failed := _sphinx("html", "en", jobs=2) or _extract():
        return failed
    update_catalogs(WORK / "gettext", LOCALE)
    return 0


def _build(lagging: bool = False) -> int:
    """Build all languages, and check them."""
    cache = cache_path(BUILD / "executed")
    before, read = _executions(cache), []
    if sys.platform == "linux":
        # Two processes that have imported all libraries, and start once the last notebook has run.
        context = get_context("fork")
        with ProcessPoolExecutor(2, mp_context=context, initializer=gc.disable) as pool:
            pool.submit(time.sleep, 0).result()
            others = []

            def when_read() -> None:
                read.append(_executions(cache))
                others.extend([pool.submit(_gate, lagging), pool.submit(_translate)])

            failed = _sphinx("html", "en", jobs=2, when_read=when_read)
            if not (failed or read):  # no page has changed, so none was read
                when_read()
            failed = failed or max(other.result() for other in others)
    else:
        failed = _sphinx("html", "en")
        read.append(_executions(cache))
        failed = failed or _gate(lagging) or _translate()
    if failed:
        return failed
    executed_again = _executions(cache) - read[0]
    if executed_again:
        log(f"another language executed {len(executed_again)} notebooks again")
        return 1
    if failed := _assemble(lagging):
        return failed
    log(f"{len(read[0] - before)} notebooks executed; open {BUILD / 'site/index.html'}")
    return 0


def _build_fingerprint() -> str:
    """Return a fingerprint of what outdates all that Sphinx has read, which only sees edited pages.

    A page that was added, removed or renamed counts, and so does its title, in both languages:
    Sphinx writes no other page again for its sake.
    """
    titles = {
        str(page.relative_to(DOCS)): _title(page)
        for page in sorted(DOCS.rglob("*.*"))
        if page.suffix in (".md", ".rst", ".po")
    }
    parts = [cache_path(BUILD / "executed").name, files_hash(HERE, "*.py"), repr(titles)]
    parts.append(os.environ.get("HAIKU_STATE_SITE", ""))
    return hashlib.sha256("".join(parts).encode()).hexdigest()


def _look_fingerprint() -> str:
    """Return a fingerprint of what all pages are written with: styles, scripts, templates."""
    return files_hash(HERE, "*.*")


def _title(file: Path) -> str:
    """Return the line of a page that is its title, or the first message of its catalog."""
    text = file.read_text(encoding="utf-8", errors="replace")  # the gate names what is not UTF-8
    if file.suffix == ".po":
        return "".join(text.split("\n\n")[1:2])
    title = re.search(r"^# .+$|^.+(?=\n===)", text, re.MULTILINE)
    return title[0] if title else ""


def _invalidate_cache_unless(read: str, look: str) -> None:
    """Remove what Sphinx has read and written, unless from the same; or written, in another look.

    The executed notebooks stay: they depend on neither.
    """
    stamp = WORK / "built-from"
    before = stamp.read_text().split() if stamp.exists() else []
    if not read or before[:1] != [read]:
        shutil.rmtree(WORK, ignore_errors=True)
    elif before[1:] != [look]:
        for written in WORK.glob("*/html"):
            shutil.rmtree(written)
    WORK.mkdir(parents=True, exist_ok=True)
    stamp.write_text(f"{read} {look}")


def _compare() -> int:
    """Time the English build from cold, and both languages from cold, in turn."""
    ratios = []
    for _ in range(3):
        seconds = []
        for step in (functools.partial(_sphinx, "html", "en", jobs=2), _build):
            shutil.rmtree(cache_path(BUILD / "executed"), ignore_errors=True)
            _invalidate_cache_unless("", "")
            start = time.perf_counter()
            # a process of its own: Sphinx translates some titles once, when it imports them
            with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
                failed = pool.submit(step).result()
            if failed:
                return failed
            seconds.append(time.perf_counter() - start)
        ratios.append(seconds[1] / seconds[0])
        log(f"en {seconds[0]:.1f} s, both {seconds[1]:.1f} s, ratio {ratios[-1]:.3f}")
    log(f"median ratio {statistics.median(ratios):.3f}")
    return 0


def _sphinx(
    builder: str, language: str, jobs: int = 1, when_read: Callable[[], None] | None = None
) -> int:
    """Run one build of all pages; ``when_read`` is called before anything is written."""
    name = language if builder == "html" else builder
    out = WORK / name / "html" if builder == "html" else WORK / name
    return _run_sphinx(builder, language, out, WORK / "doctrees" / name, jobs, when_read)


def _run_sphinx(
    builder: str,
    language: str,
    out: Path,
    doctrees: Path,
    jobs: int = 1,
    when_read: Callable[[], None] | None = None,
    **settings: Any,
) -> int:
    compat.forget_language()
    with patch_docutils(HERE), docutils_namespace():
        app = Sphinx(
            DOCS,
            HERE,
            out,
            doctrees,
            builder,
            confoverrides={"language": language, **settings},
            status=None,
            warningiserror=True,
            parallel=jobs,
        )
        if when_read:
            app.connect("env-check-consistency", lambda app, env: when_read())
        # the last parts run longest: read first, none is still running when all others are done
        app.connect("env-before-read-docs", lambda app, env, names: names.reverse())
        try:
            app.build()
        except SphinxParallelError as error:
            log(_failed_cell(error.traceback) or error.traceback)
            return 1
        except compat.ExecutionError as error:
            trace = "".join(traceback.format_exception(error))
            log(_failed_cell(trace) or trace)
            return 1
    return int(app.statuscode)


def _failed_cell(trace: str) -> str:
    """Return the page, the cell and the error that a traceback of MyST-NB tells of, if it does."""
    page = re.search(rf"ExecutionError: {DOCS}/(.+)", trace)
    pattern = r"(?:following cell|cell contents):\n-+\n(.*?)\n-+\n(.*?)(?:\n\n\n|\Z)"
    cell = re.search(pattern, trace, re.DOTALL)
    if not (page and cell):
        return ""
    sources = [source.strip() for source in cells(DOCS / page[1])]
    number = sources.index(cell[1].strip()) + 1 if cell[1].strip() in sources else "?"
    if "CellTimeoutError" in trace:
        return f"docs/{page[1]}, cell {number}: it ran too long\n\n{cell[1]}"
    printed = re.sub(r"\x1b\[[\d;]*m", "", cell[2]).strip()
    return f"docs/{page[1]}, cell {number}: {printed.splitlines()[-1]}\n\n{cell[1]}\n\n{printed}"


def _extract() -> int:
    return _sphinx("gettext", "en")


def _translate() -> int:
    return max(_sphinx("html", code, jobs=2) for code in languages() if code != "en")


def _executions(cache: Path) -> set[tuple[int, str]]:
    records = get_cache(cache).list_cache_records()
    return {(record.pk, str(record.created)) for record in records}


def _gate(lagging: bool) -> int:
    if failed := _extract():
        return failed
    problems = check_catalogs(LOCALE, DOCS, DOCS / "glossary.csv")
    if lagging:
        problems = [problem for problem in problems if problem.what not in (FUZZY, EMPTY)]
    problems += check_current(WORK / "gettext", LOCALE, WORK / "merged")
    return _report([str(problem) for problem in problems])


def _assemble(lagging: bool) -> int:
    """Put the languages side by side, check them, and only then replace the last site."""
    new = WORK / "site"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    for language in languages():
        shutil.copytree(WORK / language / "html", new / language)
        (new / language / ".buildinfo").unlink()
    with timed("published"):
        add_entrances(new)
        problems = publish(new)
    with timed("packed"):
        _put_into_the_package(new)
        _build_wheel(new)
    with timed("checked"):
        problems += check_site(new, LOCALE) + check_styles(new)
        problems += [] if lagging else check_notebooks(new)
    if failed := _report(problems):
        return failed
    shutil.rmtree(BUILD / "site", ignore_errors=True)
    new.rename(BUILD / "site")
    return 0


def _put_into_the_package(site: Path) -> None:
    """Let ``python -m haiku_state lab`` find the notebooks, here and in a wheel built from here."""
    folder = ROOT / "haiku_state/notebooks"
    folder.mkdir(exist_ok=True)
    for language in languages():
        shutil.copy(site / language / FOLDER / archive(language), folder)


def _build_wheel(site: Path) -> None:
    """Put into the site what its pages tell to install."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(site)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def _report(problems: list[str]) -> int:
    for problem in problems:
        log(problem.replace(f"{ROOT}/", ""))
    if problems:
        log(f"{len(problems)} problems")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
