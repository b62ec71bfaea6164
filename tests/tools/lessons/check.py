"""Whether the lessons show on each JAX what the published pages show.

python tests/tools lessons.check build/compat/jax0.10.lessons.json build/compat/*.lessons.json
python tests/tools lessons.check build/compat/jax0.10.lessons.json --site build/executed

The first file is of the JAX that the site is built on. Each line that differs is named, and each
exemption that no run needs any more, unless the runs are not all that there are.
"""

import argparse
import json
import sys
from pathlib import Path

from tools.lessons.compare import differences, number_pairs, outcomes, stale
from tools.lessons.executed import executed_lessons
from tools.lessons.exemptions import EXEMPTIONS


def main() -> int:
    """Compare, and fail where something differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("published", type=Path)
    parser.add_argument("others", type=Path, nargs="*")
    parser.add_argument("--partial", action="store_true", help="not all runs: no stale exemptions")
    parser.add_argument("--site", type=Path, help="the notebooks that the site's build executed")
    options = parser.parse_args()
    published = json.loads(options.published.read_text(encoding="utf-8"))
    runs = [json.loads(file.read_text(encoding="utf-8")) for file in options.others]
    runs = [run for run in runs if run != published]
    problems = stale(published, runs, EXEMPTIONS) if runs and not options.partial else []
    problems += [
        f"JAX {published['jax']}: {name}: {lesson['failure']}"
        for name, lesson in published["lessons"].items()
        if lesson["failure"]
    ]
    if options.site:
        site = executed_lessons(options.site)
        missing = sorted(set(published["lessons"]) - set(site))
        problems += [f"{name}: the site has not executed these cells" for name in missing]
        both = {name: published["lessons"][name] for name in site if name in published["lessons"]}
        published = {**published, "lessons": both}
        runs.append({"jax": published["jax"], "lessons": site})
    for run in runs:
        found = [str(difference) for difference in differences(published, run, EXEMPTIONS)]
        problems += [f"JAX {run['jax']}: {text}" for text in found]
        pairs = list(number_pairs(published, run, EXEMPTIONS))
        gaps = [abs(a - b) for _, a, b in pairs if a != b]
        cells = sum(len(lesson["cells"]) for lesson in run["lessons"].values())
        print(
            f"JAX {run['jax']}: {cells} cells, {len(pairs)} numbers, "
            f"{len(gaps)} of them not equal, by {max(gaps, default=0):.0e} at most"
        )
        for name, text in outcomes(run).items():
            if text != "ok":
                print(f"  {name}: {text}")
    for problem in problems:
        print(problem)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
