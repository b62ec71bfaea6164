"""Build the site: English executed once, Chinese from the same outputs, both checked.

python conf/sphinx/build.py                     build/site/, only what has changed since then
python conf/sphinx/build.py --update-catalogs   docs/locale/, for the translator
python conf/sphinx/build.py --compare           what the second language costs
python conf/sphinx/build.py --lagging           build/site/, though translations lag behind
"""

import argparse
import functools
import gc
import hashlib
import json
import os
import re
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from haiku_site.content.metadata import add_entrances
from haiku_site.execute.cache import cache_path, files_hash
from haiku_site.execute.figures import configure_kernels
from haiku_site.execute.kernels import forked_kernels
from haiku_site.finish.check_site import check_site, check_styles
from haiku_site.finish.publish import publish
from haiku_site.notebooks.write import FOLDER, archive, check_notebooks
from haiku_site.translate.gate.catalogs import (
    EMPTY,
    FUZZY,
    check_catalogs,
    check_current,
    update_catalogs,
)
from jupyter_cache import get_cache
from sphinx import locale
from sphinx.application import Sphinx
from sphinx.errors import SphinxParallelError
from sphinx.util.docutils import docutils_namespace, patch_docutils

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
    options = parser.parse_args()
    os.environ["HAIKU_STATE_LANG"] = "en"  # error texts on the pages, whatever the locale is
    configure_kernels(BUILD / "ipython")
    with forked_kernels():  # first, so that it imports beside this process
        import haiku_state  # noqa: F401  once, before processes are forked from this one

        _invalidate_cache_unless(_build_fingerprint())
        run = functools.partial(_build, options.lagging)
        run = _update_catalogs if options.update_catalogs else _compare if options.compare else run
        failed = run()
    if failed:  # Sphinx would not warn again about a page that has not changed since
        _invalidate_cache_unless("")
    return failed


def _update_catalogs() -> int:
    """Merge the English of the pages into the catalogs."""
    if failed := _sphinx("html", "en", jobs=2) or _extract():
        return failed
    update_catalogs(WORK / "gettext", LOCALE)
    return 0


def _build(lagging: bool = False) -> int:
    """Build both languages, and check them."""
    cache = cache_path(BUILD / "executed")
    start, before, read = time.perf_counter(), _executions(cache), []
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
        print(f"the Chinese build executed {len(executed_again)} notebooks")
        return 1
    if failed := _assemble(lagging):
        return failed
    report = {
        "seconds": round(time.perf_counter() - start, 1),
        "notebooks executed by en": len(read[0] - before),
        "notebooks executed by zh_CN": len(executed_again),
    }
    print(json.dumps(report, indent=2))
    print(f"open {BUILD / 'site/index.html'}")
    return 0


def _build_fingerprint() -> str:
    """Return a fingerprint of what outdates Sphinx's last build, which only notices edited pages.

    A page that was added, removed or renamed counts, and so does its title, in both languages:
    Sphinx writes no other page again for its sake.
    """
    titles = {
        str(page.relative_to(DOCS)): _title(page)
        for page in sorted(DOCS.rglob("*.*"))
        if page.suffix in (".md", ".rst", ".po")
    }
    parts = [cache_path(BUILD / "executed").name, files_hash(HERE, "*.*"), repr(titles)]
    parts.append(os.environ.get("HAIKU_STATE_SITE", ""))
    return hashlib.sha256("".join(parts).encode()).hexdigest()


def _title(file: Path) -> str:
    """Return the line of a page that is its title, or the first message of its catalog."""
    text = file.read_text(encoding="utf-8", errors="replace")  # the gate names what is not UTF-8
    if file.suffix == ".po":
        return "".join(text.split("\n\n")[1:2])
    title = re.search(r"^# .+$|^.+(?=\n===)", text, re.MULTILINE)
    return title[0] if title else ""


def _invalidate_cache_unless(known: str) -> None:
    """Remove what Sphinx has built, unless it was built from the same inputs."""
    stamp = WORK / "built-from"
    if not known or not stamp.exists() or stamp.read_text() != known:
        shutil.rmtree(WORK, ignore_errors=True)
        WORK.mkdir(parents=True)
        stamp.write_text(known)


def _compare() -> int:
    """Time the English build from cold, and both languages from cold, in turn."""
    ratios = []
    for _ in range(3):
        seconds = []
        for step in (functools.partial(_sphinx, "html", "en", jobs=2), _build):
            shutil.rmtree(cache_path(BUILD / "executed"), ignore_errors=True)
            _invalidate_cache_unless("")
            start = time.perf_counter()
            # a process of its own: Sphinx translates some titles once, when it imports them
            with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
                failed = pool.submit(step).result()
            if failed:
                return failed
            seconds.append(time.perf_counter() - start)
        ratios.append(seconds[1] / seconds[0])
        print(f"en {seconds[0]:.1f} s, both {seconds[1]:.1f} s, ratio {ratios[-1]:.3f}")
    print(f"median ratio {statistics.median(ratios):.3f}")
    return 0


def _sphinx(
    builder: str, language: str, jobs: int = 1, when_read: Callable[[], None] | None = None
) -> int:
    """Run one build in this process; ``when_read`` is called before anything is written."""
    name = language if builder == "html" else builder
    out = WORK / name / "html" if builder == "html" else WORK / name
    locale.translators.clear()  # or this language is only asked where an earlier one has no text
    with patch_docutils(HERE), docutils_namespace():
        app = Sphinx(
            DOCS,
            HERE,
            out,
            WORK / "doctrees" / name,
            builder,
            confoverrides={"language": language},
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
        except SphinxParallelError as error:  # it names only the page; its traceback names the cell
            print(error.traceback)
            return 1
    return int(app.statuscode)


def _extract() -> int:
    return _sphinx("gettext", "en")


def _translate() -> int:
    return _sphinx("html", "zh_CN", jobs=2)


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
    for language in ("en", "zh_CN"):
        shutil.copytree(WORK / language / "html", new / language)
        (new / language / ".buildinfo").unlink()
    add_entrances(new)
    problems = publish(new)
    problems += check_site(new, LOCALE) + check_styles(new)
    problems += [] if lagging else check_notebooks(new)
    if failed := _report(problems):
        return failed
    shutil.rmtree(BUILD / "site", ignore_errors=True)
    new.rename(BUILD / "site")
    _put_into_the_package()
    return 0


def _put_into_the_package() -> None:
    """Let ``python -m haiku_state lab`` find the notebooks, here and in a wheel built from here."""
    folder = ROOT / "haiku_state/notebooks"
    folder.mkdir(exist_ok=True)
    for language in ("en", "zh_CN"):
        shutil.copy(BUILD / "site" / language / FOLDER / archive(language), folder)


def _report(problems: list[str]) -> int:
    for problem in problems:
        print(problem.replace(f"{ROOT}/", ""))
    if problems:
        print(f"{len(problems)} problems")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
