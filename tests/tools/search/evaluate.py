"""How well the site's search finds things, by the queries and targets in this folder.

python tests/tools search.evaluate [--held-back] [--show]

There are three sets. ``queries`` and ``users`` were written before the search was tuned, and a part
of each is held back; ``visitors`` was written by who had seen only the pages, and all of it is used
for tuning. Targets are noted from the pages, by who has not seen what is found. A page ranks by the
first of its places, which is the one that is shown; a target with an anchor must be that place, and
one with a ``*`` is any page of such a name.
"""

import argparse
import csv
import json
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from support.chromium import running
from tools import ROOT

from haiku_state.errors.language import languages

HERE = Path(__file__).parent
LANGUAGES = tuple(languages())
SETS = ("queries", "users", "visitors")
FIND = """async (queries) => {
    const found = [];
    for (const query of queries) {
        const groups = await siteSearch.search(query);
        found.push(groups.slice(0, 3).map(
            ({page, hits}) => [page, `${page}#${hits[0].place.anchor}`]));
    }
    return found;
}"""


def read_queries(name: str, language: str, held_back: bool) -> list[tuple[str, list[str]]]:
    """Return the queries of a set in a language with their targets."""
    with (HERE / f"{name}.{language}.tsv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    held = "yes" if held_back else "no"
    return [(row["query"], row["targets"].split()) for row in rows if row["held_back"] == held]


def rank(targets: list[str], pages: list[list[str]]) -> int:
    """Return the place of the first page that is a target, from 1 on; 0 if there is none."""
    for number, (page, place) in enumerate(pages, 1):
        if place in targets or any(fnmatchcase(page, target) for target in targets):
            return number
    return 0


def find(page: Any, queries: list[str]) -> list[Any]:
    """Return the first three pages for each query, each with its best place."""
    # not wait_for_function, whose eval the pages' policy forbids
    page.evaluate("""async () => {
        while (!globalThis.siteSearch) await new Promise(done => setTimeout(done, 20));
    }""")
    return page.evaluate(FIND, queries)


def measure(page: Any, queries: list[tuple[str, list[str]]]) -> dict[str, Any]:
    """Search for all queries of a set on an open page of the site, by its own scripts."""
    found = find(page, [query for query, _ in queries])
    ranks = [rank(targets, pages) for (_, targets), pages in zip(queries, found, strict=True)]
    missed = [
        (query, targets, pages)
        for (query, targets), pages, place in zip(queries, found, ranks, strict=True)
        if place != 1
    ]
    return {
        "queries": len(queries),
        "P@1": sum(place == 1 for place in ranks) / len(ranks),
        "P@3": sum(place > 0 for place in ranks) / len(ranks),
        "empty": sum(not pages for pages in found),
        "missed": missed,
    }


def main() -> int:
    """Print a line for each language."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--held-back", action="store_true", help="the queries that are held back")
    parser.add_argument("--show", action="store_true", help="what is not found first")
    options = parser.parse_args()
    with running() as browser:
        for language in LANGUAGES:
            page = browser.new_page()
            page.goto((ROOT / f"build/site/{language}/search.html").as_uri())
            for name in SETS:
                if not (queries := read_queries(name, language, options.held_back)):
                    continue
                result = measure(page, queries)
                missed = result.pop("missed")
                print(name, language, json.dumps(result))
                for query, targets, pages in missed if options.show else []:
                    print(f"  {query}\n    wanted {' '.join(targets)}")
                    print(f"    found  {' '.join(place for _page, place in pages)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
