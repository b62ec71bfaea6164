"""Build the site: English executed once, Chinese from the same outputs, both checked.

python conf/sphinx/build.py                     build/site/
python conf/sphinx/build.py --update-catalogs   docs/locale/, for the translator
"""

import argparse
import gc
import json
import shutil
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from catalogs import check_catalogs, check_current, update_catalogs
from check_site import check_site, check_styles
from execution_cache import cache_path
from jupyter_cache import get_cache
from sphinx.cmd.build import build_main

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DOCS, BUILD, LOCALE = ROOT / "docs", ROOT / "build", ROOT / "docs/locale"
WORK = BUILD / "sphinx"


def main() -> int:
    """Run the steps in their order, and stop at the first that fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update-catalogs", action="store_true", help="for the translator")
    options = parser.parse_args()
    cache = cache_path(BUILD / "executed")
    seconds: dict[str, float] = {}

    def timed(name: str, step: Callable[[], int]) -> bool:
        start = time.perf_counter()
        print(f"== {name}", flush=True)
        failed = bool(step())
        seconds[name] = round(time.perf_counter() - start, 1)
        return not failed

    before = _executions(cache)
    if not timed("en", _execute):
        return 1
    after_english = _executions(cache)
    if options.update_catalogs:
        if timed("gettext", _extract):
            update_catalogs(WORK / "gettext", LOCALE)
        return 0
    if not timed("gate and zh_CN", lambda: _at_once(_gate, _translate)):
        return 1
    executed_again = _executions(cache) - after_english
    if executed_again:
        print(f"the Chinese build executed {len(executed_again)} notebooks")
        return 1
    if not timed("site", _assemble):
        return 1
    extra = sum(seconds.values()) - seconds["en"]
    report = {
        "seconds": seconds,
        "both languages / English": round(1 + extra / seconds["en"], 3),
        "notebooks executed": {"en": len(after_english - before), "zh_CN": len(executed_again)},
    }
    (BUILD / "site-report.json").write_text(json.dumps(report, indent=2), encoding="utf-8")
    print(json.dumps(report, indent=2))
    print(f"open {BUILD / 'site/index.html'}")
    return 0


def _sphinx(builder: str, language: str, jobs: int = 1) -> int:
    """Run one build in this process, where the libraries are imported once for all three."""
    name = language if builder == "html" else builder
    out = WORK / name / "html" if builder == "html" else WORK / name
    shutil.rmtree(out, ignore_errors=True)
    arguments = ["-b", builder, "-D", f"language={language}", "-c", HERE, "-j", jobs]
    arguments += ["-d", WORK / "doctrees" / name, "-E", "-W", "-n", "-q", "--keep-going", DOCS, out]
    return build_main([str(argument) for argument in arguments])


def _execute() -> int:
    import haiku_state  # noqa: F401  once here, and not again in every process forked from this

    return _sphinx("html", "en", jobs=2)


def _extract() -> int:
    return _sphinx("gettext", "en")


def _translate() -> int:
    return _sphinx("html", "zh_CN")


def _at_once(*steps: Callable[[], int]) -> int:
    """Run steps side by side where processes can be forked, with the libraries imported."""
    if sys.platform != "linux":
        return max(step() for step in steps)
    with ProcessPoolExecutor(
        len(steps), mp_context=get_context("fork"), initializer=gc.disable
    ) as pool:
        return max(future.result() for future in [pool.submit(step) for step in steps])


def _executions(cache: Path) -> set[tuple[int, str]]:
    records = get_cache(cache).list_cache_records()
    return {(record.pk, str(record.created)) for record in records}


def _gate() -> int:
    if failed := _extract():
        return failed
    problems = check_catalogs(LOCALE, DOCS, DOCS / "glossary.csv")
    problems += check_current(WORK / "gettext", LOCALE, WORK / "merged")
    return _report([str(problem) for problem in problems])


def _assemble() -> int:
    """Put the languages side by side, check them, and only then replace the last site."""
    new = WORK / "site"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    for language in ("en", "zh_CN"):
        (WORK / language / "html").rename(new / language)
        (new / language / ".buildinfo").unlink()
    shutil.copy(HERE / "templates/root.html", new / "index.html")
    if failed := _report(check_site(new) + check_styles(new)):
        return failed
    shutil.rmtree(BUILD / "site", ignore_errors=True)
    new.rename(BUILD / "site")
    return 0


def _report(problems: list[str]) -> int:
    for problem in problems:
        print(problem.replace(f"{ROOT}/", ""))
    if problems:
        print(f"{len(problems)} problems")
    return len(problems)


if __name__ == "__main__":
    sys.exit(main())
