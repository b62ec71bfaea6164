"""Puts the reports of the factors together: ``build/compat.json``, or what it lacks.

``tox run -m matrix`` runs it last. With ``--publish`` it also renews what is committed of it, if it
is complete: ``docs/reference/compat.json``, which the page on compatibility shows, the pins that
the doctor advises, and a line in both READMEs. The sets may be tested on several days: ``--keep``
puts those that are good into the committed copy, beside older ones, and a set without a report
counts as the copy says, if it was tested in the same state.
"""

import argparse
import configparser
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from haiku_site import ROOT
from haiku_site.course import course
from packaging.requirements import Requirement
from packaging.version import Version
from tools.lessons.compare import differences, outcomes, stale
from tools.lessons.exemptions import EXEMPTIONS
from tools.matrix.measured_tree import set_hash, tree_hash

REPORTS = ROOT / "build/compat"
PUBLISHED = ROOT / "docs/reference/compat.json"
ADVISED = ROOT / "haiku_state/commands/doctor/sets.json"
# what the doctor advises, if the set has it; the rest of a set follows from these
PINS = ("jax", "jaxlib", "dm-haiku", "optax", "numpy", "scipy", "ml-dtypes", "chex")
PINS += ("orbax-checkpoint", "flax", "equinox")
# the lessons run on the oldest set, a middle one and the newest, and are held to the site's
SITE = "0.10"
LESSONS = ("0.4.30", "0.7", SITE, "0.12")
LINES = {
    "README.md": "Measured on {date}, version {version}, {tree}: JAX {oldest} to {newest} in "
    "{sets} sets of versions, on Python {pythons}; {passed} tests passed, {failed} failed.",
    "README.zh-CN.md": "{date} 实测，版本 {version}，{tree}：JAX {oldest} 至 {newest}，共 {sets} "
    "套版本，Python {pythons}；测试通过 {passed} 项，失败 {failed} 项。",
}
# what is said of the hash of package and tests, and of rows that have different ones
TREES = {
    "README.md": ("package and tests `{}`", "several states of package and tests"),
    "README.zh-CN.md": ("本包及其测试 `{}`", "所测的是本包及其测试的几个不同版本"),
}
BEGIN, END = "<!-- compat -->", "<!-- /compat -->"


def sets(root: Path = ROOT) -> list[str]:
    """Give the names of the sets, oldest first: 0.4.30 for conf/constraints/jax-0.4.30.txt."""
    found = (root / "conf/constraints").glob("jax-*.txt")
    return sorted((file.stem.removeprefix("jax-") for file in found), key=Version)


def pythons(name: str, root: Path = ROOT) -> list[str]:
    """Give the Pythons that tox may use for a set, the preferred one first."""
    settings = configparser.ConfigParser(interpolation=None, strict=False)
    settings.read(root / "tox.ini", encoding="utf-8")
    [section] = [title for title in settings.sections() if title.startswith("testenv:jax{")]
    [line] = re.findall(rf"^jax{re.escape(name)}: (.+)$", settings[section]["base_python"], re.M)
    return [python.removeprefix("python") for python in line.split(", ")]


def pins(name: str, python: str, root: Path = ROOT) -> dict[str, str]:
    """Give the versions that a set pins for a Python, of the libraries in PINS."""
    text = (root / f"conf/constraints/jax-{name}.txt").read_text(encoding="utf-8")
    here = {"python_version": python, "python_full_version": f"{python}.99"}
    wanted = [Requirement(line) for line in text.splitlines() if line and line[0] != "#"]
    found = {
        each.name: str(each.specifier).removeprefix("==")
        for each in wanted
        if each.name in PINS and (each.marker is None or each.marker.evaluate(here))
    }
    return {library: found[library] for library in PINS if library in found}


def tests(path: Path) -> dict[str, Any]:
    """Count what pytest has written: passed, failed, and skipped by reason; and the seconds."""
    suite = ElementTree.parse(path).getroot().find("testsuite")
    assert suite is not None
    skips = Counter(skip.get("message", "").strip() for skip in suite.iter("skipped"))
    failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
    passed = int(suite.get("tests", 0)) - failed - skips.total()
    counts = {"passed": passed, "failed": failed, "skipped": dict(sorted(skips.items()))}
    return {**counts, "seconds": float(suite.get("time", 0))}


def gather(root: Path = ROOT) -> dict[str, Any]:
    """Read the reports of all factors.

    Returns:
      The whole matrix; its ``lacks`` has a line for each thing that is missing or wrong.
    """
    rows, tested, lacks, kept = {}, {}, [], committed(root)
    for name in sets(root):
        try:
            row = tested[name] = one(name, root)
        except FileNotFoundError as error:
            row = kept.get(name, {})
            if not is_of_now(name, row, root):
                wanted = ", ".join(pythons(name, root))
                lacks.append(f"jax{name}: no {Path(error.filename).name}; it needs Python {wanted}")
                continue
        rows[name] = row
        lacks += [f"jax{name}: {complaint}" for complaint in complaints(name, row, root)]
    lacks += compare_lessons(tested, root)
    return put_together(rows, lacks)


def put_together(rows: dict[str, Any], lacks: list[str]) -> dict[str, Any]:
    """Give the matrix of some rows: the first and the last day; the tree of all, or None."""
    trees = {row.get("tree") for row in rows.values()}
    days = sorted({row["date"] for row in rows.values()})
    return {
        "date": " – ".join(days[:1] + days[1:][-1:]),
        "seconds": round(sum(row["seconds"] for row in rows.values()), 1),
        "version": max((row["version"] for row in rows.values()), key=Version, default=None),
        "tree": trees.pop() if len(trees) == 1 else None,
        "sets": rows,
        "lacks": lacks,
    }


def committed(root: Path) -> dict[str, Any]:
    """Give the rows of the committed copy."""
    copy = root / PUBLISHED.relative_to(ROOT)
    return dict(json.loads(copy.read_text(encoding="utf-8"))["sets"]) if copy.exists() else {}


def is_of_now(name: str, row: dict[str, Any], root: Path) -> bool:
    """Return whether a row is of the present state of package, tests and set."""
    return (row.get("tree"), row.get("set")) == (tree_hash(root), set_hash(name, root))


def one(name: str, root: Path) -> dict[str, Any]:
    """Read the reports of one factor."""
    reports = root / REPORTS.relative_to(ROOT)
    row = json.loads((reports / f"jax{name}.json").read_text(encoding="utf-8"))
    row["tests"] = tests(reports / f"jax{name}.xml")
    row["seconds"] = row["tests"].pop("seconds")
    if name in LESSONS:
        written = reports / f"jax{name}.lessons.json"
        row["lessons"] = json.loads(written.read_text(encoding="utf-8"))
        row["seconds"] = round(row["seconds"] + row["lessons"]["seconds"], 1)
    row["date"] = datetime.fromtimestamp(row.pop("started"), timezone.utc).date().isoformat()
    row["pins"] = {
        python: pins(name, python, root) for python in sorted(pythons(name, root), key=Version)
    }
    return row


def compare_lessons(rows: dict[str, Any], root: Path) -> list[str]:
    """Put the outcome of each lesson in the place of what it shows; say what lacks or differs."""
    runs = {name: rows[name]["lessons"] for name in LESSONS if name in rows}
    found = []
    for name, run in runs.items():
        rows[name]["lessons"] = outcomes(run)
        missing = [lesson for lesson in course(root / "docs") if lesson not in run["lessons"]]
        found += [f"jax{name}: {lesson} was not run" for lesson in missing]
        failed = [f"{lesson}: {said['failure']}" for lesson, said in run["lessons"].items()]
        found += [f"jax{name}: {line}" for line in failed if not line.endswith(": None")]
        if SITE not in runs:
            found.append(f"jax{name}: its lessons are compared with those of jax{SITE}; run both")
        elif name != SITE:
            wrong = differences(runs[SITE], run, EXEMPTIONS)
            found += [f"jax{name}: {difference}" for difference in wrong]
    if len(runs) == len(LESSONS):
        others = [run for name, run in runs.items() if name != SITE]
        found += stale(runs[SITE], others, EXEMPTIONS)
    return found


def complaints(name: str, row: dict[str, Any], root: Path) -> list[str]:
    """Say why a factor does not count."""
    found = []
    if not is_of_now(name, row, root):
        found.append("its report is of another state of package, tests or set; run it again")
    minor = ".".join(row["python"].split(".")[:2])
    if minor not in row["pins"]:
        return [*found, f"it ran on Python {minor}, which tox.ini does not name for it"]
    for library, pinned in row["pins"][minor].items():
        if row["versions"].get(library) != pinned:
            found.append(f"{library} is {row['versions'].get(library)}, and {pinned} is pinned")
    if row["tests"]["failed"]:
        found.append(f"{row['tests']['failed']} tests failed")
    if not row["tests"]["passed"]:
        found.append("no test passed")
    if "" in row["tests"]["skipped"]:
        found.append("a test was skipped without a reason")
    return found


def line(matrix: dict[str, Any], readme: str) -> str:
    """Give the line of a README that says what was measured."""
    rows = list(matrix["sets"].values())
    measured_on = sorted({".".join(row["python"].split(".")[:2]) for row in rows}, key=Version)
    known, unknown = TREES[readme]
    return LINES[readme].format(
        date=matrix["date"],
        version=matrix["version"],
        tree=known.format(matrix["tree"]) if matrix["tree"] else unknown,
        oldest=rows[0]["versions"]["jax"],
        newest=rows[-1]["versions"]["jax"],
        sets=len(rows),
        pythons=(", " if readme == "README.md" else "、").join(measured_on),
        passed=f"{sum(row['tests']['passed'] for row in rows):,}",
        failed=sum(row["tests"]["failed"] for row in rows),
    )


def advised(matrix: dict[str, Any]) -> str:
    """Return the pins of each set for each Python as JSON, one line for each Python."""
    rows = []
    for name, row in matrix["sets"].items():
        lines = [f'  "{python}": {json.dumps(pins)}' for python, pins in row["pins"].items()]
        rows.append(f' "{name}": {{\n' + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(rows) + "\n}\n"


def publish(matrix: dict[str, Any], root: Path = ROOT) -> None:
    """Write the committed copy, what the doctor reads of it, and the line of both READMEs."""
    target = root / PUBLISHED.relative_to(ROOT)
    target.write_text(json.dumps(matrix, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (root / ADVISED.relative_to(ROOT)).write_text(advised(matrix), encoding="utf-8")
    for readme in LINES:
        text = (root / readme).read_text(encoding="utf-8")
        before, rest = text.split(BEGIN)
        after = rest.split(END)[1]
        new = f"{before}{BEGIN}\n{line(matrix, readme)}\n{END}{after}"
        (root / readme).write_text(new, encoding="utf-8")


def keep(matrix: dict[str, Any], root: Path = ROOT) -> None:
    """Publish the rows of which nothing is said, and leave the others as they are in the copy."""
    said = {lack.partition(":")[0].removeprefix("jax") for lack in matrix["lacks"]}
    rows = committed(root)
    rows |= {name: row for name, row in matrix["sets"].items() if name not in said}
    publish(put_together({name: rows[name] for name in sets(root) if name in rows}, []), root)


def table(matrix: dict[str, Any]) -> list[str]:
    """Give a line for each set, to be read at the end of a run."""
    lines = [f"{'set':<8}{'Python':<9}{'passed':>7}{'failed':>7}{'skipped':>8}{'seconds':>9}"]
    for name, row in matrix["sets"].items():
        found = row["tests"]
        skipped = sum(found["skipped"].values())
        lines.append(
            f"{name:<8}{row['python']:<9}{found['passed']:>7}{found['failed']:>7}"
            f"{skipped:>8}{row['seconds']:>9.0f}"
        )
        lines += [f"        {count} skipped: {why}" for why, count in found["skipped"].items()]
    return [*lines, f"{matrix['seconds']:.0f} s in all, installation not counted"]


def main(root: Path = ROOT) -> int:
    """Write ``build/compat.json``; exit code 1 if it is incomplete."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--publish", action="store_true", help="renew what is committed of it")
    parser.add_argument("--keep", action="store_true", help="the same for the sets that are good")
    options = parser.parse_args()
    matrix = gather(root)
    target = root / "build/compat.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(matrix, indent=1) + "\n", encoding="utf-8")
    print(*table(matrix), sep="\n")
    for lack in matrix["lacks"]:
        print(f"incomplete: {lack}", file=sys.stderr)
    if options.publish and not matrix["lacks"]:
        publish(matrix, root)
    elif options.keep:
        keep(matrix, root)
    return int(bool(matrix["lacks"]))


if __name__ == "__main__":
    sys.exit(main())
