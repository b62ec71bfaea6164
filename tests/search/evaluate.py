"""How well the site's search finds things, by the queries and targets in this folder.

python tests/search/evaluate.py [--held-back] [--show]

The queries were written before the search was tuned, which was done on those that are not held
back; those who wrote ``docs/search_words.csv`` had seen none of them. A page ranks by the first of
its places; a target with an anchor must be that place.
"""

import argparse
import csv
import json
import sys
from pathlib import Path
from typing import Any

from haiku_state.errors.language import languages

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LANGUAGES = tuple(languages())
RANKS = """async (queries) => {
    const found = [];
    for (const query of queries) {
        const groups = await siteSearch.search(query);
        found.push(groups.slice(0, 3).map(
            ({page, hits}) => [page, hits.map(({place}) => `${page}#${place.anchor}`)]));
    }
    return found;
}"""


def read_queries(language: str, held_back: bool) -> list[tuple[str, list[str]]]:
    """Return the queries of a language with their targets."""
    with (HERE / f"queries.{language}.tsv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    held = "yes" if held_back else "no"
    return [(row["query"], row["targets"].split()) for row in rows if row["held_back"] == held]


def rank(targets: list[str], pages: list[Any]) -> int:
    """Return the place of the first page that is a target, from 1 on; 0 if there is none."""
    for number, (page, places) in enumerate(pages, 1):
        shown = places[:1] if number == 1 else places
        if page in targets or set(shown) & set(targets):
            return number
    return 0


def measure(page: Any, language: str, held_back: bool) -> dict[str, Any]:
    """Search for all queries on an open page of the site, by its own scripts."""
    # not wait_for_function, whose eval the pages' policy forbids
    page.evaluate("""async () => {
        while (!globalThis.siteSearch) await new Promise(done => setTimeout(done, 20));
    }""")
    queries = read_queries(language, held_back)
    found = page.evaluate(RANKS, [query for query, _ in queries])
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
    sys.path.insert(0, str(ROOT / "tests"))
    from chromium import running

    with running() as browser:
        for language in LANGUAGES:
            page = browser.new_page()
            page.goto((ROOT / f"build/site/{language}/search.html").as_uri())
            result = measure(page, language, options.held_back)
            missed = result.pop("missed")
            print(language, json.dumps(result))
            for query, targets, pages in missed if options.show else []:
                print(f"  {query}\n    wanted {' '.join(targets)}")
                for name, places in pages:
                    print(f"    found  {name} {' '.join(place.split('#')[1] for place in places)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
