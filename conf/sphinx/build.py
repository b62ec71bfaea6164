"""Build the site: English executed once, Chinese from the same outputs, both checked.

    python conf/sphinx/build.py                     build/site/
    python conf/sphinx/build.py --update-catalogs   docs/locale/, for the translator
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import haiku_state
from catalogs import check_catalogs, check_current, update_catalogs
from check_site import check_site, check_styles
from execution_cache import cache_path
from jupyter_cache import get_cache

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DOCS, BUILD, LOCALE = ROOT / "docs", ROOT / "build", ROOT / "docs/locale"
WORK = BUILD / "sphinx"


def main() -> int:
    """Run the steps in their order, and stop at the first that fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update-catalogs", action="store_true", help="for the translator")
    options = parser.parse_args()
    cache = cache_path(BUILD / "executed", Path(haiku_state.__file__).parent)
    seconds: dict[str, float] = {}

    def timed(name: str, step: Callable[[], int]) -> bool:
        start = time.perf_counter()
        print(f"== {name}", flush=True)
        failed = bool(step())
        seconds[name] = round(time.perf_counter() - start, 1)
        return not failed

    before = _executions(cache)
    if not timed("en", lambda: _sphinx("html", "en").wait()):
        return 1
    after_english = _executions(cache)
    if options.update_catalogs:
        if _sphinx("gettext", "en").wait():
            return 1
        update_catalogs(WORK / "gettext", LOCALE)
        return 0
    if not timed("gettext and zh_CN", _extract_and_translate):
        return 1
    after_chinese = _executions(cache)
    if after_chinese != after_english:
        print(f"the Chinese build executed {len(after_chinese - after_english)} notebooks")
        return 1
    if not (timed("gate", _gate) and timed("site", _assemble)):
        return 1
    extra = sum(seconds.values()) - seconds["en"]
    report = {
        "seconds": seconds,
        "both languages / English": round(1 + extra / seconds["en"], 3),
        "notebooks executed": {"en": len(after_english - before), "zh_CN": 0},
    }
    (BUILD / "site-report.json").write_text(json.dumps(report, indent=2) + "\n")
    print(json.dumps(report, indent=2))
    print(f"open {BUILD / 'site/index.html'}")
    return 0


def _sphinx(builder: str, language: str) -> subprocess.Popen[bytes]:
    name = language if builder == "html" else builder
    out = WORK / name / "html" if builder == "html" else WORK / name
    doctrees = WORK / "doctrees" / name
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "sphinx", "-b", builder, "-D", f"language={language}"]
    command += ["-c", HERE, "-d", doctrees, "-E", "-W", "-n", "-q", "--keep-going", "-j", "2"]
    return subprocess.Popen([*map(str, command), str(DOCS), str(out)], cwd=ROOT)


def _extract_and_translate() -> int:
    """Extract the messages and build Chinese at the same time: both only read the cache."""
    steps = [_sphinx("gettext", "en"), _sphinx("html", "zh_CN")]
    return max(abs(step.wait()) for step in steps)


def _executions(cache: Path) -> set[tuple[int, str]]:
    records = get_cache(cache).list_cache_records()
    return {(record.pk, str(record.created)) for record in records}


def _gate() -> int:
    problems = check_catalogs(LOCALE, DOCS, DOCS / "glossary.csv")
    problems += check_current(WORK / "gettext", LOCALE, WORK / "merged")
    return _report([str(problem) for problem in problems])


def _assemble() -> int:
    """Put the languages side by side, check them, and only then replace the last site."""
    new = WORK / "site"
    shutil.rmtree(new, ignore_errors=True)
    for language in ("en", "zh_CN"):
        shutil.copytree(
            WORK / language / "html",
            new / language,
            ignore=shutil.ignore_patterns(".buildinfo", "objects.inv", ".doctrees"),
        )
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
